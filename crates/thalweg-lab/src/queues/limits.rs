//! What the machine itself takes to carry items from one core to another: the bounds beside which queues are read.

use std::hint::spin_loop;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicU64, fence};
use std::sync::{Arc, OnceLock};
use std::thread::{self, Thread};

use crossbeam_utils::CachePadded;

use super::one_to_one::{CAPACITY, Ends, Received, between};
use super::wait::Sleeping;
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
                }
                read.store(end, Release);
            }
            received.told()
        },
    )
}

/// The ring of [`stream`] behind calls for one item each: what a loop of pushes and one of pops take when the two sides meet only once
/// per block. No queue: items that do not fill a block are never seen.
#[derive(Debug)]
pub(super) struct ByBlocks;

/// The ring, and how many items are written and read: whole blocks.
#[derive(Debug)]
pub(super) struct Shared {
    items: [AtomicU64; CAPACITY],
    written: CachePadded<AtomicU64>,
    read: CachePadded<AtomicU64>,
}

/// One side: its ring, the number of its next item, and of the one that it may not come to yet.
#[derive(Debug)]
pub(super) struct Side {
    ring: Arc<Shared>,
    next: u64,
    end: u64,
}

impl ByBlocks {
    /// Items of a block.
    pub(super) const BLOCK: u64 = (CAPACITY / BLOCKS) as u64;
}

impl Ends for ByBlocks {
    type Tx = Side;
    type Rx = Side;

    fn build(capacity: usize) -> (Side, Side) {
        assert_eq!(capacity, CAPACITY, "the ring has one size");
        let counter = || CachePadded::new(AtomicU64::new(0));
        let items = std::array::from_fn(|_| AtomicU64::new(0));
        let ring = Arc::new(Shared { items, written: counter(), read: counter() });
        (Side { ring: ring.clone(), next: 0, end: capacity as u64 }, Side { ring, next: 0, end: 0 })
    }

    #[inline]
    fn push(tx: &mut Side, value: u64) -> bool {
        if tx.next == tx.end {
            tx.end = tx.ring.read.load(Acquire) + CAPACITY as u64;
            if tx.next == tx.end {
                return false;
            }
        }
        tx.ring.items[tx.next as usize % CAPACITY].store(value, Relaxed);
        tx.next += 1;
        if tx.next.is_multiple_of(Self::BLOCK) {
            tx.ring.written.store(tx.next, Release);
        }
        true
    }

    #[inline]
    fn pop(rx: &mut Side) -> Option<u64> {
        if rx.next == rx.end {
            rx.end = rx.ring.written.load(Acquire);
            if rx.next == rx.end {
                return None;
            }
        }
        let value = rx.ring.items[rx.next as usize % CAPACITY].load(Relaxed);
        rx.next += 1;
        if rx.next.is_multiple_of(Self::BLOCK) {
            rx.ring.read.store(rx.next, Release);
        }
        Some(value)
    }
}

/// Two counters, for any number of threads: a push and a pop are an exchange of one each, and nothing is carried. What a queue for many
/// takes that makes one exchange for each item, and has the rest of its work for nothing. What is popped are ones.
#[derive(Debug)]
pub(super) struct Exchanges;

/// How many items went in and out.
#[derive(Debug)]
pub(super) struct Counts {
    pushed: CachePadded<AtomicU64>,
    popped: CachePadded<AtomicU64>,
}

/// One thread's end: the counters, and where its own ends, as seen last.
#[derive(Clone, Debug)]
pub(super) struct End {
    counts: Arc<Counts>,
    limit: u64,
}

/// Counts one on, unless that is where `limit` ends, as the thread remembers it or sees it now.
#[inline(always)]
fn count(counter: &AtomicU64, remembered: &mut u64, limit: impl Fn() -> u64) -> bool {
    let mut now = counter.load(Relaxed);
    loop {
        if now >= *remembered {
            *remembered = limit();
            if now >= *remembered {
                return false;
            }
        }
        match counter.compare_exchange_weak(now, now + 1, Relaxed, Relaxed) {
            Ok(_) => return true,
            Err(other) => now = other,
        }
    }
}

impl Ends for Exchanges {
    type Tx = End;
    type Rx = End;

    fn build(capacity: usize) -> (End, End) {
        assert_eq!(capacity, CAPACITY, "a push counts on this many");
        let counter = || CachePadded::new(AtomicU64::new(0));
        let counts = Arc::new(Counts { pushed: counter(), popped: counter() });
        (End { counts: counts.clone(), limit: capacity as u64 }, End { counts, limit: 0 })
    }

    #[inline]
    fn push(tx: &mut End, _: u64) -> bool {
        count(&tx.counts.pushed, &mut tx.limit, || tx.counts.popped.load(Relaxed) + CAPACITY as u64)
    }

    #[inline]
    fn pop(rx: &mut End) -> Option<u64> {
        count(&rx.counts.popped, &mut rx.limit, || rx.counts.pushed.load(Relaxed)).then_some(1)
    }
}

/// One word, and the standard library's parking: what sleeping and waking take by themselves.
#[derive(Debug)]
pub(super) struct Parked;

/// The word, which is zero when there is no item, and the thread that sleeps.
#[derive(Debug, Default)]
pub(super) struct Mailbox {
    item: AtomicU64,
    closed: AtomicBool,
    consumer: OnceLock<Thread>,
}

impl Mailbox {
    fn wake(&self) {
        // Together with that of `receive`: either the consumer is seen here, or what was stored before is seen there.
        fence(SeqCst);
        if let Some(consumer) = self.consumer.get() {
            consumer.unpark();
        }
    }
}

/// The sending end.
#[derive(Debug)]
pub(super) struct Sender(Arc<Mailbox>);

impl Drop for Sender {
    fn drop(&mut self) {
        // Release, for the Acquire in `receive`: the last item is seen before the end.
        self.0.closed.store(true, Release);
        self.0.wake();
    }
}

impl Sleeping for Parked {
    type Tx = Sender;
    type Rx = Arc<Mailbox>;

    fn build() -> (Sender, Arc<Mailbox>) {
        let mailbox = Arc::<Mailbox>::default();
        (Sender(mailbox.clone()), mailbox)
    }

    fn send(tx: &mut Sender, value: u64) {
        while tx.0.item.load(Relaxed) != 0 {
            thread::yield_now();
        }
        tx.0.item.store(value, Relaxed);
        tx.0.wake();
    }

    fn receive(rx: &mut Arc<Mailbox>) -> Option<u64> {
        rx.consumer.get_or_init(thread::current);
        loop {
            fence(SeqCst);
            let closed = rx.closed.load(Acquire);
            match rx.item.swap(0, Relaxed) {
                0 if closed => return None,
                0 => thread::park(),
                item => return Some(item),
            }
        }
    }
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
