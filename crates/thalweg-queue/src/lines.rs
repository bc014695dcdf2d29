//! Entries that begin with a cache line.

use crate::BuildError;
#[cfg(feature = "alloc")]
use crate::memory::Heap;
use crate::memory::{Provider, Room};
use core::fmt;
use core::mem::MaybeUninit;
use core::ops::Deref;
use thalweg_sync::cell::Slot;

/// Entries in one piece of memory, the first at the start of a line: so a prefetch of each n-th entry, where n make a line, asks for each
/// line once.
pub(crate) struct Lines<T> {
    room: Room<Slot<MaybeUninit<T>>>,
}

// SAFETY: as a box of such entries.
unsafe impl<T> Send for Lines<T> where [Slot<MaybeUninit<T>>; 1]: Send {}
// SAFETY: as above.
unsafe impl<T> Sync for Lines<T> where [Slot<MaybeUninit<T>>; 1]: Sync {}

impl<T> Lines<T> {
    /// `count` entries without items, from the heap.
    #[cfg(feature = "alloc")]
    pub(crate) fn new(count: usize) -> Result<Self, BuildError> {
        Self::of(&mut Heap, count)
    }

    /// `count` entries without items. Their memory is not touched: a slot is nothing but its place, and this one may be uninitialised.
    /// Under loom it is more than that.
    pub(crate) fn of(source: &mut impl Provider, count: usize) -> Result<Self, BuildError> {
        let room = source.room(count)?;
        #[cfg(loom)]
        for entry in 0..count {
            // SAFETY: the memory is ours and has room for so many entries, or they have no size.
            unsafe { room.all().cast::<Slot<MaybeUninit<T>>>().add(entry).write(Slot::new(MaybeUninit::uninit())) };
        }
        Ok(Self { room })
    }
}

impl<T> Deref for Lines<T> {
    type Target = [Slot<MaybeUninit<T>>];

    #[inline(always)]
    fn deref(&self) -> &Self::Target {
        // SAFETY: written by `of`, and ours.
        unsafe { self.room.all().as_ref() }
    }
}

impl<T> Drop for Lines<T> {
    /// What is in the entries is not dropped.
    fn drop(&mut self) {
        // SAFETY: the entries are ours, and not used any more.
        unsafe { self.room.all().drop_in_place() };
    }
}

impl<T> fmt::Debug for Lines<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lines").field("entries", &self.len()).finish()
    }
}

#[cfg(all(test, feature = "alloc", not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn the_first_entry_begins_a_line() {
        // Many, of which some would not by chance.
        let all: alloc::vec::Vec<_> = (1..64).map(|count| Lines::<u64>::new(count).unwrap()).collect();
        assert!(all.iter().all(|lines| lines.as_ptr().addr().is_multiple_of(64)));
        assert_eq!(Lines::<[u8; 3]>::new(100).unwrap().as_ptr().addr() % 64, 0);
        assert_eq!(Lines::<()>::new(5).unwrap().len(), 5);
    }

    #[test]
    fn greater_alignments_are_kept() {
        #[repr(align(256))]
        struct Wide(#[allow(dead_code, reason = "it is there for its size")] u8);
        assert_eq!(Lines::<Wide>::new(2).unwrap().as_ptr().addr() % 256, 0);
    }
}
