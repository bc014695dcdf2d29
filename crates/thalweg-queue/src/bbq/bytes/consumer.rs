//! The reading end.

#[cfg(not(loom))]
use super::grant::ReadGrant;
#[cfg(loom)]
use super::memory::granules;
use super::ring::Ring;
use crate::wait::{Deadline, Side, Wait, Yield};
use crate::{PopError, PopTimeoutError, TryPopError};
use alloc::vec::Vec;
use core::fmt;
use thalweg_sync::sync::Arc;
#[cfg(feature = "std")]
use thalweg_sync::time::{self, Duration};

/// A reading end. Clones read from the same queue; when the last one is dropped, pushes fail from then on.
///
/// A handle that is leaked (`mem::forget`) counts as alive for ever.
pub struct Consumer<W: Wait = Yield> {
    pub(super) ring: Arc<Ring<W>>,
}

impl<W: Wait> Consumer<W> {
    pub(super) fn new(ring: Arc<Ring<W>>) -> Self {
        Self { ring }
    }

    /// Pops the oldest message to the end of `into`, and says how many bytes it has, or why there is none.
    ///
    /// - `Empty`: every message is taken.
    /// - `Busy`: a push is half-way, and messages behind it, if any, have to wait for it.
    /// - `Closed`: every producer is gone and the queue is drained.
    #[inline]
    pub fn try_pop(&self, into: &mut Vec<u8>) -> Result<usize, TryPopError> {
        #[cfg(not(loom))]
        {
            let message = self.readable()?;
            into.extend_from_slice(&message);
            Ok(message.len())
        }
        #[cfg(loom)]
        {
            let (place, bytes) = self.take()?;
            // SAFETY: taken a moment ago, and given back below (V2).
            unsafe { self.ring.memory.read(self.ring.granule(place), bytes, into) };
            self.ring.consume(place, granules(bytes));
            Ok(bytes)
        }
    }

    /// Pops the oldest message to the end of `into`, waiting while there is none. Returns how many bytes it has.
    pub fn pop(&self, into: &mut Vec<u8>) -> Result<usize, PopError> {
        self.wait_for(None, || self.try_pop(into)).map_err(|_| PopError)
    }

    /// Pops the oldest message to the end of `into`, waiting while there is none, but no longer than `timeout`.
    #[cfg(feature = "std")]
    pub fn pop_timeout(&self, into: &mut Vec<u8>, timeout: Duration) -> Result<usize, PopTimeoutError> {
        self.wait_for(Some(time::now().after(timeout)), || self.try_pop(into))
    }

    /// Pops the oldest message, to be read in place. Its granules are given back when the grant is dropped.
    #[cfg(not(loom))]
    #[inline]
    pub fn readable(&self) -> Result<ReadGrant<'_, W>, TryPopError> {
        let (place, bytes) = self.take()?;
        Ok(ReadGrant::new(&self.ring, place, bytes))
    }

    /// As [`readable`](Self::readable), waiting while there is nothing.
    #[cfg(not(loom))]
    pub fn wait_readable(&self) -> Result<ReadGrant<'_, W>, PopError> {
        self.wait_for(None, || self.readable()).map_err(|_| PopError)
    }

    #[inline]
    fn take(&self) -> Result<(super::super::place::Place, usize), TryPopError> {
        match self.ring.take() {
            // A producer may have pushed after our look and before it left, so look again before saying `Closed`.
            Err(TryPopError::Empty) if self.ring.handles.producers_gone() => {
                self.ring.take().map_err(|_| TryPopError::Closed)
            }
            result => result,
        }
    }

    fn wait_for<R>(
        &self,
        deadline: Option<Deadline>,
        mut pop: impl FnMut() -> Result<R, TryPopError>,
    ) -> Result<R, PopTimeoutError> {
        loop {
            match pop() {
                Ok(done) => {
                    // Several pushes may have woken this thread alone.
                    self.ring.wait.ring(Side::Items, 1, || self.ring.may_pop());
                    return Ok(done);
                }
                Err(TryPopError::Closed) => return Err(PopTimeoutError::Closed),
                Err(TryPopError::Empty | TryPopError::Busy) => {}
            }
            if !self.ring.wait.wait(Side::Items, deadline, || self.ring.may_pop()) {
                return Err(PopTimeoutError::Timeout);
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

    /// Whether every producer is gone. Then it stays so; messages may still be left.
    pub fn is_closed(&self) -> bool {
        self.ring.handles.producers_gone()
    }
}

impl<W: Wait> Clone for Consumer<W> {
    fn clone(&self) -> Self {
        self.ring.handles.add_consumer();
        Self { ring: self.ring.clone() }
    }
}

impl<W: Wait> Drop for Consumer<W> {
    fn drop(&mut self) {
        if self.ring.handles.leave_consumer() {
            self.ring.wait.ring_all();
        }
    }
}

impl<W: Wait> fmt::Debug for Consumer<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Consumer")
            .field("capacity", &self.capacity())
            .field("closed", &self.is_closed())
            .finish_non_exhaustive()
    }
}
