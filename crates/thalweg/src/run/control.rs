//! What reaches into a run from outside: stopping it, and waking its workers.

use crate::ends::Lid;
use crate::run::bell::Bell;
use std::fmt;
use thalweg_sync::atomic::{AtomicU8, AtomicU64, Ordering::*, unique};
use thalweg_sync::sync::{Arc, Mutex, MutexGuard};
use thalweg_sync::time::{Duration, now};

const RUN: u8 = 0;
const DRAIN: u8 = 1;
const CANCEL: u8 = 2;

/// Shared by a graph, its stoppers and its inlets; lives across runs.
#[derive(Debug)]
pub(crate) struct Control {
    /// The graph's number. Handles carry it, and may outlive the graph: it is never given again.
    pub(crate) graph: u64,
    pub(crate) bell: Bell,
    wish: AtomicU8,
    /// When draining turns into cancelling, in nanoseconds of the clock; zero for never.
    deadline: AtomicU64,
    /// What stands behind inlets, which are shut by a wish.
    lids: Mutex<Vec<Arc<Lid>>>,
}

impl Default for Control {
    fn default() -> Self {
        Self {
            graph: unique(),
            bell: Bell::default(),
            wish: AtomicU8::new(RUN),
            deadline: AtomicU64::new(0),
            lids: Mutex::default(),
        }
    }
}

impl Control {
    fn raise(&self, wish: u8) {
        self.wish.fetch_max(wish, AcqRel);
        self.bell.ring_all();
        // Not under the lock: whom that wakes may be anybody's waker.
        let lids = self.lids().clone();
        lids.iter().for_each(|lid| lid.shut());
    }

    fn lids(&self) -> MutexGuard<'_, Vec<Arc<Lid>>> {
        self.lids.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// A wish shuts this lid from now on, so a kernel that waits under it does not keep the run from ending.
    pub(crate) fn add_lid(&self, lid: Arc<Lid>) {
        self.lids().push(lid);
    }

    pub(crate) fn drain(&self) {
        self.raise(DRAIN);
    }

    pub(crate) fn cancel(&self) {
        self.raise(CANCEL);
    }

    pub(crate) fn is_draining(&self) -> bool {
        self.wish.load(Relaxed) >= DRAIN
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        self.wish.load(Relaxed) >= CANCEL
    }

    /// Forgets the wish: it belonged to the run that ended.
    pub(crate) fn reset(&self) {
        self.wish.store(RUN, Release);
        self.deadline.store(0, Relaxed);
    }

    /// The time left until draining turns into cancelling, if it will. Cancels when it is over.
    pub(crate) fn time_left(&self) -> Option<Duration> {
        let deadline = self.deadline.load(Acquire);
        if deadline == 0 || self.is_cancelled() {
            return None;
        }
        let left = Duration::from_nanos(deadline.saturating_sub(now().as_nanos()));
        if left.is_zero() {
            self.cancel();
            return None;
        }
        Some(left)
    }

    fn cancel_after(&self, time: Duration) {
        self.deadline.store(now().after(time).as_nanos().max(1), Release);
    }
}

/// Ends a run from another thread. Clones end the same run.
///
/// ```
/// use thalweg::prelude::*;
/// let mut graph = Graph::new();
/// let forever = graph.source(0_u64..);
/// let sink = graph.sink(|_| ());
/// graph += forever >> sink;
/// let stopper = graph.stopper();
/// std::thread::spawn(move || stopper.stop());
/// let report = graph.run(Scheme::default())?;
/// assert_eq!(report.end, thalweg::End::Stopped);
/// # Ok::<(), thalweg::Error>(())
/// ```
#[derive(Clone)]
pub struct Stopper(pub(crate) Arc<Control>);

impl Stopper {
    /// Sources stop; what is in the graph is processed, then the run ends. If nothing runs, the next run stops at once.
    pub fn stop(&self) {
        self.0.drain();
    }

    /// Like [`stop`](Self::stop), and [`cancel`](Self::cancel) if that takes longer than `time`.
    ///
    /// A kernel cannot be interrupted: one that does not return in time is waited for.
    pub fn stop_within(&self, time: Duration) {
        self.0.cancel_after(time);
        self.0.drain();
    }

    /// The run ends as soon as every worker has come back from the kernel it is in; what is in the graph is dropped.
    pub fn cancel(&self) {
        self.0.cancel();
    }

    /// Whether the run was asked to stop, or is cancelled. A kernel that stays long with one message, such as the name of a stream that it
    /// reads, looks here now and then and returns early.
    pub fn is_stopping(&self) -> bool {
        self.0.is_draining()
    }
}

impl fmt::Debug for Stopper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Stopper")
    }
}
