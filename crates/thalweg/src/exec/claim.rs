//! Who may touch a kernel: one worker at a time.

use std::fmt;
use thalweg_sync::atomic::{AtomicBool, Ordering::*};
use thalweg_sync::cell::Slot;

/// A value that one thread at a time may enter; nobody waits for it.
///
/// **U1** `value` belongs to whoever set `held`, from the exchange that set it until the store that takes it back.
pub(crate) struct Claim<T> {
    held: AtomicBool,
    value: Slot<T>,
}

impl<T> Claim<T> {
    pub(crate) fn new(value: T) -> Self {
        Self { held: AtomicBool::new(false), value: Slot::new(value) }
    }

    /// Whether somebody is at it. A snapshot.
    pub(crate) fn is_held(&self) -> bool {
        self.held.load(Relaxed)
    }

    /// Lets `act` have the value, unless another thread has it.
    pub(crate) fn try_enter<R>(&self, act: impl FnOnce(&mut T) -> R) -> Option<R> {
        /// Takes the claim back, also after a panic.
        struct Held<'a>(&'a AtomicBool);
        impl Drop for Held<'_> {
            fn drop(&mut self) {
                // (2) Release, pairs with (1).
                self.0.store(false, Release);
            }
        }
        // (1) Acquire, pairs with (2): the next holder sees the kernel and its edges as the last one left them. Relaxed is enough for the first
        //     look, which only spares the exchange.
        if self.held.load(Relaxed) || self.held.swap(true, Acquire) {
            return None;
        }
        let _held = Held(&self.held);
        // SAFETY: U1.
        Some(self.value.with_mut(|value| act(unsafe { &mut *value })))
    }

    pub(crate) fn get_mut(&mut self) -> &mut T {
        self.value.get_mut()
    }
}

impl<T> fmt::Debug for Claim<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Claim").field("held", &self.is_held()).finish_non_exhaustive()
    }
}

#[cfg(all(test, loom))]
mod model {
    use super::*;
    use thalweg_sync::sync::Arc;
    use thalweg_sync::{model, thread};

    /// What one holder leaves is what the next one finds; that nobody enters beside another is the slot's to report. With a mark that ends it, as
    /// a kernel that is done: nothing is done after it.
    #[test]
    fn one_at_a_time_and_nothing_after_the_end() {
        model(|| {
            let claim = Arc::new(Claim::new((0, false)));
            let step = |claim: &Claim<(u32, bool)>| {
                claim.try_enter(|(steps, done)| {
                    if !*done {
                        *steps += 1;
                        *done = *steps == 2;
                    }
                })
            };
            let other = claim.clone();
            let thread = thread::spawn(move || (step(&other).is_some(), step(&other).is_some()));
            let here = step(&claim).is_some();
            let (first, second) = thread.join().unwrap();
            let entered = [here, first, second].into_iter().filter(|&entered| entered).count();
            // SAFETY: nobody else is left.
            claim.value.with(|value| assert_eq!(unsafe { *value }, (entered.min(2) as u32, entered >= 2)));
        });
    }
}
