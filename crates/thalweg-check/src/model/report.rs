//! What went wrong in an execution.

use super::graph::{EventId, ExecutionGraph, Kind};
use super::guide::Guide;
use super::table::{missing_edge, order_name, write_both, write_broken};
use crate::heap::{FreedBlock, Moment};
use std::fmt;
use thalweg_sync::engine::Site;

/// What a client did wrong.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Rule {
    /// A thread, or the closure of a [`scope`](thalweg_sync::thread::scope), ended by a panic: an assertion of the client,
    /// say.
    Panic {
        /// Which one; 0 is the client itself.
        thread: u32,
        /// What it said.
        message: String,
    },
    /// The hook of [`Check::on_complete`](super::Check::on_complete) panicked: the execution does not meet its
    /// specification.
    Specification {
        /// What the hook said.
        message: String,
    },
    /// Two accesses to a [`Slot`](thalweg_sync::cell::Slot), or to memory that was announced, one of them writing,
    /// and neither happens before the other. Or one to an atomic, and a `get_mut` of it by another thread.
    Race {
        /// The threads.
        threads: [u32; 2],
        /// Which of the two write.
        writes: [bool; 2],
        /// Where.
        sites: [Site; 2],
        /// How many events the two had executed before.
        after: [u32; 2],
    },
    /// A slot of `MaybeUninit` was read that nobody has written where it is.
    Uninitialised {
        /// The thread.
        thread: u32,
        /// Where.
        at: Site,
    },
    /// Memory was accessed that was freed, or that was freed and handed out again, by a pointer from before. Only with [`Heap`](crate::Heap).
    UseAfterFree {
        /// The thread.
        thread: u32,
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
        by: Moment,
    },
    /// Every thread has ended, and memory was not freed. Only with [`Check::leaks`](super::Check::leaks).
    Leaks {
        /// How many blocks.
        blocks: usize,
        /// How many bytes they have.
        bytes: usize,
        /// Who allocated the first of them.
        first: Moment,
    },
    /// An atomic or a slot was dropped, and an access of another thread does not happen before that.
    DroppedInUse {
        /// The thread that drops it.
        dropper: u32,
        /// The thread that accesses it, and where.
        user: (u32, Site),
    },
    /// Nobody can go on, and every wait has seen the newest values: these threads wait for ever.
    WaitsForever {
        /// The waits. None: a thread waits for the end of another that waits for its.
        waits: Vec<Wait>,
    },
    /// An attempt of [`spin::until`](thalweg_sync::spin::until) that gives `None` wrote, over and over: what it is tried
    /// again for may be its own write, so this wait has no end that could be explored.
    WaitWrites {
        /// The wait, and what its last attempt read.
        wait: Wait,
        /// Where the attempt writes.
        write: Site,
        /// How many attempts did.
        tries: u32,
    },
    /// A loop reads the same over and over, and does nothing else.
    Polls {
        /// The last read.
        read: EventId,
        /// Where.
        at: Site,
        /// How many reads in a row read what was read before.
        reads: u32,
    },
    /// A wait was tried again over and over, and what its attempts read, if anything, cannot have changed.
    BlindWait {
        /// The thread that waits.
        thread: u32,
        /// How many times.
        tries: u32,
    },
    /// A thread that unwinds waits, so nobody can go on.
    WaitsWhileUnwinding {
        /// The thread.
        thread: u32,
    },
    /// The execution has more events, or steps without events, than the limit.
    Unbounded {
        /// The thread that took it there.
        thread: u32,
        /// See [`Check::max_events`](super::Check::max_events).
        limit: usize,
    },
    /// The client did something else after the same choices.
    Nondeterministic {
        /// The event that differs.
        event: EventId,
        /// What it was.
        expected: String,
        /// What it is now.
        found: String,
    },
    /// The client did something wrong, and nothing when the same execution was run again.
    Unrepeatable {
        /// What it did wrong the first time.
        once: Box<Rule>,
    },
    /// An atomic began with another value than in the execution before: it survives executions, as a static does, or
    /// depends on something that does.
    Survives {
        /// How it began before.
        was: u64,
        /// How it begins now.
        is: u64,
        /// Where it is first used.
        at: Site,
    },
    /// A slot was read, or a lock taken, that an earlier execution has used: it survives executions, as a static does.
    LeftOver {
        /// Where it is used.
        at: Site,
    },
    /// The client has no threads that the checker sees, or they use nothing that it sees: there was nothing to explore.
    /// Not with [`Check::sequential`](super::Check::sequential).
    NothingShared {
        /// The most threads that an execution had, the client's own one included.
        threads: u32,
    },
    /// The text that [`Check::replay`](super::Check::replay) was given is of no execution of the client: it is of another one, or
    /// of what the client was before, or no such text.
    NoSuchExecution {
        /// How that was found.
        why: String,
    },
    /// Threads that are declared [`equal`](super::equal()) are not.
    Unequal {
        /// How that was found.
        why: String,
    },
    /// A panic was caught after its unwinding had done operations, which are not in the graph.
    UnseenOperations {
        /// The thread.
        thread: u32,
    },
}

/// A wait that never ends.
#[derive(Clone, Debug)]
pub struct Wait {
    /// The thread that waits.
    pub thread: u32,
    /// Where.
    pub at: Site,
    /// What its last attempt read: the events and their values. Nothing else will ever be there.
    pub reads: Vec<(EventId, u64)>,
}

impl Rule {
    /// Whether memory may be inconsistent, so that no destructor may run.
    pub(crate) fn leaves_ruins(&self) -> bool {
        matches!(
            self,
            Self::Race { .. }
                | Self::Uninitialised { .. }
                | Self::DroppedInUse { .. }
                | Self::UseAfterFree { .. }
                | Self::FreedTwice { .. }
                | Self::Survives { .. }
                | Self::LeftOver { .. }
                | Self::Nondeterministic { .. }
                | Self::NoSuchExecution { .. }
        )
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Panic { thread, message } => write!(f, "thread {thread} panicked: {message}"),
            Self::Specification { message } => write!(f, "the execution does not meet its specification: {message}"),
            Self::Race {
                threads: [first, second], writes: [first_writes, second_writes], sites: [one, two], ..
            } => {
                let verb = |writes: &bool| if *writes { "writes" } else { "reads" };
                write!(
                    f,
                    "data race: thread {first} {} at {one}, thread {second} {} at {two}, and nothing orders the two",
                    verb(first_writes),
                    verb(second_writes)
                )
            }
            Self::Uninitialised { thread, at } => {
                write!(f, "uninitialised read: thread {thread} reads a slot at {at} that was not written")
            }
            Self::Survives { was, is, at } => write!(
                f,
                "the atomic first used at {at} began with {was}, and now begins with {is}: what a client uses must be \
                 made in it, anew in each execution, so it may have no statics, nor what was made outside and moved in"
            ),
            Self::LeftOver { at } => write!(
                f,
                "the slot or lock used at {at} holds what an earlier execution has left in it: what a client uses must be made in it, \
                 anew in each execution, and dropped, so it may have no statics, nor what was made outside and moved in"
            ),
            Self::UseAfterFree { thread, at, block } => {
                let again = block.as_ref().is_some_and(|block| block.again.is_some());
                let what = if again { ", and handed out again, by a pointer from before" } else { "" };
                write!(f, "use after free: thread {thread} at {at} accesses memory that was freed{what}")?;
                block.as_ref().map_or(Ok(()), |block| write!(f, "{block}"))
            }
            Self::FreedTwice { block, by } => {
                write!(f, "double free: a block was freed twice{block}\n  and again by {by}")
            }
            Self::Leaks { blocks, bytes, first } => {
                write!(
                    f,
                    "leak: {blocks} blocks of {bytes} bytes together were not freed; the first was allocated by {first}"
                )
            }
            Self::DroppedInUse { dropper, user: (user, at) } => {
                write!(f, "dropped in use: thread {dropper} drops what thread {user} accesses at {at}")
            }
            Self::WaitsForever { waits } if waits.is_empty() => {
                write!(f, "deadlock: threads wait for each other's end")
            }
            Self::WaitsForever { waits } => {
                write!(f, "a wait never ends")?;
                for Wait { thread, at, reads } in waits {
                    write!(f, "\n  thread {thread} at {at}, having read")?;
                    reads.iter().try_for_each(|(read, value)| write!(f, " {value} in {read}"))?;
                }
                Ok(())
            }
            Self::WaitWrites { wait: Wait { thread, at, reads }, write, tries } => {
                write!(
                    f,
                    "{tries} attempts in a row of the wait of thread {thread} at {at} failed, the last having read"
                )?;
                reads.iter().try_for_each(|(read, value)| write!(f, " {value} in {read}"))?;
                write!(
                    f,
                    ", and each wrote at {write}: an attempt of `spin::until` must write nothing when it gives `None`, \
                     or waiting has no end. Use `compare_exchange` there, or load first"
                )
            }
            Self::Polls { read, at, reads } => write!(
                f,
                "a loop that waits: thread {} at {at} has read the same {reads} times in a row, and did nothing else. \
                 It should be a `spin::until`, which is explored once per outcome; if the loop has an end, raise \
                 `Check::max_repeats`",
                read.thread
            ),
            Self::WaitsWhileUnwinding { thread } => {
                write!(
                    f,
                    "thread {thread} waits while it unwinds, and nobody will go on: a value whose destructor may wait \
                     goes into a `Kept`; a panic is caught before waiting"
                )
            }
            Self::Unbounded { thread, limit } => write!(
                f,
                "more than {limit} events, the last by thread {thread}: a loop that waits should be a `spin::until`, \
                 one that retries for ever needs a bound (`assume`), a large client `Check::max_events`"
            ),
            Self::BlindWait { thread, tries } => write!(
                f,
                "thread {thread} tried a wait {tries} times, though it reads nothing through the facade that another thread may change: \
                 what it waits for has to be an atomic, a lock or a slot of the facade"
            ),
            Self::Nondeterministic { event, expected, found } => write!(
                f,
                "the client is not deterministic: after the same choices event {event} was {expected}, and now is \
                 {found}. It may depend on only what it reads through the facade: no clock, no address, no hash \
                 order, nothing that survives an execution"
            ),
            Self::Unrepeatable { once } => write!(
                f,
                "the client is not deterministic: {once}; and when the same execution was run once more, nothing was wrong. It may depend on only \
                 what it reads through the facade: nothing that survives an execution"
            ),
            Self::NothingShared { threads: 1 } => write!(
                f,
                "nothing is checked: the client started no thread through `thalweg_sync::thread`, so there is one \
                 execution for each of its choices. What it does with `std::thread`, `std::sync` and `UnsafeCell` is \
                 not seen. If it is meant to be so: `Check::sequential`"
            ),
            Self::NothingShared { threads } => write!(
                f,
                "nothing is checked: the client has {threads} threads, and none of them accesses an atomic, a lock or a \
                 slot of `thalweg_sync`. Those of `std::sync` and `UnsafeCell` are not seen. If it is meant to be so: \
                 `Check::sequential`"
            ),
            Self::NoSuchExecution { why } => write!(f, "the text is of no execution of this client: {why}"),
            Self::Unequal { why } => write!(
                f,
                "threads are declared equal and are not: {why}; start them side by side, join all of them before anything else, and let \
                 nothing tell one from another, or do not declare them `equal`"
            ),
            Self::UnseenOperations { thread } => write!(
                f,
                "thread {thread} caught a panic whose destructors used atomics: such operations are not checked, so \
                 catch the panic before them"
            ),
        }
    }
}

/// An execution in which a client does something wrong.
///
/// `Display` says what, and shows the execution.
#[derive(Clone, Debug)]
pub struct Violation {
    pub(crate) rule: Rule,
    pub(crate) graph: Box<ExecutionGraph>,
    pub(crate) complete: u64,
    pub(crate) replay: Replay,
}

/// How a violation is run alone.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Replay {
    /// [`Check::replay`](super::Check::replay).
    Plain,
    /// [`Check::replay_linearizable`](super::Check::replay_linearizable).
    Linearizable,
    /// [`Check::replay_linearizable_apart`](super::Check::replay_linearizable_apart).
    Apart,
}

impl Violation {
    /// What is wrong.
    pub fn rule(&self) -> &Rule {
        &self.rule
    }

    /// The execution, up to where it went wrong.
    pub fn graph(&self) -> &ExecutionGraph {
        &self.graph
    }

    /// The execution as a line of text: [`Check::replay`](super::Check::replay) runs it alone, or, if
    /// [`Check::linearizable`](super::Check::linearizable) found it, [`Check::replay_linearizable`](super::Check::replay_linearizable).
    pub fn replay(&self) -> String {
        Guide::of(&self.graph).to_text()
    }

    /// How many executions were complete before.
    pub fn complete(&self) -> u64 {
        self.complete
    }
}

impl std::error::Error for Violation {}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Rule::NothingShared { .. } | Rule::NoSuchExecution { .. } = self.rule {
            return write!(f, "{}", self.rule);
        }
        writeln!(f, "{}", self.rule)?;
        if let Some(missing) = missing_edge(&self.graph, &self.rule) {
            writeln!(f, "{missing}")?;
        }
        if let Rule::Nondeterministic { event, expected, found } = &self.rule {
            write_both(f, &self.graph, *event, [expected, found])?;
        }
        writeln!(f, "after {} complete executions, in this one:", self.complete)?;
        write_broken(f, &self.graph, &self.rule)?;
        write!(f, "to run it alone, with the same options, and with `-- --nocapture` to see what it prints: ")?;
        let (method, arguments) = match self.replay {
            Replay::Plain => ("replay", "client"),
            Replay::Linearizable => ("replay_linearizable", "specification, client"),
            Replay::Apart => ("replay_linearizable_apart", "specification, client"),
        };
        match self.replay() {
            short if short.len() <= REPLAY => write!(f, "Check::new().{method}({short:?}, {arguments})"),
            _ => write!(f, "Check::new().{method}(&violation.replay(), {arguments})"),
        }
    }
}

/// How long the text may be by which an execution is run alone, to be shown.
const REPLAY: usize = 4000;

impl Kind {
    /// Whether the client asks for the same.
    #[inline]
    pub(crate) fn is_like(&self, other: &Kind) -> bool {
        match (*self, *other) {
            (
                Kind::Read { operation, success, failure, .. },
                Kind::Read { operation: other, success: other_success, failure: other_failure, .. },
            ) => operation == other && success == other_success && failure == other_failure,
            (Kind::Write { order, exclusive }, Kind::Write { order: other, exclusive: other_exclusive }) => {
                order == other && exclusive == other_exclusive
            }
            (Kind::Fence(order), Kind::Fence(other)) => order == other,
            (Kind::Spawn { child }, Kind::Spawn { child: other })
            | (Kind::Join { child }, Kind::Join { child: other }) => child == other,
            (Kind::Mark(mark), Kind::Mark(other)) => mark == other,
            (Kind::Choose { of }, Kind::Choose { of: other }) => of == other,
            (Kind::Wake, Kind::Wake) => true,
            (Kind::Release { last }, Kind::Release { last: other }) => last == other,
            (Kind::Allocate(layout), Kind::Allocate(other)) | (Kind::Free(layout), Kind::Free(other)) => {
                layout == other
            }
            _ => false,
        }
    }

    pub(crate) fn describe(&self, value: u64) -> String {
        match *self {
            Kind::Read { operation, success, .. } => format!("{operation:?} {}", order_name(success)),
            Kind::Write { order, .. } => format!("a write {} of {value}", order_name(order)),
            Kind::Fence(order) => format!("a fence {}", order_name(order)),
            Kind::Spawn { .. } => "the start of a thread".to_owned(),
            Kind::Join { child } => format!("a join of thread {child}"),
            Kind::Mark(mark) => format!("the mark {mark:?} of {value}"),
            Kind::Choose { of } => format!("a choice of {of}"),
            Kind::Wake => "a wait of a condition variable".to_owned(),
            Kind::Release { last: false } => "the drop of a handle".to_owned(),
            Kind::Release { .. } => "the drop of the last handle".to_owned(),
            Kind::Allocate(layout) => format!("an allocation of {} bytes", layout.size()),
            Kind::Free(layout) => format!("a free of {} bytes", layout.size()),
        }
    }
}
