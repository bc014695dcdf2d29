//! The reading end where consumers may be many.

use super::shared::Shared;
use super::users::{Many, Users};
use crate::TryPopError;
use crate::share::Share;
use crate::wait::{Ordinary, Wait};
#[cfg(feature = "alloc")]
use alloc::vec::Vec;
use core::fmt;

/// A reading end. Clones read from the same queue; when the last one is dropped, pushes fail from then on and what
/// is in the queue is dropped.
///
/// `P` is how many producers there are. A handle that is leaked (`mem::forget`) counts as alive for ever.
pub struct Consumer<T, W: Wait = Ordinary, P: Users = Many> {
    pub(crate) shared: Share<Shared<T, W, P, Many>>,
}

impl<T, W: Wait, P: Users> Consumer<T, W, P> {
    pub(crate) fn new(shared: Share<Shared<T, W, P, Many>>) -> Self {
        Self { shared }
    }

    /// Pops the oldest item, or says why not.
    ///
    /// - `Empty`: every item is taken.
    /// - `Busy`: a push is half-way, and items behind it, if any, have to wait for it. Never where there is one producer.
    /// - `Closed`: every producer is gone and the queue is drained.
    #[inline(always)]
    pub fn try_pop(&self) -> Result<T, TryPopError> {
        self.shared.pop_to_the_end::<false>()
    }

    #[inline(always)]
    fn pop_patiently(&self) -> Result<T, TryPopError> {
        self.shared.pop_to_the_end::<true>()
    }

    /// Pops the oldest item and its position in the queue's order.
    ///
    /// Positions count from 0 without gaps, but for entries that were reserved and not pushed: the n-th item has position n, whoever
    /// pops it. Whoever
    /// pops draws a ticket, so to say, by which results can be put in order again. A position is a `u64` and wraps
    /// at its end.
    ///
    /// ```
    /// let (tx, rx) = thalweg_queue::mpmc::shared(2, 8)?;
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
        self.shared.last_look(Shared::pop_numbered::<false>)
    }

    /// As [`try_pop_numbered`](Self::try_pop_numbered), for a caller with other work to do while many consumers contend: the call may stand back for
    /// faster consumers.
    #[doc(hidden)]
    pub fn pop_numbered_patiently(&self) -> Result<(u64, T), TryPopError> {
        self.shared.last_look(Shared::pop_numbered::<true>)
    }

    /// Pops what is there, up to `limit` items, onto the end of `into`. Returns how many: at least one, unless `limit` is zero.
    ///
    /// Those of one block stood one behind the other in the queue; between blocks others may have popped.
    #[cfg(feature = "alloc")]
    pub fn try_pop_many(&self, into: &mut Vec<T>, limit: usize) -> Result<usize, TryPopError> {
        self.shared.pop_many(into, limit)
    }

    /// Moves what is there into `into`, from the first place on, dropping what was in those places. Returns how many: at least
    /// one, unless `into` is empty. Otherwise as [`try_pop_many`](Self::try_pop_many).
    pub fn try_pop_slice(&self, into: &mut [T]) -> Result<usize, TryPopError> {
        self.shared.pop_slice(into)
    }

    fn may_pop(&self) -> bool {
        self.shared.may_pop()
    }

    fn strategy(&self) -> &W {
        &self.shared.wait
    }

    /// How many items are pushed and not popped, lately. Exact when nobody else uses the queue and no write grant was given up, in whole or
    /// in part. The entries of an open one count, and those that it leaves without an item, until a pop has passed them: till then
    /// `is_empty` is false, though `try_pop` may say `Empty`. Of [one producer](mod@crate::spmc), grants count when they are
    /// committed.
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

    /// Whether a push would be refused now for want of room.
    pub fn is_full(&self) -> bool {
        !self.shared.may_push()
    }

    /// Whether every producer is gone. Then it stays so; items may still be left.
    pub fn is_closed(&self) -> bool {
        self.shared.producers_gone()
    }
}

impl<T, W: Wait, P: Users> Clone for Consumer<T, W, P> {
    fn clone(&self) -> Self {
        self.shared.handles.consumers.add();
        Self { shared: self.shared.clone() }
    }
}

impl<T, W: Wait, P: Users> Drop for Consumer<T, W, P> {
    fn drop(&mut self) {
        self.shared.leave_consumer();
    }
}

impl<T, W: Wait, P: Users> fmt::Debug for Consumer<T, W, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Consumer").field("len", &self.len()).field("capacity", &self.capacity()).finish_non_exhaustive()
    }
}

crate::handles::downgrade! { [T, W: Wait, P: Users] Consumer<T, W, P>, shared, |end| end.shared.handles.consumers }
crate::wait::consumer!(shared patient (Consumer [T] [P] T [T, P: Users] is_full));
