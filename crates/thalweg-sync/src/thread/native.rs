//! Threads of the native world.
//!
//! Aliases and functions in place of re-exports, which clippy takes for the standard library's own names.

use super::Spec;

/// A started thread.
pub type JoinHandle<T> = std::thread::JoinHandle<T>;
/// Starts threads that may borrow.
pub type Scope<'scope, 'env> = std::thread::Scope<'scope, 'env>;
/// A started thread of a scope.
pub type ScopedJoinHandle<'scope, T> = std::thread::ScopedJoinHandle<'scope, T>;

/// Starts a thread: [`std::thread::spawn`].
#[inline]
pub fn spawn<F, T>(body: F) -> JoinHandle<T>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    std::thread::spawn(body)
}

/// As [`start`](super::start).
pub(super) fn named<F, T>(name: &str, body: F) -> std::io::Result<JoinHandle<T>>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    Spec { name, ..Spec::default() }.builder().spawn(body)
}

/// Runs `body`, and returns when all threads that it started in its scope have ended: [`std::thread::scope`].
///
/// # Panics
///
/// If `body` panics, or a thread that nobody joined.
#[inline]
#[track_caller]
pub fn scope<'env, F, T>(body: F) -> T
where
    F: for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> T,
{
    std::thread::scope(body)
}

/// Starts a thread that ends before the scope does.
///
/// # Errors
///
/// If the system gives no more threads.
pub fn try_spawn<'scope, F>(scope: &'scope Scope<'scope, '_>, spec: Spec<'_>, body: F) -> std::io::Result<()>
where
    F: FnOnce() + Send + 'scope,
{
    spec.builder().spawn_scoped(scope, body).map(drop)
}

/// Starts a thread that nobody waits for.
///
/// # Errors
///
/// If the system gives no more threads. `body` is dropped.
pub fn try_start<F>(spec: Spec<'_>, body: F) -> std::io::Result<()>
where
    F: FnOnce() + Send + 'static,
{
    spec.builder().spawn(body).map(drop)
}
