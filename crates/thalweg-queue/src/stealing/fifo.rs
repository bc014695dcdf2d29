//! FIFO: the owner pops what it pushed first, as a queue. Thieves take from the blocks between its two ends.

use super::Stealer;
#[cfg(all(test, not(loom)))]
use super::block::Blocks;
use super::block::Hold;
use super::chain::{Chain, NoRoom};
use crate::{BuildError, TryPushError};
use alloc::boxed::Box;
use core::fmt;
use core::mem;

/// A work-stealing queue of `blocks` blocks with `entries` entries each. At least 2 blocks, at least 1 entry.
///
/// Memory: the entries, touched when they are first used, and some 170 bytes per block.
///
/// ```
/// use thalweg_queue::stealing;
///
/// let (mut owner, thief) = stealing::fifo(8, 2)?;
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
    let chain = Box::new(Chain::new(blocks, entries)?);
    let stealer = Stealer::new(chain.blocks().clone());
    Ok((Owner { ends: Ends::NONE, chain }, stealer))
}

/// The owner of a work-stealing queue: pushes, and pops what it pushed first. Dropping it grants all that is left to the
/// thieves and closes the queue.
///
/// It moves between threads but is neither shared nor cloned: "one owner" is checked by the compiler.
///
/// ```compile_fail,E0599
/// let (owner, _thief) = thalweg_queue::stealing::fifo::<u64>(8, 64)?;
/// let second = owner.clone();
/// # Ok::<(), thalweg_queue::BuildError>(())
/// ```
///
/// It holds the oldest block and the newest; all between them are granted. After `share` these two are granted too:
/// the next pop takes the oldest back, the next push the newest.
// On lines of its own: every push and pop writes here, and what lies beside it may be read by other threads.
#[repr(align(128))]
pub struct Owner<T> {
    ends: Ends<T>,
    /// Boxed, and handed the ends by value: so those of a local owner can live in registers.
    chain: Box<Chain<T>>,
}

impl<T> Owner<T> {
    /// Pushes, or says why not and gives the value back.
    ///
    /// - `Full`: every block holds an item.
    /// - `Busy`: thieves are still reading in the only free blocks.
    /// - It is never `Closed`: without thieves the owner still pops.
    ///
    /// Thieves see the item when the owner has gone on to another block, or has called [`share`](Self::share).
    #[inline]
    pub fn push(&mut self, value: T) -> Result<(), TryPushError<T>> {
        if !self.ends.back.has_room() {
            if !self.ends.front.is_empty() && !self.ends.back.is_empty() && self.chain.is_full(2) {
                return Err(TryPushError::Full(value));
            }
            let room;
            (self.ends, room) = make_room(&mut self.chain, self.ends.leave());
            match room {
                Ok(()) => {}
                Err(NoRoom::Full) => return Err(TryPushError::Full(value)),
                Err(NoRoom::Busy) => return Err(TryPushError::Busy(value)),
            }
        }
        self.ends.back.push(value);
        Ok(())
    }

    /// Pops what was pushed first, of what thieves have left. `None` if they have left nothing.
    #[inline]
    pub fn pop(&mut self) -> Option<T> {
        if self.ends.front.is_empty() {
            // A queue that is nearly empty lives in one block: that should be quick too.
            if self.chain.used() == 1 {
                self.ends.front.absorb(&mut self.ends.back);
            }
            if self.ends.front.is_empty() {
                if self.chain.is_surely_empty(&self.ends.back) {
                    return None;
                }
                self.ends = step_on(&mut self.chain, self.ends.leave());
            }
        }
        self.ends.front.pop_oldest()
    }

    /// Lets thieves take everything. The next pop takes the oldest block back, the next push the newest.
    ///
    /// For before a task that is long or waits: else up to two blocks of items lie idle meanwhile. Costs two stores.
    pub fn share(&mut self) {
        self.ends = share(&mut self.chain, self.ends.leave());
    }

    /// Another thief of this queue.
    pub fn stealer(&self) -> Stealer<T> {
        Stealer::new(self.chain.blocks().clone())
    }

    /// How many items are left, now or lately. Exact when nobody steals. Costs a load per block in use.
    pub fn len(&self) -> usize {
        self.ends.front.len() + self.ends.back.len() + self.chain.granted()
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
}

/// What the owner holds.
struct Ends<T> {
    /// Items of the oldest block, unless that is granted or there is none.
    front: Hold<T>,
    /// The newest block, unless that is granted or there is none. If it is the oldest too, `front` has its first items.
    back: Hold<T>,
}

impl<T> Ends<T> {
    const NONE: Self = Self { front: Hold::NONE, back: Hold::NONE };

    /// What was held. Nothing is held now.
    #[inline(always)]
    fn leave(&mut self) -> Self {
        mem::replace(self, Self::NONE)
    }
}

/// Takes the newest block back if it is granted.
fn take_back<T>(chain: &mut Chain<T>, ends: &mut Ends<T>) {
    if let Some(newest) = chain.used().checked_sub(1)
        && chain.is_granted(newest)
    {
        ends.back = chain.take_over(newest);
    }
}

/// Makes room in the newest block: by going on to another one, if need be. Returns what is held then.
#[cold]
#[inline(never)]
fn make_room<T>(chain: &mut Chain<T>, mut ends: Ends<T>) -> (Ends<T>, Result<(), NoRoom>) {
    take_back(chain, &mut ends);
    let newest_is_empty = ends.back.is_empty() && (ends.front.is_empty() || chain.used() > 1);
    if newest_is_empty && chain.used() > 0 {
        // Nothing is left in it. If a thief is still reading there, the block is left for later.
        match chain.restart(chain.used() - 1) {
            Some(from_start) => ends.back = from_start,
            None if ends.back.has_room() => {}
            None => {
                ends.back = Hold::NONE;
                chain.drop_newest();
            }
        }
    }
    if ends.back.has_room() {
        return (ends, Ok(()));
    }
    let mut next = chain.add();
    if next.is_err() && ends.front.is_empty() && chain.used() > 1 && !chain.is_granted(0) {
        // The oldest block is empty, and still in use, as only pops leave it. Now it can be the next.
        ends = step_on(chain, ends);
        next = chain.add();
    }
    match next {
        Ok(next) => {
            let mut full = mem::replace(&mut ends.back, next);
            if chain.used() == 2 {
                ends.front.absorb(&mut full);
            } else if !full.is_empty() {
                chain.grant(chain.used() - 2, full);
            }
            (ends, Ok(()))
        }
        Err(refusal) => (ends, Err(refusal)),
    }
}

/// Goes on to the oldest block with an item, when `front` has none. Returns what is held then.
#[cold]
#[inline(never)]
fn step_on<T>(chain: &mut Chain<T>, mut ends: Ends<T>) -> Ends<T> {
    while chain.used() > 1 {
        if chain.is_granted(0) {
            ends.front = chain.take_over(0);
            if !ends.front.is_empty() {
                return ends;
            }
        }
        ends.front = Hold::NONE;
        chain.drop_oldest();
    }
    take_back(chain, &mut ends);
    ends.front.absorb(&mut ends.back);
    // The last block stays, from its start if nothing is left and nobody reads there.
    if ends.front.is_empty()
        && chain.used() == 1
        && let Some(back) = chain.restart(0)
    {
        ends = Ends { front: Hold::NONE, back };
    }
    ends
}

/// Grants to thieves what is held.
#[cold]
#[inline(never)]
fn share<T>(chain: &mut Chain<T>, mut ends: Ends<T>) -> Ends<T> {
    if chain.used() == 1 {
        ends.front.absorb(&mut ends.back);
    }
    if !ends.front.is_empty() {
        chain.grant(0, ends.front.leave());
        if chain.used() == 1 {
            return Ends::NONE;
        }
    }
    if !ends.back.is_empty() {
        chain.grant(chain.used() - 1, ends.back.leave());
    }
    ends
}

impl<T> Drop for Owner<T> {
    #[inline]
    fn drop(&mut self) {
        self.share();
        self.chain.blocks().close();
    }
}

impl<T> fmt::Debug for Owner<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Owner").field("len", &self.len()).field("capacity", &self.capacity()).finish_non_exhaustive()
    }
}
