//! `streams/pipe3`: what it costs to hand on a message that hardly needs any work.

use super::{crew, on_chain, params};
use crate::catalogue::optional;
use crate::harness::{BoxError, Effort, Experiment, Group, Role::*};
use crate::machine::Placement::{OneCpu, TwoCpus};
use crate::ours::{self, Setting, Style};
use crate::peers::{self, item_params, vectors};
use crate::workloads::Chain;

/// The entry for the registry.
pub const EXPERIMENT: Experiment = Experiment { name: "streams/pipe3", plan };

fn plan(effort: &Effort) -> Result<Vec<Group>, BoxError> {
    let chain = Chain { messages: effort.messages(40_000_000), stages: 1 };
    // Contenders that need tens of nanoseconds for each message get fewer.
    let slow = Chain { messages: effort.messages(4_000_000), ..chain };
    let n = chain.messages;
    let mut contenders = Vec::new();
    let ours = [Setting::DEFAULT, Setting::workers(1), Setting::workers(2)];
    for setting in ours {
        contenders.push(ours::on_chain("thalweg", chain, Style::Push, setting));
    }
    contenders.push(ours::on_chain("thalweg `map`", chain, Style::Map, Setting::DEFAULT));
    contenders.push(on_chain(Bound, "a plain loop", params(n, 1), chain, peers::plain::chain));
    contenders.push(on_chain(Bound, "rayon, fused", params(n, "one for each CPU"), chain, peers::rayon::chain));
    for (placement, cpus) in [(OneCpu, "1 CPU"), (TwoCpus, "2 CPUs")] {
        for batches in vectors::BOTH {
            let name = format!("vectors of {}, {cpus}", batches.size);
            let vectors = move |chain| vectors::chain(chain, batches, placement);
            contenders.push(on_chain(Peer, name, vectors::params(n, batches, placement), chain, vectors));
        }
    }
    for (placement, cpus) in [(OneCpu, "1 CPU"), (TwoCpus, "2 CPUs")] {
        let rings = move |chain| peers::rtrb::chain(chain, placement);
        let given = item_params(n, "yields", placement.word());
        contenders.push(on_chain(Peer, format!("rtrb, {cpus}"), given, chain, rings));
        let channels = move |chain| peers::crossbeam::chain(chain, placement);
        let given = item_params(slow.messages, "crossbeam-channel", placement.word());
        contenders.push(on_chain(Peer, format!("crossbeam-channel, {cpus}"), given, slow, channels));
    }
    for workers in [1, 2] {
        let dataflow = move |chain| peers::timely::chain(chain, workers);
        contenders.push(on_chain(Peer, format!("timely, {}", crew(workers)), params(n, workers), chain, dataflow));
        let tasks = move |chain| peers::tokio::chain(chain, workers);
        let given = item_params(slow.messages, "tokio", &crew(workers));
        contenders.push(on_chain(Peer, format!("tokio, {}", crew(workers)), given, slow, tasks));
    }
    #[cfg(thalweg_tbb)]
    contenders.extend(crate::peers::tbb::contenders(chain, slow));
    let mut group = Group::new("generate >> v*3+1 >> sum", &["ns per message and hop"], contenders);
    group.absent.extend(optional::TBB.absent());
    Ok(vec![group])
}
