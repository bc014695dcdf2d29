//! The experiments on user-level threads, one file each.

mod go;
pub mod parallel;
pub mod stacks;
pub mod table3;
