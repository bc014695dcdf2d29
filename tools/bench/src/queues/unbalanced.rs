//! `queues/1p1c-unbalanced`: what an item costs beyond the work when one side is slower than the other.

use std::hint::black_box;

use serde_json::json;

use super::contenders::*;
use super::limits::{ByBlocks, LARGE, Left, Plain, Prefetched, STREAMS, Stream};
use super::one_to_one::{CAPACITY, Ends, Received, between, params, pop, push};
use crate::harness::Role::{self, *};
use crate::harness::{BoxError, Contender, Effort, Experiment, Group, Sample};
use crate::machine::timed;

/// The entry for the registry.
pub const EXPERIMENT: Experiment = Experiment { name: "queues/1p1c-unbalanced", plan };

/// Nanoseconds of work of the producer and of the consumer.
const CASES: [(f64, f64); 9] =
    [(0.8, 0.0), (2.4, 0.0), (12.0, 0.0), (0.0, 0.8), (0.0, 2.4), (0.0, 12.0), (0.8, 0.8), (2.4, 2.4), (12.0, 12.0)];

const UNITS: &[&str] = &[
    "ns beyond 0.8 ns of the producer",
    "ns beyond 2.4 ns of the producer",
    "ns beyond 12 ns of the producer",
    "ns beyond 0.8 ns of the consumer",
    "ns beyond 2.4 ns of the consumer",
    "ns beyond 12 ns of the consumer",
    "ns beyond 0.8 ns of both",
    "ns beyond 2.4 ns of both",
    "ns beyond 12 ns of both",
    "ns, mean",
    "ns, geometric mean of the cases, each as 0.1 at least",
];

/// Less than this is not told from nothing: a queue whose cost hides behind the work has this cost in the geometric mean.
const LEAST: f64 = 0.1;

fn plan(effort: &Effort) -> Result<Vec<Group>, BoxError> {
    let items = effort.messages(3_000_000);
    let steps = Steps::measured();
    let mut contenders = each_queue!(contender(items, steps));
    let whole = items.next_multiple_of(ByBlocks::<CAPACITY, Plain>::BLOCK);
    const SEEN: &str = "limit: seen by blocks";
    contenders.push(contender::<ByBlocks<CAPACITY, Plain>>(Bound, SEEN, true, whole, steps));
    contenders.push(contender::<ByBlocks<CAPACITY, Prefetched>>(
        Bound,
        &format!("{SEEN}, prefetched"),
        true,
        whole,
        steps,
    ));
    contenders.push(contender::<ByBlocks<CAPACITY, Left>>(Bound, &format!("{SEEN}, lines left"), true, whole, steps));
    for (capacity, size) in [(CAPACITY, ""), (LARGE, ", 256 KiB")] {
        contenders.extend(STREAMS.map(|(name, run)| limit(format!("{name}, no work{size}"), items, capacity, run)));
    }
    Ok(vec![Group::new("cost beyond the work", UNITS, contenders)])
}

fn contender<Q: Ends>(role: Role, name: &str, fast: bool, items: u64, steps: Steps) -> Contender {
    let items = if fast { items } else { (items / 4).max(1) };
    let cases = CASES.map(|(producer, consumer)| [producer, consumer].map(|nanos| steps.of(nanos)));
    let mut given = params(items, CAPACITY);
    given["work_ns"] = json!(cases.map(|case| case.map(|steps_of_it| f64::from(steps_of_it) * steps.nanos)));
    Contender::new(role, name, given, move || {
        let (costs, timing) =
            timed(|| cases.into_iter().map(|case| cost::<Q>(items, case)).collect::<Result<Vec<f64>, BoxError>>());
        let mut figures = costs?;
        let (mean, geometric) = (figures.iter().sum::<f64>() / figures.len() as f64, geometric_mean(&figures));
        figures.extend([mean, geometric]);
        Ok(Sample { figures, cpus: Some(timing.cpus()) })
    })
}

/// What the machine takes for an item without any work, in each place of the table.
fn limit(name: String, items: u64, capacity: usize, run: Stream) -> Contender {
    Contender::new(Bound, name, params(items, capacity), move || {
        let timing = run(items, capacity)?;
        Ok(Sample { figures: vec![timing.nanos_per(items); UNITS.len()], cpus: Some(timing.cpus()) })
    })
}

fn geometric_mean(figures: &[f64]) -> f64 {
    (figures.iter().map(|figure| figure.max(LEAST).ln()).sum::<f64>() / figures.len() as f64).exp()
}

/// One step of work: two operations, each of which waits for the one before.
#[inline(always)]
fn step(state: u64, value: u64) -> u64 {
    state.rotate_left(7).wrapping_add(value)
}

#[inline(always)]
fn work(mut state: u64, value: u64, steps: u32) -> u64 {
    for _ in 0..steps {
        state = step(state, value);
    }
    state
}

/// What a step takes, measured once for all contenders: they all do the same number of steps.
#[derive(Clone, Copy, Debug)]
struct Steps {
    nanos: f64,
}

impl Steps {
    fn measured() -> Self {
        // The least of each by itself: a difference is too small where the other one was disturbed.
        let least = |steps| (0..9).map(|_| alone(50_000, steps)).fold(f64::INFINITY, f64::min);
        Self { nanos: ((least(20) - least(0)) / 20.0).max(0.05) }
    }

    /// How many steps come nearest to so many nanoseconds; one at least, if there is to be any work.
    fn of(self, nanos: f64) -> u32 {
        if nanos > 0.0 { ((nanos / self.nanos).round() as u32).max(1) } else { 0 }
    }
}

/// Nanoseconds that the work for an item takes by itself.
fn alone(items: u64, steps: u32) -> f64 {
    let steps = black_box(steps);
    let (_, timing) = timed(|| (1..=items).fold(0, |state, value| work(state, value, steps)));
    timing.nanos_per(items)
}

/// Nanoseconds of an item beyond the work of the side that has more of it.
fn cost<Q: Ends>(items: u64, [producer, consumer]: [u32; 2]) -> Result<f64, BoxError> {
    let (producer, consumer) = (black_box(producer), black_box(consumer));
    let work_alone = alone(items.min(200_000), producer.max(consumer));
    let (mut tx, mut rx) = Q::build(CAPACITY);
    let timing = between(
        items,
        move |consumers| {
            let mut state = 0;
            for value in 1..=items {
                state = work(state, value, producer);
                if !push::<Q>(&mut tx, value, consumers) {
                    break;
                }
            }
            (tx, black_box(state))
        },
        move |producers| {
            let (mut received, mut state) = (Received::default(), 0);
            while received.count() < items {
                let Some(value) = pop::<Q>(&mut rx, producers) else { break };
                received.take(value);
                state = work(state, value, consumer);
            }
            black_box(state);
            received.told()
        },
    )?;
    Ok(timing.nanos_per(items) - work_alone)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::measure;

    #[test]
    fn every_contender_delivers_every_item() {
        let outcome = measure(&EXPERIMENT, &Effort::TINY, &mut Vec::new()).unwrap();
        assert_eq!(outcome.failures, [""; 0]);
        assert!(outcome.records.len() >= 12 * UNITS.len());
    }

    #[test]
    fn a_mean_of_ratios() {
        assert!((geometric_mean(&[1.0, 4.0, 2.0]) - 2.0).abs() < 1e-9);
        assert!((geometric_mean(&[-3.0, 10.0]) - 1.0).abs() < 1e-9, "below a tenth is a tenth");
    }

    #[test]
    fn work_is_whole_steps_and_never_none() {
        let steps = Steps { nanos: 0.9 };
        assert_eq!([0.0, 0.3, 0.8, 2.4, 12.0].map(|nanos| steps.of(nanos)), [0, 1, 1, 3, 13]);
    }

    #[test]
    fn more_steps_are_more_work() {
        assert_ne!(work(1, 2, 3), work(1, 2, 4));
        assert!(alone(100_000, 100) > alone(100_000, 1));
    }
}
