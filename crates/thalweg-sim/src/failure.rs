//! Why a simulation did not come to its end.

use crate::machine::MachineError;
use std::fmt;
use thalweg_sync::engine::Site;

/// A simulation that failed.
#[derive(Debug)]
#[non_exhaustive]
pub enum Failure {
    /// The machine cannot be built, or has too few threads.
    Machine(MachineError),
    /// A thread ended by a panic.
    Panic {
        /// The thread; 0 is the client itself.
        thread: usize,
        /// What it said.
        message: String,
        /// When, in nanoseconds.
        nanos: u64,
    },
    /// Nobody can go on. Exact: no timeout is involved.
    Deadlock {
        /// Who waits, and where.
        waiting: Vec<Waiting>,
        /// Since when, in nanoseconds.
        nanos: u64,
    },
    /// The simulated time went beyond the limit: a livelock, or a run that is longer than expected.
    TimeLimit {
        /// The limit in nanoseconds.
        nanos: u64,
        /// Who waited then, and where.
        waiting: Vec<Waiting>,
    },
    /// A destructor waits during a panic, for what others can no longer do.
    WaitsWhileUnwinding {
        /// Who waits, and where.
        waiting: Waiting,
    },
    /// The program has used all lines that there are numbers for: 64 GiB of memory.
    OutOfMemory {
        /// When, in nanoseconds.
        nanos: u64,
    },
    /// A [`Study`](crate::Study)'s program did nothing, or nothing that takes time, so it has no speed.
    Nothing {
        /// On how many hardware threads.
        threads: usize,
        /// How much the program says it did.
        messages: u64,
        /// How long it took, in nanoseconds.
        nanos: u64,
    },
}

/// A thread that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Waiting {
    /// The thread; 0 is the client itself.
    pub thread: usize,
    /// For what.
    pub reason: Reason,
    /// Where in the source.
    pub at: Site,
}

/// What a thread waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// For memory that it read to change.
    Spin,
    /// For what it tries again and again, each time with a write or a look at the clock: a lock, mostly.
    Poll,
    /// For its token.
    Park,
    /// For the end of a thread.
    Join {
        /// Which.
        thread: usize,
    },
}

impl fmt::Display for Waiting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { thread, reason, at } = self;
        match reason {
            Reason::Spin => write!(f, "thread {thread} spins at {at}"),
            Reason::Poll => write!(f, "thread {thread} tries again and again at {at}"),
            Reason::Park => write!(f, "thread {thread} is parked at {at}"),
            Reason::Join { thread: other } => write!(f, "thread {thread} joins thread {other} at {at}"),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Machine(error) => error.fmt(f),
            Self::Panic { thread, message, nanos } => {
                write!(f, "thread {thread} panicked after {nanos} ns of simulated time: {message}")
            }
            Self::Deadlock { waiting, nanos } => {
                write!(f, "deadlock after {nanos} ns of simulated time: nobody can go on")?;
                waiting.iter().try_for_each(|waiting| write!(f, "\n  {waiting}"))
            }
            Self::TimeLimit { nanos, waiting } => {
                write!(
                    f,
                    "the simulation went on for more than {nanos} ns of simulated time; if that is no livelock, raise its limit \
                     (Simulation::limit, Study::limit, or --limit on the command line)"
                )?;
                waiting.iter().try_for_each(|waiting| write!(f, "\n  {waiting}"))
            }
            Self::WaitsWhileUnwinding { waiting } => {
                write!(f, "a destructor waits while its thread unwinds, which nobody can end: {waiting}")
            }
            Self::OutOfMemory { nanos } => write!(
                f,
                "the program has used 64 GiB of memory after {nanos} ns of simulated time, and there is no more; what one core \
                 allocates and another frees is not used again by the first: let it do less"
            ),
            Self::Nothing { threads, messages, nanos } => write!(
                f,
                "nothing was simulated: on {} the program took {nanos} ns and says that {} went through. Time passes only in what \
                 goes through thalweg_sync: let kernels say what they cost (hint::work), take atomics and threads from there, and \
                 return how many messages went through",
                counted(*threads as u64, "hardware thread"),
                counted(*messages, "message"),
            ),
        }
    }
}

impl std::error::Error for Failure {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Machine(error) => Some(error),
            _ => None,
        }
    }
}

impl From<MachineError> for Failure {
    fn from(error: MachineError) -> Self {
        Self::Machine(error)
    }
}

/// So many of what is called `of`.
pub(crate) fn counted(count: u64, of: &str) -> String {
    format!("{count} {of}{}", if count == 1 { "" } else { "s" })
}
