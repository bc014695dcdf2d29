//! The writing end.

use super::Plain;
use super::ring::Ring;
use crate::TryPushError;
use crate::wait::{Ordinary, Wait};
use alloc::vec::Vec;
use core::fmt;
use thalweg_sync::sync::Arc;

/// A writing end. Clones write to the same queue; dropping the last one closes it, and consumers drain what is left.
///
/// A handle that is leaked (`mem::forget`) counts as alive for ever.
pub struct Producer<T: Plain, W: Wait = Ordinary> {
    ring: Arc<Ring<T, W>>,
}

impl<T: Plain, W: Wait> Producer<T, W> {
    pub(crate) fn new(ring: Arc<Ring<T, W>>) -> Self {
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

    /// Copies as many of `values` as it can, from the first on. Returns how many: all of them, unless it is refused on the way.
    ///
    /// Those of one block stand one behind the other in the queue; between blocks others may come in.
    ///
    /// ```
    /// let (tx, rx) = thalweg_queue::overwriting::drop_old(2, 4)?;
    /// assert_eq!(tx.try_push_slice(&[1, 2, 3, 4, 5, 6, 7, 8, 9]), Ok(9)); // the first block is overwritten
    /// let mut left = Vec::new();
    /// assert_eq!(rx.try_pop_many(&mut left, 10), Ok(5));
    /// assert_eq!(left, [5, 6, 7, 8, 9]);
    /// # Ok::<(), thalweg_queue::BuildError>(())
    /// ```
    pub fn try_push_slice(&self, values: &[T]) -> Result<usize, TryPushError<()>> {
        let mut left = values;
        while !left.is_empty() {
            match self.ring.push_batch(left) {
                Ok(count) => left = &left[count..],
                Err(refused) if left.len() == values.len() => return Err(refused),
                Err(_) => break,
            }
        }
        Ok(values.len() - left.len())
    }

    /// Moves as many of `values` as it can into the queue. Otherwise as [`try_push_slice`](Self::try_push_slice).
    pub fn try_push_many(&self, values: &mut Vec<T>) -> Result<usize, TryPushError<()>> {
        self.try_push_slice(values).inspect(|&count| drop(values.drain(..count)))
    }

    fn may_push(&self) -> bool {
        self.ring.cursors.may_push(1) || self.ring.cursors.handles.consumers_gone()
    }

    fn strategy(&self) -> &W {
        &self.ring.cursors.wait
    }

    /// How many items are pushed, and neither popped nor overwritten, lately. Exact when nobody else uses the queue.
    pub fn len(&self) -> usize {
        self.ring.cursors.len()
    }

    /// Whether `len` is zero.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many entries all blocks have. As few as `capacity - entries` items are kept, as blocks are overwritten whole.
    pub fn capacity(&self) -> usize {
        self.ring.cursors.shape.capacity()
    }

    /// Whether every consumer is gone. Then it stays so, and every push is refused.
    pub fn is_closed(&self) -> bool {
        self.ring.cursors.handles.consumers_gone()
    }
}

impl<T: Plain, W: Wait> Clone for Producer<T, W> {
    fn clone(&self) -> Self {
        self.ring.cursors.handles.producers.add();
        Self { ring: self.ring.clone() }
    }
}

impl<T: Plain, W: Wait> Drop for Producer<T, W> {
    fn drop(&mut self) {
        if self.ring.cursors.handles.leave_producer() {
            self.ring.cursors.wait.notify_all();
        }
    }
}

impl<T: Plain, W: Wait> fmt::Debug for Producer<T, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Producer").field("len", &self.len()).field("capacity", &self.capacity()).finish_non_exhaustive()
    }
}

crate::handles::counted! {
    [T: Plain, W: Wait] Producer<T, W>;
    [T: Plain, W: Wait] super::Consumer<T, W>;
    |end| end.ring.cursors.handles, end.ring.cursors.wait
}
crate::handles::downgrade! { [T: Plain, W: Wait] Producer<T, W>, ring, |end| end.ring.cursors.handles.producers }
crate::wait::producer!(shared batches (Producer [T] [] T [T: Plain]));
