//! The writing end.

#[cfg(not(loom))]
use super::grant::WriteGrant;
use super::memory::{Header, granules};
use super::ring::Ring;
use super::{PushBytesError, PushBytesTimeoutError};
use crate::wait::{Deadline, Side, Wait, Yield};
use core::fmt;
use thalweg_sync::sync::Arc;
#[cfg(feature = "std")]
use thalweg_sync::time::{self, Duration};

/// A writing end. Clones write to the same queue; dropping the last one closes it, and consumers drain what is left.
///
/// A handle that is leaked (`mem::forget`) counts as alive for ever.
pub struct Producer<W: Wait = Yield> {
    pub(super) ring: Arc<Ring<W>>,
}

impl<W: Wait> Producer<W> {
    pub(super) fn new(ring: Arc<Ring<W>>) -> Self {
        Self { ring }
    }

    /// Pushes a copy of `message`, or says why not.
    #[inline]
    pub fn try_push(&self, message: &[u8]) -> Result<(), PushBytesError> {
        let place = self.ring.allocate(message.len())?;
        // SAFETY: allocated a moment ago, for so many bytes, and committed below (V2).
        unsafe { self.ring.memory.write(self.ring.granule(place), message) };
        self.ring.commit(place, Header::Message(message.len()), granules(message.len()));
        Ok(())
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

    /// Reserves a message of `bytes` bytes, to be written in place, or says why not.
    ///
    /// Its place in the order of the queue is taken: consumers wait for it, so write it soon. What the bytes are at first is not said.
    #[cfg(not(loom))]
    #[inline]
    pub fn reserve(&self, bytes: usize) -> Result<WriteGrant<'_, W>, PushBytesError> {
        let place = self.ring.allocate(bytes)?;
        Ok(WriteGrant::new(&self.ring, place, bytes))
    }

    /// As [`reserve`](Self::reserve), waiting while there is no room. Refuses with `Closed` or `TooLarge`.
    #[cfg(not(loom))]
    pub fn wait_reserve(&self, bytes: usize) -> Result<WriteGrant<'_, W>, PushBytesError> {
        self.wait_for(bytes, None, || self.reserve(bytes)).map_err(never_late)
    }

    fn wait_for<R>(
        &self,
        bytes: usize,
        deadline: Option<Deadline>,
        mut push: impl FnMut() -> Result<R, PushBytesError>,
    ) -> Result<R, PushBytesTimeoutError> {
        loop {
            match push() {
                Ok(done) => {
                    // A consumer that gave a block back may have woken this thread alone.
                    self.ring.wait.ring(Side::Room, 1, || self.ring.may_push(0));
                    return Ok(done);
                }
                Err(PushBytesError::Full | PushBytesError::Busy) => {}
                Err(refused) => return Err(PushBytesTimeoutError::Refused(refused)),
            }
            if !self.ring.wait.wait(Side::Room, deadline, || self.ring.may_push(bytes)) {
                return Err(PushBytesTimeoutError::Timeout);
            }
        }
    }

    /// How many bytes the largest message may have: those of a block.
    pub fn max_message(&self) -> usize {
        self.ring.max_message()
    }

    /// How many bytes all blocks have.
    pub fn capacity(&self) -> usize {
        self.ring.shape.blocks * self.ring.max_message()
    }

    /// Whether every consumer is gone. Then it stays so, and every push is refused.
    pub fn is_closed(&self) -> bool {
        self.ring.handles.consumers_gone()
    }
}

/// Without a deadline there is no timeout.
fn never_late(refused: PushBytesTimeoutError) -> PushBytesError {
    match refused {
        PushBytesTimeoutError::Refused(refused) => refused,
        PushBytesTimeoutError::Timeout => PushBytesError::Full,
    }
}

impl<W: Wait> Clone for Producer<W> {
    fn clone(&self) -> Self {
        self.ring.handles.add_producer();
        Self { ring: self.ring.clone() }
    }
}

impl<W: Wait> Drop for Producer<W> {
    fn drop(&mut self) {
        if self.ring.handles.leave_producer() {
            self.ring.wait.ring_all();
        }
    }
}

impl<W: Wait> fmt::Debug for Producer<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Producer")
            .field("capacity", &self.capacity())
            .field("closed", &self.is_closed())
            .finish_non_exhaustive()
    }
}
