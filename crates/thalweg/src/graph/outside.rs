//! The ends of a graph that lie outside of it.

use crate::ends::blocking::Waiting;
use crate::ends::inlet::{self, Inlet};
use crate::ends::outlet::{self, Outlet};
use crate::ends::polled::Polled;
use crate::ends::polled_sink::PolledSink;
use crate::error::Verdict;
use crate::graph::path::{Sink, Source};
use crate::graph::{Graph, name_of};
use crate::kernel::{Body, Outside};
use std::marker::PhantomData;
use std::task::{Context, Poll};

impl<'env> Graph<'env> {
    /// A source that other threads push into while the graph runs. It ends when the last [`Inlet`] is dropped.
    ///
    /// ```
    /// use thalweg::prelude::*;
    /// let mut sum = 0;
    /// let mut graph = Graph::new();
    /// let (numbers, inlet) = graph.inlet::<u64>(1024)?;
    /// let add = graph.sink(|n: u64| sum += n);
    /// graph += numbers >> add;
    ///
    /// // `inlet` moves into the thread, and is dropped at its end: so the run ends.
    /// let pusher = std::thread::spawn(move || (1..=100).try_for_each(|n| inlet.push(n)));
    /// graph.run(Scheme::default())?;
    /// pusher.join().unwrap()?;
    /// drop(graph);
    /// assert_eq!(sum, 5050);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If `capacity`, in messages, is out of the limits of a queue.
    #[track_caller]
    pub fn inlet<T: Send + 'env>(&self, capacity: usize) -> Result<(Source<T>, Inlet<T>), thalweg_queue::BuildError> {
        let (inlet, arrivals) = inlet::inlet(capacity, &self.control)?;
        let watch = arrivals.watch();
        self.control.add_lid(arrivals.lid().clone());
        let source = self.add_source("inlet", Box::new(arrivals));
        self.change(source.0, |definition| definition.outside = Some(Box::new(watch)));
        Ok((source, inlet))
    }

    /// A source from an iterator that may wait for its input, such as lines of a terminal or packets of a socket.
    ///
    /// The iterator runs on a thread of its own, up to `capacity` messages ahead; each message is handed on as soon as it is there. The
    /// thread starts with the run, and nobody waits for it: stopping the graph does not wait for input. It ends with the item that it gets after
    /// the run; the next run goes on with that item. If the system gives no thread, the run is [refused](crate::Error::Refused) under the name
    /// of this source, and can be made again.
    ///
    /// ```no_run
    /// use thalweg::prelude::*;
    /// use std::io::{self, BufRead, BufReader};
    ///
    /// let mut lines = 0;
    /// let mut graph = Graph::new();
    /// let typed = graph.source_blocking(BufReader::new(io::stdin()).lines().map_while(Result::ok), 64)?;
    /// let count = graph.sink(|_: String| lines += 1);
    /// graph += typed >> count;
    /// graph.run(Scheme::default())?;
    /// drop(graph);
    /// println!("{lines} lines");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If `capacity` is out of the limits of a queue.
    #[track_caller]
    pub fn source_blocking<I>(&self, messages: I, capacity: usize) -> Result<Source<I::Item>, thalweg_queue::BuildError>
    where
        I: IntoIterator<IntoIter: Send + 'static, Item: Send + 'static>,
    {
        let waiting = Waiting::new(messages.into_iter(), capacity, &self.control)?;
        let watch = waiting.watch();
        let source = self.add_source("blocking", Box::new(waiting));
        self.change(source.0, |definition| definition.outside = Some(Box::new(watch)));
        Ok(source)
    }

    /// A source that is polled as a stream of futures is: for what wakes a task when it has something, such as the receiver of an async channel.
    ///
    /// `poll` gives a message, or `None` at the end, or leaves the waker and says [`Poll::Pending`]; the waker wakes the graph, which polls only
    /// then. It is polled on the run's threads, and by no executor: what needs one (a socket or a timer of tokio, say) is polled by a
    /// task of that, which pushes into an [`inlet`](Self::inlet). A wish to stop ends it at once, and the next run goes on where it was.
    ///
    /// ```
    /// use thalweg::prelude::*;
    ///
    /// let (tx, mut rx) = tokio::sync::mpsc::channel(8);
    /// let sender = std::thread::spawn(move || (1..=100_u64).for_each(|n| tx.blocking_send(n).unwrap()));
    /// let mut sum = 0;
    /// let mut graph = Graph::new();
    /// let numbers = graph.source_polled(move |cx| rx.poll_recv(cx));
    /// let add = graph.sink(|n: u64| sum += n);
    /// graph += numbers >> add;
    /// graph.run(Scheme::default())?;
    /// sender.join().unwrap();
    /// drop(graph);
    /// assert_eq!(sum, 5050);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[track_caller]
    pub fn source_polled<T: Send + 'env>(
        &self,
        poll: impl FnMut(&mut Context<'_>) -> Poll<Option<T>> + Send + 'env,
    ) -> Source<T> {
        let polled = Polled::new(poll, &self.control);
        let watch = polled.watch();
        let source = self.add_source("polled", Box::new(polled));
        self.change(source.0, |definition| definition.outside = Some(Box::new(watch)));
        source
    }

    /// A sink that is polled as a sink of futures is: for what wakes a task when it has room, such as the sender of an async channel.
    ///
    /// `poll` is shown each message; it takes the message and is ready, or it leaves the waker and says [`Poll::Pending`], and is shown the message
    /// again when the waker wakes the graph. A message that it leaves although it is ready is shown again at once. It may also be ready with an
    /// error, which ends the run. As with [`source_polled`](Self::source_polled), no executor polls it. It is not polled at the end: where what was taken has
    /// to be flushed, let a task take from an [`outlet`](Self::outlet).
    ///
    /// ```
    /// use futures_util::{Sink, StreamExt};
    /// use std::pin::Pin;
    /// use thalweg::prelude::*;
    ///
    /// let (mut tx, rx) = futures_channel::mpsc::channel(8);
    /// let reader = std::thread::spawn(|| futures_executor::block_on(rx.fold(0, |sum, n: u64| async move { sum + n })));
    /// let mut graph = Graph::new();
    /// let send = graph.sink_polled(move |cx, message| {
    ///     Pin::new(&mut tx).poll_ready(cx).map(|ready| ready.and_then(|()| match message.take() {
    ///         Some(message) => tx.start_send(message),
    ///         None => Ok(()),
    ///     }))
    /// });
    /// graph += graph.source(1..=100) >> send;
    /// graph.run(Scheme::default())?;
    /// drop(graph); // and with it the sender
    /// assert_eq!(reader.join().unwrap(), 5050);
    /// # Ok::<(), thalweg::Error>(())
    /// ```
    #[track_caller]
    pub fn sink_polled<T, R>(
        &self,
        poll: impl FnMut(&mut Context<'_>, &mut Option<T>) -> Poll<R> + Send + 'env,
    ) -> Sink<T>
    where
        T: Send + 'env,
        R: Verdict + 'env,
    {
        let polled = PolledSink::new(poll, &self.control);
        let watch = polled.watch();
        let body = Body::Sequential(Box::new(polled));
        let sink = Sink(self.add_kernel("polled-sink", body, &[name_of::<T>("in")], &[], None), PhantomData);
        self.change(sink.0, |definition| definition.outside = Some(Box::new(watch)));
        sink
    }

    /// A sink from which other threads and tasks take while the graph runs. See [`Outlet`].
    ///
    /// ```
    /// use thalweg::prelude::*;
    /// let mut graph = Graph::new();
    /// let words = graph.source(["a", "b", "c"]);
    /// let (sink, outlet) = graph.outlet(8)?;
    /// graph += words >> sink;
    /// graph.run(Scheme::default())?; // three fit
    /// assert!(outlet.iter().eq(["a", "b", "c"]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If `capacity`, in messages, is out of the limits of a queue.
    #[track_caller]
    pub fn outlet<T: Send + 'env>(&self, capacity: usize) -> Result<(Sink<T>, Outlet<T>), thalweg_queue::BuildError> {
        let (departures, outlet) = outlet::outlet(capacity, &self.control)?;
        let watch = departures.watch();
        let body = Body::Sequential(Box::new(departures));
        let sink = Sink(self.add_kernel("outlet", body, &[name_of::<T>("in")], &[], None), PhantomData);
        self.change(sink.0, |definition| definition.outside = Some(Box::new(watch)));
        Ok((sink, outlet))
    }

    /// Opens the [inlets](Self::inlet) and [outlets](Self::outlet) for the next run, which does so itself when it begins: for messages to be pushed before it, and for readers to wait for it.
    ///
    /// ```
    /// use thalweg::prelude::*;
    /// let mut seen = Vec::new();
    /// let mut graph = Graph::new();
    /// let (numbers, inlet) = graph.inlet(8)?;
    /// let sink = graph.sink(|n: u64| seen.push(n));
    /// graph += numbers >> sink;
    /// inlet.push(1)?;
    /// graph.stopper().stop();
    /// graph.run(Scheme::default())?;
    /// assert!(inlet.push(2).is_err()); // nobody would take it
    /// graph.reopen();
    /// inlet.push(3)?;
    /// drop(inlet);
    /// graph.run(Scheme::default())?;
    /// drop(graph);
    /// assert_eq!(seen, [1, 3]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn reopen(&self) {
        self.draft.borrow().outsides().for_each(Outside::reopen);
    }
}
