//! `streams/fan`: what it costs to split a stream by key and to join it again.

use super::{params, per_message};
use crate::harness::{BoxError, Effort, Experiment, Group, Role::*};
use crate::machine::Placement::{OneCpu, TwoCpus};
use crate::ours::{self, Setting};
use crate::peers::{crossbeam, item_params, plain, vectors};
use crate::workloads::keyed::Fan;

/// The entry for the registry.
pub const EXPERIMENT: Experiment = Experiment { name: "streams/fan", plan };

fn plan(effort: &Effort) -> Result<Vec<Group>, BoxError> {
    let fan = Fan { messages: effort.messages(10_000_000) };
    let slow = Fan { messages: effort.messages(1_000_000) };
    let n = fan.messages;
    let (right, slow_right) = (fan.reference(), slow.reference());
    let mut contenders = Vec::new();
    for setting in [Setting::DEFAULT, Setting::workers(1), Setting::workers(2)] {
        contenders.push(ours::keyed::on_fan(fan, setting, right));
        contenders.push(ours::keyed::on_hops(fan, setting, right));
    }
    let one_loop = move || plain::fan(fan, &right);
    contenders.push(per_message(Bound, "a plain loop", params(n, 1), n, one_loop));
    for (placement, cpus) in [(OneCpu, "1 CPU"), (TwoCpus, "2 CPUs")] {
        for batches in vectors::BOTH {
            let run = move || vectors::fan(fan, batches, placement, &right);
            let name = format!("vectors of {}, {cpus}", batches.size);
            contenders.push(per_message(Peer, name, vectors::params(n, batches, placement), n, run));
        }
    }
    let channels = move || crossbeam::fan(slow, &slow_right);
    let given = item_params(slow.messages, "crossbeam-channel", "free");
    contenders.push(per_message(Peer, "crossbeam-channel", given, slow.messages, channels));
    Ok(vec![Group::new("split in 4 by key, merged", &["ns per message"], contenders)])
}
