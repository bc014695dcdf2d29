//! What the tests share.

use thalweg_sim::{Heap, Machine};

/// The allocator that makes numbers independent of the host.
pub(crate) const HEAP: Heap = Heap;

pub(crate) fn machine(name: &str) -> Machine {
    Machine::named(name).unwrap_or_else(|error| panic!("{error}"))
}
