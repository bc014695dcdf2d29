//! A ring of its own for each pair of a producer and a consumer: the limit for a queue for many that keeps no order between them.

use std::sync::Arc;
use std::thread;

use super::super::crew::Crew;
use super::super::one_to_one::{CAPACITY, Ends};
use super::bell::Bell;
use super::stream::{ByBlocks, Prefetched, Side};

/// Rings of `ENTRIES` each, [`CAPACITY`] in all, whose items are seen by blocks, so that no two threads of a side ever meet.
#[derive(Debug)]
pub(crate) struct Pairs<const ENTRIES: usize>;

type Ring<const ENTRIES: usize> = ByBlocks<ENTRIES, Prefetched>;

/// A thread's sides of its rings, and how many items go through each.
pub(crate) type Sides<const ENTRIES: usize> = Vec<(Side<ENTRIES>, u64)>;

/// How a thread of [`Pairs`] waits when it cannot get on in any of its rings.
pub(crate) trait Pause: Send + Sized + 'static {
    /// The word for a record's parameters.
    const WORD: &str;

    /// One for each of so many producers, and of so many consumers.
    fn between(producers: u64, consumers: u64) -> (Vec<Self>, Vec<Self>);

    /// What is to be said to the thread at the other end of ring number `ring`: it may get on.
    fn tell(&self, ring: usize);

    /// Waits a while, or until it is `ready`; the threads of the other ends are `others`.
    fn pause(&self, others: &Crew, ready: impl FnMut() -> bool);
}

/// It gives up its time slice.
#[derive(Clone, Debug)]
pub(crate) struct Yields;

impl Pause for Yields {
    const WORD: &str = "yields";

    fn between(producers: u64, consumers: u64) -> (Vec<Self>, Vec<Self>) {
        (vec![Self; producers as usize], vec![Self; consumers as usize])
    }

    #[inline(always)]
    fn tell(&self, _ring: usize) {}

    #[inline(always)]
    fn pause(&self, _others: &Crew, _ready: impl FnMut() -> bool) {
        thread::yield_now();
    }
}

/// It sleeps until the thread at the other end of a ring has gone on by a block there.
#[derive(Debug)]
pub(crate) struct Sleeps {
    own: Arc<Bell>,
    /// Of the other end of each ring.
    others: Vec<Arc<Bell>>,
}

impl Pause for Sleeps {
    const WORD: &str = "sleeps";

    fn between(producers: u64, consumers: u64) -> (Vec<Self>, Vec<Self>) {
        let bells = |threads| (0..threads).map(|_| Arc::<Bell>::default()).collect::<Vec<_>>();
        let (writing, reading) = (bells(producers), bells(consumers));
        let side = |side: &[Arc<Bell>], others: &[Arc<Bell>]| {
            side.iter().map(|own| Self { own: own.clone(), others: others.to_vec() }).collect()
        };
        (side(&writing, &reading), side(&reading, &writing))
    }

    #[inline(always)]
    fn tell(&self, ring: usize) {
        self.others[ring].ring();
    }

    fn pause(&self, others: &Crew, ready: impl FnMut() -> bool) {
        self.own.wait(ready, || others.gone());
    }
}

impl<const ENTRIES: usize> Pairs<ENTRIES> {
    /// The sides of so many `producers`, each of which has `items(producer)` for all `consumers` together, and of those.
    pub(crate) fn build(
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

    /// Pushes the numbers from 1 on, one by one, a block to each ring in turn. Pauses when all are full. Ends early if no consumer is left.
    #[inline(always)]
    pub(crate) fn push_all(mut sides: Sides<ENTRIES>, pauses: &impl Pause, consumers: &Crew) {
        let mut value = 0;
        while sides.iter().any(|&(_, left)| left > 0) {
            let before = value;
            for (ring, (tx, left)) in sides.iter_mut().enumerate() {
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
                pauses.tell(ring);
            }
            if value == before {
                if consumers.gone() {
                    return;
                }
                let has_room = |(tx, left): &mut (_, u64)| *left > 0 && Ring::<ENTRIES>::has_room(tx);
                pauses.pause(consumers, || sides.iter_mut().any(has_room));
            }
        }
    }

    /// Pops all that come, one by one, from each ring as long as there is something, and sums them up. Pauses when all are empty. Ends early
    /// if no producer is left.
    #[inline(always)]
    pub(crate) fn pop_all(mut sides: Sides<ENTRIES>, pauses: &impl Pause, producers: &Crew) -> u64 {
        let (mut sum, mut left) = (0, sides.iter().map(|&(_, share)| share).sum::<u64>());
        let mut hopeless = false;
        while left > 0 {
            let before = left;
            for (ring, (rx, _)) in sides.iter_mut().enumerate() {
                while let Some(value) = Ring::<ENTRIES>::pop(rx) {
                    sum += value;
                    left -= 1;
                    if Ring::<ENTRIES>::ends_block(rx) {
                        pauses.tell(ring);
                    }
                }
            }
            if left == before {
                if hopeless {
                    break;
                }
                // One more look: what was pushed before they left has to be there.
                hopeless = producers.gone();
                pauses.pause(producers, || sides.iter_mut().any(|(rx, _)| Ring::<ENTRIES>::has_item(rx)));
            }
        }
        sum
    }
}
