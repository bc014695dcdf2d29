//! Sliding windows as contiguous slices.
//!
//! A windowed edge lays its messages out so that every window lies within one block: the messages that two blocks' windows share are cloned to
//! the front of the second. So parallel kernels get windows too, each block for itself (DANBI §II, `reserve_peek_pop`).

use crate::block::pool::Pool;
use crate::block::{Block, drop_each};
use crate::error::{Guarded, Payload};
use std::fmt;
use std::mem;
use thalweg_sync::hint::Access;

/// Turns blocks of messages into blocks of whole windows.
pub(crate) trait Assemble: Send {
    /// Takes the messages of `block`, gives a block of all windows that are complete now: one of `pool`, to which `block` goes back. Drops what belongs
    /// to no window, and notes the panics of destructors. Should a clone panic, it gives none, and has the messages still.
    fn assemble(&mut self, block: Block, pool: &Pool<'_>, panics: &mut Vec<Payload>) -> Option<Block>;

    /// Drops the messages that are no windows yet, and notes the panics of their destructors.
    fn clear(&mut self, panics: &mut Vec<Payload>);
}

/// Windows of `peek` messages, each `pop` messages after the last.
pub(crate) struct Windows<T> {
    peek: usize,
    pop: usize,
    /// What came after the last complete window's start and belongs to the next ones.
    tail: Vec<T>,
    /// Empty: keeps the room of the last tail for the next one.
    spare: Vec<T>,
    /// Messages between two windows that belong to none (`pop` > `peek`), still to come.
    skip: usize,
}

impl<T: Clone + Send> Windows<T> {
    pub(crate) fn new(peek: usize, pop: usize) -> Self {
        Self { peek, pop, tail: Vec::new(), spare: Vec::new(), skip: 0 }
    }
}

impl<T: Clone + Send> Assemble for Windows<T> {
    fn assemble(&mut self, mut block: Block, pool: &Pool<'_>, panics: &mut Vec<Payload>) -> Option<Block> {
        let (first, end) = (block.first(), block.end());
        // SAFETY: every message is dropped or moved out below.
        unsafe { block.set_range(end, end) };
        let skipped = self.skip.min(end - first);
        self.skip -= skipped;
        // SAFETY: the edge carries `T` (B1), and the block has given them up.
        unsafe { drop_each(block.entry::<T>(first), skipped, panics) };
        // SAFETY: the edge carries `T` (B1), and each message is read once.
        self.tail.extend((first + skipped..end).map(|index| unsafe { block.entry::<T>(index).read() }));
        pool.close(block);
        let beyond = self.tail.len().checked_sub(self.peek)?;
        let windows = beyond / self.pop + 1;
        let used = (windows - 1) * self.pop + self.peek;
        let popped = windows * self.pop;
        self.skip += popped.saturating_sub(self.tail.len());
        // Clones first: should one panic, all messages are still where they were.
        let mut rest = Guarded::new(mem::take(&mut self.spare));
        rest.0.extend_from_slice(self.tail.get(popped..used).unwrap_or_default());
        let mut rest = rest.into_inner();
        rest.extend(self.tail.drain(self.tail.len().min(popped.max(used))..));
        let mut ready = mem::replace(&mut self.tail, rest);
        let mut windowed = pool.open::<T>(used);
        windowed.touch(0..used, mem::size_of::<T>(), Access::Write);
        let between = ready.len() - used;
        // SAFETY: opened for `used` messages of this type. All of `ready` is given up: these move, and what lies behind the last window is dropped.
        unsafe {
            ready.set_len(0);
            windowed.entry::<T>(0).copy_from_nonoverlapping(ready.as_ptr(), used);
            windowed.set_range(0, used);
            drop_each(ready.as_mut_ptr().add(used), between, panics);
        }
        self.spare = ready;
        Some(windowed)
    }

    fn clear(&mut self, panics: &mut Vec<Payload>) {
        let len = self.tail.len();
        // SAFETY: the vector gives its messages up first.
        unsafe {
            self.tail.set_len(0);
            drop_each(self.tail.as_mut_ptr(), len, panics);
        }
    }
}

impl<T> fmt::Debug for Windows<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Windows").field("peek", &self.peek).field("pop", &self.pop).finish_non_exhaustive()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::block::pool::Store;

    fn block_of(messages: std::ops::Range<u32>) -> Block {
        let len = messages.len();
        let mut block = Block::allocate(len * 4, 4);
        block.open::<u32>(len as u32);
        for (index, message) in messages.enumerate() {
            // SAFETY: room for `len`.
            unsafe { block.entry::<u32>(index).write(message) }
        }
        // SAFETY: just written.
        unsafe { block.set_range(0, len) };
        block
    }

    #[test]
    fn every_window_is_whole_whatever_the_blocks() {
        let store = Store::default();
        let pool = Pool::new(&store);
        for (peek, pop) in [(1, 1), (3, 1), (4, 2), (2, 2), (1, 3), (5, 7), (128, 5)] {
            for step in [1, 2, 3, 7, 64, 200] {
                let mut windows = Windows::<u32>::new(peek, pop);
                let mut starts = Vec::new();
                for start in (0..600).step_by(step) {
                    let Some(block) = windows.assemble(block_of(start..start + step as u32), &pool, &mut Vec::new())
                    else {
                        continue;
                    };
                    // SAFETY: a block of `u32`.
                    let messages = unsafe { block.messages::<u32>() };
                    assert_eq!((messages.len() - peek) % pop, 0);
                    for window in messages.windows(peek).step_by(pop) {
                        assert!(window.windows(2).all(|pair| pair[1] == pair[0] + 1));
                        starts.push(window[0]);
                    }
                }
                let total = 600_usize.div_ceil(step) * step;
                let expected: Vec<u32> = (0..=(total - peek) as u32).step_by(pop).collect();
                assert_eq!(starts, expected, "peek {peek}, pop {pop}, blocks of {step}");
            }
        }
    }
}
