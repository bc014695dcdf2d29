//! Waiting for a future on a thread.

use crate::worker::Context;
use core::future::Future;
use core::task::{Context as PollContext, Poll, Waker};
use std::task::Wake;
use thalweg_sync::park::{Parker, Unparker};

struct Sleeper(Unparker);

// The standard library's `Arc`, as `Wake` asks for it. Nothing in it depends on who drops it last.
impl Wake for Sleeper {
    fn wake(self: std::sync::Arc<Self>) {
        self.0.unpark();
    }

    fn wake_by_ref(self: &std::sync::Arc<Self>) {
        self.0.unpark();
    }
}

/// Polls a future on this thread until it is ready; sleeps in between.
///
/// # Panics
///
/// In a task of an executor, whose worker it would block: await the future there.
///
/// ```
/// assert_eq!(thalweg_executor::block_on(async { 6 * 7 }), 42);
/// ```
pub fn block_on<F: Future>(future: F) -> F::Output {
    assert!(Context::current(|_| ()).is_none(), "block_on in a task would block its worker: await the future instead");
    let mut future = core::pin::pin!(future);
    let parker = Parker::new();
    let waker = Waker::from(std::sync::Arc::new(Sleeper(parker.unparker())));
    let mut context = PollContext::from_waker(&waker);
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(output) => return output,
            Poll::Pending => parker.park(),
        }
    }
}
