//! `streams/pipe3-fused`: stages that the compiler joins, where no message crosses an edge.

use super::{on_chain, params};
use crate::harness::{BoxError, Effort, Experiment, Group, Role::*};
use crate::ours;
use crate::peers::{iterators, plain};
use crate::workloads::Chain;

/// The entry for the registry.
pub const EXPERIMENT: Experiment = Experiment { name: "streams/pipe3-fused", plan };

fn plan(effort: &Effort) -> Result<Vec<Group>, BoxError> {
    let chain = Chain { messages: effort.messages(40_000_000), stages: 1 };
    let one = || params(chain.messages, 1);
    let contenders = vec![
        on_chain(Ours, "thalweg", one(), chain, ours::fused),
        on_chain(Bound, "a plain loop", one(), chain, plain::chain),
        on_chain(Peer, "a stream of futures", one(), chain, iterators::futures),
        on_chain(Peer, "a boxed iterator", one(), chain, iterators::boxed),
    ];
    Ok(vec![Group::new("fused generate >> v*3+1 >> sum", &["ns per message and hop"], contenders)])
}
