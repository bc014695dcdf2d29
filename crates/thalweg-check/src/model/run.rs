//! Executions: the client's threads on coroutines, first replaying a graph, then extending it.
//!
//! # Invariants
//!
//! - **R1** One thread runs at a time, and everything happens on one OS thread. `state` is never borrowed across a
//!   switch. A switch happens only in a hook, never while the running thread unwinds.
//! - **R2** An execution begins from nothing and first replays the graph: an event is executed after what it reads from,
//!   and after the spawn and the end that it waits for. So native memory holds, at each event, what happens before
//!   it; as a race ends the search, an access to plain memory finds the right value.
//! - **R3** Only when every event is replayed, new ones are added, in the order of T1. A thread that meets its first new
//!   event waits for that.
//! - **R4** An execution that ends before its threads do, as it is blocked or a rule is broken, unwinds them, the last
//!   started first, so a thread ends after those it started, which may borrow from its stack. From then on operations
//!   act on memory, which holds the newest value of each location. After a race or the like memory may be
//!   inconsistent, so nothing is unwound.
//! - **R5** A thread that cannot be unwound, because a destructor waits for what never comes, is left as it is.
//! - **R6** What is [`Kept`](super::Kept) is dropped when every thread of an execution that was given up is unwound.

use super::abort::unwinding;
use super::explore::Explorer;
use super::graph::{EventId, Kind, is_same_site};
use super::kept::Keeps;
use super::leftovers::Leftovers;
use super::places::{ByAddress, Places};
use super::pulse::Pulse;
use super::report::Rule;
use super::slots::Slots;
use super::state::{State, Status, Thread};
use super::view::Mark;
use super::wait::Vain;
use crate::heap::{Blocks, client_side, engine_side};
use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult, Yielder};
use std::alloc::Layout;
use std::cell::{Cell, RefCell, RefMut};
use std::panic::{AssertUnwindSafe, Location, catch_unwind, resume_unwind};
use std::ptr::NonNull;
use std::sync::Arc;
use thalweg_sync::engine::Site;

/// Why a thread is resumed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Wake {
    /// To go on.
    Go,
    /// To unwind (R4).
    End,
}

/// The panic that unwinds a thread.
struct End;

pub(super) type Fiber = Coroutine<Wake, (), (), DefaultStack>;

/// What the options say about executions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    pub(crate) events: usize,
    pub(crate) repeats: Option<u32>,
    pub(crate) stack_bytes: usize,
    pub(crate) any_ordering: bool,
    /// Of equal threads one order is explored.
    pub(crate) equal: bool,
    /// Objects may be dropped in use.
    pub(crate) unseen_handles: bool,
}

impl Limits {
    /// How often a thread may do the same in a row before it is taken to wait in a way that has no end.
    pub(super) fn in_vain(&self) -> u32 {
        self.repeats.unwrap_or_else(|| (self.events / 100).max(50) as u32)
    }

    /// How many steps an execution may have that may be no events, so that a loop without events ends too.
    pub(super) fn steps(&self) -> usize {
        self.events.saturating_mul(64)
    }
}

/// How an execution ended.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// Every thread has ended.
    Complete,
    /// Some thread waits.
    Blocked,
    /// The graph breaks an axiom, as a guide wanted it.
    Dropped,
    /// A published block of this layout was freed, and allocations of it are no events yet (M1).
    Learned(Layout),
    Broken(Rule),
}

/// Runs executions, one at a time.
pub(crate) struct Run {
    state: RefCell<State>,
    pub(super) limits: Limits,
    /// The execution is over (R4).
    pub(super) ending: Cell<bool>,
    blocks: Blocks,
    /// Blocks may be handed out again.
    pub(super) reuses: bool,
    /// Those whose allocations are events (M1).
    pub(super) layouts: Vec<Layout>,
    /// What threads that were unwound have left (R6).
    pub(super) keeps: RefCell<Keeps>,
    /// An operation was done while its thread unwound, and is not in the graph.
    unseen: Cell<bool>,
    /// A walk has met a published block of this layout that was freed (M1).
    met: Cell<Option<Layout>>,
    /// Something of the execution stays in memory, as its destructor waits for ever (R5, R6).
    pub(super) stuck: Cell<bool>,
    pulse: Arc<Pulse>,
}

/// The running thread has to unwind.
#[must_use]
pub(crate) struct Ending(());

/// Tells [`assume`] and [`mark`] which check runs on this OS thread.
mod current {
    use super::{Cell, NonNull, Run};

    std::thread_local! {
        pub(super) static CURRENT: Cell<Option<NonNull<Run>>> = const { Cell::new(None) };
    }
}

/// Goes on only if `condition` holds. An execution in which it does not is given up and not counted.
///
/// For what a client is not interested in: `assume(tx.try_push(1).is_ok())`.
///
/// # Panics
///
/// Outside of a [`Check`](super::Check), if `condition` is false.
#[track_caller]
pub fn assume(condition: bool) {
    if condition {
        return;
    }
    let run = current_run().expect("an assumption is wrong, and no `Check` runs here that could drop it");
    let _engine = engine_side();
    if !run.is_passive() {
        run.state().thread_mut().status = Status::Assumes;
        match run.switch() {
            Ok(()) => unreachable!("a thread whose assumption is wrong does not go on"),
            Err(ending) => run.end(ending),
        }
    }
}

/// A number below `of`: the client goes on with each of them, in executions of its own.
///
/// For input that may be anything: how many to push, which of two to try.
///
/// Outside of a [`Check`](super::Check) it is 0.
///
/// # Panics
///
/// If `of` is 0, or 2^32 and more.
#[track_caller]
pub fn choose(of: usize) -> usize {
    assert!(of > 0, "there is nothing to choose from");
    assert!(u32::try_from(of).is_ok(), "{of} are too many to choose from: each has an execution of its own");
    match current_run() {
        Some(run) if of > 1 => thalweg_sync::engine::Engine::choose(run, of, Location::caller()),
        _ => 0,
    }
}

/// Puts a marker into the program order of the calling thread: an event that orders nothing, and that
/// [`ExecutionGraph`](super::ExecutionGraph) shows, `payload` as its value. Specifications tell by it when an operation
/// began and ended, and what it was.
///
/// Does nothing outside of a [`Check`](super::Check).
#[track_caller]
pub fn mark(mark: Mark, payload: u64) {
    let Some(run) = current_run() else { return };
    let _engine = engine_side();
    if !run.is_passive()
        && let Err(ending) = run.plain(Kind::Mark(mark), payload, Location::caller())
    {
        run.end(ending);
    }
}

/// The run on this OS thread, if there is one.
pub(crate) fn current_run() -> Option<&'static Run> {
    // SAFETY: `enter` keeps the run alive as long as the pointer is set; the reference is used for one call, within
    // `enter`.
    current::CURRENT.get().map(|run| unsafe { run.as_ref() })
}

impl Run {
    pub(crate) fn new(explorer: Explorer, limits: Limits, layouts: Vec<Layout>) -> Self {
        let reuses = explorer.rules().reuse > 0;
        let state = State {
            explorer,
            threads: Vec::new(),
            started: Vec::new(),
            current: 0,
            adding: false,
            dead: false,
            broken: None,
            places: Places::default(),
            slots: Slots::default(),
            leftovers: Leftovers::default(),
            handles: ByAddress::default(),
            pointers: Vec::new(),
            freed: Vec::new(),
            learned: None,
            steps: 0,
            stacks: Vec::new(),
        };
        Self {
            state: RefCell::new(state),
            limits,
            ending: Cell::new(false),
            blocks: Blocks::default(),
            reuses,
            layouts,
            keeps: RefCell::default(),
            unseen: Cell::new(false),
            met: Cell::new(None),
            stuck: Cell::new(false),
            pulse: Pulse::new(),
        }
    }

    /// Calls `body`, in which [`execute`](Self::execute) may be called.
    pub(crate) fn enter<R>(&self, body: impl FnOnce() -> R) -> R {
        struct Restore(Option<NonNull<Run>>);
        impl Drop for Restore {
            fn drop(&mut self) {
                current::CURRENT.set(self.0);
            }
        }
        let _restore = Restore(current::CURRENT.replace(Some(NonNull::from(self))));
        self.blocks.enter(self, || thalweg_sync::engine::enter(self, body))
    }

    /// The state, for a moment that contains no switch (R1).
    pub(crate) fn state(&self) -> RefMut<'_, State> {
        self.state.borrow_mut()
    }

    pub(crate) fn blocks(&self) -> &Blocks {
        &self.blocks
    }

    // What the scheduler does, between threads.

    /// Runs `client` once: replays the graph and extends it as far as it goes.
    pub(crate) fn execute(&self, client: &dyn Fn()) -> Outcome {
        self.ending.set(false);
        self.unseen.set(false);
        self.stuck.set(false);
        self.blocks.end();
        self.state().reset();
        // SAFETY: the body runs, or is dropped, before this function returns: within the borrow of `client`.
        unsafe { self.start(0, Box::new(client)) };
        while self.resume_next() {}
        self.state().begin_to_add();
        while self.resume_next() {}
        let outcome = self.state().outcome();
        // Not what is freed when threads are unwound in the middle of something: an item may be in two places then.
        let mut freed_twice = self.blocks.freed_twice();
        self.end_all(!matches!(&outcome, Outcome::Broken(rule) if rule.leaves_ruins()));
        if matches!(outcome, Outcome::Complete) {
            freed_twice = freed_twice.or_else(|| self.blocks.freed_twice());
        }
        self.blocks.locals.clear();
        self.pulse.rest();
        {
            let State { leftovers, slots, stacks, .. } = &mut *self.state();
            leftovers.end(slots, &self.blocks, stacks);
        }
        let later = self
            .state()
            .broken
            .take()
            .or_else(|| freed_twice.map(|(block, by)| Rule::FreedTwice { block: Box::new(block), by }));
        match (outcome, later) {
            (Outcome::Broken(rule), _) | (_, Some(rule)) => Outcome::Broken(rule),
            (outcome, None) => outcome,
        }
    }

    pub(super) fn learns(&self, layout: Layout) {
        self.met.set(Some(layout));
    }

    pub(super) fn learned(&self) -> Option<Layout> {
        self.met.take()
    }

    /// Resumes the thread that is next. False if there is none.
    fn resume_next(&self) -> bool {
        let next = self.state().next();
        next.is_some_and(|thread| {
            self.resume(thread, Wake::Go);
            true
        })
    }

    fn resume(&self, thread: u32, wake: Wake) {
        self.pulse.turn(thread);
        let mut fiber = {
            let mut state = self.state();
            state.current = thread;
            let thread = state.thread_mut();
            if wake == Wake::Go {
                thread.status = Status::Ready;
            }
            thread.fiber.take().expect("a thread that can be resumed is not running")
        };
        match fiber.resume(wake) {
            CoroutineResult::Yield(()) => self.state().of_mut(thread).fiber = Some(fiber),
            CoroutineResult::Return(()) => {
                let mut state = self.state();
                state.stacks.push(fiber.into_stack());
                let thread = state.of_mut(thread);
                thread.status = Status::Ended;
                thread.yielder = None;
            }
        }
    }

    /// Ends what is left (R4).
    fn end_all(&self, unwinds: bool) {
        self.ending.set(true);
        // A destructor may start threads; those end at once, in `spawn`.
        let threads = self.state().started.len();
        for place in (0..threads).rev() {
            let thread = self.state().started[place];
            if unwinds && !matches!(self.state().of(thread).status, Status::Ended | Status::Stuck) {
                unwinding(|| self.resume(thread, Wake::End));
            }
            let mut state = self.state();
            if state.of(thread).status != Status::Ended {
                // R5, or not to be unwound. Its stack stays as it is, for dropping the coroutine would unwind it.
                std::mem::forget(state.of_mut(thread).fiber.take());
                self.stuck.set(true);
            }
        }
        if unwinds {
            self.drop_kept();
        } else {
            std::mem::forget(self.keeps.take());
        }
    }

    /// A stack for a thread.
    pub(super) fn another_stack(&self) -> DefaultStack {
        let used = self.state().stacks.pop();
        used.unwrap_or_else(|| {
            DefaultStack::new(self.limits.stack_bytes)
                .unwrap_or_else(|error| panic!("no memory for the stack of a thread: {error}"))
        })
    }

    // What threads do.

    /// Starts `thread`.
    ///
    /// # Safety
    ///
    /// What `body` borrows outlives the thread, or the execution.
    pub(crate) unsafe fn start<'a>(&self, thread: u32, body: Box<dyn FnOnce() + 'a>) {
        let stack = self.another_stack();
        // SAFETY: only the lifetime changes; the caller answers for it.
        let body = unsafe { std::mem::transmute::<Box<dyn FnOnce() + 'a>, Box<dyn FnOnce()>>(body) };
        let run = NonNull::from(self);
        let fiber = Fiber::with_stack(stack, move |yielder, wake| {
            // SAFETY: threads run in `Run::execute` only, which borrows the run.
            unsafe { run.as_ref() }.body(thread, yielder, wake, body);
        });
        let place = thread as usize;
        let mut state = self.state();
        if state.threads.len() <= place {
            state.threads.resize_with(place + 1, || None);
        }
        let lines = &mut state.explorer.graph.lines;
        if lines.len() <= place {
            lines.resize_with(place + 1, Default::default);
        }
        state.threads[place] = Some(Thread {
            fiber: Some(fiber),
            yielder: None,
            status: Status::Ready,
            done: 0,
            attempts: Vec::new(),
            retries: 0,
            passive_steps: 0,
            vain: Vain::default(),
            woken: None,
            ends: false,
            yielded: 0,
            equals: None,
            clock: 0,
            host: None,
        });
        state.started.push(thread);
    }

    /// A thread, from its first instruction to its last.
    fn body(&self, thread: u32, yielder: &Yielder<Wake, ()>, wake: Wake, body: Box<dyn FnOnce()>) {
        self.state().of_mut(thread).yielder = Some(NonNull::from(yielder));
        let result = catch_unwind(AssertUnwindSafe(|| {
            let _client = client_side();
            match wake {
                Wake::Go => body(),
                Wake::End => {
                    // It goes as it would if the thread had begun: destructors ask whether they unwind, and a `Kept` does.
                    let _body = body;
                    resume_unwind(Box::new(End))
                }
            }
        }));
        if let Err(panic) = result
            && !panic.is::<End>()
        {
            self.state().break_rule(Rule::Panic { thread, message: crate::world::message(&*panic) });
        }
    }

    /// True if operations act on memory only: the execution is over, or the running thread unwinds, and can then
    /// neither be switched away from nor unwound.
    pub(crate) fn is_passive(&self) -> bool {
        let unwinds = std::thread::panicking();
        if unwinds && !self.ending.get() {
            self.unseen.set(true);
        }
        unwinds || self.ending.get()
    }

    /// Switches to the scheduler, until it resumes the running thread.
    pub(crate) fn switch(&self) -> Result<(), Ending> {
        let yielder = self.state().thread().yielder.expect("a running thread has a yielder");
        // SAFETY: it is the running thread's own, which lives until the thread ends.
        match unsafe { yielder.as_ref() }.suspend(()) {
            Wake::Go => Ok(()),
            Wake::End => Err(Ending(())),
        }
    }

    /// Unwinds the running thread (R4).
    pub(crate) fn end(&self, _: Ending) -> ! {
        self.unwind()
    }

    pub(super) fn unwind(&self) -> ! {
        resume_unwind(Box::new(End))
    }

    /// The client broke a rule: the running thread stops here, and the search too.
    pub(crate) fn fail(&self, rule: Rule) -> Result<(), Ending> {
        self.state().break_rule(rule);
        if std::thread::panicking() { Ok(()) } else { self.switch() }
    }

    /// The running thread's next event, if the graph has it already.
    pub(crate) fn recorded(&self) -> Option<EventId> {
        self.state().recorded()
    }

    /// Waits until the graph's end is reached: the running thread's next event is a new one (R3).
    pub(crate) fn reach_new(&self) -> Result<(), Ending> {
        if self.unseen.get() {
            let thread = self.state().current;
            self.fail(Rule::UnseenOperations { thread })?;
        }
        if !self.state().adding {
            self.state().thread_mut().status = Status::New;
            self.switch()?;
        }
        let events = self.state().explorer.graph.order.len();
        if events >= self.limits.events {
            let rule = self.state().unbounded(self.limits.events);
            self.fail(rule)?;
        }
        Ok(())
    }

    /// As [`reach_new`](Self::reach_new), for an event that others may depend on. If the guide does not have it, it was not there
    /// when the execution went wrong, and must not take the place of what was: it comes last.
    pub(crate) fn reach_new_access(&self) -> Result<(), Ending> {
        self.reach_new()?;
        if self.state().gives_way() {
            self.state().thread_mut().status = Status::Late;
            self.switch()?;
        }
        Ok(())
    }

    /// Waits until `event` was executed (R2).
    pub(crate) fn reach(&self, event: EventId) -> Result<(), Ending> {
        if !self.state().is_done(event) {
            self.state().thread_mut().status = Status::Source(event);
            self.switch()?;
        }
        Ok(())
    }

    /// Counts a step that may be no event.
    pub(crate) fn step(&self) -> Result<(), Ending> {
        let steps = {
            let mut state = self.state();
            state.steps += 1;
            state.steps
        };
        if steps > self.limits.steps() {
            let rule = self.state().unbounded(self.limits.events);
            self.fail(rule)?;
        }
        Ok(())
    }

    /// Executes an event that nothing is to be chosen for.
    pub(crate) fn plain(&self, kind: Kind, value: u64, at: Site) -> Result<EventId, Ending> {
        if let Some(id) = self.recorded() {
            let mut state = self.state();
            let node = state.explorer.graph.node(id);
            if node.kind.is_like(&kind) && node.value == value && is_same_site(node.at, at) {
                state.thread_mut().done += 1;
                return Ok(id);
            }
            drop(state);
            self.diverges(id, &kind, value, at)?;
        }
        self.reach_new()?;
        let mut state = self.state();
        let thread = state.current;
        state.thread_mut().done += 1;
        Ok(state.explorer.add_plain(thread, kind, value, at))
    }

    /// The client did something else than the last time, after the same choices.
    pub(crate) fn diverges(&self, recorded: EventId, found: &Kind, value: u64, at: Site) -> Result<(), Ending> {
        let rule = self.state().divergence(recorded, format!("{} at {at}", found.describe(value)));
        self.fail(rule)
    }

    /// True if `thread` has ended, or will never run again.
    pub(crate) fn has_ended(&self, thread: u32) -> bool {
        matches!(self.state().of(thread).status, Status::Ended | Status::Stuck)
    }
}
