//! The thieves' handle.

use super::block::{Blocks, Miss};
use alloc::vec::Vec;
use core::fmt;
use thalweg_sync::sync::Arc;

/// A stealing end. Clones steal from the same queue, from any thread.
///
/// It sees what the owner has granted. It never waits, and never makes the owner wait.
pub struct Stealer<T> {
    blocks: Arc<Blocks<T>>,
}

impl<T> Stealer<T> {
    pub(super) fn new(blocks: Arc<Blocks<T>>) -> Self {
        Self { blocks }
    }

    /// Steals an item: from the oldest block that is known to have one.
    ///
    /// ```
    /// use thalweg_queue::stealing::{self, StealError};
    ///
    /// let (mut owner, thief) = stealing::fifo(2, 4)?;
    /// owner.push("task")?;
    /// assert_eq!(thief.steal(), Err(StealError::Empty)); // not granted yet
    /// owner.share();
    /// assert_eq!(thief.steal(), Ok("task"));
    /// drop(owner);
    /// assert_eq!(thief.steal(), Err(StealError::Closed));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn steal(&self) -> Result<T, StealError> {
        self.search(|block| self.blocks.steal(block))
    }

    /// Steals up to `most` items of one block, the oldest first, and appends them to `batch`. Returns how many; at least
    /// one unless `most` is 0.
    ///
    /// A whole block costs hardly more than one item.
    ///
    /// ```
    /// use thalweg_queue::stealing;
    ///
    /// let (mut victim, thief) = stealing::lifo(2, 64)?;
    /// let (mut own, _) = stealing::lifo(2, 64)?;
    /// (0..10).try_for_each(|task| victim.push(task))?;
    /// victim.share();
    ///
    /// let mut batch = Vec::new();
    /// thief.steal_into(&mut batch, victim.len() / 2)?;
    /// assert_eq!(batch, [0, 1, 2, 3, 4]);
    /// batch.drain(..).try_for_each(|task| own.push(task))?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn steal_into(&self, batch: &mut Vec<T>, most: usize) -> Result<usize, StealError> {
        if most == 0 {
            return Ok(0);
        }
        self.search(|block| self.blocks.steal_into(block, batch, most))
    }

    /// Steals up to `most` items of as many blocks as it takes, and appends them to `batch`. Returns how many; at least one unless `most` is 0.
    ///
    /// Each block's are its oldest ones, in their order; between blocks others may come in. For half of what a victim has, or all of it, where
    /// [`steal_into`](Self::steal_into) ends with a block.
    ///
    /// ```
    /// use thalweg_queue::stealing;
    ///
    /// let (mut victim, thief) = stealing::fifo(4, 2)?;
    /// (0..6).try_for_each(|task| victim.push(task))?;
    /// victim.share();
    /// let mut batch = Vec::new();
    /// assert_eq!(thief.steal_many(&mut batch, 5), Ok(5));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn steal_many(&self, batch: &mut Vec<T>, most: usize) -> Result<usize, StealError> {
        let mut stolen = self.steal_into(batch, most)?;
        while stolen < most
            && let Ok(more) = self.steal_into(batch, most - stolen)
        {
            stolen += more;
        }
        Ok(stolen)
    }

    /// Steals an item of the block number `block`, and looks nowhere else. `Empty` is said of this block alone.
    ///
    /// For stealing from the middle, see [`Probabilistic`](super::Probabilistic).
    ///
    /// # Panics
    ///
    /// If there is no such block.
    #[inline]
    pub fn steal_in(&self, block: usize) -> Result<T, StealError> {
        Ok(self.blocks.steal(block)?)
    }

    /// Steals as [`steal_into`](Self::steal_into) from the block number `block`, and looks nowhere else.
    ///
    /// # Panics
    ///
    /// If there is no such block.
    #[inline]
    pub fn steal_into_in(&self, block: usize, batch: &mut Vec<T>, most: usize) -> Result<usize, StealError> {
        if most == 0 {
            return Ok(0);
        }
        Ok(self.blocks.steal_into(block, batch, most)?)
    }

    /// Tries each block once, from where something was found last.
    #[inline]
    fn search<R>(&self, mut steal: impl FnMut(usize) -> Result<R, Miss>) -> Result<R, StealError> {
        // First this, then the blocks: else the owner's last grants could come in between.
        let closed = self.blocks.is_closed();
        let mut lost = false;
        let (blocks, mut block) = (self.blocks.count(), self.blocks.oldest());
        for _ in 0..blocks {
            match steal(block) {
                Ok(stolen) => {
                    self.blocks.found_in(block);
                    return Ok(stolen);
                }
                // Whoever came first got on, so the others need not insist.
                Err(Miss::Lost) => lost = true,
                Err(Miss::Nothing) => {}
            }
            block = if block + 1 < blocks { block + 1 } else { 0 };
        }
        Err(match (lost, closed) {
            (true, _) => StealError::Busy,
            (false, true) => StealError::Closed,
            (false, false) => StealError::Empty,
        })
    }

    /// How many items are granted, now or lately: what thieves could take. Costs a load per block.
    pub fn len(&self) -> usize {
        (0..self.blocks()).map(|block| self.blocks.granted(block).len()).sum()
    }

    /// Whether `len` is zero. Items may be left that the owner has not granted.
    pub fn is_empty(&self) -> bool {
        (0..self.blocks()).all(|block| !self.has_some(block))
    }

    /// Whether something of the block number `block` is granted, now or lately. Costs one load: `len` of a queue can be
    /// estimated by asking about a few blocks.
    ///
    /// # Panics
    ///
    /// If there is no such block.
    #[inline]
    pub fn has_some(&self, block: usize) -> bool {
        self.blocks.granted(block).len() > 0
    }

    /// How many blocks there are.
    pub fn blocks(&self) -> usize {
        self.blocks.count()
    }

    /// How many entries all blocks have.
    pub fn capacity(&self) -> usize {
        self.blocks.capacity()
    }

    /// Whether the owner is gone. Then it stays so; items may still be left.
    pub fn is_closed(&self) -> bool {
        self.blocks.is_closed()
    }

    /// Whether the owner is gone and nothing is left. Then it stays so.
    pub fn is_drained(&self) -> bool {
        self.is_closed() && self.is_empty()
    }
}

impl<T> Clone for Stealer<T> {
    fn clone(&self) -> Self {
        Self { blocks: self.blocks.clone() }
    }
}

impl<T> fmt::Debug for Stealer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stealer").field("len", &self.len()).field("capacity", &self.capacity()).finish_non_exhaustive()
    }
}

/// Why nothing was stolen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StealError {
    /// No block had anything granted when it was looked at. The owner may hold items that it has not shared.
    Empty,
    /// Others came first where something was, and nothing was found elsewhere: trying again soon is worthwhile.
    Busy,
    /// The owner is gone and nothing is left.
    Closed,
}

impl From<Miss> for StealError {
    fn from(miss: Miss) -> Self {
        match miss {
            Miss::Nothing => Self::Empty,
            Miss::Lost => Self::Busy,
        }
    }
}

impl fmt::Display for StealError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Empty => "nothing to steal: the owner has to push on or share first",
            Self::Busy => "somebody else came first: try again soon",
            Self::Closed => "the queue is closed: its owner is gone and nothing is left, so stop stealing",
        })
    }
}

impl core::error::Error for StealError {}
