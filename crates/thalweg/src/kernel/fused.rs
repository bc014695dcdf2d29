//! Chains of `map`, `filter`, `flat_map`, `inspect` and `update` as one kernel: each stage is inlined into the next, so a hop costs nothing.

use super::each::{IN_PLACE, STRETCH};
use super::in_place::{InPlace, Unread};
use super::output::{Core, Output};
use super::{Cx, Work};
use crate::block::Block;
use crate::edge::Sender;
use crate::error::BoxError;
use std::marker::PhantomData;

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
    /// At most one comes out, and [`one`](Self::one) gives it.
    const AT_MOST_ONE: bool;
    /// Messages stay what and where they are, and [`alter`](Self::alter) changes them there: large ones are not moved.
    const IN_PLACE: bool;

    /// Gives all that comes out for `message` to `emit`.
    fn each(&mut self, message: T, emit: &mut impl FnMut(Self::Out));

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

/// Lets every message through.
#[derive(Clone, Copy, Debug, Default)]
pub struct Identity;

impl<T: Send> Stage<T> for Identity {
    type Out = T;
    const ONE: bool = true;
    const AT_MOST_ONE: bool = true;
    const IN_PLACE: bool = true;
    #[inline(always)]
    fn each(&mut self, message: T, emit: &mut impl FnMut(T)) {
        emit(message);
    }
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
    #[inline(always)]
    fn each(&mut self, message: T, emit: &mut impl FnMut(U)) {
        let change = &mut self.1;
        self.0.each(message, &mut |message| emit(change(message)));
    }
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
    #[inline(always)]
    fn each(&mut self, message: T, emit: &mut impl FnMut(S::Out)) {
        let keep = &mut self.1;
        self.0.each(message, &mut |message| {
            if keep(&message) {
                emit(message);
            }
        });
    }
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
    #[inline(always)]
    fn each(&mut self, message: T, emit: &mut impl FnMut(S::Out)) {
        let change = &mut self.1;
        self.0.each(message, &mut |mut message| {
            change(&mut message);
            emit(message);
        });
    }
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
    #[inline(always)]
    fn each(&mut self, message: T, emit: &mut impl FnMut(S::Out)) {
        let look = &mut self.1;
        self.0.each(message, &mut |message| {
            look(&message);
            emit(message);
        });
    }
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
#[derive(Clone, Copy, Debug)]
pub struct FlatMap<S, F>(pub(crate) S, pub(crate) F);

impl<T, S, F, I> Stage<T> for FlatMap<S, F>
where
    S: Stage<T>,
    F: FnMut(S::Out) -> I + Send,
    I: IntoIterator<Item: Send>,
{
    type Out = I::Item;
    const ONE: bool = false;
    const AT_MOST_ONE: bool = false;
    const IN_PLACE: bool = false;
    #[inline(always)]
    fn each(&mut self, message: T, emit: &mut impl FnMut(I::Item)) {
        let spread = &mut self.1;
        self.0.each(message, &mut |message| spread(message).into_iter().for_each(&mut *emit));
    }
    fn one(&mut self, _message: T) -> Option<I::Item> {
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
impl<S, F> sealed::Sealed for FlatMap<S, F> {}

/// A chain of stages as a kernel.
pub(crate) struct Fused<S, T>(pub(crate) S, pub(crate) PhantomData<fn(T)>);

impl<S: Stage<T>, T> Work for Fused<S, T> {
    fn run(&mut self, cx: &Cx<'_>, out: &mut [Sender<'_>], taken: &mut Option<Block>) -> Result<(), BoxError> {
        let block = taken.as_mut().expect("an activation has a block");
        let edge = out[0].edge();
        let (consumer, bounded) = (edge.plan.to, edge.plan.capacity.is_some());
        let fits = edge.takes_whole(block.unread());
        let mut core = Core::new(cx, &mut out[0]);
        let stage = &mut self.0;
        // What is in the open block would come on top of a capacity.
        let whole = fits && !(bounded && core.resume());
        if S::AT_MOST_ONE && InPlace::<T, S::Out>::FITS && whole {
            let mut rhythm = cx.rhythm(IN_PLACE);
            let block = taken.take().expect("an activation has a block");
            // SAFETY: an edge into this kernel carries `T` (B1), and the layouts agree.
            let mut place = unsafe { InPlace::<T, S::Out>::new(cx, consumer, block) };
            if S::IN_PLACE {
                while place.alter(rhythm.stretch, |message| stage.alter(message)) && !cx.should_leave(&mut rhythm) {}
            } else {
                while place.step(rhythm.stretch, |message| stage.one(message)) && !cx.should_leave(&mut rhythm) {}
            }
            let (changed, rest) = place.finish();
            let emptied = hand_on_or_copy::<S::Out>(&mut core, changed, S::ONE);
            emptied.into_iter().for_each(|block| cx.close_block(block));
            *taken = rest;
            return Ok(());
        }
        let mut rhythm = cx.rhythm(if S::ONE { IN_PLACE } else { STRETCH });
        // SAFETY: O1: dropped at the end of this function.
        let mut output = unsafe { Output::<S::Out>::open(&mut core) };
        // SAFETY: an edge into this kernel carries `T` (B1).
        let mut unread = unsafe { Unread::<T>::new(block) };
        if S::ONE {
            while unread.left() > 0 {
                output.fill(unread.left().min(rhythm.stretch), || {
                    let message = unread.next().expect("no more are asked for than are left");
                    Some(stage.one(message).expect("this stage gives one for one"))
                });
                if output.should_stop() || cx.should_leave(&mut rhythm) {
                    break;
                }
            }
        } else {
            let mut since = 0;
            while let Some(message) = unread.next() {
                stage.each(message, &mut |message| output.push(message));
                since += 1;
                if output.should_stop() || since >= rhythm.stretch && cx.should_leave(&mut rhythm) {
                    break;
                }
                if since >= rhythm.stretch {
                    since = 0;
                }
            }
        }
        Ok(())
    }
}

/// Hands on a block that was changed in place. A block that a filter left more than half empty is copied together with the next ones
/// instead, else a chain of filters would send ever thinner blocks; then it comes back, empty.
fn hand_on_or_copy<U>(core: &mut Core, mut block: Block, whole: bool) -> Option<Block> {
    if !core.resume() && block.unread() > 0 && (whole || block.unread() * 2 > block.capacity()) {
        core.pass_on(block);
        return None;
    }
    // SAFETY: O1: dropped at the end of this function.
    let mut output = unsafe { Output::<U>::open(core) };
    // SAFETY: it was changed to hold `U`.
    let mut unread = unsafe { Unread::<U>::new(&mut block) };
    while let Some(message) = unread.next() {
        output.push(message);
    }
    drop(unread);
    Some(block)
}
