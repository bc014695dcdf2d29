//! A tube as a queue: two handles that can be cloned.

use super::{AllocateError, ReserveError, Tube};
use crate::drops::Drops;
use crate::edges::edge;
use crate::handles::Handles;
use crate::wait::{Ordinary, Side, Wait, both};
use crate::{TryPopError, TryPushError};
use core::fmt;
use thalweg_sync::CachePadded;
use thalweg_sync::atomic::Ordering::{AcqRel, Acquire, Release};
use thalweg_sync::sync::Arc;

/// A tube and how many handles of each kind it has. A kind that has reached zero stays there.
#[derive(Debug)]
struct Shared<Q: Tube, W: Wait> {
    tube: Q,
    handles: CachePadded<Handles>,
    wait: W,
}

/// Makes a queue of `tube`.
///
/// ```
/// use thalweg_queue::research::tube::{queue, ring};
///
/// let (tx, rx) = queue(ring::Hts::new(3)?);
/// for number in 0..3 {
///     tx.try_push(number)?;
/// }
/// assert!(tx.try_push(3).is_err());
/// drop(tx);
/// assert_eq!([rx.pop()?, rx.pop()?, rx.pop()?], [0, 1, 2]);
/// assert!(rx.pop().is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn queue<Q: Tube>(tube: Q) -> Ends<Q> {
    with_wait(tube, Ordinary::default())
}

/// Both ends of a queue.
pub type Ends<Q, W = Ordinary> = (Producer<Q, W>, Consumer<Q, W>);

/// As [`queue`], with ends that [wait](crate::wait) by `wait`.
///
/// ```
/// use thalweg_queue::Park;
/// use thalweg_queue::research::tube::{scqd::Scqd, with_wait};
///
/// let (tx, rx) = with_wait(Scqd::new(64)?, Park::new());
/// let consumer = std::thread::spawn(move || rx.pop()); // sleeps until the push
/// tx.push("hello")?;
/// assert_eq!(consumer.join().unwrap(), Ok("hello"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn with_wait<Q: Tube, W: Wait>(tube: Q, wait: W) -> Ends<Q, W> {
    let shared = Arc::new(Shared { tube, handles: CachePadded(Handles::new()), wait });
    (Producer { shared: shared.clone() }, Consumer { shared })
}

impl<Q: Tube, W: Wait> Shared<Q, W> {
    #[inline(always)]
    fn push(&self, item: Q::Item) -> Result<(), TryPushError<Q::Item>> {
        if self.consumers_gone() {
            return Err(TryPushError::Closed(item));
        }
        match self.tube.allocate() {
            Ok(entry) => {
                // SAFETY: allocated from this tube a moment ago.
                unsafe { self.tube.produce(entry, item) };
                both(
                    || self.wait.notify(Side::Items, 1, || true),
                    // Some tubes were `Busy` for other producers with us.
                    || self.wait.notify(Side::Room, 1, || self.tube.can_allocate().is_ok()),
                );
                Ok(())
            }
            Err(AllocateError::Full) => Err(TryPushError::Full(item)),
            Err(AllocateError::Busy) => Err(TryPushError::Busy(item)),
        }
    }

    #[inline(always)]
    fn pop(&self) -> Result<Q::Item, TryPopError> {
        match self.tube.reserve() {
            Ok(entry) => {
                // SAFETY: reserved from this tube a moment ago.
                let item = unsafe { self.tube.consume(entry) };
                both(
                    || self.wait.notify(Side::Room, 1, || self.tube.can_allocate().is_ok()),
                    // Some tubes were `Busy` for other consumers with us: for an item, or for the end.
                    || self.wait.notify(Side::Items, 1, || self.may_pop()),
                );
                Ok(item)
            }
            Err(ReserveError::Empty) => Err(TryPopError::Empty),
            Err(ReserveError::Busy) => Err(TryPopError::Busy),
        }
    }

    /// Whether a pop would find an item, or the end.
    fn may_pop(&self) -> bool {
        match self.tube.can_reserve() {
            Ok(()) => true,
            Err(ReserveError::Empty) => self.producers_gone(),
            Err(ReserveError::Busy) => false,
        }
    }

    fn producers_gone(&self) -> bool {
        // (tube.1) Acquire, pairs with (tube.2) and (handles.3): everything they pushed is visible. Relaxed could report the end
        // before the last items.
        self.handles.producers.is_gone(edge("tube.1", Acquire))
    }

    fn consumers_gone(&self) -> bool {
        self.handles.consumers_gone()
    }

    /// Drops what is there. Nobody is told: the consumers are gone.
    fn drain(&self) {
        let mut drops = Drops::default();
        while let Ok(entry) = self.tube.reserve() {
            // SAFETY: reserved from this tube a moment ago.
            drops.one(|| unsafe { self.tube.discard(entry) });
        }
    }
}

/// A writing end. Clones write to the same queue; dropping the last one closes it, and consumers drain what is left.
///
/// A handle that is leaked (`mem::forget`) counts as alive for ever.
pub struct Producer<Q: Tube, W: Wait = Ordinary> {
    shared: Arc<Shared<Q, W>>,
}

impl<Q: Tube, W: Wait> Producer<Q, W> {
    /// Pushes, or says why not and gives the item back. `Full` and `Busy` as in [`AllocateError`]; `Closed`: every
    /// consumer is gone. A push while the last one leaves may still succeed; its item is dropped with the queue.
    #[inline]
    pub fn try_push(&self, item: Q::Item) -> Result<(), TryPushError<Q::Item>> {
        self.shared.push(item)
    }

    fn may_push(&self) -> bool {
        self.shared.tube.can_allocate().is_ok() || self.shared.consumers_gone()
    }

    fn strategy(&self) -> &W {
        &self.shared.wait
    }

    /// How many items wait, lately. Exact when nobody else uses the queue, but over `Scqd`, which may say more than there are.
    pub fn len(&self) -> usize {
        self.shared.tube.len()
    }

    /// Whether `len` is zero.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many items fit for certain when nobody is half-way.
    pub fn capacity(&self) -> usize {
        self.shared.tube.capacity()
    }

    /// Whether every consumer is gone. Then it stays so, and every push is refused.
    pub fn is_closed(&self) -> bool {
        self.shared.consumers_gone()
    }
}

impl<Q: Tube, W: Wait> Clone for Producer<Q, W> {
    fn clone(&self) -> Self {
        self.shared.handles.producers.add();
        Self { shared: self.shared.clone() }
    }
}

impl<Q: Tube, W: Wait> Drop for Producer<Q, W> {
    fn drop(&mut self) {
        // (tube.2) Release, pairs with (tube.1): what was pushed comes before the count.
        if self.shared.handles.producers.leave(edge("tube.2", Release)) {
            self.shared.wait.notify_all();
        }
    }
}

impl<Q: Tube, W: Wait> fmt::Debug for Producer<Q, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Producer").field("len", &self.len()).field("capacity", &self.capacity()).finish_non_exhaustive()
    }
}

/// A reading end. Clones read from the same queue; when the last one is dropped, pushes fail from then on and what
/// is in the queue is dropped.
///
/// A handle that is leaked (`mem::forget`) counts as alive for ever.
pub struct Consumer<Q: Tube, W: Wait = Ordinary> {
    shared: Arc<Shared<Q, W>>,
}

impl<Q: Tube, W: Wait> Consumer<Q, W> {
    /// Pops the oldest item, or says why not. `Empty` and `Busy` as in [`ReserveError`]; `Closed`: every producer is
    /// gone and the queue is drained.
    #[inline]
    pub fn try_pop(&self) -> Result<Q::Item, TryPopError> {
        match self.shared.pop() {
            // A producer may have pushed after our look and before it left, so look again before saying `Closed`.
            Err(TryPopError::Empty) if self.shared.producers_gone() => match self.shared.pop() {
                Err(TryPopError::Empty) => Err(TryPopError::Closed),
                result => result,
            },
            result => result,
        }
    }

    fn may_pop(&self) -> bool {
        self.shared.may_pop()
    }

    fn strategy(&self) -> &W {
        &self.shared.wait
    }

    /// How many items wait, lately. Exact when nobody else uses the queue, but over `Scqd`, which may say more than there are.
    pub fn len(&self) -> usize {
        self.shared.tube.len()
    }

    /// Whether `len` is zero.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many items fit for certain when nobody is half-way.
    pub fn capacity(&self) -> usize {
        self.shared.tube.capacity()
    }

    /// Whether a push would be refused now for want of room.
    pub fn is_full(&self) -> bool {
        self.shared.tube.can_allocate().is_err()
    }

    /// Whether every producer is gone. Then it stays so; items may still be left.
    pub fn is_closed(&self) -> bool {
        self.shared.producers_gone()
    }
}

impl<Q: Tube, W: Wait> Clone for Consumer<Q, W> {
    fn clone(&self) -> Self {
        self.shared.handles.consumers.add();
        Self { shared: self.shared.clone() }
    }
}

impl<Q: Tube, W: Wait> Drop for Consumer<Q, W> {
    fn drop(&mut self) {
        // (tube.3) AcqRel, pairs with itself: the consumer that leaves last comes after the others, so it drops what they have seen or
        // pushed. Acquire or Release alone would leave that for as long as there are producers. What is left after its last look is
        // dropped by the tube.
        if self.shared.handles.consumers.leave(edge("tube.3", AcqRel)) {
            both(|| self.shared.wait.notify_all(), || self.shared.drain());
        }
    }
}

impl<Q: Tube, W: Wait> fmt::Debug for Consumer<Q, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Consumer").field("len", &self.len()).field("capacity", &self.capacity()).finish_non_exhaustive()
    }
}

crate::handles::counted! {
    [Q: Tube, W: Wait] Producer<Q, W>;
    [Q: Tube, W: Wait] Consumer<Q, W>;
    |end| end.shared.handles, end.shared.wait
}
crate::handles::downgrade! { [Q: Tube, W: Wait] Producer<Q, W>, shared, |end| end.shared.handles.producers }
crate::handles::downgrade! { [Q: Tube, W: Wait] Consumer<Q, W>, shared, |end| end.shared.handles.consumers }
crate::wait::producer!(shared (Producer [Q] [] Q::Item [Q: Tube]));
crate::wait::consumer!(shared (Consumer [Q] [] Q::Item [Q: Tube] is_full));
