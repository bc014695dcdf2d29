//! The bank's filters: plain functions of windows of samples.

use std::f64::consts::PI;

use crate::samples::dot;
use crate::{Error, Result};

/// How large a bank is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Bands, all of the same width: 2 to 32. Of each, one sample of so many is kept.
    pub bands: usize,
    /// Taps of each filter: 16 to 1024, an even number. More taps, sharper bands.
    pub taps: usize,
}

impl Default for Size {
    /// The paper's: 8 bands and 128 taps.
    fn default() -> Self {
        Self { bands: 8, taps: 128 }
    }
}

/// What the last filters let pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// The band: a low-pass at its lower edge less one at its upper edge. Each tone in a band comes out as it went in, but for
    /// its gain, to a hundredth or so; what is at the edges of bands becomes quieter.
    Equalizer,
    /// All but the band, as StreamIt's program has it: a low-pass at its lower edge and a high-pass at its upper edge.
    Benchmark,
}

/// The taps of all filters of a bank.
#[derive(Clone, Debug)]
pub struct Bank {
    /// For each band, from the lowest.
    pub bands: Vec<Band>,
    size: Size,
    form: Form,
}

/// The taps of a band's filters.
#[derive(Clone, Debug)]
pub struct Band {
    /// Lets pass what is below the upper edge.
    pub low: Vec<f32>,
    /// Lets pass what is above the lower edge.
    pub high: Vec<f32>,
    /// One of the two last filters, whose results are added.
    pub first: Vec<f32>,
    /// The other one.
    pub second: Vec<f32>,
    gain: f32,
}

impl Bank {
    /// The bank with a factor for each band; bands behind the last factor have one.
    ///
    /// # Errors
    ///
    /// [`Error::Refused`] if the size is out of range, if there are more gains than bands, or one is not from 0 to 1000.
    pub fn new(size: Size, form: Form, gains: &[f32]) -> Result<Self> {
        let Size { bands, taps } = size;
        if !(2..=32).contains(&bands) {
            return Err(Error::Refused(format!("a bank of {bands} bands; take 2 to 32")));
        }
        if !(16..=1024).contains(&taps) || !taps.is_multiple_of(2) {
            return Err(Error::Refused(format!("filters of {taps} taps; take an even number from 16 to 1024")));
        }
        if gains.len() > bands {
            return Err(Error::Refused(format!("{} gains for {bands} bands; give one for each at most", gains.len())));
        }
        if let Some(gain) = gains.iter().find(|gain| !(0.0..=1000.0).contains(*gain)) {
            return Err(Error::Refused(format!("a gain of {gain}; take factors from 0 to 1000, at most 60 dB")));
        }
        let edge = |number: usize| number as f64 * PI / bands as f64;
        // What is kept is one of so many, so each counts as often.
        let again = bands as f64;
        let band = |number: usize| Band {
            low: low_pass(1.0, edge(number + 1), taps, form),
            high: high_pass(1.0, edge(number), taps, form),
            first: low_pass(again, edge(number), taps, form),
            second: match form {
                Form::Benchmark => high_pass(again, edge(number + 1), taps, form),
                // Both differences are turned upside down, as the benchmark's high-pass is.
                Form::Equalizer => low_pass(-again, edge(number + 1), taps, form),
            },
            gain: gains.get(number).copied().unwrap_or(1.0),
        };
        Ok(Self { bands: (0..bands).map(band).collect(), size, form })
    }

    /// How many samples come out when `samples` go in.
    pub fn outputs(&self, samples: u64) -> u64 {
        match self.form {
            Form::Equalizer => samples,
            Form::Benchmark => samples.saturating_sub(self.lost() as u64),
        }
    }

    /// Samples that are less behind three filters.
    fn lost(&self) -> usize {
        3 * (self.size.taps - 1)
    }

    /// The samples of an equalizer with so much silence on both sides that as many come out, at their places; those of the
    /// benchmark as they are.
    pub(super) fn between_silence<I: Iterator<Item = f32>>(&self, samples: I) -> impl Iterator<Item = f32> + use<I> {
        // The middle of a window, three times.
        let (before, all) = match self.form {
            Form::Equalizer => (3 * (self.size.taps / 2 - 1), self.lost()),
            Form::Benchmark => (0, 0),
        };
        let silence = |count: usize| std::iter::repeat_n(0.0, count);
        silence(before).chain(samples).chain(silence(all - before))
    }

    /// One sample of sound from one of both last filters of each band.
    pub(super) fn sum(&self, filtered: impl Iterator<Item = f32>) -> f32 {
        // The order of operations is that of the iterator, so the sum is the same in every program.
        filtered.enumerate().map(|(number, sample)| self.bands[number / 2].gain * sample).sum()
    }
}

/// A low-pass filter up to the angle `cut` in a sample: a sinc, cut off for the benchmark, in a Hamming window for an
/// equalizer.
fn low_pass(gain: f64, cut: f64, taps: usize, form: Form) -> Vec<f32> {
    let middle = (taps / 2) as f64;
    let tap = |number: usize| {
        let from_middle = (number + 1) as f64 - middle;
        let weight = if from_middle == 0.0 { cut / PI } else { (cut * from_middle).sin() / (PI * from_middle) };
        let window = match form {
            Form::Benchmark => 1.0,
            Form::Equalizer => 0.54 + 0.46 * (PI * from_middle / middle).cos(),
        };
        (gain * weight * window) as f32
    };
    (0..taps).map(tap).collect()
}

/// A high-pass filter from the angle `cut` in a sample on: a low-pass with every other sign turned.
fn high_pass(gain: f64, cut: f64, taps: usize, form: Form) -> Vec<f32> {
    let turned = low_pass(gain, PI - cut, taps, form).into_iter().enumerate();
    turned.map(|(number, tap)| if number.is_multiple_of(2) { tap } else { -tap }).collect()
}

/// The benchmark's input: three tones.
pub fn benchmark(samples: u64) -> impl Iterator<Item = f32> + Send {
    let tone = |sample: u64, length: f64| (PI * sample as f64 / length).cos();
    (0..samples).map(move |sample| (tone(sample, 10.0) + tone(sample, 20.0) + tone(sample, 30.0)) as f32)
}

/// The sound of a whole bank by a sequential program: the reference for the streaming one. Memory: some times that of the
/// samples.
pub fn reference(samples: &[f32], bank: &Bank) -> Vec<f32> {
    let filter = |samples: &[f32], taps: &[f32]| -> Vec<f32> {
        samples.windows(taps.len()).map(|window| dot(window, taps)).collect()
    };
    let samples: Vec<f32> = bank.between_silence(samples.iter().copied()).collect();
    let filtered: Vec<Vec<f32>> = bank
        .bands
        .iter()
        .flat_map(|band| {
            let mut thin = filter(&filter(&samples, &band.low), &band.high);
            let thrown = thin.iter_mut().enumerate().filter(|(number, _)| number % bank.size.bands != 0);
            thrown.for_each(|(_, sample)| *sample = 0.0);
            [filter(&thin, &band.first), filter(&thin, &band.second)]
        })
        .collect();
    let count = filtered.iter().map(Vec::len).min().unwrap_or(0);
    (0..count).map(|at| bank.sum(filtered.iter().map(|samples| samples[at]))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The benchmark's bank from its definition, in double precision, with no code of the one above.
    fn naive(samples: &[f64]) -> Vec<f64> {
        let filter = |x: &[f64], h: &dyn Fn(usize) -> f64| -> Vec<f64> {
            x.windows(128).map(|window| window.iter().enumerate().map(|(i, x)| x * h(i)).sum()).collect()
        };
        let sinc = |g: f64, wc: f64, i: usize| match i as f64 + 1.0 - 64.0 {
            0.0 => g * wc / PI,
            n => g * (wc * n).sin() / PI / n,
        };
        let sign = |i: usize| if i.is_multiple_of(2) { 1.0 } else { -1.0 };
        let mut sum = vec![0.0; samples.len() - 381];
        for band in 0..8 {
            let (lower, upper) = (f64::from(band) * PI / 8.0, f64::from(band + 1) * PI / 8.0);
            let low = filter(samples, &|i| sinc(1.0, upper, i));
            let mut high = filter(&low, &|i| sign(i) * sinc(1.0, PI - lower, i));
            (0..high.len()).filter(|n| !n.is_multiple_of(8)).for_each(|n| high[n] = 0.0);
            let first = filter(&high, &|i| sinc(8.0, lower, i));
            let second = filter(&high, &|i| sign(i) * sinc(8.0, PI - upper, i));
            sum.iter_mut().zip(first.iter().zip(&second)).for_each(|(sum, (a, b))| *sum += a + b);
        }
        sum
    }

    #[test]
    fn the_reference_of_the_benchmark_is_the_definition() {
        let samples: Vec<f32> = benchmark(1_000).collect();
        let bank = Bank::new(Size::default(), Form::Benchmark, &[]).unwrap();
        let sound = reference(&samples, &bank);
        let expected = naive(&samples.iter().map(|&sample| f64::from(sample)).collect::<Vec<_>>());
        assert_eq!((sound.len(), bank.outputs(1_000)), (expected.len(), 619));
        for (is, expected) in sound.iter().zip(&expected) {
            assert!((f64::from(*is) - expected).abs() < 1e-4, "{is} instead of {expected}");
        }
    }

    #[test]
    fn an_equalizer_gives_tones_back_and_takes_bands_away() {
        for (bands, taps) in [(8, 128), (4, 64), (5, 100)] {
            let size = Size { bands, taps };
            for band in 0..bands {
                // In the middle of a band.
                let angle = (band as f64 + 0.5) * PI / bands as f64;
                let tone: Vec<f32> = (0..700).map(|n| (angle * f64::from(n)).sin() as f32).collect();
                let apart = |gains: &[f32], factor: f32| {
                    let sound = reference(&tone, &Bank::new(size, Form::Equalizer, gains).unwrap());
                    assert_eq!(sound.len(), tone.len());
                    let middle = 300..400;
                    let apart =
                        sound[middle.clone()].iter().zip(&tone[middle]).map(|(is, was)| (is - factor * was).abs());
                    apart.fold(0.0, f32::max)
                };
                assert!(apart(&[], 1.0) < 0.02, "{size:?}, band {band}: {}", apart(&[], 1.0));
                let mut gains = vec![0.0; bands];
                gains[band] = 0.5;
                assert!(apart(&gains, 0.5) < 0.02, "{size:?}, band {band} alone");
                gains = vec![1.0; band + 1];
                gains[band] = 0.0;
                assert!(apart(&gains, 0.0) < 0.02, "{size:?}, all but band {band}");
            }
        }
    }

    #[test]
    fn absurd_numbers_are_refused() {
        for (bands, taps, gains, told) in [
            (1, 128, &[][..], "1 bands"),
            (33, 128, &[], "33 bands"),
            (8, 127, &[], "127 taps"),
            (8, 14, &[], "14 taps"),
            (2, 128, &[1.0, 1.0, 1.0], "3 gains for 2"),
            (2, 128, &[-1.0], "gain of -1"),
            (2, 128, &[f32::NAN], "gain of NaN"),
        ] {
            let refused = Bank::new(Size { bands, taps }, Form::Equalizer, gains).unwrap_err().to_string();
            assert!(refused.contains(told), "{refused}");
        }
    }
}
