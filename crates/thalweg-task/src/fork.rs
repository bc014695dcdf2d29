//! Two calls that may run at the same time.
//!
//! # Invariants
//!
//! - **F1** A [`Half`] lives on the stack of the task that forked. It is in a queue, or was taken from one by the forking task itself, or by a
//!   worker that makes a task of it: by exactly one of them. In the last case the forking task waits for its end whatever happens.
//! - **F2** Its body and its result belong to whoever took it, until the end.

use crate::end::End;
use crate::task::TaskRef;
use crate::wait::{Reason, Waiter, or_abandon};
use crate::worker::Worker;
use core::ptr::NonNull;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use thalweg_sync::cell::Slot;

/// What has not begun.
pub(crate) enum Item {
    Task(TaskRef),
    Half(HalfRef),
}

/// The second call of a fork: what all have. The call comes behind it.
#[repr(C)]
pub(crate) struct Half {
    run: unsafe fn(NonNull<Half>),
    end: End,
}

/// A half on its way to whoever runs it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct HalfRef(NonNull<Half>);

// SAFETY: the call is `Send`, and one thread has it at a time (F2).
unsafe impl Send for HalfRef {}

#[repr(C)]
struct Forked<F, R> {
    half: Half,
    body: Slot<Option<F>>,
    result: Slot<Option<std::thread::Result<R>>>,
}

impl HalfRef {
    /// Runs the call, as a task of its own. The half may be gone when this returns.
    pub(crate) fn run(self) {
        // SAFETY: the half is there until its end (F1), and was made for this.
        unsafe { (self.0.as_ref().run)(self.0) };
    }
}

unsafe fn run<F: FnOnce() -> R, R>(half: NonNull<Half>) {
    // SAFETY: the header is where the whole is, and the whole is there until the end (F1).
    let forked = unsafe { half.cast::<Forked<F, R>>().as_ref() };
    // SAFETY: F2.
    let body = forked.body.with_mut(|body| unsafe { (*body).take() }).expect("a half runs once");
    let result = catch_unwind(AssertUnwindSafe(body));
    // SAFETY: F2.
    forked.result.with_mut(|place| unsafe { *place = Some(result) });
    forked.half.end.finish();
}

/// Runs both, at the same time if another worker has nothing to do, and gives what they return. They may borrow.
///
/// The first runs here. The second is kept for thieves meanwhile; if none has come, it runs here too, as a plain call: then a fork costs some
/// ten nanoseconds. On another worker it is a task of its own. So divide and conquer needs no threshold for the sake of the tasks, only for that of the work.
///
/// The caller waits for both in any case. A cancelled task's halves end at their own waits. Outside of tasks one runs after the other.
///
/// # Panics
///
/// If one of the two does, with its panic; with the first one's if both do.
///
/// ```
/// use thalweg_task::{Runtime, fork};
///
/// fn fib(n: u64) -> u64 {
///     if n < 2 {
///         return n;
///     }
///     let (a, b) = fork(|| fib(n - 1), || fib(n - 2));
///     a + b
/// }
/// let runtime = Runtime::builder().workers(2).start()?;
/// assert_eq!(runtime.run(|| fib(20)), 6765);
/// # Ok::<(), thalweg_task::StartError>(())
/// ```
#[inline]
pub fn fork<A, B, RA, RB>(first: A, second: B) -> (RA, RB)
where
    A: FnOnce() -> RA + Send,
    B: FnOnce() -> RB + Send,
    RA: Send,
    RB: Send,
{
    let Some(worker) = Worker::with(|worker| worker.current().map(|_| NonNull::from(worker))).flatten() else {
        return (first(), second());
    };
    // SAFETY: a task stays on its worker, which lives as long as it.
    let worker = unsafe { worker.as_ref() };
    let forked = Forked {
        half: Half { run: run::<B, RB>, end: End::new() },
        body: Slot::new(Some(second)),
        result: Slot::new(None),
    };
    let half = HalfRef(NonNull::from(&forked).cast());
    worker.push(Item::Half(half));
    let a = catch_unwind(AssertUnwindSafe(first));
    if or_abandon(|| worker.take_back(half)) {
        let body = forked.body.into_inner().expect("nobody else has run it");
        return match a {
            Ok(a) => (a, body()),
            Err(panic) => resume_unwind(panic),
        };
    }
    wait(&forked.half);
    match (a, forked.result.into_inner().expect("whoever took it has left it")) {
        (Ok(a), Ok(b)) => (a, b),
        (Err(panic), _) | (_, Err(panic)) => resume_unwind(panic),
    }
}

/// Waits for a half that somebody else runs.
#[cold]
fn wait(half: &Half) {
    let waiter = Waiter::new();
    // SAFETY: whoever forked is the one joiner, and asks once.
    if unsafe { half.end.enlist(waiter.ticket()) } {
        waiter.sleep_borrowed(Reason::Fork);
    }
}
