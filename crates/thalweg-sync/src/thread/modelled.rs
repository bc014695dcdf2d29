//! Threads under loom.

use super::Spec;
use core::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::PoisonError;

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

/// Starts threads that may borrow, as [`std::thread::Scope`]; they are joined when the scope ends.
#[derive(Debug)]
pub struct Scope<'scope, 'env: 'scope> {
    /// Of loom's own kind would be one more thing to explore; the scope's owner and its threads take turns at it
    /// within one step.
    threads: std::sync::Mutex<Vec<JoinHandle<()>>>,
    // Invariant in both, as the standard library's: a shorter 'scope would let a thread outlive what it borrows.
    _scope: PhantomData<&'scope mut &'scope ()>,
    _env: PhantomData<&'env mut &'env ()>,
}

impl<'scope> Scope<'scope, '_> {
    /// Starts a thread.
    #[track_caller]
    pub fn spawn<F>(&'scope self, body: F)
    where
        F: FnOnce() + Send + 'scope,
    {
        let body: Box<dyn FnOnce() + Send + 'scope> = Box::new(body);
        // SAFETY: only the lifetime changes: `scope` joins every thread before it returns. Unwinding does not wait,
        // but then the model has failed.
        let body = unsafe { core::mem::transmute::<Box<dyn FnOnce() + Send + 'scope>, Box<dyn FnOnce() + Send>>(body) };
        let thread = loom::thread::spawn(body);
        self.threads.lock().unwrap_or_else(PoisonError::into_inner).push(thread);
    }
}

/// Runs `body` with a scope whose threads may borrow, as [`std::thread::scope`]. A panic anywhere ends the model, so
/// none is passed on here; one in `body` aborts the process, after its message.
pub fn scope<'env, F, T>(body: F) -> T
where
    F: for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> T,
{
    let scope = Scope { threads: std::sync::Mutex::new(Vec::new()), _scope: PhantomData, _env: PhantomData };
    // A panic ends the model, whose threads can then not be joined, and they may borrow what unwinding would drop.
    let result = catch_unwind(AssertUnwindSafe(|| body(&scope))).unwrap_or_else(|_| std::process::abort());
    loop {
        let next = scope.threads.lock().unwrap_or_else(PoisonError::into_inner).pop();
        match next {
            Some(thread) => thread.join().expect("a panic ends the model"),
            None => return result,
        }
    }
}

/// Starts a thread that ends before the scope does. Here no system refuses one.
///
/// # Errors
///
/// None: they are those of the native world.
pub fn try_spawn<'scope, F>(scope: &'scope Scope<'scope, '_>, _spec: Spec<'_>, body: F) -> std::io::Result<()>
where
    F: FnOnce() + Send + 'scope,
{
    scope.spawn(body);
    Ok(())
}

/// Starts a thread that nobody waits for. Here no system refuses one, and threads have no names.
///
/// # Errors
///
/// None: they are those of the native world.
pub fn try_start<F>(_spec: Spec<'_>, body: F) -> std::io::Result<()>
where
    F: FnOnce() + Send + 'static,
{
    drop(loom::thread::spawn(body));
    Ok(())
}
