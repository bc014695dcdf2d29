//! Kernels made of a closure that is called for each message.

use super::Cx;
use super::given::Given;
use super::in_place::{InPlace, Unread, cut};
use super::output::{ColdPart, Output};
use super::resident::resident;
use super::{Flow, SharedWork, Work};
use crate::block::Block;
use crate::edge::{Edge, Sender};
use crate::error::{BoxError, Verdict};
use std::fmt;
use std::marker::PhantomData;
use std::mem::needs_drop;
use thalweg_sync::sync::Arc;

/// Messages that a loop takes between two looks at the run, where they are quick. So few are straight code, in which the compiler still takes several at once;
/// a look between any two of them costs as much as a cheap message.
pub(crate) const STRETCH: usize = 8;

/// A look at the run between any two messages costs nothing that counts where the code or its messages own something: such a loop is never made of vector
/// instructions. `most` messages without a look elsewhere.
pub(crate) const fn stretch<F, T>(most: usize) -> usize {
    if needs_drop::<F>() || needs_drop::<T>() { 1 } else { most }
}

/// The same at the end of a stream.
const LAST: usize = 32;
/// A kernel with more state than this, in bytes, does not take its messages in stretches.
const MUCH_STATE: usize = 64;

/// How a kernel's messages are gone through.
#[derive(Clone, Copy, Debug)]
pub(super) enum Pace {
    /// With a look after each.
    Each,
    /// With a look after [`STRETCH`] of them.
    Counted,
    /// The same, in loops of that length.
    Stretches,
}

/// The pace of a closure.
pub(super) const fn pace<F>() -> Pace {
    match () {
        () if needs_drop::<F>() => Pace::Each,
        () if size_of::<F>() > MUCH_STATE => Pace::Counted,
        () => Pace::Stretches,
    }
}

/// Takes the messages of `block` one by one, until it is empty, the output is full, or it is time to leave.
///
/// Why there are stretches: where the compiler knows that there is room for a few messages more than a kernel gives, nothing is left of the checks of a
/// push. But the kernel is then called from two places, and a large one is inlined only where it is called from a single one; not inlined, its
/// state goes through memory at each message.
#[inline(always)]
pub(super) fn each<T, U, R: Verdict>(
    cx: &Cx<'_>,
    block: &mut Block,
    output: &mut Output<U>,
    pace: Pace,
    mut kernel: impl FnMut(T, &mut Output<U>) -> R,
) -> Result<(), BoxError> {
    let mut rhythm = cx.rhythm(STRETCH);
    let owns = const { needs_drop::<T>() || needs_drop::<U>() } || matches!(pace, Pace::Each);
    let stretches = matches!(pace, Pace::Stretches) && !owns;
    let (stretch, most) = (rhythm.stretch(), if owns { 1 } else { rhythm.steps() });
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
            if cx.should_leave(&mut rhythm) {
                return Ok(());
            }
        }
        for _ in 0..unread.left().min(most) {
            // SAFETY: as many are left.
            kernel(unsafe { unread.next_unchecked() }, output).into_result()?;
            if output.should_stop() {
                return Ok(());
            }
        }
        if unread.left() == 0 || cx.should_leave(&mut rhythm) {
            return Ok(());
        }
    }
}

/// Takes the messages of `block` one by one, until it is empty or it is time to leave: for the end of a stream. `most` from one look to the next.
///
/// What a fast kernel sums up behind a reference stays in a register from one look to the next.
#[inline(always)]
fn each_last<T, V>(
    cx: &Cx<'_>,
    block: &mut Block,
    most: usize,
    mut kernel: impl FnMut(T) -> Result<V, BoxError>,
) -> Result<(), BoxError> {
    let mut rhythm = cx.rhythm(most);
    // SAFETY: an edge into this kernel carries `T` (B1).
    let mut unread = unsafe { Unread::<T>::new(block) };
    while unread.left() > 0 {
        for _ in 0..unread.left().min(rhythm.steps()) {
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
        let mut cold = ColdPart::new(cx, &mut out[0]);
        // SAFETY: O1: dropped at the end of this function.
        let mut output = unsafe { Output::open(&mut cold) };
        // Through a closure of our own: passed as `&mut F`, the kernel is called for each message instead of inlined.
        let pace = const { pace::<F>() };
        self.is_done = ended(resident(&mut self.kernel, |kernel| {
            each(cx, block, &mut output, pace, |message, output| go_on(kernel(message, output)))
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
        given: &mut Given<'_>,
    ) -> Result<(), BoxError> {
        let block = block.as_mut().expect("an activation has a block");
        let mut cold = ColdPart::chained(cx, given, 0, &out[0]);
        // SAFETY: O1: dropped at the end of this function.
        let mut output = unsafe { Output::open(&mut cold) };
        each(cx, block, &mut output, const { pace::<F>() }, |message, output| (self.0)(message, output))
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
        given: &mut Given<'_>,
    ) -> Result<(), BoxError> {
        if let Some(block) = taken.take_if(|block| out[0].takes_whole(block.unread())) {
            // SAFETY: an edge into this kernel carries `T` (B1), which is what it becomes.
            let mut place = unsafe { InPlace::<T, T>::new(cx, out[0].plan.to, block) };
            place.go_through(matches!(pace::<F>(), Pace::Stretches), |place| {
                let change = |message: &mut T| {
                    (self.0)(message);
                    true
                };
                // SAFETY: one is left, and it stays what it is.
                unsafe { place.alter(change) };
            });
            let (mut changed, rest) = place.finish();
            cx.stamp(&mut changed);
            given.push(cx, 0, &out[0], changed);
            *taken = rest;
            return Ok(());
        }
        let block = taken.as_mut().expect("an activation has a block");
        let mut cold = ColdPart::chained(cx, given, 0, &out[0]);
        // SAFETY: O1: dropped at the end of this function.
        let mut output = unsafe { Output::open(&mut cold) };
        each(cx, block, &mut output, const { pace::<F>() }, |mut message, output| {
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
        _given: &mut Given<'_>,
    ) -> Result<(), BoxError> {
        let block = block.as_mut().expect("an activation has a block");
        each_last(cx, block, const { stretch::<F, T>(LAST) }, |message| (self.0)(message).into_result())
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
        let most = const { stretch::<F, T>(LAST) };
        let result = resident(&mut self.kernel, |kernel| each_last(cx, block, most, |message| go_on(kernel(message))));
        self.is_done = ended(result)?;
        Ok(())
    }

    fn is_done(&self) -> bool {
        self.is_done
    }
}
