//! A reading end: some rings, each from another producer, and those that others have left.

use super::Shared;
use crate::grant::Read;
use crate::wait::{Ordinary, Side, Wait, both};
use crate::{Pop, TryPopError, Yield, growing, mpmc};
use alloc::vec::Vec;
use core::fmt;
use core::mem;
use thalweg_sync::sync::Arc;

/// How many items a consumer takes from a ring before it goes on to the next: while an item waits at the front of a ring, the
/// consumer pops at most so many from each of its other rings, and what is left of the burst it is in.
pub const BURST: usize = 16;

/// A reading end of a mesh. When it is dropped, other consumers go on with its rings; when the last one is dropped, pushes
/// fail from then on, and what is in the rings is dropped.
///
/// It moves between threads but cannot be cloned: the mesh has as many as it was built with.
pub struct Consumer<T, W: Wait = Ordinary> {
    rings: Vec<growing::Consumer<T, Yield>>,
    /// The ring to pop from, and how many more items to take before the next one is due.
    at: usize,
    burst: usize,
    /// A round is to begin, and the last call found nothing, also of what others have left: the next one need not begin with that.
    refused: bool,
    /// Where rings go when a consumer leaves, and where those who stay find them.
    leave: mpmc::Producer<growing::Consumer<T, Yield>, Yield>,
    left: mpmc::Consumer<growing::Consumer<T, Yield>, Yield>,
    producers: usize,
    /// Last, so that it notifies when the rings are handed on, or closed with the list.
    pub(super) shared: Bell<W>,
}

/// A consumer's part in what all ends share. Wakes everybody when dropped: the consumer has left.
pub(super) struct Bell<W: Wait>(pub(super) Arc<Shared<W>>);

impl<W: Wait> Drop for Bell<W> {
    fn drop(&mut self) {
        self.0.handles.leave_consumer();
        self.0.wait.notify_all();
    }
}

impl<T, W: Wait> Consumer<T, W> {
    pub(super) fn new(
        rings: Vec<growing::Consumer<T, Yield>>,
        shared: Arc<Shared<W>>,
        producers: usize,
        leave: mpmc::Producer<growing::Consumer<T, Yield>, Yield>,
        left: mpmc::Consumer<growing::Consumer<T, Yield>, Yield>,
    ) -> Self {
        Self { rings, at: 0, burst: BURST, refused: false, leave, left, producers, shared: Bell(shared) }
    }

    /// Pops the oldest item of the next ring that has one, or says why not. Never `Busy`.
    ///
    /// - `Empty`: every ring of this consumer was empty, one after the other; in its own or another's, there may still be items.
    /// - `Closed`: every producer is gone, and every ring is drained, those of the other consumers too.
    pub fn try_pop(&mut self) -> Result<T, TryPopError> {
        self.find(1)?;
        let made_room = self.has_made_room();
        // SAFETY: the item is ready in the present ring, and moved out once, as the end moves past it.
        let item = unsafe {
            let item = self.read(0);
            self.release(1);
            item
        };
        if made_room {
            self.ring_producers();
        }
        Ok(item)
    }

    /// Whether the last look went on to a ring's next chunk, which makes room, or may have.
    fn has_made_room(&self) -> bool {
        self.rings[self.at].is_at_start()
    }

    /// As [`ready`](Read::ready), and notifies nobody: the room that it makes is to be told of.
    fn find(&mut self, count: usize) -> Result<usize, TryPopError> {
        if self.at == 0 && self.burst == BURST && !mem::take(&mut self.refused) {
            // At the start of each round.
            self.take_over();
        }
        loop {
            if let Some(count) = self.sweep(count) {
                return Ok(count);
            }
            if !self.take_over() {
                self.refused = self.at == 0 && self.burst == BURST;
                return Err(if self.is_over() { TryPopError::Closed } else { TryPopError::Empty });
            }
        }
    }

    /// Whether no ring of anybody has items, or will have (M3).
    fn is_over(&self) -> bool {
        self.rings.is_empty() && self.shared.0.is_drained()
    }

    /// There may be room for producers. Only one of them can use it, but they wait on one list: all look.
    fn ring_producers(&self) {
        self.shared.0.wait.notify(Side::Room, self.producers, || true);
    }

    /// How many items can be read in the next ring that has one, up to `count` and to the end of the burst.
    fn sweep(&mut self, count: usize) -> Option<usize> {
        for _ in 0..self.rings.len() {
            let count = count.min(self.burst);
            let found = match self.rings[self.at].ready(count) {
                // The mesh may be closed, and its producers still there. They may have pushed after that look, and before the close.
                Err(TryPopError::Empty) if self.is_closed() => {
                    self.rings[self.at].ready(count).map_err(|_| TryPopError::Closed)
                }
                found => found,
            };
            match found {
                Ok(count) => return Some(count),
                Err(TryPopError::Closed) => {
                    // The ring behind it takes its place (M2). It is dropped after that: a push that the close has overtaken may have left an
                    // item in it, which may panic.
                    let closed = self.rings.remove(self.at);
                    self.burst = BURST;
                    if self.at == self.rings.len() {
                        self.at = 0;
                    }
                    both(|| drop(closed), || self.shared.0.drained());
                }
                Err(TryPopError::Empty | TryPopError::Busy) => self.advance(),
            }
        }
        None
    }

    fn advance(&mut self) {
        self.burst = BURST;
        self.at = if self.at + 1 == self.rings.len() { 0 } else { self.at + 1 };
    }

    /// Takes the rings that others have left. False if there are none.
    fn take_over(&mut self) -> bool {
        let before = self.rings.len();
        while !self.left.is_empty()
            && let Ok(ring) = self.left.try_pop()
        {
            self.rings.push(ring);
        }
        self.rings.len() > before
    }

    fn may_pop(&self) -> bool {
        // Rings of a mesh that is closed are to be taken off.
        let closed = !self.rings.is_empty() && self.is_closed();
        closed || self.rings.iter().any(Pop::may_pop) || Pop::may_pop(&self.left) || self.is_over()
    }

    fn strategy(&self) -> &W {
        &self.shared.0.wait
    }

    /// How many rings it pops from. Closed ones count until they were found drained.
    pub fn rings(&self) -> usize {
        self.rings.len()
    }

    /// How many items are in its rings: at least so many, as pushes go on.
    pub fn len(&self) -> usize {
        self.rings.iter().map(growing::Consumer::len).sum()
    }

    /// Whether there is nothing to pop in its rings now.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The most entries that its rings may come to have.
    pub fn capacity(&self) -> usize {
        self.rings.iter().map(growing::Consumer::capacity).sum()
    }

    /// Whether every producer is gone. Then it stays so; items may still be left.
    pub fn is_closed(&self) -> bool {
        self.shared.0.producers_gone()
    }
}

// SAFETY: `ready` stops at a ring whose items are next to each other, and that is the present one until something is released.
unsafe impl<T, W: Wait> Read for Consumer<T, W> {
    type Item = T;

    /// In the next ring that has items, to the end of its chunk and of the burst at most.
    fn ready(&mut self, count: usize) -> Result<usize, TryPopError> {
        let count = self.find(count)?;
        // Not left to `release`: who looks at an item may leave it where it is.
        if self.has_made_room() {
            self.ring_producers();
        }
        Ok(count)
    }

    unsafe fn read(&mut self, offset: usize) -> T {
        // SAFETY: the caller's promise.
        unsafe { self.rings[self.at].read(offset) }
    }

    #[cfg(not(loom))]
    unsafe fn items(&self, count: usize, access: thalweg_sync::hint::Access) -> *mut T {
        // SAFETY: the caller's promise.
        unsafe { self.rings[self.at].items(count, access) }
    }

    unsafe fn release(&mut self, count: usize) {
        // SAFETY: the caller's promise.
        unsafe { self.rings[self.at].release(count) };
        self.burst -= count;
        if self.burst == 0 {
            self.advance();
        }
    }
}

crate::wait::consumer!(exclusive runs Consumer[T]);

impl<T, W: Wait> Drop for Consumer<T, W> {
    fn drop(&mut self) {
        // The last consumer's rings go with the list, which is then read by nobody.
        for ring in self.rings.drain(..) {
            if ring.is_closed() && ring.is_empty() {
                self.shared.0.drained();
            } else {
                // It has room for all rings, and its readers include this one (M1).
                let _ = self.leave.push(ring);
            }
        }
    }
}

impl<T, W: Wait> fmt::Debug for Consumer<T, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Consumer").field("rings", &self.rings).finish_non_exhaustive()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    #[test]
    fn a_ring_that_is_half_way_keeps_nobody_awake() {
        let (_tx, rx) = crate::research::mesh::mesh::<u32>(2, 2, 2, 2).unwrap();
        let leaving = rx[0].leave.reserve(1).unwrap();
        assert!(!rx[1].may_pop(), "it would look again and again");
        drop(leaving);
    }
}
