//! Latency from one kernel to another, sampled by stamps that travel with blocks.
//!
//! One block in 100 µs gets a stamp when it leaves the first kernel, or is kept there with something in it. Whatever comes of its messages carries it on,
//! and when the other kernel is done with a block that has it, that is a sample. So:
//!
//! - The time that messages wait is in it wherever that is: in blocks that are not full, on edges, for earlier results, in the code of kernels.
//! - Of a message that a filter drops there is no sample. Of one that becomes many there is one for each block in which some of it comes, and where
//!   it is copied one for each way. [`Latency::stamps`] and [`Latency::samples`] say how many left and how many arrived.
//! - A stamp is of a block, so it is off by what lies between the block's first and last message: some 10 µs of a source's work.
//! - What a kernel keeps in its state counts from the block at which it is given, not from those it was made of.
//! - What goes round a cycle has no sample: a stamp ends at the feedback edge.

use crate::block::{Block, Stamp, Stamps};
use crate::json::Object;
use std::fmt;
use thalweg_sync::CachePadded;
use thalweg_sync::atomic::{AtomicU64, Ordering::Relaxed};
use thalweg_sync::time::{Duration, now};

/// Nanoseconds between two stamps of a kernel, at least.
const GAP: u64 = 100_000;
/// Pairs of kernels that are looked at where all were asked for.
pub(crate) const MOST_PAIRS: usize = 64;

/// How long messages took from one kernel to another, as far as that was sampled: see [`Graph::latency`](crate::Graph::latency). Quantiles are exact to
/// 1.6 %; they and the maximum are `None` without a sample.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Latency {
    /// From which kernel to which: indices into the list of kernels beside it.
    pub ends: (usize, usize),
    /// Blocks that got a stamp at the first one.
    pub stamps: u64,
    /// Arrivals at the other.
    pub samples: u64,
    /// Of all samples.
    pub sum: Duration,
    /// The median.
    pub p50: Option<Duration>,
    /// Nine in ten took no longer.
    pub p90: Option<Duration>,
    /// 99 in a hundred took no longer.
    pub p99: Option<Duration>,
    /// 999 in a thousand took no longer.
    pub p999: Option<Duration>,
    /// The longest.
    pub max: Option<Duration>,
}

impl Latency {
    /// The quantiles by name.
    pub fn quantiles(&self) -> [(&'static str, Option<Duration>); 4] {
        [("0.5", self.p50), ("0.9", self.p90), ("0.99", self.p99), ("0.999", self.p999)]
    }

    pub(crate) fn write_json(&self, object: &mut Object<'_>) {
        let nanos = |time: Option<Duration>| time.map(|time| time.as_nanos() as u64);
        object.raw("from", self.ends.0).raw("to", self.ends.1);
        object.raw("stamps", self.stamps).raw("samples", self.samples).raw("sum_ns", self.sum.as_nanos());
        object.maybe("p50_ns", nanos(self.p50)).maybe("p90_ns", nanos(self.p90)).maybe("p99_ns", nanos(self.p99));
        object.maybe("p999_ns", nanos(self.p999)).maybe("max_ns", nanos(self.max));
    }
}

/// What is looked at in a run.
pub(crate) struct Probes {
    /// When each kernel gave its last stamp, and how many it gave; of those that give any.
    origins: Vec<Option<CachePadded<Origin>>>,
    pairs: Vec<Pair>,
}

#[derive(Default)]
struct Origin {
    last: AtomicU64,
    stamps: AtomicU64,
}

struct Pair {
    ends: (usize, usize),
    times: Histogram,
}

impl Probes {
    /// For a graph of so many kernels. `None` if there is nothing to look at.
    pub(crate) fn new(kernels: usize, pairs: Vec<(usize, usize)>) -> Option<Box<Self>> {
        if pairs.is_empty() {
            return None;
        }
        let is_origin = |kernel| pairs.iter().any(|pair| pair.0 == kernel);
        let origins = (0..kernels).map(|kernel| is_origin(kernel).then(CachePadded::default)).collect();
        let pairs = pairs.into_iter().map(|ends| Pair { ends, times: Histogram::default() }).collect();
        Some(Box::new(Self { origins, pairs }))
    }

    pub(crate) fn pairs(&self) -> Vec<(usize, usize)> {
        self.pairs.iter().map(|pair| pair.ends).collect()
    }

    /// Something of `kernel` is in this block, and comes of what has the stamps `carried`.
    pub(crate) fn stamp(&self, kernel: usize, block: &mut Block, carried: &Stamps) {
        if !carried.is_empty() {
            block.stamps_mut().add_all(carried);
        }
        let Some(origin) = &self.origins[kernel] else { return };
        if block.stamps_mut().iter().any(|stamp| stamp.kernel == kernel) {
            return;
        }
        let time = now().as_nanos();
        // Relaxed, as all here: of two workers that come at once both may give one.
        if time >= origin.last.load(Relaxed) + GAP {
            origin.last.store(time, Relaxed);
            origin.stamps.fetch_add(1, Relaxed);
            block.stamps_mut().add(Stamp { kernel, time });
        }
    }

    /// `kernel` is done with a block that had these stamps. `note` gets the number of the pair, and when that began and ended.
    pub(crate) fn arrive(&self, kernel: usize, stamps: &Stamps, mut note: impl FnMut(usize, u64, u64)) {
        let mut end = None;
        for stamp in stamps.iter() {
            let here = |pair: &(usize, &Pair)| pair.1.ends == (stamp.kernel, kernel);
            for (number, pair) in self.pairs.iter().enumerate().filter(here) {
                let end = *end.get_or_insert_with(|| now().as_nanos());
                pair.times.add(end.saturating_sub(stamp.time));
                note(number, stamp.time, end);
            }
        }
    }

    pub(crate) fn latencies(&self) -> Vec<Latency> {
        let stamps = |kernel: usize| self.origins[kernel].as_ref().map_or(0, |origin| origin.stamps.load(Relaxed));
        // Arrivals first: no more than what had left then.
        self.pairs.iter().map(|pair| pair.times.latency(pair.ends, || stamps(pair.ends.0))).collect()
    }
}

impl fmt::Debug for Probes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.pairs.iter().map(|pair| pair.ends)).finish()
    }
}

/// Bits of a value that are kept: what shares them is one bucket.
const BITS: u32 = 6;
/// Values from here on, 73 minutes, are one bucket.
const LONGEST: u64 = 1 << 42;
const BUCKETS: usize = bucket(LONGEST) + 1;

/// How often each value came: exact to one part in 64, from a nanosecond on (an HDR histogram).
struct Histogram {
    buckets: Box<[AtomicU64]>,
    sum: AtomicU64,
    max: AtomicU64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self {
            buckets: (0..BUCKETS).map(|_| AtomicU64::new(0)).collect(),
            sum: AtomicU64::new(0),
            max: AtomicU64::new(0),
        }
    }
}

const fn bucket(value: u64) -> usize {
    if value < 2 << BITS {
        return value as usize;
    }
    let shift = value.ilog2() - BITS;
    ((shift as usize) << BITS) + (value >> shift) as usize
}

/// The largest value of a bucket.
const fn largest(bucket: usize) -> u64 {
    if bucket < 2 << BITS {
        return bucket as u64;
    }
    let shift = (bucket >> BITS) - 1;
    (((bucket - (shift << BITS)) as u64 + 1) << shift) - 1
}

impl Histogram {
    fn add(&self, value: u64) {
        self.buckets[bucket(value.min(LONGEST))].fetch_add(1, Relaxed);
        self.sum.fetch_add(value, Relaxed);
        self.max.fetch_max(value, Relaxed);
    }

    fn latency(&self, ends: (usize, usize), stamps: impl Fn() -> u64) -> Latency {
        let counts: Vec<_> = self.buckets.iter().map(|count| count.load(Relaxed)).collect();
        let (samples, max) = (counts.iter().sum::<u64>(), self.max.load(Relaxed));
        let quantile = |thousandths: u64| {
            // The rank of the one that so many are no larger than, from 1.
            let rank = (u128::from(samples) * u128::from(thousandths)).div_ceil(1000) as u64;
            let mut seen = 0;
            let found = counts.iter().position(|count| {
                seen += count;
                seen >= rank
            });
            found.filter(|_| samples > 0).map(|bucket| Duration::from_nanos(largest(bucket).min(max)))
        };
        Latency {
            ends,
            stamps: stamps(),
            samples,
            sum: Duration::from_nanos(self.sum.load(Relaxed)),
            p50: quantile(500),
            p90: quantile(900),
            p99: quantile(990),
            p999: quantile(999),
            max: (samples > 0).then(|| Duration::from_nanos(max)),
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_is_exact_to_a_part_in_64_and_none_is_left_out() {
        for exponent in 0..42 {
            for value in [1_u64 << exponent, (1 << exponent) + 1, (2 << exponent) - 1] {
                let largest = largest(bucket(value));
                assert!(largest >= value && (largest - value) * 64 <= value, "{value}: {largest}");
            }
        }
        for index in 0..BUCKETS - 1 {
            assert_eq!((bucket(largest(index)), bucket(largest(index) + 1)), (index, index + 1));
        }
    }

    #[test]
    fn quantiles_are_those_of_the_sorted_values() {
        let histogram = Histogram::default();
        let none = histogram.latency((0, 1), || 3);
        assert_eq!((none.stamps, none.samples, none.p50, none.max), (3, 0, None, None));
        // Squares, so that they are not evenly spread; in an order of no meaning.
        (0..10_000_u64).map(|n| n * 7919 % 10_000 + 1).for_each(|n| histogram.add(n * n));
        let all = histogram.latency((0, 1), || 10_000);
        for (thousandths, found) in [(500, all.p50), (900, all.p90), (990, all.p99), (999, all.p999)] {
            let exact = (thousandths * 10_u64).pow(2);
            let found = found.unwrap().as_nanos() as u64;
            assert!(found >= exact && (found - exact) * 64 <= exact, "{thousandths}: {found}, and not {exact}");
        }
        assert_eq!((all.samples, all.max), (10_000, Some(Duration::from_nanos(100_000_000))));
        histogram.add(u64::MAX / 2);
        assert_eq!(histogram.latency((0, 1), || 0).max, Some(Duration::from_nanos(u64::MAX / 2)));
    }
}
