//! Power over frequency and time, of a sound of any length in bounded memory.

use crate::pictures::Picture;

/// When there are so many columns, each two become one.
const MOST_COLUMNS: usize = 2048;
/// What is so many decibels below the loudest is black.
const RANGE: f32 = 90.0;
/// A smaller picture is drawn larger.
const SMALLEST: (usize, usize) = (600, 256);

/// The mean power of each frequency, for each of some stretches of time that are equally long.
pub(super) struct Spectrogram {
    bins: usize,
    /// Columns that are full, one after the other.
    columns: Vec<f32>,
    /// Spectra in a column.
    per_column: u32,
    /// The sum of the column that is not full yet, and how many spectra it has.
    open: Vec<f32>,
    added: u32,
    /// Of all spectra.
    total: Vec<f64>,
}

impl Spectrogram {
    /// For spectra of so many frequencies.
    pub(super) fn new(bins: usize) -> Self {
        Self { bins, columns: Vec::new(), per_column: 1, open: vec![0.0; bins], added: 0, total: vec![0.0; bins] }
    }

    /// Adds the powers of a spectrum, the lowest frequency first.
    pub(super) fn add(&mut self, powers: impl Iterator<Item = f32>) {
        for ((power, open), total) in powers.zip(&mut self.open).zip(&mut self.total) {
            *open += power;
            *total += f64::from(power);
        }
        self.added += 1;
        if self.added == self.per_column {
            self.close();
        }
        if self.columns.len() == MOST_COLUMNS * self.bins {
            self.halve();
        }
    }

    fn close(&mut self) {
        let added = self.added as f32;
        self.columns.extend(self.open.iter().map(|sum| sum / added));
        self.open.fill(0.0);
        self.added = 0;
    }

    fn halve(&mut self) {
        let pairs = self.columns.chunks_exact(2 * self.bins);
        self.columns = pairs
            .flat_map(|pair| {
                let (left, right) = pair.split_at(self.bins);
                left.iter().zip(right).map(|(left, right)| (left + right) / 2.0)
            })
            .collect();
        self.per_column *= 2;
    }

    /// The `most` frequencies with the most power and their shares of all power, without those at and beside `zero`, and
    /// without neighbours of a stronger one.
    pub(super) fn loudest(&self, zero: usize, most: usize) -> Vec<(usize, f64)> {
        let counts = |bin: usize| bin.abs_diff(zero) > 1 || self.bins < 8 && bin != zero;
        let all: f64 = (0..self.bins).filter(|&bin| counts(bin)).map(|bin| self.total[bin]).sum();
        let mut bins: Vec<usize> = (0..self.bins).filter(|&bin| counts(bin) && self.total[bin] > 0.0).collect();
        bins.sort_by(|&a, &b| self.total[b].total_cmp(&self.total[a]));
        let mut loudest: Vec<(usize, f64)> = Vec::new();
        for bin in bins {
            if loudest.len() < most && loudest.iter().all(|(other, _)| bin.abs_diff(*other) > 3) {
                loudest.push((bin, self.total[bin] / all));
            }
        }
        loudest
    }

    /// The picture: time to the right, frequency upwards.
    pub(super) fn picture(mut self) -> Picture {
        if self.added > 0 {
            self.close();
        }
        let columns = self.columns.len() / self.bins;
        let (wide, high) = (SMALLEST.0.div_ceil(columns.max(1)), SMALLEST.1.div_ceil(self.bins));
        let (wide, high) = (wide.max(1), high.max(1));
        let (width, height) = (columns.max(1) * wide, self.bins * high);
        let decibels = |power: f32| 10.0 * power.max(f32::MIN_POSITIVE).log10();
        let loudest = decibels(self.columns.iter().fold(0.0, |most, &power| power.max(most)));
        let mut values = Vec::with_capacity(width * height * 3);
        for row in 0..height {
            let bin = self.bins - 1 - row / high;
            for column in 0..width {
                let power = self.columns.get(column / wide * self.bins + bin).copied().unwrap_or(0.0);
                values.extend(color(1.0 - (loudest - decibels(power)) / RANGE));
            }
        }
        Picture { width, height, channels: 3, values, deep: false, profile: None }
    }
}

/// From black over violet and orange to white, for 0 to 1.
fn color(level: f32) -> [u16; 3] {
    const STOPS: [[f32; 3]; 5] =
        [[0.0, 0.0, 0.02], [0.3, 0.05, 0.45], [0.75, 0.2, 0.35], [0.98, 0.6, 0.15], [1.0, 1.0, 0.9]];
    let at = level.clamp(0.0, 1.0) * (STOPS.len() - 1) as f32;
    let (from, part) = ((at as usize).min(STOPS.len() - 2), at - (at as usize).min(STOPS.len() - 2) as f32);
    std::array::from_fn(|channel| {
        let value = STOPS[from][channel] * (1.0 - part) + STOPS[from + 1][channel] * part;
        (value * 65535.0).round() as u16
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_number_of_spectra_fits_and_the_means_stay() {
        for count in [1, 2047, 2048, 2049, 10_000] {
            let mut spectrogram = Spectrogram::new(2);
            (0..count).for_each(|number| spectrogram.add([1.0, number as f32].into_iter()));
            let most = spectrogram.columns.chunks(2).map(|column| column[0]).fold(0.0, f32::max);
            assert_eq!(most, 1.0);
            assert!(spectrogram.columns.len() < 2 * MOST_COLUMNS);
            let picture = spectrogram.picture();
            assert_eq!(picture.values.len(), picture.width * picture.height * 3);
            assert!((600..=MOST_COLUMNS.max(1200)).contains(&picture.width), "{}", picture.width);
        }
    }

    #[test]
    fn the_loudest_come_first_and_without_their_neighbours() {
        let mut spectrogram = Spectrogram::new(64);
        let power = |bin: usize| match bin {
            0 => 100.0,
            10 => 9.0,
            11 => 8.0,
            40 => 3.0,
            _ => 0.0,
        };
        spectrogram.add((0..64).map(power));
        assert_eq!(spectrogram.loudest(0, 3), [(10, 0.45), (40, 0.15)]);
    }
}
