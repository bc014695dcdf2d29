//! Rings of slots with two indices a side.

use super::{finds, is_race, passes};
use thalweg_sync::atomic::AtomicU64;
use thalweg_sync::atomic::Ordering::{self, Acquire, Relaxed, Release};
use thalweg_sync::cell::Slot;
use thalweg_sync::thread;

const CAPACITY: u64 = 2;

/// One producer, one consumer; `publish` is the order of the store that hands an entry over.
fn hand_over(publish: Ordering) {
    let (tail, slots) = (AtomicU64::new(0), [const { Slot::new(0) }; CAPACITY as usize]);
    thread::scope(|scope| {
        scope.spawn(|| {
            for n in 0..CAPACITY {
                // SAFETY: the consumer reads only below `tail`.
                slots[n as usize].with_mut(|slot| unsafe { *slot = n + 1 });
                tail.store(n + 1, publish);
            }
        });
        for n in 0..tail.load(Acquire) {
            // SAFETY: the producer is done with what is below `tail`.
            assert_eq!(slots[n as usize].with(|slot| unsafe { *slot }), n + 1);
        }
    });
}

#[test]
fn a_missing_release() {
    assert!(is_race(&finds(|| hand_over(Relaxed))));
    passes(|| hand_over(Release));
}

/// A ring for many on both sides, as in DPDK: who wins the exchange of a head owns an entry, and moves the tail when
/// those before it have.
struct Shared {
    producers: [AtomicU64; 2],
    consumers: [AtomicU64; 2],
    entries: [AtomicU64; CAPACITY as usize],
    /// The orders of the load of the own head, and of its exchange.
    own: [Ordering; 2],
}

const HEAD: usize = 0;
const TAIL: usize = 1;

impl Shared {
    fn new(own: [Ordering; 2]) -> Self {
        let zeros = || [AtomicU64::new(0), AtomicU64::new(0)];
        Self { producers: zeros(), consumers: zeros(), entries: zeros(), own }
    }

    fn put(&self, item: u64) -> bool {
        let head = self.producers[HEAD].load(self.own[0]);
        let free = CAPACITY.wrapping_add(self.consumers[TAIL].load(Acquire)).wrapping_sub(head);
        if free == 0 || self.producers[HEAD].compare_exchange(head, head + 1, self.own[1], Relaxed).is_err() {
            return false;
        }
        self.entries[(head % CAPACITY) as usize].store(item, Relaxed);
        self.producers[TAIL].store(head + 1, Release);
        true
    }

    fn get(&self) -> Option<u64> {
        let head = self.consumers[HEAD].load(self.own[0]);
        // The head may be newer than the tail that is read here: then this is far above the capacity.
        let count = self.producers[TAIL].load(Acquire).wrapping_sub(head);
        if count == 0 || self.consumers[HEAD].compare_exchange(head, head + 1, self.own[1], Relaxed).is_err() {
            return None;
        }
        let item = self.entries[(head % CAPACITY) as usize].load(Relaxed);
        self.consumers[TAIL].store(head + 1, Release);
        Some(item)
    }
}

/// One thread puts one and gets one, the other gets one: they may get one item together.
fn roles(own: [Ordering; 2]) {
    let ring = Shared::new(own);
    let got = thread::scope(|scope| {
        let other = scope.spawn(|| ring.get());
        assert!(ring.put(7));
        [ring.get(), other.join().unwrap()]
    });
    let got = got.into_iter().flatten().collect::<Vec<_>>();
    assert!(got == [7] || got.is_empty(), "{got:?} of one item");
}

#[test]
fn c1_the_order_of_own_and_other_index() {
    let violation = finds(|| roles([Relaxed, Relaxed])).to_string();
    assert!(violation.contains("of one item"), "{violation}");
    passes(|| roles([Acquire, Release]));
}
