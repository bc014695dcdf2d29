//! `streams/report`: what the counts of the report cost.
//!
//! The same binary, the same graph, with and without what is counted for the report alone. What steers the run (time and messages per
//! block) is counted in both.

use crate::harness::{BoxError, Effort, Experiment, Group};
use crate::ours::{self, Setting, Style};
use crate::streams::chain32;
use crate::workloads::Chain;

/// The entry for the registry.
pub const EXPERIMENT: Experiment = Experiment { name: "streams/report", plan };

fn plan(effort: &Effort) -> Result<Vec<Group>, BoxError> {
    let pipe = Chain { messages: effort.messages(40_000_000), stages: 1 };
    let chain = chain32::chain(effort);
    let both = |name: &str, workload| {
        let settings = [Setting::workers(1), Setting::workers(1).uncounted()];
        settings.map(|setting| ours::on_chain(name, workload, Style::Push, setting)).into()
    };
    Ok(vec![
        Group::new("pipe3", &["ns per message and hop"], both("thalweg", pipe)),
        Group::new("chain32", &["ns per message and hop"], both("thalweg", chain)),
    ])
}
