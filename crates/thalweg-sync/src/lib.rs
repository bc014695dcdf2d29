//! The facade: every line of concurrent code in thalweg goes through this crate.
//!
//! In an ordinary build everything here is the standard library, inlined away.
#![cfg_attr(not(feature = "std"), no_std)]
extern crate alloc;

pub mod atomic;
pub mod cell;
pub mod hint;
mod pad;
#[cfg(feature = "std")]
pub mod park;
pub mod spin;
#[cfg(feature = "std")]
pub mod sync;
#[cfg(feature = "std")]
pub mod thread;
#[cfg(feature = "std")]
pub mod time;

pub use pad::CachePadded;
