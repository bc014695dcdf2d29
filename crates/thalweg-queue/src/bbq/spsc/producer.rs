//! The writing end.

#[cfg(not(loom))]
use super::grant::WriteGrant;
use super::ring::{Place, Ring};
use crate::TryPushError;
use crate::wait::{Side, Wait, Yield};
use alloc::vec::Vec;
use core::fmt;
use thalweg_sync::sync::Arc;

/// The writing end. Dropping it closes the queue; the consumer drains what is left.
///
/// It moves between threads but cannot be cloned: "one producer" is checked by the compiler.
///
/// ```compile_fail,E0599
/// let (tx, _rx) = thalweg_queue::bbq::spsc::<u64>(2, 8)?;
/// let second = tx.clone();
/// # Ok::<(), thalweg_queue::BuildError>(())
/// ```
pub struct Producer<T: Send, W: Wait = Yield> {
    pub(super) ring: Arc<Ring<T, W>>,
    /// The next entry to write.
    pub(super) next: Place,
    /// How many entries from there on are ours: to the end of the block, or none.
    pub(super) room: usize,
}

impl<T: Send, W: Wait> Producer<T, W> {
    pub(super) fn new(ring: Arc<Ring<T, W>>, next: Place) -> Self {
        let room = ring.block_entries();
        Self { ring, next, room }
    }

    /// Pushes, or says why not and gives the value back. Never `Busy`.
    ///
    /// - `Full`: at least `(blocks - 1) * entries + 1` items are waiting.
    /// - `Closed`: the consumer is gone. A push while it leaves may still succeed; its item is dropped with the queue.
    #[inline]
    pub fn try_push(&mut self, value: T) -> Result<(), TryPushError<T>> {
        if self.ring.ends.consumer_gone() {
            return Err(TryPushError::Closed(value));
        }
        if self.room == 0 && !self.enter() {
            return Err(TryPushError::Full(value));
        }
        let entry = self.next.entry;
        if entry.is_multiple_of(Ring::<T, W>::PER_LINE) {
            self.ring.ask_to_write(entry);
        }
        // SAFETY: there is room, so the entry is ours (S1).
        unsafe { self.ring.write(entry, value) };
        self.commit(1);
        Ok(())
    }

    /// Copies as many of `values` as there is room for, from the first on. Returns how many: at least one, unless there are none.
    ///
    /// ```
    /// let (mut tx, mut rx) = thalweg_queue::bbq::spsc(2, 4)?;
    /// assert_eq!(tx.try_push_slice(&[1; 10]), Ok(8));
    /// assert!(tx.try_push_slice(&[1; 2]).is_err());
    /// # Ok::<(), thalweg_queue::BuildError>(())
    /// ```
    pub fn try_push_slice(&mut self, values: &[T]) -> Result<usize, TryPushError<()>>
    where
        T: Copy,
    {
        let mut left = values;
        while !left.is_empty() {
            match self.next_room(left.len()) {
                Ok(count) => {
                    let (now, later) = left.split_at(count);
                    // SAFETY: `next_room` entries are ours (S1).
                    unsafe { self.ring.write_all(self.next.entry, now) };
                    self.commit(count);
                    left = later;
                }
                Err(refused) if left.len() == values.len() => return Err(refused),
                Err(_) => break,
            }
        }
        Ok(values.len() - left.len())
    }

    /// Moves as many of `values` as there is room for into the queue, from the first on. Returns how many: at least one, unless
    /// there are none.
    ///
    /// ```
    /// let (mut tx, mut rx) = thalweg_queue::bbq::spsc(2, 1)?;
    /// let mut words = vec!["tick".to_owned(), "tock".to_owned(), "tick".to_owned()];
    /// assert_eq!(tx.try_push_many(&mut words), Ok(2));
    /// assert_eq!(words, ["tick"]);
    /// # Ok::<(), thalweg_queue::BuildError>(())
    /// ```
    pub fn try_push_many(&mut self, values: &mut Vec<T>) -> Result<usize, TryPushError<()>> {
        let mut left = core::mem::take(values).into_iter();
        let mut pushed = 0;
        let mut result = Ok(());
        while left.len() > 0 {
            let count = match self.next_room(left.len()) {
                Ok(count) => count,
                Err(refused) => {
                    result = Err(refused);
                    break;
                }
            };
            for (entry, value) in (self.next.entry..self.next.entry + count).zip(left.by_ref()) {
                // SAFETY: `next_room` entries are ours (S1).
                unsafe { self.ring.write(entry, value) };
            }
            self.commit(count);
            pushed += count;
        }
        *values = left.collect();
        if pushed == 0 { result.map(|()| 0) } else { Ok(pushed) }
    }

    /// Gives up to `count` entries, at least one, to be written in place. All lie in one block, so there may be more room than
    /// that.
    #[cfg(not(loom))]
    pub fn reserve(&mut self, count: usize) -> Result<WriteGrant<'_, T, W>, TryPushError<()>> {
        let count = self.next_room(count.max(1))?;
        Ok(WriteGrant::new(self, count))
    }

    /// How many entries can be written from `next` on, up to `count`: at least one. Asks for the lines behind them.
    #[inline]
    fn next_room(&mut self, count: usize) -> Result<usize, TryPushError<()>> {
        if self.ring.ends.consumer_gone() {
            return Err(TryPushError::Closed(()));
        }
        if self.room == 0 && !self.enter() {
            return Err(TryPushError::Full(()));
        }
        let count = count.min(self.room);
        for entry in (self.next.entry..self.next.entry + count).step_by(Ring::<T, W>::PER_LINE) {
            self.ring.ask_to_write(entry);
        }
        Ok(count)
    }

    /// Goes on to the next block. False if it is not free.
    #[cold]
    fn enter(&mut self) -> bool {
        let next = self.ring.next_block(self.next);
        if !self.ring.is_granted(next) {
            return false;
        }
        self.next = next;
        self.room = self.ring.block_entries();
        true
    }

    /// Lets the consumer see the next `count` entries, which are written.
    #[inline(always)]
    pub(super) fn commit(&mut self, count: usize) {
        self.next.position = self.next.position.wrapping_add(count as u64);
        self.next.entry += count;
        self.room -= count;
        self.ring.commit(self.next.block, self.next.position);
        self.ring.wait.ring(Side::Items, count, || true);
    }

    fn may_push(&self) -> bool {
        self.room > 0 || self.ring.is_granted(self.ring.next_block(self.next)) || self.is_closed()
    }

    fn strategy(&self) -> &W {
        &self.ring.wait
    }

    /// How many entries all blocks have. As few as `capacity - entries + 1` items may fill the queue, as blocks are given back
    /// whole.
    pub fn capacity(&self) -> usize {
        self.ring.capacity()
    }

    /// Whether the consumer is gone. Then it stays so, and every push is refused.
    pub fn is_closed(&self) -> bool {
        self.ring.ends.consumer_gone()
    }
}

impl<T: Send, W: Wait> Drop for Producer<T, W> {
    fn drop(&mut self) {
        self.ring.ends.leave_producer();
        self.ring.wait.ring_all();
    }
}

impl<T: Send, W: Wait> fmt::Debug for Producer<T, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Producer").field("capacity", &self.capacity()).field("closed", &self.is_closed()).finish()
    }
}

crate::wait::producer!(exclusive batches Producer[T: Send]);
