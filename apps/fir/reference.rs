//! The sequential program.

use super::{Config, Input, Level};
use crate::{Error, Result};

/// Filters sample by sample, and gives each to `take`.
///
/// # Errors
///
/// As [`run`](super::run), but for the output, which is not written.
pub fn filter(config: &Config, mut take: impl FnMut(f64)) -> Result<Level> {
    let (mut filters, mut level) = (config.filters()?, Level::default());
    for sample in config.open(&())?.values {
        let sample = sample.map_err(|error| match &config.input {
            Input::File { path, .. } => Error::file("read all of", path, error),
            Input::Random(_) => unreachable!("made-up numbers are not read"),
        })?;
        let sample = filters.iter_mut().fold(sample, |sample, filter| filter.apply(sample));
        level.add(sample);
        take(sample);
    }
    Ok(level)
}
