//! The signal processing of the receiver: plain functions of windows, none of which keeps anything from one window to the next.
//!
//! | step | rate | what |
//! |---|---|---|
//! | channel | the recording's | the carrier's neighbourhood alone, one sample of `D` |
//! | discriminate | 240 to 480 kHz | how far the phase turned: the multiplex |
//! | stereo | | the pilot at 19 kHz says where 38 kHz is, and with that the difference of the sides is found |
//! | resample | 48 kHz | both up to 15 kHz, at other times |
//!
//! Then the only step with a memory, [`Deemphasis`].

use std::f64::consts::{PI, TAU};

use crate::samples::dot;

/// Samples of sound in a second.
pub const SOUND: u32 = 48_000;
/// How far broadcasters move the carrier at most, in Hz: full scale.
const DEVIATION: f64 = 75_000.0;
/// Half of what a station takes, in Hz.
const CHANNEL: f64 = 100_000.0;
/// The fewest samples in a second that have stereo in them.
pub const LEAST: u32 = 120_000;
/// After the channel filter there are at least so many in a second, if there were.
const MULTIPLEX: u32 = 240_000;
/// The pilot, in Hz, and how far from it the filter still looks.
const PILOT: f64 = 19_000.0;
const BESIDE: f64 = 1_500.0;
/// Taps of the pilot's filter; the middle one is in the middle.
const PILOT_TAPS: usize = 257;
/// The upper end of the sound, in Hz, and where nothing is left.
const HIGHEST: f64 = 15_000.0;
const NOTHING: f64 = 19_000.0;
/// The most phases of the resampling filter.
const PHASES: u64 = 480;
/// A pilot weaker than this is none, and from twice of this on it is one.
const WEAK: f32 = 0.02;

/// What a recording has at a time: its two parts, I and Q. Also the two sides of a sound.
pub type Pair = [f32; 2];

/// The filters for a rate and a place of the carrier.
#[derive(Clone, Debug)]
pub struct Tuner {
    /// One sample of so many is kept.
    pub step: usize,
    /// Taps of the channel filter, for the real part of its result and for the imaginary one, each twice as many as samples.
    channel: [Vec<f32>; 2],
    /// By how much the phase turns in a step of the carrier, backwards.
    back: Pair,
    /// From an angle to the multiplex.
    gain: f32,
    pilot: [Vec<f32>; 2],
    /// Of so many times of the multiplex ...
    from: usize,
    /// ... so many of the sound are made, each by its taps.
    phases: Vec<(usize, Vec<f32>)>,
    longest: usize,
}

impl Tuner {
    /// For a recording of `rate` samples in a second, at least [`LEAST`], with the carrier `carrier` Hz above its middle.
    pub fn new(rate: u32, carrier: f64) -> Self {
        let step = (rate / MULTIPLEX).max(1) as usize;
        let multiplex = f64::from(rate) / step as f64;
        let turn = TAU * carrier / f64::from(rate);

        let cut = CHANNEL.min(0.42 * multiplex) / f64::from(rate);
        let lowest = low_pass(24 * step + 1, cut, 0.0);
        let (mut real, mut imaginary) = (Vec::new(), Vec::new());
        let centre = (lowest.len() / 2) as f64;
        for (at, tap) in lowest.iter().enumerate() {
            let (sin, cos) = (-turn * (at as f64 - centre)).sin_cos();
            real.extend([tap * cos, -tap * sin].map(|tap| tap as f32));
            imaginary.extend([tap * sin, tap * cos].map(|tap| tap as f32));
        }
        let (sin, cos) = (-turn * step as f64).sin_cos();

        let centre = (PILOT_TAPS / 2) as f64;
        let taps = low_pass(PILOT_TAPS, BESIDE / multiplex, 0.0);
        let beside = |of: fn(f64) -> f64| {
            let taps = taps.iter().enumerate();
            taps.map(|(at, tap)| (2.0 * tap * of(-TAU * PILOT / multiplex * (at as f64 - centre))) as f32).collect()
        };

        let (from, to) = ratio(u64::from(rate), u64::from(SOUND) * step as u64, PHASES);
        let length = (3.3 * multiplex / (NOTHING - HIGHEST)) as usize | 1;
        let phases = (0..to).map(|phase| {
            let position = phase * from;
            let taps = low_pass(length, (HIGHEST + NOTHING) / 2.0 / multiplex, (position % to) as f64 / to as f64);
            ((position / to) as usize, taps.into_iter().map(|tap| tap as f32).collect())
        });
        let phases: Vec<(usize, Vec<f32>)> = phases.collect();
        let longest = phases.iter().map(|(start, taps)| start + taps.len()).max().unwrap_or(0);
        Self {
            step,
            channel: [real, imaginary],
            back: [cos as f32, sin as f32],
            gain: (multiplex / (TAU * DEVIATION)) as f32,
            pilot: [beside(f64::cos), beside(f64::sin)],
            from: from as usize,
            phases,
            longest,
        }
    }

    /// Samples of a window of [`channel`](Self::channel), which are [`step`](Self::step) apart.
    pub fn channel_window(&self) -> usize {
        self.channel[0].len() / 2
    }

    /// The channel, for a window of the recording.
    pub fn channel(&self, window: &[Pair]) -> Pair {
        let flat = window.as_flattened();
        [dot(flat, &self.channel[0]), dot(flat, &self.channel[1])]
    }

    /// The multiplex, 1 for the full deviation, from two samples of the channel.
    pub fn discriminate(&self, window: &[Pair]) -> f32 {
        let ([before, now], back) = ([window[0], window[1]], self.back);
        let turned = times(times(now, [before[0], -before[1]]), back);
        self.gain * turned[1].atan2(turned[0])
    }

    /// Multiplex samples of a window of [`stereo`](Self::stereo).
    pub fn stereo_window(&self) -> usize {
        PILOT_TAPS
    }

    /// The sum and the difference of the sides, with all that is above them, for a window of the multiplex. Without a pilot there is no difference.
    pub fn stereo(&self, window: &[f32]) -> Pair {
        let sum = window[PILOT_TAPS / 2];
        let pilot = [dot(window, &self.pilot[0]), dot(window, &self.pilot[1])];
        let power = pilot[0] * pilot[0] + pilot[1] * pilot[1];
        let strong = ((power.sqrt() - WEAK) / WEAK).clamp(0.0, 1.0);
        if strong == 0.0 {
            return [sum, 0.0];
        }
        // The pilot is the sine of an angle, and the difference is carried by the sine of twice that angle.
        let carrier = -times(pilot, pilot)[1] / power;
        [sum, 2.0 * strong * carrier * sum]
    }

    /// Pairs of a window of [`resample`](Self::resample), and how far these are apart.
    pub fn resample_window(&self) -> (usize, usize) {
        (self.longest.max(self.from), self.from)
    }

    /// Sums and differences of the sound, some at a time.
    pub fn resample(&self, window: &[Pair], mut give: impl FnMut(Pair)) {
        for (start, taps) in &self.phases {
            let mut lanes = [[0.0; 2]; 4];
            let (samples, rest) = window[*start..start + taps.len()].as_chunks::<4>();
            let (groups, last) = taps.as_chunks::<4>();
            let add = |sum: &mut Pair, sample: &Pair, tap: f32| {
                sum[0] += sample[0] * tap;
                sum[1] += sample[1] * tap;
            };
            for (samples, taps) in samples.iter().zip(groups) {
                for lane in 0..4 {
                    add(&mut lanes[lane], &samples[lane], taps[lane]);
                }
            }
            let mut sum = [0, 1].map(|side| lanes.iter().map(|lane| lane[side]).sum());
            rest.iter().zip(last).for_each(|(sample, &tap)| add(&mut sum, sample, tap));
            give(sum);
        }
    }

    /// The fewest samples of which one of sound comes.
    pub fn least(&self) -> u64 {
        let multiplex = self.resample_window().0 + PILOT_TAPS - 1 + 1;
        ((multiplex - 1) * self.step + self.channel_window()) as u64
    }
}

/// The product of two complex numbers.
fn times([a, b]: Pair, [c, d]: Pair) -> Pair {
    [a * c - b * d, a * d + b * c]
}

/// A low-pass filter: a Hamming-windowed sinc of an odd number of taps that passes what is below `cut`, in parts of the rate,
/// `later` than the middle of its window. The sum of its taps is 1.
fn low_pass(taps: usize, cut: f64, later: f64) -> Vec<f64> {
    let centre = (taps / 2) as f64 + later;
    let tap = |at: usize| {
        let offset = at as f64 - centre;
        let sinc = if offset == 0.0 { 2.0 * cut } else { (TAU * cut * offset).sin() / (PI * offset) };
        sinc * (0.54 + 0.46 * (TAU * offset / (taps + 1) as f64).cos())
    };
    let filter: Vec<f64> = (0..taps).map(tap).collect();
    let sum: f64 = filter.iter().sum();
    filter.into_iter().map(|tap| tap / sum).collect()
}

/// The fraction next to `over / under` whose lower part is at most `most`: the last such one of its continued fraction.
fn ratio(over: u64, under: u64, most: u64) -> (u64, u64) {
    let (mut a, mut b) = (over, under);
    let (mut before, mut now) = ((0, 1), (1, 0));
    while b > 0 {
        let whole = a / b;
        let next = (whole * now.0 + before.0, whole * now.1 + before.1);
        if next.1 > most {
            break;
        }
        (before, now, a, b) = (now, next, b, a % b);
    }
    now
}

/// What a receiver takes back: broadcasters raise treble by a time constant.
#[derive(Clone, Debug)]
pub struct Deemphasis {
    /// How far a sample goes towards the new one.
    share: f32,
    now: Pair,
    /// How far the carrier is from its place, as a part of the full deviation: what does not change in the sum.
    pub offset: f64,
    count: u64,
}

impl Deemphasis {
    /// By a time constant in microseconds: 50 in most countries, 75 in the Americas; 0 for none.
    pub fn new(microseconds: f64) -> Self {
        let share = if microseconds > 0.0 { 1.0 - (-1e6 / (microseconds * f64::from(SOUND))).exp() } else { 1.0 };
        Self { share: share as f32, now: [0.0; 2], offset: 0.0, count: 0 }
    }

    /// The sides, left and right, of the next sum and difference.
    pub fn sides(&mut self, [sum, difference]: Pair) -> Pair {
        // The mean so far, and later that of the last seconds.
        self.count += 1;
        self.offset += (f64::from(sum) - self.offset) / (self.count.min(u64::from(4 * SOUND))) as f64;
        let sum = sum - self.offset as f32;
        for (side, to) in self.now.iter_mut().zip([sum + difference, sum - difference]) {
            *side += self.share * (to - *side);
        }
        self.now
    }

    /// How far the carrier is from its place, in Hz.
    pub fn carrier(&self) -> f64 {
        self.offset * DEVIATION
    }
}

/// The whole receiver as a sequential program: the reference for the streaming one. Memory: a few times `samples`.
pub fn reference(tuner: &Tuner, deemphasis: &mut Deemphasis, samples: &[Pair]) -> Vec<Pair> {
    let windows = samples.windows(tuner.channel_window()).step_by(tuner.step);
    let channel: Vec<Pair> = windows.map(|window| tuner.channel(window)).collect();
    let multiplex: Vec<f32> = channel.windows(2).map(|window| tuner.discriminate(window)).collect();
    let sides: Vec<Pair> = multiplex.windows(tuner.stereo_window()).map(|window| tuner.stereo(window)).collect();
    let (length, step) = tuner.resample_window();
    let mut sound = Vec::new();
    for window in sides.windows(length).step_by(step) {
        tuner.resample(window, |pair| sound.push(deemphasis.sides(pair)));
    }
    sound
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fm::synthetic;

    /// How much of a tone is in some samples.
    fn tone(samples: impl Iterator<Item = f32>, hertz: f64) -> f64 {
        let (mut sum, mut count) = ([0.0; 2], 0.0);
        for (at, sample) in samples.enumerate() {
            let (sin, cos) = (TAU * hertz * at as f64 / f64::from(SOUND)).sin_cos();
            sum = [sum[0] + f64::from(sample) * cos, sum[1] + f64::from(sample) * sin];
            count += 1.0;
        }
        2.0 * sum[0].hypot(sum[1]) / count
    }

    #[test]
    fn both_sides_come_out_alone_at_any_rate() {
        for (rate, carrier) in [(240_000, 0.0), (250_000, 20_000.0), (1_024_000, -200_000.0), (226_001, 0.0)] {
            let samples: Vec<Pair> = synthetic::recording(u64::from(rate) / 8, rate, carrier).collect();
            // The carrier is not quite where it is expected.
            let tuner = Tuner::new(rate, carrier - 1_500.0);
            let mut deemphasis = Deemphasis::new(0.0);
            let sound = reference(&tuner, &mut deemphasis, &samples);
            assert!((5_800..=6_000).contains(&sound.len()), "{}", sound.len());
            assert!((deemphasis.carrier() - 1_500.0).abs() < 500.0, "{}", deemphasis.carrier());
            // Whole periods of both tones.
            let steady = &sound[sound.len() - 3_600..];
            let [left, right] = [0, 1].map(|side| steady.iter().map(move |pair| pair[side]));
            let levels = [(left.clone(), 1_000.0), (right.clone(), 400.0), (left, 400.0), (right, 1_000.0)];
            let levels = levels.map(|(side, hertz)| tone(side, hertz));
            assert!(levels[..2].iter().all(|level| (level - 0.45).abs() < 0.02), "{rate}: {levels:?}");
            assert!(levels[2..].iter().all(|&level| level < 0.01), "{rate}: {levels:?}");
        }
    }

    #[test]
    fn without_a_pilot_both_sides_are_the_same() {
        let tuner = Tuner::new(240_000, 0.0);
        let multiplex: Vec<f32> = (0..PILOT_TAPS).map(|n| (n as f32 * 0.02).sin()).collect();
        assert_eq!(tuner.stereo(&multiplex), [multiplex[PILOT_TAPS / 2], 0.0]);
    }

    #[test]
    fn deemphasis_takes_treble_by_its_time_constant() {
        for (microseconds, hertz) in [(50.0, 3_183.1), (75.0, 2_122.1)] {
            let mut deemphasis = Deemphasis::new(microseconds);
            let input = (0..48_000).map(|n| (TAU * hertz * f64::from(n) / f64::from(SOUND)).sin() as f32);
            let sound: Vec<f32> = input.map(|sample| deemphasis.sides([sample, 0.0])[0]).collect();
            // By 3 decibels at the frequency of the time constant; a filter of sampled sound is a little off.
            let level = tone(sound[4_800..].iter().copied(), hertz);
            assert!((level - 0.5_f64.sqrt()).abs() < 0.04, "{level}");
        }
    }

    #[test]
    fn ratios_are_exact_where_they_can_be_and_near_otherwise() {
        assert_eq!(ratio(240_000, 48_000, 480), (5, 1));
        assert_eq!(ratio(250_000, 48_000, 480), (125, 24));
        let (over, under) = ratio(226_001, 48_000, 480);
        let error = over as f64 / under as f64 / (226_001.0 / 48_000.0) - 1.0;
        assert!(under <= 480 && error.abs() < 5e-6, "{over}/{under}");
    }
}
