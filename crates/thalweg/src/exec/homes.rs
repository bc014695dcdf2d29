//! Which partition a run has now: the one from the hints, until what was measured gives a better one.
//!
//! A second after the start, and then after twice as long each time, some worker looks at what kernels took and what went over edges meanwhile. A
//! [partition](Partition) of that takes the place of the present one if it [gains](Partition::beats) enough. Workers see it between two activations, and
//! make their policies anew.
//!
//! **P1** A partition is an order in which a worker looks at kernels, so a worker that still goes by an old one costs time, and nothing else.

use super::Core;
use crate::partition::{Partition, Work};
use std::mem;
use thalweg_sync::atomic::{AtomicU64, AtomicUsize, Ordering::*};
use thalweg_sync::sync::{Arc, Mutex};

/// The time until the first look, in nanoseconds, and the most until the next one.
const FIRST: u64 = 1_000_000_000;
const MOST: u64 = 64 * FIRST;

/// The partition of a run.
#[derive(Debug)]
pub(super) struct Homes {
    present: Mutex<Arc<Partition>>,
    /// How many there were before this one.
    number: AtomicUsize,
    /// When it is time to look again; zero before the run's first patrol.
    due: AtomicU64,
    /// All that was done up to the last look.
    before: Mutex<Done>,
}

/// All that was done up to some time.
#[derive(Debug, Default)]
struct Done {
    /// The time until the next look.
    wait: u64,
    /// Nanoseconds, by kernel.
    busy: Vec<u64>,
    /// Messages, by edge.
    messages: Vec<u64>,
}

impl Homes {
    pub(super) fn new(partition: Partition) -> Self {
        Self {
            present: Mutex::new(Arc::new(partition)),
            number: AtomicUsize::new(0),
            due: AtomicU64::new(0),
            before: Mutex::default(),
        }
    }

    /// The present partition, and its number.
    pub(super) fn present(&self) -> (usize, Arc<Partition>) {
        let present = self.present.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        (self.number.load(Relaxed), present.clone())
    }

    /// Whether another one took the place of the one with that number.
    #[inline]
    pub(super) fn has_moved(&self, number: usize) -> bool {
        // Relaxed: who sees it late goes by the old one for so long (P1).
        self.number.load(Relaxed) != number
    }

    /// Looks at what was done, if it is time at `clock`. True if there is another partition now. One worker at a time is here.
    pub(super) fn look(&self, core: &Core<'_>, clock: u64) -> bool {
        // Under a restricted scheme each worker has its kernels for good.
        if clock < self.due.load(Relaxed) || !core.scheme.is_counted() || core.scheme.is_restricted() {
            return false;
        }
        let mut before = self.before.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let wait = if before.wait == 0 { FIRST } else { (before.wait * 2).min(MOST) };
        let busy = |kernel: usize| core.rows.iter().map(|row| row.kernels[kernel].busy.get()).sum();
        let now = Done {
            wait,
            busy: (0..core.seats.len()).map(busy).collect(),
            messages: core.edges.iter().map(|edge| edge.sent_messages()).collect(),
        };
        self.due.store(clock + wait, Relaxed);
        let last = mem::replace(&mut *before, now);
        if last.wait == 0 {
            return false;
        }
        let meanwhile = |now: &[u64], last: &[u64]| -> Vec<u64> {
            now.iter().zip(last).map(|(now, last)| now.saturating_sub(*last)).collect()
        };
        let (busy, messages) = (meanwhile(&before.busy, &last.busy), meanwhile(&before.messages, &last.messages));
        let work = Work::measured(&core.topology, &busy, &messages);
        let mut present = self.present.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let better = Partition::new(&core.topology, &work, core.rows.len());
        if !better.beats(&present, &core.topology, &work) {
            return false;
        }
        *present = Arc::new(better);
        self.number.fetch_add(1, Relaxed);
        true
    }
}
