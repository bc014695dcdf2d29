//! One block: its entries, and the cursors and marks that say who may touch which.

use crate::cursor::{Cursor, Head, Layout};
use crate::edges::{edge, in_order};
use crate::marks::{self, Mark, Marks};
use crate::research::tube::{AllocateError, ReserveError};
use crate::{BuildError, memory, prefetch};
use alloc::boxed::Box;
use core::mem::MaybeUninit;
use thalweg_sync::atomic::AtomicU64;
use thalweg_sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use thalweg_sync::cell::Slot;
use thalweg_sync::{CachePadded, spin};

/// A block. Invariants Q1 to Q6 are in the module's documentation.
#[derive(Debug)]
pub(super) struct Block<T> {
    /// The next entry to give to a producer. A consumer reads it when it finds no item.
    allocated: CachePadded<AtomicU64>,
    consumers: CachePadded<ConsumerCursors>,
    /// Which entries are written: set by producers.
    written: Marks,
    pub(super) entries: Box<[Slot<MaybeUninit<T>>]>,
}

/// Written by consumers; producers read them once per block.
#[derive(Debug)]
struct ConsumerCursors {
    /// The next entry to give to a consumer.
    reserved: AtomicU64,
    /// How many entries are read.
    consumed: AtomicU64,
    /// Every entry before it is written, as a consumer has seen.
    known: AtomicU64,
}

/// What [`Block::allocate`] found.
pub(super) enum Allocate {
    /// The entry at this offset is the caller's to write, and to mark with this when it is.
    Entry(usize, Mark),
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

    /// A block whose cursors are all at `cursor`. The next round to be filled, or the one that is open, is that of `head`.
    pub(super) fn new(layout: &Layout, head: Head, cursor: Cursor) -> Result<Self, BuildError> {
        let at = || AtomicU64::new(cursor.0);
        let last = Self::mark_of(layout, layout.start(head.last_round(layout)));
        Ok(Self {
            allocated: CachePadded(at()),
            consumers: CachePadded(ConsumerCursors { reserved: at(), consumed: at(), known: at() }),
            written: Marks::new(&mut memory::Heap, layout.entries, last)?,
            entries: memory::slots(layout.entries)?,
        })
    }

    /// What marks the entries of the round of `cursor`.
    #[inline(always)]
    fn mark_of(layout: &Layout, cursor: Cursor) -> Mark {
        Mark::of(layout.is_odd(cursor))
    }

    /// What [`allocate`](Self::allocate) would find. Writes nothing.
    #[inline(always)]
    pub(super) fn allocation(&self, layout: &Layout, head: Head) -> Allocate {
        // (faaq.2) Acquire, pairs with (faaq.1) and (faaq.5): who sees a later round also sees the head that led to it.
        let allocated = Cursor(self.allocated.load(edge("faaq.2", Acquire)));
        if !layout.in_round(allocated, head) {
            Allocate::Moved
        } else if layout.at_end(allocated) {
            Allocate::Done
        } else {
            Self::entry(layout, allocated)
        }
    }

    #[inline(always)]
    fn entry(layout: &Layout, allocated: Cursor) -> Allocate {
        Allocate::Entry(layout.offset(allocated), Self::mark_of(layout, allocated))
    }

    /// Takes the next entry to write, in the round of `head` or, if that is over meanwhile, a later one.
    #[inline(always)]
    pub(super) fn allocate(&self, layout: &Layout, head: Head) -> Allocate {
        match self.allocation(layout, head) {
            Allocate::Entry(..) => {}
            other => return other,
        }
        // (faaq.1) Acquire, pairs with (faaq.5): the entry was read before we write it. Release, pairs with (faaq.2): who
        // finds the block done also sees what we popped before.
        let allocated = Cursor(self.allocated.fetch_add(1, edge("faaq.1", AcqRel)));
        if layout.at_end(allocated) { Allocate::Done } else { Self::entry(layout, allocated) }
    }

    /// Asks for the entries that come to be written soon: else a producer waits at each line until the consumers' core
    /// gives it up.
    #[inline(always)]
    pub(super) fn ask_ahead(&self, offset: usize) {
        if let Some(later) = self.entries.get(offset + Self::AHEAD) {
            prefetch::for_write(later);
        }
    }

    /// Lets consumers see the entry at `offset`, which is written, by its mark.
    #[inline(always)]
    pub(super) fn commit(&self, offset: usize, mark: Mark) {
        if let Some(later) = self.written.line(offset + marks::PER_LINE / 2) {
            prefetch::for_write(later);
        }
        // (faaq.3) Release, pairs with (faaq.7): who sees the mark sees the entry.
        self.written.set(offset, mark, edge("faaq.3", Release));
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

    /// Begins the round of `head` for producers, unless another has. Only after [`room`](Self::room).
    pub(super) fn begin(&self, layout: &Layout, head: Head) {
        // (faaq.5) Release, pairs with (faaq.1), (faaq.2) and (faaq.11).
        begin_round(layout, &self.allocated, head, edge("faaq.5", Release));
    }

    /// Takes the next entry to read, in the round of `head`; by FAA where that is possible, if `ADD`.
    #[inline(always)]
    pub(super) fn reserve<const ADD: bool>(&self, layout: &Layout, head: Head) -> Reserve {
        // (faaq.8) Acquire, pairs with (faaq.18), (faaq.24) and (faaq.10).
        let reserved = Cursor(self.consumers.reserved.load(edge("faaq.8", Acquire)));
        let known = self.known(layout, reserved);
        let written = match self.look::<ADD>(layout, head, reserved, known) {
            Reserve::Entry(written) => written,
            Reserve::Done => return self.seal(layout, reserved),
            other => return other,
        };
        if written > known {
            // It may come late and put `known` back, even into the last round: what it says was true, and whoever finds nothing by it
            // looks again.
            //
            // (faaq.6) Release, pairs with (faaq.19): passes on what (faaq.7) saw.
            let offset = layout.offset(reserved) as u64;
            self.consumers.known.store(reserved.0 - offset + written as u64, edge("faaq.6", Release));
        }
        if ADD && written == layout.entries {
            // All entries are committed, so there is nothing that an addition could run into, unless the round is over
            // before it comes (Q4).
            //
            // (faaq.24) Release, as (faaq.18). Acquire, pairs with (faaq.10): a ticket of a later round sees no marks of rounds before the last.
            let ticket = Cursor(self.consumers.reserved.fetch_add(1, edge("faaq.24", AcqRel)));
            return if layout.at_end(ticket) {
                Reserve::Again
            } else if layout.in_round(ticket, head) {
                Reserve::Entry(layout.offset(ticket))
            } else {
                self.resolve(layout, ticket)
            };
        }
        // (faaq.18) Release, pairs with (faaq.8): who finds the entry taken also sees what we pushed before. No Acquire: the entry is
        // written (faaq.7), and if the word came back meanwhile, nobody has taken an entry. Failure is Relaxed: (faaq.8) looks again.
        let next = reserved.next().0;
        match self.consumers.reserved.compare_exchange(reserved.0, next, edge("faaq.18", Release), Relaxed) {
            Ok(_) => Reserve::Entry(layout.offset(reserved)),
            Err(_) => Reserve::Again,
        }
    }

    /// How many entries of the round of `reserved` are known to be written, with all before them.
    #[inline(always)]
    fn known(&self, layout: &Layout, reserved: Cursor) -> usize {
        // (faaq.19) Acquire, pairs with (faaq.6): the entries are written.
        let known = Cursor(self.consumers.known.load(edge("faaq.19", Acquire)));
        if layout.same_round(known, reserved) { layout.offset(known) } else { 0 }
    }

    /// What a consumer that has read `reserved` can do, where `known` entries are known to be written. Writes nothing. `Entry` has a
    /// number of entries that are committed with all before them: if `ADD`, that of the block if all of its entries are.
    #[inline(always)]
    fn look<const ADD: bool>(&self, layout: &Layout, head: Head, reserved: Cursor, known: usize) -> Reserve {
        if !layout.in_round(reserved, head) {
            return Reserve::Again;
        }
        if layout.is_sealed(reserved) {
            return Reserve::Done;
        }
        let offset = layout.offset(reserved);
        if offset < known {
            return Reserve::Entry(known);
        }
        // Beyond the line a producer may be at work: each look there takes the line away from it. An addition is worth that, and goes on
        // only as long as lines are marked to their end.
        let line = (offset / marks::PER_LINE + 1) * marks::PER_LINE;
        let most = if ADD { layout.entries } else { line.min(layout.entries) };
        // From `known` on, as `reserved` is past an entry that is not written if tickets were drawn too late (Q4).
        //
        // (faaq.7) Acquire, pairs with (faaq.3). All marks are of this round or the last, by (faaq.8), unless the round is over.
        let mark = Self::mark_of(layout, reserved);
        let written = self.written.first_other(mark, known, most, edge("faaq.7", Acquire));
        if offset < written {
            return Reserve::Entry(written);
        }
        if written == layout.entries {
            return Reserve::Done;
        }
        let read = ADD.then(|| self.read());
        // Relaxed: by (faaq.8) this reads at least what was allocated when the entries before were reserved; and who has taken a mark
        // of a later round for a missing one has seen that round begun, by (faaq.7).
        let allocated = Cursor(self.allocated.load(Relaxed));
        if !layout.in_round(allocated, head) {
            // Producers may be a round ahead before any consumer has left this one.
            if layout.at_end(reserved) { Reserve::Done } else { Reserve::Again }
        } else if offset < layout.offset(allocated) || layout.at_end(allocated) {
            Reserve::None(ReserveError::Busy)
        } else if read.is_some_and(|read| read != allocated) {
            // One of the tickets may have been drawn too late and be given back: then its entry was there all the time.
            Reserve::None(ReserveError::Busy)
        } else {
            Reserve::None(ReserveError::Empty)
        }
    }

    /// How many entries are read. To be looked at before what is allocated: else an entry could count whose ticket was given back and
    /// drawn again, after something was pushed behind it.
    fn read(&self) -> Cursor {
        // (faaq.26) Acquire, pairs with (faaq.9): what was pushed before they were read is seen.
        Cursor(self.consumers.consumed.load(edge("faaq.26", Acquire)))
    }

    /// What [`reserve`](Self::reserve) would find. Writes nothing.
    pub(super) fn reservation<const ADD: bool>(&self, layout: &Layout, head: Head) -> Reserve {
        let reserved = Cursor(self.consumers.reserved.load(edge("faaq.8", Acquire)));
        self.look::<ADD>(layout, head, reserved, self.known(layout, reserved))
    }

    /// Why there is nothing if a [`reservation`](Self::reservation) is `Done` and the next block is not begun, which is to be looked at after
    /// this. Until the block is sealed, one of the tickets may have been drawn too late.
    pub(super) fn nothing<const ADD: bool>(&self, layout: &Layout, head: Head) -> ReserveError {
        let is_sealed = || layout.is_sealed(Cursor(self.consumers.reserved.load(edge("faaq.8", Acquire))));
        if ADD && !is_sealed() && self.read().is_before(layout.end(head)) {
            ReserveError::Busy
        } else {
            ReserveError::Empty
        }
    }

    /// Resolves a ticket that was drawn after its round was over: the entry may not be written yet.
    ///
    /// Either the entry becomes readable, then it is ours; or nobody holds a ticket after ours, then we give it back. Those
    /// who do are resolving theirs, or have their entries.
    #[cold]
    fn resolve(&self, layout: &Layout, ticket: Cursor) -> Reserve {
        spin::until(|| self.try_resolve(layout, ticket))
    }

    /// One attempt to [`resolve`](Self::resolve).
    fn try_resolve(&self, layout: &Layout, ticket: Cursor) -> Option<Reserve> {
        let offset = layout.offset(ticket);
        // The round cannot end without us, and (faaq.10) put us after its beginning: all marks are of it or the last one.
        let mark = Self::mark_of(layout, ticket);
        if self.written.first_other(mark, 0, offset + 1, edge("faaq.7", Acquire)) > offset {
            return Some(Reserve::Entry(offset));
        }
        // Relaxed: nothing was taken that others would have to know of, and the word is a release sequence still. It fails if the block is sealed,
        // and then the entry is readable (Q5): a mark that is late is waited for as any other.
        let give_back = |from: Cursor| self.consumers.reserved.compare_exchange(from.0, ticket.0, Relaxed, Relaxed);
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
        // (faaq.25) Acquire, pairs with (faaq.24): the last ticket may have been given back and drawn again since we read the word, by who
        // has pushed to the next block before.
        let sealed = layout.sealed(reserved).0;
        match self.consumers.reserved.compare_exchange(reserved.0, sealed, edge("faaq.25", Acquire), Relaxed) {
            Ok(_) => Reserve::Done,
            Err(_) => Reserve::Again,
        }
    }

    /// Gives the place of an entry back that is read.
    #[inline(always)]
    pub(super) fn consume(&self) {
        // (faaq.9) Release, pairs with (faaq.4): the read comes before the entry's next write; and with (faaq.26).
        self.consumers.consumed.fetch_add(1, edge("faaq.9", Release));
    }

    /// Whether producers have begun the round of `head`; as an error, that they have begun a later one. Writes nothing.
    #[inline]
    pub(super) fn is_begun(&self, layout: &Layout, head: Head) -> Result<bool, ()> {
        // (faaq.11) Acquire, pairs with (faaq.5): as (faaq.8).
        let allocated = Cursor(self.allocated.load(edge("faaq.11", Acquire)));
        if layout.in_round(allocated, head) {
            Ok(true)
        } else if allocated.is_before(layout.start(head)) {
            Ok(false)
        } else {
            Err(())
        }
    }

    /// Begins the round of `head` for consumers, unless somebody has. Only after producers have begun it and the block
    /// before is sealed.
    pub(super) fn enter(&self, layout: &Layout, head: Head) {
        let consumed = || {
            // Relaxed: (faaq.10) and the head pass it on, and an exchange leaves the release sequences of (faaq.9) unbroken.
            let end = layout.end(head.last_round(layout)).0;
            let _ = self.consumers.consumed.compare_exchange(end, layout.start(head).0, Relaxed, Relaxed);
        };
        // (faaq.10) Release, pairs with (faaq.8), and with (faaq.24) for a ticket that is drawn late.
        let reserved = || begin_round(layout, &self.consumers.reserved, head, edge("faaq.10", Release));
        // (faaq.21) The other way round, who draws a ticket late could be counted in the old round and wiped out.
        in_order("faaq.21", consumed, reserved);
    }

    /// How many entries of the round of `head` are committed with all before them, now or lately.
    pub(super) fn committed(&self, layout: &Layout, head: Head) -> usize {
        // Acquire: see `len`.
        let allocated = Cursor(self.allocated.load(Acquire));
        let most = layout.passed(allocated, head);
        if !layout.in_round(allocated, head) {
            return most;
        }
        let known = self.known(layout, allocated).min(most);
        self.written.first_other(Self::mark_of(layout, allocated), known, most, Acquire)
    }

    /// How many entries of the round of `head` are reserved, now or lately.
    pub(super) fn reserved(&self, layout: &Layout, head: Head) -> usize {
        // Acquire: see `len`.
        layout.passed(Cursor(self.consumers.reserved.load(Acquire)), head)
    }
}

/// Moves a cursor that may have run past the end of the last round to the start of the round of `head`.
fn begin_round(layout: &Layout, word: &AtomicU64, head: Head, order: thalweg_sync::atomic::Ordering) {
    let last = head.last_round(layout);
    // Relaxed: only whether it is still the last round matters.
    let mut cursor = word.load(Relaxed);
    while layout.in_round(Cursor(cursor), last) {
        match word.compare_exchange(cursor, layout.start(head).0, order, Relaxed) {
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
        let block = Block::new(&layout, head, layout.start(head)).unwrap();
        push(&block, &layout, head, 0);
        pop(&block, &layout, head, 0);
        (layout, head, block)
    }

    fn push(block: &Block<usize>, layout: &Layout, head: Head, entry: usize) {
        let Allocate::Entry(offset, mark) = block.allocate(layout, head) else { panic!("no entry") };
        assert_eq!(offset, entry);
        block.commit(offset, mark);
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
        assert!(matches!(block.try_resolve(&layout, last), Some(Reserve::Again)), "nobody else will write the entry");
        push(&block, &layout, head, ENTRIES - 1);
        pop(&block, &layout, head, ENTRIES - 1);
        assert!(matches!(block.reserve::<true>(&layout, head), Reserve::Done));
    }

    /// An item under a ticket that was drawn too late is in the queue, whether its holder takes it or gives it back.
    #[test]
    fn an_item_under_a_late_ticket_is_there() {
        let layout = Layout::new(2, ENTRIES, size_of::<usize>()).unwrap();
        let head = Head(2);
        let block = Block::<usize>::new(&layout, head, layout.start(head)).unwrap();
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

    /// The same of the last entry, for who looks and does not seal.
    #[test]
    fn the_last_item_under_a_late_ticket_is_there() {
        let (layout, head, block) = half_full();
        let late = Cursor(block.consumers.reserved.fetch_add(1, AcqRel));
        push(&block, &layout, head, ENTRIES - 1);
        assert!(matches!(block.reservation::<true>(&layout, head), Reserve::Done));
        assert_eq!(block.nothing::<true>(&layout, head), ReserveError::Busy);
        assert!(block.consumers.reserved.compare_exchange(late.next().0, late.0, AcqRel, Acquire).is_ok());
        pop(&block, &layout, head, ENTRIES - 1);
        assert!(matches!(block.reservation::<true>(&layout, head), Reserve::Done));
        assert_eq!(block.nothing::<true>(&layout, head), ReserveError::Empty);
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
            assert!(matches!(block.try_resolve(&layout, last), Some(Reserve::Entry(offset)) if offset == ENTRIES - 1));
        }
    }
}
