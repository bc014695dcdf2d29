//! Queues for handing messages between threads, each usable alone.
#![cfg_attr(not(feature = "std"), no_std)]
extern crate alloc;

pub mod bbq;
#[cfg(not(loom))]
mod edges;
#[cfg(loom)]
#[doc(hidden)]
pub mod edges;
mod error;
pub mod fast_forward;
mod prefetch;

pub use error::{BuildError, PopError, PushError, TryPopError, TryPushError};
pub use fast_forward::fast_forward;
