//! What thalweg is compared with. One file for each crate or technique; what they compute is in [`workloads`](crate::workloads).

pub mod cpp;
pub mod crossbeam;
pub mod deques;
pub mod dpdk;
pub mod flume;
pub mod iterators;

pub mod plain;
pub mod rayon;
pub mod rtrb;
pub mod tbb;
pub mod timely;
pub mod tokio;
pub mod vectors;

use crate::harness::BoxError;
use crate::machine::Timing;

/// How long the work took, if its result was right.
pub type Checked = Result<Timing, BoxError>;

/// Capacity of channels and rings that carry single messages.
pub const CAPACITY: usize = 1024;

/// Adds what is true of every contender that hands on single messages over channels or rings of [`CAPACITY`].
pub fn item_params(messages: u64, waits: &str, placement: &str) -> serde_json::Value {
    serde_json::json!({ "messages": messages, "capacity": CAPACITY, "waits": waits, "threads": placement })
}
