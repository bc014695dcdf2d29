//! What sharing a machine out is worth.

mod application;
pub mod bursts;

pub use application::child;
