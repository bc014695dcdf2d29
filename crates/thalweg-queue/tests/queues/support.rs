//! A value that makes a panic, wakers that note and that panic, and what runs a future.

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Wake, Waker};
use thalweg_sync::atomic::{AtomicBool, Ordering::Relaxed};
use thalweg_sync::park::{Parker, Unparker};
use thalweg_sync::sync::Arc;

/// Panics when it is dropped, if it is told to; and is counted.
#[allow(dead_code, reason = "the second field is there to be counted")]
pub(crate) struct Bomb(pub(crate) bool, pub(crate) Arc<()>);

impl Drop for Bomb {
    fn drop(&mut self) {
        assert!(!self.0, "boom");
    }
}

/// Whether its waker was called.
#[derive(Clone, Default)]
pub(crate) struct Note(std::sync::Arc<Flag>);

#[derive(Default)]
struct Flag(AtomicBool);

impl Wake for Flag {
    fn wake(self: std::sync::Arc<Self>) {
        self.0.store(true, Relaxed);
    }
}

impl Note {
    pub(crate) fn waker(&self) -> Waker {
        Waker::from(self.0.clone())
    }

    pub(crate) fn was_woken(&self) -> bool {
        self.0.0.load(Relaxed)
    }
}

struct Fuse;

impl Wake for Fuse {
    fn wake(self: std::sync::Arc<Self>) {
        panic!("told to panic");
    }
}

/// A waker that panics.
pub(crate) fn fuse() -> Waker {
    Waker::from(std::sync::Arc::new(Fuse))
}

struct Thread(Unparker);

impl Wake for Thread {
    fn wake(self: std::sync::Arc<Self>) {
        self.0.unpark();
    }
}

/// Runs a future on this thread.
pub(crate) fn block_on<F: Future>(future: F) -> F::Output {
    let parker = Parker::new();
    let waker = Waker::from(std::sync::Arc::new(Thread(parker.unparker())));
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(result) => return result,
            Poll::Pending => parker.park(),
        }
    }
}
