//! Execution graphs: events, what each read reads, in which order the writes of a location stand.
//!
//! # Invariants
//!
//! - **G1** `order` has every event once; an event's stamp is its place there. A thread's events have rising stamps.
//! - **G2** A location's `co` has every write to it once, in modification order, without the initial value, which
//!   stands before all. Place 0 is the initial value, place `n` is `co[n - 1]`; a write knows its place.
//! - **G3** An exclusive read is directly followed in its thread by its exclusive write, except while exploration chooses
//!   what the read reads: then it is the last event of its thread, and its write is added next.
//! - **G4** Clocks are right: see [`Graph::set_clocks`]. They depend only on events that come before in po and rf, so
//!   they stay right when a set of events that is closed under po and rf is cut out.

use super::clock::Clock;
use std::alloc::Layout;
use std::sync::atomic::Ordering;
use thalweg_sync::engine::{Operation, Scalar, Site};

/// An event's name: the thread, and how many events the thread had before it.
///
/// Names are the same in every execution in which the thread did the same so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EventId {
    /// The thread; 0 is the client itself.
    pub thread: u32,
    /// Its place in the thread, from 0.
    pub index: u32,
}

impl EventId {
    /// The write of a location's initial value.
    pub(crate) const INIT: Self = Self { thread: u32::MAX, index: 0 };

    pub(crate) fn is_init(self) -> bool {
        self.thread == u32::MAX
    }
}

/// Whether two places in the source are the same. Nearly always they are one object, and texts need not be compared.
#[inline]
pub(crate) fn is_same_site(one: Site, other: Site) -> bool {
    std::ptr::eq(one, other) || one == other
}

/// The mark of no location.
pub(crate) const NOWHERE: u32 = u32::MAX;

/// What an event is.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    Read {
        operation: Operation,
        /// The type of the atomic.
        scalar: Scalar,
        success: Ordering,
        failure: Ordering,
        /// It is the first half of a read-modify-write that writes.
        exclusive: bool,
        /// A weak compare-exchange that fails without a reason.
        spurious: bool,
    },
    Write {
        order: Ordering,
        /// It is the second half of a read-modify-write.
        exclusive: bool,
    },
    Fence(Ordering),
    Spawn {
        child: u32,
    },
    Join {
        child: u32,
    },
    /// A marker that the client set.
    Mark(super::Mark),
    /// One of so many possibilities; the event's value is which.
    Choose {
        of: u32,
    },
    /// A wait of a condition variable begins; the event's value is whether it returns without a reason.
    Wake,
    /// A handle of an `Arc` is dropped.
    Release {
        /// It is the last one, so what comes before the other drops comes before this.
        last: bool,
    },
    /// A block is allocated, fresh or that of the free that it reads from.
    Allocate(Layout),
    /// A published block is freed.
    Free(Layout),
}

impl Kind {
    /// A read, of which is not said yet what it reads.
    pub(crate) const fn read(operation: Operation, scalar: Scalar, [success, failure]: [Ordering; 2]) -> Self {
        Self::Read { operation, scalar, success, failure, exclusive: false, spurious: false }
    }

    /// The ordering; relaxed for what has none.
    pub(crate) fn order(&self) -> Ordering {
        match *self {
            Self::Read { success, exclusive: true, .. } => success,
            Self::Read { failure, .. } => failure,
            Self::Write { order, .. } | Self::Fence(order) => order,
            _ => Ordering::Relaxed,
        }
    }
}

pub(crate) fn acquires(order: Ordering) -> bool {
    matches!(order, Ordering::Acquire | Ordering::AcqRel | Ordering::SeqCst)
}

pub(crate) fn releases(order: Ordering) -> bool {
    matches!(order, Ordering::Release | Ordering::AcqRel | Ordering::SeqCst)
}

/// An event of an execution.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) kind: Kind,
    pub(crate) at: Site,
    /// Its place in `order` (G1).
    pub(crate) stamp: u32,
    /// Its location, or `NOWHERE`.
    pub(crate) loc: u32,
    /// What it read or wrote.
    pub(crate) value: u64,
    /// What a read reads from.
    pub(crate) rf: EventId,
    /// The other handles' drops, of a last one.
    pub(crate) others: Vec<EventId>,
    /// The last handle's drop, of another one; `INIT` if there is none.
    pub(crate) last: EventId,
    /// A write's place in modification order (G2).
    pub(crate) place: u32,
    /// How many events its thread had when the last release fence was done, that one included; 0: none.
    fence: u32,
    /// The events that happen before it, itself included.
    pub(crate) hb: Clock,
    /// The events that would happen before it if it were an acquire fence too.
    pending: Clock,
    /// The events before it in po, rf, by the start and the end of threads, and by the order of equal threads (E1); itself included.
    pub(crate) porf: Clock,
    /// What happens before a read that acquires this write.
    message: Clock,
}

/// The accesses to one atomic.
#[derive(Clone, Debug)]
pub(crate) struct Location {
    pub(crate) init: u64,
    /// Where it was first accessed.
    pub(crate) at: Site,
    pub(crate) co: Vec<EventId>,
    /// Every read, by stamp.
    pub(crate) reads: Vec<EventId>,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct ThreadEvents {
    /// The spawn that started the thread; none for thread 0, and where there is no thread.
    pub(crate) parent: Option<EventId>,
    /// The equal thread that was started right before it (see [`equal`](super::equal)).
    pub(crate) twin: Option<u32>,
    pub(crate) nodes: Vec<Node>,
}

/// An execution: its events, program order, reads-from, and modification order.
///
/// What a [`Violation`](super::Violation) shows, and what [`Check::on_complete`](super::Check::on_complete) is given. The
/// public view of it is in this type's methods; see [`Event`](super::Event).
#[derive(Clone, Debug, Default)]
pub struct ExecutionGraph {
    pub(crate) lines: Vec<ThreadEvents>,
    pub(crate) locations: Vec<Location>,
    pub(crate) order: Vec<EventId>,
    /// Every access synchronises as if it were `SeqCst`.
    pub(crate) strong: bool,
    /// The accesses to pointers, if the graph is to be shown.
    pub(crate) targets: Vec<(EventId, Target)>,
}

/// What a pointer that was read or written points to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Target {
    /// Equal for equal addresses. None: it is null.
    pub(crate) number: Option<usize>,
    /// It has bits that are no part of the address.
    pub(crate) tagged: bool,
    /// An atomic that is there.
    pub(crate) location: Option<u32>,
}

pub(crate) type Graph = ExecutionGraph;

impl Graph {
    #[inline]
    pub(crate) fn node(&self, id: EventId) -> &Node {
        &self.lines[id.thread as usize].nodes[id.index as usize]
    }

    #[inline]
    pub(crate) fn node_mut(&mut self, id: EventId) -> &mut Node {
        &mut self.lines[id.thread as usize].nodes[id.index as usize]
    }

    /// How many events `thread` has.
    pub(crate) fn len(&self, thread: u32) -> u32 {
        self.lines.get(thread as usize).map_or(0, |line| line.nodes.len() as u32)
    }

    /// The place of the write `id` of its location.
    #[inline]
    pub(crate) fn place(&self, id: EventId) -> usize {
        if id.is_init() { 0 } else { self.node(id).place as usize }
    }

    /// The write at `place`.
    pub(crate) fn at_place(&self, loc: u32, place: usize) -> EventId {
        if place == 0 { EventId::INIT } else { self.locations[loc as usize].co[place - 1] }
    }

    /// Whether what comes before the write `id` is visible to who acquires it: by its ordering, or by a fence before it.
    pub(crate) fn is_released(&self, id: EventId) -> bool {
        let node = self.node(id);
        releases(node.kind.order()) || node.fence > 0
    }

    /// What the write `id` of `loc` wrote.
    pub(crate) fn written(&self, loc: u32, id: EventId) -> u64 {
        if id.is_init() { self.locations[loc as usize].init } else { self.node(id).value }
    }

    pub(crate) fn is_exclusive_write(&self, id: EventId) -> bool {
        matches!(self.node(id).kind, Kind::Write { exclusive: true, .. })
    }

    /// The event before `next` in its thread, or the start of the thread. There may be no `next` yet.
    #[inline]
    fn last_before(&self, next: EventId) -> Option<&Node> {
        match next.index {
            0 => self.lines[next.thread as usize].parent.map(|parent| self.node(parent)),
            index => Some(self.node(EventId { index: index - 1, ..next })),
        }
    }

    /// What happens before the event `next`, as far as its thread knows without it.
    #[inline]
    pub(crate) fn before(&self, next: EventId) -> &Clock {
        self.last_before(next).map_or(Clock::EMPTY, |last| &last.hb)
    }

    /// As [`before`](Self::before), in po and rf.
    #[inline]
    pub(crate) fn porf_before(&self, next: EventId) -> &Clock {
        self.last_before(next).map_or(Clock::EMPTY, |last| &last.porf)
    }

    /// A new event at the end of `thread`, its clocks not yet set, and not yet in `co`.
    pub(crate) fn add(&mut self, thread: u32, kind: Kind, loc: u32, value: u64, rf: EventId, at: Site) -> EventId {
        let id = EventId { thread, index: self.len(thread) };
        let stamp = self.order.len() as u32;
        self.order.push(id);
        if matches!(kind, Kind::Read { .. }) {
            self.locations[loc as usize].reads.push(id);
        }
        self.lines[thread as usize].nodes.push(Node {
            kind,
            at,
            stamp,
            loc,
            value,
            rf,
            others: Vec::new(),
            last: EventId::INIT,
            place: 0,
            fence: 0,
            hb: Clock::default(),
            pending: Clock::default(),
            porf: Clock::default(),
            message: Clock::default(),
        });
        id
    }

    /// Puts a write into modification order, behind the write at `place`.
    pub(crate) fn insert(&mut self, id: EventId, place: usize) {
        let loc = self.node(id).loc as usize;
        self.locations[loc].co.insert(place, id);
        self.renumber(loc, place);
    }

    /// Takes a write out of modification order.
    pub(crate) fn remove(&mut self, id: EventId) {
        let (loc, place) = (self.node(id).loc as usize, self.node(id).place as usize);
        self.locations[loc].co.remove(place - 1);
        self.renumber(loc, place - 1);
    }

    fn renumber(&mut self, loc: usize, from: usize) {
        for place in from..self.locations[loc].co.len() {
            let id = self.locations[loc].co[place];
            self.node_mut(id).place = place as u32 + 1;
        }
    }

    /// Computes the clocks of `id` from those of the events right before it: in its thread, by rf, by the start or the
    /// end of a thread.
    ///
    /// Happens-before is that of C++20: an acquire read of a release write, or of a read-modify-write in its release
    /// sequence; a release fence counts for the writes after it, an acquire fence for the reads before it.
    pub(crate) fn set_clocks(&mut self, id: EventId) {
        let (mut hb, mut pending, mut porf, mut fence);
        if id.index > 0 {
            let before = self.node(EventId { index: id.index - 1, ..id });
            (hb, pending, fence) = (before.hb.clone(), before.pending.clone(), before.fence);
            porf = before.porf.clone();
        } else {
            match self.lines[id.thread as usize].parent {
                None => (hb, porf) = Default::default(),
                Some(parent) => {
                    let parent = self.node(parent);
                    (hb, porf) = (parent.hb.clone(), parent.porf.clone());
                }
            }
            pending = hb.clone();
            fence = 0;
        }
        for clock in [&mut hb, &mut pending, &mut porf] {
            clock.raise(id.thread, id.index + 1);
        }
        if let Some(other) = self.counterpart(id) {
            porf.join(&self.node(other).porf);
            // With its write, if it is an update (G3).
            if matches!(self.node(other).kind, Kind::Read { exclusive: true, .. }) {
                porf.raise(other.thread, other.index + 2);
            }
        }
        let mut message = Clock::default();
        let node = self.node(id);
        let order = if self.strong { Ordering::SeqCst } else { node.kind.order() };
        match node.kind {
            Kind::Read { .. } => {
                if !node.rf.is_init() {
                    let source = self.node(node.rf);
                    porf.join(&source.porf);
                    pending.join(&source.message);
                    if acquires(order) {
                        hb.join(&source.message);
                    }
                }
            }
            Kind::Write { exclusive, .. } => {
                if releases(order) {
                    message = hb.clone();
                } else if fence > 0 {
                    message = self.node(EventId { index: fence - 1, ..id }).hb.clone();
                }
                if exclusive {
                    let source = self.node(EventId { index: id.index - 1, ..id }).rf;
                    if !source.is_init() {
                        message.join(&self.node(source).message);
                    }
                }
            }
            Kind::Fence(_) => {
                if acquires(order) {
                    hb.join(&pending);
                }
                if releases(order) {
                    fence = id.index + 1;
                }
            }
            Kind::Join { child } => {
                let count = self.len(child);
                if count > 0 {
                    let last = self.node(EventId { thread: child, index: count - 1 });
                    for (clock, theirs) in [(&mut hb, &last.hb), (&mut pending, &last.hb), (&mut porf, &last.porf)] {
                        clock.join(theirs);
                    }
                }
                // One more than there are: what the thread did after its last event comes before too.
                hb.raise(child, count + 1);
                pending.raise(child, count + 1);
            }
            Kind::Release { .. } => {
                for &other in &node.others {
                    let other = self.node(other);
                    for (clock, theirs) in [(&mut hb, &other.hb), (&mut pending, &other.hb), (&mut porf, &other.porf)] {
                        clock.join(theirs);
                    }
                }
            }
            Kind::Allocate(_) if !node.rf.is_init() => {
                let free = self.node(node.rf);
                for (clock, theirs) in [(&mut hb, &free.hb), (&mut pending, &free.hb), (&mut porf, &free.porf)] {
                    clock.join(theirs);
                }
            }
            Kind::Spawn { .. }
            | Kind::Mark(_)
            | Kind::Choose { .. }
            | Kind::Wake
            | Kind::Allocate(_)
            | Kind::Free(_) => {}
        }
        let node = self.node_mut(id);
        (node.hb, node.pending, node.message, node.fence) = (hb, pending, message, fence);
        node.porf = porf;
    }

    /// Makes `last` the drop of the last handle, of those that `others` drop, and sets its clocks.
    pub(crate) fn make_last(&mut self, last: EventId, others: Vec<EventId>) {
        for &other in &others {
            self.node_mut(other).last = last;
        }
        let node = self.node_mut(last);
        (node.kind, node.others) = (Kind::Release { last: true }, others);
        self.set_clocks(last);
    }

    /// Makes the drop of a last handle, from which nothing comes after, one that is not the last, and sets its clocks.
    /// Returns the others.
    pub(crate) fn unmake_last(&mut self, last: EventId) -> Vec<EventId> {
        let node = self.node_mut(last);
        node.kind = Kind::Release { last: false };
        let others = std::mem::take(&mut node.others);
        for &other in &others {
            self.node_mut(other).last = EventId::INIT;
        }
        self.set_clocks(last);
        others
    }

    /// Takes away every event with a stamp of `stamps` or more.
    pub(crate) fn cut(&mut self, stamps: usize) {
        while self.order.len() > stamps {
            let id = self.order.pop().expect("it is longer than `stamps`");
            let node = self.node(id);
            match node.kind {
                Kind::Read { .. } => {
                    let loc = node.loc as usize;
                    self.locations[loc].reads.pop();
                }
                Kind::Write { .. } => self.remove(id),
                Kind::Spawn { child } => {
                    let line = &mut self.lines[child as usize];
                    (line.parent, line.twin) = (None, None);
                }
                Kind::Release { last: true } => {
                    for other in self.node(id).others.clone() {
                        self.node_mut(other).last = EventId::INIT;
                    }
                }
                _ => {}
            }
            self.lines[id.thread as usize].nodes.pop();
        }
    }

    /// A number that tells graphs apart: two that differ in an event, in rf or in co have different ones, but for an
    /// accident of 1 in 2^64.
    #[cfg(debug_assertions)]
    pub(crate) fn fingerprint(&self) -> u64 {
        use std::hash::{DefaultHasher, Hash, Hasher};

        let mut hasher = DefaultHasher::new();
        for line in &self.lines {
            line.parent.hash(&mut hasher);
            line.nodes.len().hash(&mut hasher);
            for node in &line.nodes {
                (std::mem::discriminant(&node.kind), node.rf, node.place, node.last).hash(&mut hasher);
                match node.kind {
                    Kind::Read { exclusive, spurious, .. } => (exclusive, spurious).hash(&mut hasher),
                    Kind::Choose { .. } | Kind::Wake => node.value.hash(&mut hasher),
                    _ => {}
                }
            }
        }
        hasher.finish()
    }

    /// Makes `copy`, whatever it was, a copy that has of each thread only as many events as `keep` says, with new stamps in the same
    /// order. It keeps its memory.
    pub(crate) fn restrict_to(&self, keep: &Clock, copy: &mut Graph) {
        fn refill(events: &mut Vec<EventId>, from: &[EventId], kept: impl Fn(&EventId) -> bool) {
            events.clear();
            events.extend(from.iter().copied().filter(kept));
        }
        let kept = |id: &EventId| id.index < keep.get(id.thread);
        copy.strong = self.strong;
        copy.targets.clear();
        copy.lines.resize_with(self.lines.len(), ThreadEvents::default);
        for ((thread, line), copy) in (0..).zip(&self.lines).zip(&mut copy.lines) {
            copy.parent = line.parent.filter(kept);
            copy.twin = line.twin.filter(|_| copy.parent.is_some());
            copy.nodes.clear();
            copy.nodes.extend_from_slice(&line.nodes[..(keep.get(thread) as usize).min(line.nodes.len())]);
        }
        let nothing = |location: &Location| Location { co: Vec::new(), reads: Vec::new(), ..*location };
        copy.locations.truncate(self.locations.len());
        let more = copy.locations.len()..;
        copy.locations.extend(self.locations[more].iter().map(nothing));
        for (location, copy) in self.locations.iter().zip(&mut copy.locations) {
            (copy.init, copy.at) = (location.init, location.at);
            refill(&mut copy.co, &location.co, kept);
            refill(&mut copy.reads, &location.reads, kept);
        }
        refill(&mut copy.order, &self.order, kept);
        for stamp in 0..copy.order.len() {
            let id = copy.order[stamp];
            let node = copy.node_mut(id);
            node.stamp = stamp as u32;
            if !kept(&node.last) {
                node.last = EventId::INIT;
            }
        }
        for loc in 0..copy.locations.len() {
            copy.renumber(loc, 0);
        }
    }
}
