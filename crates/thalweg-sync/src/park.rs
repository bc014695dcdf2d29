//! Sleeping until another thread says so.

use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use std::sync::Arc;

/// The sleeping side of a token: belongs to the thread that made it.
///
/// [`Unparker::unpark`] leaves one token; [`park`](Self::park) takes it, sleeping until there is one. Everything before the `unpark`
/// is visible after the `park` that took its token.
#[derive(Debug)]
pub struct Parker {
    token: Arc<Token>,
    _not_send: core::marker::PhantomData<*const ()>,
}

/// The waking side. Clones wake the same thread.
#[derive(Clone, Debug)]
pub struct Unparker {
    token: Arc<Token>,
}

#[derive(Debug)]
struct Token {
    set: AtomicBool,
    thread: std::thread::Thread,
}

impl Parker {
    /// A parker for the calling thread.
    #[allow(clippy::new_without_default, reason = "it belongs to the calling thread, which a default would hide")]
    pub fn new() -> Self {
        Self {
            token: Arc::new(Token { set: AtomicBool::new(false), thread: std::thread::current() }),
            _not_send: core::marker::PhantomData,
        }
    }

    /// The waking side.
    pub fn unparker(&self) -> Unparker {
        Unparker { token: self.token.clone() }
    }

    /// Sleeps until a token is left, and takes it.
    pub fn park(&self) {
        while !self.token.set.swap(false, Ordering::Acquire) {
            std::thread::park();
        }
    }

    /// Sleeps until a token is left, but no longer than `timeout`. True if it took a token.
    pub fn park_timeout(&self, timeout: Duration) -> bool {
        let end = crate::time::now().after(timeout);
        loop {
            if self.token.set.swap(false, Ordering::Acquire) {
                return true;
            }
            let left = end.since(crate::time::now());
            if left.is_zero() {
                return false;
            }
            std::thread::park_timeout(left);
        }
    }
}

impl Unparker {
    /// Leaves a token and wakes the thread if it sleeps.
    pub fn unpark(&self) {
        self.token.set.store(true, Ordering::Release);
        self.token.thread.unpark();
    }
}
