//! `streams/trickle`: how long a lone message takes, and what waiting for it costs.
//!
//! The thread outside that sends is no part of what is measured, but it does pay for waking whoever receives: so the CPU time is given with
//! it and without.

use serde_json::json;

use crate::harness::{BoxError, Contender, Effort, Experiment, Group, Role, Role::*, Sample};
use crate::machine::{Timing, timed};
use crate::ours::{self, Setting};
use crate::peers::{crossbeam, item_params, tokio};
use crate::report::record::quantile;
use crate::workloads::{Trickle, Trickled};

/// The entry for the registry.
pub const EXPERIMENT: Experiment = Experiment { name: "streams/trickle", plan };

fn plan(effort: &Effort) -> Result<Vec<Group>, BoxError> {
    let n = effort.messages(2_000);
    let contender = |role: Role, name: &str, params, run: fn(u64) -> Result<Trickled, BoxError>| {
        Contender::new(role, name, params, move || Ok(sample(&run(n)?)))
    };
    // What the sending thread costs, which is in every figure: it sleeps and wakes once for each message.
    let alone = |n| {
        let trickle = Trickle::new(n);
        let (sent, timing) = timed(|| trickle.drive(|message| trickle.arrived(message)));
        sent?;
        trickle.outcome(timing)
    };
    let contenders = vec![
        contender(Ours, "thalweg", ours::params(Setting::DEFAULT, json!({ "messages": n })), ours::trickle),
        contender(Peer, "a thread for each stage", item_params(n, "crossbeam-channel", "free"), crossbeam::trickle),
        contender(Peer, "tokio, 1 worker", item_params(n, "tokio", "1 worker"), |n| tokio::trickle(n, 1)),
        contender(Peer, "tokio, 2 workers", item_params(n, "tokio", "2 workers"), |n| tokio::trickle(n, 2)),
        contender(Bound, "one wake-up", item_params(n, "crossbeam-channel", "free"), crossbeam::wake_up),
        contender(Bound, "the sending thread alone", json!({ "messages": n }), alone),
    ];
    Ok(vec![Group::new(
        "one message a millisecond",
        &["us p50", "us p99", "% of a CPU", "% without the sender"],
        contenders,
    )])
}

/// Median and 99th percentile of the delays, and the CPU time with the sender's and without.
fn sample(trickled: &Trickled) -> Sample {
    let Trickled { delays, timing, sender } = trickled;
    let micros = |q| quantile(delays, q) / 1e3;
    let apart = Timing { cpu: timing.cpu.saturating_sub(*sender), ..*timing };
    let figures = vec![micros(0.5), micros(0.99), 100.0 * timing.cpus(), 100.0 * apart.cpus()];
    Sample { figures, cpus: Some(timing.cpus()) }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn each_figure_is_what_its_unit_says() {
        let timing = Timing { wall: Duration::from_secs(1), cpu: Duration::from_millis(60) };
        let delays = (1..=100).map(|micros| micros * 1_000).collect();
        let sample = sample(&Trickled { delays, timing, sender: Duration::from_millis(20) });
        let near = |figure: f64, expected: f64| (figure - expected).abs() < 1e-9;
        assert!(sample.figures.iter().zip([50.0, 99.0, 6.0, 4.0]).all(|(&figure, expected)| near(figure, expected)));
        assert!(sample.cpus.is_some_and(|cpus| near(cpus, 0.06)), "{sample:?}");
    }
}
