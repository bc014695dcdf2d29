//! The list of blocks: drawing a position, finding its block, popping, and giving blocks back.

use super::block::Block;
use crate::TryPopError;
use crate::drops::Drops;
use crate::edges::edge;
use crate::handles::Handles;
use crate::wait::both;
use alloc::boxed::Box;
use core::ptr;
use thalweg_sync::CachePadded;
use thalweg_sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use thalweg_sync::atomic::{AtomicPtr, AtomicU64};
use thalweg_sync::sync::{Mutex, MutexGuard, PoisonError};

pub(super) struct List<T, W> {
    tail: CachePadded<Tail<T>>,
    /// How many positions are popped.
    popped: CachePadded<AtomicU64>,
    /// Where popping goes on. The one consumer of [`mpsc`](super::mpsc) has taken it out.
    head: Mutex<Head<T>>,
    /// A block to be used again, or null.
    spare: AtomicPtr<Block<T>>,
    pub(super) handles: Handles,
    pub(super) wait: W,
    /// The entries of a block, as a power of two.
    shift: u32,
}

/// What producers write.
struct Tail<T> {
    /// How many positions are drawn.
    drawn: AtomicU64,
    /// The hint: a block from which the block of any position is found that is not filled (U2).
    hint: AtomicPtr<Block<T>>,
}

/// Where popping goes on.
pub(super) struct Head<T> {
    /// The next position, in this block or at the beginning of the next one.
    position: u64,
    block: *mut Block<T>,
    /// The oldest block that is not given back.
    oldest: *mut Block<T>,
}

impl<T> Clone for Head<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Head<T> {}

// SAFETY: the blocks belong to the list, and the items in them move from thread to thread.
unsafe impl<T: Send> Send for Head<T> {}
// SAFETY: blocks are shared as U1 and U4 say, so that an item is one thread's at a time.
unsafe impl<T: Send, W: Sync> Sync for List<T, W> {}
// SAFETY: as above; the list owns its blocks.
unsafe impl<T: Send, W: Send> Send for List<T, W> {}

impl<T, W> List<T, W> {
    pub(super) fn new(shift: u32, wait: W) -> Self {
        let first = Box::into_raw(Block::new(0, 1 << shift));
        Self {
            tail: CachePadded(Tail { drawn: AtomicU64::new(0), hint: AtomicPtr::new(first) }),
            popped: CachePadded(AtomicU64::new(0)),
            head: Mutex::new(Head { position: 0, block: first, oldest: first }),
            spare: AtomicPtr::new(ptr::null_mut()),
            handles: Handles::new(),
            wait,
            shift,
        }
    }

    pub(super) fn head(&self) -> MutexGuard<'_, Head<T>> {
        // Nothing panics while it is locked but for want of memory; it is whole then, too.
        self.head.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn entry(&self, position: u64) -> usize {
        (position & ((1 << self.shift) - 1)) as usize
    }

    /// How many items are there, those included whose push is half-way.
    pub(super) fn len(&self) -> usize {
        // Relaxed, both: a number, lately. What is popped first, so that it is not ahead.
        let popped = self.popped.load(Relaxed);
        self.tail.drawn.load(Relaxed).saturating_sub(popped) as usize
    }

    pub(super) fn push(&self, value: T) {
        // (unbounded.7) Acquire, pairs with (unbounded.8): who draws after the hint left a block sees it moved (U3).
        let position = self.tail.drawn.fetch_add(1, edge("unbounded.7", Acquire));
        let block = self.find(position);
        // SAFETY: it is the block of a position that is not filled (U4).
        unsafe { &*block }.fill(self.entry(position), value);
    }

    /// The block of a position that the caller has drawn.
    fn find(&self, position: u64) -> *mut Block<T> {
        let number = position >> self.shift;
        // (unbounded.9) Acquire, pairs with (unbounded.10): the block as its maker left it.
        let mut at = self.tail.hint.load(edge("unbounded.9", Acquire));
        // One in eight moves the hint on, so that not all of them look through a block that is nearly full.
        let mut moves = position.is_multiple_of(8) || self.shift < 3;
        loop {
            // SAFETY: the hint, or a block behind it, that is not behind our position, which is not filled (U2, U4).
            let block = unsafe { &*at };
            if block.number() == number {
                return at;
            }
            let next = match block.next() {
                next if next.is_null() => self.link(block),
                next => next,
            };
            moves = moves && block.is_full() && self.move_hint(block, at, next);
            at = next;
        }
    }

    /// Moves the hint off a block that is full. False if somebody else did.
    fn move_hint(&self, block: &Block<T>, from: *mut Block<T>, to: *mut Block<T>) -> bool {
        // (unbounded.10) Release, pairs with (unbounded.9): what is in the next block.
        let moved = self.tail.hint.compare_exchange(from, to, edge("unbounded.10", Release), Relaxed).is_ok();
        if moved {
            // (unbounded.8) Release, pairs with (unbounded.7). It adds nothing: a load could miss a position whose producer misses the move.
            block.note_left(self.tail.drawn.fetch_add(0, edge("unbounded.8", Release)));
        }
        moved
    }

    /// A block behind `block`, linked by us or by another producer.
    #[cold]
    fn link(&self, block: &Block<T>) -> *mut Block<T> {
        let number = block.number() + 1;
        // (unbounded.11) Acquire, pairs with (unbounded.12): all accesses to the block come before it is written anew.
        let spare = self.spare.swap(ptr::null_mut(), edge("unbounded.11", Acquire));
        let new = if spare.is_null() {
            Box::into_raw(Block::new(number, 1 << self.shift))
        } else {
            // SAFETY: it was taken out, so it is ours (U5).
            unsafe { &mut *spare }.renew(number);
            spare
        };
        match block.link(new) {
            Ok(()) => new,
            Err(other) => {
                // SAFETY: it is not linked, so it is ours (U5), and nothing was written.
                unsafe { self.keep(new) };
                other
            }
        }
    }

    /// Gives a block back: it becomes the spare, and what was the spare goes to the allocator.
    ///
    /// # Safety
    ///
    /// The block is the caller's (U5), and without items.
    unsafe fn keep(&self, block: *mut Block<T>) {
        // (unbounded.12) AcqRel, pairs with (unbounded.11) and with itself: accesses to a block come before it is used again or freed.
        let old = self.spare.swap(block, edge("unbounded.12", AcqRel));
        if !old.is_null() {
            // SAFETY: taken out, it is ours (U5).
            drop(unsafe { Box::from_raw(old) });
        }
    }

    /// Pops the item in front, of whoever has the head.
    pub(super) fn pop(&self, head: &mut Head<T>) -> Result<T, TryPopError> {
        // SAFETY: passed on to `pop_by`.
        self.pop_by(head, |block, entry| unsafe { block.take(entry) })
    }

    /// Has `take` take the item in front, or drop it.
    fn pop_by<R>(&self, head: &mut Head<T>, take: impl FnOnce(&Block<T>, usize) -> R) -> Result<R, TryPopError> {
        let Some(block) = self.front(head) else {
            // Relaxed: a push that was complete before this pop began is seen by its entry.
            let drawn = self.tail.drawn.load(Relaxed);
            return Err(if drawn == head.position { TryPopError::Empty } else { TryPopError::Busy });
        };
        // SAFETY: linked, and not given back before its last position is popped. The entry is filled, and ours once.
        let item = take(unsafe { &*block }, self.entry(head.position));
        head.position += 1;
        // Relaxed: a number for `len`.
        self.popped.store(head.position, Relaxed);
        if block != head.block {
            head.block = block;
            self.give_back(head);
        }
        Ok(item)
    }

    /// The block of the item in front, if there is one.
    pub(super) fn front(&self, head: &Head<T>) -> Option<*mut Block<T>> {
        // SAFETY: the block of the head is not given back.
        let mut block = unsafe { &*head.block };
        if block.number() != head.position >> self.shift {
            // SAFETY: linked, and behind the head's.
            block = unsafe { block.next().as_ref() }?;
        }
        block.is_filled(self.entry(head.position)).then_some(ptr::from_ref(block).cast_mut())
    }

    /// Gives blocks back that nobody looks at any more.
    #[cold]
    fn give_back(&self, head: &mut Head<T>) {
        while head.oldest != head.block {
            // SAFETY: not given back, and not the head's, so there is one behind it.
            let oldest = unsafe { &*head.oldest };
            if !oldest.is_left(head.position) {
                break;
            }
            let next = oldest.next();
            // SAFETY: nobody looks at it any more (U4), the head neither, and its items are popped.
            unsafe { self.keep(head.oldest) };
            head.oldest = next;
        }
    }

    /// Drops what is there, where it lies. Only when every consumer is gone; `head` is where the last one was.
    pub(super) fn drain(&self, mut head: Head<T>) {
        let mut drops = Drops::default();
        // SAFETY: passed on to `pop_by`.
        let mut discard = |block: &Block<T>, entry| drops.one(|| unsafe { block.discard(entry) });
        while self.pop_by(&mut head, &mut discard).is_ok() {}
        *self.head() = head;
    }
}

impl<T, W> Drop for List<T, W> {
    fn drop(&mut self) {
        let head = *self.head();
        // SAFETY: every handle is gone, so the blocks from the oldest on are ours, each once; also if a destructor panics.
        both(|| self.drain(head), || unsafe { self.free() });
    }
}

impl<T, W> List<T, W> {
    /// Frees all blocks, without what is in them.
    ///
    /// # Safety
    ///
    /// Nobody uses the list any more.
    unsafe fn free(&self) {
        let mut block = self.head().oldest;
        while !block.is_null() {
            // SAFETY: the caller's.
            let next = unsafe { Box::from_raw(block) }.next();
            block = next;
        }
        let spare = self.spare.load(Relaxed);
        if !spare.is_null() {
            // SAFETY: as above.
            drop(unsafe { Box::from_raw(spare) });
        }
    }
}
