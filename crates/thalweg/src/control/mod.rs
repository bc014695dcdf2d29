//! What reaches into a run from outside: stopping it, and waking its workers.

pub(crate) mod bell;
pub(crate) mod lid;

use crate::observe::{Eyes, Observer, Tracer};
use bell::Bell;
use lid::Lid;
use std::fmt;
use thalweg_sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::*, unique};
use thalweg_sync::sync::{Arc, Mutex, MutexGuard};
use thalweg_sync::time::{Duration, now};

/// Nobody wishes anything.
const RUN: u64 = 0;
/// Drain, for as long as it takes. What lies between this and `RUN` is a time: drain, and cancel then.
const DRAIN: u64 = u64::MAX - 1;
const CANCEL: u64 = u64::MAX;

/// Shared by a graph, its stoppers and its inlets; lives across runs.
#[derive(Debug)]
pub(crate) struct Control {
    /// The graph's number. Handles carry it, and may outlive the graph: it is never given again.
    pub(crate) graph: u64,
    pub(crate) bell: Bell,
    /// One word, so that the end of a run takes a wish whole or leaves it to the next run.
    wish: AtomicU64,
    /// Changes whenever a loop over the messages of a block should look up: at a wish, and when somebody is long in a block.
    attention: AtomicU32,
    /// Who sees its runs.
    pub(crate) eyes: Eyes,
    /// Somebody looks for workers that are long in a block.
    lookout: AtomicBool,
    /// What stands behind inlets, which are shut by a wish.
    lids: Mutex<Vec<Arc<Lid>>>,
}

impl Default for Control {
    fn default() -> Self {
        Self {
            graph: unique(),
            bell: Bell::default(),
            wish: AtomicU64::new(RUN),
            attention: AtomicU32::new(0),
            eyes: Eyes::default(),
            lookout: AtomicBool::new(false),
            lids: Mutex::default(),
        }
    }
}

impl Control {
    /// Notes a wish: a cancel stands above all, else the earliest end counts.
    fn raise(&self, wish: u64) {
        let merged = |now: u64| match (now, wish) {
            (RUN, _) | (_, CANCEL) => Some(wish),
            (CANCEL, _) => None,
            _ => Some(now.min(wish)),
        };
        // AcqRel: what was done before the wish, as a push into an inlet, is seen by who finds it.
        let _unchanged = self.wish.fetch_update(AcqRel, Relaxed, merged);
        self.call_attention();
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

    pub(crate) fn cancel(&self) {
        self.raise(CANCEL);
    }

    pub(crate) fn is_draining(&self) -> bool {
        self.wish.load(Relaxed) != RUN
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        self.wish.load(Relaxed) == CANCEL
    }

    /// Whether the run is cancelled; cancels it when the time for draining is over.
    pub(crate) fn is_over_time(&self) -> bool {
        self.time_left();
        self.is_cancelled()
    }

    /// Takes the wish of the run that ends here: whether it was stopped, and whether it was cancelled. What is wished after that is for the next run.
    pub(crate) fn take(&self) -> (bool, bool) {
        let wish = self.wish.swap(RUN, AcqRel);
        (wish != RUN, wish == CANCEL)
    }

    /// The time left until draining turns into cancelling, if it will. Cancels when it is over.
    pub(crate) fn time_left(&self) -> Option<Duration> {
        let wish = self.wish.load(Acquire);
        if matches!(wish, RUN | DRAIN | CANCEL) {
            return None;
        }
        let left = Duration::from_nanos(wish.saturating_sub(now().as_nanos()));
        if left.is_zero() {
            self.cancel();
            return None;
        }
        Some(left)
    }

    /// What [`call_attention`](Self::call_attention) changes.
    #[inline(always)]
    pub(crate) fn attention(&self) -> &AtomicU32 {
        &self.attention
    }

    /// Lets every loop over a block look up.
    pub(crate) fn call_attention(&self) {
        self.attention.fetch_add(1, Relaxed);
    }

    /// Says whether somebody does, from now on.
    pub(crate) fn set_lookout(&self, looks: bool) {
        self.lookout.store(looks, Relaxed);
    }

    /// Whether somebody looks for workers that are long in a block: else they look at the clock themselves.
    pub(crate) fn has_lookout(&self) -> bool {
        self.lookout.load(Relaxed)
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
        self.0.raise(DRAIN);
    }

    /// Like [`stop`](Self::stop), and [`cancel`](Self::cancel) if that takes longer than `time`.
    ///
    /// A kernel cannot be interrupted: one that does not return in time is waited for.
    pub fn stop_within(&self, time: Duration) {
        self.0.raise(now().after(time).as_nanos().clamp(RUN + 1, DRAIN - 1));
    }

    /// The run ends as soon as every worker has come back from the kernel it is in; what is in the graph is dropped.
    ///
    /// Kernels look for it between any two messages, if messages are known to be slow, or if the closure or the messages own something, such as an `Arc` or
    /// a `String`. So the run ends within the time of the message in hand.
    ///
    /// Quick messages of kernels that own nothing are gone through a few at a time, since a look between any two of them would cost more than what is done
    /// with a cheap one. If messages turn slow in the midst of these, the rest of them is gone through first:
    ///
    /// | kernel | messages without a look, at most |
    /// |---|---|
    /// | `sequential`, `map`, `filter`, `update`, parallel kernels | 8 |
    /// | a sink | 32 |
    /// | `flat_map`, of what it gives | 32 (2 if something is owned) |
    /// | a source | 256 items of its iterator |
    /// | a chain at a source | 128 of its items where it ends in `for_each`, 512 if each comes out there, 4096 where a kernel is behind it |
    ///
    /// Windows and kernels with ports look between any two messages. As soon as a block has taken a millisecond, the kernel is known to be slow.
    pub fn cancel(&self) {
        self.0.cancel();
    }

    /// Sees what it ends: as [`Graph::observe`](crate::Graph::observe). A run that goes on already is not seen, the next one is.
    pub fn observe(&self) -> Observer {
        self.0.eyes.observe()
    }

    /// As [`Graph::trace`](crate::Graph::trace), for runs that begin from now on.
    pub fn trace(&self, events: usize) -> Tracer {
        self.0.eyes.trace(events)
    }

    /// Samples the [latency](crate::Graph::latency) from each source to each sink behind it, of runs that begin from now on; of 64 such pairs at most.
    pub fn latencies(&self) {
        self.0.eyes.all_latencies();
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
