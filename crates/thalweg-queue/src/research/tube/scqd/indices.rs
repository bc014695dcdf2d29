//! SCQ: a queue of small numbers that is never full.

use crate::edges::edge;
use crate::{BuildError, memory};
use alloc::boxed::Box;
use thalweg_sync::CachePadded;
use thalweg_sync::atomic::AtomicU64;
use thalweg_sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

/// A slot of the ring.
///
/// | 63 ..= bits + 1       | bits | bits - 1 ..= 0                    |
/// |-----------------------|------|-----------------------------------|
/// | cycle, a ticket's lap | safe | index; all ones if there is none  |
///
/// With 2^bits slots. Emptying a slot sets the index bits, whatever else happens to it meanwhile.
#[derive(Clone, Copy, PartialEq, Eq)]
struct SlotState(u64);

/// The bits of the threshold that count.
const COUNT: u64 = u32::MAX as u64;

/// A ring of 2n slots for the n indices `0..n`.
#[derive(Debug)]
pub(super) struct Indices {
    /// How often dequeuers may still find nothing before the queue is known to be empty; zero: it is. Above [`COUNT`], how often this was set to
    /// its top. It changes by exchanges of the whole word only (S3).
    threshold: CachePadded<AtomicU64>,
    head: CachePadded<AtomicU64>,
    tail: CachePadded<AtomicU64>,
    slots: Box<[AtomicU64]>,
    bits: u32,
}

impl Indices {
    /// A queue for the indices below `capacity`, without any.
    pub(super) fn empty(capacity: usize) -> Result<Self, BuildError> {
        let half = capacity.next_power_of_two();
        let bits = (2 * half).trailing_zeros();
        let mask = 2 * half as u64 - 1;
        // Cycle 0 is before every ticket's, as tickets begin in cycle 1.
        let unused = 1 << bits | mask;
        Ok(Self {
            threshold: CachePadded(AtomicU64::new(0)),
            head: CachePadded(AtomicU64::new(2 * half as u64)),
            tail: CachePadded(AtomicU64::new(2 * half as u64)),
            slots: memory::boxed((0..2 * half).map(|_| AtomicU64::new(unused)))?,
            bits,
        })
    }

    /// As [`empty`](Self::empty), in a late state: no slot is safe, as each was passed over an index whose dequeuer was late, and the threshold
    /// is at its top, as the last enqueuer set it when all that was over.
    pub(super) fn passed(capacity: usize) -> Result<Self, BuildError> {
        let queue = Self::empty(capacity)?;
        let none = queue.word(0, false, queue.mask()).0;
        queue.slots.iter().for_each(|slot| slot.store(none, Relaxed));
        queue.threshold.store(queue.top(), Relaxed);
        Ok(queue)
    }

    /// A queue with the indices below `capacity`, in order.
    pub(super) fn full(capacity: usize) -> Result<Self, BuildError> {
        // In a box: an engine that has lines sees these steps, and which lines a stack has is the compiler's choice.
        let queue = Box::new(Self::empty(capacity)?);
        for index in 0..capacity {
            queue.enqueue(index);
        }
        Ok(*queue)
    }

    /// One more than the tickets that dequeuers can draw in vain while an index is in the queue: 2n slots from the last to the first ticket of a
    /// ring that is full of holes, and n - 1 more, of which this form needs one (S3).
    fn top(&self) -> u64 {
        3 * (self.slots.len() as u64 / 2)
    }

    fn mask(&self) -> u64 {
        self.slots.len() as u64 - 1
    }

    /// The slot of a ticket. Neighbours are on different lines, so that tickets drawn one after the other do not share
    /// one.
    #[inline(always)]
    fn slot(&self, ticket: u64) -> &AtomicU64 {
        /// log2 of the slots on a line.
        const LINE: u32 = 3;
        let at = ticket & self.mask();
        let at = if self.bits > LINE { (at << LINE | at >> (self.bits - LINE)) & self.mask() } else { at };
        &self.slots[at as usize]
    }

    fn cycle(&self, word: SlotState) -> u64 {
        word.0 >> (self.bits + 1)
    }

    fn is_safe(&self, word: SlotState) -> bool {
        word.0 & 1 << self.bits != 0
    }

    /// The index bits; all ones if there is no index.
    fn index(&self, word: SlotState) -> u64 {
        word.0 & self.mask()
    }

    fn word(&self, cycle: u64, safe: bool, index: u64) -> SlotState {
        SlotState(cycle << (self.bits + 1) | u64::from(safe) << self.bits | index)
    }

    /// Puts `index` at the end. It must not be in the queue (S1).
    #[inline]
    pub(super) fn enqueue(&self, index: usize) {
        self.enqueue_after(index, || ());
    }

    /// As [`enqueue`](Self::enqueue), and runs `before` before each draw of a ticket.
    #[inline(always)]
    pub(super) fn enqueue_after(&self, index: usize, mut before: impl FnMut()) {
        loop {
            before();
            // (scqd.3) Acquire and Release, pairs with itself; Acquire, pairs with (scqd.12): who draws a ticket knows what led to those before
            // it (S4).
            let ticket = self.tail.fetch_add(1, edge("scqd.3", AcqRel));
            let cycle = ticket >> self.bits;
            let slot = self.slot(ticket);
            // (scqd.4) Acquire, pairs with (scqd.7): who finds a slot passed knows of the head that led to it. Slots never hold a word again,
            // so (scqd.1) finds the very write that this has seen.
            let mut word = SlotState(slot.load(edge("scqd.4", Acquire)));
            while self.cycle(word) < cycle
                && self.index(word) == self.mask()
                && (self.is_safe(word) || self.head() <= ticket)
            {
                let filled = self.word(cycle, true, index as u64);
                // (scqd.1) Release, pairs with (scqd.2): what the holder did to the entry comes before. Relaxed would
                // hand out an unwritten item, or room for one that is still being read.
                match slot.compare_exchange(word.0, filled.0, edge("scqd.1", Release), edge("scqd.4", Acquire)) {
                    Ok(_) => {
                        return self.set_to_top();
                    }
                    Err(now) => word = SlotState(now),
                }
            }
        }
    }

    /// Allows dequeuers as many looks in vain as there can be while an index is in the queue.
    #[inline(always)]
    fn set_to_top(&self) {
        // Relaxed, here and below: a count that we must not miss comes before our ticket (S3). Most often the top is there already, and the
        // line stays shared.
        let mut now = self.threshold.load(Relaxed);
        while now & COUNT != self.top() {
            let top = (now | COUNT).wrapping_add(1) | self.top();
            match self.threshold.compare_exchange(now, top, Relaxed, Relaxed) {
                Ok(_) => return,
                Err(changed) => now = changed,
            }
        }
    }

    /// Counts a look in vain, unless somebody changed the threshold since it was `before`, which was read before the ticket was drawn (S3).
    fn count(&self, before: u64) {
        // Relaxed: it passes nothing on, and who has read it draws a ticket next (S3). If it fails, another look was counted, or an index came.
        let _ = self.threshold.compare_exchange(before, before - 1, Relaxed, Relaxed);
    }

    /// Takes the index at the front.
    #[inline]
    pub(super) fn dequeue(&self) -> Option<usize> {
        self.dequeue_around(|| ())
    }

    /// As [`dequeue`](Self::dequeue), and runs `between` after a look in vain, before the look at the tail.
    #[inline(always)]
    pub(super) fn dequeue_around(&self, mut between: impl FnMut()) -> Option<usize> {
        loop {
            // Relaxed: of an index that was put before, it is not out of date (S3).
            let threshold = self.threshold.load(Relaxed);
            if threshold & COUNT == 0 {
                return None;
            }
            // (scqd.8) Acquire and Release, pairs with itself: what was put before an earlier ticket was drawn is not missed. Release,
            // pairs with (scqd.5) and (scqd.9).
            let ticket = self.head.fetch_add(1, edge("scqd.8", AcqRel));
            if let Some(index) = self.take(ticket) {
                return Some(index);
            }
            between();
            // Relaxed: by (scqd.8) it is beyond all that was put before.
            let tail = self.tail.load(Relaxed);
            let is_last = tail <= ticket + 1;
            if is_last {
                self.catch_up(tail, ticket + 1);
            }
            self.count(threshold);
            if is_last {
                return None;
            }
        }
    }

    /// Whether there may be an index.
    #[inline(always)]
    pub(super) fn may_dequeue(&self) -> bool {
        // Relaxed: as in `dequeue`.
        self.threshold.load(Relaxed) & COUNT != 0
    }

    /// The next ticket of a dequeuer, as an enqueuer's ticket may have to come after it.
    #[inline(always)]
    fn head(&self) -> u64 {
        // (scqd.5) Acquire, pairs with (scqd.8): who goes on because of a head knows of the draw that made it (S4).
        self.head.load(edge("scqd.5", Acquire))
    }

    /// A head, and a tail that is beyond all that was put before the head's tickets were drawn.
    #[inline(always)]
    fn ends(&self) -> (u64, u64) {
        // (scqd.9) Acquire, pairs with (scqd.8): who has drawn a ticket may have put an index before. Relaxed could miss that and see all others
        // drawn. Relaxed for the tail: the head orders it.
        (self.head.load(edge("scqd.9", Acquire)), self.tail.load(Relaxed))
    }

    /// Whether there is an index whose ticket no dequeuer has drawn, or will be when an enqueuer that has drawn one puts it there.
    ///
    /// More exact than the threshold, which says no only after some have looked in vain. The head first: it is not behind what was
    /// read when the tail is read, so then every ticket of the tail's was drawn.
    pub(super) fn is_waiting(&self) -> bool {
        self.may_dequeue() && {
            let (head, tail) = self.ends();
            head < tail
        }
    }

    /// Takes the index of `ticket`, or sees to it that nobody puts one there any more.
    #[inline(always)]
    fn take(&self, ticket: u64) -> Option<usize> {
        let cycle = ticket >> self.bits;
        let slot = self.slot(ticket);
        // Relaxed, here and below: an exchange that fails says what there is.
        let mut word = SlotState(slot.load(Relaxed));
        loop {
            if self.cycle(word) == cycle {
                // Sets the index bits and leaves the others, which another dequeuer may change meanwhile.
                //
                // (scqd.2) Acquire, pairs with (scqd.1).
                slot.fetch_or(self.mask(), edge("scqd.2", Acquire));
                return Some(self.index(word) as usize);
            }
            if self.cycle(word) > cycle {
                return None;
            }
            let passed = if self.index(word) == self.mask() {
                self.word(cycle, self.is_safe(word), self.mask())
            } else {
                // An index of an earlier cycle: its dequeuer is on the way.
                self.word(self.cycle(word), false, self.index(word))
            };
            // (scqd.7) Release, pairs with (scqd.4).
            match slot.compare_exchange(word.0, passed.0, edge("scqd.7", Release), Relaxed) {
                Ok(_) => return None,
                Err(now) => word = SlotState(now),
            }
        }
    }

    /// Moves the tail up to the head, so that enqueuers need not draw a ticket for each slot that was passed.
    #[cold]
    fn catch_up(&self, mut tail: u64, mut head: u64) {
        // (scqd.12) Release, pairs with (scqd.3): who draws a ticket behind it knows of the head that led to it (S4).
        while tail < head && self.tail.compare_exchange(tail, head, edge("scqd.12", Release), Relaxed).is_err() {
            head = self.head();
            tail = self.tail.load(Relaxed);
        }
    }

    /// How many indices there are, lately; tickets drawn in vain count too.
    pub(super) fn len(&self) -> usize {
        if !self.may_dequeue() {
            return 0;
        }
        let (head, tail) = self.ends();
        (tail.saturating_sub(head) as usize).min(self.slots.len() / 2)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// After the last index, an empty queue draws 3n tickets in vain before it says so at once (E12: the printed
    /// threshold takes n for twice the capacity).
    #[test]
    fn the_threshold_is_three_times_the_capacity() {
        for capacity in [1, 2, 4, 64] {
            let queue = Indices::empty(capacity).unwrap();
            queue.enqueue(0);
            assert_eq!(queue.dequeue(), Some(0));
            let vain = (0..).take_while(|_| queue.may_dequeue() && queue.dequeue().is_none()).count();
            assert_eq!(vain, 3 * capacity);
        }
    }

    /// More dequeuers than the queue has places, which have looked in vain, and count that late.
    #[test]
    fn who_counts_late_hides_no_index() {
        let queue = Indices::empty(1).unwrap();
        queue.enqueue(0);
        assert_eq!(queue.dequeue(), Some(0));
        for reset in [false, true] {
            let late = [0; 3].map(|_| {
                let before = queue.threshold.load(Relaxed);
                let ticket = queue.head.fetch_add(1, AcqRel);
                assert_eq!(queue.take(ticket), None);
                queue.catch_up(queue.tail.load(Relaxed), ticket + 1);
                before
            });
            if reset {
                while queue.may_dequeue() {
                    assert_eq!(queue.dequeue(), None);
                }
            }
            queue.enqueue(0);
            late.into_iter().for_each(|before| queue.count(before));
            assert_eq!(queue.dequeue(), Some(0));
        }
    }

    /// With a ring full of holes, as dequeuers make them, the threshold suffices to find the one index.
    #[test]
    fn an_index_behind_holes_is_found() {
        for capacity in [1, 2, 8] {
            let queue = Indices::full(capacity).unwrap();
            for lap in 0..20 * capacity {
                for index in 0..capacity {
                    assert_eq!(queue.dequeue(), Some(index));
                }
                for _ in 0..lap {
                    assert_eq!(queue.dequeue(), None);
                }
                for index in 0..capacity {
                    queue.enqueue(index);
                }
            }
        }
    }
}
