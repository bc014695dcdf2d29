//! A capsule: a queue that is filled by one producer and emptied by one consumer, once. All unsafe code of the queue is
//! here.

use super::word::{Count, Limit, Number, State};
use crate::drops::Drops;
use crate::edges::{edge, fenced};
use crate::leave::Leaving;
use crate::lines::Lines;
use crate::wait::both;
use crate::{BuildError, prefetch};
use core::ops::Range;
use core::ptr::NonNull;
use thalweg_sync::CachePadded;
use thalweg_sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use thalweg_sync::atomic::{AtomicBool, AtomicU64};
use thalweg_sync::fence::{heavy, light};

/// A capsule. Invariants C1 to C6 are in the module's documentation.
#[derive(Debug)]
pub(super) struct Capsule<T> {
    /// A [`Count`]: how many entries are written. The last one counts only if the limit agrees. Written by the producer.
    filled: CachePadded<AtomicU64>,
    /// A [`Limit`]. Written by who closes the capsule, and apart: the producer looks here at every push, and would wait for the line if
    /// consumers had taken it away to look at `filled`.
    limit: CachePadded<AtomicU64>,
    consumer: CachePadded<ConsumerWords>,
    entries: Lines<T>,
    leaving: Leaving,
}

/// Written by the consumer.
#[derive(Debug)]
struct ConsumerWords {
    /// A [`Count`]: how many entries are read.
    taken: AtomicU64,
    /// Whether one of the two has left.
    half: AtomicBool,
}

/// Where a capsule is: its index for who passes it on, its address for who uses it. To find it by the index would cost as much as the rest
/// of a push.
#[derive(Debug)]
pub(super) struct CapsuleRef<T> {
    pub(super) index: usize,
    address: NonNull<Capsule<T>>,
}

impl<T> CapsuleRef<T> {
    /// The place of the capsule at `index`.
    pub(super) fn new(capsules: &[Capsule<T>], index: usize) -> Self {
        Self { index, address: NonNull::from(&capsules[index]) }
    }

    /// The capsule.
    ///
    /// # Safety
    ///
    /// The queue lives as long as the reference, and its capsules stay where they are.
    #[inline(always)]
    pub(super) unsafe fn capsule<'queue>(self) -> &'queue Capsule<T> {
        // SAFETY: the caller's promise; only shared references to capsules exist.
        unsafe { self.address.as_ref() }
    }
}

impl<T> Clone for CapsuleRef<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for CapsuleRef<T> {}

// SAFETY: as a shared reference, which is all it gives.
unsafe impl<T> Send for CapsuleRef<T> where Capsule<T>: Sync {}
// SAFETY: as above.
unsafe impl<T> Sync for CapsuleRef<T> where Capsule<T>: Sync {}

/// What became of an entry that was published.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Publish {
    /// It counts, and the next one may follow.
    Open,
    /// It counts, and is the last.
    Last,
    /// It does not count: the capsule was closed before it.
    Refused,
}

/// What a consumer sees of its capsule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sight {
    /// How many entries it may take, all in all.
    pub(super) filled: u32,
    /// Whether there will be no more.
    pub(super) last: bool,
}

impl<T> Capsule<T> {
    pub(super) fn new(entries: usize) -> Result<Self, BuildError> {
        let none = || AtomicU64::new(Count::new(Number::new(0), 0).0);
        Ok(Self {
            filled: CachePadded(none()),
            limit: CachePadded(none()),
            consumer: CachePadded(ConsumerWords { taken: none(), half: AtomicBool::new(false) }),
            entries: Lines::new(entries)?,
            leaving: Leaving::new::<T>(),
        })
    }

    /// How many entries make a line.
    const PER_LINE: usize = {
        let size = if size_of::<T>() == 0 { 1 } else { size_of::<T>() };
        if size >= 64 { 1 } else { 64 / size }
    };

    /// How many entries ahead the producer asks for lines: eight lines.
    const AHEAD: usize = 8 * Self::PER_LINE;

    /// Asks for the lines that [`begin`](Self::begin) and the first pushes write, which are at a consumer's core: all at once, while
    /// the capsule gets its number.
    #[inline]
    pub(super) fn ask_to_begin(&self) {
        prefetch::for_write(&*self.filled);
        prefetch::for_write(&*self.limit);
        prefetch::for_write(&*self.consumer);
        let lines = (0..Self::AHEAD).step_by(Self::PER_LINE);
        lines.filter_map(|entry| self.entries.get(entry)).for_each(prefetch::for_write);
    }

    /// Writes `number` into a capsule that nobody else can find, with one entry filled: the only one that will ever be, if it `is_closed`.
    pub(super) fn begin(&self, number: Number, is_closed: bool) {
        let state = if is_closed { State::Closed(1) } else { State::Open };
        // Relaxed: (cnq.4) and the tube pass it on. Who still looks for an earlier number finds another one (C2).
        self.filled.store(Count::new(number, 1).0, Relaxed);
        self.limit.store(Limit::new(number, state).0, Relaxed);
        self.consumer.taken.store(Count::new(number, 0).0, Relaxed);
    }

    /// Writes the entry at `index`.
    ///
    /// # Safety
    ///
    /// The caller is the capsule's producer, and `index` entries are published.
    #[inline(always)]
    pub(super) unsafe fn write(&self, index: u32, value: T) {
        let index_ahead = index as usize + Self::AHEAD;
        if index_ahead.is_multiple_of(Self::PER_LINE)
            && let Some(later) = self.entries.get(index_ahead)
        {
            prefetch::for_write(later);
        }
        // SAFETY: only the producer touches entries that are not published (C1), and it is not elsewhere.
        self.entries[index as usize].with_mut(|entry| unsafe { (*entry).write(value) });
    }

    /// Takes the value back that was written last.
    ///
    /// # Safety
    ///
    /// The caller is the capsule's producer, and the entry at `index` is written and refused.
    pub(super) unsafe fn take_back(&self, index: u32) -> T {
        // SAFETY: the entry is behind the limit, so no consumer ever touches it (C4).
        self.entries[index as usize].with(|entry| unsafe { (*entry).assume_init_read() })
    }

    /// Publishes the entry at `index`, which is written; as the producer.
    #[inline(always)]
    pub(super) fn publish(&self, number: Number, index: u32) -> Publish {
        // (cnq.9) Release, pairs with (cnq.10): who sees the count sees the entry. Relaxed would hand out an unwritten
        // one.
        self.filled.store(Count::new(number, index + 1).0, edge("cnq.9", Release));
        // (cnq.18) pairs with (cnq.19): either our look at the limit finds the request, or the
        // closer's look at `filled` finds this entry. Without it an entry could count for us and not for the limit.
        fenced("cnq.18", light);
        // Relaxed: if it is open, that is all there is to know.
        if self.limit.load(Relaxed) == Limit::new(number, State::Open).0 {
            return Publish::Open;
        }
        self.publish_late(number, index)
    }

    /// Publishes an entry while the capsule is being closed: whoever sets the limit first decides.
    #[cold]
    fn publish_late(&self, number: Number, index: u32) -> Publish {
        let requested = Limit::new(number, State::Requested).0;
        let closed = Limit::new(number, State::Closed(index + 1)).0;
        // (cnq.11) Release, pairs with (cnq.12): as (cnq.9), for who looks at the limit alone. Failure is Relaxed: the limit says all
        // there is to know, and what we read then is an entry of our own.
        match self.limit.compare_exchange(requested, closed, edge("cnq.11", Release), Relaxed) {
            Ok(_) => Publish::Last,
            Err(limit) => match Limit(limit).state() {
                State::Closed(limit) if limit <= index => Publish::Refused,
                _ => Publish::Last,
            },
        }
    }

    /// Ends the capsule after `filled` entries; as the producer, when it has published that many and will not go on.
    pub(super) fn end(&self, number: Number, filled: u32) {
        let mut limit = self.limit.load(Relaxed);
        while !matches!(Limit(limit).state(), State::Closed(_)) {
            let closed = Limit::new(number, State::Closed(filled)).0;
            match self.limit.compare_exchange(limit, closed, edge("cnq.11", Release), Relaxed) {
                Ok(_) => return,
                Err(now) => limit = now,
            }
        }
    }

    /// Closes the capsule, whoever its producer is, and says how many entries count. `None`: it has another number by
    /// now, so it was closed under this one.
    #[cold]
    pub(super) fn close(&self, number: Number) -> Option<u32> {
        loop {
            // (cnq.12) Acquire, pairs with (cnq.11): the entries up to the limit are written.
            let limit = Limit(self.limit.load(edge("cnq.12", Acquire)));
            if limit.number() != number {
                return None;
            }
            match limit.state() {
                State::Closed(limit) => return Some(limit),
                State::Open => {
                    let requested = Limit::new(number, State::Requested).0;
                    // Relaxed: it passes nothing on. What counts is settled behind it: by (cnq.18) and (cnq.19), and by (cnq.11).
                    let _ = self.limit.compare_exchange(limit.0, requested, Relaxed, Relaxed);
                }
                State::Requested => {
                    // (cnq.19) pairs with (cnq.18) and (cnq.20). Also if another closer has made the request: its fence may be
                    // still to come.
                    fenced("cnq.19", heavy);
                    let filled = Count(self.filled.load(edge("cnq.10", Acquire)));
                    if filled.number() != number {
                        return None;
                    }
                    let closed = Limit::new(number, State::Closed(filled.count())).0;
                    let _ = self.limit.compare_exchange(limit.0, closed, edge("cnq.11", Release), Relaxed);
                }
            }
        }
    }

    /// Whether the capsule is filled to its end under this number, so that there is nothing to close.
    #[inline]
    pub(super) fn is_full(&self, number: Number) -> bool {
        // Acquire: entries that were published come before what the caller does because the capsule is full.
        self.filled.load(edge("cnq.10", Acquire)) == Count::new(number, self.entries.len() as u32).0
    }

    /// Looks for entries, as the consumer.
    #[inline]
    pub(super) fn look(&self, number: Number) -> Sight {
        // (cnq.10) Acquire, pairs with (cnq.9).
        let filled = Count(self.filled.load(edge("cnq.10", Acquire))).count();
        // (cnq.20) pairs with (cnq.19). If the limit is still open after this, a closer's look at `filled` finds at least what we found, so
        // the limit will be no lower. Without it we could take an entry that the producer then takes back.
        fenced("cnq.20", light);
        let limit = Limit(self.limit.load(edge("cnq.12", Acquire)));
        match limit.state() {
            State::Open => Sight { filled, last: filled as usize == self.entries.len() },
            State::Closed(limit) => Sight { filled: limit, last: true },
            State::Requested => {
                // The closer may have stopped half-way. The number is the capsule's as long as it has a consumer.
                let limit = self.close(number).unwrap_or(filled);
                Sight { filled: limit, last: true }
            }
        }
    }

    /// Another number when its producer has pushed.
    pub(super) fn filling(&self) -> u64 {
        // Relaxed: it decides nothing but time.
        self.filled.load(Relaxed)
    }

    /// Whether a [`look`](Self::look) would find no more than the `taken` entries, and more to come; as the consumer.
    #[inline(always)]
    pub(super) fn is_idle(&self, number: Number, taken: u32) -> bool {
        // Acquire, as in `look`: what is found elsewhere afterwards is no older. Relaxed: nothing is taken by this limit.
        self.filled.load(edge("cnq.10", Acquire)) == Count::new(number, taken).0
            && self.limit.load(Relaxed) == Limit::new(number, State::Open).0
    }

    /// Asks for the lines of `entries`, which are filled, to read them; of the first eight.
    #[inline]
    pub(super) fn ask_to_read(&self, entries: Range<u32>) {
        let lines = (entries.start as usize..entries.end as usize).step_by(Self::PER_LINE).take(8);
        lines.filter_map(|entry| self.entries.get(entry)).for_each(prefetch::for_read);
    }

    /// The number of the capsule, as its consumer.
    #[inline]
    pub(super) fn number(&self) -> Number {
        // Relaxed: whoever handed the capsule to us knew the number.
        Count(self.filled.load(Relaxed)).number()
    }

    /// Reads the entry at `index` and notes that it is taken.
    ///
    /// # Safety
    ///
    /// The caller is the capsule's consumer, `index` entries are taken, and [`look`](Self::look) saw more.
    #[inline(always)]
    pub(super) unsafe fn read(&self, number: Number, index: u32) -> T {
        let entry = &self.entries[index as usize];
        // SAFETY: the entry counts (C4), so it is written, as (cnq.9) or (cnq.11) says, and is only read here.
        let value = entry.with(|entry| unsafe { (*entry).assume_init_read() });
        // SAFETY: it is empty now, and the consumer's until it leaves (C1).
        unsafe { self.leaving.entry(entry, index as usize) };
        // (cnq.13) Release, pairs with (cnq.14): who sees everything taken comes after our reads.
        self.consumer.taken.store(Count::new(number, index + 1).0, edge("cnq.13", Release));
        value
    }

    /// As [`read`](Self::read), but drops the item where it lies, by `drops`.
    ///
    /// # Safety
    ///
    /// As there.
    pub(super) unsafe fn discard(&self, number: Number, index: u32, drops: &mut Drops) {
        // SAFETY: as there.
        let item = || self.entries[index as usize].with_mut(|entry| unsafe { (*entry).assume_init_drop() });
        // (cnq.13) Release, as there.
        let taken = || self.consumer.taken.store(Count::new(number, index + 1).0, edge("cnq.13", Release));
        both(|| drops.one(item), taken);
    }

    /// How many entries were taken under this number, lately. `None`: the capsule has another number by now.
    #[inline]
    pub(super) fn taken(&self, number: Number) -> Option<u32> {
        // (cnq.14) Acquire, pairs with (cnq.13).
        let taken = Count(self.consumer.taken.load(edge("cnq.14", Acquire)));
        (taken.number() == number).then(|| taken.count())
    }

    /// How many entries are filled and not taken under this number, lately.
    pub(super) fn waiting(&self, number: Number) -> u32 {
        let Some(taken) = self.taken(number) else { return 0 };
        let limit = Limit(self.limit.load(edge("cnq.12", Acquire)));
        let filled = match limit.state() {
            State::Closed(limit) => limit,
            _ => Count(self.filled.load(edge("cnq.10", Acquire))).count(),
        };
        if limit.number() == number { filled.saturating_sub(taken) } else { 0 }
    }

    /// Whether everything that will ever count under this number is taken. Writes nothing.
    pub(super) fn is_over(&self, number: Number) -> bool {
        let limit = Limit(self.limit.load(edge("cnq.12", Acquire)));
        let filled = match limit.state() {
            State::Closed(limit) => limit,
            State::Open if self.is_full(number) => self.entries.len() as u32,
            _ => return false,
        };
        limit.number() == number && self.taken(number) == Some(filled)
    }

    /// Drops what waits, when nobody else has the capsule any more.
    pub(super) fn drain(&self, drops: &mut Drops) {
        let number = self.number();
        for _ in 0..self.waiting(number) {
            let index = self.taken(number).unwrap_or(0);
            // SAFETY: every handle is gone, so the right to read is ours; the entry counts and is not taken.
            unsafe { self.discard(number, index, drops) };
        }
    }

    /// Leaves the capsule, as its producer or its consumer. True for the second of the two: nobody else knows the
    /// capsule any more, and the caller may [renew](Self::renew) it and give it away.
    #[inline]
    pub(super) fn leave(&self) -> bool {
        // (cnq.15) Release, pairs with Acquire here: what the first did to the entries comes before what happens to them
        // after the second has left.
        self.consumer.half.swap(true, edge("cnq.15", AcqRel))
    }

    /// Notes that nobody has left, for the next two. Only after both have.
    #[inline]
    pub(super) fn renew(&self) {
        // Relaxed: `Set::put` passes it on.
        self.consumer.half.store(false, Relaxed);
    }
}
