//! `std::hint` for loops that wait.

pub use std::hint::{black_box, unreachable_unchecked};

/// A step of a loop that waits; see [`yield_now`](super::thread::yield_now).
#[track_caller]
pub fn spin_loop() {
    thalweg_sync::thread::yield_now();
}
