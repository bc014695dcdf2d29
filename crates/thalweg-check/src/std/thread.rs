//! `std::thread`.

use super::locals::{is_watched, own};
use crate::model::current_run;
use std::fmt;
use std::panic::Location;
use std::sync::Arc;
use std::time::Duration;
use thalweg_sync::atomic::{AtomicBool, Ordering, unique};
use thalweg_sync::engine::Engine;
use thalweg_sync::{spin, time};

pub use super::LocalKey;
pub use crate::__thread_local as thread_local;
pub use std::thread::{Result, panicking};
pub use thalweg_sync::thread::{Scope, ScopedJoinHandle, scope, yield_now};

/// A thread.
#[derive(Clone)]
pub struct Thread(Arc<Inner>);

struct Inner {
    name: Option<String>,
    number: u64,
    /// Somebody has unparked it.
    token: AtomicBool,
}

/// A thread's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ThreadId(u64);

/// The key of the value that is the calling thread.
static CURRENT: u8 = 0;
/// The key of the handles that an execution keeps.
static KEPT: u8 = 0;

impl Thread {
    fn new(name: Option<String>) -> Self {
        let this = Self(Arc::new(Inner { name, number: unique(), token: AtomicBool::new(false) }));
        // Dropped when the execution is over: the count of handles is none that an engine sees, so it would find the token dropped in use.
        drop(own(&raw const KEPT as usize ^ (this.0.number as usize).rotate_right(8), || this.clone()));
        this
    }

    /// Its number, which no other thread has.
    pub fn id(&self) -> ThreadId {
        ThreadId(self.0.number)
    }

    /// Its name, if it was given one.
    pub fn name(&self) -> Option<&str> {
        self.0.name.as_deref()
    }

    /// Lets its [`park`] return: this one or, if it does not park now, the next.
    #[track_caller]
    pub fn unpark(&self) {
        // Release, pairs with the Acquire in `park`. A read-modify-write, so that it carries the edges of those before.
        self.0.token.swap(true, Ordering::Release);
    }
}

impl fmt::Debug for Thread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Thread").field("id", &self.id()).field("name", &self.name()).finish()
    }
}

/// The calling thread.
pub fn current() -> Thread {
    (*own(&raw const CURRENT as usize, || Thread::new(None))).clone()
}

/// Sleeps until [`Thread::unpark`]; may return without, see [`Check::spurious`](crate::Check::spurious).
#[track_caller]
pub fn park() {
    let at = Location::caller();
    if current_run().is_some_and(|run| run.wakes_unasked(at)) {
        return;
    }
    let this = current();
    // Acquire, pairs with the Release in `unpark`.
    spin::until(|| this.0.token.compare_exchange(true, false, Ordering::Acquire, Ordering::Relaxed).ok());
}

/// As [`park`], but the time may be over at once.
#[track_caller]
pub fn park_timeout(_: Duration) {
    let this = current();
    if crate::choose(2) == 0 {
        // Acquire, pairs with the Release in `unpark`.
        spin::until(|| this.0.token.compare_exchange(true, false, Ordering::Acquire, Ordering::Relaxed).ok());
    }
}

/// Sleeps; under the checker, time is over at once.
#[track_caller]
pub fn sleep(time: Duration) {
    thalweg_sync::thread::sleep(time);
}

/// How many threads run at once.
///
/// # Errors
///
/// None.
pub fn available_parallelism() -> std::io::Result<std::num::NonZeroUsize> {
    Ok(std::num::NonZeroUsize::new(thalweg_sync::thread::available_parallelism())
        .unwrap_or(std::num::NonZeroUsize::MIN))
}

/// A thread that was started.
pub struct JoinHandle<T> {
    inner: thalweg_sync::thread::JoinHandle<Stays<T>>,
    thread: Thread,
}

impl<T> JoinHandle<T> {
    /// Waits until the thread has ended. Gives what it returned, or the panic that ended it.
    #[track_caller]
    pub fn join(self) -> Result<T> {
        self.inner.join().map(|Stays(returned)| returned)
    }

    /// The thread.
    pub fn thread(&self) -> &Thread {
        &self.thread
    }
}

impl<T> fmt::Debug for JoinHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinHandle").field("thread", &self.thread).finish_non_exhaustive()
    }
}

/// Starts a thread. As loom's it takes also what is not `Send`, since the engine runs all threads of a client on one of the system's.
///
/// # Panics
///
/// Where no engine runs.
#[track_caller]
pub fn spawn<T: 'static>(body: impl FnOnce() -> T + 'static) -> JoinHandle<T> {
    start(None, body)
}

/// What stays on its thread of the system.
struct Stays<T>(T);
// SAFETY: an engine runs all threads of an execution on one thread of the system, and `start` asks that one runs.
unsafe impl<T> Send for Stays<T> {}

#[track_caller]
fn start<T: 'static>(name: Option<String>, body: impl FnOnce() -> T + 'static) -> JoinHandle<T> {
    assert!(
        is_watched(),
        "threads of `thalweg_check::std` are a client's: start them under `model`, `Check` or `Fuzz`"
    );
    let thread = Thread::new(name);
    let body = Stays((thread.clone(), body));
    let inner = thalweg_sync::thread::spawn(move || {
        let Stays((own_handle, body)) = { body };
        drop(own(&raw const CURRENT as usize, || own_handle));
        Stays(body())
    });
    JoinHandle { inner, thread }
}

/// Starts a thread with a name.
#[derive(Debug, Default)]
pub struct Builder {
    name: Option<String>,
}

impl Builder {
    /// Without a name.
    pub fn new() -> Self {
        Self::default()
    }

    /// With this name.
    pub fn name(self, name: String) -> Self {
        Self { name: Some(name) }
    }

    /// Nothing: [`Check::stack_bytes`](crate::Check::stack_bytes) says it for all.
    pub fn stack_size(self, _: usize) -> Self {
        self
    }

    /// Starts the thread.
    ///
    /// # Errors
    ///
    /// None: an engine gives as many threads as it is asked for.
    #[track_caller]
    pub fn spawn<T: 'static>(self, body: impl FnOnce() -> T + 'static) -> std::io::Result<JoinHandle<T>> {
        Ok(start(self.name, body))
    }
}

/// The time, which stands still for a thread but while it waits.
pub fn now() -> time::Instant {
    time::now()
}
