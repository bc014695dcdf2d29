//! Kernels made of a closure that is called for each message.

use super::Cx;
use super::in_place::{InPlace, Unread, cut};
use super::output::{Core, Output};
use super::resident::resident;
use super::{Flow, SharedWork, Work};
use crate::block::{Block, Chain};
use crate::edge::{Edge, Sender};
use crate::error::{BoxError, Verdict};
use std::fmt;
use std::marker::PhantomData;
use thalweg_sync::sync::Arc;

/// Messages that are taken without a look at whether there is another one.
pub(super) const STRETCH: usize = 8;
/// Messages that a loop with nothing else in it takes between two looks at the run.
pub(super) const TIGHT: usize = 32;
/// The same where messages stay where they are: such a loop is vector instructions, which shorter stretches would cost more than the looks.
pub(super) const IN_PLACE: usize = 256;
/// A kernel with more state than this, in bytes, does not take its messages in stretches.
const MUCH_STATE: usize = 64;

/// Takes the messages of `block` one by one, until it is empty, the output is full, or it is time to leave.
///
/// With `stretches`: where the compiler knows that there is room for a few messages more than a kernel gives, nothing is left of the checks of a
/// push. But the kernel is then called from two places, and a large one is inlined only where it is called from a single one; not inlined, its
/// state goes through memory at each message.
#[inline(always)]
pub(super) fn each<T, U, R: Verdict>(
    cx: &Cx<'_>,
    block: &mut Block,
    output: &mut Output<U>,
    stretches: bool,
    mut kernel: impl FnMut(T, &mut Output<U>) -> R,
) -> Result<(), BoxError> {
    let mut rhythm = cx.rhythm(STRETCH);
    let stretch = if rhythm.stretch < STRETCH { usize::MAX } else { STRETCH };
    // SAFETY: an edge into this kernel carries `T` (B1).
    let mut unread = unsafe { Unread::<T>::new(block) };
    let mut since = 0;
    loop {
        while stretches && unread.left() >= stretch && output.room() > STRETCH {
            for _ in 0..STRETCH {
                // SAFETY: as many are left.
                kernel(unsafe { unread.next_unchecked() }, output).into_result()?;
                if output.should_stop() {
                    return Ok(());
                }
            }
            if cx.should_leave(&mut rhythm) {
                return Ok(());
            }
        }
        let Some(message) = unread.next() else { return Ok(()) };
        kernel(message, output).into_result()?;
        since += 1;
        if output.should_stop() || since >= rhythm.stretch && cx.should_leave(&mut rhythm) {
            return Ok(());
        }
        if since >= rhythm.stretch {
            since = 0;
        }
    }
}

/// Takes the messages of `block` one by one, until it is empty or it is time to leave: for the end of a stream.
///
/// The messages of a fast kernel are taken in a loop with nothing else in it.
#[inline(always)]
fn each_last<T, V>(
    cx: &Cx<'_>,
    block: &mut Block,
    mut kernel: impl FnMut(T) -> Result<V, BoxError>,
) -> Result<(), BoxError> {
    let mut rhythm = cx.rhythm(TIGHT);
    // SAFETY: an edge into this kernel carries `T` (B1).
    let mut unread = unsafe { Unread::<T>::new(block) };
    while unread.left() > 0 {
        for _ in 0..unread.left().min(rhythm.stretch) {
            // SAFETY: as many are left.
            kernel(unsafe { unread.next_unchecked() })?;
        }
        if cx.should_leave(&mut rhythm) {
            break;
        }
    }
    Ok(())
}

/// Leaves a loop: the kernel has said that it is done.
#[derive(Debug)]
struct Enough;

impl fmt::Display for Enough {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the kernel is done")
    }
}

impl std::error::Error for Enough {}

/// What a closure said of one message; an end of its own as an error that [`ended`] knows.
#[inline(always)]
fn go_on<V: Into<Flow>>(said: impl Verdict<Value = V>) -> Result<(), BoxError> {
    if said.into_result()?.into() == Flow::Done { Err(Box::new(Enough)) } else { Ok(()) }
}

/// Whether the loop was left because the kernel is done.
fn ended(result: Result<(), BoxError>) -> Result<bool, BoxError> {
    match result {
        Err(error) if error.is::<Enough>() => Ok(true),
        other => other.map(|()| false),
    }
}

/// `FnMut(T, &mut Output<U>)`.
pub(crate) struct Sequential<F, T, U> {
    kernel: F,
    /// It has said so, in this run.
    is_done: bool,
    types: PhantomData<fn(T) -> U>,
}

impl<F, T, U> Sequential<F, T, U> {
    pub(crate) fn new(kernel: F) -> Self {
        Self { kernel, is_done: false, types: PhantomData }
    }
}

impl<F, T, U, R> Work for Sequential<F, T, U>
where
    F: FnMut(T, &mut Output<U>) -> R + Send,
    R: Verdict<Value: Into<Flow>>,
{
    fn run(&mut self, cx: &Cx<'_>, out: &mut [Sender<'_>], block: &mut Option<Block>) -> Result<(), BoxError> {
        let block = block.as_mut().expect("an activation has a block");
        let mut core = Core::new(cx, &mut out[0]);
        // SAFETY: O1: dropped at the end of this function.
        let mut output = unsafe { Output::open(&mut core) };
        // Through a closure of our own: passed as `&mut F`, the kernel is called for each message instead of inlined.
        let stretches = const { size_of::<F>() <= MUCH_STATE };
        self.is_done = ended(resident(&mut self.kernel, |kernel| {
            each(cx, block, &mut output, stretches, |message, output| go_on(kernel(message, output)))
        }))?;
        Ok(())
    }

    fn is_done(&self) -> bool {
        self.is_done
    }
}

/// `Fn(T, &mut Output<U>)`, on many workers.
pub(crate) struct Parallel<F, T, U>(pub(crate) F, pub(crate) PhantomData<fn(T) -> U>);

impl<F, T, U, R> SharedWork for Parallel<F, T, U>
where
    F: Fn(T, &mut Output<U>) -> R + Send + Sync,
    R: Verdict,
{
    fn run(
        &self,
        cx: &Cx<'_>,
        out: &[Arc<Edge>],
        block: &mut Option<Block>,
        chain: &mut Chain,
    ) -> Result<(), BoxError> {
        let block = block.as_mut().expect("an activation has a block");
        let mut core = Core::chained(cx, chain, 0, &out[0]);
        // SAFETY: O1: dropped at the end of this function.
        let mut output = unsafe { Output::open(&mut core) };
        each(cx, block, &mut output, true, |message, output| (self.0)(message, output))
    }

    fn cut(&self, cx: &Cx<'_>, rest: Block, most: usize) -> Vec<Block> {
        cut::<T>(cx, rest, most)
    }
}

/// `Fn(&mut T)`, on many workers.
pub(crate) struct ParallelUpdate<F, T>(pub(crate) F, pub(crate) PhantomData<fn(T)>);

impl<F, T> SharedWork for ParallelUpdate<F, T>
where
    F: Fn(&mut T) + Send + Sync,
{
    fn run(
        &self,
        cx: &Cx<'_>,
        out: &[Arc<Edge>],
        taken: &mut Option<Block>,
        chain: &mut Chain,
    ) -> Result<(), BoxError> {
        if let Some(block) = taken.take_if(|block| out[0].takes_whole(block.unread())) {
            let mut rhythm = cx.rhythm(IN_PLACE);
            // SAFETY: an edge into this kernel carries `T` (B1), which is what it becomes.
            let mut place = unsafe { InPlace::<T, T>::new(cx, out[0].plan.to, block) };
            let change = |message: &mut T| {
                (self.0)(message);
                true
            };
            while place.alter(rhythm.stretch, change) && !cx.should_leave(&mut rhythm) {}
            let (mut changed, rest) = place.finish();
            cx.stamp(&mut changed);
            chain.push(0, changed);
            *taken = rest;
            return Ok(());
        }
        let block = taken.as_mut().expect("an activation has a block");
        let mut core = Core::chained(cx, chain, 0, &out[0]);
        // SAFETY: O1: dropped at the end of this function.
        let mut output = unsafe { Output::open(&mut core) };
        each(cx, block, &mut output, true, |mut message, output| {
            (self.0)(&mut message);
            output.push(message);
        })
    }

    fn cut(&self, cx: &Cx<'_>, rest: Block, most: usize) -> Vec<Block> {
        cut::<T>(cx, rest, most)
    }
}

/// `Fn(T)` without an output, on many workers.
pub(crate) struct ParallelSink<F, T>(pub(crate) F, pub(crate) PhantomData<fn(T)>);

impl<F, T, R> SharedWork for ParallelSink<F, T>
where
    F: Fn(T) -> R + Send + Sync,
    R: Verdict,
{
    fn run(
        &self,
        cx: &Cx<'_>,
        _out: &[Arc<Edge>],
        block: &mut Option<Block>,
        _chain: &mut Chain,
    ) -> Result<(), BoxError> {
        let block = block.as_mut().expect("an activation has a block");
        each_last(cx, block, |message| (self.0)(message).into_result())
    }

    fn cut(&self, cx: &Cx<'_>, rest: Block, most: usize) -> Vec<Block> {
        cut::<T>(cx, rest, most)
    }
}

/// `FnMut(T)`: the end of a stream.
pub(crate) struct Sink<F, T> {
    kernel: F,
    /// It has said so, in this run.
    is_done: bool,
    types: PhantomData<fn(T)>,
}

impl<F, T> Sink<F, T> {
    pub(crate) fn new(kernel: F) -> Self {
        Self { kernel, is_done: false, types: PhantomData }
    }
}

impl<F, T, R> Work for Sink<F, T>
where
    F: FnMut(T) -> R + Send,
    R: Verdict<Value: Into<Flow>>,
{
    fn run(&mut self, cx: &Cx<'_>, _out: &mut [Sender<'_>], block: &mut Option<Block>) -> Result<(), BoxError> {
        let block = block.as_mut().expect("an activation has a block");
        // Through a closure of our own, as in `Sequential`.
        let result = resident(&mut self.kernel, |kernel| each_last(cx, block, |message| go_on(kernel(message))));
        self.is_done = ended(result)?;
        Ok(())
    }

    fn is_done(&self) -> bool {
        self.is_done
    }
}
