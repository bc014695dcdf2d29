//! The cursors and marks of the blocks, and the walk from block to block. What is at the places that they point to, they do not know:
//! items of one size, or messages, each of which takes one unit or more.

use crate::edges::{edge, fenced, in_order};
use crate::handles::Handles;
use crate::marks::{self, Marks};
use crate::mpmc::spot::{Shape, Spot};
use crate::wait::{Side, Wait, both};
use crate::{BuildError, TryPopError, TryPushError, memory, prefetch};
use alloc::boxed::Box;
use thalweg_sync::CachePadded;
use thalweg_sync::atomic::Ordering::{Acquire, Relaxed, Release};
use thalweg_sync::atomic::{AtomicU64, fence};

/// What all ends share, but for the memory. Invariants D1 to D4 are in the module's documentation.
#[derive(Debug)]
pub(crate) struct Cursors<W: Wait> {
    pub(crate) shape: Shape,
    blocks: Box<[Block]>,
    /// The block that producers fill: at times behind, never ahead.
    phead: CachePadded<AtomicU64>,
    taken: CachePadded<Taken>,
    pub(crate) handles: CachePadded<Handles>,
    pub(crate) wait: W,
}

/// What there is of a block, but for its memory. Written by producers.
#[derive(Debug)]
struct Block {
    /// The next unit to give to a producer. Consumers read it twice per item.
    allocated: CachePadded<AtomicU64>,
    /// Which units are written.
    written: Marks,
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
pub(crate) enum Sight {
    /// So many units from there on are written, at least one: as many as were wanted, or all that are.
    Units(Spot, usize),
    /// Nothing is there.
    Empty,
    /// The next unit is allocated and not committed.
    Busy,
    /// The block of the first place has been begun again, in the round of the second.
    Overrun(Spot, Spot),
}

impl<W: Wait> Cursors<W> {
    /// Cursors of a ring of that shape that starts at the block number `head`.
    pub(crate) fn new(head: u64, shape: Shape, wait: W) -> Result<Self, BuildError> {
        let Shape { blocks, entries, .. } = shape;
        let first = shape.block(head);
        let blocks = (0..blocks).map(|index| {
            // In ring order from the first block, which is open; the others have just ended their last round.
            let ahead = index.wrapping_sub(shape.index(first)) & (blocks - 1);
            let last = shape.before(shape.after(first, ahead), blocks);
            let at = if ahead == 0 { first } else { shape.end(last) };
            let written = Marks::new(&mut memory::Heap, entries, shape.mark(last))?;
            Ok(Block { allocated: CachePadded(AtomicU64::new(at.0)), written })
        });
        Ok(Self {
            shape,
            blocks: memory::try_boxed(blocks)?,
            phead: CachePadded(AtomicU64::new(first.0)),
            taken: CachePadded(Taken { next: AtomicU64::new(first.0), dropped: AtomicU64::new(0) }),
            handles: CachePadded(Handles::new()),
            wait,
        })
    }

    #[inline(always)]
    fn block(&self, place: Spot) -> &Block {
        &self.blocks[self.shape.index(place)]
    }

    /// Which unit of the memory `place` is.
    #[inline(always)]
    pub(crate) fn unit(&self, place: Spot) -> usize {
        self.shape.index(place) * self.shape.entries + self.shape.offset(place)
    }

    #[inline(always)]
    fn phead(&self) -> Spot {
        // (drop_old.1) Acquire, pairs with (drop_old.2): who sees the head sees its block begun. Relaxed would look again and again
        // until it does; and a consumer would call a block empty that it has just jumped to.
        Spot(self.phead.load(edge("drop_old.1", Acquire)))
    }

    #[inline(always)]
    fn allocated(&self, place: Spot) -> Spot {
        // (drop_old.3) Acquire, pairs with (drop_old.4): who sees a later round also sees the head that led to it, and so the blocks
        // that were begun before.
        Spot(self.block(place).allocated.load(edge("drop_old.3", Acquire)))
    }

    /// Units to write, next to each other: up to `most`, and at least `least`, which is at most a block's. Says why not: `Busy` or
    /// `Closed`.
    ///
    /// Where fewer than `least` are left of a block, they are given to `skip`, which notes that nothing is there, and are committed.
    #[inline(always)]
    pub(crate) fn allocate(
        &self,
        (least, most): (usize, usize),
        skip: impl Fn(Spot, usize),
    ) -> Result<(Spot, usize), TryPushError<()>> {
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
    fn claim(&self, allocated: Spot, count: usize) -> Option<(Spot, usize)> {
        let word = &self.block(allocated).allocated;
        // (drop_old.7) Acquire, pairs with (drop_old.4): those who wrote the unit in the last round come before us, so theirs is
        // not what is left in the end (D2).
        let order = edge("drop_old.7", Acquire);
        if count == 1 {
            let place = Spot(word.fetch_add(1, order));
            return (self.shape.offset(place) < self.shape.entries).then_some((place, 1));
        }
        word.compare_exchange(allocated.0, allocated.0 + count as u64, order, Relaxed).ok()?;
        Some((allocated, count))
    }

    /// Comes between [`allocate`](Self::allocate) and the first word that is written.
    #[inline(always)]
    pub(crate) fn before_writing(&self) {
        // (drop_old.5) A release fence, pairs with (drop_old.6): who has read a word that is written after it sees this round in
        // `allocated` (D2). Without it a consumer could take half of an item of the last round for a whole one.
        fenced("drop_old.5", || fence(Release));
    }

    /// Lets consumers see `count` units from `place` on, all or none.
    #[inline(always)]
    pub(crate) fn commit(&self, place: Spot, count: usize) {
        let (written, first) = (&self.block(place).written, self.shape.offset(place));
        if let Some(later) = written.line(first + count + marks::PER_LINE / 2) {
            prefetch::for_write(later);
        }
        // (drop_old.8) Release, pairs with (drop_old.9) and (drop_old.12): who sees the mark sees what was written.
        let order = edge("drop_old.8", Release);
        match count {
            1 => written.set(first, self.shape.mark(place), order),
            _ => written.set_all(first..first + count, self.shape.mark(place), order),
        }
        // Producers that are a round ahead may have waited for this one.
        let room = || self.wait.notify(Side::Room, usize::MAX, || self.may_push(1));
        both(|| self.wait.notify(Side::Items, count, || true), room);
    }

    /// Whether the round of the block at `start` can begin, or has begun. Writes nothing.
    #[inline]
    fn may_begin(&self, start: Spot) -> bool {
        let last = self.shape.before(start, self.shape.blocks);
        // (drop_old.12) Acquire, pairs with (drop_old.8): everybody has written who does so in the last round, and (drop_old.4)
        // passes that on to the writers of the next one (D2).
        let Block { written, .. } = self.block(start);
        written.all_are(self.shape.mark(last), self.shape.entries, edge("drop_old.12", Acquire))
            // Marks of the round that begins look like missing ones.
            || !self.shape.in_one_block(self.allocated(start), last)
    }

    /// Whether a push of `least` units would find them. Writes nothing.
    pub(crate) fn may_push(&self, least: usize) -> bool {
        let head = self.phead();
        let allocated = self.allocated(head);
        !self.shape.in_one_block(allocated, head)
            || self.shape.offset(allocated) + least <= self.shape.entries
            || self.may_begin(self.shape.after(head, 1))
    }

    /// Begins the round of the block after the one at `head`, or finishes what another producer has begun. Only after
    /// [`may_begin`](Self::may_begin).
    #[cold]
    fn begin(&self, head: Spot) {
        let start = self.shape.after(head, 1);
        let last = self.shape.before(start, self.shape.blocks);
        let begins = || {
            let word = &self.block(start).allocated;
            // Relaxed: only whether it is still the last round matters.
            let mut allocated = word.load(Relaxed);
            while self.shape.in_one_block(Spot(allocated), last) {
                // (drop_old.4) Release, pairs with (drop_old.3) and (drop_old.7).
                match word.compare_exchange(allocated, start.0, edge("drop_old.4", Release), Relaxed) {
                    Ok(_) => break,
                    // Another producer ran past the end meanwhile, or began the round.
                    Err(now) => allocated = now,
                }
            }
        };
        let moves = || {
            // (drop_old.2) Release, pairs with (drop_old.1). Failure is Relaxed: somebody else has moved it.
            let _ = self.phead.compare_exchange(head.0, start.0, edge("drop_old.2", Release), Relaxed);
        };
        // (drop_old.16) The head last: ahead of `allocated` it would have producers look again and again.
        in_order("drop_old.16", begins, moves);
    }

    /// Takes what `copy` copies, of the oldest that survives: it gets the place of the first unit and how many are written, up to
    /// `want`, and says how many it copied, or none if they were out of date. Returns their place and what else `copy` returned.
    ///
    /// What it copied may be torn. If it is returned, it was whole.
    #[inline(always)]
    pub(crate) fn pop<R>(
        &self,
        want: usize,
        mut copy: impl FnMut(Spot, usize) -> Option<(usize, R)>,
    ) -> Result<(Spot, R), TryPopError> {
        loop {
            match self.look(want) {
                Sight::Units(place, count) => {
                    let copied = copy(place, count);
                    if self.is_current(place)
                        && let Some((count, copied)) = copied
                        && self.take(place, count)
                    {
                        return Ok((place, copied));
                    }
                }
                Sight::Overrun(next, newer) => self.pass_over(next, newer),
                Sight::Empty => return Err(TryPopError::Empty),
                Sight::Busy => return Err(TryPopError::Busy),
            }
        }
    }

    /// What a pop of up to `want` units, at least one, can do. Writes nothing.
    #[inline(always)]
    pub(crate) fn look(&self, want: usize) -> Sight {
        // (drop_old.14) Acquire, pairs with (drop_old.15): who finds that items were taken also sees what those who took them had
        // seen and pushed before, else it could call a queue empty that never was.
        let next = Spot(self.taken.next.load(edge("drop_old.14", Acquire)));
        let overrun = |allocated: Spot| {
            // Before its round, the block was not begun, and there is nothing behind it.
            if allocated.is_before(next) { Sight::Empty } else { Sight::Overrun(next, allocated) }
        };
        // Before the marks: from here on they are of this round or the last (D2), or of a later one that is seen below.
        let allocated = self.allocated(next);
        if !self.shape.in_one_block(allocated, next) {
            return overrun(allocated);
        }
        let offset = self.shape.offset(next);
        let most = self.shape.entries.min(offset.saturating_add(want));
        // (drop_old.9) Acquire, pairs with (drop_old.8).
        let order = edge("drop_old.9", Acquire);
        let units = self.block(next).written.first_other(self.shape.mark(next), offset, most, order) - offset;
        if units > 0 {
            return Sight::Units(next, units);
        }
        // Once more: a mark of the next round looks like a missing one, and who has seen one by (drop_old.9) sees that round begun.
        let allocated = self.allocated(next);
        if !self.shape.in_one_block(allocated, next) {
            overrun(allocated)
        } else if allocated == next {
            Sight::Empty
        } else {
            Sight::Busy
        }
    }

    /// Whether a pop would do anything but find nothing. Writes nothing.
    pub(crate) fn may_pop(&self) -> bool {
        // Whoever is half-way notifies when it ends.
        matches!(self.look(1), Sight::Units(..) | Sight::Overrun(..))
    }

    /// Whether what was read at `place` and behind it was of its round. If not, moves on.
    #[inline(always)]
    pub(crate) fn is_current(&self, place: Spot) -> bool {
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
    pub(crate) fn take(&self, place: Spot, count: usize) -> bool {
        // From the look on it does not matter whether they are overwritten: if nobody has moved `next` meanwhile, we took them when
        // we saw that they were there (D3).
        //
        // (drop_old.15) Release, pairs with (drop_old.14). Failure is Relaxed: we look again.
        let forward = self.shape.forward(place, count);
        self.taken.next.compare_exchange(place.0, forward.0, edge("drop_old.15", Release), Relaxed).is_ok()
    }

    /// Goes on from `next`, whose block was begun again in the round of `newer`, to the oldest item that survives.
    #[cold]
    fn pass_over(&self, next: Spot, newer: Spot) {
        // The head may not have been moved to that block yet.
        let (head, newer) = (self.phead(), self.shape.start(newer));
        let newest = if head.is_before(newer) { newer } else { head };
        let oldest = self.shape.before(newest, self.shape.blocks - 1);
        // (drop_old.15), and (drop_old.3) has shown us that block begun (D3). Failure is Relaxed: somebody else has
        // passed them over, or taken the item.
        let order = edge("drop_old.15", Release);
        if self.taken.next.compare_exchange(next.0, oldest.0, order, Relaxed).is_ok() {
            // Relaxed: a number that is looked at.
            self.taken.dropped.fetch_add(self.shape.distance(next, oldest), Relaxed);
        }
    }

    /// How many units were passed over.
    pub(crate) fn dropped(&self) -> u64 {
        // Relaxed: as above.
        self.taken.dropped.load(Relaxed)
    }

    /// How many units are pushed, and neither popped nor overwritten, lately.
    pub(crate) fn len(&self) -> usize {
        // The consumers' side first: what is allocated, read after it, is not below it. Acquire keeps the order.
        let next = Spot(self.taken.next.load(Acquire));
        let head = self.phead();
        let allocated = self.allocated(head);
        if !self.shape.in_one_block(allocated, head) || allocated.is_before(next) {
            return 0;
        }
        let end = self.shape.forward(head, self.shape.offset(allocated).min(self.shape.entries));
        let oldest = self.shape.before(head, self.shape.blocks - 1);
        let next = if next.is_before(oldest) { oldest } else { next };
        self.shape.distance(next, end) as usize
    }
}
