//! `streams/farm`: one source, four workers with real work, one sink.

use serde_json::json;

use super::{params, per_message};
use crate::harness::{BoxError, Effort, Experiment, Group, Role::*};
use crate::ours::{self, Setting};
use crate::peers::{CAPACITY, crossbeam, plain, rayon, vectors};
use crate::workloads::Farm;

/// The entry for the registry.
pub const EXPERIMENT: Experiment = Experiment { name: "streams/farm", plan };

/// The farm at this effort.
pub(super) fn farm(effort: &Effort) -> Farm {
    Farm { messages: effort.messages(800_000) }
}

fn plan(effort: &Effort) -> Result<Vec<Group>, BoxError> {
    let farm = farm(effort);
    let n = farm.messages;
    let right = farm.reference();
    let channels = json!({ "messages": n, "capacity": CAPACITY, "workers": Farm::WORKERS, "order": "none" });
    let vectors = json!({
        "messages": n, "batch": vectors::FARM_BATCH, "capacity": vectors::FARM_BATCH * vectors::IN_FLIGHT,
        "workers": Farm::WORKERS, "order": "restored by the sink",
    });
    let contenders = vec![
        ours::on_farm("thalweg, ordered", farm, true, Setting::DEFAULT, right),
        ours::on_farm("thalweg, unordered", farm, false, Setting::DEFAULT, right),
        per_message(Bound, "sequential", params(n, 1), n, move || plain::farm(farm, &right)),
        per_message(Bound, "rayon", params(n, "one for each CPU"), n, move || rayon::farm(farm, &right)),
        per_message(Peer, "vectors of 64, ordered", vectors, n, move || vectors::farm(farm, &right)),
        per_message(Peer, "crossbeam-channel, unordered", channels, n, move || crossbeam::farm(farm, &right)),
    ];
    let mut group = Group::new("1:4:1, 0.8 us of work", &["ns per message"], contenders);
    group.ideal_from = Some(("sequential", Farm::WORKERS));
    Ok(vec![group])
}
