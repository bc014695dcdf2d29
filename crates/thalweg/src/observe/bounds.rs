//! How many workers of a run may work, said from outside.

use super::{Demand, Pane};
use std::fmt;
use thalweg_sync::sync::Arc;
use thalweg_sync::time::now;

/// Who sets bounds. The smallest counts.
#[derive(Clone, Copy, Debug)]
pub(crate) enum By {
    /// The program, by an [`Allowance`].
    Program,
    /// A daemon, for all programs of the machine.
    #[cfg(any(test, all(feature = "daemon", target_os = "linux")))]
    Daemon,
}

/// What a run begins with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Crew {
    /// The workers that its scheme asks for at first.
    pub(crate) asked: usize,
    /// Those that it needs, whatever is allowed.
    pub(crate) least: usize,
}

/// What the scheme of a run asks for, and what is allowed.
#[derive(Debug)]
pub(crate) struct Bounds {
    by: [usize; 2],
    asked: usize,
    least: usize,
    /// The number that was found to be worth it, and until when that holds.
    worth: (usize, u64),
}

impl Default for Bounds {
    fn default() -> Self {
        Self { by: [usize::MAX; 2], asked: usize::MAX, least: 1, worth: (usize::MAX, 0) }
    }
}

impl Bounds {
    fn smallest(&self) -> usize {
        self.by[0].min(self.by[1])
    }

    /// How many are allowed: at least one.
    fn allowed(&self) -> usize {
        self.smallest().max(self.least)
    }

    /// How many work.
    fn target(&self) -> usize {
        self.asked.min(self.allowed())
    }
}

impl Pane {
    /// A run begins. How many of its workers work at first, if that is not what it asked for.
    pub(super) fn begin(bounds: &mut Bounds, crew: Option<Crew>) -> Option<usize> {
        // Where nobody can stand in for a worker, all go on.
        let crew = crew.unwrap_or(Crew { asked: usize::MAX, least: usize::MAX });
        (bounds.asked, bounds.least) = (crew.asked, crew.least);
        bounds.worth = (usize::MAX, 0);
        (bounds.target() < crew.asked).then(|| bounds.target())
    }

    /// Allows so many workers from now on, zero counting as one, in this run and in later ones.
    pub(crate) fn allow(&self, by: By, workers: usize) {
        let mut state = self.lock();
        let before = state.bounds.target();
        state.bounds.by[by as usize] = workers.max(1);
        let target = state.bounds.target();
        // O1: under the lock.
        if let Some(run) = state.now
            && target != before
        {
            run.let_work(target);
        }
    }

    /// The scheme asks for so many workers: `set` is told how many it gets, under the lock (B5).
    pub(crate) fn ask(&self, workers: usize, set: impl FnOnce(usize)) {
        let mut state = self.lock();
        state.bounds.asked = workers;
        // A run that began before it could be seen is not bounded.
        set(if state.now.is_some() { state.bounds.target() } else { workers });
    }

    /// How many the run that goes on may have.
    pub(crate) fn allowed(&self) -> usize {
        let state = self.lock();
        if state.now.is_some() { state.bounds.allowed() } else { usize::MAX }
    }

    /// More than so many were found not to be worth it, which holds until a time on the clock.
    pub(crate) fn judge(&self, worth: usize, until: u64) {
        self.lock().bounds.worth = (worth, until);
    }

    /// What the run that goes on could use; nothing if none does.
    pub(crate) fn demand(&self) -> Demand {
        let state = self.lock();
        // O1: under the lock.
        let Some(run) = state.now else { return Demand::default() };
        let (demand, (worth, until)) = (run.demand(), state.bounds.worth);
        let worth = if now().as_nanos() < until { worth } else { usize::MAX };
        Demand { could: demand.could.min(worth.max(demand.works)), ..demand }
    }
}

/// How many workers of a graph's runs may work, from any thread and while they run. Made by [`Graph::allowance`](crate::Graph::allowance); clones are
/// of the same graph.
#[derive(Clone)]
pub struct Allowance {
    pub(crate) pane: Arc<Pane>,
}

impl Allowance {
    /// Lets so many workers work from now on, in this run and in later ones; zero counts as one, and `usize::MAX` allows all again.
    ///
    /// Workers beyond it sit down when they come back from the activation that they are in; nobody waits for that. Those that are allowed again get up at
    /// once. A run under the default scheme goes on to find out how many are worth it, and takes no more than are allowed. It keeps a second one where
    /// it may not do with one (an inlet beside another source). Where a scheme has a thread for each kernel (`raft`), or is
    /// [restricted](crate::Scheme::restricted), nobody can stand in for a worker, so all go on. So they do in a run that went on already when the graph's
    /// first allowance was made.
    pub fn allow(&self, workers: usize) {
        self.pane.allow(By::Program, workers);
    }

    /// How many are allowed. Fewer than were asked for, if a daemon grants the whole process fewer (feature `daemon`).
    pub fn workers(&self) -> usize {
        self.pane.lock().bounds.smallest()
    }

    /// What the run that goes on could use now; nothing if none does, or if it began before the graph's first allowance was made.
    ///
    /// With it a program shares out cores among its own graphs, as the daemon does among programs.
    ///
    /// ```
    /// use thalweg::prelude::*;
    ///
    /// let mut graph = Graph::new();
    /// let work = graph.source(0..100_000_u64) >> graph.parallel_map(|n| n * n) >> graph.sink(drop);
    /// graph += work;
    /// let allowance = graph.allowance();
    /// assert_eq!(allowance.demand().could, 0); // nothing runs
    /// graph.run(Scheme::default())?;
    /// # Ok::<(), thalweg::Error>(())
    /// ```
    ///
    /// Costs a look at each worker and each kernel.
    pub fn demand(&self) -> Demand {
        self.pane.demand()
    }
}

impl fmt::Debug for Allowance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Allowance").field(&self.workers()).finish()
    }
}
