//! `streams/search`: counting a word in half a gigabyte of text in memory.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::harness::{BoxError, Contender, Effort, Experiment, Group, Role, Role::*, Sample};
use crate::machine::cpus;
use crate::ours::{self, Setting};
use crate::peers::{Checked, crossbeam, plain, rayon};
use crate::workloads::Text;

/// The entry for the registry.
pub const EXPERIMENT: Experiment = Experiment { name: "streams/search", plan };

fn plan(effort: &Effort) -> Result<Vec<Group>, BoxError> {
    let text = Arc::new(Text::new(effort.messages(500_000_000) as usize));
    let params = |threads: Value| json!({ "bytes": text.size(), "chunks": text.chunk_count(), "threads": threads });
    let contender = |role: Role, name: &str, params: Value, run: fn(&Text) -> Checked| {
        let text = Arc::clone(&text);
        Contender::new(role, name, params, move || Ok(Sample::millis(run(&text)?)))
    };
    let hand = cpus().len();
    let contenders = vec![
        contender(Ours, "thalweg", ours::params(Setting::DEFAULT, params(Value::Null)), ours::search),
        contender(Bound, "sequential", params(json!(1)), plain::search),
        contender(Peer, "rayon", params(json!("one for each CPU")), rayon::search),
        contender(Peer, "crossbeam-channel", params(json!(hand + 2)), |text| crossbeam::search(text, cpus().len())),
    ];
    let mut group = Group::new("count a word", &["ms"], contenders);
    group.ideal_from = Some(("sequential", hand));
    Ok(vec![group])
}
