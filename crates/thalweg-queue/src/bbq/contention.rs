//! What a thread does that lost an entry to another one of its side.

use crate::cursor::Cursor;
use thalweg_sync::atomic::Ordering::Relaxed;
use thalweg_sync::atomic::{AtomicU64, AtomicUsize};
use thalweg_sync::spin;

/// Where a side of a queue lost an exchange last.
///
/// Two threads of one side that take turns entry by entry move three lines each time, which costs ten times as much as an operation. So
/// one of them stands back for as long as the other needs for some hundreds of operations, and for longer where there are more of them
/// to come back: each interrupts whoever is at work, and makes all fail that are at it, so that without it 64 producers are a hundred
/// times as slow as one.
///
/// Who loses once tries again at once. Threads that meet now and then need not stand back for it, which an item would have to wait for;
/// those that take turns lose again within a few entries.
#[derive(Debug)]
pub(super) struct Contention {
    last: AtomicU64,
}

/// Exchanges that are lost within so many entries are of threads that take turns.
const NEAR: u64 = 4;

/// For how long to stand back at first, in ns. With a quarter of it, two producers and two consumers on two cores take three times as long,
/// as they come back for every few dozen items; with twice as much, those that work between two items miss more than they spare.
const FIRST: u32 = 6_000;

/// An operation that loses again doubles that: once, or once for each doubling of so many handles.
const HANDLES: usize = 2;

/// Two milliseconds are enough for any number of handles.
const DOUBLINGS: u32 = 8;

impl Default for Contention {
    /// Far from any cursor of a new queue.
    fn default() -> Self {
        Self { last: AtomicU64::new(u64::MAX / 2) }
    }
}

impl Contention {
    /// To be called by who lost the entry at `at`, and had lost `before` in the same operation. There are so many `handles` of the side.
    #[cold]
    #[inline(never)]
    pub(super) fn lost(&self, at: Cursor, before: u32, handles: &AtomicUsize) {
        spin::relax_for(|| self.nanos(at, before, handles));
    }

    /// For how long to stand back.
    fn nanos(&self, at: Cursor, before: u32, handles: &AtomicUsize) -> u32 {
        // Relaxed, all three: they decide nothing but time.
        let last = self.last.load(Relaxed);
        self.last.store(at.0, Relaxed);
        if before == 0 && at.0.wrapping_sub(last) >= NEAR {
            return 0;
        }
        let doublings = (handles.load(Relaxed) / HANDLES).max(2).ilog2().min(DOUBLINGS);
        FIRST << before.min(doublings)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn who_loses_now_and_then_tries_again_at_once() {
        let (contention, handles) = (Contention::default(), AtomicUsize::new(2));
        assert_eq!([0, 4, 104, 504].map(|at| contention.nanos(Cursor(at), 0, &handles)), [0; 4]);
        assert_eq!([505, 508, 512].map(|at| contention.nanos(Cursor(at), 0, &handles)), [FIRST, FIRST, 0]);
        assert_eq!(contention.nanos(Cursor(1_000), 1, &handles), 2 * FIRST, "the second time in one operation");
    }

    #[test]
    fn the_more_handles_there_are_the_longer_stands_back_who_loses_in_a_row() {
        let waits = |handles| {
            let (contention, handles) = (Contention::default(), AtomicUsize::new(handles));
            [1, 2, 3, 9, 99].map(|before| contention.nanos(Cursor(0), before, &handles) / FIRST)
        };
        assert_eq!([1, 2, 7, 8, 64].map(waits), [[2; 5], [2; 5], [2; 5], [2, 4, 4, 4, 4], [2, 4, 8, 32, 32]]);
        assert_eq!(waits(1 << 40), [2, 4, 8, 256, 256]);
    }
}
