//! The state of an execution: its threads, what they can do, who is next.

use super::clock::Clock;
use super::explore::Explorer;
use super::graph::EventId;
use super::guide::Guide;
use super::leftovers::Leftovers;
use super::places::{ByAddress, Places};
use super::report::Rule;
use super::run::{Fiber, Outcome, Wake};
use super::slots::Slots;
use super::wait::Vain;
use corosensei::Yielder;
use corosensei::stack::DefaultStack;
use std::alloc::Layout;
use std::ptr::NonNull;
use thalweg_sync::engine::Site;
use thalweg_sync::host::Host;

/// What a thread can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Status {
    /// Go on.
    Ready,
    /// Go on when this event was executed.
    Source(EventId),
    /// Add an event.
    New,
    /// Add an event that the guide does not have.
    Late,
    /// Go on when that thread has ended.
    Joins(u32),
    /// Nothing in this execution: its attempt failed, which read from `first` on.
    Awaits {
        first: u32,
        at: Site,
    },
    /// Nothing in this execution: it assumed what is not so.
    Assumes,
    Ended,
    /// See R5.
    Stuck,
    /// Nothing: it has ended, and what was kept is dropped in its place (R6).
    Keeps,
}

pub(crate) struct Thread {
    /// Absent while it runs, and when it has ended.
    pub(super) fiber: Option<Fiber>,
    /// Set when it first runs; alive until it ends.
    pub(super) yielder: Option<NonNull<Yielder<Wake, ()>>>,
    pub(crate) status: Status,
    /// How many events it has executed.
    pub(crate) done: u32,
    /// The attempts it is in, the innermost last.
    pub(crate) attempts: Vec<Attempt>,
    pub(crate) retries: u32,
    /// What it has done while it unwound, or after.
    pub(crate) passive_steps: usize,
    pub(crate) vain: Vain,
    /// How many events it had executed when it last gave up its turn.
    pub(super) yielded: u32,
    /// Its last wait of a condition variable returned without a reason: where.
    pub(super) woken: Option<Site>,
    /// It has to end at its next operation (M4).
    pub(super) ends: bool,
    /// The threads that it starts are equal: the last start of one, and which thread that is (E4).
    pub(super) equals: Option<Option<(u32, u32)>>,
    /// Its clock, in nanoseconds. Nobody else's.
    pub(crate) clock: u64,
    /// Its scheduler of user-level threads.
    pub(crate) host: Option<Host>,
}

/// One attempt of a wait.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Attempt {
    /// The first event that it may have.
    pub(crate) first: u32,
    /// It read the clock.
    pub(crate) clock: bool,
}

pub(crate) struct State {
    pub(crate) explorer: Explorer,
    /// By number; absent where the graph or the execution has none.
    pub(super) threads: Vec<Option<Thread>>,
    /// The threads in the order in which they were started.
    pub(super) started: Vec<u32>,
    pub(crate) current: u32,
    /// Everything is replayed (R3).
    pub(super) adding: bool,
    /// The graph cannot be extended: a guide has led to where nothing is.
    pub(crate) dead: bool,
    pub(super) broken: Option<Rule>,
    pub(crate) places: Places,
    pub(crate) slots: Slots,
    pub(crate) leftovers: Leftovers,
    /// By object: the handles that were dropped.
    pub(crate) handles: ByAddress<Vec<EventId>>,
    /// The accesses to pointers that were executed, with what they read or wrote (M1).
    pub(super) pointers: Vec<(EventId, u64)>,
    /// The frees that were executed, and of which block.
    pub(super) freed: Vec<(EventId, usize)>,
    /// See M1.
    pub(super) learned: Option<Layout>,
    pub(super) steps: usize,
    pub(super) stacks: Vec<DefaultStack>,
}

impl State {
    pub(super) fn reset(&mut self) {
        self.threads.clear();
        self.started.clear();
        self.adding = false;
        self.dead = false;
        self.steps = 0;
        self.places.reset(self.explorer.graph.locations.len());
        self.slots.reset();
        self.handles.clear();
        self.pointers.clear();
        self.freed.clear();
        self.learned = None;
    }

    pub(crate) fn of(&self, thread: u32) -> &Thread {
        self.threads[thread as usize].as_ref().expect("it was started")
    }

    pub(crate) fn of_mut(&mut self, thread: u32) -> &mut Thread {
        self.threads[thread as usize].as_mut().expect("it was started")
    }

    /// The running thread.
    pub(crate) fn thread(&self) -> &Thread {
        self.of(self.current)
    }

    /// The running thread.
    pub(crate) fn thread_mut(&mut self) -> &mut Thread {
        self.of_mut(self.current)
    }

    /// Where the running thread keeps its scheduler of user-level threads. None when no thread runs.
    pub(crate) fn host(&mut self) -> Option<&mut Option<Host>> {
        let current = self.current as usize;
        self.threads.get_mut(current)?.as_mut().map(|thread| &mut thread.host)
    }

    /// The running thread's next event.
    pub(crate) fn next_event(&self) -> EventId {
        EventId { thread: self.current, index: self.thread().done }
    }

    /// What happens before the running thread's next event.
    pub(crate) fn now(&self) -> &Clock {
        self.explorer.graph.before(self.next_event())
    }

    /// Whether the execution has an access to an atomic or to a slot.
    pub(crate) fn has_accesses(&self) -> bool {
        !self.explorer.graph.locations.is_empty() || self.slots.is_used()
    }

    pub(super) fn recorded(&self) -> Option<EventId> {
        let id = self.next_event();
        (id.index < self.explorer.graph.len(id.thread)).then_some(id)
    }

    /// Whether `event` was executed.
    pub(crate) fn is_done(&self, event: EventId) -> bool {
        let thread = self.threads.get(event.thread as usize).and_then(Option::as_ref);
        event.is_init() || thread.is_some_and(|thread| event.index < thread.done)
    }

    pub(super) fn has_ended(&self, thread: u32) -> bool {
        self.threads[thread as usize].as_ref().is_some_and(|thread| thread.status == Status::Ended)
    }

    pub(super) fn can_go_on(&self, status: Status) -> bool {
        match status {
            Status::Ready => true,
            Status::Source(event) => self.is_done(event),
            Status::Joins(child) => self.has_ended(child),
            Status::New | Status::Late => self.adding,
            Status::Awaits { .. } | Status::Assumes | Status::Ended | Status::Stuck | Status::Keeps => false,
        }
    }

    pub(super) fn first(&self, wanted: impl Fn(Status) -> bool) -> Option<u32> {
        (0..)
            .zip(&self.threads)
            .find_map(|(thread, other)| other.as_ref().filter(|other| wanted(other.status)).map(|_| thread))
    }

    /// The thread that replays (R2) or adds (T1) the next event.
    pub(super) fn next(&self) -> Option<u32> {
        if self.broken.is_some() || self.learned.is_some() || self.dead {
            return None;
        }
        self.first(|status| status != Status::Late && self.can_go_on(status))
            .or_else(|| self.first(|status| self.can_go_on(status)))
    }

    /// Whether the running thread's next event is none of the guide's, and another thread goes first: one that has not come to an
    /// event of that sort, or a lower one.
    pub(super) fn gives_way(&self) -> bool {
        let is_through = |guide: &Guide| self.thread().done >= guide.len(self.current);
        self.explorer.guide.as_ref().is_some_and(is_through)
            && (0..).zip(&self.threads).any(|(thread, other)| {
                let status = other.as_ref().map(|other| other.status).filter(|_| thread != self.current);
                let goes_first = |status| status != Status::Late || thread < self.current;
                status.is_some_and(|status| goes_first(status) && self.can_go_on(status))
            })
    }

    /// Whether a thread before the running one can go on: then that one is next (T1).
    pub(crate) fn is_overtaken(&self) -> bool {
        self.first(|status| self.can_go_on(status)).is_some_and(|thread| thread < self.current)
    }

    pub(super) fn begin_to_add(&mut self) {
        self.adding = true;
        if self.broken.is_some() || self.learned.is_some() {
            return;
        }
        let missing = (0..).zip(&self.explorer.graph.lines).find_map(|(thread, line)| {
            let done = self.threads.get(thread as usize).and_then(Option::as_ref).map_or(0, |thread| thread.done);
            ((done as usize) < line.nodes.len()).then_some(EventId { thread, index: done })
        });
        if let Some(recorded) = missing {
            let found = match self.threads.get(recorded.thread as usize).and_then(Option::as_ref).map(|t| t.status) {
                Some(Status::Ended) => "the end of the thread",
                Some(Status::Awaits { .. } | Status::Assumes) => "a thread that waits",
                Some(_) => "another order of events",
                None => "no such thread",
            };
            let rule = self.divergence(recorded, found.to_owned());
            self.break_rule(rule);
        }
    }

    pub(super) fn outcome(&mut self) -> Outcome {
        if let Some(layout) = self.learned.take() {
            return Outcome::Learned(layout);
        }
        if let Some(why) = self.explorer.misfit(self.broken.is_none()) {
            return Outcome::Broken(Rule::NoSuchExecution { why });
        }
        if let Some(rule) = self.broken.take() {
            return Outcome::Broken(rule);
        }
        if self.dead {
            return Outcome::Dropped;
        }
        if self.threads.iter().flatten().all(|thread| thread.status == Status::Ended) {
            return Outcome::Complete;
        }
        match self.waits_for_ever() {
            Some(rule) => Outcome::Broken(rule),
            None => Outcome::Blocked,
        }
    }

    pub(crate) fn break_rule(&mut self, rule: Rule) {
        // What goes wrong later is a consequence.
        self.broken.get_or_insert(rule);
    }

    pub(super) fn unbounded(&self, limit: usize) -> Rule {
        Rule::Unbounded { thread: self.current, limit }
    }

    pub(crate) fn divergence(&self, recorded: EventId, found: String) -> Rule {
        let node = self.explorer.graph.node(recorded);
        let expected = format!("{} at {}", node.kind.describe(node.value), node.at);
        Rule::Nondeterministic { event: recorded, expected, found }
    }

    /// The event `more` was not there when the same choices were made before.
    pub(super) fn surplus(&self, more: EventId) -> Rule {
        let node = self.explorer.graph.node(more);
        let found = format!("{} at {}", node.kind.describe(node.value), node.at);
        Rule::Nondeterministic { event: more, expected: "not there".to_owned(), found }
    }
}
