//! Chains at a source in which an item may come to nothing.
//!
//! An iterator that filters stays in `next` for as long as nothing gets through, and nobody can ask it to stop meanwhile. A chain of [`Steps`] is
//! gone through item by item of what it begins with, so the source looks up after a number of those, whatever comes of them.

use crate::edge::Sender;
use crate::error::{BoxError, Guarded};
use crate::kernel::Cx;
use crate::kernel::each::stretch;
use crate::kernel::output::{ColdPart, Output};
use crate::kernel::resident::resident;
use crate::kernel::source::FUSED_GIVES;
use crate::kernel::{Flow, Supply};
use std::fmt;
use std::ops::ControlFlow::{self, Break, Continue};

/// Steps between two looks at the run, where the items and the closures own nothing.
const STEPS: usize = 128;

mod sealed {
    pub trait Sealed {}
}

/// What comes of a stream of items, a number of steps at a time. Only the types of this module implement it.
pub trait Steps: Send + sealed::Sealed {
    /// What comes out.
    type Item: Send;

    /// Makes up to `most` steps, at least one, and gives what comes out to `each` until that breaks. True if nothing more will come.
    ///
    /// A step takes one item from the beginning, or from what a [`Spread`] made of one. If a single step ends it, it has given nothing.
    fn go(&mut self, most: u32, each: &mut impl FnMut(Self::Item) -> ControlFlow<()>) -> bool;
}

/// The beginning: an iterator.
#[derive(Debug)]
pub struct Begin<I>(pub(crate) I);

impl<I> sealed::Sealed for Begin<I> {}
impl<I: Iterator<Item: Send> + Send> Steps for Begin<I> {
    type Item = I::Item;

    #[inline(always)]
    fn go(&mut self, most: u32, each: &mut impl FnMut(I::Item) -> ControlFlow<()>) -> bool {
        // The iterator's own loop: a range makes vector instructions of it, which a loop over `next` is not.
        let result = self.0.try_fold(most, |left, item| {
            each(item)?;
            if left > 1 { Continue(left - 1) } else { Break(()) }
        });
        result.is_continue()
    }
}

macro_rules! step {
    ($(#[$doc:meta])* $Step:ident<$S:ident, $F:ident>) => {
        $(#[$doc])*
        pub struct $Step<$S, $F>(pub(crate) $S, pub(crate) $F);

        impl<$S, $F> sealed::Sealed for $Step<$S, $F> {}
        impl<$S, $F> fmt::Debug for $Step<$S, $F> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($Step)).finish_non_exhaustive()
            }
        }
    };
}

step! {
    /// See [`Chain::map`](crate::Chain::map).
    Change<S, F>
}
impl<S: Steps, U: Send, F: FnMut(S::Item) -> U + Send> Steps for Change<S, F> {
    type Item = U;

    #[inline(always)]
    fn go(&mut self, most: u32, each: &mut impl FnMut(U) -> ControlFlow<()>) -> bool {
        let change = &mut self.1;
        self.0.go(most, &mut |item| each(change(item)))
    }
}

step! {
    /// See [`Chain::filter`](crate::Chain::filter).
    Keep<S, F>
}
impl<S: Steps, F: FnMut(&S::Item) -> bool + Send> Steps for Keep<S, F> {
    type Item = S::Item;

    #[inline(always)]
    fn go(&mut self, most: u32, each: &mut impl FnMut(S::Item) -> ControlFlow<()>) -> bool {
        let keep = &mut self.1;
        self.0.go(most, &mut |item| if keep(&item) { each(item) } else { Continue(()) })
    }
}

step! {
    /// See [`Chain::inspect`](crate::Chain::inspect).
    Look<S, F>
}
impl<S: Steps, F: FnMut(&S::Item) + Send> Steps for Look<S, F> {
    type Item = S::Item;

    #[inline(always)]
    fn go(&mut self, most: u32, each: &mut impl FnMut(S::Item) -> ControlFlow<()>) -> bool {
        let look = &mut self.1;
        self.0.go(most, &mut |item| {
            look(&item);
            each(item)
        })
    }
}

/// See [`Chain::flat_map`](crate::Chain::flat_map).
pub struct Spread<S, U: IntoIterator, F> {
    steps: S,
    spread: F,
    /// What is left of the last item.
    rest: Option<U::IntoIter>,
}

impl<S, U: IntoIterator, F> Spread<S, U, F> {
    pub(crate) fn new(steps: S, spread: F) -> Self {
        Self { steps, spread, rest: None }
    }
}

impl<S, U: IntoIterator, F> sealed::Sealed for Spread<S, U, F> {}
impl<S, U: IntoIterator, F> fmt::Debug for Spread<S, U, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Spread").finish_non_exhaustive()
    }
}

impl<S: Steps, U, F> Steps for Spread<S, U, F>
where
    U: IntoIterator<IntoIter: Send, Item: Send>,
    F: FnMut(S::Item) -> U + Send,
{
    type Item = U::Item;

    #[inline(always)]
    fn go(&mut self, most: u32, each: &mut impl FnMut(U::Item) -> ControlFlow<()>) -> bool {
        let Self { steps, spread, rest } = self;
        let mut left = most;
        while left > 0 {
            match rest.as_mut().map(Iterator::next) {
                Some(Some(item)) => {
                    if each(item).is_break() {
                        return false;
                    }
                }
                // It is not asked again once it has ended.
                Some(None) => {
                    *rest = None;
                    continue;
                }
                None => {
                    let ended = steps.go(1, &mut |item| {
                        *rest = Some(spread(item).into_iter());
                        Continue(())
                    });
                    if ended {
                        return true;
                    }
                }
            }
            left -= 1;
        }
        false
    }
}

/// A source that gives what comes of steps; a second run goes on where the first stopped.
pub(crate) struct FromSteps<S> {
    steps: S,
    ended: bool,
}

impl<S> FromSteps<S> {
    pub(crate) fn new(steps: S) -> Self {
        Self { steps, ended: false }
    }
}

impl<S: Steps> Supply for FromSteps<S> {
    fn give(&mut self, cx: &Cx<'_>, out: &mut [Sender<'_>]) -> Result<Flow, BoxError> {
        if self.ended {
            return Ok(Flow::Done);
        }
        let owns = const { stretch::<S, S::Item>(2) == 1 };
        self.ended = resident(&mut self.steps, |steps| {
            let mut rhythm = cx.rhythm_of_items(1);
            let mut left = cx.give_len();
            let mut cold = ColdPart::new(cx, &mut out[0]);
            // SAFETY: O1: dropped at the end of this closure.
            let mut output = unsafe { Output::open(&mut cold) };
            if !owns {
                // Looks between would keep what the loop needs out of registers.
                return steps.go(left, &mut |item| {
                    output.push(item);
                    // After each block, so that no more than a block comes on top of what the edge may hold.
                    if output.should_stop() { Break(()) } else { Continue(()) }
                });
            }
            let mut full = false;
            while left > 0 {
                let ended = steps.go(1, &mut |item| {
                    output.push(item);
                    full = output.should_stop();
                    Continue(())
                });
                if ended {
                    return true;
                }
                left -= 1;
                if full || cx.should_end(&mut rhythm) {
                    break;
                }
            }
            false
        });
        Ok(if self.ended { Flow::Done } else { Flow::More })
    }
}

/// Steps and what is done with each that comes out, in one kernel.
///
/// `None` at the end, and after a panic.
pub(crate) struct ForEach<S, F>(pub(crate) Option<(S, F)>);

impl<S: Steps, F: FnMut(S::Item) + Send> Supply for ForEach<S, F> {
    fn give(&mut self, cx: &Cx<'_>, _out: &mut [Sender<'_>]) -> Result<Flow, BoxError> {
        // Locals can live in registers; behind `self` each item would cost loads and stores.
        let Some(mut chain) = self.0.take().map(Guarded::new) else { return Ok(Flow::Done) };
        let (steps, each) = &mut *chain.0;
        let mut rhythm = cx.rhythm_of_items(stretch::<(S, F), S::Item>(STEPS));
        let mut left = cx.give_len() as usize * FUSED_GIVES;
        while left > 0 {
            let most = rhythm.steps().min(left);
            let ended = steps.go(most as u32, &mut |item| {
                each(item);
                Continue(())
            });
            if ended {
                return Ok(Flow::Done);
            }
            left -= most;
            if cx.should_end(&mut rhythm) {
                break;
            }
        }
        self.0 = Some(chain.into_inner());
        Ok(Flow::More)
    }
}
