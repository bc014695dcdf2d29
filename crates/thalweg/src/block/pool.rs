//! Free lists of blocks: one per worker, with a shared store behind them.
//!
//! The list is a stack, so the block that comes back is the one that is still in the cache. A pipeline moves blocks one way, from the
//! worker that fills them to the worker that empties them; the shared store brings them back, half a list at a time.
//!
//! No worker waits for the store. A worker that finds the store empty or locked takes a block from the allocator, or keeps the blocks it has. If
//! forty workers waited for that one lock, a run would spend most of its time there.

use crate::block::{Block, stride};
use std::cell::RefCell;
use std::fmt;
use std::mem;
use thalweg_sync::CachePadded;
use thalweg_sync::atomic::{AtomicU32, Ordering::Relaxed};
use thalweg_sync::sync::{Mutex, MutexGuard, TryLockError};

/// Entries are allocated in powers of two from 64 bytes.
const SMALLEST: usize = 64;
/// 64 B to 256 KiB; larger blocks go back to the allocator.
const CLASSES: usize = 13;
/// Blocks a worker keeps per class before it gives half of them away.
const KEEP: usize = 64;
/// Blocks it keeps at most, where somebody is at the store each time. What comes then goes to the allocator.
const KEEP_AT_MOST: usize = 2 * KEEP;
/// Alignment of pooled blocks; messages that ask for more are not pooled.
const ALIGN: usize = 64;

type Lists = [Vec<Block>; CLASSES];

/// What the workers of one run share.
#[derive(Default)]
pub(crate) struct Store {
    lists: Mutex<Lists>,
    /// A bit for each class that has blocks. The worker that holds the lock writes it; the others read a snapshot.
    has: CachePadded<AtomicU32>,
}

impl Store {
    /// The lists, if nobody is at them.
    fn lists(&self) -> Option<MutexGuard<'_, Lists>> {
        match self.lists.try_lock() {
            Ok(lists) => Some(lists),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// Some blocks of the class, if there are any and nobody is at the store.
    fn take(&self, class: usize, into: &mut Vec<Block>) {
        // Relaxed: a bit that is old makes a worker ask the allocator, or look in vain.
        if self.has.load(Relaxed) & 1 << class == 0 {
            return;
        }
        let Some(mut lists) = self.lists() else { return };
        let keep = lists[class].len().saturating_sub(KEEP / 2);
        into.extend(lists[class].drain(keep..));
        if keep == 0 {
            // Relaxed, and no exchange: only the worker that holds the lock writes.
            self.has.store(self.has.load(Relaxed) & !(1 << class), Relaxed);
        }
    }

    /// Takes half of a list, unless somebody is at the store.
    fn give(&self, class: usize, from: &mut Vec<Block>) {
        let Some(mut lists) = self.lists() else { return };
        lists[class].extend(from.drain(..KEEP / 2));
        // Relaxed: as in `take`.
        self.has.store(self.has.load(Relaxed) | 1 << class, Relaxed);
    }
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Store")
    }
}

/// One worker's free lists, and the store behind them.
#[derive(Debug)]
pub(crate) struct Pool<'a> {
    lists: RefCell<Lists>,
    store: &'a Store,
}

fn class_of(bytes: usize) -> usize {
    (bytes.max(SMALLEST).next_power_of_two() / SMALLEST).trailing_zeros() as usize
}

impl<'a> Pool<'a> {
    pub(crate) fn new(store: &'a Store) -> Self {
        Self { lists: RefCell::default(), store }
    }

    /// An empty block for `cap` messages of type `T`.
    pub(crate) fn open<T>(&self, cap: usize) -> Block {
        let cap = cap.clamp(1, u32::MAX as usize);
        let bytes = cap.checked_mul(stride::<T>()).expect("a block fits in memory");
        let mut block = if mem::align_of::<T>() > ALIGN || class_of(bytes) >= CLASSES {
            Block::allocate(bytes, mem::align_of::<T>())
        } else {
            self.take(class_of(bytes))
        };
        block.open::<T>(cap as u32);
        block
    }

    fn take(&self, class: usize) -> Block {
        let mut lists = self.lists.borrow_mut();
        if let Some(block) = lists[class].pop() {
            return block;
        }
        self.store.take(class, &mut lists[class]);
        lists[class].pop().unwrap_or_else(|| Block::allocate(SMALLEST << class, ALIGN))
    }

    /// Takes a block back; messages still in it are dropped.
    pub(crate) fn close(&self, mut block: Block) {
        block.clear();
        block.stamps_mut().take();
        let class = class_of(block.room());
        if block.align() != ALIGN || class >= CLASSES || block.room() != SMALLEST << class {
            return;
        }
        let mut lists = self.lists.borrow_mut();
        let list = &mut lists[class];
        if list.len() >= KEEP {
            self.store.give(class, list);
        }
        if list.len() < KEEP_AT_MOST {
            list.push(block);
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_closed_block_comes_back_and_overflow_reaches_other_workers() {
        let store = Store::default();
        let (here, there) = (Pool::new(&store), Pool::new(&store));
        let block = here.open::<u64>(100);
        let address = block.entry::<u64>(0);
        here.close(block);
        let again = here.open::<[u8; 16]>(40);
        assert_eq!(again.entry::<u64>(0), address, "keyed by size, not by type");
        let many: Vec<_> = (0..2 * KEEP).map(|_| here.open::<u64>(8)).collect();
        let addresses: Vec<_> = many.iter().map(|block| block.entry::<u64>(0)).collect();
        many.into_iter().for_each(|block| here.close(block));
        assert!(addresses.contains(&there.open::<u64>(8).entry::<u64>(0)));
    }

    #[test]
    fn who_finds_somebody_at_the_store_does_without() {
        let store = Store::default();
        let pool = Pool::new(&store);
        let many: Vec<_> = (0..2 * KEEP_AT_MOST).map(|_| pool.open::<u64>(8)).collect();
        let at_it = store.lists.lock().unwrap();
        many.into_iter().for_each(|block| pool.close(block));
        assert_eq!(pool.lists.borrow()[0].len(), KEEP_AT_MOST);
        assert!(at_it[0].is_empty());
        drop(at_it);
        let other = Pool::new(&store);
        let block = pool.open::<u64>(8);
        pool.close(block);
        assert_ne!(store.has.load(Relaxed), 0);
        let at_it = store.lists.lock().unwrap();
        other.close(other.open::<u64>(8));
        assert_eq!(at_it[0].len(), KEEP / 2);
        drop(at_it);
        (0..=KEEP).for_each(|_| drop(other.open::<u64>(8)));
        assert_eq!(store.has.load(Relaxed), 0, "all are taken");
    }

    #[test]
    fn large_and_over_aligned_blocks_are_not_kept() {
        #[repr(align(128))]
        struct Wide;
        let store = Store::default();
        let pool = Pool::new(&store);
        let block = pool.open::<[u8; 1 << 20]>(1);
        pool.close(block);
        let block = pool.open::<Wide>(4);
        pool.close(block);
        assert!(pool.lists.borrow().iter().all(Vec::is_empty));
    }
}
