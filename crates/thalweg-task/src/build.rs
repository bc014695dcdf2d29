//! What a runtime is made of.

use crate::Runtime;
use crate::runtime::Group;
use crate::watch::{Stall, Tell};
use core::fmt;
use std::io;
use thalweg_sync::thread;
use thalweg_sync::time::Duration;

/// The smallest stack: a panic's message and its unwinding need about half of it.
const LEAST_STACK: usize = 16 << 10;
/// What a stack has unless it is said. Memory is used as far as the stack was ever used, a page at a time.
const STACK: usize = 128 << 10;
/// More workers than any machine has.
pub(crate) const MOST_WORKERS: usize = 1 << 12;

/// Where a worker runs: which workers are near each other.
///
/// Plain numbers, of which only equality counts: workers of one `core` are siblings, those of one `cache` share a last level, those of
/// one `node` their memory. Thieves try siblings first, then the same cache, then the same node, then all others.
///
/// The runtime asks no system: whoever pins the workers knows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The core, of several hardware threads.
    pub core: usize,
    /// The cores that share a last-level cache.
    pub cache: usize,
    /// The memory node.
    pub node: usize,
}

/// The settings of a [`Runtime`].
///
/// ```
/// use thalweg_task::{Place, Runtime};
///
/// let runtime = Runtime::builder()
///     .workers(2)
///     .name("parse")
///     .stack_bytes(64 << 10)
///     .places([Place { core: 0, ..Place::default() }, Place { core: 1, ..Place::default() }])
///     .start()?;
/// assert_eq!(runtime.workers(), 2);
/// # Ok::<(), thalweg_task::StartError>(())
/// ```
#[derive(Clone)]
pub struct Builder {
    pub(crate) workers: usize,
    pub(crate) name: String,
    pub(crate) stack_bytes: usize,
    pub(crate) places: Option<Vec<Place>>,
    pub(crate) groups: Vec<Group>,
    pub(crate) watch: Option<(Duration, Tell)>,
}

impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { workers, name, stack_bytes, places, groups, watch } = self;
        f.debug_struct("Builder")
            .field("workers", workers)
            .field("name", name)
            .field("stack_bytes", stack_bytes)
            .field("places", places)
            .field("groups", groups)
            .field("watch", &watch.as_ref().map(|(after, _)| after))
            .finish()
    }
}

impl Builder {
    pub(crate) fn new() -> Self {
        Self {
            workers: thread::available_parallelism(),
            name: "task".to_owned(),
            stack_bytes: STACK,
            places: None,
            groups: Vec::new(),
            watch: None,
        }
    }

    /// How many workers: threads that run tasks. Otherwise as many threads as the process may run at once.
    pub fn workers(mut self, workers: usize) -> Self {
        self.workers = workers;
        self
    }

    /// What the system calls the workers: the name and a number. Otherwise `task`.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// How large the stack of a task is, in bytes. Otherwise 128 KiB. Memory is used as far as a stack is used, by pages; a task that uses more
    /// ends the process.
    pub fn stack_bytes(mut self, bytes: usize) -> Self {
        self.stack_bytes = bytes;
        self
    }

    /// Where each worker runs. Otherwise all are as near to each other.
    pub fn places(mut self, places: impl IntoIterator<Item = Place>) -> Self {
        self.places = Some(places.into_iter().collect());
        self
    }

    /// An affinity group: tasks that are spawned in it ([`Options::group`](crate::Options::group)) begin on these workers only, and stay
    /// there.
    pub fn group(mut self, name: impl Into<String>, workers: impl IntoIterator<Item = usize>) -> Self {
        self.groups.push(Group { name: name.into(), workers: workers.into_iter().collect() });
        self
    }

    /// Watches for tasks that do not let go of their worker: whose stretch without a wait or a yield takes longer than `after`. `tell` is
    /// called once for each, on a thread of its own, which sleeps while all workers do. 10 ms is a good limit: others wait that long.
    ///
    /// ```
    /// use std::sync::mpsc::channel;
    /// use std::time::Duration;
    /// use thalweg_task::Runtime;
    ///
    /// let (tx, rx) = channel();
    /// let tell = move |stall| drop(tx.send(stall));
    /// let runtime = Runtime::builder().workers(1).watch(Duration::from_millis(10), tell).start()?;
    /// let task = runtime.spawn(|| std::thread::sleep(Duration::from_millis(100))); // blocks the worker
    /// assert_eq!(rx.recv().unwrap().task, task.id());
    /// # task.join().unwrap();
    /// # Ok::<(), thalweg_task::StartError>(())
    /// ```
    pub fn watch(mut self, after: Duration, tell: impl Fn(Stall) + Send + Sync + 'static) -> Self {
        self.watch = Some((after, Tell::new(tell)));
        self
    }

    /// Starts the workers.
    ///
    /// # Errors
    ///
    /// If the settings do not fit together, which is found before anything is started; or if the system gives no more threads.
    pub fn start(self) -> Result<Runtime, StartError> {
        if !(1..=MOST_WORKERS).contains(&self.workers) {
            return Err(StartError::Workers { workers: self.workers });
        }
        if self.stack_bytes < LEAST_STACK {
            return Err(StartError::Stack { bytes: self.stack_bytes });
        }
        if let Some(places) = self.places.as_ref().map(Vec::len).filter(|&places| places != self.workers) {
            return Err(StartError::Places { places, workers: self.workers });
        }
        for (at, Group { name, workers }) in self.groups.iter().enumerate() {
            if self.groups[..at].iter().any(|other| other.name == *name) {
                return Err(StartError::GroupTwice { name: name.clone() });
            }
            if workers.is_empty() {
                return Err(StartError::GroupEmpty { name: name.clone() });
            }
            if let Some(&worker) = workers.iter().find(|&&worker| worker >= self.workers) {
                return Err(StartError::GroupWorker { name: name.clone(), worker, workers: self.workers });
            }
        }
        let victims = (0..self.workers).map(|worker| victims(self.places.as_deref(), worker, self.workers)).collect();
        Runtime::start(self, victims)
    }
}

/// The others, the nearest first; and of equally near ones, those with the next numbers first, so that thieves spread.
fn victims(places: Option<&[Place]>, worker: usize, workers: usize) -> Box<[usize]> {
    let mut others: Vec<_> = (worker + 1..workers).chain(0..worker).collect();
    if let Some(places) = places {
        let own = places[worker];
        others.sort_by_key(|&other| {
            let place = places[other];
            if place.node != own.node {
                3
            } else if place.cache != own.cache {
                2
            } else {
                u8::from(place.core != own.core)
            }
        });
    }
    others.into()
}

/// Why a runtime did not start.
#[derive(Debug)]
#[non_exhaustive]
pub enum StartError {
    /// No workers, or too many.
    Workers {
        /// How many were asked for.
        workers: usize,
    },
    /// Stacks that are too small.
    Stack {
        /// How many bytes were asked for.
        bytes: usize,
    },
    /// Not as many places as workers.
    Places {
        /// How many places there are.
        places: usize,
        /// How many workers.
        workers: usize,
    },
    /// Two groups of one name.
    GroupTwice {
        /// The name.
        name: String,
    },
    /// A group without workers.
    GroupEmpty {
        /// Its name.
        name: String,
    },
    /// A group with a worker that there is not.
    GroupWorker {
        /// Its name.
        name: String,
        /// The worker.
        worker: usize,
        /// How many workers there are.
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
            Self::Workers { workers } => write!(f, "a runtime has 1 to {MOST_WORKERS} workers, not {workers}"),
            Self::Stack { bytes } => write!(f, "a stack has at least {LEAST_STACK} bytes, not {bytes}"),
            Self::Places { places, workers } => {
                write!(f, "there are {places} places for {workers} workers: give one for each")
            }
            Self::GroupTwice { name } => write!(f, "there are two groups {name:?}: name each differently"),
            Self::GroupEmpty { name } => write!(f, "the group {name:?} has no workers: nobody would run its tasks"),
            Self::GroupWorker { name, worker, workers } => {
                write!(f, "the group {name:?} has worker {worker}, but the last one is {}", workers - 1)
            }
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
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thieves_try_the_nearest_first() {
        // Two nodes of two caches of one core with two hardware threads.
        let places: Vec<_> = (0..8).map(|at| Place { core: at / 2, cache: at / 2, node: at / 4 }).collect();
        assert_eq!(*victims(Some(&places), 0, 8), [1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(*victims(Some(&places), 5, 8), [4, 6, 7, 0, 1, 2, 3]);
        let caches = [(0, 0), (1, 0), (2, 1), (3, 1)].map(|(core, cache)| Place { core, cache, node: 0 });
        assert_eq!(*victims(Some(&caches), 2, 4), [3, 0, 1]);
        assert_eq!(*victims(None, 2, 4), [3, 0, 1]);
    }
}
