//! What the machine itself takes to carry items from one core to another: the bounds beside which queues are read.

use std::hint::spin_loop;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use crossbeam_utils::CachePadded;

use super::one_to_one::between;
use crate::peers::Checked;

/// How many blocks a ring has: the two sides meet once per block.
const BLOCKS: usize = 8;
/// Items of a line.
const LINE: usize = 8;

/// Numbers from 1 to `items` are written into a ring of `capacity` items and read from it on the other core; the sides tell each
/// other once per eighth of the ring. With `prefetched`, each side asks for its lines eight ahead.
pub(super) fn stream(items: u64, capacity: usize, prefetched: bool) -> Checked {
    if prefetched { run::<true>(items, capacity) } else { run::<false>(items, capacity) }
}

fn run<const PREFETCHED: bool>(items: u64, capacity: usize) -> Checked {
    let ring: Vec<AtomicU64> = (0..capacity).map(|_| AtomicU64::new(0)).collect();
    let (written, read) = (CachePadded::new(AtomicU64::new(0)), CachePadded::new(AtomicU64::new(0)));
    let (ring, written, read) = (&ring[..], &written, &read);
    let block = capacity / BLOCKS;
    // Ahead only where the other side is done: in the block at hand.
    let lines = |start: usize, stop: usize, write: bool| {
        ring[start..stop].chunks(LINE).zip((start..stop).step_by(LINE)).inspect(move |&(_, at)| {
            if PREFETCHED && at + 8 * LINE < stop {
                prefetch(&ring[at + 8 * LINE], write);
            }
        })
    };
    let spans = move || (0..items).step_by(block).map(move |first| (first, items.min(first + block as u64)));
    between(
        items,
        move |_| {
            for (first, end) in spans() {
                while read.load(Acquire) + (capacity as u64) < end {
                    spin_loop();
                }
                let start = first as usize % capacity;
                let stop = start + (end - first) as usize;
                let mut value = first;
                for (line, _) in lines(start, stop, true) {
                    for item in line {
                        value += 1;
                        item.store(value, Relaxed);
                    }
                }
                written.store(end, Release);
            }
        },
        move |received, _| {
            for (first, end) in spans() {
                while written.load(Acquire) < end {
                    spin_loop();
                }
                let start = first as usize % capacity;
                let stop = start + (end - first) as usize;
                for (line, _) in lines(start, stop, false) {
                    line.iter().for_each(|item| received.take(item.load(Relaxed)));
                }
                read.store(end, Release);
            }
        },
    )
}

/// A number goes to the other core on one line and comes back on another, `trips` times.
pub(super) fn two_lines(trips: u64) -> Checked {
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
        move |received, _| {
            for trip in 1..=trips {
                there.store(trip, Release);
                while back.load(Acquire) != trip {
                    spin_loop();
                }
                received.take(trip);
            }
        },
    )
}

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
