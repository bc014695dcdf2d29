//! An executor, as its users have it.

use crate::build::{Builder, StartError};
use crate::join::JoinHandle;
use crate::local::{Bwos, LocalQueue};
use crate::shared::Shared;
use crate::worker::{Context, Worker};
use core::fmt;
use core::future::Future;
use core::marker::PhantomData;
use std::panic::resume_unwind;
use thalweg_sync::fence;
use thalweg_sync::sync::Arc;
use thalweg_sync::thread;

/// Workers that run futures. `Q` is the form of their local queues.
///
/// Dropping it ends it: tasks that are left are cancelled, polls that are under way end, and the workers with them.
///
/// ```
/// use thalweg_executor::{Executor, block_on};
///
/// let executor = Executor::new()?;
/// let task = executor.spawn(async { 6 * 7 });
/// assert_eq!(block_on(task).unwrap(), 42);
/// # Ok::<(), thalweg_executor::StartError>(())
/// ```
pub struct Executor<Q: LocalQueue = Bwos> {
    shared: Arc<Shared>,
    threads: Vec<thread::JoinHandle<()>>,
    _queue: PhantomData<fn() -> Q>,
}

impl Executor {
    /// As many workers as the process may run threads at once.
    ///
    /// # Errors
    ///
    /// If the system gives no more threads.
    pub fn new() -> Result<Self, StartError> {
        Self::builder().start()
    }

    /// An executor with settings.
    pub fn builder() -> Builder {
        Builder::new()
    }
}

impl<Q: LocalQueue> Executor<Q> {
    pub(crate) fn start(workers: usize, name: &str) -> Result<Self, StartError> {
        fence::prepare();
        let shared = Arc::new(Shared::new(workers));
        let (queues, thieves): (Vec<Q>, Vec<_>) = (0..workers).map(|_| Q::new()).unzip();
        let thieves: Arc<[Q::Thief]> = thieves.into();
        let mut executor = Self { shared, threads: Vec::new(), _queue: PhantomData };
        for (index, queue) in queues.into_iter().enumerate() {
            let (shared, thieves) = (executor.shared.clone(), thieves.clone());
            let work = move || Worker::new(shared, index, queue, thieves).run();
            match thread::start(&format!("{name}-{index}"), work) {
                Ok(thread) => executor.threads.push(thread),
                Err(error) => return Err(StartError::NoThread { started: index, error }),
            }
        }
        Ok(executor)
    }

    /// Starts a task: from any thread, and from a task.
    ///
    /// In a task of this executor it goes to the place that its worker looks at next, else to the queue of all workers.
    pub fn spawn<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        Shared::spawn(&self.shared, future)
    }

    /// Runs a future as a task, and waits for its end on this thread.
    ///
    /// # Panics
    ///
    /// With what the future panics with; and in a task of an executor, as [`block_on`](crate::block_on).
    pub fn run<F>(&self, future: F) -> F::Output
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        match crate::block_on(self.spawn(future)) {
            Ok(output) => output,
            Err(error) => match error.into_panic() {
                Some(panic) => resume_unwind(panic),
                None => unreachable!("nobody else has the handle, and the executor is not dropped: `self` is borrowed"),
            },
        }
    }

    /// How many workers there are.
    pub fn workers(&self) -> usize {
        self.threads.len()
    }

    /// What the workers have done until now, or lately.
    ///
    /// ```
    /// use thalweg_executor::Executor;
    ///
    /// let executor = Executor::new()?;
    /// executor.run(async {});
    /// assert_eq!(executor.counts().polls, 1);
    /// # Ok::<(), thalweg_executor::StartError>(())
    /// ```
    pub fn counts(&self) -> Counts {
        let mut counts = Counts::default();
        self.shared.tallies.iter().for_each(|tally| tally.add_to(&mut counts));
        counts
    }
}

impl<Q: LocalQueue> Drop for Executor<Q> {
    fn drop(&mut self) {
        self.shared.end();
        // A task that drops its own executor does not wait for its own worker (E2).
        let own = Context::of(&self.shared, |context| context.index);
        for (index, thread) in self.threads.drain(..).enumerate() {
            if own != Some(index) {
                // Panics of tasks do not come here, and workers have none of their own.
                let _ = thread.join();
            }
        }
        self.shared.empty();
    }
}

impl<Q: LocalQueue> fmt::Debug for Executor<Q> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Executor").field("workers", &self.workers()).finish_non_exhaustive()
    }
}

/// Starts a task on the executor whose task calls.
///
/// # Panics
///
/// Outside of a task: [`Executor::spawn`] is for there.
///
/// ```
/// use thalweg_executor::{Executor, spawn};
///
/// let executor = Executor::new()?;
/// let six = executor.run(async {
///     let child = spawn(async { 3 });
///     2 * child.await.unwrap()
/// });
/// assert_eq!(six, 6);
/// # Ok::<(), thalweg_executor::StartError>(())
/// ```
pub fn spawn<F>(future: F) -> JoinHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    let shared = Context::current(Context::shared);
    Shared::spawn(&shared.expect("spawn outside of a task: take Executor::spawn there"), future)
}

/// What the workers of an executor have done: see [`Executor::counts`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counts {
    /// How often tasks were polled.
    pub polls: u64,
    /// How many tasks were stolen from another worker. A task counts each time.
    pub stolen: u64,
    /// In how many steals.
    pub steals: u64,
    /// How often a worker went to sleep.
    pub sleeps: u64,
}
