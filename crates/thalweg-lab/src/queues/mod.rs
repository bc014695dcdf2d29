//! The experiments on single queues, one file each.

pub mod batch;
mod contenders;
pub mod growth;
pub mod item;
mod limits;
mod one_to_one;
pub mod pool;
pub mod shared;
pub mod stealing;
