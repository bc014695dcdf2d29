//! Grants: entries of one block, to be written or read where they are.

use super::consumer::Consumer;
use super::producer::Producer;
use crate::wait::Wait;
use core::fmt;
use core::mem::{ManuallyDrop, MaybeUninit};
use core::ops::{Deref, DerefMut};
use thalweg_sync::hint::Access;

/// Entries to be written in place. Made by [`Producer::reserve`].
///
/// It is filled from its first entry on, as a vector is; [`commit`](Self::commit) pushes what was written. Dropped instead, it
/// drops what was written, and nothing is pushed; so does a panic in whatever fills it.
#[must_use = "nothing is pushed until it is committed"]
pub struct WriteGrant<'a, T: Send, W: Wait> {
    end: &'a mut Producer<T, W>,
    count: usize,
    written: usize,
}

impl<'a, T: Send, W: Wait> WriteGrant<'a, T, W> {
    /// For the next `count` entries, which are the producer's.
    pub(super) fn new(end: &'a mut Producer<T, W>, count: usize) -> Self {
        Self { end, count, written: 0 }
    }

    fn entries(&self) -> *mut MaybeUninit<T> {
        let first = self.end.next.entry;
        self.end.ring.memory(first..first + self.count, Access::Write)
    }

    /// How many entries there are.
    pub fn capacity(&self) -> usize {
        self.count
    }

    /// Writes the next entry. Gives the value back if all are written.
    pub fn push(&mut self, value: T) -> Result<(), T> {
        match self.uninit().first_mut() {
            Some(entry) => {
                entry.write(value);
                self.written += 1;
                Ok(())
            }
            None => Err(value),
        }
    }

    /// Writes what the iterator gives, until either ends. An item is taken from the iterator only if there is an entry for it.
    /// Returns how many.
    ///
    /// ```
    /// let (mut tx, mut rx) = thalweg_queue::bbq::spsc(2, 4)?;
    /// let mut lines = "three\nshort\nlines".lines();
    /// let mut grant = tx.reserve(8)?; // four, the rest of the block
    /// assert_eq!(grant.extend(&mut lines), 3);
    /// grant.commit();
    /// assert_eq!(rx.pop()?, "three");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn extend(&mut self, values: impl IntoIterator<Item = T>) -> usize {
        let before = self.written;
        let mut values = values.into_iter();
        while self.written < self.count
            && let Some(value) = values.next()
        {
            // There is an entry for it.
            let _ = self.push(value);
        }
        self.written - before
    }

    /// The entries that are not written yet, for code that writes them itself; then [`assume_written`](Self::assume_written).
    pub fn uninit(&mut self) -> &mut [MaybeUninit<T>] {
        // SAFETY: the entries are the producer's (S1), whom the grant borrows; they live as long as its ring.
        unsafe { core::slice::from_raw_parts_mut(self.entries().add(self.written), self.count - self.written) }
    }

    /// Says that the next `count` entries are written.
    ///
    /// # Safety
    ///
    /// They are, through [`uninit`](Self::uninit).
    ///
    /// # Panics
    ///
    /// If there are not so many.
    pub unsafe fn assume_written(&mut self, count: usize) {
        assert!(count <= self.count - self.written, "{count} entries are more than are left");
        self.written += count;
    }

    /// Pushes what is written. Returns how many items.
    pub fn commit(self) -> usize {
        let mut this = ManuallyDrop::new(self);
        let written = this.written;
        if written > 0 {
            this.end.commit(written);
        }
        written
    }
}

impl<T: Send, W: Wait> Deref for WriteGrant<'_, T, W> {
    type Target = [T];

    /// What is written.
    fn deref(&self) -> &[T] {
        // SAFETY: as in `uninit`; the first `written` entries are written.
        unsafe { core::slice::from_raw_parts(self.entries().cast(), self.written) }
    }
}

impl<T: Send, W: Wait> DerefMut for WriteGrant<'_, T, W> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as in `deref`, and the grant is borrowed exclusively.
        unsafe { core::slice::from_raw_parts_mut(self.entries().cast(), self.written) }
    }
}

impl<T: Send, W: Wait> Drop for WriteGrant<'_, T, W> {
    fn drop(&mut self) {
        let written: *mut [T] = &mut **self;
        self.written = 0;
        // SAFETY: these items are ours, and nobody sees them any more.
        unsafe { written.drop_in_place() };
    }
}

/// Items to be read in place. Made by [`Consumer::readable`].
///
/// [`release`](Self::release) drops the first of them and gives their entries back. What is not released stays in the queue.
pub struct ReadGrant<'a, T: Send, W: Wait> {
    end: &'a mut Consumer<T, W>,
    count: usize,
}

impl<'a, T: Send, W: Wait> ReadGrant<'a, T, W> {
    /// For the next `count` items, which are ready.
    pub(super) fn new(end: &'a mut Consumer<T, W>, count: usize) -> Self {
        Self { end, count }
    }

    fn items(&self, access: Access) -> *mut T {
        let first = self.end.next.entry;
        self.end.ring.memory(first..first + self.count, access).cast()
    }

    /// Drops the first `count` items and gives their entries back. The others stay in the queue.
    ///
    /// # Panics
    ///
    /// If there are not so many.
    pub fn release(self, count: usize) {
        assert!(count <= self.count, "{count} items are more than the {} that are there", self.count);
        /// Moves past the items, also if a destructor panics.
        struct Past<'a, T: Send, W: Wait>(&'a mut Consumer<T, W>, usize);
        impl<T: Send, W: Wait> Drop for Past<'_, T, W> {
            fn drop(&mut self) {
                self.0.release(self.1);
            }
        }
        let items = core::ptr::slice_from_raw_parts_mut(self.items(Access::Write), count);
        let _past = (count > 0).then(|| Past(self.end, count));
        // SAFETY: the items are the consumer's (S1), and it moves past them.
        unsafe { items.drop_in_place() };
    }
}

impl<T: Send, W: Wait> Deref for ReadGrant<'_, T, W> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: the items are written and the consumer's (S1), whom the grant borrows.
        unsafe { core::slice::from_raw_parts(self.items(Access::Read), self.count) }
    }
}

impl<T: Send, W: Wait> DerefMut for ReadGrant<'_, T, W> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as in `deref`, and the grant is borrowed exclusively.
        unsafe { core::slice::from_raw_parts_mut(self.items(Access::Write), self.count) }
    }
}

impl<T: Send, W: Wait> fmt::Debug for WriteGrant<'_, T, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WriteGrant").field("capacity", &self.count).field("written", &self.written).finish()
    }
}

impl<T: Send, W: Wait> fmt::Debug for ReadGrant<'_, T, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReadGrant").field("count", &self.count).finish()
    }
}
