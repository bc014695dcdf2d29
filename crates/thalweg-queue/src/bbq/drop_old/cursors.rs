//! The cursors of the blocks, and the walk from block to block. What is at the places that they point to, they do not know: items of
//! one size, or messages, each of which takes one unit or more.

use super::super::handles::Handles;
use super::super::place::{Place, Shape};
use crate::edges::{edge, fenced};
use crate::wait::{Side, Wait, both};
use crate::{BuildError, TryPopError, TryPushError, memory};
use alloc::boxed::Box;
use thalweg_sync::CachePadded;
use thalweg_sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use thalweg_sync::atomic::{AtomicBool, AtomicU64, fence};

/// What all ends share, but for the memory. Invariants D1 to D4 are in the module's documentation.
#[derive(Debug)]
pub(in super::super) struct Cursors<W: Wait> {
    pub(in super::super) shape: Shape,
    blocks: Box<[CachePadded<Block>]>,
    /// The block that producers fill: at times behind, never ahead.
    phead: CachePadded<AtomicU64>,
    taken: CachePadded<Taken>,
    pub(in super::super) handles: CachePadded<Handles>,
    pub(in super::super) wait: W,
}

/// The cursors of a block, in units. Written by producers; consumers read them once per item.
#[derive(Debug)]
struct Block {
    /// The next unit to give to a producer.
    allocated: AtomicU64,
    /// How many units are written.
    committed: AtomicU64,
    /// All units before it are written, as a producer has seen. Kept only while it is `wanted`, and else out of date.
    ready: AtomicU64,
    /// A consumer has found entries that it could not take since a later push was half-way. False when a round begins.
    wanted: AtomicBool,
}

/// Written by consumers alone.
#[derive(Debug)]
struct Taken {
    /// The next unit to read.
    next: AtomicU64,
    /// How many units consumers have passed over.
    dropped: AtomicU64,
}

/// What [`Cursors::look`] found.
pub(in super::super) enum Look {
    /// So many units from there on are written, at least one.
    Units(Place, usize),
    /// Nothing is there.
    Empty,
    /// A unit of the block of this place is allocated and not committed, and none can be told to have all before it committed.
    Busy(Place),
    /// The block of the first place has been begun again, in the round of the second.
    Overrun(Place, Place),
}

impl<W: Wait> Cursors<W> {
    /// Cursors of a ring of `blocks` blocks of `entries` units that starts at the block number `head`.
    pub(in super::super) fn new(head: u64, blocks: usize, entries: usize, wait: W) -> Result<Self, BuildError> {
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
            phead: CachePadded(AtomicU64::new(first.0)),
            taken: CachePadded(Taken { next: AtomicU64::new(first.0), dropped: AtomicU64::new(0) }),
            handles: CachePadded(Handles::new()),
            wait,
        })
    }

    #[inline(always)]
    fn block(&self, place: Place) -> &Block {
        &self.blocks[self.shape.index(place)]
    }

    /// Which unit of the memory `place` is.
    #[inline(always)]
    pub(in super::super) fn unit(&self, place: Place) -> usize {
        self.shape.index(place) * self.shape.entries + self.shape.offset(place)
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

    /// Units to write, next to each other: up to `most`, and at least `least`, which is at most a block's. Says why not: `Busy` or
    /// `Closed`.
    ///
    /// Where fewer than `least` are left of a block, they are given to `skip`, which notes that nothing is there, and are committed.
    #[inline(always)]
    pub(in super::super) fn allocate(
        &self,
        (least, most): (usize, usize),
        skip: impl Fn(Place, usize),
    ) -> Result<(Place, usize), TryPushError<()>> {
        if self.handles.consumers_gone() {
            return Err(TryPushError::Closed(()));
        }
        loop {
            let head = self.phead();
            // One by one it looks before it adds, so each thread runs past the end at most once a round.
            let allocated = self.allocated(head);
            if !self.shape.in_one_block(allocated, head) {
                continue;
            }
            let left = self.shape.entries.saturating_sub(self.shape.offset(allocated));
            if left >= least {
                if let Some(units) = self.claim(allocated, most.min(left)) {
                    return Ok(units);
                }
                continue;
            }
            if !self.may_begin(self.shape.after(head, 1)) {
                return Err(TryPushError::Busy(()));
            }
            if left == 0 {
                self.begin(head);
            } else if let Some((place, count)) = self.claim(allocated, left) {
                self.before_writing();
                skip(place, count);
                self.commit(place, count);
            }
        }
    }

    /// Takes `count` units from `allocated` on; if it is one, of whatever comes next, perhaps in a later round: it is every bit as
    /// good. None if another producer was faster, or the block is at its end.
    #[inline(always)]
    fn claim(&self, allocated: Place, count: usize) -> Option<(Place, usize)> {
        let word = &self.block(allocated).allocated;
        // (drop_old.7) Acquire, pairs with (drop_old.4): those who wrote the unit in the last round come before us, so theirs is
        // not what is left in the end (D2).
        let order = edge("drop_old.7", Acquire);
        if count == 1 {
            let place = Place(word.fetch_add(1, order));
            return (self.shape.offset(place) < self.shape.entries).then_some((place, 1));
        }
        word.compare_exchange(allocated.0, allocated.0 + count as u64, order, Relaxed).ok()?;
        Some((allocated, count))
    }

    /// Comes between [`allocate`](Self::allocate) and the first word that is written.
    #[inline(always)]
    pub(in super::super) fn before_writing(&self) {
        // (drop_old.5) A release fence, pairs with (drop_old.6): who has read a word that is written after it sees this round in
        // `allocated` (D2). Without it a consumer could take half of an item of the last round for a whole one.
        fenced("drop_old.5", || fence(Release));
    }

    /// Lets consumers see `count` units from `place` on.
    #[inline(always)]
    pub(in super::super) fn commit(&self, place: Place, count: usize) {
        let block = self.block(place);
        // (drop_old.8) Release, pairs with (drop_old.9): who reads this count or a later one (a chain of `fetch_add` is one release
        // sequence) sees what was written. Acquire, for `tell`: it passes on what was committed before.
        let before = Place(block.committed.fetch_add(count as u64, edge("drop_old.8", AcqRel)));
        // Relaxed: a hint. Who misses it leaves it to the next commit.
        if block.wanted.load(Relaxed) {
            self.tell(Place(before.0 + count as u64));
        }
        let room = || {
            if self.shape.offset(before) + count == self.shape.entries {
                // Producers that are a round ahead may have waited for this one.
                self.wait.ring(Side::Room, usize::MAX, || true);
            }
        };
        both(|| self.wait.ring(Side::Items, count, || true), room);
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

    /// Whether a push of `least` units would find them. Writes nothing.
    pub(in super::super) fn may_push(&self, least: usize) -> bool {
        let head = self.phead();
        let allocated = self.allocated(head);
        !self.shape.in_one_block(allocated, head)
            || self.shape.offset(allocated) + least <= self.shape.entries
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

    /// Takes what `copy` copies, of the oldest that survives: it gets the place of the first unit and how many are written, and says
    /// how many it copied, or none if they were out of date. Returns their place and what else `copy` returned.
    ///
    /// What it copied may be torn. If it is returned, it was whole.
    #[inline(always)]
    pub(in super::super) fn pop<R>(
        &self,
        mut copy: impl FnMut(Place, usize) -> Option<(usize, R)>,
    ) -> Result<(Place, R), TryPopError> {
        loop {
            match self.look() {
                Look::Units(place, count) => {
                    let copied = copy(place, count);
                    if self.is_current(place)
                        && let Some((count, copied)) = copied
                        && self.take(place, count)
                    {
                        return Ok((place, copied));
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
    pub(in super::super) fn look(&self) -> Look {
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
        match count.saturating_sub(self.shape.offset(next)) {
            0 => Look::Empty,
            units => Look::Units(next, units),
        }
    }

    /// Whether a pop would do anything but find nothing. Writes nothing.
    pub(in super::super) fn may_pop(&self) -> bool {
        match self.look() {
            Look::Units(..) | Look::Overrun(..) => true,
            Look::Empty => false,
            // The pop asks to be told what is written. Without that a wait could last until the block is full.
            Look::Busy(place) => !self.is_wanted(place),
        }
    }

    /// Whether producers were asked to tell what is written in the block of `place`.
    fn is_wanted(&self, place: Place) -> bool {
        // Relaxed: a hint.
        self.block(place).wanted.load(Relaxed)
    }

    /// Asks producers to tell what is written in the block of `place`.
    #[cold]
    fn want(&self, place: Place) {
        // Looked at first, so that waiting consumers do not write to the producers' line.
        if !self.is_wanted(place) {
            // Relaxed: a hint.
            self.block(place).wanted.store(true, Relaxed);
        }
    }

    /// How many units of the block of `place` are told to be written, while a push is half-way.
    #[cold]
    fn ready(&self, place: Place) -> usize {
        // (drop_old.11) Acquire, pairs with (drop_old.10): the entries are written. Relaxed would hand out unwritten ones.
        let ready = Place(self.block(place).ready.load(edge("drop_old.11", Acquire)));
        if self.shape.in_one_block(ready, place) { self.shape.offset(ready) } else { 0 }
    }

    /// Whether what was read at `place` and behind it was of its round. If not, moves on.
    #[inline(always)]
    pub(in super::super) fn is_current(&self, place: Place) -> bool {
        // (drop_old.6) An acquire fence, pairs with (drop_old.5).
        fenced("drop_old.6", || fence(Acquire));
        let allocated = self.allocated(place);
        let current = self.shape.in_one_block(allocated, place);
        if !current {
            self.pass_over(place, allocated);
        }
        current
    }

    /// Takes `count` units from `place` on, which were read and [current](Self::is_current). False if they are taken, or passed over.
    #[inline(always)]
    pub(in super::super) fn take(&self, place: Place, count: usize) -> bool {
        // From the look on it does not matter whether they are overwritten: if nobody has moved `next` meanwhile, we took them when
        // we saw that they were there (D3).
        //
        // (drop_old.15) Release, pairs with (drop_old.14). Failure is Relaxed: we look again.
        let forward = self.shape.forward(place, count);
        self.taken.next.compare_exchange(place.0, forward.0, edge("drop_old.15", Release), Relaxed).is_ok()
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

    /// How many units were passed over.
    pub(in super::super) fn dropped(&self) -> u64 {
        // Relaxed: as above.
        self.taken.dropped.load(Relaxed)
    }

    /// How many units are pushed, and neither popped nor overwritten, lately.
    pub(in super::super) fn len(&self) -> usize {
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
