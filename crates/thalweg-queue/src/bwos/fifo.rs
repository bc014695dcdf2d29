//! FIFO: the owner pops what it pushed first, as a queue. Thieves take from the blocks between its two ends.

use super::Stealer;
#[cfg(all(test, not(loom)))]
use super::block::Blocks;
use super::block::Hold;
use super::chain::{Chain, NoRoom};
use crate::{BuildError, TryPushError};
use core::fmt;
use core::mem;

/// A work-stealing queue of `blocks` blocks with `entries` entries each. At least 2 blocks, at least 1 entry.
///
/// Memory: the entries, touched when they are first used, and some 150 bytes per block.
///
/// ```
/// use thalweg_queue::bwos;
///
/// let (mut owner, thief) = bwos::fifo(8, 2)?;
/// for task in 1..=6 {
///     owner.push(task)?;
/// }
/// let mut batch = Vec::new();
/// assert_eq!(thief.steal_into(&mut batch, 10), Ok(2)); // a block: what the owner pops next is not among it
/// assert_eq!(batch, [3, 4]);
/// let left: Vec<_> = std::iter::from_fn(|| owner.pop()).collect();
/// assert_eq!(left, [1, 2, 5, 6]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn fifo<T: Send>(blocks: usize, entries: usize) -> Result<(Owner<T>, Stealer<T>), BuildError> {
    let chain = Chain::new(blocks, entries)?;
    let stealer = Stealer::new(chain.blocks().clone());
    Ok((Owner { front: Hold::NONE, back: Hold::NONE, chain }, stealer))
}

/// The owner of a work-stealing queue: pushes, and pops what it pushed first. Dropping it grants all that is left to the
/// thieves and closes the queue.
///
/// It moves between threads but is neither shared nor cloned: "one owner" is checked by the compiler.
///
/// ```compile_fail,E0599
/// let (owner, _thief) = thalweg_queue::bwos::fifo::<u64>(8, 64)?;
/// let second = owner.clone();
/// # Ok::<(), thalweg_queue::BuildError>(())
/// ```
///
/// It holds the oldest block and the newest; all between them are granted. After `share` these two are granted too:
/// the next pop takes the oldest back, the next push the newest.
pub struct Owner<T: Send> {
    /// Items of the oldest block, unless that is granted or there is none.
    front: Hold<T>,
    /// The newest block, unless that is granted or there is none. If it is the oldest too, `front` has its first items.
    back: Hold<T>,
    chain: Chain<T>,
}

impl<T: Send> Owner<T> {
    /// Pushes, or says why not and gives the value back.
    ///
    /// - `Full`: every block holds an item.
    /// - `Busy`: thieves are still reading in the only free blocks.
    /// - It is never `Closed`: without thieves the owner still pops.
    ///
    /// Thieves see the item when the owner has gone on to another block, or has called [`share`](Self::share).
    #[inline]
    pub fn push(&mut self, value: T) -> Result<(), TryPushError<T>> {
        if !self.back.has_room() {
            match self.make_room() {
                Ok(()) => {}
                Err(NoRoom::Full) => return Err(TryPushError::Full(value)),
                Err(NoRoom::Busy) => return Err(TryPushError::Busy(value)),
            }
        }
        self.back.push(value);
        Ok(())
    }

    /// Pops what was pushed first, of what thieves have left. `None` if they have left nothing.
    #[inline]
    pub fn pop(&mut self) -> Option<T> {
        if self.front.is_empty() {
            // A queue that is nearly empty lives in one block: that should be quick too.
            if self.chain.used() == 1 {
                self.front.absorb(&mut self.back);
            }
            if self.front.is_empty() && !self.step_on() {
                return None;
            }
        }
        self.front.pop_oldest()
    }

    /// Lets thieves take everything. The next pop takes the oldest block back, the next push the newest.
    ///
    /// For before a task that is long or waits: else up to two blocks of items lie idle meanwhile. Costs two stores.
    pub fn share(&mut self) {
        if self.chain.used() == 1 {
            self.front.absorb(&mut self.back);
        }
        if !self.front.is_empty() {
            self.chain.grant(0, mem::replace(&mut self.front, Hold::NONE));
            if self.chain.used() == 1 {
                self.back = Hold::NONE;
            }
        }
        if !self.back.is_empty() {
            self.chain.grant(self.chain.used() - 1, mem::replace(&mut self.back, Hold::NONE));
        }
    }

    /// Another thief of this queue.
    pub fn stealer(&self) -> Stealer<T> {
        Stealer::new(self.chain.blocks().clone())
    }

    /// How many items are left, now or lately. Exact when nobody steals. Costs a load per block in use.
    pub fn len(&self) -> usize {
        self.front.len() + self.back.len() + self.chain.granted()
    }

    /// Whether `len` is zero.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many entries all blocks have. Thieves can leave gaps: only `blocks` items are certain to fit.
    pub fn capacity(&self) -> usize {
        self.chain.blocks().capacity()
    }

    #[cfg(all(test, not(loom)))]
    pub(super) fn blocks(&self) -> thalweg_sync::sync::Arc<Blocks<T>> {
        self.chain.blocks().clone()
    }

    /// Takes the newest block back if it is granted.
    fn take_back(&mut self) {
        if self.chain.used() > 0 && self.chain.is_granted(self.chain.used() - 1) {
            self.back = self.chain.take_over(self.chain.used() - 1);
        }
    }

    /// Makes room in the newest block: by going on to another one, if need be.
    #[cold]
    fn make_room(&mut self) -> Result<(), NoRoom> {
        self.take_back();
        let newest_is_empty = self.back.is_empty() && (self.front.is_empty() || self.chain.used() > 1);
        if newest_is_empty && self.chain.used() > 0 {
            // Nothing is left in it. If a thief is still reading there, the block is left for later.
            match self.chain.restart(self.chain.used() - 1) {
                Some(hold) => self.back = hold,
                None if self.back.has_room() => {}
                None => {
                    self.back = Hold::NONE;
                    self.chain.drop_newest();
                }
            }
        }
        if !self.back.has_room() {
            let next = match self.chain.add() {
                // The oldest block may be empty, as only pops leave it. Then it can be the next.
                Err(_) if self.front.is_empty() && self.chain.used() > 1 && !self.chain.is_granted(0) => {
                    self.step_on();
                    self.chain.add()?
                }
                result => result?,
            };
            let mut full = mem::replace(&mut self.back, next);
            if self.chain.used() == 2 {
                self.front.absorb(&mut full);
            } else if !full.is_empty() {
                self.chain.grant(self.chain.used() - 2, full);
            }
        }
        Ok(())
    }

    /// Goes on to the oldest block with an item, when `front` has none. False if there is none.
    #[cold]
    fn step_on(&mut self) -> bool {
        while self.chain.used() > 1 {
            if self.chain.is_granted(0) {
                self.front = self.chain.take_over(0);
                if !self.front.is_empty() {
                    return true;
                }
            }
            self.front = Hold::NONE;
            self.chain.drop_oldest();
        }
        self.take_back();
        self.front.absorb(&mut self.back);
        if !self.front.is_empty() {
            return true;
        }
        // The last block stays, from its start if nobody reads there.
        if self.chain.used() == 1
            && let Some(hold) = self.chain.restart(0)
        {
            (self.front, self.back) = (Hold::NONE, hold);
        }
        false
    }
}

impl<T: Send> Drop for Owner<T> {
    fn drop(&mut self) {
        self.share();
        self.chain.blocks().close();
    }
}

impl<T: Send> fmt::Debug for Owner<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Owner").field("len", &self.len()).field("capacity", &self.capacity()).finish_non_exhaustive()
    }
}
