//! Lamport's queue, plain and with cached indices: baselines to measure others against.
//!
//! | | |
//! |---|---|
//! | order | FIFO, linearizable |
//! | who | one producer, one consumer |
//! | items | any `T: Send` |
//! | progress | `try_push` and `try_pop` are wait-free |
//! | cost | one write of a slot, one store of an index per item. [`plain`]: and a load of the other side's index each time, so that the lines of both indices travel for every item. [`cached`]: that load only when the index seen last says full or empty |
//!
//! Take [`fast_forward`](mod@crate::fast_forward) or [`chunk_ring`](mod@crate::chunk_ring) for use: this is the queue that
//! they are compared with, and what "a ring buffer" usually means.
//!
//! From L. Lamport, *Specifying Concurrent Program Modules*, ACM TOPLAS 5(2), 1983, in the form that J. Giacomoni et
//! al., *FastForward for Efficient Pipeline Parallelism*, PPoPP 2008, measure against (section 3.2); names as there:
//! the head is the producer's, the tail the consumer's. Different from the paper: orderings instead of sequential
//! consistency, the two ends close, and items have destructors.
//!
//! ```
//! use thalweg_queue::{TryPopError, TryPushError, lamport};
//!
//! let (mut tx, mut rx) = lamport::cached(2)?;
//! tx.try_push("tick")?;
//! tx.try_push("tock")?;
//! assert_eq!(tx.try_push("tick"), Err(TryPushError::Full("tick")));
//! assert_eq!(rx.try_pop(), Ok("tick"));
//! drop(tx);
//! assert_eq!(rx.try_pop(), Ok("tock"));
//! assert_eq!(rx.try_pop(), Err(TryPopError::Closed));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Capacity
//!
//! Exactly `capacity` items fit: `Full` means that so many are waiting.
//!
//! # Invariants
//!
//! - **L1** The slots from the head up to the one before the tail are the producer's. Only the producer moves the head, past
//!   a slot that it has written; never to the tail.
//! - **L2** The slots from the tail up to the one before the head are the consumer's, and are written. Only the consumer
//!   moves the tail, past a slot that it has read.
//!
//! A side that knows an old position of the other one only takes less for its own than it may.

mod ring;

use crate::{BuildError, Pop, PopError, Push, PushError, TryPopError, TryPushError, Yield};
use core::fmt;
use core::marker::PhantomData;
use ring::Ring;
use thalweg_sync::sync::Arc;

/// How a side learns the other side's index.
pub trait Look: private::Look {}

/// Each operation loads the other side's index: as printed.
#[derive(Clone, Copy, Debug)]
pub struct Plain;

/// The other side's index is loaded again only when the one seen last says full or empty.
#[derive(Clone, Copy, Debug)]
pub struct Cached;

impl Look for Plain {}
impl Look for Cached {}

mod private {
    pub trait Look: Send {
        const EACH_TIME: bool;
    }
    impl Look for super::Plain {
        const EACH_TIME: bool = true;
    }
    impl Look for super::Cached {
        const EACH_TIME: bool = false;
    }
}

/// The two ends of a queue.
pub type Ends<T, L> = (Producer<T, L>, Consumer<T, L>);

/// Lamport's queue for `capacity` items, as printed.
///
/// `BuildError` if `capacity` is zero or beyond the address space. Memory: the items, one more, and some lines.
pub fn plain<T: Send>(capacity: usize) -> Result<Ends<T, Plain>, BuildError> {
    queue(capacity)
}

/// Lamport's queue for `capacity` items, with cached indices; else as [`plain`].
pub fn cached<T: Send>(capacity: usize) -> Result<Ends<T, Cached>, BuildError> {
    queue(capacity)
}

fn queue<T: Send, L: Look>(capacity: usize) -> Result<Ends<T, L>, BuildError> {
    let ring = Arc::new(Ring::new(capacity)?);
    let producer = Producer { ring: ring.clone(), head: 0, tail: 0, _look: PhantomData };
    Ok((producer, Consumer { ring, head: 0, tail: 0, _look: PhantomData }))
}

/// The writing end. Dropping it closes the queue; the consumer drains what is left.
///
/// It moves between threads but cannot be cloned: "one producer" is checked by the compiler.
///
/// ```compile_fail,E0599
/// let (tx, _rx) = thalweg_queue::lamport::plain::<u64>(64)?;
/// let second = tx.clone();
/// # Ok::<(), thalweg_queue::BuildError>(())
/// ```
pub struct Producer<T: Send, L: Look> {
    ring: Arc<Ring<T>>,
    /// The next slot to fill.
    head: usize,
    /// The consumer's tail, as seen last.
    tail: usize,
    _look: PhantomData<L>,
}

impl<T: Send, L: Look> Producer<T, L> {
    /// Pushes, or says why not and gives the value back. Never `Busy`.
    #[inline]
    pub fn try_push(&mut self, value: T) -> Result<(), TryPushError<T>> {
        if self.ring.ends.consumer_gone() {
            return Err(TryPushError::Closed(value));
        }
        let next = self.ring.next(self.head);
        if L::EACH_TIME || next == self.tail {
            self.tail = self.ring.tail();
            if next == self.tail {
                return Err(TryPushError::Full(value));
            }
        }
        // SAFETY: `&mut` of the only producer, at its own head; `next` is not the tail, seen now or earlier: a tail
        // that has moved on since leaves only more room (L1).
        unsafe { self.ring.fill(self.head, next, value) };
        self.head = next;
        Ok(())
    }

    /// Pushes, waiting while the queue is full.
    #[inline]
    pub fn push(&mut self, value: T) -> Result<(), PushError<T>> {
        Push::push(self, value)
    }

    /// How many items are pushed and not popped: at most so many, as pops go on.
    pub fn len(&self) -> usize {
        self.ring.distance(self.ring.tail(), self.head)
    }

    /// Whether `len` is zero. Then it stays so until the next push.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many items fit.
    pub fn capacity(&self) -> usize {
        self.ring.capacity()
    }

    /// Whether the consumer is gone. Then it stays so, and every push is refused.
    pub fn is_closed(&self) -> bool {
        self.ring.ends.consumer_gone()
    }
}

impl<T: Send, L: Look> Push for Producer<T, L> {
    type Item = T;
    type Wait = Yield;

    #[inline]
    fn try_push(&mut self, value: T) -> Result<(), TryPushError<T>> {
        Self::try_push(self, value)
    }

    fn may_push(&self) -> bool {
        self.ring.tail() != self.ring.next(self.head) || self.is_closed()
    }

    fn is_closed(&self) -> bool {
        Self::is_closed(self)
    }

    fn capacity(&self) -> usize {
        Self::capacity(self)
    }

    fn strategy(&self) -> &Yield {
        &Yield
    }
}

impl<T: Send, L: Look> Drop for Producer<T, L> {
    fn drop(&mut self) {
        self.ring.ends.leave_producer();
    }
}

impl<T: Send, L: Look> fmt::Debug for Producer<T, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Producer").field("len", &self.len()).field("capacity", &self.capacity()).finish_non_exhaustive()
    }
}

/// The reading end. Dropping it closes the queue: pushes fail from then on, and what is in the queue is dropped.
///
/// Like the producer it moves between threads but cannot be cloned.
pub struct Consumer<T: Send, L: Look> {
    ring: Arc<Ring<T>>,
    /// The producer's head, as seen last.
    head: usize,
    /// The next slot to empty.
    tail: usize,
    _look: PhantomData<L>,
}

impl<T: Send, L: Look> Consumer<T, L> {
    /// Pops the oldest item, or says why not. Never `Busy`.
    #[inline]
    pub fn try_pop(&mut self) -> Result<T, TryPopError> {
        if let Some(value) = self.take() {
            return Ok(value);
        }
        if !self.ring.ends.producer_gone() {
            return Err(TryPopError::Empty);
        }
        // The producer may have pushed after our look and before it left.
        self.take().ok_or(TryPopError::Closed)
    }

    #[inline]
    fn take(&mut self) -> Option<T> {
        if L::EACH_TIME || self.tail == self.head {
            self.head = self.ring.head();
            if self.tail == self.head {
                return None;
            }
        }
        // SAFETY: `&mut` of the only consumer, at its own tail, which is not the head, seen now or earlier: a head
        // that has moved on since leaves only more items (L2).
        let value = unsafe { self.ring.empty(self.tail) };
        self.tail = self.ring.next(self.tail);
        Some(value)
    }

    /// Pops the oldest item, waiting while there is none.
    #[inline]
    pub fn pop(&mut self) -> Result<T, PopError> {
        Pop::pop(self)
    }

    /// How many items are pushed and not popped: at least so many, as pushes go on.
    pub fn len(&self) -> usize {
        self.ring.distance(self.tail, self.ring.head())
    }

    /// Whether there is nothing to pop now. "No" stays true until the next pop; "yes" may be outdated at once.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many items fit.
    pub fn capacity(&self) -> usize {
        self.ring.capacity()
    }

    /// Whether the producer is gone. Then it stays so; items may still be left.
    pub fn is_closed(&self) -> bool {
        self.ring.ends.producer_gone()
    }
}

impl<T: Send, L: Look> Pop for Consumer<T, L> {
    type Item = T;
    type Wait = Yield;

    #[inline]
    fn try_pop(&mut self) -> Result<T, TryPopError> {
        Self::try_pop(self)
    }

    fn may_pop(&self) -> bool {
        self.ring.head() != self.tail || self.is_closed()
    }

    fn is_closed(&self) -> bool {
        Self::is_closed(self)
    }

    fn capacity(&self) -> usize {
        Self::capacity(self)
    }

    fn strategy(&self) -> &Yield {
        &Yield
    }
}

impl<T: Send, L: Look> Drop for Consumer<T, L> {
    fn drop(&mut self) {
        self.ring.ends.leave_consumer();
        // One by one: should a destructor panic, the ring drops the rest.
        while let Some(value) = self.take() {
            drop(value);
        }
    }
}

impl<T: Send, L: Look> fmt::Debug for Consumer<T, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Consumer").field("len", &self.len()).field("capacity", &self.capacity()).finish_non_exhaustive()
    }
}
