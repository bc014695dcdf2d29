//! Outlets: messages for other threads and tasks.

use super::RingOnDrop;
use super::call::Call;
use crate::block::Block;
use crate::control::Control;
use crate::control::lid::Lid;
use crate::edge::Sender;
use crate::error::{BoxError, Error};
use crate::kernel::in_place::Unread;
use crate::kernel::{Cx, Outside, Why, Work};
use crate::report::{End, Report};
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use thalweg_queue::Yield;
use thalweg_queue::wait::{self, Side, Wait};
use thalweg_queue::{Park, Pop, PopTimeoutError, Push, TryPopError, TryPushError, mpmc};
use thalweg_sync::sync::{Arc, Mutex, MutexGuard};
use thalweg_sync::time::Duration;

/// Why an outlet gives nothing more, once everything that was in it is taken.
///
/// It stays so until the next run begins, which goes on at the same outlet, or until [`Graph::reopen`](crate::Graph::reopen).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Over {
    /// The stream has come to its end: this was all of it. The run may still go on elsewhere.
    Complete,
    /// The run was [stopped](crate::Stopper::stop): this was all that its sources had given.
    Stopped,
    /// The run was [cancelled](crate::Stopper::cancel): messages were dropped.
    Cancelled,
    /// The run failed, or could not go on; with the text of its error and of all causes.
    Failed(String),
    /// The graph was dropped.
    Gone,
}

impl fmt::Display for Over {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Complete => f.write_str("the stream is complete"),
            Self::Stopped => f.write_str("the run was stopped"),
            Self::Cancelled => f.write_str("the run was cancelled"),
            Self::Failed(error) => write!(f, "the run failed: {error}"),
            Self::Gone => f.write_str("the graph was dropped"),
        }
    }
}

impl std::error::Error for Over {}

/// What the kernel and the outlets share.
struct Desk<T: Send> {
    /// The kernel's end, at which outlets look for whether there is room.
    room: mpmc::Producer<T, Yield>,
    lid: Lid,
    over: Mutex<Option<Over>>,
    /// By which the kernel is called when there is room again.
    call: Call,
}

impl<T: Send> Desk<T> {
    fn over(&self) -> MutexGuard<'_, Option<Over>> {
        self.over.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Nothing more is pushed in this run. The first one to say so knows why.
    fn end(&self, why: Over) {
        self.over().get_or_insert(why);
        self.lid.shut();
    }

    fn reopen(&self) {
        if !self.lid.is_open() {
            *self.over() = None;
            self.lid.open();
        }
    }
}

/// The outer end of a sink: other threads and tasks take what comes out of the graph.
///
/// Made by [`Graph::outlet`](crate::Graph::outlet). Clones take from the same stream: each message goes to one of them. While nobody takes, the
/// outlet fills up, then the edges before it, and then the sources wait; no worker does. When the last one is dropped, the stream is given up
/// with the next message that comes, and so is whatever leads nowhere else.
///
/// What was given comes in order, to each that takes. It comes before the end: a run that is over, for whatever reason, leaves in the outlet what is
/// there, and [`Over`] follows.
///
/// ```
/// use thalweg::prelude::*;
/// use thalweg::Over;
///
/// let mut graph = Graph::new();
/// let numbers = graph.source(1..=4_u64);
/// let square = graph.map(|n: u64| n * n);
/// let (sink, outlet) = graph.outlet(16)?;
/// graph += numbers >> square >> sink;
/// std::thread::scope(|scope| {
///     scope.spawn(|| {
///         assert_eq!(outlet.pop(), Ok(1)); // sleeps until it is there
///         assert_eq!(outlet.iter().sum::<u64>(), 4 + 9 + 16);
///         assert_eq!(outlet.pop(), Err(Over::Complete));
///     });
///     graph.run(Scheme::default())
/// })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// A thread takes what is there at once, and does something else while nothing is:
///
/// ```
/// use std::time::Duration;
/// use thalweg::prelude::*;
///
/// let mut graph = Graph::new();
/// let numbers = graph.source(0..1000_u32);
/// let (sink, outlet) = graph.outlet(64)?;
/// graph += numbers >> sink;
/// let reader = std::thread::spawn(move || {
///     let mut all = Vec::new();
///     while let Ok(count) = outlet.pop_many_timeout(&mut all, 100, Duration::from_millis(20)) {
///         if count == 0 { /* nothing came in time */ }
///     }
///     all
/// });
/// graph.run(Scheme::default())?;
/// assert!(reader.join().unwrap().into_iter().eq(0..1000));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// And a task:
///
/// ```
/// use thalweg::prelude::*;
///
/// let mut graph = Graph::new();
/// let numbers = graph.source(0..1000_u64);
/// let (sink, outlet) = graph.outlet(64)?;
/// graph += numbers >> sink;
/// let task = async move {
///     let mut sum = 0;
///     while let Ok(n) = outlet.pop_async().await {
///         sum += n;
///     }
///     sum
/// };
/// let reader = std::thread::spawn(|| futures_executor::block_on(task));
/// graph.run(Scheme::default())?;
/// assert_eq!(reader.join().unwrap(), 499_500);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Outlet<T: Send> {
    // Dropped first, so that the ring finds that nobody takes.
    queue: mpmc::Consumer<T, Yield>,
    desk: Arc<Desk<T>>,
    ring: RingOnDrop,
}

impl<T: Send> Outlet<T> {
    /// `take` of what is there, or why not.
    fn attempt<R>(
        &self,
        mut take: impl FnMut(&mpmc::Consumer<T, Yield>) -> Result<R, TryPopError>,
    ) -> Result<R, TryPopError> {
        let mut result = take(&self.queue);
        if matches!(result, Err(TryPopError::Empty)) && !self.desk.lid.is_open() {
            // All that was pushed before the lid was shut is visible now.
            result = take(&self.queue).map_err(|refused| match refused {
                TryPopError::Busy => TryPopError::Busy,
                TryPopError::Empty | TryPopError::Closed => TryPopError::Closed,
            });
        }
        if result.is_ok() {
            let has_room = || Push::may_push(&self.desk.room);
            self.desk.call.answer(has_room, || _ = self.ring.0.bell.ring());
        }
        result
    }

    /// Takes a message; waits while there is none, first spinning, then asleep.
    ///
    /// Before the first run it waits for that. So does not run a graph on a thread that reads from it: `run` returns when the reader has
    /// taken what the outlet has no room for.
    ///
    /// # Errors
    ///
    /// Why there will be none.
    pub fn pop(&self) -> Result<T, Over> {
        Pop::pop(&mut &*self).map_err(|_| self.why())
    }

    /// Takes a message if there is one.
    ///
    /// # Errors
    ///
    /// Why there will be none.
    pub fn try_pop(&self) -> Result<Option<T>, Over> {
        self.now(self.attempt(mpmc::Consumer::try_pop))
    }

    /// As [`pop`](Self::pop), but no longer than `timeout`; none if nothing came in time.
    ///
    /// # Errors
    ///
    /// Why there will be none.
    pub fn pop_timeout(&self, timeout: Duration) -> Result<Option<T>, Over> {
        self.in_time(Pop::pop_timeout(&mut &*self, timeout))
    }

    /// Takes what is there, up to `limit` messages, onto the end of `into`. Returns how many; it may be none.
    ///
    /// # Errors
    ///
    /// Why there will be none.
    pub fn try_pop_many(&self, into: &mut Vec<T>, limit: usize) -> Result<usize, Over> {
        let result = Pop::try_pop_many(&mut &*self, into, limit);
        Ok(self.now(result)?.unwrap_or(0))
    }

    /// Takes a message, waiting while there is none, and what else is there, up to `limit` messages, onto the end of `into`. Returns how many:
    /// at least one, unless `limit` is zero.
    ///
    /// # Errors
    ///
    /// Why there will be none.
    pub fn pop_many(&self, into: &mut Vec<T>, limit: usize) -> Result<usize, Over> {
        Pop::pop_many(&mut &*self, into, limit).map_err(|_| self.why())
    }

    /// As [`pop_many`](Self::pop_many), but waiting no longer than `timeout`; zero if nothing came in time.
    ///
    /// # Errors
    ///
    /// Why there will be none.
    pub fn pop_many_timeout(&self, into: &mut Vec<T>, limit: usize, timeout: Duration) -> Result<usize, Over> {
        let result = Pop::pop_many_timeout(&mut &*self, into, limit, timeout);
        Ok(self.in_time(result)?.unwrap_or(0))
    }

    /// As [`pop`](Self::pop), pending while there is none. On any executor. Dropped before it is ready, it has taken nothing.
    pub fn pop_async(&self) -> Popping<'_, T> {
        Popping { outlet: self, popping: wait::Popping::new(self) }
    }

    /// As [`pop_many`](Self::pop_many), pending while there is none. Dropped before it is ready, it has taken nothing.
    ///
    /// # Errors
    ///
    /// Why there will be none.
    pub async fn pop_many_async(&self, into: &mut Vec<T>, limit: usize) -> Result<usize, Over> {
        wait::PoppingMany::new(self, into, limit).await.map_err(|_| self.why())
    }

    /// The messages as they come, waiting for each, up to the end of the stream; [`over`](Self::over) then says whether it is whole.
    pub fn iter(&self) -> impl Iterator<Item = T> {
        std::iter::from_fn(|| self.pop().ok())
    }

    /// Why nothing more comes, if that is so. There may still be messages to be taken.
    pub fn over(&self) -> Option<Over> {
        (!self.desk.lid.is_open()).then(|| self.why())
    }

    /// How those wait who take.
    pub(super) fn park(&self) -> &Park {
        &self.desk.lid.park
    }

    /// Why the lid is shut.
    fn why(&self) -> Over {
        self.desk.over().clone().unwrap_or(Over::Gone)
    }

    fn now<R>(&self, result: Result<R, TryPopError>) -> Result<Option<R>, Over> {
        match result {
            Ok(taken) => Ok(Some(taken)),
            Err(TryPopError::Empty | TryPopError::Busy) => Ok(None),
            Err(TryPopError::Closed) => Err(self.why()),
        }
    }

    fn in_time<R>(&self, result: Result<R, PopTimeoutError>) -> Result<Option<R>, Over> {
        match result {
            Ok(taken) => Ok(Some(taken)),
            Err(PopTimeoutError::Timeout) => Ok(None),
            Err(PopTimeoutError::Closed) => Err(self.why()),
        }
    }
}

// As for inlets: waiting is that of any queue.
impl<T: Send> Pop for &Outlet<T> {
    type Item = T;
    type Wait = Park;

    fn try_pop(&mut self) -> Result<T, TryPopError> {
        self.attempt(mpmc::Consumer::try_pop)
    }

    fn may_pop(&self) -> bool {
        Pop::may_pop(&self.queue) || !self.desk.lid.is_open()
    }

    fn is_closed(&self) -> bool {
        !self.desk.lid.is_open()
    }

    fn capacity(&self) -> usize {
        self.queue.capacity()
    }

    fn strategy(&self) -> &Park {
        self.park()
    }

    fn try_pop_many(&mut self, into: &mut Vec<T>, limit: usize) -> Result<usize, TryPopError> {
        self.attempt(|queue| queue.try_pop_many(into, limit))
    }
}

impl<T: Send> Clone for Outlet<T> {
    fn clone(&self) -> Self {
        Self { queue: self.queue.clone(), desk: self.desk.clone(), ring: self.ring.clone() }
    }
}

impl<T: Send> fmt::Debug for Outlet<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Outlet<{}>", std::any::type_name::<T>())
    }
}

/// A pop that is pending while there is no message. Made by [`Outlet::pop_async`].
#[must_use = "a future does nothing until it is polled"]
pub struct Popping<'a, T: Send> {
    outlet: &'a Outlet<T>,
    popping: wait::Popping<&'a Outlet<T>>,
}

impl<T: Send> Future for Popping<'_, T> {
    type Output = Result<T, Over>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let outlet = self.outlet;
        Pin::new(&mut self.popping).poll(cx).map_err(|_| outlet.why())
    }
}

impl<T: Send> fmt::Debug for Popping<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Popping").finish_non_exhaustive()
    }
}

/// The sink behind an outlet.
pub(crate) struct Departures<T: Send> {
    desk: Arc<Desk<T>>,
    /// Why it left messages.
    held: Option<Why>,
}

/// An outlet for `capacity` messages and the sink before it.
pub(crate) fn outlet<T: Send>(
    capacity: usize,
    control: &Arc<Control>,
) -> Result<(Departures<T>, Outlet<T>), thalweg_queue::BuildError> {
    let (tx, rx) = mpmc::with_capacity_and_wait(capacity, Yield)?;
    let desk = Desk { room: tx, lid: Lid::default(), over: Mutex::new(None), call: Call::default() };
    let desk = Arc::new(desk);
    Ok((Departures { desk: desk.clone(), held: None }, Outlet { queue: rx, desk, ring: RingOnDrop(control.clone()) }))
}

impl<T: Send> Departures<T> {
    /// What tells, from any thread, whether there is room.
    pub(crate) fn watch(&self) -> Watch<T> {
        Watch(self.desk.clone())
    }
}

impl<T: Send> Work for Departures<T> {
    fn run(&mut self, _cx: &Cx<'_>, _out: &mut [Sender<'_>], block: &mut Option<Block>) -> Result<(), BoxError> {
        let block = block.as_mut().expect("an activation has a block");
        // SAFETY: an edge into this kernel carries `T` (B1).
        let mut unread = unsafe { Unread::<T>::new(block) };
        self.held = None;
        loop {
            let mut given = 0;
            // Nobody else pushes, so room that is there stays there.
            while self.held.is_none() && Push::may_push(&self.desk.room) {
                let Some(message) = unread.next() else { break };
                match self.desk.room.try_push(message) {
                    Ok(()) => given += 1,
                    Err(TryPushError::Closed(_)) => self.held = Some(Why::Done),
                    Err(TryPushError::Full(_) | TryPushError::Busy(_)) => {
                        unreachable!("nobody else has taken the room")
                    }
                }
            }
            self.desk.lid.park.notify(Side::Items, given, || true);
            // Also if nothing is left: there has to be room for the next block.
            if self.held.is_none() && self.desk.call.waits(|| Push::may_push(&self.desk.room)) && unread.left() > 0 {
                self.held = Some(Why::Pending);
            }
            if self.held.is_some() || unread.left() == 0 {
                return Ok(());
            }
        }
    }

    fn held(&self) -> Option<Why> {
        self.held
    }

    fn end(&mut self, cx: &Cx<'_>) {
        self.desk.end(if cx.is_draining() { Over::Stopped } else { Over::Complete });
    }
}

/// Looks at the inner end. It is dropped with the graph.
pub(crate) struct Watch<T: Send>(Arc<Desk<T>>);

impl<T: Send> Outside for Watch<T> {
    fn is_ready(&self) -> bool {
        Push::may_push(&self.0.room)
    }

    fn reopen(&self) {
        self.0.reopen();
    }

    fn run_is_over(&self, result: &Result<Report, Error>) {
        self.0.end(match result {
            Ok(report) => match report.end {
                End::Complete => Over::Complete,
                End::Stopped => Over::Stopped,
                _ => Over::Cancelled,
            },
            Err(error) => Over::Failed(format!("{error:#}")),
        });
    }
}

impl<T: Send> Drop for Watch<T> {
    fn drop(&mut self) {
        self.0.over().get_or_insert(Over::Gone);
        self.0.lid.bury();
    }
}
