//! The k-FIFO queue for a bounded number of items: a ring of segments of `k` slots, each of which is filled and emptied in any order.
//!
//! | | |
//! |---|---|
//! | order | k-FIFO: an item overtakes fewer than `k` others and is overtaken by fewer than `k`; linearizable, and so is empty |
//! | who | any number of producers and consumers |
//! | progress | lock-free |
//! | cost | an exchange of a slot, some slots looked at before, and one of the head or the tail for a segment |
//!
//! From C. Kirsch, M. Lippautz and H. Payer, *Fast and Scalable, Lock-Free k-FIFO Queues*, PaCT 2013, the form of bounded size. A baseline: the thesis'
//! BSQ (Table 3.2). As published: a push looks for an empty slot in the last segment and a pop for an item in the first one, both from a slot that they
//! draw, and both go on to the next segment if there is none. A pushed item counts when its segment is behind the first, or when the first one's version
//! could be raised, so that who found that segment empty does not leave it. A pop from the only segment begins another one before, or those who push there
//! would overtake its oldest item for ever.
//!
//! What differs: positions are numbers of segments that never come back, so "in the queue" is a comparison. A push into a full ring looks again after it has
//! moved the head, and moves the tail only where there is room for it; the authors' own code moves the tail even if its exchange of the head was lost, and then
//! the last segment may lie over the first. Words have 40 bits for the item and 24 for the version.
//!
//! Memory: `segments` times `k` words for as long as the queue lives, side by side as in the paper's array, and nothing to reclaim.
//!
//! All accesses are sequentially consistent, which the paper assumes.

use thalweg_queue::stealing::Rng;
use thalweg_sync::CachePadded;
use thalweg_sync::atomic::AtomicU64;
use thalweg_sync::atomic::Ordering::SeqCst;
use thalweg_sync::sync::Arc;

/// A slot's word: an item, or 0 for none, and a version that each change raises.
///
/// | 63 ..= 40 | 39 ..= 0      |
/// |-----------|---------------|
/// | version   | item; 0: none |
#[derive(Clone, Copy, PartialEq, Eq)]
struct Versioned(u64);

impl Versioned {
    const ITEM: u32 = 40;

    fn item(self) -> u64 {
        self.0 & ((1 << Self::ITEM) - 1)
    }

    /// What comes in the place of this.
    fn then(self, item: u64) -> Self {
        Self(((self.0 >> Self::ITEM) + 1) << Self::ITEM | item)
    }
}

/// The first segment, or the last one.
///
/// | 63 ..= 16         | 15 ..= 0                                                   |
/// |-------------------|------------------------------------------------------------|
/// | number of segment | version: how many pushes counted because it is still first |
///
/// Nobody begins to push into a segment from which there was a pop, so there are at most `k` of those and one for each thread.
#[derive(Clone, Copy, PartialEq, Eq)]
struct SegmentMark(u64);

impl SegmentMark {
    fn segment(self) -> u64 {
        self.0 >> 16
    }

    fn next(self) -> Self {
        Self((self.segment() + 1) << 16)
    }

    fn touched(self) -> Self {
        Self(self.0 + 1)
    }
}

#[derive(Debug)]
struct Shared {
    head: CachePadded<AtomicU64>,
    tail: CachePadded<AtomicU64>,
    slots: Box<[AtomicU64]>,
    k: usize,
    ends: AtomicU64,
}

/// An end, writing and reading, for one thread at a time.
#[derive(Debug)]
pub(crate) struct KFifo {
    shared: Arc<Shared>,
    rng: Rng,
}

impl Clone for KFifo {
    fn clone(&self) -> Self {
        Self { shared: self.shared.clone(), rng: Rng::new(self.shared.ends.fetch_add(1, SeqCst)) }
    }
}

impl KFifo {
    /// A queue of so many segments, two at least, of `k` slots.
    pub(crate) fn new(segments: usize, k: usize) -> Self {
        assert!(segments >= 2 && (1..1 << 15).contains(&k), "{segments} segments of {k}");
        let slots = (0..segments * k).map(|_| AtomicU64::new(0)).collect();
        let [head, tail] = [(); 2].map(|()| CachePadded(AtomicU64::new(0)));
        Self { shared: Arc::new(Shared { head, tail, slots, k, ends: AtomicU64::new(1) }), rng: Rng::new(0) }
    }

    /// False if the first segment still has items, and all others are in use. `item` is neither 0 nor has more than 40 bits.
    pub(crate) fn try_push(&mut self, item: u64) -> bool {
        debug_assert!(item != 0 && item >> Versioned::ITEM == 0);
        let Self { shared, rng } = self;
        loop {
            let (tail, head) = (shared.tail(), shared.head());
            let found = shared.find(tail, rng, |word| word.item() == 0);
            if shared.tail() != tail {
                continue;
            }
            if let Some((slot, was)) = found {
                let new = was.then(item);
                if slot.compare_exchange(was.0, new.0, SeqCst, SeqCst).is_ok() && shared.counts(tail, slot, new) {
                    return true;
                }
            } else if tail.segment() + 1 - head.segment() < shared.segments() {
                shared.advance(&shared.tail, tail);
            } else if shared.find(head, rng, |word| word.item() != 0).is_none() {
                shared.advance(&shared.head, head);
            } else if shared.head() == head {
                return false;
            }
        }
    }

    /// One of the oldest `k` items, if there is any.
    pub(crate) fn pop(&mut self) -> Option<u64> {
        let Self { shared, rng } = self;
        loop {
            let head = shared.head();
            let found = shared.find(head, rng, |word| word.item() != 0);
            let tail = shared.tail();
            if shared.head() != head {
                continue;
            }
            let alone = head.segment() == tail.segment();
            if let Some((slot, was)) = found {
                if alone {
                    shared.advance(&shared.tail, tail);
                }
                if slot.compare_exchange(was.0, was.then(0).0, SeqCst, SeqCst).is_ok() {
                    return Some(was.item());
                }
            } else if alone && shared.tail() == tail {
                return None;
            } else {
                shared.advance(&shared.head, head);
            }
        }
    }
}

impl Shared {
    fn head(&self) -> SegmentMark {
        SegmentMark(self.head.load(SeqCst))
    }

    fn tail(&self) -> SegmentMark {
        SegmentMark(self.tail.load(SeqCst))
    }

    fn segments(&self) -> u64 {
        (self.slots.len() / self.k) as u64
    }

    fn advance(&self, end: &AtomicU64, from: SegmentMark) {
        // The exchange fails if another end has advanced the place, or raised its version.
        let _ = end.compare_exchange(from.0, from.next().0, SeqCst, SeqCst);
    }

    /// A slot of that segment that `fits`, the first one from a slot that is drawn, and its word.
    fn find(
        &self,
        place: SegmentMark,
        rng: &mut Rng,
        fits: impl Fn(Versioned) -> bool,
    ) -> Option<(&AtomicU64, Versioned)> {
        let first = (place.segment() % self.segments()) as usize * self.k;
        let segment = &self.slots[first..first + self.k];
        let (before, from) = segment.split_at(rng.below(self.k));
        let mut words = from.iter().chain(before).map(|slot| (slot, Versioned(slot.load(SeqCst))));
        words.find(|(_, word)| fits(*word))
    }

    /// Whether the item that was put into the segment at `tail` is in the queue. If not, it is taken out again.
    fn counts(&self, tail: SegmentMark, slot: &AtomicU64, new: Versioned) -> bool {
        if slot.load(SeqCst) != new.0 {
            // A pop has it.
            return true;
        }
        let head = self.head();
        let is_first = tail.segment() == head.segment();
        let counts = tail.segment() > head.segment()
            || is_first && self.head.compare_exchange(head.0, head.touched().0, SeqCst, SeqCst).is_ok();
        counts || slot.compare_exchange(new.0, new.then(0).0, SeqCst, SeqCst).is_err()
    }
}

#[cfg(all(test, feature = "machines"))]
mod tests {
    use std::task::Poll;

    use super::*;
    use crate::baselines::promises::{self, Order, Rival};

    impl Rival for KFifo {
        const ORDER: Order = Order::Any;

        fn push(&mut self, item: u64) -> bool {
            self.try_push(item)
        }

        fn pop(&mut self) -> Poll<Option<u64>> {
            Poll::Ready(self.pop())
        }
    }

    #[test]
    fn it_has_room_for_its_slots_and_is_empty_in_the_end() {
        let mut queue = KFifo::new(3, 4);
        for round in 0..10 {
            assert!((1..=12).all(|n| queue.try_push(100 * round + n)));
            assert!(!queue.try_push(99));
            let mut got: Vec<u64> = std::iter::from_fn(|| queue.pop()).collect();
            got.sort_unstable();
            assert!(got.into_iter().eq((1..=12).map(|n| 100 * round + n)));
            assert_eq!(queue.pop(), None);
        }
    }

    /// The bound that it is named after, by one thread, over many draws; and that it is reached, or `k` would mean nothing.
    #[test]
    fn an_item_overtakes_and_is_overtaken_by_fewer_than_k() {
        for k in [1, 2, 5, 16] {
            let relaxed = promises::overtakes(KFifo::new(4, k));
            assert!(relaxed.overtakes < k && relaxed.is_overtaken < k, "{relaxed:?} with k {k}");
            assert!(relaxed.overtakes + 1 >= k.min(5), "{relaxed:?} with k {k}");
        }
    }

    #[test]
    fn many_to_many_get_each_item_once() {
        promises::natively(|| KFifo::new(4, 3));
    }

    #[test]
    fn no_schedule_loses_or_repeats() {
        promises::in_schedules(|| KFifo::new(2, 1));
        promises::in_schedules(|| KFifo::new(3, 2));
    }
}
