//! What all handles of a queue share: capsules, their order, and who may have which.

use super::capsule::{Capsule, CapsuleRef};
use super::numbers::Numbers;
use super::set::Set;
use super::word::Number;
use crate::drops::Drops;
use crate::edges::{edge, in_order};
use crate::handles::Handles;
use crate::research::tube::{AllocateError, ReserveError, Tube};
use crate::wait::{Side, Wait, both};
use crate::{BuildError, memory};
use alloc::boxed::Box;
use thalweg_sync::CachePadded;
use thalweg_sync::atomic::Ordering::Acquire;

/// The queue.
#[derive(Debug)]
pub(super) struct Shared<T, W, Q> {
    /// Those that were asked for and behind them the spare one, which takes one item, so that its producer leaves it with the push and its
    /// consumer with the pop (C7). Being the last, it is taken when no other is free.
    pub(super) capsules: Box<[Capsule<T>]>,
    /// How many were asked for.
    ordinary: usize,
    entries: u32,
    pub(super) k: usize,
    /// The capsules that consumers have not met yet, in the order in which they were begun.
    pub(super) tube: Q,
    free: Set,
    /// Capsules that a consumer has had and given back.
    fragments: Set,
    pub(super) numbers: Numbers,
    pub(super) handles: CachePadded<Handles>,
    pub(super) wait: W,
}

/// A producer's right to a capsule.
#[derive(Debug)]
pub(super) struct Open<T> {
    pub(super) place: CapsuleRef<T>,
    pub(super) number: Number,
    /// How many entries are published.
    pub(super) filled: u32,
    /// How many the capsule has.
    pub(super) entries: u32,
}

/// A consumer's right to a capsule.
#[derive(Debug)]
pub(super) struct Held<T> {
    pub(super) place: CapsuleRef<T>,
    pub(super) number: Number,
    pub(super) taken: u32,
    /// How many entries may be taken, all in all: not more than `taken` unless the number is in the window (C6).
    pub(super) seen: u32,
    /// Whether no more than `seen` will ever be.
    pub(super) last: bool,
}

impl<T, W: Wait, Q: Tube<Item = u32>> Shared<T, W, Q> {
    pub(super) fn new(
        number: u64,
        tube: Q,
        (ordinary, spare): (usize, usize),
        entries: usize,
        k: usize,
        wait: W,
    ) -> Result<Self, BuildError> {
        let window = k.div_ceil(2 * entries) as u64;
        let capsules = ordinary + spare;
        Ok(Self {
            capsules: memory::try_boxed((0..capsules).map(|_| Capsule::new(entries)))?,
            ordinary,
            entries: entries as u32,
            k,
            tube,
            free: Set::new(capsules, true)?,
            fragments: Set::new(capsules, false)?,
            numbers: Numbers::new(number, window, capsules)?,
            handles: CachePadded(Handles::new()),
            wait,
        })
    }

    /// Begins a capsule with `value` in it; [`begun`](Self::begun) has to follow. As an error: why not, and the value.
    ///
    /// Who was refused before `looks` first: most likely it is refused again, and then takes nothing for a moment that others look for.
    #[inline]
    pub(super) fn begin(&self, value: T, looks: bool) -> Result<Open<T>, (AllocateError, T)> {
        if looks && let Err(why) = self.can_begin() {
            return Err((why, value));
        }
        let Some(capsule) = self.free.take_any() else { return Err((AllocateError::Full, value)) };
        self.capsules[capsule].ask_to_begin();
        let entry = match self.tube.allocate() {
            Ok(entry) => entry,
            Err(why) => {
                // It has room for every capsule but one. So all others are in it, each with an item, or somebody is half-way.
                self.free.put(capsule);
                // Who looked meanwhile found no capsule, and may sleep since; the one that was half-way may have ended and rung
                // before. If it has not, it notifies when it does.
                self.wait.notify(Side::Room, 1, || self.can_begin().is_ok());
                return Err((why, value));
            }
        };
        // SAFETY: the capsule was free, so nobody else has a right to it (C1), and nothing in it is published.
        unsafe { self.capsules[capsule].write(0, value) };
        let is_spare = capsule == self.ordinary;
        let mut number = None;
        let register = || {
            number = Some(self.numbers.register(capsule, |number, out| {
                if let Some(out) = out {
                    self.drive_out(out);
                }
                self.capsules[capsule].begin(number, is_spare);
            }));
        };
        // SAFETY: allocated from this tube above.
        let produce = || unsafe { self.tube.produce(entry, capsule as u32) };
        // (cnq.22) The other way round, a consumer could hold the capsule before it has its number.
        in_order("cnq.22", register, produce);
        let number = number.expect("it was registered");
        let place = CapsuleRef::new(&self.capsules, capsule);
        Ok(Open { place, number, filled: 1, entries: if is_spare { 1 } else { self.entries } })
    }

    /// How many entries the capsules have, but for the spare one.
    pub(super) fn capacity(&self) -> usize {
        self.ordinary * self.entries as usize
    }

    /// The tube may have been `Busy` with who began a capsule. Not notified of by [`begin`](Self::begin), since a waker may panic, and
    /// the capsule has to be in somebody's hands then.
    #[inline]
    pub(super) fn begun(&self) {
        self.wait.notify(Side::Room, 1, || true);
    }

    /// Sees to it that nothing more is filled under this number (C3).
    #[inline]
    fn drive_out(&self, number: Number) {
        // Finished by now: nothing to close.
        if let Some(capsule) = self.numbers.unfinished(number).map(|capsule| &self.capsules[capsule])
            && !capsule.is_full(number)
        {
            capsule.close(number);
        }
    }

    /// What `begin` would find. Writes nothing.
    #[inline]
    pub(super) fn can_begin(&self) -> Result<(), AllocateError> {
        if self.free.is_empty() { Err(AllocateError::Full) } else { self.tube.can_allocate() }
    }

    /// Gives a capsule up that is not full, as its producer.
    pub(super) fn give_up(&self, open: Open<T>) {
        let end = || self.capsules[open.place.index].end(open.number, open.filled);
        // (cnq.23) The other way round, it could end the capsule for who has it next.
        let leave = || in_order("cnq.23", end, || self.leave(open.place.index));
        // It may be over now, and only a consumer that sleeps can leave it.
        both(leave, || self.ring_consumers());
    }

    /// Leaves a capsule, as its producer or its consumer.
    pub(super) fn leave(&self, capsule: usize) {
        if self.capsules[capsule].leave() {
            // (cnq.24) The other way round, the first of the next two that leaves it could take itself for the second.
            in_order("cnq.24", || self.capsules[capsule].renew(), || self.free.put(capsule));
            self.wait.notify(Side::Room, 1, || true);
        }
    }

    /// Whether there may be a capsule to get, in the tube or as a fragment. Writes nothing.
    #[inline]
    pub(super) fn can_draw(&self) -> Result<(), ReserveError> {
        if self.fragments.is_empty() { self.tube.can_reserve() } else { Ok(()) }
    }

    /// Takes the next capsule out of the tube; [`drawn`](Self::drawn) has to follow.
    #[inline]
    pub(super) fn draw(&self) -> Result<Held<T>, ReserveError> {
        let entry = self.tube.reserve()?;
        // SAFETY: reserved from this tube a moment ago.
        let capsule = unsafe { self.tube.consume(entry) };
        Ok(self.hold(capsule as usize))
    }

    /// The tube may have been `Busy` with who drew a capsule, for either side. Not notified of by [`draw`](Self::draw), as in
    /// [`begun`](Self::begun).
    #[inline]
    pub(super) fn drawn(&self) {
        both(|| self.wait.notify(Side::Room, 1, || true), || self.ring_consumers());
    }

    /// Takes the oldest fragment that there is something to do with, if it is older than the capsule `before`. As an error: whether one that
    /// nobody may take has entries, lately; older ones hold it up.
    #[inline(always)]
    pub(super) fn adopt(&self, before: Option<Number>) -> Result<Held<T>, bool> {
        if self.fragments.is_empty() { Err(false) } else { self.adopt_some(before) }
    }

    fn adopt_some(&self, before: Option<Number>) -> Result<Held<T>, bool> {
        loop {
            let capsule = self.fragment(before)?;
            if self.fragments.take(capsule) {
                return Ok(self.hold(capsule));
            }
        }
    }

    /// The oldest fragment that there is something to do with, lately: it has entries and is in the window, or it is
    /// over. The error as in [`adopt`](Self::adopt).
    #[inline]
    fn fragment(&self, before: Option<Number>) -> Result<usize, bool> {
        let oldest = self.numbers.oldest();
        let age = |capsule: usize| self.capsules[capsule].number().since(oldest);
        let bound = before.map_or(u64::MAX, |number| number.since(oldest));
        let mut held_up = false;
        let is_worth = |&capsule: &usize| {
            let number = self.capsules[capsule].number();
            if self.capsules[capsule].is_over(number) {
                return true;
            }
            let waits = self.capsules[capsule].waiting(number) > 0;
            held_up |= waits;
            waits && age(capsule) < bound && self.numbers.is_in_window(number)
        };
        let found = self.fragments.iter().filter(is_worth).min_by_key(|&capsule| age(capsule));
        found.ok_or(held_up)
    }

    /// A right to `capsule` that the caller has just got.
    fn hold(&self, capsule: usize) -> Held<T> {
        let place = CapsuleRef::new(&self.capsules, capsule);
        let number = self.capsules[capsule].number();
        // The number is the capsule's as long as it has a consumer, so there is a count.
        let taken = self.capsules[capsule].taken(number).unwrap_or(0);
        Held { place, number, taken, seen: taken, last: false }
    }

    /// Gives a capsule back, for other consumers to adopt, or leaves it if it is over.
    pub(super) fn give_back(&self, held: Held<T>) {
        let CapsuleRef { index, .. } = held.place;
        if self.capsules[index].is_over(held.number) {
            self.finish(held);
        } else {
            self.fragments.put(index);
            self.ring_consumers();
        }
    }

    /// There may be something for a consumer, and only some consumers may be able to see it: the one that holds the capsule,
    /// or any other but that.
    #[inline(always)]
    pub(super) fn ring_consumers(&self) {
        self.wait.notify(Side::Items, usize::MAX, || true);
    }

    /// Leaves a capsule that everything is taken from. Returns a number before which everything is taken.
    pub(super) fn finish(&self, held: Held<T>) -> Number {
        let CapsuleRef { index, .. } = held.place;
        // First, so that an unfinished number has its capsule to itself (C5). That is for the reader: whoever found the capsule by a number that it
        // has no more would change nothing in it (C2), and the window keeps such numbers few enough for the seats.
        let oldest = self.numbers.finish(held.number, index);
        both(|| self.leave(index), || self.ring_consumers());
        oldest
    }

    /// Finishes the oldest number if everything in it is taken, whoever keeps its capsule. True if it did, or if somebody
    /// else did.
    pub(super) fn unblock(&self) -> bool {
        let oldest = self.numbers.oldest();
        let Some(at) = self.numbers.unfinished(oldest) else { return false };
        let capsule = &self.capsules[at];
        if capsule.waiting(oldest) > 0 {
            return false;
        }
        match capsule.close(oldest) {
            // An entry may have come before the close.
            Some(limit) if capsule.taken(oldest) != Some(limit) => self.numbers.unfinished(oldest).is_none(),
            _ => {
                self.numbers.finish(oldest, at);
                self.ring_consumers();
                true
            }
        }
    }

    /// What a consumer that holds `held` could do. Writes nothing.
    pub(super) fn can_pop(&self, held: Option<&Held<T>>) -> bool {
        let blocked = match held {
            Some(&Held { place: CapsuleRef { index, .. }, number, .. }) => {
                let in_window = self.numbers.is_in_window(number);
                if self.capsules[index].is_over(number) || in_window && self.capsules[index].waiting(number) > 0 {
                    return true;
                }
                !in_window
            }
            None => false,
        };
        let fragment = self.fragment(None);
        fragment.is_ok()
            || self.tube.can_reserve().is_ok()
            || (blocked || fragment == Err(true)) && {
                let oldest = self.numbers.oldest();
                self.numbers.unfinished(oldest).is_some_and(|at| self.capsules[at].waiting(oldest) == 0)
            }
    }

    /// Whether no capsule has an entry that is not taken. Final once every producer is gone, but for pushes that a `close` has overtaken.
    pub(super) fn is_drained(&self) -> bool {
        self.waiting().all(|count| count == 0)
    }

    /// How many entries wait in each capsule.
    pub(super) fn waiting(&self) -> impl Iterator<Item = u32> {
        self.numbers.open().filter_map(|number| Some(self.capsules[self.numbers.unfinished(number)?].waiting(number)))
    }

    pub(super) fn producers_gone(&self) -> bool {
        // (cnq.16) Acquire, pairs with (cnq.17) and (handles.3): everything they pushed is visible. Relaxed could report the end before
        // the last items.
        self.handles.producers.is_gone(edge("cnq.16", Acquire))
    }

    #[inline(always)]
    pub(super) fn consumers_gone(&self) -> bool {
        self.handles.consumers_gone()
    }
}

impl<T, W, Q> Drop for Shared<T, W, Q> {
    /// Drops what was pushed while the last consumer left.
    fn drop(&mut self) {
        let mut drops = Drops::default();
        for capsule in &self.capsules {
            capsule.drain(&mut drops);
        }
    }
}
