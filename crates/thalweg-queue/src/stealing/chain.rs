//! The owner's book: which blocks are in use and in which order, and what was granted of them. Thieves never see it.

use super::block::{Blocks, Hold};
use crate::{BuildError, memory};
use alloc::boxed::Box;
use core::fmt;
use thalweg_sync::sync::Arc;

/// The blocks from the oldest to the newest.
///
/// Blocks are named by their place, `0` for the oldest. Each block in use is granted or held by the owner.
pub(super) struct Chain<T> {
    blocks: Arc<Blocks<T>>,
    /// All blocks, cyclically from `first` on: the `used` ones, then the free ones.
    links: Box<[Link]>,
    first: usize,
    used: usize,
}

/// One block.
struct Link {
    block: usize,
    /// The first entry of what is granted, if it is.
    granted: Option<usize>,
    /// How many entries thieves took of earlier grants.
    taken: usize,
}

/// Why there is no block to push into.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum NoRoom {
    /// Every block holds an item.
    Full,
    /// Thieves are still reading in every free block.
    Busy,
}

impl<T> Chain<T> {
    pub(super) fn new(blocks: usize, entries: usize) -> Result<Self, BuildError> {
        let blocks = Arc::new(Blocks::new(blocks, entries)?);
        let links = memory::boxed((0..blocks.count()).map(|block| Link { block, granted: None, taken: 0 }))?;
        Ok(Self { blocks, links, first: 0, used: 0 })
    }

    pub(super) fn blocks(&self) -> &Arc<Blocks<T>> {
        &self.blocks
    }

    /// How many blocks are in use.
    #[inline(always)]
    pub(super) fn used(&self) -> usize {
        self.used
    }

    /// Whether nothing is in the queue, as the owner's hold on its newest block says. An answer that is often asked for, by
    /// workers without work; `false` if it takes more than a look to know.
    #[inline(always)]
    pub(super) fn is_surely_empty(&self, newest: &Hold<T>) -> bool {
        match self.used {
            0 => true,
            1 => newest.is_whole(),
            _ => false,
        }
    }

    /// Whether every block holds an item, when the owner holds items in `held` of them: then thieves have left something in each
    /// other one. Costs a load per block.
    #[inline]
    pub(super) fn is_full(&self, held: usize) -> bool {
        self.used == self.links.len() && self.blocks.without_grant() == held
    }

    fn index(&self, place: usize) -> usize {
        let index = self.first + place;
        if index < self.links.len() { index } else { index - self.links.len() }
    }

    fn link(&self, place: usize) -> &Link {
        &self.links[self.index(place)]
    }

    fn link_mut(&mut self, place: usize) -> &mut Link {
        &mut self.links[self.index(place)]
    }

    /// Whether the block in use is granted, and not held.
    pub(super) fn is_granted(&self, place: usize) -> bool {
        self.link(place).granted.is_some()
    }

    /// Grants the items of the block in use. `hold` is the owner's hold on it, and has some.
    pub(super) fn grant(&mut self, place: usize, hold: Hold<T>) {
        debug_assert!(place < self.used && !self.is_granted(place));
        let first = self.blocks.grant(self.link(place).block, hold);
        self.link_mut(place).granted = Some(first);
    }

    /// Takes back what is left of the block in use, which is granted.
    pub(super) fn take_over(&mut self, place: usize) -> Hold<T> {
        let Link { block, granted, .. } = *self.link(place);
        let granted = granted.expect("only granted blocks are taken over");
        // SAFETY: granted, and not held since. The hold is kept beside this chain, which keeps the blocks.
        let hold = unsafe { self.blocks.take_over(block) };
        let link = self.link_mut(place);
        link.granted = None;
        link.taken = link.taken.wrapping_add(hold.low() - granted);
        hold
    }

    /// Adds a free block behind the newest.
    pub(super) fn add(&mut self) -> Result<Hold<T>, NoRoom> {
        // One in which a thief is still reading is left for later.
        let free = |chain: &Self| (chain.used..chain.links.len()).find(|&place| chain.is_read(place));
        let found = free(self).or_else(|| {
            self.drop_exhausted();
            free(self)
        });
        let Some(free) = found else {
            return Err(if self.used == self.links.len() { NoRoom::Full } else { NoRoom::Busy });
        };
        self.links.swap(self.index(self.used), self.index(free));
        self.used += 1;
        Ok(self.hold(self.used - 1))
    }

    /// A hold on the block from its start, if thieves have read all they took. The block is free, or held with nothing
    /// in it; this hold replaces that one.
    pub(super) fn restart(&mut self, place: usize) -> Option<Hold<T>> {
        self.is_read(place).then(|| self.hold(place))
    }

    /// As [`restart`](Self::restart), when it is known that thieves have read.
    fn hold(&mut self, place: usize) -> Hold<T> {
        // SAFETY: not granted, or it was dropped as exhausted; its thieves have read; the caller has no other hold.
        unsafe { self.blocks.hold(self.link(place).block) }
    }

    fn is_read(&self, place: usize) -> bool {
        let link = self.link(place);
        link.granted.is_none() && self.blocks.is_read(link.block, link.taken)
    }

    /// Takes the newest block out of use: it is held, and empty.
    pub(super) fn drop_newest(&mut self) {
        debug_assert!(!self.is_granted(self.used - 1));
        self.used -= 1;
    }

    /// Takes the oldest block out of use: it is held, and empty.
    pub(super) fn drop_oldest(&mut self) {
        debug_assert!(!self.is_granted(0));
        self.first = self.index(1);
        self.used -= 1;
    }

    /// Takes the granted blocks out of use of which thieves have taken everything.
    #[cold]
    fn drop_exhausted(&mut self) {
        // From the oldest on, so that the blocks stay in their order if thieves did.
        while self.used > 0 && self.end_grant(0) {
            self.drop_oldest();
        }
        let mut kept = 0;
        for place in 0..self.used {
            if !self.end_grant(place) {
                self.links.swap(self.index(kept), self.index(place));
                kept += 1;
            }
        }
        self.used = kept;
    }

    /// Whether the block was granted and all of it taken. Then it is granted no more.
    fn end_grant(&mut self, place: usize) -> bool {
        let Link { block, granted: Some(granted), .. } = *self.link(place) else { return false };
        let left = self.blocks.granted(block);
        if left.len() > 0 {
            return false;
        }
        let link = self.link_mut(place);
        link.granted = None;
        link.taken = link.taken.wrapping_add(left.first() - granted);
        true
    }

    /// How many items are granted and not taken, now or lately.
    pub(super) fn granted(&self) -> usize {
        let granted = (0..self.used).map(|place| self.link(place)).filter(|link| link.granted.is_some());
        granted.map(|link| self.blocks.granted(link.block).len()).sum()
    }
}

impl<T> fmt::Debug for Chain<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Chain").field("blocks", &self.links.len()).field("used", &self.used).finish_non_exhaustive()
    }
}
