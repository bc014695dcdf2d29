//! The slots and the two indices. All unsafe code of the queue is here.

use crate::BuildError;
use crate::edges::edge;
use crate::ends::Ends;
use alloc::boxed::Box;
use core::mem::MaybeUninit;
use thalweg_sync::CachePadded;
use thalweg_sync::atomic::AtomicUsize;
use thalweg_sync::atomic::Ordering::{Acquire, Relaxed, Release};
use thalweg_sync::cell::Slot;

/// What the two sides share. Invariants L1 and L2 are in the module's documentation.
#[derive(Debug)]
pub(super) struct Ring<T> {
    slots: Box<[Slot<MaybeUninit<T>>]>,
    /// The next slot to fill; the producer writes it.
    head: CachePadded<AtomicUsize>,
    /// The next slot to empty; the consumer writes it.
    tail: CachePadded<AtomicUsize>,
    pub(super) ends: Ends,
}

impl<T> Ring<T> {
    /// An empty ring for `capacity` items: one slot more, so that a full ring differs from an empty one.
    pub(super) fn new(capacity: usize) -> Result<Self, BuildError> {
        let most = isize::MAX as usize / size_of::<Slot<T>>().max(1) - 1;
        BuildError::check("capacity", capacity, 1, most)?;
        Ok(Self {
            slots: (0..=capacity).map(|_| Slot::new(MaybeUninit::uninit())).collect(),
            head: CachePadded(AtomicUsize::new(0)),
            tail: CachePadded(AtomicUsize::new(0)),
            ends: Ends::new(),
        })
    }

    /// How many items fit.
    pub(super) fn capacity(&self) -> usize {
        self.slots.len() - 1
    }

    /// The slot after `slot`.
    #[inline(always)]
    pub(super) fn next(&self, slot: usize) -> usize {
        if slot + 1 == self.slots.len() { 0 } else { slot + 1 }
    }

    /// How many items are between `tail` and `head`.
    pub(super) fn distance(&self, tail: usize, head: usize) -> usize {
        if head >= tail { head - tail } else { head + self.slots.len() - tail }
    }

    /// Where the producer is.
    #[inline(always)]
    pub(super) fn head(&self) -> usize {
        // (lamport.2) Acquire, pairs with (lamport.1): the slots before the head are written. Relaxed would hand out an
        // unwritten one.
        self.head.load(edge("lamport.2", Acquire))
    }

    /// Where the consumer is.
    #[inline(always)]
    pub(super) fn tail(&self) -> usize {
        // (lamport.4) Acquire, pairs with (lamport.3): the slots before the tail are read. Relaxed would overwrite one that
        // is being read.
        self.tail.load(edge("lamport.4", Acquire))
    }

    /// Writes `value` to the slot at the head and moves the head on to `next`.
    ///
    /// # Safety
    ///
    /// Only the producer calls this, with its own `head` and the slot after it, which it has seen not to be the tail.
    #[inline(always)]
    pub(super) unsafe fn fill(&self, head: usize, next: usize, value: T) {
        self.slots[head].with_mut(|slot| {
            // SAFETY: the slot is the producer's (L1): the consumer has left it, as (lamport.4) saw, and comes back only
            // after (lamport.1).
            unsafe { (*slot).write(value) };
        });
        // (lamport.1) Release, pairs with (lamport.2): the write above comes before the head that hands it out.
        self.head.store(next, edge("lamport.1", Release));
    }

    /// Reads the value in the slot at the tail and moves the tail on.
    ///
    /// # Safety
    ///
    /// Only the consumer calls this, with its own `tail`, which it has seen not to be the head.
    #[inline(always)]
    pub(super) unsafe fn empty(&self, tail: usize) -> T {
        // SAFETY: the slot is the consumer's (L2): written, as (lamport.2) saw, and not written again before (lamport.3).
        // It is read once, as the tail moves on.
        let value = self.slots[tail].with(|slot| unsafe { (*slot).assume_init_read() });
        // (lamport.3) Release, pairs with (lamport.4): the read above comes before the slot's next write.
        self.tail.store(self.next(tail), edge("lamport.3", Release));
        value
    }
}

impl<T> Drop for Ring<T> {
    /// Drops what was pushed while the consumer left.
    fn drop(&mut self) {
        // Relaxed: both sides are gone, and the `Arc` puts us after all they did.
        let (head, mut tail) = (self.head.load(Relaxed), self.tail.load(Relaxed));
        while tail != head {
            // SAFETY: nobody else is left, and the slots from the tail to the head are written and not read (L2).
            drop(unsafe { self.empty(tail) });
            tail = self.next(tail);
        }
    }
}
