//! Threads of the instrumented world: an engine's if one runs here, otherwise the standard library's.

use super::Spec;
use crate::engine::{self, ThreadId};
use core::fmt;
use core::marker::PhantomData;
use core::panic::Location;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::Result;

/// Where a thread leaves what it returns.
type Returned<T> = Arc<Mutex<Option<T>>>;

/// A started thread, natively or in an engine's run.
enum Started {
    /// Taken by whoever waits first; who waits later waits for the lock.
    Native(Mutex<Option<std::thread::JoinHandle<()>>>),
    Watched(ThreadId),
}

impl Started {
    /// Starts `body`. An error if no engine runs here and the system gives no more threads.
    ///
    /// # Safety
    ///
    /// What `body` borrows lives until the thread has ended.
    #[track_caller]
    unsafe fn spawn<'a>(spec: Option<Spec<'_>>, body: Box<dyn FnOnce() + Send + 'a>) -> std::io::Result<Self> {
        // SAFETY: only the lifetime changes; the caller answers for it.
        let body = unsafe { core::mem::transmute::<Box<dyn FnOnce() + Send + 'a>, Box<dyn FnOnce() + Send>>(body) };
        Ok(match engine::current() {
            Some(engine) => Self::Watched(engine.spawn(body, Location::caller())),
            None => {
                let builder = spec.map_or_else(std::thread::Builder::new, Spec::builder);
                Self::Native(Mutex::new(Some(builder.spawn(body)?)))
            }
        })
    }

    /// Which thread of an engine's run it is. Those of the system have no order.
    fn number(&self) -> u64 {
        match self {
            Self::Native(_) => 0,
            Self::Watched(ThreadId(number)) => *number,
        }
    }

    /// Waits until the thread has ended. The panic that ended it goes to whoever waits first.
    #[track_caller]
    fn wait(&self) -> Result<()> {
        match self {
            Self::Native(handle) => {
                let mut handle = handle.lock().unwrap_or_else(PoisonError::into_inner);
                handle.take().map_or(Ok(()), std::thread::JoinHandle::join)
            }
            Self::Watched(thread) => {
                // Without an engine its run is over, and so are its threads.
                if let Some(engine) = engine::current() {
                    engine.join(*thread, Location::caller());
                }
                Ok(())
            }
        }
    }
}

/// What the thread returned. Call it after a wait that gave `Ok`.
fn take<T>(returned: &Returned<T>) -> Result<T> {
    returned
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .take()
        .ok_or_else(|| Box::new("the thread did not come to its end: its engine gave up the run") as _)
}

fn returning<T, F: FnOnce() -> T>(body: F) -> (impl FnOnce(), Returned<T>) {
    let returned = Arc::new(Mutex::new(None));
    let place = returned.clone();
    let run = move || {
        let value = body();
        *place.lock().unwrap_or_else(PoisonError::into_inner) = Some(value);
    };
    (run, returned)
}

/// A started thread, as [`std::thread::JoinHandle`].
pub struct JoinHandle<T> {
    thread: Started,
    returned: Returned<T>,
}

impl<T> JoinHandle<T> {
    /// Waits until the thread has ended. Gives what it returned, or the panic that ended it.
    ///
    /// Under an engine a panic that ends a thread ends the run.
    #[track_caller]
    pub fn join(self) -> Result<T> {
        self.thread.wait().and_then(|()| take(&self.returned))
    }
}

impl<T> fmt::Debug for JoinHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinHandle").finish_non_exhaustive()
    }
}

/// Starts a thread, as [`std::thread::spawn`].
#[track_caller]
pub fn spawn<F, T>(body: F) -> JoinHandle<T>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    let (run, returned) = returning(body);
    // SAFETY: it borrows nothing: `F` and `T` are `'static`.
    let thread = unsafe { Started::spawn(None, Box::new(run)) };
    JoinHandle { thread: thread.expect("the system gives no more threads"), returned }
}

/// As [`start`](super::start).
#[track_caller]
pub(super) fn named<F, T>(name: &str, body: F) -> std::io::Result<JoinHandle<T>>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    let (run, returned) = returning(body);
    // SAFETY: it borrows nothing: `F` and `T` are `'static`.
    let thread = unsafe { Started::spawn(Some(Spec { name, ..Spec::default() }), Box::new(run)) }?;
    Ok(JoinHandle { thread, returned })
}

/// Starts threads that may borrow, as [`std::thread::Scope`].
pub struct Scope<'scope, 'env: 'scope> {
    /// Every thread of the scope.
    threads: Mutex<Vec<Arc<Started>>>,
    // Invariant in both, as the standard library's: a shorter 'scope would let a thread outlive what it borrows.
    _scope: PhantomData<&'scope mut &'scope ()>,
    _env: PhantomData<&'env mut &'env ()>,
}

impl fmt::Debug for Scope<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scope").finish_non_exhaustive()
    }
}

/// A started thread of a scope, as [`std::thread::ScopedJoinHandle`].
pub struct ScopedJoinHandle<'scope, T> {
    thread: Arc<Started>,
    returned: Returned<T>,
    _scope: PhantomData<&'scope mut &'scope ()>,
}

impl<T> ScopedJoinHandle<'_, T> {
    /// Waits until the thread has ended. Gives what it returned, or the panic that ended it.
    #[track_caller]
    pub fn join(self) -> Result<T> {
        self.thread.wait().and_then(|()| take(&self.returned))
    }
}

impl<T> fmt::Debug for ScopedJoinHandle<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScopedJoinHandle").finish_non_exhaustive()
    }
}

impl<'scope> Scope<'scope, '_> {
    /// Starts a thread that ends before the scope does.
    #[track_caller]
    pub fn spawn<F, T>(&'scope self, body: F) -> ScopedJoinHandle<'scope, T>
    where
        F: FnOnce() -> T + Send + 'scope,
        T: Send + 'scope,
    {
        self.try_spawn(None, body).expect("the system gives no more threads")
    }

    /// Takes the thread out that was started first. A thread has a smaller number than those that it starts, so what is waited for does not
    /// depend on how far a thread came that nobody has waited for: an engine that replays an execution may run it earlier.
    fn next(&self) -> Option<Arc<Started>> {
        let mut threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        let first = (0..threads.len()).min_by_key(|&at| threads[at].number())?;
        Some(threads.swap_remove(first))
    }

    #[track_caller]
    fn try_spawn<F, T>(&'scope self, spec: Option<Spec<'_>>, body: F) -> std::io::Result<ScopedJoinHandle<'scope, T>>
    where
        F: FnOnce() -> T + Send + 'scope,
        T: Send + 'scope,
    {
        let (run, returned) = returning(body);
        // SAFETY: `scope` waits for every thread in `threads` before it returns or unwinds, and 'scope outlives that.
        let thread = Arc::new(unsafe { Started::spawn(spec, Box::new(run)) }?);
        self.threads.lock().unwrap_or_else(PoisonError::into_inner).push(thread.clone());
        Ok(ScopedJoinHandle { thread, returned, _scope: PhantomData })
    }
}

/// Runs `body`, and returns when all threads that it started in its scope have ended; as [`std::thread::scope`].
///
/// Under an engine a panic in `body` ends the run, like one that ends a thread.
///
/// # Panics
///
/// If `body` panics, or a thread that nobody joined.
#[track_caller]
pub fn scope<'env, F, T>(body: F) -> T
where
    F: for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> T,
{
    let scope = Scope { threads: Mutex::new(Vec::new()), _scope: PhantomData, _env: PhantomData };
    let result = catch_unwind(AssertUnwindSafe(|| body(&scope)));
    if let Err(panic) = &result
        && let Some(engine) = engine::current()
    {
        engine.panicked(&**panic);
    }
    let mut panicked = false;
    // A thread may start others while we wait, so the list is looked at until it stays empty.
    while let Some(thread) = scope.next() {
        panicked |= thread.wait().is_err();
    }
    match result {
        Err(panic) => resume_unwind(panic),
        Ok(_) if panicked => panic!("a scoped thread panicked"),
        Ok(value) => value,
    }
}

/// Starts a thread that ends before the scope does.
///
/// # Errors
///
/// If the system gives no more threads. An engine gives as many as it is asked for.
#[track_caller]
pub fn try_spawn<'scope, F>(scope: &'scope Scope<'scope, '_>, spec: Spec<'_>, body: F) -> std::io::Result<()>
where
    F: FnOnce() + Send + 'scope,
{
    scope.try_spawn(Some(spec), body).map(drop)
}

/// Starts a thread that nobody waits for.
///
/// # Errors
///
/// If the system gives no more threads. An engine gives as many as it is asked for. `body` is dropped.
#[track_caller]
pub fn try_start<F>(spec: Spec<'_>, body: F) -> std::io::Result<()>
where
    F: FnOnce() + Send + 'static,
{
    match engine::current() {
        Some(engine) => _ = engine.spawn(Box::new(body), Location::caller()),
        None => drop(spec.builder().spawn(body)?),
    }
    Ok(())
}
