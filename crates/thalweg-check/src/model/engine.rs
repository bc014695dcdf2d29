//! The checker as an [`Engine`]: what each operation of the facade is in a graph.

use super::explore::writes;
use super::graph::{EventId, Kind, Location, acquires, is_same_site};
use super::report::Rule;
use super::run::{Ending, Run};
use super::state::{Attempt, State, Status};
use crate::heap::engine_side;
use crate::world::message;
use std::any::Any;
use std::panic::Location as Here;
use std::sync::atomic::Ordering;
use thalweg_sync::engine::{Atomic, Engine, Operation, Scalar, Site, Span, ThreadId};
use thalweg_sync::hint::Access;
use thalweg_sync::host::Host;

/// What a client is told of `thread::available_parallelism`.
const PARALLELISM: usize = 2;

/// What a read-modify-write that reads is given back: an error if it did not write.
type Read = Result<u64, u64>;

// SAFETY: a read returns the value of a write to the location (G2), or its initial one, and `Err` only to a
// compare-exchange that did not write; `join` waits for the end, or for R4, which keeps the order; a body is run, or
// dropped, once.
unsafe impl Engine for Run {
    fn atomic(&self, access: &Atomic<'_>) -> Read {
        let _engine = engine_side();
        if self.passes() {
            self.step_while_passive();
            return access.perform();
        }
        let result = self.check_alive(access.address(), access.at()).and_then(|()| match access.operation() {
            Operation::Store(value) => self.write(access, value).map(|()| Ok(value)),
            _ => self.read(access),
        });
        let result = result.and_then(|done| self.check_exclusive(access, done.is_ok()).map(|()| done));
        result.unwrap_or_else(|ending| {
            // A lock that is given back must be, also when its owner ends here; one that would be taken is not, for
            // nobody would give it back.
            if !acquires(access.ordering()) {
                let _ = access.perform();
            }
            self.end(ending)
        })
    }

    fn takes_any_ordering(&self) -> bool {
        self.limits.any_ordering
    }

    fn fence(&self, ordering: Ordering, at: Site) {
        let _engine = engine_side();
        if !self.is_passive()
            && let Err(ending) = self.plain(Kind::Fence(ordering), 0, at)
        {
            self.end(ending);
        }
    }

    fn slot_begin(&self, span: &Span) {
        let _engine = engine_side();
        if self.passes() {
            return;
        }
        self.begin_access(span, true);
    }

    fn take_lock(&self, address: usize, at: Site) {
        let _engine = engine_side();
        if !self.is_passive()
            && self.state().leftovers.take_lock(address)
            && let Err(ending) = self.fail(Rule::LeftOver { at })
        {
            self.end(ending);
        }
    }

    fn slot_end(&self, span: &Span) {
        let _engine = engine_side();
        if !self.is_passive() {
            let mut state = self.state();
            let (thread, done) = (state.current, state.thread().done);
            state.slots.end(span, thread, done);
        }
    }

    fn touch(&self, span: &Span) {
        let _engine = engine_side();
        if self.is_passive() {
            return;
        }
        self.begin_access(span, false);
        self.slot_end(span);
        if let Err(ending) = self.check_atomic(span) {
            self.end(ending);
        }
        if span.access == Access::Write {
            // An atomic that is written by other means begins anew.
            self.state().places.forget(span.address);
        }
    }

    fn retire(&self, address: usize, bytes: usize) {
        let _engine = engine_side();
        let user = {
            let mut state = self.state();
            let is_known = state.places.find(address).is_some() || state.leftovers.is_left(address);
            if !is_known && !state.slots.may_have(address, bytes) {
                // Nobody has used it, as most of a long array.
                return;
            }
            let user = if self.is_passive() || self.limits.unseen_handles { None } else { state.user(address, bytes) };
            state.places.forget(address);
            state.slots.forget(address, bytes);
            state.leftovers.forget(address);
            user
        };
        if let Some(user) = user {
            let dropper = self.state().current;
            if let Err(ending) = self.fail(Rule::DroppedInUse { dropper, user }) {
                self.end(ending);
            }
        }
    }

    fn release(&self, object: usize, is_last: &dyn Fn() -> bool) {
        let _engine = engine_side();
        if !self.is_passive()
            && let Err(ending) =
                self.check_alive(object, Here::caller()).and_then(|()| self.drop_handle(object, is_last))
        {
            self.end(ending);
        }
    }

    fn watch(&self) {
        let _engine = engine_side();
        if !self.is_passive() {
            let mut state = self.state();
            let first = state.thread().done;
            state.thread_mut().attempts.push(Attempt { first, clock: false });
        }
    }

    fn wait(&self, at: Site) {
        let _engine = engine_side();
        if self.passes() {
            self.wait_while_passive();
        } else if let Err(ending) = self.wait_for_change(at) {
            self.end(ending);
        }
    }

    fn unwatch(&self) {
        let _engine = engine_side();
        if !self.is_passive() {
            let mut state = self.state();
            let thread = state.thread_mut();
            let inner = thread.attempts.pop();
            match thread.attempts.last_mut() {
                Some(outer) => outer.clock |= inner.is_some_and(|inner| inner.clock),
                // Not when an inner one succeeds: a timed wait with a lock in it has one in each attempt.
                None => {
                    thread.retries = 0;
                    thread.vain.succeeds();
                }
            }
        }
    }

    fn park(&self, token: usize, deadline: Option<u64>, at: Site) {
        let _engine = engine_side();
        if self.passes() {
            self.wait_while_passive();
            return;
        }
        if let Some(deadline) = deadline {
            // Any time may have passed, so it may well be over.
            let mut state = self.state();
            let clock = &mut state.thread_mut().clock;
            *clock = (*clock).max(deadline);
            return;
        }
        if let Err(ending) = self.wait_for_token(token, at) {
            self.end(ending);
        }
    }

    fn unpark(&self, _token: usize, _at: Site) {
        // The token itself is an atomic, and who parks awaits its value.
    }

    fn wakes_unasked(&self, at: Site) -> bool {
        let _engine = engine_side();
        if self.passes() || !self.state().explorer.rules().spurious {
            return false;
        }
        let before = self.state().thread_mut().woken.take();
        // A loop would have no end if each of its waits returned: after one that did, the next one waits.
        if before.is_some_and(|before| is_same_site(before, at)) {
            return false;
        }
        let wakes = self.choose_event(Kind::Wake, 2, at).unwrap_or_else(|ending| self.end(ending)) == 1;
        self.state().thread_mut().woken = wakes.then_some(at);
        wakes
    }

    fn choose(&self, of: usize, at: Site) -> usize {
        let _engine = engine_side();
        if self.is_passive() {
            return 0;
        }
        let of = of as u32;
        self.choose_event(Kind::Choose { of }, of, at).unwrap_or_else(|ending| self.end(ending)) as usize
    }

    fn yield_now(&self, at: Site) {
        let _engine = engine_side();
        if self.passes() {
            self.step_while_passive();
        } else if let Err(ending) = self.step().and_then(|()| self.yields(at)) {
            self.end(ending);
        }
    }

    fn spawn(&self, body: Box<dyn FnOnce() + Send>, at: Site) -> ThreadId {
        let _engine = engine_side();
        if self.passes() {
            // Nobody will run it: as if it had ended at once.
            drop(body);
            return ThreadId(u64::MAX);
        }
        match self.spawn_thread(body, at) {
            Ok(child) => ThreadId(child.into()),
            Err(ending) => self.end(ending),
        }
    }

    fn join(&self, thread: ThreadId, at: Site) {
        let _engine = engine_side();
        let Ok(child) = u32::try_from(thread.0) else { return };
        if self.passes() {
            while !self.has_ended(child) {
                self.wait_while_passive();
            }
        } else if let Err(ending) = self.join_thread(child, at) {
            self.end(ending);
        }
    }

    fn panicked(&self, panic: &(dyn Any + Send)) {
        let _engine = engine_side();
        if !self.is_passive() {
            let thread = self.state().current;
            // Resumed when the threads that it started are unwound (R4), it goes on with its panic.
            let _ = self.fail(Rule::Panic { thread, message: message(panic) });
        }
    }

    fn now(&self, _at: Site) -> u64 {
        let _engine = engine_side();
        if self.passes() {
            self.step_while_passive();
            return 0;
        }
        // Counted: the clock stands still for who looks at it in a loop.
        if let Err(ending) = self.step() {
            self.end(ending);
        }
        let mut state = self.state();
        let thread = state.thread_mut();
        if let Some(attempt) = thread.attempts.last_mut() {
            attempt.clock = true;
        }
        thread.clock
    }

    fn work(&self, cycles: u64) {
        let _engine = engine_side();
        if !self.is_passive() {
            let mut state = self.state();
            let thread = state.thread_mut();
            thread.clock = thread.clock.saturating_add(cycles);
        }
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
        PARALLELISM
    }

    fn pin(&self, _cpu: usize) {}
}

impl Run {
    /// An access to plain memory begins, to a [`Slot`](thalweg_sync::cell::Slot) or to other memory.
    fn begin_access(&self, span: &Span, is_slot: bool) {
        let result = self.step().and_then(|()| self.check_alive(span.address, span.at)).and_then(|()| {
            let mut state = self.state();
            let next = state.next_event();
            let thread = next.thread;
            // How often an attempt is made says nothing, so what it does is not logged.
            let waits = !state.thread().attempts.is_empty();
            let State { explorer, slots, leftovers, .. } = &mut *state;
            let is_left = is_slot && leftovers.is_left(span.address);
            if (is_left || span.may_be_uninit) && span.access == Access::Read && !slots.is_written(span) {
                drop(state);
                let at = span.at;
                return self.fail(if is_left { Rule::LeftOver { at } } else { Rule::Uninitialised { thread, at } });
            }
            if is_slot && !waits {
                slots.log.note(span, next);
            }
            let race = slots.begin(span, is_slot, thread, explorer.graph.before(next));
            drop(state);
            race.or_else(|race| {
                let writes = [race.write, span.access == Access::Write];
                let after = [race.since, next.index];
                self.fail(Rule::Race { threads: [race.thread, thread], writes, sites: [race.at, span.at], after })
            })
        });
        if let Err(ending) = result {
            self.end(ending);
        }
    }

    /// What is done to the atomic at `span` by other means (`get_mut`, `into_inner`) races with accesses to it that are not
    /// ordered before.
    fn check_atomic(&self, span: &Span) -> Result<(), Ending> {
        let race = {
            let state = self.state();
            let next = state.next_event();
            state.atomic_user(span).map(|user| {
                let node = state.explorer.graph.node(user);
                let writes = matches!(node.kind, Kind::Write { .. } | Kind::Read { exclusive: true, .. });
                Rule::Race {
                    threads: [user.thread, next.thread],
                    writes: [writes, span.access == Access::Write],
                    sites: [node.at, span.at],
                    after: [user.index, next.index],
                }
            })
        };
        race.map_or(Ok(()), |race| self.fail(race))
    }

    /// An access to an atomic, just executed, races with what was done to it by other means if that is not ordered before. Now,
    /// as the access itself may be what orders the two.
    fn check_exclusive(&self, access: &Atomic<'_>, succeeds: bool) -> Result<(), Ending> {
        let race = {
            let state = self.state();
            if !state.slots.is_known(access.address()) {
                return Ok(());
            }
            let write = succeeds && access.operation() != Operation::Load;
            let span = Span {
                address: access.address(),
                bytes: access.scalar().bytes(),
                access: if write { Access::Write } else { Access::Read },
                may_be_uninit: false,
                at: access.at(),
            };
            let thread = state.current;
            state.slots.exclusive(&span, thread, state.now()).map(|past| Rule::Race {
                threads: [past.thread, thread],
                writes: [past.write, write],
                sites: [past.at, span.at],
                after: [past.since, state.thread().done - 1],
            })
        };
        race.map_or(Ok(()), |race| self.fail(race))
    }

    fn write(&self, access: &Atomic<'_>, value: u64) -> Result<(), Ending> {
        let kind = Kind::Write { order: access.ordering(), exclusive: false };
        if let Some(id) = self.recorded() {
            let mut state = self.state();
            let node = state.explorer.graph.node(id);
            let same_value = node.value == value || access.scalar() == Scalar::Pointer;
            let is_same = node.kind.is_like(&kind) && is_same_site(node.at, access.at()) && same_value;
            if is_same && state.find_again(id, access) {
                state.explorer.graph.node_mut(id).value = value;
                state.wrote(id, access);
                return Ok(());
            }
            drop(state);
            self.diverges(id, &kind, value, access.at())?;
        }
        self.reach_new_access()?;
        let mut state = self.state();
        let (thread, loc) = (state.current, state.find_or_add(access));
        let id = state.explorer.add_write(thread, loc, access.ordering(), value, access.at());
        state.wrote(id, access);
        Ok(())
    }

    fn read(&self, access: &Atomic<'_>) -> Result<Read, Ending> {
        let orders = [access.ordering(), access.failure_ordering()];
        let kind = Kind::read(access.operation(), access.scalar(), orders);
        let (id, goes_on) = match self.recorded() {
            Some(id) => {
                self.read_again(id, kind, access)?;
                (id, true)
            }
            None => {
                self.reach_new_access()?;
                self.reach_guided_source()?;
                let mut state = self.state();
                let (thread, loc) = (state.current, state.find_or_add(access));
                let id = state.explorer.add_read(thread, loc, kind, access.at());
                state.thread_mut().done += 1;
                (id, state.explorer.add_exclusive_write(id))
            }
        };
        let (value, exclusive) = {
            let state = self.state();
            let node = state.explorer.graph.node(id);
            (node.value, matches!(node.kind, Kind::Read { exclusive: true, .. }))
        };
        self.state().saw(id, access.scalar(), value);
        if !exclusive {
            self.polls(id)?;
        } else {
            let mut state = self.state();
            let write = EventId { index: id.index + 1, ..id };
            // Of a pointer it is another one in each execution.
            state.explorer.graph.node_mut(write).value =
                access.next(value).expect("an exclusive read is followed by a write");
            state.wrote(write, access);
            state.dead |= !goes_on;
            drop(state);
            if !goes_on {
                self.switch()?;
            }
        }
        let fails = !exclusive && access.operation() != Operation::Load;
        Ok(if fails { Err(value) } else { Ok(value) })
    }

    /// Replays a read.
    fn read_again(&self, id: EventId, kind: Kind, access: &Atomic<'_>) -> Result<(), Ending> {
        let from = self.state().explorer.graph.node(id).rf;
        self.reach(from)?;
        let mut state = self.state();
        let node = state.explorer.graph.node(id);
        let is_same =
            (node.kind.is_like(&kind) || access.scalar() == Scalar::Pointer) && is_same_site(node.at, access.at());
        if is_same && state.find_again(id, access) {
            let value = state.explorer.graph.written(state.explorer.graph.node(id).loc, from);
            let node = state.explorer.graph.node_mut(id);
            node.value = value;
            if let Kind::Read { operation, exclusive, spurious, .. } = &mut node.kind {
                *operation = access.operation();
                if *exclusive == (writes(*operation, value) && !*spurious) {
                    state.thread_mut().done += 1;
                    return Ok(());
                }
            }
        }
        drop(state);
        self.diverges(id, &kind, 0, access.at())
    }

    fn choose_event(&self, kind: Kind, of: u32, at: Site) -> Result<u64, Ending> {
        if let Some(id) = self.recorded() {
            // Of the value it is the graph that has it, not the client.
            let value = self.state().explorer.graph.node(id).value;
            return self.plain(kind, value, at).map(|_| value);
        }
        self.reach_new_access()?;
        let mut state = self.state();
        state.thread_mut().done += 1;
        let thread = state.current;
        let id = state.explorer.add_choice(thread, kind, of, at);
        Ok(state.explorer.graph.node(id).value)
    }

    /// Waits until what the guide wants the next read to read was executed.
    pub(super) fn reach_guided_source(&self) -> Result<(), Ending> {
        let source = {
            let state = self.state();
            let id = state.next_event();
            state.explorer.guide.as_ref().and_then(|guide| guide.read(id))
        };
        source.map_or(Ok(()), |(from, _)| self.reach(from))
    }

    /// Waits until the drops were executed that the guide wants to come before the next one, as that of a last handle.
    fn reach_guided_others(&self) -> Result<(), Ending> {
        let others = {
            let state = self.state();
            let id = state.next_event();
            state.explorer.guide.as_ref().map(|guide| guide.others(id).to_vec())
        };
        others.into_iter().flatten().try_for_each(|other| self.reach(other))
    }

    fn spawn_thread(&self, body: Box<dyn FnOnce() + Send>, at: Site) -> Result<u32, Ending> {
        let recorded = self.recorded();
        let again = recorded.map(|id| self.state().explorer.graph.node(id).kind);
        let child = match again {
            Some(Kind::Spawn { child }) => child,
            // It diverges, as `plain` will find.
            Some(_) => self.state().free_thread(),
            None => {
                // Only then: another thread that waits for its turn to spawn would take the same number. A guide may not say what
                // the client itself starts, so that is not late.
                let is_client = self.state().current == 0;
                let reached = if is_client { self.reach_new() } else { self.reach_new_access() };
                reached?;
                self.state().another_thread()
            }
        };
        let id = self.plain(Kind::Spawn { child }, 0, at)?;
        // SAFETY: the body is 'static.
        unsafe { self.start(child, body) };
        self.state().explorer.graph.lines[child as usize].parent = Some(id);
        self.note_equal(id, child)?;
        if recorded.is_none() && self.state().is_overtaken() {
            self.switch()?;
        }
        Ok(child)
    }

    fn join_thread(&self, child: u32, at: Site) -> Result<(), Ending> {
        while !self.has_ended(child) {
            self.state().thread_mut().status = Status::Joins(child);
            self.switch()?;
        }
        self.plain(Kind::Join { child }, 0, at).map(|_| ())
    }

    /// Drops a handle of `object`. The last one has to come after the others also when it is replayed (R2).
    fn drop_handle(&self, object: usize, is_last: &dyn Fn() -> bool) -> Result<(), Ending> {
        let at = Here::caller();
        let id = match self.recorded() {
            Some(id) => {
                let others = self.state().explorer.graph.node(id).others.clone();
                others.into_iter().try_for_each(|other| self.reach(other))?;
                self.plain(Kind::Release { last: is_last() }, 0, at)?
            }
            None => {
                self.reach_new_access()?;
                self.reach_guided_others()?;
                let last = is_last();
                let mut state = self.state();
                let others = if last { state.handles.remove(&object).unwrap_or_default() } else { Vec::new() };
                state.thread_mut().done += 1;
                let thread = state.current;
                state.explorer.add_release(thread, last, others, at)
            }
        };
        let mut state = self.state();
        if is_last() {
            state.handles.remove(&object);
        } else {
            state.handles.entry(object).or_default().push(id);
        }
        Ok(())
    }
}

impl State {
    /// An access to the object at `address` that does not happen before what the running thread does next.
    fn user(&self, address: usize, bytes: usize) -> Option<(u32, Site)> {
        let whole = Span { address, bytes, access: Access::Write, may_be_uninit: false, at: Here::caller() };
        if let Err(past) = self.slots.check(&whole, self.current, self.now()) {
            return Some((past.thread, past.at));
        }
        self.atomic_user(&whole).map(|user| (user.thread, self.explorer.graph.node(user).at))
    }

    /// An access to the atomic that begins where `span` does, which conflicts with `span` and does not happen before what the
    /// running thread does next.
    fn atomic_user(&self, span: &Span) -> Option<EventId> {
        let before = self.now();
        let location = &self.explorer.graph.locations[self.places.find(span.address)? as usize];
        // Reads conflict with what writes only.
        let reads: &[EventId] = if span.access == Access::Write { &location.reads } else { &[] };
        let mut users = location.co.iter().chain(reads).copied();
        users.find(|&user| user.index >= before.get(user.thread) && self.is_done(user))
    }

    /// The location of a new event.
    fn find_or_add(&mut self, access: &Atomic<'_>) -> u32 {
        let in_memory = access.peek();
        if let Some(loc) = self.places.find(access.address())
            && self.places.held(loc).0 == in_memory
        {
            return loc;
        }
        // First met; or another object was moved to the place of one that was moved away.
        let loc = self.places.unbound();
        let locations = &mut self.explorer.graph.locations;
        let location = Location { init: in_memory, at: access.at(), co: Vec::new(), reads: Vec::new() };
        match locations.get_mut(loc as usize) {
            Some(unused) => *unused = location,
            None => locations.push(location),
        }
        self.places.bind(loc, access.address(), in_memory);
        loc
    }

    /// Finds the location of an event that is replayed. False if it is not where it should be.
    fn find_again(&mut self, id: EventId, access: &Atomic<'_>) -> bool {
        let loc = self.explorer.graph.node(id).loc;
        if loc == super::graph::NOWHERE {
            return false;
        }
        if self.places.is_at(loc, access.address()) {
            return true;
        }
        if self.places.is_bound(loc) {
            return false;
        }
        let in_memory = access.peek();
        let location = &mut self.explorer.graph.locations[loc as usize];
        if location.init != in_memory && access.scalar() != Scalar::Pointer {
            let (was, at) = (location.init, location.at);
            self.break_rule(Rule::Survives { was, is: in_memory, at });
            return false;
        }
        location.init = in_memory;
        self.places.bind(loc, access.address(), in_memory);
        true
    }

    /// The write `id` was executed: memory has it if it is the newest.
    fn wrote(&mut self, id: EventId, access: &Atomic<'_>) {
        let graph = &self.explorer.graph;
        let (loc, value) = (graph.node(id).loc, graph.node(id).value);
        if graph.place(id) > graph.place(self.places.held(loc).1) {
            access.poke(value);
            self.places.hold(loc, value, id);
        }
        self.saw(id, access.scalar(), value);
        self.thread_mut().done += 1;
    }

    /// The access `id` has read or written `value`.
    fn saw(&mut self, id: EventId, scalar: Scalar, value: u64) {
        if scalar == Scalar::Pointer {
            self.pointers.push((id, value));
        }
    }

    /// The number of the thread that the running one starts by its next event: the guide's, or the lowest above its own that is free, so that
    /// the end of a scope finds who started others before those.
    fn another_thread(&self) -> u32 {
        let Some(guide) = &self.explorer.guide else { return self.free_thread() };
        let id = self.next_event();
        let wanted = guide.started(id).filter(|&child| self.is_free(child));
        wanted
            .or_else(|| (self.current + 1..).find(|&child| self.is_free(child) && !guide.starts(child)))
            .expect("threads are few")
    }

    /// The lowest number above the running thread's that no thread has.
    fn free_thread(&self) -> u32 {
        (self.current + 1..).find(|&child| self.is_free(child)).expect("threads are few")
    }

    fn is_free(&self, child: u32) -> bool {
        self.explorer.graph.lines.get(child as usize).is_none_or(|line| line.parent.is_none())
    }
}
