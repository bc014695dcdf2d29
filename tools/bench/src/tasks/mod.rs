//! The experiments on user-level threads and tasks, one file each.

pub mod executor;
pub mod parallel;
pub mod stacks;
