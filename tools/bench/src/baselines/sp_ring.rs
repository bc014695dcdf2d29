//! DPDK's ring for one producer and one consumer (`SP`/`SC`), which the thesis takes in Figure 2.8.
//!
//! Each side has a head, which says what is taken, and a tail, which says what is handed on, both on one line, and looks at
//! the other side's tail in every operation. From DPDK's programmer's guide, *Ring Library*; slots are words.

use thalweg_sync::CachePadded;
use thalweg_sync::atomic::AtomicU64;
use thalweg_sync::atomic::Ordering::{Acquire, Relaxed, Release};
use thalweg_sync::sync::Arc;

#[derive(Default)]
struct Side {
    head: AtomicU64,
    tail: AtomicU64,
}

struct Ring {
    slots: Box<[AtomicU64]>,
    producer: CachePadded<Side>,
    consumer: CachePadded<Side>,
}

/// An end, whichever. Only one thread may push at a time, and only one pop.
#[derive(Clone)]
pub(crate) struct SpRing(Arc<Ring>);

impl SpRing {
    pub(crate) fn new(capacity: usize) -> Self {
        let slots = (0..capacity).map(|_| AtomicU64::new(0)).collect();
        Self(Arc::new(Ring { slots, producer: CachePadded::default(), consumer: CachePadded::default() }))
    }

    /// False if there is no room.
    pub(crate) fn try_push(&self, item: u64) -> bool {
        let Ring { slots, producer, consumer } = &*self.0;
        let head = producer.head.load(Relaxed);
        // Acquire, pairs with the Release in `try_pop`: the slot of the round before is read.
        if head - consumer.tail.load(Acquire) == slots.len() as u64 {
            return false;
        }
        producer.head.store(head + 1, Relaxed);
        slots[head as usize % slots.len()].store(item, Relaxed);
        producer.tail.store(head + 1, Release);
        true
    }

    /// `None` if there is nothing.
    pub(crate) fn try_pop(&self) -> Option<u64> {
        let Ring { slots, producer, consumer } = &*self.0;
        let head = consumer.head.load(Relaxed);
        // Acquire, pairs with the Release in `try_push`: the slot is written.
        if producer.tail.load(Acquire) == head {
            return None;
        }
        consumer.head.store(head + 1, Relaxed);
        let item = slots[head as usize % slots.len()].load(Relaxed);
        consumer.tail.store(head + 1, Release);
        Some(item)
    }
}

#[cfg(all(test, feature = "machines"))]
mod tests {
    use super::*;

    #[test]
    fn it_is_a_queue_of_its_capacity() {
        let ring = SpRing::new(3);
        for round in 0..4 {
            assert!((0..3).all(|n| ring.try_push(10 * round + n)));
            assert!(!ring.try_push(99));
            assert!((0..3).all(|n| ring.try_pop() == Some(10 * round + n)));
            assert_eq!(ring.try_pop(), None);
        }
    }
}
