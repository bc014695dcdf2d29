//! A writing end: some rings, each to another consumer.

use super::Shared;
use crate::grant::Write;
use crate::wait::{Ordinary, Side, Wait};
use crate::{Push, TryPushError, Yield, growing};
use alloc::vec::Vec;
use core::fmt;
use thalweg_sync::sync::Arc;

/// A writing end of a mesh. Dropping it closes its rings.
///
/// It moves between threads but cannot be cloned: the mesh has as many as it was built with.
///
/// ```compile_fail,E0599
/// let (producers, _consumers) = thalweg_queue::research::mesh::mesh::<u64>(2, 2, 64, 64)?;
/// let third = producers[0].clone();
/// # Ok::<(), thalweg_queue::BuildError>(())
/// ```
pub struct Producer<T, W: Wait = Ordinary> {
    rings: Vec<growing::Producer<T, Yield>>,
    /// The ring to push to next.
    next: usize,
    consumers: usize,
    /// Last, so that it leaves when the rings are closed.
    shared: Present<W>,
}

/// A producer's part in what all ends share. When dropped, the producer has left.
struct Present<W: Wait>(Arc<Shared<W>>);

impl<W: Wait> Drop for Present<W> {
    fn drop(&mut self) {
        self.0.leave_producer();
    }
}

impl<T, W: Wait> Producer<T, W> {
    pub(super) fn new(rings: Vec<growing::Producer<T, Yield>>, shared: Arc<Shared<W>>, consumers: usize) -> Self {
        Self { rings, next: 0, consumers, shared: Present(shared) }
    }

    /// Pushes to the next ring that has room, or says why not and gives the value back. Never `Busy`.
    ///
    /// - `Full`: every ring of this producer was full, one after the other.
    /// - `Closed`: every consumer is gone.
    pub fn try_push(&mut self, value: T) -> Result<(), TryPushError<T>> {
        match self.room(1) {
            Ok(_) => {
                // SAFETY: there is room for it in the next ring, and it is written before it is committed.
                unsafe {
                    self.write(0, value);
                    self.commit(1);
                }
                Ok(())
            }
            Err(refused) => Err(refused.with_value(value)),
        }
    }

    fn advance(&mut self) {
        self.next = if self.next + 1 == self.rings.len() { 0 } else { self.next + 1 };
    }

    fn may_push(&self) -> bool {
        self.shared.0.handles.consumers_gone() || self.rings.is_empty() || self.rings.iter().any(Push::may_push)
    }

    fn strategy(&self) -> &W {
        &self.shared.0.wait
    }

    /// How many rings it pushes to.
    pub fn rings(&self) -> usize {
        self.rings.len()
    }

    /// How many items are pushed to its rings and not popped: at most so many, as pops go on.
    pub fn len(&self) -> usize {
        self.rings.iter().map(growing::Producer::len).sum()
    }

    /// Whether `len` is zero. Then it stays so until the next push.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The most entries that its rings may come to have.
    pub fn capacity(&self) -> usize {
        self.rings.iter().map(growing::Producer::capacity).sum()
    }

    /// Whether every consumer is gone. Then it stays so, and every push is refused.
    pub fn is_closed(&self) -> bool {
        self.shared.0.handles.consumers_gone() || self.rings.iter().all(growing::Producer::is_closed)
    }
}

// SAFETY: `room` stops at a ring whose entries are next to each other, and that is the next one until something is committed.
unsafe impl<T, W: Wait> Write for Producer<T, W> {
    type Item = T;

    /// In the next ring that has room, to the end of its chunk at most.
    fn room(&mut self, count: usize) -> Result<usize, TryPushError<()>> {
        if self.shared.0.handles.consumers_gone() {
            return Err(TryPushError::Closed(()));
        }
        for _ in 0..self.rings.len() {
            match self.rings[self.next].room(count) {
                Ok(count) => return Ok(count),
                Err(TryPushError::Closed(())) => {
                    // The ring behind it takes its place (M2). It is dropped after that: items that are left in it may panic.
                    let closed = self.rings.remove(self.next);
                    if self.next == self.rings.len() {
                        self.next = 0;
                    }
                    drop(closed);
                }
                Err(TryPushError::Full(()) | TryPushError::Busy(())) => self.advance(),
            }
        }
        Err(if self.rings.is_empty() { TryPushError::Closed(()) } else { TryPushError::Full(()) })
    }

    unsafe fn write(&mut self, offset: usize, value: T) {
        // SAFETY: the caller's promise.
        unsafe { self.rings[self.next].write(offset, value) };
    }

    #[cfg(not(loom))]
    unsafe fn entries(&self, count: usize) -> *mut core::mem::MaybeUninit<T> {
        // SAFETY: the caller's promise.
        unsafe { self.rings[self.next].entries(count) }
    }

    unsafe fn commit(&mut self, count: usize) {
        // SAFETY: the caller's promise.
        unsafe { self.rings[self.next].commit(count) };
        self.advance();
        // Only one of them can pop them, and who that is may change as consumers leave: all look.
        self.shared.0.wait.notify(Side::Items, self.consumers, || true);
    }
}

crate::handles::counted! {
    [T, W: Wait] Producer<T, W>;
    [T, W: Wait] super::Consumer<T, W>;
    |end| end.shared.0.handles, end.shared.0.wait
}
crate::wait::producer!(exclusive runs Producer[T]);

impl<T, W: Wait> fmt::Debug for Producer<T, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Producer").field("rings", &self.rings).finish_non_exhaustive()
    }
}
