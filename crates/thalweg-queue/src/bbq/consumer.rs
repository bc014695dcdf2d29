//! The reading end of the shared queue.

use super::shared::Shared;
use crate::TryPopError;
use crate::wait::{Wait, Yield};
use alloc::vec::Vec;
use core::fmt;
use thalweg_sync::atomic::Ordering::{AcqRel, Relaxed};
use thalweg_sync::sync::Arc;

/// A reading end. Clones read from the same queue; when the last one is dropped, pushes fail from then on and what
/// is in the queue is dropped.
///
/// A handle that is leaked (`mem::forget`) counts as alive for ever.
pub struct Consumer<T: Send, W: Wait = Yield> {
    pub(super) shared: Arc<Shared<T, W>>,
}

impl<T: Send, W: Wait> Consumer<T, W> {
    pub(super) fn new(shared: Arc<Shared<T, W>>) -> Self {
        Self { shared }
    }

    /// Pops the oldest item, or says why not.
    ///
    /// - `Empty`: every item is taken.
    /// - `Busy`: a push is half-way, and items behind it, if any, have to wait for it.
    /// - `Closed`: every producer is gone and the queue is drained.
    #[inline]
    pub fn try_pop(&self) -> Result<T, TryPopError> {
        self.last_look(|| self.shared.pop())
    }

    /// Pops the oldest item and its position in the queue's order.
    ///
    /// Positions count from 0 without gaps, but for entries that were reserved and not pushed: the n-th item has position n, whoever
    /// pops it. Whoever
    /// pops draws a ticket, so to say, by which results can be put in order again. A position is a `u64` and wraps
    /// at its end.
    ///
    /// ```
    /// let (tx, rx) = thalweg_queue::bbq::shared(2, 8)?;
    /// for word in ["tick", "tock"] {
    ///     tx.push(word)?;
    /// }
    /// let other = rx.clone();
    /// assert_eq!(rx.try_pop_numbered()?, (0, "tick"));
    /// assert_eq!(other.try_pop_numbered()?, (1, "tock"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn try_pop_numbered(&self) -> Result<(u64, T), TryPopError> {
        self.last_look(|| self.shared.pop_numbered())
    }

    /// Pops by `pop`. A producer may have pushed after it looked and before it left, so it looks again before this says `Closed`.
    #[inline(always)]
    pub(super) fn last_look<R>(&self, mut pop: impl FnMut() -> Result<R, TryPopError>) -> Result<R, TryPopError> {
        match pop() {
            Err(TryPopError::Empty) if self.shared.producers_gone() => pop().map_err(|_| TryPopError::Closed),
            result => result,
        }
    }

    /// Pops what is there, up to `limit` items, onto the end of `into`. Returns how many: at least one, unless `limit` is zero.
    ///
    /// Those of one block stood one behind the other in the queue; between blocks others may have popped.
    pub fn try_pop_many(&self, into: &mut Vec<T>, limit: usize) -> Result<usize, TryPopError> {
        self.pop_all(limit, |done| {
            let items = self.shared.pop_batch(limit - done)?;
            let count = items.len();
            into.extend(items);
            Ok(count)
        })
    }

    /// Moves what is there into `into`, from the first place on, dropping what was in those places. Returns how many: at least
    /// one, unless `into` is empty. Otherwise as [`try_pop_many`](Self::try_pop_many).
    pub fn try_pop_slice(&self, into: &mut [T]) -> Result<usize, TryPopError> {
        self.pop_all(into.len(), |done| {
            #[cfg(not(loom))]
            if !core::mem::needs_drop::<T>() {
                return self.shared.pop_into(&mut into[done..]);
            }
            let places = into[done..].iter_mut();
            let items = self.shared.pop_batch(places.len())?;
            Ok(places.zip(items).map(|(place, item)| *place = item).count())
        })
    }

    /// Pops up to `limit` items by `pop`, which is told how many there are already and pops one or more of one block.
    #[inline]
    fn pop_all(
        &self,
        limit: usize,
        mut pop: impl FnMut(usize) -> Result<usize, TryPopError>,
    ) -> Result<usize, TryPopError> {
        let mut popped = 0;
        while popped < limit {
            match self.last_look(|| pop(popped)) {
                Ok(count) => popped += count,
                Err(refused) if popped == 0 => return Err(refused),
                Err(_) => break,
            }
        }
        Ok(popped)
    }

    fn may_pop(&self) -> bool {
        self.shared.may_pop()
    }

    fn strategy(&self) -> &W {
        &self.shared.wait
    }

    /// How many items are pushed and not popped, lately. Exact when nobody else uses the queue.
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

    /// Whether every producer is gone. Then it stays so; items may still be left.
    pub fn is_closed(&self) -> bool {
        self.shared.producers_gone()
    }
}

impl<T: Send, W: Wait> Clone for Consumer<T, W> {
    fn clone(&self) -> Self {
        // Relaxed: this handle keeps the count above zero meanwhile.
        self.shared.handles.consumers.fetch_add(1, Relaxed);
        Self { shared: self.shared.clone() }
    }
}

impl<T: Send, W: Wait> Drop for Consumer<T, W> {
    fn drop(&mut self) {
        // AcqRel: the consumer that leaves last comes after the others. What is left after its last look is dropped
        // by `Shared`.
        if self.shared.handles.consumers.fetch_sub(1, AcqRel) == 1 {
            self.shared.wait.ring_all();
            while let Ok(item) = self.shared.pop() {
                drop(item);
            }
        }
    }
}

impl<T: Send, W: Wait> fmt::Debug for Consumer<T, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Consumer").field("len", &self.len()).field("capacity", &self.capacity()).finish_non_exhaustive()
    }
}

crate::wait::consumer!(shared batches Consumer[T: Send]);
