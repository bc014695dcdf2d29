//! The reading end.

#[cfg(not(loom))]
use super::grant::ReadGrant;
use super::ring::{Place, Ring};
use crate::TryPopError;
use crate::wait::{Side, Wait, Yield};
use alloc::vec::Vec;
use core::fmt;
use thalweg_sync::spin;
use thalweg_sync::sync::Arc;

/// The reading end. Dropping it closes the queue: pushes fail from then on, and what is in the queue is dropped.
///
/// Like the producer it moves between threads but cannot be cloned.
pub struct Consumer<T: Send, W: Wait = Yield> {
    pub(super) ring: Arc<Ring<T, W>>,
    /// The next entry to read.
    pub(super) next: Place,
    /// How many items from there on are seen committed. They end with the block.
    pub(super) ready: usize,
    /// How many entries of the block are left.
    pub(super) left: usize,
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

    /// Moves what is there into `into`, from the first place on, dropping what was in those places. Returns how many: at least
    /// one, unless `into` is empty.
    ///
    /// ```
    /// let (mut tx, mut rx) = thalweg_queue::bbq::spsc(2, 4)?;
    /// tx.try_push_slice(&[1, 2, 3])?;
    /// let mut numbers = [0; 8];
    /// assert_eq!(rx.try_pop_slice(&mut numbers)?, 3);
    /// assert_eq!(numbers[..4], [1, 2, 3, 0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn try_pop_slice(&mut self, into: &mut [T]) -> Result<usize, TryPopError> {
        self.pop_batch(into.len(), |done, mut items| {
            #[cfg(not(loom))]
            if !core::mem::needs_drop::<T>() {
                return items.copy_into(&mut into[done..]);
            }
            for (place, item) in into[done..].iter_mut().zip(items.by_ref()) {
                *place = item;
            }
        })
    }

    /// Pops what is there, up to `limit` items, onto the end of `into`. Returns how many: at least one, unless `limit` is zero.
    pub fn try_pop_many(&mut self, into: &mut Vec<T>, limit: usize) -> Result<usize, TryPopError> {
        self.pop_batch(limit, |_, items| into.extend(items))
    }

    /// Hands up to `limit` items to `take`, block by block, with the count of those that came before.
    #[inline]
    fn pop_batch(&mut self, limit: usize, mut take: impl FnMut(usize, Items<'_, T, W>)) -> Result<usize, TryPopError> {
        let mut done = 0;
        while done < limit {
            if self.ready == 0 {
                match self.look() {
                    Ok(()) => {}
                    Err(refused) if done == 0 => return Err(refused),
                    Err(_) => break,
                }
            }
            let count = self.ready.min(limit - done);
            let lines = self.ready.saturating_sub(Ring::<T, W>::AHEAD).min(count);
            for entry in (self.next.entry..self.next.entry + lines).step_by(Ring::<T, W>::PER_LINE) {
                self.ring.ask_to_read(entry + Ring::<T, W>::AHEAD);
            }
            take(done, Items { end: self, taken: 0, count });
            done += count;
        }
        Ok(done)
    }

    /// The oldest item, left where it is.
    ///
    /// ```
    /// # #[cfg(not(loom))] {
    /// let (mut tx, mut rx) = thalweg_queue::bbq::spsc(2, 4)?;
    /// tx.push("tick")?;
    /// assert_eq!(rx.peek()?, &"tick");
    /// assert_eq!(rx.pop()?, "tick");
    /// # }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[cfg(not(loom))]
    pub fn peek(&mut self) -> Result<&T, TryPopError> {
        if self.ready == 0 {
            self.look()?;
        }
        // SAFETY: seen committed, so the entry is ours (S1), and nobody moves the item while the borrow of the handle lasts.
        Ok(unsafe {
            &*self.ring.memory(self.next.entry..self.next.entry + 1, thalweg_sync::hint::Access::Read).cast::<T>()
        })
    }

    /// Gives up to `count` items, at least one, to be read in place. All lie in one block, so more may be waiting than that.
    #[cfg(not(loom))]
    pub fn readable(&mut self, count: usize) -> Result<ReadGrant<'_, T, W>, TryPopError> {
        if self.ready == 0 {
            self.look()?;
        }
        let count = count.clamp(1, self.ready);
        Ok(ReadGrant::new(self, count))
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
    pub(super) fn release(&mut self, count: usize) {
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

/// Items on their way out of one block. When dropped, also by a panic of whoever takes them, the consumer moves past those that
/// were taken, and drops the others.
struct Items<'a, T: Send, W: Wait> {
    end: &'a mut Consumer<T, W>,
    taken: usize,
    count: usize,
}

#[cfg(not(loom))]
impl<T: Send, W: Wait> Items<'_, T, W> {
    /// Moves all of them, of which none is taken yet, into the first places of `into`, which has as many and nothing to drop.
    #[inline]
    fn copy_into(&mut self, into: &mut [T]) {
        self.taken = self.count;
        // SAFETY: `count` items from the consumer's next one on are ready, so the entries are ours (S1), and `drop` moves past
        // them.
        unsafe { self.end.ring.read_all(self.end.next.entry, &mut into[..self.count]) };
    }
}

impl<T: Send, W: Wait> Iterator for Items<'_, T, W> {
    type Item = T;

    #[inline(always)]
    fn next(&mut self) -> Option<T> {
        if self.taken == self.count {
            return None;
        }
        let entry = self.end.next.entry + self.taken;
        self.taken += 1;
        // SAFETY: `count` items from the consumer's next one on are ready, so the entry is ours (S1), and `drop` moves past it.
        Some(unsafe { self.end.ring.read(entry) })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.count - self.taken, Some(self.count - self.taken))
    }
}

impl<T: Send, W: Wait> ExactSizeIterator for Items<'_, T, W> {}

impl<T: Send, W: Wait> Drop for Items<'_, T, W> {
    fn drop(&mut self) {
        self.end.release(self.taken);
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

crate::wait::consumer!(exclusive batches Consumer[T: Send]);
