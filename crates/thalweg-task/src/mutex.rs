//! A lock for which tasks wait by switching stacks.
//!
//! # Invariants
//!
//! - **M1** `state` is [`OPEN`], [`TAKEN`], or [`WAITED`]: taken, and whoever gives it back looks at the list. It becomes `WAITED`, and from there
//!   `OPEN`, with the list locked; so no waiter is put on the list of a lock that is open.
//! - **M2** A waiter that was granted [`HANDED`] has the lock. One that was granted [`RETRY`] was told that it was open, and either takes it
//!   or passes that on.

use crate::wait::{self, Key, Reason, WaitList, Waiter, Woken};
use core::fmt;
use core::marker::PhantomData;
use core::ops::{Deref, DerefMut};
use thalweg_sync::atomic::AtomicU32;
use thalweg_sync::atomic::Ordering::{Acquire, Relaxed, Release};
use thalweg_sync::cell::Slot;
use thalweg_sync::time::{self, Duration, Instant};

const OPEN: u32 = 0;
const TAKEN: u32 = 1;
const WAITED: u32 = 2;

/// Grants: see M2.
pub(crate) const RETRY: u32 = 1;
pub(crate) const HANDED: u32 = 2;

/// A waiter's note: it gets the lock from whoever gives it back.
const IN_HAND: usize = 1;

/// A value that one task has at a time.
///
/// | | |
/// |---|---|
/// | who | tasks of any runtime, and threads |
/// | order | whoever comes first takes an open lock; a waiter that found it taken again when it was woken gets it handed next, so none waits for ever |
/// | cost | free: two exchanges. Otherwise a place on a list, and a switch of stacks |
/// | poison | none: a guard that is dropped by a panic opens the lock. What it protects is as the panic left it |
///
/// ```
/// use thalweg_task::{Mutex, Runtime, scope};
///
/// let total = Mutex::new(0);
/// Runtime::builder().workers(2).start()?.run(|| {
///     scope(|scope| {
///         for n in 1..=4 {
///             let total = &total;
///             scope.spawn(move || *total.lock() += n);
///         }
///     });
/// });
/// assert_eq!(total.into_inner(), 10);
/// # Ok::<(), thalweg_task::StartError>(())
/// ```
#[derive(Default)]
pub struct Mutex<T: ?Sized> {
    state: AtomicU32,
    waiters: WaitList,
    value: Slot<T>,
}

// SAFETY: the lock hands the value from one to the next.
unsafe impl<T: ?Sized + Send> Sync for Mutex<T> {}

impl<T> Mutex<T> {
    /// An open lock.
    pub const fn new(value: T) -> Self {
        Self { state: AtomicU32::new(OPEN), waiters: WaitList::new(), value: Slot::new(value) }
    }

    /// The value, taken out.
    pub fn into_inner(self) -> T {
        self.value.into_inner()
    }
}

impl<T: ?Sized> Mutex<T> {
    /// Waits for the lock, and takes it. A cancelled task that would have to wait ends here.
    #[inline]
    pub fn lock(&self) -> MutexGuard<'_, T> {
        if !self.take() {
            self.wait(None, true);
        }
        MutexGuard::new(self)
    }

    /// Takes the lock if nobody has it.
    #[inline]
    pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        self.take().then(|| MutexGuard::new(self))
    }

    /// As [`lock`](Self::lock), but gives up after `timeout`.
    pub fn lock_timeout(&self, timeout: Duration) -> Option<MutexGuard<'_, T>> {
        (self.take() || self.wait(Some(time::now().after(timeout)), true)).then(|| MutexGuard::new(self))
    }

    /// As [`lock`](Self::lock), also if the task is to end.
    pub(crate) fn lock_for_good(&self) -> MutexGuard<'_, T> {
        if !self.take() {
            self.wait(None, false);
        }
        MutexGuard::new(self)
    }

    /// Exclusive access, checked by the compiler.
    pub fn get_mut(&mut self) -> &mut T {
        self.value.get_mut()
    }

    #[inline(always)]
    fn take(&self) -> bool {
        // (mutex.1) Acquire, pairs with (mutex.2): what the last owner did is visible. Relaxed where it failed: nothing is read.
        self.state.compare_exchange(OPEN, TAKEN, Acquire, Relaxed).is_ok()
    }

    /// Waits for the lock and takes it; false at the deadline.
    #[cold]
    fn wait(&self, deadline: Option<Instant>, may_end: bool) -> bool {
        let mut note = 0;
        loop {
            let waiter = Waiter::new();
            let ticket = waiter.ticket();
            let place = self.waiters.with(|list| {
                // (mutex.1) again. Also where there is a waiter already (M1).
                match self.state.swap(WAITED, Acquire) {
                    OPEN => None,
                    _ if note == IN_HAND => Some(list.push_front(ticket, note)),
                    _ => Some(list.push_back(ticket, note)),
                }
            });
            let Some(key) = place else { return true };
            let woken = match may_end {
                true => waiter.sleep(Reason::Lock, deadline),
                false => {
                    waiter.sleep_on(Reason::Lock);
                    Woken::Granted(waiter.granted())
                }
            };
            let granted = match woken {
                Woken::Granted(what) => what,
                _ if self.waiters.delist(key) => 0,
                _ => waiter.granted(),
            };
            match (woken, granted) {
                (Woken::Granted(_), RETRY) => note = IN_HAND,
                (Woken::Granted(_) | Woken::TimedOut, HANDED) => return true,
                (_, granted) => {
                    match granted {
                        HANDED => self.open(),
                        RETRY => self.pass_on(),
                        _ => {}
                    }
                    match woken {
                        Woken::Cancelled => wait::end(),
                        _ => return false,
                    }
                }
            }
        }
    }

    /// Opens the lock, which is the caller's, or hands it on.
    #[inline]
    pub(crate) fn open(&self) {
        // (mutex.2) Release, pairs with (mutex.1). Relaxed where it failed: nothing is read.
        if self.state.compare_exchange(TAKEN, OPEN, Release, Relaxed).is_err() {
            self.hand_on();
        }
    }

    /// As [`open`](Self::open), where somebody waits.
    #[cold]
    fn hand_on(&self) {
        let next = self.waiters.with(|list| {
            let next = list.claim_first(|note| if note == IN_HAND { HANDED } else { RETRY });
            if !matches!(next, Some((_, IN_HAND))) {
                // (mutex.2) again.
                self.state.store(OPEN, Release);
            }
            next
        });
        if let Some((ticket, _)) = next {
            ticket.wake();
        }
    }

    /// The caller was told that the lock was open, and does not want it: whoever is next is told (M2).
    fn pass_on(&self) {
        let taken = self.waiters.with(|list| !list.is_empty() && self.state.swap(WAITED, Acquire) == OPEN);
        if taken {
            self.hand_on();
        }
    }

    /// The caller, who has the lock, will be handed it next, before all who wait; and the lock goes to whoever it grants it to.
    pub(crate) fn lend(&self, waiter: &Waiter) -> Key {
        let ticket = waiter.ticket();
        self.waiters.with(|list| {
            // Relaxed: the lock is ours, and stays taken; those who give it back have got it through a grant.
            self.state.store(WAITED, Relaxed);
            list.push_front(ticket, IN_HAND)
        })
    }

    /// The caller keeps the lock, which it has granted to nobody.
    pub(crate) fn take_back(&self, key: Key) {
        let was_there = self.waiters.delist(key);
        debug_assert!(was_there, "only whoever has the lock hands it on");
    }

    /// Which lock it is.
    pub(crate) fn address(&self) -> usize {
        core::ptr::from_ref(&self.state).addr()
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for Mutex<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.try_lock() {
            Some(guard) => f.debug_struct("Mutex").field("value", &&*guard).finish(),
            None => f.write_str("Mutex { <locked> }"),
        }
    }
}

impl<T> From<T> for Mutex<T> {
    fn from(value: T) -> Self {
        Self::new(value)
    }
}

/// Access to what a [`Mutex`] protects, until dropped.
#[must_use = "the lock is open again when this is dropped"]
pub struct MutexGuard<'a, T: ?Sized> {
    mutex: &'a Mutex<T>,
    // It belongs to the task, which stays on its thread.
    _not_send: PhantomData<*const ()>,
}

// SAFETY: a shared guard gives shared access to the value only.
unsafe impl<T: ?Sized + Sync> Sync for MutexGuard<'_, T> {}

impl<'a, T: ?Sized> MutexGuard<'a, T> {
    /// The lock is the caller's.
    #[inline(always)]
    pub(crate) fn new(mutex: &'a Mutex<T>) -> Self {
        Self { mutex, _not_send: PhantomData }
    }

    /// The lock, which stays taken.
    pub(crate) fn into_mutex(self) -> &'a Mutex<T> {
        let mutex = self.mutex;
        core::mem::forget(self);
        mutex
    }

    pub(crate) fn mutex(&self) -> &'a Mutex<T> {
        self.mutex
    }
}

impl<T: ?Sized> Deref for MutexGuard<'_, T> {
    type Target = T;
    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the lock is ours as long as the guard lives.
        self.mutex.value.with(|value| unsafe { &*value })
    }
}

impl<T: ?Sized> DerefMut for MutexGuard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as above, and the guard is borrowed exclusively.
        self.mutex.value.with_mut(|value| unsafe { &mut *value })
    }
}

impl<T: ?Sized> Drop for MutexGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        self.mutex.open();
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for MutexGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
