//! One of several things that are waited for.

use crate::wait::{Deadline, Pending, Pop, Push, Side, Sleep, Sleeper};
use crate::{PopError, PushError, TryPopError, TryPushError, oneshot};

/// One of several things that are waited for. Made by the macros.
pub trait Arm {
    /// What it gives.
    #[doc(hidden)]
    type Output;

    /// Does it, if that is possible now.
    #[doc(hidden)]
    fn attempt(&mut self) -> Option<Self::Output>;

    /// Gets in line with `sleeper`. True if an attempt has to be made once more.
    #[doc(hidden)]
    fn enlist(&mut self, sleeper: Waiter) -> bool;

    /// Leaves the line. `chosen`: this arm has done what it was to do.
    #[doc(hidden)]
    fn leave(&mut self, chosen: bool);

    /// When it is ready at the latest.
    #[doc(hidden)]
    fn deadline(&self) -> Option<Deadline> {
        None
    }

    /// Whether it takes part.
    #[doc(hidden)]
    fn is_on(&self) -> bool {
        true
    }

    /// Whether nothing comes after this.
    #[doc(hidden)]
    fn is_end(output: &Self::Output) -> bool;
}

/// Who is to be woken.
#[doc(hidden)]
#[derive(Clone, Debug)]
pub struct Waiter(pub(super) Sleeper);

/// An end that is popped from by reference: what `pop(rx)` takes.
pub trait ToPop {
    /// The arm.
    type Arm: Arm;

    /// The arm that pops from this end.
    fn to_pop(self) -> Self::Arm;
}

/// An end that is pushed to by reference: what `push(tx, value)` takes.
pub trait ToPush {
    /// What is pushed.
    type Item;

    /// The end.
    type End: Push<Item = Self::Item, Wait: Sleep>;

    /// The arm that pushes `value` to this end.
    fn to_push(self, value: Self::Item) -> Pushed<Self::End, Option<Self::Item>>;

    /// The arm that pushes what is in `slot`; it is off while nothing is.
    fn to_push_from(self, slot: &mut Option<Self::Item>) -> Pushed<Self::End, &mut Option<Self::Item>>;
}

/// A pop.
#[doc(hidden)]
#[derive(Debug)]
pub struct Popped<E>(Pending<E>);

impl<'a, E> ToPop for &'a E
where
    &'a E: Pop<Wait: Sleep>,
{
    type Arm = Popped<&'a E>;

    fn to_pop(self) -> Self::Arm {
        Popped(Pending::new(self, Side::Items, |end| end.strategy().park()))
    }
}

impl<'a, E: Pop<Wait: Sleep>> ToPop for &'a mut E {
    type Arm = Popped<&'a mut E>;

    fn to_pop(self) -> Self::Arm {
        Popped(Pending::new(self, Side::Items, |end| end.strategy().park()))
    }
}

impl<E: Pop<Wait: Sleep>> Arm for Popped<E> {
    type Output = Result<E::Item, PopError>;

    fn attempt(&mut self) -> Option<Self::Output> {
        match self.0.end().try_pop() {
            Ok(item) => Some(Ok(item)),
            Err(TryPopError::Closed) => Some(Err(PopError)),
            Err(TryPopError::Empty | TryPopError::Busy) => None,
        }
    }

    fn enlist(&mut self, sleeper: Waiter) -> bool {
        self.0.enlist(&sleeper.0)
    }

    fn leave(&mut self, chosen: bool) {
        if chosen { self.0.over(E::may_pop) } else { self.0.leave() }
    }

    fn is_end(output: &Self::Output) -> bool {
        output.is_err()
    }
}

/// A push of what is in a slot: its own, or somebody else's.
#[doc(hidden)]
#[derive(Debug)]
pub struct Pushed<E, S> {
    pending: Pending<E>,
    slot: S,
}

impl<'a, E> ToPush for &'a E
where
    &'a E: Push<Wait: Sleep>,
{
    type Item = <&'a E as Push>::Item;
    type End = &'a E;

    fn to_push(self, value: Self::Item) -> Pushed<Self::End, Option<Self::Item>> {
        push_from(self, Some(value))
    }

    fn to_push_from(self, slot: &mut Option<Self::Item>) -> Pushed<Self::End, &mut Option<Self::Item>> {
        push_from(self, slot)
    }
}

impl<'a, E: Push<Wait: Sleep>> ToPush for &'a mut E {
    type Item = E::Item;
    type End = &'a mut E;

    fn to_push(self, value: Self::Item) -> Pushed<Self::End, Option<Self::Item>> {
        push_from(self, Some(value))
    }

    fn to_push_from(self, slot: &mut Option<Self::Item>) -> Pushed<Self::End, &mut Option<Self::Item>> {
        push_from(self, slot)
    }
}

/// A push of what is in `slot`.
#[doc(hidden)]
pub fn push_from<E: Push<Wait: Sleep>, S>(end: E, slot: S) -> Pushed<E, S> {
    Pushed { pending: Pending::new(end, Side::Room, |end| end.strategy().park()), slot }
}

impl<E: Push<Wait: Sleep>, S: BorrowSlot<E::Item>> Arm for Pushed<E, S> {
    type Output = Result<(), PushError<E::Item>>;

    fn attempt(&mut self) -> Option<Self::Output> {
        let slot = self.slot.slot();
        let value = slot.take()?;
        match self.pending.end().try_push(value) {
            Ok(()) => Some(Ok(())),
            Err(TryPushError::Closed(value)) => Some(Err(PushError(value))),
            Err(TryPushError::Full(value) | TryPushError::Busy(value)) => {
                *slot = Some(value);
                None
            }
        }
    }

    fn enlist(&mut self, sleeper: Waiter) -> bool {
        self.pending.enlist(&sleeper.0)
    }

    fn leave(&mut self, chosen: bool) {
        if chosen { self.pending.over(E::may_push) } else { self.pending.leave() }
    }

    fn is_on(&self) -> bool {
        self.slot.is_full()
    }

    fn is_end(output: &Self::Output) -> bool {
        output.is_err()
    }
}

/// A place for a value to be pushed.
#[doc(hidden)]
pub trait BorrowSlot<T> {
    fn slot(&mut self) -> &mut Option<T>;
    fn is_full(&self) -> bool;
}

impl<T> BorrowSlot<T> for Option<T> {
    fn slot(&mut self) -> &mut Option<T> {
        self
    }

    fn is_full(&self) -> bool {
        self.is_some()
    }
}

impl<T> BorrowSlot<T> for &mut Option<T> {
    fn slot(&mut self) -> &mut Option<T> {
        self
    }

    fn is_full(&self) -> bool {
        self.is_some()
    }
}

/// A pop of a value that comes once. The receiver has a place of its own for one sleeper, so there is no line to leave.
impl<'a, T> ToPop for &'a mut oneshot::Receiver<T> {
    type Arm = Once<'a, T>;

    fn to_pop(self) -> Self::Arm {
        Once(self)
    }
}

/// A pop of a value that comes once.
#[doc(hidden)]
#[derive(Debug)]
pub struct Once<'a, T>(&'a mut oneshot::Receiver<T>);

impl<T> Arm for Once<'_, T> {
    type Output = Result<T, PopError>;

    fn attempt(&mut self) -> Option<Self::Output> {
        match self.0.try_pop() {
            Ok(value) => Some(Ok(value)),
            Err(TryPopError::Closed) => Some(Err(PopError)),
            Err(TryPopError::Empty | TryPopError::Busy) => None,
        }
    }

    fn enlist(&mut self, sleeper: Waiter) -> bool {
        self.0.wait(sleeper.0)
    }

    fn leave(&mut self, _chosen: bool) {}

    fn is_end(_output: &Self::Output) -> bool {
        true
    }
}

/// An arm with a condition; without it it takes no part.
impl<A: Arm> Arm for Option<A> {
    type Output = A::Output;

    fn attempt(&mut self) -> Option<Self::Output> {
        self.as_mut()?.attempt()
    }

    fn enlist(&mut self, sleeper: Waiter) -> bool {
        self.as_mut().is_some_and(|arm| arm.enlist(sleeper))
    }

    fn leave(&mut self, chosen: bool) {
        if let Some(arm) = self {
            arm.leave(chosen);
        }
    }

    fn deadline(&self) -> Option<Deadline> {
        self.as_ref()?.deadline()
    }

    fn is_on(&self) -> bool {
        self.as_ref().is_some_and(A::is_on)
    }

    fn is_end(output: &Self::Output) -> bool {
        A::is_end(output)
    }
}
