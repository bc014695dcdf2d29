//! Handles of tasks, and how tasks end.

use crate::TaskId;
use crate::task::{Failed, Outcome};
use crate::wait::{self, Outsider, Reason, Ticket, Waiter, Woken};
use crate::worker::Worker;
use core::fmt;
use core::pin::Pin;
use core::task::{Context, Poll};
use std::any::Any;
use thalweg_sync::sync::Arc;
use thalweg_sync::time::{self, Duration, Instant};

/// A task that was started: waits for its end, and cancels it.
///
/// Dropping it lets the task run on; its result is dropped when it ends.
///
/// It is a future too: `handle.await` is [`join`](Self::join), on any executor.
pub struct JoinHandle<T> {
    outcome: Outcome<T>,
    state: State,
}

enum State {
    Held,
    /// It was polled, and left this with the task.
    Polled(Arc<Outsider>),
    /// The result is gone.
    Taken,
}

impl<T> fmt::Debug for JoinHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinHandle").field("task", &self.outcome.task).field("ended", &self.is_ended()).finish()
    }
}

impl<T> JoinHandle<T> {
    pub(crate) fn new(outcome: Outcome<T>) -> Self {
        Self { outcome, state: State::Held }
    }

    /// The task.
    pub fn id(&self) -> TaskId {
        self.outcome.task.id
    }

    /// Whether the task has ended. Then `join` does not wait.
    pub fn is_ended(&self) -> bool {
        self.outcome.task.has_ended()
    }

    /// Asks the task to end: it unwinds at the wait that it is in, or at its next one. One that has not begun never does.
    ///
    /// A task that has ended stays as it is. So does one that never waits; it may ask [`is_cancelled`](crate::is_cancelled).
    pub fn cancel(&self) {
        self.outcome.task.cancel();
    }

    /// Waits until the task has ended. Gives what it returned.
    ///
    /// From a task, by switching stacks; a child that nobody has begun runs next. From a thread, by sleeping.
    ///
    /// # Errors
    ///
    /// If the task panicked, was cancelled, or got no stack.
    pub fn join(mut self) -> Result<T, JoinError> {
        self.wait(None);
        self.take()
    }

    /// As [`join`](Self::join), but gives the handle back if the task has not ended after `timeout`.
    ///
    /// ```
    /// use std::time::Duration;
    /// use thalweg_task::{Runtime, sleep};
    ///
    /// let runtime = Runtime::builder().workers(1).start()?;
    /// let task = runtime.spawn(|| sleep(Duration::from_secs(3600)));
    /// let task = task.join_timeout(Duration::from_millis(1)).expect_err("it sleeps for an hour");
    /// task.cancel();
    /// assert!(task.join().unwrap_err().is_cancelled());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn join_timeout(mut self, timeout: Duration) -> Result<Result<T, JoinError>, Self> {
        match self.wait(Some(time::now().after(timeout))) {
            true => Ok(self.take()),
            false => Err(self),
        }
    }

    /// Waits until the task has ended, or the deadline. True if it has ended.
    fn wait(&mut self, deadline: Option<Instant>) -> bool {
        wait::end_if_cancelled();
        self.leave();
        let task = &self.outcome.task;
        if task.has_ended() {
            return true;
        }
        let waiter = Waiter::new();
        // SAFETY: a handle is the one joiner, and `leave` has taken back what it had left.
        if !unsafe { task.end().enlist(waiter.ticket()) } {
            return true;
        }
        self.begin_next();
        let reason = Reason::Join(task.id);
        let woken = waiter.sleep(reason, deadline);
        if matches!(woken, Woken::Granted(_)) {
            return true;
        }
        if !task.end().delist() {
            // It ends just now, and who ends it has our ticket: that must be gone before our next wait (G2).
            waiter.sleep_on(reason);
            return true;
        }
        match woken {
            Woken::Cancelled => wait::end(),
            _ => false,
        }
    }

    /// Waits until the task has ended, whatever happens to the caller.
    pub(crate) fn wait_for_good(&self) {
        let task = &self.outcome.task;
        if task.has_ended() {
            return;
        }
        let waiter = Waiter::new();
        // SAFETY: a handle is the one joiner, and this one was not polled: only `Runtime::run` and scopes call this.
        if unsafe { task.end().enlist(waiter.ticket()) } {
            self.begin_next();
            waiter.sleep_borrowed(Reason::Join(task.id));
        }
    }

    /// If nobody has begun the task and it is the newest here, it is what the caller waits for: it runs next.
    fn begin_next(&self) {
        if self.outcome.task.home().is_none() {
            Worker::with(|worker| worker.run_next_if_newest(&self.outcome.task));
        }
    }

    /// The result. The task has ended.
    fn take(&mut self) -> Result<T, JoinError> {
        self.state = State::Taken;
        // SAFETY: it has ended, and a handle takes the result once: it is used up.
        unsafe { self.outcome.take() }.map_err(|failed| JoinError { id: self.outcome.task.id, failed })
    }

    /// Takes back what `poll` has left with the task.
    fn leave(&mut self) {
        if matches!(self.state, State::Polled(_)) {
            self.outcome.task.end().delist();
            self.state = State::Held;
        }
    }
}

impl<T> Future for JoinHandle<T> {
    type Output = Result<T, JoinError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        assert!(!matches!(this.state, State::Taken), "a JoinHandle was polled after it had given its result");
        if let State::Polled(outsider) = &this.state {
            outsider.polled_with(cx.waker());
        } else if !this.outcome.task.has_ended() {
            let outsider = Outsider::future(cx.waker().clone());
            // SAFETY: a handle is the one joiner, and it has left nothing yet.
            if unsafe { this.outcome.task.end().enlist(Ticket::Outsider(outsider.clone())) } {
                this.state = State::Polled(outsider);
                return Poll::Pending;
            }
        }
        match this.outcome.task.has_ended() {
            true => Poll::Ready(this.take()),
            false => Poll::Pending,
        }
    }
}

// No field is pinned.
impl<T> Unpin for JoinHandle<T> {}

impl<T> Drop for JoinHandle<T> {
    fn drop(&mut self) {
        self.leave();
        if !matches!(self.state, State::Taken) {
            // SAFETY: the one joiner, for the last time, and the result was not taken.
            unsafe { self.outcome.task.detach() };
        }
    }
}

/// Why a task did not return.
pub struct JoinError {
    id: TaskId,
    failed: Failed,
}

// SAFETY: a panic's payload is reached by value only, or, as text, through types that are `Sync`.
unsafe impl Sync for JoinError {}

impl JoinError {
    /// The task.
    pub fn id(&self) -> TaskId {
        self.id
    }

    /// Whether the task was cancelled.
    pub fn is_cancelled(&self) -> bool {
        matches!(self.failed, Failed::Cancelled)
    }

    /// The panic that ended the task, if one did.
    pub fn into_panic(self) -> Result<Box<dyn Any + Send>, Self> {
        match self.failed {
            Failed::Panicked(panic) => Ok(panic),
            failed => Err(Self { id: self.id, failed }),
        }
    }

    /// Goes on with the panic that ended the task; or panics with the reason why it did not return.
    pub fn resume(self) -> ! {
        match self.into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(error) => panic!("{error}"),
        }
    }

    /// What the panic said.
    fn message(&self) -> Option<&str> {
        match &self.failed {
            Failed::Panicked(panic) => {
                let text = panic.downcast_ref::<&str>().copied();
                Some(
                    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str))
                        .unwrap_or("a value that is not text"),
                )
            }
            _ => None,
        }
    }
}

impl fmt::Debug for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "JoinError({self})")
    }
}

impl fmt::Display for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let id = self.id;
        match (&self.failed, self.message()) {
            (Failed::NoStack(error), _) => write!(
                f,
                "task {id} got no stack: {error}; have fewer tasks begun at a time, smaller stacks, or more mappings (vm.max_map_count)"
            ),
            (_, Some(message)) => write!(f, "task {id} panicked: {message}"),
            _ => write!(f, "task {id} was cancelled"),
        }
    }
}

impl core::error::Error for JoinError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match &self.failed {
            Failed::NoStack(error) => Some(error),
            _ => None,
        }
    }
}
