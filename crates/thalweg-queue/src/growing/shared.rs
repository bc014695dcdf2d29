//! What the two ends share: which chunks are left.

use super::chunk::{Chunk, Free, Header};
use crate::drops::Drops;
use crate::edges::edge;
use crate::ends::Ends;
use crate::share::Placed;
use core::ptr::null_mut;
use thalweg_sync::CachePadded;
use thalweg_sync::atomic::Ordering::{Acquire, Relaxed, Release};
use thalweg_sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize};

/// Invariants R1 to R5 are in the module's documentation. Counts never come to 2^63, which are 250 years' worth of items.
#[derive(Debug)]
pub(super) struct Shared<T, W> {
    consumer: CachePadded<ConsumerSide<T>>,
    /// How many items were popped so far. For `len` only, and written with each pop: not beside what the producer waits for.
    popped: CachePadded<AtomicU64>,
    pub(super) ends: Ends,
    /// The most entries that the ring may come to have.
    pub(super) capacity: usize,
    pub(super) wait: W,
}

/// Written by the consumer.
#[derive(Debug)]
struct ConsumerSide<T> {
    /// How many chunks the consumer has left so far.
    left: AtomicU64,
    /// Where the consumer was when it was dropped: a chunk, and an index in it.
    front: AtomicPtr<Header<T>>,
    index: AtomicUsize,
}

impl<T, W> Placed for Shared<T, W> {}

impl<T, W> Shared<T, W> {
    /// Nothing is pushed, and the consumer is at the start of `front`.
    pub(super) fn new(front: Chunk<T>, capacity: usize, wait: W) -> Self {
        Self {
            consumer: CachePadded(ConsumerSide {
                left: AtomicU64::new(0),
                front: AtomicPtr::new(front.as_word()),
                index: AtomicUsize::new(0),
            }),
            popped: CachePadded(AtomicU64::new(0)),
            ends: Ends::new(),
            capacity,
            wait,
        }
    }

    /// Gives up every chunk before the consumer's `left`-th.
    #[inline(always)]
    pub(super) fn leave(&self, left: u64) {
        // (chunk.3) Release, pairs with (chunk.4): the entries of those chunks and their links are read before the count.
        // Relaxed would let the producer write, relink or free what is being read.
        self.consumer.left.store(left, edge("chunk.3", Release));
    }

    /// How many chunks the consumer has left.
    #[inline(always)]
    pub(super) fn left(&self) -> u64 {
        // (chunk.4) Acquire, pairs with (chunk.3).
        self.consumer.left.load(edge("chunk.4", Acquire))
    }

    /// Notes how many items were popped.
    #[inline(always)]
    pub(super) fn note_popped(&self, popped: u64) {
        // Relaxed: a number to look at; chunks change hands by (chunk.3).
        self.popped.store(popped, Relaxed);
    }

    /// How many items were popped, lately.
    pub(super) fn popped(&self) -> u64 {
        // Relaxed: see `note_popped`.
        self.popped.load(Relaxed)
    }

    /// Notes where the consumer is when it goes.
    pub(super) fn note_front(&self, chunk: Chunk<T>, index: usize) {
        // Relaxed: read when both ends are gone, under the `Arc`'s own edge.
        self.consumer.front.store(chunk.as_word(), Relaxed);
        self.consumer.index.store(index, Relaxed);
    }
}

impl<T, W> Drop for Shared<T, W> {
    /// Drops what was pushed while the consumer left, and frees the chunks.
    fn drop(&mut self) {
        // Relaxed: both ends are gone, and the `Arc` puts us after all they did.
        let word = self.consumer.front.swap(null_mut(), Relaxed);
        let Some(mut chunk) = Chunk::from_word(word) else { return };
        // SAFETY: both ends are gone, so the ring is ours, whole and linked in a loop (R1). Freed also when an item's destructor
        // panics.
        let _free = unsafe { Free::new(chunk) };
        let mut index = self.consumer.index.load(Relaxed);
        // SAFETY: the ring is ours.
        let pushed = unsafe { chunk.all_pushed() };
        let mut drops = Drops::default();
        for _ in self.popped()..pushed {
            // SAFETY: the ring is ours, and what lies between the last pop and the last push is written and not read
            // (R2): it is dropped here once.
            unsafe {
                if index == chunk.len() {
                    (chunk, index) = (chunk.next(), 0);
                }
                drops.one(|| chunk.entry(index).with_mut(|entry| (*entry).assume_init_drop()));
            }
            index += 1;
        }
    }
}
