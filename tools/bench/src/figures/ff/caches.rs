//! `ff/figure10`: which operations of unbalanced stages wait for the other core.
//!
//! A modelled machine's figure of that name counts misses (`stages.rs`), and so does the paper, with the processor's counters, which virtual
//! machines do not have. Here each operation is timed: one that takes longer than half of a line's way from core to core has waited for one.

use serde_json::json;

use super::looped::{Looped, Watch, stages};
use super::noise::Noise;
use crate::harness::Role::{self, *};
use crate::harness::{BoxError, Contender, Effort, Experiment, Group, Sample};
use crate::queues::contenders::*;
use crate::queues::limits;
use crate::queues::one_to_one::Ends;
use crate::queues::stamps::{Clock, touched};

/// The entry for the registry.
pub(crate) const EXPERIMENT: Experiment = Experiment { name: "ff/figure10", plan };

const POINTS: &[&str] = &["1: take", "1: hand on", "2: take", "2: hand on", "3: take", "3: hand on"];
const ENTRIES: usize = 2048;
const WORK: f64 = 100.0;

fn plan(effort: &Effort) -> Result<Vec<Group>, BoxError> {
    let iterations = effort.messages(400_000);
    let contenders = vec![
        contender::<FastForward>(Ours, "thalweg `fast_forward`", iterations),
        contender::<FastForwardSlip>(Ours, "thalweg `fast_forward`, slip", iterations),
        contender::<Lamport>(Ours, "thalweg `lamport`", iterations),
    ];
    let points = &POINTS[..2 * stages()];
    Ok(vec![Group::sweep("stages of 100 ns, 37.6 ns apart", "stage", "% of operations that wait", points, contenders)])
}

fn contender<Q: Ends>(role: Role, name: &str, iterations: u64) -> Contender {
    let params = json!({
        "iterations": iterations, "entries": ENTRIES, "stages": stages(), "work_ns": WORK, "threads": "a CPU each",
    });
    Contender::new(role, name, params, move || {
        let trips = (iterations / 20).max(1);
        // Two ways make a trip.
        let way = limits::two_lines(trips)?.nanos_per(trips) / 2.0;
        let clock = Clock::new();
        let looped = Looped { entries: ENTRIES, iterations, work: Noise::Unbalanced.work(stages(), WORK) };
        let seen = looped.run::<Q, Times>(&clock)?;
        let long = clock.ticks(way / 2.0);
        let share = |times: &[u64]| {
            100.0 * times.iter().filter(|&&ticks| ticks > long).count() as f64 / times.len().max(1) as f64
        };
        let figures = seen.iter().flat_map(|times| [share(&times.taken), share(&times.handed_on)]);
        Ok(Sample { figures: figures.collect(), cpus: None })
    })
}

/// How many ticks each operation took.
struct Times {
    taken: Vec<u64>,
    handed_on: Vec<u64>,
}

impl Watch for Times {
    fn of(iterations: u64) -> Self {
        Self { taken: touched(iterations), handed_on: touched(iterations) }
    }

    fn note(&mut self, ticks: u64, push: bool) {
        if push { self.handed_on.push(ticks) } else { self.taken.push(ticks) }
    }
}

#[cfg(test)]
mod tests {
    use crate::harness::{Effort, measure};

    #[test]
    fn the_pipeline_goes_round() {
        let outcome = measure(&super::EXPERIMENT, &Effort::TINY, &mut Vec::new()).unwrap();
        assert_eq!(outcome.failures, [""; 0]);
        assert!(!outcome.records.is_empty() && outcome.records.iter().all(|record| record.at.is_some()));
    }
}
