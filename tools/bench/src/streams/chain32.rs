//! `streams/chain32`: the cost of a hop where hops are all there is.

use serde_json::json;

use super::{crew, on_chain, params};
use crate::catalogue::optional;
use crate::harness::{BoxError, Effort, Experiment, Group, Role::*};
use crate::machine::Placement::{OneCpu, TwoCpus};
use crate::ours::{self, Setting, Style};
use crate::peers::{item_params, iterators, plain, rtrb, timely, vectors};
use crate::workloads::Chain;

/// The entry for the registry.
pub const EXPERIMENT: Experiment = Experiment { name: "streams/chain32", plan };

/// 32 kernels: source, 30 stages, sink.
pub(super) fn chain(effort: &Effort) -> Chain {
    Chain { messages: effort.messages(4_000_000), stages: 30 }
}

fn plan(effort: &Effort) -> Result<Vec<Group>, BoxError> {
    let chain = chain(effort);
    let n = chain.messages;
    let mut contenders = Vec::new();
    for (name, style) in [("thalweg", Style::Push), ("thalweg `map`", Style::Map)] {
        for setting in [Setting::DEFAULT, Setting::workers(1), Setting::workers(2)] {
            contenders.push(ours::on_chain(name, chain, style, setting));
        }
        let bound =
            if style == Style::Push { "two graphs that share nothing" } else { "two graphs that share nothing, `map`" };
        let given = json!({ "messages": n, "threads": "a graph of one worker on each of two CPUs" });
        contenders.push(on_chain(Bound, bound, given, chain, move |chain| ours::halves(chain, style)));
    }
    contenders.push(on_chain(Bound, "a plain loop", params(n, 1), chain, plain::chain));
    contenders.push(on_chain(Peer, "a boxed iterator", params(n, 1), chain, iterators::boxed));
    for (placement, cpus) in [(OneCpu, "1 CPU"), (TwoCpus, "2 CPUs")] {
        for batches in vectors::BOTH {
            let name = format!("vectors of {}, {cpus}", batches.size);
            let vectors = move |chain| vectors::chain(chain, batches, placement);
            contenders.push(on_chain(Peer, name, vectors::params(n, batches, placement), chain, vectors));
        }
        let rings = move |chain| rtrb::chain(chain, placement);
        let given = item_params(n, "yields", placement.word());
        contenders.push(on_chain(Peer, format!("rtrb, {cpus}"), given, chain, rings));
    }
    for workers in [1, 2] {
        let dataflow = move |chain| timely::chain(chain, workers);
        contenders.push(on_chain(Peer, format!("timely, {}", crew(workers)), params(n, workers), chain, dataflow));
    }
    #[cfg(thalweg_tbb)]
    contenders.extend(crate::peers::tbb::contenders(chain, Chain { messages: effort.messages(400_000), ..chain }));
    let mut group = Group::new("32 light stages", &["ns per message and hop"], contenders);
    group.absent.extend(optional::TBB.absent());
    Ok(vec![group])
}
