//! The signal processing of FMRadio: plain functions of windows of samples.

use std::f64::consts::PI;

use crate::samples::dot;

/// Taps of every low-pass filter.
pub const TAPS: usize = 128;
/// The input filter keeps one sample of so many: `decimation + 1` in StreamIt's terms.
pub const STEP: usize = 5;
/// Bands of the equalizer.
pub const BANDS: usize = 6;

/// Samples per second that the filters are made for.
const RATE: f64 = 250e6;
/// What the input filter lets pass, in Hz.
const CUTOFF: f64 = 108e6;
/// Where the lowest band begins and the highest ends, in Hz.
const LOWEST: f64 = 55.0;
const HIGHEST: f64 = 1_760.0;
/// The demodulator's full amplitude and bandwidth.
const AMPLITUDE: f64 = 27_000.0;
const BANDWIDTH: f64 = 10_000.0;

/// How many samples come out when `samples` go in.
pub fn outputs(samples: u64) -> u64 {
    let decimated = windows(samples, TAPS as u64, STEP as u64);
    windows(windows(decimated, 2, 1), TAPS as u64, 1)
}

/// How many windows of `peek` samples there are, `pop` samples apart.
fn windows(samples: u64, peek: u64, pop: u64) -> u64 {
    samples.checked_sub(peek).map_or(0, |more| more / pop + 1)
}

/// A low-pass filter: a Hamming-windowed sinc of [`TAPS`] taps.
#[derive(Clone, Debug, PartialEq)]
pub struct LowPass([f32; TAPS]);

impl LowPass {
    /// The filter on the radio's input.
    pub fn input() -> Self {
        Self::new(CUTOFF)
    }

    /// The filter for edge `edge` of the bands, `0 ..= BANDS`, from the lowest to the highest, in equal ratios.
    pub fn edge(edge: usize) -> Self {
        Self::new(LOWEST * (HIGHEST / LOWEST).powf(edge as f64 / BANDS as f64))
    }

    fn new(cutoff: f64) -> Self {
        let omega = 2.0 * PI * cutoff / RATE;
        let last = (TAPS - 1) as f64;
        Self(std::array::from_fn(|tap| {
            // The centre lies between two taps, so `offset` is never 0.
            let offset = tap as f64 - last / 2.0;
            let hamming = 0.54 - 0.46 * (2.0 * PI * tap as f64 / last).cos();
            ((omega * offset).sin() / (PI * offset) * hamming) as f32
        }))
    }

    /// The filtered sample for a window of [`TAPS`] samples, oldest first.
    ///
    /// # Panics
    ///
    /// If `window` has another length.
    pub fn apply(&self, window: &[f32]) -> f32 {
        let window: &[f32; TAPS] = window.try_into().expect("one sample for each tap");
        dot(window, &self.0)
    }
}

/// The demodulated sample for two neighbouring samples.
///
/// # Panics
///
/// If `window` has fewer than two.
pub fn demodulate(window: &[f32]) -> f32 {
    const GAIN: f32 = (AMPLITUDE * RATE / (BANDWIDTH * PI)) as f32;
    GAIN * (window[0] * window[1]).atan()
}

/// The low-pass filters of all bands: for each, that of its upper and that of its lower edge.
pub fn band_filters() -> [LowPass; 2 * BANDS] {
    std::array::from_fn(|filter| LowPass::edge(filter / 2 + 1 - filter % 2))
}

/// One sample of sound from one sample of each of the [`band_filters`].
pub fn equalize(filtered: &[f32; 2 * BANDS]) -> f32 {
    let bands = filtered.chunks_exact(2).enumerate();
    bands.map(|(band, edges)| gain(band) * (edges[0] - edges[1])).sum()
}

/// How loud a band is: less the further it is from the middle.
fn gain(band: usize) -> f32 {
    let from_middle = band as f32 - (BANDS - 1) as f32 / 2.0;
    2.0 - from_middle.abs() / 5.0
}

/// The whole radio as a sequential program: the reference for the streaming one. Memory: a few times `samples`.
pub fn reference(samples: &[f32]) -> Vec<f32> {
    let input = LowPass::input();
    let decimated: Vec<f32> = samples.windows(TAPS).step_by(STEP).map(|window| input.apply(window)).collect();
    let demodulated: Vec<f32> = decimated.windows(2).map(demodulate).collect();
    let filters = band_filters();
    let sound = demodulated.windows(TAPS).map(|window| {
        let filtered = std::array::from_fn(|filter| filters[filter].apply(window));
        equalize(&filtered)
    });
    sound.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The radio from its definition, in double precision, with no code of the one above.
    fn naive(samples: &[f32]) -> Vec<f64> {
        let filter = |cutoff: f64, window: &[f64]| -> f64 {
            let sum = window.iter().enumerate().map(|(i, x)| {
                let (i, w) = (i as f64, 2.0 * PI * cutoff / 250e6);
                x * (w * (i - 63.5)).sin() / PI / (i - 63.5) * (0.54 - 0.46 * (2.0 * PI * i / 127.0).cos())
            });
            sum.sum()
        };
        let samples: Vec<f64> = samples.iter().map(|&x| f64::from(x)).collect();
        let decimated: Vec<f64> = samples.windows(128).step_by(5).map(|w| filter(108e6, w)).collect();
        let demodulated: Vec<f64> =
            decimated.windows(2).map(|w| 27_000.0 * 250e6 / (10_000.0 * PI) * (w[0] * w[1]).atan()).collect();
        let cut = |i: f64| ((i * (1_760_f64.ln() - 55_f64.ln()) / 6.0) + 55_f64.ln()).exp();
        let sound = demodulated.windows(128).map(|w| {
            let bands = (1..=6).map(|i| {
                let i = f64::from(i);
                (2.0 - ((i - 1.0 - 2.5) / 5.0).abs()) * (filter(cut(i), w) - filter(cut(i - 1.0), w))
            });
            bands.sum()
        });
        sound.collect()
    }

    #[test]
    fn the_reference_is_the_definition() {
        let samples: Vec<f32> = (0..2_000).map(|n| (n as f32 * 0.3).sin() + (n as f32 * 0.011).cos()).collect();
        let (sound, expected) = (reference(&samples), naive(&samples));
        assert_eq!(sound.len(), expected.len());
        let loudest = expected.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
        for (sound, expected) in sound.iter().zip(&expected) {
            assert!((f64::from(*sound) - expected).abs() <= 1e-5 * loudest, "{sound} instead of {expected}");
        }
    }

    #[test]
    fn as_many_outputs_as_predicted() {
        assert_eq!((outputs(767), outputs(768), outputs(772), outputs(773)), (0, 1, 1, 2));
        for samples in 700..900 {
            assert_eq!(outputs(samples), reference(&vec![0.0; samples as usize]).len() as u64);
        }
    }
}
