//! Futures that have an end, and ends that are polled.

use super::future::Pending;
use super::{Deadline, Pop, Popping, PoppingMany, Push, Pushing, PushingMany, Side, Sleep, is_over, popped};
use crate::select::{At, at};
use crate::{PopError, PopTimeoutError, PushError, PushTimeoutError, TryPushError};
use alloc::vec::Vec;
use core::fmt;
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll};
use thalweg_sync::time::{self, Duration};

/// A future that may be given up: what `push_async` and its likes give.
pub trait Timed: Future + Unpin + sealed::Sealed + Sized {
    /// What it gives, or that it is too late.
    type Outcome;

    /// This, but no longer than `timeout`, which begins now. Needs no executor: a thread of this crate, made with the first, sleeps until
    /// then.
    ///
    /// ```
    /// use std::time::Duration;
    /// use thalweg_queue::wait::Timed;
    /// use thalweg_queue::{PopTimeoutError, PushTimeoutError, mpmc};
    ///
    /// # futures_executor::block_on(async {
    /// let (tx, rx) = mpmc::channel::<u64>(8).unwrap();
    /// let popped = rx.pop_async().within(Duration::from_millis(1)).await;
    /// assert_eq!(popped, Err(PopTimeoutError::Timeout));
    /// while tx.try_push(1).is_ok() {}
    /// let pushed = tx.push_async(7).within(Duration::from_millis(1)).await;
    /// assert_eq!(pushed, Err(PushTimeoutError::Timeout(7))); // the value comes back
    /// # });
    /// ```
    fn within(self, timeout: Duration) -> Within<Self> {
        self.until(time::now().after(timeout))
    }

    /// As [`within`](Self::within), until a point in time.
    fn until(self, deadline: impl Into<Deadline>) -> Within<Self> {
        Within { future: self, timer: at(deadline) }
    }

    #[doc(hidden)]
    fn in_time(output: Self::Output) -> Self::Outcome;

    #[doc(hidden)]
    fn too_late(&mut self) -> Self::Outcome;
}

mod sealed {
    /// What is too late has to leave the line.
    pub trait Sealed {}
}

/// A future that is given up at a point in time. Made by [`Timed`].
#[must_use = "a future does nothing until it is polled"]
pub struct Within<F> {
    future: F,
    timer: At,
}

impl<F: Timed> Future for Within<F> {
    type Output = F::Outcome;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Outcome> {
        let Self { future, timer } = self.get_mut();
        if let Poll::Ready(output) = Pin::new(&mut *future).poll(cx) {
            timer.forget();
            return Poll::Ready(F::in_time(output));
        }
        if is_over(timer.deadline()) {
            timer.forget();
            return Poll::Ready(future.too_late());
        }
        timer.remember(cx.waker());
        Poll::Pending
    }
}

impl<F: Unpin> Unpin for Within<F> {}

impl<F> fmt::Debug for Within<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Within").field("deadline", &self.timer.deadline()).finish_non_exhaustive()
    }
}

impl<E: Push> sealed::Sealed for Pushing<E> {}

impl<E: Push<Wait: Sleep>> Timed for Pushing<E> {
    type Outcome = Result<(), PushTimeoutError<E::Item>>;

    fn in_time(output: Self::Output) -> Self::Outcome {
        output.map_err(Into::into)
    }

    fn too_late(&mut self) -> Self::Outcome {
        Err(PushTimeoutError::Timeout(self.give_up().expect("it was pending")))
    }
}

impl<E: Push> sealed::Sealed for PushingMany<'_, E> {}

impl<E: Push<Wait: Sleep>> Timed for PushingMany<'_, E> {
    type Outcome = Result<(), PushTimeoutError<()>>;

    fn in_time(output: Self::Output) -> Self::Outcome {
        output.map_err(Into::into)
    }

    fn too_late(&mut self) -> Self::Outcome {
        self.give_up();
        Err(PushTimeoutError::Timeout(()))
    }
}

impl<E: Pop> sealed::Sealed for Popping<E> {}

impl<E: Pop<Wait: Sleep>> Timed for Popping<E> {
    type Outcome = Result<E::Item, PopTimeoutError>;

    fn in_time(output: Self::Output) -> Self::Outcome {
        output.map_err(Into::into)
    }

    fn too_late(&mut self) -> Self::Outcome {
        self.give_up();
        Err(PopTimeoutError::Timeout)
    }
}

impl<E: Pop> sealed::Sealed for PoppingMany<'_, E> {}

impl<E: Pop<Wait: Sleep>> Timed for PoppingMany<'_, E> {
    type Outcome = Result<usize, PopTimeoutError>;

    fn in_time(output: Self::Output) -> Self::Outcome {
        output.map_err(Into::into)
    }

    fn too_late(&mut self) -> Self::Outcome {
        self.give_up();
        Err(PopTimeoutError::Timeout)
    }
}

/// An end for futures and streams that are written by hand: it is polled, and remembers in between where it is in line.
///
/// A handle has no such memory, so `poll_push` and `poll_pop` are here. Dropped while it is pending, it leaves the line. Ends of
/// [`bytes`](mod@crate::bytes) become one by [`into_polled`](crate::bytes::Producer::into_polled).
///
/// ```
/// use std::task::{Context, Poll, Waker};
/// use thalweg_queue::{mpmc, wait::Polled};
///
/// let (tx, rx) = mpmc::channel(8)?;
/// let (mut tx, mut rx) = (Polled::producer(tx), Polled::consumer(rx));
/// let mut cx = Context::from_waker(Waker::noop());
/// assert!(rx.poll_pop(&mut cx).is_pending());
/// assert_eq!(tx.poll_push(&mut cx, &mut Some("item")), Poll::Ready(Ok(())));
/// assert_eq!(rx.poll_pop(&mut cx), Poll::Ready(Ok("item")));
/// # Ok::<(), thalweg_queue::BuildError>(())
/// ```
#[derive(Debug)]
pub struct Polled<E> {
    pending: Pending<E>,
}

impl<E> Unpin for Polled<E> {}

impl<E> Polled<E> {
    pub(crate) fn of(pending: Pending<E>) -> Self {
        Self { pending }
    }

    pub(crate) fn pending(&mut self) -> &mut Pending<E> {
        &mut self.pending
    }

    /// The end itself. It has left the line.
    pub fn into_end(self) -> E {
        self.pending.into_end()
    }
}

impl<E: Push<Wait: Sleep>> Polled<E> {
    /// A producer, or a reference to one.
    pub fn producer(end: E) -> Self {
        Self { pending: Pending::new(end, Side::Room, |end| end.strategy().park()) }
    }

    /// Pushes what is in `value`, or leaves the waker and the value where it is. Ready at once if there is no value.
    ///
    /// After `Pending`, the next call may come with another value, and should not stay away for long: the end is in line for room.
    pub fn poll_push(
        &mut self,
        cx: &mut Context<'_>,
        value: &mut Option<E::Item>,
    ) -> Poll<Result<(), PushError<E::Item>>> {
        if value.is_none() {
            return Poll::Ready(Ok(()));
        }
        let result = self.pending.poll(cx, |end| match end.try_push(value.take()?) {
            Ok(()) => Some(Ok(())),
            Err(TryPushError::Closed(refused)) => Some(Err(PushError(refused))),
            Err(TryPushError::Full(refused) | TryPushError::Busy(refused)) => {
                *value = Some(refused);
                None
            }
        });
        if result.is_ready() {
            self.pending.over(E::may_push);
        }
        result
    }

    /// Ready when a push would find room, lately, or with an error when it would be refused for good; else leaves the waker. Another
    /// producer may be faster: what holds its room is a [permit](crate::mpmc::Permits).
    pub fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), PushError<()>>> {
        let result = self.pending.poll(cx, |end| match (end.is_closed(), end.may_push()) {
            (true, _) => Some(Err(PushError(()))),
            (false, may) => may.then_some(Ok(())),
        });
        if result.is_ready() {
            self.pending.over(E::may_push);
        }
        result
    }

    /// As [`poll_push`](Self::poll_push), of all of `values`, from the first on: ready when the vector is empty. What is not pushed stays in it.
    pub fn poll_push_many(
        &mut self,
        cx: &mut Context<'_>,
        values: &mut Vec<E::Item>,
    ) -> Poll<Result<(), PushError<()>>> {
        let result = self.pending.poll(cx, |end| {
            loop {
                if values.is_empty() {
                    return Some(Ok(()));
                }
                match end.try_push_many(values) {
                    Ok(_) => {}
                    Err(TryPushError::Closed(())) => return Some(Err(PushError(()))),
                    Err(TryPushError::Full(()) | TryPushError::Busy(())) => return None,
                }
            }
        });
        if result.is_ready() {
            self.pending.over(E::may_push);
        }
        result
    }
}

impl<E: Pop<Wait: Sleep>> Polled<E> {
    /// A consumer, or a reference to one.
    pub fn consumer(end: E) -> Self {
        Self { pending: Pending::new(end, Side::Items, |end| end.strategy().park()) }
    }

    /// Pops what is there, up to `limit` items, onto the end of `into`, or leaves the waker. Ready with how many: at least one, unless
    /// `limit` is zero.
    pub fn poll_pop_many(
        &mut self,
        cx: &mut Context<'_>,
        into: &mut Vec<E::Item>,
        limit: usize,
    ) -> Poll<Result<usize, PopError>> {
        let result = self.pending.poll(cx, |end| popped(end.try_pop_many(into, limit)));
        if result.is_ready() {
            self.pending.over(E::may_pop);
        }
        result
    }

    /// Pops an item, or leaves the waker.
    pub fn poll_pop(&mut self, cx: &mut Context<'_>) -> Poll<Result<E::Item, PopError>> {
        let result = self.pending.poll(cx, |end| popped(end.try_pop()));
        if result.is_ready() {
            self.pending.over(E::may_pop);
        }
        result
    }
}
