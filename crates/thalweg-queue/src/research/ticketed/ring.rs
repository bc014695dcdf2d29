//! The entries and the reservations. All unsafe code of the queue is here.

use super::order::Order;
use super::ticket::Desk;
use crate::drops::Drops;
use crate::edges::{edge, in_order};
use crate::handles::Handles;
use crate::wait::{Side, Wait, both};
use crate::{BuildError, TryPopError, TryPushError, limits, memory};
use alloc::boxed::Box;
use core::mem::MaybeUninit;
use thalweg_sync::CachePadded;
use thalweg_sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use thalweg_sync::atomic::{AtomicBool, AtomicU64};
use thalweg_sync::cell::Slot;

/// The queue. Invariants T1 to T4 are in the module's documentation.
#[derive(Debug)]
pub(super) struct Ring<T, W> {
    entries: Box<[Slot<MaybeUninit<T>>]>,
    /// Where the next push reservation begins.
    allocated: CachePadded<AtomicU64>,
    /// Where the next pop reservation begins.
    reserved: CachePadded<AtomicU64>,
    committed: Order,
    consumed: Order,
    /// Some push reservation was given up before it was full.
    holes: AtomicBool,
    pub(super) handles: CachePadded<Handles>,
    pub(super) desk: Desk<W>,
}

/// A span of positions: from the first one to the one after the last.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    pub(super) from: u64,
    pub(super) to: u64,
}

impl<T, W: Wait> Ring<T, W> {
    pub(super) fn new(capacity: usize, counters: usize, wait: W) -> Result<Self, BuildError> {
        let most = limits::power_of_two(isize::MAX as usize / 2 / size_of::<Slot<T>>().max(8));
        BuildError::check("capacity", capacity, 1, most)?;
        if !capacity.is_power_of_two() {
            return Err(BuildError::NotPowerOfTwo { parameter: "capacity", value: capacity });
        }
        BuildError::check("counters", counters, 0, u64::BITS as usize)?;
        Ok(Self {
            entries: memory::slots(capacity)?,
            allocated: CachePadded(AtomicU64::new(0)),
            reserved: CachePadded(AtomicU64::new(0)),
            committed: Order::new(capacity, false)?,
            consumed: Order::new(capacity, false)?,
            holes: AtomicBool::new(false),
            handles: CachePadded(Handles::new()),
            desk: Desk { counters: memory::try_boxed((0..counters).map(|_| Order::new(capacity, true)))?, wait },
        })
    }

    pub(super) fn capacity(&self) -> u64 {
        self.entries.len() as u64
    }

    fn entry(&self, at: u64) -> &Slot<MaybeUninit<T>> {
        &self.entries[at as usize & (self.entries.len() - 1)]
    }

    /// Looks for room for `count` entries. Writes nothing.
    fn room(&self, count: u64) -> Result<Span, TryPushError<()>> {
        // (ticketed.7) Acquire, pairs with (ticketed.8): the consumers' side is read after it, and so is not older than what
        // the reservations before this one came after. Relaxed could call a queue full that never was.
        let from = self.allocated.load(edge("ticketed.7", Acquire));
        let to = from + count;
        if to <= self.consumed.passed() + self.capacity() {
            Ok(Span { from, to })
        } else if to <= self.reserved.load(Relaxed) + self.capacity() {
            Err(TryPushError::Busy(()))
        } else {
            Err(TryPushError::Full(()))
        }
    }

    /// Reserves `count` entries to write.
    pub(super) fn allocate(&self, count: u64) -> Result<Span, TryPushError<()>> {
        if self.consumers_gone() {
            return Err(TryPushError::Closed(()));
        }
        loop {
            let Span { from, to } = self.room(count)?;
            // (ticketed.8) Release, pairs with (ticketed.7). Failure is Relaxed: it looks again.
            if self.allocated.compare_exchange(from, to, edge("ticketed.8", Release), Relaxed).is_ok() {
                return Ok(Span { from, to });
            }
        }
    }

    /// Reserves entries to write, as many as there is room for, up to `most`, at least one.
    pub(super) fn allocate_some(&self, most: u64) -> Result<Span, TryPushError<()>> {
        if self.consumers_gone() {
            return Err(TryPushError::Closed(()));
        }
        loop {
            let Span { from, to } = self.room(1)?;
            // What is consumed only grows, so there is room for one still.
            let to = (self.consumed.passed() + self.capacity()).min(from + most).max(to);
            // (ticketed.8) as above.
            if self.allocated.compare_exchange(from, to, edge("ticketed.8", Release), Relaxed).is_ok() {
                return Ok(Span { from, to });
            }
        }
    }

    /// Whether `allocate` would do anything but refuse for want of room.
    pub(super) fn may_allocate(&self, count: u64) -> bool {
        self.room(count).is_ok() || self.consumers_gone()
    }

    /// Writes the entry at `at`.
    ///
    /// # Safety
    ///
    /// The position is in a span that `allocate` returned to the caller, who has not written it yet, nor ended the span.
    pub(super) unsafe fn write(&self, at: u64, value: T) {
        self.entry(at).with_mut(|entry| {
            // SAFETY: the entry is the caller's alone (T1): who read it in the last round has ended, as (ticketed.2) saw, and
            // nobody reads it before the span is passed.
            unsafe { (*entry).write(value) };
        });
    }

    /// The entry at `at`, to be written where it is.
    ///
    /// # Safety
    ///
    /// As [`write`](Self::write), and the pointer is not used when the span has ended.
    pub(super) unsafe fn place(&self, at: u64) -> *mut MaybeUninit<T> {
        self.entry(at).with_mut(|entry| entry)
    }

    /// Ends a span of writes, of which those before `written` were done.
    pub(super) fn commit(&self, span: Span, written: u64) {
        let mut passed = false;
        if written == span.to {
            passed = self.committed.end(span.from, span.to);
        } else {
            // Relaxed: published with the span.
            let notes = || self.holes.store(true, Relaxed);
            let ends = || passed = self.committed.end_with_holes(span.from, written, span.to);
            // (ticketed.14) The other way round, a consumer could take a hole for an item, and read what was never written.
            in_order("ticketed.14", notes, ends);
        }
        if passed {
            self.notify(Side::Items);
        }
    }

    /// Looks for `count` entries to read. Writes nothing.
    fn items(&self, count: u64) -> Result<u64, TryPopError> {
        // (ticketed.9) Acquire, pairs with (ticketed.10): as (ticketed.7), for empty.
        let from = self.reserved.load(edge("ticketed.9", Acquire));
        if from + count <= self.committed.passed() {
            Ok(from)
        } else if from + count <= self.allocated.load(Relaxed) {
            Err(TryPopError::Busy)
        } else {
            Err(TryPopError::Empty)
        }
    }

    /// Reserves entries: looks for `look` of them and takes the first `count`. Fewer, but at least one, if `fewer` and
    /// there will be no more.
    pub(super) fn reserve(&self, look: u64, count: u64, fewer: bool) -> Result<Span, TryPopError> {
        loop {
            let (from, to) = match self.items(look) {
                Ok(from) => (from, from + count),
                Err(refused) if !self.producers_gone() => return Err(refused),
                // Everything is committed now, but for pushes that a `close` has overtaken: look again before saying `Closed`. They may be
                // half-way in front of others, so `Busy` stays so.
                Err(_) => match self.items(look) {
                    Ok(from) => (from, from + count),
                    Err(TryPopError::Empty) => {
                        let (from, left) = self.rest();
                        if left == 0 || !fewer {
                            return Err(if self.is_over(from + left, look) {
                                TryPopError::Closed
                            } else {
                                TryPopError::Busy
                            });
                        }
                        (from, from + left.min(count))
                    }
                    Err(refused) => return Err(refused),
                },
            };
            // Tickets that are out take up words of their counters until they are served.
            if self.desk.counters.iter().any(|counter| to > counter.passed() + counter.positions()) {
                return Err(TryPopError::Busy);
            }
            // (ticketed.10) Release, pairs with (ticketed.9). Failure is Relaxed: it looks again.
            if self.reserved.compare_exchange(from, to, edge("ticketed.10", Release), Relaxed).is_ok() {
                return Ok(Span { from, to });
            }
        }
    }

    /// Reserves entries to read, as many as there are, up to `most`, at least one.
    pub(super) fn reserve_some(&self, most: u64) -> Result<Span, TryPopError> {
        loop {
            let from = match self.items(1) {
                Ok(from) => from,
                Err(refused) if !self.producers_gone() => return Err(refused),
                // As in `reserve`.
                Err(_) => self.items(1).map_err(|refused| match refused {
                    TryPopError::Empty => TryPopError::Closed,
                    refused => refused,
                })?,
            };
            let to = self.committed.passed().min(from + most);
            // Tickets that are out take up words of their counters until they are served.
            let words = self.desk.counters.iter().map(|counter| counter.passed() + counter.positions());
            let to = words.fold(to, u64::min);
            if to <= from {
                return Err(TryPopError::Busy);
            }
            // (ticketed.10) as above.
            if self.reserved.compare_exchange(from, to, edge("ticketed.10", Release), Relaxed).is_ok() {
                return Ok(Span { from, to });
            }
        }
    }

    /// Whether `reserve` would do anything but find too little, or too many tickets out.
    pub(super) fn may_reserve(&self, look: u64, count: u64, fewer: bool) -> bool {
        let have_words =
            |to: u64| self.desk.counters.iter().all(|counter| to <= counter.passed() + counter.positions());
        match self.items(look) {
            Ok(from) => have_words(from + count),
            Err(TryPopError::Empty) if self.producers_gone() => match self.rest() {
                (from, left) if left == 0 || !fewer => self.is_over(from + left, look),
                (from, left) => have_words(from + left.min(count)),
            },
            Err(_) => false,
        }
    }

    /// What is left to reserve of too little: from where on, and how much.
    fn rest(&self) -> (u64, u64) {
        // (ticketed.9) as in `items`.
        let from = self.reserved.load(edge("ticketed.9", Acquire));
        (from, self.committed.passed().saturating_sub(from))
    }

    /// Whether nothing comes behind what is committed up to `to`, now that the producers are gone and `look` positions were not there: not
    /// while a push is half-way that a `close` has overtaken.
    fn is_over(&self, to: u64, look: u64) -> bool {
        // Of one, `items` has seen that it is not half-way. Relaxed: all that was pushed before the close is seen by it.
        look == 1 || self.allocated.load(Relaxed) <= to
    }

    /// Whether the committed position `at` has no item.
    pub(super) fn is_hole(&self, at: u64) -> bool {
        // Relaxed: set before the first hole was committed, and (ticketed.2) saw that.
        self.holes.load(Relaxed) && self.committed.is_hole(at)
    }

    /// Reads the item at `at` by value.
    ///
    /// # Safety
    ///
    /// The position is in a span that `reserve` returned to the caller, not a hole, and not read by value before; the span
    /// has not ended.
    pub(super) unsafe fn read(&self, at: u64) -> T {
        // SAFETY: the item was written before its span was passed, as (ticketed.2) saw, and nobody writes it before the
        // caller's span is passed (T2). Others may look at it by reference only if it is `Copy` (T3).
        self.entry(at).with(|entry| unsafe { (*entry).assume_init_read() })
    }

    /// Drops the item at `at` where it lies, unless it is a hole.
    ///
    /// # Safety
    ///
    /// As for [`read`](Self::read), instead of it, but that it may be a hole.
    pub(super) unsafe fn discard(&self, at: u64) {
        if !self.is_hole(at) {
            // SAFETY: as in `read`.
            self.entry(at).with_mut(|entry| unsafe { (*entry).assume_init_drop() });
        }
    }

    /// The item at `at` by reference.
    ///
    /// # Safety
    ///
    /// The position is committed and not a hole. The caller has a reservation that begins at or before `at` and does not end
    /// while the reference lives; items are `Copy`, or the item is in the reservation's span, and not read by value meanwhile.
    pub(super) unsafe fn get(&self, at: u64) -> &T {
        // SAFETY: as `read`; all who have the item have it to read (T3), and only one if it is not `Copy`.
        self.entry(at).with(|entry| unsafe { (*entry).assume_init_ref() })
    }

    /// Ends a span of reads.
    pub(super) fn consume(&self, span: Span) {
        if self.consumed.end(span.from, span.to) {
            self.notify(Side::Room);
        }
    }

    /// Something was passed. All look: the first one on the list may wait for more entries than there are, and one behind it for fewer.
    fn notify(&self, side: Side) {
        self.desk.wait.notify(side, usize::MAX, || true);
    }

    pub(super) fn producers_gone(&self) -> bool {
        // (ticketed.11) Acquire, pairs with (ticketed.12) and (handles.3): everything they pushed is visible. Relaxed could report the end
        // before the last items.
        self.handles.producers.is_gone(edge("ticketed.11", Acquire))
    }

    pub(super) fn leave_producer(&self) {
        // (ticketed.12) Release, pairs with (ticketed.11): what was pushed comes before the count. The fence of a push (ticketed.13) alone makes
        // it half-way to who sees the count, which is then `Busy`.
        if self.handles.producers.leave(edge("ticketed.12", Release)) {
            self.desk.wait.notify_all();
        }
    }

    pub(super) fn consumers_gone(&self) -> bool {
        self.handles.consumers_gone()
    }

    pub(super) fn leave_consumer(&self) {
        // (ticketed.16) AcqRel, pairs with itself: the consumer that leaves last comes after the others, so it drops what they have
        // seen or pushed. Acquire or Release alone would leave that for as long as there are producers. What is left after its last
        // look is dropped with the queue.
        if self.handles.consumers.leave(edge("ticketed.16", AcqRel)) {
            self.desk.wait.notify_all();
            self.drain();
        }
    }

    /// Drops what is committed and not reserved, one by one.
    fn drain(&self) {
        let mut drops = Drops::default();
        while self.items(1).is_ok() {
            let from = self.reserved.load(Relaxed);
            // Only the last consumer is here, or the queue's owner, so nobody else reserves.
            self.reserved.store(from + 1, Relaxed);
            // SAFETY: reserved a moment ago.
            let item = || drops.one(|| unsafe { self.discard(from) });
            both(item, || self.consume(Span { from, to: from + 1 }));
        }
    }

    /// How many positions are committed and not reserved, lately.
    pub(super) fn len(&self) -> usize {
        // The consumers' side first: what is committed is not below it then. Acquire keeps the order.
        let reserved = self.reserved.load(Acquire);
        self.committed.passed().saturating_sub(reserved).min(self.capacity()) as usize
    }
}

/// Drops what was pushed while the last consumer left.
#[derive(Debug)]
pub(super) struct Owned<T, W: Wait>(pub(super) Ring<T, W>);

impl<T, W: Wait> core::ops::Deref for Owned<T, W> {
    type Target = Ring<T, W>;
    fn deref(&self) -> &Ring<T, W> {
        &self.0
    }
}

impl<T, W: Wait> Drop for Owned<T, W> {
    fn drop(&mut self) {
        self.0.drain();
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use crate::TryPopError;

    #[test]
    fn tickets_that_are_out_keep_nobody_awake_at_the_end() {
        let (tx, rx) = crate::research::ticketed::with_counters(4, 1).unwrap();
        (0..4).for_each(|number| tx.try_push(number).unwrap());
        let ticket = rx.try_reserve(4).unwrap().commit();
        tx.try_push(4).unwrap();
        drop(tx);
        assert_eq!(rx.try_reserve(2).err(), Some(TryPopError::Busy));
        assert!(!rx.ring.may_reserve(2, 2, true), "it would try again and again");
        drop(ticket);
        assert!(rx.ring.may_reserve(2, 2, true) && rx.try_reserve(2).is_ok());
    }
}
