//! The cursors of the blocks, and the walk from block to block.

use super::memory::{GRANULE, Header, Memory, granules, shape};
use super::mode::{Common, Messages};
use super::{PushBytesError, TryPopError};
use crate::edges::{edge, in_order};
use crate::handles::Handles;
use crate::mpmc::spot::{Shape, Spot};
use crate::wait::{Side, Wait};
use crate::{BuildError, memory};
use alloc::boxed::Box;
use thalweg_sync::CachePadded;
use thalweg_sync::atomic::AtomicU64;
use thalweg_sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

/// What all ends share. Invariants V1 to V5 are in the module's documentation.
#[derive(Debug)]
pub struct Ring<W: Wait> {
    pub(super) shape: Shape,
    blocks: Box<[Block]>,
    pub(super) memory: Memory,
    /// The block that producers fill: at times behind, never ahead.
    phead: CachePadded<AtomicU64>,
    /// The next granule to give to a consumer.
    next: CachePadded<AtomicU64>,
    pub(super) handles: CachePadded<Handles>,
    pub(super) wait: W,
}

/// The cursors of a block, in granules.
#[derive(Debug)]
struct Block {
    /// The next granule to give to a producer. Consumers read it once per message.
    allocated: CachePadded<AtomicU64>,
    /// How many granules were given back by consumers. Producers read it once per block, and begin its rounds.
    consumed: CachePadded<AtomicU64>,
}

/// Whether a block can be begun.
enum Room {
    /// Everything is given back: the round can begin, or has begun.
    Free,
    /// Messages of the last round are waiting for a consumer.
    Full,
    /// Every message of the last round has its consumer, and some are still reading.
    Busy,
}

/// What [`Ring::look`] found.
enum Sight {
    /// This starts there, and can be taken.
    Start(Spot, Header),
    /// Nothing is there.
    Empty,
    /// What starts at the front is allocated and not committed.
    Busy,
}

impl<W: Wait> Ring<W> {
    /// An empty ring that starts at the block number `head`.
    pub(super) fn new(head: u64, blocks: usize, block_bytes: usize, wait: W) -> Result<Self, BuildError> {
        let shape = shape(blocks, block_bytes, |granules| granules)?;
        let first = shape.block(head);
        let blocks = (0..blocks).map(|index| {
            // In ring order from the first block, which is open; the others have just ended their last round.
            let ahead = index.wrapping_sub(shape.index(first)) & (blocks - 1);
            let at = match ahead {
                0 => first,
                _ => shape.end(shape.before(shape.after(first, ahead), blocks)),
            };
            let cursor = || CachePadded(AtomicU64::new(at.0));
            Block { allocated: cursor(), consumed: cursor() }
        });
        Ok(Self {
            shape,
            blocks: memory::boxed(blocks)?,
            memory: Memory::new(shape.capacity())?,
            phead: CachePadded(AtomicU64::new(first.0)),
            next: CachePadded(AtomicU64::new(first.0)),
            handles: CachePadded(Handles::new()),
            wait,
        })
    }

    #[inline(always)]
    fn block(&self, place: Spot) -> &Block {
        &self.blocks[self.shape.index(place)]
    }

    /// Which granule of the memory `place` is.
    #[inline(always)]
    pub(super) fn granule(&self, place: Spot) -> usize {
        self.shape.index(place) * self.shape.entries + self.shape.offset(place)
    }

    /// How many bytes the largest message has.
    pub(super) fn max_message(&self) -> usize {
        self.shape.entries * GRANULE
    }

    #[inline(always)]
    fn phead(&self) -> Spot {
        // (bytes.1) Acquire, pairs with (bytes.2): who sees the head sees its block begun. Relaxed would look again and again until
        // it does.
        Spot(self.phead.load(edge("bytes.1", Acquire)))
    }

    #[inline(always)]
    fn allocated(&self, place: Spot) -> Spot {
        // (bytes.3) Acquire, pairs with (bytes.7), and with (bytes.4): who sees a later round also sees the head that led to it, so
        // looking again is enough; and sees no header of the round before (V5).
        Spot(self.block(place).allocated.load(edge("bytes.3", Acquire)))
    }

    /// How many granules are left in the block of an allocation.
    #[inline(always)]
    fn free(&self, allocated: Spot) -> usize {
        self.shape.entries.saturating_sub(self.shape.offset(allocated))
    }

    /// Granules for a message of `bytes` bytes, to be written and committed.
    #[inline]
    pub(super) fn allocate(&self, bytes: usize) -> Result<Spot, PushBytesError> {
        if self.handles.consumers_gone() {
            return Err(PushBytesError::Closed);
        }
        if bytes > self.max_message() {
            return Err(PushBytesError::TooLarge { bytes, max: self.max_message() });
        }
        let count = granules(bytes);
        loop {
            let head = self.phead();
            // It looks before it adds, so each thread runs past the end at most once a round.
            let allocated = self.allocated(head);
            if !self.shape.in_one_block(allocated, head) {
                continue;
            }
            let free = self.free(allocated);
            // What does not fit ends the block. Not before there is another one: smaller messages may still fit.
            if count > free {
                match self.room(self.shape.after(head, 1)) {
                    Room::Free if free > 0 => {}
                    Room::Free => {
                        self.begin(head);
                        continue;
                    }
                    Room::Full if self.pass_over() => continue,
                    Room::Full => return Err(PushBytesError::Full),
                    Room::Busy => return Err(PushBytesError::Busy),
                }
            }
            // (bytes.7) Acquire, pairs with (bytes.4): the consumers of the last round have read the granules before we write them.
            // Release, pairs with (bytes.3): who finds the block done also sees what we popped before, else it could call a queue
            // full that never was.
            //
            // The round may have changed since we looked: then these are granules of the later round, every bit as good.
            let order = edge("bytes.7", AcqRel);
            let place = Spot(self.block(head).allocated.fetch_add(count as u64, order));
            match self.free(place) {
                free if count <= free => return Ok(place),
                0 => {}
                // We are the one that went over the edge (V4): what is left is no message.
                free => {
                    self.commit(place, Header::Skip(free));
                    while self.pass_over() {}
                }
            }
        }
    }

    /// Lets consumers see what starts at `place`, which is written.
    #[inline]
    pub(super) fn commit(&self, place: Spot, header: Header) {
        // (bytes.8) Release, pairs with (bytes.9): who sees the header sees the message. Relaxed would hand out an unwritten one.
        self.memory.headers.note(self.granule(place), header, edge("bytes.8", Release));
        self.wait.notify(Side::Items, 1, || true);
    }

    /// Whether the round of the block at `start` can begin. Writes nothing.
    #[inline]
    fn room(&self, start: Spot) -> Room {
        let last = self.shape.before(start, self.shape.blocks);
        // (bytes.12) Acquire, pairs with (bytes.16): everything was read, and (bytes.4) passes that on to the writers.
        let consumed = Spot(self.block(start).consumed.load(edge("bytes.12", Acquire)));
        if !consumed.is_before(self.shape.end(last)) {
            return Room::Free;
        }
        // Relaxed: it only tells two reasons for the same refusal apart.
        let next = Spot(self.next.load(Relaxed));
        if next.is_before(self.shape.after(last, 1)) { Room::Full } else { Room::Busy }
    }

    /// Begins the round of the block after the one at `head`, or finishes what another producer has begun. Only after
    /// [`room`](Self::room) was `Free`, and when the block at `head` is allocated to its end.
    #[cold]
    fn begin(&self, head: Spot) {
        let start = self.shape.after(head, 1);
        let last = self.shape.before(start, self.shape.blocks);
        let end = self.shape.end(last);
        let Block { allocated: word, consumed } = self.block(start);
        let count = || {
            // Failure is Relaxed: somebody else has done it, and it comes before what we do next by coherence.
            //
            // Relaxed: what consumers add comes after (bytes.4), and an exchange leaves the release sequences of (bytes.16) unbroken.
            let _ = consumed.compare_exchange(end.0, start.0, Relaxed, Relaxed);
        };
        let allocated = || {
            // Relaxed: only whether it is still the last round matters.
            let mut allocated = word.load(Relaxed);
            while self.shape.in_one_block(Spot(allocated), last) {
                // (bytes.4) Release, pairs with (bytes.3) and (bytes.7).
                match word.compare_exchange(allocated, start.0, edge("bytes.4", Release), Relaxed) {
                    Ok(_) => break,
                    // Another producer ran past the end meanwhile, or began the round.
                    Err(now) => allocated = now,
                }
            }
        };
        // (bytes.17) The other way round, what is given back in the new round could be counted in the old one, and wiped out.
        let begins = || in_order("bytes.17", count, allocated);
        let moves = || {
            // (bytes.2) Release, pairs with (bytes.1). Failure is Relaxed: somebody else has moved it.
            let _ = self.phead.compare_exchange(head.0, start.0, edge("bytes.2", Release), Relaxed);
        };
        // (bytes.18) The head last: ahead of the block's cursors it would have producers look again and again.
        in_order("bytes.18", begins, moves);
    }

    /// Takes the oldest message: where it is, and how many bytes it has. To be given back by [`consume`](Self::consume).
    #[inline]
    pub(super) fn take(&self) -> Result<(Spot, usize), TryPopError> {
        loop {
            match self.look() {
                Sight::Start(place, header) if self.leave(place, header.granules()) => match header {
                    Header::Message(bytes) => {
                        let forward = Spot(place.0 + header.granules() as u64);
                        // What is behind it may be out of date, and is looked at again.
                        if self.shape.offset(forward) < self.shape.entries
                            && let Some(Header::Skip(_)) = self.memory.headers.get(self.granule(forward), Relaxed)
                        {
                            // Given back if a waker panics: nobody would else.
                            let taken = Taken(self, place, bytes);
                            while self.pass_over() {}
                            core::mem::forget(taken);
                        }
                        return Ok((place, bytes));
                    }
                    Header::Skip(count) => self.consume(place, count),
                },
                Sight::Start(..) => {}
                Sight::Empty => return Err(TryPopError::Empty),
                Sight::Busy => return Err(TryPopError::Busy),
            }
        }
    }

    /// Moves on from what starts at `place` and has `count` granules. False if somebody else has.
    ///
    /// The count may be out of date, and then somebody else has (V3).
    #[inline(always)]
    fn leave(&self, place: Spot, count: usize) -> bool {
        let forward = self.shape.forward(place, count);
        // (bytes.15) Release, pairs with (bytes.14). Failure is Relaxed: we look again.
        self.next.compare_exchange(place.0, forward.0, edge("bytes.15", Release), Relaxed).is_ok()
    }

    /// Takes the granules without a message at the front, if there are such. True if there were: then it is worthwhile to look again.
    ///
    /// Not left to the next pop: a block in which nothing else is left can be begun at once.
    #[cold]
    pub(super) fn pass_over(&self) -> bool {
        match self.look() {
            Sight::Start(place, header @ Header::Skip(count)) => {
                if self.leave(place, header.granules()) {
                    // Added, not set: others may still be reading in this block (errata E6).
                    self.consume(place, count);
                }
                true
            }
            _ => false,
        }
    }

    /// What a pop can do. Writes nothing; looks again when `next` was out of date, which means that others got on.
    #[inline]
    fn look(&self) -> Sight {
        loop {
            let next = self.next();
            // Before the header: from here on none is of an earlier round (V5).
            let allocated = self.allocated(next);
            if !self.shape.in_one_block(allocated, next) {
                // Before its round, the block was not begun, and there is nothing behind it.
                if allocated.is_before(next) {
                    return Sight::Empty;
                }
                continue;
            }
            if allocated == next {
                return Sight::Empty;
            }
            // (bytes.9) Acquire, pairs with (bytes.8), and with (bytes.10).
            if let Some(header) = self.memory.headers.get(self.granule(next), edge("bytes.9", Acquire)) {
                return Sight::Start(next, header);
            }
            // It may have been taken and cleared meanwhile.
            if self.next() == next {
                return Sight::Busy;
            }
        }
    }

    #[inline(always)]
    fn next(&self) -> Spot {
        // (bytes.14) Acquire, pairs with (bytes.15): who finds that messages were taken also sees what those who took them had
        // seen and pushed before, else it could call a queue empty that never was.
        Spot(self.next.load(edge("bytes.14", Acquire)))
    }

    /// Gives back `count` granules from `place` on, which were taken.
    #[inline]
    pub(super) fn consume(&self, place: Spot, count: usize) {
        // (bytes.10) Release, pairs with (bytes.9): who finds it cleared sees that it was taken. Relaxed would call the queue busy in
        // which nobody is half-way.
        let clears = || self.memory.headers.clear(self.granule(place), edge("bytes.10", Release));
        let mut before = 0;
        // (bytes.16) Release, pairs with (bytes.12): the reads come before the granules' next writes, and the clearing of the header
        // before the next round (V5).
        let gives = || before = self.block(place).consumed.fetch_add(count as u64, edge("bytes.16", Release));
        // (bytes.19) The other way round, it could clear a header of the next round: its message is lost.
        in_order("bytes.19", clears, gives);
        if self.shape.offset(Spot(before)) + count == self.shape.entries {
            // All of them: behind one that was woken, and then did not fit, one with a shorter message may fit.
            self.wait.notify(Side::Room, usize::MAX, || true);
        }
    }
}

/// A message of so many bytes, which is given back when this is dropped.
struct Taken<'a, W: Wait>(&'a Ring<W>, Spot, usize);

impl<W: Wait> Drop for Taken<'_, W> {
    fn drop(&mut self) {
        self.0.consume(self.1, granules(self.2));
    }
}

impl<W: Wait> Messages<W> for Ring<W> {
    #[inline]
    fn push(&self, message: &[u8], placed: impl FnOnce()) -> Result<(), PushBytesError> {
        let place = self.allocate(message.len())?;
        placed();
        // SAFETY: allocated a moment ago, for so many bytes, and committed below (V2).
        unsafe { self.memory.write(self.granule(place), message) };
        self.commit(place, Header::Message(message.len()));
        Ok(())
    }

    fn may_push(&self, bytes: usize) -> bool {
        let head = self.phead();
        let allocated = self.allocated(head);
        let may_begin = || match self.room(self.shape.after(head, 1)) {
            Room::Free => true,
            // The push takes away what is no message, and looks again.
            Room::Full => matches!(self.look(), Sight::Start(_, Header::Skip(_))),
            Room::Busy => false,
        };
        !self.shape.in_one_block(allocated, head)
            || granules(bytes) <= self.free(allocated)
            || may_begin()
            || self.handles.consumers_gone()
    }

    #[inline]
    unsafe fn pop(&self, mut room: impl FnMut(usize) -> *mut u8) -> Result<usize, TryPopError> {
        let (place, bytes) = self.take()?;
        // Given back also if there is no room.
        let _taken = Taken(self, place, bytes);
        // SAFETY: taken a moment ago, and given back below (V2); by the caller's promise there is room.
        unsafe { self.memory.read(self.granule(place), bytes, room(bytes)) };
        Ok(bytes)
    }

    fn may_pop(&self) -> bool {
        match self.look() {
            Sight::Start(..) => true,
            Sight::Empty => self.handles.producers_gone(),
            // Whoever is half-way notifies when it ends. A grant that is leaked never does: then nobody will find the end.
            Sight::Busy => false,
        }
    }

    fn len(&self) -> usize {
        // The consumers' side first: what is allocated, read after it, is not below it. Acquire keeps the order.
        let next = Spot(self.next.load(Acquire));
        let head = self.phead();
        let allocated = self.allocated(head);
        if !self.shape.in_one_block(allocated, head) || allocated.is_before(next) {
            return 0;
        }
        let end = self.shape.forward(head, self.shape.offset(allocated).min(self.shape.entries));
        (self.shape.distance(next, end) as usize).min(self.shape.capacity())
    }

    fn common(&self) -> Common<'_, W> {
        Common { shape: &self.shape, handles: &self.handles, wait: &self.wait }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::Yield;

    /// A message of the next block is still being read, and at the front is what a dropped grant has left: to take that away makes no
    /// room, so a producer that waits has nothing to do until the reader is done.
    #[test]
    fn who_waits_for_a_reader_has_nothing_to_do() {
        let ring = Ring::new(0, 2, 3 * GRANULE, Yield).unwrap();
        (0..3).for_each(|number| ring.push(&[number], || ()).unwrap());
        let [first, second, third] = [(); 3].map(|()| ring.take().unwrap());
        [second, third].into_iter().for_each(|(place, bytes)| ring.consume(place, granules(bytes)));
        let [given_up, other, last] = [(); 3].map(|()| ring.allocate(1).unwrap());
        [other, last].into_iter().for_each(|place| ring.commit(place, Header::Message(1)));
        // By who has not passed over it yet.
        ring.commit(given_up, Header::Skip(1));
        assert!(matches!(ring.look(), Sight::Start(_, Header::Skip(1))));
        assert_eq!(ring.allocate(1), Err(PushBytesError::Busy));
        assert!(!ring.may_push(1), "it would try again and again");
        ring.consume(first.0, granules(first.1));
        assert!(ring.may_push(1) && ring.allocate(1).is_ok());
    }
}
