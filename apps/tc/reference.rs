//! The sequential program.

use super::{Common, Triangles, merged};
use crate::edges::Network;

/// Counts triangles, edge by edge.
pub fn count(network: &Network) -> Triangles {
    let mut triangles = Triangles::new(network.vertices());
    for from in network.indices() {
        let neighbours = network.neighbours(from);
        for &to in neighbours.iter().filter(|&&to| to > from) {
            triangles.add(&Common { from, to, count: merged(neighbours, network.neighbours(to)) });
        }
    }
    triangles
}
