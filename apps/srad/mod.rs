//! Takes the speckle from pictures: noise that grows with brightness, as radar and ultrasound have it.
//!
//! ```text
//! pictures >> extract >> statistics >> srad1 >> srad2 + compress >> results
//!                            ^_______________________|
//! ```
//!
//! Speckle-reducing anisotropic diffusion: again and again each value moves towards its neighbours, the less the more they
//! differ by more than speckle does. A picture goes round in strips ([`image`]). `statistics` waits for all of them, as
//! how much speckle there is is a matter of the whole; all others but the two ends are parallel kernels. The last one has
//! two outputs: back, and on to the results. The results are those of the sequential program ([`reference()`]), bit by
//! bit.
//!
//! SRAD of C. Min and Y. I. Eom, *DANBI: Dynamic Scheduling of Irregular Stream Programs for Many-Core Systems*, PACT
//! 2013, table II: 6 kernels and 6 queues; the program is Rodinia's, after Y. Yu and S. T. Acton, *Speckle Reducing
//! Anisotropic Diffusion*, IEEE Transactions on Image Processing 11, 2002.

pub mod image;
mod reference;
pub mod speckle;
mod statistics;

use std::path::PathBuf;

use thalweg::prelude::*;
use thalweg_sync::thread;
use thalweg_sync::time::{self, Duration};

pub use crate::pictures::{Input, Picture, Spoiled};
pub use reference::reference;

use crate::pictures::{self, From};
use crate::{Result, Watch};
use image::Image;
use statistics::{Diffused, Statistics, Step};

/// What to take the speckle from.
#[derive(Clone, Debug)]
pub struct Config {
    /// Where the pictures come from.
    pub input: Input,
    /// How often each goes round: at least once. Rodinia has 100.
    pub iterations: u32,
    /// How far a value moves in an iteration: above 0, at most 1. Rodinia has 0.5.
    pub lambda: f32,
    /// How the graph runs.
    pub scheme: Scheme,
}

impl Config {
    /// With Rodinia's 100 iterations and lambda of 0.5, and the default scheme.
    pub fn new(input: Input) -> Self {
        Self { input, iterations: 100, lambda: 0.5, scheme: Scheme::default() }
    }
}

/// What was done.
#[derive(Debug)]
pub struct Summary {
    /// Pictures that were finished.
    pub pictures: u64,
    /// Their pixels.
    pub pixels: u64,
    /// The coefficient of variation before and now: the standard deviation over the mean, in squares of 8 pixels, on
    /// average. Zero if no square was whole.
    pub variation: (f64, f64),
    /// Files that could not be read. The others were worked on.
    pub spoiled: Vec<Spoiled>,
    /// From the start of the run to its end.
    pub elapsed: Duration,
    /// What each kernel did.
    pub report: Report,
}

/// What is known of a picture beside its image.
struct Work {
    picture: Picture,
    /// Where it goes.
    output: Option<PathBuf>,
    before: (f64, u64),
}

/// Takes the speckle away.
///
/// Memory: some ten pictures at a time, some fifty bytes for each pixel in colour.
///
/// ```
/// use thalweg_apps::srad::{self, Config, Input, speckle};
/// # let dir = tempfile::tempdir().unwrap();
/// # let path = |name| dir.path().join(name);
/// speckle::pictures(2, 64, &path("speckled"))?;
/// let files = Input::Files { inputs: vec![path("speckled")], output: path("clean") };
/// let mut config = Config::new(files);
/// config.iterations = 10;
/// let cleaned = srad::run(&config, &())?;
/// assert_eq!(cleaned.pictures, 2);
/// assert!(cleaned.variation.1 < cleaned.variation.0 / 2.0);
/// # Ok::<(), thalweg_apps::Error>(())
/// ```
///
/// # Errors
///
/// [`Error::Refused`](crate::Error::Refused) without iterations, for a lambda out of range, if there is no picture, or if
/// a result would replace one, before anything is written; [`Error::File`](crate::Error::File) if an input is not there,
/// or a result cannot be written. A file that cannot be read, or is no picture, is no error but in [`Summary::spoiled`].
pub fn run(config: &Config, watch: &dyn Watch) -> Result<Summary> {
    image::check(config.iterations, config.lambda)?;
    let sources = config.input.sources()?;
    // An edge has room for what all workers take at once, and so many pictures go round.
    let room = thread::available_parallelism();
    let (mut pictures, mut pixels, mut before, mut after) = (0, 0, (0.0, 0), (0.0, 0));
    let (mut spoiled, mut refused) = (Vec::new(), None);
    let start = time::now();

    let mut graph = Graph::new();
    let source = graph.source(sources);
    let extract = graph.parallel_map(|source: From| load(source, watch));
    let statistics = graph.add(Statistics::new(config.iterations, room));
    let first = graph.parallel_map(|step: Step| match step {
        Step::Strip(mut job) => {
            job.find_coefficients();
            Step::Strip(job)
        }
        last => last,
    });
    let second = graph.add_parallel(Second { lambda: config.lambda });
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
        before = (before.0 + finished.before.0, before.1 + finished.before.1);
        after = (after.0 + finished.after.0, after.1 + finished.after.1);
        Ok(())
    });
    graph.name(source, "pictures");
    graph.name(extract, "extract");
    graph.name(statistics.steps, "statistics");
    graph.name(first, "srad1");
    graph.name(second.finished, "srad2 + compress");
    graph.name(sink, "results");
    graph += source.fixed(room) >> extract.fixed(room) >> statistics.extracted;
    graph += statistics.steps >> first >> second.steps;
    graph += second.diffused.feedback() >> statistics.diffused;
    graph += second.finished >> sink;
    watch.started(graph.stopper());
    let ran = graph.run(config.scheme);
    drop(graph);

    // The graph knows the kernel, the user the file.
    if let Some(error) = refused {
        return Err(error);
    }
    let mean = |(sum, count): (f64, u64)| sum / count.max(1) as f64;
    let variation = (mean(before), mean(after));
    Ok(Summary { pictures, pixels, variation, spoiled, elapsed: start.elapsed(), report: ran? })
}

/// A picture that is finished: the sums of its coefficients of variation, and of how many there are.
type Finished = pictures::Finished<(f64, u64)>;

/// Reads a picture, or makes one up in grey, and takes its colours out.
fn load(from: From, watch: &dyn Watch) -> Result<(Work, Image), Spoiled> {
    let (picture, output) = from.load(watch, |seed, side| {
        let picture = speckle::picture(seed, side, side);
        let values = picture.values.iter().copied().step_by(3).collect();
        Picture { channels: 1, values, ..picture }
    })?;
    let image = Image::extract(&picture);
    Ok((Work { before: speckle::variation(&picture), picture, output }, image))
}

/// The second half of an iteration, and what comes behind the last one.
struct Second {
    lambda: f32,
}

#[derive(Clone, Copy, Debug)]
struct SecondPorts {
    steps: In<Step>,
    diffused: Out<Diffused>,
    finished: Out<Result<Finished, Spoiled>>,
}

impl ParallelKernel for Second {
    type Ports = SecondPorts;

    fn ports(&mut self, bind: &mut Binder<'_>) -> SecondPorts {
        SecondPorts { steps: bind.input("steps"), diffused: bind.output("diffused"), finished: bind.output("finished") }
    }

    fn fire(&self, ports: &SecondPorts, firing: &mut Firing<'_>) -> Result<(), BoxError> {
        match firing.take(ports.steps) {
            Step::Strip(job) => {
                let values = job.diffused(self.lambda);
                firing.push(ports.diffused, Diffused { picture: job.picture, strip: job.strip, values });
            }
            Step::Last(last) => {
                let finished = match *last {
                    Ok((work, image)) => Ok(finish(work, &image)?),
                    Err(spoiled) => Err(spoiled),
                };
                firing.push(ports.finished, finished);
            }
        }
        Ok(())
    }
}

fn finish(work: Work, image: &Image) -> Result<Finished, String> {
    let Work { mut picture, output, before } = work;
    image.compress(&mut picture);
    let after = speckle::variation(&picture);
    Finished::new(&picture, output, before, after)
}
