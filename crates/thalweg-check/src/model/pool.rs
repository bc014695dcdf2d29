//! The search on several threads: its parts, and who works on which.
//!
//! A part is a graph with work that is still to be done there. Parts are independent: what a choice leads to does not
//! depend on the choices that are left, so a worker gives the ones that it would try last to one that has nothing to
//! do.
//!
//! # Invariants
//!
//! - **P1** `parts` are in the order in which one worker alone would do them. A worker gives away what it would do last, so
//!   the new part stands right behind its own.
//! - **P2** A part that failed ends the search behind it, not before it. So the failure that is reported is the one that
//!   one worker alone would report, after as many executions.
//! - **P3** The search is over when no part is open and nobody works on one.

use super::explore::Explorer;
use super::report::Violation;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// What was done in a part.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) complete: u64,
    pub(crate) blocked: u64,
    pub(crate) dropped: u64,
    pub(crate) stuck: u64,
    pub(crate) exchanged: u64,
    pub(crate) events: u64,
    /// The most threads that an execution had.
    pub(crate) threads: u32,
    /// Some execution had an access to an atomic or a slot.
    pub(crate) accesses: bool,
}

impl Counts {
    fn add(&mut self, other: Self) {
        self.complete += other.complete;
        self.blocked += other.blocked;
        self.dropped += other.dropped;
        self.stuck += other.stuck;
        self.exchanged += other.exchanged;
        self.events += other.events;
        self.threads = self.threads.max(other.threads);
        self.accesses |= other.accesses;
    }
}

#[derive(Debug)]
enum Part {
    /// To be done.
    Open(Box<Explorer>),
    /// Somebody works on it: the ticket that it was taken with.
    Taken(u64),
    Done(Counts),
    Failed(Counts, Box<Violation>),
}

#[derive(Debug)]
struct Shared {
    parts: Vec<Part>,
    tickets: u64,
    /// The search is over, whatever is left.
    over: bool,
}

#[derive(Debug)]
pub(crate) struct Pool {
    shared: Mutex<Shared>,
    changed: Condvar,
    /// How many parts are wanted. A hint: whoever gives one looks again.
    wanted: AtomicUsize,
    /// A part has failed, or the search is over: workers look whether they are to go on.
    disturbed: AtomicBool,
}

impl Pool {
    pub(crate) fn new(whole: Explorer) -> Self {
        let shared = Shared { parts: vec![Part::Open(Box::new(whole))], tickets: 0, over: false };
        Self {
            shared: Mutex::new(shared),
            changed: Condvar::new(),
            wanted: AtomicUsize::new(0),
            disturbed: AtomicBool::new(false),
        }
    }

    fn shared(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The first part that nobody works on, with a ticket for it. Waits for one; none when the search is over (P3).
    pub(crate) fn take(&self) -> Option<(u64, Box<Explorer>)> {
        let mut shared = self.shared();
        loop {
            let is_busy = shared.parts.iter().any(|part| matches!(part, Part::Taken(_)));
            let open = shared.parts.iter().position(|part| matches!(part, Part::Open(_)));
            match open {
                _ if shared.over => return None,
                Some(place) => {
                    shared.tickets += 1;
                    let ticket = shared.tickets;
                    match std::mem::replace(&mut shared.parts[place], Part::Taken(ticket)) {
                        Part::Open(part) => return Some((ticket, part)),
                        _ => unreachable!("it was open"),
                    }
                }
                None if is_busy => {
                    // Relaxed, as each access to it: it decides only when somebody looks under the lock.
                    self.wanted.fetch_add(1, Ordering::Relaxed);
                    shared = self.changed.wait(shared).unwrap_or_else(PoisonError::into_inner);
                    let wanted = self.wanted.load(Ordering::Relaxed);
                    self.wanted.store(wanted.saturating_sub(1), Ordering::Relaxed);
                }
                None => {
                    shared.over = true;
                    self.changed.notify_all();
                }
            }
        }
    }

    /// Whether somebody has nothing to do.
    pub(crate) fn wants(&self) -> bool {
        self.wanted.load(Ordering::Relaxed) > 0
    }

    /// Gives away a part of the one with `ticket` (P1).
    pub(crate) fn give(&self, ticket: u64, part: Explorer) {
        let mut shared = self.shared();
        if let Some(place) = shared.place(ticket) {
            shared.parts.insert(place + 1, Part::Open(Box::new(part)));
            self.changed.notify_one();
        }
    }

    /// Whether the part with `ticket` is still to be done.
    pub(crate) fn goes_on(&self, ticket: u64) -> bool {
        !self.disturbed.load(Ordering::Relaxed) || {
            let shared = self.shared();
            !shared.over && shared.place(ticket).is_some()
        }
    }

    /// The part with `ticket` is done, or it failed (P2).
    pub(crate) fn end(&self, ticket: u64, counts: Counts, violation: Option<Violation>) {
        let mut shared = self.shared();
        // Without a place an earlier part has failed.
        let Some(place) = shared.place(ticket) else { return };
        match violation {
            None => shared.done(place, counts),
            Some(violation) => {
                shared.parts.truncate(place);
                shared.parts.push(Part::Failed(counts, Box::new(violation)));
                self.disturbed.store(true, Ordering::Relaxed);
            }
        }
        drop(shared);
        self.changed.notify_all();
    }

    /// The search ends here: nobody takes a part any more, and who works on one stops.
    pub(crate) fn stop(&self) {
        self.shared().over = true;
        self.disturbed.store(true, Ordering::Relaxed);
        self.changed.notify_all();
    }

    /// What was done, when nobody works any more.
    pub(crate) fn result(self) -> Result<Counts, Violation> {
        let mut counts = Counts::default();
        for part in self.shared.into_inner().unwrap_or_else(PoisonError::into_inner).parts {
            match part {
                Part::Done(done) => counts.add(done),
                Part::Failed(done, violation) => {
                    counts.add(done);
                    return Err(Violation { complete: counts.complete, ..*violation });
                }
                // Left by a search that was stopped.
                Part::Open(_) | Part::Taken(_) => {}
            }
        }
        Ok(counts)
    }
}

impl Shared {
    /// Where the part with `ticket` stands.
    fn place(&self, ticket: u64) -> Option<usize> {
        self.parts.iter().position(|part| matches!(part, Part::Taken(other) if *other == ticket))
    }

    /// Notes that a part is done. Neighbours that are done become one, so that there are few.
    fn done(&mut self, place: usize, mut counts: Counts) {
        let neighbour = |parts: &[Part], place: usize| match parts.get(place) {
            Some(Part::Done(counts)) => Some(*counts),
            _ => None,
        };
        let (mut first, mut end) = (place, place + 1);
        if let Some(after) = neighbour(&self.parts, end) {
            counts.add(after);
            end += 1;
        }
        if let Some(before) = first.checked_sub(1).and_then(|before| neighbour(&self.parts, before)) {
            counts.add(before);
            first -= 1;
        }
        self.parts.splice(first..end, [Part::Done(counts)]);
    }
}

#[cfg(test)]
mod tests {
    use super::super::report::{Replay, Rule};
    use super::super::{Memory, ScAxiom};
    use super::*;
    use crate::model::explore::Rules;

    fn part() -> Explorer {
        Explorer::new(Rules { memory: Memory::Rc11, axiom: ScAxiom::Rc11, spurious: false, reuse: 0 }, None)
    }

    fn counts(complete: u64) -> Counts {
        Counts { complete, ..Counts::default() }
    }

    fn violation() -> Violation {
        Violation {
            rule: Rule::NothingShared { threads: 1 },
            graph: Box::default(),
            complete: 0,
            replay: Replay::Plain,
        }
    }

    /// A pool whose only part was taken, with two more behind it, the second given first.
    fn three() -> (Pool, [u64; 3]) {
        let pool = Pool::new(part());
        let (first, _) = pool.take().unwrap();
        pool.give(first, part());
        let (third, _) = pool.take().unwrap();
        pool.give(first, part());
        let (second, _) = pool.take().unwrap();
        (pool, [first, second, third])
    }

    #[test]
    fn parts_that_are_done_are_counted_together() {
        let (pool, tickets) = three();
        for (ticket, complete) in tickets.into_iter().zip([1, 10, 100]).rev() {
            assert!(pool.goes_on(ticket));
            pool.end(ticket, counts(complete), None);
        }
        assert_eq!(pool.shared().parts.len(), 1);
        assert!(pool.take().is_none());
        assert_eq!(pool.result().unwrap().complete, 111);
    }

    #[test]
    fn the_first_failure_in_order_is_reported() {
        let (pool, [first, second, third]) = three();
        pool.end(third, counts(100), Some(violation()));
        assert!(pool.goes_on(first) && pool.goes_on(second));
        pool.end(second, counts(10), Some(violation()));
        assert!(pool.goes_on(first) && !pool.goes_on(third), "what comes behind a failure is not to be done");
        pool.end(first, counts(1), None);
        assert!(pool.take().is_none());
        assert_eq!(pool.result().unwrap_err().complete, 11);
    }

    #[test]
    fn a_stopped_search_has_no_more_parts() {
        let (pool, [first, ..]) = three();
        pool.give(first, part());
        pool.end(first, counts(1), None);
        pool.stop();
        assert!(!pool.goes_on(first) && pool.take().is_none());
        assert_eq!(pool.result().unwrap().complete, 1);
    }
}
