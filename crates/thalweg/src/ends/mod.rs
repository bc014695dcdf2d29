//! The ends of a graph that lie outside of it: what other threads and tasks push into, and what they take from.
//!
//! Each end has a queue, and a [`Lid`](crate::control::lid::Lid) on it that both sides see. The queue is never closed by the end of a run, since the graph may run
//! again: the lid is shut, and opened by the next run.
//!
//! # Invariants
//!
//! - L1 of the lid: nobody sleeps under a lid that is shut.
//! - **L2** The kernel behind an inlet is rung for after each push, each failure, and when a handle has left; that behind an outlet when there is
//!   room for it again, if it waits, and when a handle has left (W2).

pub(crate) mod blocking;
mod call;
pub(crate) mod inlet;
pub(crate) mod outlet;
pub(crate) mod polled;
pub(crate) mod polled_sink;
pub(crate) mod run_async;
#[cfg(feature = "stream")]
pub(crate) mod stream;
pub(crate) mod task;

use crate::control::Control;
use thalweg_sync::sync::Arc;

/// Rings when it is dropped: whoever stands behind the last end of its kind has to know.
#[derive(Clone)]
struct RingOnDrop(Arc<Control>);

impl Drop for RingOnDrop {
    fn drop(&mut self) {
        self.0.bell.ring();
    }
}
