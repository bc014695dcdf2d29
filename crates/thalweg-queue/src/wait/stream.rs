//! Ends as the streams and sinks of the crate `futures`.

use super::future::Pending;
use super::{Pop, Push, Side, Sleep};
use crate::{PushError, TryPopError, TryPushError};
use core::fmt;
use core::pin::Pin;
use core::task::{Context, Poll};
use futures_core::Stream;
use futures_sink::Sink;

/// The items of a queue as a stream, which ends when every producer is gone and the queue is drained. Made by
/// [`Pop::into_stream`].
///
/// It takes an item only to hand it on, so one that is dropped has lost none. One that was pending stays in line until it is polled
/// again or dropped, also when the future of its `next` is dropped. So do not put it aside while other consumers wait: a wake-up may
/// be on its way to it. [`pop_async`](Pop::pop_async), dropped, leaves the line.
#[must_use = "a stream does nothing until it is polled"]
pub struct ItemStream<E: Pop> {
    pending: Pending<E>,
}

// Nothing is pinned inside: the end is used as it is.
impl<E: Pop> Unpin for ItemStream<E> {}

impl<E: Pop<Wait: Sleep>> ItemStream<E> {
    pub(super) fn new(end: E) -> Self {
        Self { pending: Pending::new(end, Side::Items, |end| end.strategy().park()) }
    }
}

impl<E: Pop<Wait: Sleep>> Stream for ItemStream<E> {
    type Item = E::Item;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<E::Item>> {
        let pending = &mut self.get_mut().pending;
        let result = pending.poll(cx, |end| match end.try_pop() {
            Ok(item) => Some(Some(item)),
            Err(TryPopError::Closed) => Some(None),
            Err(TryPopError::Empty | TryPopError::Busy) => None,
        });
        if result.is_ready() {
            pending.over(E::may_pop);
        }
        result
    }
}

/// A writing end as a sink. Made by [`Push::into_sink`].
///
/// It keeps the last item that it was given until there is room for it, which `flush` waits for. A `flush` or a `send` that is dropped
/// leaves that item with the sink; the sink, dropped before it is pushed, drops it, and [`take_value`](Self::take_value) takes it back.
/// `close` flushes; the queue is closed when the sink is dropped. One that was pending stays in line, as an [`ItemStream`] does.
#[must_use = "a sink does nothing until it is polled"]
pub struct ItemSink<E: Push> {
    pending: Pending<E>,
    value: Option<E::Item>,
}

// Nothing is pinned inside: the value is moved, and the end is used as it is.
impl<E: Push> Unpin for ItemSink<E> {}

impl<E: Push<Wait: Sleep>> ItemSink<E> {
    pub(super) fn new(end: E) -> Self {
        Self { pending: Pending::new(end, Side::Room, |end| end.strategy().park()), value: None }
    }

    /// The item that it keeps, which it was given and has not pushed. It is as if it was never given, and the sink leaves the line.
    pub fn take_value(&mut self) -> Option<E::Item> {
        self.pending.leave();
        self.value.take()
    }

    /// Pushes the value that it keeps.
    fn poll_push(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), PushError<E::Item>>> {
        let Self { pending, value } = self;
        if value.is_none() {
            return Poll::Ready(Ok(()));
        }
        let result = pending.poll(cx, |end| match end.try_push(value.take()?) {
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

impl<E: Push<Wait: Sleep>> Sink<E::Item> for ItemSink<E> {
    type Error = PushError<E::Item>;

    fn poll_ready(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.get_mut().poll_push(cx)
    }

    /// # Panics
    ///
    /// If it was not ready.
    fn start_send(self: Pin<&mut Self>, item: E::Item) -> Result<(), Self::Error> {
        let before = self.get_mut().value.replace(item);
        assert!(before.is_none(), "an item was given before the sink was ready");
        Ok(())
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.get_mut().poll_push(cx)
    }

    fn poll_close(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.get_mut().poll_push(cx)
    }
}

impl<E: Pop> fmt::Debug for ItemStream<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ItemStream").finish_non_exhaustive()
    }
}

impl<E: Push> fmt::Debug for ItemSink<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ItemSink").field("keeps_one", &self.value.is_some()).finish_non_exhaustive()
    }
}
