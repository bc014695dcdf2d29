//! The writing end.

use super::chunk::{Chunk, per_line};
use super::shared::Shared;
use super::size::{Growth, Size};
use crate::grant::Write;
#[cfg(not(loom))]
use crate::grant::memory;
use crate::held::Held;
use crate::leave;
use crate::share::Share;
use crate::wait::{Ordinary, Side, Wait};
use crate::{TryPushError, prefetch};
use alloc::boxed::Box;
use core::fmt;
use core::mem::ManuallyDrop;
#[cfg(not(loom))]
use core::mem::MaybeUninit;
#[cfg(not(loom))]
use thalweg_sync::hint::Access;

/// The writing end. Dropping it closes the queue; the consumer drains what is left.
///
/// It moves between threads but cannot be cloned: "one producer" is checked by the compiler.
///
/// ```compile_fail,E0599
/// use thalweg_queue::growing::{Most, chunk_ring};
///
/// let (tx, _rx) = chunk_ring::<u64>(64, Most::Entries(1024))?;
/// let second = tx.clone();
/// # Ok::<(), thalweg_queue::BuildError>(())
/// ```
// On lines of its own: every push writes here, and what lies beside it may be read by other threads.
#[repr(align(128))]
pub struct Producer<T, W: Wait = Ordinary> {
    shared: Held<Shared<T, W>>,
    /// The chunk to fill.
    chunk: Chunk<T>,
    /// The next entry in it, and how many it has. Of all this, a push writes only the index.
    index: usize,
    len: usize,
    /// How many items were pushed into earlier chunks.
    before: u64,
    /// All that only cold paths want. Boxed, and they take the rest by value: so a producer's fields can live in registers (see [`Held`]).
    size: ManuallyDrop<Box<Size<T>>>,
    /// Whether a push asks for its lines.
    asks: bool,
}

impl<T, W: Wait> Producer<T, W> {
    /// How many entries ahead to ask for the line: eight lines, as the producer has to have them before it comes to them.
    const AHEAD: usize = 8 * per_line::<T>();

    pub(super) fn new(shared: Share<Shared<T, W>>, chunk: Chunk<T>, size: Size<T>) -> Self {
        // SAFETY: the ring is new, so its chunks are alive.
        let len = unsafe { chunk.len() };
        let (shared, size) = (Held::new(shared), ManuallyDrop::new(Box::new(size)));
        Self { shared, chunk, index: 0, len, before: 0, size, asks: leave::pushes_ask() }
    }

    /// Pushes, or says why not and gives the value back. Never `Busy`.
    ///
    /// Links another chunk in when the ring is full and may grow. `Full` means that it may not, or that there is no
    /// memory; then at least its [entries](Growth::entries) without the largest chunk are waiting.
    #[inline]
    pub fn try_push(&mut self, value: T) -> Result<(), TryPushError<T>> {
        if self.shared.ends.consumer_gone() {
            return Err(TryPushError::Closed(value));
        }
        if self.index == self.len && !self.enter() {
            return Err(TryPushError::Full(value));
        }
        leave::ask_if(self.asks, || self.prefetch(self.index));
        // SAFETY: there is room, so the entry is ours, and it is written before it is committed.
        unsafe {
            Write::write(self, 0, value);
            Write::commit(self, 1);
        }
        Ok(())
    }

    fn may_push(&self) -> bool {
        let room = self.index < self.len || self.size.used(self.shared.left()) < self.size.chunks();
        room || self.size.may_grow() || self.shared.ends.consumer_gone()
    }

    fn strategy(&self) -> &W {
        &self.shared.wait
    }

    /// How many items were pushed so far.
    #[inline(always)]
    fn pushed(&self) -> u64 {
        self.before + self.index as u64
    }

    /// Goes on to the next chunk if the consumer is not in it, or to a new one. False if there is neither.
    #[inline(always)]
    fn enter(&mut self) -> bool {
        // What was seen last first: the consumer's count is on its own core most likely.
        if self.size.left == self.size.full_at && self.shared.left() == self.size.full_at {
            return false;
        }
        let before = self.pushed();
        let Some((chunk, len)) = enter(&self.shared, &mut self.size, self.chunk, before) else { return false };
        (self.chunk, self.len, self.index, self.before) = (chunk, len, 0, before);
        true
    }

    /// Asks for the line eight ahead of `index`, once for each line; at a chunk's end, of the next chunk.
    #[inline(always)]
    fn prefetch(&self, index: usize) {
        if !index.is_multiple_of(per_line::<T>()) {
            return;
        }
        let ahead = index + Self::AHEAD;
        // SAFETY: the ring's chunks are alive (R1), and the indices are below their lengths.
        unsafe {
            if ahead < self.len {
                prefetch::for_write(self.chunk.entry(ahead));
            } else {
                let next = self.chunk.next();
                if ahead - self.len < next.len() {
                    prefetch::for_write(next.entry(ahead - self.len));
                }
            }
        }
    }

    /// How large the ring is, and how often it grew and shrank.
    ///
    /// ```
    /// use thalweg_queue::growing::{Most, chunk_ring};
    ///
    /// let (mut tx, _rx) = chunk_ring(64, Most::Entries(1024))?;
    /// (0..100).try_for_each(|number| tx.push(number))?;
    /// assert!(tx.growth().entries >= 100);
    /// assert_eq!(tx.growth().grown, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn growth(&self) -> Growth {
        self.size.growth()
    }

    /// Gives free chunks back, but for one, and the spare one; not below the size at the start.
    ///
    /// By itself the ring gives back a chunk now and then while it is pushed to and was long at most half in use; this
    /// is for a producer that knows that the burst is over.
    pub fn shrink(&mut self) {
        self.size.left = self.shared.left();
        let used = self.size.used(self.size.left);
        // SAFETY: we are in the chunk, and this many are in use.
        unsafe { self.size.shrink(self.chunk, used) };
    }

    /// How many items are pushed and not popped: at most so many, as pops go on.
    pub fn len(&self) -> usize {
        (self.pushed() - self.shared.popped()) as usize
    }

    /// Whether `len` is zero. Then it stays so until the next push.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The most entries that the ring may come to have. As few as `capacity` without the largest chunk may fill it, as
    /// chunks are reused whole; fewer under [`Most::Bytes`](super::Most::Bytes), where a ring of many chunks does not come to so many
    /// entries.
    pub fn capacity(&self) -> usize {
        self.shared.capacity
    }

    /// Whether the consumer is gone. Then it stays so, and every push is refused.
    pub fn is_closed(&self) -> bool {
        self.shared.ends.consumer_gone()
    }
}

// SAFETY: the entries of the producer's chunk from `index` on are the producer's (R2) and next to each other.
unsafe impl<T, W: Wait> Write for Producer<T, W> {
    type Item = T;

    /// To the end of the chunk at most. Asks for the lines behind them.
    #[inline]
    fn room(&mut self, count: usize) -> Result<usize, TryPushError<()>> {
        if self.shared.ends.consumer_gone() {
            return Err(TryPushError::Closed(()));
        }
        if self.index == self.len && !self.enter() {
            return Err(TryPushError::Full(()));
        }
        let count = count.min(self.len - self.index);
        for index in (self.index..self.index + count).step_by(per_line::<T>()) {
            self.prefetch(index);
        }
        Ok(count)
    }

    #[inline(always)]
    unsafe fn write(&mut self, offset: usize, value: T) {
        // SAFETY: the chunk is alive while it is in the ring (R1); by the caller's promise the index is below its length.
        let entry = unsafe { self.chunk.entry(self.index + offset) };
        entry.with_mut(|entry| {
            // SAFETY: the entry is the producer's (R2): the consumer has left the chunk, as (chunk.4) saw, and does not
            // read the entry before (chunk.1).
            unsafe { (*entry).write(value) };
        });
    }

    #[cfg(not(loom))]
    #[inline]
    unsafe fn entries(&self, count: usize) -> *mut MaybeUninit<T> {
        // SAFETY: as in `write`.
        memory(unsafe { self.chunk.entries(self.index, count) }, Access::Write)
    }

    #[inline(always)]
    unsafe fn commit(&mut self, count: usize) {
        self.index += count;
        // SAFETY: the chunk is alive while it is in the ring (R1), and we are there.
        unsafe { self.chunk.publish(self.pushed()) };
        self.shared.wait.notify(Side::Items, count, || true);
    }
}

/// Goes on from `chunk`, which is full after `pushed` items, to the one behind it, or to a new one. Returns that chunk and its length, if there
/// is one.
///
/// By value, so that a producer's fields can live in registers (see [`Held`]).
#[inline(never)]
fn enter<T, W>(shared: &Shared<T, W>, size: &mut Size<T>, chunk: Chunk<T>, pushed: u64) -> Option<(Chunk<T>, usize)> {
    // SAFETY: the producer is in the chunk, so it is alive (R1).
    let look = size.wants_a_look(unsafe { chunk.len() });
    // What was seen last counts too many as in use, never too few: the consumer only goes on, and not past us.
    if look || size.used(size.left) == size.chunks() {
        size.left = shared.left();
    }
    let used = size.used(size.left);
    if look {
        size.note(used);
    }
    // SAFETY: we are in the chunk, and at most `used` are in use; the ring's chunks are alive (R1).
    unsafe {
        if used < size.chunks() {
            size.shrink_by_one(chunk, used);
        } else if !size.grow(chunk) {
            // Memory may come back at any time.
            size.full_at = if size.is_at_most() { size.left } else { u64::MAX };
            return None;
        }
        let next = chunk.next();
        // First, so that the consumer finds no count of an earlier turn there (R5).
        next.publish(pushed);
        chunk.go_on(pushed);
        size.filled += 1;
        Some((next, next.len()))
    }
}

crate::ends::ended! {
    [T, W: Wait] Producer<T, W>;
    [T, W: Wait] super::Consumer<T, W>;
    |end| end.shared.ends, end.shared.wait
}
crate::wait::producer!(exclusive runs Producer[T]);

impl<T, W: Wait> Drop for Producer<T, W> {
    #[inline(always)]
    fn drop(&mut self) {
        // SAFETY: the only call of each, and the last of all.
        leave(unsafe { self.shared.take() }, unsafe { ManuallyDrop::take(&mut self.size) });
    }
}

/// Says that the producer is gone. By value: see [`Held`].
#[cold]
#[inline(never)]
#[expect(clippy::boxed_local, reason = "it comes by value and ends here")]
fn leave<T, W: Wait>(shared: Share<Shared<T, W>>, mut size: Box<Size<T>>) {
    size.free_spare();
    shared.ends.leave_producer();
    shared.wait.notify_all();
}

impl<T, W: Wait> fmt::Debug for Producer<T, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Producer").field("len", &self.len()).field("growth", &self.growth()).finish_non_exhaustive()
    }
}
