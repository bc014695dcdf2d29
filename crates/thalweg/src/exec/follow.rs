//! The hardware threads that the system gives the process, while a run goes on: a container's set of CPUs or its quota may change.
//!
//! A run whose number of workers was not asked for begins with one for each hardware thread at most. The [lookout](super::lookout) looks again every half second; while
//! there are fewer than at the start, workers beyond that sit on the [bench](super::bench). There are never more than at the start: the next run has them.

use super::Core;
use thalweg_sync::atomic::Ordering::*;
use thalweg_sync::thread;
use thalweg_sync::time::{Instant, now};

/// Nanoseconds between two looks.
const PERIOD: u128 = 500_000_000;

/// What the lookout knows of it.
pub(super) struct Follow {
    /// `None` where nobody can stand in for a worker, or so many were asked for.
    least: Option<usize>,
    looked: Instant,
}

impl Follow {
    pub(super) fn new(core: &Core<'_>) -> Self {
        let least = core.least().filter(|_| core.scheme.has_default_workers());
        Self { least, looked: now() }
    }

    /// Looks, if it is time.
    pub(super) fn look(&mut self, core: &Core<'_>) {
        if let Some(least) = self.least
            && self.looked.elapsed().as_nanos() >= PERIOD
        {
            self.looked = now();
            core.set_ceiling(thread::available_parallelism().max(least));
        }
    }
}

impl Core<'_> {
    /// How many workers there have to be whatever is allowed; `None` if all.
    pub(super) fn least(&self) -> Option<usize> {
        // What the default scheme begins with is what it needs.
        (!self.scheme.is_restricted()).then_some(if self.scheme.is_elastic() { self.first } else { 1 })
    }

    /// How many may work: the first so many.
    #[inline]
    pub(super) fn places(&self) -> usize {
        // Acquire, as who sits looks here: B3.
        self.target.load(Acquire).min(self.ceiling.load(Acquire))
    }

    fn set_ceiling(&self, workers: usize) {
        let ceiling = if workers < self.rows.len() { workers } else { usize::MAX };
        // Release: B3.
        if self.ceiling.swap(ceiling, Release) != ceiling {
            self.bench.call();
            // Who sleeps goes to the bench, so that nobody rings for it in vain.
            self.control.bell.ring_all();
        }
    }
}
