//! Atomics with explicit orderings.

pub use core::sync::atomic::{
    AtomicBool, AtomicI64, AtomicPtr, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence,
};

/// A statistic: one thread adds, any thread may read a recent value.
///
/// No engine sees it, so it must never decide anything.
#[derive(Debug, Default)]
pub struct Counter(core::sync::atomic::AtomicU64);

impl Counter {
    /// A counter at zero.
    pub const fn new() -> Self {
        Self(core::sync::atomic::AtomicU64::new(0))
    }

    /// Adds `n`. Only the thread that owns the counter may call this: it is a load and a store, not a read-modify-write.
    #[inline(always)]
    pub fn add(&self, n: u64) {
        self.0.store(self.get().wrapping_add(n), Ordering::Relaxed);
    }

    /// A recent value.
    #[inline(always)]
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// Sets the value.
    #[inline(always)]
    pub fn set(&self, n: u64) {
        self.0.store(n, Ordering::Relaxed);
    }
}
