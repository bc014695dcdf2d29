//! The fast Fourier transform: plain functions of blocks.

use std::f64::consts::TAU;

use crate::{Error, Result};

/// A complex number: its real and its imaginary part.
pub type Complex = [f32; 2];

/// The transform of blocks of a fixed length, as J. W. Cooley and J. W. Tukey describe it, *An algorithm for the machine
/// calculation of complex Fourier series*, Mathematics of Computation 19, 1965, with a base of two.
#[derive(Clone, Debug)]
pub struct Fft {
    /// For each place of the reordered block, where its number comes from.
    order: Vec<u32>,
    /// The first half of all roots of one, clockwise.
    roots: Vec<Complex>,
}

impl Fft {
    /// For blocks of `points` numbers.
    ///
    /// # Errors
    ///
    /// [`Error::Refused`] if that is not a power of two from 2 to 65536.
    pub fn new(points: usize) -> Result<Self> {
        if !points.is_power_of_two() || !(2..=1 << 16).contains(&points) {
            return Err(Error::Refused(format!("a block of {points} points; take a power of two from 2 to 65536")));
        }
        let unused = u32::BITS - points.ilog2();
        let order = (0..points as u32).map(|place| place.reverse_bits() >> unused).collect();
        let root = |number: usize| {
            let angle = -TAU * number as f64 / points as f64;
            [angle.cos() as f32, angle.sin() as f32]
        };
        Ok(Self { order, roots: (0..points / 2).map(root).collect() })
    }

    /// A block in the order of reversed bits: even numbers first, and so on in each half.
    ///
    /// # Panics
    ///
    /// If the block has another length; so does [`combine`](Self::combine).
    pub fn reorder(&self, block: &[Complex]) -> impl Iterator<Item = Complex> {
        assert_eq!(block.len(), self.order.len(), "a block of another length");
        self.order.iter().map(|&from| block[from as usize])
    }

    /// The spectrum of a block that was reordered: from frequency zero up, then those below zero, from the lowest.
    pub fn combine(&self, block: &[Complex]) -> Vec<Complex> {
        assert_eq!(block.len(), self.order.len(), "a block of another length");
        let mut block = block.to_vec();
        let mut half = 1;
        while half < block.len() {
            let step = self.roots.len() / half;
            for group in block.chunks_exact_mut(2 * half) {
                let (low, high) = group.split_at_mut(half);
                for ((low, high), root) in low.iter_mut().zip(high).zip(self.roots.iter().step_by(step)) {
                    let turned = [high[0] * root[0] - high[1] * root[1], high[0] * root[1] + high[1] * root[0]];
                    *high = [low[0] - turned[0], low[1] - turned[1]];
                    *low = [low[0] + turned[0], low[1] + turned[1]];
                }
            }
            half *= 2;
        }
        block
    }
}

/// The spectra of all blocks by a sequential program: the reference for the streaming one. The last block is filled with
/// zeros.
///
/// # Errors
///
/// As [`Fft::new`].
pub fn reference(samples: &[Complex], points: usize) -> Result<Vec<Complex>> {
    let fft = Fft::new(points)?;
    let mut spectra = Vec::new();
    for block in samples.chunks(points) {
        let mut block = block.to_vec();
        block.resize(points, [0.0; 2]);
        let reordered: Vec<Complex> = fft.reorder(&block).collect();
        spectra.extend(fft.combine(&reordered));
    }
    Ok(spectra)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The transform from its definition.
    fn naive(block: &[Complex]) -> Vec<[f64; 2]> {
        let points = block.len();
        let at = |frequency: usize| {
            block.iter().enumerate().fold([0.0; 2], |[real, imaginary], (time, &[x, y])| {
                let (sin, cos) = (-TAU * ((frequency * time) % points) as f64 / points as f64).sin_cos();
                let (x, y) = (f64::from(x), f64::from(y));
                [real + x * cos - y * sin, imaginary + x * sin + y * cos]
            })
        };
        (0..points).map(at).collect()
    }

    #[test]
    fn the_reference_is_the_definition() {
        let mut random = fastrand::Rng::with_seed(3);
        for points in [2, 4, 64, 512] {
            let samples: Vec<Complex> = (0..3 * points - 1).map(|_| [random.f32() - 0.5, random.f32() - 0.5]).collect();
            let spectra = reference(&samples, points).unwrap();
            assert_eq!(spectra.len(), 3 * points);
            for (block, spectrum) in samples.chunks(points).zip(spectra.chunks(points)) {
                let mut block = block.to_vec();
                block.resize(points, [0.0; 2]);
                for (is, expected) in spectrum.iter().zip(naive(&block)) {
                    let apart = (f64::from(is[0]) - expected[0]).hypot(f64::from(is[1]) - expected[1]);
                    assert!(apart < 1e-5 * (points as f64).sqrt(), "{points} points: {is:?} instead of {expected:?}");
                }
            }
        }
    }

    #[test]
    fn other_lengths_are_refused() {
        for points in [0, 1, 3, 100, 1 << 17] {
            assert!(Fft::new(points).unwrap_err().to_string().contains("power of two from 2 to 65536"));
        }
    }
}
