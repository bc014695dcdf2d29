//! The proofs of thalweg's queues: clients for the model checker, and the search for the weakest orderings.
//!
//! A [`Client`] is a small program that uses a queue. The checker runs all its executions, and the history of its
//! operations has to be linearizable to the queue's specification in each. Clients try a few operations and then drain:
//! those that wait for each other have a hundred times as many executions and find no more.
//!
//! ```
//! let client = thalweg_proof::named("bbq/1p1c-1").expect("it is in the list");
//! let explored = client.check(&thalweg_proof::Setup::default())?;
//! assert!(explored.complete > 100);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`weaken`] makes each labelled ordering of a queue one notch weaker and looks which client then fails; what no
//! client misses is weakened for good, jointly.
#![cfg(not(loom))]

mod clients;
pub mod throughput;
pub mod weaken;

use std::hash::Hash;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;
use thalweg_check::history::{Recorder, Specification};
use thalweg_check::{Check, Explored, Memory, Progress, Violation};
use thalweg_queue::edges::table::{self, Strength, Table};
use thalweg_sync::atomic::Ordering;

/// A small program that uses a queue.
#[derive(Clone, Copy, Debug)]
pub struct Client {
    /// `queue/client`.
    pub name: &'static str,
    /// What it tries.
    pub what: &'static str,
    run: fn(&Setup) -> Result<Explored, Box<Violation>>,
}

impl Client {
    /// The queue that it is about.
    pub fn queue(&self) -> &'static str {
        self.name.split('/').next().unwrap_or(self.name)
    }

    /// Runs all its executions.
    ///
    /// # Errors
    ///
    /// With the first violation.
    pub fn check(&self, setup: &Setup) -> Result<Explored, Box<Violation>> {
        (self.run)(setup)
    }
}

/// All clients.
pub fn clients() -> &'static [Client] {
    clients::ALL
}

/// The client of this name.
pub fn named(name: &str) -> Option<&'static Client> {
    clients().iter().find(|client| client.name == name)
}

/// How a client is run.
#[derive(Clone, Debug)]
pub struct Setup {
    check: Check,
    table: Option<Arc<Table>>,
    interleaved: bool,
    replay: Option<Arc<str>>,
}

impl Default for Setup {
    /// All executions under RC11, with the orderings of the source.
    fn default() -> Self {
        Self { check: Check::new().max_events(1000), table: None, interleaved: false, replay: None }
    }
}

impl Setup {
    /// Stops after this time: what is left is not explored.
    pub fn max_time(mut self, time: Option<Duration>) -> Self {
        self.check = self.check.max_time(time);
        self
    }

    /// Stops after so many executions: what is left is not explored.
    pub fn max_executions(mut self, executions: Option<u64>) -> Self {
        self.check = self.check.max_executions(executions);
        self
    }

    /// On so many OS threads.
    pub fn threads(mut self, threads: NonZeroUsize) -> Self {
        self.check = self.check.threads(threads);
        self
    }

    /// Whether of equal threads one order is explored, as is done unless set; otherwise all are.
    pub fn equal_threads(mut self, equal: bool) -> Self {
        self.check = self.check.equal_threads(equal);
        self
    }

    /// Tells now and then how far a client is.
    pub fn on_progress(mut self, watcher: impl Fn(&Progress) + Send + Sync + 'static) -> Self {
        self.check = self.check.on_progress(watcher);
        self
    }

    /// Under sequential consistency. There one order has to explain all refusals of a history; under RC11 they are judged
    /// apart, as two threads may each miss what the other did last.
    pub fn interleaved(mut self) -> Self {
        self.check = self.check.memory(Memory::Sc);
        self.interleaved = true;
        self
    }

    /// One execution alone: the one of a [`Violation`] of the client in the same setup, as [`Violation::replay`] wrote it. For a
    /// look with a debugger.
    ///
    /// A text that is of no execution of the client is a violation, too: [`Rule::NoSuchExecution`].
    ///
    /// ```
    /// use thalweg_check::Rule;
    /// use thalweg_proof::{Setup, named};
    ///
    /// let client = named("ff/end").expect("it is in the list");
    /// assert_eq!(client.check(&Setup::default().replay("")).map(|explored| explored.complete).ok(), Some(1));
    /// let violation = client.check(&Setup::default().replay("c7")).unwrap_err();
    /// assert!(matches!(violation.rule(), Rule::NoSuchExecution { .. }));
    /// ```
    ///
    /// [`Rule::NoSuchExecution`]: thalweg_check::Rule::NoSuchExecution
    pub fn replay(mut self, execution: &str) -> Self {
        self.replay = Some(execution.into());
        self
    }

    /// As `check` says, whose options these are and more.
    fn within(&self, check: &Check) -> Self {
        Self { check: check.clone(), ..self.clone() }
    }

    /// With the orderings of `table` for the queue's labels.
    pub fn table(mut self, table: Arc<Table>) -> Self {
        self.table = Some(table);
        // A label that is `AcqRel` may be one of a load or of a store.
        self.check = self.check.any_ordering(true);
        self
    }

    /// Without these fences, whatever the table says of them.
    fn without(&self, fences: &[&str]) -> Self {
        let none = Strength::Ordering(Ordering::Relaxed);
        let base = self.table.clone().unwrap_or_default();
        let table = fences.iter().fold(Table::over(base), |table, fence| table.with(fence, none));
        self.clone().table(Arc::new(table))
    }

    /// Refusals are judged apart in any case: for queues that promise no more, where no one order explains them. A consumer of BBQ that reserves a
    /// block's last entry tells producers of that afterwards. In between another consumer may find the queue empty, and a producer find it full. An item that is
    /// half-way is in the queue for a producer that finds it full, and not yet in it for the one consumer of `mpsc` that finds it empty.
    fn apart(&self) -> Self {
        Self { interleaved: false, ..self.clone() }
    }

    /// Runs a client that asserts what it wants.
    fn asserting(&self, client: impl Fn() + Send + Sync + 'static) -> Result<Explored, Box<Violation>> {
        let table = self.table.clone();
        let client = move || {
            // As below.
            table::install(table.clone());
            client();
        };
        let result = match &self.replay {
            None => self.check.run(client),
            Some(execution) => self.check.replay(execution, client),
        };
        result.map_err(Box::new)
    }

    /// Runs a client that records what it does.
    fn linearizable<S>(
        &self,
        specification: S,
        client: impl Fn(&Recorder<S::Operation>) + Send + Sync + 'static,
    ) -> Result<Explored, Box<Violation>>
    where
        S: Specification + Send + Sync + 'static,
        S::Operation: Clone + Eq + Hash + Send + 'static,
    {
        let table = self.table.clone();
        let client = move |recorder: &Recorder<S::Operation>| {
            // The checker runs the client, all its threads, on an OS thread of its own.
            table::install(table.clone());
            client(recorder);
        };
        let result = match (self.interleaved, &self.replay) {
            (true, None) => self.check.linearizable(specification, client),
            (true, Some(execution)) => self.check.replay_linearizable(execution, specification, client),
            (false, None) => self.check.linearizable_apart(specification, client),
            (false, Some(execution)) => self.check.replay_linearizable_apart(execution, specification, client),
        };
        result.map_err(Box::new)
    }
}
