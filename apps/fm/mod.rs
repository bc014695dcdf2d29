//! An FM radio with an equalizer, and beside it a [`receiver`] of broadcasts.
//!
//! ```text
//!                                            ┌> low-pass 1 upper ─┐
//! samples >> low-pass >> demodulate >> duplicate > …              > equalize >> sound
//!                                            └> low-pass 6 lower ─┘
//! ```
//!
//! All filters are parallel windowed kernels: many workers slide over the samples at once, and the results leave in
//! order. The sound equals that of the sequential program ([`radio::reference`]) bit by bit.
//!
//! FMRadio of the StreamIt benchmarks, in the size used by C. Min and Y. I. Eom, *DANBI: Dynamic Scheduling of
//! Irregular Stream Programs for Many-Core Systems*, PACT 2013, table II: 7 cut frequencies, so 6 bands, and 128 taps.

mod ports;
pub mod radio;
pub mod receiver;
pub mod synthetic;
pub mod tuner;

use std::path::{Path, PathBuf};

use thalweg::prelude::*;

use crate::error::must_differ;
use crate::samples::{self, Raw, Samples, Sound};
use crate::until_error::UntilError;
use crate::watch::Steps;
use crate::{Error, Result, Watch};
use ports::{Equalize, FILTERS};
use radio::{LowPass, STEP, TAPS};

/// What to receive.
#[derive(Clone, Debug)]
pub struct Config {
    /// A WAV file with one channel, of integers or floats of 8 to 64 bits, or raw little-endian samples. A regular
    /// file.
    pub input: PathBuf,
    /// What raw samples are. `None` for a WAV file.
    pub raw: Option<Raw>,
    /// The WAV file to write: one channel of `f32`, a fifth of the samples in a second. Replaced if it exists. Not a
    /// pipe, as the header is written last.
    pub output: PathBuf,
    /// How the graph runs.
    pub scheme: Scheme,
}

impl Config {
    /// From a WAV file, with the default scheme.
    pub fn new(input: impl Into<PathBuf>, output: impl Into<PathBuf>) -> Self {
        Self { input: input.into(), raw: None, output: output.into(), scheme: Scheme::default() }
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
/// let received = fm::run(&Config::new(path("signal.wav"), path("sound.wav")), &())?;
/// assert_eq!(received.sound, fm::radio::outputs(2_000));
/// # Ok::<(), thalweg_apps::Error>(())
/// ```
///
/// # Errors
///
/// [`Error::Refused`] if the input is not as [`Config::input`] says, too short for one sample of sound, or also the
/// output, or if the output is a pipe, before anything is written; [`Error::File`] if one of them cannot be opened,
/// read or written.
pub fn run(config: &Config, watch: &dyn Watch) -> Result<Summary> {
    let Config { input, output, .. } = config;
    must_differ(input, output)?;
    let samples = open(input, config.raw, watch)?;
    let (rate, bytes) = (samples.rate, samples.bytes_each());
    let expected = samples.times().map(radio::outputs);
    if expected == Some(0) {
        let count = samples.times().unwrap_or(0);
        return Err(Error::Refused(format!(
            "{} has {count} samples, and one sample of sound needs 768",
            input.display()
        )));
    }
    let mut sound = Sound::create(output, (rate / STEP as u32).max(1), expected)?;
    let (mut damage, mut refused) = (None, None);
    let (mut count, mut written) = (0, 0);
    let mut progress = Steps::new(watch);
    let input_filter = LowPass::input();
    let filters = radio::band_filters();

    let mut graph = Graph::new();
    let source = graph.source(UntilError::new(samples, &mut damage).inspect(|_| {
        count += 1;
        progress.add(bytes);
    }));
    let low_pass =
        graph.parallel_window(TAPS, STEP, |window: &[f32], out: &mut Output<f32>| out.push(input_filter.apply(window)));
    let demodulate =
        graph.parallel_window(2, 1, |window: &[f32], out: &mut Output<f32>| out.push(radio::demodulate(window)));
    let copies: [Out<f32>; FILTERS] = graph.tee(source >> low_pass >> demodulate);
    let equalize = graph.add(Equalize);
    let sink = graph.sink(|sample: f32| {
        written += 1;
        sound.write(sample).map_err(|error| {
            refused = Some(error);
            "the sound cannot be written"
        })
    });
    graph.name(source, "samples");
    graph.name(low_pass, "low-pass");
    graph.name(demodulate, "demodulate");
    graph.name(copies[0], "duplicate");
    graph.name(equalize.sound, "equalize");
    graph.name(sink, "sound");
    for (index, (copy, filter)) in copies.into_iter().zip(&filters).enumerate() {
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

    // The graph knows the kernel, the user the file.
    if let Some(error) = refused {
        return Err(Error::file("write", output, error));
    }
    let report = ran?;
    sound.finish().map_err(|error| Error::file("write", output, error))?;
    match damage {
        Some(error) => Err(Error::file("read all of", input, error)),
        None => Ok(Summary { samples: count, sound: written, report }),
    }
}

/// Opens the input, whose length has to be known: how much sound comes of it is told before the first sample is written.
fn open(input: &Path, raw: Option<Raw>, watch: &dyn Watch) -> Result<Samples> {
    // Asked before it is opened: a pipe would wait for its writer, or lose it.
    let metadata = input.metadata().map_err(|error| Error::file("open", input, error))?;
    if !metadata.is_file() {
        return Err(Error::Refused(format!(
            "{} is not a regular file; it has to be, as its length is asked for before it is read",
            input.display()
        )));
    }
    let samples = samples::open(input, raw, watch)?;
    if samples.channels != 1 {
        return Err(Error::Refused(format!(
            "{} has {} channels; the radio receives one, `sox IN -c 1 OUT` mixes them",
            input.display(),
            samples.channels
        )));
    }
    Ok(samples)
}
