//! LIFO: the owner pops what it pushed last, as a stack. Thieves take the oldest.

use super::Stealer;
#[cfg(all(test, not(loom)))]
use super::block::Blocks;
use super::block::Hold;
use super::chain::{Chain, NoRoom};
use crate::{BuildError, TryPushError};
use alloc::boxed::Box;
use core::fmt;

/// A work-stealing stack of `blocks` blocks with `entries` entries each. At least 2 blocks, at least 1 entry.
///
/// Memory: the entries, touched when they are first used, and some 170 bytes per block.
///
/// ```
/// use thalweg_queue::stealing;
///
/// let (mut owner, thief) = stealing::lifo(8, 64)?;
/// let thieves: Vec<_> = (0..2)
///     .map(|_| {
///         let thief = thief.clone();
///         std::thread::spawn(move || {
///             let mut sum = 0_u64;
///             while !thief.is_drained() {
///                 sum += thief.steal().unwrap_or(0);
///             }
///             sum
///         })
///     })
///     .collect();
/// let mut sum = 0;
/// for number in 1..=1000 {
///     if let Err(refused) = owner.push(number) {
///         sum += refused.into_inner(); // full: do it now
///     }
/// }
/// sum += (0..100).filter_map(|_| owner.pop()).sum::<u64>();
/// drop(owner); // leaves the rest to the thieves
/// sum += thieves.into_iter().map(|thief| thief.join().unwrap()).sum::<u64>();
/// assert_eq!(sum, (1..=1000).sum());
/// # Ok::<(), thalweg_queue::BuildError>(())
/// ```
pub fn lifo<T: Send>(blocks: usize, entries: usize) -> Result<(Owner<T>, Stealer<T>), BuildError> {
    let chain = Box::new(Chain::new(blocks, entries)?);
    let stealer = Stealer::new(chain.blocks().clone());
    Ok((Owner { hold: Hold::NONE, chain }, stealer))
}

/// The owner of a work-stealing stack: pushes, and pops what it pushed last. Dropping it grants all that is left to the
/// thieves and closes the queue.
///
/// It moves between threads but is neither shared nor cloned: "one owner" is checked by the compiler.
///
/// ```compile_fail,E0599
/// let (owner, _thief) = thalweg_queue::stealing::lifo::<u64>(8, 64)?;
/// let second = owner.clone();
/// # Ok::<(), thalweg_queue::BuildError>(())
/// ```
///
/// It holds the newest block; all before it are granted. After `share` the newest is granted too, and the next push
/// or pop takes it back.
// On lines of its own: every push and pop writes here, and what lies beside it may be read by other threads.
#[repr(align(128))]
pub struct Owner<T> {
    /// The newest block, unless that is granted or there is none.
    hold: Hold<T>,
    /// Boxed, and handed the hold by value: so the hold of a local owner can live in registers.
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
        if !self.hold.has_room() {
            if !self.hold.is_empty() && self.chain.is_full(1) {
                return Err(TryPushError::Full(value));
            }
            let room;
            (self.hold, room) = make_room(&mut self.chain, self.hold.leave());
            match room {
                Ok(()) => {}
                Err(NoRoom::Full) => return Err(TryPushError::Full(value)),
                Err(NoRoom::Busy) => return Err(TryPushError::Busy(value)),
            }
        }
        self.hold.push(value);
        Ok(())
    }

    /// Pops what was pushed last, of what thieves have left. `None` if they have left nothing.
    #[inline]
    pub fn pop(&mut self) -> Option<T> {
        if self.hold.is_empty() {
            if self.chain.is_surely_empty(&self.hold) {
                return None;
            }
            self.hold = step_back(&mut self.chain, self.hold.leave());
        }
        self.hold.pop_newest()
    }

    /// Lets thieves take everything. The next push or pop takes the newest block back.
    ///
    /// For before a task that is long or waits: else up to a block of items lies idle meanwhile. Costs a store.
    pub fn share(&mut self) {
        self.hold = share(&mut self.chain, self.hold.leave());
    }

    /// Another thief of this queue.
    pub fn stealer(&self) -> Stealer<T> {
        Stealer::new(self.chain.blocks().clone())
    }

    /// How many items are left, now or lately. Exact when nobody steals. Costs a load per block in use.
    pub fn len(&self) -> usize {
        self.hold.len() + self.chain.granted()
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

/// Takes the newest block back if it is granted; else `hold` is what the owner holds of it.
fn take_back<T>(chain: &mut Chain<T>, hold: Hold<T>) -> Hold<T> {
    match chain.used().checked_sub(1) {
        Some(newest) if chain.is_granted(newest) => chain.take_over(newest),
        _ => hold,
    }
}

/// Makes room behind `hold`: by going on to another block, if need be. Returns what is held then.
#[cold]
#[inline(never)]
fn make_room<T>(chain: &mut Chain<T>, hold: Hold<T>) -> (Hold<T>, Result<(), NoRoom>) {
    let mut hold = take_back(chain, hold);
    if hold.is_empty() && chain.used() > 0 {
        // Thieves took what was in it. If one is still reading there, the block is left for later.
        match chain.restart(chain.used() - 1) {
            Some(from_start) => hold = from_start,
            None if hold.has_room() => {}
            None => {
                hold = Hold::NONE;
                chain.drop_newest();
            }
        }
    }
    if hold.has_room() {
        return (hold, Ok(()));
    }
    match chain.add() {
        Ok(next) => {
            if !hold.is_empty() {
                chain.grant(chain.used() - 2, hold);
            }
            (next, Ok(()))
        }
        Err(refusal) => (hold, Err(refusal)),
    }
}

/// Goes back to the newest block with an item, when `hold` has none. Returns what is held then.
#[cold]
#[inline(never)]
fn step_back<T>(chain: &mut Chain<T>, mut hold: Hold<T>) -> Hold<T> {
    while chain.used() > 0 {
        hold = take_back(chain, hold);
        if !hold.is_empty() {
            break;
        }
        if chain.used() == 1 {
            // The last one stays, from its start if nobody reads there.
            return chain.restart(0).unwrap_or(hold);
        }
        hold = Hold::NONE;
        chain.drop_newest();
    }
    hold
}

/// Grants `hold` to thieves.
#[cold]
#[inline(never)]
fn share<T>(chain: &mut Chain<T>, hold: Hold<T>) -> Hold<T> {
    if hold.is_empty() {
        return hold;
    }
    chain.grant(chain.used() - 1, hold);
    Hold::NONE
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
