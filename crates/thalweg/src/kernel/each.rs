//! Kernels made of a closure that is called for each message.

use crate::block::{Block, Chain};
use crate::error::{BoxError, Verdict};
use crate::kernel::resident::resident;
use crate::kernel::{SharedWork, Work};
use crate::output::{Core, InPlace, Output, Unread};
use crate::run::Cx;
use std::marker::PhantomData;

/// Messages that are taken without a look at whether there is another one.
const STRETCH: usize = 8;
/// A kernel with more state than this, in bytes, does not take its messages in stretches.
const MUCH_STATE: usize = 64;

/// Takes the messages of `block` one by one, until it is empty or the output is full.
///
/// With `stretches`: where the compiler knows that there is room for a few messages more than a kernel gives, nothing is left of the checks of a
/// push. But the kernel is then called from two places, and a large one is inlined only where it is called from a single one; not inlined, its
/// state goes through memory at each message.
#[inline(always)]
fn each<T, U, R: Verdict>(
    cx: &Cx<'_>,
    block: &mut Block,
    output: &mut Output<U>,
    stretches: bool,
    mut kernel: impl FnMut(T, &mut Output<U>) -> R,
) -> Result<(), BoxError> {
    let slow = cx.takes_long();
    let stretch = if slow { usize::MAX } else { STRETCH };
    // SAFETY: an edge into this kernel carries `T` (B1).
    let mut unread = unsafe { Unread::<T>::new(block) };
    loop {
        while stretches && unread.left() >= stretch && output.room() > STRETCH {
            for _ in 0..STRETCH {
                // SAFETY: as many are left.
                kernel(unsafe { unread.next_unchecked() }, output).into_result()?;
                if output.should_stop() {
                    return Ok(());
                }
            }
        }
        let Some(message) = unread.next() else { return Ok(()) };
        kernel(message, output).into_result()?;
        if output.should_stop() || slow && cx.is_cancelled() {
            return Ok(());
        }
    }
}

/// Takes the messages of `block` one by one, until it is empty or the run is cancelled: for the end of a stream.
///
/// The messages of a fast kernel are taken in a loop with nothing else in it.
#[inline(always)]
fn each_last<T, V>(
    cx: &Cx<'_>,
    block: &mut Block,
    mut kernel: impl FnMut(T) -> Result<V, BoxError>,
) -> Result<(), BoxError> {
    let slow = cx.takes_long();
    let stretch = if slow { 1 } else { usize::MAX };
    // SAFETY: an edge into this kernel carries `T` (B1).
    let mut unread = unsafe { Unread::<T>::new(block) };
    while unread.left() > 0 {
        for _ in 0..unread.left().min(stretch) {
            // SAFETY: as many are left.
            kernel(unsafe { unread.next_unchecked() })?;
        }
        if slow && cx.is_cancelled() {
            break;
        }
    }
    Ok(())
}

/// `FnMut(T, &mut Output<U>)`.
pub(crate) struct Sequential<F, T, U>(pub(crate) F, pub(crate) PhantomData<fn(T) -> U>);

impl<F, T, U, R> Work for Sequential<F, T, U>
where
    F: FnMut(T, &mut Output<U>) -> R + Send,
    R: Verdict,
{
    fn run(&mut self, cx: &Cx<'_>, block: &mut Option<Block>) -> Result<(), BoxError> {
        let block = block.as_mut().expect("an activation has a block");
        let mut core = Core::new(cx, 0, None);
        // SAFETY: O1: dropped at the end of this function.
        let mut output = unsafe { Output::open(&mut core) };
        // Through a closure of our own: passed as `&mut F`, the kernel is called for each message instead of inlined.
        let stretches = const { size_of::<F>() <= MUCH_STATE };
        resident(&mut self.0, |kernel| {
            each(cx, block, &mut output, stretches, |message, output| kernel(message, output))
        })
    }
}

/// `Fn(T, &mut Output<U>)`, on many workers.
pub(crate) struct Parallel<F, T, U>(pub(crate) F, pub(crate) PhantomData<fn(T) -> U>);

impl<F, T, U, R> SharedWork for Parallel<F, T, U>
where
    F: Fn(T, &mut Output<U>) -> R + Send + Sync,
    R: Verdict,
{
    fn run(&self, cx: &Cx<'_>, block: &mut Option<Block>, chain: &mut Chain) -> Result<(), BoxError> {
        let block = block.as_mut().expect("an activation has a block");
        let mut core = Core::new(cx, 0, Some(chain));
        // SAFETY: O1: dropped at the end of this function.
        let mut output = unsafe { Output::open(&mut core) };
        each(cx, block, &mut output, true, |message, output| (self.0)(message, output))
    }
}

/// `Fn(&mut T)`, on many workers.
pub(crate) struct ParallelUpdate<F, T>(pub(crate) F, pub(crate) PhantomData<fn(T)>);

impl<F, T> SharedWork for ParallelUpdate<F, T>
where
    F: Fn(&mut T) + Send + Sync,
{
    fn run(&self, cx: &Cx<'_>, taken: &mut Option<Block>, chain: &mut Chain) -> Result<(), BoxError> {
        let whole = |block: &mut Block| cx.edge(cx.outputs()[0]).takes_whole(block.unread());
        if let Some(block) = taken.take_if(whole) {
            let slow = cx.takes_long();
            // SAFETY: an edge into this kernel carries `T` (B1), which is what it becomes.
            let mut place = unsafe { InPlace::<T, T>::new(cx, block) };
            let change = |message: &mut T| {
                (self.0)(message);
                true
            };
            while place.alter(change) && !(slow && cx.is_cancelled()) {}
            chain.push(place.finish());
            return Ok(());
        }
        let block = taken.as_mut().expect("an activation has a block");
        let mut core = Core::new(cx, 0, Some(chain));
        // SAFETY: O1: dropped at the end of this function.
        let mut output = unsafe { Output::open(&mut core) };
        each(cx, block, &mut output, true, |mut message, output| {
            (self.0)(&mut message);
            output.push(message);
        })
    }
}

/// `Fn(T)` without an output, on many workers.
pub(crate) struct ParallelSink<F, T>(pub(crate) F, pub(crate) PhantomData<fn(T)>);

impl<F, T, R> SharedWork for ParallelSink<F, T>
where
    F: Fn(T) -> R + Send + Sync,
    R: Verdict,
{
    fn run(&self, cx: &Cx<'_>, block: &mut Option<Block>, _chain: &mut Chain) -> Result<(), BoxError> {
        let block = block.as_mut().expect("an activation has a block");
        each_last(cx, block, |message| (self.0)(message).into_result())
    }
}

/// `FnMut(T)`: the end of a stream.
pub(crate) struct Sink<F, T>(pub(crate) F, pub(crate) PhantomData<fn(T)>);

impl<F, T, R> Work for Sink<F, T>
where
    F: FnMut(T) -> R + Send,
    R: Verdict,
{
    fn run(&mut self, cx: &Cx<'_>, block: &mut Option<Block>) -> Result<(), BoxError> {
        let block = block.as_mut().expect("an activation has a block");
        // Through a closure of our own, as in `Sequential`.
        resident(&mut self.0, |kernel| each_last(cx, block, |message| kernel(message).into_result()))
    }
}
