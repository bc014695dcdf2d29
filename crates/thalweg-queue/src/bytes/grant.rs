//! Grants: messages, to be written or read where they are.

#[cfg(feature = "std")]
use super::PushBytesTimeoutError;
use super::memory::{Header, granules};
use super::producer::never_late;
use super::ring::Ring;
use super::{Consumer, Producer, PushBytesError};
#[cfg(feature = "std")]
use crate::PopTimeoutError;
use crate::mpmc::spot::Spot;
#[cfg(feature = "std")]
use crate::wait::{self, Sleep};
use crate::wait::{Wait, both};
use crate::{PopError, TryPopError};
use core::fmt;
use core::mem::ManuallyDrop;
use core::ops::{Deref, DerefMut};
#[cfg(feature = "std")]
use core::time::Duration;
use thalweg_sync::atomic::Ordering::Relaxed;
use thalweg_sync::hint::Access;

/// A message to be written in place. Made by [`Producer::reserve`].
///
/// Dropped without [`commit`](Self::commit), it leaves no message ([grants that are dropped](crate::grant#dropped)).
#[must_use = "nothing is pushed until it is committed"]
pub struct WriteGrant<'a, W: Wait> {
    ring: &'a Ring<W>,
    place: Spot,
    bytes: usize,
}

/// A grant taken apart, to be carried through code that knows no lifetimes: two numbers, of which the second is the size. See
/// [`WriteGrant::into_raw`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawGrant {
    place: u64,
    bytes: usize,
}

impl From<RawGrant> for (u64, usize) {
    fn from(raw: RawGrant) -> Self {
        (raw.place, raw.bytes)
    }
}

impl From<(u64, usize)> for RawGrant {
    fn from((place, bytes): (u64, usize)) -> Self {
        Self { place, bytes }
    }
}

impl<'a, W: Wait> WriteGrant<'a, W> {
    /// For `bytes` bytes from `place` on, which are allocated.
    pub(super) fn new(ring: &'a Ring<W>, place: Spot, bytes: usize) -> Self {
        Self { ring, place, bytes }
    }

    fn memory(&self, access: Access) -> *mut u8 {
        let first = self.ring.granule(self.place);
        // SAFETY: the grant has them (V2).
        unsafe { self.ring.memory.bytes(first..first + granules(self.bytes), self.bytes, access) }
    }

    /// Pushes the message.
    pub fn commit(self) {
        let bytes = self.bytes;
        self.commit_first(bytes);
    }

    /// Pushes the first `bytes` bytes as the message.
    ///
    /// ```
    /// let (tx, rx) = thalweg_queue::bytes::bytes(2, 256)?;
    /// let mut grant = tx.reserve(100)?;
    /// grant[..3].copy_from_slice(b"abc");
    /// grant.commit_first(3);
    /// assert_eq!(&*rx.readable()?, b"abc");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Panics
    ///
    /// If there are not so many; then there is no message.
    pub fn commit_first(self, bytes: usize) {
        assert!(bytes <= self.bytes, "{bytes} bytes are more than the {} that are reserved", self.bytes);
        let this = ManuallyDrop::new(self);
        let (all, first) = (granules(this.bytes), granules(bytes));
        if first < all {
            // Relaxed: nobody comes to it but by the message before it.
            this.ring.memory.headers.note(this.ring.granule(this.place) + first, Header::Skip(all - first), Relaxed);
        }
        this.ring.commit(this.place, Header::Message(bytes));
    }

    /// The grant as numbers. It stays open until [`Producer::grant_from_raw`] has made it a grant again.
    pub fn into_raw(self) -> RawGrant {
        let this = ManuallyDrop::new(self);
        RawGrant { place: this.place.0, bytes: this.bytes }
    }
}

impl<W: Wait> Producer<W> {
    /// Reserves a message of `bytes` bytes, to be written in place, or says why not.
    ///
    /// Its place in the order of the queue is taken: consumers wait for it, so write it soon. What the bytes are at first is not said.
    #[inline]
    pub fn reserve(&self, bytes: usize) -> Result<WriteGrant<'_, W>, PushBytesError> {
        let place = self.ring.allocate(bytes)?;
        Ok(WriteGrant::new(&self.ring, place, bytes))
    }

    /// As [`reserve`](Self::reserve), waiting while there is no room. Refuses with `Closed` or `TooLarge`.
    pub fn wait_reserve(&self, bytes: usize) -> Result<WriteGrant<'_, W>, PushBytesError> {
        self.wait_for(bytes, None, || self.reserve(bytes)).map_err(never_late)
    }

    /// As [`wait_reserve`](Self::wait_reserve), but no longer than `timeout`.
    #[cfg(feature = "std")]
    pub fn reserve_timeout(&self, bytes: usize, timeout: Duration) -> Result<WriteGrant<'_, W>, PushBytesTimeoutError> {
        self.wait_for(bytes, wait::deadline(timeout), || self.reserve(bytes))
    }

    /// The grant that `raw` was.
    ///
    /// # Safety
    ///
    /// It is of this queue, from [`WriteGrant::into_raw`], and no other grant was made of it.
    pub unsafe fn grant_from_raw(&self, raw: RawGrant) -> WriteGrant<'_, W> {
        WriteGrant::new(&self.ring, Spot(raw.place), raw.bytes)
    }
}

#[cfg(feature = "std")]
impl<W: Wait> Producer<W> {
    /// As [`reserve`](Self::reserve), pending while there is no room. Dropped before it is ready, it has reserved nothing.
    pub fn reserve_async(&self, bytes: usize) -> impl Future<Output = Result<WriteGrant<'_, W>, PushBytesError>>
    where
        W: Sleep,
    {
        self.pending_for(move || self.reserve(bytes))
    }
}

#[cfg(feature = "std")]
impl<W: Wait> Consumer<W> {
    /// As [`readable`](Self::readable), pending while there is nothing. Dropped before it is ready, it has taken nothing.
    pub fn readable_async(&self) -> impl Future<Output = Result<ReadGrant<'_, W>, PopError>>
    where
        W: Sleep,
    {
        self.pending_for(|| self.readable())
    }
}

impl<W: Wait> Consumer<W> {
    /// Pops the oldest message, to be read in place. Its granules are given back when the grant is dropped.
    #[inline]
    pub fn readable(&self) -> Result<ReadGrant<'_, W>, TryPopError> {
        let (place, bytes) = self.last_look(|| self.ring.take())?;
        Ok(ReadGrant::new(&self.ring, place, bytes))
    }

    /// As [`readable`](Self::readable), waiting while there is nothing.
    pub fn wait_readable(&self) -> Result<ReadGrant<'_, W>, PopError> {
        self.wait_for(None, || self.readable()).map_err(|_| PopError)
    }

    /// As [`wait_readable`](Self::wait_readable), but no longer than `timeout`.
    #[cfg(feature = "std")]
    pub fn readable_timeout(&self, timeout: Duration) -> Result<ReadGrant<'_, W>, PopTimeoutError> {
        self.wait_for(wait::deadline(timeout), || self.readable())
    }

    /// The grant that `raw` was.
    ///
    /// # Safety
    ///
    /// It is of this queue, from [`ReadGrant::into_raw`], and no other grant was made of it.
    pub unsafe fn grant_from_raw(&self, raw: RawGrant) -> ReadGrant<'_, W> {
        ReadGrant::new(&self.ring, Spot(raw.place), raw.bytes)
    }
}

impl<W: Wait> Deref for WriteGrant<'_, W> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: the granules are the grant's alone (V2), live as long as its ring, and were zero at first.
        unsafe { core::slice::from_raw_parts(self.memory(Access::Read), self.bytes) }
    }
}

impl<W: Wait> DerefMut for WriteGrant<'_, W> {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `deref`, and the grant is borrowed exclusively.
        unsafe { core::slice::from_raw_parts_mut(self.memory(Access::Write), self.bytes) }
    }
}

impl<W: Wait> Drop for WriteGrant<'_, W> {
    fn drop(&mut self) {
        let rest = Header::Skip(granules(self.bytes));
        // Not left to the next pop: a producer may sleep until the block is free, and consumers are told of messages only.
        let pass_over = || while self.ring.pass_over() {};
        both(|| self.ring.commit(self.place, rest), pass_over);
    }
}

/// A message to be read in place. Made by [`Consumer::readable`].
///
/// It is taken: dropped, read or not, it gives its memory back, and the message is popped ([grants that are dropped](crate::grant#dropped)).
pub struct ReadGrant<'a, W: Wait> {
    ring: &'a Ring<W>,
    place: Spot,
    bytes: usize,
}

impl<'a, W: Wait> ReadGrant<'a, W> {
    /// For the message of `bytes` bytes at `place`, which is taken.
    pub(super) fn new(ring: &'a Ring<W>, place: Spot, bytes: usize) -> Self {
        Self { ring, place, bytes }
    }

    fn memory(&self, access: Access) -> *mut u8 {
        let first = self.ring.granule(self.place);
        // SAFETY: the grant has them (V2).
        unsafe { self.ring.memory.bytes(first..first + granules(self.bytes), self.bytes, access) }
    }

    /// The grant as numbers. It stays open until [`Consumer::grant_from_raw`] has made it a grant again.
    pub fn into_raw(self) -> RawGrant {
        let this = ManuallyDrop::new(self);
        RawGrant { place: this.place.0, bytes: this.bytes }
    }
}

impl<W: Wait> Deref for ReadGrant<'_, W> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: the granules are the grant's alone (V2), and live as long as its ring.
        unsafe { core::slice::from_raw_parts(self.memory(Access::Read), self.bytes) }
    }
}

impl<W: Wait> DerefMut for ReadGrant<'_, W> {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `deref`, and the grant is borrowed exclusively.
        unsafe { core::slice::from_raw_parts_mut(self.memory(Access::Write), self.bytes) }
    }
}

impl<W: Wait> Drop for ReadGrant<'_, W> {
    fn drop(&mut self) {
        self.ring.consume(self.place, granules(self.bytes));
    }
}

impl<W: Wait> fmt::Debug for WriteGrant<'_, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WriteGrant").field("bytes", &self.bytes).finish_non_exhaustive()
    }
}

impl<W: Wait> fmt::Debug for ReadGrant<'_, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReadGrant").field("bytes", &self.bytes).finish_non_exhaustive()
    }
}
