//! The ring, the cursors of its blocks, and the walk from block to block. All unsafe code of the queue is here.

use super::super::handles::Handles;
use super::super::place::{Place, Shape};
use super::super::plain::{self, Plain};
use crate::edges::{edge, fenced};
use crate::wait::{Side, Wait};
use crate::{BuildError, TryPopError, TryPushError, memory};
use alloc::boxed::Box;
use core::marker::PhantomData;
use core::mem::MaybeUninit;
use thalweg_sync::CachePadded;
use thalweg_sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use thalweg_sync::atomic::{AtomicBool, AtomicU64, fence};

/// What all ends share. Invariants D1 to D4 are in the module's documentation.
#[derive(Debug)]
pub(super) struct Ring<T, W: Wait> {
    pub(super) shape: Shape,
    blocks: Box<[CachePadded<Block>]>,
    /// The entries of all blocks, each in as many words as it takes.
    words: Box<[AtomicU64]>,
    /// The block that producers fill: at times behind, never ahead.
    phead: CachePadded<AtomicU64>,
    taken: CachePadded<Taken>,
    pub(super) handles: CachePadded<Handles>,
    pub(super) wait: W,
    /// Nothing of a `T` is here but bytes, and any thread may have those, as a `Plain` is `Send`.
    _items: PhantomData<fn(T) -> T>,
}

/// The cursors of a block. Written by producers; consumers read them once per item.
#[derive(Debug)]
struct Block {
    /// The next entry to give to a producer.
    allocated: AtomicU64,
    /// How many entries are written.
    committed: AtomicU64,
    /// All entries before it are written, as a producer has seen. Kept only while it is `wanted`, and else out of date.
    ready: AtomicU64,
    /// A consumer has found entries that it could not take since a later push was half-way. False when a round begins.
    wanted: AtomicBool,
}

/// Written by consumers alone.
#[derive(Debug)]
struct Taken {
    /// The next entry to read.
    next: AtomicU64,
    /// How many items consumers have passed over.
    dropped: AtomicU64,
}

/// What [`Ring::look`] found.
enum Look {
    /// An item is there.
    Item(Place),
    /// Nothing is there.
    Empty,
    /// An entry of the block of this place is allocated and not committed, and no item can be told to have all before it committed.
    Busy(Place),
    /// The block of the first place has been begun again, in the round of the second.
    Overrun(Place, Place),
}

impl<T: Plain, W: Wait> Ring<T, W> {
    /// How many words an entry takes.
    const WORDS: usize = plain::words::<T>();

    /// An empty ring that starts at the block number `head`.
    pub(super) fn new(head: u64, blocks: usize, entries: usize, wait: W) -> Result<Self, BuildError> {
        let memory = isize::MAX as usize / (8 * Self::WORDS.max(1)) / blocks.max(1);
        BuildError::check("entries", entries, 1, memory.min(1 << 31))?;
        let shape = Shape::new(blocks, entries, 1)?;
        let first = shape.block(head);
        let blocks = (0..blocks).map(|index| {
            // In ring order from the first block, which is open; the others have just ended their last round.
            let ahead = index.wrapping_sub(shape.index(first)) & (blocks - 1);
            let at = match ahead {
                0 => first,
                _ => shape.end(shape.before(shape.after(first, ahead), blocks)),
            };
            let cursor = || AtomicU64::new(at.0);
            let block =
                Block { allocated: cursor(), committed: cursor(), ready: cursor(), wanted: AtomicBool::new(false) };
            CachePadded(block)
        });
        Ok(Self {
            shape,
            blocks: memory::boxed(blocks)?,
            words: memory::boxed((0..shape.capacity() * Self::WORDS).map(|_| AtomicU64::new(0)))?,
            phead: CachePadded(AtomicU64::new(first.0)),
            taken: CachePadded(Taken { next: AtomicU64::new(first.0), dropped: AtomicU64::new(0) }),
            handles: CachePadded(Handles::new()),
            wait,
            _items: PhantomData,
        })
    }

    #[inline(always)]
    fn block(&self, place: Place) -> &Block {
        &self.blocks[self.shape.index(place)]
    }

    /// The words of the entry at `place`.
    #[inline(always)]
    fn words(&self, place: Place) -> &[AtomicU64] {
        let first = (self.shape.index(place) * self.shape.entries + self.shape.offset(place)) * Self::WORDS;
        &self.words[first..first + Self::WORDS]
    }

    #[inline(always)]
    fn phead(&self) -> Place {
        // (drop_old.1) Acquire, pairs with (drop_old.2): who sees the head sees its block begun. Relaxed would look again and again
        // until it does; and a consumer would call a block empty that it has just jumped to.
        Place(self.phead.load(edge("drop_old.1", Acquire)))
    }

    #[inline(always)]
    fn allocated(&self, place: Place) -> Place {
        // (drop_old.3) Acquire, pairs with (drop_old.4): who sees a later round also sees the head that led to it, and so the blocks
        // that were begun before.
        Place(self.block(place).allocated.load(edge("drop_old.3", Acquire)))
    }

    /// Pushes, or says why not: `Busy` or `Closed`.
    #[inline(always)]
    pub(super) fn push(&self, value: &T) -> Result<(), TryPushError<()>> {
        let place = self.allocate()?;
        // (drop_old.5) A release fence, pairs with (drop_old.6): who has read a word that is written below sees this round in
        // `allocated` (D2). Without it a consumer could take half of an item of the last round for a whole one.
        fenced("drop_old.5", || fence(Release));
        plain::store(self.words(place), value);
        self.commit(place);
        Ok(())
    }

    /// The place of the next entry to write.
    #[inline(always)]
    fn allocate(&self) -> Result<Place, TryPushError<()>> {
        if self.handles.consumers_gone() {
            return Err(TryPushError::Closed(()));
        }
        loop {
            let head = self.phead();
            // It looks before it adds, so each thread runs past the end at most once a round.
            let allocated = self.allocated(head);
            if !self.shape.in_one_block(allocated, head) {
                continue;
            }
            if self.shape.offset(allocated) < self.shape.entries {
                // (drop_old.7) Acquire, pairs with (drop_old.4): those who wrote the entry in the last round come before us, so
                // theirs is not what is left in the end (D2).
                //
                // The round may have changed since we looked: then this is an entry of the later round, every bit as good.
                let place = Place(self.block(head).allocated.fetch_add(1, edge("drop_old.7", Acquire)));
                if self.shape.offset(place) < self.shape.entries {
                    return Ok(place);
                }
            }
            if !self.may_begin(self.shape.after(head, 1)) {
                return Err(TryPushError::Busy(()));
            }
            self.begin(head);
        }
    }

    /// Lets consumers see the entry at `place`.
    #[inline(always)]
    fn commit(&self, place: Place) {
        let block = self.block(place);
        // (drop_old.8) Release, pairs with (drop_old.9): who reads this count or a later one (a chain of `fetch_add` is one release
        // sequence) sees the write above. Acquire, for `tell`: it passes on what was committed before.
        let before = Place(block.committed.fetch_add(1, edge("drop_old.8", AcqRel)));
        // Relaxed: a hint. Who misses it leaves it to the next commit.
        if block.wanted.load(Relaxed) {
            self.tell(Place(before.0 + 1));
        }
        self.wait.ring(Side::Items, 1, || true);
        if self.shape.offset(before) + 1 == self.shape.entries {
            // Producers that are a round ahead may have waited for this one.
            self.wait.ring(Side::Room, usize::MAX, || true);
        }
    }

    /// Tells consumers that everything before `committed` is written, if no push is half-way.
    #[cold]
    fn tell(&self, committed: Place) {
        let block = self.block(committed);
        // Relaxed: our commit put us after every allocation that led to it, so this reads at least those. If it reads exactly as
        // many, they are the first entries of the block and all are committed.
        if Place(block.allocated.load(Relaxed)) != committed {
            return;
        }
        let mut ready = block.ready.load(Relaxed);
        while Place(ready).is_before(committed) {
            // (drop_old.10) Release, pairs with (drop_old.11): what was committed before comes along, by (drop_old.8).
            let order = edge("drop_old.10", Release);
            match block.ready.compare_exchange_weak(ready, committed.0, order, Relaxed) {
                Ok(_) => return,
                Err(now) => ready = now,
            }
        }
    }

    /// Whether the round of the block at `start` can begin, or has begun. Writes nothing.
    #[inline]
    fn may_begin(&self, start: Place) -> bool {
        let end = self.shape.end(self.shape.before(start, self.shape.blocks));
        // (drop_old.12) Acquire, pairs with (drop_old.8): everybody has written who does so in the last round, and (drop_old.4)
        // passes that on to the writers of the next one (D2).
        let committed = Place(self.block(start).committed.load(edge("drop_old.12", Acquire)));
        !committed.is_before(end)
    }

    /// Whether a push would find an entry. Writes nothing.
    pub(super) fn may_push(&self) -> bool {
        let head = self.phead();
        let allocated = self.allocated(head);
        !self.shape.in_one_block(allocated, head)
            || self.shape.offset(allocated) < self.shape.entries
            || self.may_begin(self.shape.after(head, 1))
    }

    /// Begins the round of the block after the one at `head`, or finishes what another producer has begun. Only after
    /// [`may_begin`](Self::may_begin).
    #[cold]
    fn begin(&self, head: Place) {
        let start = self.shape.after(head, 1);
        let last = self.shape.before(start, self.shape.blocks);
        let block = self.block(start);
        // Relaxed: hints. Before anything is told of this round, nothing is.
        block.wanted.store(false, Relaxed);
        block.ready.store(start.0, Relaxed);
        // First `committed`, then `allocated`: the other way round, a commit of the new round could be counted in the old one and
        // wiped out. Failure is Relaxed: somebody else has done it, and it comes before what we do next by coherence.
        //
        // (drop_old.13) Release, pairs with (drop_old.9): as (drop_old.4), for a consumer that sees the later round here.
        let order = edge("drop_old.13", Release);
        let _ = block.committed.compare_exchange(self.shape.end(last).0, start.0, order, Relaxed);
        // Relaxed: only whether it is still the last round matters.
        let mut allocated = block.allocated.load(Relaxed);
        while self.shape.in_one_block(Place(allocated), last) {
            // (drop_old.4) Release, pairs with (drop_old.3) and (drop_old.7).
            match block.allocated.compare_exchange(allocated, start.0, edge("drop_old.4", Release), Relaxed) {
                Ok(_) => break,
                // Another producer ran past the end meanwhile, or began the round.
                Err(now) => allocated = now,
            }
        }
        // The head last: ahead of the block's cursors it would let producers skip the block.
        //
        // (drop_old.2) Release, pairs with (drop_old.1). Failure is Relaxed: somebody else has moved it.
        let _ = self.phead.compare_exchange(head.0, start.0, edge("drop_old.2", Release), Relaxed);
    }

    /// Pops the oldest item that survives, with its place.
    #[inline(always)]
    pub(super) fn pop(&self) -> Result<(Place, T), TryPopError> {
        loop {
            match self.look() {
                Look::Item(place) => {
                    let value = plain::load::<T>(self.words(place));
                    if let Some(value) = self.take(place, value) {
                        return Ok((place, value));
                    }
                }
                Look::Overrun(next, newer) => self.pass_over(next, newer),
                Look::Empty => return Err(TryPopError::Empty),
                Look::Busy(place) => {
                    self.want(place);
                    return Err(TryPopError::Busy);
                }
            }
        }
    }

    /// What a pop can do. Writes nothing.
    #[inline(always)]
    fn look(&self) -> Look {
        // (drop_old.14) Acquire, pairs with (drop_old.15): who finds that items were taken also sees what those who took them had
        // seen and pushed before, else it could call a queue empty that never was.
        let next = Place(self.taken.next.load(edge("drop_old.14", Acquire)));
        // (drop_old.9) Acquire, pairs with (drop_old.8) and (drop_old.13).
        let committed = Place(self.block(next).committed.load(edge("drop_old.9", Acquire)));
        if !self.shape.in_one_block(committed, next) {
            // Before its round, the block was not begun, and there is nothing behind it.
            return if committed.is_before(next) { Look::Empty } else { Look::Overrun(next, committed) };
        }
        let mut count = self.shape.offset(committed);
        if count < self.shape.entries {
            // (drop_old.9) put us after every allocation that led to `committed`, so this reads at least those. If it reads exactly
            // as many, they are the first `count` entries and all are committed.
            let allocated = self.allocated(next);
            // Also if nothing is left to take: behind a push that is half-way to the block's last entry, pushes into the next
            // block may have ended.
            if allocated != committed {
                if !self.shape.in_one_block(allocated, next) {
                    // Of a block that is being begun, `allocated` is a step behind.
                    let begins = allocated.is_before(next);
                    return if begins { Look::Empty } else { Look::Overrun(next, allocated) };
                }
                count = self.ready(next);
                if self.shape.offset(next) >= count {
                    return Look::Busy(next);
                }
            }
        }
        if self.shape.offset(next) < count { Look::Item(next) } else { Look::Empty }
    }

    /// Whether a pop would do anything but find nothing. Writes nothing.
    pub(super) fn may_pop(&self) -> bool {
        matches!(self.look(), Look::Item(_) | Look::Overrun(..))
    }

    /// Asks producers to tell what is written in the block of `place`.
    #[cold]
    fn want(&self, place: Place) {
        let wanted = &self.block(place).wanted;
        // Relaxed: a hint. Looked at first, so that waiting consumers do not write to the producers' line.
        if !wanted.load(Relaxed) {
            wanted.store(true, Relaxed);
        }
    }

    /// How many entries of the block of `place` are told to be written, while a push is half-way.
    #[cold]
    fn ready(&self, place: Place) -> usize {
        // (drop_old.11) Acquire, pairs with (drop_old.10): the entries are written. Relaxed would hand out unwritten ones.
        let ready = Place(self.block(place).ready.load(edge("drop_old.11", Acquire)));
        if self.shape.in_one_block(ready, place) { self.shape.offset(ready) } else { 0 }
    }

    /// Takes the item at `place`, of which `value` is a copy. None if it was overwritten, perhaps while it was copied, or is taken.
    #[inline(always)]
    fn take(&self, place: Place, value: MaybeUninit<T>) -> Option<T> {
        // (drop_old.6) An acquire fence, pairs with (drop_old.5).
        fenced("drop_old.6", || fence(Acquire));
        let allocated = self.allocated(place);
        if !self.shape.in_one_block(allocated, place) {
            self.pass_over(place, allocated);
            return None;
        }
        // From here on it does not matter whether it is overwritten: if nobody has moved `next` meanwhile, we took it when we saw
        // that it was there (D3).
        //
        // (drop_old.15) Release, pairs with (drop_old.14). Failure is Relaxed: we look again.
        let order = edge("drop_old.15", Release);
        let forward = self.shape.forward(place, 1);
        self.taken.next.compare_exchange(place.0, forward.0, order, Relaxed).ok()?;
        // SAFETY: `look` saw the entry committed, in the round of `place`, and nobody had allocated in a later round when all its
        // words were read (D2): so they are those of one value, which was a `T`.
        Some(unsafe { value.assume_init() })
    }

    /// Goes on from `next`, whose block was begun again in the round of `newer`, to the oldest item that survives.
    #[cold]
    fn pass_over(&self, next: Place, newer: Place) {
        // The head may not have been moved to that block yet.
        let (head, newer) = (self.phead(), self.shape.start(newer));
        let newest = if head.is_before(newer) { newer } else { head };
        let oldest = self.shape.before(newest, self.shape.blocks - 1);
        // (drop_old.15), and (drop_old.3) or (drop_old.9) has shown us that block begun (D3). Failure is Relaxed: somebody else has
        // passed them over, or taken the item.
        let order = edge("drop_old.15", Release);
        if self.taken.next.compare_exchange(next.0, oldest.0, order, Relaxed).is_ok() {
            // Relaxed: a number that is looked at.
            self.taken.dropped.fetch_add(self.shape.distance(next, oldest), Relaxed);
        }
    }

    /// How many items were passed over.
    pub(super) fn dropped(&self) -> u64 {
        // Relaxed: as above.
        self.taken.dropped.load(Relaxed)
    }

    /// How many items are pushed, and neither popped nor overwritten, lately.
    pub(super) fn len(&self) -> usize {
        // The consumers' side first: a count of commits read after it is not below it. Acquire keeps the order.
        let next = Place(self.taken.next.load(Acquire));
        let head = self.phead();
        let committed = Place(self.block(head).committed.load(Acquire));
        if !self.shape.in_one_block(committed, head) || committed.is_before(next) {
            return 0;
        }
        let oldest = self.shape.before(head, self.shape.blocks - 1);
        let next = if next.is_before(oldest) { oldest } else { next };
        self.shape.distance(next, committed) as usize
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::Yield;

    /// A push that is half-way, to be ended later.
    fn begun(ring: &Ring<usize, Yield>, value: usize) -> Place {
        let place = ring.allocate().unwrap();
        plain::store(ring.words(place), &value);
        place
    }

    /// One producer that never rests, and a consumer that looks between any two steps: what is committed is delivered though the
    /// block is never still.
    #[test]
    fn what_is_committed_is_delivered_while_a_push_is_half_way() {
        let ring = Ring::new(0, 2, 64, Yield).unwrap();
        let mut delivered = 0;
        let mut half_way = begun(&ring, 0);
        for number in 1..64 {
            ring.commit(half_way);
            half_way = begun(&ring, number);
            while let Ok((_, value)) = ring.pop() {
                assert_eq!(value, delivered);
                delivered += 1;
            }
            assert!(delivered + 1 >= number, "{delivered} of {number} delivered");
        }
    }

    /// Half of a push, then a whole round of others: they wait for it, and a consumer does not call the queue empty.
    #[test]
    fn a_push_that_was_overtaken_keeps_others_busy() {
        let ring = Ring::new(0, 2, 2, Yield).unwrap();
        let late = begun(&ring, 0);
        for number in 1..4 {
            ring.push(&number).unwrap();
        }
        assert_eq!(ring.push(&4), Err(TryPushError::Busy(())));
        assert!(!ring.may_push() && !ring.may_pop());
        assert!(matches!(ring.pop(), Err(TryPopError::Busy)));
        ring.commit(late);
        assert!(ring.may_push());
        ring.push(&4).unwrap();
        assert_eq!(ring.pop().unwrap().1, 2);
        assert_eq!(ring.dropped(), 2);
    }

    /// A consumer that has copied an item when its block is begun again does not take it, and one that was overrun by several
    /// rounds goes to the oldest survivor.
    #[test]
    fn what_is_overwritten_while_it_is_read_is_not_taken() {
        for rounds in 1..4 {
            let ring = Ring::new(0, 4, 2, Yield).unwrap();
            ring.push(&0).unwrap();
            let Look::Item(place) = ring.look() else { panic!("no item") };
            let copy = plain::load::<usize>(ring.words(place));
            let pushed = 8 * rounds + 3;
            for number in 1..pushed {
                ring.push(&number).unwrap();
            }
            assert_eq!(ring.take(place, copy), None);
            // The open block is the second of its round; the three blocks that end with it are left.
            assert_eq!(ring.dropped(), pushed as u64 - 7);
            assert_eq!(ring.pop().unwrap().1, pushed - 7);
        }
    }
}
