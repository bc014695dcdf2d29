//! A made-up signal, for trying things out and for tests.

use std::path::Path;

use super::tuner::Pair;
use crate::samples::Sound;
use crate::{Error, Result};

/// Samples per second of the made-up signal.
pub(super) const RATE: u32 = 250_000;

/// The first `samples` samples of a carrier that two tones modulate in frequency, between -1 and 1.
pub fn samples(samples: u64) -> impl Iterator<Item = f32> {
    let tone = |time: f64, hertz: f64| (std::f64::consts::TAU * hertz * time).sin();
    let mut phase = 0.0_f64;
    (0..samples).map(move |sample| {
        let time = sample as f64 / f64::from(RATE);
        let hertz = 30_000.0 + 6_000.0 * tone(time, 440.0) + 3_000.0 * tone(time, 1_000.0);
        phase = (phase + hertz / f64::from(RATE)).fract();
        (std::f64::consts::TAU * phase).cos() as f32
    })
}

/// The benchmark's input: the first `samples` whole numbers. An `f32` has them up to 2^24, and goes on in larger steps.
pub fn ramp(samples: u64) -> impl Iterator<Item = f32> + Send {
    (0..samples).map(|number| number as f32)
}

/// The first `samples` times of a recording of a station in stereo, `rate` in a second, its carrier `carrier` Hz above the middle: on the
/// left a tone of 1000 Hz, on the right one of 400 Hz, each at 45 % of the full deviation.
pub fn recording(samples: u64, rate: u32, carrier: f64) -> impl Iterator<Item = Pair> {
    let mut phase = 0.0_f64;
    (0..samples).map(move |sample| {
        let time = sample as f64 / f64::from(rate);
        let tone = |hertz: f64| (std::f64::consts::TAU * (hertz * time).fract()).sin();
        let (left, right) = (tone(1_000.0), tone(400.0));
        let multiplex = 0.45 * ((left + right) / 2.0 + (left - right) / 2.0 * tone(38_000.0)) + 0.1 * tone(19_000.0);
        phase = (phase + (carrier + 75_000.0 * multiplex) / f64::from(rate)).fract();
        let (sin, cos) = (std::f64::consts::TAU * phase).sin_cos();
        [cos as f32, sin as f32]
    })
}

/// Writes a recording of that many times as a WAV file of two channels, 240 000 in a second, the carrier in its middle.
///
/// # Errors
///
/// As [`signal`].
pub fn write_recording(samples: u64, path: &Path) -> Result<()> {
    const RATE: u32 = 240_000;
    let mut file = Sound::create_with(path, RATE, 2, Some(samples))?;
    let both = recording(samples, RATE, 0.0).flatten();
    let written = both.into_iter().try_for_each(|sample| file.write(sample)).and_then(|()| file.finish());
    written.map_err(|error| Error::file("write", path, error))
}

/// Writes them as a WAV file, 250 000 in a second.
///
/// # Errors
///
/// [`Error::File`] if `path` cannot be written, [`Error::Refused`] if it is a pipe, and for more samples than a WAV
/// file can have.
pub fn signal(samples: u64, path: &Path) -> Result<()> {
    let mut file = Sound::create(path, RATE, Some(samples))?;
    let written = self::samples(samples).try_for_each(|sample| file.write(sample)).and_then(|()| file.finish());
    written.map_err(|error| Error::file("write", path, error))
}
