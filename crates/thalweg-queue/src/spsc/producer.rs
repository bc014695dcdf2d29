//! The writing end.

use super::ring::{Ring, Spot};
use crate::TryPushError;
use crate::grant::Write;
use crate::held::Held;
use crate::leave;
use crate::share::Share;
use crate::wait::{Ordinary, Side, Wait};
use core::fmt;
#[cfg(not(loom))]
use core::mem::MaybeUninit;
#[cfg(not(loom))]
use thalweg_sync::hint::Access;

/// The writing end. Dropping it closes the queue; the consumer drains what is left.
///
/// It moves between threads but cannot be cloned: "one producer" is checked by the compiler.
///
/// ```compile_fail,E0599
/// let (tx, _rx) = thalweg_queue::spsc::spsc::<u64>(2, 8)?;
/// let second = tx.clone();
/// # Ok::<(), thalweg_queue::BuildError>(())
/// ```
// On lines of its own: every push writes here, and what lies beside it may be read by other threads.
#[repr(align(128))]
pub struct Producer<T, W: Wait = Ordinary> {
    ring: Held<Ring<T, W>>,
    /// The next entry to write. Of all this, a push writes only this word.
    entry: usize,
    /// Where the entries end that are ours: at the end of the block.
    end: usize,
    /// What is to be added to an entry of the block for its position. Wraps.
    base: u64,
    block: usize,
    /// Whether each push asks for its lines.
    asks: bool,
}

impl<T, W: Wait> Producer<T, W> {
    pub(super) fn new(ring: Share<Ring<T, W>>, start: Spot) -> Self {
        let end = start.entry + ring.block_entries();
        let asks = leave::pushes_ask();
        Self { ring: Held::new(ring), entry: start.entry, end, base: start.base(), block: start.block, asks }
    }

    fn place(&self) -> Spot {
        self.place_of(self.entry)
    }

    /// The place of an entry of the block, or of its end.
    fn place_of(&self, entry: usize) -> Spot {
        Spot { position: self.base.wrapping_add(entry as u64), entry, block: self.block }
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
        if self.entry == self.end && !self.enter() {
            return Err(TryPushError::Full(value));
        }
        let entry = self.entry;
        // With each push, and not once for each line: whether a line begins is a branch that the caller's own branches make hard to
        // foresee, and one that is not foreseen costs more than seven requests for a line that is here.
        leave::ask_if(self.asks, || {
            self.ring.ask_to_write(entry);
            // SAFETY: there is room, so the entry is ours (S1).
            unsafe { self.ring.ask_to_push(entry, self.block) };
        });
        // SAFETY: there is room, so the entry is ours (S1).
        unsafe { self.ring.write(entry, value) };
        self.commit(1);
        Ok(())
    }

    /// Goes on to the next block. False if it is not free.
    #[inline(always)]
    fn enter(&mut self) -> bool {
        let Some(next) = enter(&self.ring, self.place()) else { return false };
        self.entry = next.entry;
        self.end = next.entry + self.ring.block_entries();
        self.base = next.base();
        self.block = next.block;
        true
    }

    /// Lets the consumer see the next `count` entries, which are written.
    #[inline(always)]
    fn commit(&mut self, count: usize) {
        self.entry += count;
        self.ring.commit(self.block, self.base.wrapping_add(self.entry as u64));
        self.ring.wait.notify(Side::Items, count, || true);
    }

    /// Asks for the last `count` entries, or fewer, of those that lie ahead in the block: the ones before them were asked for earlier.
    ///
    /// Only in the block, which is the producer's: lines of the next one the consumer may still be reading.
    #[inline(always)]
    fn ask_ahead(&self, count: usize) {
        let ahead = Ring::<T, W>::RUN_AHEAD;
        let (from, to) = (self.entry + ahead.saturating_sub(count), self.entry + ahead);
        self.ring.ask_to_write_run(from..to.min(self.end));
    }

    /// How many entries can be written, of this block and of those behind it that are free: up to `count`, and at least one.
    #[cfg(not(loom))]
    pub(super) fn room_around(&mut self, count: usize) -> Result<usize, TryPushError<()>> {
        let mut room = self.room(count)?;
        let mut place = self.place_of(self.end);
        // No more than all blocks: the one that is open is not granted again before it is read.
        while room < count && room + self.ring.block_entries() <= self.capacity() {
            place = self.ring.next_block(place);
            if !self.ring.is_granted(place) {
                break;
            }
            room += self.ring.block_entries();
            place.position = place.position.wrapping_add(self.ring.block_entries() as u64);
        }
        Ok(room.min(count))
    }

    /// The next `count` entries as memory, in two pieces.
    #[cfg(not(loom))]
    pub(super) fn around(&self, count: usize) -> [(*mut MaybeUninit<T>, usize); 2] {
        // At the end of a block the next one has the entries; behind the last one, the first.
        self.ring.around(self.entry, count, Access::Write)
    }

    /// Pushes the next `count` entries, at least one.
    ///
    /// # Safety
    ///
    /// They are among those that [`room_around`](Self::room_around) counted, and written.
    #[cfg(not(loom))]
    pub(super) unsafe fn commit_around(&mut self, count: usize) {
        let mut left = count;
        loop {
            let now = left.min(self.end - self.entry);
            self.entry += now;
            self.ring.commit(self.block, self.base.wrapping_add(self.entry as u64));
            left -= now;
            if left == 0 {
                break;
            }
            // It was seen to be free, so it is.
            assert!(self.enter(), "the block is free");
        }
        // All of them are there when a waker runs.
        self.ring.wait.notify(Side::Items, count, || true);
    }

    fn may_push(&self) -> bool {
        self.entry < self.end || self.ring.is_granted(self.ring.next_block(self.place())) || self.is_closed()
    }

    fn strategy(&self) -> &W {
        &self.ring.wait
    }

    /// How many items are pushed and not popped, at most: all items count of the block that the consumer is in, since the consumer publishes its
    /// place once for each block. Reads one cache line of each block.
    pub fn len(&self) -> usize {
        let entries = self.ring.block_entries();
        let end = self.base.wrapping_add(self.end as u64);
        let mut place = Spot { position: end, entry: self.end, block: self.block };
        // Those behind it, but for the blocks that are free.
        let mut len = self.ring.capacity() - (self.end - self.entry);
        while len >= entries {
            let next = self.ring.next_block(place);
            if !self.ring.is_granted(next) {
                break;
            }
            place = Spot { position: next.position.wrapping_add(entries as u64), ..next };
            len -= entries;
        }
        len
    }

    /// Whether there is nothing that the consumer has to pop, for certain: see [`len`](Self::len).
    pub fn is_empty(&self) -> bool {
        self.len() == 0
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

// SAFETY: the entries from `entry` to `end` are the producer's (S1), and next to each other.
unsafe impl<T, W: Wait> Write for Producer<T, W> {
    type Item = T;

    /// To the end of the block at most.
    #[inline]
    fn room(&mut self, count: usize) -> Result<usize, TryPushError<()>> {
        if self.ring.ends.consumer_gone() {
            return Err(TryPushError::Closed(()));
        }
        if self.entry == self.end {
            if !self.enter() {
                return Err(TryPushError::Full(()));
            }
            self.ask_ahead(Ring::<T, W>::RUN_AHEAD);
        }
        Ok(count.min(self.end - self.entry))
    }

    #[inline(always)]
    unsafe fn write(&mut self, offset: usize, value: T) {
        // SAFETY: by the caller's promise the entry is ours (S1).
        unsafe { self.ring.write(self.entry + offset, value) };
    }

    #[cfg(not(loom))]
    #[inline]
    unsafe fn entries(&self, count: usize) -> *mut MaybeUninit<T> {
        // SAFETY: by the caller's promise they are counted, so they are of the block (S1).
        unsafe { self.ring.memory(self.entry..self.entry + count, Access::Write) }
    }

    /// Then asks for the lines that come next.
    #[inline(always)]
    unsafe fn commit(&mut self, count: usize) {
        Producer::commit(self, count);
        self.ask_ahead(count);
    }
}

/// The block after `place`, which is at its block's end, if that is free.
///
/// By value, so that the producer's fields can live in registers (see [`Held`]).
#[cold]
#[inline(never)]
fn enter<T, W: Wait>(ring: &Ring<T, W>, place: Spot) -> Option<Spot> {
    let next = ring.next_block(place);
    ring.is_granted(next).then_some(next)
}

impl<T, W: Wait> Drop for Producer<T, W> {
    #[inline(always)]
    fn drop(&mut self) {
        // SAFETY: the only call, and the last of all.
        leave(unsafe { self.ring.take() });
    }
}

/// Says that the producer is gone. By value: see [`Held`].
#[cold]
#[inline(never)]
fn leave<T, W: Wait>(ring: Share<Ring<T, W>>) {
    ring.ends.leave_producer();
    ring.wait.notify_all();
}

impl<T, W: Wait> fmt::Debug for Producer<T, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Producer").field("capacity", &self.capacity()).field("closed", &self.is_closed()).finish()
    }
}

crate::ends::ended! {
    [T, W: Wait] Producer<T, W>;
    [T, W: Wait] super::Consumer<T, W>;
    |end| end.ring.ends, end.ring.wait
}
crate::wait::producer!(exclusive runs Producer[T]);
