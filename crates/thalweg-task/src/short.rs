//! A lock for a few instructions.

use thalweg_sync::atomic::AtomicBool;
use thalweg_sync::atomic::Ordering::{Acquire, Relaxed, Release};
use thalweg_sync::cell::Slot;
use thalweg_sync::spin;

/// A value behind a lock that is held for a few instructions, in which nobody switches stacks, waits or runs code of others.
///
/// One exchange and one plain store: half of what a lock costs that threads can sleep on. Whoever finds it taken pauses, then gives up its
/// time slice.
#[derive(Debug, Default)]
pub(crate) struct Short<T> {
    taken: AtomicBool,
    value: Slot<T>,
}

// SAFETY: the lock hands the value from thread to thread.
unsafe impl<T: Send> Sync for Short<T> {}

impl<T> Short<T> {
    pub(crate) const fn new(value: T) -> Self {
        Self { taken: AtomicBool::new(false), value: Slot::new(value) }
    }

    /// Runs `access` with the lock taken.
    #[inline]
    pub(crate) fn with<R>(&self, access: impl FnOnce(&mut T) -> R) -> R {
        struct Open<'a>(&'a AtomicBool);
        impl Drop for Open<'_> {
            #[inline(always)]
            fn drop(&mut self) {
                // (short.2) Release, pairs with (short.1).
                self.0.store(false, Release);
            }
        }
        if !self.take() {
            spin::until(|| (!self.taken.load(Relaxed) && self.take()).then_some(()));
        }
        let _open = Open(&self.taken);
        // SAFETY: the lock is ours until `_open` is dropped, so this is the only access.
        self.value.with_mut(|value| access(unsafe { &mut *value }))
    }

    /// Takes the lock if nobody has it. Writes nothing otherwise.
    #[inline(always)]
    fn take(&self) -> bool {
        // (short.1) Acquire, pairs with (short.2): what the last owner did to the value is visible. Relaxed where it failed: nothing is read.
        self.taken.compare_exchange(false, true, Acquire, Relaxed).is_ok()
    }
}
