//! Who runs next.

use thalweg_sync::random::SplitMix;

/// How schedules are drawn. Every one is a function of the seed alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Strategy {
    /// The seed also chooses among walks of several step lengths and PCT with one to three changes. Finds the most.
    #[default]
    Mixed,
    /// A random walk: at each access a thread drawn from all that can run, except that `stay` times out of 256 the
    /// current one goes on.
    Walk {
        /// How often, out of 256, the running thread goes on.
        stay: u8,
    },
    /// Probabilistic concurrency testing: threads have random priorities, the first that can run does, and at `changes`
    /// random accesses the running thread falls below all others.
    ///
    /// A bug that needs `changes + 1` ordered steps is found with probability at least `1 / (n * k^changes)` per
    /// seed, for `n` threads and `k` accesses. S. Burckhardt et al., *A Randomized Scheduler with Probabilistic
    /// Guarantees of Finding Bugs*, ASPLOS 2010, §3. Different from the paper: `k` is not measured, but drawn from
    /// the powers of two from 16 to 8192, so that a seed says it all; and a thread falls below the others when it
    /// yields, or has run 2000 steps in a row, so that code which retries until another thread has gone on gets there.
    /// Every 16 384 steps whoever is first falls too, as threads that wake each other never run long in a row.
    Pct {
        /// How many accesses change a priority: the depth of the bug, less one.
        changes: u32,
    },
}

/// A thread that has run so many steps in a row probably waits for somebody, and falls below the others.
const FAIR: u32 = 2000;

/// After so many steps, and again after as many, the first thread falls below the others. More than there are before the last
/// change of PCT, so that what it promises stays.
const LONG: u64 = 1 << 14;

/// The schedule of one execution.
#[derive(Debug)]
pub(crate) struct Schedule {
    random: SplitMix,
    policy: Policy,
}

#[derive(Debug)]
enum Policy {
    Walk {
        stay: u8,
    },
    Pct {
        /// The accesses that change a priority, in descending order: the next one is the last.
        changes: Vec<u64>,
        accesses: u64,
        /// By thread. The greatest runs.
        priorities: Vec<i64>,
        /// Below every priority so far.
        lowest: i64,
        /// The thread chosen last, and how often in a row.
        last: (usize, u32),
    },
}

impl Schedule {
    pub(crate) fn new(strategy: Strategy, seed: u64) -> Self {
        let mut random = SplitMix::new(seed);
        let strategy = match strategy {
            Strategy::Mixed if random.below(2) == 0 => {
                Strategy::Walk { stay: [0, 128, 224, 248][random.below(4) as usize] }
            }
            Strategy::Mixed => Strategy::Pct { changes: 1 + random.below(3) as u32 },
            other => other,
        };
        let policy = match strategy {
            Strategy::Pct { changes } => {
                let length = 16 << random.below(10);
                let mut changes: Vec<_> = (0..changes).map(|_| random.below(length)).collect();
                changes.sort_unstable_by(|a, b| b.cmp(a));
                Policy::Pct { changes, accesses: 0, priorities: Vec::new(), lowest: 0, last: (0, 0) }
            }
            Strategy::Walk { stay } => Policy::Walk { stay },
            Strategy::Mixed => unreachable!("replaced above"),
        };
        Self { random, policy }
    }

    /// A number for other decisions of the execution.
    pub(crate) fn random(&mut self) -> &mut SplitMix {
        &mut self.random
    }

    /// A thread was started; threads are numbered in that order.
    pub(crate) fn started(&mut self) {
        if let Policy::Pct { priorities, .. } = &mut self.policy {
            priorities.push((self.random.number() >> 2) as i64);
        }
    }

    /// `thread` lets the others run first.
    pub(crate) fn yielded(&mut self, thread: usize) {
        if let Policy::Pct { priorities, lowest, .. } = &mut self.policy {
            *lowest -= 1;
            priorities[thread] = *lowest;
        }
    }

    /// Chooses one of `ready`, which is not empty. `current` is the thread that runs, if it wants to go on.
    pub(crate) fn choose(&mut self, ready: &[usize], current: Option<usize>) -> usize {
        match &mut self.policy {
            Policy::Walk { stay } => match current {
                Some(current) if self.random.below(256) < u64::from(*stay) => current,
                _ => ready[self.random.below(ready.len() as u64) as usize],
            },
            Policy::Pct { changes, accesses, priorities, lowest, last } => {
                *accesses += 1;
                if let Some(current) = current {
                    let change = changes.pop_if(|next| *accesses > *next).is_some();
                    if change || *last == (current, FAIR) {
                        *lowest -= 1;
                        priorities[current] = *lowest;
                    }
                }
                let first = |priorities: &[i64]| {
                    *ready.iter().max_by_key(|&&thread| priorities[thread]).expect("somebody is ready")
                };
                if accesses.is_multiple_of(LONG) {
                    let falls = first(priorities);
                    *lowest -= 1;
                    priorities[falls] = *lowest;
                }
                let chosen = first(priorities);
                *last = if chosen == last.0 { (chosen, (last.1 + 1).min(FAIR)) } else { (chosen, 0) };
                chosen
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_is_a_schedule() {
        let draw = |seed| {
            let mut schedule = Schedule::new(Strategy::Mixed, seed);
            (0..4).for_each(|_| schedule.started());
            (0..100).map(|_| schedule.choose(&[0, 1, 2, 3], Some(0))).collect::<Vec<_>>()
        };
        assert!((0..20).all(|seed| draw(seed) == draw(seed)));
        assert!((0..20).any(|seed| draw(seed) != draw(seed + 1)));
    }

    /// Thread 0 and thread 1 wake each other and sleep, over and over, and so they wait for thread 2.
    #[test]
    fn pct_lets_nobody_starve_behind_two_that_wake_each_other() {
        for seed in 0..20 {
            let mut schedule = Schedule::new(Strategy::Pct { changes: 0 }, seed);
            (0..3).for_each(|_| schedule.started());
            let mut awake = 0;
            let runs = (0..3 * LONG).any(|_| {
                let chosen = schedule.choose(&[awake, 2], None);
                awake = 1 - awake;
                chosen == 2
            });
            assert!(runs, "seed {seed}");
        }
    }

    #[test]
    fn pct_changes_priorities_and_yields_fall() {
        let mut schedule = Schedule::new(Strategy::Pct { changes: 1 }, 3);
        (0..2).for_each(|_| schedule.started());
        let first = schedule.choose(&[0, 1], None);
        schedule.yielded(first);
        assert_ne!(schedule.choose(&[0, 1], None), first);
    }
}
