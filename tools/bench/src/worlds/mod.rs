//! The worlds that a figure runs in: the machine at hand, or a modelled one.
//!
//! A figure is a plan of [points](point::Point), and a point is a client of the facade, which runs in either. What differs is here: who computes,
//! where threads are put, and what is near.

pub(crate) mod experiment;
#[cfg(feature = "native")]
pub(crate) mod here;
pub(crate) mod point;

use std::hint::black_box;

#[expect(clippy::disallowed_types, reason = "what a modelled machine does not have goes past it")]
use std::sync::atomic::AtomicU64 as OnHost;
use std::sync::atomic::Ordering::Relaxed;

use thalweg_sim::Machine;
use thalweg_sync::hint::Access;
use thalweg_sync::{hint, thread};

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

/// Memory that threads hand on, of which only the moves count: what is in it does not matter.
pub(crate) struct Memory(Vec<OnHost>);

impl Memory {
    /// So many words of 8 bytes.
    pub(crate) fn new(words: usize) -> Self {
        Self(std::iter::repeat_with(OnHost::default).take(words).collect())
    }

    pub(crate) fn words(&self) -> usize {
        self.0.len()
    }

    /// Reads or writes so many words from `word` on.
    #[track_caller]
    pub(crate) fn touch(&self, word: usize, words: usize, access: Access) {
        let touched = &self.0[word..word + words];
        if !thread::is_native() {
            return hint::touch(touched.as_ptr().cast(), size_of_val(touched), access);
        }
        // Each line once. Relaxed: nothing is said by it.
        for word in touched.iter().step_by(8) {
            match access {
                Access::Read => _ = black_box(word.load(Relaxed)),
                Access::Write => word.store(1, Relaxed),
            }
        }
    }
}

/// A count that all threads add to, and that a modelled machine does not have.
#[derive(Default)]
pub(crate) struct Tally(OnHost);

impl Tally {
    pub(crate) fn add(&self, more: u64) {
        self.0.fetch_add(more, Relaxed);
    }

    /// So many by now; all of them once those that count have been joined.
    pub(crate) fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }
}
