//! Seen while it runs: snapshots of a run's counters, from any thread.
//!
//! Counters are there anyway, so a snapshot costs the run nothing but the reads of whoever takes it: none where nobody looks. No event is made per
//! message. [`Graph::observe`](crate::Graph::observe) gives an [`Observer`]; it takes a [`Snapshot`], which is plain data, and two of them make
//! [`Rates`]: what happened in a second between them.
//!
//! ```
//! use thalweg::prelude::*;
//!
//! let mut graph = Graph::new();
//! let (end, sum) = graph.gather(0, |sum: &mut u64, n: u64| *sum += n);
//! graph += graph.source(0..100_000_u64) >> graph.map(|n: u64| n / 2) >> end;
//! let observer = graph.observe();
//! let report = std::thread::scope(|scope| {
//!     let watcher = scope.spawn(|| observer.snapshot()); // now and then; here once
//!     let report = graph.run(Scheme::default());
//!     watcher.join().unwrap();
//!     report
//! })?;
//! let last = observer.snapshot().expect("there was a run");
//! assert_eq!(last.end, Some(report.end));
//! assert_eq!(last.kernels[0].messages_out, report.kernels[0].messages_out);
//! # assert!(sum.take() > 0);
//! # Ok::<(), thalweg::Error>(())
//! ```

mod bounds;
mod latency;
mod metrics;
mod rates;
mod read;
mod remarks;
mod snapshot;
#[cfg(all(feature = "observe", unix))]
mod socket;
pub(crate) mod spans;
mod trace;

pub use bounds::Allowance;
#[cfg(any(test, all(feature = "daemon", target_os = "linux")))]
pub(crate) use bounds::By;
pub(crate) use bounds::{Bounds, Crew};
pub use latency::Latency;
pub(crate) use latency::{MOST_PAIRS, Probes};
pub use rates::{EdgeRates, KernelRates, Rates, WorkerRates};
pub use read::{ReadError, read};
pub use remarks::{About, Remark, remarks};
pub use snapshot::{Doing, EdgeSnapshot, KernelSnapshot, Kind, Snapshot, WorkerSnapshot, WorkerState};
#[cfg(all(feature = "observe", unix))]
pub(crate) use socket::note;
#[cfg(all(feature = "daemon", target_os = "linux"))]
pub(crate) use socket::own_name;
#[cfg(all(feature = "observe", unix))]
pub use socket::{Process, allow, folder};
pub use trace::{Did, Trace, TraceEvent, Tracer};
pub(crate) use trace::{Ring, Wanted};

use std::fmt;
use thalweg_sync::sync::{Arc, Mutex, MutexGuard, OnceLock};

/// Who sees the runs of a graph: nobody, unless somebody asked. A look at it costs no access that an engine sees.
#[derive(Debug, Default)]
pub(crate) struct Eyes {
    pane: OnceLock<Arc<Pane>>,
    wanted: OnceLock<Mutex<Arc<Wanted>>>,
    /// There once the latencies from all sources to all sinks are asked for.
    latencies: OnceLock<()>,
}

impl Eyes {
    pub(crate) fn observe(&self) -> Observer {
        Observer { pane: self.pane.get_or_init(Arc::default).clone() }
    }

    pub(crate) fn trace(&self, events: usize) -> Tracer {
        let wanted = Arc::new(Wanted::new(events));
        let place = self.wanted.get_or_init(|| Mutex::new(wanted.clone()));
        *place.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = wanted.clone();
        Tracer(wanted)
    }

    pub(crate) fn all_latencies(&self) {
        self.latencies.get_or_init(|| ());
    }

    pub(crate) fn wants_all_latencies(&self) -> bool {
        self.latencies.get().is_some()
    }

    pub(crate) fn pane(&self) -> Option<&Pane> {
        self.pane.get().map(|pane| &**pane)
    }

    pub(crate) fn wanted(&self) -> Option<Arc<Wanted>> {
        let place = self.wanted.get()?;
        Some(place.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).clone())
    }
}

/// A run that is looked at.
pub(crate) trait Observed: Sync {
    /// What it counts now.
    fn snapshot(&self) -> Snapshot;
    /// What it begins with; `None` if all its workers go on whatever is allowed.
    fn crew(&self) -> Option<Crew>;
    /// Lets so many workers work.
    fn let_work(&self, workers: usize);
    /// What it could use now.
    fn demand(&self) -> Demand;
}

/// What a run could use at a moment: see [`Allowance::demand`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Demand {
    /// Workers that are at work.
    pub works: usize,
    /// Workers that have or would find work, these included.
    pub could: usize,
    /// What the blocks cost that wait for a worker, in nanoseconds of one, by what their kernels took lately.
    pub work: u64,
    /// Nanoseconds that all workers together have been at kernels since the run began, as far as activations have ended. Between two looks
    /// it says how many workers were used, where a moment may find all of them between two blocks.
    pub busy: u64,
}

/// Where observers find the run of a graph: one for each graph that is observed, across runs.
///
/// **O1** The run in `State::Now` is there as long as its [`Shown`] is, whose drop takes it away under the lock; it is looked at under the lock only.
#[derive(Default)]
pub(crate) struct Pane {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Runs that began.
    runs: u64,
    now: Option<&'static dyn Observed>,
    /// Of the run before.
    last: Option<Snapshot>,
    bounds: Bounds,
}

impl Pane {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Lets `run` be seen until what this gives is dropped.
    pub(crate) fn show<'a>(&'a self, run: &'a dyn Observed) -> Shown<'a> {
        // SAFETY: O1, `run` outlives `Shown`, which takes the reference away before its borrow ends. It is never leaked: it is a local of `exec::run`.
        let run: &'static dyn Observed = unsafe { std::mem::transmute::<&'a dyn Observed, &'static dyn Observed>(run) };
        let mut state = self.lock();
        state.runs += 1;
        state.now = Some(run);
        if let Some(workers) = Self::begin(&mut state.bounds, run.crew()) {
            run.let_work(workers);
        }
        drop(state);
        Shown(self)
    }

    fn snapshot(&self) -> Option<Snapshot> {
        let state = self.lock();
        match state.now {
            // O1: under the lock.
            Some(run) => Some(Snapshot { run: state.runs, ..run.snapshot() }),
            None => state.last.clone(),
        }
    }
}

impl fmt::Debug for Pane {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Pane")
    }
}

/// While a run is seen. Not to be leaked: O1.
pub(crate) struct Shown<'a>(&'a Pane);

impl Shown<'_> {
    /// Ends that, and leaves a last snapshot, which is made when nobody else takes one any more.
    pub(crate) fn end(self, last: impl FnOnce() -> Snapshot) {
        let mut state = self.0.lock();
        state.now = None;
        state.last = Some(Snapshot { run: state.runs, ..last() });
    }
}

impl Drop for Shown<'_> {
    fn drop(&mut self) {
        self.0.lock().now = None;
    }
}

/// Looks at the runs of a graph, from any thread. Made by [`Graph::observe`](crate::Graph::observe); clones look at the same graph.
///
/// It may outlive the graph: it goes on giving the last snapshot then.
#[derive(Clone)]
pub struct Observer {
    pub(crate) pane: Arc<Pane>,
}

impl Observer {
    /// What the run counts now, or counted in the end if it is over. `None` before the first run begins.
    ///
    /// Costs the caller a read of each counter of each worker, and the run only that it may find the counter's line elsewhere. A run that ends
    /// meanwhile waits for it, which is for microseconds.
    pub fn snapshot(&self) -> Option<Snapshot> {
        self.pane.snapshot()
    }
}

impl fmt::Debug for Observer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Observer")
    }
}
