//! One execution: logical threads on coroutines, and the engine that they see.
//!
//! # Invariants
//!
//! - **W1** One thread runs at a time, and everything happens on one OS thread. `state` is never borrowed across a
//!   switch.
//! - **W2** A switch happens only in a hook, and never while the running thread unwinds: the standard library counts
//!   panics per OS thread, so another thread would see the unwinding as its own.
//! - **W3** A failure stops the schedule at once. Then the threads are resumed once more, the last started first, to
//!   unwind by a panic of type [`End`]; so a thread ends only after those it started, which may borrow from its stack.
//! - **W4** A thread that cannot be unwound, because a destructor waits for what never comes, is left as it is and
//!   never resumed.
//! - **W5** After an access to freed memory the client's own structures may be in ruins, so nothing is unwound.

use crate::failure::{Action, Cause, Failure, Reason, Step, Waiting};
use crate::heap::{Blocks, Keeper, client_side};
use crate::memory::{Memory, Waiter, Watch};
use crate::schedule::{Schedule, Strategy};
use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult, Yielder};
use std::alloc::Layout;
use std::any::Any;
use std::cell::{Cell, RefCell, RefMut};
use std::collections::{HashSet, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr::NonNull;
use std::rc::Rc;
use thalweg_sync::engine::Site;
use thalweg_sync::host::Host;

/// What every step adds to the virtual clock, in nanoseconds.
const STEP_NANOS: u64 = 10;
/// How many steps a failure shows.
const TRACE: usize = 24;

/// What the options say about an execution.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    pub(crate) parallelism: usize,
    pub(crate) steps: u64,
    pub(crate) stack_bytes: usize,
    /// Waits of condition variables may return without a reason.
    pub(crate) spurious: bool,
}

/// Why a thread is resumed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wake {
    /// To go on.
    Go,
    /// To unwind (W3).
    End,
}

/// The panic that unwinds a thread of an execution that is given up.
struct End;

type Fiber = Coroutine<Wake, (), (), DefaultStack>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Status {
    Ready,
    Waits {
        reason: Reason,
        at: Site,
    },
    Ended,
    /// See W4.
    Stuck,
}

struct Thread {
    /// Absent while it runs, and when it has ended.
    fiber: Option<Fiber>,
    /// Set when it first runs; alive until it ends.
    yielder: Option<NonNull<Yielder<Wake, ()>>>,
    status: Status,
    /// Numbers its waits.
    ticket: u64,
    /// When a wait ends at the latest.
    deadline: Option<u64>,
    /// The attempts it is in, the innermost last.
    watches: Vec<Watch>,
    /// Attempts in a row that failed having read the clock.
    impatience: u32,
    host: Option<Host>,
}

pub(crate) struct State {
    threads: Vec<Thread>,
    /// In no order that means anything.
    ready: Vec<usize>,
    /// How many threads wait with a deadline.
    timed: usize,
    current: usize,
    /// Chosen by the thread that switched away.
    next: Option<usize>,
    pub(crate) schedule: Schedule,
    pub(crate) memory: Memory,
    /// Tokens that were left before anybody slept on them.
    pub(crate) tokens: HashSet<usize>,
    pub(crate) clock: u64,
    steps: u64,
    trace: VecDeque<Step>,
    fingerprint: u64,
    failure: Option<Cause>,
    stacks: Vec<DefaultStack>,
    /// How often a thread that unwinds has done something.
    passive: u64,
}

/// One execution.
pub(crate) struct World {
    state: RefCell<State>,
    blocks: Rc<Blocks>,
    limits: Limits,
    /// The schedule has stopped for good (W3).
    ending: Cell<bool>,
}

/// How an execution that did not fail went.
pub(crate) struct Outcome {
    pub(crate) steps: u64,
    pub(crate) fingerprint: u64,
}

impl World {
    pub(crate) fn new(
        limits: Limits,
        strategy: Strategy,
        seed: u64,
        stacks: Vec<DefaultStack>,
        blocks: Rc<Blocks>,
    ) -> Self {
        let state = State {
            threads: Vec::new(),
            ready: Vec::new(),
            timed: 0,
            current: 0,
            next: None,
            schedule: Schedule::new(strategy, seed),
            memory: Memory::default(),
            tokens: HashSet::new(),
            clock: 0,
            steps: 0,
            trace: VecDeque::new(),
            fingerprint: 0xcbf2_9ce4_8422_2325,
            failure: None,
            stacks,
            passive: 0,
        };
        Self { state: RefCell::new(state), blocks, limits, ending: Cell::new(false) }
    }

    /// Runs `client` as thread 0, and everything that it starts, to the end. Gives back the stacks for the next
    /// execution.
    pub(crate) fn run(self, seed: u64, client: &dyn Fn()) -> (Result<Outcome, Failure>, Vec<DefaultStack>) {
        let world = &self;
        let run = || {
            // SAFETY: the body runs in the loop below, or is dropped in `end_all`: within the borrow of `client`.
            unsafe { world.start(Box::new(client)) };
            while let Some(thread) = world.next_to_run() {
                world.resume(thread, Wake::Go);
            }
            world.check_frees();
            let unwinds = !world.state().failure.as_ref().is_some_and(Cause::leaves_ruins);
            world.end_all(unwinds);
            world.blocks.locals.clear();
        };
        world.blocks.enter(world, || thalweg_sync::engine::enter(world, run));
        world.blocks.end();
        let state = self.state.into_inner();
        let result = match state.failure {
            None => Ok(Outcome { steps: state.steps, fingerprint: state.fingerprint }),
            Some(cause) => Err(Failure { seed, cause, trace: state.trace.into(), steps: state.steps }),
        };
        (result, state.stacks)
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.limits
    }

    /// The state, for a moment that contains no switch (W1).
    pub(crate) fn state(&self) -> RefMut<'_, State> {
        self.state.borrow_mut()
    }

    // What the scheduler does, between threads.

    /// The thread to resume; `None` when all have ended or the execution has failed.
    fn next_to_run(&self) -> Option<usize> {
        let mut state = self.state();
        if state.failure.is_some() {
            return None;
        }
        match state.next.take() {
            Some(thread) => Some(thread),
            None => state.choose(false),
        }
    }

    fn resume(&self, thread: usize, wake: Wake) {
        let mut fiber = {
            let mut state = self.state();
            state.current = thread;
            state.threads[thread].fiber.take().expect("a thread that can be resumed is not running")
        };
        match fiber.resume(wake) {
            CoroutineResult::Yield(()) => self.state().threads[thread].fiber = Some(fiber),
            CoroutineResult::Return(()) => {
                let mut state = self.state();
                state.stacks.push(fiber.into_stack());
                state.ended(thread);
            }
        }
    }

    /// Unwinds what is left (W3), or leaves it as it is (W5).
    fn end_all(&self, unwinds: bool) {
        self.ending.set(true);
        // A destructor may start threads; those end at once, in `spawn`.
        let threads = self.state().threads.len();
        for thread in (0..threads).rev() {
            let status = self.state().threads[thread].status;
            if unwinds && !matches!(status, Status::Ended | Status::Stuck) {
                self.resume(thread, Wake::End);
            }
            let mut state = self.state();
            if state.threads[thread].status != Status::Ended {
                // W4, W5. Its stack stays as it is, for dropping the coroutine would unwind it.
                std::mem::forget(state.threads[thread].fiber.take());
            }
        }
    }

    // What threads do.

    /// Starts a thread.
    ///
    /// # Safety
    ///
    /// What `body` borrows outlives the thread, or the execution.
    pub(crate) unsafe fn start<'a>(&self, body: Box<dyn FnOnce() + 'a>) -> usize {
        let mut state = self.state();
        let thread = state.threads.len();
        let stack = state.stacks.pop().unwrap_or_else(|| {
            DefaultStack::new(self.limits.stack_bytes).unwrap_or_else(|error| {
                panic!("no memory for the stack of thread {thread}: {error}; use fewer threads or smaller stacks")
            })
        });
        // SAFETY: only the lifetime changes; the caller answers for it.
        let body = unsafe { std::mem::transmute::<Box<dyn FnOnce() + 'a>, Box<dyn FnOnce()>>(body) };
        let world = NonNull::from(self);
        let fiber = Fiber::with_stack(stack, move |yielder, wake| {
            // SAFETY: threads run in `World::run` only, which borrows the world.
            unsafe { world.as_ref() }.body(thread, yielder, wake, body);
        });
        state.threads.push(Thread {
            fiber: Some(fiber),
            yielder: None,
            status: Status::Ready,
            ticket: 0,
            deadline: None,
            watches: Vec::new(),
            impatience: 0,
            host: None,
        });
        state.ready.push(thread);
        state.schedule.started();
        thread
    }

    /// A thread, from its first instruction to its last.
    fn body(&self, thread: usize, yielder: &Yielder<Wake, ()>, wake: Wake, body: Box<dyn FnOnce()>) {
        self.state().threads[thread].yielder = Some(NonNull::from(yielder));
        let result = catch_unwind(AssertUnwindSafe(|| {
            let _client = client_side();
            match wake {
                Wake::Go => body(),
                Wake::End => {
                    // It goes as it would if the thread had begun: an operation in a destructor does not end the thread (W3).
                    let _body = body;
                    resume_unwind(Box::new(End))
                }
            }
        }));
        if let Err(panic) = result
            && !panic.is::<End>()
        {
            self.state().fail(Cause::Panic { thread, message: message(&*panic) });
        }
    }

    /// True if the running thread can neither be switched away from nor unwound: it does what it does at once.
    pub(crate) fn is_unwinding(&self) -> bool {
        std::thread::panicking()
    }

    /// A scheduling point: somebody runs, not necessarily the thread that asks. `Err`: the thread has to end; see
    /// [`end`](Self::end).
    pub(crate) fn point(&self, action: Action, at: Site, yields: bool) -> Result<(), Ending> {
        if self.is_unwinding() {
            self.step_while_unwinding(at);
            return Ok(());
        }
        if self.ending.get() {
            return Err(Ending(()));
        }
        self.check_frees();
        // A thread that is started is there already; all else is done when the thread that does it goes on.
        let is_done = matches!(action, Action::Spawn { .. });
        let mut state = self.state();
        state.arrives();
        if is_done {
            state.step(action, at);
        }
        if state.steps > self.limits.steps {
            state.fail(Cause::StepLimit { limit: self.limits.steps });
        }
        if state.failure.is_none() {
            let current = state.current;
            if yields {
                state.schedule.yielded(current);
            }
            let next = state.choose(!yields);
            if next == Some(current) {
                if !is_done {
                    state.step(action, at);
                }
                return Ok(());
            }
            state.next = next;
        }
        drop(state);
        self.switch()?;
        if !is_done {
            self.state().step(action, at);
        }
        Ok(())
    }

    /// The running thread waits until it is woken, or until the clock shows `deadline`.
    pub(crate) fn block(&self, reason: Reason, deadline: Option<u64>, at: Site) -> Result<(), Ending> {
        if self.is_unwinding() {
            self.wait_while_unwinding(reason, at);
            return Ok(());
        }
        if self.ending.get() {
            return Err(Ending(()));
        }
        self.state().sleep(reason, deadline, at);
        self.switch()
    }

    /// Switches to the scheduler, until it resumes the running thread.
    fn switch(&self) -> Result<(), Ending> {
        let yielder = {
            let state = self.state();
            state.threads[state.current].yielder.expect("a running thread has a yielder")
        };
        // SAFETY: it is the running thread's own, which lives until the thread ends.
        match unsafe { yielder.as_ref() }.suspend(()) {
            Wake::Go => Ok(()),
            Wake::End => Err(Ending(())),
        }
    }

    /// A destructor waits. The clock may end that; nobody else can (W2), so then the thread is stuck (W4).
    fn wait_while_unwinding(&self, reason: Reason, at: Site) {
        let mut state = self.state();
        let current = state.current;
        state.clock = state.clock.saturating_add(1_000_000_000);
        state.threads[current].impatience += 1;
        if state.threads[current].impatience < 64 {
            return;
        }
        state.threads[current].status = Status::Stuck;
        state.fail(Cause::WaitsWhileUnwinding { waiting: Waiting { thread: current, reason, at } });
        drop(state);
        let _ = self.switch();
        unreachable!("a stuck thread is never resumed");
    }

    /// A destructor does something while its thread unwinds: counted, for it may be in a loop without end (W4).
    fn step_while_unwinding(&self, at: Site) {
        let mut state = self.state();
        state.passive += 1;
        if state.passive <= self.limits.steps {
            return;
        }
        let current = state.current;
        state.threads[current].status = Status::Stuck;
        state.fail(Cause::WaitsWhileUnwinding { waiting: Waiting { thread: current, reason: Reason::Spin, at } });
        drop(state);
        let _ = self.switch();
        unreachable!("a stuck thread is never resumed");
    }

    /// Fails the execution if something was freed twice.
    fn check_frees(&self) {
        if let Some((block, by)) = self.blocks.freed_twice() {
            self.state().fail(Cause::FreedTwice { block: Box::new(block), by: Box::new(by) });
        }
    }

    /// Fails the execution if the memory at `address` was freed.
    pub(crate) fn check_alive(&self, address: usize, at: Site) -> Result<(), Ending> {
        if self.is_unwinding() || self.ending.get() || !self.blocks.is_freed(address) {
            return Ok(());
        }
        let thread = self.state().current;
        self.fail(Cause::UseAfterFree { thread, at, block: self.blocks.freed_block(address).map(Box::new) })
    }

    /// Fails the execution at this point: the running thread stops here.
    pub(crate) fn fail(&self, cause: Cause) -> Result<(), Ending> {
        self.state().fail(cause);
        if self.is_unwinding() { Ok(()) } else { self.switch() }
    }

    /// Unwinds the running thread (W3).
    pub(crate) fn end(&self, _: Ending) {
        resume_unwind(Box::new(End));
    }

    /// True if `thread` has ended, or will never run again.
    pub(crate) fn has_ended(&self, thread: usize) -> bool {
        matches!(self.state().threads[thread].status, Status::Ended | Status::Stuck)
    }

    /// The execution is being given up.
    pub(crate) fn is_ending(&self) -> bool {
        self.ending.get()
    }
}

/// The running thread has to unwind, once it has done what must not be left half done.
#[must_use]
pub(crate) struct Ending(());

impl Keeper for World {
    fn moment(&self) -> (u32, u64) {
        let state = self.state();
        (state.current as u32, state.steps)
    }

    fn allocates(&self, blocks: &Blocks, layout: Layout) -> Option<usize> {
        if self.is_unwinding() || self.ending.get() {
            return None;
        }
        let freed = blocks.freed_of(layout);
        if freed.is_empty() {
            return None;
        }
        // Half of the time one that is new, so that a use after free is not always taken for one of the next owner.
        let chosen = self.state().schedule.random().below(2 * freed.len() as u64) as usize;
        let address = *freed.get(chosen)?;
        // No object that is there next waits for anything yet.
        blocks.hand_out(address, layout.size(), 0);
        Some(address)
    }

    fn frees(&self, _: usize, _: Layout) {}
}

impl State {
    pub(crate) fn current(&self) -> usize {
        self.current
    }

    /// The innermost attempt that the running thread is in.
    pub(crate) fn watches(&mut self) -> &mut Vec<Watch> {
        let current = self.current;
        &mut self.threads[current].watches
    }

    /// Where the running thread keeps its scheduler of user-level threads. None when no thread runs.
    pub(crate) fn host(&mut self) -> Option<&mut Option<Host>> {
        let current = self.current;
        self.threads.get_mut(current).map(|thread| &mut thread.host)
    }

    pub(crate) fn impatience(&mut self) -> &mut u32 {
        let current = self.current;
        &mut self.threads[current].impatience
    }

    /// The running thread depends on the value at `address`.
    pub(crate) fn read(&mut self, address: usize) {
        let current = self.current;
        if let Some(watch) = self.threads[current].watches.last_mut() {
            self.memory.read(address, watch);
        }
    }

    /// The running thread changed the value at `address`.
    pub(crate) fn changed(&mut self, address: usize) {
        let current = self.current;
        if let Some(watch) = self.threads[current].watches.last_mut() {
            watch.restless = true;
        }
        let waiters = self.memory.changed(address);
        self.wake_waiters(waiters);
    }

    /// The object at `address` is gone: who waited for it looks again, and a token left there was for nobody.
    pub(crate) fn retired(&mut self, address: usize) {
        self.tokens.remove(&address);
        let waiters = self.memory.retired(address);
        self.wake_waiters(waiters);
    }

    fn wake_waiters(&mut self, waiters: Vec<Waiter>) {
        for Waiter { thread, ticket } in waiters {
            if self.threads[thread].ticket == ticket {
                self.wake(thread);
            }
        }
    }

    /// The running thread waits for a change of what `watch` read.
    pub(crate) fn wait_for(&mut self, watch: &Watch) {
        let thread = self.current;
        // `sleep` will take the next ticket.
        let ticket = self.threads[thread].ticket + 1;
        self.memory.wait(watch, Waiter { thread, ticket });
    }

    /// Wakes every thread that waits for `reason`. True if there was one.
    pub(crate) fn wake_all(&mut self, wanted: impl Fn(Reason) -> bool) -> bool {
        let mut woken = false;
        for thread in 0..self.threads.len() {
            if let Status::Waits { reason, .. } = self.threads[thread].status
                && wanted(reason)
            {
                self.wake(thread);
                woken = true;
            }
        }
        woken
    }

    /// The last step, which is the running thread's, turned out to have read `value`.
    pub(crate) fn note_read(&mut self, value: u64) {
        if let Some(Step { action: Action::Atomic { read, .. }, .. }) = self.trace.back_mut() {
            *read = Some(value);
        }
    }

    pub(crate) fn fail(&mut self, cause: Cause) {
        // What goes wrong later is a consequence.
        self.failure.get_or_insert(cause);
    }

    /// The running thread comes to a step.
    fn arrives(&mut self) {
        self.steps += 1;
        self.clock = self.clock.saturating_add(STEP_NANOS);
    }

    /// The running thread does a step now.
    fn step(&mut self, action: Action, at: Site) {
        let thread = self.current;
        if self.trace.len() == TRACE {
            self.trace.pop_front();
        }
        self.trace.push_back(Step { thread, action, at });
        // FNV-1a over who did a step where: equal for equal schedules, in every run of the same program.
        for word in [thread as u64, u64::from(at.line()), u64::from(at.column())] {
            self.fingerprint = (self.fingerprint ^ word).wrapping_mul(0x0100_0000_01b3);
        }
    }

    /// Chooses who runs next, and moves the clock on if nobody can. `None`: all have ended, or the execution has
    /// failed.
    fn choose(&mut self, current_goes_on: bool) -> Option<usize> {
        // A fair system may hold up every thread for a while, so a timer may also fire early.
        if self.timed > 0 && (self.ready.is_empty() || self.schedule.random().below(1024) == 0) {
            let earliest = self.threads.iter().filter_map(|thread| thread.deadline).min();
            self.clock = self.clock.max(earliest.expect("somebody waits with a deadline"));
        }
        if self.timed > 0 {
            for thread in 0..self.threads.len() {
                if self.threads[thread].deadline.is_some_and(|deadline| deadline <= self.clock) {
                    self.wake(thread);
                }
            }
        }
        if self.ready.is_empty() {
            let waiting: Vec<_> = (self.threads.iter().enumerate())
                .filter_map(|(thread, other)| match other.status {
                    Status::Waits { reason, at } => Some(Waiting { thread, reason, at }),
                    _ => None,
                })
                .collect();
            if !waiting.is_empty() {
                self.fail(Cause::Deadlock { waiting });
            }
            return None;
        }
        let current = self.current;
        if !current_goes_on && self.ready.len() > 1 {
            // Somebody else, if there is anybody: the one that yields leaves the choice.
            let place = self.ready.iter().position(|&thread| thread == current);
            if let Some(place) = place {
                self.ready.swap_remove(place);
            }
            let chosen = self.schedule.choose(&self.ready, None);
            if place.is_some() {
                self.ready.push(current);
            }
            return Some(chosen);
        }
        let goes_on = current_goes_on.then_some(current);
        Some(self.schedule.choose(&self.ready, goes_on))
    }

    /// The running thread waits.
    fn sleep(&mut self, reason: Reason, deadline: Option<u64>, at: Site) {
        let current = self.current;
        let thread = &mut self.threads[current];
        thread.status = Status::Waits { reason, at };
        thread.ticket += 1;
        thread.deadline = deadline;
        self.timed += usize::from(deadline.is_some());
        self.leave(current);
    }

    fn wake(&mut self, thread: usize) {
        let other = &mut self.threads[thread];
        if let Status::Waits { .. } = other.status {
            other.status = Status::Ready;
            self.timed -= usize::from(other.deadline.take().is_some());
            self.ready.push(thread);
        }
    }

    fn leave(&mut self, thread: usize) {
        if let Some(place) = self.ready.iter().position(|&other| other == thread) {
            self.ready.swap_remove(place);
        }
    }

    fn ended(&mut self, thread: usize) {
        self.threads[thread].status = Status::Ended;
        self.threads[thread].yielder = None;
        self.leave(thread);
        self.wake_all(|reason| reason == Reason::Join { thread });
    }
}

pub(crate) fn message(panic: &(dyn Any + Send)) -> String {
    match (panic.downcast_ref::<&str>(), panic.downcast_ref::<String>()) {
        (Some(text), _) => (*text).to_owned(),
        (_, Some(text)) => text.clone(),
        _ => "a value that is not text".to_owned(),
    }
}
