//! Smooths pictures with a recursive Gaussian filter.
//!
//! ```text
//! pictures >> gaussian >> transpose >> gaussian >> transpose >> results
//! ```
//!
//! The filter runs down columns ([`filter`]), so that a step of it works on a whole row of values at once; the picture is
//! turned over its diagonal, filtered again, and turned back. All but the two ends are parallel kernels, and a message is
//! a picture: the first filter reads and decodes it too, and the last kernel encodes the PNG file. The results are those
//! of the sequential program ([`filter::reference`]), bit by bit.
//!
//! RG of C. Min and Y. I. Eom, *DANBI: Dynamic Scheduling of Irregular Stream Programs for Many-Core Systems*, PACT 2013,
//! table II: 6 kernels and 5 queues.

pub mod filter;

use std::path::PathBuf;

use thalweg::prelude::*;
use thalweg_sync::thread;
use thalweg_sync::time::{self, Duration};

pub use crate::pictures::{Input, Picture, Spoiled, synthetic};

use crate::pictures::{self, From};
use crate::{Result, Watch};
use filter::Filter;

/// What to smooth.
#[derive(Clone, Debug)]
pub struct Config {
    /// Where the pictures come from.
    pub input: Input,
    /// How far a point spreads: the standard deviation in pixels, of each direction. From 0.1 to 1000; the paper has 10.
    pub sigma: f64,
    /// How the graph runs.
    pub scheme: Scheme,
}

impl Config {
    /// With the paper's sigma of 10, and the default scheme.
    pub fn new(input: Input) -> Self {
        Self { input, sigma: 10.0, scheme: Scheme::default() }
    }
}

/// What was smoothed.
#[derive(Debug)]
pub struct Summary {
    /// Pictures that were finished.
    pub pictures: u64,
    /// Their pixels.
    pub pixels: u64,
    /// By how much neighbouring pixels differed before and differ now, on average, in levels of 255.
    pub contrast: (f64, f64),
    /// Files that could not be read. The others were smoothed.
    pub spoiled: Vec<Spoiled>,
    /// From the start of the run to its end.
    pub elapsed: Duration,
    /// What each kernel did.
    pub report: Report,
}

/// A picture on its way.
struct Work {
    picture: Picture,
    /// Where it goes.
    output: Option<PathBuf>,
    before: (u64, u64),
}

/// Smooths.
///
/// Memory: some ten pictures at a time, six bytes for each pixel in colour.
///
/// ```
/// use thalweg_apps::gaussian::{self, Config, Input, synthetic};
/// # let dir = tempfile::tempdir().unwrap();
/// # let path = |name| dir.path().join(name);
/// synthetic::pictures(2, 64, &path("sharp"))?;
/// let files = Input::Files { inputs: vec![path("sharp")], output: path("smooth") };
/// let smoothed = gaussian::run(&Config::new(files), &())?;
/// assert_eq!(smoothed.pictures, 2);
/// assert!(smoothed.contrast.1 < smoothed.contrast.0);
/// # Ok::<(), thalweg_apps::Error>(())
/// ```
///
/// # Errors
///
/// [`Error::Refused`](crate::Error::Refused) for a sigma out of range, if there is no picture, or if a result would replace one, before anything
/// is written; [`Error::File`](crate::Error::File) if an input is not there, or a result cannot be written. A file that cannot be read, or is
/// no picture, is no error but in [`Summary::spoiled`].
pub fn run(config: &Config, watch: &dyn Watch) -> Result<Summary> {
    let filter = Filter::new(config.sigma)?;
    let sources = config.input.sources()?;
    // As in the paper, an edge has room for what all workers take at once.
    let room = thread::available_parallelism();
    let (mut pictures, mut pixels, mut before, mut after) = (0, 0, (0, 0), (0, 0));
    let (mut spoiled, mut refused) = (Vec::new(), None);
    let start = time::now();

    let mut graph = Graph::new();
    let source = graph.source(sources);
    let down = graph.parallel_with(Vec::new, |scratch, source: From, out: &mut Output<Result<Work, Spoiled>>| {
        out.push(load(source, watch).map(|mut work| {
            work.before = work.picture.contrast();
            filter.fade_in(&mut work.picture);
            filter.columns(&mut work.picture, scratch);
            work
        }));
    });
    let turn = graph.parallel_map(|work: Result<Work, Spoiled>| {
        work.map(|work| Work { picture: filter::transposed(&work.picture), ..work })
    });
    let along = graph.parallel_with(Vec::new, |scratch, mut work: Result<Work, Spoiled>, out: &mut Output<_>| {
        if let Ok(work) = &mut work {
            filter.columns(&mut work.picture, scratch);
        }
        out.push(work);
    });
    let turn_back = graph.parallel(|work: Result<Work, Spoiled>, out: &mut Output<Result<Finished, Spoiled>>| {
        out.push(match work {
            Ok(work) => Ok(finish(&filter, work)?),
            Err(spoiled) => Err(spoiled),
        });
        Ok::<_, String>(())
    });
    let sink = graph.sink(|finished: Result<Finished, Spoiled>| {
        let finished = match finished {
            Ok(finished) => finished,
            Err(file) => {
                spoiled.push(file);
                return Ok::<_, &str>(());
            }
        };
        finished.store().map_err(|error| {
            refused = Some(error);
            "a result cannot be written"
        })?;
        pictures += 1;
        pixels += finished.pixels;
        before = add(before, finished.before);
        after = add(after, finished.after);
        Ok(())
    });
    graph.name(source, "pictures");
    graph.name(down, "gaussian down");
    graph.name(turn, "transpose");
    graph.name(along, "gaussian along");
    graph.name(turn_back, "transpose back");
    graph.name(sink, "results");
    let smoothed = source.fixed(room) >> down.fixed(room) >> turn.fixed(room) >> along.fixed(room);
    graph += smoothed >> turn_back.fixed(room) >> sink;
    watch.started(graph.stopper());
    let ran = graph.run(config.scheme);
    drop(graph);

    // The graph knows the kernel, the user the file.
    if let Some(error) = refused {
        return Err(error);
    }
    let contrast = (levels(before), levels(after));
    Ok(Summary { pictures, pixels, contrast, spoiled, elapsed: start.elapsed(), report: ran? })
}

/// A picture that is finished: the sums of what neighbours differ by, and of how many there are.
type Finished = pictures::Finished<(u64, u64)>;

/// Reads a picture, or makes one up in colour, with opacity.
fn load(from: From, watch: &dyn Watch) -> Result<Work, Spoiled> {
    let (picture, output) = from.load(watch, |seed, side| {
        let picture = synthetic::picture(seed, side, side);
        let values = picture.values.chunks_exact(3).flat_map(|rgb| [rgb[0], rgb[1], rgb[2], u16::MAX]).collect();
        Picture { channels: 4, values, ..picture }
    })?;
    Ok(Work { picture, output, before: (0, 0) })
}

fn finish(filter: &Filter, work: Work) -> Result<Finished, String> {
    let mut picture = filter::transposed(&work.picture);
    filter.fade_out(&mut picture);
    Finished::new(&picture, work.output, work.before, picture.contrast())
}

fn add(all: (u64, u64), one: (u64, u64)) -> (u64, u64) {
    (all.0 + one.0, all.1 + one.1)
}

/// The mean, in levels of 255.
fn levels((sum, count): (u64, u64)) -> f64 {
    sum as f64 / count.max(1) as f64 / 257.0
}
