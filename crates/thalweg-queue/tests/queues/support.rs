//! A value that makes a panic.

use thalweg_sync::sync::Arc;

/// Panics when it is dropped, if it is told to; and is counted.
#[allow(dead_code, reason = "the second field is there to be counted")]
pub(crate) struct Bomb(pub(crate) bool, pub(crate) Arc<()>);

impl Drop for Bomb {
    fn drop(&mut self) {
        assert!(!self.0, "boom");
    }
}
