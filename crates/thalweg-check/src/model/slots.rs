//! Races on plain memory: two accesses to a slot, one of them writing, that nothing orders.
//!
//! Slots are no events of the graph: a race ends the search, and without races a read finds what memory holds. Each
//! access is compared with the earlier ones in the order of execution, which respects happens-before; so of two
//! accesses that race, the one that is executed later finds the other.

use super::clock::Clock;
use super::places::ByAddress;
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
    pub(crate) write: bool,
    pub(crate) at: Site,
}

const OPEN: u32 = u32::MAX;

#[derive(Debug, Default)]
struct History {
    bytes: usize,
    written: bool,
    past: Vec<Past>,
}

#[derive(Debug, Default)]
pub(crate) struct Slots {
    histories: ByAddress<History>,
    used: bool,
}

impl Slots {
    pub(crate) fn reset(&mut self) {
        self.histories.clear();
        self.used = false;
    }

    /// Whether there was an access in this execution.
    pub(crate) fn is_used(&self) -> bool {
        self.used
    }

    /// Begins an access by `thread`, before which everything in `before` happens. An error is what it races with.
    pub(crate) fn begin(&mut self, span: &Span, thread: u32, before: &Clock) -> Result<(), Past> {
        if span.bytes == 0 {
            return Ok(());
        }
        self.check(span, thread, before)?;
        self.used = true;
        let write = span.access == Access::Write;
        let history = self.histories.entry(span.address).or_default();
        history.bytes = history.bytes.max(span.bytes);
        history.written |= write;
        // What happens before this access and is not stronger need not be kept: who races with it races with this one.
        history.past.retain(|past| past.time == OPEN || !(is_ordered(past, thread, before) && (write || !past.write)));
        history.past.push(Past { thread, since: before.get(thread), time: OPEN, write, at: span.at });
        Ok(())
    }

    /// Ends the access that `thread` has begun, `done` events into its execution.
    pub(crate) fn end(&mut self, span: &Span, thread: u32, done: u32) {
        let write = span.access == Access::Write;
        let past = self.histories.get_mut(&span.address).and_then(|history| {
            // Accesses nest, so the last one is meant.
            history.past.iter_mut().rfind(|past| past.thread == thread && past.time == OPEN && past.write == write)
        });
        if let Some(past) = past {
            past.time = done;
        }
    }

    /// Compares an access with the earlier ones.
    pub(crate) fn check(&self, span: &Span, thread: u32, before: &Clock) -> Result<(), Past> {
        match self.histories.get(&span.address) {
            Some(history) if history.bytes >= span.bytes => find(history, span, thread, before),
            // Another view of the memory.
            _ => (self.histories.iter())
                .filter(|(address, history)| overlaps(span, **address, history.bytes))
                .try_for_each(|(_, history)| find(history, span, thread, before)),
        }
    }

    /// Whether the slot at `address` was written in this execution.
    pub(crate) fn is_written(&self, address: usize) -> bool {
        self.histories.get(&address).is_some_and(|history| history.written)
    }

    /// The memory at `address` is another object's from now on.
    pub(crate) fn forget(&mut self, address: usize) {
        self.histories.remove(&address);
    }
}

fn overlaps(span: &Span, address: usize, bytes: usize) -> bool {
    span.address < address.saturating_add(bytes) && address < span.address.saturating_add(span.bytes)
}

fn find(history: &History, span: &Span, thread: u32, before: &Clock) -> Result<(), Past> {
    let write = span.access == Access::Write;
    let races = |past: &&Past| (write || past.write) && !is_ordered(past, thread, before);
    history.past.iter().find(races).map_or(Ok(()), |&past| Err(past))
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
        slots.begin(&write, 1, &Clock::default()).unwrap();
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
        slots.begin(&read, 1, &Clock::default()).unwrap();
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
            slots.begin(&read, thread, &Clock::default()).unwrap();
            slots.end(&read, thread, 0);
        }
        assert!(slots.check(&span(64, 8, Access::Write), 2, &Clock::default()).is_err(), "thread 1 reads");
        let mut both = knows(1, 1);
        both.raise(2, 1);
        assert!(slots.check(&span(64, 8, Access::Write), 3, &both).is_ok());
    }
}
