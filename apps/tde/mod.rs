//! Delays the pulses of a radar in their spectrum, by whole gates or parts of one.
//!
//! ```text
//! samples >> transpose >> pad >> 5 reorder >> 6 combine >> multiply >> 5 reorder >> 6 combine >> cut >> transpose back >> result
//! ```
//!
//! A block has all pulses of the first range gate, then those of the next. It is turned into rows of gates, each row is
//! transformed, multiplied by a factor for each frequency, and transformed back ([`stages`]). All but the two ends are
//! parallel windowed kernels in one long chain, and a message is a complex number. The results are those of the sequential
//! program ([`stages::reference`]), bit by bit.
//!
//! TDE of the StreamIt benchmarks, in the size used by C. Min and Y. I. Eom, *DANBI: Dynamic Scheduling of Irregular
//! Stream Programs for Many-Core Systems*, PACT 2013, table II: 29 kernels and 28 queues, 36 gates and 15 pulses.

pub mod stages;

use std::path::PathBuf;

use thalweg::prelude::*;
use thalweg_sync::time::{self, Duration};

pub use crate::samples::{Form, Raw, synthetic};

use crate::samples::{self, Target};
use crate::until_error::UntilError;
use crate::watch::Steps;
use crate::{Error, Result, Watch};
use stages::{Complex, Size};

/// What to delay.
#[derive(Clone, Debug)]
pub struct Config {
    /// Where the samples come from.
    pub input: Input,
    /// The WAV file to write: one channel of `f32`, at the rate of the input. Replaced if it exists.
    pub output: Option<PathBuf>,
    /// Gates, pulses, and the delay.
    pub size: Size,
    /// How the graph runs.
    pub scheme: Scheme,
}

/// Where samples come from.
#[derive(Clone, Debug)]
pub enum Input {
    /// A file of samples; several channels are mixed. They leave as loud as they came.
    File {
        /// Its path.
        path: PathBuf,
        /// For raw samples, what they are. `None` for a WAV file.
        raw: Option<Raw>,
    },
    /// Made-up sound, so many blocks. It leaves a quarter as loud: the benchmark's factor is 1/256, and there are 64 points.
    MadeUp {
        /// How many blocks.
        blocks: u64,
    },
}

impl Input {
    /// By how much samples leave louder.
    pub fn gain(&self) -> f64 {
        if matches!(self, Self::File { .. }) { 1.0 } else { 0.25 }
    }
}

impl Config {
    /// Of the paper's size, with the default scheme.
    pub fn new(input: Input, output: Option<PathBuf>) -> Self {
        Self { input, output, size: Size::default(), scheme: Scheme::default() }
    }
}

/// What was delayed.
#[derive(Debug)]
pub struct Summary {
    /// Samples read.
    pub samples: u64,
    /// Blocks made of them. The last one was filled with zeros, if it was not full.
    pub blocks: u64,
    /// The root of the mean square of what came out.
    pub level: f64,
    /// From the start of the run to its end.
    pub elapsed: Duration,
    /// What each kernel did.
    pub report: Report,
}

/// Delays.
///
/// ```
/// use thalweg_apps::tde::{self, Config, Input, synthetic};
/// # let dir = tempfile::tempdir().unwrap();
/// # let path = |name| dir.path().join(name);
/// synthetic::write(1_000, &path("pulses.wav"))?;
/// let input = Input::File { path: path("pulses.wav"), raw: None };
/// let mut config = Config::new(input, Some(path("later.wav")));
/// config.size.delay = 2.5;
/// let delayed = tde::run(&config, &())?;
/// assert_eq!((delayed.samples, delayed.blocks), (1_000, 2));
/// # Ok::<(), thalweg_apps::Error>(())
/// ```
///
/// # Errors
///
/// [`Error::Refused`] if the input or the size is not as it has to be, or the input is also the output, before anything is
/// written; [`Error::File`] if one of them cannot be opened, read or written.
pub fn run(config: &Config, watch: &dyn Watch) -> Result<Summary> {
    let block = config.size.block();
    let stages = config.size.stages(config.input.gain())?;
    let Opened { values, rate, bytes, count } = open(config, watch)?;
    let count = count.map(|count| count.next_multiple_of(block as u64));
    let mut sound = Target::create(config.output.as_deref(), rate, count)?;
    let mut damage = None;
    let (mut samples, mut written, mut squares) = (0, 0_u64, 0.0);
    let mut progress = Steps::new(watch);
    let start = time::now();

    let values = UntilError::new(values, &mut damage).inspect(|_| {
        samples += 1;
        progress.add(bytes);
    });
    let mut graph = Graph::new();
    let source = graph.source(padded(values, block));
    let sink = graph.sink(|[real, _]: Complex| {
        written += 1;
        squares += f64::from(real) * f64::from(real);
        sound.write(real)
    });
    graph.name(source, "samples");
    graph.name(sink, "result");
    // A path of the source alone: the stages are put behind it.
    let mut path = source * 1;
    for (name, stage) in stages {
        let input = stage.input();
        let node = graph.parallel_window(input, input, move |block: &[Complex], out: &mut Output<Complex>| {
            stage.apply(block, |number| out.push(number));
        });
        graph.name(node, &name);
        path = path >> node;
    }
    graph += path >> sink;
    watch.started(graph.stopper());
    let ran = graph.run(config.scheme);
    drop(graph);

    let report = sound.finish(ran)?;
    if let (Some(error), Input::File { path, .. }) = (damage, &config.input) {
        return Err(Error::file("read all of", path, error));
    }
    let level = (squares / written.max(1) as f64).sqrt();
    Ok(Summary { samples, blocks: written / block as u64, level, elapsed: start.elapsed(), report })
}

/// An input that was opened.
struct Opened {
    values: Box<dyn Iterator<Item = std::io::Result<Complex>> + Send>,
    rate: u32,
    /// Bytes of a sample in the file.
    bytes: u64,
    count: Option<u64>,
}

fn open(config: &Config, watch: &dyn Watch) -> Result<Opened> {
    let (path, raw) = match &config.input {
        Input::File { path, raw } => (path, raw),
        &Input::MadeUp { blocks } => {
            let count = blocks * config.size.block() as u64;
            let values = Box::new(synthetic::sound(count).map(|sample| Ok([sample, 0.0])));
            return Ok(Opened { values, rate: synthetic::RATE, bytes: 0, count: Some(count) });
        }
    };
    let samples = samples::open_sound(path, *raw, config.output.as_deref(), watch)?;
    let (rate, bytes, count) = (samples.rate, samples.bytes_each(), samples.times());
    let values = Box::new(samples.mixed().map(|sample| Ok([sample?, 0.0])));
    Ok(Opened { values, rate, bytes, count })
}

/// Zeros behind the last value until the last block is full.
fn padded(values: impl Iterator<Item = Complex> + Send, block: usize) -> impl Iterator<Item = Complex> + Send {
    let (mut values, mut count) = (values.fuse(), 0_usize);
    std::iter::from_fn(move || {
        let next = values.next().or_else(|| (count != 0).then_some([0.0; 2]))?;
        count = (count + 1) % block;
        Some(next)
    })
}
