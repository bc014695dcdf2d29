//! One block: its entries, and the cursors that say who may touch which. All unsafe code of the queue is here.

use super::cursor::{Cursor, Head, Layout};
use crate::edges::edge;
use crate::prefetch;
use alloc::boxed::Box;
use core::mem::MaybeUninit;
use core::ops::Range;
use thalweg_sync::CachePadded;
use thalweg_sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use thalweg_sync::atomic::{AtomicBool, AtomicU64};
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
    /// All entries before it are written, as a producer has seen. Kept only while it is `wanted`, and else out of date.
    ready: AtomicU64,
    /// A consumer has found entries that it could not take since a later push was half-way. False when a round begins.
    wanted: AtomicBool,
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
    /// The entries at these offsets, at least one, are the caller's to write and commit.
    Entries(Range<usize>),
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
    /// The entries at these offsets, at least one, are committed and not reserved yet.
    Entries(Range<usize>),
    /// Every entry that was allocated is reserved.
    Empty,
    /// Some entry is allocated and not committed, and no later one can be told to have every one before it committed.
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
            producers: CachePadded(ProducerCursors {
                allocated: at(),
                committed: at(),
                ready: at(),
                wanted: AtomicBool::new(false),
            }),
            consumers: CachePadded(ConsumerCursors { reserved: at(), consumed: at() }),
            entries: (0..layout.entries).map(|_| Slot::new(MaybeUninit::uninit())).collect(),
        }
    }

    /// Takes the next entry to write, in the round of `head`.
    #[inline(always)]
    pub(super) fn allocate(&self, layout: &Layout, head: Head) -> Allocate {
        match self.allocation(layout, head) {
            Allocate::Entries(_) => {}
            other => return other,
        }
        // (bbq.1) Acquire, pairs with (bbq.5): the consumers of the last round have read the entry before we write it.
        // Relaxed would overwrite an entry that is being read. Release, pairs with (bbq.2): who finds the block
        // done also sees what we popped before, else it could call a queue full that never was.
        //
        // The round may have changed since we looked: then this is an entry of the later round, every bit as good.
        let offset = layout.offset(Cursor(self.producers.allocated.fetch_add(1, edge("bbq.1", AcqRel))));
        if offset < layout.entries { Allocate::Entries(offset..offset + 1) } else { Allocate::Done }
    }

    /// Takes up to `count` entries to write, in the round of `head`.
    ///
    /// By an exact exchange: adding more than one would let every thread run that far past the end (errata C3).
    #[inline]
    pub(super) fn allocate_many(&self, layout: &Layout, head: Head, count: usize) -> Allocate {
        // Relaxed: what counts is that it is still so when the exchange succeeds; `allocation` looks again before a refusal.
        let mut allocated = self.producers.allocated.load(Relaxed);
        loop {
            if !layout.in_round(Cursor(allocated), head) || layout.offset(Cursor(allocated)) >= layout.entries {
                return match self.allocation(layout, head) {
                    // It changed between the two looks.
                    Allocate::Entries(_) => Allocate::Moved,
                    other => other,
                };
            }
            let offset = layout.offset(Cursor(allocated));
            let count = count.min(layout.entries - offset);
            // (bbq.19) Release, pairs with (bbq.2), as (bbq.1). Unlike there the round is the head's for certain, and whoever
            // sees the head comes after the consumers of the last round, by (bbq.12).
            let order = edge("bbq.19", Release);
            match self.producers.allocated.compare_exchange_weak(allocated, allocated + count as u64, order, Relaxed) {
                Ok(_) => return Allocate::Entries(offset..offset + count),
                Err(now) => allocated = now,
            }
        }
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
            Allocate::Entries(layout.offset(allocated)..layout.entries)
        } else {
            Allocate::Done
        }
    }

    /// Writes the entry at `offset`. Consumers see it after [`commit`](Self::commit).
    ///
    /// # Safety
    ///
    /// [`allocate`](Self::allocate) returned the offset, and it has not been committed since.
    #[inline(always)]
    pub(super) unsafe fn write(&self, offset: usize, value: T) {
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
    }

    /// Lets consumers see `count` more entries.
    ///
    /// # Safety
    ///
    /// The caller has written as many that it allocated, and counts each once.
    #[inline(always)]
    pub(super) unsafe fn commit(&self, count: usize) {
        // (bbq.3) Release, pairs with (bbq.7): who reads this count or a later one (a chain of `fetch_add` is one
        // release sequence) sees the write above. Relaxed would hand out an unwritten entry. Acquire, for `tell`: it passes on
        // what was committed before.
        let before = self.producers.committed.fetch_add(count as u64, edge("bbq.3", AcqRel));
        // Relaxed: a hint. Who misses it leaves it to the next commit.
        if self.producers.wanted.load(Relaxed) {
            self.tell(Cursor(before + count as u64));
        }
    }

    /// Tells consumers that everything before `committed` is written, if no push is half-way.
    ///
    /// A consumer can see this by itself only between two pushes. While producers are busy it may never get to, and would find
    /// nothing to take until the block is full.
    #[cold]
    fn tell(&self, committed: Cursor) {
        // Relaxed: our commit put us after every allocation that led to it, so this reads at least those. If it reads exactly as
        // many, they are the first entries of the block and all are committed.
        if Cursor(self.producers.allocated.load(Relaxed)) != committed {
            return;
        }
        let mut ready = self.producers.ready.load(Relaxed);
        while Cursor(ready).is_before(committed) {
            // (bbq.20) Release, pairs with (bbq.21): what was committed before comes along, by (bbq.3).
            match self.producers.ready.compare_exchange_weak(ready, committed.0, edge("bbq.20", Release), Relaxed) {
                Ok(_) => return,
                Err(now) => ready = now,
            }
        }
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
        // Relaxed: a hint.
        self.producers.wanted.store(false, Relaxed);
        // Relaxed: a hint too; before anything is told of this round, nothing is. Kept in step so that it never falls half of all
        // rounds behind.
        self.producers.ready.store(start, Relaxed);
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
        let mut count = layout.offset(committed);
        if count < layout.entries {
            // Relaxed: (bbq.7) put us after every allocation that led to `committed`, so this reads at least those.
            // If it reads exactly as many, they are the first `count` entries and all are committed; a newer number
            // only refuses.
            let allocated = Cursor(self.producers.allocated.load(Relaxed));
            // Also if nothing is left to reserve: behind a push that is half-way to the block's last entry, pushes
            // into the next block may have ended, so the queue need not be empty.
            if allocated != committed {
                count = self.ready(layout, head);
                if offset >= count {
                    return Look::Busy;
                }
            }
        }
        if offset < count { Look::Entries(offset..count) } else { Look::Empty }
    }

    /// Asks producers to tell what is written, in this round: a consumer found [`Look::Busy`].
    #[cold]
    pub(super) fn want(&self) {
        // Relaxed: a hint. Looked at first, so that waiting consumers do not write to the producers' line.
        if !self.producers.wanted.load(Relaxed) {
            self.producers.wanted.store(true, Relaxed);
        }
    }

    /// How many entries of the round of `head` are told to be written, while a push is half-way.
    #[cold]
    fn ready(&self, layout: &Layout, head: Head) -> usize {
        // (bbq.21) Acquire, pairs with (bbq.20): the entries are written. Relaxed would hand out unwritten ones.
        let ready = Cursor(self.producers.ready.load(edge("bbq.21", Acquire)));
        if layout.in_round(ready, head) { layout.offset(ready) } else { 0 }
    }

    /// Takes `count` entries from `offset` on to read, in the round of `head`. False if the first has gone to another consumer.
    #[inline(always)]
    pub(super) fn reserve(&self, layout: &Layout, head: Head, offset: usize, count: usize) -> bool {
        let reserved = layout.start(head).0 + offset as u64;
        // (bbq.18) Release, pairs with (bbq.8): who finds the entry taken also sees what we pushed before, else it
        // could call a queue empty that never was. Failure is Relaxed: (bbq.8) looks again.
        let order = edge("bbq.18", Release);
        self.consumers.reserved.compare_exchange(reserved, reserved + count as u64, order, Relaxed).is_ok()
    }

    /// Moves the value out of the entry at `offset`. Its place is given back by [`consume`](Self::consume).
    ///
    /// # Safety
    ///
    /// [`look`](Self::look) returned the offset, [`reserve`](Self::reserve) has taken it, and its value has not been moved out.
    #[inline(always)]
    pub(super) unsafe fn read(&self, offset: usize) -> T {
        // SAFETY: the offset is ours alone (I2), and its value is written, as (bbq.7) or (bbq.21) saw. Nobody writes it before
        // (bbq.9).
        self.entries[offset].with(|entry| unsafe { (*entry).assume_init_read() })
    }

    /// Gives the places of `count` entries back.
    ///
    /// # Safety
    ///
    /// The caller has moved the values out of as many that it reserved, and counts each once.
    #[inline(always)]
    pub(super) unsafe fn consume(&self, count: usize) {
        // (bbq.9) Release, pairs with (bbq.4): the reads come before the entries' next writes.
        self.consumers.consumed.fetch_add(count as u64, edge("bbq.9", Release));
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

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// Pushes that are half-way all the time, as with one producer that never rests and consumers that are slow to look: what
    /// is committed is delivered though the block is never still.
    #[test]
    fn what_is_committed_is_delivered_while_a_push_is_half_way() {
        const ENTRIES: usize = 64;
        let layout = Layout::new(2, ENTRIES, size_of::<usize>()).unwrap();
        let head = Head(0);
        let block = Block::new(&layout, layout.start(head));
        let allocate = || assert!(matches!(block.allocate(&layout, head), Allocate::Entries(_)));
        allocate();
        let mut delivered = 0;
        for number in 0..ENTRIES - 1 {
            // SAFETY: allocated in the step before.
            unsafe {
                block.write(number, number);
                block.commit(1);
            }
            allocate();
            match block.look(&layout, head) {
                Look::Entries(offsets) => {
                    assert!(block.reserve(&layout, head, offsets.start, offsets.len()));
                    for offset in offsets {
                        assert_eq!(offset, delivered);
                        // SAFETY: reserved above.
                        assert_eq!(unsafe { block.read(offset) }, delivered);
                        delivered += 1;
                    }
                }
                Look::Busy => block.want(),
                _ => panic!("neither an item nor busy"),
            }
            assert!(delivered + 1 >= number, "{delivered} of {number} delivered");
        }
    }
}
