//! The lab: experiments that measure thalweg against its peers, on this machine, in one run.
//!
//! ```text
//! cargo lab list
//! cargo lab run streams/pipe3 --quick
//! cargo lab run streams/ --json figures.json --svg figures.svg
//! ```
//!
//! An experiment is one file in [`streams`] or [`queues`] and one line in [`registry`]. What it computes is in [`workloads`], so that
//! every contender does the same work and every run is checked; who computes it is in [`ours`] and [`peers`]. The
//! [`harness`] lets contenders take turns, run by run, so that a drifting machine hits all of them.
#![allow(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "peers are written with the standard library, not with the facade"
)]

pub mod chart;
mod cli;
pub mod cores;
mod curves;
pub mod harness;
pub mod machine;
pub mod ours;
pub mod peers;
pub mod queues;
mod reached;
pub mod records;
pub mod registry;
mod scale;
pub mod streams;
pub mod table;
pub mod workloads;

pub use cli::run;
