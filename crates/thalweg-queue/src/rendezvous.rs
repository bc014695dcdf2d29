//! No capacity at all: a push is over when its item is popped.
//!
//! | | |
//! |---|---|
//! | order | FIFO: of those who wait to push, the one who waits longest is popped from first |
//! | who | any number of producers and consumers; handles are `Clone` and their methods take `&self` |
//! | items | any `T: Send` |
//! | progress | every operation holds one lock for a few steps; who waits sleeps |
//! | cost | a push and its pop: two locks each, and a wake-up for who came first |
//!
//! ```
//! use thalweg_queue::rendezvous;
//!
//! let (tx, rx) = rendezvous::channel();
//! let producer = std::thread::spawn(move || {
//!     tx.push("passed from hand to hand")?; // sleeps until it is popped
//!     tx.push("the last")
//! });
//! assert!(rx.iter().eq(["passed from hand to hand", "the last"]));
//! producer.join().unwrap()?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | answer | at one instant between call and return |
//! |---|---|
//! | `push`: `Ok` | a consumer popped the item |
//! | `try_push`: `Ok` | a consumer slept in a `pop` that nobody else had pushed to: it, or another one, pops the item before it leaves |
//! | `try_push`: `Full` | no consumer slept there. One that is pending as a future or in a select does not count: it may be dropped |
//! | `try_pop`: `Ok`, `Empty` | a producer waited with an item, pending ones included; none did |
//! | `Closed` | the other side is gone, and for `try_pop` nothing is offered |
//!
//! A push that is given up, by a timeout or by dropping its future, takes its item back unless it was popped. Consumers are arms of a
//! [select](mod@crate::select); producers are not.
//!
//! Needs the feature `std`.
//!
//! # Invariants
//!
//! - **Z1** An item is in `offers` until a consumer takes it out, or its producer takes it back; both under the lock, so one of them.
//! - **Z2** An offer without a producer behind it, a `try_push`'s, has fewer offers in front of it than consumers are `committed`. Each of these, when it
//!   leaves, takes the first offer if there is one. So it is popped.
//! - **Z3** A sleeper is woken after its offer was taken out, or when all consumers are gone, and without the lock.

use crate::drops::{Contained, Drops};
use crate::handles::Handles;
use crate::wait::{self, Deadline, Popping, Side, Sleeper, TryIter, Wait, within};
use crate::{Park, Pop, PopError, PopTimeoutError, PushError, PushTimeoutError, TryPopError, TryPushError};
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::fmt;
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll};
use thalweg_sync::atomic::AtomicUsize;
use thalweg_sync::atomic::Ordering::Relaxed;
use thalweg_sync::park::Parker;
use thalweg_sync::sync::{Arc, Mutex, MutexGuard, PoisonError};
use thalweg_sync::time::{self, Duration};

/// A producer and a consumer of a queue without room.
pub fn channel<T: Send>() -> (Producer<T>, Consumer<T>) {
    let offers = Offers { waiting: VecDeque::new(), next: 0, committed: 0 };
    let shared =
        Shared { offers: Mutex::new(offers), count: AtomicUsize::new(0), handles: Handles::new(), wait: Park::new() };
    let shared = Arc::new(shared);
    (Producer { shared: shared.clone() }, Consumer { shared })
}

/// As in the other modules.
pub type Sender<T> = Producer<T>;

/// As in the other modules.
pub type Receiver<T> = Consumer<T>;

#[derive(Debug)]
struct Shared<T> {
    offers: Mutex<Offers<T>>,
    /// How many offers there were lately: written with the lock, and read without by who waits.
    count: AtomicUsize,
    handles: Handles,
    wait: Park,
}

#[derive(Debug)]
struct Offers<T> {
    /// In the order of their numbers.
    waiting: VecDeque<Offer<T>>,
    next: u64,
    /// Consumers that sleep in a pop.
    committed: usize,
}

#[derive(Debug)]
struct Offer<T> {
    number: u64,
    item: Contained<T>,
    producer: Option<Sleeper>,
}

impl<T> Offers<T> {
    fn at(&self, number: u64) -> Option<usize> {
        self.waiting.binary_search_by_key(&number, |offer| offer.number).ok()
    }
}

impl<T> Shared<T> {
    fn lock(&self) -> MutexGuard<'_, Offers<T>> {
        // Nothing panics while it is locked but for want of memory; it is whole then, too.
        self.offers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, offers: &Offers<T>) {
        // Relaxed: who acts on it takes the lock; that a sleeper sees it is the waiting layer's.
        self.count.store(offers.waiting.len(), Relaxed);
    }

    /// Offers an item, and says so. Its number.
    fn offer(&self, mut offers: MutexGuard<'_, Offers<T>>, item: T, producer: Option<Sleeper>) -> u64 {
        let number = offers.next;
        offers.next += 1;
        offers.waiting.push_back(Offer { number, item: Contained::new(item), producer });
        self.note(&offers);
        drop(offers);
        self.wait.notify(Side::Items, 1, || true);
        number
    }

    /// Takes an offer back. None if it was popped.
    fn withdraw(&self, number: u64) -> Option<T> {
        let mut offers = self.lock();
        let at = offers.at(number)?;
        let offer = offers.waiting.remove(at);
        self.note(&offers);
        drop(offers);
        offer.map(|offer| offer.item.into_inner())
    }

    /// Takes the first offer out; its producer is to be woken.
    fn take(&self, offers: &mut Offers<T>) -> Option<Offer<T>> {
        let offer = offers.waiting.pop_front();
        self.note(offers);
        offer
    }

    /// How many offers there are, lately.
    fn offered(&self) -> usize {
        // Relaxed: a number, lately.
        self.count.load(Relaxed)
    }

    fn is_full(&self) -> bool {
        let offers = self.lock();
        offers.waiting.len() >= offers.committed
    }

    /// Wakes everybody: a side is gone.
    fn notify_all(&self) {
        wait::both(|| self.send_back(), || self.wait.notify_all());
    }

    /// Wakes all who offer something: nobody takes it any more.
    fn send_back(&self) {
        /// Those who are left to wake, also when a waker panics.
        struct Rest(Vec<Sleeper>);
        impl Drop for Rest {
            fn drop(&mut self) {
                let mut wakers = Drops::default();
                while let Some(sleeper) = self.0.pop() {
                    wakers.one(|| sleeper.wake());
                }
            }
        }
        let mut offers = self.lock();
        let mut rest = Rest(offers.waiting.iter_mut().filter_map(|offer| offer.producer.take()).collect());
        drop(offers);
        while let Some(sleeper) = rest.0.pop() {
            sleeper.wake();
        }
    }

    fn may_pop(&self) -> bool {
        // Relaxed: see `note`.
        self.count.load(Relaxed) != 0 || self.handles.producers_gone()
    }
}

/// Wakes the offer's producer (Z3), and gives the item.
fn taken<T>(offer: Offer<T>) -> T {
    if let Some(producer) = offer.producer {
        producer.wake();
    }
    offer.item.into_inner()
}

/// A writing end. Clones write to the same consumers.
pub struct Producer<T> {
    shared: Arc<Shared<T>>,
}

impl<T> Producer<T> {
    /// Pushes if a consumer sleeps in a `pop`, or says why not and gives the item back.
    pub fn try_push(&self, item: T) -> Result<(), TryPushError<T>> {
        let offers = self.shared.lock();
        if self.is_closed() {
            return Err(TryPushError::Closed(item));
        }
        if offers.waiting.len() >= offers.committed {
            return Err(TryPushError::Full(item));
        }
        self.shared.offer(offers, item, None);
        Ok(())
    }

    /// Pushes, sleeping until the item is popped.
    pub fn push(&self, item: T) -> Result<(), PushError<T>> {
        self.push_until(item, None).map_err(|refused| PushError(refused.into_inner()))
    }

    /// Pushes, sleeping until the item is popped, but no longer than `timeout`.
    pub fn push_timeout(&self, item: T, timeout: Duration) -> Result<(), PushTimeoutError<T>> {
        self.push_until(item, Some(time::now().after(timeout)))
    }

    /// As [`push_timeout`](Self::push_timeout), until a point in time.
    pub fn push_deadline(&self, item: T, deadline: impl Into<Deadline>) -> Result<(), PushTimeoutError<T>> {
        self.push_until(item, Some(deadline.into()))
    }

    fn push_until(&self, item: T, deadline: Option<Deadline>) -> Result<(), PushTimeoutError<T>> {
        let parker = Parker::new();
        let offers = self.shared.lock();
        if self.is_closed() {
            return Err(PushTimeoutError::Closed(item));
        }
        let number = self.shared.offer(offers, item, Some(Sleeper::Thread(parker.unparker())));
        let woken = match deadline {
            None => {
                parker.park();
                true
            }
            Some(deadline) => parker.park_timeout(deadline.since(time::now())),
        };
        // Woken, it was popped, or every consumer is gone.
        match self.shared.withdraw(number) {
            None => Ok(()),
            Some(item) if woken => Err(PushTimeoutError::Closed(item)),
            Some(item) => Err(PushTimeoutError::Timeout(item)),
        }
    }

    /// Pushes, pending until the item is popped. Dropped before it is ready, it takes the item back and drops it, unless it was popped.
    pub fn push_async(&self, item: T) -> Offering<'_, T> {
        Offering { shared: &self.shared, item: Some(item), number: None }
    }

    /// Whether every consumer is gone. Then it stays so, and every push is refused.
    pub fn is_closed(&self) -> bool {
        self.shared.handles.consumers_gone()
    }

    wait::closed! { |end| &end.shared.wait; }

    /// How many producers wait with an item, lately.
    pub fn len(&self) -> usize {
        self.shared.offered()
    }

    /// Whether no producer waits.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether a [`try_push`](Self::try_push) would be refused now, as no consumer sleeps in a `pop` that nobody has pushed to.
    pub fn is_full(&self) -> bool {
        self.shared.is_full()
    }

    /// None: zero.
    pub fn capacity(&self) -> usize {
        0
    }
}

impl<T> Clone for Producer<T> {
    fn clone(&self) -> Self {
        self.shared.handles.producers.add();
        Self { shared: self.shared.clone() }
    }
}

impl<T> Drop for Producer<T> {
    fn drop(&mut self) {
        if self.shared.handles.leave_producer() {
            self.shared.wait.notify_all();
        }
    }
}

impl<T> fmt::Debug for Producer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Producer").field("is_closed", &self.is_closed()).finish_non_exhaustive()
    }
}

/// A push that is pending until its item is popped. Made by [`Producer::push_async`].
#[must_use = "a future does nothing until it is polled"]
pub struct Offering<'a, T> {
    shared: &'a Shared<T>,
    /// Not offered yet.
    item: Option<T>,
    number: Option<u64>,
}

// Nothing is pinned inside.
impl<T> Unpin for Offering<'_, T> {}

impl<T> Offering<'_, T> {
    /// Gives the push up, and the item back. None if it was popped.
    pub fn into_value(mut self) -> Option<T> {
        self.item.take().or_else(|| self.shared.withdraw(self.number.take()?))
    }
}

impl<T> Future for Offering<'_, T> {
    type Output = Result<(), PushError<T>>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let Self { shared, item, number } = self.get_mut();
        let mut offers = shared.lock();
        let gone = shared.handles.consumers_gone();
        if let Some(offered) = *number {
            let Some(at) = offers.at(offered) else {
                *number = None;
                return Poll::Ready(Ok(()));
            };
            if !gone {
                let producer = Some(Sleeper::Task(cx.waker().clone()));
                let old = core::mem::replace(&mut offers.waiting[at].producer, producer);
                // Dropped after the lock, since that is somebody else's code.
                drop(offers);
                drop(old);
                return Poll::Pending;
            }
            drop(offers);
            *number = None;
            let result = shared.withdraw(offered).map_or(Ok(()), |item| Err(PushError(item)));
            return Poll::Ready(result);
        }
        let item = item.take().expect("polled after it was ready");
        if gone {
            return Poll::Ready(Err(PushError(item)));
        }
        *number = Some(offers.next);
        shared.offer(offers, item, Some(Sleeper::Task(cx.waker().clone())));
        Poll::Pending
    }
}

impl<T> Drop for Offering<'_, T> {
    fn drop(&mut self) {
        if let Some(number) = self.number {
            drop(self.shared.withdraw(number));
        }
    }
}

impl<T> fmt::Debug for Offering<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Offering").field("is_offered", &self.number.is_some()).finish_non_exhaustive()
    }
}

/// A reading end. Clones read from the same producers; when the last one is dropped, pushes give their items back.
pub struct Consumer<T> {
    shared: Arc<Shared<T>>,
}

impl<T> Consumer<T> {
    /// Pops what is offered first, or says why not. Never `Busy`.
    pub fn try_pop(&self) -> Result<T, TryPopError> {
        let shared = &self.shared;
        let take = || shared.take(&mut shared.lock()).ok_or(TryPopError::Empty);
        shared.handles.last_look(take).map(taken)
    }

    /// Pops what is offered first, sleeping until something is.
    pub fn pop(&self) -> Result<T, PopError> {
        self.pop_until(None).map_err(|_| PopError)
    }

    /// Pops what is offered first, sleeping until something is, but no longer than `timeout`.
    pub fn pop_timeout(&self, timeout: Duration) -> Result<T, PopTimeoutError> {
        self.pop_until(Some(time::now().after(timeout)))
    }

    /// As [`pop_timeout`](Self::pop_timeout), until a point in time.
    pub fn pop_deadline(&self, deadline: impl Into<Deadline>) -> Result<T, PopTimeoutError> {
        self.pop_until(Some(deadline.into()))
    }

    fn pop_until(&self, deadline: Option<Deadline>) -> Result<T, PopTimeoutError> {
        match self.try_pop() {
            Ok(item) => return Ok(item),
            Err(TryPopError::Closed) => return Err(PopTimeoutError::Closed),
            Err(TryPopError::Empty | TryPopError::Busy) => {}
        }
        let shared = &*self.shared;
        shared.lock().committed += 1;
        let ended = || shared.handles.producers_gone().then_some(None);
        let attempt = || {
            let mut offers = shared.lock();
            let offer = shared.take(&mut offers);
            // Committed no more, in the same step (Z2).
            offers.committed -= usize::from(offer.is_some());
            drop(offers);
            offer.map(Some).or_else(ended)
        };
        let found = within(&shared.wait, Side::Items, deadline, attempt, || shared.may_pop());
        let offer = found.flatten().or_else(|| {
            let mut offers = shared.lock();
            // Nothing is left behind that counts on this consumer (Z2).
            let offer = shared.take(&mut offers);
            offers.committed -= 1;
            offer
        });
        // Somebody else may have been woken for more, and taken what this one was woken for.
        let mut item = None;
        wait::both(|| shared.wait.notify(Side::Items, 1, || shared.may_pop()), || item = offer.map(taken));
        match item {
            Some(item) => Ok(item),
            None if shared.handles.producers_gone() => Err(PopTimeoutError::Closed),
            None => Err(PopTimeoutError::Timeout),
        }
    }

    /// Pops what is offered first, pending until something is. Dropped before it is ready, it has popped nothing.
    pub fn pop_async(&self) -> Popping<&Self> {
        Popping::new(self)
    }

    /// The items as they are offered, sleeping until each. Ends when every producer is gone.
    pub fn iter(&self) -> wait::Iter<&Self> {
        wait::Iter::new(self)
    }

    /// The items that are offered now.
    pub fn try_iter(&self) -> TryIter<&Self> {
        TryIter::new(self)
    }

    /// Whether every producer is gone. Then it stays so.
    pub fn is_closed(&self) -> bool {
        self.shared.handles.producers_gone()
    }

    /// How many producers wait with an item, lately.
    pub fn len(&self) -> usize {
        self.shared.offered()
    }

    /// Whether no producer waits.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// As that of [a producer](Producer::is_full).
    pub fn is_full(&self) -> bool {
        self.shared.is_full()
    }

    /// None: zero.
    pub fn capacity(&self) -> usize {
        0
    }
}

impl<T> Clone for Consumer<T> {
    fn clone(&self) -> Self {
        self.shared.handles.consumers.add();
        Self { shared: self.shared.clone() }
    }
}

impl<T> Drop for Consumer<T> {
    fn drop(&mut self) {
        if self.shared.handles.leave_consumer() {
            self.shared.notify_all();
        }
    }
}

crate::handles::counted! {
    [T] Producer<T>;
    [T] Consumer<T>;
    |end| end.shared.handles, end.shared
}
crate::handles::downgrade! { [T] Producer<T>, shared, |end| end.shared.handles.producers }
crate::handles::downgrade! { [T] Consumer<T>, shared, |end| end.shared.handles.consumers }

impl<T> fmt::Debug for Consumer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Consumer").field("len", &self.len()).finish_non_exhaustive()
    }
}

/// What a consumer is as [`Pop`]; by reference as well.
macro_rules! pops {
    ($Handle:ty) => {
        impl<T> Pop for $Handle {
            type Item = T;
            type Wait = Park;

            fn try_pop(&mut self) -> Result<T, TryPopError> {
                Consumer::try_pop(self)
            }

            fn may_pop(&self) -> bool {
                self.shared.may_pop()
            }

            fn is_closed(&self) -> bool {
                Consumer::is_closed(self)
            }

            fn capacity(&self) -> usize {
                0
            }

            fn len(&self) -> usize {
                Consumer::len(self)
            }

            fn is_full(&self) -> bool {
                Consumer::is_full(self)
            }

            fn strategy(&self) -> &Park {
                &self.shared.wait
            }

            fn pop(&mut self) -> Result<T, PopError> {
                Consumer::pop(self)
            }

            fn pop_timeout(&mut self, timeout: Duration) -> Result<T, PopTimeoutError> {
                Consumer::pop_timeout(self, timeout)
            }
        }
    };
}

pops!(Consumer<T>);
pops!(&Consumer<T>);
