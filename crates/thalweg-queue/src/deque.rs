//! Items in a ring of memory that is used under a lock.

use crate::drops::Drops;
use crate::{BuildError, memory};
use alloc::collections::VecDeque;
use core::fmt;
use core::mem::{ManuallyDrop, needs_drop};

/// Items, the oldest in front. Those that are left are dropped where they lie, each of them whichever of the others panics.
pub(crate) struct Deque<T>(VecDeque<ManuallyDrop<T>>);

impl<T> Deque<T> {
    /// An empty one with room for `capacity` items.
    pub(crate) fn new(capacity: usize) -> Result<Self, BuildError> {
        Ok(Self(memory::room(capacity)?.into()))
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn push(&mut self, value: T) {
        self.0.push_back(ManuallyDrop::new(value));
    }

    pub(crate) fn pop(&mut self) -> Option<T> {
        self.0.pop_front().map(ManuallyDrop::into_inner)
    }

    /// All items with their memory, to be dropped after a lock is given back. None is moved.
    pub(crate) fn take(&mut self) -> Self {
        Self(core::mem::take(&mut self.0))
    }
}

impl<T> Drop for Deque<T> {
    fn drop(&mut self) {
        let mut drops = Drops::default();
        if needs_drop::<T>() {
            // SAFETY: each is dropped once, and not used any more.
            self.0.iter_mut().for_each(|item| drops.one(|| unsafe { ManuallyDrop::drop(item) }));
        }
    }
}

impl<T> fmt::Debug for Deque<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Deque").field("len", &self.len()).finish_non_exhaustive()
    }
}
