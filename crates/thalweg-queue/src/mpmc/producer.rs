//! The writing end where producers may be many.

use super::shared::Shared;
use super::users::{Many, Users};
use crate::TryPushError;
use crate::share::Share;
use crate::wait::{Ordinary, Wait};
#[cfg(feature = "alloc")]
use alloc::vec::Vec;
use core::fmt;

/// A writing end. Clones write to the same queue; dropping the last one closes it, and consumers drain what is left.
///
/// `C` is how many consumers there are. A handle that is leaked (`mem::forget`) counts as alive for ever.
pub struct Producer<T, W: Wait = Ordinary, C: Users = Many> {
    pub(crate) shared: Share<Shared<T, W, Many, C>>,
}

impl<T, W: Wait, C: Users> Producer<T, W, C> {
    pub(crate) fn new(shared: Share<Shared<T, W, Many, C>>) -> Self {
        Self { shared }
    }

    /// Pushes, or says why not and gives the value back.
    ///
    /// - `Full`: at least `(blocks - 1) * entries + 1` pushed items are still waiting for a pop to begin.
    /// - `Busy`: room depends only on pops that have begun and not ended. Never where there is one consumer.
    /// - `Closed`: every consumer is gone. A push while the last one leaves may still succeed; its item is dropped
    ///   with the queue.
    #[inline(always)]
    pub fn try_push(&self, value: T) -> Result<(), TryPushError<T>> {
        self.shared.push::<false>(value)
    }

    #[inline(always)]
    fn push_patiently(&self, value: T) -> Result<(), TryPushError<T>> {
        self.shared.push::<true>(value)
    }

    /// Copies as many of `values` as there is room for, from the first on. Returns how many: at least one, unless there are none.
    ///
    /// Those of one block stand one behind the other in the queue; between blocks others may come in.
    ///
    /// ```
    /// let (tx, rx) = thalweg_queue::mpmc::shared(2, 4)?;
    /// assert_eq!(tx.try_push_slice(&[1; 10]), Ok(8));
    /// assert!(tx.try_push_slice(&[1; 2]).is_err());
    /// # Ok::<(), thalweg_queue::BuildError>(())
    /// ```
    pub fn try_push_slice(&self, values: &[T]) -> Result<usize, TryPushError<()>>
    where
        T: Copy,
    {
        self.shared.push_slice(values)
    }

    /// Moves as many of `values` as there is room for into the queue, from the first on. Returns how many: at least one, unless
    /// there are none. Otherwise as [`try_push_slice`](Self::try_push_slice).
    #[cfg(feature = "alloc")]
    pub fn try_push_many(&self, values: &mut Vec<T>) -> Result<usize, TryPushError<()>> {
        self.shared.push_many(values)
    }

    fn may_push(&self) -> bool {
        self.shared.may_push() || self.shared.consumers_gone()
    }

    fn strategy(&self) -> &W {
        &self.shared.wait
    }

    /// How many items are pushed and not popped, lately. Exact when nobody else uses the queue and no write grant was given up, in whole or
    /// in part. The entries of an open one count, and those that it leaves without an item, until a pop has passed them: till then
    /// `is_empty` is false, though `try_pop` may say `Empty`.
    pub fn len(&self) -> usize {
        self.shared.len()
    }

    /// Whether `len` is zero.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many entries all blocks have. As few as `capacity - entries + 1` items may fill the queue, as blocks are
    /// reused whole.
    pub fn capacity(&self) -> usize {
        self.shared.layout.capacity()
    }

    /// Whether every consumer is gone. Then it stays so, and every push is refused.
    pub fn is_closed(&self) -> bool {
        self.shared.consumers_gone()
    }
}

impl<T, W: Wait, C: Users> Clone for Producer<T, W, C> {
    fn clone(&self) -> Self {
        self.shared.handles.producers.add();
        Self { shared: self.shared.clone() }
    }
}

impl<T, W: Wait, C: Users> Drop for Producer<T, W, C> {
    fn drop(&mut self) {
        self.shared.leave_producer();
    }
}

impl<T, W: Wait, C: Users> fmt::Debug for Producer<T, W, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Producer").field("len", &self.len()).field("capacity", &self.capacity()).finish_non_exhaustive()
    }
}

crate::handles::counted! {
    [T, W: Wait, C: Users] Producer<T, W, C>;
    [T, W: Wait, P: Users] super::Consumer<T, W, P>;
    |end| end.shared.handles, end.shared.wait
}
crate::handles::downgrade! { [T, W: Wait, C: Users] Producer<T, W, C>, shared, |end| end.shared.handles.producers }
crate::wait::producer!(shared patient (Producer [T] [C] T [T, C: Users]));
