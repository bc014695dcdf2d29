//! The search for the weakest orderings.
//!
//! After J. Oberhauser et al., *VSync: Push-Button Verification and Optimization for Synchronization Primitives on Weak
//! Memory Models*, ASPLOS 2021, §4. Different from it: the search starts from the orderings of the source, not from
//! sequential consistency, and says of each label which client kills its weakening.
//!
//! 1. A survey runs every client and notes which labels it meets.
//! 2. Each label is made one notch weaker, alone; the clients that meet it are run, the cheapest first, until one fails.
//! 3. The labels that nobody missed are weakened together, as many as pass, by bisection; and again a notch further.
//!
//! Weakening only adds executions, so what is weaker than something that fails fails too. The result is a local optimum
//! for these clients, not a proof for others. A client that did not end in its time makes the answer unknown, never a
//! pass.

use crate::{Client, Setup, clients};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use thalweg_check::{Rule, Violation};
use thalweg_queue::edges::table::{Strength, Table};
use thalweg_sync::atomic::Ordering;
use thalweg_sync::time::now;

/// What came of weakening something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// A client failed.
    Killed {
        /// Its name.
        client: &'static str,
        /// What went wrong, in a word or two.
        by: &'static str,
    },
    /// Every client passed.
    Survived,
    /// No client failed, but one did not end in time.
    Unknown,
}

/// One label, one notch weaker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trial {
    /// The label.
    pub label: &'static str,
    /// What it is in the source.
    pub before: Strength,
    /// What it was made.
    pub tried: Strength,
    /// What came of it.
    pub fate: Fate,
    /// How many executions it took.
    pub executions: u64,
    /// How long it took.
    pub duration: Duration,
}

/// What a search found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Weakened {
    /// Every label, one notch weaker, in the order of their numbers.
    pub trials: Vec<Trial>,
    /// Labels that can be weaker, all together.
    pub after: BTreeMap<&'static str, Strength>,
}

/// A search over the clients of one queue.
#[derive(Debug)]
struct Search {
    setup: Setup,
    /// The clients with the labels that they meet, the cheapest first.
    clients: Vec<(&'static Client, Vec<&'static str>)>,
    executions: u64,
}

/// Looks for the weakest orderings of `queue`, with at most `each` for each run of a client. `progress` is told what is
/// tried.
///
/// # Errors
///
/// If there are no clients of that queue, or one fails with the orderings of the source, or does not end in time.
pub fn weaken(queue: &str, each: Duration, mut progress: impl FnMut(&str)) -> Result<Weakened, String> {
    let setup = Setup::default().max_time(Some(each));
    let mut surveyed = Vec::new();
    let mut source = BTreeMap::new();
    for client in clients().iter().filter(|client| client.queue() == queue) {
        progress(client.name);
        let table = Arc::new(Table::survey());
        let explored = client.check(&setup.clone().table(table.clone()));
        let explored = explored.map_err(|violation| format!("{} fails as it is: {violation}", client.name))?;
        if explored.bounded {
            return Err(format!("{} does not end in {} s: give it more", client.name, each.as_secs()));
        }
        let met = table.met();
        surveyed.push((explored.duration, client, met.keys().copied().collect::<Vec<_>>()));
        source.extend(met);
    }
    if surveyed.is_empty() {
        let mut queues = clients().iter().map(Client::queue).collect::<Vec<_>>();
        queues.dedup();
        return Err(format!("there are no clients of `{queue}`; there are of: {}", queues.join(" ")));
    }
    surveyed.sort_by_key(|(duration, ..)| *duration);
    let clients = surveyed.into_iter().map(|(_, client, met)| (client, met)).collect();
    let mut search = Search { setup, clients, executions: 0 };

    let mut labels = source.iter().map(|(label, strength)| (*label, *strength)).collect::<Vec<_>>();
    labels.sort_by_key(|(label, _)| number(label));
    let mut trials = Vec::new();
    for &(label, before) in &labels {
        for &tried in before.weaker() {
            progress(&format!("{label} as {}", name(tried)));
            let (start, executions) = (now(), search.executions);
            let fate = search.fate(&BTreeMap::from([(label, tried)]));
            let executions = search.executions - executions;
            trials.push(Trial { label, before, tried, fate, executions, duration: start.elapsed() });
        }
    }

    // Together, and then further. A label with two ways down goes the first that survived.
    let mut after = BTreeMap::new();
    let mut open: Vec<(&'static str, Strength)> = Vec::new();
    for trial in trials.iter().filter(|trial| trial.fate == Fate::Survived) {
        if open.iter().all(|(label, _)| *label != trial.label) {
            open.push((trial.label, trial.tried));
        }
    }
    while !open.is_empty() {
        progress(&format!("{} labels together", open.len()));
        let taken = search.most(&after, &open);
        after.extend(taken.iter().copied());
        open = taken.iter().filter_map(|&(label, strength)| Some((label, *strength.weaker().first()?))).collect();
    }
    Ok(Weakened { trials, after })
}

impl Search {
    /// Runs the clients that meet one of the replaced labels.
    fn fate(&mut self, replaced: &BTreeMap<&'static str, Strength>) -> Fate {
        let table = replaced.iter().fold(Table::new(), |table, (label, strength)| table.with(label, *strength));
        let setup = self.setup.clone().table(Arc::new(table));
        let mut fate = Fate::Survived;
        for (client, met) in &self.clients {
            if !met.iter().any(|label| replaced.contains_key(label)) {
                continue;
            }
            match client.check(&setup) {
                Err(violation) => {
                    self.executions += violation.complete() + 1;
                    return Fate::Killed { client: client.name, by: rule(&violation) };
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

    /// As many of `more` as pass together on top of `base`.
    fn most(
        &mut self,
        base: &BTreeMap<&'static str, Strength>,
        more: &[(&'static str, Strength)],
    ) -> Vec<(&'static str, Strength)> {
        let with = |some: &[(&'static str, Strength)]| {
            let mut all = base.clone();
            all.extend(some.iter().copied());
            all
        };
        if more.is_empty() || self.fate(&with(more)) == Fate::Survived {
            return more.to_vec();
        }
        if more.len() == 1 {
            return Vec::new();
        }
        let (left, right) = more.split_at(more.len() / 2);
        let mut taken = self.most(base, left);
        let rest = self.most(&with(&taken), right);
        taken.extend(rest);
        taken
    }
}

/// Labels with numbers come in the order of the numbers.
fn number(label: &str) -> (String, u32) {
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
        Rule::Unbounded { .. } => "unbounded loop",
        _ => "other",
    }
}

fn name(strength: Strength) -> &'static str {
    match strength {
        Strength::Ordering(Ordering::Relaxed) => "relaxed",
        Strength::Ordering(Ordering::Acquire) => "acquire",
        Strength::Ordering(Ordering::Release) => "release",
        Strength::Ordering(Ordering::AcqRel) => "acq-rel",
        Strength::Ordering(_) => "seq-cst",
        Strength::Fence => "fence",
    }
}

impl fmt::Display for Fate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Killed { client, by } => write!(f, "{client} ({by})"),
            Self::Survived => f.write_str("nobody"),
            Self::Unknown => f.write_str("unknown: not all clients ended"),
        }
    }
}

/// A table with a line for each label and notch, then what can be weaker together.
impl fmt::Display for Weakened {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{:<12} {:<8} {:<8} {:<34} {:>10} {:>9}",
            "label", "before", "tried", "killed by", "executions", "time"
        )?;
        for trial in &self.trials {
            let Trial { label, before, tried, fate, executions, duration } = trial;
            let (before, tried, fate) = (name(*before), name(*tried), fate.to_string());
            let seconds = duration.as_secs_f64();
            writeln!(f, "{label:<12} {before:<8} {tried:<8} {fate:<34} {executions:>10} {seconds:>7.2} s")?;
        }
        if self.after.is_empty() {
            return write!(f, "no label can be weaker");
        }
        write!(f, "can be weaker together:")?;
        self.after.iter().try_for_each(|(label, strength)| write!(f, " {label} ({})", name(*strength)))
    }
}
