//! A queue as Boost's lock-free one: Michael and Scott's list, with nodes from a free list.
//!
//! | | |
//! |---|---|
//! | order | FIFO, linearizable |
//! | who | any number of producers and consumers |
//! | progress | lock-free |
//! | cost | a push: three compare-exchanges (free list, last node's link, tail); a pop: two, and the node goes back |
//!
//! From M. Michael and M. Scott, *Simple, Fast, and Practical Non-Blocking and Blocking Concurrent Queue Algorithms*, PODC
//! 1996; free list, tags and a node on a line of its own as in Boost's. A baseline: what Virtual-Link's paper measures
//! against.
//!
//! Boost's queue allocates a node when its free list is empty, so it never refuses, and without back-pressure it grows.
//! Here the free list has all nodes from the beginning, those that were never used behind those that were given back:
//! with room for all that a run sends, it touches memory as one that grows does.
//!
//! # Invariants
//!
//! - **N1** A node is in the list, in the free list, or with the one thread that took it out. Links carry a tag that each
//!   change raises, so that a compare-exchange that succeeds has seen no other change.
//! - **N2** A node's words are written by the thread that took it from the free list. They may be read by others later than
//!   that, but then the reader's compare-exchange of the head fails, and it forgets what it read. So they are atomics.

use thalweg_sync::CachePadded;
use thalweg_sync::atomic::AtomicU64;
use thalweg_sync::atomic::Ordering::{Acquire, Relaxed, Release};
use thalweg_sync::spin;
use thalweg_sync::sync::Arc;

/// A node's number and a tag, in one word.
///
/// | 63 ..= 32 | 31 ..= 0          |
/// |-----------|-------------------|
/// | tag       | node; 0: none     |
#[derive(Clone, Copy, PartialEq, Eq)]
struct Link(u64);

impl Link {
    fn node(self) -> usize {
        self.0 as u32 as usize
    }

    /// A link to `node`, in the place of this one.
    fn to(self, node: usize) -> u64 {
        ((self.0 >> 32) + 1) << 32 | node as u64
    }
}

/// On a line of its own, unless it has more words than that.
#[derive(Debug)]
#[repr(align(64))]
struct Node<const W: usize> {
    next: AtomicU64,
    words: [AtomicU64; W],
}

#[derive(Debug)]
struct Shared<const W: usize> {
    head: CachePadded<AtomicU64>,
    tail: CachePadded<AtomicU64>,
    free: CachePadded<AtomicU64>,
    /// Number 0 is nobody. In the free list a link says how far the next node is from the one behind this, so that a list
    /// of all nodes is all zeros, and costs nothing to make.
    nodes: Box<[Node<W>]>,
}

/// An end, writing and reading. Items are `W` words.
#[derive(Clone, Debug)]
pub(crate) struct Boost<const W: usize>(Arc<Shared<W>>);

impl<const W: usize> Boost<W> {
    /// A queue for `capacity` items.
    pub(crate) fn new(capacity: usize) -> Self {
        let node = |_| Node { next: AtomicU64::new(0), words: std::array::from_fn(|_| AtomicU64::new(0)) };
        // Nobody, the first dummy, and the items.
        let nodes: Box<[Node<W>]> = (0..capacity + 2).map(node).collect();
        let at = |node| CachePadded(AtomicU64::new(Link(0).to(node)));
        Self(Arc::new(Shared { head: at(1), tail: at(1), free: at(2), nodes }))
    }

    /// The node behind `node` in the free list, whose link is `next`. The one behind the last is out of range.
    fn behind(node: usize, next: u64) -> usize {
        (node as u32).wrapping_add(1).wrapping_add(next as u32) as usize
    }

    fn allocate(&self) -> Option<usize> {
        let Shared { free, nodes, .. } = &*self.0;
        loop {
            // Acquire, pairs with the Release in `release`: the link of the node in front is there.
            let first = free.load(Acquire);
            let node = Link(first).node();
            let next = nodes.get(node).map(|node| node.next.load(Relaxed))?;
            let behind = Self::behind(node, next);
            // Acquire: what the one who gave the node back did with it comes before.
            if free.compare_exchange_weak(first, Link(first).to(behind), Acquire, Relaxed).is_ok() {
                return Some(node);
            }
        }
    }

    fn release(&self, node: usize) {
        let Shared { free, nodes, .. } = &*self.0;
        loop {
            let first = free.load(Relaxed);
            let distance = (Link(first).node() as u32).wrapping_sub(node as u32 + 1);
            let tag = nodes[node].next.load(Relaxed) >> 32 << 32;
            // Relaxed: the compare-exchange publishes it. The tag stays, so that the link never repeats (N1).
            nodes[node].next.store(tag | u64::from(distance), Relaxed);
            // Release, pairs with the Acquires in `allocate`.
            if free.compare_exchange_weak(first, Link(first).to(node), Release, Relaxed).is_ok() {
                return;
            }
        }
    }

    /// False if there is no free node.
    pub(crate) fn try_push(&self, words: &[u64; W]) -> bool {
        let Shared { tail, nodes, .. } = &*self.0;
        let Some(node) = self.allocate() else { return false };
        let new = &nodes[node];
        // Relaxed: linking the node publishes them.
        new.words.iter().zip(words).for_each(|(place, &word)| place.store(word, Relaxed));
        new.next.store(Link(new.next.load(Relaxed)).to(0), Relaxed);
        loop {
            let last = tail.load(Acquire);
            let next = nodes[Link(last).node()].next.load(Acquire);
            if tail.load(Acquire) != last {
                continue;
            }
            if Link(next).node() != 0 {
                // Somebody is half-way: help.
                let _ = tail.compare_exchange(last, Link(last).to(Link(next).node()), Release, Relaxed);
                continue;
            }
            let linked = nodes[Link(last).node()].next.compare_exchange(next, Link(next).to(node), Release, Relaxed);
            if linked.is_ok() {
                let _ = tail.compare_exchange(last, Link(last).to(node), Release, Relaxed);
                return true;
            }
        }
    }

    pub(crate) fn push(&self, words: &[u64; W]) {
        let mut tries = 0;
        while !self.try_push(words) {
            tries += 1;
            spin::pause(tries);
        }
    }

    pub(crate) fn try_pop(&self) -> Option<[u64; W]> {
        let Shared { head, tail, nodes, .. } = &*self.0;
        loop {
            let first = head.load(Acquire);
            let last = tail.load(Acquire);
            // Acquire, pairs with the Release that linked it: its words are there.
            let next = nodes[Link(first).node()].next.load(Acquire);
            if head.load(Acquire) != first {
                continue;
            }
            let node = Link(next).node();
            if Link(first).node() == Link(last).node() {
                if node == 0 {
                    return None;
                }
                let _ = tail.compare_exchange(last, Link(last).to(node), Release, Relaxed);
                continue;
            }
            if node == 0 {
                continue;
            }
            // Before the head moves: afterwards the node may be used again (N2).
            let words = std::array::from_fn(|word| nodes[node].words[word].load(Relaxed));
            if head.compare_exchange(first, Link(first).to(node), Release, Relaxed).is_ok() {
                self.release(Link(first).node());
                return Some(words);
            }
        }
    }

    pub(crate) fn pop(&self) -> [u64; W] {
        spin::until(|| self.try_pop())
    }
}

#[cfg(all(test, feature = "machines"))]
mod tests {
    use super::*;
    use thalweg_sync::thread;

    #[test]
    fn it_is_a_queue_of_its_capacity() {
        let queue = Boost::<2>::new(3);
        for round in 0..10 {
            assert!((0..3).all(|n| queue.try_push(&[n, round])));
            assert!(!queue.try_push(&[9, 9]));
            assert!((0..3).all(|n| queue.try_pop() == Some([n, round])));
            assert_eq!(queue.try_pop(), None);
        }
    }

    #[test]
    fn many_to_many_lose_nothing() {
        let queue = Boost::<1>::new(7);
        let sum: u64 = thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| (1..=2_000).for_each(|n| queue.push(&[n])));
            }
            let consumers: Vec<_> =
                (0..2).map(|_| scope.spawn(|| (0..2_000).map(|_| queue.pop()[0]).sum::<u64>())).collect();
            consumers.into_iter().map(|consumer| consumer.join().expect("no consumer panics")).sum()
        });
        assert_eq!(sum, 2 * 2_001_000);
    }
}
