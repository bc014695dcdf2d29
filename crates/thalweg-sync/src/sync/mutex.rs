//! The lock of the instrumented world.

use super::{LockResult, PoisonError, TryLockError, TryLockResult};
use crate::atomic::{AtomicBool, Ordering};
use crate::engine::{self, Site};
use crate::spin;
use core::fmt;
use core::mem::ManuallyDrop;
use core::ops::{Deref, DerefMut};
use core::panic::Location;

/// [`std::sync::Mutex`], but a thread of an engine's run waits through the engine.
///
/// Under an engine the lock is the flag: taken and given back by atomic accesses that the engine sees, waited for by
/// [`spin::until`]. The lock of the standard library inside is then never contended; it carries the value and the
/// poison.
pub struct Mutex<T: ?Sized> {
    taken: AtomicBool,
    inner: std::sync::Mutex<T>,
}

/// Access to what a [`Mutex`] protects, until dropped.
pub struct MutexGuard<'a, T: ?Sized> {
    inner: ManuallyDrop<std::sync::MutexGuard<'a, T>>,
    mutex: &'a Mutex<T>,
    /// Where the lock was asked for, if an engine ran then, so that the flag is set.
    at: Option<Site>,
}

impl<T> Mutex<T> {
    /// An open lock.
    pub const fn new(value: T) -> Self {
        Self { taken: AtomicBool::new(false), inner: std::sync::Mutex::new(value) }
    }

    /// The value, taken out.
    pub fn into_inner(self) -> LockResult<T> {
        self.inner.into_inner()
    }
}

impl<T: ?Sized> Mutex<T> {
    /// Waits for the lock, and takes it. Poisoned if a thread panicked while it had the lock.
    #[track_caller]
    pub fn lock(&self) -> LockResult<MutexGuard<'_, T>> {
        let here = Location::caller();
        let at = engine::current().map(|_| here);
        if let (Some(at), Some(engine)) = (at, engine::current()) {
            spin::with_thread(engine, || self.taken.take_at(at).then_some(()), here);
        }
        guarded(self, self.inner.lock(), at)
    }

    /// Takes the lock if nobody has it.
    #[track_caller]
    pub fn try_lock(&self) -> TryLockResult<MutexGuard<'_, T>> {
        let here = Location::caller();
        let at = engine::current().map(|_| here);
        if at.is_some_and(|at| !self.taken.take_at(at)) {
            return Err(TryLockError::WouldBlock);
        }
        let inner = match self.inner.try_lock() {
            Ok(inner) => Ok(inner),
            Err(TryLockError::Poisoned(poisoned)) => Err(poisoned),
            Err(TryLockError::WouldBlock) => {
                if at.is_some() {
                    self.taken.store(false, Ordering::Release);
                }
                return Err(TryLockError::WouldBlock);
            }
        };
        guarded(self, inner, at).map_err(TryLockError::Poisoned)
    }

    /// Exclusive access, checked by the compiler.
    pub fn get_mut(&mut self) -> LockResult<&mut T> {
        self.inner.get_mut()
    }

    /// True if a thread panicked while it had the lock.
    pub fn is_poisoned(&self) -> bool {
        self.inner.is_poisoned()
    }
}

pub(super) fn guarded<'a, T: ?Sized>(
    mutex: &'a Mutex<T>,
    inner: LockResult<std::sync::MutexGuard<'a, T>>,
    at: Option<Site>,
) -> LockResult<MutexGuard<'a, T>> {
    if let (Some(at), Some(engine)) = (at, engine::current()) {
        engine.take_lock(core::ptr::from_ref(&mutex.taken).addr(), at);
    }
    let guard = |inner| MutexGuard { inner: ManuallyDrop::new(inner), mutex, at };
    match inner {
        Ok(inner) => Ok(guard(inner)),
        Err(poisoned) => Err(PoisonError::new(guard(poisoned.into_inner()))),
    }
}

impl<'a, T: ?Sized> MutexGuard<'a, T> {
    /// The lock that is taken.
    pub(super) fn mutex(&self) -> &'a Mutex<T> {
        self.mutex
    }

    /// The lock that is taken, and the standard library's guard of what is inside, for a thread that no engine runs.
    pub(super) fn into_native(self) -> (&'a Mutex<T>, std::sync::MutexGuard<'a, T>) {
        let mut this = ManuallyDrop::new(self);
        // SAFETY: taken once, as `this` is neither used nor dropped any more.
        (this.mutex, unsafe { ManuallyDrop::take(&mut this.inner) })
    }
}

impl<T: ?Sized> Drop for MutexGuard<'_, T> {
    fn drop(&mut self) {
        // SAFETY: dropped here only, and not used afterwards. It goes first, so that the next owner of the flag finds
        // it open.
        unsafe { ManuallyDrop::drop(&mut self.inner) };
        if let Some(at) = self.at {
            // Release, pairs with the Acquire in `take_at`. A destructor has no place of its own in the source: the lock's.
            self.mutex.taken.store_at(false, Ordering::Release, at);
        }
    }
}

impl<T: ?Sized> Deref for MutexGuard<'_, T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.inner
    }
}

impl<T: ?Sized> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.inner
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for MutexGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for Mutex<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

impl<T: Default> Default for Mutex<T> {
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<T> From<T> for Mutex<T> {
    fn from(value: T) -> Self {
        Self::new(value)
    }
}
