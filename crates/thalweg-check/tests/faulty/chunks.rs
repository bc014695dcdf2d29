//! BLQ's ring of chunks that grows, with chunks of one entry: when the consumer steps to the next chunk, which the paper leaves open
//! (section 3.4: "when they reach the end of a chunk").

use super::{finds, passes};
use thalweg_sync::atomic::Ordering::{Acquire, Relaxed, Release};
use thalweg_sync::atomic::{AtomicU64, AtomicUsize};
use thalweg_sync::cell::Slot;
use thalweg_sync::thread;

const ITEMS: u64 = 3;

struct Chunk {
    entry: Slot<u64>,
    next: AtomicUsize,
}

/// Two chunks that are linked, and one for each item that might want a new one.
struct Ring {
    chunks: [Chunk; 2 + ITEMS as usize],
    /// The consumer's chunk.
    cbase: AtomicUsize,
    /// How many items were pushed.
    tail: AtomicU64,
}

impl Ring {
    fn new() -> Self {
        let chunk = |n| Chunk { entry: Slot::new(0), next: AtomicUsize::new(1 - n % 2) };
        Self { chunks: std::array::from_fn(chunk), cbase: AtomicUsize::new(0), tail: AtomicU64::new(0) }
    }

    fn push_all(&self) {
        let (mut base, mut used) = (0, 2);
        for item in 1..=ITEMS {
            if item > 1 {
                let next = self.chunks[base].next.load(Relaxed);
                if self.cbase.load(Acquire) == next {
                    self.chunks[used].next.store(next, Relaxed);
                    self.chunks[base].next.store(used, Relaxed);
                    base = used;
                    used += 1;
                } else {
                    base = next;
                }
            }
            // SAFETY: the consumer is not in this chunk: it comes when it sees the item. That it may be here already if it steps at once
            // is what is to be found.
            self.chunks[base].entry.with_mut(|entry| unsafe { *entry = item });
            self.tail.store(item, Release);
        }
    }

    fn step(&self, base: usize) -> usize {
        let next = self.chunks[base].next.load(Relaxed);
        self.cbase.store(next, Release);
        next
    }

    /// Pops until it finds nothing. Steps on with the last item of a chunk, or when it sees an item behind the chunk.
    fn pop_some(&self, at_once: bool) {
        let mut base = 0;
        for item in 1..=ITEMS {
            if self.tail.load(Acquire) < item {
                return;
            }
            if item > 1 && !at_once {
                base = self.step(base);
            }
            // SAFETY: the item is pushed, and the producer comes back when we have left the chunk.
            let got = self.chunks[base].entry.with(|entry| unsafe { *entry });
            assert_eq!(got, item, "the producer has put a chunk before the one where the consumer waits");
            if at_once {
                base = self.step(base);
            }
        }
    }
}

fn grow(at_once: bool) {
    let ring = Ring::new();
    thread::scope(|scope| {
        scope.spawn(|| ring.push_all());
        ring.pop_some(at_once);
    });
}

#[test]
fn e22_a_step_to_the_next_chunk_at_once() {
    let violation = finds(|| grow(true)).to_string();
    assert!(violation.contains("has put a chunk before the one"), "{violation}");
    passes(|| grow(false));
}
