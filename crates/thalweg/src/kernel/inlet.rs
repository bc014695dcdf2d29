//! Messages from outside the graph: from other threads, and from iterators that wait.

use crate::error::BoxError;
use crate::kernel::{Flow, Source};
use crate::output::{Core, Output};
use crate::run::Cx;
use crate::run::control::Control;
use std::fmt;
use thalweg_queue::{TryPopError, TryPushError, bbq};
use thalweg_sync::atomic::{AtomicBool, AtomicUsize, Ordering::*, fence};
use thalweg_sync::park::{Parker, Unparker};
use thalweg_sync::sync::{Arc, Mutex};
use thalweg_sync::{spin, thread};

/// Attempts before a thread that finds an inlet full goes to sleep.
const SPINS: u32 = 100;

/// Threads that wait for room.
#[derive(Debug, Default)]
struct Waiters {
    count: AtomicUsize,
    list: Mutex<Vec<Unparker>>,
    /// The graph is gone: nobody will make room.
    abandoned: AtomicBool,
}

impl Waiters {
    fn abandon(&self) {
        self.abandoned.store(true, Release);
        self.wake_all();
    }

    fn wake_all(&self) {
        // Pairs with the fence in `Inlet::push`: either the pusher finds the room that was just made, or we find it in the list.
        fence(SeqCst);
        if self.count.load(Relaxed) == 0 {
            return;
        }
        let mut list = self.list.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        self.count.store(0, Relaxed);
        list.drain(..).for_each(|waiter| waiter.unpark());
    }
}

/// The outer end of a source: other threads push messages into the graph while it runs, or before.
///
/// Made by [`Graph::inlet`](crate::Graph::inlet). Clones push into the same stream; when the last one is dropped, the stream ends. A message
/// pushed is handed on at once if a worker sleeps, whatever comes after it.
pub struct Inlet<T: Send> {
    // Dropped first, so that the ring finds the queue closed.
    queue: bbq::Producer<T>,
    waiters: Arc<Waiters>,
    ring: RingOnDrop,
}

/// An inlet whose graph is gone; the message comes back.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Closed<T>(pub T);

impl<T> fmt::Debug for Closed<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Closed(..)")
    }
}

impl<T> fmt::Display for Closed<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the graph behind this inlet is gone")
    }
}

impl<T> std::error::Error for Closed<T> {}

impl<T: Send> Inlet<T> {
    /// Pushes a message; waits while the inlet is full, first spinning, then asleep.
    ///
    /// Nothing makes room while the graph does not run.
    ///
    /// # Errors
    ///
    /// The message comes back if the graph was dropped.
    pub fn push(&self, message: T) -> Result<(), Closed<T>> {
        let mut message = message;
        let mut tries = 0;
        loop {
            message = match self.try_push(message) {
                Ok(()) => return Ok(()),
                Err(TryPushError::Closed(message)) => return Err(Closed(message)),
                Err(TryPushError::Full(message) | TryPushError::Busy(message)) => message,
            };
            tries += 1;
            if tries <= SPINS {
                spin::pause(tries);
                continue;
            }
            let parker = Parker::new();
            let mut list = self.waiters.list.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            list.push(parker.unparker());
            self.waiters.count.store(list.len(), Relaxed);
            drop(list);
            // Pairs with the fence in `wake_all`.
            fence(SeqCst);
            message = match self.try_push(message) {
                // The token that may still come is lost with the parker.
                Ok(()) => return Ok(()),
                Err(TryPushError::Closed(message)) => return Err(Closed(message)),
                Err(TryPushError::Full(message) | TryPushError::Busy(message)) => message,
            };
            parker.park();
        }
    }

    /// Pushes a message if there is room.
    ///
    /// # Errors
    ///
    /// The message comes back, with the reason.
    pub fn try_push(&self, message: T) -> Result<(), TryPushError<T>> {
        if self.waiters.abandoned.load(Acquire) {
            return Err(TryPushError::Closed(message));
        }
        self.queue.try_push(message)?;
        self.ring.0.bell.ring();
        Ok(())
    }
}

impl<T: Send> Clone for Inlet<T> {
    fn clone(&self) -> Self {
        Self { queue: self.queue.clone(), waiters: self.waiters.clone(), ring: self.ring.clone() }
    }
}

impl<T: Send> fmt::Debug for Inlet<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Inlet<{}>", std::any::type_name::<T>())
    }
}

/// Rings when it is dropped: the last inlet may have gone with it.
#[derive(Clone)]
struct RingOnDrop(Arc<Control>);

impl Drop for RingOnDrop {
    fn drop(&mut self) {
        self.0.bell.ring();
    }
}

/// The inner end.
pub(crate) struct Arrivals<T: Send> {
    queue: bbq::Consumer<T>,
    waiters: Arc<Waiters>,
    /// Once the run was asked to stop: how many of those that had arrived by then are still to be given. Who goes on pushing must not keep
    /// the run from ending.
    rest: Option<usize>,
}

/// An inlet for `capacity` messages and the source behind it.
pub(crate) fn inlet<T: Send>(
    capacity: usize,
    control: &Arc<Control>,
) -> Result<(Inlet<T>, Arrivals<T>), thalweg_queue::BuildError> {
    let (tx, rx) = bbq::with_capacity(capacity)?;
    let waiters = Arc::new(Waiters::default());
    let inlet = Inlet { queue: tx, waiters: waiters.clone(), ring: RingOnDrop(control.clone()) };
    Ok((inlet, Arrivals { queue: rx, waiters, rest: None }))
}

impl<T: Send> Arrivals<T> {
    /// Gives what has arrived, up to a block, each message through `accept`.
    fn give_each<U>(
        &mut self,
        cx: &Cx<'_>,
        mut accept: impl FnMut(T) -> Result<U, BoxError>,
    ) -> Result<Flow, BoxError> {
        let mut core = Core::new(cx, 0, None);
        // SAFETY: O1: dropped at the end of this function.
        let mut output = unsafe { Output::open(&mut core) };
        let mut most = cx.edge(cx.outputs()[0]).block_len();
        if cx.is_draining() {
            let rest = *self.rest.get_or_insert_with(|| {
                // Pairs with the release in `Control::raise`: what was pushed before the wish to stop counts.
                fence(Acquire);
                self.queue.len()
            });
            if rest == 0 {
                return Ok(Flow::Pending);
            }
            most = most.min(rest);
        }
        let mut flow = Flow::More;
        let mut given = 0;
        while given < most {
            match self.queue.try_pop() {
                Ok(message) => {
                    output.push(accept(message)?);
                    given += 1;
                }
                // Somebody is half-way with a push; behind it may be some that were whole before the wish to stop.
                Err(TryPopError::Busy) if self.rest.is_some() => break,
                Err(TryPopError::Empty | TryPopError::Busy) => {
                    flow = Flow::Pending;
                    break;
                }
                Err(TryPopError::Closed) => {
                    flow = Flow::Done;
                    break;
                }
            }
        }
        if given > 0 {
            self.waiters.wake_all();
        }
        self.rest = self.rest.map(|rest| rest - given);
        Ok(flow)
    }

    /// What tells, from any thread, whether something has arrived.
    pub(crate) fn watch(&self) -> Watch<T> {
        Watch { queue: self.queue.clone(), waiters: self.waiters.clone() }
    }
}

/// Looks at the inner end without taking. It is dropped after the [`Arrivals`], and then wakes who waits for room: there will be none.
pub(crate) struct Watch<T: Send> {
    queue: bbq::Consumer<T>,
    waiters: Arc<Waiters>,
}

impl<T: Send> crate::kernel::Outside for Watch<T> {
    fn has_input(&self) -> bool {
        !self.queue.is_empty() || self.queue.is_closed()
    }
}

impl<T: Send> Drop for Watch<T> {
    fn drop(&mut self) {
        self.waiters.abandon();
    }
}

impl<T: Send> Source for Arrivals<T> {
    fn begin(&mut self) {
        self.rest = None;
    }

    fn give(&mut self, cx: &Cx<'_>) -> Result<Flow, BoxError> {
        self.give_each(cx, Ok)
    }
}

/// An iterator that may wait: it runs on a thread of its own and pushes into an inlet.
pub(crate) struct Waiting<I: Iterator<Item: Send>> {
    iterator: Option<I>,
    inlet: Option<Inlet<Result<I::Item, String>>>,
    arrivals: Arrivals<Result<I::Item, String>>,
}

impl<I> Waiting<I>
where
    I: Iterator + Send,
    I::Item: Send,
{
    pub(crate) fn new(iterator: I, capacity: usize, control: &Arc<Control>) -> Result<Self, thalweg_queue::BuildError> {
        let (inlet, arrivals) = inlet(capacity, control)?;
        Ok(Self { iterator: Some(iterator), inlet: Some(inlet), arrivals })
    }

    pub(crate) fn watch(&self) -> Watch<Result<I::Item, String>> {
        self.arrivals.watch()
    }
}

impl<I> Source for Waiting<I>
where
    I: Iterator + Send + 'static,
    I::Item: Send + 'static,
{
    fn begin(&mut self) {
        self.arrivals.begin();
        let (Some(mut iterator), Some(inlet)) = (self.iterator.take(), self.inlet.take()) else { return };
        // Nobody joins it: it may wait for input that never comes. It ends with its next item once the graph is gone.
        let _detached = thread::spawn(move || {
            loop {
                let next = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| iterator.next()));
                let item = match next {
                    Ok(Some(item)) => Ok(item),
                    Ok(None) => return,
                    Err(payload) => match crate::error::Cause::from_panic(payload) {
                        crate::error::Cause::Panic(text) => Err(text),
                        crate::error::Cause::Error(error) => Err(error.to_string()),
                    },
                };
                let failed = item.is_err();
                if inlet.push(item).is_err() || failed {
                    return;
                }
            }
        });
    }

    fn give(&mut self, cx: &Cx<'_>) -> Result<Flow, BoxError> {
        self.arrivals.give_each(cx, |item| item.map_err(|text| format!("the iterator panicked: {text}").into()))
    }
}
