//! Races on plain memory: two accesses to a slot, one of them writing, that nothing orders.
//!
//! Slots are no events of the graph: a race ends the search, and without races a read finds what memory holds. Each
//! access is compared with the earlier ones in the order of execution, which respects happens-before; so of two
//! accesses that race, the one that is executed later finds the other.
//!
//! Accesses that begin at the same byte have one history. Most memory is always accessed as the same piece, and then an
//! access is compared with one history only. Where pieces of different extent have bytes in common, as a slot and the
//! batch that it is part of, an access is compared with all histories that have bytes of its own.
//!
//! What has an atomic to itself (`get_mut`, `into_inner`) is an access of this kind too. Atomic accesses are compared with those
//! at their place, and those with the atomic accesses that are events.

use super::clock::Clock;
use super::log::Log;
use std::ops::Range;
use thalweg_sync::engine::{Site, Span};
use thalweg_sync::hint::Access;

/// An earlier access.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Past {
    pub(crate) thread: u32,
    /// How many events the thread had executed when the access began.
    pub(crate) since: u32,
    /// How many events the thread had executed when the access ended; it comes before the next one. `OPEN` if it
    /// has not ended.
    time: u32,
    bytes: usize,
    pub(crate) write: bool,
    pub(crate) at: Site,
}

const OPEN: u32 = u32::MAX;

/// The accesses that begin at one address.
#[derive(Debug, Default)]
struct History {
    address: usize,
    /// Of the longest of them.
    bytes: usize,
    /// Of the longest that writes.
    written: usize,
    /// Another history has some of the bytes.
    shared: bool,
    /// A [`Slot`](thalweg_sync::cell::Slot) says so when it is dropped; other memory does not.
    slot: bool,
    past: Vec<Past>,
}

#[derive(Debug, Default)]
pub(crate) struct Slots {
    /// By address.
    histories: Vec<History>,
    /// How many bytes the longest of them has.
    longest: usize,
    used: bool,
    /// Every access to a slot.
    pub(crate) log: Log,
    /// Empty, from histories that are done with.
    spare: Vec<Vec<Past>>,
}

impl Slots {
    pub(crate) fn reset(&mut self) {
        self.give_up(0..self.histories.len());
        self.longest = 0;
        self.used = false;
        self.log.clear();
    }

    /// Takes out the histories in `range`.
    fn give_up(&mut self, range: Range<usize>) {
        for mut history in self.histories.drain(range) {
            history.past.clear();
            self.spare.push(history.past);
        }
    }

    /// Whether there was an access in this execution.
    pub(crate) fn is_used(&self) -> bool {
        self.used
    }

    /// How many histories begin before `address`.
    fn before(&self, address: usize) -> usize {
        self.histories.partition_point(|history| history.address < address)
    }

    /// Where the history is, or would be, that begins at `address`.
    fn find(&self, address: usize) -> Result<usize, usize> {
        let place = self.before(address);
        let is_there = self.histories.get(place).is_some_and(|history| history.address == address);
        if is_there { Ok(place) } else { Err(place) }
    }

    fn get(&self, address: usize) -> Option<&History> {
        self.find(address).ok().map(|place| &self.histories[place])
    }

    /// Where the histories are that may have some of these bytes.
    fn around(&self, address: usize, bytes: usize) -> Range<usize> {
        let first = self.before(address.saturating_sub(self.longest));
        first..self.before(address.saturating_add(bytes)).max(first)
    }

    /// Whether there may be accesses to these bytes.
    pub(crate) fn may_have(&self, address: usize, bytes: usize) -> bool {
        !self.around(address, bytes.max(1)).is_empty()
    }

    /// Begins an access by `thread`, to a slot or to other memory, before which everything in `before` happens. An error is what it
    /// races with.
    pub(crate) fn begin(&mut self, span: &Span, is_slot: bool, thread: u32, before: &Clock) -> Result<(), Past> {
        if span.bytes == 0 {
            return Ok(());
        }
        self.check(span, thread, before)?;
        self.used = true;
        let write = span.access == Access::Write;
        let history = self.make_room(span);
        history.slot |= is_slot;
        if write {
            history.written = history.written.max(span.bytes);
        }
        // What happens before this access, and is neither stronger nor longer, need not be kept: who races with it races
        // with this one.
        let covers = |past: &Past| (write || !past.write) && past.bytes <= span.bytes;
        history.past.retain(|past| past.time == OPEN || !(is_ordered(past, thread, before) && covers(past)));
        let since = before.get(thread);
        history.past.push(Past { thread, since, time: OPEN, bytes: span.bytes, write, at: span.at });
        Ok(())
    }

    /// The history of what begins where `span` does, as long as `span` at least.
    fn make_room(&mut self, span: &Span) -> &mut History {
        let found = self.find(span.address);
        let grows = found.is_err() || self.get(span.address).is_some_and(|history| history.bytes < span.bytes);
        let mut shared = false;
        if grows {
            let around = self.around(span.address, span.bytes);
            for other in &mut self.histories[around] {
                if other.address != span.address && overlaps(span, other.address, other.bytes) {
                    (other.shared, shared) = (true, true);
                }
            }
        }
        let place = found.unwrap_or_else(|place| {
            let past = self.spare.pop().unwrap_or_default();
            self.histories.insert(place, History { address: span.address, past, ..History::default() });
            place
        });
        self.longest = self.longest.max(span.bytes);
        let history = &mut self.histories[place];
        history.bytes = history.bytes.max(span.bytes);
        history.shared |= shared;
        history
    }

    /// Where the slots are that were written and not dropped.
    pub(crate) fn written(&self) -> impl Iterator<Item = usize> {
        self.histories.iter().filter(|history| history.slot && history.written > 0).map(|history| history.address)
    }

    /// Ends the access that `thread` has begun, `done` events into its execution.
    pub(crate) fn end(&mut self, span: &Span, thread: u32, done: u32) {
        let write = span.access == Access::Write;
        let Ok(place) = self.find(span.address) else { return };
        // Accesses nest, so the last one is meant.
        let is_meant = |past: &&mut Past| past.thread == thread && past.time == OPEN && past.write == write;
        if let Some(past) = self.histories[place].past.iter_mut().rfind(is_meant) {
            past.time = done;
        }
    }

    /// Compares an access with the earlier ones.
    pub(crate) fn check(&self, span: &Span, thread: u32, before: &Clock) -> Result<(), Past> {
        let race = match self.get(span.address) {
            Some(history) if history.bytes >= span.bytes && !history.shared => history.race(span, thread, before),
            // The order of addresses says nothing, and differs from run to run.
            _ => (self.histories[self.around(span.address, span.bytes)].iter())
                .filter_map(|history| history.race(span, thread, before))
                .min_by_key(|past| (past.thread, past.since, past.at)),
        };
        race.map_or(Ok(()), Err)
    }

    /// Whether some access began at `address`.
    pub(crate) fn is_known(&self, address: usize) -> bool {
        self.find(address).is_ok()
    }

    /// What was done to an atomic by other means that races with `span`, an atomic access to it. Of the same extent, so that
    /// memory which was something else before is seldom taken for it.
    pub(crate) fn exclusive(&self, span: &Span, thread: u32, before: &Clock) -> Option<Past> {
        let past = &self.get(span.address)?.past;
        past.iter().find(|past| past.bytes == span.bytes && races(past, span, thread, before)).copied()
    }

    /// Whether all bytes of `span` were written in this execution.
    pub(crate) fn is_written(&self, span: &Span) -> bool {
        if self.get(span.address).is_some_and(|history| history.written >= span.bytes) {
            return true;
        }
        // As a part of more, or in parts.
        let (mut written, end) = (span.address, span.address.saturating_add(span.bytes));
        while written < end {
            let begun = self.histories[..self.before(written + 1)].iter();
            match begun.map(|history| history.address.saturating_add(history.written)).max() {
                Some(further) if further > written => written = further,
                _ => return false,
            }
        }
        true
    }

    /// The object of `bytes` bytes at `address` is gone: what comes there is another one.
    pub(crate) fn forget(&mut self, address: usize, bytes: usize) {
        let whole = self.get(address);
        // Otherwise there are no parts: they would share bytes with the whole.
        let parts = whole.is_none_or(|whole| whole.shared || whole.bytes < bytes);
        let end = if parts { address.saturating_add(bytes.max(1)) } else { address.saturating_add(1) };
        self.give_up(self.before(address)..self.before(end));
    }
}

impl History {
    /// One of these accesses that races with `span`.
    fn race(&self, span: &Span, thread: u32, before: &Clock) -> Option<Past> {
        let races = |past: &&Past| overlaps(span, self.address, past.bytes) && races(past, span, thread, before);
        self.past.iter().find(races).copied()
    }
}

/// Whether `past`, with which `span` has bytes in common, races with it.
fn races(past: &Past, span: &Span, thread: u32, before: &Clock) -> bool {
    (span.access == Access::Write || past.write) && !is_ordered(past, thread, before)
}

fn overlaps(span: &Span, address: usize, bytes: usize) -> bool {
    span.address < address.saturating_add(bytes) && address < span.address.saturating_add(span.bytes)
}

/// Whether `past` comes before what `thread` does with `before` before it.
fn is_ordered(past: &Past, thread: u32, before: &Clock) -> bool {
    past.thread == thread || (past.time != OPEN && past.time < before.get(past.thread))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::Location;

    fn span(address: usize, bytes: usize, access: Access) -> Span {
        Span { address, bytes, access, may_be_uninit: false, at: Location::caller() }
    }

    fn knows(thread: u32, count: u32) -> Clock {
        let mut clock = Clock::default();
        clock.raise(thread, count);
        clock
    }

    #[test]
    fn an_access_is_ordered_by_the_next_event_of_its_thread() {
        let (write, read) = (span(64, 8, Access::Write), span(64, 8, Access::Read));
        let mut slots = Slots::default();
        slots.begin(&write, true, 1, &Clock::default()).unwrap();
        assert!(slots.check(&read, 2, &knows(1, 9)).is_err(), "it has not ended");
        slots.end(&write, 1, 3);
        assert!(slots.check(&read, 2, &knows(1, 3)).is_err(), "the access comes after the third event");
        assert!(slots.check(&read, 2, &knows(1, 4)).is_ok());
        assert!(slots.check(&read, 1, &Clock::default()).is_ok(), "a thread does not race with itself");
    }

    #[test]
    fn reads_do_not_race_with_reads_but_with_writes_of_a_part() {
        let mut slots = Slots::default();
        let read = span(64, 8, Access::Read);
        slots.begin(&read, true, 1, &Clock::default()).unwrap();
        slots.end(&read, 1, 0);
        assert!(slots.check(&read, 2, &Clock::default()).is_ok());
        assert!(slots.check(&span(70, 1, Access::Write), 2, &Clock::default()).is_err());
        assert!(slots.check(&span(72, 1, Access::Write), 2, &Clock::default()).is_ok());
        assert!(slots.check(&span(72, 0, Access::Write), 2, &Clock::default()).is_ok(), "nothing is nobody's");
    }

    #[test]
    fn a_read_is_remembered_behind_a_later_one_of_another_thread() {
        let mut slots = Slots::default();
        let read = span(64, 8, Access::Read);
        for thread in [1, 2] {
            slots.begin(&read, true, thread, &Clock::default()).unwrap();
            slots.end(&read, thread, 0);
        }
        assert!(slots.check(&span(64, 8, Access::Write), 2, &Clock::default()).is_err(), "thread 1 reads");
        let mut both = knows(1, 1);
        both.raise(2, 1);
        assert!(slots.check(&span(64, 8, Access::Write), 3, &both).is_ok());
    }

    /// Two slots of 8 bytes, and the 16 of both.
    fn both(access: Access) -> Span {
        span(64, 16, access)
    }

    #[test]
    fn a_slot_races_with_the_batch_that_it_is_part_of() {
        for first in [64, 72] {
            let mut slots = Slots::default();
            for (known, thread) in [(both(Access::Read), 1), (span(first, 8, Access::Read), 1)] {
                slots.begin(&known, true, thread, &Clock::default()).unwrap();
                slots.end(&known, thread, 0);
            }
            // Both have a history by now, and what is compared is in the other one's.
            slots.begin(&both(Access::Write), true, 2, &knows(1, 1)).unwrap();
            slots.end(&both(Access::Write), 2, 0);
            assert!(slots.check(&span(first, 8, Access::Read), 1, &Clock::default()).is_err(), "{first}");
            assert!(slots.check(&span(first, 8, Access::Read), 1, &knows(2, 1)).is_ok(), "{first}");
            assert!(slots.check(&span(80, 8, Access::Read), 1, &Clock::default()).is_ok());
        }
    }

    #[test]
    fn an_access_has_its_own_extent() {
        let mut slots = Slots::default();
        let part = span(64, 8, Access::Write);
        slots.begin(&part, true, 1, &Clock::default()).unwrap();
        slots.end(&part, 1, 0);
        // A longer one that begins there.
        slots.begin(&both(Access::Read), true, 2, &knows(1, 1)).unwrap();
        slots.end(&both(Access::Read), 2, 0);
        let behind = span(72, 8, Access::Write);
        assert!(slots.check(&behind, 3, &knows(2, 1)).is_ok(), "thread 1 wrote the bytes before");
        assert!(slots.check(&behind, 3, &Clock::default()).is_err(), "thread 2 read these too");
        // A shorter one does not stand for it.
        slots.begin(&span(64, 8, Access::Read), true, 2, &knows(1, 1)).unwrap();
        assert!(slots.check(&behind, 3, &Clock::default()).is_err());
    }

    #[test]
    fn bytes_are_written_in_parts_or_as_a_part_of_more() {
        let mut slots = Slots::default();
        slots.begin(&both(Access::Write), true, 1, &Clock::default()).unwrap();
        for (address, bytes, is_written) in
            [(64, 16, true), (64, 8, true), (72, 8, true), (72, 9, false), (60, 8, false)]
        {
            assert_eq!(slots.is_written(&span(address, bytes, Access::Read)), is_written, "{bytes} at {address}");
        }
        slots.begin(&span(80, 8, Access::Read), true, 1, &Clock::default()).unwrap();
        assert!(!slots.is_written(&span(72, 16, Access::Read)), "half of it was read only");
        slots.begin(&span(80, 8, Access::Write), true, 1, &Clock::default()).unwrap();
        assert!(slots.is_written(&span(72, 16, Access::Read)));
        assert!(slots.is_written(&span(200, 0, Access::Read)), "nothing needs no writing");
    }

    #[test]
    fn what_comes_to_the_place_of_an_object_is_another_one() {
        let mut slots = Slots::default();
        for known in [both(Access::Write), span(72, 8, Access::Write)] {
            slots.begin(&known, true, 1, &Clock::default()).unwrap();
            slots.end(&known, 1, 0);
        }
        slots.forget(64, 16);
        assert!(slots.check(&span(72, 8, Access::Read), 2, &Clock::default()).is_ok());
        assert!(!slots.is_written(&span(72, 8, Access::Read)));
    }

    #[test]
    fn an_object_goes_with_its_parts() {
        for parts in [&[72][..], &[64, 72]] {
            let mut slots = Slots::default();
            for &address in parts.iter().chain(&[80]) {
                let known = span(address, 8, Access::Write);
                slots.begin(&known, true, 1, &Clock::default()).unwrap();
                slots.end(&known, 1, 0);
            }
            slots.forget(64, 16);
            assert!(!slots.is_written(&span(72, 8, Access::Read)), "{parts:?}");
            assert!(slots.check(&both(Access::Write), 2, &Clock::default()).is_ok(), "{parts:?}");
            assert!(slots.is_written(&span(80, 8, Access::Read)), "that is another object's");
        }
    }
}
