//! A ring of its own for each pair of a producer and a consumer: the limit for a queue for many that keeps no order between them.

use std::thread;

use super::super::crew::Crew;
use super::super::one_to_one::{CAPACITY, Ends};
use super::stream::{ByBlocks, Prefetched, Side};

/// Rings of `ENTRIES` each, [`CAPACITY`] in all, whose items are seen by blocks, so that no two threads of a side ever meet.
#[derive(Debug)]
pub(in super::super) struct Pairs<const ENTRIES: usize>;

type Ring<const ENTRIES: usize> = ByBlocks<ENTRIES, Prefetched>;

/// A thread's sides of its rings, and how many items go through each.
pub(in super::super) type Sides<const ENTRIES: usize> = Vec<(Side<ENTRIES>, u64)>;

impl<const ENTRIES: usize> Pairs<ENTRIES> {
    /// The sides of so many `producers`, each of which has `items(producer)` for all `consumers` together, and of those.
    pub(in super::super) fn build(
        producers: u64,
        consumers: u64,
        items: impl Fn(u64) -> u64,
    ) -> (Vec<Sides<ENTRIES>>, Vec<Sides<ENTRIES>>) {
        assert_eq!(
            producers as usize * consumers as usize * ENTRIES,
            CAPACITY,
            "together the rings have the usual size"
        );
        let mut rxs: Vec<Sides<ENTRIES>> = (0..consumers).map(|_| Vec::new()).collect();
        let side = |producer: u64, (consumer, rxs): (u64, &mut Sides<ENTRIES>)| {
            let all = items(producer);
            let share = all / consumers + u64::from(consumer < all % consumers);
            let (tx, rx) = Ring::<ENTRIES>::build(ENTRIES);
            rxs.push((rx, share));
            (tx, share)
        };
        let txs = (0..producers).map(|producer| (0..).zip(&mut rxs).map(|rx| side(producer, rx)).collect()).collect();
        (txs, rxs)
    }

    /// Pushes the numbers from 1 on, one by one, a block to each ring in turn. Yields when all are full. Ends early if no consumer is left.
    #[inline(always)]
    pub(in super::super) fn push_all(mut sides: Sides<ENTRIES>, consumers: &Crew) {
        let mut value = 0;
        while sides.iter().any(|&(_, left)| left > 0) {
            let before = value;
            for (tx, left) in &mut sides {
                // A ring has room for a block, or for nothing.
                let count = (*left).min(Ring::<ENTRIES>::BLOCK);
                if count == 0 || !Ring::<ENTRIES>::has_room(tx) {
                    continue;
                }
                for _ in 0..count {
                    value += 1;
                    let pushed = Ring::<ENTRIES>::push(tx, value);
                    debug_assert!(pushed, "there is room for a block");
                }
                *left -= count;
                if *left == 0 {
                    Ring::<ENTRIES>::flush(tx);
                }
            }
            if value == before {
                if consumers.gone() {
                    return;
                }
                thread::yield_now();
            }
        }
    }

    /// Pops all that come, one by one, from each ring as long as there is something, and sums them up. Yields when all are empty. Ends early
    /// if no producer is left.
    #[inline(always)]
    pub(in super::super) fn pop_all(mut sides: Sides<ENTRIES>, producers: &Crew) -> u64 {
        let (mut sum, mut left) = (0, sides.iter().map(|&(_, share)| share).sum::<u64>());
        let mut hopeless = false;
        while left > 0 {
            let before = left;
            for (rx, _) in &mut sides {
                while let Some(value) = Ring::<ENTRIES>::pop(rx) {
                    sum += value;
                    left -= 1;
                }
            }
            if left == before {
                if hopeless {
                    break;
                }
                // One more look: what was pushed before they left has to be there.
                hopeless = producers.gone();
                thread::yield_now();
            }
        }
        sum
    }
}
