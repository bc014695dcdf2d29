//! Pictures in planes and strips, and what diffusion does with a strip.

use thalweg_sync::sync::Arc;

use super::Picture;
use crate::{Error, Result};

/// About as many values a strip has: what a core works on stays in its own cache.
const STRIP: usize = 1 << 14;

/// Some rows of a plane.
#[derive(Debug, Default)]
pub struct Strip {
    values: Vec<f32>,
    /// Of each row the sum of its values and that of their squares.
    sums: Vec<[f64; 2]>,
}

impl Strip {
    /// A strip of rows of `width` values.
    fn new(values: Vec<f32>, width: usize) -> Self {
        let sums = values.chunks_exact(width).map(|row| {
            row.iter()
                .map(|&value| f64::from(value))
                .fold([0.0; 2], |[sum, squares], value| [sum + value, squares + value * value])
        });
        Self { sums: sums.collect(), values }
    }
}

/// A picture as diffusion sees it: each colour is a plane, of the exponentials of values from 0 to 1.
#[derive(Debug)]
pub struct Image {
    width: usize,
    height: usize,
    planes: usize,
    /// Rows of a strip; the last strip of a plane may have fewer.
    rows: usize,
    strips: Vec<Strip>,
}

impl Image {
    /// The colours of a picture; its opacity stays behind.
    pub fn extract(picture: &Picture) -> Self {
        let &Picture { width, height, channels, ref values, .. } = picture;
        let planes = channels - usize::from(picture.has_opacity());
        let rows = (STRIP / width.max(1)).clamp(1, height.max(1));
        let mut strips = Vec::new();
        for plane in 0..planes {
            for rows in values.chunks(rows * width * channels) {
                let own = rows.iter().skip(plane).step_by(channels);
                strips.push(Strip::new(own.map(|&value| (f32::from(value) / 65535.0).exp()).collect(), width));
            }
        }
        Self { width, height, planes, rows, strips }
    }

    /// Writes the colours to the picture that they are from.
    pub fn compress(&self, picture: &mut Picture) {
        let channels = picture.channels;
        let strips = self.strips.len() / self.planes;
        for (plane, strips) in self.strips.chunks(strips).enumerate() {
            let values = strips.iter().flat_map(|strip| &strip.values);
            for (to, value) in picture.values.iter_mut().skip(plane).step_by(channels).zip(values) {
                *to = (value.ln().clamp(0.0, 1.0) * 65535.0 + 0.5) as u16;
            }
        }
    }

    /// An image as large as this one, of other strips.
    pub(super) fn of(&self, strips: Vec<Strip>) -> Self {
        Self { strips, ..*self }
    }

    /// How many strips there are.
    pub(super) fn strips(&self) -> usize {
        self.strips.len()
    }

    /// The square of the coefficient of variation of each plane: how much speckle there is.
    pub(super) fn statistics(&self) -> Vec<f32> {
        let strips = self.strips.len() / self.planes;
        let count = (self.width * self.height) as f64;
        let plane = |strips: &[Strip]| {
            let rows = strips.iter().flat_map(|strip| &strip.sums);
            let [sum, squares] = rows.fold([0.0; 2], |sums, row| [sums[0] + row[0], sums[1] + row[1]]);
            let mean = sum / count;
            let variance = squares / count - mean * mean;
            // A plane of one colour has none, and none is nothing to divide by.
            ((variance / (mean * mean)) as f32).max(1e-12)
        };
        self.strips.chunks(strips).map(plane).collect()
    }

    /// A row of a plane. Beyond its borders a plane goes on as it is there.
    fn row(&self, plane: usize, row: usize) -> &[f32] {
        let row = row.min(self.height - 1);
        let strips = self.strips.len() / self.planes;
        let start = row % self.rows * self.width;
        &self.strips[plane * strips + row / self.rows].values[start..start + self.width]
    }

    /// The plane and the rows of a strip.
    fn place(&self, strip: usize) -> (usize, std::ops::Range<usize>) {
        let strips = self.strips.len() / self.planes;
        let first = strip % strips * self.rows;
        (strip / strips, first..self.height.min(first + self.rows))
    }
}

/// A strip on its way through a step of diffusion.
#[derive(Debug)]
pub(super) struct Job {
    /// The picture's number.
    pub(super) picture: u64,
    /// All of the image, as neighbouring rows count too.
    pub(super) image: Arc<Image>,
    /// Which strip of it.
    pub(super) strip: usize,
    /// What [`Image::statistics`] says about its plane.
    pub(super) speckle: f32,
    /// How much of a difference goes over, for all rows of the strip and the one below.
    pub(super) coefficients: Vec<f32>,
}

impl Job {
    /// The first half of a step: the coefficients of diffusion.
    pub(super) fn find_coefficients(&mut self) {
        let image = &*self.image;
        let (plane, rows) = image.place(self.strip);
        self.coefficients.reserve((rows.len() + 1) * image.width);
        for row in rows.start..=rows.end.min(image.height - 1) {
            let [north, here, south] = [row.saturating_sub(1), row, row + 1].map(|row| image.row(plane, row));
            for column in 0..image.width {
                let value = here[column];
                let n = north[column] - value;
                let s = south[column] - value;
                let w = here[column.saturating_sub(1)] - value;
                let e = here[(column + 1).min(image.width - 1)] - value;
                self.coefficients.push(coefficient(value, [n, s, w, e], self.speckle));
            }
        }
        // Below the last row it goes on as there.
        let all = (rows.len() + 1) * image.width;
        if self.coefficients.len() < all {
            self.coefficients.extend_from_within(all - 2 * image.width..);
        }
    }

    /// The other half: the strip after the step.
    pub(super) fn diffused(&self, lambda: f32) -> Strip {
        let image = &*self.image;
        let width = image.width;
        let (plane, rows) = image.place(self.strip);
        let mut values = Vec::with_capacity(rows.len() * width);
        for (row, coefficients) in rows.zip(self.coefficients.windows(2 * width).step_by(width)) {
            let [north, here, south] = [row.saturating_sub(1), row, row + 1].map(|row| image.row(plane, row));
            let (own, below) = coefficients.split_at(width);
            for column in 0..width {
                let (value, right) = (here[column], (column + 1).min(width - 1));
                let n = north[column] - value;
                let s = south[column] - value;
                let w = here[column.saturating_sub(1)] - value;
                let e = here[right] - value;
                let flow = own[column] * n + below[column] * s + own[column] * w + own[right] * e;
                values.push(value + 0.25 * lambda * flow);
            }
        }
        Strip::new(values, width)
    }
}

/// How much of a difference goes over, from 0 to 1: less where neighbours differ by more than speckle does.
pub(super) fn coefficient(value: f32, [n, s, w, e]: [f32; 4], speckle: f32) -> f32 {
    let gradient = (n * n + s * s + w * w + e * e) / (value * value);
    let laplacian = (n + s + w + e) / value;
    let side = 1.0 + 0.25 * laplacian;
    let variation = (0.5 * gradient - laplacian * laplacian / 16.0) / (side * side);
    let excess = (variation - speckle) / (speckle * (1.0 + speckle));
    (1.0 / (1.0 + excess)).clamp(0.0, 1.0)
}

/// Refuses what does not diffuse.
///
/// # Errors
///
/// [`Error::Refused`] without iterations, and for a `lambda` that is not above 0 and at most 1.
pub(super) fn check(iterations: u32, lambda: f32) -> Result<()> {
    if iterations == 0 {
        return Err(Error::Refused("0 iterations leave all as it is; take at least one".into()));
    }
    if !(lambda > 0.0 && lambda <= 1.0) {
        return Err(Error::Refused(format!("lambda is {lambda}; choose one above 0, at most 1")));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn less_goes_over_an_edge_than_over_speckle() {
        assert_eq!(coefficient(1.2, [0.0; 4], 0.06), 1.0);
        assert_eq!(coefficient(1.2, [0.05, -0.05, 0.02, -0.1], 0.06), 1.0);
        // By hand, from the definition.
        let edge = coefficient(1.2, [0.0, 0.0, 0.0, 0.79], 0.06);
        assert!((edge - 0.4435).abs() < 0.001, "{edge}");
        assert!(coefficient(1.0, [1.7, 1.7, 0.0, 0.0], 0.0001) < 0.001);
    }
}
