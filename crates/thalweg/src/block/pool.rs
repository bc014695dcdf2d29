//! Free lists of blocks: one per worker, with a shared store behind them.
//!
//! The list is a stack, so the block that comes back is the one that is still in the cache. A pipeline moves blocks one way, from the
//! worker that fills them to the worker that empties them; the shared store brings them back, half a list at a time.

use crate::block::{Block, stride};
use std::cell::RefCell;
use std::fmt;
use std::mem;
use thalweg_sync::sync::Mutex;

/// Entries are allocated in powers of two from 64 bytes.
const SMALLEST: usize = 64;
/// 64 B to 256 KiB; larger blocks go back to the allocator.
const CLASSES: usize = 13;
/// Blocks a worker keeps per class before it gives half of them away.
const KEEP: usize = 64;
/// Alignment of pooled blocks; messages that ask for more are not pooled.
const ALIGN: usize = 64;

type Lists = [Vec<Block>; CLASSES];

/// What the workers of one run share.
#[derive(Default)]
pub(crate) struct Store(Mutex<Lists>);

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Store")
    }
}

/// One worker's free lists.
#[derive(Debug, Default)]
pub(crate) struct Pool {
    lists: RefCell<Lists>,
}

fn class_of(bytes: usize) -> usize {
    (bytes.max(SMALLEST).next_power_of_two() / SMALLEST).trailing_zeros() as usize
}

impl Pool {
    /// An empty block for `cap` messages of type `T`.
    pub(crate) fn open<T>(&self, store: &Store, cap: usize) -> Block {
        let cap = cap.clamp(1, u32::MAX as usize);
        let bytes = cap.checked_mul(stride::<T>()).expect("a block fits in memory");
        let mut block = if mem::align_of::<T>() > ALIGN || class_of(bytes) >= CLASSES {
            Block::allocate(bytes, mem::align_of::<T>())
        } else {
            self.take(store, class_of(bytes))
        };
        block.open::<T>(cap as u32);
        block
    }

    fn take(&self, store: &Store, class: usize) -> Block {
        let mut lists = self.lists.borrow_mut();
        if let Some(block) = lists[class].pop() {
            return block;
        }
        let mut shared = store.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let keep = shared[class].len().saturating_sub(KEEP / 2);
        lists[class].extend(shared[class].drain(keep..));
        drop(shared);
        lists[class].pop().unwrap_or_else(|| Block::allocate(SMALLEST << class, ALIGN))
    }

    /// Takes a block back; messages still in it are dropped.
    pub(crate) fn close(&self, store: &Store, mut block: Block) {
        block.clear();
        block.stamps_mut().take();
        let class = class_of(block.room());
        if block.align() != ALIGN || class >= CLASSES || block.room() != SMALLEST << class {
            return;
        }
        let mut lists = self.lists.borrow_mut();
        let list = &mut lists[class];
        if list.len() >= KEEP {
            let mut shared = store.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            shared[class].extend(list.drain(..KEEP / 2));
        }
        list.push(block);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_closed_block_comes_back_and_overflow_reaches_other_workers() {
        let (store, here, there) = (Store::default(), Pool::default(), Pool::default());
        let block = here.open::<u64>(&store, 100);
        let address = block.entry::<u64>(0);
        here.close(&store, block);
        let again = here.open::<[u8; 16]>(&store, 40);
        assert_eq!(again.entry::<u64>(0), address, "keyed by size, not by type");
        let many: Vec<_> = (0..2 * KEEP).map(|_| here.open::<u64>(&store, 8)).collect();
        let addresses: Vec<_> = many.iter().map(|block| block.entry::<u64>(0)).collect();
        many.into_iter().for_each(|block| here.close(&store, block));
        assert!(addresses.contains(&there.open::<u64>(&store, 8).entry::<u64>(0)));
    }

    #[test]
    fn large_and_over_aligned_blocks_are_not_kept() {
        #[repr(align(128))]
        struct Wide;
        let (store, pool) = (Store::default(), Pool::default());
        let block = pool.open::<[u8; 1 << 20]>(&store, 1);
        pool.close(&store, block);
        let block = pool.open::<Wide>(&store, 4);
        pool.close(&store, block);
        assert!(pool.lists.borrow().iter().all(Vec::is_empty));
    }
}
