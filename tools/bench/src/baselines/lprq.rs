//! LPRQ: a list of rings, in each of which both sides draw tickets by FAA.
//!
//! | | |
//! |---|---|
//! | order | FIFO, linearizable |
//! | who | any number of producers and consumers |
//! | progress | lock-free |
//! | cost | a push: a FAA and three exchanges of its cell; a pop: a FAA and a store to its cell |
//!
//! From R. Romanov and N. Koval, *The State-of-the-Art LCRQ Concurrent Queue Algorithm Does NOT Require CAS2*, PPoPP 2023. A baseline: it stands for LCRQ
//! (A. Morrison and Y. Afek, *Fast Concurrent Queues for x86 Processors*, PPoPP 2013), which the thesis' Figure 3.10 has. LCRQ changes the two words of a
//! cell in one exchange, which the facade has not. LPRQ has the same tickets and the same list and gets by with exchanges of single words, by its
//! authors' measurements at the same speed.
//!
//! A cell has an epoch and an item. A producer with a ticket locks the cell by a word that only it writes, brings the epoch up to its ticket's, and puts the
//! item where its word was. A consumer whose item is not there brings the epoch up, so that the item cannot come any more; if an item of a round before is
//! there, it marks the cell unsafe. A ring that is full, or in which a push failed [`TRIES`] times, is closed, and the next is hung behind it.
//!
//! Rings have [`CELLS`] cells on a line each. Rings that are used up stay until the queue is dropped: hazard pointers, which the paper has, are left out, and a pop
//! does not pay for them. A pop looks whether there is something before it draws a ticket. Without that look, consumers that wait would
//! invalidate cells in front of the producers.
//!
//! All accesses are sequentially consistent, as in the paper, but the store that empties a cell.
//!
//! # Invariants
//!
//! - **L1** A ring that a pointer leads to lives until the last end is dropped: rings are only added to the list, and freed with it. No pointer to
//!   a ring that is in use is null.

use thalweg_sync::CachePadded;
use thalweg_sync::atomic::Ordering::{Release, SeqCst};
use thalweg_sync::atomic::{AtomicPtr, AtomicU64};
use thalweg_sync::sync::Arc;

/// Cells of a ring, where the caller does not say otherwise.
pub(crate) const CELLS: usize = 1024;

/// A push that failed so often closes its ring.
const TRIES: u32 = 10;

/// Set in a ring's tail: it takes no more items.
const CLOSED: u64 = 1 << 63;

/// Set in a cell's item: no item, but the word of an end that is about to put one there.
const LOCK: u64 = 1 << 63;

/// Set in a cell's epoch: an item may only come if its consumer has not drawn the ticket yet.
const UNSAFE: u64 = 1 << 63;

fn is_item(word: u64) -> bool {
    word != 0 && word & LOCK == 0
}

#[derive(Debug)]
#[repr(align(64))]
struct Cell {
    /// The round of the last one who changed it, from 1, and [`UNSAFE`].
    epoch: AtomicU64,
    /// 0: nothing.
    item: AtomicU64,
}

#[derive(Debug)]
struct Ring {
    head: CachePadded<AtomicU64>,
    tail: CachePadded<AtomicU64>,
    next: CachePadded<AtomicPtr<Ring>>,
    cells: Box<[Cell]>,
}

impl Ring {
    /// With an item, if there is one.
    fn new(cells: usize, item: Option<u64>) -> Box<Self> {
        let cell = |_| Cell { epoch: AtomicU64::new(0), item: AtomicU64::new(0) };
        let mut ring = Self {
            head: CachePadded(AtomicU64::new(0)),
            tail: CachePadded(AtomicU64::new(u64::from(item.is_some()))),
            next: CachePadded(AtomicPtr::default()),
            cells: (0..cells).map(cell).collect(),
        };
        if let Some(item) = item {
            ring.cells[0] = Cell { epoch: AtomicU64::new(1), item: AtomicU64::new(item) };
        }
        Box::new(ring)
    }

    /// The cell of a ticket, and its round.
    fn cell(&self, ticket: u64) -> (&Cell, u64) {
        let cells = self.cells.len() as u64;
        (&self.cells[(ticket % cells) as usize], ticket / cells + 1)
    }

    /// False if the ring is closed, or now is.
    fn push(&self, item: u64, lock: u64) -> bool {
        for tries in 1.. {
            let ticket = self.tail.fetch_add(1, SeqCst);
            if ticket & CLOSED != 0 {
                return false;
            }
            let (cell, round) = self.cell(ticket);
            let (epoch, was) = (cell.epoch.load(SeqCst), cell.item.load(SeqCst));
            let may = epoch & UNSAFE == 0 || self.head.load(SeqCst) <= ticket;
            if !is_item(was)
                && epoch & !UNSAFE < round
                && may
                && cell.item.compare_exchange(was, lock, SeqCst, SeqCst).is_ok()
            {
                if cell.epoch.compare_exchange(epoch, round, SeqCst, SeqCst).is_err() {
                    let _ = cell.item.compare_exchange(lock, 0, SeqCst, SeqCst);
                } else if cell.item.compare_exchange(lock, item, SeqCst, SeqCst).is_ok() {
                    return true;
                }
            }
            let is_full = ticket.saturating_sub(self.head.load(SeqCst)) >= self.cells.len() as u64;
            if is_full || tries == TRIES {
                break;
            }
        }
        self.tail.fetch_or(CLOSED, SeqCst);
        false
    }

    fn pop(&self) -> Option<u64> {
        loop {
            // Drawing a ticket here makes the cell useless for a round.
            if self.head.load(SeqCst) >= self.tail.load(SeqCst) & !CLOSED {
                return None;
            }
            let ticket = self.head.fetch_add(1, SeqCst);
            if let Some(item) = self.taken(ticket) {
                return Some(item);
            }
            if self.tail.load(SeqCst) & !CLOSED <= ticket + 1 {
                self.catch_up();
                return None;
            }
        }
    }

    /// The item of that ticket. If there is none, none comes any more.
    fn taken(&self, ticket: u64) -> Option<u64> {
        let (cell, round) = self.cell(ticket);
        loop {
            let (epoch, item) = (cell.epoch.load(SeqCst), cell.item.load(SeqCst));
            if cell.epoch.load(SeqCst) != epoch {
                continue;
            }
            let last = epoch & !UNSAFE;
            if last > round {
                return None;
            }
            if is_item(item) {
                if last == round {
                    // Release: its reader comes before who locks the cell next, by an exchange that reads this.
                    cell.item.store(0, Release);
                    return Some(item);
                }
                if cell.epoch.compare_exchange(epoch, last | UNSAFE, SeqCst, SeqCst).is_ok() {
                    return None;
                }
            } else if (item == 0 || cell.item.compare_exchange(item, 0, SeqCst, SeqCst).is_ok())
                && cell.epoch.compare_exchange(epoch, epoch & UNSAFE | round, SeqCst, SeqCst).is_ok()
            {
                return None;
            }
        }
    }

    /// Brings the tail up to the head, which has overtaken it.
    fn catch_up(&self) {
        loop {
            let (tail, head) = (self.tail.load(SeqCst), self.head.load(SeqCst));
            // A closed one is behind nothing.
            if head <= tail || self.tail.compare_exchange(tail, head, SeqCst, SeqCst).is_ok() {
                return;
            }
        }
    }
}

#[derive(Debug)]
struct List {
    /// Never moves: what is freed in the end begins here.
    first: *mut Ring,
    head: CachePadded<AtomicPtr<Ring>>,
    tail: CachePadded<AtomicPtr<Ring>>,
    ends: AtomicU64,
    cells: usize,
}

// SAFETY: `first` is used by the thread that drops the list alone.
unsafe impl Send for List {}
// SAFETY: as above.
unsafe impl Sync for List {}

impl Drop for List {
    fn drop(&mut self) {
        let mut next = self.first;
        while !next.is_null() {
            // SAFETY: L1: the last end is gone, and nobody else frees rings. Each came from a box.
            let ring = unsafe { Box::from_raw(next) };
            next = ring.next.load(SeqCst);
        }
    }
}

/// An end, writing and reading, for one thread at a time.
#[derive(Debug)]
pub(crate) struct Lprq {
    list: Arc<List>,
    /// What this end locks cells by.
    lock: u64,
}

impl Clone for Lprq {
    fn clone(&self) -> Self {
        Self { list: self.list.clone(), lock: LOCK | self.list.ends.fetch_add(1, SeqCst) }
    }
}

impl Lprq {
    /// A queue that grows by rings of so many cells.
    pub(crate) fn new(cells: usize) -> Self {
        let first = Box::into_raw(Ring::new(cells, None));
        let [head, tail] = [(); 2].map(|()| CachePadded(AtomicPtr::new(first)));
        Self { list: Arc::new(List { first, head, tail, ends: AtomicU64::new(1), cells }), lock: LOCK }
    }

    /// There is always room. `item` is neither 0 nor has its highest bit set.
    pub(crate) fn push(&mut self, item: u64) {
        debug_assert!(is_item(item));
        loop {
            let tail = self.list.tail.load(SeqCst);
            // SAFETY: L1.
            let ring = unsafe { &*tail };
            let next = ring.next.load(SeqCst);
            if !next.is_null() {
                let _ = self.list.tail.compare_exchange(tail, next, SeqCst, SeqCst);
                continue;
            }
            if ring.push(item, self.lock) {
                return;
            }
            let new = Box::into_raw(Ring::new(self.list.cells, Some(item)));
            if ring.next.compare_exchange(std::ptr::null_mut(), new, SeqCst, SeqCst).is_ok() {
                let _ = self.list.tail.compare_exchange(tail, new, SeqCst, SeqCst);
                return;
            }
            // SAFETY: it came from a box, and nobody has seen it.
            drop(unsafe { Box::from_raw(new) });
        }
    }

    /// The oldest item, if there is one.
    pub(crate) fn pop(&mut self) -> Option<u64> {
        loop {
            let head = self.list.head.load(SeqCst);
            // SAFETY: L1.
            let ring = unsafe { &*head };
            if let Some(item) = ring.pop() {
                return Some(item);
            }
            let next = ring.next.load(SeqCst);
            if next.is_null() {
                return None;
            }
            // Something may have come before the ring was closed.
            if let Some(item) = ring.pop() {
                return Some(item);
            }
            let _ = self.list.head.compare_exchange(head, next, SeqCst, SeqCst);
        }
    }
}

#[cfg(all(test, feature = "machines"))]
mod tests {
    use std::task::Poll;

    use super::*;
    use crate::baselines::promises::{self, Rival};

    impl Rival for Lprq {
        fn push(&mut self, item: u64) -> bool {
            self.push(item);
            true
        }

        fn pop(&mut self) -> Poll<Option<u64>> {
            Poll::Ready(self.pop())
        }
    }

    #[test]
    fn it_is_a_queue_that_grows_and_is_empty_in_the_end() {
        let mut queue = Lprq::new(2);
        for round in 0..10 {
            (1..=7).for_each(|n| queue.push(10 * round + n));
            assert!((1..=7).all(|n| queue.pop() == Some(10 * round + n)));
            assert_eq!(queue.pop(), None);
            assert_eq!(queue.pop(), None);
        }
    }

    #[test]
    fn many_to_many_get_each_item_once_and_in_order() {
        promises::natively(|| Lprq::new(4));
    }

    #[test]
    fn no_schedule_loses_or_repeats_or_turns_items_around() {
        promises::in_schedules(|| Lprq::new(1));
        promises::in_schedules(|| Lprq::new(2));
    }
}
