//! Tasks that do not let go of their worker.

use crate::TaskId;
use crate::idle;
use crate::runtime::{Shared, Stop};
use crate::short::Short;
use core::fmt;
use thalweg_sync::atomic::AtomicBool;
use thalweg_sync::atomic::Ordering::{AcqRel, Relaxed};
use thalweg_sync::fence;
use thalweg_sync::park::{Parker, Unparker};
use thalweg_sync::time::{self, Duration, Instant};

/// A task that runs for long without a wait or a yield: see [`Builder::watch`](crate::Builder::watch).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stall {
    /// The task.
    pub task: TaskId,
    /// Its worker, whose other tasks wait.
    pub worker: usize,
    /// For how long at least.
    pub time: Duration,
}

impl fmt::Display for Stall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { task, worker, time } = self;
        write!(
            f,
            "task {task} has run for {time:?} without a wait: others of worker {worker} wait; call `yield_now`, or `block_in_place` around what blocks"
        )
    }
}

/// Whom to tell. A std `Arc`: cloned and called, and nothing of it is shared that engines would have to see.
#[derive(Clone)]
pub(crate) struct Tell(std::sync::Arc<dyn Fn(Stall) + Send + Sync>);

impl Tell {
    pub(crate) fn new(tell: impl Fn(Stall) + Send + Sync + 'static) -> Self {
        Self(std::sync::Arc::new(tell))
    }
}

pub(crate) struct Watch {
    after: Duration,
    tell: Tell,
    asleep: AtomicBool,
    unparker: Short<Option<Unparker>>,
}

impl Watch {
    pub(crate) fn new(after: Duration, tell: Tell) -> Self {
        Self { after, tell, asleep: AtomicBool::new(false), unparker: Short::new(None) }
    }

    /// A worker wakes, or the runtime stops.
    pub(crate) fn wake(&self) {
        // (watch.1) Pairs with (watch.2): either the watch is seen asleep, or it sees what was done before.
        fence::light();
        if self.asleep.load(Relaxed)
            && self.asleep.swap(false, AcqRel)
            && let Some(unparker) = self.unparker.with(|place| place.clone())
        {
            unparker.unpark();
        }
    }
}

/// What the watch has seen of a worker.
#[derive(Clone, Copy)]
struct Seen {
    entered: u64,
    since: Instant,
    told: bool,
}

/// What the watching thread does.
pub(crate) fn run(shared: &Shared) {
    let Some(watch) = &shared.watch else { return };
    let parker = Parker::new();
    watch.unparker.with(|place| *place = Some(parker.unparker()));
    let mut seen = vec![Seen { entered: 0, since: time::now(), told: false }; shared.remotes.len()];
    while !(shared.stop() != Stop::No && shared.is_quiet()) {
        let now = time::now();
        for (worker, (remote, seen)) in shared.remotes.iter().zip(&mut seen).enumerate() {
            let (entered, running) = (remote.entered.get(), remote.running.get());
            if entered != seen.entered || running == 0 {
                *seen = Seen { entered, since: now, told: false };
            } else if !seen.told && now.since(seen.since) >= watch.after {
                seen.told = true;
                (watch.tell.0)(Stall { task: TaskId(running - 1), worker, time: now.since(seen.since) });
            }
        }
        // Relaxed: the fence orders it.
        watch.asleep.store(true, Relaxed);
        // (watch.2) Pairs with (watch.1).
        fence::heavy();
        let all_sleep = idle::all_sleep(shared.idle.load(Relaxed), shared.remotes.len());
        if all_sleep && shared.stop() == Stop::No {
            parker.park();
        } else {
            watch.asleep.store(false, Relaxed);
            parker.park_timeout(watch.after / 4);
        }
    }
}
