//! The workers that have a thread, and how many of them work.

use super::worker::Worker;
use thalweg_sync::atomic::Ordering::*;
use thalweg_sync::park::Parker;
use thalweg_sync::time::Duration;

/// How long the second worker waits before it looks what the first is at: doubles from the first to the second.
const WATCH: (Duration, Duration) = (Duration::from_millis(1), Duration::from_millis(128));
/// Looks that found the first worker further than before, after which it sleeps.
const LOOKS: u32 = 8;

/// The workers that have a thread.
#[derive(Debug)]
pub(crate) struct Crew {
    hired: usize,
    most: usize,
}

impl Crew {
    /// The caller of `run`, and at most so many with it.
    pub(crate) fn new(most: usize) -> Self {
        Self { hired: 1, most }
    }

    /// Everybody has a thread already.
    pub(crate) fn are_all_hired(&mut self) {
        self.hired = self.most;
    }

    /// Returns how many there may be at most: a system that gives no more threads is not asked again.
    pub(super) fn hire_up_to(&mut self, count: usize, hire: &dyn Fn(usize) -> bool) -> usize {
        while self.hired < count.min(self.most) {
            if hire(self.hired) {
                self.hired += 1;
            } else {
                self.most = self.hired;
            }
        }
        self.most
    }
}

/// Lets `target` workers work, as far as there are threads. Returns how many there may be at most.
pub(super) fn set_target(worker: &Worker<'_, '_>, target: usize, hire: &dyn Fn(usize) -> bool) -> usize {
    let core = worker.core;
    let most = core.crew.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).hire_up_to(target, hire);
    let (target, set) = (target.min(most), |target| core.target.store(target, Release));
    match core.control.eyes.pane() {
        Some(pane) => pane.ask(target, set),
        None => set(target),
    }
    worker.row.worker.decisions.add(1);
    core.bench.call();
    // Who should sit out now may be asleep; who was called back should find what there is.
    core.control.bell.ring_all();
    worker.make_way();
    most
}

/// The second worker, while it is not needed, looks now and then at the first. If the first one is still in the same activation, and some kernel could run,
/// the second calls all workers: those that are not needed find nothing, and sleep. Returns when it has, when it is `over`, or when all goes well.
pub(crate) fn watch(worker: &Worker<'_, '_>, hire: &dyn Fn(usize) -> bool, over: impl Fn() -> bool) {
    let core = worker.core;
    let activations = || core.rows[0].kernels.iter().map(|stats| stats.activations.get()).sum::<u64>();
    // Of its own: a token that comes late must wake nobody from another sleep.
    let parker = Parker::new();
    let (mut limit, mut before, mut looks) = (WATCH.0, activations(), 0);
    while looks < LOOKS && !core.bench.wait_at_most(&parker, limit, &over) {
        let now = activations();
        if now != before {
            looks += 1;
        } else if (0..core.seats.len()).any(|kernel| core.is_ready(kernel)) {
            set_target(worker, core.rows.len(), hire);
            return;
        } else if core.control.bell.all_asleep().is_some() {
            return;
        }
        before = now;
        limit = (limit * 2).min(WATCH.1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_system_that_gives_no_more_threads_is_not_asked_again() {
        let asked = std::cell::Cell::new(0);
        let hire = |index: usize| {
            asked.set(asked.get() + 1);
            index < 3
        };
        let mut crew = Crew::new(8);
        assert_eq!((crew.hire_up_to(2, &hire), asked.get()), (8, 1));
        assert_eq!((crew.hire_up_to(6, &hire), asked.get()), (3, 3), "the third is refused");
        assert_eq!((crew.hire_up_to(6, &hire), asked.get()), (3, 3));
    }
}
