//! The condition variable of the instrumented world.

use super::mutex::{Mutex, MutexGuard, guarded};
use super::{LockResult, PoisonError};
use crate::atomic::{AtomicBool, Ordering};
use crate::engine;
use crate::time::{self, Duration};
use alloc::collections::VecDeque;
use alloc::sync::Arc;
use core::fmt;
use core::panic::Location;

/// [`std::sync::Condvar`], but a thread of an engine's run waits through the engine.
///
/// Under an engine it is a list of those who wait, behind a lock; each is woken by a token of its own, as by
/// [`park`](crate::park). Which of several [`notify_one`](Self::notify_one) wakes is the engine's choice, and so is
/// whether a [`wait`](Self::wait) returns without a reason.
#[derive(Default)]
pub struct Condvar {
    /// Of threads under an engine, the one first that has waited longest.
    waiters: Mutex<VecDeque<Arc<Waiter>>>,
    /// For all others.
    inner: std::sync::Condvar,
}

#[derive(Debug)]
struct Waiter {
    woken: AtomicBool,
}

impl Waiter {
    fn token(&self) -> usize {
        core::ptr::from_ref(&self.woken).addr()
    }
}

/// Whether a wait ended because its time was over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitTimeoutResult(bool);

impl WaitTimeoutResult {
    /// True if the time was over, and nobody had notified the thread.
    pub fn timed_out(&self) -> bool {
        self.0
    }
}

impl Condvar {
    /// One that nobody waits for.
    pub const fn new() -> Self {
        Self { waiters: Mutex::new(VecDeque::new()), inner: std::sync::Condvar::new() }
    }

    /// Opens the lock, waits until notified, and takes the lock again. May return without a notification.
    #[track_caller]
    pub fn wait<'a, T>(&self, guard: MutexGuard<'a, T>) -> LockResult<MutexGuard<'a, T>> {
        match engine::current() {
            None => {
                let (mutex, inner) = guard.into_native();
                guarded(mutex, self.inner.wait(inner), None)
            }
            Some(engine) => {
                if engine.wakes_unasked(Location::caller()) {
                    let mutex = guard.mutex();
                    drop(guard);
                    return mutex.lock();
                }
                let (mutex, waiter) = (guard.mutex(), self.enlist());
                drop(guard);
                loop {
                    engine.park(waiter.token(), None, Location::caller());
                    // Acquire, pairs with the Release of who notifies.
                    if waiter.woken.load(Ordering::Acquire) {
                        return mutex.lock();
                    }
                }
            }
        }
    }

    /// Waits as long as `condition` holds for what the lock protects.
    #[track_caller]
    pub fn wait_while<'a, T>(
        &self,
        mut guard: MutexGuard<'a, T>,
        mut condition: impl FnMut(&mut T) -> bool,
    ) -> LockResult<MutexGuard<'a, T>> {
        while condition(&mut guard) {
            guard = self.wait(guard)?;
        }
        Ok(guard)
    }

    /// As [`wait`](Self::wait), but not longer than `timeout`.
    #[track_caller]
    pub fn wait_timeout<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        timeout: Duration,
    ) -> LockResult<(MutexGuard<'a, T>, WaitTimeoutResult)> {
        match engine::current() {
            None => {
                let (mutex, inner) = guard.into_native();
                let (result, timed_out) = match self.inner.wait_timeout(inner, timeout) {
                    Ok((inner, result)) => (Ok(inner), result.timed_out()),
                    Err(poisoned) => {
                        let (inner, result) = poisoned.into_inner();
                        (Err(PoisonError::new(inner)), result.timed_out())
                    }
                };
                with(guarded(mutex, result, None), WaitTimeoutResult(timed_out))
            }
            Some(engine) => {
                let end = time::now().after(timeout);
                let (mutex, waiter) = (guard.mutex(), self.enlist());
                drop(guard);
                engine.park(waiter.token(), Some(end.as_nanos()), Location::caller());
                let mut waiters = self.waiters();
                // Relaxed: who notified did so under the lock that we have.
                let woken = waiter.woken.load(Ordering::Relaxed);
                waiters.retain(|other| !Arc::ptr_eq(other, &waiter));
                drop(waiters);
                with(mutex.lock(), WaitTimeoutResult(!woken && time::now() >= end))
            }
        }
    }

    /// Wakes one thread, if any waits.
    #[track_caller]
    pub fn notify_one(&self) {
        match engine::current() {
            None => self.inner.notify_one(),
            Some(engine) => {
                let mut waiters = self.waiters();
                let (count, at) = (waiters.len(), Location::caller());
                let chosen = if count > 1 { engine.choose(count, at) } else { 0 };
                waiters.remove(chosen).into_iter().for_each(|waiter| wake(engine, &waiter, at));
            }
        }
    }

    /// Wakes all threads that wait.
    #[track_caller]
    pub fn notify_all(&self) {
        let at = Location::caller();
        match engine::current() {
            None => self.inner.notify_all(),
            Some(engine) => self.waiters().drain(..).for_each(|waiter| wake(engine, &waiter, at)),
        }
    }

    #[track_caller]
    fn waiters(&self) -> MutexGuard<'_, VecDeque<Arc<Waiter>>> {
        self.waiters.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds the calling thread to those who wait.
    #[track_caller]
    fn enlist(&self) -> Arc<Waiter> {
        let waiter = Arc::new(Waiter { woken: AtomicBool::new(false) });
        // Relaxed, and for the engine alone: it knows the flag before somebody parks on it.
        waiter.woken.store(false, Ordering::Relaxed);
        self.waiters().push_back(waiter.clone());
        waiter
    }
}

fn wake(engine: &dyn engine::Engine, waiter: &Waiter, at: engine::Site) {
    // Release, pairs with the Acquire in `wait`.
    waiter.woken.store_at(true, Ordering::Release, at);
    engine.unpark(waiter.token(), at);
}

fn with<G>(result: LockResult<G>, timed_out: WaitTimeoutResult) -> LockResult<(G, WaitTimeoutResult)> {
    match result {
        Ok(guard) => Ok((guard, timed_out)),
        Err(poisoned) => Err(PoisonError::new((poisoned.into_inner(), timed_out))),
    }
}

impl fmt::Debug for Condvar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Condvar").finish_non_exhaustive()
    }
}
