//! `streams/idle`: what a graph costs that has nothing to do.

use std::time::Duration;

use serde_json::json;

use crate::harness::{BoxError, Contender, Effort, Experiment, Group, Role, Role::*, Sample};
use crate::ours;
use crate::peers::{Checked, crossbeam};

/// The entry for the registry.
pub const EXPERIMENT: Experiment = Experiment { name: "streams/idle", plan };

const WAIT: Duration = Duration::from_secs(1);

fn plan(_effort: &Effort) -> Result<Vec<Group>, BoxError> {
    let contender = |role: Role, name: &str, run: fn(Duration) -> Checked| {
        Contender::new(role, name, json!({ "seconds": WAIT.as_secs() }), move || {
            let timing = run(WAIT)?;
            Ok(Sample { figures: vec![100.0 * timing.cpus()], cpus: Some(timing.cpus()) })
        })
    };
    let contenders =
        vec![contender(Ours, "thalweg", ours::idle), contender(Peer, "crossbeam-channel", crossbeam::idle)];
    Ok(vec![Group::new("waiting for a first message", &["% of a CPU"], contenders)])
}
