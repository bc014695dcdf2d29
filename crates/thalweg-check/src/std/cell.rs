//! Cells whose accesses are watched. The methods are loom's: the standard library's `get` alone does not tell when an access ends.

use std::fmt;
use thalweg_sync::cell::Slot;
use thalweg_sync::hint::{Access, touch};

/// Memory that is shared by protocol.
#[derive(Debug, Default)]
pub struct UnsafeCell<T: ?Sized>(Slot<T>);

impl<T> UnsafeCell<T> {
    /// With this value.
    pub const fn new(value: T) -> Self {
        Self(Slot::new(value))
    }

    /// The value, taken out.
    #[track_caller]
    pub fn into_inner(self) -> T {
        self.0.into_inner()
    }
}

impl<T: ?Sized> UnsafeCell<T> {
    /// Shared access, until `access` returns.
    #[track_caller]
    pub fn with<R>(&self, access: impl FnOnce(*const T) -> R) -> R {
        self.0.with(access)
    }

    /// Exclusive access, until `access` returns.
    #[track_caller]
    pub fn with_mut<R>(&self, access: impl FnOnce(*mut T) -> R) -> R {
        self.0.with_mut(access)
    }

    /// A pointer for shared access. Each of its uses is an access.
    #[track_caller]
    pub fn get(&self) -> ConstPtr<T> {
        // What is watched is the use of the pointer.
        ConstPtr(self.0.with(|pointer| pointer))
    }
}

impl<T: ?Sized> UnsafeCell<T> {
    /// A pointer for exclusive access. Each of its uses is an access.
    #[track_caller]
    pub fn get_mut(&self) -> MutPtr<T> {
        MutPtr(self.0.with(|pointer| pointer.cast_mut()))
    }
}

/// A pointer for shared access to a cell.
pub struct ConstPtr<T: ?Sized>(*const T);

/// A pointer for exclusive access to a cell.
pub struct MutPtr<T: ?Sized>(*mut T);

impl<T: ?Sized> ConstPtr<T> {
    /// Shared access.
    ///
    /// # Safety
    ///
    /// The cell is alive, and nobody writes.
    #[track_caller]
    pub unsafe fn deref(&self) -> &T {
        // SAFETY: the caller's promise.
        let value = unsafe { &*self.0 };
        touch(self.0.cast(), size_of_val(value), Access::Read);
        value
    }

    /// Calls `access` with the pointer.
    #[track_caller]
    pub fn with<R>(&self, access: impl FnOnce(*const T) -> R) -> R {
        access(self.0)
    }
}

impl<T: ?Sized> MutPtr<T> {
    /// Exclusive access.
    ///
    /// # Safety
    ///
    /// The cell is alive, and nobody else has access.
    #[track_caller]
    #[allow(clippy::mut_from_ref, reason = "the exclusion is the caller's promise")]
    pub unsafe fn deref(&self) -> &mut T {
        // SAFETY: the caller's promise.
        let value = unsafe { &mut *self.0 };
        touch(self.0.cast_const().cast(), size_of_val(value), Access::Write);
        value
    }

    /// Calls `access` with the pointer.
    #[track_caller]
    pub fn with<R>(&self, access: impl FnOnce(*mut T) -> R) -> R {
        access(self.0)
    }
}

impl<T: ?Sized> fmt::Debug for ConstPtr<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<T: ?Sized> fmt::Debug for MutPtr<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A value that is copied or replaced whole.
#[derive(Debug, Default)]
pub struct Cell<T>(Slot<T>);

impl<T> Cell<T> {
    /// With this value.
    pub const fn new(value: T) -> Self {
        Self(Slot::new(value))
    }

    /// Replaces the value.
    #[track_caller]
    pub fn set(&self, value: T) {
        drop(self.replace(value));
    }

    /// Replaces the value, and gives the one before.
    #[track_caller]
    pub fn replace(&self, value: T) -> T {
        // SAFETY: a cell is not shared by threads, or the race is reported; nobody holds a reference into it.
        self.0.with_mut(|place| unsafe { place.replace(value) })
    }

    /// The value.
    #[track_caller]
    pub fn get(&self) -> T
    where
        T: Copy,
    {
        // SAFETY: as above.
        self.0.with(|place| unsafe { *place })
    }

    /// The value, and its default in its place.
    #[track_caller]
    pub fn take(&self) -> T
    where
        T: Default,
    {
        self.replace(T::default())
    }
}
