//! Threads: started, joined, pinned.

pub use std::thread::{JoinHandle, Scope, ScopedJoinHandle, scope, spawn, yield_now};

/// How many threads this process may run at once: affinity masks and cgroup quotas count.
pub fn available_parallelism() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}
