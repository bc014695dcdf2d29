//! Payload memory that is shared by protocol, not by atomics.

use core::cell::UnsafeCell;

/// A cell whose users agree by protocol who may touch it.
///
/// Natively it is an `UnsafeCell`. Under an engine each access is an event, so that overlapping accesses are reported.
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct Slot<T: ?Sized>(UnsafeCell<T>);

// SAFETY: every access goes through the raw pointers of `with` and `with_mut`; whoever dereferences one answers for the
// exclusion. `T: Send` because the value is handed from thread to thread by that protocol.
unsafe impl<T: ?Sized + Send> Sync for Slot<T> {}

impl<T> Slot<T> {
    /// A slot that holds `value`.
    pub const fn new(value: T) -> Self {
        Self(UnsafeCell::new(value))
    }

    /// The value, taken out.
    pub fn into_inner(self) -> T {
        self.0.into_inner()
    }
}

impl<T: ?Sized> Slot<T> {
    /// Shared access. The pointer is valid until `access` returns; dereferencing it asks that nobody writes meanwhile.
    #[inline(always)]
    pub fn with<R>(&self, access: impl FnOnce(*const T) -> R) -> R {
        access(self.0.get())
    }

    /// Exclusive access. The pointer is valid until `access` returns; dereferencing it asks that nobody else has access.
    #[inline(always)]
    pub fn with_mut<R>(&self, access: impl FnOnce(*mut T) -> R) -> R {
        access(self.0.get())
    }

    /// Exclusive access, checked by the compiler.
    #[inline(always)]
    pub fn get_mut(&mut self) -> &mut T {
        self.0.get_mut()
    }
}
