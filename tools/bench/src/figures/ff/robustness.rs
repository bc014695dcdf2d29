//! `ff/figure9`: stages whose length varies, and stages of different length, with and without slip maintenance.

use serde_json::json;
use thalweg_queue::stealing::Rng;

use super::looped::{Looped, stages};
use crate::harness::Role::{self, *};
use crate::harness::{BoxError, Contender, Effort, Experiment, Group, Sample};
use crate::queues::contenders::*;
use crate::queues::one_to_one::Ends;
use crate::queues::stamps::Clock;

/// The entry for the registry.
pub(crate) const EXPERIMENT: Experiment = Experiment { name: "ff/figure9", plan };

const WORK: [f64; 5] = [50.0, 100.0, 200.0, 400.0, 800.0];
const POINTS: &[&str] = &["50", "100", "200", "400", "800"];
/// How far apart the stages are that are not balanced, in nanoseconds.
pub(super) const APART: f64 = 37.6;

/// How the length of stages varies.
#[derive(Clone, Copy, Debug)]
enum Noise {
    /// Half of the items 4.5 ns more or less.
    Small,
    /// Two fifths 9.4 ns more or less, one tenth 18.8 ns. (The paper says a fifth, which with half and two fifths is more than all.)
    Wide,
    /// The second stage longer than the first, the third shorter.
    Unbalanced,
}

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
        let cost = |nanos| Looped { entries, iterations, work: noise.work(nanos) }.cost::<Q>(&clock);
        Ok(Sample { figures: WORK.into_iter().map(cost).collect::<Result<_, _>>()?, cpus: None })
    })
}

impl Noise {
    fn work(self, nanos: f64) -> Vec<Vec<f64>> {
        match self {
            Noise::Small => around(nanos, &[0.0, 0.0, 4.5, -4.5]),
            Noise::Wide => {
                let mut offsets = vec![0.0; 10];
                offsets.extend([9.4, 9.4, 9.4, 9.4, -9.4, -9.4, -9.4, -9.4, 18.8, -18.8]);
                around(nanos, &offsets)
            }
            Noise::Unbalanced => unbalanced(nanos),
        }
    }
}

/// The second stage longer than the first, the third shorter.
pub(super) fn unbalanced(nanos: f64) -> Vec<Vec<f64>> {
    [0.0, APART, -APART].into_iter().take(stages()).map(|offset| vec![nanos + offset]).collect()
}

/// For each stage, each of `offsets` as often as the others, in an order of its own.
fn around(nanos: f64, offsets: &[f64]) -> Vec<Vec<f64>> {
    const TIMES: usize = 50;
    let shuffled = |stage| {
        let mut rng = Rng::new(stage as u64);
        let mut work: Vec<f64> = offsets.repeat(TIMES).into_iter().map(|offset| nanos + offset).collect();
        (1..work.len()).for_each(|at| work.swap(at, rng.below(at + 1)));
        work
    };
    (0..stages()).map(shuffled).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noise_has_no_mean() {
        for noise in [Noise::Small, Noise::Wide] {
            for work in noise.work(100.0) {
                assert!((work.iter().sum::<f64>() / work.len() as f64 - 100.0).abs() < 1e-6);
            }
        }
        assert_eq!(unbalanced(100.0)[1], [137.6]);
    }
}
