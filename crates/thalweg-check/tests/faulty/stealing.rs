//! A stack in blocks from which thieves steal, after BWoS: a thief's place counts blocks, and what is before it is
//! stolen for good. Blocks have one entry, and are not used twice here.

use super::{finds, passes};
use thalweg_sync::atomic::AtomicU64;
use thalweg_sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use thalweg_sync::thread;

const BLOCKS: usize = 5;
const ENTRIES: u64 = 1;

struct Block {
    /// The next entry to be stolen, `ENTRIES` if there is none, or `owned`.
    next: AtomicU64,
    entry: AtomicU64,
}

struct Blocks {
    blocks: [Block; BLOCKS],
    thief: AtomicU64,
    /// What says that a block is the owner's. As shipped, the same as that nothing is left in it.
    owned: u64,
}

impl Blocks {
    fn new(owned: u64) -> Self {
        let block = || Block { next: AtomicU64::new(ENTRIES), entry: AtomicU64::new(0) };
        let blocks = Self { blocks: std::array::from_fn(|_| block()), thief: AtomicU64::new(0), owned };
        blocks.blocks[1].next.store(owned, Relaxed);
        blocks
    }

    fn steal(&self) -> Option<u64> {
        loop {
            let place = self.thief.load(Acquire);
            let block = &self.blocks[place as usize];
            let next = block.next.load(Acquire);
            if next == ENTRIES {
                // Nothing is left here: on to the next block, if that may be stolen from.
                let there = self.blocks.get(place as usize + 1)?.next.load(Acquire);
                if there == self.owned || there == ENTRIES {
                    return None;
                }
                let _ = self.thief.compare_exchange(place, place + 1, AcqRel, Relaxed);
            } else if next == self.owned {
                return None;
            } else if block.next.compare_exchange(next, next + 1, AcqRel, Relaxed).is_ok() {
                return Some(block.entry.load(Relaxed));
            }
        }
    }
}

struct Owner<'a> {
    blocks: &'a Blocks,
    /// The block that is the owner's. Nothing is left in the first one.
    place: usize,
    is_filled: bool,
}

impl Owner<'_> {
    fn put(&mut self, item: u64) {
        if self.is_filled {
            // Grants the block to the thieves.
            self.blocks.blocks[self.place].next.store(0, Release);
            self.place += 1;
            self.blocks.blocks[self.place].next.store(self.blocks.owned, Relaxed);
        }
        self.blocks.blocks[self.place].entry.store(item, Relaxed);
        self.is_filled = true;
    }

    fn get(&mut self) -> Option<u64> {
        if !self.is_filled {
            // Takes over the block before, unless nothing is left there.
            if self.place as u64 <= self.blocks.thief.load(Acquire) {
                return None;
            }
            let before = &self.blocks.blocks[self.place - 1];
            let is_left = |next| (next != ENTRIES).then_some(self.blocks.owned);
            before.next.fetch_update(AcqRel, Acquire, is_left).ok()?;
            self.blocks.blocks[self.place].next.store(ENTRIES, Relaxed);
            self.place -= 1;
        }
        self.is_filled = false;
        Some(self.blocks.blocks[self.place].entry.load(Relaxed))
    }
}

/// A thief looks at a block, which the owner takes over, fills again and leaves behind.
fn again(owned: u64) {
    let blocks = Blocks::new(owned);
    let mut taken = thread::scope(|scope| {
        let thief = scope.spawn(|| [blocks.steal(), blocks.steal()]);
        let mut owner = Owner { blocks: &blocks, place: 1, is_filled: false };
        owner.put(0);
        owner.put(1);
        let mut taken = vec![owner.get(), owner.get()];
        for item in 2..5 {
            owner.put(item);
        }
        taken.extend(thief.join().unwrap());
        taken.extend((0..5).map(|_| owner.get()));
        taken.into_iter().flatten().collect::<Vec<_>>()
    });
    // What the owner has left for thieves, they find.
    taken.extend(std::iter::from_fn(|| blocks.steal()));
    taken.sort_unstable();
    assert!(taken.iter().copied().eq(0..5), "a task is lost: {taken:?}");
}

#[test]
fn t_b1_a_block_that_was_taken_over_looks_exhausted() {
    let violation = finds(|| again(ENTRIES)).to_string();
    assert!(violation.contains("a task is lost"), "{violation}");
    passes(|| again(u64::MAX));
}
