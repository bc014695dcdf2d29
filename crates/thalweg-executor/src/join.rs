//! Handles of tasks, and how tasks end.

use crate::task::{Take, TaskRef};
use core::fmt;
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll};
use std::any::Any;

/// A task that was spawned: a future of its result.
///
/// Dropping it lets the task run on; its result is dropped when it ends. On a thread, [`block_on`](crate::block_on) waits for it.
///
/// ```
/// use thalweg_executor::{Executor, block_on};
///
/// let executor = Executor::new()?;
/// let task = executor.spawn(async { 6 * 7 });
/// assert_eq!(block_on(task).unwrap(), 42);
/// # Ok::<(), thalweg_executor::StartError>(())
/// ```
#[must_use = "a task runs on when its handle is dropped; its panic is then seen by nobody"]
pub struct JoinHandle<T> {
    task: TaskRef,
    take: Take<T>,
    taken: bool,
}

impl<T> JoinHandle<T> {
    /// The handle of a task that was made for `take`, and has `JOIN` set.
    pub(crate) fn new(task: TaskRef, take: Take<T>) -> Self {
        Self { task, take, taken: false }
    }

    /// Ends the task: its future is dropped on a worker, and the handle gives [`JoinError::Cancelled`].
    ///
    /// A poll that is under way ends first. If it ends the task, or the task has ended before, that counts.
    ///
    /// ```
    /// use thalweg_executor::{Executor, block_on};
    ///
    /// let executor = Executor::new()?;
    /// let task = executor.spawn(std::future::pending::<()>());
    /// task.abort();
    /// assert!(block_on(task).unwrap_err().is_cancelled());
    /// # Ok::<(), thalweg_executor::StartError>(())
    /// ```
    pub fn abort(&self) {
        self.task.abort();
    }

    /// Whether the task has ended. Then the handle is ready.
    pub fn is_finished(&self) -> bool {
        self.task.is_done()
    }
}

impl<T> Future for JoinHandle<T> {
    type Output = Result<T, JoinError>;

    /// # Panics
    ///
    /// If it has been ready before.
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        assert!(!self.taken, "the handle has given the task's result already");
        if !self.task.is_done() && !self.task.leave_waker(context.waker()) {
            return Poll::Pending;
        }
        self.taken = true;
        // SAFETY: `DONE` was seen and `JOIN` is set, so the result is ours (T3); `taken` says that it is taken once.
        Poll::Ready(unsafe { (self.take)(&self.task) })
    }
}

impl<T> Drop for JoinHandle<T> {
    fn drop(&mut self) {
        if self.task.detach() && !self.taken {
            // SAFETY: `JOIN` was set until now, and the task was done before: the result is ours (T3), and was not taken.
            drop(unsafe { (self.take)(&self.task) });
        }
    }
}

impl<T> fmt::Debug for JoinHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinHandle").field("finished", &self.is_finished()).finish_non_exhaustive()
    }
}

/// Why a task has no result.
pub enum JoinError {
    /// It was aborted, or its executor was dropped.
    Cancelled,
    /// It panicked, with this.
    Panicked(Box<dyn Any + Send>),
}

impl JoinError {
    /// Whether the task was aborted, or its executor dropped.
    pub fn is_cancelled(&self) -> bool {
        matches!(self, Self::Cancelled)
    }

    /// What the task panicked with, if it did: for [`resume_unwind`](std::panic::resume_unwind).
    pub fn into_panic(self) -> Option<Box<dyn Any + Send>> {
        match self {
            Self::Panicked(panic) => Some(panic),
            Self::Cancelled => None,
        }
    }

    fn message(&self) -> Option<&str> {
        let Self::Panicked(panic) = self else { return None };
        let text = panic.downcast_ref::<&str>().copied();
        text.or_else(|| panic.downcast_ref::<String>().map(String::as_str))
    }
}

impl fmt::Debug for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cancelled => f.write_str("Cancelled"),
            Self::Panicked(_) => f.debug_tuple("Panicked").field(&self.message()).finish(),
        }
    }
}

impl fmt::Display for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self, self.message()) {
            (Self::Cancelled, _) => f.write_str("the task was aborted, or its executor dropped"),
            (Self::Panicked(_), Some(message)) => write!(f, "the task panicked: {message}"),
            (Self::Panicked(_), None) => f.write_str("the task panicked"),
        }
    }
}

impl core::error::Error for JoinError {}
