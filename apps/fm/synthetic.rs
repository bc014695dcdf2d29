//! A made-up signal, for trying things out and for tests.

use std::path::Path;

use crate::samples::Sound;
use crate::{Error, Result};

/// Samples per second of the made-up signal.
const RATE: u32 = 250_000;

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
