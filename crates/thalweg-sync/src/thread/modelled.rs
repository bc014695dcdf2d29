//! Threads under loom.

/// A started thread.
pub type JoinHandle<T> = loom::thread::JoinHandle<T>;

/// Starts a thread: `loom::thread::spawn`.
#[track_caller]
pub fn spawn<F, T>(body: F) -> JoinHandle<T>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    loom::thread::spawn(body)
}
