//! The writing end.

use super::memory::GRANULE;
use super::mode::{Messages, Mode, RetryNew};
use super::{PushBytesError, PushBytesTimeoutError};
#[cfg(feature = "std")]
use crate::wait::Sleep;
use crate::wait::{self, Deadline, Ordinary, Side, Wait, is_over, or_hand_on};
use core::fmt;
use thalweg_sync::sync::Arc;
#[cfg(feature = "std")]
use thalweg_sync::time::{self, Duration};

/// A writing end. Clones write to the same queue; dropping the last one closes it, and consumers drain what is left.
///
/// A handle that is leaked (`mem::forget`) counts as alive for ever.
pub struct Producer<W: Wait = Ordinary, M: Mode = RetryNew> {
    pub(super) ring: Arc<M::Ring<W>>,
}

impl<W: Wait, M: Mode> Producer<W, M> {
    pub(super) fn new(ring: Arc<M::Ring<W>>) -> Self {
        Self { ring }
    }

    /// Pushes a copy of `message`, or says why not.
    #[inline]
    pub fn try_push(&self, message: &[u8]) -> Result<(), PushBytesError> {
        self.ring.push(message, || ())
    }

    /// Pushes a copy of `message`, waiting while there is no room. Refuses with `Closed` or `TooLarge`.
    pub fn push(&self, message: &[u8]) -> Result<(), PushBytesError> {
        self.wait_for(message.len(), None, || self.try_push(message)).map_err(never_late)
    }

    /// Pushes a copy of `message`, waiting while there is no room, but no longer than `timeout`.
    #[cfg(feature = "std")]
    pub fn push_timeout(&self, message: &[u8], timeout: Duration) -> Result<(), PushBytesTimeoutError> {
        self.wait_for(message.len(), Some(time::now().after(timeout)), || self.try_push(message))
    }

    pub(super) fn wait_for<R>(
        &self,
        bytes: usize,
        deadline: Option<Deadline>,
        mut push: impl FnMut() -> Result<R, PushBytesError>,
    ) -> Result<R, PushBytesTimeoutError> {
        let wait = self.ring.common().wait;
        loop {
            match or_hand_on(&mut &*wait, |wait| wait.notify(Side::Room, 1, || true), |_| push()) {
                Ok(done) => {
                    // A consumer that gave a block back may have woken this thread alone.
                    wait.notify(Side::Room, 1, || self.ring.may_push(0));
                    return Ok(done);
                }
                Err(PushBytesError::Full | PushBytesError::Busy) => {}
                Err(refused) => return Err(PushBytesTimeoutError::Refused(refused)),
            }
            if deadline.is_some_and(is_over) || !wait.wait(Side::Room, deadline, || self.ring.may_push(bytes)) {
                return Err(PushBytesTimeoutError::Timeout);
            }
        }
    }

    /// How many bytes the messages take that are pushed and not popped, lately: each rounded up to a multiple of 16, what is left
    /// over at the ends of blocks, and what write grants have reserved. What a grant gives up counts while
    /// something is in the queue before it. Exact when nobody else uses the queue.
    pub fn len(&self) -> usize {
        self.ring.len() * GRANULE
    }

    /// Whether `len` is zero.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many bytes the largest message may have: those of a block.
    pub fn max_message(&self) -> usize {
        self.ring.common().shape.entries * GRANULE
    }

    /// How many bytes all blocks have.
    pub fn capacity(&self) -> usize {
        self.ring.common().shape.capacity() * GRANULE
    }

    /// Whether a push of `bytes` bytes would be refused now for want of room.
    pub fn is_full(&self, bytes: usize) -> bool {
        !self.ring.may_push(bytes)
    }

    /// Whether every consumer is gone. Then it stays so, and every push is refused.
    pub fn is_closed(&self) -> bool {
        self.ring.common().handles.consumers_gone()
    }
}

impl<W: Wait, M: Mode> Producer<W, M> {
    wait::closed! { |end| end.ring.common().wait; W: Sleep }
}

crate::handles::counted! {
    [W: Wait, M: Mode] Producer<W, M>;
    [W: Wait, M: Mode] super::Consumer<W, M>;
    |end| end.ring.common().handles, end.ring.common().wait
}
crate::handles::downgrade! { [W: Wait, M: Mode] Producer<W, M>, ring, |end| end.ring.common().handles.producers }
crate::handles::downgrade! { [W: Wait, M: Mode] super::Consumer<W, M>, ring, |end| end.ring.common().handles.consumers }

#[cfg(feature = "std")]
impl<W: Wait, M: Mode> Producer<W, M> {
    /// Pushes a copy of `message`, pending while there is no room. Dropped before it is ready, it has pushed nothing.
    ///
    /// ```
    /// use futures_executor::block_on;
    /// use thalweg_queue::{Park, bytes};
    ///
    /// let (tx, rx) = bytes::with_wait(2, 64, Park::new())?;
    /// block_on(tx.push_async(b"hello"))?;
    /// let mut message = Vec::new();
    /// assert_eq!(block_on(rx.pop_async(&mut message)), Ok(5));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// Without [`Park`](crate::Park) it is refused, and the compiler says what to take:
    ///
    /// ```compile_fail,E0277
    /// let (tx, _rx) = thalweg_queue::bytes::with_wait(2, 64, thalweg_queue::Yield)?;
    /// let _ = tx.push_async(b"hello");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn push_async(&self, message: &[u8]) -> impl Future<Output = Result<(), PushBytesError>>
    where
        W: Sleep,
    {
        self.pending_for(|| self.try_push(message))
    }

    pub(super) fn pending_for<R>(
        &self,
        mut push: impl FnMut() -> Result<R, PushBytesError>,
    ) -> impl Future<Output = Result<R, PushBytesError>>
    where
        W: Sleep,
    {
        let attempt = move || match push() {
            Err(PushBytesError::Full | PushBytesError::Busy) => None,
            done => Some(done),
        };
        wait::until(self.ring.common().wait.park(), Side::Room, attempt, || self.ring.may_push(0))
    }
}

/// Without a deadline there is no timeout.
pub(super) fn never_late(refused: PushBytesTimeoutError) -> PushBytesError {
    match refused {
        PushBytesTimeoutError::Refused(refused) => refused,
        PushBytesTimeoutError::Timeout => PushBytesError::Full,
    }
}

impl<W: Wait, M: Mode> Clone for Producer<W, M> {
    fn clone(&self) -> Self {
        self.ring.common().handles.producers.add();
        Self { ring: self.ring.clone() }
    }
}

impl<W: Wait, M: Mode> Drop for Producer<W, M> {
    fn drop(&mut self) {
        let common = self.ring.common();
        if common.handles.leave_producer() {
            common.wait.notify_all();
        }
    }
}

impl<W: Wait, M: Mode> fmt::Debug for Producer<W, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Producer")
            .field("len", &self.len())
            .field("capacity", &self.capacity())
            .field("closed", &self.is_closed())
            .finish_non_exhaustive()
    }
}
