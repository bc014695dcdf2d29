//! The ring of slots, and the two flags that say who has left.

use super::Word;
use crate::BuildError;
use crate::edges::edge;
use crate::prefetch;
use alloc::boxed::Box;
use core::marker::PhantomData;
use core::ptr::{NonNull, null_mut};
use thalweg_sync::CachePadded;
use thalweg_sync::atomic::AtomicBool;
use thalweg_sync::atomic::AtomicPtr;
use thalweg_sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// Slots per line: how many the consumer empties and the producer checks at a time.
///
/// As many words as fit 64 bytes; two in a model, so that a ring of two lines wraps within four items.
pub(super) const LINE: usize = if cfg!(loom) { 2 } else { 64 / size_of::<usize>() };

/// How many lines ahead the producer asks for.
///
/// Without asking it stops at the start of each line until the consumer's core gives the line up, the consumer
/// catches up, and both work in one line. With fewer than eight that still happens.
const AHEAD: usize = 8;

#[derive(Debug)]
#[repr(align(64))]
struct Line([AtomicPtr<()>; LINE]);

/// Slots shared by the two sides. Invariants F1 to F3 are in the module's documentation.
#[derive(Debug)]
pub(super) struct Ring<T: Word, W> {
    lines: Box<[Line]>,
    /// How many items fit for certain; the ring is up to two lines longer.
    pub(super) capacity: usize,
    producer_gone: CachePadded<AtomicBool>,
    consumer_gone: CachePadded<AtomicBool>,
    pub(super) wait: W,
    _items: PhantomData<T>,
}

// SAFETY: the ring hands each item from one thread to another (F1, F2), which `T: Send` allows, and never shares one.
unsafe impl<T: Word + Send, W: Sync> Sync for Ring<T, W> {}

impl<T: Word, W> Ring<T, W> {
    /// An empty ring for `capacity` items, whose ends wait by `wait`.
    pub(super) fn new(capacity: usize, wait: W) -> Result<Self, BuildError> {
        BuildError::check("capacity", capacity, 1, isize::MAX as usize / size_of::<Line>() - 1)?;
        // The consumer may hold back the emptying of `LINE - 1` slots; they come on top. Two lines at least, so
        // that a line of taken slots does not end where it begins.
        let lines = (capacity + LINE - 1).div_ceil(LINE).max(2);
        Ok(Self {
            lines: (0..lines).map(|_| Line(core::array::from_fn(|_| AtomicPtr::new(null_mut())))).collect(),
            capacity,
            producer_gone: CachePadded(AtomicBool::new(false)),
            consumer_gone: CachePadded(AtomicBool::new(false)),
            wait,
            _items: PhantomData,
        })
    }

    /// How many slots there are: `capacity` and at most two lines more.
    pub(super) fn slots(&self) -> usize {
        self.lines.len() * LINE
    }

    /// The slot after `slot`.
    #[inline(always)]
    pub(super) fn next(&self, slot: usize) -> usize {
        if slot + 1 == self.slots() { 0 } else { slot + 1 }
    }

    #[inline(always)]
    fn slot(&self, slot: usize) -> &AtomicPtr<()> {
        &self.lines[slot / LINE].0[slot % LINE]
    }

    /// Asks for the line [`AHEAD`] of `slot`, to fill it.
    #[inline(always)]
    pub(super) fn prefetch(&self, slot: usize) {
        let line = slot / LINE + AHEAD;
        prefetch::for_write(&self.lines[if line < self.lines.len() { line } else { line % self.lines.len() }]);
    }

    /// Whether the producer may fill `slot` and every slot before it in its line that it has not filled in this round.
    #[inline(always)]
    pub(super) fn is_empty(&self, slot: usize) -> bool {
        // (ff.1) Acquire, pairs with (ff.2): the consumer empties slots in order, so the slots before this one were
        // emptied before our stores into them. Relaxed could order such a store before the null that precedes it:
        // the item is lost.
        self.slot(slot).load(edge("ff.1", Acquire)).is_null()
    }

    /// Empties the taken `slot`. Only the consumer may, after [`take`](Self::take).
    #[inline(always)]
    pub(super) fn clear(&self, slot: usize) {
        // (ff.2) Release, pairs with (ff.1).
        self.slot(slot).store(null_mut(), edge("ff.2", Release));
    }

    /// Fills the empty `slot`. Only the producer may, after [`is_empty`](Self::is_empty).
    #[inline(always)]
    pub(super) fn fill(&self, slot: usize, item: T) {
        // (ff.3) Release, pairs with (ff.4): what the item points to is written before the item can be seen. This
        // is the store fence of section 3.6; Relaxed would hand out a pointer to something not yet written.
        self.slot(slot).store(item.into_word().as_ptr(), edge("ff.3", Release));
    }

    /// Whether `slot` is filled. The consumer's "yes" stays true until it takes the item.
    #[inline(always)]
    pub(super) fn is_filled(&self, slot: usize) -> bool {
        // Relaxed: nothing is read through the slot here; `take` makes the edge.
        !self.slot(slot).load(Relaxed).is_null()
    }

    /// The item in `slot`, if there is one. The slot stays filled until [`clear`](Self::clear).
    ///
    /// # Safety
    ///
    /// Only the consumer calls this, and on a slot that it has taken once only after clearing it.
    #[inline(always)]
    pub(super) unsafe fn take(&self, slot: usize) -> Option<T> {
        // (ff.4) Acquire, pairs with (ff.3).
        let word = NonNull::new(self.slot(slot).load(edge("ff.4", Acquire)))?;
        // SAFETY: only `fill` stores anything but null, so the word is one of `into_word`; by F1 and the caller's
        // promise it is turned back once.
        Some(unsafe { T::from_word(word) })
    }

    /// Notes that the producer is gone.
    pub(super) fn leave_producer(&self) {
        // (ff.5) Release, pairs with (ff.6): every fill comes before the note.
        self.producer_gone.store(true, edge("ff.5", Release));
    }

    /// Whether the producer is gone; if so, every item it pushed is visible now.
    #[inline(always)]
    pub(super) fn producer_gone(&self) -> bool {
        // (ff.6) Acquire, pairs with (ff.5): Relaxed could report the end before the last items.
        self.producer_gone.load(edge("ff.6", Acquire))
    }

    /// Notes that the consumer is gone.
    pub(super) fn leave_consumer(&self) {
        // Relaxed: the producer acts on the note alone; what is still in the ring is freed under the `Arc`'s own edge.
        self.consumer_gone.store(true, Relaxed);
    }

    /// Whether the consumer is gone.
    #[inline(always)]
    pub(super) fn consumer_gone(&self) -> bool {
        // Relaxed: see `leave_consumer`.
        self.consumer_gone.load(Relaxed)
    }
}

impl<T: Word, W> Drop for Ring<T, W> {
    /// Drops what was pushed while the consumer left.
    fn drop(&mut self) {
        for slot in 0..self.slots() {
            // SAFETY: both sides are gone, so this is the only access. The consumer cleared whatever it took (F3),
            // so what is left in a slot was taken by nobody.
            drop(unsafe { self.take(slot) });
        }
    }
}
