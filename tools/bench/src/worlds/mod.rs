//! The worlds that a figure runs in: the machine at hand, or a modelled one.
//!
//! A figure is a plan of [points](point::Point), and a point is a client of the facade, which runs in either. What differs is here: who computes,
//! where threads are put, and what is near.

pub(crate) mod experiment;
#[cfg(feature = "native")]
#[allow(clippy::disallowed_types, clippy::disallowed_methods, reason = "it asks the host for its CPUs and its clock")]
pub(crate) mod here;
#[allow(clippy::disallowed_types, reason = "its atomics are on the host, and no engine is to count them")]
mod memory;
#[cfg(feature = "machines")]
pub(crate) mod pictures;
pub(crate) mod point;
pub(crate) mod seen;

use std::hint::black_box;

pub(crate) use memory::{Memory, Tally};
use thalweg_sim::Machine;
use thalweg_sync::{hint, thread, time};

/// Where a figure runs.
#[derive(Clone, Copy)]
#[cfg_attr(not(feature = "native"), allow(dead_code, reason = "this build has no other"))]
pub(crate) enum World<'a> {
    /// On the machine at hand.
    Here,
    Modelled(&'a Machine),
}

impl World<'_> {
    /// The clock of its cores.
    pub(crate) fn mhz(self) -> u64 {
        match self {
            Self::Modelled(machine) => machine.mhz(),
            #[cfg(feature = "native")]
            Self::Here => here::mhz(),
            #[cfg(not(feature = "native"))]
            Self::Here => unreachable!("it is not in this build"),
        }
    }

    /// The hardware threads that are near to the first one and far from it, the nearest first, with what each shares with it.
    pub(crate) fn neighbours(self) -> Vec<(&'static str, usize)> {
        match self {
            Self::Modelled(machine) => machine.neighbours(),
            #[cfg(feature = "native")]
            Self::Here => here::neighbours(),
            #[cfg(not(feature = "native"))]
            Self::Here => unreachable!("it is not in this build"),
        }
    }
}

/// Keeps this thread on the `cpu`-th of the hardware threads that a figure may use.
pub(crate) fn pin(cpu: usize) {
    #[cfg(feature = "native")]
    if thread::is_native() {
        return here::pin(cpu);
    }
    thread::pin_current(cpu).expect("the machine has this thread");
}

/// Nanoseconds that [`work`] of so many cycles, one of them after the other, takes in the mean. None where it takes just these.
pub(crate) fn nanos_of(cycles: impl FnOnce() -> Vec<u64>) -> Option<f64> {
    const TIMES: usize = 4_000;
    thread::is_native().then(|| {
        let cycles = cycles();
        let start = time::now();
        (0..TIMES).for_each(|turn| work(cycles[turn % cycles.len()]));
        start.elapsed().as_nanos() as f64 / TIMES as f64
    })
}

/// Computes for about so many cycles, without any memory that others see.
#[inline]
#[track_caller]
pub(crate) fn work(cycles: u64) {
    if !thread::is_native() {
        return hint::work(cycles);
    }
    // A multiplication and an exclusive or, each of which waits for the one before.
    let turns = cycles.div_ceil(4);
    black_box((0..turns).fold(black_box(cycles), |x, turn| x.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ turn));
}
