//! Pictures from and to files, for the applications that work on them.

mod files;
mod form;
mod job;
pub mod synthetic;

pub(crate) use files::store;
pub use job::Input;
pub(crate) use job::{Finished, From};

use std::fmt;
use std::path::PathBuf;

/// A picture in memory: rows from the top, in each the pixels from the left, of each pixel its channels.
#[derive(Clone, PartialEq, Eq)]
pub struct Picture {
    /// Pixels in a row.
    pub width: usize,
    /// Rows.
    pub height: usize,
    /// Of a pixel: 1 grey, 2 grey and opacity, 3 red, green and blue, 4 these and opacity.
    pub channels: usize,
    /// `width * height * channels` values, 0 ..= 65535 whatever the file has.
    pub values: Vec<u16>,
    /// Whether a file of it has 16 bits for each value, not 8.
    pub deep: bool,
    /// What its colours mean, an ICC profile, if the file said so.
    pub profile: Option<Vec<u8>>,
}

impl Picture {
    /// How many pixels it has.
    pub fn pixels(&self) -> u64 {
        self.width as u64 * self.height as u64
    }

    /// Whether the last channel is opacity.
    pub(crate) fn has_opacity(&self) -> bool {
        self.channels.is_multiple_of(2)
    }

    /// How much neighbours in a row differ, as (sum, count) in values of 65535.
    pub(crate) fn contrast(&self) -> (u64, u64) {
        let (mut sum, mut count) = (0, 0);
        for row in self.values.chunks_exact((self.width * self.channels).max(1)) {
            let pairs = row.iter().zip(&row[self.channels.min(row.len())..]);
            count += pairs.len() as u64;
            sum += pairs.map(|(left, right)| u64::from(left.abs_diff(*right))).sum::<u64>();
        }
        (sum, count)
    }
}

impl fmt::Debug for Picture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { width, height, channels, deep, .. } = self;
        write!(f, "Picture({width} x {height}, {channels} channels of {} bits)", if *deep { 16 } else { 8 })
    }
}

/// A file that is no picture that can be read.
#[derive(Clone, Debug)]
pub struct Spoiled {
    /// Its path.
    pub path: PathBuf,
    /// Why, and at which byte.
    pub reason: String,
}
