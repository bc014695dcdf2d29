//! Memory and counts on the host. A modelled machine sees of them only what a client announces.

use std::hint::black_box;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use thalweg_sync::hint::{self, Access};
use thalweg_sync::thread;

/// Memory that threads hand on, of which only the moves count: what is in it does not matter.
pub(crate) struct Memory(Vec<AtomicU64>);

impl Memory {
    /// So many words of 8 bytes.
    pub(crate) fn new(words: usize) -> Self {
        Self(std::iter::repeat_with(AtomicU64::default).take(words).collect())
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
pub(crate) struct Tally(AtomicU64);

impl Tally {
    pub(crate) fn add(&self, more: u64) {
        self.0.fetch_add(more, Relaxed);
    }

    /// So many by now; all of them once those that count have been joined.
    pub(crate) fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }
}
