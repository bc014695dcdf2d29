//! `bbq/figure2.6`: how many blocks, and how many entries.

use serde_json::json;

use super::modes::{Many, Shared};
use crate::harness::Role::*;
use crate::harness::{BoxError, Contender, Effort, Experiment, Group, Sample};
use crate::queues::stamps::Clock;

/// The entry for the registry.
pub(crate) const EXPERIMENT: Experiment = Experiment { name: "bbq/figure2.6", plan };

const BLOCKS: [usize; 8] = [2, 4, 8, 16, 32, 64, 128, 256];
const POINTS: &[&str] = &["2", "4", "8", "16", "32", "64", "128", "256"];
const PRODUCERS: usize = 4;

fn plan(effort: &Effort) -> Result<Vec<Group>, BoxError> {
    let items = effort.messages(400_000);
    let group = |workload, unit, latency| {
        let contenders = [128, 512, 2048, 8192, 32_768].map(|entries| contender(entries, items, latency));
        Group::sweep(workload, "blocks", unit, POINTS, contenders.into())
    };
    Ok(vec![group("an item, 4P1C", "ns per item", false), group("time in the queue, 4P1C", "us, mean", true)])
}

fn contender(entries: usize, items: u64, latency: bool) -> Contender {
    let params = json!({
        "items": items, "entries": entries, "producers": PRODUCERS, "waits": "yields", "threads": "on all CPUs",
    });
    Contender::new(Ours, format!("thalweg `mpmc`, {entries} entries"), params, move || {
        let clock = latency.then(Clock::new);
        let figure = |blocks: usize| {
            if blocks > entries / 2 {
                return Ok(f64::NAN); // a block has two entries at least
            }
            let many = Many { producers: PRODUCERS, items, clock };
            let (timing, delay) = many.run::<Shared>((blocks, entries / blocks))?;
            Ok(delay.map_or(timing.nanos_per(items), |nanos| nanos / 1e3))
        };
        Ok(Sample { figures: BLOCKS.into_iter().map(figure).collect::<Result<_, BoxError>>()?, cpus: None })
    })
}
