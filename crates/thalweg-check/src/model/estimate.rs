//! How many executions there are, estimated by walks through a part of the search.
//!
//! D. E. Knuth, *Estimating the Efficiency of Backtrack Programs*, Mathematics of Computation 29 (1975), follows one
//! random branch of a tree and multiplies the numbers of branches that it met. P. C. Chen, *Heuristic Sampling*, SIAM
//! Journal on Computing 21 (1992), follows several, one of each kind of nodes, which stands for all of its kind that the
//! walk has met: its weight is their number. On average the sum of the weights is the number of nodes, as there; it
//! strays far less. Here a node is a choice with its graph, and its kind the number of choices before it, what sort of
//! choice it is, and how many events it keeps.

use super::explore::{Explorer, Work};
use super::run::{Outcome, Run};
use std::collections::BTreeMap;
use std::fmt;
use std::time::{Duration, Instant};
use thalweg_sync::random::Xorshift;

/// An estimate of how many executions a client has.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Estimate {
    /// Complete executions.
    pub complete: f64,
    /// The standard error of `complete`, as a part of it. Above about 0.5 the estimate is an order of magnitude at best,
    /// and more often too low than too high. 1 if there were fewer than eight walks.
    pub error: f64,
    /// How many walks it is the mean of.
    pub walks: u64,
}

impl fmt::Display for Estimate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Two digits are more than it is worth.
        let unit = 10_f64.powf((self.complete.max(1.0).log10() - 1.0).floor().max(0.0));
        write!(f, "about {:.0}", (self.complete / unit).round() * unit)?;
        if self.error > 0.5 { write!(f, ", or far more") } else { Ok(()) }
    }
}

/// Of fewer walks than this nobody knows how far they stray.
const FEW: u64 = 8;

/// How many walks there are at most.
const WALKS: u64 = 1000;

/// The mean of walks for `time`. None if one of them finds a violation.
pub(crate) fn estimate(run: &Run, root: impl Fn() -> Explorer, time: Duration, client: &dyn Fn()) -> Option<Estimate> {
    let start = Instant::now();
    // The same walks each time.
    let mut random = Xorshift::new(1);
    let (mut walks, mut sum, mut squares) = (0, 0.0, 0.0);
    while walks < WALKS && (walks < 2 || start.elapsed() < time) {
        let found = walk(run, root(), &mut random, client)?;
        walks += 1;
        sum += found;
        squares += found * found;
    }
    let count = walks as f64;
    let mean = sum / count;
    let variance = (squares / count - mean * mean).max(0.0) / (count - 1.0);
    let error = if mean > 0.0 && walks >= FEW { variance.sqrt() / mean } else { 1.0 };
    Some(Estimate { complete: mean, error, walks })
}

/// From 0 to 1.
fn fraction(random: &mut Xorshift) -> f64 {
    (random.number() >> 11) as f64 / (1_u64 << 53) as f64
}

/// Of each kind, the node that stands for those that were met, and how many they are. A node comes before those that it
/// leads to.
#[derive(Default)]
struct Kinds(BTreeMap<(u32, u32, u32), (f64, Explorer)>);

impl Kinds {
    /// Adds the choices that are left in the explorer, `weight` times each.
    fn add(&mut self, choices: u32, explorer: &mut Explorer, weight: f64, random: &mut Xorshift) {
        for item in explorer.leave_work() {
            let (item, weight) = match item {
                // One of the values stands for all of them.
                Work::Choose { choice, from, end } => {
                    let count = f64::from(end - from);
                    let from = from + (fraction(random) * count) as u32;
                    (Work::Choose { choice, from, end: from + 1 }, weight * count)
                }
                item => (item, weight),
            };
            let (sort, kept) = explorer.kind_of(item);
            let kind = (choices, kept, sort);
            match self.0.get_mut(&kind) {
                None => drop(self.0.insert(kind, (weight, explorer.with_choice(item)))),
                Some((others, node)) => {
                    *others += weight;
                    if fraction(random) * *others < weight {
                        *node = explorer.with_choice(item);
                    }
                }
            }
        }
    }
}

/// One walk: the sum of the weights of complete executions.
fn walk(run: &Run, root: Explorer, random: &mut Xorshift, client: &dyn Fn()) -> Option<f64> {
    let mut kinds = Kinds::default();
    let mut complete = 0.0;
    let mut next = Some(((0, 0, 0), (1.0, root)));
    while let Some(((choices, ..), (weight, node))) = next {
        run.state().explorer = node;
        let chosen = run.state().explorer.leave_work().pop();
        let goes_on = match chosen {
            Some(item) => run.state().explorer.take(item),
            None => Some(true),
        };
        if goes_on == Some(true) {
            match run.execute(client) {
                Outcome::Complete => complete += weight,
                Outcome::Broken(_) => return None,
                Outcome::Learned(layout) => {
                    run.learns(layout);
                    return None;
                }
                Outcome::Blocked | Outcome::Dropped => {}
            }
        }
        // Also of a graph that goes no further: what cannot be written there may revisit.
        kinds.add(choices + 1, &mut run.state().explorer, weight, random);
        next = kinds.0.pop_first();
    }
    Some(complete)
}
