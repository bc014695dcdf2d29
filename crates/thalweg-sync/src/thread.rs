//! Threads: started, joined, pinned.
//!
//! ```
//! use thalweg_sync::thread;
//!
//! # thalweg_sync::model(|| {
//! let answer = thread::spawn(|| 6 * 7);
//! assert_eq!(answer.join().unwrap(), 42);
//! # });
//! ```

mod affinity;
mod stack;
mod topology;
#[cfg(loom)]
#[path = "thread/modelled.rs"]
mod world;
#[cfg(all(not(feature = "instrument"), not(loom)))]
#[path = "thread/native.rs"]
mod world;
#[cfg(all(feature = "instrument", not(loom)))]
#[path = "thread/watched.rs"]
mod world;

pub use affinity::{Affinity, current_affinity, current_cpu, make_way, move_away_from, pin_current};
pub use stack::{Stack, current_stack};
pub use topology::{Cache, Cpu, Shared, Topology};
pub use world::*;

use crate::engine;
use crate::time::Duration;

/// Lets other threads run first, if there are any; in a user-level thread, others of the same thread ([`host`](crate::host)).
#[inline]
#[track_caller]
pub fn yield_now() {
    #[cfg(loom)]
    loom::thread::yield_now();
    #[cfg(not(loom))]
    if crate::host::yield_now() {
        return;
    }
    #[cfg(not(loom))]
    match engine::current() {
        Some(engine) => engine.yield_now(core::panic::Location::caller()),
        None => std::thread::yield_now(),
    }
}

/// What a thread is started with, beside its code.
#[derive(Clone, Copy, Debug, Default)]
pub struct Spec<'a> {
    /// What debuggers and the system call it; Linux keeps 15 bytes.
    pub name: &'a str,
    /// The size of its stack, in bytes, rounded up to what the system can do; `None` is the standard library's.
    pub stack: Option<usize>,
}

impl Spec<'_> {
    #[cfg(not(loom))]
    fn builder(self) -> std::thread::Builder {
        let builder = std::thread::Builder::new().name(self.name.replace('\0', ""));
        match self.stack {
            Some(bytes) => builder.stack_size(bytes),
            None => builder,
        }
    }
}

/// Starts a thread that the system knows by `name`, of which Linux keeps 15 bytes. Under an engine and under loom the name is left out.
///
/// # Errors
///
/// If the system gives no more threads.
///
/// ```
/// use thalweg_sync::thread;
///
/// # thalweg_sync::model(|| {
/// let thread = thread::start("answer", || 6 * 7).unwrap();
/// assert_eq!(thread.join().unwrap(), 42);
/// # });
/// ```
#[track_caller]
pub fn start<F, T>(name: &str, body: F) -> std::io::Result<JoinHandle<T>>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    #[cfg(not(loom))]
    return world::named(name, body);
    #[cfg(loom)]
    {
        let _ = name;
        Ok(spawn(body))
    }
}

/// Does nothing for `time`. Virtual time under an engine; under loom, which has no time, it gives others a chance to
/// run.
#[track_caller]
pub fn sleep(time: Duration) {
    if cfg!(loom) || engine::current().is_some() || switches() {
        // Nobody has the waking side, so only time ends it.
        crate::park::Parker::new().park_timeout(time);
    } else {
        std::thread::sleep(time);
    }
}

/// A user-level thread runs here, whose scheduler has others.
fn switches() -> bool {
    #[cfg(not(loom))]
    let host = crate::host::current().is_some();
    #[cfg(loom)]
    let host = false;
    host
}

/// How many threads this process may run at once, at least 1: affinity masks and cgroup quotas (both versions) count.
/// Under an engine, as many as it says.
#[track_caller]
pub fn available_parallelism() -> usize {
    match engine::current() {
        Some(engine) => engine.parallelism(),
        None => std::thread::available_parallelism().map_or(1, usize::from),
    }
}

/// Whether this thread runs as the system runs it: no engine watches it, and this is not loom. Its time is then the machine's own.
#[inline]
pub fn is_native() -> bool {
    !cfg!(loom) && engine::current().is_none()
}
