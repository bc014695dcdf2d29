//! Thirty filters in a row.
//!
//! ```text
//! samples >> filter 1 >> filter 2 >> … >> filter 30 >> sound
//! ```
//!
//! Each filter has 16 taps that rise to 0.8 and fall again, and remembers the last 16 samples; so it is a kernel with state, and 32 kernels
//! in a row use 32 cores. One sample is a message. The sound equals that of the sequential program bit by bit.
//!
//! From the FIR of BLQ, table 1. There, only the number of samples is checked.

pub mod reference;

use std::path::PathBuf;

use thalweg::prelude::*;

pub use crate::samples::{Form, Raw};

use crate::error::must_differ;
use crate::until_error::UntilError;
use crate::watch::Steps;
use crate::{Error, Result, Watch, samples};

/// Taps of a filter.
pub const TAPS: usize = 16;
/// What a filter makes of a constant 1: the sum of its taps.
const GAIN: f64 = 7.2;
/// Samples per second of what is made up.
const RATE: u32 = 48_000;

/// Where samples come from.
#[derive(Clone, Debug)]
pub enum Input {
    /// A file; several channels are mixed.
    File {
        /// Its path.
        path: PathBuf,
        /// For raw samples, what they are. `None` for a WAV file.
        raw: Option<Raw>,
    },
    /// As in the paper: so many whole numbers from 0 to 999 by chance, the same ones every time.
    Random(u64),
}

/// What to filter, and how.
#[derive(Clone, Debug)]
pub struct Config {
    /// Where samples come from.
    pub input: Input,
    /// A WAV file to write, of one channel. Replaced if it exists.
    pub output: Option<PathBuf>,
    /// Kernels in a row, with the first and the last: at least 3.
    pub stages: usize,
    /// How the graph runs.
    pub scheme: Scheme,
}

impl Config {
    /// 32 stages, as in the paper, no output, and the default scheme.
    pub fn new(input: Input) -> Self {
        Self { input, output: None, stages: 32, scheme: Scheme::default() }
    }

    /// The filters. Of a file, each leaves a constant as loud as it is; of the paper's numbers, it makes it 7.2 times as large.
    fn filters(&self) -> Result<Vec<Filter>> {
        if self.stages < 3 {
            let stages = self.stages;
            return Err(Error::Refused(format!(
                "{stages} stages; one gives, one takes, and at least one filters: take 3 or more"
            )));
        }
        let scale = if matches!(self.input, Input::File { .. }) { 1.0 / GAIN } else { 1.0 };
        Ok((2..self.stages).map(|_| Filter::new(scale)).collect())
    }

    fn open(&self, watch: &dyn Watch) -> Result<Opened> {
        match &self.input {
            &Input::Random(count) => {
                let mut random = fastrand::Rng::with_seed(count);
                let values = (0..count).map(move |_| Ok(f64::from(random.u32(..1_000))));
                Ok(Opened { values: Box::new(values), rate: RATE, count: Some(count), bytes: size_of::<f64>() as u64 })
            }
            Input::File { path, raw } => {
                if let Some(output) = &self.output {
                    must_differ(path, output)?;
                }
                let samples = samples::open(path, *raw, watch)?;
                let (rate, count, bytes) = (samples.rate, samples.times(), samples.bytes_each());
                let values = Box::new(samples.mixed().map(|value| value.map(f64::from)));
                Ok(Opened { values, rate, count, bytes })
            }
        }
    }
}

/// An input that was opened.
struct Opened {
    values: Box<dyn Iterator<Item = std::io::Result<f64>> + Send>,
    rate: u32,
    count: Option<u64>,
    /// Of a sample in the file.
    bytes: u64,
}

/// A filter and its delay line.
#[derive(Clone, Debug)]
pub struct Filter {
    taps: [f64; TAPS],
    /// The last samples, and where the next one goes.
    line: [f64; TAPS],
    next: usize,
}

impl Filter {
    /// With all taps times `scale`, and silence before.
    pub fn new(scale: f64) -> Self {
        let tap = |tap: usize| (tap.min(TAPS - 1 - tap) + 1) as f64 * 0.1 * scale;
        Self { taps: std::array::from_fn(tap), line: [0.0; TAPS], next: 0 }
    }

    /// The filtered sample.
    ///
    /// ```
    /// # use thalweg_apps::fir::Filter;
    /// let mut filter = Filter::new(10.0);
    /// assert_eq!([1.0, 0.0, 0.0, 0.0].map(|sample| filter.apply(sample).round()), [1.0, 2.0, 3.0, 4.0]);
    /// ```
    pub fn apply(&mut self, sample: f64) -> f64 {
        self.line[self.next] = sample;
        let mut sum = 0.0;
        for (back, tap) in self.taps.iter().enumerate() {
            sum += tap * self.line[(self.next + TAPS - back) % TAPS];
        }
        self.next = (self.next + 1) % TAPS;
        sum
    }
}

/// How loud samples are.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Level {
    /// How many.
    pub samples: u64,
    /// The largest, without its sign.
    pub peak: f64,
    squares: f64,
    /// All that they are, in their order.
    digest: u64,
}

impl Level {
    fn add(&mut self, sample: f64) {
        self.samples += 1;
        self.peak = self.peak.max(sample.abs());
        self.squares += sample * sample;
        self.digest = self.digest.rotate_left(5).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ sample.to_bits();
    }

    /// The root of their mean square.
    pub fn mean(&self) -> f64 {
        (self.squares / self.samples.max(1) as f64).sqrt()
    }
}

/// What was filtered.
#[derive(Debug)]
pub struct Summary {
    /// Samples read.
    pub before: Level,
    /// Samples that came out.
    pub after: Level,
    /// Samples per second.
    pub rate: u32,
    /// What each kernel did.
    pub report: Report,
}

/// Filters.
///
/// ```
/// use thalweg_apps::fir::{Config, Input, reference, run};
/// let config = Config::new(Input::Random(1_000));
/// let filtered = run(&config, &())?;
/// assert_eq!(filtered.after, reference::filter(&config, |_| ())?);
/// # Ok::<(), thalweg_apps::Error>(())
/// ```
///
/// # Errors
///
/// [`Error::Refused`] for too few stages, or if the input is not as it has to be or also the output, before anything is written;
/// [`Error::File`] if one of them cannot be opened, read or written.
pub fn run(config: &Config, watch: &dyn Watch) -> Result<Summary> {
    let filters = config.filters()?;
    let Opened { values, rate, count, bytes } = config.open(watch)?;
    let mut sound = config.output.as_ref().map(|output| samples::Sound::create(output, rate, count)).transpose()?;
    let (mut damage, mut refused) = (None, None);
    let (mut before, mut after) = (Level::default(), Level::default());
    let mut progress = Steps::new(watch);

    let mut graph = Graph::new();
    let source = graph.source(UntilError::new(values, &mut damage).inspect(|&sample| {
        before.add(sample);
        progress.add(bytes);
    }));
    let sink = graph.sink(|sample: f64| {
        after.add(sample);
        sound.as_mut().map_or(Ok(()), |sound| sound.write(sample as f32)).map_err(|error| {
            refused = Some(error);
            "the sound cannot be written"
        })
    });
    graph.name(source, "samples");
    graph.name(sink, "sound");
    // The filters are alike, and the first one makes a path of the source.
    let mut path = source * 1;
    for (index, mut filter) in filters.into_iter().enumerate() {
        let node = graph.map(move |sample| filter.apply(sample));
        graph.name(node, &format!("filter {}", index + 1));
        path = path >> node;
    }
    graph += path >> sink;
    watch.started(graph.stopper());
    let ran = graph.run(config.scheme);
    drop(graph);

    // The graph knows the kernel, the user the file.
    if let (Some(error), Some(output)) = (refused, &config.output) {
        return Err(Error::file("write", output, error));
    }
    let report = ran?;
    if let (Some(sound), Some(output)) = (sound, &config.output) {
        sound.finish().map_err(|error| Error::file("write", output, error))?;
    }
    if let (Some(error), Input::File { path, .. }) = (damage, &config.input) {
        return Err(Error::file("read all of", path, error));
    }
    Ok(Summary { before, after, rate, report })
}
