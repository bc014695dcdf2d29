//! Writing in place.

use super::Write;
use crate::TryPushError;
use crate::drops::Drops;
use core::fmt;
use core::marker::PhantomData;
use core::mem::{ManuallyDrop, MaybeUninit};
use core::ops::{Deref, DerefMut};

/// Entries to be written in place. Made by the `reserve` of a producer.
///
/// It is filled from its first entry on, as a vector is; [`commit`](Self::commit) pushes what was written. Dropped instead, it
/// drops what was written, and nothing is pushed; so does a panic in whatever fills it. A [`ticketed::Grant`](crate::research::ticketed::Grant)
/// commits then: [grants that are dropped](super#dropped).
///
/// Threads may share it if they may share the items:
///
/// ```
/// let (mut tx, _rx) = thalweg_queue::spsc::spsc::<u64>(2, 8)?;
/// let mut grant = tx.reserve(1).unwrap();
/// grant.push(7).unwrap();
/// std::thread::scope(|scope| scope.spawn(|| assert_eq!(grant[0], 7)).join().unwrap());
/// # Ok::<(), thalweg_queue::BuildError>(())
/// ```
///
/// ```compile_fail,E0277
/// let (mut tx, _rx) = thalweg_queue::spsc::spsc::<std::cell::Cell<u64>>(2, 8)?;
/// let mut grant = tx.reserve(1).unwrap();
/// grant.push(std::cell::Cell::new(7)).unwrap();
/// std::thread::scope(|scope| scope.spawn(|| assert_eq!(grant[0].get(), 7)).join().unwrap());
/// # Ok::<(), thalweg_queue::BuildError>(())
/// ```
#[must_use = "nothing is pushed until it is committed"]
pub struct WriteGrant<E: Write> {
    end: E,
    count: usize,
    written: usize,
    /// It lends the items, so only items that are `Sync` let it be: the end alone would be for any.
    _items: PhantomData<E::Item>,
}

impl<E: Write> WriteGrant<E> {
    /// Up to `count` entries of `end`, at least one.
    pub(crate) fn new(mut end: E, count: usize) -> Result<Self, TryPushError<()>> {
        let count = end.room(count.max(1))?;
        Ok(Self::counted(end, count))
    }

    /// The `count` entries that `end` has counted last.
    pub(super) fn counted(end: E, count: usize) -> Self {
        Self { end, count, written: 0, _items: PhantomData }
    }

    fn entries(&self) -> *mut MaybeUninit<E::Item> {
        // SAFETY: `room` counted them, and none is committed before the grant is over.
        unsafe { self.end.entries(self.count) }
    }

    /// How many entries there are.
    pub fn capacity(&self) -> usize {
        self.count
    }

    /// Writes the next entry. Gives the value back if all are written.
    pub fn push(&mut self, value: E::Item) -> Result<(), E::Item> {
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
    /// let (mut tx, mut rx) = thalweg_queue::spsc::spsc(2, 4)?;
    /// let mut lines = "three\nshort\nlines".lines();
    /// let mut grant = tx.reserve(8)?; // four, the rest of the block
    /// assert_eq!(grant.extend(&mut lines), 3);
    /// grant.commit();
    /// assert_eq!(rx.pop()?, "three");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn extend(&mut self, values: impl IntoIterator<Item = E::Item>) -> usize {
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
    pub fn uninit(&mut self) -> &mut [MaybeUninit<E::Item>] {
        // SAFETY: the entries are the end's alone, which the grant borrows; they live as long as its queue.
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
        let left = self.count - self.written;
        assert!(count <= left, "{count} entries are more than the {left} that are left");
        self.written += count;
    }

    /// Pushes what is written. Returns how many items.
    pub fn commit(self) -> usize {
        let written = self.written;
        let mut end = self.into_end();
        if written > 0 {
            // SAFETY: `room` counted at least so many, and they are written.
            unsafe { end.commit(written) };
        }
        written
    }

    /// The end, and nothing pushed. What is written is not dropped.
    pub(crate) fn into_end(self) -> E {
        let this = ManuallyDrop::new(self);
        // SAFETY: a wrapper that is not dropped does not use its end again.
        unsafe { core::ptr::read(&this.end) }
    }
}

impl<E: Write> Deref for WriteGrant<E> {
    type Target = [E::Item];

    /// What is written.
    fn deref(&self) -> &[E::Item] {
        // SAFETY: as in `uninit`; the first `written` entries are written.
        unsafe { core::slice::from_raw_parts(self.entries().cast(), self.written) }
    }
}

impl<E: Write> DerefMut for WriteGrant<E> {
    fn deref_mut(&mut self) -> &mut [E::Item] {
        // SAFETY: as in `deref`, and the grant is borrowed exclusively.
        unsafe { core::slice::from_raw_parts_mut(self.entries().cast(), self.written) }
    }
}

impl<E: Write> Drop for WriteGrant<E> {
    fn drop(&mut self) {
        let (items, written) = (self.as_mut_ptr(), self.written);
        self.written = 0;
        // SAFETY: these items are ours, and nobody sees them any more.
        unsafe { Drops::default().all(items, written) };
    }
}

impl<E: Write> fmt::Debug for WriteGrant<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WriteGrant").field("capacity", &self.count).field("written", &self.written).finish()
    }
}
