//! One run: simulated threads on coroutines.
//!
//! # Invariants
//!
//! - **W1** One thread executes at a time, and everything happens on one OS thread. `state` is never borrowed across a
//!   switch, nor while the client's code runs.
//! - **W2** A switch happens only in a hook, and never while the running thread unwinds: the standard library counts
//!   panics per OS thread, so another thread would see the unwinding as its own.
//! - **W3** A failure stops the run at once. Then the threads are resumed once more, the last started first, to unwind
//!   by a panic of type [`End`]; so a thread ends only after those it started, which may borrow from its stack.
//! - **W4** A thread that cannot be unwound, because a destructor waits for what never comes, is left as it is and
//!   never resumed.

use crate::access::Kind;
use crate::failure::{Failure, Reason, Waiting};
use crate::heap::{self, Held};
use crate::names::{LINE, NOWHERE};
use crate::pulse::Pulse;
use crate::stack::{self, Stack};
use crate::threads::{State, Status};
use corosensei::{Coroutine, CoroutineResult, Yielder};
use std::any::Any;
use std::cell::{Cell, RefCell, RefMut};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr::NonNull;
use std::sync::Arc;
use thalweg_sync::engine::Site;

/// Why a thread is resumed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wake {
    /// To go on.
    Go,
    /// To unwind (W3).
    End,
}

/// The panic that unwinds a thread of a run that is given up.
struct End;

pub(crate) type Fiber = Coroutine<Wake, (), (), Stack>;

/// The running thread has to unwind, once it has done what must not be left half done.
#[must_use]
pub(crate) struct Ending(());

/// One run.
pub(crate) struct World {
    state: RefCell<State>,
    stack_bytes: usize,
    /// Who goes on when the running thread has switched away, or has ended.
    next: Cell<Option<usize>>,
    /// The run is being given up (W3).
    ending: Cell<bool>,
    pulse: Arc<Pulse>,
}

impl World {
    pub(crate) fn new(state: State, stack_bytes: usize, pulse: Arc<Pulse>) -> Self {
        Self { state: RefCell::new(state), stack_bytes, next: Cell::new(None), ending: Cell::new(false), pulse }
    }

    /// Runs `client` as thread 0, and everything that it starts, to the end.
    #[cfg(feature = "run")]
    pub(crate) fn run<'a>(self, client: Box<dyn FnOnce() + 'a>) -> State {
        let world = &self;
        thalweg_sync::engine::enter(world, || {
            // SAFETY: the body runs in the loop below, or is dropped in `end_all`: within the borrow of `client`.
            unsafe { world.start(client) };
            heap::watched(world, || {
                world.next.set(world.state().next_to_run());
                while let Some(thread) = world.next.take() {
                    world.resume(thread, Wake::Go);
                }
                world.end_all();
            });
        });
        self.state.into_inner()
    }

    /// The state, for a moment that contains no switch (W1). Every hook comes here, but for [`access`](Self::access): what
    /// comes here may end that the last load [repeats](State::repeats).
    #[inline(always)]
    pub(crate) fn state(&self) -> RefMut<'_, State> {
        self.pulse.beat();
        let mut state = self.state.borrow_mut();
        state.repeats = NOWHERE;
        state
    }

    // What the scheduler does, between threads.

    fn resume(&self, thread: usize, wake: Wake) {
        self.pulse.turn(thread);
        let mut fiber = {
            let mut state = self.state();
            state.current = thread;
            state.threads[thread].fiber.take().expect("a thread that can be resumed is not running")
        };
        match fiber.resume(wake) {
            CoroutineResult::Yield(()) => self.state().threads[thread].fiber = Some(fiber),
            CoroutineResult::Return(()) => {
                let mut state = self.state();
                state.ended(thread);
                self.next.set(state.next_to_run());
            }
        }
    }

    /// Unwinds what is left (W3).
    fn end_all(&self) {
        self.ending.set(true);
        // A destructor may start threads; those end at once, in `spawn`.
        let threads = self.state().threads.len();
        for thread in (0..threads).rev() {
            let status = self.state().threads[thread].status;
            if !matches!(status, Status::Ended | Status::Stuck) {
                self.resume(thread, Wake::End);
            }
            let mut state = self.state();
            if state.threads[thread].status != Status::Ended {
                // W4. Its stack stays as it is, for dropping the coroutine would unwind it.
                std::mem::forget(state.threads[thread].fiber.take());
            }
        }
    }

    // What threads do.

    /// Starts a thread.
    ///
    /// # Safety
    ///
    /// What `body` borrows outlives the thread, or the run.
    pub(crate) unsafe fn start<'a>(&self, body: Box<dyn FnOnce() + 'a>) -> usize {
        let mut state = self.state();
        let thread = state.threads.len();
        let stack = stack::new(self.stack_bytes, thread);
        // The host may have put it where another thread's was, or not.
        state.names.vacated(stack::range(&stack));
        // SAFETY: only the lifetime changes; the caller answers for it.
        let body = unsafe { std::mem::transmute::<Box<dyn FnOnce() + 'a>, Box<dyn FnOnce()>>(body) };
        let world = NonNull::from(self);
        let fiber = Fiber::with_stack(stack, move |yielder, wake| {
            // SAFETY: threads run in `World::run` only, which borrows the world.
            unsafe { world.as_ref() }.body(thread, yielder, wake, body);
        });
        let time = if thread == 0 { 0 } else { state.thread().clock };
        state.started(fiber, time)
    }

    /// A thread, from its first instruction to its last.
    fn body(&self, thread: usize, yielder: &Yielder<Wake, ()>, wake: Wake, body: Box<dyn FnOnce()>) {
        self.state().threads[thread].yielder = Some(NonNull::from(yielder));
        let result = catch_unwind(AssertUnwindSafe(|| match wake {
            Wake::Go => body(),
            Wake::End => drop(body),
        }));
        match result {
            Err(panic) if !panic.is::<End>() => self.fails_by(&*panic),
            // Its end is an event: others get its hardware thread, and come home from their joins. If the run is given
            // up meanwhile, it has ended anyway.
            _ => _ = self.turn(),
        }
    }

    /// A panic of the running thread is the end of the run, unless it is how threads are unwound (W3).
    pub(crate) fn fails_by(&self, panic: &(dyn Any + Send)) {
        if panic.is::<End>() {
            return;
        }
        let mut state = self.state();
        let thread = state.current;
        let nanos = state.machine.nanos(state.threads[thread].clock);
        state.fail(Failure::Panic { thread, message: message(panic), nanos });
    }

    /// True if the running thread can neither be switched away from nor unwound: it does what it does at once.
    fn is_unwinding(&self) -> bool {
        std::thread::panicking()
    }

    /// The run is being given up.
    #[inline(always)]
    pub(crate) fn is_ending(&self) -> bool {
        self.ending.get()
    }

    /// An access of `kind` to the line at `address`, as long as it takes. `Err`: the thread has to end; see
    /// [`end`](Self::end).
    #[inline(always)]
    pub(crate) fn access(&self, address: usize, kind: Kind, at: Site) -> Result<(), Ending> {
        self.pulse.beat();
        let mut state = self.state.borrow_mut();
        let host = address / LINE;
        if kind == Kind::Load && state.repeats == host && state.repeat() {
            return Ok(());
        }
        let line = state.line(address);
        let quick = !self.is_ending() && state.quick(line, kind, at);
        state.repeats = if quick && kind == Kind::Load { host } else { NOWHERE };
        if quick { Ok(()) } else { self.slow(state, line, kind, at) }
    }

    #[inline(never)]
    fn slow(&self, mut state: RefMut<'_, State>, line: u32, kind: Kind, at: Site) -> Result<(), Ending> {
        if self.is_unwinding() {
            return Ok(());
        }
        if self.is_ending() {
            return Err(Ending(()));
        }
        if state.at_once(line, kind, at) { Ok(()) } else { self.switch_from(state) }
    }

    /// Accesses to all lines of a range.
    pub(crate) fn access_all(&self, address: usize, bytes: usize, kind: Kind, at: Site) -> Result<(), Ending> {
        if bytes == 0 {
            return Ok(());
        }
        let last = (address + bytes - 1) / LINE;
        self.access(address, kind, at)?;
        (address / LINE + 1..=last).try_for_each(|line| self.access(line * LINE, kind, at))
    }

    /// Waits until it is the running thread's turn: nobody has a smaller clock.
    #[inline]
    pub(crate) fn turn(&self) -> Result<(), Ending> {
        if self.is_unwinding() {
            return Ok(());
        }
        if self.is_ending() {
            return Err(Ending(()));
        }
        // Again when it is resumed: its time slice may be over by then.
        while !self.state().in_turn() {
            self.switch()?;
        }
        Ok(())
    }

    /// The others go on, until it is the running thread's turn.
    pub(crate) fn switch(&self) -> Result<(), Ending> {
        self.switch_from(self.state())
    }

    // By itself, so that who does not switch need not save so many registers.
    #[inline(never)]
    fn switch_from(&self, mut state: RefMut<'_, State>) -> Result<(), Ending> {
        let thread = state.current;
        let yielder = state.thread().yielder.expect("a running thread has a yielder");
        // Chosen before the stack is left: often it is the same thread, which then stays where it is.
        let next = state.next_to_run();
        drop(state);
        if next == Some(thread) {
            return Ok(());
        }
        self.next.set(next);
        // SAFETY: it is the running thread's own, which lives until the thread ends.
        match unsafe { yielder.as_ref() }.suspend(()) {
            Wake::Go => Ok(()),
            Wake::End => Err(Ending(())),
        }
    }

    /// The running thread waits until it is woken, or until `deadline`, in cycles.
    pub(crate) fn block(&self, reason: Reason, deadline: Option<u64>, at: Site) -> Result<(), Ending> {
        if self.is_unwinding() {
            self.wait_while_unwinding(reason, at);
            return Ok(());
        }
        if self.is_ending() {
            return Err(Ending(()));
        }
        self.state().sleep(reason, deadline, at);
        self.switch()
    }

    /// True if the running thread unwinds; then it has waited as it can.
    pub(crate) fn waits_while_unwinding(&self, reason: Reason, at: Site) -> bool {
        let unwinding = self.is_unwinding();
        if unwinding {
            self.wait_while_unwinding(reason, at);
        }
        unwinding
    }

    /// A destructor waits. The clock may end that; nobody else can (W2), so then the thread is stuck (W4).
    fn wait_while_unwinding(&self, reason: Reason, at: Site) {
        let mut state = self.state();
        let second = state.machine.cycles(1_000_000_000);
        let current = state.current;
        let thread = state.thread();
        thread.clock += second;
        thread.impatience += 1;
        if thread.impatience < 64 {
            return;
        }
        thread.status = Status::Stuck;
        state.fail(Failure::WaitsWhileUnwinding { waiting: Waiting { thread: current, reason, at } });
        drop(state);
        let _ = self.switch();
        unreachable!("a stuck thread is never resumed");
    }

    /// Unwinds the running thread (W3).
    pub(crate) fn end(&self, _: Ending) {
        resume_unwind(Box::new(End));
    }

    // What the allocator tells.

    pub(crate) fn allocated(&self, address: usize, bytes: usize) {
        // Borrowed: the engine itself allocates.
        if let Ok(mut state) = self.state.try_borrow_mut() {
            let core = state.thread().core;
            state.repeats = NOWHERE;
            state.names.allocated(address, bytes, core);
        }
    }

    pub(crate) fn freed(&self, address: usize) {
        if let Ok(mut state) = self.state.try_borrow_mut() {
            let core = state.thread().core;
            state.repeats = NOWHERE;
            state.names.freed(address, core);
        }
    }

    pub(crate) fn held(&self, anew: bool) -> Held {
        self.state().names.held(anew)
    }
}

impl State {
    /// Who goes on; `None` at the end of the run. Called in the place of the running thread, which has said when it goes on.
    fn next_to_run(&mut self) -> Option<usize> {
        if self.names.are_exhausted() {
            let nanos = self.machine.nanos(self.latest());
            self.fail(Failure::OutOfMemory { nanos });
        }
        if self.failure.is_some() {
            return None;
        }
        let chosen = self.choose();
        if chosen.is_none() && self.failure.is_none() {
            let waiting = self.waiting();
            if !waiting.is_empty() {
                let nanos = self.machine.nanos(self.latest());
                self.failure = Some(Failure::Deadlock { waiting, nanos });
            }
        }
        chosen
    }

    pub(crate) fn fail(&mut self, failure: Failure) {
        // What goes wrong later is a consequence.
        self.failure.get_or_insert(failure);
    }
}

fn message(panic: &(dyn Any + Send)) -> String {
    match (panic.downcast_ref::<&str>(), panic.downcast_ref::<String>()) {
        (Some(text), _) => (*text).to_owned(),
        (_, Some(text)) => text.clone(),
        _ => "a value that is not text".to_owned(),
    }
}
