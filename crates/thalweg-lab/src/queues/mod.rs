//! The experiments on single queues, one file each.

pub mod batch;
mod contenders;
pub mod figures;
pub mod growth;
pub mod item;
pub mod latency;
mod limits;
mod one_to_one;
pub mod pool;
pub mod rtt;
pub mod shared;
mod stamps;
pub mod stealing;
pub mod unbalanced;
pub mod wait;
