//! Chains of `map`, `filter`, `flat_map`, `inspect` and `update` as one kernel: each stage is inlined into the next, so a hop costs nothing.
//!
//! **S2** What a message becomes is pulled: a [`FlatMap`] stops when the output is full or it is time to look up, keeps its iterator, and goes on with it
//! before the next message is taken. Meanwhile the message counts as not taken, so its edge has input, and neither the end of the stream nor that of a
//! cycle overtakes it.

use super::each::{Pace, each};
use super::in_place::{InPlace, Unread};
use super::output::{ColdPart, Output};
use super::{Cx, Work};
use crate::block::Block;
use crate::edge::Sender;
use crate::error::{BoxError, Payload};
use std::cell::Cell;
use std::fmt;
use std::marker::PhantomData;
use std::mem::needs_drop;
use std::ops::ControlFlow::{self, Break, Continue};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Steps between two looks at the run, where a message is several; fewer where the code or its messages own something.
const SPREAD: usize = 64;
const SPREAD_SLOWLY: usize = 2;

mod sealed {
    pub trait Sealed {}
}

/// What is done with each message, as a type. Only the stages of this module implement it.
///
/// **S1** A stage with `IN_PLACE` gives messages of the type that it takes: `Out` is `T`.
pub trait Stage<T>: Send + sealed::Sealed {
    /// What comes out.
    type Out: Send;
    /// Exactly one message comes out for each that goes in.
    const ONE: bool;
    /// At most one comes out, [`one`](Self::one) gives it, and the stage holds nothing.
    const AT_MOST_ONE: bool;
    /// Messages stay what and where they are, and [`alter`](Self::alter) changes them there: large ones are not moved.
    const IN_PLACE: bool;

    /// Gives what comes out for `message` to `emit`, as long as there are `steps` left, one of which it uses up for each item. If it breaks, it
    /// [holds](Self::holds) what is left. Only for stages without `AT_MOST_ONE` that hold nothing, and with a step left.
    fn each(&mut self, message: T, steps: &Cell<usize>, emit: &mut impl FnMut(Self::Out)) -> ControlFlow<()>;

    /// Goes on with what the stage holds, as [`each`](Self::each).
    fn go_on(&mut self, steps: &Cell<usize>, emit: &mut impl FnMut(Self::Out)) -> ControlFlow<()>;

    /// Whether it holds what is left of a message.
    fn holds(&self) -> bool;

    /// Drops what it holds, and notes the panics of destructors.
    fn let_go(&mut self, panics: &mut Vec<Payload>);

    /// The one message that comes out for `message`, if any. Only for stages with `AT_MOST_ONE`.
    fn one(&mut self, message: T) -> Option<Self::Out>;

    /// Changes the message where it is. False if it falls. Only for stages with `IN_PLACE`.
    fn alter(&mut self, message: &mut T) -> bool;
}

/// The message as a stage behind one with `IN_PLACE` sees it.
#[inline(always)]
fn as_out<T, S: Stage<T>>(_stage: &S, message: &mut T) -> *mut S::Out {
    debug_assert!(S::IN_PLACE);
    std::ptr::from_mut(message).cast()
}

/// A stage that holds nothing, at the beginning of a chain.
macro_rules! holds_nothing {
    ($T:ty, $Out:ty) => {
        fn each(&mut self, _message: $T, _steps: &Cell<usize>, _emit: &mut impl FnMut($Out)) -> ControlFlow<()> {
            unreachable!("it gives one for one")
        }
        fn go_on(&mut self, _steps: &Cell<usize>, _emit: &mut impl FnMut($Out)) -> ControlFlow<()> {
            unreachable!("it holds nothing")
        }
        fn holds(&self) -> bool {
            false
        }
        fn let_go(&mut self, _panics: &mut Vec<Payload>) {}
    };
}

/// A stage that holds nothing, behind others that may: what its closure does with a message that they give.
macro_rules! behind {
    ($T:ty, $Out:ty, |$closure:ident, $emit:ident| $each:expr) => {
        #[inline(always)]
        fn each(&mut self, message: $T, steps: &Cell<usize>, $emit: &mut impl FnMut($Out)) -> ControlFlow<()> {
            let $closure = &mut self.1;
            self.0.each(message, steps, &mut $each)
        }
        #[inline(always)]
        fn go_on(&mut self, steps: &Cell<usize>, $emit: &mut impl FnMut($Out)) -> ControlFlow<()> {
            let $closure = &mut self.1;
            self.0.go_on(steps, &mut $each)
        }
        fn holds(&self) -> bool {
            self.0.holds()
        }
        fn let_go(&mut self, panics: &mut Vec<Payload>) {
            self.0.let_go(panics);
        }
    };
}

/// Lets every message through.
#[derive(Clone, Copy, Debug, Default)]
pub struct Identity;

impl<T: Send> Stage<T> for Identity {
    type Out = T;
    const ONE: bool = true;
    const AT_MOST_ONE: bool = true;
    const IN_PLACE: bool = true;
    holds_nothing!(T, T);
    #[inline(always)]
    fn one(&mut self, message: T) -> Option<T> {
        Some(message)
    }
    #[inline(always)]
    fn alter(&mut self, _message: &mut T) -> bool {
        true
    }
}

/// See [`Chain::map`](crate::Chain::map).
#[derive(Clone, Copy, Debug)]
pub struct Map<S, F>(pub(crate) S, pub(crate) F);

impl<T, U: Send, S: Stage<T>, F: FnMut(S::Out) -> U + Send> Stage<T> for Map<S, F> {
    type Out = U;
    const ONE: bool = S::ONE;
    const AT_MOST_ONE: bool = S::AT_MOST_ONE;
    const IN_PLACE: bool = false;
    behind!(T, U, |change, emit| |message| emit(change(message)));
    #[inline(always)]
    fn one(&mut self, message: T) -> Option<U> {
        self.0.one(message).map(&mut self.1)
    }
    fn alter(&mut self, _message: &mut T) -> bool {
        unreachable!("a map makes new messages")
    }
}

/// See [`Chain::filter`](crate::Chain::filter).
#[derive(Clone, Copy, Debug)]
pub struct Filter<S, F>(pub(crate) S, pub(crate) F);

impl<T, S: Stage<T>, F: FnMut(&S::Out) -> bool + Send> Stage<T> for Filter<S, F> {
    type Out = S::Out;
    const ONE: bool = false;
    const AT_MOST_ONE: bool = S::AT_MOST_ONE;
    const IN_PLACE: bool = S::IN_PLACE;
    behind!(T, S::Out, |keep, emit| |message| if keep(&message) {
        emit(message);
    });
    #[inline(always)]
    fn one(&mut self, message: T) -> Option<S::Out> {
        self.0.one(message).filter(&mut self.1)
    }
    #[inline(always)]
    fn alter(&mut self, message: &mut T) -> bool {
        let kept = self.0.alter(message);
        // SAFETY: S1: the stages before give what they take, so this is the same type.
        let message = unsafe { &mut *as_out(&self.0, message) };
        kept && (self.1)(&*message)
    }
}

/// See [`Chain::update`](crate::Chain::update).
#[derive(Clone, Copy, Debug)]
pub struct Update<S, F>(pub(crate) S, pub(crate) F);

impl<T, S: Stage<T>, F: FnMut(&mut S::Out) + Send> Stage<T> for Update<S, F> {
    type Out = S::Out;
    const ONE: bool = S::ONE;
    const AT_MOST_ONE: bool = S::AT_MOST_ONE;
    const IN_PLACE: bool = S::IN_PLACE;
    behind!(T, S::Out, |change, emit| |mut message| {
        change(&mut message);
        emit(message)
    });
    #[inline(always)]
    fn one(&mut self, message: T) -> Option<S::Out> {
        let mut message = self.0.one(message)?;
        (self.1)(&mut message);
        Some(message)
    }
    #[inline(always)]
    fn alter(&mut self, message: &mut T) -> bool {
        let kept = self.0.alter(message);
        // SAFETY: S1: the stages before give what they take, so this is the same type.
        let message = unsafe { &mut *as_out(&self.0, message) };
        if kept {
            (self.1)(message);
        }
        kept
    }
}

/// See [`Chain::inspect`](crate::Chain::inspect).
#[derive(Clone, Copy, Debug)]
pub struct Inspect<S, F>(pub(crate) S, pub(crate) F);

impl<T, S: Stage<T>, F: FnMut(&S::Out) + Send> Stage<T> for Inspect<S, F> {
    type Out = S::Out;
    const ONE: bool = S::ONE;
    const AT_MOST_ONE: bool = S::AT_MOST_ONE;
    const IN_PLACE: bool = S::IN_PLACE;
    behind!(T, S::Out, |look, emit| |message| {
        look(&message);
        emit(message)
    });
    #[inline(always)]
    fn one(&mut self, message: T) -> Option<S::Out> {
        self.0.one(message).inspect(&mut self.1)
    }
    #[inline(always)]
    fn alter(&mut self, message: &mut T) -> bool {
        let kept = self.0.alter(message);
        // SAFETY: S1: the stages before give what they take, so this is the same type.
        let message = unsafe { &mut *as_out(&self.0, message) };
        if kept {
            (self.1)(&*message);
        }
        kept
    }
}

/// See [`Chain::flat_map`](crate::Chain::flat_map).
pub struct FlatMap<S, U: IntoIterator, F> {
    stages: S,
    spread: F,
    /// What is left of the last message.
    rest: Option<U::IntoIter>,
}

impl<S, U: IntoIterator, F> FlatMap<S, U, F> {
    pub(crate) fn new(stages: S, spread: F) -> Self {
        Self { stages, spread, rest: None }
    }
}

impl<S, U: IntoIterator, F> fmt::Debug for FlatMap<S, U, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FlatMap").finish_non_exhaustive()
    }
}

/// An iterator that gives its items from where it can live in registers. If it is left before its end, also by a panic, it goes to `home`: its destructor
/// must not run while that unwinds.
struct Spreading<'a, I> {
    items: Option<I>,
    home: &'a mut Option<I>,
}

impl<I: Iterator> Spreading<'_, I> {
    /// Gives items until there are none, or no step is left.
    #[inline(always)]
    fn run(mut self, steps: &Cell<usize>, emit: &mut impl FnMut(I::Item)) -> ControlFlow<()> {
        let Some(items) = &mut self.items else { return Continue(()) };
        items.try_for_each(|item| {
            emit(item);
            // What comes of the item may have used up the last one.
            steps.set(steps.get().saturating_sub(1));
            if steps.get() > 0 { Continue(()) } else { Break(()) }
        })?;
        // It is not asked again once it has ended.
        drop(self.items.take());
        Continue(())
    }
}

impl<I> Drop for Spreading<'_, I> {
    #[inline(always)]
    fn drop(&mut self) {
        if let Some(items) = self.items.take() {
            *self.home = Some(items);
        }
    }
}

impl<T, S, U, F> Stage<T> for FlatMap<S, U, F>
where
    S: Stage<T>,
    U: IntoIterator<IntoIter: Send, Item: Send>,
    F: FnMut(S::Out) -> U + Send,
{
    type Out = U::Item;
    const ONE: bool = false;
    const AT_MOST_ONE: bool = false;
    const IN_PLACE: bool = false;
    #[inline(always)]
    fn each(&mut self, message: T, steps: &Cell<usize>, emit: &mut impl FnMut(U::Item)) -> ControlFlow<()> {
        let Self { stages, spread, rest } = self;
        let mut begin = |message| Spreading { items: Some(spread(message).into_iter()), home: rest }.run(steps, emit);
        if S::AT_MOST_ONE {
            stages.one(message).map_or(Continue(()), begin)
        } else {
            stages.each(message, steps, &mut |message| _ = begin(message))
        }
    }
    #[inline(always)]
    fn go_on(&mut self, steps: &Cell<usize>, emit: &mut impl FnMut(U::Item)) -> ControlFlow<()> {
        let Self { stages, spread, rest } = self;
        Spreading { items: rest.take(), home: rest }.run(steps, emit)?;
        if S::AT_MOST_ONE {
            return Continue(());
        }
        stages.go_on(steps, &mut |message| {
            _ = Spreading { items: Some(spread(message).into_iter()), home: rest }.run(steps, emit);
        })
    }
    fn holds(&self) -> bool {
        self.rest.is_some() || self.stages.holds()
    }
    fn let_go(&mut self, panics: &mut Vec<Payload>) {
        panics.extend(catch_unwind(AssertUnwindSafe(|| self.rest = None)).err());
        self.stages.let_go(panics);
    }
    fn one(&mut self, _message: T) -> Option<U::Item> {
        unreachable!("a flat_map may give several")
    }
    fn alter(&mut self, _message: &mut T) -> bool {
        unreachable!("a flat_map makes new messages")
    }
}

impl sealed::Sealed for Identity {}
impl<S, F> sealed::Sealed for Map<S, F> {}
impl<S, F> sealed::Sealed for Filter<S, F> {}
impl<S, F> sealed::Sealed for Update<S, F> {}
impl<S, F> sealed::Sealed for Inspect<S, F> {}
impl<S, U: IntoIterator, F> sealed::Sealed for FlatMap<S, U, F> {}

/// A chain of stages as a kernel.
pub(crate) struct Fused<S, T>(pub(crate) S, pub(crate) PhantomData<fn(T)>);

impl<S: Stage<T>, T> Work for Fused<S, T> {
    fn run(&mut self, cx: &Cx<'_>, out: &mut [Sender<'_>], taken: &mut Option<Block>) -> Result<(), BoxError> {
        let block = taken.as_mut().expect("an activation has a block");
        let edge = out[0].edge();
        let (consumer, bounded) = (edge.plan.to, edge.plan.capacity.is_some());
        let fits = edge.takes_whole(block.unread());
        let mut cold = ColdPart::new(cx, &mut out[0]);
        let stage = &mut self.0;
        let owns = const { needs_drop::<S>() };
        // What is in the open block would come on top of a capacity.
        let whole = fits && !(bounded && cold.resume());
        if S::AT_MOST_ONE && InPlace::<T, S::Out>::FITS && whole {
            let block = taken.take().expect("an activation has a block");
            // SAFETY: an edge into this kernel carries `T` (B1), and the layouts agree.
            let mut place = unsafe { InPlace::<T, S::Out>::new(cx, consumer, block) };
            // SAFETY: one is left; with `IN_PLACE` it stays what it is, and with `ONE` none falls.
            place.go_through(!owns, |place| unsafe {
                if S::IN_PLACE {
                    place.alter(|message| stage.alter(message));
                } else if S::ONE {
                    place.change(|message| stage.one(message).expect("this stage gives one for one"));
                } else {
                    place.sift(|message| stage.one(message));
                }
            });
            let (changed, rest) = place.finish();
            let emptied = hand_on_or_copy::<S::Out>(&mut cold, changed, S::ONE);
            emptied.into_iter().for_each(|block| cx.close_block(block));
            *taken = rest;
            return Ok(());
        }
        // SAFETY: O1: dropped at the end of this function.
        let mut output = unsafe { Output::<S::Out>::open(&mut cold) };
        if S::AT_MOST_ONE {
            each(cx, block, &mut output, if owns { Pace::Each } else { Pace::Stretches }, |message, output| {
                if S::ONE {
                    output.push(stage.one(message).expect("this stage gives one for one"));
                } else if let Some(message) = stage.one(message) {
                    output.push(message);
                }
            })?;
        } else {
            let mut rhythm =
                cx.rhythm(const { if needs_drop::<S>() || needs_drop::<T>() { SPREAD_SLOWLY } else { SPREAD } });
            // SAFETY: an edge into this kernel carries `T` (B1).
            let mut unread = unsafe { Unread::<T>::new(block) };
            let mut holds = stage.holds();
            loop {
                let most = rhythm.steps().min(output.room());
                let steps = Cell::new(most);
                let mut more = true;
                while more && steps.get() > 0 {
                    // SAFETY: a stage gives at most one message for each step, and the open block has room for that many.
                    let mut emit = |message| unsafe { output.push_within(message) };
                    if holds {
                        holds = stage.go_on(&steps, &mut emit).is_break();
                    } else if let Some(message) = unread.next() {
                        holds = stage.each(message, &steps, &mut emit).is_break();
                        // A message of which nothing comes is a step too.
                        steps.set(steps.get().saturating_sub(1));
                    } else {
                        more = false;
                    }
                }
                output.turn_if_full();
                if !more || output.should_stop() || cx.should_leave(&mut rhythm) {
                    break;
                }
            }
        }
        Ok(())
    }

    fn holds(&self) -> bool {
        !S::AT_MOST_ONE && self.0.holds()
    }

    fn let_go(&mut self, panics: &mut Vec<Payload>) {
        self.0.let_go(panics);
    }
}

/// Hands on a block that was changed in place. A block that a filter left more than half empty is copied together with the next ones
/// instead, else a chain of filters would send ever thinner blocks; then it comes back, empty.
fn hand_on_or_copy<U>(cold: &mut ColdPart, mut block: Block, whole: bool) -> Option<Block> {
    if !cold.resume() && block.unread() > 0 && (whole || block.unread() * 2 > block.capacity()) {
        cold.pass_on(block);
        return None;
    }
    // SAFETY: O1: dropped at the end of this function.
    let mut output = unsafe { Output::<U>::open(cold) };
    // SAFETY: it was changed to hold `U`.
    let mut unread = unsafe { Unread::<U>::new(&mut block) };
    while let Some(message) = unread.next() {
        output.push(message);
    }
    drop(unread);
    Some(block)
}
