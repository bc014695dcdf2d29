//! How many triangles a network has, and where.
//!
//! ```text
//! workset >> lookup >> count * 4 >> reduce
//! ```
//!
//! The work set gives vertices, lookup the edges that lead from these to larger ones, count how many neighbours the two ends
//! of an edge have in common, and reduce adds that to both ends. A triangle is found three times, once for each of its
//! edges, and added twice to each of its corners. Only reduce has state, and it runs on one worker at a time.
//!
//! From the triangle count of BLQ, table 1: one lookup and four counts. A vertex of many neighbours comes in parts here, so
//! that what waits between lookup and count stays small.

pub mod reference;

use thalweg::prelude::*;

use crate::edges::{Network, top};
use crate::{Result, Watch};

/// Neighbours that lookup passes on for one message.
const PART: usize = 1_024;
/// One list is looked up in the other, and not merged with it, if that is so many times as long.
const MUCH_LONGER: usize = 32;
/// Vertices in the summary's list.
const TOP: usize = 10;

/// How to count.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// Threads that look up, for schemes that have threads for a kernel.
    pub lookups: u32,
    /// Threads that count, likewise.
    pub counts: u32,
    /// How the graph runs.
    pub scheme: Scheme,
}

/// As in the paper, with the default scheme.
impl Default for Config {
    fn default() -> Self {
        Self { lookups: 1, counts: 4, scheme: Scheme::default() }
    }
}

/// What was counted.
#[derive(Debug)]
pub struct Summary {
    /// The counts.
    pub triangles: Triangles,
    /// What each kernel did.
    pub report: Report,
}

/// Triangles, in all and at each vertex.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Triangles {
    /// Edges of which the ends were compared: all of them, unless the run was stopped.
    pub edges: u64,
    /// For each vertex, twice the triangles that it is a corner of.
    twice: Vec<u64>,
    /// Three times the triangles.
    thrice: u64,
}

impl Triangles {
    fn new(vertices: usize) -> Self {
        Self { edges: 0, twice: vec![0; vertices], thrice: 0 }
    }

    fn add(&mut self, pair: &Common) {
        self.edges += 1;
        self.thrice += pair.count;
        self.twice[pair.from as usize] += pair.count;
        self.twice[pair.to as usize] += pair.count;
    }

    /// How many there are. Of a run that was stopped, about as many as the edges so far have.
    pub fn total(&self) -> u64 {
        self.thrice / 3
    }

    /// How many `vertex` is a corner of.
    ///
    /// # Panics
    ///
    /// If there is no such vertex.
    pub fn at(&self, vertex: u32) -> u64 {
        self.twice[vertex as usize] / 2
    }

    /// The ten vertices with the most, the most first.
    pub fn top(&self) -> Vec<(u32, u64)> {
        let top = top(&self.twice, TOP);
        top.into_iter().filter(|&(_, twice)| twice > 0).map(|(vertex, twice)| (vertex, twice / 2)).collect()
    }

    /// Of all pairs of neighbours of one vertex, the share that are neighbours of each other: the transitivity of the network. `None`
    /// if no vertex has two.
    pub fn transitivity(&self, network: &Network) -> Option<f64> {
        let pairs: u128 = network.indices().map(|vertex| pairs(network.neighbours(vertex).len())).sum();
        (pairs > 0).then(|| self.thrice as f64 / pairs as f64)
    }

    /// The same of the neighbours of `vertex` alone: its clustering coefficient.
    pub fn clustering(&self, network: &Network, vertex: u32) -> Option<f64> {
        let pairs = pairs(network.neighbours(vertex).len());
        (pairs > 0).then(|| self.at(vertex) as f64 / pairs as f64)
    }
}

fn pairs(of: usize) -> u128 {
    of as u128 * (of as u128).saturating_sub(1) / 2
}

/// A vertex, and which of its neighbours to look at.
#[derive(Clone, Copy, Debug)]
struct Work {
    vertex: u32,
    part: u32,
}

/// An edge with the neighbours of its ends.
#[derive(Clone, Copy, Debug)]
struct Pair<'a> {
    from: u32,
    to: u32,
    of_from: &'a [u32],
    of_to: &'a [u32],
}

/// An edge, and how many neighbours its ends have in common.
#[derive(Clone, Copy, Debug)]
struct Common {
    from: u32,
    to: u32,
    count: u64,
}

impl Pair<'_> {
    fn count(self) -> Common {
        let Self { from, to, of_from, of_to } = self;
        let (short, long) = if of_from.len() < of_to.len() { (of_from, of_to) } else { (of_to, of_from) };
        let count = if long.len() / MUCH_LONGER > short.len() { looked_up(short, long) } else { merged(short, long) };
        Common { from, to, count }
    }
}

/// How many two sorted lists have in common.
fn merged(left: &[u32], right: &[u32]) -> u64 {
    let (mut at, mut other, mut count) = (0, 0, 0);
    while at < left.len() && other < right.len() {
        let (a, b) = (left[at], right[other]);
        // Without a branch that depends on the values: they cannot be predicted.
        count += u64::from(a == b);
        at += usize::from(a <= b);
        other += usize::from(b <= a);
    }
    count
}

/// The same, for one that is much longer.
fn looked_up(short: &[u32], mut long: &[u32]) -> u64 {
    let mut count = 0;
    for vertex in short {
        let place = long.partition_point(|other| other < vertex);
        long = &long[place..];
        count += u64::from(long.first() == Some(vertex));
    }
    count
}

/// Counts the triangles of a network whose edges lead [both ways](crate::edges::Direction::BothWays).
///
/// ```
/// use thalweg_apps::edges::{Direction, Network};
/// use thalweg_apps::tc::{Config, run};
/// // A square with one of its diagonals.
/// let square = Network::new(vec![], vec![(1, 2), (2, 3), (3, 4), (4, 1), (1, 3)], Direction::BothWays)?;
/// let found = run(&square, &Config::default(), &())?.triangles;
/// assert_eq!((found.total(), found.at(0), found.at(1)), (2, 2, 1));
/// assert_eq!(found.transitivity(&square), Some(0.75));
/// # Ok::<(), thalweg_apps::Error>(())
/// ```
///
/// # Errors
///
/// [`Error::Refused`](crate::Error::Refused) if the edges lead one way.
pub fn run(network: &Network, config: &Config, watch: &dyn Watch) -> Result<Summary> {
    check(network)?;
    let mut triangles = Triangles::new(network.vertices());
    let parts = |vertex: u32| 0..network.neighbours(vertex).len().div_ceil(PART) as u32;

    let mut graph = Graph::new();
    let workset =
        graph.source(network.indices().flat_map(move |vertex| parts(vertex).map(move |part| Work { vertex, part })));
    let lookup = graph.parallel(|Work { vertex, part }, out: &mut Output<Pair<'_>>| {
        let of_from = network.neighbours(vertex);
        let part = part as usize * PART;
        for &to in &of_from[part..of_from.len().min(part + PART)] {
            if to > vertex {
                out.push(Pair { from: vertex, to, of_from, of_to: network.neighbours(to) });
            }
        }
    });
    let count = graph.parallel_map(Pair::count);
    let reduce = graph.sink(|pair: Common| triangles.add(&pair));
    graph.name(workset, "workset");
    graph.name(lookup, "lookup");
    graph.name(count, "count");
    graph.name(reduce, "reduce");
    graph += workset >> lookup * config.lookups >> count * config.counts >> reduce;
    watch.started(graph.stopper());
    let report = graph.run(config.scheme)?;
    drop(graph);
    Ok(Summary { triangles, report })
}

fn check(network: &Network) -> Result<()> {
    if network.direction() == crate::edges::Direction::OneWay {
        let reason = "the edges of this network lead one way, and those of a triangle lead both ways";
        return Err(crate::Error::Refused(reason.into()));
    }
    Ok(())
}
