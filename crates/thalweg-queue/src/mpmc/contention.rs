//! What a thread does that lost an entry to another one of its side.

use crate::cursor::Cursor;
use crate::handles::Count;
use thalweg_sync::spin;

/// For how long to stand back before a look at how the others get on, in ns; doubled with each loss in a row.
///
/// Threads that meet now and then, or work for a microsecond between two items, are to lose no more than that.
const BRIEF: u32 = 750;

/// So many entries in the meantime are of threads that do little else.
const STREAM: u64 = 6;

/// For how long to leave the place to those, in ns. With a quarter of it, two producers and two consumers on two cores take three times as
/// long, as they come back for every few dozen items.
const LONG: u32 = 6_000;

/// An operation that loses again doubles that: once, or once for each doubling of so many handles.
const HANDLES: usize = 2;

/// Two milliseconds are enough for any number of handles.
const DOUBLINGS: u32 = 8;

/// Stands back, after `losses` others of the same operation. The side's cursor was at `seen` then, is at `now()`, and has so many `handles`.
///
/// Two threads of one side that take turns entry by entry move three lines each time, which costs ten times as much as an operation. So
/// one of them leaves the place to the other for some hundreds of operations, and for longer where there are more of them to come back: each
/// interrupts whoever is at work, and makes all fail that are at it, so that without it 64 producers are a hundred times as slow as one.
///
/// But if few entries are taken meanwhile, they have something else to do in between, and nobody has to be left alone.
#[cold]
#[inline(never)]
pub(crate) fn stand_back(seen: Cursor, losses: u32, handles: &Count, now: impl Fn() -> Cursor) {
    let spans = || spans(losses, handles.now());
    spin::relax_for(|| spans().0);
    spin::relax_for(|| if now().0.wrapping_sub(seen.0) < STREAM { 0 } else { spans().1 });
}

/// For how long to stand back before the look, and for how long after it, in ns.
fn spans(losses: u32, handles: usize) -> (u32, u32) {
    let doublings = (handles / HANDLES).max(2).ilog2().min(DOUBLINGS);
    let brief = BRIEF << losses.min(doublings + (LONG / BRIEF).ilog2());
    (brief, (LONG << losses.min(doublings)) - brief)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn who_loses_in_a_row_stands_back_for_longer_the_more_handles_there_are() {
        let both = |losses, handles| {
            let (brief, rest) = spans(losses, handles);
            (brief / BRIEF, (brief + rest) / LONG)
        };
        let few = [(1, 1), (2, 2), (4, 2), (8, 2), (16, 2), (16, 2)];
        for handles in [1, 7] {
            assert_eq!([0, 1, 2, 3, 4, 99].map(|losses| both(losses, handles)), few);
        }
        let many = [(2, 2), (4, 4), (8, 8), (32, 32), (256, 32), (256, 32)];
        assert_eq!([1, 2, 3, 5, 8, 99].map(|losses| both(losses, 64)), many);
        assert_eq!(both(u32::MAX, usize::MAX), (1 << 11, 1 << 8));
    }
}
