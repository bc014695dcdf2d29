//! A bare ring between one and one: by whole blocks, behind calls for one item each, and polled word by word.

use std::hint::spin_loop;
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use crossbeam_utils::CachePadded;

use super::super::one_to_one::{CAPACITY, Ends, Received, between};
use super::{AHEAD, LINE, prefetch};
use crate::peers::Checked;

/// How many blocks a ring has: the two sides meet once per block.
const BLOCKS: usize = 8;

/// What the sides of a bare ring do about its lines.
pub(crate) trait Form: std::fmt::Debug + 'static {
    /// Each side asks for its lines eight ahead.
    const PREFETCHED: bool;
    /// The consumer writes into each line that it has read to its end: so the producer fetches it, and need not ask for its own copy to be
    /// made the only one.
    const LEFT: bool = false;
    /// The producer shows every item by a store of its own, though the consumer goes on only where a whole block is there.
    const EACH: bool = false;
    /// With [`EACH`](Self::EACH): the consumer goes on with each item that is shown, and asks for the next one's line where none is, so that it
    /// comes together with what tells of it.
    const COUNTED: bool = false;
}

/// Nothing.
#[derive(Debug)]
pub(crate) struct Plain;

/// They ask for them.
#[derive(Debug)]
pub(crate) struct Prefetched;

/// They ask for them, and the consumer leaves them.
#[derive(Debug)]
pub(crate) struct Left;

/// They ask for them, and each item is shown.
#[derive(Debug)]
pub(crate) struct Each;

/// As [`Each`], and the consumer leaves the lines.
#[derive(Debug)]
pub(crate) struct EachLeft;

/// Each item is shown and seen by itself: what two lines for an item take, its own and its count's, where there is little else.
#[derive(Debug)]
pub(crate) struct Counted;

impl Form for Plain {
    const PREFETCHED: bool = false;
}

impl Form for Prefetched {
    const PREFETCHED: bool = true;
}

impl Form for Left {
    const PREFETCHED: bool = true;
    const LEFT: bool = true;
}

impl Form for Each {
    const PREFETCHED: bool = true;
    const EACH: bool = true;
}

impl Form for EachLeft {
    const PREFETCHED: bool = true;
    const LEFT: bool = true;
    const EACH: bool = true;
}

impl Form for Counted {
    const PREFETCHED: bool = false;
    const EACH: bool = true;
    const COUNTED: bool = true;
}

/// Numbers from 1 to `items` are written into a ring of `capacity` items and read from it on the other core; the sides tell each
/// other once per eighth of the ring.
pub(crate) fn stream<F: Form>(items: u64, capacity: usize) -> Checked {
    let ring: Vec<AtomicU64> = (0..capacity).map(|_| AtomicU64::new(0)).collect();
    let (written, read) = (CachePadded::new(AtomicU64::new(0)), CachePadded::new(AtomicU64::new(0)));
    let (ring, written, read) = (&ring[..], &written, &read);
    let block = capacity / BLOCKS;
    // Ahead only where the other side is done: in the block at hand.
    let lines = |start: usize, stop: usize, write: bool| {
        ring[start..stop].chunks(LINE).zip((start..stop).step_by(LINE)).inspect(move |&(_, at)| {
            if F::PREFETCHED && at + AHEAD < stop {
                prefetch(&ring[at + AHEAD], write);
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
        move |_| {
            let mut received = Received::default();
            for (first, end) in spans() {
                while written.load(Acquire) < end {
                    spin_loop();
                }
                let start = first as usize % capacity;
                let stop = start + (end - first) as usize;
                for (line, _) in lines(start, stop, false) {
                    line.iter().for_each(|item| received.take(item.load(Relaxed)));
                    if F::LEFT {
                        line[line.len() - 1].store(0, Relaxed);
                    }
                }
                read.store(end, Release);
            }
            received.told()
        },
    )
}

/// The ring of [`stream`] behind calls for one item each: what a loop of pushes and one of pops take when the two sides meet only once
/// per block. No queue: items that do not fill a block are not seen before a [`flush`](Self::flush).
#[derive(Debug)]
pub(crate) struct ByBlocks<const ENTRIES: usize, F>(PhantomData<F>);

/// The ring, and how many items may be read, and be written over.
#[derive(Debug)]
pub(crate) struct Shared<const ENTRIES: usize> {
    items: [AtomicU64; ENTRIES],
    written: CachePadded<AtomicU64>,
    read: CachePadded<AtomicU64>,
}

/// One side: its ring, the number of its next item, and of the one that it may not come to yet.
#[derive(Debug)]
pub(crate) struct Side<const ENTRIES: usize> {
    ring: Arc<Shared<ENTRIES>>,
    next: u64,
    end: u64,
}

impl<const ENTRIES: usize> Side<ENTRIES> {
    /// The two sides of a new ring.
    fn both() -> (Self, Self) {
        let counter = || CachePadded::new(AtomicU64::new(0));
        let items = std::array::from_fn(|_| AtomicU64::new(0));
        let ring = Arc::new(Shared { items, written: counter(), read: counter() });
        (Self { ring: ring.clone(), next: 0, end: ENTRIES as u64 }, Self { ring, next: 0, end: 0 })
    }

    #[inline(always)]
    fn item(&self, number: u64) -> &AtomicU64 {
        &self.ring.items[number as usize % ENTRIES]
    }

    /// Of the producer: whether it may write an item.
    #[inline(always)]
    fn has_room(&mut self) -> bool {
        if self.next == self.end {
            self.end = self.ring.read.load(Acquire) + ENTRIES as u64;
        }
        self.next < self.end
    }

    /// Asks for the line ahead, where a line begins.
    #[inline(always)]
    fn ask_ahead(&self, write: bool) {
        if self.next.is_multiple_of(LINE as u64) && self.next + (AHEAD as u64) < self.end {
            prefetch(self.item(self.next + AHEAD as u64), write);
        }
    }
}

impl<const ENTRIES: usize, F: Form> ByBlocks<ENTRIES, F> {
    /// Items of a block.
    pub(crate) const BLOCK: u64 = (ENTRIES / BLOCKS) as u64;

    /// Whether a block has room, or what is left of one.
    #[inline(always)]
    pub(crate) fn has_room(tx: &mut Side<ENTRIES>) -> bool {
        tx.has_room()
    }

    /// Whether there is an item that may be read.
    #[inline(always)]
    pub(crate) fn has_item(rx: &mut Side<ENTRIES>) -> bool {
        if rx.next == rx.end {
            let written = rx.ring.written.load(Acquire);
            rx.end = if F::EACH && !F::COUNTED { written - written % Self::BLOCK } else { written };
        }
        rx.next < rx.end
    }

    /// Whether the last item was the end of a block, which was shown or given back with it.
    #[inline(always)]
    pub(crate) fn ends_block(side: &Side<ENTRIES>) -> bool {
        side.next.is_multiple_of(Self::BLOCK)
    }

    /// Shows all items.
    pub(crate) fn flush(tx: &mut Side<ENTRIES>) {
        tx.ring.written.store(tx.next, Release);
    }
}

impl<const ENTRIES: usize, F: Form> Ends for ByBlocks<ENTRIES, F> {
    type Tx = Side<ENTRIES>;
    type Rx = Side<ENTRIES>;

    fn build(capacity: usize) -> (Self::Tx, Self::Rx) {
        assert_eq!(capacity, ENTRIES, "the ring has one size");
        Side::both()
    }

    #[inline(always)]
    fn push(tx: &mut Self::Tx, value: u64) -> bool {
        if !tx.has_room() {
            return false;
        }
        if F::PREFETCHED {
            tx.ask_ahead(true);
        }
        tx.item(tx.next).store(value, Relaxed);
        tx.next += 1;
        if F::EACH || Self::ends_block(tx) {
            tx.ring.written.store(tx.next, Release);
        }
        true
    }

    #[inline(always)]
    fn pop(rx: &mut Self::Rx) -> Option<u64> {
        if !Self::has_item(rx) {
            if F::COUNTED {
                prefetch(rx.item(rx.next), false);
            }
            return None;
        }
        if F::PREFETCHED {
            rx.ask_ahead(false);
        }
        let value = rx.item(rx.next).load(Relaxed);
        rx.next += 1;
        if F::LEFT && rx.next.is_multiple_of(LINE as u64) {
            rx.item(rx.next - 1).store(0, Relaxed);
        }
        if Self::ends_block(rx) {
            rx.ring.read.store(rx.next, Release);
        }
        Some(value)
    }
}

/// The same ring, whose consumer looks at the next word until a number lies there that is not older than the last one: how soon a bare word is
/// seen. Only for numbers that never fall. The producer is told once per block that it may go on.
#[derive(Debug)]
pub(crate) struct Words;

impl Ends for Words {
    type Tx = Side<CAPACITY>;
    /// And the last number.
    type Rx = (Side<CAPACITY>, u64);

    fn build(capacity: usize) -> (Self::Tx, Self::Rx) {
        assert_eq!(capacity, CAPACITY, "the ring has one size");
        let (tx, rx) = Side::both();
        // Zeros are what is there at first.
        (tx, (rx, 1))
    }

    #[inline(always)]
    fn push(tx: &mut Self::Tx, value: u64) -> bool {
        if !tx.has_room() {
            return false;
        }
        tx.item(tx.next).store(value, Relaxed);
        tx.next += 1;
        true
    }

    #[inline(always)]
    fn pop((rx, last): &mut Self::Rx) -> Option<u64> {
        let value = rx.item(rx.next).load(Relaxed);
        if value < *last {
            return None;
        }
        *last = value;
        rx.next += 1;
        if rx.next.is_multiple_of(ByBlocks::<CAPACITY, Plain>::BLOCK) {
            // Release: the loads are over before the producer writes there again.
            rx.ring.read.store(rx.next, Release);
        }
        Some(value)
    }
}
