//! A ring behind two ticket locks, one for each side: the thesis' port of the ring in the Linux kernel.

use thalweg_sync::atomic::AtomicU64;
use thalweg_sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use thalweg_sync::cell::Slot;
use thalweg_sync::sync::Arc;
use thalweg_sync::{CachePadded, spin};

/// A lock that serves in the order of arrival. What it keeps is the position of its side.
#[derive(Default)]
struct Side {
    next: CachePadded<AtomicU64>,
    serving: CachePadded<AtomicU64>,
    position: CachePadded<AtomicU64>,
}

impl Side {
    /// Waits for its turn, and then for a position for which `ready` says what comes; `act` uses it.
    fn locked<R>(&self, ready: impl Fn(u64) -> Option<bool>, act: impl FnOnce(u64) -> R) -> Option<R> {
        let ticket = self.next.fetch_add(1, Relaxed);
        // Acquire, pairs with the Release below: what the one before did in its turn is seen.
        spin::until(|| (self.serving.load(Acquire) == ticket).then_some(()));
        let at = self.position.load(Relaxed);
        let done = spin::until(|| ready(at)).then(|| act(at));
        if done.is_some() {
            // Release, pairs with the Acquire of the other side's `ready`.
            self.position.store(at + 1, Release);
        }
        self.serving.store(ticket + 1, Release);
        done
    }
}

struct Ring {
    slots: Box<[Slot<u64>]>,
    writing: Side,
    reading: Side,
    producers: CachePadded<AtomicU64>,
}

/// The writing end. When the last one is gone, the queue is closed.
pub(crate) struct Producer(Arc<Ring>);

/// The reading end.
#[derive(Clone)]
pub(crate) struct Consumer(Arc<Ring>);

pub(crate) fn ticket_ring(capacity: usize) -> (Producer, Consumer) {
    let slots = (0..capacity).map(|_| Slot::new(0)).collect();
    let producers = CachePadded(AtomicU64::new(1));
    let ring = Arc::new(Ring { slots, writing: Side::default(), reading: Side::default(), producers });
    (Producer(ring.clone()), Consumer(ring))
}

impl Producer {
    pub(crate) fn push(&self, item: u64) {
        let ring = &*self.0;
        let capacity = ring.slots.len() as u64;
        let room = |at: u64| (at < ring.reading.position.load(Acquire) + capacity).then_some(true);
        ring.writing.locked(room, |at| {
            // SAFETY: it is this producer's turn, and the slot's reader of the round before has moved on.
            ring.slots[(at % capacity) as usize].with_mut(|slot| unsafe { *slot = item });
        });
    }
}

impl Consumer {
    /// The next item; `None` when it is closed and empty.
    pub(crate) fn pop(&self) -> Option<u64> {
        let ring = &*self.0;
        let item = |at: u64| {
            let closed = ring.producers.load(Acquire) == 0;
            if at < ring.writing.position.load(Acquire) { Some(true) } else { closed.then_some(false) }
        };
        ring.reading.locked(item, |at| {
            // SAFETY: it is this consumer's turn, and the slot is written.
            ring.slots[at as usize % ring.slots.len()].with(|slot| unsafe { *slot })
        })
    }
}

impl Clone for Producer {
    fn clone(&self) -> Self {
        self.0.producers.fetch_add(1, Relaxed);
        Self(self.0.clone())
    }
}

impl Drop for Producer {
    fn drop(&mut self) {
        self.0.producers.fetch_sub(1, AcqRel);
    }
}

#[cfg(all(test, feature = "machines"))]
mod tests {
    use super::*;

    #[test]
    fn items_come_in_order_and_then_the_end() {
        let (tx, rx) = ticket_ring(2);
        let other = tx.clone();
        for round in 0..3 {
            tx.push(2 * round);
            other.push(2 * round + 1);
            assert_eq!([rx.pop(), rx.clone().pop()], [Some(2 * round), Some(2 * round + 1)]);
        }
        drop(tx);
        other.push(6);
        drop(other);
        assert_eq!([rx.pop(), rx.pop()], [Some(6), None]);
    }
}
