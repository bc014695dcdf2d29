//! FastForward as its paper prints it: a ring of words, whose slots say themselves whether they are full.
//!
//! | | |
//! |---|---|
//! | order | FIFO |
//! | who | one producer, one consumer |
//! | progress | wait-free |
//! | cost | a slot is looked at and changed in each operation; nothing is asked for ahead |
//!
//! From J. Giacomoni, T. Moseley and M. Vachharajani, *FastForward for Efficient Pipeline Parallelism*, PPoPP 2008, Figures 4 and 6. A baseline: ours
//! looks at its slots, and empties them, by the line.

use crate::worlds;
use std::num::NonZero;

use thalweg_queue::spsc::fast_forward::Slip;
use thalweg_sync::atomic::AtomicU64;
use thalweg_sync::atomic::Ordering::{Acquire, Release};
use thalweg_sync::sync::Arc;

/// The writing end: false if there is no room.
pub(crate) type Pushing = Box<dyn FnMut(NonZero<u64>) -> bool + Send>;

/// The paper's queue (Figure 4): each operation looks at its slot and changes it, and asks for nothing else.
pub(crate) fn as_printed(entries: usize) -> (Pushing, Printed) {
    let slots: Arc<[AtomicU64]> = (0..entries).map(|_| AtomicU64::new(0)).collect();
    let (ring, mut head) = (slots.clone(), 0);
    let push = move |item: NonZero<u64>| {
        // Acquire, pairs with the Release in `pop`: the item of the round before was taken.
        let empty = ring[head].load(Acquire) == 0;
        if empty {
            ring[head].store(item.get(), Release);
            head = (head + 1) % ring.len();
        }
        empty
    };
    (Box::new(push), Printed { slots, tail: 0 })
}

/// The reading end of [`as_printed`].
pub(crate) struct Printed {
    slots: Arc<[AtomicU64]>,
    tail: usize,
}

impl Printed {
    /// The next item, if there is one.
    pub(crate) fn pop(&mut self) -> Option<NonZero<u64>> {
        let slot = &self.slots[self.tail];
        // Acquire, pairs with the Release in `push`: what belongs to the item is there.
        let item = NonZero::new(slot.load(Acquire))?;
        slot.store(0, Release);
        self.tail = (self.tail + 1) % self.slots.len();
        Some(item)
    }

    /// How many items there are, but no more than GOOD. The paper does not say how it knows.
    fn distance(&self) -> usize {
        let good = Slip::default().good;
        (0..good).find(|n| self.slots[(self.tail + n) % self.slots.len()].load(Acquire) == 0).unwrap_or(good)
    }

    /// Figure 6, line by line, between stages that take so many cycles for an item in the mean.
    pub(crate) fn adjust_slip(&self, stage: u64) {
        let Slip { danger, good, .. } = Slip::default();
        let mut distance = self.distance();
        if distance >= danger {
            return;
        }
        loop {
            let before = distance;
            worlds::work(stage * (good + 1 - distance) as u64);
            distance = self.distance();
            if distance >= good || before >= distance {
                return;
            }
        }
    }
}

#[cfg(all(test, feature = "machines"))]
mod tests {
    use super::*;

    #[test]
    fn it_is_a_queue_of_its_entries() {
        let (mut push, mut rx) = as_printed(3);
        let item = |n| NonZero::new(n).unwrap();
        for round in 0..4 {
            assert!((1..=3).all(|n| push(item(10 * round + n))));
            assert!(!push(item(99)));
            rx.adjust_slip(0);
            assert!((1..=3).all(|n| rx.pop() == Some(item(10 * round + n))));
            assert_eq!(rx.pop(), None);
        }
    }
}
