//! The slots and the two indices. All unsafe code of the queue is here.

use crate::drops::Drops;
use crate::edges::edge;
use crate::ends::Ends;
#[cfg(not(loom))]
use crate::grant;
use crate::{BuildError, memory};
use alloc::boxed::Box;
use core::mem::MaybeUninit;
use thalweg_sync::CachePadded;
use thalweg_sync::atomic::AtomicUsize;
use thalweg_sync::atomic::Ordering::{Acquire, Relaxed, Release};
use thalweg_sync::cell::Slot;
#[cfg(not(loom))]
use thalweg_sync::hint::Access;

/// What the two sides share. Invariants L1 and L2 are in the module's documentation.
#[derive(Debug)]
pub(super) struct Ring<T, W> {
    slots: Box<[Slot<MaybeUninit<T>>]>,
    /// The next slot to fill; the producer writes it.
    head: CachePadded<AtomicUsize>,
    /// The next slot to empty; the consumer writes it.
    tail: CachePadded<AtomicUsize>,
    pub(super) ends: Ends,
    pub(super) wait: W,
}

impl<T, W> Ring<T, W> {
    /// An empty ring for `capacity` items: one slot more, so that a full ring differs from an empty one.
    pub(super) fn new(capacity: usize, wait: W) -> Result<Self, BuildError> {
        let most = isize::MAX as usize / size_of::<Slot<T>>().max(1) - 1;
        BuildError::check("capacity", capacity, 1, most)?;
        Ok(Self {
            slots: memory::slots(capacity + 1)?,
            head: CachePadded(AtomicUsize::new(0)),
            tail: CachePadded(AtomicUsize::new(0)),
            ends: Ends::new(),
            wait,
        })
    }

    /// How many items fit.
    pub(super) fn capacity(&self) -> usize {
        self.slots.len() - 1
    }

    /// How many slots there are.
    #[inline(always)]
    pub(super) fn slots(&self) -> usize {
        self.slots.len()
    }

    /// The slot `count` after `slot`, of those up to the end of the ring or its first one.
    #[inline(always)]
    pub(super) fn after(&self, slot: usize, count: usize) -> usize {
        if slot + count == self.slots.len() { 0 } else { slot + count }
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

    /// Writes `value` to `slot`.
    ///
    /// # Safety
    ///
    /// The caller is the producer, and the slot is the producer's (L1).
    #[inline(always)]
    pub(super) unsafe fn write(&self, slot: usize, value: T) {
        self.slots[slot].with_mut(|slot| {
            // SAFETY: the slot is the producer's (L1): the consumer has left it, as (lamport.4) saw, and comes back only
            // after (lamport.1).
            unsafe { (*slot).write(value) };
        });
    }

    /// Moves the head to `head`, past slots that the producer has written.
    #[inline(always)]
    pub(super) fn fill(&self, head: usize) {
        // (lamport.1) Release, pairs with (lamport.2): the slots are written before the head that hands them out.
        self.head.store(head, edge("lamport.1", Release));
    }

    /// Reads the value in `slot`.
    ///
    /// # Safety
    ///
    /// The caller is the consumer, the slot is the consumer's (L2), and it is read once.
    #[inline(always)]
    pub(super) unsafe fn read(&self, slot: usize) -> T {
        // SAFETY: the slot is the consumer's (L2): written, as (lamport.2) saw, and not written again before (lamport.3).
        self.slots[slot].with(|slot| unsafe { (*slot).assume_init_read() })
    }

    /// Drops the item of a slot where it lies.
    ///
    /// # Safety
    ///
    /// As [`read`](Self::read), instead of it.
    pub(super) unsafe fn discard(&self, slot: usize) {
        // SAFETY: as in `read`.
        self.slots[slot].with_mut(|slot| unsafe { (*slot).assume_init_drop() });
    }

    /// Moves the tail to `tail`, past slots that the consumer has read.
    #[inline(always)]
    pub(super) fn empty(&self, tail: usize) {
        // (lamport.3) Release, pairs with (lamport.4): the slots are read before they are written next.
        self.tail.store(tail, edge("lamport.3", Release));
    }

    /// `count` slots from `slot` on as memory.
    ///
    /// # Safety
    ///
    /// There are so many before the end of the ring.
    #[cfg(not(loom))]
    #[inline]
    #[track_caller]
    pub(super) unsafe fn memory(&self, slot: usize, count: usize, access: Access) -> *mut MaybeUninit<T> {
        // SAFETY: the caller's promise.
        unsafe { grant::memory_of(&self.slots, slot..slot + count, access) }
    }
}

impl<T, W> Drop for Ring<T, W> {
    /// Drops what was pushed while the consumer left.
    fn drop(&mut self) {
        // Relaxed: both sides are gone, and the `Arc` puts us after all they did.
        let (head, mut tail) = (self.head.load(Relaxed), self.tail.load(Relaxed));
        let mut drops = Drops::default();
        while tail != head {
            // SAFETY: nobody else is left, and the slots from the tail to the head are written and not read (L2).
            drops.one(|| unsafe { self.discard(tail) });
            tail = self.after(tail, 1);
        }
    }
}
