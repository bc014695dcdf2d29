//! Pushing and popping as futures.

use super::ends::{popped, push_rest, pushed};
use super::line::LinePlace;
use super::park::{Caller, Sleeper};
use super::{Park, Pop, Push, Side, Sleep, Wait, both};
use crate::{PopError, PushError, TryPushError};
use alloc::vec::Vec;
use core::fmt;
use core::future::Future;
use core::mem::ManuallyDrop;
use core::pin::Pin;
use core::task::{Context, Poll};

/// One end that may be pending: the end itself, and its place on the list.
pub(crate) struct Pending<E> {
    end: E,
    side: Side,
    /// Where it is on the list, or was before it was woken.
    place: Option<LinePlace>,
    /// What both ends share.
    strategy: fn(&E) -> &Park,
}

impl<E> Pending<E> {
    /// `end`, which has not waited yet.
    pub(crate) fn new(end: E, side: Side, strategy: fn(&E) -> &Park) -> Self {
        Self { end, side, place: None, strategy }
    }

    /// Tries; if that gives nothing, leaves the waker and tries again.
    pub(crate) fn poll<R>(&mut self, cx: &mut Context<'_>, mut attempt: impl FnMut(&mut E) -> Option<R>) -> Poll<R> {
        if let Some(result) = attempt(&mut self.end) {
            return Poll::Ready(result);
        }
        // Whose place is not new has looked since it got there.
        if (self.strategy)(&self.end).enlist(self.side, &mut self.place, Caller::Task(cx.waker()))
            && let Some(result) = attempt(&mut self.end)
        {
            return Poll::Ready(result);
        }
        Poll::Pending
    }

    /// The end, to be tried.
    #[cfg(not(loom))]
    pub(crate) fn end(&mut self) -> &mut E {
        &mut self.end
    }

    /// Gets in line with `sleeper`, for whoever waits for several ends at once. True if an attempt has to be made once more (P1).
    #[cfg(not(loom))]
    pub(crate) fn enlist(&mut self, sleeper: &Sleeper) -> bool {
        (self.strategy)(&self.end).enlist(self.side, &mut self.place, Caller::Several(sleeper))
    }

    /// It got what it waited for. If it had to wait, and there is `more`, the next one is woken: others may have had only
    /// this one to wake.
    pub(crate) fn over(&mut self, more: impl FnOnce(&E) -> bool) {
        if let Some(place) = self.place.take() {
            let strategy = (self.strategy)(&self.end);
            // To delist a waker is to drop it, which is somebody else's code.
            both(|| _ = strategy.delist(self.side, place), || strategy.notify(self.side, 1, || more(&self.end)));
        }
    }

    /// The end, which has left the line.
    pub(crate) fn into_end(mut self) -> E {
        self.leave();
        let this = ManuallyDrop::new(self);
        // SAFETY: what is not dropped does not use its end again.
        unsafe { core::ptr::read(&this.end) }
    }

    /// Leaves the line, if it is in it.
    pub(crate) fn leave(&mut self) {
        if let Some(place) = self.place.take() {
            let strategy = (self.strategy)(&self.end);
            if !strategy.delist(self.side, place) {
                // Woken for something that it leaves to the next one (P2).
                strategy.notify(self.side, 1, || true);
            }
        }
    }
}

impl<E> fmt::Debug for Pending<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pending").field("side", &self.side).finish_non_exhaustive()
    }
}

impl<E> Drop for Pending<E> {
    fn drop(&mut self) {
        self.leave();
    }
}

/// A push that is pending while there is no room. Made by `push_async`.
///
/// Dropped before it is ready, it has pushed nothing, and its value is dropped with it. Whoever may give it up polls it by reference,
/// which it is [`Unpin`] for, and takes the value back:
///
/// ```
/// use std::future::Future;
/// use std::pin::Pin;
/// use std::task::{Context, Poll, Waker};
/// use thalweg_queue::{Park, mpmc};
///
/// let (tx, rx) = mpmc::with_wait(2, 1, Park::new())?;
/// tx.push_all(["first", "second"])?;
/// let mut pushing = tx.push_async("third");
/// // As in `timeout(time, &mut pushing).await`, which polls it, and then no more.
/// assert!(Pin::new(&mut pushing).poll(&mut Context::from_waker(Waker::noop())).is_pending());
/// assert_eq!(pushing.into_value(), Some("third"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "a future does nothing until it is polled"]
pub struct Pushing<E: Push> {
    pending: Pending<E>,
    value: Option<E::Item>,
}

// Nothing is pinned inside: the value is moved, and the end is used as it is.
impl<E: Push> Unpin for Pushing<E> {}

impl<E: Push<Wait: Sleep>> Pushing<E> {
    /// A push of `value` by `end`, which may be a reference. With an end by value it is a future that owns all it needs, to be kept in a
    /// struct or spawned: of a handle that can be cloned, `Pushing::new(tx.clone(), value)`.
    pub fn new(end: E, value: E::Item) -> Self {
        Self { pending: Pending::new(end, Side::Room, |end| end.strategy().park()), value: Some(value) }
    }
}

impl<E: Push> Pushing<E> {
    /// Gives the push up. The end, and the value unless the push was ready: for a future that has its end as a value, as
    /// `Pushing::new(tx, value)`.
    pub fn into_parts(self) -> (E, Option<E::Item>) {
        (self.pending.into_end(), self.value)
    }

    /// Gives the push up, and the value back. None after it was ready: then it is pushed, or was in the error.
    pub fn into_value(mut self) -> Option<E::Item> {
        self.give_up()
    }

    /// As [`into_value`](Self::into_value).
    pub(super) fn give_up(&mut self) -> Option<E::Item> {
        // First, and with the value in its place: to leave may wake the next one, by a waker that panics.
        self.pending.leave();
        self.value.take()
    }
}

impl<E: Push<Wait: Sleep>> Future for Pushing<E> {
    type Output = Result<(), PushError<E::Item>>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let Self { pending, value } = self.get_mut();
        let result = pending.poll(cx, |end| match end.try_push(value.take().expect("polled after it was ready")) {
            Ok(()) => Some(Ok(())),
            Err(TryPushError::Closed(refused)) => Some(Err(PushError(refused))),
            Err(TryPushError::Full(refused) | TryPushError::Busy(refused)) => {
                *value = Some(refused);
                None
            }
        });
        if result.is_ready() {
            pending.over(E::may_push);
        }
        result
    }
}

/// A push of all that is in a vector, pending while there is no room. Made by `push_many_async`.
///
/// What it pushed has left the vector in the same moment, so dropped at any time it loses nothing and doubles nothing.
#[must_use = "a future does nothing until it is polled"]
pub struct PushingMany<'a, E: Push> {
    pending: Pending<E>,
    values: &'a mut Vec<E::Item>,
}

impl<E: Push> Unpin for PushingMany<'_, E> {}

impl<'a, E: Push<Wait: Sleep>> PushingMany<'a, E> {
    /// A push of `values` by `end`, which may be a reference: for ends of your own that implement [`Push`].
    pub fn new(end: E, values: &'a mut Vec<E::Item>) -> Self {
        Self { pending: Pending::new(end, Side::Room, |end| end.strategy().park()), values }
    }

    /// Leaves the line.
    #[cfg(not(loom))]
    pub(super) fn give_up(&mut self) {
        self.pending.leave();
    }
}

impl<E: Push<Wait: Sleep>> Future for PushingMany<'_, E> {
    type Output = Result<(), PushError<()>>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let Self { pending, values } = self.get_mut();
        let result = pending.poll(cx, |end| pushed(push_rest(end, values)));
        if result.is_ready() {
            pending.over(E::may_push);
        }
        result
    }
}

/// A pop that is pending while there is nothing. Made by `pop_async`.
///
/// Dropped before it is ready, it has popped nothing.
#[must_use = "a future does nothing until it is polled"]
pub struct Popping<E: Pop> {
    pending: Pending<E>,
}

impl<E: Pop> Unpin for Popping<E> {}

impl<E: Pop<Wait: Sleep>> Popping<E> {
    /// A pop by `end`, which may be a reference. With an end by value it is a future that owns all it needs, to be kept in a struct or spawned.
    pub fn new(end: E) -> Self {
        Self { pending: Pending::new(end, Side::Items, |end| end.strategy().park()) }
    }

    /// Leaves the line.
    #[cfg(not(loom))]
    pub(super) fn give_up(&mut self) {
        self.pending.leave();
    }
}

impl<E: Pop> Popping<E> {
    /// Gives the pop up. The end: for a future that has its end as a value, as `Popping::new(rx)`.
    pub fn into_end(self) -> E {
        self.pending.into_end()
    }
}

impl<E: Pop<Wait: Sleep>> Future for Popping<E> {
    type Output = Result<E::Item, PopError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let pending = &mut self.get_mut().pending;
        let result = pending.poll(cx, |end| popped(end.try_pop()));
        if result.is_ready() {
            pending.over(E::may_pop);
        }
        result
    }
}

/// A pop of all that is there, up to a limit, pending while there is nothing. Made by `pop_many_async`.
///
/// What it popped is in the vector in the same moment, so dropped before it is ready, it has popped nothing.
#[must_use = "a future does nothing until it is polled"]
pub struct PoppingMany<'a, E: Pop> {
    pending: Pending<E>,
    into: &'a mut Vec<E::Item>,
    limit: usize,
}

impl<E: Pop> Unpin for PoppingMany<'_, E> {}

impl<'a, E: Pop<Wait: Sleep>> PoppingMany<'a, E> {
    /// A pop by `end`, which may be a reference: for ends of your own that implement [`Pop`].
    pub fn new(end: E, into: &'a mut Vec<E::Item>, limit: usize) -> Self {
        Self { pending: Pending::new(end, Side::Items, |end| end.strategy().park()), into, limit }
    }

    /// Leaves the line.
    #[cfg(not(loom))]
    pub(super) fn give_up(&mut self) {
        self.pending.leave();
    }
}

impl<E: Pop<Wait: Sleep>> Future for PoppingMany<'_, E> {
    type Output = Result<usize, PopError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let Self { pending, into, limit } = self.get_mut();
        let result = pending.poll(cx, |end| popped(end.try_pop_many(into, *limit)));
        if result.is_ready() {
            pending.over(E::may_pop);
        }
        result
    }
}

/// `attempt`, made until it gives something, pending in between with the others that wait on `side`; and when it did, the next one is
/// woken if there is `more`.
pub(crate) fn until<R>(
    strategy: &Park,
    side: Side,
    mut attempt: impl FnMut() -> Option<R>,
    more: impl Fn() -> bool,
) -> impl Future<Output = R> {
    when(Pending::new(strategy, side, |strategy| strategy), move |_| attempt(), move |_| more())
}

/// `attempt` of a writing end, made until it is not refused for want of room, pending in between.
#[cfg(not(loom))]
pub(crate) fn push_when<E: Push<Wait: Sleep>, R>(
    end: E,
    mut attempt: impl FnMut(&mut E) -> Result<R, TryPushError<()>>,
) -> impl Future<Output = Result<R, PushError<()>>> {
    let attempt = move |end: &mut E| pushed(attempt(end));
    when(Pending::new(end, Side::Room, |end| end.strategy().park()), attempt, E::may_push)
}

/// `attempt` of a reading end, made until it is not refused because there is nothing, pending in between.
#[cfg(not(loom))]
pub(crate) fn pop_when<E: Pop<Wait: Sleep>, R>(
    end: E,
    mut attempt: impl FnMut(&mut E) -> Result<R, crate::TryPopError>,
) -> impl Future<Output = Result<R, PopError>> {
    let attempt = move |end: &mut E| popped(attempt(end));
    when(Pending::new(end, Side::Items, |end| end.strategy().park()), attempt, E::may_pop)
}

fn when<E, R>(
    mut pending: Pending<E>,
    mut attempt: impl FnMut(&mut E) -> Option<R>,
    more: impl Fn(&E) -> bool,
) -> impl Future<Output = R> {
    core::future::poll_fn(move |cx| {
        let result = pending.poll(cx, &mut attempt);
        if result.is_ready() {
            pending.over(&more);
        }
        result
    })
}

impl<E: Push> fmt::Debug for Pushing<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pushing").finish_non_exhaustive()
    }
}

impl<E: Push> fmt::Debug for PushingMany<'_, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PushingMany").field("left", &self.values.len()).finish_non_exhaustive()
    }
}

impl<E: Pop> fmt::Debug for Popping<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Popping").finish_non_exhaustive()
    }
}

impl<E: Pop> fmt::Debug for PoppingMany<'_, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PoppingMany").field("limit", &self.limit).finish_non_exhaustive()
    }
}
