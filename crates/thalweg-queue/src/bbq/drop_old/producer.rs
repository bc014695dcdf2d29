//! The writing end.

use super::Plain;
use super::ring::Ring;
use crate::TryPushError;
use crate::wait::{Wait, Yield};
use core::fmt;
use thalweg_sync::sync::Arc;

/// A writing end. Clones write to the same queue; dropping the last one closes it, and consumers drain what is left.
///
/// A handle that is leaked (`mem::forget`) counts as alive for ever.
pub struct Producer<T: Plain, W: Wait = Yield> {
    ring: Arc<Ring<T, W>>,
}

impl<T: Plain, W: Wait> Producer<T, W> {
    pub(super) fn new(ring: Arc<Ring<T, W>>) -> Self {
        Self { ring }
    }

    /// Pushes, overwriting the oldest block if there is no room, or says why not.
    ///
    /// - `Busy`: another push into the oldest block is still half-way, after a whole round.
    /// - `Closed`: every consumer is gone. A push while the last one leaves may still succeed.
    ///
    /// Never `Full`.
    #[inline]
    pub fn try_push(&self, value: T) -> Result<(), TryPushError<T>> {
        self.ring.push(&value).map_err(|refused| refused.with_value(value))
    }

    fn may_push(&self) -> bool {
        self.ring.may_push() || self.ring.handles.consumers_gone()
    }

    fn strategy(&self) -> &W {
        &self.ring.wait
    }

    /// How many items are pushed, and neither popped nor overwritten, lately. Exact when nobody else uses the queue.
    pub fn len(&self) -> usize {
        self.ring.len()
    }

    /// Whether `len` is zero.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many entries all blocks have. As few as `capacity - entries` items are kept, as blocks are overwritten whole.
    pub fn capacity(&self) -> usize {
        self.ring.shape.capacity()
    }

    /// Whether every consumer is gone. Then it stays so, and every push is refused.
    pub fn is_closed(&self) -> bool {
        self.ring.handles.consumers_gone()
    }
}

impl<T: Plain, W: Wait> Clone for Producer<T, W> {
    fn clone(&self) -> Self {
        self.ring.handles.add_producer();
        Self { ring: self.ring.clone() }
    }
}

impl<T: Plain, W: Wait> Drop for Producer<T, W> {
    fn drop(&mut self) {
        if self.ring.handles.leave_producer() {
            self.ring.wait.ring_all();
        }
    }
}

impl<T: Plain, W: Wait> fmt::Debug for Producer<T, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Producer").field("len", &self.len()).field("capacity", &self.capacity()).finish_non_exhaustive()
    }
}

crate::wait::producer!(shared Producer[T: Plain]);
