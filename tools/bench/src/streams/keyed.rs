//! `streams/keyed`: counting words.

use super::{crew, params, per_message};
use crate::harness::{BoxError, Effort, Experiment, Group, Role::*};
use crate::machine::cpus;
use crate::ours::{self, Setting};
use crate::peers::{plain, rayon, timely};
use crate::workloads::keyed::Words;

/// The entry for the registry.
pub const EXPERIMENT: Experiment = Experiment { name: "streams/keyed", plan };

fn plan(effort: &Effort) -> Result<Vec<Group>, BoxError> {
    let words = Words { messages: effort.messages(8_000_000) };
    let n = words.messages;
    let lanes = cpus().len();
    let mut contenders = Vec::new();
    for setting in [Setting::DEFAULT, Setting::workers(1), Setting::workers(2)] {
        contenders.extend(ours::keyed::on_words(words, lanes, setting));
    }
    contenders.push(per_message(Bound, "sequential", params(n, 1), n, move || plain::words(words)));
    contenders.push(per_message(Peer, "rayon", params(n, "one for each CPU"), n, move || rayon::words(words)));
    for workers in [1, 2] {
        let exchange = move || timely::words(words, workers);
        contenders.push(per_message(Peer, format!("timely, {}", crew(workers)), params(n, workers), n, exchange));
    }
    Ok(vec![Group::new("counts by word", &["ns per message"], contenders)])
}
