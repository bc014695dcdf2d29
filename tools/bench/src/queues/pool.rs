//! A pool of queues on the machine at hand: what each policy costs a thief, beside crossbeam-deque. The thesis' Figure 4.11 is in `figures/thesis/stealing.rs`.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::thread;
use std::time::{Duration, Instant};

use crossbeam_utils::CachePadded;
use serde_json::json;
use thalweg_queue::stealing::{
    self, Accept, BestOf, Last, Near, Policy, Pool, Probabilistic, Random, Rng, Sequential, Stealer, Victims,
};

use super::limits;
use crate::harness::{BoxError, Contender, Effort, Experiment, Group, Role, Sample};
use crate::machine::{Placement, Start};
use crate::peers::deques::CrossbeamFifo;
use crate::workloads::stealing::{CAPACITY, Deque, Owner, Tally};

/// The entry in the registry.
pub const EXPERIMENT: Experiment = Experiment { name: "queues/pool", plan };

const WORKERS: usize = 8;
const BLOCKS: usize = 8;
const ROUNDS: u64 = 60;
const UNITS: &[&str] = &[
    "ns of thieves for each stolen item",
    "choices in vain for each stolen item",
    "ns per operation of all",
    "% of items stolen",
];

fn plan(effort: &Effort) -> Result<Vec<Group>, BoxError> {
    let group = |workload, percent, lifo| {
        let work = Balancing { rounds: effort.messages(16 * ROUNDS) / 16, attempts: CAPACITY * percent / 100 };
        Group::new(workload, UNITS, contenders(work, lifo))
    };
    Ok(vec![
        group("LIFO, balancing factor 0 %", 0, true),
        group("LIFO, balancing factor 10 %", 10, true),
        group("LIFO, balancing factor 100 %", 100, true),
        group("FIFO, balancing factor 0 %", 0, false),
        group("FIFO, balancing factor 10 %", 10, false),
        group("FIFO, balancing factor 100 %", 100, false),
        limits::group(effort),
    ])
}

/// The work of each worker.
#[derive(Clone, Copy, Debug)]
struct Balancing {
    rounds: u64,
    /// How often it tries to steal in a round.
    attempts: usize,
}

fn contenders(work: Balancing, lifo: bool) -> Vec<Contender> {
    let new = |role: Role, name: &str, run: Box<dyn Fn() -> Result<Sample, BoxError> + Send>| {
        let capacity = if role == Role::Peer { CrossbeamFifo::capacity() } else { json!(CAPACITY) };
        let params = json!({
            "rounds": work.rounds, "attempts": work.attempts, "capacity": capacity,
            "workers": WORKERS, "threads": format!("2, {}", Placement::TwoCpus.word()), "nodes": "one for each CPU",
        });
        Contender::new(role, name, params, run)
    };
    if work.attempts == 0 {
        return vec![
            new(Role::Ours, "thalweg `bwos`", Box::new(move || ours(work, lifo, || Random))),
            new(Role::Peer, "crossbeam-deque", Box::new(move || crossbeam(work, lifo))),
        ];
    }
    macro_rules! policies {
        ($($name:literal: $policy:expr,)+) => {
            vec![$(new(Role::Ours, concat!("thalweg `bwos`, ", $name), Box::new(move || ours(work, lifo, || $policy))),)+]
        };
    }
    // FIFO queues are stolen from in the block that was looked at.
    let probabilistic = move |policy| if lifo { Probabilistic::new(policy) } else { Probabilistic::in_block(policy) };
    let probabilistic_near =
        move |policy| if lifo { Probabilistic::new(Near(policy)) } else { Probabilistic::in_block(Near(policy)) };
    let mut contenders = policies! {
        "random": Random,
        "sequential": Sequential,
        "last": Last::new(Random),
        "best of two": BestOf(2),
        "best of many": BestOf(WORKERS / 2),
        "NUMA": Near(Random),
        "probabilistic": probabilistic(Random),
        "probabilistic and NUMA": probabilistic_near(Random),
        "last, else probabilistic": Last::new(probabilistic(Random)),
        "last, else probabilistic and NUMA": Last::new(probabilistic_near(Random)),
    };
    contenders.push(new(Role::Peer, "crossbeam-deque, random", Box::new(move || crossbeam(work, lifo))));
    contenders
}

/// One of the workers.
struct Worker<O, S> {
    owner: O,
    steal: S,
    choices: Choices,
}

/// How often a thief has chosen a queue, whether it then tried to steal there or not. Counted alike for all policies.
#[derive(Clone, Default)]
struct Choices(Arc<CachePadded<AtomicU64>>);

impl Choices {
    /// Of the thief's thread, the only one that counts: so it is no exchange, and Relaxed.
    #[inline(always)]
    fn count(&self) {
        self.0.store(self.0.load(Relaxed) + 1, Relaxed);
    }
}

/// A policy whose choices are counted, those too that it does not accept itself.
struct Counted<P> {
    policy: P,
    choices: Choices,
}

impl<P: Policy> Policy for Counted<P> {
    fn choose(&mut self, victims: &Victims<'_>, attempt: usize, rng: &mut Rng) -> usize {
        self.choices.count();
        self.policy.choose(victims, attempt, rng)
    }

    fn accept(&mut self, victims: &Victims<'_>, victim: usize, rng: &mut Rng) -> Accept {
        self.policy.accept(victims, victim, rng)
    }

    fn tries(&self, victims: &Victims<'_>) -> usize {
        self.policy.tries(victims)
    }

    fn stole(&mut self, victim: usize) {
        self.policy.stole(victim);
    }

    fn missed(&mut self, victim: usize) {
        self.policy.missed(victim);
    }
}

/// Runs all workers. Gives what thieves spent on each item they stole, in vain or not, and how many choices of a queue were in vain for it: no
/// figures where nothing is stolen. Then nanoseconds for each item that was put in, taken out or stolen; who steals more has more to do there that
/// is not in its own cache, so these compare at equal shares only, which come last.
///
/// Each CPU has one thread, which does the work of its workers in turn: while one fills its queue, another's is full, so
/// about half of all queues have something, as if all workers ran at once.
fn run<O: Owner>(
    work: Balancing,
    workers: Vec<Worker<O, impl FnMut() -> Option<u64> + Send>>,
) -> Result<Sample, BoxError> {
    let start = &Start::default();
    let mut threads: Vec<Vec<_>> = vec![Vec::new(), Vec::new()];
    for (number, worker) in workers.into_iter().enumerate() {
        threads[2 * number / WORKERS].push(worker);
    }
    let (ended, timing) = thread::scope(|scope| {
        let threads = threads.into_iter().enumerate().map(|(thread, mut workers)| {
            scope.spawn(move || {
                Placement::TwoCpus.pin(thread, 2);
                let _running = start.running();
                let tally = take_turns(work, (thread as u64) << 40, &mut workers);
                (tally, workers)
            })
        });
        let threads: Vec<_> = threads.collect();
        start.timed(threads.len(), || {
            threads.into_iter().map(|thread| thread.join().expect("workers do not panic")).collect::<Vec<_>>()
        })
    });
    let (mut pushed, mut taken, mut stolen) = (Tally::default(), Tally::default(), 0);
    let (mut stealing, mut choices) = (Duration::ZERO, 0);
    // What was done in the time: what is left in the queues is taken after it.
    let mut done = 0;
    for (tally, workers) in ended {
        stealing += tally.stealing;
        done += tally.pushed.count + tally.popped.count + tally.stolen.count;
        pushed.join(tally.pushed);
        taken.join(tally.popped);
        taken.join(tally.stolen);
        stolen += tally.stolen.count;
        for Worker { mut owner, choices: chosen, .. } in workers {
            choices += chosen.0.load(Relaxed);
            while let Some(item) = owner.pop() {
                taken.add(item);
            }
        }
    }
    if pushed != taken {
        return Err(format!("{taken:?} taken, but {pushed:?} pushed").into());
    }
    let each = |what: f64| if stolen == 0 { f64::NAN } else { what / stolen as f64 };
    let share = 100.0 * stolen as f64 / pushed.count.max(1) as f64;
    let figures =
        vec![each(stealing.as_nanos() as f64), each((choices - stolen) as f64), timing.nanos_per(done), share];
    Ok(Sample { figures, cpus: Some(timing.cpus()) })
}

/// What the workers of a thread did.
#[derive(Default)]
struct Done {
    pushed: Tally,
    popped: Tally,
    stolen: Tally,
    /// The time in which they tried to steal.
    stealing: Duration,
}

/// The work of the workers of one thread, with items numbered from `next`.
fn take_turns<O: Owner>(
    work: Balancing,
    mut next: u64,
    workers: &mut [Worker<O, impl FnMut() -> Option<u64> + Send>],
) -> Done {
    let mut done = Done::default();
    let count = workers.len();
    for turn in 0..work.rounds as usize * count {
        let owner = &mut workers[turn % count].owner;
        for _ in 0..CAPACITY {
            if !owner.push(next) {
                break;
            }
            done.pushed.add(next);
            next += 1;
        }
        let Worker { owner, steal, .. } = &mut workers[(turn + count / 2) % count];
        while let Some(item) = owner.pop() {
            done.popped.add(item);
        }
        let start = Instant::now();
        (0..work.attempts).filter_map(|_| steal()).for_each(|item| done.stolen.add(item));
        done.stealing += start.elapsed();
    }
    done
}

fn ours<P: Policy + 'static>(work: Balancing, lifo: bool, policy: impl Fn() -> P) -> Result<Sample, BoxError> {
    let entries = CAPACITY / BLOCKS;
    if lifo {
        with_pool(work, (0..WORKERS).map(|_| stealing::lifo(BLOCKS, entries)), policy)
    } else {
        with_pool(work, (0..WORKERS).map(|_| stealing::fifo(BLOCKS, entries)), policy)
    }
}

fn with_pool<O: Owner, P: Policy + 'static>(
    work: Balancing,
    queues: impl Iterator<Item = Result<(O, Stealer<u64>), thalweg_queue::BuildError>>,
    policy: impl Fn() -> P,
) -> Result<Sample, BoxError> {
    let (owners, stealers): (Vec<_>, Vec<_>) = queues.collect::<Result<Vec<_>, _>>()?.into_iter().unzip();
    // As the workers are pinned: the first half on one CPU, the second on the other.
    let pool = Pool::new(stealers).with_nodes((0..WORKERS).map(|worker| 2 * worker / WORKERS));
    let worker = |(number, owner): (usize, _)| {
        let choices = Choices::default();
        let mut thief = pool.thief(number, Counted { policy: policy(), choices: choices.clone() });
        let steal = move || thief.try_steal().ok();
        Worker { owner, steal, choices }
    };
    run(work, owners.into_iter().enumerate().map(worker).collect())
}

fn crossbeam(work: Balancing, lifo: bool) -> Result<Sample, BoxError> {
    let new = if lifo { crossbeam_deque::Worker::new_lifo } else { crossbeam_deque::Worker::new_fifo };
    let owners: Vec<crossbeam_deque::Worker<u64>> = (0..WORKERS).map(|_| new()).collect();
    let stealers: Vec<crossbeam_deque::Stealer<u64>> = owners.iter().map(crossbeam_deque::Worker::stealer).collect();
    let worker = |(number, owner): (usize, _)| {
        let (stealers, choices) = (stealers.clone(), Choices::default());
        let (mut rng, chosen) = (Rng::new(number as u64), choices.clone());
        let steal = move || {
            chosen.count();
            stealers[(number + 1 + rng.below(WORKERS - 1)) % WORKERS].steal().success()
        };
        Worker { owner, steal, choices }
    };
    run(work, owners.into_iter().enumerate().map(worker).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_stolen_item_costs_is_told_where_somebody_steals() {
        let nobody = Balancing { rounds: 1, attempts: 0 };
        let figures = crossbeam(nobody, true).unwrap().figures;
        assert!(figures[0].is_nan() && figures[1].is_nan() && figures[3] == 0.0);
        let figures = crossbeam(Balancing { rounds: 2, attempts: 10 }, true).unwrap().figures;
        assert!(figures[0] > 0.0 && figures[1] >= 0.0 && figures[3] > 0.0, "{figures:?}");
    }

    #[test]
    fn choices_that_a_policy_does_not_accept_are_in_vain_too() {
        /// Accepts one choice in three.
        struct Picky(u32);
        impl Policy for Picky {
            fn choose(&mut self, victims: &Victims<'_>, _attempt: usize, _rng: &mut Rng) -> usize {
                victims.all()[0]
            }

            fn accept(&mut self, _victims: &Victims<'_>, _victim: usize, _rng: &mut Rng) -> Accept {
                self.0 += 1;
                if self.0.is_multiple_of(3) { Accept::Oldest } else { Accept::No }
            }
        }
        let (mut owner, stealer) = stealing::lifo(2, 4).unwrap();
        (0..8).for_each(|item: u64| owner.push(item).unwrap());
        let (_idle, own) = stealing::lifo(2, 4).unwrap();
        let choices = Choices::default();
        let mut thief = Pool::new(vec![own, stealer]).thief(0, Counted { policy: Picky(0), choices: choices.clone() });
        // With one other queue an attempt makes one choice.
        let stolen = (0..9).filter(|_| thief.try_steal().is_ok()).count() as u64;
        assert_eq!((choices.0.load(Relaxed), stolen), (9, 3));
    }
}
