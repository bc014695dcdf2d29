//! Lamport's queue, plain and with cached indices: baselines to measure others against.
//!
//! | | |
//! |---|---|
//! | order | FIFO, linearizable, refusals one by one ([crate page](crate#what-is-promised)) |
//! | who | one producer, one consumer |
//! | items | any `T: Send` |
//! | progress | `try_push` and `try_pop` are wait-free |
//! | cost | one write of a slot, one store of an index per item. [`plain`]: and a load of the other side's index each time, so that the lines of both indices travel for every item. [`cached`]: that load only when the index seen last says full or empty |
//!
//! Take [`bbq::spsc`](mod@crate::spsc) for use, or [`fast_forward`](mod@crate::spsc::fast_forward) for single words: this is the queue
//! that they are compared with, and what "a ring buffer" usually means.
//!
//! From L. Lamport, *Specifying Concurrent Program Modules*, ACM TOPLAS 5(2), 1983, in the form that J. Giacomoni et
//! al., *FastForward for Efficient Pipeline Parallelism*, PPoPP 2008, measure against (section 3.2); names as there:
//! the head is the producer's, the tail the consumer's. Different from the paper: orderings instead of sequential
//! consistency, the two ends close, and items have destructors.
//!
//! ```
//! use thalweg_queue::{TryPopError, TryPushError, research::lamport};
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
//! Exactly `capacity` items fit.
//!
//! # What the answers mean
//!
//! Each takes effect at one instant between call and return:
//!
//! | answer | at that instant |
//! |---|---|
//! | `try_push`: `Full` | `capacity` items are in the queue |
//! | `try_pop`: `Empty` | no item is in the queue |
//! | either: `Closed` | the other end is gone, and for `try_pop` no item is left |
//!
//! Neither is ever `Busy`.
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

use crate::drops::Drops;
use crate::grant::{Read, Write};
use crate::wait::{Ordinary, Side, Wait, both};
use crate::{BuildError, TryPopError, TryPushError};
use core::fmt;
use core::marker::PhantomData;
#[cfg(not(loom))]
use core::mem::MaybeUninit;
use ring::Ring;
#[cfg(not(loom))]
use thalweg_sync::hint::Access;
use thalweg_sync::sync::Arc;

/// How a side learns the other side's index.
pub trait Caching: private::Caching {}

/// Each operation loads the other side's index: as printed.
#[derive(Clone, Copy, Debug)]
pub struct Plain;

/// The other side's index is loaded again only when the one seen last says full or empty.
#[derive(Clone, Copy, Debug)]
pub struct Cached;

impl Caching for Plain {}
impl Caching for Cached {}

mod private {
    pub trait Caching: Send {
        const EACH_TIME: bool;
    }
    impl Caching for super::Plain {
        const EACH_TIME: bool = true;
    }
    impl Caching for super::Cached {
        const EACH_TIME: bool = false;
    }
}

/// The two ends of a queue.
pub type Ends<T, W = Ordinary, L = Cached> = (Producer<T, W, L>, Consumer<T, W, L>);

/// Lamport's queue for `capacity` items, as printed.
///
/// `BuildError` if `capacity` is zero or beyond the address space. Memory: the items, one more, and some lines.
pub fn plain<T: Send>(capacity: usize) -> Result<Ends<T, Ordinary, Plain>, BuildError> {
    with_wait(capacity, Ordinary::default())
}

/// Lamport's queue for `capacity` items, with cached indices; else as [`plain`].
pub fn cached<T: Send>(capacity: usize) -> Result<Ends<T>, BuildError> {
    with_wait(capacity, Ordinary::default())
}

/// As [`plain`] or [`cached`], whichever `L` says, with ends that [wait](crate::wait) by `wait`.
///
/// ```
/// use thalweg_queue::{Park, research::lamport};
///
/// let (mut tx, mut rx): lamport::Ends<_, _, lamport::Cached> = lamport::with_wait(8, Park::new())?;
/// let consumer = std::thread::spawn(move || rx.pop()); // sleeps until the push
/// tx.push("hello")?;
/// assert_eq!(consumer.join().unwrap(), Ok("hello"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn with_wait<T: Send, W: Wait, L: Caching>(capacity: usize, wait: W) -> Result<Ends<T, W, L>, BuildError> {
    let ring = Arc::new(Ring::new(capacity, wait)?);
    let producer = Producer { ring: ring.clone(), head: 0, tail: 0, _look: PhantomData };
    Ok((producer, Consumer { ring, head: 0, tail: 0, _look: PhantomData }))
}

/// The writing end. Dropping it closes the queue; the consumer drains what is left.
///
/// It moves between threads but cannot be cloned: "one producer" is checked by the compiler.
///
/// ```compile_fail,E0599
/// let (tx, _rx) = thalweg_queue::research::lamport::plain::<u64>(64)?;
/// let second = tx.clone();
/// # Ok::<(), thalweg_queue::BuildError>(())
/// ```
pub struct Producer<T, W: Wait = Ordinary, L: Caching = Cached> {
    ring: Arc<Ring<T, W>>,
    /// The next slot to fill.
    head: usize,
    /// The consumer's tail, as seen last.
    tail: usize,
    _look: PhantomData<L>,
}

impl<T, W: Wait, L: Caching> Producer<T, W, L> {
    /// Pushes, or says why not and gives the value back. Never `Busy`.
    #[inline]
    pub fn try_push(&mut self, value: T) -> Result<(), TryPushError<T>> {
        match self.room(1) {
            Ok(_) => {
                // SAFETY: there is room, so the slot is ours, and it is written before it is committed.
                unsafe {
                    self.write(0, value);
                    self.commit(1);
                }
                Ok(())
            }
            Err(refused) => Err(refused.with_value(value)),
        }
    }

    fn may_push(&self) -> bool {
        self.ring.tail() != self.ring.after(self.head, 1) || self.is_closed()
    }

    fn strategy(&self) -> &W {
        &self.ring.wait
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

// SAFETY: the slots from the head up to the one before the tail, seen now or earlier, are the producer's: a tail that has moved on
// since leaves only more room (L1). `room` ends with the ring, so they are next to each other.
unsafe impl<T, W: Wait, L: Caching> Write for Producer<T, W, L> {
    type Item = T;

    #[inline(always)]
    fn room(&mut self, count: usize) -> Result<usize, TryPushError<()>> {
        if self.ring.ends.consumer_gone() {
            return Err(TryPushError::Closed(()));
        }
        let mut room = self.ring.capacity() - self.ring.distance(self.tail, self.head);
        if L::EACH_TIME || room == 0 {
            self.tail = self.ring.tail();
            room = self.ring.capacity() - self.ring.distance(self.tail, self.head);
            if room == 0 {
                return Err(TryPushError::Full(()));
            }
        }
        Ok(count.min(room).min(self.ring.slots() - self.head))
    }

    #[inline(always)]
    unsafe fn write(&mut self, offset: usize, value: T) {
        // SAFETY: by the caller's promise the slot is ours.
        unsafe { self.ring.write(self.head + offset, value) };
    }

    #[cfg(not(loom))]
    #[inline]
    unsafe fn entries(&self, count: usize) -> *mut MaybeUninit<T> {
        // SAFETY: by the caller's promise they are counted, to the end of the ring at most.
        unsafe { self.ring.memory(self.head, count, Access::Write) }
    }

    #[inline(always)]
    unsafe fn commit(&mut self, count: usize) {
        self.head = self.ring.after(self.head, count);
        self.ring.fill(self.head);
        self.ring.wait.notify(Side::Items, count, || true);
    }
}

crate::ends::ended! {
    [T, W: Wait, L: Caching] Producer<T, W, L>;
    [T, W: Wait, L: Caching] Consumer<T, W, L>;
    |end| end.ring.ends, end.ring.wait
}
crate::wait::producer!(exclusive runs (Producer [T] [L] T [T, L: Caching]));

impl<T, W: Wait, L: Caching> Drop for Producer<T, W, L> {
    fn drop(&mut self) {
        self.ring.ends.leave_producer();
        self.ring.wait.notify_all();
    }
}

impl<T, W: Wait, L: Caching> fmt::Debug for Producer<T, W, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Producer").field("len", &self.len()).field("capacity", &self.capacity()).finish_non_exhaustive()
    }
}

/// The reading end. Dropping it closes the queue: pushes fail from then on, and what is in the queue is dropped.
///
/// Like the producer it moves between threads but cannot be cloned.
pub struct Consumer<T, W: Wait = Ordinary, L: Caching = Cached> {
    ring: Arc<Ring<T, W>>,
    /// The producer's head, as seen last.
    head: usize,
    /// The next slot to empty.
    tail: usize,
    _look: PhantomData<L>,
}

impl<T, W: Wait, L: Caching> Consumer<T, W, L> {
    /// Pops the oldest item, or says why not. Never `Busy`.
    #[inline]
    pub fn try_pop(&mut self) -> Result<T, TryPopError> {
        self.ready(1)?;
        // SAFETY: the item is ready, and moved out once, as the end moves past it.
        unsafe {
            let value = self.read(0);
            self.release(1);
            Ok(value)
        }
    }

    /// How many items are seen, as many as lie up to the end of the ring.
    #[inline(always)]
    fn see(&mut self) -> usize {
        if L::EACH_TIME || self.tail == self.head {
            self.head = self.ring.head();
        }
        self.ring.distance(self.tail, self.head).min(self.ring.slots() - self.tail)
    }

    fn may_pop(&self) -> bool {
        self.ring.head() != self.tail || self.is_closed()
    }

    fn strategy(&self) -> &W {
        &self.ring.wait
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

// SAFETY: the slots from the tail up to the one before the head, seen now or earlier, are the consumer's and written: a head that
// has moved on since leaves only more items (L2). `ready` ends with the ring, so they are next to each other.
unsafe impl<T, W: Wait, L: Caching> Read for Consumer<T, W, L> {
    type Item = T;

    #[inline(always)]
    fn ready(&mut self, count: usize) -> Result<usize, TryPopError> {
        let mut seen = self.see();
        if seen == 0 {
            if !self.ring.ends.producer_gone() {
                return Err(TryPopError::Empty);
            }
            // The producer may have pushed after our look and before it left.
            seen = self.see();
            if seen == 0 {
                return Err(TryPopError::Closed);
            }
        }
        Ok(count.min(seen))
    }

    #[inline(always)]
    unsafe fn read(&mut self, offset: usize) -> T {
        // SAFETY: by the caller's promise the slot is ours, and read once.
        unsafe { self.ring.read(self.tail + offset) }
    }

    #[cfg(not(loom))]
    #[inline]
    unsafe fn items(&self, count: usize, access: Access) -> *mut T {
        // SAFETY: by the caller's promise they are counted, to the end of the ring at most.
        unsafe { self.ring.memory(self.tail, count, access).cast() }
    }

    #[inline(always)]
    unsafe fn release(&mut self, count: usize) {
        self.tail = self.ring.after(self.tail, count);
        self.ring.empty(self.tail);
        self.ring.wait.notify(Side::Room, count, || true);
    }
}

crate::wait::consumer!(exclusive runs (Consumer [T] [L] T [T, L: Caching]));

impl<T, W: Wait, L: Caching> Drop for Consumer<T, W, L> {
    fn drop(&mut self) {
        self.ring.ends.leave_consumer();
        let ring = self.ring.clone();
        let items = || {
            let mut drops = Drops::default();
            while self.see() > 0 {
                let tail = self.tail;
                // SAFETY: the item is seen, and dropped once, as the end moves past it.
                both(|| drops.one(|| unsafe { ring.discard(tail) }), || unsafe { self.release(1) });
            }
        };
        both(|| ring.wait.notify_all(), items);
    }
}

impl<T, W: Wait, L: Caching> fmt::Debug for Consumer<T, W, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Consumer").field("len", &self.len()).field("capacity", &self.capacity()).finish_non_exhaustive()
    }
}
