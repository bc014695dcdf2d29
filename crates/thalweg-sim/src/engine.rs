//! The machine as an [`Engine`]: every access takes its time, then it happens in the client's own memory.

use crate::access::Kind;
use crate::agenda::LATEST;
use crate::device::Issued;
use crate::failure::Reason;
use crate::names::LINE;
use crate::threads::Status;
use crate::waits::PATIENCE;
use crate::world::World;
use std::any::Any;
use std::sync::atomic::Ordering;
use thalweg_sync::engine::{Atomic, Engine, LinkOperation, Operation, Site, Span, ThreadId};
use thalweg_sync::hint::Access;
use thalweg_sync::host::Host;

/// What a look at the clock takes.
const CLOCK_NANOS: u64 = 20;

fn kind_of(access: Access) -> Kind {
    match access {
        Access::Read => Kind::Load,
        Access::Write => Kind::Store,
    }
}

// SAFETY: values live in the client's memory and are changed by `Atomic::perform` alone, one thread at a time (W1);
// `join` waits for the end, or for W3, which keeps the order; a body is run, or dropped, once.
unsafe impl Engine for World {
    fn atomic(&self, access: &Atomic<'_>) -> Result<u64, u64> {
        let kind = match access.operation() {
            Operation::Load => Kind::Load,
            Operation::Store(_) if access.ordering() != Ordering::SeqCst => Kind::Store,
            _ => Kind::ReadModifyWrite,
        };
        let ending = self.access(access.address(), kind, access.at());
        // Compared first: by compare-and-exchange, if there is no instruction of its own.
        if !matches!(
            access.operation(),
            Operation::Load | Operation::Store(_) | Operation::Swap(_) | Operation::Add(_) | Operation::Sub(_)
        ) {
            let mut state = self.state();
            let cost = state.machine.cost.exchange;
            state.thread().clock += cost;
        }
        // Also at the end: a lock that is given back must be.
        let result = access.perform();
        if let Err(ending) = ending {
            self.end(ending);
        }
        result
    }

    fn fence(&self, ordering: Ordering, _at: Site) {
        let mut state = self.state();
        if ordering == Ordering::SeqCst {
            state.drain();
            let cost = state.machine.cost.fence;
            state.thread().clock += cost;
        }
    }

    fn slot_begin(&self, span: &Span) {
        if let Err(ending) = self.access_all(span.address, span.bytes, kind_of(span.access), span.at) {
            self.end(ending);
        }
    }

    fn slot_end(&self, _span: &Span) {}

    fn touch(&self, span: &Span) {
        self.slot_begin(span);
    }

    fn prefetch(&self, address: usize, access: Access) {
        if let Err(ending) = self.turn() {
            self.end(ending);
            return;
        }
        if !std::thread::panicking() {
            let mut state = self.state();
            let line = state.line(address);
            state.ask(line, access == Access::Write);
        }
    }

    fn retire(&self, address: usize, _bytes: usize) {
        self.state().retired(address);
    }

    fn watch(&self) {
        self.state().watch();
    }

    fn wait(&self, at: Site) {
        if self.waits_while_unwinding(Reason::Spin, at) {
            self.unwatch();
            return;
        }
        let result = if self.is_ending() {
            self.unwatch();
            self.turn()
        } else {
            let slept = self.state().attempt_failed(at);
            match slept {
                Some(reads) => {
                    let result = self.switch();
                    self.state().unread(reads);
                    result
                }
                None => {
                    let tries = self.state().thread().tries;
                    self.give_way_if_impatient(tries)
                }
            }
        };
        if let Err(ending) = result {
            self.end(ending);
        }
    }

    fn unwatch(&self) {
        self.state().unwatch();
    }

    fn park(&self, token: usize, deadline: Option<u64>, at: Site) {
        if self.waits_while_unwinding(Reason::Park, at) {
            return;
        }
        let mut result = self.turn();
        if result.is_ok() {
            let returns = self.state().park(token, deadline, at);
            if !returns {
                result = self.switch();
                self.state().parked(token);
            }
        }
        if let Err(ending) = result {
            self.end(ending);
        }
    }

    fn unpark(&self, token: usize, _at: Site) {
        let result = self.turn();
        self.state().unpark(token);
        if let Err(ending) = result {
            self.end(ending);
        }
    }

    fn yield_now(&self, _at: Site) {
        // The time slice is given up at once, whatever came before.
        self.back_off(PATIENCE + 1);
    }

    fn pause(&self, tries: u32, at: Site) {
        if !self.is_ending() {
            self.state().note_retry(tries, at);
        }
        self.back_off(tries);
    }

    fn spawn(&self, body: Box<dyn FnOnce() + Send>, _at: Site) -> ThreadId {
        if self.is_ending() {
            // Nobody will run it: as if it had ended at once.
            drop(body);
            return ThreadId(u64::MAX);
        }
        {
            let mut state = self.state();
            let cost = state.machine.cycles(state.machine.os.spawn);
            state.thread().clock += cost;
        }
        // SAFETY: the body is 'static.
        let thread = unsafe { self.start(body) };
        if let Err(ending) = self.turn() {
            self.end(ending);
        }
        ThreadId(thread as u64)
    }

    fn join(&self, thread: ThreadId, at: Site) {
        let Ok(thread) = usize::try_from(thread.0) else { return };
        let has_ended = || matches!(self.state().threads[thread].status, Status::Ended | Status::Stuck);
        let mut result = self.turn();
        while result.is_ok() && thread < usize::MAX && !has_ended() {
            result = self.block(Reason::Join { thread }, None, at);
        }
        if let Err(ending) = result {
            self.end(ending);
        }
    }

    fn panicked(&self, panic: &(dyn Any + Send)) {
        self.fails_by(panic);
    }

    fn now(&self, _at: Site) -> u64 {
        let mut state = self.state();
        state.note_change();
        let cost = state.machine.cycles(CLOCK_NANOS);
        let thread = state.thread();
        thread.clock += cost;
        let clock = thread.clock;
        state.machine.nanos(clock)
    }

    fn work(&self, cycles: u64) {
        let mut state = self.state();
        let percent = if state.is_taxed() { state.machine.cost.smt_percent } else { 0 };
        let thread = state.thread();
        // Nothing is later than the end of time.
        let cycles = cycles.min(LATEST);
        let cycles = cycles + cycles * percent / 100;
        thread.clock = thread.clock.max((thread.clock + cycles).min(LATEST));
    }

    fn code(&self, instructions: u64) {
        self.state().code(instructions);
    }

    fn code_end(&self) {
        self.state().code_end();
    }

    fn slow_upgrades(&self) -> Option<usize> {
        self.state().machine.cache.reclaims.map(|_| LINE)
    }

    fn relax(&self, pauses: u32) {
        let mut state = self.state();
        let cycles = state.machine.cost.pause * u64::from(pauses);
        state.stand_still(cycles);
    }

    fn relax_for(&self, nanos: &dyn Fn() -> u32) {
        // First: it may access memory.
        let nanos = nanos();
        let mut state = self.state();
        let cycles = state.machine.cycles(nanos.into());
        state.stand_still(cycles);
    }

    fn task(&self, name: &str) {
        self.state().task(name);
    }

    fn task_end(&self) {
        self.state().task_end();
    }

    fn took(&self, messages: u64) {
        let cycles = self.state().cost_of(messages, |price| price.taken);
        self.work(cycles);
    }

    fn gives(&self, messages: u64) {
        let cycles = self.state().cost_of(messages, |price| price.given);
        self.work(cycles);
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
        self.state().parallelism
    }

    fn pin(&self, cpu: usize) {
        let result = self.turn();
        // Who unwinds stays where it is (W2).
        let switches = result.is_ok() && !self.is_ending() && !std::thread::panicking() && {
            let mut state = self.state();
            let place = cpu % state.parallelism;
            state.pin(place)
        };
        let result = if switches { self.switch() } else { result };
        if let Err(ending) = result {
            self.end(ending);
        }
    }

    fn link(&self, operation: LinkOperation, at: Site) -> Option<u64> {
        if let LinkOperation::Unmap { address } = operation {
            // At once, as the end of an object's life: a destructor does it.
            self.state().device_retired(address);
            return None;
        }
        if let LinkOperation::Close { target } = operation {
            self.state().queue_closed(target);
            return None;
        }
        if std::thread::panicking() {
            // Nothing may wait now, and a device answers later.
            return None;
        }
        let result = match operation {
            // As any store to it, also for the stores before.
            LinkOperation::Select { address } => self.access(address, Kind::Store, at).and_then(|()| {
                self.state().drain();
                self.turn()
            }),
            _ => self.turn(),
        };
        let answer = result.and_then(|()| {
            let issued = self.state().issue(operation);
            match issued {
                Issued::Done(answer) => Ok(answer),
                Issued::Stalled => self.switch().map(|()| self.state().thread().answer.take()),
            }
        });
        answer.unwrap_or_else(|ending| {
            self.end(ending);
            None
        })
    }
}

impl World {
    /// A step of back-off, the `tries`-th in a row, as the client counts them: not one of an attempt's.
    fn back_off(&self, tries: u32) {
        if !self.is_ending() {
            let mut state = self.state();
            state.note_change();
            state.pause(tries);
        }
        if let Err(ending) = self.give_way_if_impatient(tries) {
            self.end(ending);
        }
    }

    /// After the `tries`-th step of back-off in a row: whoever waits for the hardware thread gets it, if pausing was of no use.
    fn give_way_if_impatient(&self, tries: u32) -> Result<(), crate::world::Ending> {
        self.turn()?;
        let gives_way = tries > PATIENCE && !std::thread::panicking() && !self.is_ending() && {
            let mut state = self.state();
            let gives_way = state.is_wanted();
            if gives_way {
                state.give_way();
            }
            gives_way
        };
        if gives_way { self.switch() } else { Ok(()) }
    }
}
