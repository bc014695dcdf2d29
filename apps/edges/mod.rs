//! Networks of vertices and edges, from files or made up: the input of [`tc`](crate::tc), [`dc`](crate::dc) and [`bc`](crate::bc).
//!
//! ```text
//! text >> parse (on all cores) >> collect
//! ```
//!
//! [`read`] reads three forms, and tells them apart by what is in them:
//!
//! | form | vertices | edges |
//! |---|---|---|
//! | a list of edges, as SNAP has them | those that occur | a line each: two numbers between spaces, tabs, `,` or <code>&#124;</code>; more columns are passed over |
//! | a folder with `vertex.csv` and `edge.csv`, as GraphBIG has them | the first column of `vertex.csv` | as above, between vertices that `vertex.csv` has |
//! | Matrix Market, `coordinate` and square | its rows | its entries |
//!
//! Lines that begin with `#` or `%` are comments. A first line with `,` or <code>&#124;</code> that begins with no number is a header.

pub(crate) mod fuzz;
mod read;
mod rows;
pub mod synthetic;

use std::fmt;

pub use read::{Input, read};

use crate::{Error, Result};

/// Whether an edge leads one way or both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From its first vertex to its second.
    OneWay,
    /// To and fro.
    BothWays,
}

/// Vertices, and for each of them those that an edge leads to.
///
/// Vertices are numbered from 0 in the order of their labels, which are the numbers that the input has for them. No edge
/// leads from a vertex to itself, and none is there twice.
///
/// ```
/// use thalweg_apps::edges::{Direction, Network};
/// let network = Network::new(vec![7], vec![(3, 5), (5, 3), (5, 5)], Direction::OneWay)?;
/// assert_eq!((network.vertices(), network.arcs()), (3, 2));
/// assert_eq!((network.label(1), network.neighbours(1)), (5, &[0][..]));
/// # Ok::<(), thalweg_apps::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Network {
    labels: Vec<u64>,
    /// Where in `targets` the neighbours of a vertex begin; one more than there are vertices.
    starts: Vec<usize>,
    targets: Vec<u32>,
    direction: Direction,
    rows: u64,
    loops: u64,
}

impl Network {
    /// From labels of vertices, in any order and number, and edges between these or others.
    ///
    /// Time: that of sorting. Memory: 24 bytes for an edge at most, 12 of them for good.
    ///
    /// # Errors
    ///
    /// [`Error::Refused`] for 2³² vertices or more.
    pub fn new(vertices: Vec<u64>, edges: Vec<(u64, u64)>, direction: Direction) -> Result<Self> {
        let rows = edges.len() as u64;
        let mut labels = vertices;
        labels.extend(edges.iter().flat_map(|&(from, to)| [from, to]));
        labels.sort_unstable();
        labels.dedup();
        labels.shrink_to_fit();
        if u32::try_from(labels.len()).is_err() {
            let vertices = labels.len();
            return Err(Error::Refused(format!("the network has {vertices} vertices; at most {} are read", u32::MAX)));
        }
        // Labels without gaps, as most have them, are found without looking.
        let first = labels.first().copied().unwrap_or(0);
        let dense = labels.last().is_none_or(|last| last - first + 1 == labels.len() as u64);
        let index = |label: u64| {
            let place = if dense { (label - first) as usize } else { labels.partition_point(|&other| other < label) };
            place as u32
        };
        let mut loops = 0;
        let mut arcs = Vec::with_capacity(if direction == Direction::BothWays { 2 * edges.len() } else { edges.len() });
        for (from, to) in edges {
            if from == to {
                loops += 1;
                continue;
            }
            let (from, to) = (index(from), index(to));
            arcs.push((from, to));
            if direction == Direction::BothWays {
                arcs.push((to, from));
            }
        }
        arcs.sort_unstable();
        arcs.dedup();
        let mut starts = vec![0; labels.len() + 1];
        arcs.iter().for_each(|&(from, _)| starts[from as usize + 1] += 1);
        for vertex in 1..starts.len() {
            starts[vertex] += starts[vertex - 1];
        }
        let targets = arcs.into_iter().map(|(_, to)| to).collect();
        Ok(Self { labels, starts, targets, direction, rows, loops })
    }

    /// How many vertices there are.
    pub fn vertices(&self) -> usize {
        self.labels.len()
    }

    /// How many pairs of neighbours there are, in this order: an edge both ways counts twice.
    pub fn arcs(&self) -> usize {
        self.targets.len()
    }

    /// How many edges there are: one both ways counts once.
    pub fn edges(&self) -> usize {
        if self.direction == Direction::BothWays { self.arcs() / 2 } else { self.arcs() }
    }

    /// Whether its edges lead one way or both.
    pub fn direction(&self) -> Direction {
        self.direction
    }

    /// The vertices that an edge leads to from `vertex`, in ascending order.
    ///
    /// # Panics
    ///
    /// If there is no such vertex.
    pub fn neighbours(&self, vertex: u32) -> &[u32] {
        let vertex = vertex as usize;
        &self.targets[self.starts[vertex]..self.starts[vertex + 1]]
    }

    /// The number that the input has for `vertex`.
    ///
    /// # Panics
    ///
    /// If there is no such vertex.
    pub fn label(&self, vertex: u32) -> u64 {
        self.labels[vertex as usize]
    }

    /// The numbers of all vertices.
    pub(crate) fn indices(&self) -> std::ops::Range<u32> {
        0..self.labels.len() as u32
    }
}

/// Its size, and what of the input is not in it: "4 vertices, 3 edges (5 rows, 1 loop left out)".
impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (vertices, edges, rows, loops) = (self.vertices(), self.edges(), self.rows, self.loops);
        write!(f, "{vertices} vertices, {edges} edges")?;
        match (rows == edges as u64, loops) {
            (true, _) => Ok(()),
            (false, 0) => write!(f, " ({rows} rows, some of them twice)"),
            (false, 1) => write!(f, " ({rows} rows, 1 loop left out)"),
            (false, _) => write!(f, " ({rows} rows, {loops} loops left out)"),
        }
    }
}

impl fmt::Debug for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Network({self})")
    }
}

/// The vertices with the largest values, at most `most`, the largest first and of equals the one with the smaller number.
pub(crate) fn top<T: PartialOrd + Copy>(values: &[T], most: usize) -> Vec<(u32, T)> {
    let mut top: Vec<(u32, T)> = Vec::with_capacity(most + 1);
    for (vertex, &value) in (0_u32..).zip(values) {
        let place = top.partition_point(|&(_, larger)| larger >= value);
        if place < most {
            top.truncate(most - 1);
            top.insert(place, (vertex, value));
        }
    }
    top
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_with_and_without_gaps_are_numbered_in_their_order() {
        let mut random = fastrand::Rng::with_seed(11);
        for spread in [1, 1_000_003] {
            let edges: Vec<(u64, u64)> =
                (0..300).map(|_| (spread * random.u64(5..60), spread * random.u64(5..60))).collect();
            for direction in [Direction::OneWay, Direction::BothWays] {
                let network = Network::new(vec![spread * 99, spread * 5], edges.clone(), direction).unwrap();
                let mut pairs: Vec<(u64, u64)> = edges.iter().copied().filter(|(from, to)| from != to).collect();
                if direction == Direction::BothWays {
                    pairs.extend(pairs.clone().into_iter().map(|(from, to)| (to, from)));
                }
                pairs.sort_unstable();
                pairs.dedup();
                let of = |vertex| network.neighbours(vertex).iter().map(move |&to| (vertex, to));
                let labels = |(from, to)| (network.label(from), network.label(to));
                let found: Vec<_> = network.indices().flat_map(of).map(labels).collect();
                assert_eq!(found, pairs);
                assert_eq!(network.label(network.vertices() as u32 - 1), spread * 99);
            }
        }
    }

    #[test]
    fn what_is_left_out_is_told() {
        let network = |edges: &[(u64, u64)]| Network::new(vec![], edges.to_vec(), Direction::BothWays).unwrap();
        assert_eq!(network(&[]).to_string(), "0 vertices, 0 edges");
        assert_eq!(network(&[(1, 2), (2, 3)]).to_string(), "3 vertices, 2 edges");
        assert_eq!(network(&[(1, 2), (2, 1)]).to_string(), "2 vertices, 1 edges (2 rows, some of them twice)");
        assert_eq!(network(&[(1, 2), (2, 2)]).to_string(), "2 vertices, 1 edges (2 rows, 1 loop left out)");
    }

    #[test]
    fn the_top_has_the_largest_first_and_of_equals_the_earlier() {
        assert_eq!(top(&[1, 5, 0, 5, 1, 9], 4), [(5, 9), (1, 5), (3, 5), (0, 1)]);
        assert_eq!(top(&[0.5, 0.25], 10), [(0, 0.5), (1, 0.25)]);
        assert_eq!(top::<u8>(&[], 10), []);
    }
}
