//! The writing end.

use super::ring::{Place, Ring};
use crate::TryPushError;
use crate::grant::Write;
use crate::wait::{Side, Wait, Yield};
use core::fmt;
#[cfg(not(loom))]
use core::mem::MaybeUninit;
#[cfg(not(loom))]
use thalweg_sync::hint::Access;
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
    ring: Arc<Ring<T, W>>,
    /// The next entry to write.
    next: Place,
    /// How many entries from there on are ours: to the end of the block, or none.
    room: usize,
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
    fn commit(&mut self, count: usize) {
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

// SAFETY: `room` entries from `next` on are the producer's (S1), to the end of the block, and next to each other.
unsafe impl<T: Send, W: Wait> Write for Producer<T, W> {
    type Item = T;

    /// To the end of the block at most. Asks for the lines behind them.
    #[inline]
    fn room(&mut self, count: usize) -> Result<usize, TryPushError<()>> {
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

    #[inline(always)]
    unsafe fn write(&mut self, offset: usize, value: T) {
        // SAFETY: by the caller's promise the entry is ours (S1).
        unsafe { self.ring.write(self.next.entry + offset, value) };
    }

    #[cfg(not(loom))]
    #[inline]
    unsafe fn entries(&self, count: usize) -> *mut MaybeUninit<T> {
        self.ring.memory(self.next.entry..self.next.entry + count, Access::Write)
    }

    #[inline(always)]
    unsafe fn commit(&mut self, count: usize) {
        Producer::commit(self, count);
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

crate::wait::producer!(exclusive runs Producer[T: Send]);
