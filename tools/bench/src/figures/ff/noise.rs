//! What the stages of the paper's pipeline (its Figure 7, section 5.1) work, in either world.

use thalweg_queue::stealing::Rng;

/// Nanoseconds of work of each stage, along the axis of Figures 8, 9 and 11.
pub(super) const WORK: [f64; 6] = [0.0, 50.0, 100.0, 200.0, 400.0, 800.0];
/// Items that are missing in the first queue for it to be full, as in the paper.
pub(super) const MISSING: u64 = 16;
/// How far apart stages are that are not balanced, in nanoseconds.
const APART: f64 = 37.6;

/// How the length of stages varies.
#[derive(Clone, Copy, Debug)]
pub(super) enum Noise {
    /// Half of the items 4.5 ns more or less.
    Small,
    /// Two fifths 9.4 ns more or less, one tenth 18.8 ns. (The paper says a fifth, which with half and two fifths is more than all.)
    Wide,
    /// The second stage longer than the first, the third shorter.
    Unbalanced,
}

impl Noise {
    /// For each of two or three stages, nanoseconds of work for one item after the other.
    pub(super) fn work(self, stages: usize, nanos: f64) -> Vec<Vec<f64>> {
        match self {
            Noise::Small => around(stages, nanos, &[0.0, 0.0, 4.5, -4.5]),
            Noise::Wide => {
                let mut offsets = vec![0.0; 10];
                offsets.extend([9.4, 9.4, 9.4, 9.4, -9.4, -9.4, -9.4, -9.4, 18.8, -18.8]);
                around(stages, nanos, &offsets)
            }
            Noise::Unbalanced => [0.0, APART, -APART].iter().take(stages).map(|offset| vec![nanos + offset]).collect(),
        }
    }
}

/// For each stage, each of `offsets` as often as the others, in an order of its own.
fn around(stages: usize, nanos: f64, offsets: &[f64]) -> Vec<Vec<f64>> {
    const TIMES: usize = 50;
    let shuffled = |stage| {
        let mut rng = Rng::new(stage as u64);
        let mut work: Vec<f64> = offsets.repeat(TIMES).into_iter().map(|offset| nanos + offset).collect();
        (1..work.len()).for_each(|at| work.swap(at, rng.below(at + 1)));
        work
    };
    (0..stages).map(shuffled).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noise_has_no_mean() {
        for noise in [Noise::Small, Noise::Wide] {
            for work in noise.work(3, 100.0) {
                assert!((work.iter().sum::<f64>() / work.len() as f64 - 100.0).abs() < 1e-6);
            }
        }
        assert_eq!(Noise::Unbalanced.work(2, 100.0), [[100.0], [137.6]]);
    }
}
