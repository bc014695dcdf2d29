//! BBQ as its thesis prints it: entries and blocks are counted, producers take entries by FAA.
//!
//! | | |
//! |---|---|
//! | order | FIFO, linearizable |
//! | who | any number of producers and consumers |
//! | progress | deadlock-free: an entry that is allocated and not committed hides the entries behind it in its block |
//! | cost | a push: two FAA; a pop: an exchange and a FAA; each looks at the cursors of its block before |
//!
//! From J. Wang's thesis on block-based queues, Figures 2.3 to 2.5, retry-new mode, with a number of blocks by the heuristic of section 2.6.2.1. A
//! baseline: ours marks entries instead of counting them, and takes them by exchanges. MAX is a loop of exchanges, as the thesis has it on x86. Each
//! cursor is on a line of its own, which the thesis does not say. Two printed lines are wrong, and are not as printed here:
//!
//! - **E1** Line 54 compares offsets alone. A consumer that has read `reserved` before its block was filled again would see *empty* in a queue that is
//!   not. Here it begins again if the versions differ.
//! - **E2** Line 78 takes the version of the cached head, which may be a round behind. Here it is the version of the block that is done, as in the
//!   other mode, and a block that is newer is no reason to stop.
//!
//! A third one stays as it is printed, as the other line would cost a load with each look in vain: line 54 says *empty*, and not *busy*, where a block is
//! allocated to its end and not committed, though pushes into the next one may have ended. In the figures nobody tells *empty* from *busy*.
//!
//! # Edges
//!
//! - **1** `committed`: what a producer wrote into its entry is there for who reads it.
//! - **2** `allocated` of a block that is begun again: its entries of the round before are read.
//! - **3** `consumed`: an entry is read before its block is begun again.
//! - **4** The cached heads: the block in front was begun, so that no block is skipped.
//! - **5** `reserved`: what was committed and allocated is not older than what was reserved, or `==` would not tell *empty*.

use thalweg_sync::CachePadded;
use thalweg_sync::atomic::AtomicU64;
use thalweg_sync::atomic::Ordering::{self, AcqRel, Acquire, Relaxed, Release};
use thalweg_sync::sync::Arc;

/// Why nothing was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// The next block has entries that nobody has begun to read.
    Full,
    /// All that was committed is taken, but for what is behind a push that is half-way.
    Empty,
    /// Somebody else is half-way.
    Busy,
}

/// A version and an offset, in one word.
///
/// | 63 ..= 32 | 31 ..= 0                               |
/// |-----------|----------------------------------------|
/// | version   | offset; of `allocated` it may overshoot |
#[derive(Clone, Copy, PartialEq, Eq)]
struct Cursor(u64);

impl Cursor {
    fn new(version: u64, offset: usize) -> Self {
        Self(version << 32 | offset as u64)
    }

    fn version(self) -> u64 {
        self.0 >> 32
    }

    fn offset(self) -> usize {
        self.0 as u32 as usize
    }
}

struct Block {
    allocated: CachePadded<AtomicU64>,
    committed: CachePadded<AtomicU64>,
    reserved: CachePadded<AtomicU64>,
    consumed: CachePadded<AtomicU64>,
    entries: Box<[AtomicU64]>,
}

struct Ring {
    /// Cached heads: version and index of a block, counted as one.
    phead: CachePadded<AtomicU64>,
    chead: CachePadded<AtomicU64>,
    blocks: Box<[Block]>,
}

/// An end, writing and reading.
#[derive(Clone)]
pub(crate) struct Bbq(Arc<Ring>);

/// Sets `of` to `value` if that is more, and says what it was. Acquire, also where somebody else did it: the caller publishes what follows from it.
fn max(of: &AtomicU64, value: u64, order: Ordering) -> u64 {
    let mut was = of.load(Acquire);
    while was < value {
        match of.compare_exchange_weak(was, value, order, Acquire) {
            Ok(_) => break,
            Err(other) => was = other,
        }
    }
    was
}

impl Bbq {
    /// A queue of `capacity` entries, in as many blocks as the thesis takes.
    pub(crate) fn new(capacity: usize) -> Self {
        let blocks = 1 << (capacity.ilog2() / 4).max(1);
        Self::with_blocks(blocks, capacity / blocks)
    }

    /// A queue of two blocks or more, of so many entries each.
    pub(crate) fn with_blocks(blocks: usize, entries: usize) -> Self {
        let block = |number: usize| {
            let cursor = || CachePadded(AtomicU64::new(if number == 0 { 0 } else { entries as u64 }));
            Block {
                allocated: cursor(),
                committed: cursor(),
                reserved: cursor(),
                consumed: cursor(),
                entries: (0..entries).map(|_| AtomicU64::new(0)).collect(),
            }
        };
        let head = || CachePadded(AtomicU64::new(0));
        Self(Arc::new(Ring { phead: head(), chead: head(), blocks: (0..blocks).map(block).collect() }))
    }

    /// The block that a head is at, the version of the head, and the block behind.
    fn at(&self, head: u64) -> (&Block, u64, &Block) {
        let blocks = &self.0.blocks;
        let (version, index) = (head / blocks.len() as u64, head as usize % blocks.len());
        (&blocks[index], version, &blocks[(index + 1) % blocks.len()])
    }

    /// Full if there is no entry, and busy if there will be.
    pub(crate) fn try_push(&self, item: u64) -> Result<(), Refused> {
        loop {
            // Acquire: edge 4.
            let head = self.0.phead.load(Acquire);
            let (block, version, next) = self.at(head);
            // Relaxed: this keeps `allocated` from growing for ever, and decides nothing.
            if Cursor(block.allocated.load(Relaxed)).offset() < block.entries.len() {
                // Acquire: edge 2.
                let entry = Cursor(block.allocated.fetch_add(1, Acquire)).offset();
                if entry < block.entries.len() {
                    // Relaxed: the next line publishes it.
                    block.entries[entry].store(item, Relaxed);
                    // Release: edge 1.
                    block.committed.fetch_add(1, Release);
                    return Ok(());
                }
            }
            // Acquire: edge 3.
            let consumed = Cursor(next.consumed.load(Acquire));
            let is_behind = consumed.version() == version && consumed.offset() != next.entries.len();
            if consumed.version() < version || is_behind {
                // Relaxed: nothing is read by it.
                let reserved = Cursor(next.reserved.load(Relaxed));
                return Err(if reserved.offset() == consumed.offset() { Refused::Full } else { Refused::Busy });
            }
            let begun = Cursor::new(version + 1, 0).0;
            max(&next.committed, begun, Relaxed);
            // Release: edge 2, also for the line above.
            max(&next.allocated, begun, Release);
            // Release: edge 4.
            max(&self.0.phead, head + 1, Release);
        }
    }

    /// Empty if nothing is committed that is not taken, and busy if something was allocated.
    pub(crate) fn try_pop(&self) -> Result<u64, Refused> {
        loop {
            // Acquire: edge 4.
            let head = self.0.chead.load(Acquire);
            let (block, _, next) = self.at(head);
            // Acquire: edge 5.
            let reserved = Cursor(block.reserved.load(Acquire));
            if reserved.offset() < block.entries.len() {
                // Acquire: edge 1. It also brings what was allocated before it was committed.
                let committed = Cursor(block.committed.load(Acquire));
                if committed.version() != reserved.version() {
                    continue; // E1
                }
                if committed.offset() == reserved.offset() {
                    return Err(Refused::Empty);
                }
                // Relaxed: not older than what was committed.
                if committed.offset() != block.entries.len()
                    && Cursor(block.allocated.load(Relaxed)).offset() != committed.offset()
                {
                    return Err(Refused::Busy);
                }
                // AcqRel: edge 5.
                if max(&block.reserved, reserved.0 + 1, AcqRel) != reserved.0 {
                    continue;
                }
                let item = block.entries[reserved.offset()].load(Relaxed);
                // Release: edge 3.
                block.consumed.fetch_add(1, Release);
                return Ok(item);
            }
            let is_first = head.is_multiple_of(self.0.blocks.len() as u64);
            let version = reserved.version() + u64::from(is_first);
            // Acquire: edge 2.
            let committed = Cursor(next.committed.load(Acquire));
            if committed.version() < version {
                return Err(Refused::Empty);
            }
            // E2: of a newer one the heads know.
            if committed.version() == version {
                let begun = Cursor::new(version, 0).0;
                max(&next.consumed, begun, Relaxed);
                // Release: edge 5, and the line above.
                max(&next.reserved, begun, Release);
                // Release: edge 4.
                max(&self.0.chead, head + 1, Release);
            }
        }
    }
}

#[cfg(all(test, feature = "machines"))]
mod tests {
    use std::task::Poll;

    use super::*;
    use crate::baselines::promises::{self, Rival};

    impl Rival for Bbq {
        fn push(&mut self, item: u64) -> bool {
            self.try_push(item).is_ok()
        }

        fn pop(&mut self) -> Poll<Option<u64>> {
            match self.try_pop() {
                Err(Refused::Busy) => Poll::Pending,
                answer => Poll::Ready(answer.ok()),
            }
        }
    }

    #[test]
    fn it_is_full_when_the_next_block_is_not_read() {
        let queue = Bbq::with_blocks(2, 2);
        for round in 0..10 {
            assert!((0..4).all(|n| queue.try_push(10 * round + n).is_ok()));
            assert_eq!(queue.try_push(99), Err(Refused::Full));
            assert_eq!(queue.try_pop(), Ok(10 * round));
            assert_eq!(queue.try_push(99), Err(Refused::Full), "an entry of two is read");
            assert!((1..4).all(|n| queue.try_pop() == Ok(10 * round + n)));
            assert_eq!(queue.try_pop(), Err(Refused::Empty));
        }
    }

    #[test]
    fn blocks_are_as_many_as_the_thesis_takes() {
        let shape = |capacity| {
            let queue = Bbq::new(capacity);
            (queue.0.blocks.len(), queue.0.blocks[0].entries.len())
        };
        assert_eq!([128, 4096, 131_072].map(shape), [(2, 64), (8, 512), (16, 8192)]);
    }

    #[test]
    fn many_to_many_get_each_item_once_and_in_order() {
        promises::natively(|| Bbq::with_blocks(2, 4));
    }

    #[test]
    fn no_schedule_loses_or_repeats_or_turns_items_around() {
        promises::in_schedules(|| Bbq::with_blocks(2, 1));
        promises::in_schedules(|| Bbq::with_blocks(2, 2));
    }
}
