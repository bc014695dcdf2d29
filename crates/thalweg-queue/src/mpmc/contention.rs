//! What a thread does that lost an entry to another one of its side.

use crate::cursor::Cursor;
use crate::handles::Count;
use thalweg_sync::spin;

/// For how long to stand back before a look at how the others get on, in ns; doubled each time that the operation stands back again.
///
/// Threads that meet now and then, or work for a microsecond between two items, are to lose no more than that.
const BRIEF: u32 = 750;

/// So many entries in the meantime are of threads that do little else.
const STREAM: u64 = 6;

/// So many entries are of such threads, or of threads that have something to do in between. 32 threads that do nothing else take no more on
/// two sockets, as an entry then goes from socket to socket, which takes 300 ns. The more handles there are, the likelier are such threads.
const UNCLEAR: u64 = 3;

/// For how long to leave the place where that is unclear, in ns for each pair of handles. With the wait for a stream, 15 workers that take
/// tasks of a few microseconds from one queue do a third less, on a modelled machine.
const PAIR: u32 = 24;

/// For how long to leave the place to a stream, in ns. With a quarter of it, two producers on a modelled machine take 32 ns for an item instead
/// of 26, as they come back for every few hundred items.
const LONG: u32 = 24_000;

/// For so long at least where it is unclear, in ns.
const SHORT: u32 = 2_000;

/// For so long at least for each handle of the side, in ns: that is how long one has the place, if all come back for it.
const TURN: u32 = 1_000;

/// Any number of handles.
const LONGEST: u32 = 2_000_000;

/// So many losses in a row a thread that has stood back answers by another attempt at once, as it has its turn.
const TRIES: u32 = 2;

/// Stands back, after `losses` others of the same operation. The side's cursor was at `seen` then, is at `now()`, and has so many `handles`.
///
/// Two threads of one side that take turns entry by entry move three lines each time, which costs ten times as much as an operation. So
/// one of them leaves the place to the other for some hundreds of operations, and for longer where there are many to come back: each
/// interrupts whoever is at work, and makes all fail that are at it, so that without it 64 producers are a hundred times as slow as one.
/// A thread that comes back stays, and the thread that was at work stands back: each handle has a turn.
///
/// But if few entries are taken meanwhile, they have something else to do in between, and nobody has to be left alone.
#[cold]
#[inline(never)]
pub(crate) fn stand_back(seen: Cursor, losses: u32, handles: &Count, now: impl Fn() -> Cursor) {
    if !losses.is_multiple_of(1 + TRIES) {
        return;
    }
    let spans = || spans(seen, losses / (1 + TRIES), handles.now());
    spin::relax_for(|| spans().look);
    spin::relax_for(|| match now().0.wrapping_sub(seen.0) {
        STREAM.. => spans().stream,
        UNCLEAR.. => spans().unclear,
        _ => 0,
    });
}

/// For how long to stand back, in ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Spans {
    /// Before the look.
    look: u32,
    /// After it, where the others do nothing else.
    stream: u32,
    /// After it, where that is unclear.
    unclear: u32,
}

/// For the `time`-th time, from 0 on.
fn spans(seen: Cursor, time: u32, handles: usize) -> Spans {
    let handles = u32::try_from(handles).unwrap_or(u32::MAX);
    // From a half to three halves of it, by where the cursor was: those who lost together do not come back together.
    let spread = seen.0.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40;
    let spread = |span: u32| span / 2 + ((u64::from(span) * spread) >> 24) as u32;
    let all = spread(handles.saturating_mul(TURN).clamp(LONG, LONGEST));
    let look = BRIEF.saturating_mul(1 << time.min(16)).min(all);
    let stream = all - look;
    let unclear = spread(handles.saturating_mul(handles).saturating_mul(PAIR).clamp(SHORT, LONGEST)).min(stream);
    Spans { look, stream, unclear }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn who_loses_stands_back_for_a_turn_of_each_handle() {
        let all = |seen, handles| {
            let spans = spans(Cursor(seen), 0, handles);
            spans.look + spans.stream
        };
        for (handles, turns) in
            [(1, LONG), (2, LONG), (24, LONG), (32, 32 * TURN), (64, 64 * TURN), (usize::MAX, LONGEST)]
        {
            let spans: Vec<_> = (0..1000).map(|seen| all(seen, handles)).collect();
            assert!(spans.iter().all(|span| (turns / 2..=turns / 2 * 3).contains(span)), "{handles}: {spans:?}");
            let mean = spans.iter().map(|&span| u64::from(span)).sum::<u64>() / 1000;
            assert!(mean.abs_diff(turns.into()) < u64::from(turns) / 20, "{handles}: {mean}");
        }
    }

    #[test]
    fn the_look_comes_later_each_time_and_not_after_the_turns() {
        let look = |time| spans(Cursor(0), time, 32).look;
        assert_eq!([0, 1, 2, 4].map(look), [750, 1_500, 3_000, 12_000]);
        assert_eq!([5, 31, u32::MAX].map(look), [16_000; 3]);
    }

    #[test]
    fn where_it_is_unclear_few_handles_stand_back_for_less() {
        let unclear = |handles| spans(Cursor(0), 0, handles).unclear;
        assert_eq!([1, 8, 16, 32].map(unclear), [1_000, 1_000, 3_072, 12_288]);
        let stream = spans(Cursor(0), 0, 87).stream;
        assert_eq!((unclear(87), unclear(usize::MAX)), (stream, LONGEST / 2 - BRIEF));
    }
}
