//! The reading end.

use super::PopBytesError;
#[cfg(feature = "std")]
use super::PopBytesTimeoutError;
use super::memory::GRANULE;
use super::mode::{DropOld, Messages, Mode, RetryNew};
#[cfg(feature = "std")]
use crate::wait::{self, Sleep};
use crate::wait::{Deadline, Ordinary, Side, Wait, is_over, or_hand_on};
use crate::{PopError, PopTimeoutError, TryPopError};
use alloc::vec::Vec;
use core::fmt;
use core::mem::MaybeUninit;
use thalweg_sync::sync::Arc;
#[cfg(feature = "std")]
use thalweg_sync::time::{self, Duration};

/// A reading end. Clones read from the same queue; when the last one is dropped, pushes fail from then on.
///
/// A handle that is leaked (`mem::forget`) counts as alive for ever.
pub struct Consumer<W: Wait = Ordinary, M: Mode = RetryNew> {
    pub(super) ring: Arc<M::Ring<W>>,
}

/// Memory with room for any message.
struct Large<'a>(&'a mut [MaybeUninit<u8>]);

/// Bytes, to have messages written over them.
fn as_uninit(into: &mut [u8]) -> &mut [MaybeUninit<u8>] {
    // SAFETY: the same layout, and only bytes that were written are copied there.
    unsafe { &mut *(core::ptr::from_mut(into) as *mut [MaybeUninit<u8>]) }
}

impl<W: Wait, M: Mode> Consumer<W, M> {
    pub(super) fn new(ring: Arc<M::Ring<W>>) -> Self {
        Self { ring }
    }

    /// Pops the oldest message to the end of `into`, and says how many bytes it has, or why there is none.
    ///
    /// - `Empty`: every message is taken.
    /// - `Busy`: a push is half-way, and messages behind it, if any, have to wait for it.
    /// - `Closed`: every producer is gone and the queue is drained.
    #[inline]
    pub fn try_pop(&self, into: &mut Vec<u8>) -> Result<usize, TryPopError> {
        let before = into.len();
        let bytes = self.pop_to(|bytes| {
            into.reserve(bytes);
            into.spare_capacity_mut().as_mut_ptr().cast()
        })?;
        // SAFETY: so many were reserved last, and are written.
        unsafe { into.set_len(before + bytes) };
        Ok(bytes)
    }

    /// Pops the oldest message to the start of `into`, otherwise as [`try_pop`](Self::try_pop).
    ///
    /// `TooSmall` if `into` has no room for [the largest message](Self::max_message): then none is popped.
    pub fn try_pop_slice(&self, into: &mut [u8]) -> Result<usize, PopBytesError> {
        self.try_pop_uninit(as_uninit(into))
    }

    /// Pops the oldest message to the start of `into`, which need not hold anything before: so many bytes of it are written then.
    /// Otherwise as [`try_pop`](Self::try_pop).
    ///
    /// ```
    /// use std::mem::MaybeUninit;
    ///
    /// let (tx, rx) = thalweg_queue::bytes::bytes(2, 64)?;
    /// tx.try_push(b"hello")?;
    /// let mut memory = [MaybeUninit::<u8>::uninit(); 64];
    /// let bytes = rx.try_pop_uninit(&mut memory)?;
    /// // SAFETY: so many are written.
    /// let message = memory[..bytes].iter().map(|byte| unsafe { byte.assume_init() });
    /// assert!(message.eq(*b"hello"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// `TooSmall` as [`try_pop_slice`](Self::try_pop_slice).
    pub fn try_pop_uninit(&self, into: &mut [MaybeUninit<u8>]) -> Result<usize, PopBytesError> {
        let mut into = self.large(into)?;
        Ok(self.pop_to_large(&mut into)?)
    }

    /// `into`, if it has room for any message.
    fn large<'a>(&self, into: &'a mut [MaybeUninit<u8>]) -> Result<Large<'a>, PopBytesError> {
        let (room, needed) = (into.len(), self.max_message());
        if room < needed { Err(PopBytesError::TooSmall { room, needed }) } else { Ok(Large(into)) }
    }

    fn pop_to_large(&self, into: &mut Large<'_>) -> Result<usize, TryPopError> {
        self.pop_to(|_| into.0.as_mut_ptr().cast())
    }

    /// Pops to where `room` says, which is asked for memory for so many bytes, and has it.
    #[inline]
    fn pop_to(&self, mut room: impl FnMut(usize) -> *mut u8) -> Result<usize, TryPopError> {
        // SAFETY: both callers answer with so much.
        self.last_look(|| unsafe { self.ring.pop(&mut room) })
    }

    #[inline]
    pub(super) fn last_look<R>(&self, pop: impl FnMut() -> Result<R, TryPopError>) -> Result<R, TryPopError> {
        self.ring.common().handles.last_look(pop)
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

    pub(super) fn wait_for<R>(
        &self,
        deadline: Option<Deadline>,
        mut pop: impl FnMut() -> Result<R, TryPopError>,
    ) -> Result<R, PopTimeoutError> {
        let wait = self.ring.common().wait;
        loop {
            match or_hand_on(&mut &*wait, |wait| wait.notify(Side::Items, 1, || true), |_| pop()) {
                Ok(done) => {
                    // Several pushes may have woken this thread alone.
                    wait.notify(Side::Items, 1, || self.ring.may_pop());
                    return Ok(done);
                }
                Err(TryPopError::Closed) => return Err(PopTimeoutError::Closed),
                Err(TryPopError::Empty | TryPopError::Busy) => {}
            }
            if deadline.is_some_and(is_over) || !wait.wait(Side::Items, deadline, || self.ring.may_pop()) {
                return Err(PopTimeoutError::Timeout);
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

    /// Pops the oldest message to the start of `into`, waiting while there is none. Returns how many bytes it has.
    ///
    /// Refused with `Closed`, or `TooSmall` as [`try_pop_slice`](Self::try_pop_slice).
    pub fn pop_slice(&self, into: &mut [u8]) -> Result<usize, PopBytesError> {
        self.pop_uninit(as_uninit(into))
    }

    /// As [`pop_slice`](Self::pop_slice), but no longer than `timeout`.
    #[cfg(feature = "std")]
    pub fn pop_slice_timeout(&self, into: &mut [u8], timeout: Duration) -> Result<usize, PopBytesTimeoutError> {
        self.pop_uninit_timeout(as_uninit(into), timeout)
    }

    /// As [`try_pop_uninit`](Self::try_pop_uninit), waiting while there is no message.
    pub fn pop_uninit(&self, into: &mut [MaybeUninit<u8>]) -> Result<usize, PopBytesError> {
        let mut into = self.large(into)?;
        self.wait_for(None, || self.pop_to_large(&mut into)).map_err(|_| PopBytesError::Closed)
    }

    /// As [`pop_uninit`](Self::pop_uninit), but no longer than `timeout`.
    #[cfg(feature = "std")]
    pub fn pop_uninit_timeout(
        &self,
        into: &mut [MaybeUninit<u8>],
        timeout: Duration,
    ) -> Result<usize, PopBytesTimeoutError> {
        let mut into = self.large(into)?;
        Ok(self.wait_for(Some(time::now().after(timeout)), || self.pop_to_large(&mut into))?)
    }

    /// How many bytes the largest message may have: those of a block.
    pub fn max_message(&self) -> usize {
        self.ring.common().shape.entries * GRANULE
    }

    /// How many bytes all blocks have.
    pub fn capacity(&self) -> usize {
        self.ring.common().shape.capacity() * GRANULE
    }

    /// Whether every producer is gone. Then it stays so; messages may still be left.
    pub fn is_closed(&self) -> bool {
        self.ring.common().handles.producers_gone()
    }
}

impl<W: Wait> Consumer<W, DropOld> {
    /// How many bytes all consumers together have found overwritten and passed over, so far: messages as in [`len`](Self::len). What is
    /// overwritten is counted when a consumer comes to it, not before.
    pub fn dropped(&self) -> u64 {
        self.ring.cursors.dropped() * GRANULE as u64
    }
}

#[cfg(feature = "std")]
impl<W: Wait, M: Mode> Consumer<W, M> {
    /// Pops the oldest message to the end of `into`, pending while there is none. Dropped before it is ready, it has popped nothing.
    pub fn pop_async(&self, into: &mut Vec<u8>) -> impl Future<Output = Result<usize, PopError>>
    where
        W: Sleep,
    {
        self.pending_for(|| self.try_pop(into))
    }

    pub(super) fn pending_for<R>(
        &self,
        mut pop: impl FnMut() -> Result<R, TryPopError>,
    ) -> impl Future<Output = Result<R, PopError>>
    where
        W: Sleep,
    {
        let attempt = move || wait::popped(pop());
        wait::until(self.ring.common().wait.park(), Side::Items, attempt, || self.ring.may_pop())
    }
}

impl<W: Wait, M: Mode> Clone for Consumer<W, M> {
    fn clone(&self) -> Self {
        self.ring.common().handles.consumers.add();
        Self { ring: self.ring.clone() }
    }
}

impl<W: Wait, M: Mode> Drop for Consumer<W, M> {
    fn drop(&mut self) {
        let common = self.ring.common();
        if common.handles.leave_consumer() {
            common.wait.notify_all();
        }
    }
}

impl<W: Wait, M: Mode> fmt::Debug for Consumer<W, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Consumer")
            .field("len", &self.len())
            .field("capacity", &self.capacity())
            .field("closed", &self.is_closed())
            .finish_non_exhaustive()
    }
}
