//! Dropping items, whose destructors are somebody else's code and may panic.

#[cfg(feature = "std")]
use alloc::boxed::Box;
#[cfg(feature = "std")]
use core::any::Any;
#[cfg(feature = "std")]
use core::mem::ManuallyDrop;
#[cfg(feature = "std")]
use core::ops::Deref;
#[cfg(feature = "std")]
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// Drops items one after the other. A destructor that panics keeps none of the others from running: the first panic goes on when this is
/// dropped, unless the thread is unwinding already, where it would end the process.
///
/// Without the feature `std` a panic cannot be caught, and goes on at once: who drops items with this does not rely on being asked again.
#[derive(Debug, Default)]
pub struct Drops {
    #[cfg(feature = "std")]
    first: Option<Box<dyn Any + Send>>,
}

impl Drops {
    /// Runs `destructor`.
    #[inline]
    pub(crate) fn one(&mut self, destructor: impl FnOnce()) {
        #[cfg(feature = "std")]
        if let Err(panic) = catch_unwind(AssertUnwindSafe(destructor)) {
            match self.first {
                None => self.first = Some(panic),
                // Not dropped: what a panic carries may have a destructor that panics, too.
                Some(_) => core::mem::forget(panic),
            }
        }
        #[cfg(not(feature = "std"))]
        destructor();
    }

    /// Drops `count` items from `first` on, where they lie.
    ///
    /// # Safety
    ///
    /// They are there, the caller's, and used no more.
    pub(crate) unsafe fn all<T>(&mut self, first: *mut T, count: usize) {
        if core::mem::needs_drop::<T>() {
            for index in 0..count {
                // SAFETY: the caller's promise; each is dropped once.
                self.one(|| unsafe { first.add(index).drop_in_place() });
            }
        }
    }
}

/// A value that may be dropped while the thread unwinds: if its destructor panics then, that is not passed on, as it would end the process.
#[cfg(feature = "std")]
#[derive(Debug)]
pub(crate) struct Contained<T>(ManuallyDrop<T>);

#[cfg(feature = "std")]
impl<T> Contained<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(ManuallyDrop::new(value))
    }

    /// The value.
    #[cfg(not(loom))]
    pub(crate) fn into_inner(self) -> T {
        let mut this = ManuallyDrop::new(self);
        // SAFETY: taken once, by a wrapper that is not dropped.
        unsafe { ManuallyDrop::take(&mut this.0) }
    }
}

#[cfg(feature = "std")]
impl<T> Deref for Contained<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

#[cfg(feature = "std")]
impl<T> Drop for Contained<T> {
    fn drop(&mut self) {
        // SAFETY: here alone, and not used any more.
        Drops::default().one(|| unsafe { ManuallyDrop::drop(&mut self.0) });
    }
}

#[cfg(feature = "std")]
impl Drop for Drops {
    fn drop(&mut self) {
        match self.first.take() {
            Some(panic) if std::thread::panicking() => core::mem::forget(panic),
            Some(panic) => resume_unwind(panic),
            None => {}
        }
    }
}
