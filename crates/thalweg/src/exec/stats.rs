//! What is counted while a graph runs.

use crate::observe::Ring;
use thalweg_sync::CachePadded;
use thalweg_sync::atomic::{AtomicBool, AtomicUsize, Counter};

/// What one worker counts about one kernel. Only that worker writes it.
#[derive(Debug, Default)]
pub(crate) struct KernelStats {
    pub(crate) activations: Counter,
    pub(crate) blocks: Counter,
    pub(crate) messages: Counter,
    /// Nanoseconds, extrapolated from the activations that were timed.
    pub(crate) busy: Counter,
    pub(crate) ticket: Counter,
    pub(crate) busy_elsewhere: Counter,
    /// Attempts that found that it has nothing now.
    pub(crate) pending: Counter,
    /// Activations of this kernel on its producer's core, within the producer's activation.
    pub(crate) helps: Counter,
    /// Activations that were timed.
    pub(crate) timed: Counter,
    /// Of the last one that was timed: its number, and when it ended, in nanoseconds of the clock.
    pub(crate) last_timed: Counter,
    pub(crate) last_end: Counter,
    /// The kernel above its innermost activation on this worker's stack, plus one; zero if there is none.
    pub(crate) above: AtomicUsize,
}

impl KernelStats {
    /// Notes that activation `number`, from 1, took `own` nanoseconds and ended at `end`. It stands for those since the last one that was timed, which
    /// took no longer than has passed since: one that the system held up among short ones is no measure of them. What they took.
    pub(crate) fn time(&self, number: u64, own: u64, end: u64) -> u64 {
        // Within a help another activation of a parallel kernel may have come and gone.
        let stands_for = number.saturating_sub(self.last_timed.get()).max(1);
        let passed = end.saturating_sub(self.last_end.get());
        let busy = own.saturating_mul(stands_for).min(passed.max(own));
        self.busy.add(busy);
        self.timed.add(1);
        self.last_timed.set(number.max(self.last_timed.get()));
        self.last_end.set(end);
        busy
    }
}

/// What one worker counts about one edge: its attempts that found it so. Only that worker writes it.
#[derive(Debug, Default)]
pub(crate) struct EdgeStats {
    pub(crate) empty: Counter,
    pub(crate) full: Counter,
}

/// What one worker counts about itself.
#[derive(Debug, Default)]
pub(crate) struct WorkerStats {
    pub(crate) polls: Counter,
    pub(crate) yields: Counter,
    pub(crate) sleeps: Counter,
    /// Blocks that it began: who finds it unchanged for a while finds it in one block.
    pub(crate) beats: Counter,
    /// Where it is, as a number of [`At`]; while it is at a kernel, [`in_code`](Self::in_code) says whether it still is.
    pub(crate) at: Counter,
    /// Times that it decided how many workers work.
    pub(crate) decisions: Counter,
    /// It is in an activation.
    pub(crate) in_code: AtomicBool,
    /// Nanoseconds at all kernels together.
    pub(crate) busy: Counter,
    /// Nanoseconds of looking around and sleeping.
    pub(crate) idle: Counter,
    /// Messages dropped because their consumer had finished early.
    pub(crate) lost: Counter,
    /// One more than the number of the hardware thread it got up on; 0 while it sleeps, or where nobody knows.
    pub(crate) place: AtomicUsize,
}

/// Where a worker is, for whoever looks from outside.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum At {
    /// It has no thread.
    Off,
    Looks,
    Sleeps,
    Bench,
    /// The kernel that it was at last.
    Kernel(usize),
}

impl At {
    /// One store of a number is all that it costs.
    #[inline(always)]
    pub(crate) fn number(self) -> u64 {
        match self {
            Self::Off => 0,
            Self::Looks => 1,
            Self::Sleeps => 2,
            Self::Bench => 3,
            Self::Kernel(kernel) => kernel as u64 + 4,
        }
    }

    pub(crate) fn from_number(number: u64) -> Self {
        match number {
            0 => Self::Off,
            1 => Self::Looks,
            2 => Self::Sleeps,
            3 => Self::Bench,
            kernel => Self::Kernel(kernel as usize - 4),
        }
    }
}

/// One worker's counters.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) worker: CachePadded<WorkerStats>,
    /// Raised for a worker that is long in one block.
    pub(crate) hurry: CachePadded<AtomicBool>,
    pub(crate) kernels: Vec<CachePadded<KernelStats>>,
    pub(crate) edges: Vec<CachePadded<EdgeStats>>,
    /// What it did, if that was asked for.
    pub(crate) ring: Option<Ring>,
}

impl Row {
    /// `events` of a trace are kept, if one was asked for.
    pub(crate) fn new(kernels: usize, edges: usize, events: Option<usize>) -> Self {
        Self {
            worker: CachePadded::default(),
            hurry: CachePadded::default(),
            kernels: (0..kernels).map(|_| CachePadded::default()).collect(),
            edges: (0..edges).map(|_| CachePadded::default()).collect(),
            ring: events.map(Ring::new),
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn an_activation_that_was_held_up_does_not_stand_for_short_ones() {
        let stats = KernelStats::default();
        stats.time(1, 1_000, 10_000);
        // One of sixteen is timed.
        stats.time(17, 1_000, 50_000);
        assert_eq!(stats.busy.get(), 17_000);
        // Held up for a millisecond: the fifteen before it fitted in what else has passed.
        stats.time(33, 1_000_000, 1_090_000);
        assert_eq!(stats.busy.get(), 17_000 + 1_040_000);
        // Timed on other grounds: stands for what was since.
        stats.time(34, 1_000, 1_100_000);
        assert_eq!(stats.busy.get(), 17_000 + 1_041_000);
    }
}
