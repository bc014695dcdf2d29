//! Blocks: the words that say who may touch which entry. All unsafe code of the queue is here, but for two calls.

use crate::drops::Drops;
use crate::edges::edge;
use crate::leave::Leaving;
use crate::lines::Lines;
use crate::wait::both;
use crate::{BuildError, memory};
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt;
use core::mem::MaybeUninit;
use core::ops::Range;
use core::ptr::NonNull;
use thalweg_sync::CachePadded;
use thalweg_sync::atomic::Ordering::{Acquire, Relaxed, Release};
use thalweg_sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};
use thalweg_sync::cell::Slot;

type Entry<T> = Slot<MaybeUninit<T>>;

/// All blocks. Shared by the owner and its thieves.
pub(super) struct Blocks<T> {
    blocks: Box<[CachePadded<Block>]>,
    /// Those of all blocks, one block after the other. Not touched before they are used.
    entries: Lines<T>,
    leaving: Leaving,
    per_block: usize,
    gate: CachePadded<Gate>,
}

/// What thieves see of a block; the rest is in the owner's `Chain`.
struct Block {
    /// What they may take: a [`Grant`]. The paper's `s_pos`.
    granted: AtomicU64,
    /// How many entries they have taken and read, ever. The paper's `s_cnt`.
    read: AtomicUsize,
}

/// What concerns the whole queue; no item goes through it.
struct Gate {
    /// Where thieves begin to look: the block in which one of them found something last.
    oldest: AtomicUsize,
    /// Whether the owner is gone.
    closed: AtomicBool,
}

/// The entries of a block that thieves may take. One word, so that whoever changes it knows all of it.
///
/// | 63 ..= 32 | 31 ..= 0                     |
/// |-----------|------------------------------|
/// | end       | first; a thief adds its share |
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Grant(u64);

impl Grant {
    /// Nothing: the block is the owner's.
    const NONE: Self = Self(0);

    fn new(entries: Range<usize>) -> Self {
        Self((entries.end as u64) << 32 | entries.start as u64)
    }

    pub(super) fn first(self) -> usize {
        self.0 as u32 as usize
    }

    fn end(self) -> usize {
        (self.0 >> 32) as usize
    }

    pub(super) fn len(self) -> usize {
        self.end() - self.first()
    }

    /// What is left when `count` entries are taken from the front.
    fn without(self, count: usize) -> Self {
        Self(self.0 + count as u64)
    }
}

/// Why a thief got nothing from a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Miss {
    /// Nothing is granted: the block is the owner's, or exhausted.
    Nothing,
    /// Something was, and another thief or the owner came first.
    Lost,
}

impl<T> Blocks<T> {
    /// Checks the shape and makes the blocks, all of them the owner's.
    pub(super) fn new(blocks: usize, per_block: usize) -> Result<Self, BuildError> {
        let (most, memory) = (u32::MAX as usize, isize::MAX as usize / size_of::<T>().max(1));
        let most_blocks = if blocks > most { (memory / per_block.max(1)).clamp(2, most) } else { most };
        BuildError::check("blocks", blocks, 2, most_blocks)?;
        BuildError::check("entries", per_block, 1, (memory / blocks).min(most))?;
        let block = || Block { granted: AtomicU64::new(Grant::NONE.0), read: AtomicUsize::new(0) };
        let gate = Gate { oldest: AtomicUsize::new(0), closed: AtomicBool::new(false) };
        Ok(Self {
            blocks: memory::boxed((0..blocks).map(|_| CachePadded(block())))?,
            entries: Lines::new(blocks * per_block)?,
            leaving: Leaving::new::<T>(),
            per_block,
            gate: CachePadded(gate),
        })
    }

    pub(super) fn count(&self) -> usize {
        self.blocks.len()
    }

    pub(super) fn capacity(&self) -> usize {
        self.entries.len()
    }

    /// What thieves may take of the block, now or lately. Exact for the owner if nothing is left.
    pub(super) fn granted(&self, block: usize) -> Grant {
        // Relaxed: it is a hint for thieves. The owner asks about its own grants; thieves only make them smaller, so
        // one that is used up stays so.
        Grant(self.blocks[block].granted.load(Relaxed))
    }

    /// How many blocks have nothing granted, or no more.
    #[inline]
    pub(super) fn without_grant(&self) -> usize {
        (0..self.count()).filter(|&block| self.granted(block).len() == 0).count()
    }

    // The owner's side.

    /// A hold on a block of which nothing is granted, at its start.
    ///
    /// # Safety
    ///
    /// Only the owner calls it. The block is not granted, or all of that was taken, and no other hold on it is in use.
    /// [`is_read`](Self::is_read) said that thieves have read what they took. The hold is used while `self` lives.
    pub(super) unsafe fn hold(&self, block: usize) -> Hold<T> {
        self.hold_at(block, 0..0)
    }

    fn hold_at(&self, block: usize, items: Range<usize>) -> Hold<T> {
        let first = &self.entries[block * self.per_block..][..self.per_block];
        Hold { entries: NonNull::from(first).cast(), low: items.start, high: items.end, end: self.per_block }
    }

    /// Grants the items of `hold`, which has some, to thieves. Returns the first entry of the grant.
    pub(super) fn grant(&self, block: usize, hold: Hold<T>) -> usize {
        debug_assert!(!hold.is_empty() && hold.entries == self.hold_at(block, 0..0).entries);
        // (bwos.1) Release, pairs with (bwos.2): the items were written. Relaxed would hand out unwritten entries.
        self.blocks[block].granted.store(Grant::new(hold.low..hold.high).0, edge("bwos.1", Release));
        hold.low
    }

    /// Takes back what thieves have left of the block.
    ///
    /// # Safety
    ///
    /// Only the owner calls it, for a block that it has granted since it held it last. The hold is used while `self`
    /// lives.
    pub(super) unsafe fn take_over(&self, block: usize) -> Hold<T> {
        // Relaxed: the items are the owner's own, and what thieves took is not touched before (bwos.4).
        let left = Grant(self.blocks[block].granted.swap(Grant::NONE.0, Relaxed));
        self.hold_at(block, left.first()..left.end())
    }

    /// Whether thieves have read all `taken` entries that they ever took of the block.
    pub(super) fn is_read(&self, block: usize, taken: usize) -> bool {
        // (bwos.4) Acquire, pairs with (bwos.3): they were read before the owner writes there again. Relaxed would
        // overwrite an entry that is being read.
        self.blocks[block].read.load(edge("bwos.4", Acquire)) == taken
    }

    /// Says that the owner is gone. Everything it had is granted.
    pub(super) fn close(&self) {
        // (bwos.5) Release, pairs with (bwos.6).
        self.gate.closed.store(true, edge("bwos.5", Release));
    }

    // The thieves' side.

    /// Whether the owner is gone. What it left is visible then.
    pub(super) fn is_closed(&self) -> bool {
        // (bwos.6) Acquire, pairs with (bwos.5): a look at the blocks that follows sees the last grants. Relaxed could
        // report the end before the last items.
        self.gate.closed.load(edge("bwos.6", Acquire))
    }

    /// Where to begin to look for old items.
    pub(super) fn oldest(&self) -> usize {
        // Relaxed: a hint.
        self.gate.oldest.load(Relaxed)
    }

    /// Remembers that something was found in this block.
    pub(super) fn found_in(&self, block: usize) {
        if self.oldest() != block {
            // Relaxed: a hint.
            self.gate.oldest.store(block, Relaxed);
        }
    }

    /// Takes the oldest item of the block.
    #[inline]
    pub(super) fn steal(&self, block: usize) -> Result<T, Miss> {
        let taken = self.take(block, 1, |_| {})?;
        // SAFETY: taken a moment ago, and left before the owner may write it (I3).
        let item = unsafe {
            let item = self.read(taken.start);
            self.leaving.entry(&self.entries[taken.start], taken.start);
            item
        };
        self.finish(block, 1);
        Ok(item)
    }

    /// Takes up to `most` of the oldest items of the block and appends them to `batch`. Returns how many.
    #[inline]
    pub(super) fn steal_into(&self, block: usize, batch: &mut Vec<T>, most: usize) -> Result<usize, Miss> {
        // Room first: between taking and reading nothing may fail.
        let taken = self.take(block, most, |count| batch.reserve(count))?;
        let count = taken.len();
        // SAFETY: taken a moment ago; the range gives each entry once.
        batch.extend(taken.clone().map(|entry| unsafe { self.read(entry) }));
        // SAFETY: empty now, and not the owner's before `finish` (I3).
        unsafe { self.leaving.run(taken, |entry| &self.entries[entry]) };
        self.finish(block, count);
        Ok(count)
    }

    /// Takes up to `most` entries from the front of what is granted, after `prepare` for so many.
    #[inline]
    fn take(&self, block: usize, most: usize, prepare: impl FnOnce(usize)) -> Result<Range<usize>, Miss> {
        let granted = &self.blocks[block].granted;
        // Relaxed: the exchange below decides.
        let grant = Grant(granted.load(Relaxed));
        let count = grant.len().min(most);
        if count == 0 {
            return Err(Miss::Nothing);
        }
        prepare(count);
        // (bwos.2) Acquire, pairs with (bwos.1): other thieves' exchanges leave the release sequence of the grant
        // unbroken. It has to be here and not at a look at the block before: the grant may be a later one than the one
        // that was seen, with the same entries. Failure is Relaxed: nothing is read then.
        match granted.compare_exchange(grant.0, grant.without(count).0, edge("bwos.2", Acquire), Relaxed) {
            Ok(_) => {
                let first = block * self.per_block + grant.first();
                Ok(first..first + count)
            }
            Err(_) => Err(Miss::Lost),
        }
    }

    /// Moves an item out.
    ///
    /// # Safety
    ///
    /// [`take`](Self::take) returned the entry, it was not read since, and [`finish`](Self::finish) comes later.
    #[inline(always)]
    unsafe fn read(&self, entry: usize) -> T {
        // SAFETY: the entry is written, as (bwos.2) saw, and ours alone (I2); the owner does not write it before
        // (bwos.4) has seen our `finish` (I3).
        self.entries[entry].with(|item| unsafe { (*item).assume_init_read() })
    }

    /// Says that `count` entries that were taken of the block are read.
    #[inline(always)]
    fn finish(&self, block: usize, count: usize) {
        // (bwos.3) Release, pairs with (bwos.4). A chain of `fetch_add` is one release sequence.
        self.blocks[block].read.fetch_add(count, edge("bwos.3", Release));
    }

    /// Takes and drops what is granted, one by one.
    fn drop_items(&self) {
        let mut drops = Drops::default();
        for block in 0..self.count() {
            while let Ok(taken) = self.take(block, 1, |_| {}) {
                // SAFETY: taken a moment ago.
                let item = || self.entries[taken.start].with_mut(|item| unsafe { (*item).assume_init_drop() });
                both(|| drops.one(item), || self.finish(block, 1));
            }
        }
    }
}

impl<T> Drop for Blocks<T> {
    /// Drops what nobody took. The owner has granted all it had.
    fn drop(&mut self) {
        self.drop_items();
    }
}

impl<T> fmt::Debug for Blocks<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Blocks")
            .field("count", &self.count())
            .field("per_block", &self.per_block)
            .finish_non_exhaustive()
    }
}

/// A block, or the items of a block, in the owner's hands: it alone may read the entries `low..high`, which are written,
/// and write `high..end` (I1, I3).
pub(super) struct Hold<T> {
    /// The first entry of the block.
    entries: NonNull<Entry<T>>,
    low: usize,
    high: usize,
    end: usize,
}

// SAFETY: a hold is exclusive use of entries whose items may move to another thread.
unsafe impl<T: Send> Send for Hold<T> {}

impl<T> Hold<T> {
    /// A hold on nothing, without room.
    pub(super) const NONE: Self = Self { entries: NonNull::dangling(), low: 0, high: 0, end: 0 };

    #[inline(always)]
    pub(super) fn is_empty(&self) -> bool {
        self.low == self.high
    }

    #[inline(always)]
    pub(super) fn has_room(&self) -> bool {
        self.high < self.end
    }

    /// Whether this is a whole block, with nothing in it.
    #[inline(always)]
    pub(super) fn is_whole(&self) -> bool {
        self.high == 0 && self.end > 0
    }

    pub(super) fn len(&self) -> usize {
        self.high - self.low
    }

    /// The first entry that is held.
    pub(super) fn low(&self) -> usize {
        self.low
    }

    /// What was held. Nothing is held now.
    #[inline(always)]
    pub(super) fn leave(&mut self) -> Self {
        core::mem::replace(self, Self::NONE)
    }

    /// Writes `value` behind the other items. There [must be room](Self::has_room).
    #[inline(always)]
    pub(super) fn push(&mut self, value: T) {
        debug_assert!(self.has_room());
        // SAFETY: the entry is in the block, and ours to write. Moving the value runs no user code.
        unsafe { self.entries.add(self.high).as_ref() }.with_mut(|entry| unsafe {
            (*entry).write(value);
        });
        self.high += 1;
    }

    /// Takes the newest item.
    #[inline(always)]
    pub(super) fn pop_newest(&mut self) -> Option<T> {
        if self.is_empty() {
            return None;
        }
        self.high -= 1;
        // SAFETY: the item at `high` was held until now.
        Some(unsafe { self.read(self.high) })
    }

    /// Takes the oldest item.
    #[inline(always)]
    pub(super) fn pop_oldest(&mut self) -> Option<T> {
        if self.is_empty() {
            return None;
        }
        self.low += 1;
        // SAFETY: the item at `low` was held until now.
        Some(unsafe { self.read(self.low - 1) })
    }

    /// # Safety
    ///
    /// The entry has been one of `low..high` and is not any more, nor is it read again.
    #[inline(always)]
    unsafe fn read(&self, entry: usize) -> T {
        // SAFETY: the entry is in the block, written and ours, as it was held.
        unsafe { self.entries.add(entry).as_ref() }.with(|item| unsafe { (*item).assume_init_read() })
    }

    /// Takes the items of `later`, which holds the same block from where this one ends. `later` keeps the room.
    #[inline(always)]
    pub(super) fn absorb(&mut self, later: &mut Self) {
        if later.is_empty() {
            return;
        }
        if self.is_empty() {
            (self.entries, self.low) = (later.entries, later.low);
        } else {
            debug_assert!(self.entries == later.entries && self.high == later.low);
        }
        // Entries behind the items stay with `later`.
        (self.high, self.end) = (later.high, later.high);
        later.low = later.high;
    }
}

impl<T> fmt::Debug for Hold<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}..{} of {}", self.low, self.high, self.end)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::TryPushError;

    #[test]
    fn a_grant_is_its_range() {
        for range in [0..1, 3..7, 0..u32::MAX as usize, 5..5] {
            let grant = Grant::new(range.clone());
            assert_eq!((grant.first(), grant.end(), grant.len()), (range.start, range.end, range.len()));
            if !range.is_empty() {
                assert_eq!(grant.without(1), Grant::new(range.start + 1..range.end));
            }
            assert_eq!(grant.without(range.len()).len(), 0);
        }
        assert_eq!(Grant::NONE.len(), 0);
    }

    #[test]
    fn shapes_are_checked() {
        let shape = |blocks, entries| Blocks::<u64>::new(blocks, entries).map(|blocks| blocks.capacity());
        assert_eq!(shape(3, 5), Ok(15));
        assert_eq!(shape(1, 8), Err(BuildError::TooSmall { parameter: "blocks", value: 1, min: 2 }));
        assert_eq!(shape(2, 0), Err(BuildError::TooSmall { parameter: "entries", value: 0, min: 1 }));
        assert!(matches!(shape(2, usize::MAX), Err(BuildError::TooLarge { parameter: "entries", .. })));
        assert!(matches!(shape(usize::MAX, 1), Err(BuildError::TooLarge { parameter: "blocks", .. })));
    }

    /// A thief that stops between taking and reading keeps its block from being used, and no other.
    #[test]
    fn a_thief_half_way_is_waited_for_by_nobody() {
        macro_rules! owner {
            ($order:path) => {
                let (mut owner, stealer) = $order(3, 1).unwrap();
                let blocks = owner.blocks();
                (0..3).for_each(|number| owner.push(number).unwrap());
                assert!(matches!(owner.push(3), Err(TryPushError::Full(3))));
                // Block 1 of FIFO and LIFO is granted; of it, one thief takes and does not read.
                let taken = blocks.take(1, 1, |_| {}).unwrap();
                assert!(matches!(owner.push(3), Err(TryPushError::Busy(3))));
                // SAFETY: taken, and finished below.
                assert_eq!(unsafe { blocks.read(taken.start) }, 1);
                assert!(matches!(owner.push(3), Err(TryPushError::Busy(3))));
                let first = owner.pop().unwrap();
                owner.push(first).unwrap();
                blocks.finish(1, 1);
                owner.push(3).unwrap();
                assert!(matches!(owner.push(4), Err(TryPushError::Full(4))));
                owner.share();
                let left = core::iter::from_fn(|| stealer.steal().ok());
                assert_eq!(left.sum::<i32>(), 2 + 3);
            };
        }
        owner!(crate::stealing::fifo);
        owner!(crate::stealing::lifo);
    }
}
