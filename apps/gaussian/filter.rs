//! The recursive filter: plain functions of pictures.

use super::Picture;
use crate::{Error, Result};

/// Values of a row that are filtered together: what they need of all rows stays in a core's cache.
const STRIP: usize = 32;

/// A recursive Gaussian: Deriche's filter of second order, *Recursively implementing the Gaussian and its derivatives*,
/// INRIA research report 1893, 1993, as NVIDIA's sample program uses it.
///
/// It weighs a neighbour at distance `n` by `k (1 + a n) exp(-a n)`, with `a = 1.695 / sigma` and `k` such that all weights
/// add up to one. The cost of a value does not depend on sigma. Beyond its borders a picture goes on as it is there.
#[derive(Clone, Debug)]
pub struct Filter {
    /// What a value and the one before it count, on the way forth.
    forth: [f64; 2],
    /// What the two values behind count, on the way back.
    back: [f64; 2],
    /// What the two results before count, on either way.
    again: [f64; 2],
}

impl Filter {
    /// The filter for a standard deviation in pixels.
    ///
    /// # Errors
    ///
    /// [`Error::Refused`] if `sigma` is not from 0.1 to 1000.
    pub fn new(sigma: f64) -> Result<Self> {
        if !(0.1..=1000.0).contains(&sigma) {
            return Err(Error::Refused(format!("sigma is {sigma} pixels; choose one from 0.1 to 1000")));
        }
        let a = 1.695 / sigma;
        let e = (-a).exp();
        // The weights' sum: 1 + 2 (the sum of (1 + a n) e^n over all n from 1), inverted.
        let k = (1.0 - e).powi(2) / (1.0 + 2.0 * a * e - e * e);
        Ok(Self { forth: [k, k * e * (a - 1.0)], back: [k * e * (a + 1.0), -k * e * e], again: [2.0 * e, -e * e] })
    }

    /// Filters all columns, each down and up.
    ///
    /// `scratch` is memory that is used again; what is in it does not matter.
    pub fn columns(&self, picture: &mut Picture, scratch: &mut Vec<f32>) {
        let (row, height) = (picture.width * picture.channels, picture.height);
        if row == 0 || height == 0 {
            return;
        }
        scratch.resize(STRIP * height, 0.0);
        for start in (0..row).step_by(STRIP) {
            let strip = start..row.min(start + STRIP);
            self.down(picture.values.chunks_exact(row).map(|row| &row[strip.clone()]), scratch);
            self.up(picture.values.chunks_exact_mut(row).map(|row| &mut row[strip.clone()]).rev(), scratch);
        }
    }

    /// The first half of the sum, from the first row on, to `half`.
    fn down<'p>(&self, rows: impl Iterator<Item = &'p [u16]>, half: &mut [f32]) {
        let ([now, before], [last, last_but_one]) = (self.forth, self.again);
        // As if all rows before had been like the first.
        let steady = (now + before) / (1.0 - last - last_but_one);
        let (mut x1, mut y1, mut y2) = ([0.0; STRIP], [0.0; STRIP], [0.0; STRIP]);
        let (half, _) = half.as_chunks_mut::<STRIP>();
        for (number, (row, half)) in rows.zip(half).enumerate() {
            let x = lanes(row);
            if number == 0 {
                (x1, y1) = (x, x.map(|x| steady * x));
                y2 = y1;
            }
            // Over whole arrays, so that the compiler takes several lanes at once.
            for lane in 0..STRIP {
                let y = now * x[lane] + before * x1[lane] + last * y1[lane] + last_but_one * y2[lane];
                half[lane] = y as f32;
                (y2[lane], y1[lane]) = (y1[lane], y);
            }
            x1 = x;
        }
    }

    /// The other half, from the last row back, and the sum of both.
    fn up<'p>(&self, rows: impl Iterator<Item = &'p mut [u16]>, half: &[f32]) {
        let ([next, next_but_one], [last, last_but_one]) = (self.back, self.again);
        let steady = (next + next_but_one) / (1.0 - last - last_but_one);
        let (mut x1, mut x2, mut y1, mut y2) = ([0.0; STRIP], [0.0; STRIP], [0.0; STRIP], [0.0; STRIP]);
        let (half, _) = half.as_chunks::<STRIP>();
        for (number, (row, half)) in rows.zip(half.iter().rev()).enumerate() {
            let x = lanes(row);
            if number == 0 {
                (x1, y1) = (x, x.map(|x| steady * x));
                (x2, y2) = (x1, y1);
            }
            let mut sums = [0_u16; STRIP];
            for lane in 0..STRIP {
                let y = next * x1[lane] + next_but_one * x2[lane] + last * y1[lane] + last_but_one * y2[lane];
                (y2[lane], y1[lane]) = (y1[lane], y);
                // Rounded: no call of a function, as `round` is on some machines.
                sums[lane] = ((y + f64::from(half[lane])).clamp(0.0, 65535.0) + 0.5) as i32 as u16;
            }
            (x2, x1) = (x1, x);
            row.copy_from_slice(&sums[..row.len()]);
        }
    }

    /// Weighs the colours of each pixel by its opacity, so that what cannot be seen lends its colour to nobody.
    pub fn fade_in(&self, picture: &mut Picture) {
        each_color(picture, |color, opacity| (color * opacity + 32767) / 65535);
    }

    /// Takes that back.
    pub fn fade_out(&self, picture: &mut Picture) {
        each_color(picture, |color, opacity| match opacity {
            0 => 0,
            _ => ((color * 65535 + opacity / 2) / opacity).min(65535),
        });
    }
}

/// The values of a strip in a row; the last strip may be narrower, and then has zeros.
fn lanes(row: &[u16]) -> [f64; STRIP] {
    let mut lanes = [0.0; STRIP];
    for (lane, &value) in lanes.iter_mut().zip(row) {
        *lane = f64::from(value);
    }
    lanes
}

fn each_color(picture: &mut Picture, change: impl Fn(u64, u64) -> u64) {
    if !picture.has_opacity() {
        return;
    }
    for pixel in picture.values.chunks_exact_mut(picture.channels) {
        let Some((&mut opacity, colors)) = pixel.split_last_mut() else { return };
        for color in colors {
            *color = change(u64::from(*color), u64::from(opacity)) as u16;
        }
    }
}

/// A picture turned over its diagonal: its columns as rows.
pub fn transposed(picture: &Picture) -> Picture {
    let mut values = vec![0; picture.values.len()];
    let sides = (picture.width, picture.height);
    match picture.channels {
        1 => transpose::<1>(&picture.values, &mut values, sides),
        2 => transpose::<2>(&picture.values, &mut values, sides),
        3 => transpose::<3>(&picture.values, &mut values, sides),
        _ => transpose::<4>(&picture.values, &mut values, sides),
    }
    let Picture { width, height, channels, deep, .. } = *picture;
    Picture { width: height, height: width, channels, values, deep, profile: picture.profile.clone() }
}

fn transpose<const CHANNELS: usize>(from: &[u16], to: &mut [u16], (width, height): (usize, usize)) {
    /// Pixels on a side of a tile: both its rows and its columns fit the first cache.
    const TILE: usize = 32;
    let (from, _) = from.as_chunks::<CHANNELS>();
    let (to, _) = to.as_chunks_mut::<CHANNELS>();
    for top in (0..height).step_by(TILE) {
        for left in (0..width).step_by(TILE) {
            for column in left..width.min(left + TILE) {
                for row in top..height.min(top + TILE) {
                    to[column * height + row] = from[row * width + column];
                }
            }
        }
    }
}

/// A picture smoothed by a sequential program: the reference for the streaming one.
///
/// # Errors
///
/// As [`Filter::new`].
pub fn reference(picture: &Picture, sigma: f64) -> Result<Picture> {
    let (filter, mut scratch) = (Filter::new(sigma)?, Vec::new());
    let mut picture = picture.clone();
    filter.fade_in(&mut picture);
    for _ in 0..2 {
        filter.columns(&mut picture, &mut scratch);
        picture = transposed(&picture);
    }
    filter.fade_out(&mut picture);
    Ok(picture)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pictures::synthetic;

    /// The weighted mean of a column, from the definition.
    fn naive(column: &[f64], at: usize, sigma: f64) -> f64 {
        let weight = |distance: f64| (1.0 + 1.695 / sigma * distance) * (-1.695 / sigma * distance).exp();
        let reach = (40.0 * sigma) as i64 + 4;
        let (mut sum, mut weights) = (0.0, 0.0);
        for offset in -reach..=reach {
            let neighbour = (at as i64 + offset).clamp(0, column.len() as i64 - 1);
            sum += weight(offset.abs() as f64) * column[neighbour as usize];
            weights += weight(offset.abs() as f64);
        }
        sum / weights
    }

    #[test]
    fn columns_are_weighted_means() {
        for (sigma, width, height) in [(10.0, 37, 50), (0.1, 11, 3), (0.8, 5, 20), (200.0, 2, 30), (3.0, 1, 1)] {
            let sharp = synthetic::picture(3, width, height);
            let mut smooth = sharp.clone();
            Filter::new(sigma).unwrap().columns(&mut smooth, &mut vec![7.0; 3]);
            for column in 0..width * 3 {
                let values: Vec<f64> =
                    (0..height).map(|row| f64::from(sharp.values[row * width * 3 + column])).collect();
                for row in 0..height {
                    let (is, expected) = (smooth.values[row * width * 3 + column], naive(&values, row, sigma));
                    assert!((f64::from(is) - expected).abs() < 1.0, "sigma {sigma}, row {row}: {is}, not {expected}");
                }
            }
        }
    }

    #[test]
    fn turned_twice_is_as_it_was() {
        for channels in 1..=4 {
            let mut picture = synthetic::picture(1, 12, 60);
            picture.channels = channels;
            picture.width = 36 / channels;
            let turned = transposed(&picture);
            assert_eq!((turned.width, turned.height), (60, 36 / channels));
            assert_eq!(turned.values[60 * channels], picture.values[channels]);
            assert!(transposed(&turned) == picture);
        }
    }

    #[test]
    fn what_cannot_be_seen_lends_no_colour() {
        let pixels = [[65535, 0, 0, 65535], [0, 65535, 0, 0]];
        let picture = Picture { width: 2, height: 1, channels: 4, values: pixels.concat(), deep: true, profile: None };
        let smooth = reference(&picture, 2.0).unwrap();
        for pixel in smooth.values.chunks_exact(4) {
            assert!(pixel[0] > 65500 && pixel[1] == 0 && (1..65535).contains(&pixel[3]), "{pixel:?}");
        }
    }

    #[test]
    fn a_sigma_out_of_range_is_refused() {
        for sigma in [0.0, -1.0, f64::NAN, f64::INFINITY, 1001.0] {
            assert!(Filter::new(sigma).unwrap_err().to_string().contains("0.1 to 1000"));
        }
    }
}
