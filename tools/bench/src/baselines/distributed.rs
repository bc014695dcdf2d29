//! Distributed queues: partial queues, and a balancer that says which one an operation goes to.
//!
//! | | |
//! |---|---|
//! | order | of items in the same partial queue FIFO; between those none. Empty is linearizable |
//! | who | any number of producers and consumers |
//! | progress | lock-free |
//! | cost | a push and a pop as in a list of Michael and Scott; a pop of nothing looks at all partial queues twice |
//!
//! From A. Haas, M. Lippautz, T. Henzinger, H. Payer, A. Sokolova, C. Kirsch and A. Sezgin, *Distributed Queues in Shared Memory: Multicore Performance and
//! Scalability through Quantitative Relaxation*, CF 2013, with the balancer 1-RA, which draws a partial queue for a push and one for a pop; and from A. Haas
//! and others, *Local Linearizability for Concurrent Container-Type Data Structures*, CONCUR 2016, where each producer pushes into a partial queue of its own
//! and a pop draws one: of each producer, items come in order. Baselines: the thesis' RADQ and LLDQ (Table 3.2).
//!
//! As published: partial queues are lists of M. Michael and M. Scott (PODC 1996). A pop that finds nothing where it was sent goes round. If all are empty, and the
//! tail of none has changed since it was found so, all were empty at one instant, and the pop says so; or it goes round again.
//!
//! What differs: there are as many partial queues of own producers as producers, not one for each thread.
//!
//! Memory: a push takes a node of a line from those that pops of the same partial queue gave back, or, if there is none, from the heap; so there are as many nodes
//! as the most items that were in each partial queue, and one. They are freed with the queue. A link has a tag, so that a node that comes back is not taken for what it was:
//! neither hazard pointers nor epochs are needed.
//!
//! All accesses are sequentially consistent, but those to a node that nobody else has.
//!
//! # Invariants
//!
//! - **D1** A node that a link leads to lives until the last end is dropped.
//! - **D2** A node is in the list, among the spare ones, or with the one thread that took it out. Links carry a tag that each change raises, so an exchange
//!   that succeeds has seen no other change, but for 2^16 of them meanwhile.
//! - **D3** A pop may read a node's item after another pop took that node out. Then its exchange of the head fails, and the pop forgets the item.

use std::ptr;

use thalweg_queue::stealing::Rng;
use thalweg_sync::CachePadded;
use thalweg_sync::atomic::AtomicU64;
use thalweg_sync::atomic::Ordering::{Relaxed, SeqCst};
use thalweg_sync::sync::Arc;

/// A node's address and a tag, in one word.
///
/// | 63 ..= 48 | 47 ..= 0            |
/// |-----------|---------------------|
/// | tag       | address; 0: no node |
#[derive(Clone, Copy, PartialEq, Eq)]
struct Link(u64);

impl Link {
    const TAG: u32 = 48;

    fn node(self) -> *mut Node {
        ptr::with_exposed_provenance_mut((self.0 & ((1 << Self::TAG) - 1)) as usize)
    }

    /// A link to `node`, in the place of this one.
    fn to(self, node: *mut Node) -> Self {
        let address = node.expose_provenance() as u64;
        debug_assert_eq!(address >> Self::TAG, 0, "a user's address");
        Self(((self.0 >> Self::TAG) + 1) << Self::TAG | address)
    }
}

#[derive(Debug)]
#[repr(align(64))]
struct Node {
    next: AtomicU64,
    item: AtomicU64,
}

impl Node {
    fn new() -> *mut Self {
        Box::into_raw(Box::new(Self { next: AtomicU64::new(0), item: AtomicU64::new(0) }))
    }
}

/// A list of Michael and Scott.
#[derive(Debug)]
struct Partial {
    head: CachePadded<AtomicU64>,
    tail: CachePadded<AtomicU64>,
    spare: CachePadded<AtomicU64>,
}

impl Partial {
    fn new() -> Self {
        let nobody = Link(0).to(Node::new());
        let [head, tail] = [(); 2].map(|()| CachePadded(AtomicU64::new(nobody.0)));
        Self { head, tail, spare: CachePadded(AtomicU64::new(0)) }
    }

    /// Exchanges, if nobody else has.
    fn set(word: &AtomicU64, from: Link, node: *mut Node) -> bool {
        word.compare_exchange(from.0, from.to(node).0, SeqCst, SeqCst).is_ok()
    }

    /// A node that nobody else has.
    fn node(&self) -> *mut Node {
        loop {
            let first = Link(self.spare.load(SeqCst));
            if first.node().is_null() {
                return Node::new();
            }
            // SAFETY: D1. If somebody else has it, the exchange fails (D2).
            let next = Link(unsafe { &*first.node() }.next.load(SeqCst));
            if Self::set(&self.spare, first, next.node()) {
                return first.node();
            }
        }
    }

    /// `node` was taken out by this thread.
    fn give_back(&self, node: *mut Node) {
        // SAFETY: D1.
        let link = &unsafe { &*node }.next;
        loop {
            let first = Link(self.spare.load(SeqCst));
            // Relaxed: nobody changes it meanwhile (D2), and the exchange publishes it.
            link.store(Link(link.load(Relaxed)).to(first.node()).0, Relaxed);
            if Self::set(&self.spare, first, node) {
                return;
            }
        }
    }

    fn push(&self, item: u64) {
        let node = self.node();
        // SAFETY: D1.
        let new = unsafe { &*node };
        // Relaxed: linking the node publishes them.
        new.item.store(item, Relaxed);
        new.next.store(Link(new.next.load(Relaxed)).to(ptr::null_mut()).0, Relaxed);
        loop {
            let last = Link(self.tail.load(SeqCst));
            // SAFETY: D1.
            let link = &unsafe { &*last.node() }.next;
            let next = Link(link.load(SeqCst));
            if self.tail.load(SeqCst) != last.0 {
                continue;
            }
            if !next.node().is_null() {
                // Somebody is half-way: help.
                Self::set(&self.tail, last, next.node());
            } else if Self::set(link, next, node) {
                Self::set(&self.tail, last, node);
                return;
            }
        }
    }

    /// The oldest item; or, if there is none, the tail that it was found out by, which no push leaves as it is.
    fn pop(&self) -> Result<u64, u64> {
        loop {
            let first = Link(self.head.load(SeqCst));
            let last = Link(self.tail.load(SeqCst));
            // SAFETY: D1.
            let next = Link(unsafe { &*first.node() }.next.load(SeqCst));
            if self.head.load(SeqCst) != first.0 {
                continue;
            }
            if first.node() == last.node() {
                if next.node().is_null() {
                    return Err(last.0);
                }
                Self::set(&self.tail, last, next.node());
            } else if !next.node().is_null() {
                // Before the head moves: afterwards the node may be used again (D3).
                // SAFETY: D1.
                let item = unsafe { &*next.node() }.item.load(SeqCst);
                if Self::set(&self.head, first, next.node()) {
                    self.give_back(first.node());
                    return Ok(item);
                }
            }
        }
    }
}

impl Drop for Partial {
    fn drop(&mut self) {
        for list in [&self.head, &self.spare] {
            let mut node = Link(list.load(SeqCst)).node();
            while !node.is_null() {
                // SAFETY: D1 and D2: the last end is gone, each node is in one of the two, and each came from a box.
                let gone = unsafe { Box::from_raw(node) };
                node = Link(gone.next.load(SeqCst)).node();
            }
        }
    }
}

/// Where a push goes. A pop begins anywhere.
#[derive(Clone, Copy, Debug)]
enum Balancer {
    Random,
    Own,
}

#[derive(Debug)]
struct Shared {
    partials: Box<[Partial]>,
    ends: AtomicU64,
    balancer: Balancer,
}

/// An end, writing and reading, for one thread at a time.
#[derive(Debug)]
pub(crate) struct Distributed {
    shared: Arc<Shared>,
    number: u64,
    rng: Rng,
    /// The tails by which a pop found that there is nothing.
    tails: Vec<u64>,
}

impl Clone for Distributed {
    fn clone(&self) -> Self {
        Self::end(self.shared.clone())
    }
}

impl Distributed {
    /// 1-RA: so many partial queues, one drawn for each push.
    pub(crate) fn random(partials: usize) -> Self {
        Self::new(partials, Balancer::Random)
    }

    /// Locally linearizable: of `partials` ends that are made one after the other, each pushes into a partial queue of its own.
    pub(crate) fn local(partials: usize) -> Self {
        Self::new(partials, Balancer::Own)
    }

    fn new(partials: usize, balancer: Balancer) -> Self {
        let partials = (0..partials).map(|_| Partial::new()).collect();
        Self::end(Arc::new(Shared { partials, ends: AtomicU64::new(0), balancer }))
    }

    fn end(shared: Arc<Shared>) -> Self {
        let number = shared.ends.fetch_add(1, SeqCst);
        let tails = vec![0; shared.partials.len()];
        Self { shared, number, rng: Rng::new(number), tails }
    }

    /// There is always room.
    pub(crate) fn push(&mut self, item: u64) {
        let partials = &self.shared.partials;
        let at = match self.shared.balancer {
            Balancer::Random => self.rng.below(partials.len()),
            Balancer::Own => self.number as usize % partials.len(),
        };
        partials[at].push(item);
    }

    /// The oldest item of a partial queue, if there is any in one of them.
    pub(crate) fn pop(&mut self) -> Option<u64> {
        let Self { shared, rng, tails, .. } = self;
        let partials = &shared.partials;
        let mut first = rng.below(partials.len());
        loop {
            let round = (first..partials.len()).chain(0..first);
            for at in round.clone() {
                match partials[at].pop() {
                    Ok(item) => return Some(item),
                    Err(tail) => tails[at] = tail,
                }
            }
            // All were empty when the last one was looked at, if there was no push into any between.
            first = round.into_iter().find(|&at| partials[at].tail.load(SeqCst) != tails[at])?;
        }
    }
}

#[cfg(all(test, feature = "machines"))]
mod tests {
    use std::task::Poll;

    use super::*;
    use crate::baselines::promises::{self, Order, Rival};

    impl Rival for Distributed {
        const ORDER: Order = Order::Any;

        fn push(&mut self, item: u64) -> bool {
            self.push(item);
            true
        }

        fn pop(&mut self) -> Poll<Option<u64>> {
            Poll::Ready(self.pop())
        }
    }

    /// The same where each producer has a partial queue of its own.
    #[derive(Clone)]
    struct Local(Distributed);

    impl Rival for Local {
        const ORDER: Order = Order::OfEach;

        fn push(&mut self, item: u64) -> bool {
            self.0.push(item);
            true
        }

        fn pop(&mut self) -> Poll<Option<u64>> {
            Poll::Ready(self.0.pop())
        }
    }

    /// By one thread: of one partial queue FIFO, of several not.
    #[test]
    fn items_of_a_partial_queue_stay_in_order_and_others_do_not() {
        for (mut queue, is_sorted) in
            [(Distributed::random(1), true), (Distributed::local(5), true), (Distributed::random(5), false)]
        {
            for round in 0..10 {
                (1..=40).for_each(|n| queue.push(100 * round + n));
                let got: Vec<u64> = std::iter::from_fn(|| queue.pop()).collect();
                assert_eq!(got.is_sorted(), is_sorted, "{got:?}");
                let mut sorted = got;
                sorted.sort_unstable();
                assert!(sorted.into_iter().eq((1..=40).map(|n| 100 * round + n)));
                assert_eq!(queue.pop(), None);
            }
        }
    }

    /// What the balancer is for: a fifth of the pushes, give or take.
    #[test]
    fn pushes_are_spread() {
        let mut queue = Distributed::random(5);
        (1..=5_000).for_each(|n| queue.push(n));
        for partial in &queue.shared.partials {
            let items = std::iter::from_fn(|| partial.pop().ok()).count();
            assert!((900..1_100).contains(&items), "{items} of 5000");
        }
    }

    #[test]
    fn many_to_many_get_each_item_once() {
        promises::natively(|| Distributed::random(3));
        promises::natively(|| Local(Distributed::local(2)));
    }

    #[test]
    fn no_schedule_loses_or_repeats_and_none_turns_items_of_a_producer_around() {
        promises::in_schedules(|| Distributed::random(1));
        promises::in_schedules(|| Distributed::random(2));
        promises::in_schedules(|| Local(Distributed::local(2)));
    }
}
