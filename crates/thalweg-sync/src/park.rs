//! Sleeping until another thread says so.

use crate::atomic::{AtomicBool, Ordering};
use crate::engine;
use crate::sync::Arc;
use crate::time::{self, Duration};
use core::panic::Location;

/// The sleeping side of a token: belongs to the thread that made it, or to the user-level thread ([`host`](crate::host)).
///
/// [`Unparker::unpark`] leaves one token; [`park`](Self::park) takes it, sleeping until there is one. Everything
/// before the `unpark` is visible after the `park` that took its token.
///
/// ```
/// use thalweg_sync::{park::Parker, thread};
///
/// # thalweg_sync::model(|| {
/// let parker = Parker::new();
/// let unparker = parker.unparker();
/// let waker = thread::spawn(move || unparker.unpark());
/// parker.park(); // whichever comes first: the token stays until it is taken
/// waker.join().unwrap();
/// # });
/// ```
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
    sleeper: Sleeper,
}

impl Token {
    #[track_caller]
    fn take(&self) -> bool {
        // Acquire, pairs with the Release in `unpark`: what came before that `unpark` is visible to who takes its
        // token.
        self.set.swap(false, Ordering::Acquire)
    }

    fn address(&self) -> usize {
        core::ptr::from_ref(&self.set).addr()
    }
}

impl Parker {
    /// A parker for the calling thread.
    #[allow(clippy::new_without_default, reason = "it belongs to the calling thread, which a default would hide")]
    pub fn new() -> Self {
        Self {
            token: Arc::new(Token { set: AtomicBool::new(false), sleeper: Sleeper::current() }),
            _not_send: core::marker::PhantomData,
        }
    }

    /// The waking side.
    pub fn unparker(&self) -> Unparker {
        Unparker { token: self.token.clone() }
    }

    /// Sleeps until a token is left, and takes it.
    #[track_caller]
    pub fn park(&self) {
        while !self.token.take() {
            #[cfg(not(loom))]
            if self.token.sleeper.switches(None) {
                continue;
            }
            match engine::current() {
                Some(engine) => engine.park(self.token.address(), None, Location::caller()),
                None => self.token.sleeper.sleep(),
            }
        }
    }

    /// Sleeps until a token is left, but no longer than `timeout`. True if it took a token.
    ///
    /// Under loom, which has no time, it gives others one chance to run.
    #[track_caller]
    pub fn park_timeout(&self, timeout: Duration) -> bool {
        let end = time::now().after(timeout);
        loop {
            if self.token.take() {
                return true;
            }
            let left = end.since(time::now());
            if left.is_zero() {
                return false;
            }
            #[cfg(not(loom))]
            if self.token.sleeper.switches(Some(end)) {
                continue;
            }
            match engine::current() {
                Some(engine) => engine.park(self.token.address(), Some(end.as_nanos()), Location::caller()),
                None => self.token.sleeper.sleep_at_most(left),
            }
            if cfg!(loom) {
                return self.token.take();
            }
        }
    }
}

impl Unparker {
    /// Leaves a token and wakes the thread if it sleeps.
    #[track_caller]
    pub fn unpark(&self) {
        // Release, pairs with the Acquire in `take`. A read-modify-write, so that a token that two threads leave
        // carries the edges of both: a store would cut off the first one's release sequence.
        self.token.set.swap(true, Ordering::Release);
        #[cfg(not(loom))]
        if let Sleeper::Task(task) = &self.token.sleeper {
            return task.wake_by_ref();
        }
        match engine::current() {
            Some(engine) => engine.unpark(self.token.address(), Location::caller()),
            None => self.token.sleeper.wake(),
        }
    }
}

/// Who sleeps, and how: a thread when no engine runs, or a user-level thread by its scheduler. May wake early; a wake that comes first
/// makes the next sleep return at once.
#[cfg(not(loom))]
#[derive(Debug)]
enum Sleeper {
    Thread(std::thread::Thread),
    Task(core::task::Waker),
}

#[cfg(not(loom))]
impl Sleeper {
    fn current() -> Self {
        match crate::host::current().and_then(crate::host::Host::waker) {
            Some(task) => Self::Task(task),
            None => Self::Thread(std::thread::current()),
        }
    }

    /// Sleeps by switching stacks, if a user-level thread is to sleep.
    fn switches(&self, deadline: Option<time::Instant>) -> bool {
        // A parker stays on its thread, so its scheduler is the one that is here; but it may be dropped behind that one's end.
        match (self, crate::host::current()) {
            (Self::Task(_), Some(host)) => host.park(deadline),
            _ => return false,
        }
        true
    }

    fn sleep(&self) {
        std::thread::park();
    }

    fn sleep_at_most(&self, time: Duration) {
        std::thread::park_timeout(time);
    }

    fn wake(&self) {
        match self {
            Self::Thread(thread) => thread.unpark(),
            Self::Task(task) => task.wake_by_ref(),
        }
    }
}

/// How a thread sleeps under loom. Not by loom's `park`: its `unpark` also wakes a thread that by then waits for
/// something else.
#[cfg(loom)]
struct Sleeper(loom::sync::Notify);

#[cfg(loom)]
impl core::fmt::Debug for Sleeper {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Sleeper").finish_non_exhaustive()
    }
}

#[cfg(loom)]
impl Sleeper {
    fn current() -> Self {
        Self(loom::sync::Notify::new())
    }

    fn sleep(&self) {
        self.0.wait();
    }

    fn sleep_at_most(&self, _time: Duration) {
        loom::thread::yield_now();
    }

    fn wake(&self) {
        self.0.notify();
    }
}
