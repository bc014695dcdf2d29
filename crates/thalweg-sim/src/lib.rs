//! A simulated many-core machine that runs thalweg's concurrent code.
#![cfg(not(loom))]
#![allow(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "an engine stands behind the facade, so it must not use it: it would watch itself"
)]

mod protocol;
mod topology;

pub use topology::Distance;
