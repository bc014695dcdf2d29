//! The reading end.

use super::ring::{Ring, Spot};
use crate::TryPopError;
use crate::drops::Drops;
use crate::grant::Read;
use crate::held::Held;
use crate::leave::Leaving;
use crate::share::Share;
use crate::slip::{SHORT_BURST, Slip};
use crate::wait::{Ordinary, Side, Wait, both};
use core::fmt;
#[cfg(not(loom))]
use thalweg_sync::hint::Access;

/// The reading end. Dropping it closes the queue: pushes fail from then on, and what is in the queue is dropped.
///
/// Like the producer it moves between threads but cannot be cloned.
// On lines of its own, as the producer.
#[repr(align(128))]
pub struct Consumer<T, W: Wait = Ordinary> {
    pub(super) ring: Held<Ring<T, W>>,
    pub(super) at: Reader,
}

/// Where a consumer is. Of all this, a pop writes only the entry.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reader {
    /// The next entry to read.
    pub(super) entry: usize,
    /// Where the items end that are seen committed: at the end of the block, or before it.
    pub(super) ready: usize,
    /// Where the block ends.
    pub(super) end: usize,
    /// What is to be added to an entry of the block for its position. Wraps.
    base: u64,
    block: usize,
    slip: Slip<SHORT_BURST>,
    leaving: Leaving,
}

impl Reader {
    fn new<T>(start: Spot, entries: usize) -> Self {
        let Spot { entry, block, .. } = start;
        let (slip, leaving) = (Slip::default(), Leaving::new::<T>());
        Self { entry, ready: entry, end: entry + entries, base: start.base(), block, slip, leaving }
    }

    #[inline(always)]
    fn place(&self) -> Spot {
        Spot { position: self.base.wrapping_add(self.entry as u64), entry: self.entry, block: self.block }
    }

    /// How many items are seen committed.
    #[inline(always)]
    fn ready(&self) -> usize {
        self.ready - self.entry
    }

    /// Goes on to the next block from the one that is over. Returns where that ends: it is to be given back, when this is done.
    #[inline(always)]
    fn leave_block<T, W: Wait>(&mut self, ring: &Ring<T, W>) -> Spot {
        let over = self.place();
        let next = ring.next_block(over);
        (self.entry, self.ready, self.end) = (next.entry, next.entry, next.entry + ring.block_entries());
        (self.base, self.block) = (next.base(), next.block);
        over
    }
}

impl<T, W: Wait> Consumer<T, W> {
    pub(super) fn new(ring: Share<Ring<T, W>>, start: Spot) -> Self {
        let at = Reader::new::<T>(start, ring.block_entries());
        Self { ring: Held::new(ring), at }
    }

    /// Pops the oldest item, or says why not. Never `Busy`.
    // Always: a call, and the item by way of memory, are a tenth of a hop.
    #[inline(always)]
    pub fn try_pop(&mut self) -> Result<T, TryPopError> {
        if self.at.ready() == 0 {
            self.look()?;
        }
        let entry = self.at.entry;
        // Only lines that are committed: one that the producer still writes would be taken away from it. With each pop, as the
        // producer with each push.
        if self.at.ready() > Ring::<T, W>::AHEAD {
            // SAFETY: so many are seen committed in the block, so that entry is ours (S1).
            unsafe { self.ring.ask_to_read_ahead(entry) };
        }
        // SAFETY: seen committed, so the entry is ours (S1), and `release` moves past it.
        let item = unsafe {
            let item = self.ring.read(entry);
            self.ring.leave_entry(self.at.leaving, entry);
            item
        };
        self.release(1);
        Ok(item)
    }

    /// Sees what is committed in the block: at least one item, or an error. Waits a little before, if the last looks found few
    /// ([`Slip`]).
    #[inline(always)]
    fn look(&mut self) -> Result<(), TryPopError> {
        let (ring, place) = (&*self.ring, self.at.place());
        self.at.slip = self.at.slip.wait(move || ring.committed(place) as u64);
        let (ready, closed) = look(ring, place);
        if ready == 0 {
            self.at.slip = self.at.slip.found_none();
            return Err(if closed { TryPopError::Closed } else { TryPopError::Empty });
        }
        self.at.slip = self.at.slip.found(ready, ready < Ring::<T, W>::FEW.min(self.at.end - self.at.entry));
        self.at.ready = self.at.entry + ready;
        Ok(())
    }

    /// Moves past `count` items, which are moved out, and gives the block back if it is over.
    #[inline(always)]
    fn release(&mut self, count: usize) {
        self.at.entry += count;
        if self.at.entry == self.at.end {
            let over = self.at.leave_block(&self.ring);
            give_back(&self.ring, over);
        }
    }

    /// Asks for the last `count` items, or fewer, of those that lie ahead: the ones before them were asked for earlier.
    ///
    /// Only what is committed: a line that the producer still writes would be taken away from it.
    #[inline(always)]
    fn ask_ahead(&self, count: usize) {
        let ahead = Ring::<T, W>::RUN_AHEAD;
        let (from, to) = (self.at.entry + ahead.saturating_sub(count), self.at.entry + ahead);
        self.ring.ask_to_read_run(from..to.min(self.at.ready));
    }

    fn may_pop(&self) -> bool {
        !self.is_empty() || self.is_closed()
    }

    fn strategy(&self) -> &W {
        &self.ring.wait
    }

    /// How many items are pushed and not popped: at least so many, as pushes go on. Reads one cache line of each block in use.
    pub fn len(&self) -> usize {
        let mut place = self.at.place();
        let mut left = self.at.end - self.at.entry;
        let mut len = 0;
        loop {
            let committed = self.ring.committed(place);
            len += committed;
            if committed < left || len >= self.capacity() {
                return len;
            }
            // The block is filled to its end.
            place = self.ring.next_block(Spot { position: place.position.wrapping_add(left as u64), ..place });
            left = self.ring.block_entries();
        }
    }

    /// Whether there is nothing to pop now. "No" stays true until the next pop; "yes" may be outdated at once.
    pub fn is_empty(&self) -> bool {
        self.at.ready() == 0 && self.ring.committed(self.at.place()) == 0
    }

    /// How many entries all blocks have. As few as `capacity - entries + 1` items may fill the queue, as blocks are given back
    /// whole.
    pub fn capacity(&self) -> usize {
        self.ring.capacity()
    }

    /// Whether a push would be refused now for want of room: every entry was written, and no block given back.
    pub fn is_full(&self) -> bool {
        let popped = self.ring.block_entries() - (self.at.end - self.at.entry);
        popped + self.len() == self.capacity()
    }

    /// Whether the producer is gone. Then it stays so; items may still be left.
    pub fn is_closed(&self) -> bool {
        self.ring.ends.producer_gone()
    }
}

// SAFETY: the items from `entry` to `ready` are seen committed in one block, so the entries are the consumer's (S1) and next to each
// other.
unsafe impl<T, W: Wait> Read for Consumer<T, W> {
    type Item = T;

    /// To the end of the block at most.
    #[inline]
    fn ready(&mut self, count: usize) -> Result<usize, TryPopError> {
        if self.at.ready() == 0 {
            self.look()?;
        }
        Ok(count.min(self.at.ready()))
    }

    #[inline(always)]
    unsafe fn read(&mut self, offset: usize) -> T {
        // SAFETY: by the caller's promise the entry is ours (S1), and read once.
        unsafe { self.ring.read(self.at.entry + offset) }
    }

    #[cfg(not(loom))]
    #[inline]
    unsafe fn items(&self, count: usize, access: Access) -> *mut T {
        // SAFETY: by the caller's promise they are counted, so they are of the block (S1).
        unsafe { self.ring.memory(self.at.entry..self.at.entry + count, access).cast() }
    }

    /// Then asks for the lines that come next.
    #[inline(always)]
    unsafe fn release(&mut self, count: usize) {
        // SAFETY: by the caller's promise the items of so many entries are moved out, which are ours (S1) until we move past them.
        unsafe { self.ring.leave(self.at.leaving, self.at.entry..self.at.entry + count) };
        Consumer::release(self, count);
        if self.at.end - self.at.entry == self.ring.block_entries() {
            // A new block: what is in it is to come along too.
            self.at.ready = self.at.entry + self.ring.committed(self.at.place());
            self.ask_ahead(Ring::<T, W>::RUN_AHEAD);
        } else {
            self.ask_ahead(count);
        }
    }
}

/// How many items are committed from `place` to the end of its block, after so many `pauses`; and, if there are none, whether the
/// producer is gone.
///
/// Inlined, and after a look in vain it asks for the line of the next item: so that comes along with the cursor that tells of it,
/// and not after it. Of a round trip over two queues, the two save a quarter.
#[inline(always)]
fn look<T, W: Wait>(ring: &Ring<T, W>, place: Spot) -> (usize, bool) {
    let ready = ring.committed(place);
    if ready == 0 {
        ring.ask_to_read(place.entry);
        if ring.ends.producer_gone() {
            // The producer may have pushed after our look and before it left.
            return (ring.committed(place), true);
        }
    }
    (ready, false)
}

/// Gives back the block that ends at `place`, and notifies: the consumer has gone on by now (P4 of [`crate::wait`]).
///
/// By value, so that the consumer's fields can live in registers (see [`Held`]).
#[cold]
#[inline(never)]
fn give_back<T, W: Wait>(ring: &Ring<T, W>, place: Spot) {
    ring.grant(place);
    ring.wait.notify(Side::Room, ring.block_entries(), || true);
}

impl<T, W: Wait> Drop for Consumer<T, W> {
    #[inline(always)]
    fn drop(&mut self) {
        // SAFETY: the only call, and the last of all.
        leave(unsafe { self.ring.take() }, self.at);
    }
}

/// Says that the consumer is gone, and drops what is left. By value: see [`Held`].
#[cold]
#[inline(never)]
fn leave<T, W: Wait>(ring: Share<Ring<T, W>>, mut at: Reader) {
    let ring = &*ring;
    ring.ends.leave_consumer();
    // Noted before a waker runs, and below before an item's destructor does: either may panic, and the ring drops what is left.
    ring.stop(at.place());
    let items = || {
        let mut drops = Drops::default();
        loop {
            let ready = ring.committed(at.place());
            if ready == 0 {
                return;
            }
            for _ in 0..ready {
                let entry = at.entry;
                // SAFETY: seen committed, so the entry is ours (S1), and we move past it.
                let item = || drops.one(|| unsafe { ring.discard(entry) });
                let past = || {
                    at.entry += 1;
                    if at.entry == at.end {
                        // Nobody waits for it: all were woken above, and who comes later sees that the consumer is gone.
                        let over = at.leave_block(ring);
                        ring.grant(over);
                    }
                    ring.stop(at.place());
                };
                both(item, past);
            }
        }
    };
    both(|| ring.wait.notify_all(), items);
}

impl<T, W: Wait> fmt::Debug for Consumer<T, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Consumer").field("capacity", &self.capacity()).field("closed", &self.is_closed()).finish()
    }
}

crate::wait::consumer!(exclusive runs (Consumer [T] [] T [T] is_full));
