//! How many edges lead from and to each vertex of a network.
//!
//! ```text
//! workset >> degree * 4
//! ```
//!
//! The work set gives vertices; degree notes how many edges lead from one, and counts each of these at its other end. Many
//! workers count there at the same time, so the counters are atomic.
//!
//! From the degree count of BLQ, table 1.

pub mod reference;

use thalweg::prelude::*;
use thalweg_sync::atomic::AtomicU32;
use thalweg_sync::atomic::Ordering::Relaxed;

use crate::edges::{Network, top};
use crate::{Result, Watch};

/// Vertices in the summary's lists.
const TOP: usize = 10;

/// How to count.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// Threads that count, for schemes that have threads for a kernel.
    pub counts: u32,
    /// How the graph runs.
    pub scheme: Scheme,
}

/// As in the paper, with the default scheme.
impl Default for Config {
    fn default() -> Self {
        Self { counts: 4, scheme: Scheme::default() }
    }
}

/// What was counted.
#[derive(Debug)]
pub struct Summary {
    /// The counts.
    pub degrees: Degrees,
    /// What each kernel did.
    pub report: Report,
}

/// For each vertex, how many edges lead from it and to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Degrees {
    /// From it.
    pub out: Vec<u32>,
    /// To it.
    pub into: Vec<u32>,
}

/// How degrees are spread.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// The smallest.
    pub least: u32,
    /// The one in the middle; of two, the lower.
    pub median: u32,
    /// Their sum divided by their number.
    pub mean: f64,
    /// The largest.
    pub most: u32,
}

impl Degrees {
    /// How `degrees` are spread; `None` if there are none.
    ///
    /// ```
    /// # use thalweg_apps::dc::{Degrees, Spread};
    /// assert_eq!(Degrees::spread(&[4, 0, 1, 1]), Some(Spread { least: 0, median: 1, mean: 1.5, most: 4 }));
    /// ```
    pub fn spread(degrees: &[u32]) -> Option<Spread> {
        let mut sorted = degrees.to_vec();
        sorted.sort_unstable();
        let (&least, &most) = (sorted.first()?, sorted.last()?);
        let sum: u64 = sorted.iter().map(|&degree| u64::from(degree)).sum();
        Some(Spread { least, median: sorted[(sorted.len() - 1) / 2], mean: sum as f64 / sorted.len() as f64, most })
    }

    /// How many of `degrees` are 0, are 1, are 2 or 3, are 4 to 7, and so on up to the largest.
    ///
    /// ```
    /// # use thalweg_apps::dc::Degrees;
    /// assert_eq!(Degrees::histogram(&[5, 0, 1, 1, 7]), [1, 2, 0, 2]);
    /// ```
    pub fn histogram(degrees: &[u32]) -> Vec<u64> {
        let mut counts = Vec::new();
        for degree in degrees {
            let class = (u32::BITS - degree.leading_zeros()) as usize;
            counts.resize(counts.len().max(class + 1), 0);
            counts[class] += 1;
        }
        counts
    }

    /// The ten vertices with the largest of `degrees`, the largest first.
    pub fn top(degrees: &[u32]) -> Vec<(u32, u32)> {
        top(degrees, TOP)
    }
}

/// Counts.
///
/// ```
/// use thalweg_apps::dc::{Config, run};
/// use thalweg_apps::edges::{Direction, Network};
/// let network = Network::new(vec![], vec![(1, 2), (1, 3), (2, 3)], Direction::OneWay)?;
/// let degrees = run(&network, &Config::default(), &())?.degrees;
/// assert_eq!((degrees.out, degrees.into), (vec![2, 1, 0], vec![0, 1, 2]));
/// # Ok::<(), thalweg_apps::Error>(())
/// ```
///
/// # Errors
///
/// [`Error::Graph`](crate::Error::Graph) if the scheme cannot be had, such as more workers than the system has threads.
pub fn run(network: &Network, config: &Config, watch: &dyn Watch) -> Result<Summary> {
    let zeroes = || -> Vec<AtomicU32> { network.indices().map(|_| AtomicU32::new(0)).collect() };
    let (out, into) = (zeroes(), zeroes());

    let mut graph = Graph::new();
    let workset = graph.source(network.indices());
    let degree = graph.parallel_sink(|vertex: u32| {
        let neighbours = network.neighbours(vertex);
        // Relaxed: each count stands for itself, and all are read when the threads of the run are back.
        out[vertex as usize].store(neighbours.len() as u32, Relaxed);
        for &neighbour in neighbours {
            into[neighbour as usize].fetch_add(1, Relaxed);
        }
    });
    graph.name(workset, "workset");
    graph.name(degree, "degree");
    graph += workset >> degree * config.counts;
    watch.started(graph.stopper());
    let report = graph.run(config.scheme)?;
    drop(graph);

    let counts = |counters: Vec<AtomicU32>| counters.into_iter().map(AtomicU32::into_inner).collect();
    Ok(Summary { degrees: Degrees { out: counts(out), into: counts(into) }, report })
}
