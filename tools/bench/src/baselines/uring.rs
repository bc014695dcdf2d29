//! io_uring's two rings, between threads: submissions of 64 bytes behind an array of indices, completions of 16.
//!
//! Each ring has a head, which its consumer writes, and a tail, which its producer writes, on a line each. A producer looks at the head once for a batch. The
//! consumer of submissions, which is the kernel there, copies each entry, confirms it at once, and says in the end how many it has taken. From J. Axboe, *Efficient IO
//! with io_uring* (2020), and the manual's page `io_uring(7)`; completions that do not fit wait, and there is no list for them.

use thalweg_sync::CachePadded;
use thalweg_sync::atomic::Ordering::{Acquire, Relaxed, Release};
use thalweg_sync::atomic::{AtomicU32, AtomicU64};
use thalweg_sync::spin;
use thalweg_sync::sync::Arc;

/// A request: what it is asked for, and words that say more.
pub(crate) type Submission = [u64; 8];
/// Whose it is, and what came of it.
pub(crate) type Completion = [u64; 2];

struct Ring<const WORDS: usize> {
    head: CachePadded<AtomicU32>,
    tail: CachePadded<AtomicU32>,
    entries: Box<[[AtomicU64; WORDS]]>,
}

impl<const WORDS: usize> Ring<WORDS> {
    fn new(capacity: usize) -> Self {
        let entries = (0..capacity).map(|_| [(); WORDS].map(|()| AtomicU64::new(0))).collect();
        Self { head: CachePadded::default(), tail: CachePadded::default(), entries }
    }

    fn at(&self, place: u32) -> &[AtomicU64; WORDS] {
        &self.entries[place as usize % self.entries.len()]
    }

    /// Relaxed, as in `read`: the tail hands entries on, the head hands them back.
    fn write(&self, place: u32, entry: [u64; WORDS]) {
        self.at(place).iter().zip(entry).for_each(|(word, value)| word.store(value, Relaxed));
    }

    fn read(&self, place: u32) -> [u64; WORDS] {
        self.at(place).each_ref().map(|word| word.load(Relaxed))
    }

    /// The free places behind `tail`, the producer's own.
    fn room(&self, tail: u32) -> usize {
        // Acquire, pairs with the consumer's store of the head: it has read what was there.
        self.entries.len() - tail.wrapping_sub(self.head.load(Acquire)) as usize
    }

    /// The entries behind `head`, the consumer's own.
    fn filled(&self, head: u32) -> usize {
        // Acquire, pairs with the producer's store of the tail: the entries are written.
        self.tail.load(Acquire).wrapping_sub(head) as usize
    }
}

struct Rings {
    submissions: Ring<8>,
    /// Which entry stands at which place of the ring.
    indices: Box<[AtomicU32]>,
    completions: Ring<2>,
    /// Taken for each completion.
    lock: CachePadded<AtomicU32>,
}

/// Who submits.
pub(crate) struct Submitter(Arc<Rings>, u32);
/// Who takes submissions and confirms them.
pub(crate) struct Kernel(Arc<Rings>, u32, u32);
/// Who takes completions.
pub(crate) struct Reaper(Arc<Rings>, u32);

/// Rings with room for so many submissions, a power of two, and twice as many completions.
pub(crate) fn rings(capacity: usize) -> (Submitter, Kernel, Reaper) {
    let rings = Arc::new(Rings {
        submissions: Ring::new(capacity),
        indices: (0..capacity).map(|_| AtomicU32::new(0)).collect(),
        completions: Ring::new(2 * capacity),
        lock: CachePadded::default(),
    });
    (Submitter(rings.clone(), 0), Kernel(rings.clone(), 0, 0), Reaper(rings, 0))
}

impl Submitter {
    /// Submits as many as there is room for, from the first on. Returns how many.
    pub(crate) fn submit(&mut self, requests: &[Submission]) -> usize {
        let Self(rings, tail) = self;
        let count = rings.submissions.room(*tail).min(requests.len());
        for request in &requests[..count] {
            rings.submissions.write(*tail, *request);
            let capacity = rings.indices.len() as u32;
            rings.indices[(*tail % capacity) as usize].store(*tail % capacity, Relaxed);
            *tail = tail.wrapping_add(1);
        }
        if count > 0 {
            // Release, pairs with the Acquire in `filled`.
            rings.submissions.tail.store(*tail, Release);
        }
        count
    }
}

impl Kernel {
    /// Takes up to `most` submissions, and confirms each by what `serve` makes of it, waiting for room. Returns how many.
    pub(crate) fn enter(&mut self, most: usize, mut serve: impl FnMut(Submission) -> Completion) -> usize {
        let Self(rings, head, tail) = self;
        let count = rings.submissions.filled(*head).min(most);
        for _ in 0..count {
            let capacity = rings.indices.len() as u32;
            let index = rings.indices[(*head % capacity) as usize].load(Relaxed);
            let completion = serve(rings.submissions.read(index));
            *head = head.wrapping_add(1);
            spin::until(|| (rings.completions.room(*tail) > 0).then_some(()));
            // Acquire and Release: who completes is alone at it.
            spin::until(|| rings.lock.compare_exchange(0, 1, Acquire, Relaxed).ok());
            rings.completions.write(*tail, completion);
            *tail = tail.wrapping_add(1);
            // Release, pairs with the Acquire in `filled`.
            rings.completions.tail.store(*tail, Release);
            rings.lock.store(0, Release);
        }
        if count > 0 {
            // Release, pairs with the Acquire in `room`.
            rings.submissions.head.store(*head, Release);
        }
        count
    }
}

impl Reaper {
    /// Takes up to `most` completions. Returns how many.
    pub(crate) fn reap(&mut self, most: usize, mut take: impl FnMut(Completion)) -> usize {
        let Self(rings, head) = self;
        let count = rings.completions.filled(*head).min(most);
        for _ in 0..count {
            take(rings.completions.read(*head));
            *head = head.wrapping_add(1);
        }
        if count > 0 {
            // Release, pairs with the Acquire in `room`.
            rings.completions.head.store(*head, Release);
        }
        count
    }
}

#[cfg(all(test, feature = "machines"))]
mod tests {
    use super::*;

    #[test]
    fn requests_are_confirmed_in_order_round_after_round() {
        let (mut submitter, mut kernel, mut reaper) = rings(4);
        let mut next = 0;
        for _ in 0..5 {
            let requests: Vec<Submission> = (next..next + 6).map(|n| [n; 8]).collect();
            assert_eq!(submitter.submit(&requests), 4, "no more than there is room for");
            assert_eq!(kernel.enter(3, |request| [request[7], 1]), 3);
            assert_eq!(kernel.enter(3, |request| [request[7], 1]), 1);
            let mut seen = Vec::new();
            assert_eq!(reaper.reap(9, |[n, _]| seen.push(n)), 4);
            assert!(seen.into_iter().eq(next..next + 4));
            next += 4;
        }
        assert_eq!((kernel.enter(9, |_| [0; 2]), reaper.reap(9, |_| ())), (0, 0));
    }
}
