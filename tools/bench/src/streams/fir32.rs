//! `streams/fir32`: a chain of equal stages with a little work and private state each.

use serde_json::json;

use super::{params, per_message};
use crate::harness::{BoxError, Effort, Experiment, Group, Role::*};
use crate::machine::Placement::{OneCpu, TwoCpus};
use crate::ours::{self, Setting, Style};
use crate::peers::{plain, vectors};
use crate::workloads::FirChain;

/// The entry for the registry.
pub const EXPERIMENT: Experiment = Experiment { name: "streams/fir32", plan };

/// A source, 32 filters, a sink.
pub(super) fn chain(effort: &Effort) -> FirChain {
    FirChain { samples: effort.messages(2_000_000), stages: 32 }
}

fn plan(effort: &Effort) -> Result<Vec<Group>, BoxError> {
    let chain = chain(effort);
    let n = chain.samples;
    let right = chain.reference();
    let mut contenders = Vec::new();
    for setting in [Setting::DEFAULT, Setting::workers(1), Setting::workers(2)] {
        contenders.push(ours::on_fir("thalweg", chain, Style::Push, setting, right));
    }
    contenders.push(ours::on_fir("thalweg `map`", chain, Style::Map, Setting::DEFAULT, right));
    contenders.push(per_message(Bound, "sequential", params(n, 1), n, move || plain::fir(chain, &right)));
    let batched = json!({ "messages": n, "threads": 1, "batch": vectors::BATCH });
    let in_batches = move || plain::fir_in_batches(chain, vectors::BATCH, &right);
    contenders.push(per_message(Bound, "sequential, vectors of 256", batched, n, in_batches));
    for (placement, cpus) in [(OneCpu, "1 CPU"), (TwoCpus, "2 CPUs")] {
        for batches in vectors::BOTH {
            let name = format!("vectors of {}, {cpus}", batches.size);
            let run = move || vectors::fir(chain, batches, placement, &right);
            contenders.push(per_message(Peer, name, vectors::params(n, batches, placement), n, run));
        }
    }
    let mut group = Group::new("32 filters of 16 taps", &["ns per message"], contenders);
    // The faster of the two ways to do it on one core.
    group.ideal_from = Some(("sequential, vectors of 256", chain.stages));
    Ok(vec![group])
}
