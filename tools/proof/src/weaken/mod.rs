//! The search for the weakest orderings.
//!
//! After J. Oberhauser et al., *VSync: Push-Button Verification and Optimization for Synchronization Primitives on Weak
//! Memory Models*, ASPLOS 2021, §4. There are two searches:
//!
//! **[`weaken`]**, from the orderings of the source, says of each label which client kills its weakening.
//!
//! 1. A survey runs every client and notes which labels it meets. One that does not end in its time may meet any, also some
//!    that nobody has noted.
//! 2. Each label is made one notch weaker, alone; the clients that meet it are run, the cheapest first, until one fails.
//!    The notches of a fence: no fence; of two steps in order: the other way round.
//! 3. The labels that nobody missed are weakened together, as many as pass, by bisection; and again a notch further.
//!
//! **[`descend`]**, from sequential consistency, as the paper's: with every label `SeqCst`, as many as pass together become
//! Relaxed, by bisection; then as many of the others as pass become Acquire, then Release, then `AcqRel`. What it ends with
//! can differ from the source in both directions, as one label may take over what another one did.
//!
//! Weakening only adds executions, so what is weaker than something that fails fails too. The result is a local optimum
//! for these clients, not a proof for others. A client that did not end in its time makes the answer unknown, never a
//! pass.

mod search;
mod table;

use std::collections::BTreeMap;
use std::time::Duration;
use thalweg_queue::edges::table::Strength;
use thalweg_sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
use thalweg_sync::time::now;

use crate::Setup;
use search::{Assignment, Search};

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
    /// No client failed, but not all ended in time.
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

/// What a search from the source found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Weakened {
    /// Every label, one notch weaker, in the order of their numbers.
    pub trials: Vec<Trial>,
    /// Labels that can be weaker, all together.
    pub after: Assignment,
    /// Clients that did not end in the survey. Labels that only these meet may be missing.
    pub unended: Vec<&'static str>,
}

/// What a search from sequential consistency found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Descended {
    /// Every ordering and fence, as the source has it.
    pub source: Assignment,
    /// The same, as weak as they pass all together.
    pub after: Assignment,
    /// Labels that could be weaker for all that is known: clients did not end in time.
    pub unknown: Vec<&'static str>,
    /// Clients that did not end in the survey. Labels that only these meet may be missing.
    pub unended: Vec<&'static str>,
    /// How many executions it took.
    pub executions: u64,
    /// How long it took.
    pub duration: Duration,
}

/// Looks for the weakest orderings of `queue`, from those of the source on, with at most `each` for what is tried of a
/// label, all its clients together. Clients are run as `setup` says. `progress` is told what is tried.
///
/// # Errors
///
/// If there are no clients of that queue, or one fails with the orderings of the source.
pub fn weaken(queue: &str, setup: &Setup, each: Duration, mut progress: impl FnMut(&str)) -> Result<Weakened, String> {
    let mut search = Search::survey(queue, setup, each, &mut progress)?;
    let mut trials = Vec::new();
    for (label, before) in search.labels() {
        for &tried in before.weaker() {
            progress(&format!("{label} as {}", table::name(tried)));
            let (start, executions) = (now(), search.executions);
            let fate = search.fate(&BTreeMap::from([(label, tried)]));
            let executions = search.executions - executions;
            trials.push(Trial { label, before, tried, fate, executions, duration: start.elapsed() });
        }
    }

    // Together, and then further. A label with two ways down goes the first that survived.
    let mut after = Assignment::new();
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
    Ok(Weakened { trials, after, unended: search.unended() })
}

/// Looks for the weakest orderings of `queue`, from sequential consistency on; otherwise as [`weaken`]. Steps in order stay
/// in order.
///
/// # Errors
///
/// As [`weaken`]; and if a client fails with every label `SeqCst`.
pub fn descend(
    queue: &str,
    setup: &Setup,
    each: Duration,
    mut progress: impl FnMut(&str),
) -> Result<Descended, String> {
    let start = now();
    let mut search = Search::survey(queue, setup, each, &mut progress)?;
    let is_ordering = |strength: Strength| matches!(strength, Strength::Ordering(_) | Strength::Fence);
    let source: Assignment = search.labels().into_iter().filter(|(_, strength)| is_ordering(*strength)).collect();
    let strongest = |strength| if strength == Strength::Fence { strength } else { Strength::Ordering(SeqCst) };
    let mut after: Assignment = source.iter().map(|(label, strength)| (*label, strongest(*strength))).collect();
    progress("all SeqCst");
    if let fate @ Fate::Killed { .. } = search.fate(&after) {
        return Err(format!("with every label SeqCst: {fate}"));
    }
    for level in [Relaxed, Acquire, Release, AcqRel].map(Strength::Ordering) {
        // A fence is there or not: it is tried once.
        let is_open = |strength| match strength {
            Strength::Fence => level == Strength::Ordering(Relaxed),
            strength => strength == Strength::Ordering(SeqCst),
        };
        let open: Vec<_> =
            after.iter().filter(|(_, strength)| is_open(**strength)).map(|(&label, _)| (label, level)).collect();
        progress(&format!("{} labels {}", open.len(), table::name(level)));
        let taken = search.most(&after, &open);
        after.extend(taken);
    }
    let unknown = source.keys().copied().filter(|label| search.unknown.contains(label)).collect();
    let unended = search.unended();
    Ok(Descended { source, after, unknown, unended, executions: search.executions, duration: start.elapsed() })
}
