//! A pool of queues: from whom to steal. The shape of Figure 4.11 of the thesis.

use std::thread;

use serde_json::json;
use thalweg_queue::bwos::{self, BestOf, Last, Near, Policy, Pool, Probabilistic, Random, Rng, Sequential, Stealer};

use crate::harness::{BoxError, Contender, Effort, Experiment, Group, Role, Sample};
use crate::machine::{Placement, Start};
use crate::peers::deques::CrossbeamFifo;
use crate::workloads::stealing::{CAPACITY, Deque, Owner, Tally};

/// The entry in the registry.
pub const EXPERIMENT: Experiment = Experiment {
    name: "queues/pool",
    what: "eight workers fill and empty their queues, then try to steal 0, 10, 100 % of a queue; all stealing policies",
    plan,
};

const WORKERS: usize = 8;
const BLOCKS: usize = 8;
const ROUNDS: u64 = 60;
const UNITS: &[&str] = &["ns per operation", "attempts for each stolen item"];

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
            new(Role::Ours, "thalweg-queue bwos", Box::new(move || ours(work, lifo, || Random))),
            new(Role::Peer, "crossbeam-deque", Box::new(move || crossbeam(work, lifo))),
        ];
    }
    macro_rules! policies {
        ($($name:literal: $policy:expr,)+) => {
            vec![$(new(Role::Ours, concat!("thalweg-queue bwos, ", $name), Box::new(move || ours(work, lifo, || $policy))),)+]
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
        "numa": Near(Random),
        "probabilistic": probabilistic(Random),
        "probabilistic numa": probabilistic_near(Random),
        "last, else probabilistic": Last::new(probabilistic(Random)),
        "last, else probabilistic numa": Last::new(probabilistic_near(Random)),
    };
    contenders.push(new(Role::Peer, "crossbeam-deque, random", Box::new(move || crossbeam(work, lifo))));
    contenders
}

/// Runs all workers. Gives nanoseconds for each item that was put in, taken out or stolen, and how many attempts to
/// steal there were for each item stolen: no figure where nobody tries.
///
/// Each CPU has one thread, which does the work of its workers in turn: while one fills its queue, another's is full, so
/// about half of all queues have something, as if all workers ran at once.
fn run<O: Owner>(work: Balancing, workers: Vec<(O, impl FnMut() -> Option<u64> + Send)>) -> Result<Sample, BoxError> {
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
    // What was done in the time: what is left in the queues is taken after it.
    let mut done = 0;
    for (tally, workers) in ended {
        done += tally.pushed.count + tally.popped.count + tally.stolen.count;
        pushed.join(tally.pushed);
        taken.join(tally.popped);
        taken.join(tally.stolen);
        stolen += tally.stolen.count;
        for (mut owner, _) in workers {
            while let Some(item) = owner.pop() {
                taken.add(item);
            }
        }
    }
    if pushed != taken {
        return Err(format!("{taken:?} taken, but {pushed:?} pushed").into());
    }
    let mut sample = Sample::nanos_per(timing, done);
    let attempts = work.rounds * (WORKERS * work.attempts) as u64;
    sample.figures.push(if attempts == 0 { f64::NAN } else { attempts as f64 / stolen.max(1) as f64 });
    Ok(sample)
}

/// What the workers of a thread did.
#[derive(Default)]
struct Done {
    pushed: Tally,
    popped: Tally,
    stolen: Tally,
}

/// The work of the workers of one thread, with items numbered from `next`.
fn take_turns<O: Owner>(
    work: Balancing,
    mut next: u64,
    workers: &mut [(O, impl FnMut() -> Option<u64> + Send)],
) -> Done {
    let mut done = Done::default();
    let count = workers.len();
    for turn in 0..work.rounds as usize * count {
        let (owner, _) = &mut workers[turn % count];
        for _ in 0..CAPACITY {
            if !owner.push(next) {
                break;
            }
            done.pushed.add(next);
            next += 1;
        }
        let (owner, steal) = &mut workers[(turn + count / 2) % count];
        while let Some(item) = owner.pop() {
            done.popped.add(item);
        }
        (0..work.attempts).filter_map(|_| steal()).for_each(|item| done.stolen.add(item));
    }
    done
}

fn ours<P: Policy + 'static>(work: Balancing, lifo: bool, policy: impl Fn() -> P) -> Result<Sample, BoxError> {
    let entries = CAPACITY / BLOCKS;
    if lifo {
        with_pool(work, (0..WORKERS).map(|_| bwos::lifo(BLOCKS, entries)), policy)
    } else {
        with_pool(work, (0..WORKERS).map(|_| bwos::fifo(BLOCKS, entries)), policy)
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
        let mut thief = pool.thief(number, policy());
        let steal = move || thief.try_steal().ok();
        (owner, steal)
    };
    run(work, owners.into_iter().enumerate().map(worker).collect())
}

fn crossbeam(work: Balancing, lifo: bool) -> Result<Sample, BoxError> {
    let new = if lifo { crossbeam_deque::Worker::new_lifo } else { crossbeam_deque::Worker::new_fifo };
    let owners: Vec<crossbeam_deque::Worker<u64>> = (0..WORKERS).map(|_| new()).collect();
    let stealers: Vec<crossbeam_deque::Stealer<u64>> = owners.iter().map(crossbeam_deque::Worker::stealer).collect();
    let worker = |(number, owner): (usize, _)| {
        let stealers = stealers.clone();
        let mut rng = Rng::new(number as u64);
        let steal = move || stealers[(number + 1 + rng.below(WORKERS - 1)) % WORKERS].steal().success();
        (owner, steal)
    };
    run(work, owners.into_iter().enumerate().map(worker).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attempts_for_an_item_are_told_where_somebody_tries() {
        let nobody = Balancing { rounds: 1, attempts: 0 };
        assert!(crossbeam(nobody, true).unwrap().figures[1].is_nan());
        assert!(crossbeam(Balancing { attempts: 10, ..nobody }, true).unwrap().figures[1] >= 1.0);
    }
}
