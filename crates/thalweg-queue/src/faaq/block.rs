//! One block: its entries, and the cursors that say who may touch which.

use crate::cursor::{Cursor, Head, Layout};
use crate::edges::{edge, in_order};
use crate::tube::{AllocateError, ReserveError};
use crate::{BuildError, memory, prefetch};
use alloc::boxed::Box;
use core::mem::MaybeUninit;
use thalweg_sync::atomic::AtomicU64;
use thalweg_sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use thalweg_sync::cell::Slot;
use thalweg_sync::{CachePadded, spin};

/// A block. Invariants Q1 to Q5 are in the module's documentation.
#[derive(Debug)]
pub(super) struct Block<T> {
    producers: CachePadded<ProducerCursors>,
    consumers: CachePadded<ConsumerCursors>,
    pub(super) entries: Box<[Slot<MaybeUninit<T>>]>,
}

/// Written by producers; consumers read them once per entry.
#[derive(Debug)]
struct ProducerCursors {
    /// The next entry to give to a producer.
    allocated: AtomicU64,
    /// How many entries are written.
    committed: AtomicU64,
}

/// Written by consumers; producers read them once per block.
#[derive(Debug)]
struct ConsumerCursors {
    /// The next entry to give to a consumer.
    reserved: AtomicU64,
    /// How many entries are read.
    consumed: AtomicU64,
}

/// What [`Block::allocate`] found.
pub(super) enum Allocate {
    /// The entry at this offset is the caller's to write and commit.
    Entry(usize),
    /// The block has no entry left in this round.
    Done,
    /// The head was out of date.
    Moved,
}

/// What [`Block::reserve`] found.
pub(super) enum Reserve {
    /// The entry at this offset is committed, and the caller's to read.
    Entry(usize),
    /// Nothing that is not reserved yet, and why.
    None(ReserveError),
    /// Every entry of this round has its consumer, and will have no other: [`Layout::sealed`].
    Done,
    /// Look again: the head was out of date, or somebody else was faster.
    Again,
}

impl<T> Block<T> {
    /// How many entries ahead a producer asks for: three lines, and at least one entry.
    const AHEAD: usize = 192usize.div_ceil(if size_of::<T>() == 0 { 1 } else { size_of::<T>() });

    /// A block whose cursors are all at `cursor`.
    pub(super) fn new(layout: &Layout, cursor: Cursor) -> Result<Self, BuildError> {
        let at = || AtomicU64::new(cursor.0);
        Ok(Self {
            producers: CachePadded(ProducerCursors { allocated: at(), committed: at() }),
            consumers: CachePadded(ConsumerCursors { reserved: at(), consumed: at() }),
            entries: memory::boxed((0..layout.entries).map(|_| Slot::new(MaybeUninit::uninit())))?,
        })
    }

    /// What [`allocate`](Self::allocate) would find. Writes nothing.
    #[inline(always)]
    pub(super) fn allocation(&self, layout: &Layout, head: Head) -> Allocate {
        // (faaq.2) Acquire, pairs with (faaq.1) and (faaq.5): who sees a later round also sees the head that led to it.
        let allocated = Cursor(self.producers.allocated.load(edge("faaq.2", Acquire)));
        if !layout.in_round(allocated, head) {
            Allocate::Moved
        } else if layout.at_end(allocated) {
            Allocate::Done
        } else {
            Allocate::Entry(layout.offset(allocated))
        }
    }

    /// Takes the next entry to write, in the round of `head` or, if that is over meanwhile, a later one.
    #[inline(always)]
    pub(super) fn allocate(&self, layout: &Layout, head: Head) -> Allocate {
        match self.allocation(layout, head) {
            Allocate::Entry(_) => {}
            other => return other,
        }
        // (faaq.1) Acquire, pairs with (faaq.5): the entry was read before we write it. Release, pairs with (faaq.2): who
        // finds the block done also sees what we popped before.
        let offset = layout.offset(Cursor(self.producers.allocated.fetch_add(1, edge("faaq.1", AcqRel))));
        if offset < layout.entries { Allocate::Entry(offset) } else { Allocate::Done }
    }

    /// Asks for the entries that come to be written soon: else a producer waits at each line until the consumers' core
    /// gives it up.
    #[inline(always)]
    pub(super) fn ask_ahead(&self, offset: usize) {
        if let Some(later) = self.entries.get(offset + Self::AHEAD) {
            prefetch::for_write(later);
        }
    }

    /// Lets consumers see an entry that is written.
    #[inline(always)]
    pub(super) fn commit(&self) {
        // (faaq.3) Release, pairs with (faaq.7): who reads this count or a later one sees the entry.
        self.producers.committed.fetch_add(1, edge("faaq.3", Release));
    }

    /// Whether the round of `head` can begin for producers, or why not. Writes nothing.
    #[inline]
    pub(super) fn room(&self, layout: &Layout, head: Head) -> Result<(), AllocateError> {
        let end = layout.end(head.last_round(layout));
        // (faaq.4) Acquire, pairs with (faaq.9): everything was read, and (faaq.5) passes that on to the writers.
        let consumed = Cursor(self.consumers.consumed.load(edge("faaq.4", Acquire)));
        if !consumed.is_before(end) {
            return Ok(());
        }
        // Relaxed: it only tells two reasons for the same refusal apart. It may have run past the end.
        let reserved = Cursor(self.consumers.reserved.load(Relaxed));
        Err(if reserved.is_before(end) { AllocateError::Full } else { AllocateError::Busy })
    }

    /// Begins the round of `head` for producers, or finishes what another has begun. Only after [`room`](Self::room).
    pub(super) fn begin(&self, layout: &Layout, head: Head) {
        let last = head.last_round(layout);
        let start = layout.start(head).0;
        let commits = || {
            // (faaq.6) Release, pairs with (faaq.7): who sees the later round sees that this one was consumed. Failure is
            // Relaxed: somebody else has done it.
            let end = layout.end(last).0;
            let _ = self.producers.committed.compare_exchange(end, start, edge("faaq.6", Release), Relaxed);
        };
        // (faaq.5) Release, pairs with (faaq.1) and (faaq.2).
        let allocations = || begin_round(layout, &self.producers.allocated, last, start, edge("faaq.5", Release));
        // (faaq.19) The other way round, a commit of the new round could be counted in the old one and wiped out.
        in_order("faaq.19", commits, allocations);
    }

    /// Takes the next entry to read, in the round of `head`; by FAA where that is possible, if `ADD`.
    #[inline(always)]
    pub(super) fn reserve<const ADD: bool>(&self, layout: &Layout, head: Head) -> Reserve {
        // (faaq.8) Acquire, pairs with (faaq.18) and (faaq.10).
        let reserved = Cursor(self.consumers.reserved.load(edge("faaq.8", Acquire)));
        let committed = match self.look::<ADD>(layout, head, reserved) {
            Reserve::Entry(committed) => committed,
            Reserve::Done => return self.seal(layout, reserved),
            other => return other,
        };
        if ADD && committed == layout.entries {
            // All entries are committed, so there is nothing that an addition could run into, unless the round is over
            // before it comes (Q4).
            let ticket = Cursor(self.consumers.reserved.fetch_add(1, edge("faaq.18", AcqRel)));
            return if layout.at_end(ticket) {
                Reserve::Again
            } else if layout.in_round(ticket, head) {
                Reserve::Entry(layout.offset(ticket))
            } else {
                self.settle(layout, ticket)
            };
        }
        // (faaq.18) Release, pairs with (faaq.8): who finds the entry taken also sees what we pushed before. Failure is
        // Relaxed: (faaq.8) looks again.
        let next = reserved.next().0;
        match self.consumers.reserved.compare_exchange(reserved.0, next, edge("faaq.18", AcqRel), Relaxed) {
            Ok(_) => Reserve::Entry(layout.offset(reserved)),
            Err(_) => Reserve::Again,
        }
    }

    /// What a consumer that has read `reserved` can do. Writes nothing. `Entry` has the number of entries that are
    /// committed.
    #[inline(always)]
    fn look<const ADD: bool>(&self, layout: &Layout, head: Head, reserved: Cursor) -> Reserve {
        if !layout.in_round(reserved, head) {
            return Reserve::Again;
        }
        if layout.is_sealed(reserved) {
            return Reserve::Done;
        }
        // (faaq.7) Acquire, pairs with (faaq.3) and (faaq.6).
        let committed = Cursor(self.producers.committed.load(edge("faaq.7", Acquire)));
        if !layout.in_round(committed, head) {
            // Producers may be a round ahead before any consumer has left this one.
            return if layout.at_end(reserved) { Reserve::Done } else { Reserve::Again };
        }
        let count = layout.offset(committed);
        if count == layout.entries {
            return if layout.at_end(reserved) { Reserve::Done } else { Reserve::Entry(count) };
        }
        // Relaxed: (faaq.7) put us after every allocation that led to `committed`, so this reads at least those. If it reads
        // exactly as many, they are the first `count` entries; a newer number only refuses.
        let allocated = Cursor(self.producers.allocated.load(Relaxed));
        if allocated != committed {
            Reserve::None(ReserveError::Busy)
        } else if layout.offset(reserved) < count {
            // `reserved` is past the count if tickets were drawn too late (Q4): `!=` would hand out an entry that is not written (E4).
            Reserve::Entry(count)
        } else if ADD && count > 0 && self.is_being_read(committed) {
            // One of the tickets may have been drawn too late and be given back: then its entry was there all the time.
            Reserve::None(ReserveError::Busy)
        } else {
            Reserve::None(ReserveError::Empty)
        }
    }

    /// Whether fewer entries are read than are `committed`.
    fn is_being_read(&self, committed: Cursor) -> bool {
        // Relaxed: the number alone decides. If later entries make it up, theirs are later tickets, and none before is given back.
        Cursor(self.consumers.consumed.load(Relaxed)) != committed
    }

    /// What [`reserve`](Self::reserve) would find. Writes nothing.
    pub(super) fn reservation<const ADD: bool>(&self, layout: &Layout, head: Head) -> Reserve {
        self.look::<ADD>(layout, head, Cursor(self.consumers.reserved.load(edge("faaq.8", Acquire))))
    }

    /// Settles a ticket that was drawn after its round was over: the entry may not be written yet.
    ///
    /// Either the entry becomes readable, then it is ours; or nobody holds a ticket after ours, then we give it back. Those
    /// who do are settling theirs, or have their entries.
    #[cold]
    fn settle(&self, layout: &Layout, ticket: Cursor) -> Reserve {
        spin::until(|| self.try_settle(layout, ticket))
    }

    /// One attempt to [`settle`](Self::settle).
    fn try_settle(&self, layout: &Layout, ticket: Cursor) -> Option<Reserve> {
        let offset = layout.offset(ticket);
        let committed = Cursor(self.producers.committed.load(edge("faaq.7", Acquire)));
        // The round cannot end without us, and (faaq.10) put us after its beginning.
        let count = layout.offset(committed);
        let is_whole = || Cursor(self.producers.allocated.load(Relaxed)) == committed;
        if layout.same_round(committed, ticket) && offset < count && (count == layout.entries || is_whole()) {
            return Some(Reserve::Entry(offset));
        }
        // It fails if the block is sealed: then the entry is readable (Q5), and the Acquire lets us see it.
        let give_back =
            |from: Cursor| self.consumers.reserved.compare_exchange(from.0, ticket.0, edge("faaq.18", AcqRel), Acquire);
        match give_back(ticket.next()) {
            Ok(_) => Some(Reserve::Again),
            // Overdrawn: the tickets after the last one are void, and nobody gives them back but us (Q4). The round is still
            // ours, as above, and while we have the last ticket the word does not come back before the end.
            Err(now) if offset + 1 == layout.entries && !layout.is_sealed(Cursor(now)) => {
                give_back(Cursor(now)).is_ok().then_some(Reserve::Again)
            }
            Err(_) => None,
        }
    }

    /// Sees to it that no ticket of this round is given back any more, after every entry has one.
    #[cold]
    fn seal(&self, layout: &Layout, reserved: Cursor) -> Reserve {
        if layout.is_sealed(reserved) {
            return Reserve::Done;
        }
        // (faaq.18) Release, pairs with Acquire in `settle`: all entries are committed.
        let sealed = layout.sealed(reserved).0;
        match self.consumers.reserved.compare_exchange(reserved.0, sealed, edge("faaq.18", AcqRel), Relaxed) {
            Ok(_) => Reserve::Done,
            Err(_) => Reserve::Again,
        }
    }

    /// Gives the place of an entry back that is read.
    #[inline(always)]
    pub(super) fn consume(&self) {
        // (faaq.9) Release, pairs with (faaq.4): the read comes before the entry's next write.
        self.consumers.consumed.fetch_add(1, edge("faaq.9", Release));
    }

    /// Whether producers have begun the round of `head`; as an error, that they have begun a later one. Writes nothing.
    #[inline]
    pub(super) fn is_begun(&self, layout: &Layout, head: Head) -> Result<bool, ()> {
        // (faaq.11) Acquire, pairs with (faaq.6): as (faaq.8).
        let committed = Cursor(self.producers.committed.load(edge("faaq.11", Acquire)));
        if layout.in_round(committed, head) {
            Ok(true)
        } else if committed.is_before(layout.start(head)) {
            Ok(false)
        } else {
            Err(())
        }
    }

    /// Begins the round of `head` for consumers, unless somebody has. Only after producers have begun it and the block
    /// before is sealed.
    pub(super) fn enter(&self, layout: &Layout, head: Head) {
        let last = head.last_round(layout);
        let start = layout.start(head).0;
        let consumed = || {
            // Relaxed: (faaq.10) and the head pass it on, and an exchange leaves the release sequences of (faaq.9) unbroken.
            let _ = self.consumers.consumed.compare_exchange(layout.end(last).0, start, Relaxed, Relaxed);
        };
        // (faaq.10) Release, pairs with (faaq.8), and with (faaq.18) for a ticket that is drawn late.
        let reserved = || begin_round(layout, &self.consumers.reserved, last, start, edge("faaq.10", Release));
        // (faaq.21) The other way round, who draws a ticket late could be counted in the old round and wiped out.
        in_order("faaq.21", consumed, reserved);
    }

    /// How many entries of the round of `head` are committed, now or lately.
    pub(super) fn committed(&self, layout: &Layout, head: Head) -> usize {
        // Acquire: see `len`.
        layout.passed(Cursor(self.producers.committed.load(Acquire)), head)
    }

    /// How many entries of the round of `head` are reserved, now or lately.
    pub(super) fn reserved(&self, layout: &Layout, head: Head) -> usize {
        // Acquire: see `len`.
        layout.passed(Cursor(self.consumers.reserved.load(Acquire)), head)
    }
}

/// Moves a cursor that may have run past the end from round `last` to `start`.
fn begin_round(layout: &Layout, word: &AtomicU64, last: Head, start: u64, order: thalweg_sync::atomic::Ordering) {
    // Relaxed: only whether it is still the last round matters.
    let mut cursor = word.load(Relaxed);
    while layout.in_round(Cursor(cursor), last) {
        match word.compare_exchange(cursor, start, order, Relaxed) {
            Ok(_) => break,
            // Somebody ran past the end meanwhile, or began the round.
            Err(now) => cursor = now,
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    const ENTRIES: usize = 2;

    /// A block of which one entry is written and read, and the next one not written; no values, since only the cursors count.
    fn half_full() -> (Layout, Head, Block<usize>) {
        let layout = Layout::new(2, ENTRIES, size_of::<usize>()).unwrap();
        let head = Head(2);
        let block = Block::new(&layout, layout.start(head)).unwrap();
        push(&block, &layout, head, 0);
        pop(&block, &layout, head, 0);
        (layout, head, block)
    }

    fn push(block: &Block<usize>, layout: &Layout, head: Head, entry: usize) {
        assert!(matches!(block.allocate(layout, head), Allocate::Entry(offset) if offset == entry));
        block.commit();
    }

    fn pop(block: &Block<usize>, layout: &Layout, head: Head, entry: usize) {
        assert!(matches!(block.reserve::<true>(layout, head), Reserve::Entry(offset) if offset == entry));
        block.consume();
    }

    /// As two consumers do that saw the block filled, and come to add when it is in its next round: the last ticket, which is
    /// returned, and a void one.
    fn overdraw(block: &Block<usize>, layout: &Layout) -> Cursor {
        let [last, void] = [(); 2].map(|()| Cursor(block.consumers.reserved.fetch_add(1, AcqRel)));
        assert!(layout.offset(last) == ENTRIES - 1 && layout.at_end(void));
        last
    }

    #[test]
    fn the_last_ticket_takes_void_ones_back() {
        let (layout, head, block) = half_full();
        let last = overdraw(&block, &layout);
        assert!(matches!(block.reserve::<true>(&layout, head), Reserve::None(ReserveError::Empty)));
        assert!(matches!(block.try_settle(&layout, last), Some(Reserve::Again)), "nobody else will write the entry");
        push(&block, &layout, head, ENTRIES - 1);
        pop(&block, &layout, head, ENTRIES - 1);
        assert!(matches!(block.reserve::<true>(&layout, head), Reserve::Done));
    }

    /// An item under a ticket that was drawn too late is in the queue, whether its holder takes it or gives it back.
    #[test]
    fn an_item_under_a_late_ticket_is_there() {
        let layout = Layout::new(2, ENTRIES, size_of::<usize>()).unwrap();
        let head = Head(2);
        let block = Block::<usize>::new(&layout, layout.start(head)).unwrap();
        let late = Cursor(block.consumers.reserved.fetch_add(1, AcqRel));
        assert!(matches!(block.reserve::<true>(&layout, head), Reserve::None(ReserveError::Empty)));
        // Its holder has seen that nothing is there, and stops before it gives the ticket back.
        push(&block, &layout, head, 0);
        assert!(matches!(block.reserve::<true>(&layout, head), Reserve::None(ReserveError::Busy)));
        assert!(matches!(block.reservation::<true>(&layout, head), Reserve::None(ReserveError::Busy)));
        assert!(block.consumers.reserved.compare_exchange(late.next().0, late.0, AcqRel, Acquire).is_ok());
        pop(&block, &layout, head, 0);
        assert!(matches!(block.reserve::<true>(&layout, head), Reserve::None(ReserveError::Empty)));
    }

    #[test]
    fn the_last_ticket_of_an_overdrawn_block_is_good() {
        for sealed in [false, true] {
            let (layout, head, block) = half_full();
            let last = overdraw(&block, &layout);
            push(&block, &layout, head, ENTRIES - 1);
            if sealed {
                assert!(matches!(block.reserve::<true>(&layout, head), Reserve::Done));
            }
            assert!(matches!(block.try_settle(&layout, last), Some(Reserve::Entry(offset)) if offset == ENTRIES - 1));
        }
    }
}
