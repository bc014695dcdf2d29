//! Grants of handles that may be many, and of one producer: entries that are written, or items that are read, where they are.

use super::block::Block;
use super::claim::Claim;
use super::shared::{Items, Shared};
use super::users::{Many, Users};
use super::{Consumer, Producer};
#[cfg(feature = "alloc")]
use crate::bytes::RawGrant;
use crate::grant::{Write, WriteGrant};
#[cfg(feature = "std")]
use crate::wait::Sleep;
use crate::wait::{self, Side, Wait};
use crate::{PopError, PushError, TryPopError, TryPushError};
#[cfg(feature = "std")]
use crate::{PopTimeoutError, PushTimeoutError};
use core::fmt;
use core::marker::PhantomData;
use core::mem::{ManuallyDrop, MaybeUninit};
use core::ops::{Deref, DerefMut};
#[cfg(feature = "std")]
use core::time::Duration;
use thalweg_sync::hint::Access;

/// Entries of one block that a [`WriteGrant`] writes, where there are `C` consumers and `P` producers. Of one of many producers, those that
/// it does not push are passed over by consumers; of one alone, they are the next to be written.
pub struct Claimed<'a, T, W: Wait, P: Users = Many, C: Users = Many> {
    shared: &'a Shared<T, W, P, C>,
    block: &'a Block<T, P, C>,
    /// What is not committed.
    claim: Claim,
}

/// What one of many producers writes in place.
type Reserved<'a, T, W, C> = WriteGrant<Claimed<'a, T, W, Many, C>>;

impl<'a, T, W: Wait, P: Users, C: Users> Claimed<'a, T, W, P, C> {
    /// Up to `count` entries, at least one.
    pub(crate) fn new(shared: &'a Shared<T, W, P, C>, count: usize) -> Result<WriteGrant<Self>, TryPushError<()>> {
        let (block, claim) = shared.claim(count.max(1))?;
        WriteGrant::new(Self { shared, block, claim }, count)
    }
}

// SAFETY: the claim is ours alone until it is committed (I2, I7), and its entries lie next to each other.
unsafe impl<T, W: Wait, P: Users, C: Users> Write for Claimed<'_, T, W, P, C> {
    type Item = T;

    fn room(&mut self, count: usize) -> Result<usize, TryPushError<()>> {
        Ok(count.min(self.claim.offsets.len()))
    }

    unsafe fn write(&mut self, offset: usize, value: T) {
        // SAFETY: by the caller's promise the entry is in the claim.
        unsafe { self.block.write(self.claim.offsets.start + offset, value) };
    }

    unsafe fn entries(&self, count: usize) -> *mut MaybeUninit<T> {
        let start = self.claim.offsets.start;
        // SAFETY: by the caller's promise they are in the claim.
        unsafe { self.block.memory(start..start + count, Access::Write) }
    }

    unsafe fn commit(&mut self, count: usize) {
        let written = self.claim.split_off(count);
        // SAFETY: allocated when this was made, and by the caller's promise written.
        unsafe { self.block.commit(&written) };
        self.shared.wait.notify(Side::Items, count, || true);
    }
}

impl<T, W: Wait, P: Users, C: Users> Drop for Claimed<'_, T, W, P, C> {
    /// Leaves the rest of what one of many has claimed as holes: what is behind it was waiting for it.
    fn drop(&mut self) {
        let count = self.claim.offsets.len();
        if P::MANY && count > 0 {
            // SAFETY: allocated when this was made, and not committed.
            unsafe { self.block.give_up(&self.claim) };
            self.shared.wait.notify(Side::Items, count, || true);
        }
    }
}

/// Items to be read in place. Made by [`Consumer::readable`].
///
/// They are taken: no other consumer sees them. When this is dropped, they are dropped too, looked at or not, and their entries given back.
/// That of [one consumer](crate::grant::ReadGrant) leaves them in the queue: [grants that are dropped](crate::grant#dropped).
///
/// Threads may share it if they may share the items:
///
/// ```
/// let (tx, rx) = thalweg_queue::mpmc::shared::<u64>(2, 8)?;
/// tx.push(7).unwrap();
/// let grant = rx.readable(1).unwrap();
/// std::thread::scope(|scope| scope.spawn(|| assert_eq!(grant[0], 7)).join().unwrap());
/// # Ok::<(), thalweg_queue::BuildError>(())
/// ```
///
/// ```compile_fail,E0277
/// let (tx, rx) = thalweg_queue::mpmc::shared::<std::cell::Cell<u64>>(2, 8)?;
/// tx.push(std::cell::Cell::new(7)).unwrap();
/// let grant = rx.readable(1).unwrap();
/// std::thread::scope(|scope| scope.spawn(|| assert_eq!(grant[0].get(), 7)).join().unwrap());
/// # Ok::<(), thalweg_queue::BuildError>(())
/// ```
pub struct ReadGrant<'a, T, W: Wait, P: Users = Many> {
    items: Items<'a, T, W, P, Many>,
    /// It lends the items, so only items that are `Sync` let it be: the queue alone would be for any.
    _items: PhantomData<T>,
}

impl<T, W: Wait, C: Users> WriteGrant<Claimed<'_, T, W, Many, C>> {
    /// The grant as numbers. It stays open until [`Producer::grant_from_raw`] has made it a grant again, in which nothing is written.
    #[cfg(feature = "alloc")]
    pub fn into_raw(self) -> RawGrant {
        let claimed = ManuallyDrop::new(self.into_end());
        claimed.shared.raw_of(claimed.block, &claimed.claim)
    }
}

impl<'a, T, W: Wait, P: Users> ReadGrant<'a, T, W, P> {
    fn new(items: Items<'a, T, W, P, Many>) -> Self {
        Self { items, _items: PhantomData }
    }

    /// The grant as numbers. It stays open until [`Consumer::grant_from_raw`] has made it a grant again.
    #[cfg(feature = "alloc")]
    pub fn into_raw(self) -> RawGrant {
        self.items.into_raw()
    }
}

impl<T, W: Wait, P: Users> Deref for ReadGrant<'_, T, W, P> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: the items are the grant's alone until it is dropped (I2), and none is moved out before.
        unsafe { core::slice::from_raw_parts(self.items.memory(Access::Read).cast_const(), self.items.len()) }
    }
}

impl<T, W: Wait, P: Users> DerefMut for ReadGrant<'_, T, W, P> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as in `deref`, and the grant is borrowed exclusively.
        unsafe { core::slice::from_raw_parts_mut(self.items.memory(Access::Write), self.items.len()) }
    }
}

impl<T, W: Wait, C: Users> Producer<T, W, C> {
    /// Gives up to `count` entries, at least one, to be written in place: what is left of the block, at most. The reasons why not
    /// are those of [`try_push`](Self::try_push).
    ///
    /// Their place in the order of the queue is taken: what is pushed behind them is popped after them, so write them soon.
    /// Entries that are given up, as the grant is dropped or less is committed, are holes, which a consumer passes over. Until
    /// then they count as items, and [positions](Consumer::try_pop_numbered) have a gap there. A grant that is leaked
    /// (`mem::forget`) stops the queue for good when its turn comes.
    ///
    /// ```
    /// let (tx, rx) = thalweg_queue::mpmc::shared(2, 8)?;
    /// let mut grant = tx.reserve(3)?; // these entries are in the queue already
    /// grant.extend(["to", "be"]);
    /// tx.push("not")?;
    /// assert!(rx.try_pop().is_err()); // it waits for the grant
    /// assert_eq!(grant.commit(), 2); // the third is passed over
    /// drop(tx);
    /// assert!(rx.iter().eq(["to", "be", "not"]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn reserve(&self, count: usize) -> Result<Reserved<'_, T, W, C>, TryPushError<()>> {
        Claimed::new(&self.shared, count)
    }

    /// As [`reserve`](Self::reserve), waiting while there is no room.
    pub fn wait_reserve(&self, count: usize) -> Result<Reserved<'_, T, W, C>, PushError<()>> {
        wait::push_by(&mut &*self, None, |_| self.reserve(count)).map_err(|_| PushError(()))
    }

    /// As [`wait_reserve`](Self::wait_reserve), but no longer than `timeout`.
    #[cfg(feature = "std")]
    pub fn reserve_timeout(
        &self,
        count: usize,
        timeout: Duration,
    ) -> Result<Reserved<'_, T, W, C>, PushTimeoutError<()>> {
        wait::push_by(&mut &*self, wait::deadline(timeout), |_| self.reserve(count))
    }

    /// As [`reserve`](Self::reserve), pending while there is no room. Dropped before it is ready, it has reserved nothing.
    #[cfg(feature = "std")]
    pub async fn reserve_async(&self, count: usize) -> Result<Reserved<'_, T, W, C>, PushError<()>>
    where
        W: Sleep,
    {
        wait::push_when(self, |_| self.reserve(count)).await
    }

    /// The grant that `raw` was.
    ///
    /// # Safety
    ///
    /// It is of this queue, from [`WriteGrant::into_raw`], and no other grant was made of it.
    #[cfg(feature = "alloc")]
    pub unsafe fn grant_from_raw(&self, raw: RawGrant) -> Reserved<'_, T, W, C> {
        let (block, claim) = self.shared.claim_of(raw);
        let count = claim.offsets.len();
        let grant = WriteGrant::new(Claimed { shared: &self.shared, block, claim }, count);
        grant.unwrap_or_else(|_| unreachable!("what is claimed is there"))
    }
}

impl<T, W: Wait, P: Users> Consumer<T, W, P> {
    /// Takes up to `count` items, at least one, to be read in place: what is there, to the end of the block at most. The reasons
    /// why not are those of [`try_pop`](Self::try_pop).
    ///
    /// Their block is not filled again before the grant is dropped. One that is leaked (`mem::forget`) stops the producers for good
    /// when the block's turn comes.
    ///
    /// ```
    /// let (tx, rx) = thalweg_queue::mpmc::shared(2, 8)?;
    /// tx.push_all([3, 1, 2])?;
    /// let mut numbers = rx.readable(8)?;
    /// numbers.sort();
    /// assert_eq!(numbers[..], [1, 2, 3]);
    /// drop(numbers); // gives the entries back
    /// assert!(rx.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn readable(&self, count: usize) -> Result<ReadGrant<'_, T, W, P>, TryPopError> {
        self.shared.last_look(|shared| shared.pop_batch(count.max(1))).map(ReadGrant::new)
    }

    /// As [`readable`](Self::readable), waiting while there is nothing.
    pub fn wait_readable(&self, count: usize) -> Result<ReadGrant<'_, T, W, P>, PopError> {
        wait::pop_by(&mut &*self, None, |_| self.readable(count)).map_err(|_| PopError)
    }

    /// As [`wait_readable`](Self::wait_readable), but no longer than `timeout`.
    #[cfg(feature = "std")]
    pub fn readable_timeout(&self, count: usize, timeout: Duration) -> Result<ReadGrant<'_, T, W, P>, PopTimeoutError> {
        wait::pop_by(&mut &*self, wait::deadline(timeout), |_| self.readable(count))
    }

    /// As [`readable`](Self::readable), pending while there is nothing. Dropped before it is ready, it has taken nothing.
    #[cfg(feature = "std")]
    pub async fn readable_async(&self, count: usize) -> Result<ReadGrant<'_, T, W, P>, PopError>
    where
        W: Sleep,
    {
        wait::pop_when(self, |_| self.readable(count)).await
    }

    /// The grant that `raw` was.
    ///
    /// # Safety
    ///
    /// It is of this queue, from [`ReadGrant::into_raw`], and no other grant was made of it.
    #[cfg(feature = "alloc")]
    pub unsafe fn grant_from_raw(&self, raw: RawGrant) -> ReadGrant<'_, T, W, P> {
        ReadGrant::new(Items::new(&self.shared, self.shared.claim_of(raw)))
    }
}

impl<T, W: Wait, P: Users, C: Users> fmt::Debug for Claimed<'_, T, W, P, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Claimed").field("entries", &self.claim.offsets.len()).finish_non_exhaustive()
    }
}

impl<T, W: Wait, P: Users> fmt::Debug for ReadGrant<'_, T, W, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReadGrant").field("count", &self.items.len()).finish_non_exhaustive()
    }
}
