//! A queue for items of any kind that is never full: a push into a full one takes the oldest item out.
//!
//! | | |
//! |---|---|
//! | order | FIFO, linearizable; what is overwritten is the oldest |
//! | who | any number of producers and consumers; handles are `Clone` and their methods take `&self` |
//! | items | any `T: Send`; what is plain goes faster through the [ring of blocks](super) |
//! | progress | every operation holds one lock while it moves one or two items |
//! | cost | a lock, and what is overwritten is dropped by who pushes, or given to it |
//!
//! ```
//! use thalweg_queue::overwriting::any;
//!
//! let (tx, rx) = any::channel(2)?;
//! tx.push("first".to_string())?;
//! tx.push("second".to_string())?;
//! assert_eq!(tx.push_over("third".to_string())?, Some("first".to_string()));
//! assert_eq!((rx.pop()?, rx.pop()?), ("second".to_string(), "third".to_string()));
//! assert_eq!(rx.overwritten(), 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Exactly `capacity` items are kept. `Empty` and `Closed` are true of the whole queue at one instant; nothing is ever `Full` or `Busy`.
//!
//! Needs the feature `std`, which has the lock.
//!
//! # Invariants
//!
//! - **A1** No code of an item runs under the lock: items are moved, and dropped after it is given back.
//! - **A2** The ring never holds more than `capacity` items, for which it has room from the start.

use crate::deque::Deque;
use crate::handles::Handles;
use crate::wait::{Side, Wait, both};
use crate::{BuildError, Park, PushError, TryPopError, TryPushError};
use core::fmt;
use thalweg_sync::atomic::AtomicUsize;
use thalweg_sync::atomic::Ordering::Relaxed;
use thalweg_sync::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A producer; ends sleep when they wait.
pub type Sender<T> = Producer<T, Park>;

/// A consumer; ends sleep when they wait.
pub type Receiver<T> = Consumer<T, Park>;

/// A producer and a consumer.
pub type Ends<T, W = Park> = (Producer<T, W>, Consumer<T, W>);

/// A queue that keeps the last `capacity` items.
///
/// `BuildError` if `capacity` is zero or there is no memory for so many.
pub fn channel<T: Send>(capacity: usize) -> Result<Ends<T>, BuildError> {
    with_wait(capacity, Park::new())
}

/// As [`channel`], with ends that [wait](crate::wait) by `wait`.
pub fn with_wait<T: Send, W: Wait>(capacity: usize, wait: W) -> Result<Ends<T, W>, BuildError> {
    BuildError::check("capacity", capacity, 1, isize::MAX as usize / size_of::<T>().max(1))?;
    let ring = Ring { items: Deque::new(capacity)?, overwritten: 0 };
    let shared = Shared { ring: Mutex::new(ring), len: AtomicUsize::new(0), capacity, handles: Handles::new(), wait };
    let shared = Arc::new(shared);
    Ok((Producer { shared: shared.clone() }, Consumer { shared }))
}

struct Shared<T, W> {
    ring: Mutex<Ring<T>>,
    /// How many items there were lately: written with the lock, and read without by who waits.
    len: AtomicUsize,
    capacity: usize,
    handles: Handles,
    wait: W,
}

struct Ring<T> {
    items: Deque<T>,
    overwritten: u64,
}

impl<T, W> Shared<T, W> {
    fn lock(&self) -> MutexGuard<'_, Ring<T>> {
        // The ring is whole even if it is poisoned (A1).
        self.ring.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, ring: &Ring<T>) {
        // Relaxed: who acts on it takes the lock; that a sleeper sees it is the waiting layer's.
        self.len.store(ring.items.len(), Relaxed);
    }

    fn pop(&self) -> Result<T, TryPopError> {
        let mut ring = self.lock();
        let item = ring.items.pop().ok_or(TryPopError::Empty);
        self.note(&ring);
        item
    }
}

/// A writing end. Clones write to the same queue; dropping the last one closes it, and consumers drain what is left.
pub struct Producer<T, W: Wait = Park> {
    shared: Arc<Shared<T, W>>,
}

impl<T, W: Wait> Producer<T, W> {
    /// Pushes, and gives back what was overwritten. If every consumer is gone, the value comes back.
    pub fn push_over(&self, value: T) -> Result<Option<T>, PushError<T>> {
        let shared = &self.shared;
        let mut ring = shared.lock();
        if shared.handles.consumers_gone() {
            return Err(PushError(value));
        }
        let old = if ring.items.len() == shared.capacity { ring.items.pop() } else { None };
        ring.overwritten += u64::from(old.is_some());
        ring.items.push(value);
        shared.note(&ring);
        drop(ring);
        shared.wait.notify(Side::Items, 1, || true);
        Ok(old)
    }

    /// Pushes, and drops what was overwritten. Never `Full` or `Busy`.
    pub fn try_push(&self, value: T) -> Result<(), TryPushError<T>> {
        self.push_over(value).map(drop).map_err(|PushError(value)| TryPushError::Closed(value))
    }

    fn may_push(&self) -> bool {
        true
    }

    fn strategy(&self) -> &W {
        &self.shared.wait
    }

    /// How many items are in the queue, lately.
    pub fn len(&self) -> usize {
        // Relaxed: a number, lately.
        self.shared.len.load(Relaxed)
    }

    /// Whether `len` is zero.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many items are kept.
    pub fn capacity(&self) -> usize {
        self.shared.capacity
    }

    /// How many items were overwritten so far.
    pub fn overwritten(&self) -> u64 {
        self.shared.lock().overwritten
    }

    /// Whether every consumer is gone. Then it stays so, and every push is refused.
    pub fn is_closed(&self) -> bool {
        self.shared.handles.consumers_gone()
    }
}

impl<T, W: Wait> Clone for Producer<T, W> {
    fn clone(&self) -> Self {
        self.shared.handles.producers.add();
        Self { shared: self.shared.clone() }
    }
}

impl<T, W: Wait> Drop for Producer<T, W> {
    fn drop(&mut self) {
        if self.shared.handles.leave_producer() {
            self.shared.wait.notify_all();
        }
    }
}

impl<T, W: Wait> fmt::Debug for Producer<T, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Producer").field("len", &self.len()).field("capacity", &self.capacity()).finish_non_exhaustive()
    }
}

/// A reading end. Clones read from the same queue; when the last one is dropped, pushes fail from then on and what is in the queue is dropped.
pub struct Consumer<T, W: Wait = Park> {
    shared: Arc<Shared<T, W>>,
}

impl<T, W: Wait> Consumer<T, W> {
    /// Pops the oldest item that is left, or says why not. Never `Busy`.
    pub fn try_pop(&self) -> Result<T, TryPopError> {
        self.shared.handles.last_look(|| self.shared.pop())
    }

    fn may_pop(&self) -> bool {
        !self.is_empty() || self.is_closed()
    }

    fn strategy(&self) -> &W {
        &self.shared.wait
    }

    /// How many items are in the queue, lately.
    pub fn len(&self) -> usize {
        // Relaxed: a number, lately.
        self.shared.len.load(Relaxed)
    }

    /// Whether `len` is zero.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many items are kept.
    pub fn capacity(&self) -> usize {
        self.shared.capacity
    }

    /// How many items were overwritten so far.
    pub fn overwritten(&self) -> u64 {
        self.shared.lock().overwritten
    }

    /// Never: a push overwrites.
    pub fn is_full(&self) -> bool {
        false
    }

    /// Whether every producer is gone. Then it stays so; items may still be left.
    pub fn is_closed(&self) -> bool {
        self.shared.handles.producers_gone()
    }
}

impl<T, W: Wait> Clone for Consumer<T, W> {
    fn clone(&self) -> Self {
        self.shared.handles.consumers.add();
        Self { shared: self.shared.clone() }
    }
}

impl<T, W: Wait> Drop for Consumer<T, W> {
    fn drop(&mut self) {
        let shared = &self.shared;
        if shared.handles.leave_consumer() {
            // Nothing is pushed any more: a push looks with the lock whether a consumer is there.
            let take = || {
                let mut ring = shared.lock();
                let left = ring.items.take();
                shared.note(&ring);
                left
            };
            both(|| shared.wait.notify_all(), || drop(take()));
        }
    }
}

impl<T, W: Wait> fmt::Debug for Consumer<T, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Consumer").field("len", &self.len()).field("capacity", &self.capacity()).finish_non_exhaustive()
    }
}

crate::handles::counted! {
    [T, W: Wait] Producer<T, W>;
    [T, W: Wait] Consumer<T, W>;
    |end| end.shared.handles, end.shared.wait
}
crate::handles::downgrade! { [T, W: Wait] Producer<T, W>, shared, |end| end.shared.handles.producers }
crate::handles::downgrade! { [T, W: Wait] Consumer<T, W>, shared, |end| end.shared.handles.consumers }
crate::wait::producer!(shared Producer[T]);
crate::wait::consumer!(shared (Consumer [T] [] T [T] is_full));
