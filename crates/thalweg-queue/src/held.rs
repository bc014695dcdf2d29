//! A handle's share in what both ends own.

use crate::share::{Placed, Share};
use core::fmt;
use core::marker::PhantomData;
use core::ops::Deref;
use core::ptr::NonNull;

/// A [`Share`] that is dropped by its handle, and without a part of the handle having an address.
///
/// Dropping a share hands its address to code that is not inlined. A handle that has one inside must then lie in memory, and every
/// push and pop of a loop goes through a store of the position and a load of what was just stored, which takes longer than the
/// rest. With this inside a handle that is local to a loop lives in registers, if its cold paths take its position by value and its
/// drop is one call, of a function that takes what it needs by value: it is inlined then wherever the handle may be dropped, and that
/// is also where the caller's code may panic.
pub(crate) struct Held<T: Placed>(NonNull<T>, PhantomData<Share<T>>);

// SAFETY: it is a `Share` in another form.
unsafe impl<T: Placed + Send + Sync> Send for Held<T> {}
// SAFETY: as above.
unsafe impl<T: Placed + Send + Sync> Sync for Held<T> {}

impl<T: Placed> Held<T> {
    pub(crate) fn new(shared: Share<T>) -> Self {
        Self(shared.into_raw(), PhantomData)
    }

    /// The share itself, for the handle's drop.
    ///
    /// # Safety
    ///
    /// It is called once, and nothing else afterwards.
    #[inline(always)]
    pub(crate) unsafe fn take(&self) -> Share<T> {
        // SAFETY: the pointer is that of `new`, whose share is given away once.
        unsafe { Share::from_raw(self.0) }
    }
}

impl<T: Placed> Deref for Held<T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        // SAFETY: one share is ours until `take`, after which nobody comes here.
        unsafe { self.0.as_ref() }
    }
}

impl<T: Placed + fmt::Debug> fmt::Debug for Held<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
