//! Speckle: how much there is, and made-up pictures with it.

use std::path::Path;

use super::Picture;
use crate::Result;
use crate::pictures::{store, synthetic};

/// Pixels on a side of the squares that are looked at: small, so that most have no edge in them.
const SQUARE: usize = 8;

/// Coefficients of variation, the standard deviations over the means, of all squares of 8 pixels that are whole and not
/// black, of each colour: their sum, and how many.
pub(super) fn variation(picture: &Picture) -> (f64, u64) {
    let &Picture { width, height, channels, .. } = picture;
    let colors = channels - usize::from(picture.has_opacity());
    let (mut sum, mut count) = (0.0, 0);
    for top in (0..height / SQUARE).map(|number| number * SQUARE) {
        for left in (0..width / SQUARE).map(|number| number * SQUARE) {
            for color in 0..colors {
                let (mut values, mut squares) = (0, 0);
                for row in top..top + SQUARE {
                    let start = (row * width + left) * channels;
                    for &value in picture.values[start..start + SQUARE * channels].iter().skip(color).step_by(channels)
                    {
                        values += u64::from(value);
                        squares += u64::from(value) * u64::from(value);
                    }
                }
                if values > 0 {
                    let pixels = (SQUARE * SQUARE) as f64;
                    let mean = values as f64 / pixels;
                    sum += (squares as f64 / pixels - mean * mean).max(0.0).sqrt() / mean;
                    count += 1;
                }
            }
        }
    }
    (sum, count)
}

/// Picture number `seed` of [`synthetic`], as radar or ultrasound would see it: each value times a random number of mean
/// 1 and deviation 0.25, the mean of sixteen exponential ones.
pub fn picture(seed: u64, width: usize, height: usize) -> Picture {
    let mut picture = synthetic::picture(seed, width, height);
    let mut random = fastrand::Rng::with_seed(!seed);
    for value in &mut picture.values {
        let product: f64 = (0..16).map(|_| 1.0 - random.f64()).product();
        let speckled = f64::from(*value) * -product.ln() / 16.0;
        *value = (speckled / 257.0).round().min(255.0) as u16 * 257;
    }
    picture
}

/// Writes pictures number 0 to `count - 1`, squares of `side` pixels, as PNG files to a folder.
///
/// # Errors
///
/// [`Error::File`](crate::Error::File) if one cannot be written.
pub fn pictures(count: u64, side: usize, folder: &Path) -> Result<()> {
    (0..count).try_for_each(|seed| {
        let file = picture(seed, side, side).encode().map_err(crate::Error::Refused)?;
        store(&folder.join(format!("picture-{seed:04}.png")), &file)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variation_is_deviation_over_mean() {
        let values = (0..64).map(|at| if at % 2 == 0 { 30_000 } else { 10_000 }).collect();
        let picture = Picture { width: 8, height: 8, channels: 1, values, deep: true, profile: None };
        assert_eq!(variation(&picture), (0.5, 1));
        let dark = Picture { values: vec![0; 64], ..picture.clone() };
        assert_eq!(variation(&dark), (0.0, 0));
        let half = picture.values.iter().flat_map(|&value| [value, 77]).collect();
        assert_eq!(variation(&Picture { channels: 2, values: half, ..picture }), (0.5, 1), "opacity is no colour");
        let (sum, count) = variation(&super::picture(1, 128, 128));
        assert!((0.15..0.4).contains(&(sum / count as f64)), "{sum} of {count}");
    }
}
