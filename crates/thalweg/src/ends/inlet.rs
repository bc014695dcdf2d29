//! Inlets: messages from other threads and tasks.

use super::RingOnDrop;
use crate::control::Control;
use crate::control::lid::Lid;
use crate::edge::Sender;
use crate::error::{BoxError, Error};
use crate::kernel::output::{ColdPart, Output};
use crate::kernel::{Cx, Flow, Supply};
use crate::report::Report;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use thalweg_queue::Yield;
use thalweg_queue::wait::{self, Side, Wait};
use thalweg_queue::{Park, Push, PushError, PushTimeoutError, TryPopError, TryPushError, mpmc};
use thalweg_sync::atomic::{Ordering::*, fence};
use thalweg_sync::sync::Arc;
use thalweg_sync::time::Duration;

/// The outer end of a source: other threads and tasks push messages into the graph.
///
/// Made by [`Graph::inlet`](crate::Graph::inlet). Clones push into the same stream; when the last one is dropped, the stream ends. A message
/// pushed is handed on at once if a worker sleeps, whatever comes after it.
///
/// # When it takes messages
///
/// | | a push |
/// |---|---|
/// | before the first run | is taken while there is room; who waits for more waits for the run |
/// | while the graph runs | is taken; who waits for room sleeps, or is pending |
/// | after [`stop`](crate::Stopper::stop) or [`cancel`](crate::Stopper::cancel), after the end of the run, or when nobody takes its messages any more | fails at once, and so do those that wait: the message comes back |
/// | before the next run, after [`Graph::reopen`](crate::Graph::reopen) | as before the first run |
/// | once the graph is dropped | fails for good |
///
/// A push that meets the end of a run may still be taken. Its message is given by the next run, or dropped with the graph.
///
/// # A feed that fails
///
/// [`fail`](Self::fail) ends the run with an error. So does a thread or task that panics and drops its inlet while it unwinds: a stream that
/// breaks off is not taken for a whole one.
///
/// # From a task
///
/// ```
/// use thalweg::prelude::*;
///
/// let mut sum = 0;
/// let mut graph = Graph::new();
/// let (numbers, inlet) = graph.inlet::<u64>(8)?;
/// let add = graph.sink(|n: u64| sum += n);
/// graph += numbers >> add;
/// std::thread::scope(|scope| {
///     scope.spawn(|| {
///         futures_executor::block_on(async move {
///             for n in 1..=100 {
///                 inlet.push_async(n).await?; // pending while there is no room
///             }
///             Ok::<(), thalweg::Closed<u64>>(())
///         })
///     });
///     graph.run(Scheme::default())
/// })?;
/// drop(graph);
/// assert_eq!(sum, 5050);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Inlet<T: Send> {
    // Dropped first, so that the ring finds the queue closed.
    queue: mpmc::Producer<T, Yield>,
    lid: Arc<Lid>,
    ring: RingOnDrop,
}

/// An inlet that takes nothing now: the run is over, or the graph is gone. The message comes back.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Closed<T>(pub T);

impl<T> fmt::Debug for Closed<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Closed(..)")
    }
}

impl<T> fmt::Display for Closed<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the run behind this inlet is over; push while the graph runs, or after Graph::reopen")
    }
}

impl<T> std::error::Error for Closed<T> {}

impl<T: Send> Inlet<T> {
    /// Pushes a message; waits while the inlet is full, first spinning, then asleep.
    ///
    /// # Errors
    ///
    /// The message comes back as soon as [nobody will take it](Self#when-it-takes-messages).
    pub fn push(&self, message: T) -> Result<(), Closed<T>> {
        Push::push(&mut &*self, message).map_err(|PushError(message)| Closed(message))
    }

    /// Pushes a message if there is room.
    ///
    /// # Errors
    ///
    /// The message comes back, with the reason.
    pub fn try_push(&self, message: T) -> Result<(), TryPushError<T>> {
        if !self.lid.is_open() {
            return Err(TryPushError::Closed(message));
        }
        self.queue.try_push(message)?;
        self.ring.0.bell.ring();
        Ok(())
    }

    /// As [`push`](Self::push), but no longer than `timeout`.
    ///
    /// # Errors
    ///
    /// The message comes back, with the reason.
    pub fn push_timeout(&self, message: T, timeout: Duration) -> Result<(), PushTimeoutError<T>> {
        Push::push_timeout(&mut &*self, message, timeout)
    }

    /// Moves as many of `messages` as there is room for, from the first on. Returns how many: at least one, unless there are none.
    ///
    /// # Errors
    ///
    /// Why it took none.
    pub fn try_push_many(&self, messages: &mut Vec<T>) -> Result<usize, TryPushError<()>> {
        if !self.lid.is_open() {
            return Err(TryPushError::Closed(()));
        }
        let count = self.queue.try_push_many(messages)?;
        self.ring.0.bell.ring();
        Ok(count)
    }

    /// Moves all of `messages`, from the first on, waiting while there is no room.
    ///
    /// ```
    /// use thalweg::prelude::*;
    /// let mut seen = Vec::new();
    /// let mut graph = Graph::new();
    /// let (words, inlet) = graph.inlet(8)?;
    /// let sink = graph.sink(|word: &str| seen.push(word));
    /// graph += words >> sink;
    /// inlet.push_many(&mut vec!["never", "odd", "or", "even"])?;
    /// drop(inlet);
    /// graph.run(Scheme::default())?;
    /// drop(graph);
    /// assert_eq!(seen, ["never", "odd", "or", "even"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As soon as nobody will take them. What was not pushed is still in `messages`.
    pub fn push_many(&self, messages: &mut Vec<T>) -> Result<(), Closed<()>> {
        Push::push_many(&mut &*self, messages).map_err(|_| Closed(()))
    }

    /// As [`push_many`](Self::push_many), but no longer than `timeout`.
    ///
    /// # Errors
    ///
    /// The reason. What was not pushed is still in `messages`.
    pub fn push_many_timeout(&self, messages: &mut Vec<T>, timeout: Duration) -> Result<(), PushTimeoutError<()>> {
        Push::push_many_timeout(&mut &*self, messages, timeout)
    }

    /// As [`push`](Self::push), pending while there is no room. On any executor.
    ///
    /// Dropped before it is ready, it has pushed nothing, and the message is dropped with it; who may give it up polls it by reference and
    /// takes the message back with [`into_message`](Pushing::into_message).
    pub fn push_async(&self, message: T) -> Pushing<'_, T> {
        Pushing(wait::Pushing::new(self, message))
    }

    /// As [`push_many`](Self::push_many), pending while there is no room. Dropped at any time it loses nothing: what is not pushed is in
    /// `messages`.
    ///
    /// # Errors
    ///
    /// As [`push_many`](Self::push_many).
    pub async fn push_many_async(&self, messages: &mut Vec<T>) -> Result<(), Closed<()>> {
        Push::push_many_async(&mut &*self, messages).await.map_err(|_| Closed(()))
    }

    /// Ends this stream by a failure: what was pushed before is given, then the run fails with `error`, under the name of the inlet's kernel.
    /// Once the run is over it does nothing.
    ///
    /// ```
    /// use thalweg::prelude::*;
    /// let mut graph = Graph::new();
    /// let (lines, inlet) = graph.inlet::<String>(8)?;
    /// graph.name(lines, "log");
    /// let sink = graph.sink(|_: String| ());
    /// graph += lines >> sink;
    /// let feed = std::thread::spawn(move || match std::fs::read_to_string("/no/such/log") {
    ///     Ok(text) => _ = text.lines().try_for_each(|line| inlet.push(line.to_owned())),
    ///     Err(error) => inlet.fail(error),
    /// });
    /// let error = graph.run(Scheme::default()).unwrap_err();
    /// feed.join().unwrap();
    /// assert!(error.to_string().contains("kernel log"));
    /// # Ok::<(), thalweg::BuildError>(())
    /// ```
    pub fn fail(self, error: impl Into<BoxError>) {
        self.lid.fail(error.into());
        // L2: it is dropped here, which rings.
    }

    /// How those wait who push.
    pub(super) fn park(&self) -> &Park {
        &self.lid.park
    }

    /// Whether a push would fail now, whatever room there is.
    pub fn is_closed(&self) -> bool {
        !self.lid.is_open()
    }
}

// A push that waits is that of any queue; only the room, the end and the list of those who wait are the inlet's own.
impl<T: Send> Push for &Inlet<T> {
    type Item = T;
    type Wait = Park;

    fn try_push(&mut self, message: T) -> Result<(), TryPushError<T>> {
        Inlet::try_push(self, message)
    }

    fn may_push(&self) -> bool {
        !self.lid.is_open() || Push::may_push(&self.queue)
    }

    fn is_closed(&self) -> bool {
        Inlet::is_closed(self)
    }

    fn capacity(&self) -> usize {
        self.queue.capacity()
    }

    fn strategy(&self) -> &Park {
        self.park()
    }

    fn try_push_many(&mut self, messages: &mut Vec<T>) -> Result<usize, TryPushError<()>> {
        Inlet::try_push_many(self, messages)
    }
}

impl<T: Send> Clone for Inlet<T> {
    fn clone(&self) -> Self {
        Self { queue: self.queue.clone(), lid: self.lid.clone(), ring: self.ring.clone() }
    }
}

impl<T: Send> Drop for Inlet<T> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.lid.fail("a thread that fed it panicked".into());
        }
    }
}

impl<T: Send> fmt::Debug for Inlet<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Inlet<{}>", std::any::type_name::<T>())
    }
}

/// A push that is pending while there is no room. Made by [`Inlet::push_async`].
#[must_use = "a future does nothing until it is polled"]
pub struct Pushing<'a, T: Send>(wait::Pushing<&'a Inlet<T>>);

impl<T: Send> Pushing<'_, T> {
    /// Gives the push up, and the message back. None after it was ready.
    pub fn into_message(self) -> Option<T> {
        self.0.into_value()
    }
}

impl<T: Send> Future for Pushing<'_, T> {
    type Output = Result<(), Closed<T>>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.0).poll(cx).map_err(|PushError(message)| Closed(message))
    }
}

impl<T: Send> fmt::Debug for Pushing<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pushing").finish_non_exhaustive()
    }
}

/// The inner end.
pub(crate) struct Arrivals<T: Send> {
    queue: mpmc::Consumer<T, Yield>,
    lid: Arc<Lid>,
    /// Once the run was asked to stop, or the feed has failed: how many of those that had arrived by then are still to be given. Who goes on
    /// pushing must not keep the run from ending.
    rest: Option<usize>,
}

/// An inlet for `capacity` messages and the source behind it.
pub(crate) fn inlet<T: Send>(
    capacity: usize,
    control: &Arc<Control>,
) -> Result<(Inlet<T>, Arrivals<T>), thalweg_queue::BuildError> {
    let (tx, rx) = mpmc::with_capacity_and_wait(capacity, Yield)?;
    let lid = Arc::new(Lid::default());
    let inlet = Inlet { queue: tx, lid: lid.clone(), ring: RingOnDrop(control.clone()) };
    Ok((inlet, Arrivals { queue: rx, lid, rest: None }))
}

impl<T: Send> Arrivals<T> {
    /// What tells, from any thread, whether something has arrived.
    pub(crate) fn watch(&self) -> Watch<T> {
        Watch { queue: self.queue.clone(), lid: self.lid.clone() }
    }

    pub(crate) fn lid(&self) -> &Arc<Lid> {
        &self.lid
    }

    /// How many may be given before the stream ends, if it is to end.
    fn rest(&mut self, cx: &Cx<'_>) -> Option<usize> {
        let draining = cx.is_draining();
        if draining {
            self.lid.shut();
        }
        if draining || self.lid.has_failed() {
            self.rest.get_or_insert_with(|| {
                // Pairs with the release in `Control::raise`, or in `Lid::fail`: what was pushed before that counts.
                fence(Acquire);
                self.queue.len()
            });
        }
        self.rest
    }

    /// The end of the stream: the failure that it ends by, if there is one.
    fn ended(&self, flow: Flow) -> Result<Flow, BoxError> {
        self.lid.failure().map_or(Ok(flow), Err)
    }
}

impl<T: Send> Supply for Arrivals<T> {
    fn begin(&mut self) -> Result<(), BoxError> {
        self.rest = None;
        self.lid.open();
        Ok(())
    }

    /// Gives what has arrived, up to a block.
    fn give(&mut self, cx: &Cx<'_>, out: &mut [Sender<'_>]) -> Result<Flow, BoxError> {
        let mut most = out[0].edge().block_len();
        if let Some(rest) = self.rest(cx) {
            if rest == 0 {
                return self.ended(Flow::Pending);
            }
            most = most.min(rest);
        }
        let mut cold = ColdPart::new(cx, &mut out[0]);
        // SAFETY: O1: dropped at the end of this function.
        let mut output = unsafe { Output::open(&mut cold) };
        let mut flow = Ok(Flow::More);
        let mut given = 0;
        while given < most {
            match self.queue.try_pop() {
                Ok(message) => {
                    output.push(message);
                    given += 1;
                }
                // Somebody is half-way with a push; behind it may be some that were whole before the stream was to end.
                Err(TryPopError::Busy) if self.rest.is_some() => break,
                Err(TryPopError::Empty | TryPopError::Busy) => {
                    flow = Ok(Flow::Pending);
                    break;
                }
                Err(TryPopError::Closed) => {
                    flow = self.ended(Flow::Done);
                    break;
                }
            }
        }
        if given > 0 {
            // Whoever gets on wakes the next one if there is more room.
            self.lid.park.notify(Side::Room, given, || true);
        }
        self.rest = self.rest.map(|rest| rest - given);
        flow
    }

    fn end(&mut self) {
        self.lid.shut();
    }
}

/// Looks at the inner end without taking. It is dropped after the [`Arrivals`], and then nobody will push any more.
pub(crate) struct Watch<T: Send> {
    queue: mpmc::Consumer<T, Yield>,
    lid: Arc<Lid>,
}

impl<T: Send> crate::kernel::Outside for Watch<T> {
    fn is_ready(&self) -> bool {
        !self.queue.is_empty() || self.queue.is_closed() || self.lid.has_failed()
    }

    fn waiting(&self) -> usize {
        self.queue.len()
    }

    fn reopen(&self) {
        self.lid.open();
    }

    fn run_is_over(&self, _result: &Result<Report, Error>) {
        self.lid.shut();
    }
}

impl<T: Send> Drop for Watch<T> {
    fn drop(&mut self) {
        self.lid.bury();
    }
}
