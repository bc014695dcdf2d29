//! The reading end.

use super::ring::{Place, Ring};
use crate::TryPopError;
use crate::grant::Read;
use crate::wait::{Side, Wait, Yield};
use core::fmt;
#[cfg(not(loom))]
use thalweg_sync::hint::Access;
use thalweg_sync::spin;
use thalweg_sync::sync::Arc;

/// The reading end. Dropping it closes the queue: pushes fail from then on, and what is in the queue is dropped.
///
/// Like the producer it moves between threads but cannot be cloned.
pub struct Consumer<T: Send, W: Wait = Yield> {
    ring: Arc<Ring<T, W>>,
    /// The next entry to read.
    next: Place,
    /// How many items from there on are seen committed. They end with the block.
    ready: usize,
    /// How many entries of the block are left.
    left: usize,
    /// Twice as many pauses as are made before the next look: one look that finds few is not a reason yet.
    slip: u32,
}

/// The greatest slip: 15 pauses are a fraction of a microsecond. A model has no time.
const MOST_SLIP: u32 = if cfg!(loom) { 0 } else { 31 };

impl<T: Send, W: Wait> Consumer<T, W> {
    pub(super) fn new(ring: Arc<Ring<T, W>>, next: Place) -> Self {
        let left = ring.block_entries();
        Self { ring, next, ready: 0, left, slip: 0 }
    }

    /// Pops the oldest item, or says why not. Never `Busy`.
    #[inline]
    pub fn try_pop(&mut self) -> Result<T, TryPopError> {
        if self.ready == 0 {
            self.look()?;
        }
        let entry = self.next.entry;
        // Only lines that are committed: one that the producer still writes would be taken away from it.
        if entry.is_multiple_of(Ring::<T, W>::PER_LINE) && self.ready > Ring::<T, W>::AHEAD {
            self.ring.ask_to_read(entry + Ring::<T, W>::AHEAD);
        }
        // SAFETY: seen committed, so the entry is ours (S1), and `release` moves past it.
        let item = unsafe { self.ring.read(entry) };
        self.release(1);
        Ok(item)
    }

    /// Sees what is committed in the block: at least one item, or an error.
    ///
    /// If the last looks found only a few items, it waits a little first: a consumer that is as fast as its producer else looks
    /// for every item, and each time takes the line away that the producer counts in. It does not after a look that found
    /// nothing, so an item that comes alone is not held up.
    #[inline(never)]
    fn look(&mut self) -> Result<(), TryPopError> {
        for _ in 0..self.slip / 2 {
            spin::pause(1);
        }
        self.ready = self.ring.committed(self.next);
        self.slip = match self.ready {
            0 => 0,
            few if few < Ring::<T, W>::AHEAD.min(self.left) => (2 * self.slip + 1).min(MOST_SLIP),
            _ => self.slip / 2,
        };
        if self.ready == 0 {
            if !self.ring.ends.producer_gone() {
                return Err(TryPopError::Empty);
            }
            // The producer may have pushed after our look and before it left.
            self.ready = self.ring.committed(self.next);
            if self.ready == 0 {
                return Err(TryPopError::Closed);
            }
        }
        Ok(())
    }

    /// Moves past `count` items, which are moved out, and gives the block back if it is over.
    #[inline(always)]
    fn release(&mut self, count: usize) {
        self.next.position = self.next.position.wrapping_add(count as u64);
        self.next.entry += count;
        self.ready -= count;
        self.left -= count;
        if self.left == 0 {
            self.leave_block();
        }
    }

    fn leave_block(&mut self) {
        self.ring.grant(self.next);
        self.next = self.ring.next_block(self.next);
        self.left = self.ring.block_entries();
        self.ring.wait.ring(Side::Room, self.left, || true);
    }

    fn may_pop(&self) -> bool {
        !self.is_empty() || self.is_closed()
    }

    fn strategy(&self) -> &W {
        &self.ring.wait
    }

    /// Whether there is nothing to pop now. "No" stays true until the next pop; "yes" may be outdated at once.
    pub fn is_empty(&self) -> bool {
        self.ready == 0 && self.ring.committed(self.next) == 0
    }

    /// How many entries all blocks have. As few as `capacity - entries + 1` items may fill the queue, as blocks are given back
    /// whole.
    pub fn capacity(&self) -> usize {
        self.ring.capacity()
    }

    /// Whether the producer is gone. Then it stays so; items may still be left.
    pub fn is_closed(&self) -> bool {
        self.ring.ends.producer_gone()
    }
}

// SAFETY: the `ready` items from `next` on are seen committed in one block, so the entries are the consumer's (S1) and next to each
// other.
unsafe impl<T: Send, W: Wait> Read for Consumer<T, W> {
    type Item = T;

    /// To the end of the block at most. Asks for the lines behind them.
    #[inline]
    fn ready(&mut self, count: usize) -> Result<usize, TryPopError> {
        if self.ready == 0 {
            self.look()?;
        }
        let count = count.min(self.ready);
        let lines = self.ready.saturating_sub(Ring::<T, W>::AHEAD).min(count);
        for entry in (self.next.entry..self.next.entry + lines).step_by(Ring::<T, W>::PER_LINE) {
            self.ring.ask_to_read(entry + Ring::<T, W>::AHEAD);
        }
        Ok(count)
    }

    #[inline(always)]
    unsafe fn read(&mut self, offset: usize) -> T {
        // SAFETY: by the caller's promise the entry is ours (S1), and read once.
        unsafe { self.ring.read(self.next.entry + offset) }
    }

    #[cfg(not(loom))]
    #[inline]
    unsafe fn items(&self, count: usize, access: Access) -> *mut T {
        self.ring.memory(self.next.entry..self.next.entry + count, access).cast()
    }

    #[inline(always)]
    unsafe fn release(&mut self, count: usize) {
        Consumer::release(self, count);
    }
}

impl<T: Send, W: Wait> Drop for Consumer<T, W> {
    fn drop(&mut self) {
        self.ring.ends.leave_consumer();
        self.ring.wait.ring_all();
        self.ring.stop(self.next);
        while let Ok(item) = self.try_pop() {
            // Noted before the item's destructor runs: it may panic, and the ring drops what is left.
            self.ring.stop(self.next);
            drop(item);
        }
    }
}

impl<T: Send, W: Wait> fmt::Debug for Consumer<T, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Consumer").field("capacity", &self.capacity()).field("closed", &self.is_closed()).finish()
    }
}

crate::wait::consumer!(exclusive runs Consumer[T: Send]);
