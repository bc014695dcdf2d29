//! What a slot is: a word that is the item, or an item beside a word that says that it is there.

use super::Word;
use crate::drops::Drops;
use crate::edges::edge;
use crate::wait::both;
use core::mem::MaybeUninit;
use core::ptr::{NonNull, null_mut};
use thalweg_sync::atomic::Ordering::{Acquire, Relaxed, Release};
use thalweg_sync::atomic::{AtomicBool, AtomicPtr};
use thalweg_sync::cell::Slot;

/// A slot of a ring of `T`: [`AsWord`] or [`InPlace`].
pub trait Entry<T>: private::Entry<T> {}

/// A slot that is an item of one word; null is empty.
#[derive(Debug)]
pub struct AsWord(AtomicPtr<()>);

/// A slot that has an item of any kind in it, and says whether it does.
#[derive(Debug)]
pub struct InPlace<T> {
    filled: AtomicBool,
    item: Slot<MaybeUninit<T>>,
}

impl<T: Word> Entry<T> for AsWord {}
impl<T> Entry<T> for InPlace<T> {}

pub(super) mod private {
    use crate::drops::Drops;

    /// What both kinds of slots do. Invariants F1 to F3 are in the module's documentation.
    pub trait Entry<T> {
        /// An item as it lies in the slot: its word, or itself.
        type Raw;

        /// Whether what is left in a slot has to be dropped.
        const IS_DROPPED: bool;

        /// Makes an empty slot of `place`, as zeroes are elsewhere. Of an item in it, nothing is touched.
        ///
        /// # Safety
        ///
        /// The place is the caller's, and can be written.
        #[cfg(loom)]
        unsafe fn vacate(place: *mut Self);

        /// Whether it is filled. The consumer's "yes" stays true until it takes the item.
        fn is_filled(&self) -> bool;

        /// Whether the producer may fill this slot and every slot before it in its line that it has not filled in this round.
        fn is_empty(&self) -> bool;

        /// Empties it. Only the consumer may, after it has taken the item.
        fn clear(&self);

        /// Fills it. Only the producer may, after [`is_empty`](Self::is_empty).
        fn fill(&self, item: T);

        /// What it is filled with, if it is. The slot stays filled until [`clear`](Self::clear). Runs no code of the item.
        ///
        /// # Safety
        ///
        /// Only the consumer calls this, and on a slot that it has taken once only after clearing it.
        unsafe fn take(&self) -> Option<Self::Raw>;

        /// The item. That may be its own code, which may panic: who calls this has noted that the slot is taken.
        ///
        /// # Safety
        ///
        /// [`take`](Self::take) returned it, and no item was made of it before.
        unsafe fn item(raw: Self::Raw) -> T;

        /// Drops what it is filled with, if it is, where it lies, and empties it, also if that panics. False if it is empty.
        ///
        /// # Safety
        ///
        /// As [`take`](Self::take), and what it had was not taken.
        unsafe fn discard(&self, drops: &mut Drops) -> bool;
    }
}

impl<T: Word> private::Entry<T> for AsWord {
    type Raw = NonNull<()>;

    const IS_DROPPED: bool = true;

    #[cfg(loom)]
    unsafe fn vacate(place: *mut Self) {
        // SAFETY: the caller's promise.
        unsafe { place.write(Self(AtomicPtr::new(null_mut()))) };
    }

    #[inline(always)]
    fn is_filled(&self) -> bool {
        // Relaxed: nothing is read through the slot here; `take` makes the edge.
        !self.0.load(Relaxed).is_null()
    }

    #[inline(always)]
    fn is_empty(&self) -> bool {
        // (ff.1) Acquire, pairs with (ff.2): the consumer empties slots in order, so the slots before this one were
        // emptied before our stores into them. Relaxed could order such a store before the null that precedes it:
        // the item is lost.
        self.0.load(edge("ff.1", Acquire)).is_null()
    }

    #[inline(always)]
    fn clear(&self) {
        // (ff.2) Release, pairs with (ff.1).
        self.0.store(null_mut(), edge("ff.2", Release));
    }

    #[inline(always)]
    fn fill(&self, item: T) {
        // (ff.3) Release, pairs with (ff.4): what the item points to is written before the item can be seen. This
        // is the store fence of section 3.6; Relaxed would hand out a pointer to something not yet written.
        self.0.store(item.into_word().as_ptr(), edge("ff.3", Release));
    }

    #[inline(always)]
    unsafe fn take(&self) -> Option<NonNull<()>> {
        // (ff.4) Acquire, pairs with (ff.3).
        NonNull::new(self.0.load(edge("ff.4", Acquire)))
    }

    #[inline(always)]
    unsafe fn item(raw: NonNull<()>) -> T {
        // SAFETY: only `fill` stores anything but null, so the word is one of `into_word`; by F1 and the caller's
        // promise it is turned back once.
        unsafe { T::from_word(raw) }
    }

    unsafe fn discard(&self, drops: &mut Drops) -> bool {
        // SAFETY: the caller's promise.
        let Some(raw) = (unsafe { private::Entry::<T>::take(self) }) else { return false };
        private::Entry::<T>::clear(self);
        // SAFETY: taken above.
        drops.one(|| drop(unsafe { <Self as private::Entry<T>>::item(raw) }));
        true
    }
}

impl<T> private::Entry<T> for InPlace<T> {
    type Raw = T;

    const IS_DROPPED: bool = core::mem::needs_drop::<T>();

    #[cfg(loom)]
    unsafe fn vacate(place: *mut Self) {
        // SAFETY: the caller's promise.
        unsafe {
            (&raw mut (*place).filled).write(AtomicBool::new(false));
            (&raw mut (*place).item).write(Slot::new(MaybeUninit::uninit()));
        }
    }

    #[inline(always)]
    fn is_filled(&self) -> bool {
        // Relaxed: nothing is read here; `take` makes the edge.
        self.filled.load(Relaxed)
    }

    #[inline(always)]
    fn is_empty(&self) -> bool {
        // (ff.7) Acquire, pairs with (ff.8): the item was moved out before ours is written, and those in the slots before this
        // one, which the consumer emptied earlier. Relaxed would overwrite an item that is being read.
        !self.filled.load(edge("ff.7", Acquire))
    }

    #[inline(always)]
    fn clear(&self) {
        // (ff.8) Release, pairs with (ff.7).
        self.filled.store(false, edge("ff.8", Release));
    }

    #[inline(always)]
    fn fill(&self, item: T) {
        // SAFETY: the caller is the producer, and has seen the slot empty.
        unsafe { self.write(item) };
        self.publish();
    }

    #[inline(always)]
    unsafe fn take(&self) -> Option<T> {
        // SAFETY: seen filled, and by the caller's promise taken once.
        self.see().then(|| unsafe { self.read() })
    }

    #[inline(always)]
    unsafe fn item(raw: T) -> T {
        raw
    }

    unsafe fn discard(&self, drops: &mut Drops) -> bool {
        let filled = self.see();
        if filled {
            // SAFETY: seen filled, and by the caller's promise not taken; it is cleared here.
            let item = || drops.one(|| self.item.with_mut(|slot| unsafe { (*slot).assume_init_drop() }));
            both(item, || private::Entry::<T>::clear(self));
        }
        filled
    }
}

impl<T> InPlace<T> {
    /// Writes the item.
    ///
    /// # Safety
    ///
    /// Only the producer calls this, when it has seen the slot empty, and before it publishes it.
    #[inline(always)]
    pub(super) unsafe fn write(&self, item: T) {
        self.item.with_mut(|slot| {
            // SAFETY: the slot is the producer's: the consumer has left it, as (ff.7) saw, and does not come back before (ff.9)
            // (F2).
            unsafe { (*slot).write(item) };
        });
    }

    /// Moves the item out.
    ///
    /// # Safety
    ///
    /// Only the consumer calls this, once, when it has seen the slot filled, and before it clears it.
    #[inline(always)]
    pub(super) unsafe fn read(&self) -> T {
        // SAFETY: the slot is the consumer's and written, as (ff.10) saw (F2).
        self.item.with(|slot| unsafe { (*slot).assume_init_read() })
    }

    /// Hands the slot to the consumer. Only the producer may, when the item is written.
    #[inline(always)]
    pub(super) fn publish(&self) {
        // (ff.9) Release, pairs with (ff.10): the item is written before it can be seen. Relaxed would hand out a slot that is
        // not yet written.
        self.filled.store(true, edge("ff.9", Release));
    }

    /// Whether it is filled; if so, the item in it is visible.
    #[inline(always)]
    pub(super) fn see(&self) -> bool {
        // (ff.10) Acquire, pairs with (ff.9).
        self.filled.load(edge("ff.10", Acquire))
    }

    /// The item's place, which an engine sees as touched.
    #[cfg(not(loom))]
    #[inline]
    #[track_caller]
    pub(super) fn memory(&self, access: thalweg_sync::hint::Access) -> *mut MaybeUninit<T> {
        crate::grant::memory(core::slice::from_ref(&self.item), access)
    }
}
