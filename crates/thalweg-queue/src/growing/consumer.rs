//! The reading end.

use super::chunk::{Chunk, per_line};
use super::shared::Shared;
use crate::drops::Drops;
use crate::grant::Read;
#[cfg(not(loom))]
use crate::grant::memory;
use crate::held::Held;
use crate::leave::Leaving;
use crate::share::Share;
use crate::slip::{SHORT_BURST, Slip};
use crate::wait::{Ordinary, Side, Wait, both};
use crate::{TryPopError, prefetch};
use core::fmt;
#[cfg(not(loom))]
use thalweg_sync::hint::Access;

/// The reading end. Dropping it closes the queue: pushes fail from then on, and what is in the queue is dropped.
///
/// Like the producer it moves between threads but cannot be cloned.
// On lines of its own, as the producer.
#[repr(align(128))]
pub struct Consumer<T, W: Wait = Ordinary> {
    pub(super) shared: Held<Shared<T, W>>,
    at: Reader<T>,
}

/// Where a consumer is. Of all this, a pop writes only the index.
struct Reader<T> {
    /// The chunk to empty.
    chunk: Chunk<T>,
    /// The next entry in it, where those end that are seen filled, and how many it has.
    index: usize,
    ready: usize,
    len: usize,
    /// Whether the producer is seen gone on from the chunk.
    gone: bool,
    /// How many items were popped from earlier chunks.
    before: u64,
    /// How many chunks were left so far.
    left: u64,
    slip: Slip<SHORT_BURST>,
    leaving: Leaving,
}

impl<T> Clone for Reader<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Reader<T> {}

impl<T> Reader<T> {
    /// How many items were popped so far.
    #[inline(always)]
    fn popped(&self) -> u64 {
        self.before + self.index as u64
    }

    /// Sees how many items there are in the chunk from the next one on, where none is seen yet. Goes on to the next chunk if the producer has
    /// gone on from this one and it is over.
    #[inline(always)]
    fn look<W: Wait>(&mut self, shared: &Shared<T, W>) -> usize {
        if self.index == self.len {
            // Only behind the producer: then the link does not change any more (R3).
            //
            // SAFETY: the chunk is alive until we leave it (R1).
            if !self.gone && !unsafe { self.chunk.pushed() }.1 {
                return 0;
            }
            self.before += self.len as u64;
            self.left += 1;
            // SAFETY: the chunk is alive until (chunk.3), and the next one until we leave that (R1).
            let (chunk, len) = unsafe { (self.chunk.next(), self.chunk.next().len()) };
            // All of it before the ring below, which may run a waker that panics.
            (self.chunk, self.len, self.index, self.ready) = (chunk, len, 0, 0);
            give_up(shared, self.left);
        }
        // SAFETY: the chunk is alive until we leave it (R1).
        let (pushed, gone) = unsafe { self.chunk.pushed() };
        // Not below zero (R5).
        (self.ready, self.gone) = ((pushed - self.before) as usize, gone);
        self.ready - self.index
    }

    /// Moves the item out that is `offset` behind the next one.
    ///
    /// # Safety
    ///
    /// The caller is the consumer; a [`look`](Self::look) has seen the item, and it is moved out once.
    #[inline(always)]
    unsafe fn read(&self, offset: usize) -> T {
        // SAFETY: the chunk is alive until we leave it (R1); by the caller's promise the index is below its length.
        let entry = unsafe { self.chunk.entry(self.index + offset) };
        // SAFETY: the entry is the consumer's (R2): written, as (chunk.2) saw, and not written again before (chunk.3). By the
        // caller's promise it is read once.
        entry.with(|entry| unsafe { (*entry).assume_init_read() })
    }

    /// Leaves the lines that end in the next `count` entries.
    ///
    /// # Safety
    ///
    /// The caller is the consumer, and a [`look`](Self::look) has seen the items in them, which are moved out.
    #[inline(always)]
    unsafe fn leave(&self, count: usize) {
        // SAFETY: the chunk is alive until we leave it (R1), and the entries are the consumer's until it moves past them (R2).
        unsafe { self.leaving.run(self.index..self.index + count, |index| self.chunk.entry(index)) };
    }

    /// Moves past `count` items, which are moved out.
    #[inline(always)]
    fn advance<W: Wait>(&mut self, shared: &Shared<T, W>, count: usize) {
        self.index += count;
        shared.note_popped(self.popped());
    }
}

/// Gives up every chunk before the consumer's `left`-th, and notifies: the consumer is in that one by now (P4 of [`crate::wait`]).
///
/// By value, so that a consumer's fields can live in registers (see [`Held`]).
#[inline(never)]
fn give_up<T, W: Wait>(shared: &Shared<T, W>, left: u64) {
    shared.leave(left);
    shared.wait.notify(Side::Room, 1, || true);
}

impl<T, W: Wait> Consumer<T, W> {
    /// How many entries ahead to ask for the line.
    const AHEAD: usize = 8 * per_line::<T>();

    /// A look that finds fewer has come too close to the producer, unless it finds the rest of a chunk.
    const FEW: usize = 4 * Self::AHEAD;

    pub(super) fn new(shared: Share<Shared<T, W>>, chunk: Chunk<T>) -> Self {
        // SAFETY: the ring is new, so its chunks are alive.
        let len = unsafe { chunk.len() };
        let (slip, leaving) = (Slip::default(), Leaving::new::<T>());
        let at = Reader { chunk, index: 0, ready: 0, len, gone: false, before: 0, left: 0, slip, leaving };
        Self { shared: Held::new(shared), at }
    }

    /// Pops the oldest item, or says why not. Never `Busy`.
    // Always: with the consumer in registers an item takes half the time.
    #[inline(always)]
    pub fn try_pop(&mut self) -> Result<T, TryPopError> {
        self.see()?;
        // With each pop, and not once for each line, which a branch would have to find out.
        self.prefetch(self.at.index);
        // SAFETY: the item is seen, and moved out once, as the end moves past it.
        let value = unsafe {
            let value = self.at.read(0);
            self.at.leaving.entry(self.at.chunk.entry(self.at.index), self.at.index);
            value
        };
        self.at.advance(&self.shared, 1);
        Ok(value)
    }

    /// How many items there are in the chunk from the next one on: at least one, or an error. Waits a little before it looks, if the
    /// last looks found few ([`Slip`]).
    #[inline(always)]
    fn see(&mut self) -> Result<usize, TryPopError> {
        if self.at.index == self.at.ready {
            let chunk = self.at.chunk;
            // SAFETY: the chunk is alive until we leave it (R1).
            self.at.slip = self.at.slip.wait(move || unsafe { chunk.pushed() }.0);
            let mut found = self.at.look(&self.shared);
            let closed = found == 0 && self.shared.ends.producer_gone();
            if closed {
                // The producer may have pushed after our look and before it left.
                found = self.at.look(&self.shared);
            }
            if found == 0 {
                self.at.slip = self.at.slip.found_none();
                if self.at.index < self.at.len {
                    // So that the item's line comes along with the count that tells of it, and not after it.
                    //
                    // SAFETY: the chunk is alive until we leave it (R1), and the index is below its length.
                    prefetch::for_read(unsafe { self.at.chunk.entry(self.at.index) });
                }
                return Err(if closed { TryPopError::Closed } else { TryPopError::Empty });
            }
            self.at.slip = self.at.slip.found(found, found < Self::FEW.min(self.at.len - self.at.index));
        }
        Ok(self.at.ready - self.at.index)
    }

    fn may_pop(&self) -> bool {
        // SAFETY: the chunk is alive until we leave it (R1).
        let (pushed, gone) = unsafe { self.at.chunk.pushed() };
        // Behind a chunk there may be no item yet, but then a look goes on there.
        pushed != self.at.popped() || gone || self.shared.ends.producer_gone()
    }

    /// Whether the next item is the first of its chunk: then the look that found it, or one before that found none, has left the chunk before,
    /// if there was one, which is room.
    pub(crate) fn is_at_start(&self) -> bool {
        self.at.index == 0
    }

    fn strategy(&self) -> &W {
        &self.shared.wait
    }

    /// Asks for the line eight ahead of `index`, if it is seen filled: an earlier look at it would take it from the producer.
    #[inline(always)]
    fn prefetch(&self, index: usize) {
        if self.at.ready - index > Self::AHEAD {
            // SAFETY: the chunk is alive until we leave it (R1), and the index is below its length.
            prefetch::for_read(unsafe { self.at.chunk.entry(index + Self::AHEAD) });
        }
    }

    /// How many items are pushed and not popped: at least so many, as pushes go on. Goes through the chunks in use.
    pub fn len(&self) -> usize {
        // SAFETY: we are in the chunk.
        (unsafe { self.at.chunk.all_pushed() } - self.at.popped()) as usize
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
unsafe impl<T, W: Wait> Read for Consumer<T, W> {
    type Item = T;

    /// To the end of the chunk at most. Asks for the lines behind them.
    #[inline]
    fn ready(&mut self, count: usize) -> Result<usize, TryPopError> {
        let count = self.see()?.min(count);
        for index in (self.at.index..self.at.index + count).step_by(per_line::<T>()) {
            self.prefetch(index);
        }
        Ok(count)
    }

    #[inline(always)]
    unsafe fn read(&mut self, offset: usize) -> T {
        // SAFETY: the caller's promise.
        unsafe { self.at.read(offset) }
    }

    #[cfg(not(loom))]
    #[inline]
    unsafe fn items(&self, count: usize, access: Access) -> *mut T {
        // SAFETY: the chunk is alive until we leave it (R1); by the caller's promise the indices are below its length.
        memory(unsafe { self.at.chunk.entries(self.at.index, count) }, access).cast()
    }

    #[inline(always)]
    unsafe fn release(&mut self, count: usize) {
        // SAFETY: by the caller's promise so many items are moved out.
        unsafe { self.at.leave(count) };
        self.at.advance(&self.shared, count);
    }
}

crate::wait::consumer!(exclusive runs Consumer[T]);

impl<T, W: Wait> Drop for Consumer<T, W> {
    #[inline(always)]
    fn drop(&mut self) {
        // SAFETY: the only call, and the last of all.
        leave(unsafe { self.shared.take() }, self.at);
    }
}

/// Says that the consumer is gone, and drops what is left. By value: see [`Held`].
#[cold]
#[inline(never)]
fn leave<T, W: Wait>(shared: Share<Shared<T, W>>, at: Reader<T>) {
    /// Says where the consumer was, also when a waker or an item's destructor panics; what is left is dropped with the queue.
    struct Front<'a, T, W: Wait>(&'a Shared<T, W>, Reader<T>);
    impl<T, W: Wait> Drop for Front<'_, T, W> {
        fn drop(&mut self) {
            self.0.note_front(self.1.chunk, self.1.index);
        }
    }
    let shared = &*shared;
    let mut front = Front(shared, at);
    shared.ends.leave_consumer();
    let items = || {
        let mut drops = Drops::default();
        let at = &mut front.1;
        while at.index < at.ready || at.look(shared) > 0 {
            // SAFETY: the item is seen, and we move past it; the chunk is not freed before the queue.
            let entry = unsafe { at.chunk.entry(at.index) };
            // SAFETY: as above.
            let item = || drops.one(|| entry.with_mut(|entry| unsafe { (*entry).assume_init_drop() }));
            both(item, || at.advance(shared, 1));
        }
    };
    both(|| shared.wait.notify_all(), items);
}

impl<T, W: Wait> fmt::Debug for Consumer<T, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Consumer").field("len", &self.len()).field("capacity", &self.capacity()).finish_non_exhaustive()
    }
}
