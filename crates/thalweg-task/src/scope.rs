//! Tasks that borrow.

use crate::join::{JoinError, JoinHandle};
use crate::short::Short;
use crate::spawn::Options;
use crate::wait::{Reason, Ticket, Waiter};
use core::fmt;
use core::marker::PhantomData;
use core::ptr::NonNull;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use thalweg_sync::atomic::Ordering::{AcqRel, Relaxed};
use thalweg_sync::atomic::{AtomicBool, AtomicUsize};

/// What a scope and its tasks share. It lives on the stack of the scope's owner.
pub(crate) struct Scoped {
    /// How many tasks have not ended; and one more until the owner waits.
    left: AtomicUsize,
    owner: Short<Option<Ticket>>,
    panicked: AtomicBool,
}

impl Scoped {
    /// A task is spawned.
    pub(crate) fn enter(&self) {
        // Relaxed: whoever spawns is counted itself, so the count does not fall to 0 meanwhile.
        self.left.fetch_add(1, Relaxed);
    }

    /// A task has ended, and nothing of it is left that borrows.
    ///
    /// # Safety
    ///
    /// Called once for each [`enter`](Self::enter). The scope may be gone when this returns.
    pub(crate) unsafe fn leave(scope: NonNull<Self>) {
        // SAFETY: the owner waits until it is told, which is what we do last.
        let scope = unsafe { scope.as_ref() };
        // (scope.1) Release and Acquire, pairs with itself: what all tasks did is visible to the last one, and by its grant to the owner.
        if scope.left.fetch_sub(1, AcqRel) == 1 {
            let owner = scope.owner.with(Option::take);
            owner.expect("the owner left a ticket before it counted itself out").grant(1);
        }
    }

    /// A task has panicked, and nobody has seen it.
    pub(crate) fn panicked(&self) {
        // Relaxed: ordered by `left`.
        self.panicked.store(true, Relaxed);
    }

    /// Waits for all tasks.
    fn wait(&self) {
        let waiter = Waiter::new();
        self.owner.with(|owner| *owner = Some(waiter.ticket()));
        // (scope.1) again.
        if self.left.fetch_sub(1, AcqRel) != 1 {
            waiter.sleep_borrowed(Reason::Scope);
        }
    }
}

/// Starts tasks that may borrow from around a [`scope`].
pub struct Scope<'scope, 'env: 'scope> {
    scoped: Scoped,
    // Invariant in both: a shorter 'scope would let a task outlive what it borrows.
    _scope: PhantomData<&'scope mut &'scope ()>,
    _env: PhantomData<&'env mut &'env ()>,
}

impl fmt::Debug for Scope<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scope").field("left", &self.scoped.left).finish_non_exhaustive()
    }
}

/// Runs `body`, and returns when all tasks that it started in its scope have ended. They may borrow from around it.
///
/// The calling task waits for them in any case: if it is cancelled, and if `body` panics.
///
/// # Panics
///
/// If `body` panics, or a task that nobody joined.
///
/// ```
/// use thalweg_task::{Runtime, scope};
///
/// let runtime = Runtime::builder().workers(2).start()?;
/// let mut numbers = [3, 1, 4, 1, 5, 9];
/// runtime.run(|| {
///     let (left, right) = numbers.split_at_mut(3);
///     scope(|scope| {
///         scope.spawn(|| left.sort_unstable());
///         right.sort_unstable();
///     });
/// });
/// assert_eq!(numbers, [1, 3, 4, 1, 5, 9]);
/// # Ok::<(), thalweg_task::StartError>(())
/// ```
pub fn scope<'env, F, T>(body: F) -> T
where
    F: for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> T,
{
    let scoped = Scoped { left: AtomicUsize::new(1), owner: Short::new(None), panicked: AtomicBool::new(false) };
    let scope = Scope { scoped, _scope: PhantomData, _env: PhantomData };
    let result = catch_unwind(AssertUnwindSafe(|| body(&scope)));
    scope.scoped.wait();
    match result {
        Err(panic) => resume_unwind(panic),
        // Relaxed: see `Scoped::panicked`.
        Ok(_) if scope.scoped.panicked.load(Relaxed) => panic!("a scoped task panicked"),
        Ok(value) => value,
    }
}

impl<'scope> Scope<'scope, '_> {
    /// Starts a task that ends before the scope does; otherwise as [`spawn`](crate::spawn()).
    ///
    /// # Panics
    ///
    /// Outside of a task.
    #[track_caller]
    pub fn spawn<F, T>(&'scope self, body: F) -> ScopedJoinHandle<'scope, T>
    where
        F: FnOnce() -> T + Send + 'scope,
        T: Send + 'scope,
    {
        self.spawn_with(&Options::new(), body)
    }

    /// As [`spawn`](Self::spawn), with a name or a group.
    ///
    /// # Panics
    ///
    /// As [`Options::spawn`].
    #[track_caller]
    pub fn spawn_with<F, T>(&'scope self, options: &Options, body: F) -> ScopedJoinHandle<'scope, T>
    where
        F: FnOnce() -> T + Send + 'scope,
        T: Send + 'scope,
    {
        // SAFETY: `scope` waits for the task before it returns or unwinds; the closure is gone then, and the result: whoever ends the task
        // drops one that nobody asks for, and a handle lives no longer than 'scope.
        let outcome = unsafe { options.start(body, false, Some(&self.scoped)) };
        ScopedJoinHandle { handle: JoinHandle::new(outcome), _scope: PhantomData }
    }
}

/// A task of a [`scope`]. Dropping it leaves the task to the scope, which waits for it.
pub struct ScopedJoinHandle<'scope, T> {
    handle: JoinHandle<T>,
    _scope: PhantomData<&'scope ()>,
}

impl<T> fmt::Debug for ScopedJoinHandle<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.handle.fmt(f)
    }
}

impl<T> ScopedJoinHandle<'_, T> {
    /// As [`JoinHandle::join`].
    ///
    /// # Errors
    ///
    /// As there.
    pub fn join(self) -> Result<T, JoinError> {
        self.handle.join()
    }

    /// As [`JoinHandle::cancel`].
    pub fn cancel(&self) {
        self.handle.cancel();
    }

    /// As [`JoinHandle::is_ended`].
    pub fn is_ended(&self) -> bool {
        self.handle.is_ended()
    }
}
