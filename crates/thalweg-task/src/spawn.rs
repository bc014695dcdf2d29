//! What a task can do: start others, let others run, sleep.

use crate::TaskId;
use crate::fork::Item;
use crate::join::JoinHandle;
use crate::scope::Scoped;
use crate::task::{Outcome, TaskRef};
use crate::wait::{self, Reason, Running, Waiter, Woken};
use crate::worker::Worker;
use core::ptr::NonNull;
use thalweg_sync::sync::Arc;
use thalweg_sync::thread;
use thalweg_sync::time::{self, Duration, Instant};

/// Starts a task of the calling task's runtime. It runs when a worker comes to it: the newest first on this one, the oldest first on
/// those that have nothing else to do.
///
/// # Panics
///
/// Outside of a task; there, use [`Runtime::spawn`](crate::Runtime::spawn).
///
/// ```
/// use thalweg_task::{Runtime, spawn};
///
/// let runtime = Runtime::builder().workers(2).start()?;
/// let sum = runtime.run(|| {
///     let parts: Vec<_> = (0..4).map(|n| spawn(move || n * n)).collect();
///     parts.into_iter().map(|part| part.join().unwrap()).sum::<i32>()
/// });
/// assert_eq!(sum, 14);
/// # Ok::<(), thalweg_task::StartError>(())
/// ```
#[track_caller]
pub fn spawn<F, T>(body: F) -> JoinHandle<T>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    Options::new().spawn(body)
}

/// As [`spawn`], but the new task runs at once, on this worker; the caller goes behind those that can run.
///
/// # Panics
///
/// Outside of a task.
///
/// ```
/// use thalweg_task::{Runtime, spawn_now};
///
/// let runtime = Runtime::builder().workers(1).start()?;
/// runtime.run(|| {
///     let child = spawn_now(|| 7);
///     assert!(child.is_ended(), "it ran before `spawn_now` returned");
/// });
/// # Ok::<(), thalweg_task::StartError>(())
/// ```
#[track_caller]
pub fn spawn_now<F, T>(body: F) -> JoinHandle<T>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    Options::new().spawn_now(body)
}

/// What a new task is called, and where it runs.
///
/// ```
/// use thalweg_task::{Options, Runtime, current};
///
/// let runtime = Runtime::builder().workers(2).group("disk", [1]).start()?;
/// runtime.run(|| {
///     let task = Options::new().name("flush").group("disk").spawn(|| current().unwrap());
///     let flush = task.join().unwrap();
///     assert_eq!((flush.name(), flush.worker()), (Some("flush"), 1));
/// });
/// # Ok::<(), thalweg_task::StartError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Options {
    name: Option<Arc<str>>,
    group: Option<String>,
}

impl Options {
    /// No name, any worker.
    pub fn new() -> Self {
        Self::default()
    }

    /// A name, for whoever looks at the task: [`current`].
    pub fn name(mut self, name: &str) -> Self {
        self.name = Some(name.into());
        self
    }

    /// An affinity group of the runtime: [`Builder::group`](crate::Builder::group).
    pub fn group(mut self, name: &str) -> Self {
        self.group = Some(name.to_owned());
        self
    }

    /// Starts a task, as [`spawn`].
    ///
    /// # Panics
    ///
    /// Outside of a task, or if the runtime has no such group.
    #[track_caller]
    pub fn spawn<F, T>(&self, body: F) -> JoinHandle<T>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        // SAFETY: it borrows nothing: `F` and `T` are `'static`.
        JoinHandle::new(unsafe { self.start(body, false, None) })
    }

    /// Starts a task that runs at once, as [`spawn_now`]. One of a group that this worker is not in waits for one that is.
    ///
    /// # Panics
    ///
    /// As [`spawn`](Self::spawn).
    #[track_caller]
    pub fn spawn_now<F, T>(&self, body: F) -> JoinHandle<T>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        // SAFETY: as above.
        JoinHandle::new(unsafe { self.start(body, true, None) })
    }

    /// # Safety
    ///
    /// As [`TaskRef::new`]; `scope` waits for the task.
    #[track_caller]
    pub(crate) unsafe fn start<F, T>(&self, body: F, now: bool, scope: Option<&Scoped>) -> Outcome<T>
    where
        F: FnOnce() -> T + Send,
        T: Send,
    {
        let outcome = Worker::with(|worker| {
            worker.current()?;
            let shared = &worker.shared;
            let group = self.group.as_ref().map(|name| {
                let group = shared.groups.iter().position(|group| group.name == *name);
                group.unwrap_or_else(|| no_group(name, shared.groups.iter().map(|group| &*group.name)))
            });
            let mut settings = shared.settings(Some(worker.index), self.name.clone(), group);
            settings.scope = scope.map(|scope| {
                scope.enter();
                NonNull::from(scope)
            });
            // SAFETY: the caller's promise.
            let (task, outcome) = unsafe { TaskRef::new(settings, body) };
            match group {
                Some(group) if !(now && shared.groups[group].workers.contains(&worker.index)) => {
                    shared.inject(task, false)
                }
                _ if now => {
                    worker.run_next(task.into_pointer());
                    worker.switch();
                }
                _ => worker.push(Item::Task(task)),
            }
            Some(outcome)
        });
        outcome.flatten().unwrap_or_else(|| no_task("tasks are started by tasks; elsewhere, by `Runtime::spawn`"))
    }
}

#[cold]
#[track_caller]
fn no_group<'a>(name: &str, groups: impl Iterator<Item = &'a str>) -> ! {
    let groups: Vec<_> = groups.collect();
    panic!("there is no group {name:?} but {groups:?}: `Builder::group` makes them");
}

#[cold]
#[track_caller]
fn no_task(what: &str) -> ! {
    panic!("no task runs here: {what}");
}

/// Lets other tasks of this worker run first, if any can; outside of tasks, other threads. A cancelled task ends here.
// Inlined to the last, as all that leaves a stack often: a processor predicts returns by the calls before them, and calls on a stack that
// is left have no returns there.
#[inline(always)]
pub fn yield_now() {
    match Worker::with(|worker| worker.current().map(|task| (core::ptr::from_ref(worker), task))).flatten() {
        Some((worker, task)) => {
            // SAFETY: the task runs on this worker, and lives while it does. So does the worker.
            let (worker, task) = unsafe { (&*worker, task.as_ref()) };
            if task.is_cancelled() {
                wait::end_if_cancelled();
            }
            worker.yields();
        }
        None => thread::yield_now(),
    }
}

/// Does nothing for `time`; others run meanwhile. A cancelled task ends here.
///
/// ```
/// use std::time::Duration;
/// use thalweg_task::{Runtime, sleep};
///
/// let runtime = Runtime::builder().workers(1).start()?;
/// runtime.run(|| sleep(Duration::from_millis(1)));
/// # Ok::<(), thalweg_task::StartError>(())
/// ```
pub fn sleep(time: Duration) {
    sleep_until(time::now().after(time));
}

/// Does nothing until the clock shows `deadline`. A cancelled task ends here.
pub fn sleep_until(deadline: Instant) {
    wait::end_if_cancelled();
    if Running::get().is_none() {
        return thread::sleep(deadline.since(time::now()));
    }
    if Waiter::new().sleep(Reason::Sleep, Some(deadline)) == Woken::Cancelled {
        wait::end();
    }
}

/// Whether the calling task was cancelled: for those that compute for long without a wait. False outside of tasks.
pub fn is_cancelled() -> bool {
    Running::get().is_some_and(|task| task.is_cancelled())
}

/// The calling task; none outside of tasks.
pub fn current() -> Option<Current> {
    let task = Running::get()?;
    Worker::with(|worker| Current { id: task.id, name: task.name.clone(), worker: worker.index })
}

/// A task, as [`current`] describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Current {
    id: TaskId,
    name: Option<Arc<str>>,
    worker: usize,
}

impl Current {
    /// Its number.
    pub fn id(&self) -> TaskId {
        self.id
    }

    /// Its name, if it was given one.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// The worker that it runs on, for good.
    pub fn worker(&self) -> usize {
        self.worker
    }
}
