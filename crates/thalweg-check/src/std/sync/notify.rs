//! Loom's notification.

use thalweg_sync::atomic::{AtomicBool, Ordering};
use thalweg_sync::spin;

/// Wakes one thread that waits, now or at its next wait.
#[derive(Debug, Default)]
pub struct Notify(AtomicBool);

impl Notify {
    /// One that nobody was notified by.
    pub const fn new() -> Self {
        Self(AtomicBool::new(false))
    }

    /// Notifies.
    #[track_caller]
    pub fn notify(&self) {
        // Release, pairs with the Acquire in `wait`; a read-modify-write, so that it carries the edges of those before.
        self.0.swap(true, Ordering::Release);
    }

    /// Waits for a notification.
    #[track_caller]
    pub fn wait(&self) {
        // Acquire, pairs with the Release in `notify`.
        spin::until(|| self.0.compare_exchange(true, false, Ordering::Acquire, Ordering::Relaxed).ok());
    }
}
