//! The kinds of channel beside the queues for streams of items: one value, the latest value, and what chooses between several.
#![cfg(not(loom))]

mod any;
mod broadcast;
mod bytes;
mod ends;
mod fixed;
mod oneshot;
mod panics;
mod rendezvous;
mod select;
mod select_errors;
#[path = "../queues/support.rs"]
#[allow(dead_code, reason = "shared with the tests of the queues")]
mod support;
mod table;
mod unbounded;
mod watch;
mod wrappers;
