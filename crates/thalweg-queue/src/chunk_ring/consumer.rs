//! The reading end.

use super::chunk::{Chunk, per_line};
use super::shared::Shared;
use crate::grant::Read;
#[cfg(not(loom))]
use crate::grant::memory;
use crate::wait::{Side, Wait};
use crate::{TryPopError, Yield, prefetch};
use core::fmt;
#[cfg(not(loom))]
use thalweg_sync::hint::Access;
use thalweg_sync::sync::Arc;

/// The reading end. Dropping it closes the queue: pushes fail from then on, and what is in the queue is dropped.
///
/// Like the producer it moves between threads but cannot be cloned.
pub struct Consumer<T: Send, W: Wait = Yield> {
    shared: Arc<Shared<T, W>>,
    /// The chunk to empty.
    chunk: Chunk<T>,
    /// The next entry in it, and how many it has.
    index: usize,
    len: usize,
    /// How many items were popped so far.
    popped: u64,
    /// How many were pushed, as seen last.
    pushed: u64,
    /// How many chunks were left so far.
    left: u64,
}

impl<T: Send, W: Wait> Consumer<T, W> {
    /// How many entries ahead to ask for the line.
    const AHEAD: usize = 8 * per_line::<T>();

    pub(super) fn new(shared: Arc<Shared<T, W>>, chunk: Chunk<T>) -> Self {
        // SAFETY: the ring is new, so its chunks are alive.
        let len = unsafe { chunk.len() };
        Self { shared, chunk, index: 0, len, popped: 0, pushed: 0, left: 0 }
    }

    /// Pops the oldest item, or says why not. Never `Busy`.
    #[inline]
    pub fn try_pop(&mut self) -> Result<T, TryPopError> {
        match self.take() {
            Some(value) => Ok(value),
            None => self.idle(),
        }
    }

    fn may_pop(&self) -> bool {
        self.shared.pushed() != self.popped || self.shared.ends.producer_gone()
    }

    fn strategy(&self) -> &W {
        &self.shared.wait
    }

    /// There was nothing to take.
    fn idle(&mut self) -> Result<T, TryPopError> {
        if !self.shared.ends.producer_gone() {
            return Err(TryPopError::Empty);
        }
        // The producer may have pushed after our look and before it left.
        self.take().ok_or(TryPopError::Closed)
    }

    #[inline]
    fn take(&mut self) -> Option<T> {
        if self.see() == 0 {
            return None;
        }
        self.prefetch(self.index);
        // SAFETY: the item is seen, and moved out once, as the end moves past it.
        unsafe {
            let value = Read::read(self, 0);
            Read::release(self, 1);
            Some(value)
        }
    }

    /// How many items there are in the chunk from the next one on. Goes on to the next chunk if this one is over.
    #[inline(always)]
    fn see(&mut self) -> usize {
        if self.popped == self.pushed {
            self.pushed = self.shared.pushed();
            if self.popped == self.pushed {
                return 0;
            }
        }
        // Only now, and not with the chunk's last item: there is an item behind the chunk, so the producer has left it,
        // and its link does not change any more (R3).
        if self.index == self.len {
            self.step();
        }
        (self.len - self.index).min((self.pushed - self.popped) as usize)
    }

    /// Goes on to the next chunk and gives up the one that was read. Only when there is an item in the next one.
    #[inline(never)]
    fn step(&mut self) {
        // SAFETY: the chunk is alive until (ring.3), and the next one until we leave that (R1).
        (self.chunk, self.len) = unsafe { (self.chunk.next(), self.chunk.next().len()) };
        self.index = 0;
        self.left += 1;
        self.shared.leave(self.left);
        self.shared.wait.ring(Side::Room, 1, || true);
    }

    /// Asks for the line eight ahead of `index`, once for each line, if it is published already: an earlier look at it would
    /// take it from the producer.
    #[inline(always)]
    fn prefetch(&self, index: usize) {
        if !index.is_multiple_of(per_line::<T>()) {
            return;
        }
        let ahead = index + Self::AHEAD;
        let behind = (self.pushed - self.popped) as usize;
        let published = behind > index - self.index + Self::AHEAD + per_line::<T>();
        // SAFETY: the chunk is alive until we leave it (R1). If an item behind it is published, its link is that to the
        // next chunk (R3), which is alive as well. The indices are below the chunks' lengths.
        unsafe {
            if !published {
            } else if ahead < self.len {
                prefetch::for_read(self.chunk.entry(ahead));
            } else {
                let next = self.chunk.next();
                if ahead - self.len < next.len() {
                    prefetch::for_read(next.entry(ahead - self.len));
                }
            }
        }
    }

    /// How many items are pushed and not popped: at least so many, as pushes go on.
    pub fn len(&self) -> usize {
        (self.shared.pushed() - self.popped) as usize
    }

    /// Whether there is nothing to pop now. "No" stays true until the next pop; "yes" may be outdated at once.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The most entries that the ring may come to have. See [`Producer::capacity`](super::Producer::capacity).
    pub fn capacity(&self) -> usize {
        self.shared.capacity
    }

    /// Whether the producer is gone. Then it stays so; items may still be left.
    pub fn is_closed(&self) -> bool {
        self.shared.ends.producer_gone()
    }
}

// SAFETY: the items of the consumer's chunk from `index` on that are published are the consumer's (R2) and next to each other.
unsafe impl<T: Send, W: Wait> Read for Consumer<T, W> {
    type Item = T;

    /// To the end of the chunk at most. Asks for the lines behind them.
    #[inline]
    fn ready(&mut self, count: usize) -> Result<usize, TryPopError> {
        let mut seen = self.see();
        if seen == 0 {
            if !self.shared.ends.producer_gone() {
                return Err(TryPopError::Empty);
            }
            // The producer may have pushed after our look and before it left.
            seen = self.see();
            if seen == 0 {
                return Err(TryPopError::Closed);
            }
        }
        let count = count.min(seen);
        for index in (self.index..self.index + count).step_by(per_line::<T>()) {
            self.prefetch(index);
        }
        Ok(count)
    }

    #[inline(always)]
    unsafe fn read(&mut self, offset: usize) -> T {
        // SAFETY: the chunk is alive until we leave it (R1); by the caller's promise the index is below its length.
        let entry = unsafe { self.chunk.entry(self.index + offset) };
        // SAFETY: the entry is the consumer's (R2): written, as (ring.2) saw, and not written again before (ring.3). By the
        // caller's promise it is read once.
        entry.with(|entry| unsafe { (*entry).assume_init_read() })
    }

    #[cfg(not(loom))]
    #[inline]
    unsafe fn items(&self, count: usize, access: Access) -> *mut T {
        // SAFETY: as in `read`.
        memory(unsafe { self.chunk.entries(self.index, count) }, access).cast()
    }

    #[inline(always)]
    unsafe fn release(&mut self, count: usize) {
        self.index += count;
        self.popped += count as u64;
        self.shared.note_popped(self.popped);
    }
}

crate::wait::consumer!(exclusive runs Consumer[T: Send]);

impl<T: Send, W: Wait> Drop for Consumer<T, W> {
    fn drop(&mut self) {
        /// Says where the consumer was, also when an item's destructor panics; what is left is dropped with the queue.
        struct Front<'a, T: Send, W: Wait>(&'a mut Consumer<T, W>);
        impl<T: Send, W: Wait> Drop for Front<'_, T, W> {
            fn drop(&mut self) {
                self.0.shared.note_front(self.0.chunk, self.0.index);
            }
        }
        self.shared.ends.leave_consumer();
        self.shared.wait.ring_all();
        let front = Front(self);
        while let Some(value) = front.0.take() {
            drop(value);
        }
    }
}

impl<T: Send, W: Wait> fmt::Debug for Consumer<T, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Consumer").field("len", &self.len()).field("capacity", &self.capacity()).finish_non_exhaustive()
    }
}
