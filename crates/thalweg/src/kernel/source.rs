//! Sources: iterators and closures that give messages.

use super::each::stretch;
use super::output::{ColdPart, Output};
use super::resident::resident;
use super::{Cx, Flow, Supply};
use crate::edge::Sender;
use crate::error::{BoxError, Guarded, Verdict};
use std::marker::PhantomData;
use std::mem;
use std::ops::ControlFlow;

/// Gives some of what `iterator` has.
#[inline(always)]
fn give_block<I: Iterator>(cx: &Cx<'_>, out: &mut [Sender<'_>], iterator: &mut I) -> Flow {
    let mut cold = ColdPart::new(cx, &mut out[0]);
    // SAFETY: O1: dropped at the end of this function.
    let mut output = unsafe { Output::open(&mut cold) };
    let mut rhythm = cx.rhythm_of_items(stretch::<I, I::Item>(ITEMS));
    let mut left = cx.give_len() as usize;
    while left > 0 {
        let stretch = rhythm.steps().min(left).min(output.room());
        if !output.fill(stretch, || iterator.next()) {
            return Flow::Done;
        }
        left -= stretch;
        // After each block, so that no more than a block comes on top of what the edge may hold.
        if output.should_stop() || cx.should_end(&mut rhythm) {
            break;
        }
    }
    Flow::More
}

/// An iterator; a second run goes on where the first stopped, and finds nothing where it ended.
pub(crate) struct Iter<I> {
    iterator: I,
    ended: bool,
}

impl<I> Iter<I> {
    pub(crate) fn new(iterator: I) -> Self {
        Self { iterator, ended: false }
    }
}

impl<I: Iterator + Send> Supply for Iter<I> {
    fn give(&mut self, cx: &Cx<'_>, out: &mut [Sender<'_>]) -> Result<Flow, BoxError> {
        if self.ended {
            return Ok(Flow::Done);
        }
        let flow = resident(&mut self.iterator, |iterator| give_block(cx, out, iterator));
        self.ended = flow == Flow::Done;
        Ok(flow)
    }
}

/// A fresh iterator for every run.
pub(crate) struct Fresh<M, I> {
    make: M,
    iterator: Option<I>,
    /// The iterator is that of the run before.
    stale: bool,
}

impl<M, I> Fresh<M, I> {
    pub(crate) fn new(make: M) -> Self {
        Self { make, iterator: None, stale: false }
    }
}

impl<M, N, I> Supply for Fresh<M, I>
where
    M: FnMut() -> N + Send,
    N: IntoIterator<IntoIter = I>,
    I: Iterator + Send,
{
    fn begin(&mut self) -> Result<(), BoxError> {
        self.stale = true;
        Ok(())
    }

    fn give(&mut self, cx: &Cx<'_>, out: &mut [Sender<'_>]) -> Result<Flow, BoxError> {
        if mem::take(&mut self.stale) {
            // Here, where a panic of its destructor is one of the kernel.
            self.iterator = None;
        }
        let make = &mut self.make;
        let iterator = self.iterator.get_or_insert_with(|| make().into_iter());
        Ok(resident(iterator, |iterator| give_block(cx, out, iterator)))
    }
}

/// A closure that gives any number of messages each time it is asked.
pub(crate) struct Poll<F, T>(pub(crate) F, pub(crate) PhantomData<fn() -> T>);

impl<F, T, R> Supply for Poll<F, T>
where
    F: FnMut(&mut Output<T>) -> R + Send,
    R: Verdict<Value = Flow>,
{
    fn give(&mut self, cx: &Cx<'_>, out: &mut [Sender<'_>]) -> Result<Flow, BoxError> {
        let mut cold = ColdPart::new(cx, &mut out[0]);
        // SAFETY: O1: dropped at the end of this function.
        let mut output = unsafe { Output::open(&mut cold) };
        (self.0)(&mut output).into_result()
    }
}

/// A whole chain in one kernel: an iterator and what is done with each of its items, no edge between.
///
/// `None` after a panic.
pub(crate) struct Fused<I, F>(pub(crate) Option<(I, F)>);

/// Blocks' worth of items that a fused chain takes in one go.
pub(super) const FUSED_GIVES: usize = 4;
/// Items that a source takes between two looks at the run, where they own nothing; more where nothing is pushed, as such a loop may be vector instructions.
pub(super) const ITEMS: usize = 256;
const FUSED_ITEMS: usize = 512;

impl<I, F> Supply for Fused<I, F>
where
    I: Iterator + Send,
    F: FnMut(I::Item) + Send,
{
    fn give(&mut self, cx: &Cx<'_>, _out: &mut [Sender<'_>]) -> Result<Flow, BoxError> {
        let mut rhythm = cx.rhythm_of_items(stretch::<(I, F), I::Item>(FUSED_ITEMS));
        let mut left = cx.give_len() as usize * FUSED_GIVES;
        // Locals can live in registers; behind `self` each item would cost loads and stores.
        let Some(mut chain) = self.0.take().map(Guarded::new) else { return Ok(Flow::Done) };
        let (iterator, each) = &mut *chain.0;
        while left > 0 {
            let most = rhythm.steps().min(left) as u32;
            // The first one by itself, right before the loop: what `each` writes behind references was written then in any case, and the loop may
            // keep it in registers.
            let Some(first) = iterator.next() else { return Ok(Flow::Done) };
            each(first);
            // The iterator's own loop: a range makes vector instructions of it, which a loop over `next` is not.
            let result = match most - 1 {
                0 => ControlFlow::Break(()),
                rest => iterator.try_fold(rest, |left, item| {
                    each(item);
                    if left > 1 { ControlFlow::Continue(left - 1) } else { ControlFlow::Break(()) }
                }),
            };
            if result.is_continue() {
                return Ok(Flow::Done);
            }
            left -= most as usize;
            if cx.should_end(&mut rhythm) {
                break;
            }
        }
        self.0 = Some(chain.into_inner());
        Ok(Flow::More)
    }
}
