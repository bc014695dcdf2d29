//! What threads do with slots: no events, but the same choices have to lead to the same.

use super::graph::{EventId, is_same_site};
use super::report::Rule;
use std::fmt;
use thalweg_sync::engine::{Site, Span};
use thalweg_sync::hint::Access;

/// What a thread did with a slot, in the order of the thread.
#[derive(Clone, Copy, Debug)]
struct Seen {
    thread: u32,
    /// How many events the thread had executed.
    since: u32,
    write: bool,
    at: Site,
}

impl PartialEq for Seen {
    fn eq(&self, other: &Self) -> bool {
        let same = (self.thread, self.since, self.write) == (other.thread, other.since, other.write);
        same && is_same_site(self.at, other.at)
    }
}

impl fmt::Display for Seen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "preceded by a {} of a slot at {}", if self.write { "write" } else { "read" }, self.at)
    }
}

/// Every access to a slot in an execution, but for those in attempts of a wait: how often one is made says nothing.
#[derive(Debug, Default)]
pub(crate) struct Log(Vec<Seen>);

impl Log {
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    /// Notes an access by the thread whose next event is `next`.
    pub(crate) fn note(&mut self, span: &Span, next: EventId) {
        let EventId { thread, index: since } = next;
        self.0.push(Seen { thread, since, write: span.access == Access::Write, at: span.at });
    }

    /// The first access of `self` that is not as it was when the same choices were made before, if there is one.
    pub(crate) fn differs(&self, before: Self) -> Option<Rule> {
        // Only the order within a thread is the client's.
        let by_thread = |mut log: Vec<Seen>| {
            log.sort_by_key(|seen| seen.thread);
            log
        };
        let (before, now) = (by_thread(before.0), by_thread(self.0.clone()));
        let place = (0..before.len().max(now.len())).find(|&place| before.get(place) != now.get(place))?;
        let either = [before.get(place), now.get(place)];
        // The earlier of two: the other time there was none.
        let first = either.into_iter().flatten().map(|seen| (seen.thread, seen.since)).min()?;
        let [expected, found] = either.map(|seen| match seen.filter(|seen| (seen.thread, seen.since) == first) {
            Some(seen) => seen.to_string(),
            None => "preceded by no such access".to_owned(),
        });
        Some(Rule::Nondeterministic { event: EventId { thread: first.0, index: first.1 }, expected, found })
    }
}
