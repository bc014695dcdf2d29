//! What the machine itself takes to carry items from one core to another: the bounds beside which queues are read.

mod bell;
mod copies;
mod exchanges;
mod given;
mod pairs;
mod parked;
mod stores;
mod stream;

use std::hint::spin_loop;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Release};

use crossbeam_utils::CachePadded;

use super::one_to_one::{CAPACITY, Received, between, params, per_item};
use crate::harness::{Contender, Effort, Group, Role::Bound};
use crate::peers::Checked;

pub(crate) use copies::Copies;
pub(crate) use exchanges::{Asleep, Carried, Exchanges};
pub(crate) use given::Given;
pub(crate) use pairs::{Pairs, Pause, Sleeps, Yields};
pub(crate) use parked::Parked;
pub(crate) use stores::Stores;
pub(crate) use stream::{ByBlocks, Counted, Each, EachLeft, Left, Plain, Prefetched, Words, stream};

/// Entries of a ring that does not fit a first-level cache, 256 KiB of items: lines come from the other core's second level, which is faster.
pub(crate) const LARGE: usize = 32_768;

/// Items of a line.
const LINE: usize = 8;
/// How far ahead a side asks for its lines, in items.
const AHEAD: usize = 8 * LINE;

/// What streams so many items through a ring of so many.
pub(crate) type Stream = fn(u64, usize) -> Checked;

/// The forms of a stream.
pub(crate) const STREAMS: [(&str, Stream); 3] = [
    ("limit: plain", stream::<Plain>),
    ("limit: prefetched", stream::<Prefetched>),
    ("limit: prefetched, lines left", stream::<Left>),
];

/// The [`STREAMS`] through a ring of `capacity` items, as contenders.
pub(crate) fn streams(items: u64, capacity: usize) -> [Contender; 3] {
    let size = if capacity == CAPACITY { "" } else { ", 256 KiB" };
    STREAMS.map(|(name, run)| {
        per_item(Bound, format!("{name}{size}"), params(items, capacity), items, move || run(items, capacity))
    })
}

/// The same through a ring that fits a first-level cache, and through one that does not.
pub(crate) fn of_the_cores(items: u64) -> impl Iterator<Item = Contender> {
    [CAPACITY, LARGE].into_iter().flat_map(move |capacity| streams(items, capacity))
}

/// These as a group of their own: for entries whose contenders do not stream, so that a reader knows in which state the cores were.
pub(crate) fn group(effort: &Effort) -> Group {
    Group::new("limits of the two cores", &["ns per item"], of_the_cores(effort.messages(20_000_000)).collect())
}

/// A number goes to the other core on one line and comes back on another, `trips` times.
pub(crate) fn two_lines(trips: u64) -> Checked {
    let (there, back) = (CachePadded::new(AtomicU64::new(0)), CachePadded::new(AtomicU64::new(0)));
    let (there, back) = (&there, &back);
    between(
        trips,
        move |_| {
            for trip in 1..=trips {
                while there.load(Acquire) != trip {
                    spin_loop();
                }
                back.store(trip, Release);
            }
        },
        move |_| {
            let mut received = Received::default();
            for trip in 1..=trips {
                there.store(trip, Release);
                while back.load(Acquire) != trip {
                    spin_loop();
                }
                received.take(trip);
            }
            received.told()
        },
    )
}

/// Asks for the line of `item`, to write or to read it.
#[inline(always)]
fn prefetch(item: &AtomicU64, write: bool) {
    let item = std::ptr::from_ref(item);
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch has no effect that a program can see, whatever the address.
    unsafe {
        use core::arch::{asm, x86_64};
        match write {
            true => asm!("prefetchw [{}]", in(reg) item.addr(), options(nomem, nostack, preserves_flags)),
            false => x86_64::_mm_prefetch::<{ x86_64::_MM_HINT_T0 }>(item.cast()),
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (item, write);
}

#[cfg(test)]
mod tests {
    use super::super::one_to_one::{Ends, Slices, in_slices, one_by_one, there_and_back};
    use super::*;
    use crate::registry::NATIVE;

    /// Rings are taken round more than once, and end within a block where they can.
    const ITEMS: u64 = 5 * CAPACITY as u64;

    #[test]
    fn limits_carry_every_item_in_order() {
        one_by_one::<ByBlocks<CAPACITY, Plain>>(ITEMS, CAPACITY).unwrap();
        one_by_one::<ByBlocks<CAPACITY, Prefetched>>(ITEMS, CAPACITY).unwrap();
        one_by_one::<ByBlocks<CAPACITY, Left>>(ITEMS, CAPACITY).unwrap();
        one_by_one::<ByBlocks<CAPACITY, Each>>(ITEMS, CAPACITY).unwrap();
        one_by_one::<ByBlocks<CAPACITY, EachLeft>>(ITEMS, CAPACITY).unwrap();
        one_by_one::<ByBlocks<CAPACITY, Counted>>(ITEMS + 3, CAPACITY).unwrap();
        one_by_one::<Stores<2, ByBlocks<CAPACITY, EachLeft>>>(ITEMS, CAPACITY).unwrap();
        one_by_one::<Words>(ITEMS + 3, CAPACITY).unwrap();
        one_by_one::<Carried>(ITEMS + 3, CAPACITY).unwrap();
        there_and_back::<Carried>(100).unwrap();
        there_and_back::<ByBlocks<CAPACITY, Counted>>(100).unwrap();
        for capacity in [CAPACITY, LARGE] {
            assert!(STREAMS.iter().all(|(_, run)| run(ITEMS + 3, capacity).is_ok()));
            in_slices::<Copies<Plain>>(ITEMS + 3, capacity, 100).unwrap();
            in_slices::<Copies<Left>>(ITEMS + 3, capacity, 100).unwrap();
        }
    }

    #[test]
    fn every_entry_that_takes_time_has_the_streams_of_the_two_cores_beside_it() {
        // What is counted in bytes has nothing to do with streams.
        let timed = NATIVE.iter().filter(|experiment| experiment.name != "queues/call-size");
        for experiment in timed.filter(|experiment| experiment.name.starts_with("queues/")) {
            let groups = (experiment.plan)(&Effort::TINY).unwrap();
            let bounds = || groups.iter().flat_map(|group| &group.contenders).filter(|bound| bound.role == Bound);
            for (limit, large) in [("plain", false), ("plain", true), ("prefetched", false), ("prefetched", true)] {
                let is_there = bounds().any(|bound| {
                    bound.name.starts_with(&format!("limit: {limit}")) && bound.name.ends_with("256 KiB") == large
                });
                assert!(is_there, "{}: {limit}, {large}", experiment.name);
            }
        }
    }

    #[test]
    fn limits_are_full_and_empty_where_queues_are() {
        fn holds<Q: Ends>() {
            let (mut tx, mut rx) = Q::build(CAPACITY);
            assert!(Q::pop(&mut rx).is_none());
            // Twice, so that the second time meets entries that were used.
            for lap in 0..2 {
                let first = 1 + lap * CAPACITY as u64;
                let all = first..first + CAPACITY as u64;
                assert!(all.clone().all(|value| Q::push(&mut tx, value)));
                assert!(!Q::push(&mut tx, u64::MAX));
                assert!(all.clone().all(|value| Q::pop(&mut rx) == Some(value)));
                assert!(Q::pop(&mut rx).is_none());
            }
        }
        holds::<ByBlocks<CAPACITY, Prefetched>>();
        holds::<ByBlocks<CAPACITY, EachLeft>>();
        holds::<ByBlocks<CAPACITY, Counted>>();
        holds::<Words>();
        holds::<Carried>();
        let (mut tx, mut rx) = Copies::<Left>::build(8);
        let mut into = [0; 6];
        assert_eq!(Copies::<Left>::push_slice(&mut tx, &[1, 2, 3, 4, 5]), 5);
        assert_eq!(Copies::<Left>::pop_slice(&mut rx, &mut into[..4]), 4);
        assert_eq!(Copies::<Left>::push_slice(&mut tx, &[6, 7, 8, 9, 10, 11, 12, 13]), 7, "over the end");
        assert_eq!((Copies::<Left>::pop_slice(&mut rx, &mut into), into), (6, [5, 6, 7, 8, 9, 10]));
        assert_eq!((Copies::<Left>::pop_slice(&mut rx, &mut into), &into[..2]), (2, &[11, 12][..]));
    }
}
