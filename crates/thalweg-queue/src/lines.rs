//! Entries that begin with a cache line.

use crate::BuildError;
use alloc::alloc::{Layout, alloc, dealloc};
use alloc::boxed::Box;
use core::fmt;
use core::mem::MaybeUninit;
use core::ops::Deref;
use core::ptr::NonNull;
use thalweg_sync::cell::Slot;

/// Entries in one allocation, the first at the start of a line: so a prefetch of each n-th entry, where n make a line, asks for each
/// line once.
pub(crate) struct Lines<T> {
    entries: NonNull<[Slot<MaybeUninit<T>>]>,
}

// SAFETY: as a box of such entries.
unsafe impl<T> Send for Lines<T> where Box<[Slot<MaybeUninit<T>>]>: Send {}
// SAFETY: as above.
unsafe impl<T> Sync for Lines<T> where Box<[Slot<MaybeUninit<T>>]>: Sync {}

impl<T> Lines<T> {
    /// `count` entries without items. Their memory is not touched: a slot is nothing but its place, and this one may be uninitialised.
    /// Under loom it is more than that.
    pub(crate) fn new(count: usize) -> Result<Self, BuildError> {
        let bytes = count.saturating_mul(size_of::<Slot<MaybeUninit<T>>>());
        let layout = Self::layout(count).ok_or(BuildError::OutOfMemory { bytes })?;
        let first = match layout.size() {
            0 => NonNull::dangling(),
            // SAFETY: the layout has a size.
            _ => NonNull::new(unsafe { alloc(layout) }).ok_or(BuildError::OutOfMemory { bytes })?.cast(),
        };
        #[cfg(loom)]
        for entry in 0..count {
            // SAFETY: the memory is ours and has room for so many entries, or they have no size.
            unsafe { first.add(entry).write(Slot::new(MaybeUninit::uninit())) };
        }
        Ok(Self { entries: NonNull::slice_from_raw_parts(first, count) })
    }

    /// `None` if they are more bytes than the address space has.
    fn layout(count: usize) -> Option<Layout> {
        Layout::array::<Slot<MaybeUninit<T>>>(count).and_then(|entries| entries.align_to(64)).ok()
    }
}

impl<T> Deref for Lines<T> {
    type Target = [Slot<MaybeUninit<T>>];

    #[inline(always)]
    fn deref(&self) -> &Self::Target {
        // SAFETY: written by `new`, and ours.
        unsafe { self.entries.as_ref() }
    }
}

impl<T> Drop for Lines<T> {
    /// Gives the memory back. What is in the entries is not dropped.
    fn drop(&mut self) {
        let layout = Self::layout(self.len()).expect("it was allocated with this layout");
        // SAFETY: the entries are ours, and from an allocation with this layout if it has a size.
        unsafe {
            self.entries.as_ptr().drop_in_place();
            if layout.size() > 0 {
                dealloc(self.entries.as_ptr().cast(), layout);
            }
        }
    }
}

impl<T> fmt::Debug for Lines<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lines").field("entries", &self.len()).finish()
    }
}

#[cfg(all(test, not(loom)))]
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
