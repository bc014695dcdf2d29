//! Running a client under many schedules.

use crate::failure::Failure;
use crate::heap::Blocks;
use crate::schedule::Strategy;
use crate::world::{Limits, World};
use std::ops::Range;
use std::rc::Rc;

/// The variable that picks one seed.
const SEED: &str = "THALWEG_SEED";

/// A search for a schedule that makes a client fail.
///
/// ```
/// use thalweg_check::Fuzz;
/// use thalweg_sync::{atomic::{AtomicU64, Ordering::Relaxed}, thread};
///
/// let failure = Fuzz::new().seeds(0..100).check(|| {
///     let count = AtomicU64::new(0);
///     thread::scope(|scope| {
///         for _ in 0..2 {
///             scope.spawn(|| count.store(count.load(Relaxed) + 1, Relaxed)); // two steps, so one can be lost
///         }
///     });
///     assert_eq!(count.load(Relaxed), 2);
/// });
/// assert!(failure.is_err());
/// ```
#[derive(Clone, Debug)]
pub struct Fuzz {
    seeds: Range<u64>,
    strategy: Strategy,
    limits: Limits,
}

/// What was run without a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Summary {
    /// How many executions there were.
    pub executions: u64,
    /// How many steps they had together.
    pub steps: u64,
    /// A number that depends on which thread did which step in which order: equal for equal schedules.
    pub fingerprint: u64,
}

impl Default for Fuzz {
    fn default() -> Self {
        Self::new()
    }
}

impl Fuzz {
    /// 1000 seeds, a machine of 4 threads, at most a million steps per execution.
    pub fn new() -> Self {
        Self {
            seeds: 0..1000,
            strategy: Strategy::default(),
            limits: Limits { parallelism: 4, steps: 1_000_000, stack_bytes: 256 << 10, spurious: false },
        }
    }

    /// The seeds to run: one execution each. The same seed of the same client is always the same execution.
    pub fn seeds(mut self, seeds: Range<u64>) -> Self {
        self.seeds = seeds;
        self
    }

    /// How many threads the machine claims to run at once (`thread::available_parallelism`); at least 1. How many
    /// threads a client starts is its own affair.
    pub fn threads(mut self, threads: usize) -> Self {
        self.limits.parallelism = threads.max(1);
        self
    }

    /// How schedules are drawn.
    pub fn strategy(mut self, strategy: Strategy) -> Self {
        self.strategy = strategy;
        self
    }

    /// After how many steps an execution counts as a livelock.
    pub fn steps(mut self, limit: u64) -> Self {
        self.limits.steps = limit;
        self
    }

    /// Whether a [`Condvar::wait`](thalweg_sync::sync::Condvar::wait) may return though nobody notified it, which one in sixteen
    /// does.
    pub fn spurious(mut self, spurious: bool) -> Self {
        self.limits.spurious = spurious;
        self
    }

    /// The size of each thread's stack. Memory is used only as far as the stack grows.
    pub fn stack_bytes(mut self, bytes: usize) -> Self {
        self.limits.stack_bytes = bytes;
        self
    }

    /// Runs `client` once for each seed, until one fails. With `THALWEG_SEED` set, runs that seed only.
    ///
    /// # Panics
    ///
    /// With the [`Failure`], if there is one; it says how to run it again. If `THALWEG_SEED` is not a number, or there are
    /// no seeds.
    pub fn run(&self, client: impl Fn() + Sync) {
        let mut fuzz = self.clone();
        if let Ok(seed) = std::env::var(SEED) {
            let seed = seed.parse().unwrap_or_else(|_| panic!("{SEED} is a seed, a number from 0, not {seed:?}"));
            fuzz.seeds = one(seed);
        }
        if let Err(failure) = fuzz.check(client) {
            panic!("{failure}");
        }
    }

    /// Runs `client` with this seed only. Panics as [`run`](Self::run) does.
    pub fn replay(&self, seed: u64, client: impl Fn() + Sync) {
        if let Err(failure) = self.clone().seeds(one(seed)).check(client) {
            panic!("{failure}");
        }
    }

    /// Runs `client` once for each seed, until one fails.
    ///
    /// # Panics
    ///
    /// If there are no seeds: nothing would be run.
    pub fn check(&self, client: impl Fn() + Sync) -> Result<Summary, Failure> {
        assert!(
            !self.seeds.is_empty(),
            "there are no seeds in {:?}, so nothing would be run: `Fuzz::seeds` takes a range such as 0..1000",
            self.seeds
        );
        // A thread of its own: a coroutine that is stuck while it unwinds leaves the thread's panic count wrong for
        // good.
        let search = || {
            let mut summary = Summary { executions: 0, steps: 0, fingerprint: 0 };
            let (mut stacks, blocks) = (Vec::new(), Rc::new(Blocks::default()));
            for seed in self.seeds.clone() {
                let (result, returned) =
                    World::new(self.limits, self.strategy, seed, stacks, blocks.clone()).run(seed, &client);
                stacks = returned;
                let outcome = result?;
                summary.executions += 1;
                summary.steps += outcome.steps;
                summary.fingerprint = summary.fingerprint.rotate_left(1) ^ outcome.fingerprint;
            }
            Ok(summary)
        };
        std::thread::scope(|scope| scope.spawn(search).join()).unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

/// Runs `client` with `seed` only, otherwise as [`Fuzz::new`] says. Panics as [`Fuzz::run`] does.
pub fn replay(seed: u64, client: impl Fn() + Sync) {
    Fuzz::new().replay(seed, client);
}

fn one(seed: u64) -> Range<u64> {
    seed..seed.saturating_add(1)
}
