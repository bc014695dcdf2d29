//! The experiments on single queues, one file each.

pub mod pool;
pub mod stealing;
