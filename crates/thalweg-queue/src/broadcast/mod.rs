//! Every receiver sees every item.
//!
//! | who sets the pace | take |
//! |---|---|
//! | the senders: a receiver that is too slow misses items, and is told how many | [`channel`] |
//! | the slowest consumer: nobody misses anything; consumers may follow each other over one ring | [`graph`] |
//!
//! ```
//! use thalweg_queue::broadcast::{self, Lagged};
//!
//! let (tx, mut rx) = broadcast::channel(4)?;
//! let mut slow = tx.subscribe();
//! for n in 0..4 {
//!     tx.push(n)?;
//!     assert_eq!(rx.pop()?, Ok(n));
//! }
//! tx.push(4)?; // in the place of the 0
//! assert_eq!(slow.pop()?, Err(Lagged(1)));
//! assert_eq!(slow.pop()?, Ok(1));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # The channel
//!
//! | | |
//! |---|---|
//! | order | one order for all: that in which senders take turns |
//! | who | any number of senders, whose methods take `&self`, and of receivers, each with its own position |
//! | items | any `T: Clone + Send`: each receiver pops a clone. Large ones go into an `Arc` |
//! | progress | a push waits for no receiver, and at most for another push and for a clone of the item in whose place it goes |
//! | cost | a push: two locks, which seldom meet anybody. A pop: a load, a lock and a clone |
//!
//! | answer | when |
//! |---|---|
//! | `try_push`: `Closed` | no receiver is there; the value comes back. One may [subscribe](Producer::subscribe) later |
//! | `try_pop`: `Ok(Ok(item))` | the next item |
//! | `try_pop`: `Ok(Err(Lagged(n)))` | the next `n` items were overwritten; the pop after that gives the oldest that is there |
//! | `try_pop`: `Empty`, `Closed` | everything was seen, and a sender is there or none is |
//!
//! An item stays in its place until a newer one needs it, also when every receiver has seen it. Nothing is ever `Full` or `Busy`. The clone is made
//! under the lock of the place, so it must not use the channel itself.
//!
//! Needs the feature `std`.
//!
//! # Invariants
//!
//! - **R1** Who pushes has the lock of `next`, so positions are written one after the other; a place has the newest of its positions, with its
//!   number, under its own lock.
//! - **R2** `written` counts positions whose places are written: it is stored after the place's lock was taken and given back.
//! - **R3** A place that has a position has its item: it is written, read and cloned with the place's lock alone.
//! - **R4** No destructor runs under a lock: what is overwritten is dropped after both are given back.

pub mod graph;

use crate::drops::Drops;
use crate::handles::Handles;
use crate::wait::{Side, Wait, both};
use crate::{BuildError, Park, TryPopError, TryPushError, memory};
use alloc::boxed::Box;
use core::fmt;
use core::mem::MaybeUninit;
use thalweg_sync::CachePadded;
use thalweg_sync::atomic::AtomicU64;
use thalweg_sync::atomic::Ordering::Relaxed;
use thalweg_sync::cell::Slot;
use thalweg_sync::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A sender; ends sleep when they wait.
pub type Sender<T> = Producer<T, Park>;

/// A receiver; ends sleep when they wait.
pub type Receiver<T> = Consumer<T, Park>;

/// A sender and a receiver.
pub type Ends<T, W = Park> = (Producer<T, W>, Consumer<T, W>);

/// So many items were overwritten before this receiver popped them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lagged(pub u64);

impl fmt::Display for Lagged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} items were overwritten before they were popped: pop faster, or take a larger channel", self.0)
    }
}

impl core::error::Error for Lagged {}

/// A channel that keeps the last `capacity` items, rounded up to a power of two.
///
/// Memory: the items, and for each a lock and its position, 24 bytes or less. These are written when it is built, so all of the memory is touched.
///
/// `BuildError` if `capacity` is zero or there is no memory for so many.
pub fn channel<T: Clone + Send>(capacity: usize) -> Result<Ends<T>, BuildError> {
    with_wait(capacity, Park::new())
}

/// As [`channel`], with ends that [wait](crate::wait) by `wait`.
pub fn with_wait<T: Clone + Send, W: Wait>(capacity: usize, wait: W) -> Result<Ends<T, W>, BuildError> {
    let places = places::<Stored<T>>(capacity)?;
    let places = empty(places)?;
    let (next, written) = (CachePadded(Mutex::new(0)), CachePadded(AtomicU64::new(0)));
    let shared = Arc::new(Shared { next, written, places, handles: Handles::new(), wait });
    Ok((Producer { shared: shared.clone() }, Consumer { shared, position: 0 }))
}

/// `capacity`, rounded up to a power of two, if so many places can be addressed.
fn places<P>(capacity: usize) -> Result<usize, BuildError> {
    let most = (isize::MAX as usize / size_of::<P>().max(1) / 2).max(1);
    BuildError::check("capacity", capacity, 1, most)?;
    Ok(capacity.next_power_of_two())
}

/// `count` places without items, of which none is moved about.
fn empty<T>(count: usize) -> Result<Box<[Stored<T>]>, BuildError> {
    let mut places = memory::places::<Stored<T>>(count)?;
    for place in &mut places {
        let place: *mut Stored<T> = place.as_mut_ptr();
        // SAFETY: the place is ours.
        unsafe { (&raw mut (*place).position).write(Mutex::new(None)) };
    }
    // SAFETY: written but for the items, and a slot is nothing but its place, which may be uninitialised.
    Ok(unsafe { places.assume_init() })
}

struct Shared<T, W> {
    /// The next position to be pushed.
    next: CachePadded<Mutex<u64>>,
    /// How many positions are written.
    written: CachePadded<AtomicU64>,
    places: Box<[Stored<T>]>,
    handles: Handles,
    wait: W,
}

struct Stored<T> {
    /// That of the item; none before the first one.
    position: Mutex<Option<u64>>,
    item: Slot<MaybeUninit<T>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A clone may panic, which changes nothing here.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<T, W> Shared<T, W> {
    fn place(&self, position: u64) -> &Stored<T> {
        &self.places[position as usize & (self.places.len() - 1)]
    }

    fn written(&self) -> u64 {
        // Relaxed: what is in a place is seen by way of its lock, which its writer took before it counted the position (R2).
        self.written.load(Relaxed)
    }

    /// Writes the next position. Returns what was in its place.
    fn write(&self, value: T) -> Option<T> {
        let mut next = lock(&self.next);
        let position = *next;
        let place = self.place(position);
        let mut held = lock(&place.position);
        // SAFETY: we have the lock, and the item is there (R3): another one takes its place.
        let old = held.replace(position).map(|_| place.item.with(|item| unsafe { (*item).assume_init_read() }));
        // SAFETY: as above.
        place.item.with_mut(|item| unsafe { (*item).write(value) });
        drop(held);
        *next += 1;
        // Relaxed: see `written`.
        self.written.store(*next, Relaxed);
        old
    }
}

impl<T, W> Drop for Shared<T, W> {
    fn drop(&mut self) {
        let mut drops = Drops::default();
        for place in &self.places {
            if lock(&place.position).take().is_some() {
                // SAFETY: nobody else is here, and the item was there (R3).
                drops.one(|| place.item.with_mut(|item| unsafe { (*item).assume_init_drop() }));
            }
        }
    }
}

/// A writing end. Clones write to the same receivers; when the last one is dropped, receivers see what is there, and then the end.
pub struct Producer<T: Clone, W: Wait = Park> {
    shared: Arc<Shared<T, W>>,
}

impl<T: Clone, W: Wait> Producer<T, W> {
    /// Pushes to every receiver, or gives the value back if there is none.
    pub fn try_push(&self, value: T) -> Result<(), TryPushError<T>> {
        if self.is_closed() {
            return Err(TryPushError::Closed(value));
        }
        let old = self.shared.write(value);
        both(|| self.shared.wait.notify(Side::Items, usize::MAX, || true), || drop(old));
        Ok(())
    }

    /// One receiver more, of all that is pushed from now on.
    pub fn subscribe(&self) -> Consumer<T, W> {
        self.shared.handles.consumers.add();
        Consumer { shared: self.shared.clone(), position: self.shared.written() }
    }

    /// Whether no receiver is there. It stays so unless one [subscribes](Self::subscribe).
    pub fn is_closed(&self) -> bool {
        self.shared.handles.consumers_gone()
    }

    /// How many of the items that are kept there are, whoever has popped them.
    pub fn len(&self) -> usize {
        self.shared.written().min(self.capacity() as u64) as usize
    }

    /// Whether nothing was pushed so far.
    pub fn is_empty(&self) -> bool {
        self.shared.written() == 0
    }

    /// How many items are kept.
    pub fn capacity(&self) -> usize {
        self.shared.places.len()
    }

    fn may_push(&self) -> bool {
        true
    }

    fn strategy(&self) -> &W {
        &self.shared.wait
    }
}

impl<T: Clone, W: Wait> Clone for Producer<T, W> {
    fn clone(&self) -> Self {
        self.shared.handles.producers.add();
        Self { shared: self.shared.clone() }
    }
}

impl<T: Clone, W: Wait> Drop for Producer<T, W> {
    fn drop(&mut self) {
        if self.shared.handles.leave_producer() {
            self.shared.wait.notify_all();
        }
    }
}

impl<T: Clone, W: Wait> fmt::Debug for Producer<T, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Producer").field("capacity", &self.capacity()).finish_non_exhaustive()
    }
}

/// A reading end, which sees every item from its position on. A clone begins where this one is.
pub struct Consumer<T: Clone, W: Wait = Park> {
    shared: Arc<Shared<T, W>>,
    position: u64,
}

impl<T: Clone, W: Wait> Consumer<T, W> {
    /// Pops the next item, or says how many are lost, or why there is none.
    pub fn try_pop(&mut self) -> Result<Result<T, Lagged>, TryPopError> {
        let Self { shared, position } = self;
        let written = shared.handles.last_look(|| match shared.written() {
            written if written == *position => Err(TryPopError::Empty),
            written => Ok(written),
        })?;
        let place = shared.place(*position);
        let held = lock(&place.position);
        if *held == Some(*position) {
            // SAFETY: we have the lock, and the item is there (R3).
            let item = place.item.with(|item| unsafe { (*item).assume_init_ref() }.clone());
            drop(held);
            *position += 1;
            return Ok(Ok(item));
        }
        drop(held);
        // Somebody may write meanwhile: the oldest that is there now is there at least as long as our look.
        let oldest = shared.written().max(written).saturating_sub(shared.places.len() as u64).max(*position + 1);
        let lost = oldest - *position;
        *position = oldest;
        Ok(Err(Lagged(lost)))
    }

    /// How many items are there to be popped, lost ones included.
    pub fn len(&self) -> usize {
        (self.shared.written() - self.position) as usize
    }

    /// Whether everything was popped.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Goes on behind the newest item. Returns how many are left out.
    pub fn skip_all(&mut self) -> u64 {
        let before = core::mem::replace(&mut self.position, self.shared.written());
        self.position - before
    }

    /// Whether every sender is gone. Then it stays so; items may still be left.
    pub fn is_closed(&self) -> bool {
        self.shared.handles.producers_gone()
    }

    /// How many items are kept.
    pub fn capacity(&self) -> usize {
        self.shared.places.len()
    }

    fn may_pop(&self) -> bool {
        self.shared.written() != self.position || self.is_closed()
    }

    fn strategy(&self) -> &W {
        &self.shared.wait
    }
}

impl<T: Clone, W: Wait> Clone for Consumer<T, W> {
    fn clone(&self) -> Self {
        self.shared.handles.consumers.add();
        Self { shared: self.shared.clone(), position: self.position }
    }
}

impl<T: Clone, W: Wait> Drop for Consumer<T, W> {
    fn drop(&mut self) {
        self.shared.handles.leave_consumer();
    }
}

impl<T: Clone, W: Wait> fmt::Debug for Consumer<T, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Consumer").field("len", &self.len()).finish_non_exhaustive()
    }
}

crate::handles::counted! {
    [T: Clone, W: Wait] Producer<T, W>;
    [T: Clone, W: Wait] Consumer<T, W>;
    |end| end.shared.handles, end.shared.wait
}
crate::handles::downgrade! { [T: Clone, W: Wait] Producer<T, W>, shared, |end| end.shared.handles.producers }
crate::wait::producer!(shared (Producer [T] [] T [T: Clone]));
crate::wait::consumer!(exclusive (Consumer [T] [] Result<T, Lagged> [T: Clone]));
