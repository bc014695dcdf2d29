//! The names of the ordering edges: [`thalweg_sync::edges`], and the table by which tests weaken those of this crate.

#[cfg(any(loom, feature = "instrument"))]
pub use thalweg_sync::edges::table;
pub(crate) use thalweg_sync::edges::{edge, fenced, in_order};
