//! A ring behind a lock: a baseline to measure others against.
//!
//! | | |
//! |---|---|
//! | order | FIFO, linearizable |
//! | who | any number of producers and consumers; handles are `Clone` and their methods take `&self` |
//! | items | any `T: Send` |
//! | progress | blocking: an operation waits for the one that has the lock |
//! | cost | one lock per item, with its system calls when it is contended |
//!
//! From J. Giacomoni et al., *FastForward for Efficient Pipeline Parallelism*, PPoPP 2008, section 3.1. Take
//! [`bbq`](mod@crate::mpmc) for use. Different from the paper: many producers and consumers, the two sides close, and items
//! have destructors.
//!
//! ```
//! let (tx, rx) = thalweg_queue::research::locked::locked(1024)?;
//! tx.push("under lock")?;
//! drop(tx);
//! assert_eq!(rx.pop()?, "under lock");
//! assert!(rx.pop().is_err()); // the producer is gone and the queue is drained
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Exactly `capacity` items fit. `Full`, `Empty` and `Closed` are true of the whole queue at one instant, as everything happens under
//! the lock; nothing is ever `Busy`.
//!
//! Needs the feature `std`, which has the lock.
//!
//! # Invariants
//!
//! - **K1** No code of an item runs under the lock, so the lock is never held across a panic: items are moved, and
//!   dropped after it is given back.
//! - **K2** The ring never holds more than `capacity` items, for which it has room from the start.

use crate::deque::Deque;
use crate::wait::{Ordinary, Side, Wait};
use crate::{BuildError, TryPopError, TryPushError};
use core::fmt;
use thalweg_sync::atomic::AtomicUsize;
use thalweg_sync::atomic::Ordering::Relaxed;
use thalweg_sync::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A queue for `capacity` items: exactly so many fit.
///
/// `BuildError` if `capacity` is zero or beyond the address space. Memory: the items.
pub fn locked<T: Send>(capacity: usize) -> Result<Ends<T>, BuildError> {
    with_wait(capacity, Ordinary::default())
}

/// Both ends of a queue.
pub type Ends<T, W = Ordinary> = (Producer<T, W>, Consumer<T, W>);

/// As [`locked`], with ends that [wait](crate::wait) by `wait`.
///
/// ```
/// use thalweg_queue::{Park, research::locked};
///
/// let (tx, rx) = locked::with_wait(8, Park::new())?;
/// let consumer = std::thread::spawn(move || rx.pop()); // sleeps until the push
/// tx.push("hello")?;
/// assert_eq!(consumer.join().unwrap(), Ok("hello"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn with_wait<T: Send, W: Wait>(capacity: usize, wait: W) -> Result<Ends<T, W>, BuildError> {
    BuildError::check("capacity", capacity, 1, isize::MAX as usize / size_of::<T>().max(1))?;
    let ring = Ring { items: Deque::new(capacity)?, popped: 0, producers: 1, consumers: 1, closed: false };
    let shared = Arc::new(Shared { ring: Mutex::new(ring), lately: AtomicUsize::new(0), capacity, wait });
    Ok((Producer { shared: shared.clone() }, Consumer { shared }))
}

#[derive(Debug)]
struct Shared<T, W> {
    ring: Mutex<Ring<T>>,
    /// How many items there were lately, and whether producers and consumers are [gone](Self::note). Written with the lock, and read
    /// without by who waits: a look that took the lock would keep it from those whom the others wait for.
    lately: AtomicUsize,
    capacity: usize,
    wait: W,
}

#[derive(Debug)]
struct Ring<T> {
    items: Deque<T>,
    /// How many were popped so far: the position of the item in front.
    popped: u64,
    producers: usize,
    consumers: usize,
    closed: bool,
}

impl<T> Ring<T> {
    fn producers_gone(&self) -> bool {
        self.closed || self.producers == 0
    }

    fn consumers_gone(&self) -> bool {
        self.closed || self.consumers == 0
    }
}

impl<T, W> Shared<T, W> {
    fn lock(&self) -> MutexGuard<'_, Ring<T>> {
        // The ring is whole even if it is poisoned (K1).
        self.ring.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells those who wait what the ring is like now, before they are notified.
    fn note(&self, ring: &Ring<T>) {
        let gone = usize::from(ring.producers_gone()) | (usize::from(ring.consumers_gone()) << 1);
        // Relaxed: nothing is read by way of it; whoever acts on it takes the lock, and that a sleeper sees it is the waiting layer's.
        self.lately.store((ring.items.len() << 2) | gone, Relaxed);
    }

    /// How many items there were lately, and whether all producers and all consumers were gone.
    fn lately(&self) -> (usize, bool, bool) {
        let lately = self.lately.load(Relaxed);
        (lately >> 2, lately & 1 != 0, lately & 2 != 0)
    }
}

/// A writing end. Clones write to the same queue; dropping the last one closes it, and consumers drain what is left.
pub struct Producer<T, W: Wait = Ordinary> {
    shared: Arc<Shared<T, W>>,
}

impl<T, W: Wait> Producer<T, W> {
    /// Pushes, or says why not and gives the value back. Never `Busy`.
    pub fn try_push(&self, value: T) -> Result<(), TryPushError<T>> {
        let mut ring = self.shared.lock();
        if ring.consumers_gone() {
            Err(TryPushError::Closed(value))
        } else if ring.items.len() == self.shared.capacity {
            Err(TryPushError::Full(value))
        } else {
            ring.items.push(value);
            self.shared.note(&ring);
            drop(ring);
            self.shared.wait.notify(Side::Items, 1, || true);
            Ok(())
        }
    }

    fn may_push(&self) -> bool {
        let (items, _, consumers_gone) = self.shared.lately();
        consumers_gone || items < self.shared.capacity
    }

    fn strategy(&self) -> &W {
        &self.shared.wait
    }

    /// How many items are in the queue, lately.
    pub fn len(&self) -> usize {
        self.shared.lock().items.len()
    }

    /// Whether `len` is zero.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many items fit.
    pub fn capacity(&self) -> usize {
        self.shared.capacity
    }

    /// Whether every consumer is gone. Then it stays so, and every push is refused.
    pub fn is_closed(&self) -> bool {
        self.shared.lock().consumers_gone()
    }
}

impl<T, W: Wait> Clone for Producer<T, W> {
    fn clone(&self) -> Self {
        self.shared.lock().producers += 1;
        Self { shared: self.shared.clone() }
    }
}

impl<T, W: Wait> Drop for Producer<T, W> {
    fn drop(&mut self) {
        let mut ring = self.shared.lock();
        ring.producers -= 1;
        self.shared.note(&ring);
        drop(ring);
        self.shared.wait.notify_all();
    }
}

impl<T, W: Wait> fmt::Debug for Producer<T, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Producer").field("len", &self.len()).field("capacity", &self.capacity()).finish_non_exhaustive()
    }
}

/// A reading end. Clones read from the same queue; when the last one is dropped, pushes fail from then on and what is in
/// the queue is dropped.
pub struct Consumer<T, W: Wait = Ordinary> {
    shared: Arc<Shared<T, W>>,
}

impl<T, W: Wait> Consumer<T, W> {
    /// Pops the oldest item, or says why not. Never `Busy`.
    pub fn try_pop(&self) -> Result<T, TryPopError> {
        self.try_pop_numbered().map(|(_, value)| value)
    }

    /// Pops the oldest item and its position in the queue's order: the n-th item to be pushed has position n, from 0.
    pub fn try_pop_numbered(&self) -> Result<(u64, T), TryPopError> {
        let mut ring = self.shared.lock();
        match ring.items.pop() {
            Some(value) => {
                let position = ring.popped;
                ring.popped = position.wrapping_add(1);
                self.shared.note(&ring);
                drop(ring);
                self.shared.wait.notify(Side::Room, 1, || true);
                Ok((position, value))
            }
            None if ring.producers_gone() => Err(TryPopError::Closed),
            None => Err(TryPopError::Empty),
        }
    }

    fn may_pop(&self) -> bool {
        let (items, producers_gone, _) = self.shared.lately();
        producers_gone || items > 0
    }

    fn strategy(&self) -> &W {
        &self.shared.wait
    }

    /// How many items are in the queue, lately.
    pub fn len(&self) -> usize {
        self.shared.lock().items.len()
    }

    /// Whether `len` is zero.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many items fit.
    pub fn capacity(&self) -> usize {
        self.shared.capacity
    }

    /// Whether every producer is gone. Then it stays so; items may still be left.
    pub fn is_closed(&self) -> bool {
        self.shared.lock().producers_gone()
    }
}

impl<T, W: Wait> Clone for Consumer<T, W> {
    fn clone(&self) -> Self {
        self.shared.lock().consumers += 1;
        Self { shared: self.shared.clone() }
    }
}

impl<T, W: Wait> Drop for Consumer<T, W> {
    fn drop(&mut self) {
        let mut ring = self.shared.lock();
        ring.consumers -= 1;
        // Dropped after the lock (K1). Nothing is pushed any more.
        let left = (ring.consumers == 0).then(|| ring.items.take());
        self.shared.note(&ring);
        drop(ring);
        self.shared.wait.notify_all();
        drop(left);
    }
}

impl<T, W: Wait> fmt::Debug for Consumer<T, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Consumer").field("len", &self.len()).field("capacity", &self.capacity()).finish_non_exhaustive()
    }
}

/// What both ends have: `close`, and how many there are of each side.
macro_rules! both_ends {
    ($($Handle:ident)+) => {$(
        impl<T, W: Wait> $Handle<T, W> {
            crate::handles::close! { |end| {
                let mut ring = end.shared.lock();
                ring.closed = true;
                end.shared.note(&ring);
                drop(ring);
                end.shared.wait.notify_all();
            } }

            /// How many producers there are, lately.
            pub fn producers(&self) -> usize {
                self.shared.lock().producers
            }

            /// How many consumers there are, lately.
            pub fn consumers(&self) -> usize {
                self.shared.lock().consumers
            }
        }
    )+};
}
both_ends!(Producer Consumer);

crate::wait::producer!(shared Producer[T]);
crate::wait::consumer!(shared Consumer[T]);
