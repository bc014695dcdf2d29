//! Ends whose next entries lie next to each other: what grants and batches are written over.

use crate::{TryPopError, TryPushError};
#[cfg(not(loom))]
use core::mem::MaybeUninit;
#[cfg(not(loom))]
use thalweg_sync::hint::Access;

/// A writing end whose next entries lie next to each other.
///
/// # Safety
///
/// After [`room`](Self::room) has returned a count, as many entries from the next one on are the end's alone, until some of them are
/// committed.
pub unsafe trait Write {
    /// What is pushed.
    type Item;

    /// How many entries can be written: up to `count`, and at least one.
    fn room(&mut self, count: usize) -> Result<usize, TryPushError<()>>;

    /// Writes the entry `offset` behind the next one.
    ///
    /// # Safety
    ///
    /// It is among those that `room` counted.
    unsafe fn write(&mut self, offset: usize, value: Self::Item);

    /// The next `count` entries as memory.
    ///
    /// # Safety
    ///
    /// They are among those that `room` counted.
    #[cfg(not(loom))]
    unsafe fn entries(&self, count: usize) -> *mut MaybeUninit<Self::Item>;

    /// Pushes the next `count` entries, at least one.
    ///
    /// # Safety
    ///
    /// They are among those that `room` counted, and written.
    unsafe fn commit(&mut self, count: usize);
}

// SAFETY: as the end itself.
unsafe impl<E: Write> Write for &mut E {
    type Item = E::Item;

    fn room(&mut self, count: usize) -> Result<usize, TryPushError<()>> {
        (**self).room(count)
    }

    unsafe fn write(&mut self, offset: usize, value: E::Item) {
        // SAFETY: the caller's promise, here and below.
        unsafe { (**self).write(offset, value) };
    }

    #[cfg(not(loom))]
    unsafe fn entries(&self, count: usize) -> *mut MaybeUninit<E::Item> {
        // SAFETY: as above.
        unsafe { (**self).entries(count) }
    }

    unsafe fn commit(&mut self, count: usize) {
        // SAFETY: as above.
        unsafe { (**self).commit(count) };
    }
}

/// A reading end whose next items lie next to each other.
///
/// # Safety
///
/// After [`ready`](Self::ready) has returned a count, as many entries from the next one on are the end's alone and hold items, until
/// some of them are released.
pub unsafe trait Read {
    /// What is popped.
    type Item;

    /// How many items can be read: up to `count`, and at least one.
    fn ready(&mut self, count: usize) -> Result<usize, TryPopError>;

    /// Moves the item out that is `offset` behind the next one.
    ///
    /// # Safety
    ///
    /// It is among those that `ready` counted, and moved out once.
    unsafe fn read(&mut self, offset: usize) -> Self::Item;

    /// The next `count` items as memory, to be used as `access` says.
    ///
    /// # Safety
    ///
    /// They are among those that `ready` counted.
    #[cfg(not(loom))]
    unsafe fn items(&self, count: usize, access: Access) -> *mut Self::Item;

    /// Gives the next `count` entries back, at least one.
    ///
    /// # Safety
    ///
    /// They are among those that `ready` counted, and their items are moved out or dropped, or will not be looked at again.
    unsafe fn release(&mut self, count: usize);
}
