//! The search for the weakest orderings.
//!
//! Code that names its orderings, by [`edge`](thalweg_sync::edges::edge), can be tried with each of them weaker: a client that then
//! fails is the reason for the ordering, and an ordering that no client misses is stronger than it has to be, or a client is missing.
//!
//! ```
//! use thalweg_check::weaken::{Client, Fate, Weaken};
//! use thalweg_sync::atomic::{AtomicU64, Ordering::{AcqRel, Acquire, Release}};
//! use thalweg_sync::{cell::Slot, edges::edge, spin, sync::Arc, thread};
//!
//! // In your library: a value that is set once. Its first ordering is stronger than it has to be.
//! #[derive(Default)]
//! struct Once { value: Slot<u32>, state: AtomicU64 }
//! // SAFETY: `value` is written by who turned `state` from 0 to 1, and read when it is 2.
//! unsafe impl Sync for Once {}
//! impl Once {
//!     fn set(&self, value: u32) -> bool {
//!         let first = self.state.compare_exchange(0, 1, edge("once.1", AcqRel), Acquire).is_ok();
//!         if first {
//!             // SAFETY: see above.
//!             self.value.with_mut(|place| unsafe { *place = value });
//!             self.state.store(2, edge("once.2", Release));
//!         }
//!         first
//!     }
//!     fn wait(&self) -> u32 {
//!         spin::until(|| (self.state.load(edge("once.3", Acquire)) == 2).then_some(()));
//!         // SAFETY: see above.
//!         self.value.with(|place| unsafe { *place })
//!     }
//! }
//!
//! // In a test: a client, as for `Check`.
//! let client = || {
//!     let once = Arc::new(Once::default());
//!     let setters = [1, 2].map(|value| {
//!         let once = once.clone();
//!         thread::spawn(move || once.set(value))
//!     });
//!     assert!([1, 2].contains(&once.wait()));
//!     assert_eq!(setters.map(|setter| setter.join().unwrap()).iter().filter(|first| **first).count(), 1);
//! };
//! let found = Weaken::new().client(Client::new("two-set", client)).run()?;
//! println!("{found}"); // `cargo test -- --nocapture`
//! let fate = |label| found.trials.iter().find(|trial| trial.label == label).map(|trial| &trial.fate);
//! assert!(matches!(fate("once.2"), Some(Fate::Killed { client: "two-set", by: "data race" })));
//! assert!(matches!(fate("once.3"), Some(Fate::Killed { .. })));
//! assert_eq!(fate("once.1"), Some(&Fate::Survived)); // it could be weaker, for all that this client knows
//! # Ok::<(), thalweg_check::weaken::NotWeakened>(())
//! ```
//!
//! It prints a line for each label and what it was made, and below what can be weaker together:
//!
//! ```text
//! label        before   tried    killed by                            executions      time
//! once.1       acq-rel  acquire  nobody                                       20    0.01 s
//! once.1       acq-rel  release  nobody                                       20    0.01 s
//! once.2       release  relaxed  two-set (data race)                           1    0.00 s
//! once.3       acquire  relaxed  two-set (data race)                           1    0.00 s
//! can be weaker together: once.1 (relaxed)
//! ```
//!
//! After J. Oberhauser et al., *VSync: Push-Button Verification and Optimization for Synchronization Primitives on Weak
//! Memory Models*, ASPLOS 2021, §4. There are two searches:
//!
//! **[`Weaken::run`]**, from the orderings of the source, says of each label which client kills its weakening.
//!
//! 1. A survey runs every client and notes which labels it meets. One that does not end in its time may meet any, also some
//!    that nobody has noted.
//! 2. Each label is made one notch weaker, alone; the clients that meet it are run, the cheapest first, until one fails.
//!    The notches of a fence: no fence; of two steps in order: the other way round.
//! 3. The labels that nobody missed are weakened together, as many as pass, by bisection; and again a notch further.
//!
//! **[`Weaken::descend`]**, from sequential consistency, as the paper's: with every label `SeqCst`, as many as pass together become
//! Relaxed, by bisection; then as many of the others as pass become Acquire, then Release, then `AcqRel`. What it ends with
//! can differ from the source in both directions, as one label may take over what another one did.
//!
//! Weakening only adds executions, so what is weaker than something that fails fails too. The result is a local optimum
//! for these clients, not a proof for others. A client that did not end in its time makes the answer unknown, never a
//! pass.

mod search;
mod table;

use crate::history::{Recorder, Specification};
use crate::{Check, Explored, Violation};
use search::Search;
use std::collections::BTreeMap;
use std::fmt;
use std::hash::Hash;
use std::sync::Arc;
use std::time::{Duration, Instant};
use thalweg_sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
use thalweg_sync::edges::table::install;
pub use thalweg_sync::edges::table::{Strength, Table};

/// Labels and what they are made; others are as in the source.
pub type Assignment = BTreeMap<&'static str, Strength>;

/// How a client is run with other orderings, for at most some time.
type RunWith = Arc<dyn Fn(&Check, Arc<Table>) -> Result<Explored, Box<Violation>> + Send + Sync>;

/// A client of the code whose edges are weakened.
#[derive(Clone)]
pub struct Client {
    name: &'static str,
    run: RunWith,
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Client {
    /// One that asserts what it wants, as for [`Check::run`].
    pub fn new(name: &'static str, client: impl Fn() + Clone + Send + Sync + 'static) -> Self {
        Self::with(name, move |check, table| {
            let client = client.clone();
            let weakened = move || {
                // The checker runs the client, all its threads, on an OS thread of its own.
                install(Some(table.clone()));
                client();
            };
            check.run(weakened).map_err(Box::new)
        })
    }

    /// One that records what it does, as for [`Check::linearizable`].
    pub fn linearizable<S>(
        name: &'static str,
        specification: S,
        client: impl Fn(&Recorder<S::Operation>) + Clone + Send + Sync + 'static,
    ) -> Self
    where
        S: Specification + Send + Sync + 'static,
        S::Operation: Clone + Eq + Hash + Send + 'static,
    {
        Self::with(name, move |check, table| {
            check.linearizable(specification.clone(), installing(table, client.clone())).map_err(Box::new)
        })
    }

    /// As [`linearizable`](Self::linearizable), each refusal judged apart: [`Check::linearizable_apart`].
    pub fn linearizable_apart<S>(
        name: &'static str,
        specification: S,
        client: impl Fn(&Recorder<S::Operation>) + Clone + Send + Sync + 'static,
    ) -> Self
    where
        S: Specification + Send + Sync + 'static,
        S::Operation: Clone + Eq + Hash + Send + 'static,
    {
        Self::with(name, move |check, table| {
            check.linearizable_apart(specification.clone(), installing(table, client.clone())).map_err(Box::new)
        })
    }

    /// One that is run in a way of its own: by the check that it is given, or one with the same [`max_time`](Check::max_time), and with this
    /// table [installed](install) on each thread that runs it.
    pub fn with(
        name: &'static str,
        run: impl Fn(&Check, Arc<Table>) -> Result<Explored, Box<Violation>> + Send + Sync + 'static,
    ) -> Self {
        Self { name, run: Arc::new(run) }
    }
}

fn installing<O>(table: Arc<Table>, client: impl Fn(&Recorder<O>)) -> impl Fn(&Recorder<O>) {
    move |recorder: &Recorder<O>| {
        // As above.
        install(Some(table.clone()));
        client(recorder);
    }
}

type Tell = Arc<dyn Fn(&str) + Send + Sync>;

/// A search for the weakest orderings that some clients pass with.
#[derive(Clone)]
pub struct Weaken {
    check: Check,
    each: Duration,
    clients: Vec<Client>,
    tell: Option<Tell>,
}

impl fmt::Debug for Weaken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Weaken").field("clients", &self.clients).field("each", &self.each).finish_non_exhaustive()
    }
}

impl Default for Weaken {
    fn default() -> Self {
        Self::new()
    }
}

/// Why there is nothing that could be weakened.
#[derive(Debug)]
#[non_exhaustive]
pub enum NotWeakened {
    /// There are no clients.
    NoClients,
    /// A client fails with the orderings of the source.
    Fails {
        /// Its name.
        client: &'static str,
        /// How.
        violation: Box<Violation>,
    },
    /// A client fails with every label `SeqCst`.
    FailsSeqCst {
        /// Its name.
        client: &'static str,
        /// What went wrong, in a word or two.
        by: &'static str,
    },
}

impl fmt::Display for NotWeakened {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoClients => write!(f, "there are no clients, so nothing would be missed: `Weaken::client`"),
            Self::Fails { client, violation } => write!(f, "{client} fails as it is: {violation}"),
            Self::FailsSeqCst { client, by } => write!(f, "with every label SeqCst: {client} ({by})"),
        }
    }
}

impl std::error::Error for NotWeakened {}

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
#[non_exhaustive]
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
#[non_exhaustive]
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
#[non_exhaustive]
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

impl Weaken {
    /// Every client by [`Check::new`], for at most ten seconds for all that is tried of a label.
    pub fn new() -> Self {
        Self { check: Check::new(), each: Duration::from_secs(10), clients: Vec::new(), tell: None }
    }

    /// How clients are run.
    pub fn check(mut self, check: Check) -> Self {
        self.check = check;
        self
    }

    /// How long may be tried what a label is made, all its clients together.
    pub fn each(mut self, each: Duration) -> Self {
        self.each = each;
        self
    }

    /// With this client, too.
    pub fn client(mut self, client: Client) -> Self {
        self.clients.push(client);
        self
    }

    /// Tells what is tried.
    pub fn on_progress(mut self, tell: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.tell = Some(Arc::new(tell));
        self
    }

    fn tell(&self, what: &str) {
        if let Some(tell) = &self.tell {
            tell(what);
        }
    }

    /// Looks for the weakest orderings, from those of the source on.
    ///
    /// # Errors
    ///
    /// If there are no clients, or one fails with the orderings of the source.
    pub fn run(&self) -> Result<Weakened, NotWeakened> {
        let mut search = Search::survey(self)?;
        let mut trials = Vec::new();
        for (label, before) in search.labels() {
            for &tried in before.weaker() {
                self.tell(&format!("{label} as {}", table::name(tried)));
                let (start, executions) = (Instant::now(), search.executions);
                let fate = search.fate(&BTreeMap::from([(label, tried)]));
                let executions = search.executions - executions;
                trials.push(Trial { label, before, tried, fate, executions, duration: start.elapsed() });
            }
        }

        // Together, and then further. Of a label with two ways down the second is tried if it does not go the first.
        let mut after = Assignment::new();
        let mut level = search.labels();
        while !level.is_empty() {
            let mut taken: Vec<(&'static str, Strength)> = Vec::new();
            for way in 0..2 {
                let is_open = |&(label, strength): &(&'static str, Strength)| {
                    let alone = trials.iter().find(|trial| trial.label == label && trial.tried == strength);
                    alone.is_none_or(|trial| trial.fate == Fate::Survived)
                };
                let rest = level.iter().filter(|(label, _)| taken.iter().all(|(other, _)| other != label));
                let open = rest.filter_map(|&(label, strength)| Some((label, *strength.weaker().get(way)?)));
                let open = open.filter(is_open).collect::<Vec<_>>();
                if open.is_empty() {
                    continue;
                }
                self.tell(&format!("{} labels together", open.len()));
                let more = search.most(&after, &open);
                after.extend(more.iter().copied());
                taken.extend(more);
            }
            level = taken;
        }
        Ok(Weakened { trials, after, unended: search.unended() })
    }

    /// Looks for the weakest orderings, from sequential consistency on. Steps in order stay in order.
    ///
    /// # Errors
    ///
    /// As [`run`](Self::run); and if a client fails with every label `SeqCst`.
    pub fn descend(&self) -> Result<Descended, NotWeakened> {
        let start = Instant::now();
        let mut search = Search::survey(self)?;
        let is_ordering = |strength: Strength| matches!(strength, Strength::Ordering(_) | Strength::Fence);
        let source: Assignment = search.labels().into_iter().filter(|(_, strength)| is_ordering(*strength)).collect();
        let strongest = |strength| if strength == Strength::Fence { strength } else { Strength::Ordering(SeqCst) };
        let mut after: Assignment = source.iter().map(|(label, strength)| (*label, strongest(*strength))).collect();
        self.tell("all SeqCst");
        if let Fate::Killed { client, by } = search.fate(&after) {
            return Err(NotWeakened::FailsSeqCst { client, by });
        }
        for level in [Relaxed, Acquire, Release, AcqRel].map(Strength::Ordering) {
            // A fence is there or not: it is tried once.
            let is_open = |strength| match strength {
                Strength::Fence => level == Strength::Ordering(Relaxed),
                strength => strength == Strength::Ordering(SeqCst),
            };
            let open: Vec<_> =
                after.iter().filter(|(_, strength)| is_open(**strength)).map(|(&label, _)| (label, level)).collect();
            self.tell(&format!("{} labels {}", open.len(), table::name(level)));
            let taken = search.most(&after, &open);
            after.extend(taken);
        }
        let unknown = source.keys().copied().filter(|label| search.unknown.contains(label)).collect();
        let unended = search.unended();
        Ok(Descended { source, after, unknown, unended, executions: search.executions, duration: start.elapsed() })
    }
}
