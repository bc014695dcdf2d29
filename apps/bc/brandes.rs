//! Shortest paths from one vertex, and what they add to the vertices between: U. Brandes, *A Faster Algorithm for Betweenness
//! Centrality*, 2001, with the successors of a vertex in the place of lists of its predecessors.

use crate::edges::Network;

/// What the paths from one source add to a vertex.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Update {
    /// The vertex. [`END`] says that the source is done.
    pub vertex: u32,
    /// What is added.
    pub by: f64,
}

/// No vertex.
pub const END: u32 = u32::MAX;

/// Not reached yet.
const FAR: u32 = u32::MAX;

/// What is known of each vertex while paths are looked for. Used again for the next source.
#[derive(Debug)]
pub struct Scratch {
    distance: Vec<u32>,
    /// Shortest paths from the source: a float, as there are more of them than any integer holds.
    paths: Vec<f64>,
    dependency: Vec<f64>,
    /// Vertices in the order in which they are reached.
    reached: Vec<u32>,
}

impl Scratch {
    /// For `network`. 24 bytes for a vertex.
    pub fn new(network: &Network) -> Self {
        let vertices = network.vertices();
        Self {
            distance: vec![FAR; vertices],
            paths: vec![0.0; vertices],
            dependency: vec![0.0; vertices],
            reached: Vec::with_capacity(vertices),
        }
    }

    /// Gives the update of each vertex that `source` reaches, but itself, the farthest first, and one for its [`END`].
    pub fn from(&mut self, network: &Network, source: u32, mut give: impl FnMut(Update)) {
        let Self { distance, paths, dependency, reached } = self;
        distance[source as usize] = 0;
        paths[source as usize] = 1.0;
        reached.push(source);
        let mut next = 0;
        while let Some(&from) = reached.get(next) {
            next += 1;
            let (farther, ways) = (distance[from as usize] + 1, paths[from as usize]);
            for &to in network.neighbours(from) {
                let to_index = to as usize;
                if distance[to_index] == FAR {
                    distance[to_index] = farther;
                    reached.push(to);
                }
                if distance[to_index] == farther {
                    paths[to_index] += ways;
                }
            }
        }
        for &vertex in reached.iter().rev() {
            let index = vertex as usize;
            let farther = distance[index] + 1;
            let behind = network.neighbours(vertex).iter().map(|&to| to as usize).filter(|&to| distance[to] == farther);
            let by: f64 = behind.map(|to| paths[index] / paths[to] * (1.0 + dependency[to])).sum();
            dependency[index] = by;
            if vertex != source {
                give(Update { vertex, by });
            }
        }
        give(Update { vertex: END, by: 0.0 });
        for vertex in reached.drain(..) {
            distance[vertex as usize] = FAR;
            paths[vertex as usize] = 0.0;
        }
    }
}
