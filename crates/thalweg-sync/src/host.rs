//! A scheduler of user-level threads, as the rest of this crate meets it.
//!
//! Code that waits asks the facade: [`park::Parker`](crate::park::Parker), [`thread::sleep`](crate::thread::sleep),
//! [`thread::yield_now`](crate::thread::yield_now), [`spin::until`](crate::spin::until). Where the caller is a user-level thread, putting the
//! thread of the system to sleep would stop all others that live on it. So a scheduler makes itself known to the facade with [`enter`], and
//! these calls go to it instead: they switch stacks. A queue or a stream port that waits through the facade needs to know nothing of it.
//!
//! | call | in a user-level thread |
//! |---|---|
//! | [`Parker::park`](crate::park::Parker::park), `park_timeout` | [`Calls::park`] until the token has come |
//! | [`Unparker::unpark`](crate::park::Unparker::unpark) | the waker that [`Calls::waker`] gave, from any thread |
//! | [`thread::sleep`](crate::thread::sleep) | [`Calls::park`] until the time is over |
//! | [`thread::yield_now`](crate::thread::yield_now), [`spin::until`](crate::spin::until) after some attempts | [`Calls::yield_now`] |
//! | [`sync::Mutex`](crate::sync::Mutex), [`sync::Condvar`](crate::sync::Condvar) | block the thread: for sections in which nobody waits |
//!
//! # Engines
//!
//! To an engine the user-level threads of one scheduler's thread *are* that thread: a switch of stacks is no event, what they do is in
//! program order, and an engine may suspend and resume its thread on whichever stack it is. The place where a thread keeps its scheduler is the
//! engine's ([`Engine::host`](crate::engine::Engine::host)), as its threads share the thread-locals of one thread of the system.
//!
//! ```
//! use thalweg_sync::host;
//!
//! assert!(host::current().is_none(), "no scheduler runs on this thread");
//! ```

use crate::engine;
use crate::time::Instant;
use core::task::Waker;
use std::cell::Cell;

/// What a scheduler does for the user-level thread that calls. One static per scheduler type: its address says which type it is.
///
/// Each is called on the thread that is in [`enter`], with the scheduler that was given there.
#[derive(Debug)]
pub struct Calls {
    /// What wakes the running user-level thread from [`park`](Self::park), now or at its next one. `None` if none runs: the scheduler itself does.
    pub waker: unsafe fn(*const ()) -> Option<Waker>,
    /// Switches away from the running user-level thread until it is woken, or the clock shows the time. May return early.
    pub park: unsafe fn(*const (), Option<Instant>),
    /// Lets other user-level threads of this thread run. False if none was ready, or none runs at all: then the caller gives up the time
    /// slice of the thread.
    pub yield_now: unsafe fn(*const ()) -> bool,
}

/// A scheduler on its thread.
#[derive(Clone, Copy, Debug)]
pub struct Host {
    scheduler: *const (),
    calls: &'static Calls,
}

impl Host {
    /// A scheduler and what it does.
    pub const fn new(scheduler: *const (), calls: &'static Calls) -> Self {
        Self { scheduler, calls }
    }

    /// The scheduler, if its type is the one with these calls.
    #[inline(always)]
    pub fn scheduler(self, calls: &'static Calls) -> Option<*const ()> {
        core::ptr::eq(self.calls, calls).then_some(self.scheduler)
    }

    /// As [`Calls::waker`].
    pub(crate) fn waker(self) -> Option<Waker> {
        // SAFETY: the scheduler is alive: `enter` promised it.
        unsafe { (self.calls.waker)(self.scheduler) }
    }

    /// As [`Calls::park`].
    pub(crate) fn park(self, deadline: Option<Instant>) {
        // SAFETY: as above.
        unsafe { (self.calls.park)(self.scheduler, deadline) }
    }

    /// As [`Calls::yield_now`].
    pub(crate) fn yield_now(self) -> bool {
        // SAFETY: as above.
        unsafe { (self.calls.yield_now)(self.scheduler) }
    }
}

std::thread_local! {
    static CURRENT: Cell<Option<Host>> = const { Cell::new(None) };
}

/// The scheduler that runs on this thread.
///
/// Natively a load of a thread-local. A user-level thread never moves to another thread, so what this returned stays true for it.
#[inline]
pub fn current() -> Option<Host> {
    match engine::entered() {
        Some(engine) => engine.host(),
        None => CURRENT.get(),
    }
}

fn set(host: Option<Host>) {
    match engine::entered() {
        Some(engine) => engine.set_host(host),
        None => CURRENT.set(host),
    }
}

/// Runs `body`, and lets what it waits for go to `host` meanwhile.
///
/// # Safety
///
/// The scheduler lives until `body` has returned or unwound, and its calls may be made on this thread until then. Its user-level threads
/// run on this thread only.
pub unsafe fn enter<R>(host: Host, body: impl FnOnce() -> R) -> R {
    struct Restore(Option<Host>);
    impl Drop for Restore {
        fn drop(&mut self) {
            set(self.0);
        }
    }
    let _restore = Restore(current());
    set(Some(host));
    body()
}

/// Lets other user-level threads of this thread run; false if there are none.
#[inline]
pub(crate) fn yield_now() -> bool {
    current().is_some_and(Host::yield_now)
}
