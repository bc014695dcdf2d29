//! Entries that are reserved, with a handle of their own.

use super::Producer;
use super::claim::Claim;
use super::users::{Many, Users};
#[cfg(feature = "std")]
use crate::wait::Sleep;
use crate::wait::{self, Ordinary, Side, Wait};
use crate::{PushError, TryPushError};
use alloc::collections::VecDeque;
use core::fmt;

/// Entries that one of many producers has reserved: as many pushes find room for certain. Made by [`Producer::reserve_many`].
///
/// They borrow nothing, as they have a producer of their own: they may be kept in a struct, or go to a thread or a task. Each
/// [`push`](Self::push) is seen as soon as those before it are. Their places in the order of the queue are taken, so what others push meanwhile is
/// popped after them. Dropped, those that are left are holes, which consumers pass over. Leaked (`mem::forget`), they stop the queue
/// for good when their turn comes.
#[must_use = "dropped at once, it reserves nothing"]
pub struct Permits<T, W: Wait = Ordinary, C: Users = Many> {
    producer: Producer<T, W, C>,
    /// What is not pushed: block by block, its number and its entries, of which there is one at least.
    left: VecDeque<(usize, Claim)>,
}

impl<T, W: Wait, C: Users> Permits<T, W, C> {
    /// How many pushes are left.
    pub fn len(&self) -> usize {
        self.left.iter().map(|(_, claim)| claim.offsets.len()).sum()
    }

    /// Whether none is left.
    pub fn is_empty(&self) -> bool {
        self.left.is_empty()
    }

    /// Pushes into the next of the entries. Gives the value back if none is left.
    pub fn push(&mut self, value: T) -> Result<(), T> {
        let Some((index, claim)) = self.left.front_mut() else { return Err(value) };
        let (index, entry) = (*index, claim.split_off(1));
        if claim.offsets.is_empty() {
            self.left.pop_front();
        }
        let shared = &*self.producer.shared;
        let block = shared.block_at(index);
        // SAFETY: claimed when this was made, and each entry is split off once.
        unsafe {
            block.write(entry.offsets.start, value);
            block.commit(&entry);
        }
        shared.wait.notify(Side::Items, 1, || true);
        Ok(())
    }

    /// The producer. What is left is given up.
    pub fn into_producer(self) -> Producer<T, W, C> {
        self.producer.clone()
    }
}

impl<T, W: Wait, C: Users> Drop for Permits<T, W, C> {
    fn drop(&mut self) {
        let shared = &*self.producer.shared;
        let mut count = 0;
        for (index, claim) in self.left.drain(..) {
            count += claim.offsets.len();
            // SAFETY: claimed when this was made, and not committed.
            unsafe { shared.block_at(index).give_up(&claim) };
        }
        if count > 0 {
            shared.wait.notify(Side::Items, count, || true);
        }
    }
}

impl<T, W: Wait, C: Users> fmt::Debug for Permits<T, W, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Permits").field("len", &self.len()).finish_non_exhaustive()
    }
}

impl<T, W: Wait, C: Users> Producer<T, W, C> {
    /// Reserves up to `count` entries, at least one, of as many blocks as it takes: as [`reserve`](Self::reserve), but owned, and not to be
    /// written in place.
    ///
    /// ```
    /// use thalweg_queue::mpmc;
    ///
    /// let (tx, rx) = mpmc::channel(8)?;
    /// let mut permits = tx.reserve_many(3)?;
    /// let task = std::thread::spawn(move || {
    ///     while !permits.is_empty() {
    ///         permits.push("there was room before it was made").unwrap();
    ///     }
    /// });
    /// task.join().unwrap();
    /// assert_eq!(rx.len(), 3);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn reserve_many(&self, count: usize) -> Result<Permits<T, W, C>, TryPushError<()>> {
        let mut permits = Permits { producer: self.clone(), left: VecDeque::new() };
        let mut wanted = count.max(1);
        while wanted > 0 {
            match self.shared.claim(wanted) {
                Ok((block, claim)) => {
                    wanted -= claim.offsets.len();
                    permits.left.push_back((self.shared.index_of(block), claim));
                }
                Err(refused) if permits.left.is_empty() => return Err(refused),
                Err(_) => break,
            }
        }
        Ok(permits)
    }

    /// As [`reserve_many`](Self::reserve_many), waiting while there is no room for one.
    pub fn wait_reserve_many(&self, count: usize) -> Result<Permits<T, W, C>, PushError<()>> {
        wait::push_by(&mut &*self, None, |_| self.reserve_many(count)).map_err(|_| PushError(()))
    }

    /// As [`reserve_many`](Self::reserve_many), pending while there is no room for one. Dropped before it is ready, it has reserved nothing.
    #[cfg(feature = "std")]
    pub async fn reserve_many_async(&self, count: usize) -> Result<Permits<T, W, C>, PushError<()>>
    where
        W: Sleep,
    {
        wait::push_when(self, |_| self.reserve_many(count)).await
    }
}
