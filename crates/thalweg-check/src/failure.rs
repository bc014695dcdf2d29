//! What went wrong, and how to see it again.

use crate::heap::{FreedBlock, Moment};
use std::collections::HashMap;
use std::fmt;
use thalweg_sync::engine::{Operation, Site};

/// An execution that went wrong.
///
/// `Display` says what happened, the last steps that led to it, and how to run it again.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Failure {
    /// Running the same client with this seed and the same options does the same again.
    pub seed: u64,
    /// What happened.
    pub cause: Cause,
    /// The last steps, oldest first.
    pub trace: Vec<Step>,
    /// How many steps there were.
    pub steps: u64,
}

/// What makes an execution a failure.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Cause {
    /// A thread, or the closure of a [`scope`](thalweg_sync::thread::scope), ended by a panic.
    Panic {
        /// Which one; 0 is the client itself.
        thread: usize,
        /// What it said.
        message: String,
    },
    /// Every thread that has not ended waits, and no clock will wake one.
    Deadlock {
        /// The threads that wait.
        waiting: Vec<Waiting>,
    },
    /// Two accesses to a slot (or to memory that was announced), one of them writing, at the same time.
    Overlap {
        /// The threads: the one that had begun, and the one that came.
        threads: [usize; 2],
        /// Where each accesses it.
        sites: [Site; 2],
    },
    /// A slot was dropped while it was accessed.
    DroppedInUse {
        /// The thread that accesses it, and where.
        user: (usize, Site),
        /// The thread that drops it.
        dropper: usize,
    },
    /// Memory was accessed that was freed. Only with [`Heap`](crate::Heap).
    UseAfterFree {
        /// The thread.
        thread: usize,
        /// Where.
        at: Site,
        /// Who had it.
        block: Option<Box<FreedBlock>>,
    },
    /// Memory was freed twice. Only with [`Heap`](crate::Heap).
    FreedTwice {
        /// Who had it, and freed it first.
        block: Box<FreedBlock>,
        /// Who freed it again.
        by: Box<Moment>,
    },
    /// The execution took more steps than allowed: a livelock, or a client that is too large for the limit.
    StepLimit {
        /// The limit.
        limit: u64,
    },
    /// A thread that unwinds would have to wait, which cannot be followed: two threads cannot unwind in turns.
    WaitsWhileUnwinding {
        /// The thread, and for what it waits.
        waiting: Waiting,
    },
}

/// A thread that waits.
#[derive(Clone, Copy, Debug)]
pub struct Waiting {
    /// The thread.
    pub thread: usize,
    /// For what.
    pub reason: Reason,
    /// Where.
    pub at: Site,
}

/// For what a thread waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// For something that its attempt in `spin::until` read, or a lock.
    Spin,
    /// To be unparked.
    Park {
        /// The address of the token.
        token: usize,
    },
    /// For the end of a thread.
    Join {
        /// That thread.
        thread: usize,
    },
}

/// One step of an execution.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// The thread that did it.
    pub thread: usize,
    /// What it did.
    pub action: Action,
    /// Where.
    pub at: Site,
}

/// What a step did.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "the names are the facade's")]
pub enum Action {
    Atomic { address: usize, operation: Operation, read: Option<u64> },
    Fence,
    SlotBegin { address: usize, write: bool },
    SlotEnd { address: usize },
    Touch { address: usize, bytes: usize },
    Retry,
    Park,
    Unpark,
    Yield,
    Spawn { thread: usize },
    Join { thread: usize },
    Clock,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "seed {} fails after {} steps: {}", self.seed, self.steps, self.cause)?;
        writeln!(f, "the last steps:")?;
        // Addresses differ from run to run; what matters is which are the same.
        let mut names = HashMap::new();
        for step in &self.trace {
            write!(f, "  thread {}: ", step.thread)?;
            let mut name = |address: usize| {
                let next = names.len();
                *names.entry(address).or_insert(next)
            };
            match step.action {
                Action::Atomic { address, operation, read } => {
                    write!(f, "{operation:?} of atomic #{}", name(address))?;
                    if let Some(value) = read {
                        write!(f, " read {value}")?;
                    }
                }
                Action::Fence => write!(f, "fence")?,
                Action::SlotBegin { address, write } => {
                    write!(f, "begins to {} slot #{}", if write { "write" } else { "read" }, name(address))?;
                }
                Action::SlotEnd { address } => write!(f, "is done with slot #{}", name(address))?,
                Action::Touch { address, bytes } => write!(f, "touches {bytes} bytes at #{}", name(address))?,
                Action::Retry => write!(f, "failed an attempt")?,
                Action::Park => write!(f, "parks")?,
                Action::Unpark => write!(f, "unparks")?,
                Action::Yield => write!(f, "yields")?,
                Action::Spawn { thread } => write!(f, "starts thread {thread}")?,
                Action::Join { thread } => write!(f, "joins thread {thread}")?,
                Action::Clock => write!(f, "reads the clock")?,
            }
            writeln!(f, "  ({})", step.at)?;
        }
        let test = std::thread::current().name().filter(|&name| name != "main").unwrap_or_default().to_owned();
        write!(f, "to run it again: THALWEG_SEED={} cargo test {test}", self.seed)?;
        write!(f, "\nor, of a client that is not given to `run`: `Fuzz::replay({}, client)`", self.seed)
    }
}

impl std::error::Error for Failure {}

impl Cause {
    /// Whether memory may be inconsistent, so that no destructor may run.
    pub(crate) fn leaves_ruins(&self) -> bool {
        matches!(self, Self::UseAfterFree { .. } | Self::FreedTwice { .. })
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Panic { thread, message } => write!(f, "thread {thread} panicked: {message}"),
            Self::Deadlock { waiting } => {
                write!(f, "deadlock: every thread that has not ended waits")?;
                waiting.iter().try_for_each(|waiting| write!(f, "\n  {waiting}"))
            }
            Self::Overlap { threads: [first, second], sites: [one, two] } => {
                write!(f, "overlapping access: thread {second} at {two}, while thread {first} is at {one}")
            }
            Self::DroppedInUse { user: (user, at), dropper } => {
                write!(f, "dropped in use: thread {dropper} drops the slot that thread {user} accesses at {at}")
            }
            Self::UseAfterFree { thread, at, block } => {
                write!(f, "use after free: thread {thread} at {at} accesses memory that was freed")?;
                block.as_ref().map_or(Ok(()), |block| write!(f, "{block}"))
            }
            Self::FreedTwice { block, by } => {
                write!(f, "double free: a block was freed twice{block}\n  and again by {by}")
            }
            Self::StepLimit { limit } => {
                write!(f, "more than {limit} steps: a livelock, or raise the limit with `Fuzz::steps`")
            }
            Self::WaitsWhileUnwinding { waiting } => {
                write!(
                    f,
                    "{waiting} while it unwinds from a panic, which cannot be followed; catch the panic before waiting"
                )
            }
        }
    }
}

impl fmt::Display for Waiting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "thread {} ", self.thread)?;
        match self.reason {
            Reason::Spin => write!(f, "waits for a change")?,
            Reason::Park { .. } => write!(f, "is parked")?,
            Reason::Join { thread } => write!(f, "joins thread {thread}")?,
        }
        write!(f, " at {}", self.at)
    }
}
