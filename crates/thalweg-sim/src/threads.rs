//! Threads, and the hardware threads that they share.
//!
//! # Invariants
//!
//! - **T1** At most one thread is executing; it is [`State::current`], and its hardware thread is not on the agenda.
//! - **T2** A thread that has its hardware thread is that one's `running`. If it is ready and not executing, the agenda
//!   says when it goes on; if it waits, its hardware thread is not on the agenda.
//! - **T3** A ready thread without its hardware thread is in that one's queue, and in no other.

use crate::agenda::Agenda;
use crate::counts::{Counts, Heat, Misses};
use crate::fabric::Fabric;
use crate::failure::{Failure, Reason, Waiting};
use crate::machine::Machine;
use crate::names::Names;
use crate::prefetch::Streams;
use crate::protocol::Protocol;
use crate::world::{Fiber, Wake};
use corosensei::Yielder;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, HashSet, VecDeque};
use std::ptr::NonNull;
use thalweg_sync::engine::Site;

/// No thread.
pub(crate) const NOBODY: u32 = u32::MAX;
/// How many attempts of `spin::until` only pause; the others give up the time slice.
const PATIENCE: u32 = 64;
/// How many lines [`State::watched`] tells apart.
const WATCHED: usize = 4096;

/// What the engine keeps with each line.
#[derive(Clone, Debug)]
pub(crate) struct Traffic {
    /// Until when it is on its way, or its new owner keeps it.
    pub(crate) busy: u64,
    /// The number of the last write that was no plain hit.
    pub(crate) written: u64,
    /// The threads in line for it: the first and the last.
    pub(crate) first: u32,
    pub(crate) last: u32,
    /// How many times in a row it went to a neighbour.
    pub(crate) near: u32,
    /// Somebody sleeps until it is written.
    pub(crate) slept_on: bool,
    pub(crate) heat: Heat,
}

impl Default for Traffic {
    fn default() -> Self {
        Self { busy: 0, written: 0, first: NOBODY, last: NOBODY, near: 0, slept_on: false, heat: Heat::default() }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Status {
    /// It runs, or would.
    Ready,
    /// It is in line for a line of memory, on its hardware thread.
    InLine,
    Waits {
        reason: Reason,
        at: Site,
    },
    Ended,
    /// It could not be unwound; see W4 of the world.
    Stuck,
}

/// An attempt of `spin::until`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Attempt {
    /// Where its reads begin in [`Thread::reads`].
    reads: usize,
    /// The number of the last write when it began.
    since: u64,
    /// Tried again, it may succeed though no line that it read is written.
    restless: bool,
}

pub(crate) struct Thread {
    /// Absent while it runs, and when it has ended.
    pub(crate) fiber: Option<Fiber>,
    /// Set when it first runs; alive until it ends.
    pub(crate) yielder: Option<NonNull<Yielder<Wake, ()>>>,
    pub(crate) status: Status,
    pub(crate) clock: u64,
    /// Its hardware thread, and where that is.
    pub(crate) place: usize,
    pub(crate) core: usize,
    pub(crate) die: usize,
    /// The other hardware threads of its core are busy.
    pub(crate) taxed: bool,
    /// Others may run on its core.
    pub(crate) crowded: bool,
    pinned: bool,
    /// Numbers its waits.
    ticket: u64,
    /// When each store that is under way will be done.
    pub(crate) stores: VecDeque<u64>,
    /// When the last one will.
    pub(crate) stores_done: u64,
    pub(crate) streams: Streams,
    attempts: Vec<Attempt>,
    /// The lines that its attempts read, and whether they are counted in [`State::watched`].
    reads: Vec<(u32, bool)>,
    /// Attempts, and yields, in a row.
    tries: u32,
    /// The line it is in line for, since when, and who is next.
    pub(crate) in_line: Option<(u32, u64)>,
    pub(crate) behind: u32,
    /// For destructors that wait while it unwinds.
    pub(crate) impatience: u32,
    pub(crate) times: Times,
}

/// Where a thread's time went, in cycles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Times {
    pub(crate) started: u64,
    pub(crate) stalled: u64,
    pub(crate) spinning: u64,
    pub(crate) off: u64,
    pub(crate) accesses: u64,
}

/// A hardware thread.
#[derive(Clone, Debug, Default)]
struct Place {
    running: Option<usize>,
    queue: VecDeque<usize>,
    slice_end: u64,
}

/// Everything about a run but the stacks.
pub(crate) struct State {
    pub(crate) machine: Machine,
    /// How many hardware threads the program may use.
    pub(crate) parallelism: usize,
    pub(crate) threads: Vec<Thread>,
    places: Vec<Place>,
    pub(crate) current: usize,
    pub(crate) agenda: Agenda,
    /// What an access that hits costs, by [`Kind`](crate::access::Kind): alone on the core, and with a busy neighbour.
    pub(crate) hit_costs: [[u64; 3]; 2],
    /// Up to when the current thread may go on by itself as long as its own cache answers.
    pub(crate) horizon: u64,
    lookahead: u64,
    pub(crate) names: Names,
    pub(crate) protocol: Protocol<Traffic>,
    pub(crate) fabric: Fabric,
    pub(crate) counts: Counts,
    pub(crate) misses: Misses,
    /// Numbers the writes that are no plain hits.
    pub(crate) writes: u64,
    /// How many reads of attempts and sleepers depend on lines with these low bits: a write to one is no plain hit.
    watched: Box<[u32; WATCHED]>,
    /// By line. Never iterated.
    sleepers: HashMap<u32, Vec<(usize, u64)>>,
    /// By token.
    parked: HashMap<usize, Vec<usize>>,
    /// Tokens that were left before anybody slept on them.
    tokens: HashSet<usize>,
    timers: BinaryHeap<Reverse<(u64, usize, u64)>>,
    /// Ready threads without a hardware thread.
    queued: usize,
    random: u64,
    /// By how many cycles a start or a wake-up may be late.
    jitter: u64,
    /// In cycles.
    pub(crate) limit: u64,
    pub(crate) failure: Option<Failure>,
}

/// What an access that hits costs, by [`Kind`](crate::access::Kind): alone on the core, and with a busy neighbour.
fn hit_costs(machine: &Machine) -> [[u64; 3]; 2] {
    let (l1, cost) = (machine.latency.l1, &machine.cost);
    let alone = [l1, 1, l1 + cost.rmw].map(|cycles| cycles + cost.access);
    [alone, alone.map(|cycles| cycles + cycles * cost.smt_percent / 100)]
}

impl State {
    pub(crate) fn new(machine: Machine, parallelism: usize, seed: u64, limit: u64, jitter: u64) -> Self {
        let topology = machine.topology();
        let places = topology.all_threads();
        Self {
            parallelism,
            threads: Vec::new(),
            places: vec![Place::default(); places],
            current: 0,
            agenda: Agenda::new(places + 1),
            hit_costs: hit_costs(&machine),
            horizon: 0,
            lookahead: machine.lookahead(),
            names: Names::new(topology.all_cores()),
            protocol: Protocol::new(topology, machine.caches(), ()),
            fabric: Fabric::new(topology.all_dies()),
            counts: Counts::default(),
            misses: Misses::new(),
            writes: 0,
            watched: vec![0; WATCHED].into_boxed_slice().try_into().expect("as many as were made"),
            sleepers: HashMap::new(),
            parked: HashMap::new(),
            tokens: HashSet::new(),
            timers: BinaryHeap::new(),
            queued: 0,
            random: seed,
            jitter,
            limit,
            failure: None,
            machine,
        }
    }

    pub(crate) fn thread(&mut self) -> &mut Thread {
        &mut self.threads[self.current]
    }

    /// A number below `end`, which is not 0 (SplitMix64).
    fn random(&mut self, end: u64) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.random;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((u128::from(z ^ (z >> 31)) * u128::from(end)) >> 64) as u64
    }

    // Who goes next.

    /// The thread to resume, which becomes the current one. `None`: nobody can go on.
    pub(crate) fn choose(&mut self) -> Option<usize> {
        loop {
            let (time, place) = self.agenda.first()?;
            if time > self.limit {
                self.fail(Failure::TimeLimit { nanos: self.machine.nanos(self.limit) });
                return None;
            }
            self.agenda.clear(place);
            if place == self.places.len() {
                self.ring(time);
                continue;
            }
            let thread = self.places[place].running.expect("a place on the agenda has a thread");
            self.current = thread;
            self.look_ahead();
            return Some(thread);
        }
    }

    /// Sets the horizon of the current thread, after the agenda has changed.
    pub(crate) fn look_ahead(&mut self) {
        let place = &self.places[self.threads[self.current].place];
        let preempted = if place.queue.is_empty() { u64::MAX } else { place.slice_end };
        self.horizon = self.agenda.earliest().saturating_add(self.lookahead).min(preempted).min(self.limit);
    }

    /// A deadline has come.
    fn ring(&mut self, time: u64) {
        while let Some(&Reverse((deadline, thread, ticket))) = self.timers.peek()
            && deadline <= time
        {
            self.timers.pop();
            if self.threads[thread].ticket == ticket {
                self.wake(thread, time);
            }
        }
        self.set_timer();
    }

    fn set_timer(&mut self) {
        let place = self.places.len();
        match self.timers.peek() {
            Some(&Reverse((deadline, ..))) => self.agenda.set(place, deadline),
            None => self.agenda.clear(place),
        }
    }

    /// The current thread goes on when its clock is the smallest. True if that is now.
    #[inline]
    pub(crate) fn in_turn(&mut self) -> bool {
        let (place, clock) = (self.threads[self.current].place, self.threads[self.current].clock);
        if clock >= self.places[place].slice_end && !self.places[place].queue.is_empty() {
            self.counts.preemptions += 1;
            self.give_way();
            return false;
        }
        if self.agenda.is_first(clock, place) && clock <= self.limit {
            return true;
        }
        self.agenda.set(place, clock);
        false
    }

    /// The current thread goes to the end of its hardware thread's queue.
    pub(crate) fn give_way(&mut self) {
        let (thread, place) = (self.current, self.threads[self.current].place);
        self.leave(thread);
        self.places[place].queue.push_back(thread);
        self.queued += 1;
        self.next_on(place, self.threads[thread].clock);
    }

    /// True if another ready thread waits for the current one's hardware thread.
    pub(crate) fn is_wanted(&self) -> bool {
        !self.places[self.threads[self.current].place].queue.is_empty()
    }

    // Hardware threads.

    /// A new thread, at `time`.
    pub(crate) fn started(&mut self, fiber: Fiber, time: u64) -> usize {
        let thread = self.threads.len();
        // The first idle place; else the one with the fewest threads.
        let load = |place: &Place| place.queue.len() + usize::from(place.running.is_some());
        let place = (0..self.parallelism).min_by_key(|&place| load(&self.places[place])).expect("there is a place");
        let jitter = if thread == 0 { 0 } else { self.random(self.jitter + 1) };
        self.threads.push(Thread {
            fiber: Some(fiber),
            yielder: None,
            status: Status::Ready,
            clock: time + jitter,
            place,
            core: 0,
            die: 0,
            taxed: false,
            crowded: false,
            pinned: false,
            ticket: 0,
            stores: VecDeque::new(),
            stores_done: 0,
            streams: Streams::new(),
            attempts: Vec::new(),
            reads: Vec::new(),
            tries: 0,
            in_line: None,
            behind: NOBODY,
            impatience: 0,
            times: Times { started: time + jitter, ..Times::default() },
        });
        self.assign(thread, place);
        self.arrive(thread);
        thread
    }

    fn assign(&mut self, thread: usize, place: usize) {
        let topology = self.machine.topology();
        let core = topology.core_of_thread(place);
        let thread = &mut self.threads[thread];
        (thread.place, thread.core, thread.die) = (place, core, topology.die_of_core(core));
        thread.streams = Streams::new();
    }

    /// A ready thread wants a hardware thread: its own, or an idle one if it may move.
    fn arrive(&mut self, thread: usize) {
        let mut place = self.threads[thread].place;
        let clock = self.threads[thread].clock;
        if self.places[place].running.is_some() && !self.threads[thread].pinned {
            let idle = |place: &usize| self.places[*place].running.is_none() && self.places[*place].queue.is_empty();
            if let Some(idle) = (0..self.parallelism).find(idle) {
                place = idle;
                self.assign(thread, place);
            }
        }
        let Some(running) = self.places[place].running else {
            self.run_on(thread, place, clock);
            return;
        };
        if let Status::Waits { reason: Reason::Spin, .. } = self.threads[running].status {
            // It has yielded by then.
            let patience = u64::from(PATIENCE) * self.machine.cost.pause;
            let gone = self.threads[running].clock + patience + self.machine.cycles(self.machine.os.switch);
            self.leave(running);
            self.run_on(thread, place, clock.max(gone));
            return;
        }
        self.places[place].queue.push_back(thread);
        self.queued += 1;
        self.crowd(place);
        self.look_ahead();
    }

    /// `place` is free for `thread` from `time` on.
    fn run_on(&mut self, thread: usize, place: usize, time: u64) {
        let slice = self.machine.cycles(self.machine.os.time_slice);
        self.places[place].running = Some(thread);
        let other = &mut self.threads[thread];
        other.clock = other.clock.max(time);
        self.places[place].slice_end = other.clock + slice;
        self.agenda.set(place, other.clock);
        self.crowd(place);
        self.look_ahead();
    }

    /// The thread gives up its hardware thread.
    fn leave(&mut self, thread: usize) {
        let place = self.threads[thread].place;
        debug_assert_eq!(self.places[place].running, Some(thread));
        self.places[place].running = None;
        self.agenda.clear(place);
        self.crowd(place);
    }

    /// Somebody else runs on `place`, which was left at `time`.
    fn next_on(&mut self, place: usize, time: u64) {
        let mut next = self.places[place].queue.pop_front();
        if next.is_none() && self.queued > 0 && place < self.parallelism {
            // An idle place takes from the longest queue what may move.
            let from = (0..self.parallelism).max_by_key(|&other| self.places[other].queue.len());
            next = from.and_then(|from| {
                let movable = self.places[from].queue.iter().position(|&thread| !self.threads[thread].pinned)?;
                self.places[from].queue.remove(movable)
            });
            if let Some(thread) = next {
                self.assign(thread, place);
            }
        }
        if let Some(thread) = next {
            self.queued -= 1;
            self.run_on(thread, place, time + self.machine.cycles(self.machine.os.switch));
        }
    }

    /// Who shares the core of `place` has changed.
    fn crowd(&mut self, place: usize) {
        let topology = self.machine.topology();
        let core = topology.core_of_thread(place);
        let places = (core..self.places.len()).step_by(topology.all_cores());
        let running = places.clone().filter(|&place| self.places[place].running.is_some()).count();
        let all = running + places.clone().map(|place| self.places[place].queue.len()).sum::<usize>();
        for place in places {
            let Place { running: here, queue, .. } = &self.places[place];
            for &thread in here.iter().chain(queue) {
                let thread = &mut self.threads[thread];
                thread.taxed = running > 1;
                if all > 1 && !thread.crowded {
                    // What they read so far is not counted in `watched`, and a neighbour's hit may change it unseen.
                    thread.attempts.iter_mut().for_each(|attempt| attempt.restless = true);
                }
                thread.crowded = all > 1;
            }
        }
    }

    /// The current thread stays on `place` from now on. True if it has to switch.
    pub(crate) fn pin(&mut self, place: usize) -> bool {
        let (thread, old) = (self.current, self.threads[self.current].place);
        self.thread().pinned = true;
        if place == old {
            return false;
        }
        self.thread().clock += self.machine.cycles(self.machine.os.switch);
        self.leave(thread);
        self.next_on(old, self.threads[thread].clock);
        self.assign(thread, place);
        self.arrive(thread);
        true
    }

    // Waiting.

    /// The current thread waits. With a `deadline` (in cycles) no longer than that. Spinning keeps its hardware thread,
    /// unless somebody else wants it.
    pub(crate) fn sleep(&mut self, reason: Reason, deadline: Option<u64>, at: Site) {
        let thread = self.current;
        let place = self.threads[thread].place;
        self.threads[thread].status = Status::Waits { reason, at };
        self.threads[thread].ticket += 1;
        if let Some(deadline) = deadline {
            self.timers.push(Reverse((deadline, thread, self.threads[thread].ticket)));
            self.set_timer();
        }
        if reason != Reason::Spin {
            self.leave(thread);
            self.next_on(place, self.threads[thread].clock);
        } else if !self.places[place].queue.is_empty() {
            let patience = u64::from(PATIENCE) * self.machine.cost.pause;
            self.leave(thread);
            self.next_on(place, self.threads[thread].clock + patience);
        }
    }

    /// A thread that waits goes on, not before `time`.
    pub(crate) fn wake(&mut self, thread: usize, time: u64) {
        let Status::Waits { reason, .. } = self.threads[thread].status else { return };
        self.threads[thread].ticket += 1;
        self.threads[thread].status = Status::Ready;
        let spins = reason == Reason::Spin;
        let time = if spins { time } else { time + self.wake_up() };
        let other = &mut self.threads[thread];
        let passed = time.saturating_sub(other.clock);
        *(if spins { &mut other.times.spinning } else { &mut other.times.off }) += passed;
        other.clock = other.clock.max(time);
        let (place, clock) = (other.place, other.clock);
        if self.places[place].running == Some(thread) {
            self.agenda.set(place, clock);
            self.look_ahead();
        } else {
            self.arrive(thread);
        }
    }

    /// How long the system takes to bring a thread back.
    fn wake_up(&mut self) -> u64 {
        self.counts.wakes += 1;
        let latency = self.machine.cycles(self.machine.os.wake);
        latency + self.random(self.jitter + 1)
    }

    /// The current thread ends.
    pub(crate) fn ended(&mut self, thread: usize) {
        let (place, clock) = (self.threads[thread].place, self.threads[thread].clock);
        self.threads[thread].status = Status::Ended;
        self.threads[thread].yielder = None;
        for other in 0..self.threads.len() {
            if matches!(self.threads[other].status, Status::Waits { reason: Reason::Join { thread: t }, .. } if t == thread)
            {
                self.wake(other, clock);
            }
        }
        if self.places[place].running == Some(thread) {
            self.leave(thread);
            self.next_on(place, clock);
        }
    }

    // Attempts.

    pub(crate) fn watch(&mut self) {
        let since = self.writes;
        let thread = self.thread();
        thread.attempts.push(Attempt { reads: thread.reads.len(), since, restless: false });
    }

    /// The current thread reads `line`.
    #[inline(always)]
    pub(crate) fn note_read(&mut self, line: u32) {
        let thread = &mut self.threads[self.current];
        if !thread.attempts.is_empty() && thread.reads.last().is_none_or(|&(last, _)| last != line) {
            if thread.crowded {
                self.watched[line as usize % WATCHED] += 1;
            }
            thread.reads.push((line, thread.crowded));
        }
    }

    /// What the current thread attempts does not depend on lines alone.
    #[inline(always)]
    pub(crate) fn note_change(&mut self) {
        if let Some(attempt) = self.thread().attempts.last_mut() {
            attempt.restless = true;
        }
    }

    /// True if somebody may depend on `line` whom a plain hit would not tell.
    #[inline(always)]
    pub(crate) fn is_watched(&self, line: u32) -> bool {
        self.watched[line as usize % WATCHED] != 0
    }

    /// Forgets the current thread's reads from the one with this number on.
    pub(crate) fn unread(&mut self, from: usize) {
        let thread = &mut self.threads[self.current];
        for (line, counted) in thread.reads.drain(from..) {
            self.watched[line as usize % WATCHED] -= u32::from(counted);
        }
    }

    /// The innermost attempt succeeded.
    pub(crate) fn unwatch(&mut self) {
        let thread = self.thread();
        thread.tries = 0;
        let Some(inner) = thread.attempts.pop() else { return };
        match thread.attempts.last_mut() {
            Some(outer) => outer.restless |= inner.restless,
            None => self.unread(0),
        }
    }

    /// The innermost attempt failed. If the current thread sleeps now, from where on its reads are to be
    /// [forgotten](Self::unread) when it wakes.
    pub(crate) fn attempt_failed(&mut self, at: Site) -> Option<usize> {
        let thread = self.current;
        let attempt = self.threads[thread].attempts.pop()?;
        if attempt.restless
            && let Some(outer) = self.threads[thread].attempts.last_mut()
        {
            outer.restless = true;
        }
        let core = self.threads[thread].core;
        let reads: Vec<u32> = self.threads[thread].reads[attempt.reads..].iter().map(|&(line, _)| line).collect();
        // A line that was taken from the cache may have been written without a word to us.
        let unchanged =
            |line: &u32| self.protocol.has(core, *line) && self.protocol.user(core, *line).written <= attempt.since;
        let sleeps = !attempt.restless && !reads.is_empty() && reads.iter().all(unchanged);
        self.unread(attempt.reads);
        if !sleeps {
            self.counts.polls += 1;
            self.pause();
            return None;
        }
        self.counts.sleeps += 1;
        let ticket = self.threads[thread].ticket + 1;
        for &line in &reads {
            self.watched[line as usize % WATCHED] += 1;
            self.protocol.user(core, line).slept_on = true;
            let sleepers = self.sleepers.entry(line).or_default();
            // An earlier sleep of the same thread is over.
            match sleepers.iter_mut().find(|(other, _)| *other == thread) {
                Some((_, earlier)) => *earlier = ticket,
                None => sleepers.push((thread, ticket)),
            }
        }
        // Counted until it wakes.
        self.threads[thread].reads.extend(reads.into_iter().map(|line| (line, true)));
        self.thread().clock += self.machine.cost.pause;
        self.sleep(Reason::Spin, None, at);
        Some(attempt.reads)
    }

    /// Wakes who sleeps until `line` is written, which happens at `time`.
    #[cold]
    pub(crate) fn wake_sleepers(&mut self, line: u32, time: u64) {
        for (thread, ticket) in self.sleepers.remove(&line).unwrap_or_default() {
            if self.threads[thread].ticket == ticket {
                self.wake(thread, time);
            }
        }
    }

    /// One step of back-off of the current thread.
    pub(crate) fn pause(&mut self) {
        let yields = self.machine.cycles(self.machine.os.yields);
        let pause = self.machine.cost.pause;
        let thread = self.thread();
        thread.tries = thread.tries.saturating_add(1);
        let passed = if thread.tries <= PATIENCE { pause } else { yields };
        thread.clock += passed;
        thread.times.spinning += passed;
    }

    /// True if the current thread would give up its time slice now instead of pausing.
    pub(crate) fn is_out_of_patience(&mut self) -> bool {
        self.thread().tries > PATIENCE
    }

    // Tokens.

    /// True if there was a token to take. If not, the current thread sleeps now.
    pub(crate) fn park(&mut self, token: usize, deadline: Option<u64>, at: Site) -> bool {
        self.thread().tries = 0;
        if self.tokens.remove(&token) {
            return true;
        }
        let deadline = deadline.map(|nanos| self.machine.cycles(nanos));
        if deadline.is_some_and(|deadline| deadline <= self.thread().clock) {
            return true;
        }
        self.counts.parks += 1;
        self.thread().clock += self.machine.cycles(self.machine.os.park);
        self.parked.entry(token).or_default().push(self.current);
        self.sleep(Reason::Park, deadline, at);
        false
    }

    /// The current thread was parked at `token`, and goes on.
    pub(crate) fn parked(&mut self, token: usize) {
        let thread = self.current;
        if let Some(parked) = self.parked.get_mut(&token) {
            parked.retain(|&other| other != thread);
        }
    }

    pub(crate) fn unpark(&mut self, token: usize) {
        let sleeping = self.parked.remove(&token).unwrap_or_default();
        let mut woken = false;
        for thread in sleeping {
            if matches!(self.threads[thread].status, Status::Waits { reason: Reason::Park, .. }) {
                if !woken {
                    self.thread().clock += self.machine.cycles(self.machine.os.unpark);
                }
                let time = self.thread().clock;
                self.wake(thread, time);
                woken = true;
            }
        }
        if !woken {
            self.tokens.insert(token);
        }
    }

    /// The object at `address` is gone: a token left there was for nobody.
    pub(crate) fn retired(&mut self, address: usize) {
        if !self.tokens.is_empty() {
            self.tokens.remove(&address);
        }
    }

    // The end.

    /// Who waits, if anybody does.
    pub(crate) fn waiting(&self) -> Vec<Waiting> {
        (self.threads.iter().enumerate())
            .filter_map(|(thread, other)| match other.status {
                Status::Waits { reason, at } => Some(Waiting { thread, reason, at }),
                _ => None,
            })
            .collect()
    }

    /// The latest clock of all threads.
    pub(crate) fn latest(&self) -> u64 {
        self.threads.iter().map(|thread| thread.clock).max().unwrap_or(0)
    }
}
