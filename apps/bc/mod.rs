//! Which vertices of a network lie between the others: betweenness centrality.
//!
//! ```text
//! workset >> paths * 4 >> reduce
//! ```
//!
//! A vertex is between two others to the degree to which shortest paths from one to the other lead through it. The work set gives vertices to start
//! from; paths finds the shortest paths from one to all others, and gives for each vertex that it reaches what these paths
//! add to it ([`brandes`]); reduce adds that up. The sums equal those of the sequential program bit by bit, as what
//! paths gives leaves in the order of the work set, on any number of workers.
//!
//! From the betweenness centrality of BLQ, table 1: one message for each vertex that a source reaches.

pub mod brandes;
pub mod reference;

use thalweg::prelude::*;

use crate::edges::{Direction, Network, top};
use crate::{Result, Watch};
use brandes::{Scratch, Update};

/// Vertices in the summary's list.
const TOP: usize = 10;

/// How to compute.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// Start from so many vertices only, evenly spread over the numbers, and scale the sums up: an estimate.
    pub sources: Option<u32>,
    /// Threads that look for paths, for schemes that have threads for a kernel.
    pub paths: u32,
    /// How the graph runs.
    pub scheme: Scheme,
}

/// From all vertices, as in the paper, with the default scheme.
impl Default for Config {
    fn default() -> Self {
        Self { sources: None, paths: 4, scheme: Scheme::default() }
    }
}

/// What was computed.
#[derive(Debug)]
pub struct Summary {
    /// The sums.
    pub centrality: Centrality,
    /// What each kernel did.
    pub report: Report,
}

/// How much each vertex is between others.
#[derive(Clone, Debug, PartialEq)]
pub struct Centrality {
    /// For each vertex, the sum over all pairs of others of the share of their shortest paths that lead through it. A pair counts once if
    /// edges lead both ways, else once in each order.
    pub scores: Vec<f64>,
    /// Vertices that paths were looked for from.
    pub sources: u64,
}

impl Centrality {
    fn new(network: &Network) -> Self {
        Self { scores: vec![0.0; network.vertices()], sources: 0 }
    }

    fn add(&mut self, update: &Update) {
        // An update without a vertex says that its source is done.
        match self.scores.get_mut(update.vertex as usize) {
            Some(score) => *score += update.by,
            None => self.sources += 1,
        }
    }

    /// Divides what counts twice, and scales an estimate from `sources` vertices up.
    fn finish(mut self, network: &Network) -> Self {
        let (vertices, sources) = (network.vertices() as f64, self.sources.max(1) as f64);
        let twice = if network.direction() == Direction::BothWays { 2.0 } else { 1.0 };
        let scale = vertices / sources / twice;
        self.scores.iter_mut().for_each(|score| *score *= scale);
        self
    }

    /// The ten most central vertices, the first first.
    pub fn top(&self) -> Vec<(u32, f64)> {
        top(&self.scores, TOP).into_iter().filter(|&(_, score)| score > 0.0).collect()
    }

    /// Of all pairs of other vertices, the share that a score of `score` stands for.
    pub fn share(&self, network: &Network, score: f64) -> f64 {
        let others = network.vertices().saturating_sub(1) as f64;
        let twice = if network.direction() == Direction::BothWays { 2.0 } else { 1.0 };
        score * twice / (others * (others - 1.0)).max(1.0)
    }
}

/// The vertices to start from, the last one first.
fn sources(network: &Network, config: &Config) -> impl Iterator<Item = u32> + Send + use<> {
    let vertices = u64::from(network.indices().end);
    let sources = config.sources.map_or(vertices, |sources| u64::from(sources).min(vertices));
    (0..sources).rev().map(move |index| (index * vertices / sources) as u32)
}

/// Computes.
///
/// ```
/// use thalweg_apps::bc::{Config, run};
/// use thalweg_apps::edges::{Direction, Network};
/// // Two pairs, and a bridge that leads from one to the other.
/// let bridge = Network::new(vec![], vec![(1, 3), (2, 3), (3, 4), (4, 5), (4, 6)], Direction::BothWays)?;
/// let found = run(&bridge, &Config::default(), &())?.centrality;
/// assert_eq!(found.scores, [0.0, 0.0, 7.0, 7.0, 0.0, 0.0]);
/// # Ok::<(), thalweg_apps::Error>(())
/// ```
///
/// # Errors
///
/// [`Error::Graph`](crate::Error::Graph) if the scheme cannot be had, such as more workers than the system has threads.
pub fn run(network: &Network, config: &Config, watch: &dyn Watch) -> Result<Summary> {
    let mut centrality = Centrality::new(network);

    let mut graph = Graph::new();
    let workset = graph.source(sources(network, config));
    let paths = graph.parallel_with(
        || Scratch::new(network),
        |scratch, source: u32, out: &mut Output<Update>| scratch.from(network, source, |update| out.push(update)),
    );
    let reduce = graph.sink(|update: Update| centrality.add(&update));
    graph.name(workset, "workset");
    graph.name(paths, "paths");
    graph.name(reduce, "reduce");
    graph += workset >> paths * config.paths >> reduce;
    watch.started(graph.stopper());
    let report = graph.run(config.scheme)?;
    drop(graph);
    Ok(Summary { centrality: centrality.finish(network), report })
}
