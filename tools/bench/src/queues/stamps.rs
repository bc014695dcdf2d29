//! Times as items: what a message carries to say when it was sent.

use std::time::Instant;

use crate::harness::BoxError;

/// A clock that both cores read alike, and cheaply: the processor's counter where there is one that never stops.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    start: Instant,
    /// Nanoseconds of one tick.
    tick: f64,
}

impl Clock {
    /// A clock, whose ticks are compared with the system's for two milliseconds, three times. The middle result counts: who loses the
    /// CPU between two readings is off to one side or the other.
    pub(crate) fn new() -> Self {
        let clock = Self { start: Instant::now(), tick: 1.0 };
        let mut ticks = [(); 3].map(|()| clock.compared());
        ticks.sort_by(f64::total_cmp);
        Self { tick: ticks[1], ..clock }
    }

    /// Nanoseconds of a tick, by the system's clock.
    fn compared(&self) -> f64 {
        let (start, first) = (self.start.elapsed(), self.now());
        let time = loop {
            let time = self.start.elapsed() - start;
            if time.as_micros() >= 2_000 {
                break time;
            }
        };
        time.as_nanos() as f64 / (self.now() - first) as f64
    }

    /// Ticks since some moment; never zero. What stands before it is over: a consumer has its item.
    #[inline(always)]
    pub(crate) fn now(&self) -> u64 {
        #[cfg(target_arch = "x86_64")]
        {
            use core::arch::x86_64::{_mm_lfence, _rdtsc};
            // SAFETY: every processor of this architecture has the fence and the counter. Without the fence the counter may be read before
            // the load that an item comes by.
            unsafe {
                _mm_lfence();
                _rdtsc()
            }
        }
        #[cfg(not(target_arch = "x86_64"))]
        {
            1 + self.start.elapsed().as_nanos() as u64
        }
    }

    /// So many ticks in nanoseconds.
    #[inline(always)]
    pub(crate) fn nanos(&self, ticks: u64) -> u64 {
        (ticks as f64 * self.tick) as u64
    }

    /// So many nanoseconds in ticks.
    pub(crate) fn ticks(&self, nanos: f64) -> u64 {
        (nanos / self.tick) as u64
    }
}

/// Room for so many numbers, in memory that is touched already.
pub(crate) fn touched(numbers: u64) -> Vec<u64> {
    let mut room = vec![1; numbers as usize];
    room.clear();
    room
}

/// Stamps that arrived, and how long each was on its way.
#[derive(Debug)]
pub(crate) struct Stamps {
    delays: Vec<u64>,
    last: u64,
    sum: u64,
    unordered: bool,
}

impl Stamps {
    /// For so many items.
    pub(crate) fn with_capacity(items: u64) -> Self {
        Self { delays: touched(items), last: 0, sum: 0, unordered: false }
    }

    pub(crate) fn count(&self) -> u64 {
        self.delays.len() as u64
    }

    #[inline(always)]
    pub(crate) fn take(&mut self, stamp: u64, now: u64) {
        self.unordered |= stamp < self.last;
        self.last = stamp;
        self.sum = self.sum.wrapping_add(stamp);
        // The counters of two cores may differ by some ticks.
        self.delays.push(now.saturating_sub(stamp));
    }

    /// The delays in nanoseconds, sorted, if the stamps came in order and their sum is that of those `sent`.
    pub(crate) fn delays(self, sent: u64, clock: &Clock) -> Result<Vec<u64>, BoxError> {
        if self.unordered || self.sum != sent {
            return Err(format!("stamps lost or out of order: their sum is {}, not {sent}", self.sum).into());
        }
        let mut delays = self.delays;
        delays.iter_mut().for_each(|delay| *delay = clock.nanos(*delay));
        delays.sort_unstable();
        Ok(delays)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_and_nanoseconds_are_one_time() {
        let clock = Clock::new();
        // Once in twenty: the machine may be at other work between two readings.
        let agree = (0..20).any(|_| {
            let (ticks, time) = (clock.now(), Instant::now());
            std::thread::sleep(std::time::Duration::from_millis(20));
            let (ticks, time) = (clock.now() - ticks, time.elapsed().as_nanos() as f64);
            (clock.nanos(ticks) as f64 / time - 1.0).abs() < 0.2
        });
        assert!(agree);
        assert!((clock.nanos(clock.ticks(1e6)) as f64 / 1e6 - 1.0).abs() < 0.01);
    }

    #[test]
    fn lost_and_swapped_stamps_are_found_out() {
        let clock = Clock { start: Instant::now(), tick: 1.0 };
        let arrived = |stamps: &[u64]| {
            let mut arrived = Stamps::with_capacity(3);
            stamps.iter().for_each(|&stamp| arrived.take(stamp, 10));
            arrived.delays(1 + 2 + 5, &clock)
        };
        assert_eq!(arrived(&[1, 2, 5]).unwrap(), [5, 8, 9]);
        assert!(arrived(&[1, 2]).is_err());
        assert!(arrived(&[2, 1, 5]).is_err());
    }
}
