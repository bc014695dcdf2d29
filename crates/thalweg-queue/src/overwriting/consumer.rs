//! The reading end.

use super::Plain;
use super::ring::Ring;
use crate::TryPopError;
use crate::wait::{Ordinary, Wait};
use alloc::vec::Vec;
use core::fmt;
use core::mem::MaybeUninit;
use thalweg_sync::sync::Arc;

/// A reading end. Clones read from the same queue; when the last one is dropped, pushes fail from then on.
///
/// A handle that is leaked (`mem::forget`) counts as alive for ever.
pub struct Consumer<T: Plain, W: Wait = Ordinary> {
    pub(super) ring: Arc<Ring<T, W>>,
}

impl<T: Plain, W: Wait> Consumer<T, W> {
    pub(crate) fn new(ring: Arc<Ring<T, W>>) -> Self {
        Self { ring }
    }

    /// Pops the oldest item that survives, or says why not.
    ///
    /// - `Empty`: every item is taken, or passed over.
    /// - `Busy`: a push is half-way, and items behind it, if any, have to wait for it.
    /// - `Closed`: every producer is gone and the queue is drained.
    ///
    /// While producers overwrite the ring faster than an item is read, it tries again and again: each time a whole round was pushed
    /// meanwhile.
    #[inline]
    pub fn try_pop(&self) -> Result<T, TryPopError> {
        self.try_pop_numbered().map(|(_, value)| value)
    }

    /// Pops the oldest item that survives, and its position: how many items were pushed before it, popped or not. So a gap between two
    /// positions is what was overwritten, or what other consumers have popped.
    ///
    /// Positions wrap when the number of blocks does, which has at least 32 bits: 43 in blocks of less than 2^20 entries.
    #[inline]
    pub fn try_pop_numbered(&self) -> Result<(u64, T), TryPopError> {
        let (place, value) = self.ring.cursors.handles.last_look(|| self.ring.pop())?;
        Ok((self.ring.cursors.shape.position(place), value))
    }

    /// Pops what is there, up to `limit` items, onto the end of `into`. Returns how many: at least one, unless `limit` is zero.
    ///
    /// Of one block up to 1024 bytes of items are popped at once, and others pop or overwrite between.
    pub fn try_pop_many(&self, into: &mut Vec<T>, limit: usize) -> Result<usize, TryPopError> {
        self.pop_batch(limit, |_, items| into.extend_from_slice(items))
    }

    /// Moves what is there into `into`, from the first place on. Returns how many: at least one, unless `into` is empty. Otherwise as
    /// [`try_pop_many`](Self::try_pop_many).
    pub fn try_pop_slice(&self, into: &mut [T]) -> Result<usize, TryPopError> {
        self.pop_batch(into.len(), |done, items| into[done..done + items.len()].copy_from_slice(items))
    }

    /// Copies what is there into `into`, which need not hold anything before, from the first place on. Returns how many places are
    /// written: at least one, unless `into` is empty. Otherwise as [`try_pop_many`](Self::try_pop_many).
    ///
    /// ```
    /// use std::mem::MaybeUninit;
    ///
    /// let (tx, rx) = thalweg_queue::overwriting::drop_old(2, 4)?;
    /// assert_eq!(tx.try_push_slice(&[1, 2, 3]), Ok(3));
    /// let mut places = [MaybeUninit::<i32>::uninit(); 8];
    /// assert_eq!(rx.try_pop_uninit(&mut places), Ok(3));
    /// // SAFETY: so many are written.
    /// let popped = places[..3].iter().map(|place| unsafe { place.assume_init() });
    /// assert!(popped.eq([1, 2, 3]));
    /// # Ok::<(), thalweg_queue::BuildError>(())
    /// ```
    pub fn try_pop_uninit(&self, into: &mut [MaybeUninit<T>]) -> Result<usize, TryPopError> {
        self.pop_batch(into.len(), |done, items| {
            for (place, &item) in into[done..].iter_mut().zip(items) {
                place.write(item);
            }
        })
    }

    /// Hands up to `limit` items to `take`, some at a time, with the count of those that came before.
    fn pop_batch(&self, limit: usize, mut take: impl FnMut(usize, &[T])) -> Result<usize, TryPopError> {
        let mut popped = 0;
        while popped < limit {
            let pop = || self.ring.pop_batch(limit - popped, |items| take(popped, items));
            match self.ring.cursors.handles.last_look(pop) {
                Ok(count) => popped += count,
                Err(refused) if popped == 0 => return Err(refused),
                Err(_) => break,
            }
        }
        Ok(popped)
    }

    /// How many items all consumers together have found overwritten and passed over, so far. What is overwritten is counted when a
    /// consumer comes to it, not before.
    pub fn dropped(&self) -> u64 {
        self.ring.cursors.dropped()
    }

    fn may_pop(&self) -> bool {
        self.ring.cursors.may_pop() || self.ring.cursors.handles.producers_gone()
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

    /// Never: a push overwrites.
    pub fn is_full(&self) -> bool {
        false
    }

    /// Whether every producer is gone. Then it stays so; items may still be left.
    pub fn is_closed(&self) -> bool {
        self.ring.cursors.handles.producers_gone()
    }
}

impl<T: Plain, W: Wait> Clone for Consumer<T, W> {
    fn clone(&self) -> Self {
        self.ring.cursors.handles.consumers.add();
        Self { ring: self.ring.clone() }
    }
}

impl<T: Plain, W: Wait> Drop for Consumer<T, W> {
    fn drop(&mut self) {
        if self.ring.cursors.handles.leave_consumer() {
            self.ring.cursors.wait.notify_all();
        }
    }
}

impl<T: Plain, W: Wait> fmt::Debug for Consumer<T, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Consumer")
            .field("len", &self.len())
            .field("dropped", &self.dropped())
            .field("capacity", &self.capacity())
            .finish_non_exhaustive()
    }
}

crate::handles::downgrade! { [T: Plain, W: Wait] Consumer<T, W>, ring, |end| end.ring.cursors.handles.consumers }
crate::wait::consumer!(shared batches (Consumer [T] [] T [T: Plain] is_full));
