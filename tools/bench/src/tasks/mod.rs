//! The experiments on user-level threads and tasks, one file each.

pub mod executor;
mod go;
pub mod http;
pub mod parallel;
pub mod stacks;
pub mod table3;
