//! Ends that are polled, for futures and streams that are written by hand.

use super::mode::{Messages, Mode};
use super::{Consumer, Producer, PushBytesError};
use crate::PopError;
use crate::wait::{Pending, Polled, Side, Sleep, popped};
use alloc::vec::Vec;
use core::task::{Context, Poll};

impl<W: Sleep, M: Mode> Producer<W, M> {
    /// This end, to be polled: it remembers in between where it is in line.
    ///
    /// ```
    /// use std::task::{Context, Poll, Waker};
    /// use thalweg_queue::bytes;
    ///
    /// let (tx, rx) = bytes::channel(4096)?;
    /// let (mut tx, mut rx) = (tx.into_polled(), rx.into_polled());
    /// let (mut cx, mut message) = (Context::from_waker(Waker::noop()), Vec::new());
    /// assert!(rx.poll_pop(&mut cx, &mut message).is_pending());
    /// assert_eq!(tx.poll_push(&mut cx, b"hello"), Poll::Ready(Ok(())));
    /// assert_eq!(rx.poll_pop(&mut cx, &mut message), Poll::Ready(Ok(5)));
    /// assert_eq!(message, b"hello");
    /// # Ok::<(), thalweg_queue::BuildError>(())
    /// ```
    pub fn into_polled(self) -> Polled<Self> {
        Polled::of(Pending::new(self, Side::Room, |end| end.ring.common().wait.park()))
    }
}

impl<W: Sleep, M: Mode> Consumer<W, M> {
    /// This end, to be polled; see [`Producer::into_polled`] for an example.
    pub fn into_polled(self) -> Polled<Self> {
        Polled::of(Pending::new(self, Side::Items, |end| end.ring.common().wait.park()))
    }
}

impl<W: Sleep, M: Mode> Polled<Producer<W, M>> {
    /// Pushes a copy of `message`, or leaves the waker. Refuses with `Closed` or `TooLarge`.
    ///
    /// After `Pending`, the next call may come with another message, and should not stay away for long: the end is in line for room.
    pub fn poll_push(&mut self, cx: &mut Context<'_>, message: &[u8]) -> Poll<Result<(), PushBytesError>> {
        let pending = self.pending();
        let result = pending.poll(cx, |end| match end.try_push(message) {
            Err(PushBytesError::Full | PushBytesError::Busy) => None,
            settled => Some(settled),
        });
        if result.is_ready() {
            pending.over(|end| end.ring.may_push(0));
        }
        result
    }
}

impl<W: Sleep, M: Mode> Polled<Consumer<W, M>> {
    /// Pops the oldest message to the end of `into`, or leaves the waker. Ready with how many bytes it has.
    pub fn poll_pop(&mut self, cx: &mut Context<'_>, into: &mut Vec<u8>) -> Poll<Result<usize, PopError>> {
        let pending = self.pending();
        let result = pending.poll(cx, |end| popped(end.try_pop(into)));
        if result.is_ready() {
            pending.over(|end| end.ring.may_pop());
        }
        result
    }
}
