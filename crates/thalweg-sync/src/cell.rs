//! Payload memory that is shared by protocol, not by atomics.

#[cfg(not(loom))]
use crate::engine::{self, Span};
#[cfg(not(loom))]
use crate::hint::Access;
#[cfg(not(loom))]
use core::cell::UnsafeCell;
#[cfg(loom)]
use loom::cell::UnsafeCell;

/// A cell whose users agree by protocol who may touch it.
///
/// Natively it is an `UnsafeCell`. Under an engine each access is an event with a beginning and an end, and accesses
/// that overlap are reported; under loom, so are accesses that no edge orders.
///
/// ```
/// # #[cfg(feature = "std")] {
/// use thalweg_sync::{atomic::{AtomicBool, Ordering}, cell::Slot, spin, sync::Arc, thread};
///
/// # thalweg_sync::model(|| {
/// let shared = Arc::new((Slot::new(0), AtomicBool::new(false)));
/// let writer = thread::spawn({
///     let shared = shared.clone();
///     move || {
///         // SAFETY: nobody reads before the flag is set.
///         shared.0.with_mut(|value| unsafe { *value = 42 });
///         shared.1.store(true, Ordering::Release);
///     }
/// });
/// spin::until(|| shared.1.load(Ordering::Acquire).then_some(()));
/// // SAFETY: the flag is set, so the writer is done with the slot.
/// assert_eq!(shared.0.with(|value| unsafe { *value }), 42);
/// writer.join().unwrap();
/// # });
/// # }
/// ```
#[derive(Debug, Default)]
#[cfg_attr(not(loom), repr(transparent))]
pub struct Slot<T: ?Sized>(UnsafeCell<T>);

// SAFETY: every access goes through the raw pointers of `with` and `with_mut`; whoever dereferences one answers for the
// exclusion. `T: Send` because the value is handed from thread to thread by that protocol.
unsafe impl<T: ?Sized + Send> Sync for Slot<T> {}

impl<T> Slot<T> {
    /// A slot that holds `value`.
    #[cfg(not(loom))]
    pub const fn new(value: T) -> Self {
        Self(UnsafeCell::new(value))
    }

    /// A slot that holds `value`.
    #[cfg(loom)]
    pub fn new(value: T) -> Self {
        Self(UnsafeCell::new(value))
    }

    /// The value, taken out.
    #[cfg(not(loom))]
    #[inline(always)]
    #[track_caller]
    pub fn into_inner(self) -> T {
        drop(self.access(Access::Write));
        let slot = core::mem::ManuallyDrop::new(self);
        // SAFETY: the slot is ours, and is not used or dropped any more.
        unsafe { slot.0.get().read() }
    }

    /// The value, taken out.
    #[cfg(loom)]
    #[track_caller]
    pub fn into_inner(self) -> T {
        self.0.into_inner()
    }
}

impl<T: ?Sized> Slot<T> {
    /// Shared access. The pointer is valid until `access` returns; dereferencing it asks that nobody writes meanwhile.
    #[inline(always)]
    #[track_caller]
    pub fn with<R>(&self, access: impl FnOnce(*const T) -> R) -> R {
        #[cfg(loom)]
        return self.0.with(access);
        #[cfg(not(loom))]
        {
            let _open = self.access(Access::Read);
            access(self.0.get())
        }
    }

    /// Exclusive access. The pointer is valid until `access` returns; dereferencing it asks that nobody else has
    /// access.
    #[inline(always)]
    #[track_caller]
    pub fn with_mut<R>(&self, access: impl FnOnce(*mut T) -> R) -> R {
        #[cfg(loom)]
        return self.0.with_mut(access);
        #[cfg(not(loom))]
        {
            let _open = self.access(Access::Write);
            access(self.0.get())
        }
    }

    /// Exclusive access, checked by the compiler.
    #[inline(always)]
    #[track_caller]
    pub fn get_mut(&mut self) -> &mut T {
        #[cfg(loom)]
        {
            // SAFETY: `&mut self` excludes everybody else for as long as the reference lives.
            unsafe { &mut *self.0.with_mut(|value| value) }
        }
        #[cfg(not(loom))]
        {
            drop(self.access(Access::Write));
            self.0.get_mut()
        }
    }

    #[cfg(not(loom))]
    #[inline(always)]
    #[track_caller]
    fn access(&self, access: Access) -> Option<Open> {
        let engine = engine::current()?;
        let address = self.0.get().cast::<()>().addr();
        // There is no other way to ask a type that may be unsized; a wrong answer would only cost a report.
        let may_be_uninit = core::any::type_name::<T>().starts_with("core::mem::maybe_uninit::MaybeUninit<");
        let at = core::panic::Location::caller();
        let span = Span { address, bytes: size_of_val(self), access, may_be_uninit, at };
        engine.slot_begin(&span);
        Some(Open(span))
    }
}

/// An access that an engine sees; ends when dropped, so also when the access unwinds.
#[cfg(not(loom))]
struct Open(Span);

#[cfg(not(loom))]
impl Drop for Open {
    fn drop(&mut self) {
        if let Some(engine) = engine::entered() {
            engine.slot_end(&self.0);
        }
    }
}

#[cfg(all(feature = "instrument", not(loom)))]
impl<T: ?Sized> Drop for Slot<T> {
    fn drop(&mut self) {
        if let Some(engine) = engine::entered() {
            engine.retire(self.0.get().cast::<()>().addr(), size_of_val(self));
        }
    }
}
