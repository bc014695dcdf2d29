//! One ring, one producer, and consumers that each see every item where it lies; some follow others.
//!
//! | | |
//! |---|---|
//! | order | that of the pushes, for each consumer |
//! | who | one producer; as many consumers as the [`Graph`] says, each one thread at a time |
//! | items | any `T: Send + Sync`, looked at by reference; a consumer of a `T: Clone` also pops clones |
//! | progress | wait-free but for waiting: for room until the slowest consumer has seen the oldest item, for items until those in front have seen them |
//! | cost | a push and a batch of any length: one store each, and a look at the others when what was seen last is used up. No exchange, no lock |
//!
//! ```
//! use thalweg_queue::broadcast::graph::Graph;
//!
//! let mut graph = Graph::new(1024)?;
//! let (journal, check) = (graph.first(), graph.first()); // side by side
//! let apply = graph.then(&[journal, check]); // an item when both have seen it
//! let (mut tx, consumers) = graph.build()?;
//! let sums: Vec<_> = consumers
//!     .into_iter()
//!     .map(|mut rx| {
//!         std::thread::spawn(move || {
//!             let mut sum = 0;
//!             while rx.pop_each(usize::MAX, |n: &u64| sum += n).is_ok() {} // as many at once as there are
//!             sum
//!         })
//!     })
//!     .collect();
//! (1..=100).try_for_each(|n| tx.push(n))?;
//! drop(tx);
//! assert!(sums.into_iter().all(|sum| sum.join().unwrap() == 5050));
//! # let _ = apply;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! From M. Thompson et al., *Disruptor: High performance alternative to bounded queues for exchanging data between concurrent threads*, 2011.
//! Different from there: consumers leave and the producer closes; items are not changed in place; one producer only.
//!
//! A consumer that leaves holds nobody back any more. Those behind it go on with what it has not seen, but wait for those that it waited for. An item
//! stays in its place until a newer one needs it.
//!
//! # Invariants
//!
//! - **G1** A position is written by the producer when every consumer has seen, or left, the one that was in its place; `written` counts them.
//! - **G2** A consumer looks at positions below `written` and below what each consumer counts that it follows, at any distance. It counts a position when it
//!   does not look at it any more, and never looks at one that it has counted.

use super::places;
use crate::drops::Drops;
use crate::wait::{Side, Wait, both, within};
use crate::{BuildError, Park, PopError, PopTimeoutError, TryPopError, TryPushError, edges::edge, memory};
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt;
use core::mem::MaybeUninit;
use thalweg_sync::CachePadded;
use thalweg_sync::atomic::Ordering::{Acquire, Relaxed, Release};
use thalweg_sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};
use thalweg_sync::cell::Slot;
use thalweg_sync::sync::Arc;
use thalweg_sync::time::{self, Duration};

/// What a consumer counts that has left.
const GONE: u64 = u64::MAX;

/// Which consumers there will be, and who follows whom.
#[derive(Clone, Debug)]
pub struct Graph {
    places: usize,
    /// Of each consumer, those that it follows at any distance.
    follows: Vec<Vec<usize>>,
}

/// A producer, and the consumers in the order in which they were made.
pub type Ends<T, W = Park> = (Producer<T, W>, Vec<Consumer<T, W>>);

/// A consumer of a [`Graph`] that is not built yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stage(usize);

impl Graph {
    /// A ring for `capacity` items, rounded up to a power of two, without a consumer yet.
    pub fn new(capacity: usize) -> Result<Self, BuildError> {
        BuildError::check("capacity", capacity, 1, isize::MAX as usize / 2)?;
        Ok(Self { places: capacity.next_power_of_two(), follows: Vec::new() })
    }

    /// A consumer that sees an item as soon as it is pushed.
    pub fn first(&mut self) -> Stage {
        self.then(&[])
    }

    /// A consumer that sees an item when all of `before` have seen it.
    ///
    /// # Panics
    ///
    /// If one of them is of another graph, and this one has not so many.
    pub fn then(&mut self, before: &[Stage]) -> Stage {
        let mut follows: Vec<usize> = Vec::new();
        for &Stage(stage) in before {
            assert!(
                stage < self.follows.len(),
                "stage {stage} is of another graph: this one has {}",
                self.follows.len()
            );
            follows.push(stage);
            follows.extend(&self.follows[stage]);
        }
        follows.sort_unstable();
        follows.dedup();
        self.follows.push(follows);
        Stage(self.follows.len() - 1)
    }

    /// The producer, and the consumers in the order in which they were made. `BuildError` if there is none, or no memory.
    pub fn build<T: Send + Sync>(self) -> Result<Ends<T>, BuildError> {
        self.build_with_wait(Park::new())
    }

    /// As [`build`](Self::build), with ends that [wait](crate::wait) by `wait`.
    pub fn build_with_wait<T: Send + Sync, W: Wait>(self, wait: W) -> Result<Ends<T, W>, BuildError> {
        BuildError::check("consumers", self.follows.len(), 1, usize::MAX)?;
        let places = places::<Slot<MaybeUninit<T>>>(self.places)?;
        let shared = Arc::new(Shared {
            written: CachePadded(AtomicU64::new(0)),
            closed: AtomicBool::new(false),
            consumers: AtomicUsize::new(self.follows.len()),
            seen: memory::boxed((0..self.follows.len()).map(|_| CachePadded(AtomicU64::new(0))))?,
            slots: memory::slots(places)?,
            wait,
        });
        let followed = |stage: usize| self.follows.iter().any(|follows| follows.contains(&stage));
        let consumers = (0..self.follows.len()).map(|stage| Consumer {
            shared: shared.clone(),
            stage,
            follows: self.follows[stage].clone().into(),
            is_followed: followed(stage),
            position: 0,
            limit: 0,
        });
        let consumers = consumers.collect();
        Ok((Producer { shared, position: 0, limit: places as u64 }, consumers))
    }
}

struct Shared<T, W> {
    written: CachePadded<AtomicU64>,
    /// The producer has left.
    closed: AtomicBool,
    /// How many consumers have not left.
    consumers: AtomicUsize,
    /// How many positions each consumer has seen.
    seen: Box<[CachePadded<AtomicU64>]>,
    slots: Box<[Slot<MaybeUninit<T>>]>,
    wait: W,
}

impl<T, W> Shared<T, W> {
    fn slot(&self, position: u64) -> &Slot<MaybeUninit<T>> {
        &self.slots[position as usize & (self.slots.len() - 1)]
    }

    fn seen(&self, stage: usize) -> u64 {
        // (broadcast.1) Acquire, pairs with (broadcast.2): of the producer, their looks come before the place is written again; of who follows,
        // what they did with the item is visible.
        self.seen[stage].load(edge("broadcast.1", Acquire))
    }

    /// Positions below have a free place, as the slowest consumer has seen what was there.
    fn limit(&self) -> u64 {
        self.seen_by_all().saturating_add(self.slots.len() as u64)
    }

    /// How many positions all consumers have seen that have not left.
    fn seen_by_all(&self) -> u64 {
        (0..self.seen.len()).map(|stage| self.seen(stage)).fold(GONE, u64::min)
    }

    fn written(&self) -> u64 {
        // (broadcast.3) Acquire, pairs with (broadcast.4): the items.
        self.written.load(edge("broadcast.3", Acquire))
    }

    fn closed(&self) -> bool {
        // (broadcast.5) Acquire, pairs with (broadcast.6): everything that was pushed.
        self.closed.load(edge("broadcast.5", Acquire))
    }
}

impl<T, W> Drop for Shared<T, W> {
    fn drop(&mut self) {
        let written = self.written.load(Relaxed);
        let mut drops = Drops::default();
        for position in written.saturating_sub(self.slots.len() as u64)..written {
            // SAFETY: the last positions are written, and each is dropped once: whatever was in its place before was dropped by the producer.
            drops.one(|| self.slot(position).with_mut(|slot| unsafe { (*slot).assume_init_drop() }));
        }
    }
}

/// The writing end. It moves between threads, but is one; dropped, it closes the ring, and consumers see what is left.
pub struct Producer<T, W: Wait = Park> {
    shared: Arc<Shared<T, W>>,
    position: u64,
    /// Positions below are known to have a free place.
    limit: u64,
}

impl<T, W: Wait> Producer<T, W> {
    /// Pushes to all consumers, or says why not: `Full` while the slowest has not seen the oldest item, `Closed` when all have left.
    pub fn try_push(&mut self, value: T) -> Result<(), TryPushError<T>> {
        if self.is_closed() {
            return Err(TryPushError::Closed(value));
        }
        let Self { shared, position, limit } = self;
        if position == limit {
            *limit = shared.limit();
            if position == limit {
                return Err(TryPushError::Full(value));
            }
        }
        let slot = shared.slot(*position);
        let is_used = *position >= shared.slots.len() as u64;
        // SAFETY: every consumer has seen the item that is there (G1), which is taken out once.
        let old = is_used.then(|| slot.with(|slot| unsafe { (*slot).assume_init_read() }));
        // SAFETY: as above; nobody looks at it before `written` says so.
        slot.with_mut(|slot| unsafe { (*slot).write(value) });
        *position += 1;
        // (broadcast.4) Release, pairs with (broadcast.3).
        shared.written.store(*position, edge("broadcast.4", Release));
        both(|| shared.wait.notify(Side::Items, usize::MAX, || true), || drop(old));
        Ok(())
    }

    /// Whether every consumer has left. Then it stays so.
    pub fn is_closed(&self) -> bool {
        // Relaxed: a refusal touches nothing else.
        self.shared.consumers.load(Relaxed) == 0
    }

    /// How many items the slowest consumer has not seen, lately.
    pub fn len(&self) -> usize {
        self.position.saturating_sub(self.shared.seen_by_all()) as usize
    }

    /// Whether every consumer has seen everything, or has left.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many items fit.
    pub fn capacity(&self) -> usize {
        self.shared.slots.len()
    }

    fn may_push(&self) -> bool {
        self.position < self.shared.limit() || self.is_closed()
    }

    fn strategy(&self) -> &W {
        &self.shared.wait
    }
}

impl<T, W: Wait> Drop for Producer<T, W> {
    fn drop(&mut self) {
        // (broadcast.6) Release, pairs with (broadcast.5).
        self.shared.closed.store(true, edge("broadcast.6", Release));
        self.shared.wait.notify_all();
    }
}

impl<T, W: Wait> fmt::Debug for Producer<T, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Producer").field("capacity", &self.capacity()).finish_non_exhaustive()
    }
}

/// A reading end. Dropped, it holds nobody back any more.
pub struct Consumer<T, W: Wait = Park> {
    shared: Arc<Shared<T, W>>,
    stage: usize,
    follows: Box<[usize]>,
    /// Somebody waits for this one.
    is_followed: bool,
    position: u64,
    /// Positions below are known to be there.
    limit: u64,
}

impl<T, W: Wait> Consumer<T, W> {
    /// Positions below may be looked at (G2).
    fn barrier(&self) -> u64 {
        let written = self.shared.written();
        self.follows.iter().map(|&stage| self.shared.seen(stage)).fold(written, u64::min)
    }

    /// Shows `each` of the next items, as many as are there, up to `limit`. Returns how many: at least one, unless `limit` is zero.
    ///
    /// All are given back together, at the end; if `each` panics, those that it was shown are.
    pub fn try_pop_each(&mut self, limit: usize, mut each: impl FnMut(&T)) -> Result<usize, TryPopError> {
        /// Gives back what was seen.
        struct Seen<'a, T, W: Wait>(&'a mut Consumer<T, W>);
        impl<T, W: Wait> Drop for Seen<'_, T, W> {
            fn drop(&mut self) {
                self.0.give_back();
            }
        }
        self.look()?;
        let count = usize::try_from(self.limit - self.position).unwrap_or(usize::MAX).min(limit);
        let seen = Seen(self);
        for _ in 0..count {
            let position = seen.0.position;
            // First, so that one that panics is not shown again.
            seen.0.position += 1;
            // SAFETY: it is written, and not written again before we count it (G1, G2).
            seen.0.shared.slot(position).with(|slot| each(unsafe { (*slot).assume_init_ref() }));
        }
        Ok(count)
    }

    /// Says whether there is an item. Then `limit` is above the position.
    fn look(&mut self) -> Result<(), TryPopError> {
        if self.position == self.limit {
            // First: what is pushed before the end is seen by the look that follows.
            let closed = self.shared.closed();
            self.limit = self.barrier();
            if self.position == self.limit {
                let ended = closed && self.position == self.shared.written();
                return Err(if ended { TryPopError::Closed } else { TryPopError::Empty });
            }
        }
        Ok(())
    }

    fn give_back(&self) {
        // (broadcast.2) Release, pairs with (broadcast.1).
        self.shared.seen[self.stage].store(self.position, edge("broadcast.2", Release));
        self.notify();
    }

    fn notify(&self) {
        let wait = &self.shared.wait;
        both(
            || wait.notify(Side::Room, 1, || true),
            || {
                if self.is_followed {
                    wait.notify(Side::Items, usize::MAX, || true)
                }
            },
        );
    }

    /// As [`try_pop_each`](Self::try_pop_each), waiting for the first item.
    pub fn pop_each(&mut self, limit: usize, mut each: impl FnMut(&T)) -> Result<usize, PopError> {
        self.wait(None);
        self.try_pop_each(limit, &mut each).map_err(|_| PopError)
    }

    /// As [`pop_each`](Self::pop_each), but waiting no longer than `timeout`.
    pub fn pop_each_timeout(
        &mut self,
        limit: usize,
        mut each: impl FnMut(&T),
        timeout: Duration,
    ) -> Result<usize, PopTimeoutError> {
        self.wait(Some(time::now().after(timeout)));
        self.try_pop_each(limit, &mut each).map_err(|refused| match refused {
            TryPopError::Closed => PopTimeoutError::Closed,
            TryPopError::Empty | TryPopError::Busy => PopTimeoutError::Timeout,
        })
    }

    /// As [`pop_each`](Self::pop_each), pending until there is an item. It may be dropped at any time; then nothing was shown.
    pub async fn pop_each_async(&mut self, limit: usize, mut each: impl FnMut(&T)) -> Result<usize, PopError>
    where
        W: crate::wait::Sleep,
    {
        let ready = || self.may_pop().then_some(());
        crate::wait::until(self.shared.wait.park(), Side::Items, ready, || true).await;
        self.try_pop_each(limit, &mut each).map_err(|_| PopError)
    }

    fn wait(&self, deadline: Option<crate::wait::Deadline>) {
        let ready = || self.may_pop();
        within(&self.shared.wait, Side::Items, deadline, || ready().then_some(()), ready);
    }

    /// How many items may be looked at now.
    pub fn len(&self) -> usize {
        (self.barrier() - self.position) as usize
    }

    /// Whether `len` is zero.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether the producer has left. Then it stays so; items may still be left.
    pub fn is_closed(&self) -> bool {
        self.shared.closed()
    }

    /// How many items fit.
    pub fn capacity(&self) -> usize {
        self.shared.slots.len()
    }

    fn may_pop(&self) -> bool {
        let closed = self.shared.closed();
        self.barrier() != self.position || closed && self.position == self.shared.written()
    }
}

impl<T: Clone, W: Wait> Consumer<T, W> {
    /// Pops a clone of the next item. For items that are to be looked at, and for many at a time, take [`try_pop_each`](Self::try_pop_each).
    pub fn try_pop(&mut self) -> Result<T, TryPopError> {
        let mut item = None;
        self.try_pop_each(1, |next| item = Some(next.clone()))?;
        Ok(item.expect("one was shown"))
    }

    fn strategy(&self) -> &W {
        &self.shared.wait
    }
}

impl<T, W: Wait> Drop for Consumer<T, W> {
    fn drop(&mut self) {
        // (broadcast.2) Release, as in `give_back`.
        self.shared.seen[self.stage].store(GONE, edge("broadcast.2", Release));
        // Relaxed: nothing of this consumer is read by who sees the count.
        self.shared.consumers.fetch_sub(1, Relaxed);
        self.notify();
    }
}

impl<T, W: Wait> fmt::Debug for Consumer<T, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Consumer").field("len", &self.len()).finish_non_exhaustive()
    }
}

crate::wait::producer!(exclusive Producer[T]);
crate::wait::consumer!(exclusive (Consumer [T] [] T [T: Clone]));
