//! The sequential program.

use super::brandes::Scratch;
use super::{Centrality, Config, sources};
use crate::edges::Network;

/// Computes, source by source.
pub fn centrality(network: &Network, config: &Config) -> Centrality {
    let mut centrality = Centrality::new(network);
    let mut scratch = Scratch::new(network);
    for source in sources(network, config) {
        scratch.from(network, source, |update| centrality.add(&update));
    }
    centrality.finish(network)
}
