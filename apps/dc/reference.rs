//! The sequential program.

use super::Degrees;
use crate::edges::Network;

/// Counts, vertex by vertex.
pub fn count(network: &Network) -> Degrees {
    let mut degrees = Degrees { out: vec![0; network.vertices()], into: vec![0; network.vertices()] };
    for vertex in network.indices() {
        for &neighbour in network.neighbours(vertex) {
            degrees.out[vertex as usize] += 1;
            degrees.into[neighbour as usize] += 1;
        }
    }
    degrees
}
