//! The fuzzer as an [`Engine`]: every access is a scheduling point, then it happens in the client's own memory.

use crate::failure::{Action, Cause, Reason};
use crate::heap::engine_side;
use crate::memory::Watch;
use crate::world::{Ending, World, message};
use std::any::Any;
use std::sync::atomic::Ordering;
use thalweg_sync::engine::{Atomic, Engine, Operation, Site, Span, ThreadId};
use thalweg_sync::hint::Access;
use thalweg_sync::host::Host;

/// One in so many weak compare-exchanges fails without a reason, and so many waits of a condition variable end.
const SPURIOUS: u64 = 16;
/// A wait whose attempt read the clock tries again after this many nanoseconds, then after twice as many, up to 2^20
/// times as many.
const IMPATIENT_NANOS: u64 = 1_000;

// SAFETY: values live in the client's memory and are changed by `Atomic::perform` alone, one thread at a time (W1);
// `join` waits for the end, or for W3, which keeps the order; a body is run, or dropped, once.
unsafe impl Engine for World {
    fn atomic(&self, access: &Atomic<'_>) -> Result<u64, u64> {
        let _engine = engine_side();
        let (address, operation) = (access.address(), access.operation());
        if let Err(ending) = self.point(Action::Atomic { address, operation, read: None }, access.at(), false) {
            // A lock that is given back must be, also when its owner ends here; one that would be taken is not, for nobody
            // would give it back.
            if access.ordering() != Ordering::Acquire {
                let _ = access.perform();
            }
            self.end(ending);
        }
        if let Err(ending) = self.check_alive(address, access.at()) {
            self.end(ending);
        }
        let mut state = self.state();
        let before = access.peek();
        let spurious = matches!(operation, Operation::CompareExchange { weak: true, .. })
            && !self.is_ending()
            && state.schedule.random().below(SPURIOUS) == 0;
        let result = if spurious {
            if let Some(watch) = state.watches().last_mut() {
                watch.restless = true;
            }
            Err(before)
        } else {
            access.perform()
        };
        if access.reads() {
            // What a destructor does while its thread unwinds is no step.
            if !self.is_unwinding() {
                state.note_read(before);
            }
            state.read(address);
        }
        if access.peek() != before {
            state.changed(address);
        }
        result
    }

    fn fence(&self, _ordering: Ordering, at: Site) {
        let _engine = engine_side();
        if let Err(ending) = self.point(Action::Fence, at, false) {
            self.end(ending);
        }
    }

    fn slot_begin(&self, span: &Span) {
        let _engine = engine_side();
        let write = span.access == Access::Write;
        let mut result = self.point(Action::SlotBegin { address: span.address, write }, span.at, false);
        if result.is_ok() {
            result = self.check_alive(span.address, span.at).and_then(|()| self.check(span));
        }
        if let Err(ending) = result {
            self.end(ending);
        }
        let mut state = self.state();
        let current = state.current();
        state.memory.open(current, *span);
        if !write {
            state.read(span.address);
        }
    }

    fn slot_end(&self, span: &Span) {
        let _engine = engine_side();
        let result = self.point(Action::SlotEnd { address: span.address }, span.at, false);
        {
            let mut state = self.state();
            let current = state.current();
            state.memory.close(current, span);
            if span.access == Access::Write {
                state.changed(span.address);
            }
        }
        if let Err(ending) = result {
            self.end(ending);
        }
    }

    fn touch(&self, span: &Span) {
        let _engine = engine_side();
        let mut result = self.point(Action::Touch { address: span.address, bytes: span.bytes }, span.at, false);
        if result.is_ok() {
            result = self.check_alive(span.address, span.at).and_then(|()| self.check(span));
        }
        if span.access == Access::Write {
            self.state().changed(span.address);
        }
        if let Err(ending) = result {
            self.end(ending);
        }
    }

    fn retire(&self, address: usize, bytes: usize) {
        let _engine = engine_side();
        let mut state = self.state();
        state.retired(address);
        let at = std::panic::Location::caller();
        let whole = Span { address, bytes, access: Access::Write, may_be_uninit: false, at };
        let conflict = if self.is_ending() { None } else { state.memory.conflict(&whole) };
        let dropper = state.current();
        drop(state);
        if let Some((user, open)) = conflict
            && let Err(ending) = self.fail(Cause::DroppedInUse { user: (user, open.at), dropper })
        {
            self.end(ending);
        }
    }

    fn watch(&self) {
        let _engine = engine_side();
        self.state().watches().push(Watch::default());
    }

    fn wait(&self, at: Site) {
        let _engine = engine_side();
        let watch = self.state().watches().pop().unwrap_or_default();
        if watch.restless
            && let Some(outer) = self.state().watches().last_mut()
        {
            outer.restless = true;
        }
        let sleeps = !watch.restless && (watch.clock || !watch.is_empty());
        let result = if self.is_unwinding() {
            self.wait_on(&watch, at)
        } else if !sleeps {
            // Others first, or a policy with priorities would try for ever.
            self.point(Action::Retry, at, true)
        } else if !self.state().memory.is_current(&watch) {
            // Something changed meanwhile: the next attempt may succeed.
            self.point(Action::Retry, at, false)
        } else {
            self.wait_on(&watch, at)
        };
        if let Err(ending) = result {
            self.end(ending);
        }
    }

    fn unwatch(&self) {
        let _engine = engine_side();
        let mut state = self.state();
        *state.impatience() = 0;
        let watches = state.watches();
        if let Some(inner) = watches.pop()
            && let Some(outer) = watches.last_mut()
        {
            outer.absorb(inner);
        }
    }

    fn park(&self, token: usize, deadline: Option<u64>, at: Site) {
        let _engine = engine_side();
        let mut result = self.point(Action::Park, at, false);
        if result.is_ok() {
            let mut state = self.state();
            let returns = state.tokens.remove(&token) || deadline.is_some_and(|deadline| deadline <= state.clock);
            drop(state);
            if !returns {
                result = self.block(Reason::Park { token }, deadline, at);
            }
        }
        if let Err(ending) = result {
            self.end(ending);
        }
    }

    fn unpark(&self, token: usize, at: Site) {
        let _engine = engine_side();
        let result = self.point(Action::Unpark, at, false);
        {
            let mut state = self.state();
            if !state.wake_all(|reason| reason == Reason::Park { token }) {
                state.tokens.insert(token);
            }
        }
        if let Err(ending) = result {
            self.end(ending);
        }
    }

    fn wakes_unasked(&self, _at: Site) -> bool {
        let _engine = engine_side();
        let is_over = self.is_unwinding() || self.is_ending();
        !is_over && self.limits().spurious && self.state().schedule.random().below(SPURIOUS) == 0
    }

    fn choose(&self, of: usize, _at: Site) -> usize {
        let _engine = engine_side();
        self.state().schedule.random().below(of as u64) as usize
    }

    fn yield_now(&self, at: Site) {
        let _engine = engine_side();
        if let Err(ending) = self.point(Action::Yield, at, true) {
            self.end(ending);
        }
    }

    fn spawn(&self, body: Box<dyn FnOnce() + Send>, at: Site) -> ThreadId {
        let _engine = engine_side();
        if self.is_ending() {
            // Nobody will run it: as if it had ended at once.
            drop(body);
            return ThreadId(u64::MAX);
        }
        // SAFETY: the body is 'static.
        let thread = unsafe { self.start(body) };
        if let Err(ending) = self.point(Action::Spawn { thread }, at, false) {
            self.end(ending);
        }
        ThreadId(thread as u64)
    }

    fn join(&self, thread: ThreadId, at: Site) {
        let _engine = engine_side();
        let Ok(thread) = usize::try_from(thread.0) else { return };
        let mut result = self.point(Action::Join { thread }, at, false);
        while result.is_ok() && !self.has_ended(thread) {
            result = self.block(Reason::Join { thread }, None, at);
        }
        if let Err(ending) = result {
            self.end(ending);
        }
    }

    fn panicked(&self, panic: &(dyn Any + Send)) {
        let _engine = engine_side();
        if !self.is_unwinding() && !self.is_ending() {
            let thread = self.state().current();
            // Resumed when the threads that it started are unwound (W3), it goes on to unwind.
            let _ = self.fail(Cause::Panic { thread, message: message(panic) });
        }
    }

    fn now(&self, at: Site) -> u64 {
        let _engine = engine_side();
        if let Err(ending) = self.point(Action::Clock, at, false) {
            self.end(ending);
        }
        let mut state = self.state();
        if let Some(watch) = state.watches().last_mut() {
            watch.clock = true;
        }
        state.clock
    }

    fn work(&self, cycles: u64) {
        let _engine = engine_side();
        let mut state = self.state();
        state.clock = state.clock.saturating_add(cycles);
    }

    fn host(&self) -> Option<Host> {
        self.state().host().and_then(|host| *host)
    }

    fn set_host(&self, host: Option<Host>) {
        if let Some(place) = self.state().host() {
            *place = host;
        }
    }

    fn parallelism(&self) -> usize {
        self.limits().parallelism
    }

    fn pin(&self, _cpu: usize) {}
}

impl World {
    /// Fails the execution if `span` conflicts with an access that has begun.
    fn check(&self, span: &Span) -> Result<(), Ending> {
        let state = self.state();
        let conflict = state.memory.conflict(span);
        let current = state.current();
        drop(state);
        match conflict {
            Some((first, open)) => self.fail(Cause::Overlap { threads: [first, current], sites: [open.at, span.at] }),
            None => Ok(()),
        }
    }

    /// Waits for a change of what the attempt read; if that includes the clock, not for ever.
    fn wait_on(&self, watch: &Watch, at: Site) -> Result<(), Ending> {
        let mut state = self.state();
        state.wait_for(watch);
        let deadline = watch.clock.then(|| {
            let impatience = (*state.impatience()).min(20);
            *state.impatience() += 1;
            state.clock.saturating_add(IMPATIENT_NANOS << impatience)
        });
        drop(state);
        self.block(Reason::Spin, deadline, at)
    }
}
