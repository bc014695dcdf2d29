//! An execution as its reader sees it.

use super::graph::{EventId, ExecutionGraph, Kind, NOWHERE};
use std::fmt;
use std::sync::atomic::Ordering;
use thalweg_sync::engine::Site;

/// What [`mark`](super::mark) marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mark {
    /// An operation begins.
    Begin,
    /// The last operation that began, and has not ended, ends.
    End,
}

/// What an event does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EventKind {
    /// Reads. A compare-exchange that failed is one too.
    Read {
        /// It is the first half of a read-modify-write; the next event of its thread is the other one.
        exclusive: bool,
    },
    /// Writes.
    Write {
        /// It is the second half of a read-modify-write.
        exclusive: bool,
    },
    /// A fence.
    Fence,
    /// Starts a thread.
    Spawn {
        /// That thread.
        thread: u32,
    },
    /// Waits for the end of a thread.
    Join {
        /// That thread.
        thread: u32,
    },
    /// Drops a handle of an [`Arc`](thalweg_sync::sync::Arc).
    Release {
        /// It was the last handle.
        last: bool,
    },
    /// Allocates memory: a block that is new, or that of the free that it [`reads_from`](Event::reads_from).
    Allocate {
        /// How much.
        bytes: usize,
    },
    /// Frees memory that another thread may know of.
    Free {
        /// How much.
        bytes: usize,
    },
    /// A [`Condvar::wait`](thalweg_sync::sync::Condvar::wait) begins. Only with [`Check::spurious`](crate::Check::spurious).
    Wait {
        /// It returns without a reason.
        spurious: bool,
    },
    /// Takes one of several possibilities; which is the event's [`value`](Event::value).
    Choose {
        /// How many there are.
        of: u32,
    },
    /// A marker of the client; its payload is the event's [`value`](Event::value).
    Mark(Mark),
}

/// An event of an execution.
#[derive(Clone, Copy)]
pub struct Event<'a> {
    graph: &'a ExecutionGraph,
    id: EventId,
}

impl<'a> Event<'a> {
    /// Its thread and its place there.
    pub fn id(&self) -> EventId {
        self.id
    }

    /// What it does.
    pub fn kind(&self) -> EventKind {
        match self.graph.node(self.id).kind {
            Kind::Read { exclusive, .. } => EventKind::Read { exclusive },
            Kind::Write { exclusive, .. } => EventKind::Write { exclusive },
            Kind::Fence(_) => EventKind::Fence,
            Kind::Spawn { child } => EventKind::Spawn { thread: child },
            Kind::Join { child } => EventKind::Join { thread: child },
            Kind::Mark(mark) => EventKind::Mark(mark),
            Kind::Choose { of } => EventKind::Choose { of },
            Kind::Wake => EventKind::Wait { spurious: self.graph.node(self.id).value > 0 },
            Kind::Release { last } => EventKind::Release { last },
            Kind::Allocate(layout) => EventKind::Allocate { bytes: layout.size() },
            Kind::Free(layout) => EventKind::Free { bytes: layout.size() },
        }
    }

    /// The atomic that it accesses: a number below [`ExecutionGraph::locations`]. None for a fence and the like.
    pub fn location(&self) -> Option<usize> {
        Some(self.graph.node(self.id).loc).filter(|&loc| loc != NOWHERE).map(|loc| loc as usize)
    }

    /// The ordering that was in force: of a compare-exchange that failed, the one of failure. `Relaxed` for what has
    /// none.
    pub fn ordering(&self) -> Ordering {
        self.graph.node(self.id).kind.order()
    }

    /// What it read or wrote, as a bit pattern; the payload of a marker; what was chosen; 0 for a fence and the like.
    pub fn value(&self) -> u64 {
        self.graph.node(self.id).value
    }

    /// What a read reads from. None: the initial value, or it is no read.
    pub fn reads_from(&self) -> Option<EventId> {
        Some(self.graph.node(self.id).rf).filter(|from| !from.is_init())
    }

    /// Where the client does it.
    pub fn site(&self) -> Site {
        self.graph.node(self.id).at
    }
}

impl fmt::Debug for Event<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Event").field("id", &self.id).field("kind", &self.kind()).finish_non_exhaustive()
    }
}

impl ExecutionGraph {
    /// How many threads there are; thread 0 is the client itself.
    pub fn threads(&self) -> u32 {
        self.lines.len() as u32
    }

    /// The events of `thread` in program order.
    ///
    /// # Panics
    ///
    /// If there is no such thread.
    pub fn thread(&self, thread: u32) -> impl ExactSizeIterator<Item = Event<'_>> + Clone {
        let count = self.lines[thread as usize].nodes.len() as u32;
        (0..count).map(move |index| Event { graph: self, id: EventId { thread, index } })
    }

    /// Every event, thread by thread.
    pub fn events(&self) -> impl Iterator<Item = Event<'_>> + Clone {
        (0..self.threads()).flat_map(|thread| self.thread(thread))
    }

    /// The event of this name.
    ///
    /// # Panics
    ///
    /// If there is none.
    pub fn event(&self, id: EventId) -> Event<'_> {
        assert!(id.thread < self.threads() && id.index < self.len(id.thread), "there is no event {id}");
        Event { graph: self, id }
    }

    /// How many atomics were accessed.
    pub fn locations(&self) -> usize {
        self.locations.len()
    }

    /// The initial value of an atomic.
    ///
    /// # Panics
    ///
    /// If there is no such location; so do the others.
    pub fn initial(&self, location: usize) -> u64 {
        self.locations[location].init
    }

    /// The writes to an atomic in modification order, without its initial value.
    pub fn modification_order(&self, location: usize) -> &[EventId] {
        &self.locations[location].co
    }

    /// Where the client first accessed an atomic.
    pub fn location_site(&self, location: usize) -> Site {
        self.locations[location].at
    }

    /// Whether `first` happens before `second`. Not for an event and itself.
    pub fn happens_before(&self, first: EventId, second: EventId) -> bool {
        first != second && first.index < self.node(second).hb.get(first.thread)
    }
}

impl fmt::Display for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_init() { write!(f, "initial") } else { write!(f, "{}.{}", self.thread, self.index) }
    }
}
