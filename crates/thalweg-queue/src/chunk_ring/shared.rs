//! What the two ends share: how much is pushed, and which chunks are left.

use super::chunk::{Chunk, Free, Header};
use crate::edges::edge;
use crate::ends::Ends;
use core::ptr::null_mut;
use thalweg_sync::CachePadded;
use thalweg_sync::atomic::Ordering::{Acquire, Relaxed, Release};
use thalweg_sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize};

/// Invariants R1 to R5 are in the module's documentation. Counts never wrap: 2^64 items are 500 years' worth.
#[derive(Debug)]
pub(super) struct Shared<T, W> {
    producer: CachePadded<ProducerSide>,
    consumer: CachePadded<ConsumerSide<T>>,
    pub(super) ends: Ends,
    /// The most entries that the ring may come to have.
    pub(super) capacity: usize,
    pub(super) wait: W,
}

/// Written by the producer.
#[derive(Debug)]
struct ProducerSide {
    /// How many items were pushed so far.
    pushed: AtomicU64,
}

/// Written by the consumer.
#[derive(Debug)]
struct ConsumerSide<T> {
    /// How many chunks the consumer has left so far.
    left: AtomicU64,
    /// How many items were popped so far. For `len` only.
    popped: AtomicU64,
    /// Where the consumer was when it was dropped: a chunk, and an index in it.
    front: AtomicPtr<Header<T>>,
    index: AtomicUsize,
}

impl<T, W> Shared<T, W> {
    /// Nothing is pushed, and the consumer is at the start of `front`.
    pub(super) fn new(front: Chunk<T>, capacity: usize, wait: W) -> Self {
        Self {
            producer: CachePadded(ProducerSide { pushed: AtomicU64::new(0) }),
            consumer: CachePadded(ConsumerSide {
                left: AtomicU64::new(0),
                popped: AtomicU64::new(0),
                front: AtomicPtr::new(front.as_word()),
                index: AtomicUsize::new(0),
            }),
            ends: Ends::new(),
            capacity,
            wait,
        }
    }

    /// Hands out the first `pushed` items.
    #[inline(always)]
    pub(super) fn publish(&self, pushed: u64) {
        // (chunk.1) Release, pairs with (chunk.2): the entries, the chunks they are in and the links to these are written
        // before the count. Relaxed would hand out an unwritten entry.
        self.producer.pushed.store(pushed, edge("chunk.1", Release));
    }

    /// How many items were pushed.
    #[inline(always)]
    pub(super) fn pushed(&self) -> u64 {
        // (chunk.2) Acquire, pairs with (chunk.1).
        self.producer.pushed.load(edge("chunk.2", Acquire))
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
        self.consumer.popped.store(popped, Relaxed);
    }

    /// How many items were popped, lately.
    pub(super) fn popped(&self) -> u64 {
        // Relaxed: see `note_popped`.
        self.consumer.popped.load(Relaxed)
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
        for _ in self.popped()..self.pushed() {
            // SAFETY: the ring is ours, and what lies between the last pop and the last push is written and not read
            // (R2): it is read here once.
            let value = unsafe {
                if index == chunk.len() {
                    (chunk, index) = (chunk.next(), 0);
                }
                chunk.entry(index).with(|entry| (*entry).assume_init_read())
            };
            index += 1;
            drop(value);
        }
    }
}
