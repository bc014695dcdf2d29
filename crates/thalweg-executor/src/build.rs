//! What an executor is made of.

use crate::Executor;
use crate::local::{Bwos, LocalQueue};
use crate::worker::MOST_WORKERS;
use core::fmt;
use core::marker::PhantomData;
use std::io;
use thalweg_sync::thread;

/// The settings of an [`Executor`].
///
/// ```
/// use thalweg_executor::{Executor, Ring};
///
/// let executor = Executor::builder().workers(2).name("web").queue::<Ring>().start()?;
/// assert_eq!(executor.workers(), 2);
/// # Ok::<(), thalweg_executor::StartError>(())
/// ```
pub struct Builder<Q: LocalQueue = Bwos> {
    workers: Option<usize>,
    name: String,
    _queue: PhantomData<fn() -> Q>,
}

impl Builder {
    pub(crate) fn new() -> Self {
        Self { workers: None, name: "executor".to_owned(), _queue: PhantomData }
    }
}

impl<Q: LocalQueue> Builder<Q> {
    /// How many workers: threads that run tasks. Otherwise as many threads as the process may run at once.
    pub fn workers(mut self, workers: usize) -> Self {
        self.workers = Some(workers);
        self
    }

    /// What the system calls the workers: the name and a number. Otherwise `executor`.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// The form of the workers' local queues. Otherwise [`Bwos`].
    pub fn queue<P: LocalQueue>(self) -> Builder<P> {
        Builder { workers: self.workers, name: self.name, _queue: PhantomData }
    }

    /// Starts the workers.
    ///
    /// # Errors
    ///
    /// If there are to be no workers or too many, or the system gives no more threads.
    pub fn start(self) -> Result<Executor<Q>, StartError> {
        let workers = self.workers.unwrap_or_else(thread::available_parallelism);
        if !(1..=MOST_WORKERS).contains(&workers) {
            return Err(StartError::Workers { workers });
        }
        Executor::start(workers, &self.name)
    }
}

impl<Q: LocalQueue> fmt::Debug for Builder<Q> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { workers, name, _queue } = self;
        f.debug_struct("Builder").field("workers", workers).field("name", name).finish()
    }
}

/// Why an executor did not start.
#[derive(Debug)]
#[non_exhaustive]
pub enum StartError {
    /// No workers, or too many.
    Workers {
        /// How many were asked for.
        workers: usize,
    },
    /// The system gives no more threads. Those that had been started have ended.
    NoThread {
        /// How many had been started.
        started: usize,
        /// What the system said.
        error: io::Error,
    },
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Workers { workers } => write!(f, "an executor has 1 to {MOST_WORKERS} workers, not {workers}"),
            Self::NoThread { started, error } => {
                write!(f, "the system gave {started} threads and no more: {error}; ask for fewer workers")
            }
        }
    }
}

impl core::error::Error for StartError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::NoThread { error, .. } => Some(error),
            Self::Workers { .. } => None,
        }
    }
}
