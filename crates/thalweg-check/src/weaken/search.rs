//! The clients, and what they say of changed orderings.

use super::{Assignment, Client, Fate, NotWeakened, Weaken};
use crate::{Check, Rule, Violation};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};
use thalweg_sync::atomic::Ordering::{AcqRel, Relaxed, SeqCst};
use thalweg_sync::edges::table::{Strength, Table};

/// A client, and what a survey says of it.
#[derive(Debug)]
struct Surveyed {
    client: Client,
    /// The labels that it meets. None: it did not end in its time, so it may meet any.
    met: Option<BTreeSet<&'static str>>,
    /// How many events all its executions have together: what it costs, and the same every time.
    events: u64,
}

/// A search over clients.
#[derive(Debug)]
pub(super) struct Search {
    check: Check,
    /// How long one assignment may take.
    each: Duration,
    /// The cheapest first.
    clients: Vec<Surveyed>,
    source: Assignment,
    /// How many were run, the survey's not among them.
    pub(super) executions: u64,
    /// What was found to fail.
    bad: Vec<Assignment>,
    /// Labels of which one alone was tried, and not all clients ended.
    pub(super) unknown: BTreeSet<&'static str>,
}

impl Search {
    /// Runs every client as it is, and notes the labels that it meets.
    pub(super) fn survey(weaken: &Weaken) -> Result<Self, NotWeakened> {
        let (mut surveyed, mut source) = (Vec::new(), Assignment::new());
        // A label that is `AcqRel` may be one of a load or of a store.
        let (check, each) = (weaken.check.clone().any_ordering(true), weaken.each);
        for client in &weaken.clients {
            weaken.tell(client.name);
            let table = Arc::new(Table::survey());
            let explored = (client.run)(&check.clone().max_time(Some(each)), table.clone());
            let explored = explored.map_err(|violation| NotWeakened::Fails { client: client.name, violation })?;
            let met = table.met();
            let labels = (!explored.bounded).then(|| met.keys().copied().collect());
            surveyed.push(Surveyed { client: client.clone(), met: labels, events: explored.events });
            source.extend(met);
        }
        if surveyed.is_empty() {
            return Err(NotWeakened::NoClients);
        }
        surveyed.sort_by_key(|surveyed| (surveyed.met.is_none(), surveyed.events));
        Ok(Self { check, each, clients: surveyed, source, executions: 0, bad: Vec::new(), unknown: BTreeSet::new() })
    }

    /// The clients that the survey did not see to their end.
    pub(super) fn unended(&self) -> Vec<&'static str> {
        let unended = self.clients.iter().filter(|surveyed| surveyed.met.is_none());
        unended.map(|surveyed| surveyed.client.name).collect()
    }

    /// Every label that a client meets, as the source has it, in the order of their numbers.
    pub(super) fn labels(&self) -> Vec<(&'static str, Strength)> {
        let mut labels = self.source.iter().map(|(label, strength)| (*label, *strength)).collect::<Vec<_>>();
        labels.sort_by_key(|(label, _)| number(label));
        labels
    }

    /// Runs the clients that meet one of the replaced labels, or may.
    pub(super) fn fate(&mut self, replaced: &Assignment) -> Fate {
        let table = replaced.iter().fold(Table::new(), |table, (label, strength)| table.with(label, *strength));
        let (table, start) = (Arc::new(table), Instant::now());
        let mut fate = Fate::Survived;
        for surveyed in &self.clients {
            let misses = |met: &BTreeSet<&'static str>| met.iter().all(|label| !replaced.contains_key(label));
            if surveyed.met.as_ref().is_some_and(misses) {
                continue;
            }
            let left = self.each.saturating_sub(start.elapsed());
            if left.is_zero() {
                return Fate::Unknown;
            }
            match (surveyed.client.run)(&self.check.clone().max_time(Some(left)), table.clone()) {
                Err(violation) => {
                    self.executions += violation.complete() + 1;
                    self.bad.push(replaced.clone());
                    return Fate::Killed { client: surveyed.client.name, by: rule(&violation) };
                }
                Ok(explored) => {
                    self.executions += explored.complete;
                    if explored.bounded {
                        fate = Fate::Unknown;
                    }
                }
            }
        }
        fate
    }

    /// Whether every client passes. Without running them, if something stronger fails.
    fn passes(&mut self, replaced: &Assignment) -> Fate {
        let strength = |all: &Assignment, label| all.get(label).or(self.source.get(label)).copied();
        let is_weaker = |bad: &Assignment| {
            self.source.keys().all(|label| match (strength(replaced, label), strength(bad, label)) {
                (Some(replaced), Some(bad)) => is_at_most(replaced, bad),
                _ => false,
            })
        };
        if self.bad.iter().any(is_weaker) {
            return Fate::Killed { client: "", by: "as something stronger" };
        }
        self.fate(replaced)
    }

    /// As many of `more` as pass together on top of `base`.
    pub(super) fn most(
        &mut self,
        base: &Assignment,
        more: &[(&'static str, Strength)],
    ) -> Vec<(&'static str, Strength)> {
        let with = |some: &[(&'static str, Strength)]| {
            let mut all = base.clone();
            all.extend(some.iter().copied());
            all
        };
        if more.is_empty() {
            return Vec::new();
        }
        let fate = self.passes(&with(more));
        if fate == Fate::Survived {
            return more.to_vec();
        }
        if let [(label, _)] = more {
            if fate == Fate::Unknown {
                self.unknown.insert(label);
            }
            return Vec::new();
        }
        let (left, right) = more.split_at(more.len() / 2);
        let mut taken = self.most(base, left);
        let rest = self.most(&with(&taken), right);
        taken.extend(rest);
        taken
    }
}

/// Whether `one` is as strong as `other`, or weaker.
fn is_at_most(one: Strength, other: Strength) -> bool {
    use Strength::{Fence, InOrder, Ordering, Swapped};
    match (one, other) {
        (one, other) if one == other => true,
        (Ordering(Relaxed), Ordering(_) | Fence) | (Swapped, InOrder) => true,
        (Ordering(one), Ordering(AcqRel)) => one != SeqCst,
        (Ordering(_), Ordering(SeqCst)) => true,
        _ => false,
    }
}

/// Labels with numbers come in the order of the numbers.
pub(super) fn number(label: &str) -> (String, u32) {
    let (queue, number) = label.split_once('.').unwrap_or((label, ""));
    (queue.to_owned(), number.parse().unwrap_or(u32::MAX))
}

/// What went wrong, in a word or two.
fn rule(violation: &Violation) -> &'static str {
    match violation.rule() {
        Rule::Panic { .. } => "assertion",
        Rule::Specification { .. } => "history",
        Rule::Race { .. } => "data race",
        Rule::WaitsForever { .. } => "waits for ever",
        Rule::Unbounded { .. } | Rule::BlindWait { .. } => "unbounded loop",
        Rule::Uninitialised { .. } => "uninitialised",
        Rule::UseAfterFree { .. } => "use after free",
        Rule::FreedTwice { .. } => "double free",
        Rule::DroppedInUse { .. } => "dropped in use",
        _ => "other",
    }
}
