//! A receiver of broadcasts, from recordings of I and Q as software radios make them, in stereo.
//!
//! ```text
//! recording >> channel >> discriminate >> stereo >> resample >> sides >> sound
//! ```
//!
//! All filters are parallel windowed kernels; the steps are those of [`tuner`]. The sound equals that of the
//! sequential program ([`tuner::reference`]) bit by bit.

use std::io;
use std::path::PathBuf;

use thalweg::prelude::*;

use super::tuner::{self, Deemphasis, Pair, Tuner};
use crate::error::must_differ;
use crate::samples::{self, Raw, Samples, Sound};
use crate::until_error::UntilError;
use crate::watch::Steps;
use crate::{Error, Result, Watch};

/// What to receive.
#[derive(Clone, Debug)]
pub struct Config {
    /// A WAV file with two channels, I and Q, or raw samples in turn.
    pub input: PathBuf,
    /// What raw samples are, of two channels: `u8` as `rtl_sdr` writes, `i16`, `f32`. `None` for a WAV file.
    pub raw: Option<Raw>,
    /// How far the carrier is above the middle of the recording, in Hz; negative for below.
    pub carrier: f64,
    /// The time constant of the de-emphasis in microseconds: 50, or 75 in the Americas; 0 for none.
    pub deemphasis: f64,
    /// The WAV file to write: two channels of `f32`, 48 000 times in a second, 1 for the full deviation of 75 kHz.
    pub output: PathBuf,
    /// How the graph runs.
    pub scheme: Scheme,
}

impl Config {
    /// From a WAV file, the carrier in its middle, de-emphasis by 50 microseconds, and with the default scheme.
    pub fn new(input: impl Into<PathBuf>, output: impl Into<PathBuf>) -> Self {
        let (input, output) = (input.into(), output.into());
        Self { input, raw: None, carrier: 0.0, deemphasis: 50.0, output, scheme: Scheme::default() }
    }
}

/// What was received.
#[derive(Debug)]
pub struct Summary {
    /// Times read, each a sample of I and one of Q.
    pub samples: u64,
    /// Times of sound written.
    pub sound: u64,
    /// How far above its place the carrier was, in Hz, in the end.
    pub off: f64,
    /// What each kernel did.
    pub report: Report,
}

/// Receives.
///
/// ```
/// use thalweg_apps::fm::{receiver::{self, Config}, synthetic};
/// # let dir = tempfile::tempdir().unwrap();
/// # let path = |name| dir.path().join(name);
/// synthetic::write_recording(24_000, &path("iq.wav"))?;
/// let received = receiver::run(&Config::new(path("iq.wav"), path("sound.wav")), &())?;
/// assert!((4_000..4_800).contains(&received.sound));
/// # Ok::<(), thalweg_apps::Error>(())
/// ```
///
/// # Errors
///
/// [`Error::Refused`] if the input has not two channels, too few samples in a second or for one of sound, if the carrier is not within
/// the recording, or if the output is the input or a pipe; [`Error::File`] if one of them cannot be opened, read or written.
pub fn run(config: &Config, watch: &dyn Watch) -> Result<Summary> {
    let Config { input, output, .. } = config;
    must_differ(input, output)?;
    let samples = open(config, watch)?;
    let tuner = Tuner::new(samples.rate, config.carrier);
    if let Some(times) = samples.times().filter(|&times| times < tuner.least()) {
        let least = tuner.least();
        return Err(Error::Refused(format!(
            "{} has {times} samples, and one of sound takes {least} at this rate",
            input.display()
        )));
    }
    let mut deemphasis = Deemphasis::new(config.deemphasis);
    let mut sound = Sound::create_with(output, tuner::SOUND, 2, None)?;
    let (mut damage, mut refused) = (None, None);
    let (mut count, mut written) = (0, 0);
    let bytes = samples.bytes_each();
    let mut progress = Steps::new(watch);
    let tuner = &tuner;

    let mut graph = Graph::new();
    let recording = graph.source(UntilError::new(pairs(samples), &mut damage).inspect(|_| {
        count += 1;
        progress.add(bytes);
    }));
    let channel =
        graph.parallel_window(tuner.channel_window(), tuner.step, |window: &[Pair], out: &mut Output<Pair>| {
            out.push(tuner.channel(window));
        });
    let discriminate =
        graph.parallel_window(2, 1, |window: &[Pair], out: &mut Output<f32>| out.push(tuner.discriminate(window)));
    let stereo = graph.parallel_window(tuner.stereo_window(), 1, |window: &[f32], out: &mut Output<Pair>| {
        out.push(tuner.stereo(window));
    });
    let (length, step) = tuner.resample_window();
    let resample = graph.parallel_window(length, step, |window: &[Pair], out: &mut Output<Pair>| {
        tuner.resample(window, |pair| out.push(pair));
    });
    let sides = graph.map(|pair: Pair| deemphasis.sides(pair));
    let write = graph.sink(|pair: Pair| {
        written += 1;
        pair.into_iter().try_for_each(|sample| sound.write(sample)).map_err(|error| {
            refused = Some(error);
            "the sound cannot be written"
        })
    });
    graph.name(recording, "recording");
    graph.name(channel, "channel");
    graph.name(discriminate, "discriminate");
    graph.name(stereo, "stereo");
    graph.name(resample, "resample");
    graph.name(sides, "sides");
    graph.name(write, "sound");
    graph += recording >> channel >> discriminate >> stereo >> resample >> sides >> write;
    watch.started(graph.stopper());
    let ran = graph.run(config.scheme);
    drop(graph);

    if let Some(error) = refused {
        return Err(Error::file("write", output, error));
    }
    let report = ran?;
    sound.finish().map_err(|error| Error::file("write", output, error))?;
    match damage {
        Some(error) => Err(Error::file("read all of", input, error)),
        None => Ok(Summary { samples: count, sound: written, off: deemphasis.carrier(), report }),
    }
}

fn open(config: &Config, watch: &dyn Watch) -> Result<Samples> {
    let samples = samples::open(&config.input, config.raw, watch)?;
    let (name, rate) = (config.input.display(), samples.rate);
    if samples.channels != 2 {
        return Err(Error::Refused(format!(
            "{name} has {} channels, and a recording of I and Q has two",
            samples.channels
        )));
    }
    if rate < tuner::LEAST {
        return Err(Error::Refused(format!(
            "{name} has {rate} samples a second, and a station takes {} at least; record it faster",
            tuner::LEAST
        )));
    }
    let furthest = f64::from(rate) / 2.0;
    if config.carrier.is_nan() || config.carrier.abs() > furthest {
        return Err(Error::Refused(format!(
            "a carrier {} Hz from the middle is not in {name}, which reaches {furthest} Hz to either side",
            config.carrier
        )));
    }
    Ok(samples)
}

/// Samples of I and Q of a time. A last one that is alone is left out.
fn pairs(mut samples: Samples) -> impl Iterator<Item = io::Result<Pair>> + Send {
    std::iter::from_fn(move || {
        let both = samples.next()?.and_then(|i| samples.next().transpose().map(|q| q.map(|q| [i, q])));
        both.transpose()
    })
}
