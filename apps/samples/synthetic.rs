//! Made-up sound, for trying things out and for tests.

use std::f64::consts::TAU;
use std::path::Path;

use super::Sound;
use crate::{Error, Result};

/// Samples per second of the made-up sound.
pub const RATE: u32 = 48_000;

/// The first `count` samples of two steady tones, of 440 and 3000 Hz, and one that rises from 100 to 12 000 Hz in ten
/// seconds, again and again; between -1 and 1.
pub fn sound(count: u64) -> impl Iterator<Item = f32> + Send {
    let rate = f64::from(RATE);
    let mut phase = 0.0_f64;
    (0..count).map(move |sample| {
        let time = sample as f64 / rate;
        phase = (phase + (100.0 + 1_190.0 * (time % 10.0)) / rate).fract();
        let tones = 0.4 * (TAU * 440.0 * time).sin() + 0.2 * (TAU * 3_000.0 * time).sin();
        (tones + 0.3 * (TAU * phase).sin()) as f32
    })
}

/// Writes them as a WAV file.
///
/// # Errors
///
/// [`Error::File`] if `path` cannot be written, [`Error::Refused`] if it is a pipe, and for more samples than a WAV
/// file can have.
pub fn write(count: u64, path: &Path) -> Result<()> {
    let mut file = Sound::create(path, RATE, Some(count))?;
    let written = sound(count).try_for_each(|sample| file.write(sample)).and_then(|()| file.finish());
    written.map_err(|error| Error::file("write", path, error))
}
