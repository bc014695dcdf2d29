//! A block: entries for as many positions, and the way to the next one.

use crate::edges::edge;
use alloc::boxed::Box;
use core::mem::MaybeUninit;
use core::ptr;
use thalweg_sync::atomic::Ordering::{Acquire, Relaxed, Release};
use thalweg_sync::atomic::{AtomicBool, AtomicPtr, AtomicU64};
use thalweg_sync::cell::Slot;

/// The hint has not left the block.
const NEVER: u64 = u64::MAX;

/// How many entries of a `T` a block has, as a power of two: 4 KiB, but 128 at most and one at least.
pub(super) const fn shift<T>() -> u32 {
    let mut shift = 7;
    while shift > 0 && size_of::<Entry<T>>() > 4096 >> shift {
        shift -= 1;
    }
    shift
}

pub(super) struct Block<T> {
    /// The block's number: its first position, over the number of entries. Written while the block is not linked (U5).
    number: u64,
    next: AtomicPtr<Block<T>>,
    /// How many positions were drawn when the hint had left this block (U3).
    left: AtomicU64,
    entries: Box<[Entry<T>]>,
}

struct Entry<T> {
    full: AtomicBool,
    value: Slot<MaybeUninit<T>>,
}

impl<T> Block<T> {
    pub(super) fn new(number: u64, entries: usize) -> Box<Self> {
        let (next, left) = (AtomicPtr::new(ptr::null_mut()), AtomicU64::new(NEVER));
        Box::new(Self { number, next, left, entries: Self::empty(entries) })
    }

    /// `count` entries, of which no item's size is moved about: a slot is nothing but its place. Under loom it is more than that.
    fn empty(count: usize) -> Box<[Entry<T>]> {
        let mut entries = Box::new_uninit_slice(count);
        for entry in &mut entries {
            #[cfg(loom)]
            entry.write(Entry { full: AtomicBool::new(false), value: Slot::new(MaybeUninit::uninit()) });
            #[cfg(not(loom))]
            // SAFETY: the place is ours.
            unsafe {
                let entry: *mut Entry<T> = entry.as_mut_ptr();
                (&raw mut (*entry).full).write(AtomicBool::new(false));
            }
        }
        // SAFETY: all of it is written but for the values, which may be uninitialised.
        unsafe { entries.assume_init() }
    }

    /// The block as a new one. All its entries were popped, or never written.
    pub(super) fn renew(&mut self, number: u64) {
        self.number = number;
        // Relaxed, all of them: who links the block publishes them.
        self.next.store(ptr::null_mut(), Relaxed);
        self.left.store(NEVER, Relaxed);
        self.entries.iter().for_each(|entry| entry.full.store(false, Relaxed));
    }

    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// The block behind this one, or null.
    pub(super) fn next(&self) -> *mut Block<T> {
        // (unbounded.1) Acquire, pairs with (unbounded.2): the block as its maker left it.
        self.next.load(edge("unbounded.1", Acquire))
    }

    /// Links `new` behind this one. If another one is there, that one is the error.
    pub(super) fn link(&self, new: *mut Block<T>) -> Result<(), *mut Block<T>> {
        // (unbounded.2) Release, pairs with (unbounded.1); Acquire of the failure as there.
        let linked = self.next.compare_exchange(
            ptr::null_mut(),
            new,
            edge("unbounded.2", Release),
            edge("unbounded.1", Acquire),
        );
        linked.map(drop)
    }

    /// Whether every entry is full.
    pub(super) fn is_full(&self) -> bool {
        // Relaxed: that they are filled is all that counts (U2). From the end, where the last ones are.
        self.entries.iter().rev().all(|entry| entry.full.load(Relaxed))
    }

    /// Notes that the hint has left, when `drawn` positions were drawn.
    pub(super) fn note_left(&self, drawn: u64) {
        // (unbounded.3) Release, pairs with (unbounded.4): the last access of who moved the hint comes before the block is given back. No client of the model
        // checker misses it: `left` counts the position of the producer that moved the hint, so its item is popped, and (unbounded.5) and (unbounded.6) order
        // all that it did before (U4).
        self.left.store(drawn, edge("unbounded.3", Release));
    }

    /// Whether nobody looks at the block any more, as `popped` positions are popped (U4).
    pub(super) fn is_left(&self, popped: u64) -> bool {
        // (unbounded.4) Acquire, pairs with (unbounded.3).
        let left = self.left.load(edge("unbounded.4", Acquire));
        left != NEVER && left <= popped
    }

    /// Fills the entry of a position that the caller has drawn.
    pub(super) fn fill(&self, entry: usize, value: T) {
        let entry = &self.entries[entry];
        // SAFETY: the position was drawn by the caller, and the entry is not full (U1).
        entry.value.with_mut(|slot| unsafe { (*slot).write(value) });
        // (unbounded.5) Release, pairs with (unbounded.6): the item, and our last look at any block (U4).
        entry.full.store(true, edge("unbounded.5", Release));
    }

    pub(super) fn is_filled(&self, entry: usize) -> bool {
        // (unbounded.6) Acquire, pairs with (unbounded.5).
        self.entries[entry].full.load(edge("unbounded.6", Acquire))
    }

    /// Takes the item of an entry.
    ///
    /// # Safety
    ///
    /// The entry is filled, and the caller is the consumer whose position it is, once (U1).
    pub(super) unsafe fn take(&self, entry: usize) -> T {
        // SAFETY: the caller's.
        self.entries[entry].value.with(|slot| unsafe { (*slot).assume_init_read() })
    }

    /// Drops the item of an entry where it lies.
    ///
    /// # Safety
    ///
    /// As for [`take`](Self::take), instead of it.
    pub(super) unsafe fn discard(&self, entry: usize) {
        // SAFETY: the caller's.
        self.entries[entry].value.with_mut(|slot| unsafe { (*slot).assume_init_drop() });
    }
}
