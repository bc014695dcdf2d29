//! Inlets and outlets as the sinks and streams of the crate `futures`.

use super::inlet::{Closed, Inlet};
use super::outlet::Outlet;
use futures_core::Stream;
use futures_sink::Sink;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};
use thalweg_queue::wait::{ItemSink, ItemStream};
use thalweg_queue::{Park, Pop, Push, PushError, TryPopError, TryPushError};

/// An outlet that belongs to its stream.
struct Items<T: Send>(Outlet<T>);

impl<T: Send> Pop for Items<T> {
    type Item = T;
    type Wait = Park;

    fn try_pop(&mut self) -> Result<T, TryPopError> {
        Pop::try_pop(&mut &self.0)
    }

    fn may_pop(&self) -> bool {
        Pop::may_pop(&&self.0)
    }

    fn is_closed(&self) -> bool {
        Pop::is_closed(&&self.0)
    }

    fn capacity(&self) -> usize {
        Pop::capacity(&&self.0)
    }

    fn strategy(&self) -> &Park {
        self.0.park()
    }
}

/// An inlet that belongs to its sink.
struct Room<T: Send>(Inlet<T>);

impl<T: Send> Push for Room<T> {
    type Item = T;
    type Wait = Park;

    fn try_push(&mut self, message: T) -> Result<(), TryPushError<T>> {
        self.0.try_push(message)
    }

    fn may_push(&self) -> bool {
        Push::may_push(&&self.0)
    }

    fn is_closed(&self) -> bool {
        self.0.is_closed()
    }

    fn capacity(&self) -> usize {
        Push::capacity(&&self.0)
    }

    fn strategy(&self) -> &Park {
        self.0.park()
    }
}

/// The messages of an outlet as a stream, which ends with the run. Made by [`Outlet::into_stream`].
///
/// It takes a message only to hand it on, so a stream that is dropped has lost none.
#[must_use = "a stream does nothing until it is polled"]
pub struct OutletStream<T: Send>(ItemStream<Items<T>>);

impl<T: Send> Outlet<T> {
    /// This outlet as a [`Stream`] of the crate `futures`. [`over`](Self::over), asked of a clone, says why it ended. With the feature `stream`.
    ///
    /// ```
    /// use futures_util::StreamExt;
    /// use thalweg::prelude::*;
    ///
    /// # futures_executor::block_on(async {
    /// let mut graph = Graph::new();
    /// let (sink, outlet) = graph.outlet(8)?;
    /// graph += graph.source(1..=100_u64) >> graph.parallel_map(|n: u64| n * n) >> sink;
    /// let run = graph.run_async(Scheme::default());
    /// let sum = outlet.into_stream().fold(0, |sum, n| async move { sum + n }).await;
    /// assert_eq!(sum, 338_350);
    /// run.await?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # }).unwrap();
    /// ```
    pub fn into_stream(self) -> OutletStream<T> {
        OutletStream(Items(self).into_stream())
    }
}

impl<T: Send> Stream for OutletStream<T> {
    type Item = T;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<T>> {
        Pin::new(&mut self.0).poll_next(cx)
    }
}

impl<T: Send> fmt::Debug for OutletStream<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OutletStream").finish_non_exhaustive()
    }
}

/// An inlet as a sink, whose stream ends when it is dropped. Made by [`Inlet::into_sink`].
///
/// It keeps the last message that it was given until there is room for it, which `flush` waits for. `close` flushes.
#[must_use = "a sink does nothing until it is polled"]
pub struct InletSink<T: Send>(ItemSink<Room<T>>);

impl<T: Send> Inlet<T> {
    /// This inlet as a [`Sink`] of the crate `futures`. With the feature `stream`.
    ///
    /// ```
    /// use futures_util::{SinkExt, StreamExt, stream};
    /// use thalweg::prelude::*;
    ///
    /// # futures_executor::block_on(async {
    /// let mut graph = Graph::new();
    /// let (numbers, inlet) = graph.inlet(8)?;
    /// let (end, sum) = graph.gather(0, |sum: &mut u64, n: u64| *sum += n);
    /// graph += numbers >> end;
    /// let run = graph.run_async(Scheme::default());
    /// stream::iter((1..=100).map(Ok)).forward(inlet.into_sink()).await?; // closes and drops it at the end
    /// run.await?;
    /// assert_eq!(sum.take(), 5050);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    ///
    /// Of the sink: a message comes back as soon as [nobody will take it](Self#when-it-takes-messages).
    pub fn into_sink(self) -> InletSink<T> {
        InletSink(Room(self).into_sink())
    }
}

impl<T: Send> Sink<T> for InletSink<T> {
    type Error = Closed<T>;

    fn poll_ready(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<(), Closed<T>>> {
        Pin::new(&mut self.0).poll_ready(cx).map_err(closed)
    }

    /// # Panics
    ///
    /// If it was not ready.
    fn start_send(mut self: Pin<&mut Self>, message: T) -> Result<(), Closed<T>> {
        Pin::new(&mut self.0).start_send(message).map_err(closed)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<(), Closed<T>>> {
        Pin::new(&mut self.0).poll_flush(cx).map_err(closed)
    }

    fn poll_close(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<(), Closed<T>>> {
        Pin::new(&mut self.0).poll_close(cx).map_err(closed)
    }
}

fn closed<T>(PushError(message): PushError<T>) -> Closed<T> {
    Closed(message)
}

impl<T: Send> fmt::Debug for InletSink<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InletSink").finish_non_exhaustive()
    }
}
