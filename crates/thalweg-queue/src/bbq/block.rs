//! One block: its entries, and the cursors that say who may touch which. All unsafe code of the queue is here.

use super::cursor::{Cursor, Head, Layout};
use crate::edges::edge;
use crate::prefetch;
use alloc::boxed::Box;
use core::mem::MaybeUninit;
use thalweg_sync::CachePadded;
use thalweg_sync::atomic::AtomicU64;
use thalweg_sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use thalweg_sync::cell::Slot;

/// A block. Invariants I1 to I4 are in the module's documentation.
#[derive(Debug)]
pub(super) struct Block<T> {
    producers: CachePadded<ProducerCursors>,
    consumers: CachePadded<ConsumerCursors>,
    entries: Box<[Slot<MaybeUninit<T>>]>,
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
    /// The block is in another round: the head was out of date.
    Moved,
}

/// What [`Block::room`] found.
pub(super) enum Room {
    /// Everything is consumed: the round can begin, or has begun.
    Free,
    /// Entries of the last round are waiting for a consumer.
    Full,
    /// Every entry of the last round has its consumer, and some are still reading.
    Busy,
}

/// What [`Block::look`] found.
pub(super) enum Look {
    /// The entry at this offset is committed, and not reserved yet.
    Entry(usize),
    /// Every entry that was allocated is reserved.
    Empty,
    /// Some entry is allocated and not committed.
    Busy,
    /// Every entry of this round is reserved.
    Done,
    /// The block is in another round: the head was out of date.
    Moved,
}

/// Whether producers have begun a round of a block.
pub(super) enum Begun {
    /// Not yet.
    No,
    /// Yes: consumers can enter it.
    Yes,
    /// Yes, and it is over: the head was out of date.
    Moved,
}

impl<T> Block<T> {
    /// How many entries ahead a producer asks for: three lines, and at least one entry.
    const AHEAD: usize = 192usize.div_ceil(if size_of::<T>() == 0 { 1 } else { size_of::<T>() });

    /// A block whose cursors are all at `cursor`.
    pub(super) fn new(layout: &Layout, cursor: Cursor) -> Self {
        let at = || AtomicU64::new(cursor.0);
        Self {
            producers: CachePadded(ProducerCursors { allocated: at(), committed: at() }),
            consumers: CachePadded(ConsumerCursors { reserved: at(), consumed: at() }),
            entries: (0..layout.entries).map(|_| Slot::new(MaybeUninit::uninit())).collect(),
        }
    }

    /// Takes the next entry to write, in the round of `head`.
    #[inline(always)]
    pub(super) fn allocate(&self, layout: &Layout, head: Head) -> Allocate {
        match self.allocation(layout, head) {
            Allocate::Entry(_) => {}
            other => return other,
        }
        // (bbq.1) Acquire, pairs with (bbq.5): the consumers of the last round have read the entry before we write it.
        // Relaxed would overwrite an entry that is being read. Release, pairs with (bbq.2): who finds the block
        // done also sees what we popped before, else it could call a queue full that never was.
        //
        // The round may have changed since we looked: then this is an entry of the later round, every bit as good.
        let offset = layout.offset(Cursor(self.producers.allocated.fetch_add(1, edge("bbq.1", AcqRel))));
        if offset < layout.entries { Allocate::Entry(offset) } else { Allocate::Done }
    }

    /// What `allocate` would find. Writes nothing.
    ///
    /// It looks before `allocate` adds, so each thread runs past the end at most once a round.
    #[inline(always)]
    pub(super) fn allocation(&self, layout: &Layout, head: Head) -> Allocate {
        // (bbq.2) Acquire, pairs with (bbq.1), and with (bbq.5): who sees a later round also sees the head that led
        // to it, so looking again is enough.
        let allocated = Cursor(self.producers.allocated.load(edge("bbq.2", Acquire)));
        if !layout.in_round(allocated, head) {
            Allocate::Moved
        } else if layout.offset(allocated) < layout.entries {
            Allocate::Entry(layout.offset(allocated))
        } else {
            Allocate::Done
        }
    }

    /// Writes the entry at `offset` and lets consumers see it.
    ///
    /// # Safety
    ///
    /// [`allocate`](Self::allocate) returned the offset, and it has not been committed since.
    #[inline(always)]
    pub(super) unsafe fn commit(&self, offset: usize, value: T) {
        // Else the producer waits at each line until the consumers' core gives it up, and both sides work in one line.
        if let Some(later) = self.entries.get(offset + Self::AHEAD) {
            prefetch::for_write(later);
        }
        self.entries[offset].with_mut(|entry| {
            // SAFETY: the offset is ours alone (I2): its consumer of the last round is done, as (bbq.1) saw, and
            // none of this round gets it before (bbq.3). Moving the value runs no user code, so nothing can come
            // between the two.
            unsafe { (*entry).write(value) };
        });
        // (bbq.3) Release, pairs with (bbq.7): who reads this count or a later one (a chain of `fetch_add` is one
        // release sequence) sees the write above. Relaxed would hand out an unwritten entry.
        self.producers.committed.fetch_add(1, edge("bbq.3", Release));
    }

    /// Whether the round of `head` can begin. Writes nothing.
    #[inline]
    pub(super) fn room(&self, layout: &Layout, head: Head) -> Room {
        let end = layout.end(head.last_round(layout));
        // (bbq.4) Acquire, pairs with (bbq.9): everything was read, and (bbq.5) passes that on to the writers.
        // Relaxed would let them overwrite what is being read.
        let consumed = Cursor(self.consumers.consumed.load(edge("bbq.4", Acquire)));
        if !consumed.is_before(end) {
            return Room::Free;
        }
        // Relaxed: it only tells two reasons for the same refusal apart.
        let reserved = Cursor(self.consumers.reserved.load(Relaxed));
        if reserved.is_before(end) { Room::Full } else { Room::Busy }
    }

    /// Begins the round of `head` for producers, or finishes what another producer has begun. Only after
    /// [`room`](Self::room) was `Free`.
    ///
    /// An exact exchange does what the paper's MAX is for, and stays right when the round wraps.
    pub(super) fn begin(&self, layout: &Layout, head: Head) {
        let last = head.last_round(layout);
        let start = layout.start(head).0;
        // First `committed`, then `allocated`: the other way round, a commit of the new round could be counted in
        // the old one and wiped out. Failure is Relaxed: somebody else has done it, and it comes before what we do
        // next by coherence.
        //
        // (bbq.6) Release, pairs with (bbq.7): a consumer that sees the later round sees that this one was consumed, so
        // looking again is enough.
        let _ = self.producers.committed.compare_exchange(layout.end(last).0, start, edge("bbq.6", Release), Relaxed);
        // Relaxed: only whether it is still the last round matters.
        let mut allocated = self.producers.allocated.load(Relaxed);
        while layout.in_round(Cursor(allocated), last) {
            // (bbq.5) Release, pairs with (bbq.1) and (bbq.2).
            match self.producers.allocated.compare_exchange(allocated, start, edge("bbq.5", Release), Relaxed) {
                Ok(_) => break,
                // Another producer ran past the end meanwhile, or began the round.
                Err(now) => allocated = now,
            }
        }
    }

    /// Looks for an entry to read, in the round of `head`. Writes nothing.
    #[inline(always)]
    pub(super) fn look(&self, layout: &Layout, head: Head) -> Look {
        // (bbq.8) Acquire, pairs with (bbq.18), and with (bbq.10): who sees a later round also sees the head that
        // led to it, so looking again is enough.
        let reserved = Cursor(self.consumers.reserved.load(edge("bbq.8", Acquire)));
        if !layout.in_round(reserved, head) {
            return Look::Moved;
        }
        let offset = layout.offset(reserved);
        if offset == layout.entries {
            return Look::Done;
        }
        // (bbq.7) Acquire, pairs with (bbq.3) and (bbq.6).
        let committed = Cursor(self.producers.committed.load(edge("bbq.7", Acquire)));
        if !layout.in_round(committed, head) {
            return Look::Moved;
        }
        let count = layout.offset(committed);
        if count < layout.entries {
            // Relaxed: (bbq.7) put us after every allocation that led to `committed`, so this reads at least those.
            // If it reads exactly as many, they are the first `count` entries and all are committed; a newer number
            // only refuses.
            let allocated = Cursor(self.producers.allocated.load(Relaxed));
            // Also if nothing is left to reserve: behind a push that is half-way to the block's last entry, pushes
            // into the next block may have ended, so the queue need not be empty.
            if allocated != committed {
                return Look::Busy;
            }
        }
        if offset < count { Look::Entry(offset) } else { Look::Empty }
    }

    /// Takes the entry at `offset` to read, in the round of `head`. False if it has gone to another consumer.
    #[inline(always)]
    pub(super) fn reserve(&self, layout: &Layout, head: Head, offset: usize) -> bool {
        let reserved = layout.start(head).0 + offset as u64;
        // (bbq.18) Release, pairs with (bbq.8): who finds the entry taken also sees what we pushed before, else it
        // could call a queue empty that never was. Failure is Relaxed: (bbq.8) looks again.
        self.consumers.reserved.compare_exchange(reserved, reserved + 1, edge("bbq.18", Release), Relaxed).is_ok()
    }

    /// Reads the entry at `offset` and gives its place back.
    ///
    /// # Safety
    ///
    /// [`look`](Self::look) returned the offset, [`reserve`](Self::reserve) has taken it, and it has not been
    /// consumed since.
    #[inline(always)]
    pub(super) unsafe fn consume(&self, offset: usize) -> T {
        // SAFETY: the offset is ours alone (I2), and its value is written, as (bbq.7) saw. Nobody writes it before
        // (bbq.9).
        let value = self.entries[offset].with(|entry| unsafe { (*entry).assume_init_read() });
        // (bbq.9) Release, pairs with (bbq.4): the read above comes before the entry's next write.
        self.consumers.consumed.fetch_add(1, edge("bbq.9", Release));
        value
    }

    /// Whether producers have begun the round of `head`. Writes nothing.
    #[inline]
    pub(super) fn begun(&self, layout: &Layout, head: Head) -> Begun {
        // (bbq.11) Acquire, pairs with (bbq.6): as (bbq.8).
        let committed = Cursor(self.producers.committed.load(edge("bbq.11", Acquire)));
        if layout.in_round(committed, head) {
            Begun::Yes
        } else if committed.is_before(layout.start(head)) {
            Begun::No
        } else {
            Begun::Moved
        }
    }

    /// Begins the round of `head` for consumers, unless somebody has. Only after [`begun`](Self::begun) was `Yes`
    /// and the block before was [`Look::Done`].
    pub(super) fn enter(&self, layout: &Layout, head: Head) {
        let end = layout.end(head.last_round(layout)).0;
        let start = layout.start(head).0;
        // Either may come first: consumers reserve here only after they have seen the head, which moves after both.
        // Relaxed: (bbq.10) and the head pass it on, and an exchange leaves the release sequences of (bbq.9)
        // unbroken.
        let _ = self.consumers.consumed.compare_exchange(end, start, Relaxed, Relaxed);
        // (bbq.10) Release, pairs with (bbq.8).
        let _ = self.consumers.reserved.compare_exchange(end, start, edge("bbq.10", Release), Relaxed);
    }

    /// How many entries of the round of `head` are committed, now or lately.
    pub(super) fn committed(&self, layout: &Layout, head: Head) -> usize {
        // Acquire: see `Shared::len`.
        layout.passed(Cursor(self.producers.committed.load(Acquire)), head)
    }

    /// How many entries of the round of `head` are reserved, now or lately.
    pub(super) fn reserved(&self, layout: &Layout, head: Head) -> usize {
        // Acquire: see `Shared::len`.
        layout.passed(Cursor(self.consumers.reserved.load(Acquire)), head)
    }
}
