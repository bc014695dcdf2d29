//! The work that contenders do, and how its result is checked. Written once, used by everybody.

pub mod keyed;
pub mod stealing;

use std::hint::black_box;
use std::ops::Range;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use crate::harness::BoxError;
use crate::machine::{Timing, thread_cpu_time};
use thalweg_sync::random::mix;

/// A chain of light stages over `u64`: a source counts up, every stage applies [`Chain::stage`], a sink sums.
#[derive(Clone, Copy, Debug)]
pub struct Chain {
    /// What the source sends: 0, 1, 2 and so on.
    pub messages: u64,
    /// Stages between source and sink.
    pub stages: usize,
}

impl Chain {
    /// How often a message is handed on.
    pub fn hops(&self) -> u64 {
        self.stages as u64 + 1
    }

    /// Messages times hops, the divisor of a time per message and hop.
    pub fn handovers(&self) -> u64 {
        self.messages * self.hops()
    }

    /// What the source sends, `part` of it.
    ///
    /// The compiler does not know that the mask is zero, or it would replace a fused loop by a formula. (`black_box` on
    /// each message would clobber memory, and so punish sinks that sum through a reference.)
    pub fn source(part: Range<u64>) -> impl Iterator<Item = u64> + Clone + Send {
        let mask = black_box(0);
        part.map(move |v| v ^ mask)
    }

    /// What every stage does.
    #[inline(always)]
    pub fn stage(v: u64) -> u64 {
        v.wrapping_mul(3).wrapping_add(1)
    }

    /// Takes the messages `part` through every stage to `check`, all in one loop as one would write it: a single stage is no loop within it.
    #[inline(always)]
    pub fn add_all(&self, part: Range<u64>, check: &mut Check) {
        let source = Self::source(part);
        match self.stages {
            1 => source.map(Self::stage).for_each(|v| check.add(v)),
            stages => source.for_each(|v| check.add((0..stages).fold(v, |v, _| Self::stage(v)))),
        }
    }

    /// What a source message has become at the sink.
    fn through(&self, v: u64) -> u64 {
        (0..self.stages).fold(v, |v, _| Self::stage(v))
    }

    /// A check for a sink that gets the messages `part`, in order.
    pub fn check(&self, part: Range<u64>) -> Check {
        let step = self.through(1).wrapping_sub(self.through(0));
        Check { sum: 0, next: self.through(part.start), step, end: self.through(part.end) }
    }

    /// Looks whether `checks`, one for each part, saw every message in its place.
    pub fn verify(&self, checks: &[Check]) -> Result<(), BoxError> {
        if checks.iter().any(|check| check.next != check.end) {
            return Err(format!("not as many messages arrived as were sent, {}", self.messages).into());
        }
        let sum = checks.iter().fold(0_u64, |sum, check| sum.wrapping_add(check.sum));
        let first = self.through(0);
        let step = self.through(1).wrapping_sub(first);
        let pairs = u128::from(self.messages) * u128::from(self.messages.saturating_sub(1)) / 2;
        let right = first.wrapping_mul(self.messages).wrapping_add(step.wrapping_mul(pairs as u64));
        match sum == right {
            true => Ok(()),
            false => Err(format!("the sum is {sum}, not {right}: messages changed or out of order").into()),
        }
    }
}

/// What the sink of a [`Chain`] does with each message: sums it, and compares it with the one that belongs there.
///
/// Stages are affine, so the message that belongs there is one addition away. A message in another's place adds twice the
/// bits in which the two differ, which is more than their difference, so that the sum comes out wrong. That leaves two
/// words that change with each message: the check must stay cheap where a sink keeps it behind a reference.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Check {
    sum: u64,
    next: u64,
    step: u64,
    end: u64,
}

impl Check {
    /// Takes the next message.
    #[inline(always)]
    pub fn add(&mut self, v: u64) {
        self.sum = self.sum.wrapping_add(v).wrapping_add((v ^ self.next) << 1);
        self.next = self.next.wrapping_add(self.step);
    }
}

/// Sum, count and an order-sensitive sum of 64-bit words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Digest {
    sum: u64,
    ordered: u64,
    count: u64,
}

impl Digest {
    /// Takes the next word.
    #[inline(always)]
    pub fn add(&mut self, word: u64) {
        self.sum = self.sum.wrapping_add(word);
        self.ordered = self.ordered.wrapping_add(word.wrapping_mul(2 * self.count + 1));
        self.count += 1;
    }

    /// Looks whether it took the words of `right`, in the same order if `ordered`.
    pub fn verify(&self, right: &Digest, ordered: bool) -> Result<(), BoxError> {
        if self.count != right.count {
            return Err(format!("{} messages arrived, not {}", self.count, right.count).into());
        }
        if self.sum != right.sum {
            return Err(format!("the sum is {:#x}, not {:#x}", self.sum, right.sum).into());
        }
        if ordered && self.ordered != right.ordered {
            return Err("the sum is right, but messages arrived out of order".into());
        }
        Ok(())
    }
}

impl FromIterator<u64> for Digest {
    fn from_iter<I: IntoIterator<Item = u64>>(words: I) -> Self {
        let mut digest = Digest::default();
        words.into_iter().for_each(|word| digest.add(word));
        digest
    }
}

/// One FIR stage: 16 taps rising and falling, scaled to a gain of one so that any number of stages stays in range.
///
/// The sum runs in four lanes in a fixed order, so that every contender gets the same bits.
#[derive(Clone, Debug, Default)]
pub struct Fir {
    // Every sample is stored twice, 16 apart, so that the last 16 are always contiguous.
    delay: [f64; 2 * Fir::TAPS],
    at: usize,
}

impl Fir {
    /// Length of the filter.
    pub const TAPS: usize = 16;
    const COEFFICIENTS: [f64; Fir::TAPS] = {
        let mut coefficients = [0.0; Fir::TAPS];
        let mut tap = 0;
        while tap < Fir::TAPS {
            let rank = if tap < 8 { tap + 1 } else { Fir::TAPS - tap };
            coefficients[tap] = rank as f64 * 0.1 / 7.2;
            tap += 1;
        }
        coefficients
    };

    /// Takes a sample, gives the filtered one. Inlined wherever it is called, so that no contender pays for a call that others do not.
    #[inline(always)]
    pub fn step(&mut self, sample: f64) -> f64 {
        self.at = (self.at + Self::TAPS - 1) % Self::TAPS;
        self.delay[self.at] = sample;
        self.delay[self.at + Self::TAPS] = sample;
        let window = &self.delay[self.at..self.at + Self::TAPS];
        let mut lanes = [0.0; 4];
        for (samples, taps) in window.chunks_exact(4).zip(Self::COEFFICIENTS.chunks_exact(4)) {
            for lane in 0..4 {
                lanes[lane] += samples[lane] * taps[lane];
            }
        }
        (lanes[0] + lanes[2]) + (lanes[1] + lanes[3])
    }
}

/// A chain of [`Fir`] stages over `f64`.
#[derive(Clone, Copy, Debug)]
pub struct FirChain {
    /// What the source sends.
    pub samples: u64,
    /// Stages between source and sink.
    pub stages: usize,
}

impl FirChain {
    /// Pseudo-random whole numbers from 0 to 999.
    pub fn source(&self) -> impl Iterator<Item = f64> + Clone + Send + use<> {
        (0..self.samples).map(|n| (mix(n) % 1000) as f64)
    }

    /// The filters, at rest.
    pub fn filters(&self) -> Vec<Fir> {
        vec![Fir::default(); self.stages]
    }

    /// What the sink should see: all filters in turn for each sample.
    pub fn reference(&self) -> Digest {
        let mut filters = self.filters();
        self.source().map(|sample| filters.iter_mut().fold(sample, |s, fir| fir.step(s)).to_bits()).collect()
    }
}

/// A farm: a source counts up, four workers do [`Farm::work`], a sink takes the results.
#[derive(Clone, Copy, Debug)]
pub struct Farm {
    /// What the source sends: 0, 1, 2 and so on.
    pub messages: u64,
}

impl Farm {
    /// Workers of the 1:4:1 shape, whatever the number of CPUs.
    pub const WORKERS: usize = 4;
    /// Dependent steps for each message; 0.8 us at 3 GHz. What it really takes is the figure of the sequential contender.
    pub const ROUNDS: u32 = 480;

    /// A chain of dependent multiplications: shift and multiply do not commute, so no compiler shortens it.
    #[inline]
    pub fn work(v: u64) -> u64 {
        (0..Self::ROUNDS).fold(v, |v, _| (v ^ (v >> 29)).wrapping_mul(0xBF58_476D_1CE4_E5B9).wrapping_add(1))
    }

    /// What the sink should see.
    pub fn reference(&self) -> Digest {
        (0..self.messages).map(Self::work).collect()
    }
}

/// Messages that are quick at first and then turn slow: for whoever deals out work by what it cost before.
#[derive(Clone, Copy, Debug)]
pub struct Turning {
    /// How many slow ones there are; a hundred times as many quick ones come first.
    pub slow: u64,
}

impl Turning {
    /// Workers, whatever the number of CPUs: the slow messages sleep.
    pub const WORKERS: usize = 4;
    /// What a slow message takes.
    pub const PAUSE: Duration = Duration::from_millis(2);

    /// How many there are.
    pub fn messages(&self) -> u64 {
        101 * self.slow
    }

    /// What is done to each message.
    pub fn work(&self, message: u64) -> u64 {
        if message >= 100 * self.slow {
            std::thread::sleep(Self::PAUSE);
        }
        message
    }

    /// Looks whether what came is right and in order.
    pub fn verify(&self, digest: &Digest) -> Result<(), BoxError> {
        digest.verify(&(0..self.messages()).collect(), true)
    }
}

/// Generated text, always the same, in chunks that end at line ends.
#[derive(Debug)]
pub struct Text {
    bytes: Vec<u8>,
    chunks: Vec<Range<usize>>,
    matches: u64,
}

impl Text {
    /// The word that is counted.
    pub const TERM: &'static str = "thalweg";
    /// No chunk is longer.
    pub const CHUNK: usize = 64 << 10;
    // Long enough that repeating it brings nothing back into a cache.
    const PATTERN: usize = 8 << 20;

    /// `size` bytes of text.
    pub fn new(size: usize) -> Self {
        let pattern = Self::pattern(size.min(Self::PATTERN));
        let mut bytes = Vec::with_capacity(size);
        while bytes.len() < size {
            let part = pattern.len().min(size - bytes.len());
            bytes.extend_from_slice(&pattern[..part]);
        }
        let mut chunks = Vec::new();
        let mut start = 0;
        while start < bytes.len() {
            let end = (start + Self::CHUNK).min(bytes.len());
            let cut = memchr::memrchr(b'\n', &bytes[start..end]).filter(|_| end < bytes.len());
            let end = cut.map_or(end, |line_end| start + line_end + 1);
            chunks.push(start..end);
            start = end;
        }
        let matches = memchr::memmem::find_iter(&bytes, Self::TERM).count() as u64;
        Self { bytes, chunks, matches }
    }

    /// Lines of made-up words, the term once in about two thousand.
    fn pattern(size: usize) -> Vec<u8> {
        const LETTERS: &[u8] = b"etaoinshrdlcumwfgypbvk";
        let word = |number: u64| -> Vec<u8> {
            let length = 2 + mix(number) % 9;
            let letter = |at: u64| LETTERS[(mix(number * 16 + at) % LETTERS.len() as u64) as usize];
            (0..length).map(letter).collect()
        };
        let words: Vec<Vec<u8>> = (0..4096).map(word).collect();
        let mut text = Vec::with_capacity(size + 64);
        let mut draw = 0;
        while text.len() < size {
            draw += 1;
            let random = mix(draw ^ 0x7468_616C);
            match random % 2000 {
                0 => text.extend_from_slice(Self::TERM.as_bytes()),
                // Squaring favours the first words, as languages do.
                _ => text.extend_from_slice(&words[(((random >> 32) * (random >> 32)) >> 52) as usize]),
            }
            text.push(if draw % 12 == 0 { b'\n' } else { b' ' });
        }
        text.truncate(size);
        text
    }

    /// Length in bytes.
    pub fn size(&self) -> usize {
        self.bytes.len()
    }

    /// How many chunks there are.
    pub fn chunk_count(&self) -> usize {
        self.chunks.len()
    }

    /// The chunks in order.
    pub fn chunks(&self) -> impl ExactSizeIterator<Item = &[u8]> + Clone {
        self.chunks.iter().map(|range| &self.bytes[range.clone()])
    }

    /// How often the term occurs in `chunk`.
    pub fn count(finder: &memchr::memmem::Finder<'_>, chunk: &[u8]) -> u64 {
        finder.find_iter(chunk).count() as u64
    }

    /// A finder for the term.
    pub fn finder() -> memchr::memmem::Finder<'static> {
        memchr::memmem::Finder::new(Self::TERM)
    }

    /// Looks whether `matches` is right.
    pub fn verify(&self, matches: u64) -> Result<(), BoxError> {
        match matches == self.matches {
            true => Ok(()),
            false => Err(format!("{matches} matches were counted, not {}", self.matches).into()),
        }
    }
}

/// A message of the trickle.
#[derive(Clone, Copy, Debug)]
pub struct Stamped {
    number: u64,
    sent: Instant,
}

/// One message every millisecond from a thread outside, and when each arrived.
#[derive(Debug)]
pub struct Trickle {
    messages: u64,
    delays: Mutex<Vec<u64>>,
    sender: Mutex<Duration>,
}

/// What a trickle gave.
#[derive(Clone, Debug)]
pub struct Trickled {
    /// Nanoseconds from the sending thread to the sink, sorted.
    pub delays: Vec<u64>,
    /// What all of it took.
    pub timing: Timing,
    /// CPU time of the thread outside that sends: it sleeps, wakes, sends, and wakes whoever receives.
    pub sender: Duration,
}

impl Trickle {
    /// Time between messages.
    pub const PERIOD: Duration = Duration::from_millis(1);

    /// A trickle of `messages` messages.
    pub fn new(messages: u64) -> Self {
        Self { messages, delays: Mutex::new(Vec::with_capacity(messages as usize)), sender: Mutex::default() }
    }

    /// Sends them all through `send`, each at its time.
    pub fn drive<E: Into<BoxError>>(&self, mut send: impl FnMut(Stamped) -> Result<(), E>) -> Result<(), BoxError> {
        let (before, start) = (thread_cpu_time(), Instant::now());
        for number in 0..self.messages {
            let due = start + Self::PERIOD * (number as u32 + 1);
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
            send(Stamped { number, sent: Instant::now() }).map_err(Into::into)?;
        }
        *self.sender.lock().expect("no holder panics") = thread_cpu_time().saturating_sub(before);
        Ok(())
    }

    /// Takes a message at the sink.
    pub fn arrived(&self, message: Stamped) -> Result<(), BoxError> {
        let delay = message.sent.elapsed().as_nanos() as u64;
        let mut delays = self.delays.lock().expect("no holder panics");
        if message.number != delays.len() as u64 {
            return Err(format!("message {} arrived in the place of {}", message.number, delays.len()).into());
        }
        delays.push(delay);
        Ok(())
    }

    /// What it gave, if every message arrived.
    pub fn outcome(self, timing: Timing) -> Result<Trickled, BoxError> {
        let mut delays = self.delays.into_inner().expect("no holder panics");
        if delays.len() as u64 != self.messages {
            return Err(format!("{} messages arrived, not {}", delays.len(), self.messages).into());
        }
        delays.sort_unstable();
        let sender = self.sender.into_inner().expect("no holder panics");
        Ok(Trickled { delays, timing, sender })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHAIN: Chain = Chain { messages: 1000, stages: 30 };

    fn sink(chain: Chain, messages: impl IntoIterator<Item = u64>) -> Result<(), BoxError> {
        let mut check = chain.check(0..chain.messages);
        messages.into_iter().for_each(|v| check.add(chain.through(v)));
        chain.verify(&[check])
    }

    #[test]
    fn a_chain_accepts_every_message_in_its_place() {
        sink(CHAIN, 0..1000).unwrap();
        sink(Chain { messages: 16, stages: 1 }, 0..16).unwrap();
        let mut parts = [CHAIN.check(0..300), CHAIN.check(300..1000)];
        (0..300).for_each(|v| parts[0].add(CHAIN.through(v)));
        (300..1000).for_each(|v| parts[1].add(CHAIN.through(v)));
        CHAIN.verify(&parts).unwrap();
    }

    #[test]
    fn a_chain_refuses_lost_doubled_changed_and_reordered_messages() {
        let wrong = |messages: Vec<u64>| sink(CHAIN, messages).unwrap_err().to_string();
        assert_eq!(wrong((0..999).collect()), "not as many messages arrived as were sent, 1000");
        let mut doubled: Vec<u64> = (0..1000).collect();
        doubled[7] = 6;
        assert!(wrong(doubled).starts_with("the sum is "));
        let mut swapped: Vec<u64> = (0..1000).collect();
        swapped.swap(500, 501);
        assert!(wrong(swapped).ends_with("messages changed or out of order"));
    }

    #[test]
    fn a_digest_tells_order_only_when_asked() {
        let right: Digest = [1, 2, 3].into_iter().collect();
        let swapped: Digest = [2, 1, 3].into_iter().collect();
        swapped.verify(&right, false).unwrap();
        assert!(swapped.verify(&right, true).is_err());
        assert!([1, 2].into_iter().collect::<Digest>().verify(&right, false).is_err());
        assert!([1, 2, 4].into_iter().collect::<Digest>().verify(&right, false).is_err());
    }

    #[test]
    fn a_fir_stage_is_the_textbook_sum() {
        let input: Vec<f64> = FirChain { samples: 100, stages: 1 }.source().collect();
        let mut fir = Fir::default();
        for n in 0..input.len() {
            let textbook: f64 = (0..Fir::TAPS.min(n + 1)).map(|tap| Fir::COEFFICIENTS[tap] * input[n - tap]).sum();
            assert!((fir.step(input[n]) - textbook).abs() < 1e-9);
        }
        assert!((Fir::COEFFICIENTS.iter().sum::<f64>() - 1.0).abs() < 1e-12);
    }

    #[test]
    fn text_is_cut_at_line_ends_and_loses_nothing() {
        for size in [0, 1, 1000, Text::CHUNK + 1, 3 << 20] {
            let text = Text::new(size);
            assert_eq!(text.chunks().map(<[u8]>::len).sum::<usize>(), size);
            assert!(text.chunks().all(|chunk| chunk.len() <= Text::CHUNK));
            let last = text.chunk_count().saturating_sub(1);
            assert!(text.chunks().take(last).all(|chunk| chunk.ends_with(b"\n")));
            let finder = Text::finder();
            text.verify(text.chunks().map(|chunk| Text::count(&finder, chunk)).sum()).unwrap();
        }
        let text = Text::new(3 << 20);
        assert!(text.matches > 50, "the term occurs: {}", text.matches);
        assert!(text.verify(text.matches + 1).is_err());
    }

    #[test]
    fn a_trickle_refuses_gaps() {
        let trickle = Trickle::new(2);
        trickle.arrived(Stamped { number: 0, sent: Instant::now() }).unwrap();
        assert!(trickle.arrived(Stamped { number: 2, sent: Instant::now() }).is_err());
        assert_eq!(trickle.outcome(Timing::default()).unwrap_err().to_string(), "1 messages arrived, not 2");
    }
}
