//! The reader–writer lock.

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::{LockResult, TryLockError, TryLockResult};
use thalweg_sync::atomic::{AtomicUsize, Ordering};
use thalweg_sync::cell::Slot;
use thalweg_sync::spin;

/// What the state is while somebody writes; otherwise it is how many read.
const WRITER: usize = usize::MAX;

/// `std::sync::RwLock`, but never poisoned.
///
/// Invariant: `value` is accessed only by who has counted itself in `state`, and written only by who has made it `WRITER`.
#[derive(Default)]
pub struct RwLock<T: ?Sized> {
    state: AtomicUsize,
    value: Slot<T>,
}

// SAFETY: readers share the value, and it moves to the thread that writes.
unsafe impl<T: ?Sized + Send + Sync> Sync for RwLock<T> {}

impl<T> RwLock<T> {
    /// An open lock.
    pub const fn new(value: T) -> Self {
        Self { state: AtomicUsize::new(0), value: Slot::new(value) }
    }

    /// The value, taken out.
    ///
    /// # Errors
    ///
    /// None; nor have the others but for a lock that somebody has.
    #[track_caller]
    pub fn into_inner(self) -> LockResult<T> {
        Ok(self.value.into_inner())
    }
}

impl<T: ?Sized> RwLock<T> {
    fn reads(&self) -> Option<()> {
        let readers = self.state.load(Ordering::Relaxed);
        // Acquire, pairs with the Release of who wrote.
        let counted = |_| self.state.compare_exchange(readers, readers + 1, Ordering::Acquire, Ordering::Relaxed).ok();
        Some(readers).filter(|&readers| readers < WRITER - 1).and_then(counted).map(drop)
    }

    fn writes(&self) -> Option<()> {
        // Acquire, pairs with the Releases of all who read and of who wrote.
        self.state.compare_exchange(0, WRITER, Ordering::Acquire, Ordering::Relaxed).ok().map(drop)
    }

    fn read_guard(&self) -> RwLockReadGuard<'_, T> {
        // SAFETY: it is counted, so nobody writes until it is dropped.
        RwLockReadGuard { lock: self, value: self.value.with(|value| unsafe { &*value }) }
    }

    fn write_guard(&self) -> RwLockWriteGuard<'_, T> {
        // SAFETY: nobody else has access until it is dropped.
        RwLockWriteGuard { lock: self, value: self.value.with_mut(|value| unsafe { &mut *value }) }
    }

    /// Waits until nobody writes, and lets read.
    #[track_caller]
    pub fn read(&self) -> LockResult<RwLockReadGuard<'_, T>> {
        spin::until(|| self.reads());
        Ok(self.read_guard())
    }

    /// Waits until nobody reads or writes, and lets write.
    #[track_caller]
    pub fn write(&self) -> LockResult<RwLockWriteGuard<'_, T>> {
        spin::until(|| self.writes());
        Ok(self.write_guard())
    }

    /// Lets read if nobody writes.
    #[track_caller]
    pub fn try_read(&self) -> TryLockResult<RwLockReadGuard<'_, T>> {
        // Others that read may come between: then once more.
        while self.state.load(Ordering::Relaxed) != WRITER {
            if self.reads().is_some() {
                return Ok(self.read_guard());
            }
        }
        Err(TryLockError::WouldBlock)
    }

    /// Lets write if nobody reads or writes.
    #[track_caller]
    pub fn try_write(&self) -> TryLockResult<RwLockWriteGuard<'_, T>> {
        self.writes().map(|()| self.write_guard()).ok_or(TryLockError::WouldBlock)
    }

    /// Exclusive access, checked by the compiler.
    #[track_caller]
    pub fn get_mut(&mut self) -> LockResult<&mut T> {
        Ok(self.value.get_mut())
    }
}

/// Shared access to what an [`RwLock`] protects.
pub struct RwLockReadGuard<'a, T: ?Sized> {
    lock: &'a RwLock<T>,
    value: &'a T,
}

/// Exclusive access to what an [`RwLock`] protects.
pub struct RwLockWriteGuard<'a, T: ?Sized> {
    lock: &'a RwLock<T>,
    value: &'a mut T,
}

impl<T: ?Sized> Deref for RwLockReadGuard<'_, T> {
    type Target = T;
    fn deref(&self) -> &T {
        self.value
    }
}

impl<T: ?Sized> Deref for RwLockWriteGuard<'_, T> {
    type Target = T;
    fn deref(&self) -> &T {
        self.value
    }
}

impl<T: ?Sized> DerefMut for RwLockWriteGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        self.value
    }
}

impl<T: ?Sized> Drop for RwLockReadGuard<'_, T> {
    fn drop(&mut self) {
        // Release, pairs with the Acquire of who writes.
        self.lock.state.fetch_sub(1, Ordering::Release);
    }
}

impl<T: ?Sized> Drop for RwLockWriteGuard<'_, T> {
    fn drop(&mut self) {
        // Release, pairs with the Acquire of who reads or writes next.
        self.lock.state.store(0, Ordering::Release);
    }
}

impl<T: ?Sized> fmt::Debug for RwLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RwLock").finish_non_exhaustive()
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for RwLockReadGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for RwLockWriteGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
