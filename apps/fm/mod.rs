//! An FM radio with an equalizer, and beside it a [`receiver`] of broadcasts.
//!
//! ```text
//!                                 ┌> low-pass 1 upper ─┐
//! samples >> low-pass >> demodulate > …                > equalize >> sound
//!                                 └> low-pass 6 lower ─┘
//! ```
//!
//! All filters are parallel windowed kernels, as is `demodulate`: many workers slide over the samples at once, and the results leave in
//! order. The sound equals that of the sequential program ([`radio::reference`]) bit by bit.
//!
//! FMRadio of the StreamIt benchmarks, in the size used by C. Min and Y. I. Eom, *DANBI: Dynamic Scheduling of
//! Irregular Stream Programs for Many-Core Systems*, PACT 2013, table II: 7 cut frequencies, so 6 bands, and 128 taps; 17 kernels and
//! 27 edges, and all kernels but the two ends are parallel.

mod ports;
pub mod radio;
pub mod receiver;
pub mod synthetic;
pub mod tuner;

use std::path::PathBuf;

use thalweg::prelude::*;

use crate::error::must_differ;
use crate::samples::{self, Raw, Target};
use crate::until_error::UntilError;
use crate::watch::Steps;
use crate::{Error, Result, Watch};
use ports::{Demodulate, Equalize};
use radio::{LowPass, STEP, TAPS};

/// What to receive.
#[derive(Clone, Debug)]
pub struct Config {
    /// Where the samples come from.
    pub input: Input,
    /// The WAV file to write: one channel of `f32`, a fifth of the samples in a second. Replaced if it exists. Not a
    /// pipe, as the header is written last.
    pub output: Option<PathBuf>,
    /// How the graph runs.
    pub scheme: Scheme,
}

/// Where samples come from.
#[derive(Clone, Debug)]
pub enum Input {
    /// A regular file of one channel.
    File {
        /// Its path.
        path: PathBuf,
        /// For raw samples, what they are. `None` for a WAV file.
        raw: Option<Raw>,
    },
    /// The benchmark's made-up input, so many samples: each is one more than the one before.
    Benchmark {
        /// How many.
        samples: u64,
    },
}

impl Config {
    /// With the default scheme.
    pub fn new(input: Input, output: Option<PathBuf>) -> Self {
        Self { input, output, scheme: Scheme::default() }
    }

    /// From a WAV file to another one, with the default scheme.
    pub fn of_files(input: impl Into<PathBuf>, output: impl Into<PathBuf>) -> Self {
        Self::new(Input::File { path: input.into(), raw: None }, Some(output.into()))
    }
}

/// What was received.
#[derive(Debug)]
pub struct Summary {
    /// Samples read.
    pub samples: u64,
    /// Samples of sound written.
    pub sound: u64,
    /// What each kernel did.
    pub report: Report,
}

/// Receives.
///
/// The filters are made for the rate of the benchmark, 250 MHz, whatever the rate of the file; the sound is the
/// benchmark's, not scaled to -1 ..= 1. The demodulator multiplies neighbours of the fifth of the samples that is kept, so it expects the
/// carrier at a quarter of their rate: a twentieth of the file's.
///
/// ```
/// use thalweg_apps::fm::{self, Config, synthetic};
/// # let dir = tempfile::tempdir().unwrap();
/// # let path = |name| dir.path().join(name);
/// synthetic::signal(2_000, &path("signal.wav"))?;
/// let received = fm::run(&Config::of_files(path("signal.wav"), path("sound.wav")), &())?;
/// assert_eq!(received.sound, fm::radio::outputs(2_000));
/// # Ok::<(), thalweg_apps::Error>(())
/// ```
///
/// # Errors
///
/// [`Error::Refused`] if the input is not as [`Input`] says, too short for one sample of sound, or also the
/// output, or if the output is a pipe, before anything is written; [`Error::File`] if one of them cannot be opened,
/// read or written.
pub fn run(config: &Config, watch: &dyn Watch) -> Result<Summary> {
    let Opened { values, rate, bytes, count } = open(config, watch)?;
    let mut sound = Target::create(config.output.as_deref(), (rate / STEP as u32).max(1), count.map(radio::outputs))?;
    let mut damage = None;
    let (mut count, mut written) = (0, 0);
    let mut progress = Steps::new(watch);
    let input_filter = LowPass::input();
    let filters = radio::band_filters();

    let mut graph = Graph::new();
    let source = graph.source(UntilError::new(values, &mut damage).inspect(|_| {
        count += 1;
        progress.add(bytes);
    }));
    let low_pass =
        graph.parallel_window(TAPS, STEP, |window: &[f32], out: &mut Output<f32>| out.push(input_filter.apply(window)));
    let demodulate = graph.add_parallel(Demodulate);
    let equalize = graph.add_parallel(Equalize);
    let sink = graph.sink(|sample: f32| {
        written += 1;
        sound.write(sample)
    });
    graph.name(source, "samples");
    graph.name(low_pass, "low-pass");
    graph.name(demodulate.samples, "demodulate");
    graph.name(equalize.sound, "equalize");
    graph.name(sink, "sound");
    graph += source >> low_pass >> demodulate.samples;
    for (index, (copy, filter)) in demodulate.copies.into_iter().zip(&filters).enumerate() {
        let edge =
            graph.parallel_window(TAPS, 1, |window: &[f32], out: &mut Output<f32>| out.push(filter.apply(window)));
        let side = if index % 2 == 0 { "upper" } else { "lower" };
        graph.name(edge, &format!("low-pass {} {side}", index / 2 + 1));
        graph += copy >> edge >> equalize.filtered[index];
    }
    graph += equalize.sound >> sink;
    watch.started(graph.stopper());
    let ran = graph.run(config.scheme);
    drop(graph);

    let report = sound.finish(ran)?;
    match (damage, &config.input) {
        (Some(error), Input::File { path, .. }) => Err(Error::file("read all of", path, error)),
        _ => Ok(Summary { samples: count, sound: written, report }),
    }
}

/// An input that was opened.
struct Opened {
    values: Box<dyn Iterator<Item = std::io::Result<f32>> + Send>,
    rate: u32,
    /// Bytes of a sample in the file.
    bytes: u64,
    count: Option<u64>,
}

/// Opens the input, whose length has to be known: how much sound comes of it is told before the first sample is written.
fn open(config: &Config, watch: &dyn Watch) -> Result<Opened> {
    let (path, raw) = match &config.input {
        Input::File { path, raw } => (path, *raw),
        &Input::Benchmark { samples } => {
            let values = Box::new(synthetic::ramp(samples).map(Ok));
            return Ok(Opened { values, rate: synthetic::RATE, bytes: 0, count: Some(samples) });
        }
    };
    // Asked before it is opened: a pipe would wait for its writer, or lose it.
    let metadata = path.metadata().map_err(|error| Error::file("open", path, error))?;
    if !metadata.is_file() {
        return Err(Error::Refused(format!(
            "{} is not a regular file; it has to be, as its length is asked for before it is read",
            path.display()
        )));
    }
    if let Some(output) = &config.output {
        must_differ(path, output)?;
    }
    let samples = samples::open(path, raw, watch)?;
    let path = path.display();
    if samples.channels != 1 {
        let channels = samples.channels;
        return Err(Error::Refused(format!(
            "{path} has {channels} channels; the radio receives one, `sox IN -c 1 OUT` mixes them"
        )));
    }
    let count = samples.times();
    if let Some(count) = count.filter(|&count| radio::outputs(count) == 0) {
        return Err(Error::Refused(format!("{path} has {count} samples, and one sample of sound needs 768")));
    }
    Ok(Opened { rate: samples.rate, bytes: samples.bytes_each(), count, values: Box::new(samples) })
}
