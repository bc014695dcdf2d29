//! A stack whose owner gives away blocks by one word: the limit for an owner and a thief.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};

use crossbeam_utils::CachePadded;

use crate::reached::reached;
use crate::workloads::stealing::{self, CAPACITY, Deque};

/// A stack with its length in memory. The owner gives each block that is full to the thief, and takes it back when it comes to it, by an
/// exchange of one word; the thief takes items out of what is given by another. What a `Vec` costs its owner whose lines a thief takes away.
#[derive(Debug)]
pub(crate) struct Given;

/// Items of a block: eight blocks, as in the paper.
const BLOCK: usize = CAPACITY / 8;
/// What a thief takes at once, at most.
const MOST: usize = 32;

/// The items, of which those within `given` are whose exchange comes first, and the others the owner's.
#[derive(Debug)]
struct Stack {
    items: Box<[AtomicU64]>,
    given: CachePadded<AtomicU64>,
}

/// What is given: items from `start` to `end`. Rounds are counted, so that a word of an earlier one is not taken for the present one.
#[derive(Clone, Copy, Debug)]
struct Span {
    round: u64,
    start: usize,
    end: usize,
}

impl Span {
    fn of(word: u64) -> Self {
        Self { round: word >> 32, start: (word >> 16 & 0xFFFF) as usize, end: (word & 0xFFFF) as usize }
    }

    fn word(self) -> u64 {
        self.round << 32 | (self.start << 16 | self.end) as u64
    }
}

impl Stack {
    /// What is given, and its items.
    fn look(&self) -> Span {
        Span::of(self.given.load(Acquire))
    }

    /// Changes what is given, if it is still `from`. Acquire and Release on both sides: items are written before they are given, and read before
    /// they are taken, so that the owner may write there again.
    fn exchange(&self, from: Span, to: Span) -> bool {
        self.given.compare_exchange(from.word(), to.word(), AcqRel, Relaxed).is_ok()
    }
}

/// The owner's end: items from `floor` to `len` are its own, and it gives them away when they reach `ceiling`.
#[derive(Debug)]
pub(crate) struct Owner {
    stack: Arc<Stack>,
    len: usize,
    floor: usize,
    ceiling: usize,
}

impl Owner {
    /// Gives the full block away. False if there is no room for another one.
    #[cold]
    fn give(&mut self) -> bool {
        if self.len == CAPACITY {
            return false;
        }
        loop {
            let given = self.stack.look();
            if self.stack.exchange(given, Span { end: self.len, ..given }) {
                break;
            }
        }
        (self.floor, self.ceiling) = (self.len, CAPACITY.min(self.len + BLOCK));
        true
    }

    /// Takes a block back. False if the thief has had them all.
    #[cold]
    fn take_back(&mut self) -> bool {
        loop {
            let given = self.stack.look();
            let floor = given.start.max(given.end.saturating_sub(BLOCK));
            let (empty, round) = (given.start == given.end, given.round);
            let rest = if empty { Span { round: round + 1, start: 0, end: 0 } } else { Span { end: floor, ..given } };
            if !self.stack.exchange(given, rest) {
                continue;
            }
            if empty {
                (self.len, self.floor, self.ceiling) = (0, 0, BLOCK);
                return false;
            }
            self.floor = floor;
            return true;
        }
    }
}

impl stealing::Owner for Owner {
    #[inline]
    fn push(&mut self, item: u64) -> bool {
        // The length is in memory, as anybody may look at it in between.
        let this = reached(self);
        if this.len == this.ceiling && !this.give() {
            return false;
        }
        this.stack.items[this.len].store(item, Relaxed);
        this.len += 1;
        true
    }

    #[inline]
    fn pop(&mut self) -> Option<u64> {
        let this = reached(self);
        if this.len == this.floor && !this.take_back() {
            return None;
        }
        this.len -= 1;
        Some(this.stack.items[this.len].load(Relaxed))
    }
}

/// The thief's end.
#[derive(Debug)]
pub(crate) struct Thief(Arc<Stack>);

impl stealing::Thief for Thief {
    fn steal(&mut self, most: usize, take: impl FnMut(u64)) -> bool {
        let given = self.0.look();
        let count = most.min(MOST).min(given.end - given.start);
        let mut items = [0; MOST];
        items
            .iter_mut()
            .zip(&self.0.items[given.start..given.start + count])
            .for_each(|(item, given)| *item = given.load(Relaxed));
        let stolen = count > 0 && self.0.exchange(given, Span { start: given.start + count, ..given });
        if stolen {
            items[..count].iter().copied().for_each(take);
        }
        stolen
    }
}

impl Deque for Given {
    type Owner = Owner;
    type Thief = Thief;
    const BATCHES: bool = true;

    fn build() -> (Owner, Thief) {
        let items = (0..CAPACITY).map(|_| AtomicU64::new(0)).collect();
        let given = CachePadded::new(AtomicU64::new(Span { round: 0, start: 0, end: 0 }.word()));
        let stack = Arc::new(Stack { items, given });
        (Owner { stack: stack.clone(), len: 0, floor: 0, ceiling: BLOCK }, Thief(stack))
    }
}

#[cfg(test)]
mod tests {
    use stealing::{Owner as _, Stealing, Thief as _};

    use super::*;

    #[test]
    fn what_is_given_is_the_thiefs_or_comes_back() {
        let (mut owner, mut thief) = Given::build();
        assert!((0..CAPACITY as u64).all(|item| owner.push(item)));
        assert!(!owner.push(0), "it is full");
        let mut stolen = Vec::new();
        assert!(thief.steal(32, |item| stolen.push(item)) && thief.steal(1, |item| stolen.push(item)));
        assert_eq!(stolen, (0..33).collect::<Vec<u64>>(), "the oldest");
        let popped: Vec<u64> = std::iter::from_fn(|| owner.pop()).collect();
        assert_eq!(popped, (33..CAPACITY as u64).rev().collect::<Vec<u64>>());
        assert!(!thief.steal(1, |_| ()));
        assert!(owner.push(7) && owner.pop() == Some(7) && owner.pop().is_none());
    }

    #[test]
    fn a_block_that_is_half_full_is_the_owners() {
        let (mut owner, mut thief) = Given::build();
        (0..BLOCK as u64).for_each(|item| assert!(owner.push(item)));
        assert!(!thief.steal(1, |_| ()));
        assert!(owner.push(9) && thief.steal(1, |_| ()));
    }

    #[test]
    fn an_owner_and_a_thief_have_each_item_once() {
        for batch in [1, MOST] {
            let stealing = Stealing { rounds: 200, percent: 30, batch };
            // On a thread of its own, which is pinned.
            std::thread::spawn(move || stealing.run::<Given>().unwrap()).join().unwrap();
        }
    }
}
