//! An equalizer: a bank of filters takes a sound apart into bands, and puts it together again.
//!
//! ```text
//!                       ┌> low-pass 1 >> high-pass 1 >> thin out 1 ─┬> first 1 ──┐
//! samples >> duplicate > …                                          └> second 1 ──> add >> sound
//!                       └> low-pass 8 >> high-pass 8 >> thin out 8 ─┬> first 8 ──┘
//!                                                                   └> second 8 ─┘
//! ```
//!
//! Of each band an eighth of the samples is kept, and zeros are put in place of the others; then two more filters take away
//! what that added. All filters are parallel windowed kernels; `duplicate` and `add` are parallel, too. The sound is that of the sequential program
//! ([`bank::reference`]), bit by bit.
//!
//! FilterBank of the StreamIt benchmarks, in the size used by C. Min and Y. I. Eom, *DANBI: Dynamic Scheduling of Irregular
//! Stream Programs for Many-Core Systems*, PACT 2013, table II: 44 kernels and 58 queues, 8 bands and 128 taps. The last
//! filters there let pass all but the band ([`Form::Benchmark`]); an equalizer's let pass the band ([`Form::Equalizer`]), in
//! the same graph.

pub mod bank;
mod ports;

use std::path::PathBuf;

use thalweg::prelude::*;
use thalweg_sync::time::{self, Duration};

pub use crate::samples::{Form as SampleForm, Raw, synthetic};

use crate::samples::{self, Target};
use crate::until_error::UntilError;
use crate::watch::Steps;
use crate::{Error, Result, Watch};
pub use bank::Form;
use bank::{Bank, Size};
use ports::{Add, Duplicate, Thin};

/// What to filter.
#[derive(Clone, Debug)]
pub struct Config {
    /// Where the samples come from.
    pub input: Input,
    /// The WAV file to write: one channel of `f32`, at the rate of the input. Replaced if it exists.
    pub output: Option<PathBuf>,
    /// How many bands, and how sharp they are.
    pub size: Size,
    /// How much of each band is left, as a factor; of bands without one, all of it.
    pub gains: Vec<f32>,
    /// How the graph runs.
    pub scheme: Scheme,
}

/// Where samples come from.
#[derive(Clone, Debug)]
pub enum Input {
    /// A file of samples, taken apart and put together as an equalizer does. Several channels are mixed.
    File {
        /// Its path.
        path: PathBuf,
        /// For raw samples, what they are. `None` for a WAV file.
        raw: Option<Raw>,
    },
    /// The benchmark's made-up input, so many samples, by the benchmark's filters.
    Benchmark {
        /// How many.
        samples: u64,
    },
}

impl Config {
    /// The paper's bands, all of each, with the default scheme.
    pub fn new(input: Input, output: Option<PathBuf>) -> Self {
        Self { input, output, size: Size::default(), gains: Vec::new(), scheme: Scheme::default() }
    }
}

/// What was filtered.
#[derive(Debug)]
pub struct Summary {
    /// Samples read.
    pub samples: u64,
    /// Samples of sound that came out.
    pub sound: u64,
    /// Samples per second.
    pub rate: u32,
    /// The share of each band in the power of all, before any gain.
    pub shares: Vec<f64>,
    /// From the start of the run to its end.
    pub elapsed: Duration,
    /// What each kernel did.
    pub report: Report,
}

/// Filters.
///
/// ```
/// use thalweg_apps::filterbank::{self, Config, Input, synthetic};
/// # let dir = tempfile::tempdir().unwrap();
/// # let path = |name| dir.path().join(name);
/// synthetic::write(4_000, &path("sound.wav"))?;
/// let input = Input::File { path: path("sound.wav"), raw: None };
/// let mut config = Config::new(input, Some(path("bass.wav")));
/// config.gains = vec![1.0, 0.1, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0];
/// let filtered = filterbank::run(&config, &())?;
/// assert_eq!(filtered.sound, 4_000);
/// assert!(filtered.shares[0] > 0.7, "most of this sound is below 3000 Hz");
/// # Ok::<(), thalweg_apps::Error>(())
/// ```
///
/// # Errors
///
/// [`Error::Refused`] if the input, a size or a gain is not as it has to be, or the input is also the output, before anything
/// is written; [`Error::File`] if one of the files cannot be opened, read or written.
pub fn run(config: &Config, watch: &dyn Watch) -> Result<Summary> {
    let form = match config.input {
        Input::File { .. } => Form::Equalizer,
        Input::Benchmark { .. } => Form::Benchmark,
    };
    let bank = Bank::new(config.size, form, &config.gains)?;
    let Opened { values, rate, bytes, count } = open(config, watch)?;
    let expected = count.map(|count| bank.outputs(count));
    let mut sound = Target::create(config.output.as_deref(), rate, expected)?;
    let mut damage = None;
    let (mut count, mut written) = (0, 0);
    let mut powers = vec![0.0; config.size.bands];
    let mut progress = Steps::new(watch);
    let start = time::now();

    let values = UntilError::new(values, &mut damage).inspect(|_| {
        count += 1;
        progress.add(bytes);
    });
    let mut graph = Graph::new();
    let source = graph.source(bank.between_silence(values));
    let duplicate = graph.add_parallel(Duplicate { bands: config.size.bands });
    let add = graph.add_parallel(Add { bank: &bank });
    let sink = graph.sink(|sample: f32| {
        written += 1;
        sound.write(sample)
    });
    graph.name(source, "samples");
    graph.name(duplicate.samples, "duplicate");
    graph.name(add.sound, "add");
    graph.name(sink, "sound");
    for (number, ((band, copy), power)) in bank.bands.iter().zip(duplicate.copies).zip(&mut powers).enumerate() {
        let filter = |name: &str, taps: &'_ [f32]| {
            let taps = taps.to_vec();
            let filter = graph.parallel_window(taps.len(), 1, move |window: &[f32], out: &mut Output<f32>| {
                out.push(samples::dot(window, &taps));
            });
            graph.name(filter, &format!("{name} {}", number + 1));
            filter
        };
        let (low, high) = (filter("low-pass", &band.low), filter("high-pass", &band.high));
        let (first, second) = (filter("first", &band.first), filter("second", &band.second));
        let thin = graph.add(Thin { bands: config.size.bands, power, at: 0 });
        graph.name(thin.input, &format!("thin out {}", number + 1));
        graph.connect(copy >> low >> high >> thin.input);
        graph.connect(thin.first >> first >> add.inputs[2 * number]);
        graph.connect(thin.second >> second >> add.inputs[2 * number + 1]);
    }
    graph += source >> duplicate.samples;
    graph += add.sound >> sink;
    watch.started(graph.stopper());
    let ran = graph.run(config.scheme);
    drop(graph);

    let report = sound.finish(ran)?;
    if let (Some(error), Input::File { path, .. }) = (damage, &config.input) {
        return Err(Error::file("read all of", path, error));
    }
    let all: f64 = powers.iter().sum::<f64>().max(f64::MIN_POSITIVE);
    let shares = powers.iter().map(|power| power / all).collect();
    Ok(Summary { samples: count, sound: written, rate, shares, elapsed: start.elapsed(), report })
}

/// An input that was opened.
struct Opened {
    values: Box<dyn Iterator<Item = std::io::Result<f32>> + Send>,
    rate: u32,
    /// Bytes of a sample in the file.
    bytes: u64,
    count: Option<u64>,
}

fn open(config: &Config, watch: &dyn Watch) -> Result<Opened> {
    let (path, raw) = match &config.input {
        Input::File { path, raw } => (path, raw),
        &Input::Benchmark { samples } => {
            let values = Box::new(bank::benchmark(samples).map(Ok));
            return Ok(Opened { values, rate: synthetic::RATE, bytes: 0, count: Some(samples) });
        }
    };
    let samples = samples::open_sound(path, *raw, config.output.as_deref(), watch)?;
    let (rate, bytes, count) = (samples.rate, samples.bytes_each(), samples.times());
    Ok(Opened { values: Box::new(samples.mixed()), rate, bytes, count })
}
