//! The latest value: receivers see the newest, and are told when it changes; what was in between is skipped.
//!
//! | | |
//! |---|---|
//! | who | any number of senders and receivers; a receiver remembers what it has seen, so its methods take `&mut self` |
//! | items | any `T: Send + Sync` |
//! | progress | a push and a look may wait for another one's exchange of a pointer, never for somebody's code |
//! | cost | a look that finds nothing new: one load. Else, and for a push: a lock that is held for the exchange of a pointer; a push also allocates once |
//!
//! ```
//! use thalweg_queue::watch;
//!
//! let (tx, mut rx) = watch::channel("starting");
//! let worker = std::thread::spawn(move || {
//!     while *rx.latest() != "stop" {
//!         rx.changed().expect("the sender is there"); // sleeps
//!     }
//! });
//! tx.push("running")?; // may never be seen
//! tx.push("stop")?;
//! worker.join().unwrap();
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A receiver keeps the value that it saw last, and looks at that until there is a newer one. So nobody holds a lock while a value is
//! looked at, and a sender never waits for a reader. An old value lives as long as a receiver or a [`Snapshot`] has it.
//!
//! A receiver pops like that of a queue ([`Pop`](crate::Pop)), and so waits in every form and is one arm of a select. What it pops is the newest
//! value, if it has not seen it yet.
//!
//! | answer | when |
//! |---|---|
//! | `try_pop`: `Ok` | there was a newer value than the last one seen; it is the newest at that instant |
//! | `try_pop`: `Empty` | there was none, and a sender is there |
//! | `try_pop`: `Closed` | every sender is gone, and the last value was seen |
//! | `try_push`: `Closed` | no receiver was there: the value comes back. [`replace`](Producer::replace) stores it all the same |
//!
//! Receivers see values in the order of the pushes, each at most once as a change. Nothing is ever `Full` or `Busy`.
//!
//! Needs the feature `std`, which has the lock.
//!
//! # Invariants
//!
//! - **V1** The value and its number are exchanged together, under the lock; numbers grow by one.
//! - **V2** The number that is read without the lock is written under it. It only says that a look is worthwhile: what is looked at comes by way
//!   of the lock.
//! - **V3** No code of a value runs under the lock: values are made before it is taken, and dropped after it is given back.

use crate::drops::Contained;
use crate::handles::Handles;
use crate::wait::{Side, Wait, both};
use crate::{Park, PopError, PopTimeoutError, TryPopError, TryPushError};
use core::fmt;
use core::future::Future;
use core::ops::Deref;
use thalweg_sync::atomic::AtomicU64;
use thalweg_sync::atomic::Ordering::Relaxed;
use thalweg_sync::sync::{Arc, Mutex, MutexGuard, PoisonError};
use thalweg_sync::time::{self, Duration};

/// A sender; its ends sleep when they wait.
pub type Sender<T> = Producer<T, Park>;

/// A receiver; its ends sleep when they wait.
pub type Receiver<T> = Consumer<T, Park>;

/// A sender and a receiver of values, the first of which is `value`: the receiver has seen that one.
pub fn channel<T: Send + Sync>(value: T) -> (Sender<T>, Receiver<T>) {
    with_wait(value, Park::new())
}

/// As [`channel`], with ends that [wait](crate::wait) by `wait`.
pub fn with_wait<T: Send + Sync, W: Wait>(value: T, wait: W) -> (Producer<T, W>, Consumer<T, W>) {
    let latest = Numbered { number: 0, value: Arc::new(Contained::new(value)) };
    let seen = latest.clone();
    let shared =
        Arc::new(Shared { number: AtomicU64::new(0), latest: Mutex::new(latest), handles: Handles::new(), wait });
    (Producer { shared: shared.clone() }, Consumer { shared, seen })
}

#[derive(Debug)]
struct Shared<T, W> {
    /// The number of the latest value (V2).
    number: AtomicU64,
    latest: Mutex<Numbered<T>>,
    handles: Handles,
    wait: W,
}

/// A value, and how many there were before it.
#[derive(Debug)]
struct Numbered<T> {
    number: u64,
    value: Arc<Contained<T>>,
}

impl<T> Clone for Numbered<T> {
    fn clone(&self) -> Self {
        Self { number: self.number, value: self.value.clone() }
    }
}

impl<T, W: Wait> Shared<T, W> {
    fn lock(&self) -> MutexGuard<'_, Numbered<T>> {
        // Whole even if it is poisoned (V3).
        self.latest.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn latest(&self) -> Numbered<T> {
        self.lock().clone()
    }

    fn number(&self) -> u64 {
        // Relaxed: see V2.
        self.number.load(Relaxed)
    }

    /// Makes `value` the latest one. Returns the one before; or nothing, and `value`, if that is not the one with the number `after`.
    fn store(&self, value: Arc<Contained<T>>, after: Option<u64>) -> Result<Arc<Contained<T>>, Arc<Contained<T>>> {
        let mut latest = self.lock();
        if after.is_some_and(|after| after != latest.number) {
            return Err(value);
        }
        latest.number += 1;
        // Relaxed: see V2. That a sleeper sees it is the waiting layer's.
        self.number.store(latest.number, Relaxed);
        Ok(core::mem::replace(&mut latest.value, value))
    }

    fn tell(&self) {
        self.wait.notify(Side::Items, usize::MAX, || true);
    }
}

/// A value that was the latest one when it was taken, shared with whoever else looks at it.
pub struct Snapshot<T>(Arc<Contained<T>>);

impl<T> Deref for Snapshot<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> Clone for Snapshot<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T: fmt::Debug> fmt::Debug for Snapshot<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: PartialEq> PartialEq<T> for Snapshot<T> {
    fn eq(&self, other: &T) -> bool {
        **self == *other
    }
}

/// A writing end. Clones write to the same receivers; when the last one is dropped, receivers are told.
pub struct Producer<T, W: Wait = Park> {
    shared: Arc<Shared<T, W>>,
}

impl<T, W: Wait> Producer<T, W> {
    /// Makes `value` the latest one and wakes everybody who waits for a change. If no receiver is there, the value comes back.
    pub fn try_push(&self, value: T) -> Result<(), TryPushError<T>> {
        if self.shared.handles.consumers_gone() {
            return Err(TryPushError::Closed(value));
        }
        self.replace(value);
        Ok(())
    }

    /// Makes `value` the latest one, whether or not a receiver is there. Returns the one before.
    pub fn replace(&self, value: T) -> Snapshot<T> {
        let Ok(old) = self.shared.store(Arc::new(Contained::new(value)), None) else {
            unreachable!("it is stored after any number")
        };
        let old = Snapshot(old);
        self.shared.tell();
        old
    }

    /// Makes what `next` makes of the latest value the latest one, unless that is none. True if it did.
    ///
    /// If another sender is faster, `next` is asked again, with that one's value: so no update is lost.
    ///
    /// ```
    /// let (tx, mut rx) = thalweg_queue::watch::channel(1);
    /// assert!(tx.update(|n| Some(n + 1)));
    /// assert!(!tx.update(|n| (n % 2 == 1).then_some(0)));
    /// assert_eq!(*rx.latest(), 2);
    /// ```
    pub fn update(&self, mut next: impl FnMut(&T) -> Option<T>) -> bool {
        loop {
            let latest = self.shared.latest();
            let Some(value) = next(&latest.value) else { return false };
            if let Ok(old) = self.shared.store(Arc::new(Contained::new(value)), Some(latest.number)) {
                both(|| self.shared.tell(), || drop(old));
                return true;
            }
        }
    }

    /// The latest value.
    pub fn latest(&self) -> Snapshot<T> {
        Snapshot(self.shared.latest().value)
    }

    /// One receiver more, which has seen the latest value. Pushes succeed again, if no receiver was there.
    pub fn subscribe(&self) -> Consumer<T, W> {
        self.shared.handles.consumers.add();
        Consumer { shared: self.shared.clone(), seen: self.shared.latest() }
    }

    /// Whether no receiver is there. It stays so unless one [subscribes](Self::subscribe).
    pub fn is_closed(&self) -> bool {
        self.shared.handles.consumers_gone()
    }

    /// One: the latest value.
    pub fn capacity(&self) -> usize {
        1
    }

    /// One: the latest value, whoever has seen it.
    pub fn len(&self) -> usize {
        1
    }

    /// Never: there is a latest value from the start.
    pub fn is_empty(&self) -> bool {
        false
    }

    fn may_push(&self) -> bool {
        true
    }

    fn strategy(&self) -> &W {
        &self.shared.wait
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
        f.debug_struct("Producer").field("is_closed", &self.is_closed()).finish_non_exhaustive()
    }
}

/// A reading end, with the value that it saw last. A clone has seen what this one has.
pub struct Consumer<T, W: Wait = Park> {
    shared: Arc<Shared<T, W>>,
    seen: Numbered<T>,
}

impl<T, W: Wait> Consumer<T, W> {
    /// The latest value, if it was not seen yet. Never `Busy`.
    pub fn try_pop(&mut self) -> Result<Snapshot<T>, TryPopError> {
        let shared = &self.shared;
        shared.handles.last_look(|| match shared.number() == self.seen.number {
            true => Err(TryPopError::Empty),
            false => Ok(()),
        })?;
        self.seen = shared.latest();
        Ok(self.snapshot())
    }

    /// The latest value, which is seen then.
    pub fn latest(&mut self) -> &T {
        if self.has_changed() {
            self.seen = self.shared.latest();
        }
        &self.seen.value
    }

    /// The value that was seen last, to be kept.
    pub fn snapshot(&self) -> Snapshot<T> {
        Snapshot(self.seen.value.clone())
    }

    /// Whether there is a newer value than the last one seen.
    pub fn has_changed(&self) -> bool {
        self.shared.number() != self.seen.number
    }

    /// Waits until there is a newer value than the last one seen, and returns it. An error if every sender is gone.
    pub fn changed(&mut self) -> Result<&T, PopError> {
        self.pop()?;
        Ok(&self.seen.value)
    }

    /// Waits until the latest value is one that `wanted` says yes to, and returns it. The one that was seen last is asked for first.
    ///
    /// ```
    /// let (tx, mut rx) = thalweg_queue::watch::channel(1);
    /// let counts = std::thread::spawn(move || (2..=5).try_for_each(|n| tx.push(n)));
    /// assert!(*rx.wait_for(|&n| n >= 4)? >= 4);
    /// counts.join().unwrap()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn wait_for(&mut self, mut wanted: impl FnMut(&T) -> bool) -> Result<&T, PopError> {
        while !wanted(self.latest()) {
            self.changed()?;
        }
        Ok(&self.seen.value)
    }

    /// As [`wait_for`](Self::wait_for), but no longer than `timeout`.
    pub fn wait_for_timeout(
        &mut self,
        mut wanted: impl FnMut(&T) -> bool,
        timeout: Duration,
    ) -> Result<&T, PopTimeoutError> {
        let deadline = time::now().after(timeout);
        while !wanted(self.latest()) {
            self.pop_timeout(deadline.since(time::now()))?;
        }
        Ok(&self.seen.value)
    }

    /// As [`wait_for`](Self::wait_for), as a future. It may be dropped at any time.
    pub async fn wait_for_async(&mut self, mut wanted: impl FnMut(&T) -> bool) -> Result<&T, PopError>
    where
        W: crate::wait::Sleep,
    {
        while !wanted(self.latest()) {
            self.pop_async().await?;
        }
        Ok(&self.seen.value)
    }

    /// Whether every sender is gone. Then it stays so; the last value may not be seen yet.
    pub fn is_closed(&self) -> bool {
        self.shared.handles.producers_gone()
    }

    /// One: the latest value.
    pub fn capacity(&self) -> usize {
        1
    }

    /// One, if there is a value that this consumer has not seen, and zero otherwise.
    pub fn len(&self) -> usize {
        usize::from(self.has_changed())
    }

    /// Whether this consumer has seen the latest value.
    pub fn is_empty(&self) -> bool {
        !self.has_changed()
    }

    fn may_pop(&self) -> bool {
        self.has_changed() || self.is_closed()
    }

    fn strategy(&self) -> &W {
        &self.shared.wait
    }
}

impl<T, W: Wait> Clone for Consumer<T, W> {
    fn clone(&self) -> Self {
        self.shared.handles.consumers.add();
        Self { shared: self.shared.clone(), seen: self.seen.clone() }
    }
}

impl<T, W: Wait> Drop for Consumer<T, W> {
    fn drop(&mut self) {
        if self.shared.handles.leave_consumer() {
            self.shared.wait.notify_all();
        }
    }
}

impl<T, W: Wait> fmt::Debug for Consumer<T, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Consumer").field("has_changed", &self.has_changed()).finish_non_exhaustive()
    }
}

crate::handles::counted! {
    [T, W: Wait] Producer<T, W>;
    [T, W: Wait] Consumer<T, W>;
    |end| end.shared.handles, end.shared.wait
}
crate::handles::downgrade! { [T, W: Wait] Producer<T, W>, shared, |end| end.shared.handles.producers }
crate::wait::producer!(shared Producer[T]);
crate::wait::consumer!(exclusive (Consumer [T] [] Snapshot<T> [T]));
