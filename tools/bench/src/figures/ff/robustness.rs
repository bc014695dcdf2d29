//! `ff/figure9`: stages whose length varies, and stages of different length, with and without slip maintenance.

use serde_json::json;

use super::looped::{Looped, stages};
use super::noise::{Noise, WORK};
use crate::harness::Role::{self, *};
use crate::harness::{BoxError, Contender, Effort, Experiment, Group, Sample};
use crate::queues::contenders::*;
use crate::queues::one_to_one::Ends;
use crate::queues::stamps::Clock;

/// The entry for the registry.
pub(crate) const EXPERIMENT: Experiment = Experiment { name: "ff/figure9", plan };

const POINTS: &[&str] = &["50", "100", "200", "400", "800"];
fn plan(effort: &Effort) -> Result<Vec<Group>, BoxError> {
    let iterations = effort.messages(100_000);
    let group = |workload, noise, entries| {
        let contenders = vec![
            contender::<FastForward>(Ours, "thalweg-fast-forward", noise, entries, iterations),
            contender::<FastForwardSlip>(Ours, "thalweg-fast-forward, slip", noise, entries, iterations),
            contender::<Lamport>(Ours, "thalweg-lamport", noise, entries, iterations),
        ];
        Group::sweep(workload, "ns of work of each stage", "ns/operation", POINTS, contenders)
    };
    Ok(vec![
        group("4.5 ns more or less, 192 entries", Noise::Small, 192),
        group("4.5 ns more or less, 2048 entries", Noise::Small, 2048),
        group("9.4 or 18.8 ns more or less, 192 entries", Noise::Wide, 192),
        group("9.4 or 18.8 ns more or less, 2048 entries", Noise::Wide, 2048),
        group("stages 37.6 ns apart, 192 entries", Noise::Unbalanced, 192),
        group("stages 37.6 ns apart, 2048 entries", Noise::Unbalanced, 2048),
    ])
}

fn contender<Q: Ends>(role: Role, name: &str, noise: Noise, entries: usize, iterations: u64) -> Contender {
    let params = json!({
        "iterations": iterations, "entries": entries, "stages": stages(), "noise": format!("{noise:?}"),
        "threads": "a CPU each",
    });
    Contender::new(role, name, params, move || {
        let clock = Clock::new();
        let cost = |nanos| Looped { entries, iterations, work: noise.work(stages(), nanos) }.cost::<Q>(&clock);
        Ok(Sample { figures: WORK[1..].iter().copied().map(cost).collect::<Result<_, _>>()?, cpus: None })
    })
}
