//! `streams/outlet`: what it costs to take a stream's messages from a task outside.

use serde_json::json;

use super::per_message;
use crate::harness::{BoxError, Effort, Experiment, Group, Role::*};
use crate::ours::{self, Setting};
use crate::peers::{flume, item_params, tokio};
use crate::workloads::Chain;

/// The entry for the registry.
pub const EXPERIMENT: Experiment = Experiment { name: "streams/outlet", plan };

/// Messages that are taken at a time.
const BATCH: usize = 64;

fn plan(effort: &Effort) -> Result<Vec<Group>, BoxError> {
    let chain = Chain { messages: effort.messages(4_000_000), stages: 0 };
    let n = chain.messages;
    let given = |waits: &str, batch: usize| {
        let mut params = item_params(n, waits, "a thread that sends, a task on another");
        params["batch"] = json!(batch);
        params
    };
    let contenders = vec![
        ours::outlet::on_outlet("thalweg", chain, 1, Setting::DEFAULT),
        ours::outlet::on_outlet("thalweg, 64 at a time", chain, BATCH, Setting::DEFAULT),
        per_message(Peer, "tokio", given("tokio", 1), n, move || tokio::outlet(chain, 1)),
        per_message(Peer, "tokio, 64 at a time", given("tokio", BATCH), n, move || tokio::outlet(chain, BATCH)),
        per_message(Peer, "flume", given("flume", 1), n, move || flume::outlet(chain)),
    ];
    Ok(vec![Group::new("from a thread to a task", &["ns per message"], contenders)])
}
