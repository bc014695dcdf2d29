//! Grants that go on in the next blocks, and around the end of the ring: two slices instead of one.

use super::{Consumer, Producer};
use crate::drops::Drops;
use crate::grant::Read;
use crate::wait::{Ordinary, Wait};
use crate::{TryPopError, TryPushError};
use core::fmt;
use core::marker::PhantomData;
use core::mem::MaybeUninit;
use core::slice::{from_raw_parts, from_raw_parts_mut};
use thalweg_sync::hint::Access;

/// Items to be read in place, of all blocks: two slices, of which the second is empty unless they go around the end of the ring. Made by
/// [`Consumer::readable_around`].
///
/// Dropped, it leaves all items in the queue; [`release`](Self::release) pops.
pub struct ReadAround<'a, T, W: Wait = Ordinary> {
    end: &'a mut Consumer<T, W>,
    count: usize,
    /// It lends the items, so only items that are `Sync` let it be: the end alone would be for any.
    _items: PhantomData<T>,
}

impl<T, W: Wait> Consumer<T, W> {
    /// Gives up to `count` items, at least one, to be read in place, of as many blocks as it takes. [`readable`](Self::readable) ends with the
    /// block, and is one slice for it.
    ///
    /// ```
    /// let (mut tx, mut rx) = thalweg_queue::spsc::spsc(4, 2)?;
    /// tx.push_all(0..6)?;
    /// assert!(rx.try_iter().take(5).eq(0..5));
    /// tx.push_all(6..11)?;
    /// let there = rx.readable_around(usize::MAX)?;
    /// let (end, start) = there.as_slices();
    /// assert_eq!((end, start), ([5, 6, 7].as_slice(), [8, 9, 10].as_slice()));
    /// there.release(4);
    /// assert_eq!(rx.pop(), Ok(9));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn readable_around(&mut self, count: usize) -> Result<ReadAround<'_, T, W>, TryPopError> {
        self.ready(1)?;
        let count = self.len().min(count.max(1));
        Ok(ReadAround { end: self, count, _items: PhantomData })
    }

    /// The oldest item, left where it is. By a shared reference, so [`peek`](Self::peek) takes less time: this looks at the producer's line
    /// each time.
    ///
    /// ```
    /// let (mut tx, mut rx) = thalweg_queue::spsc::channel(8)?;
    /// tx.push("a letter")?;
    /// let (one, other) = (&rx, &rx);
    /// assert_eq!((one.front()?, other.front()?), (&"a letter", &"a letter"));
    /// assert_eq!(rx.pop(), Ok("a letter"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// Several threads may do so at once, if the items let them:
    ///
    /// ```compile_fail,E0277
    /// let (tx, rx) = thalweg_queue::spsc::channel::<std::cell::Cell<u64>>(8)?;
    /// rx.front()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn front(&self) -> Result<&T, TryPopError>
    where
        T: Sync,
    {
        // First: what was pushed before the end is seen by the look that follows.
        let closed = self.is_closed();
        if self.is_empty() {
            return Err(if closed { TryPopError::Closed } else { TryPopError::Empty });
        }
        // SAFETY: an item is committed, so its entry is ours (S1), and nobody moves it while the end is borrowed.
        Ok(unsafe { &*self.items(1, Access::Read) })
    }
}

impl<T, W: Wait> ReadAround<'_, T, W> {
    /// How many items there are: at least one.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The items, the oldest first: those up to the end of the ring, and those that go on at its start.
    pub fn as_slices(&self) -> (&[T], &[T]) {
        let [end, start] = self.parts(Access::Read);
        // SAFETY: seen committed, in this block and those behind it, so all of it is the consumer's (S1), which is borrowed.
        unsafe { (from_raw_parts(end.0, end.1), from_raw_parts(start.0, start.1)) }
    }

    /// As [`as_slices`](Self::as_slices), to be changed.
    pub fn as_mut_slices(&mut self) -> (&mut [T], &mut [T]) {
        let [end, start] = self.parts(Access::Write);
        // SAFETY: as in `as_slices`, and this is borrowed exclusively; the two do not overlap.
        unsafe { (from_raw_parts_mut(end.0, end.1), from_raw_parts_mut(start.0, start.1)) }
    }

    fn parts(&self, access: Access) -> [(*mut T, usize); 2] {
        self.end.ring.around(self.end.at.entry, self.count, access).map(|(first, count)| (first.cast(), count))
    }

    /// Drops the first `count` items and gives their entries back. The others stay in the queue.
    ///
    /// # Panics
    ///
    /// If there are not so many.
    pub fn release(self, count: usize) {
        assert!(count <= self.count, "{count} items are more than the {} that are there", self.count);
        /// Moves past the items, also if a waker panics.
        struct Past<'a, T, W: Wait>(&'a mut Consumer<T, W>, usize);
        impl<T, W: Wait> Past<'_, T, W> {
            fn go(&mut self) {
                while self.1 > 0 {
                    let count = self.1.min(self.0.at.end - self.0.at.entry);
                    self.1 -= count;
                    self.0.at.ready = self.0.at.ready.max(self.0.at.entry + count);
                    // SAFETY: seen committed, to the end of the block at most, and dropped.
                    unsafe { Read::release(&mut *self.0, count) };
                }
            }
        }
        impl<T, W: Wait> Drop for Past<'_, T, W> {
            fn drop(&mut self) {
                let mut wakers = Drops::default();
                while self.1 > 0 {
                    wakers.one(|| self.go());
                }
            }
        }
        let parts = self.end.ring.around(self.end.at.entry, count, Access::Write);
        let mut drops = Drops::default();
        let mut past = Past(self.end, count);
        for (first, count) in parts {
            // SAFETY: the items are the consumer's alone, and it moves past them.
            unsafe { drops.all(first.cast::<T>(), count) };
        }
        past.go();
    }
}

impl<T, W: Wait> fmt::Debug for ReadAround<'_, T, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReadAround").field("count", &self.count).finish_non_exhaustive()
    }
}

/// Entries to be written in place, of all blocks that are free: two slices, of which the second is empty unless they go around the end of
/// the ring. Made by [`Producer::reserve_around`].
///
/// They are filled from the first on; [`commit`](Self::commit) pushes what was written. Dropped instead, it drops what was written, and
/// nothing is pushed.
#[must_use = "nothing is pushed until it is committed"]
pub struct WriteAround<'a, T, W: Wait = Ordinary> {
    end: &'a mut Producer<T, W>,
    count: usize,
    written: usize,
    /// As for [`ReadAround`].
    _items: PhantomData<T>,
}

impl<T, W: Wait> Producer<T, W> {
    /// Gives up to `count` entries, at least one, to be written in place, of as many blocks as are free. [`reserve`](Self::reserve) ends with
    /// the block, and is one slice for it.
    ///
    /// ```
    /// let (mut tx, mut rx) = thalweg_queue::spsc::spsc(4, 2)?;
    /// let mut grant = tx.reserve_around(7)?;
    /// assert_eq!((grant.capacity(), grant.extend(0..5)), (7, 5));
    /// assert_eq!(grant.commit(), 5);
    /// assert!(rx.try_iter().eq(0..5));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn reserve_around(&mut self, count: usize) -> Result<WriteAround<'_, T, W>, TryPushError<()>> {
        let count = self.room_around(count.max(1))?;
        Ok(WriteAround { end: self, count, written: 0, _items: PhantomData })
    }
}

impl<T, W: Wait> WriteAround<'_, T, W> {
    /// How many entries there are.
    pub fn capacity(&self) -> usize {
        self.count
    }

    /// Writes the next entry. Gives the value back if all are written.
    pub fn push(&mut self, value: T) -> Result<(), T> {
        let (end, start) = self.uninit();
        match end.first_mut().or(start.first_mut()) {
            Some(entry) => {
                entry.write(value);
                self.written += 1;
                Ok(())
            }
            None => Err(value),
        }
    }

    /// Writes what the iterator gives, until either ends. An item is taken from the iterator only if there is an entry for it. Returns how many.
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
    pub fn uninit(&mut self) -> (&mut [MaybeUninit<T>], &mut [MaybeUninit<T>]) {
        let [end, start] = self.parts();
        let skipped = self.written.min(end.1);
        let more = self.written - skipped;
        // SAFETY: the entries are the producer's (S1), which is borrowed; they live as long as its ring, and the two do not overlap.
        unsafe {
            (
                from_raw_parts_mut(end.0.add(skipped), end.1 - skipped),
                from_raw_parts_mut(start.0.add(more), start.1 - more),
            )
        }
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
    pub fn commit(mut self) -> usize {
        let written = core::mem::take(&mut self.written);
        if written > 0 {
            // SAFETY: `room_around` counted at least so many, and they are written.
            unsafe { self.end.commit_around(written) };
        }
        written
    }

    fn parts(&self) -> [(*mut MaybeUninit<T>, usize); 2] {
        self.end.around(self.count)
    }
}

impl<T, W: Wait> Drop for WriteAround<'_, T, W> {
    fn drop(&mut self) {
        let written = core::mem::take(&mut self.written);
        if written == 0 {
            // The entries are not ours any more if they were committed.
            return;
        }
        let [end, start] = self.parts();
        let mut drops = Drops::default();
        let first = written.min(end.1);
        // SAFETY: these items are ours, and nobody sees them any more.
        unsafe {
            drops.all(end.0.cast::<T>(), first);
            drops.all(start.0.cast::<T>(), written - first);
        }
    }
}

impl<T, W: Wait> fmt::Debug for WriteAround<'_, T, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WriteAround")
            .field("capacity", &self.count)
            .field("written", &self.written)
            .finish_non_exhaustive()
    }
}
