//! Threads, and the hardware threads that they share.
//!
//! # Invariants
//!
//! - **T1** At most one thread is executing; it is [`State::current`], and its hardware thread is not on the agenda.
//! - **T2** A thread that has its hardware thread is that one's `running`. If it is ready and not executing, the agenda
//!   says when it goes on. If it spins and others want its hardware thread, the agenda says when it yields that. If it waits otherwise, its
//!   hardware thread is not on the agenda.
//! - **T3** A ready thread without its hardware thread is in that one's queue, and in no other.

use crate::access::{Kind, Step};
use crate::agenda::{Agenda, LATEST};
use crate::counts::{Counts, Heat, Misses};
use crate::device::Port;
use crate::fabric::Fabric;
use crate::failure::{Failure, Reason, Waiting};
use crate::machine::Machine;
use crate::names::{NOWHERE, Names};
use crate::notes::{Doing, Notes};
use crate::prefetch::Streams;
use crate::protocol::Protocol;
use crate::window::Code;
use crate::world::{Fiber, Wake};
use corosensei::Yielder;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, HashSet, VecDeque};
use std::ptr::NonNull;
use thalweg_sync::engine::Site;
use thalweg_sync::host::Host;
use thalweg_sync::random::SplitMix;

/// No thread.
pub(crate) const NOBODY: u32 = u32::MAX;
/// How many lines [`State::watched`] tells apart.
pub(crate) const WATCHED: usize = 4096;

/// What the engine keeps with each line.
#[derive(Clone, Debug)]
pub(crate) struct Traffic {
    /// Until when it is on its way.
    pub(crate) busy: u64,
    /// The core that it came to last, and until when that keeps it: what was under way there when it came is done first.
    pub(crate) holder: u32,
    pub(crate) kept: u64,
    /// The core that a store in somebody's buffer takes it from, when it does, and whether that core may write it until then.
    pub(crate) loser: u32,
    pub(crate) lost: u64,
    pub(crate) owned: bool,
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

impl Traffic {
    /// From when on `core`, which has to ask for the line, can have it: if it takes it from others, or else shares it with them.
    #[inline]
    pub(crate) fn free(&self, core: usize, takes: bool) -> u64 {
        if takes && self.holder != core as u32 { self.busy.max(self.kept) } else { self.busy }
    }
}

impl Default for Traffic {
    fn default() -> Self {
        Self {
            busy: 0,
            holder: NOBODY,
            kept: 0,
            loser: NOBODY,
            lost: 0,
            owned: false,
            written: 0,
            first: NOBODY,
            last: NOBODY,
            near: 0,
            slept_on: false,
            heat: Heat::default(),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Status {
    /// It runs, or would.
    Ready,
    /// It is in line for a line of memory, or waits for a device's answer, on its hardware thread.
    InLine,
    Waits {
        reason: Reason,
        at: Site,
    },
    Ended,
    /// It could not be unwound; see W4 of the world.
    Stuck,
}

/// What a thread tried again and again: a step of back-off, in a row of them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Retries {
    pub(crate) at: Site,
    /// When the row began, and when its last step did.
    pub(crate) from: u64,
    pub(crate) last: u64,
}

impl Retries {
    /// Whether the row has not ended, as far as one can tell: who pauses says how often, and not that it was enough. It is over when
    /// there was no step for longer than the row took.
    pub(crate) fn go_on(&self, now: u64) -> bool {
        now - self.last <= self.last - self.from
    }
}

/// An attempt of `spin::until`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Attempt {
    /// Where its reads begin in [`Thread::reads`].
    pub(crate) reads: usize,
    /// The number of the last write when it began.
    pub(crate) since: u64,
    /// Tried again, it may succeed though no line that it read is written.
    pub(crate) restless: bool,
}

/// A store that is under way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Store {
    /// When it will be done.
    pub(crate) done: u64,
    pub(crate) line: u32,
    pub(crate) at: Site,
}

/// The last runs of stores that had to wait, each to one line.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Runs {
    line: u32,
    newest: usize,
    /// When each was done.
    done: [u64; Runs::MOST],
}

impl Runs {
    /// How many there are.
    pub(crate) const MOST: usize = 32;

    pub(crate) fn new() -> Self {
        Self { line: NOBODY, newest: 0, done: [0; Self::MOST] }
    }

    /// When the run was done that lies so many before the one of a store to `line`.
    pub(crate) fn before(&self, line: u32, count: usize) -> u64 {
        self.done[(self.newest + usize::from(line != self.line) + Self::MOST - count) % Self::MOST]
    }

    /// A store to `line` will be done then.
    pub(crate) fn push(&mut self, line: u32, done: u64) {
        self.newest = (self.newest + usize::from(line != self.line)) % Self::MOST;
        (self.line, self.done[self.newest]) = (line, done);
    }
}

/// A simulated thread.
///
/// With hundreds of threads that take turns, what a turn touches decides how fast a run is: so the fields that nearly every access
/// looks at come first, side by side.
#[repr(C, align(64))]
pub(crate) struct Thread {
    pub(crate) clock: u64,
    /// When the last of its stores will be done.
    pub(crate) stores_done: u64,
    /// Its hardware thread, and where that is.
    pub(crate) place: usize,
    pub(crate) core: usize,
    /// The lines of its last loads.
    pub(crate) loaded: [u32; 4],
    /// What it did while it waited for a load: how many cycles it waited, how many instructions these may be spent on.
    pub(crate) credit: u64,
    pub(crate) behind_load: u32,
    /// Who is next in line.
    pub(crate) behind: u32,
    pub(crate) streams: Streams,
    pub(crate) code: Code,
    /// The access that it was about to do when it was switched away from. The scheduler does it when it is the
    /// thread's turn: a thread that has to wait for its turn, then in line, is resumed only once.
    pub(crate) pending: Option<(u32, Kind, Site)>,
    /// The line it is in line for, and since when.
    pub(crate) in_line: Option<(u32, u64)>,
    pub(crate) die: usize,
    /// Another thread has a hardware thread of its core.
    pub(crate) shares: bool,
    /// Since when, and until when, it stood still the last time.
    pub(crate) still: (u64, u64),
    /// Others may run on its core.
    pub(crate) crowded: bool,
    pub(crate) pinned: bool,
    pub(crate) status: Status,
    pub(crate) times: Times,
    /// Absent while it runs, and when it has ended.
    pub(crate) fiber: Option<Box<Fiber>>,
    /// Set when it first runs; alive until it ends.
    pub(crate) yielder: Option<NonNull<Yielder<Wake, ()>>>,
    /// The stores that are under way, in order.
    pub(crate) stores: VecDeque<Store>,
    pub(crate) runs: Runs,
    /// Numbers its waits.
    pub(crate) ticket: u64,
    pub(crate) attempts: Vec<Attempt>,
    /// The lines that its attempts read, and whether they are counted in [`State::watched`].
    pub(crate) reads: Vec<(u32, bool)>,
    /// Attempts in a row that failed and were tried again after a pause.
    pub(crate) tries: u32,
    pub(crate) retries: Option<Retries>,
    /// For destructors that wait while it unwinds.
    pub(crate) impatience: u32,
    /// What a message device answered, and the line that it was sent.
    pub(crate) answer: Option<u64>,
    pub(crate) pushed: Option<usize>,
    /// What it says that it does, the innermost last.
    pub(crate) doing: Vec<Doing>,
    /// Its scheduler of user-level threads.
    pub(crate) host: Option<Host>,
}

/// Where a thread's time went, in cycles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Times {
    pub(crate) started: u64,
    pub(crate) stalled: u64,
    pub(crate) spinning: u64,
    pub(crate) off: u64,
    /// It was ready, and others had its hardware thread.
    pub(crate) wanting: u64,
    pub(crate) accesses: u64,
}

/// A hardware thread.
#[derive(Clone, Debug, Default)]
pub(crate) struct HardwareThread {
    pub(crate) running: Option<usize>,
    pub(crate) queue: VecDeque<usize>,
    pub(crate) slice_end: u64,
    /// Since when that thread runs.
    pub(crate) since: u64,
}

/// Everything about a run but the stacks.
pub(crate) struct State {
    pub(crate) machine: Machine,
    /// How many hardware threads the program may use.
    pub(crate) parallelism: usize,
    pub(crate) threads: Vec<Thread>,
    pub(crate) places: Vec<HardwareThread>,
    /// How many cores the machine has. Hardware threads of one core are so many places apart.
    cores: usize,
    pub(crate) current: usize,
    pub(crate) agenda: Agenda,
    /// What an access that hits costs; see [`hit_costs`].
    pub(crate) hit_costs: [[u64; 4]; 2],
    /// Up to when the current thread may go on by itself as long as its own cache answers.
    pub(crate) horizon: u64,
    lookahead: u64,
    /// The host line of the current thread's last access, if that was a load that [`quick`](Self::quick) did, and the engine was not asked
    /// for anything since; else [`NOWHERE`].
    pub(crate) repeats: usize,
    pub(crate) names: Names,
    pub(crate) protocol: Protocol<Traffic>,
    pub(crate) fabric: Fabric,
    /// The message device, if the machine has one.
    pub(crate) port: Option<Port>,
    pub(crate) counts: Counts,
    pub(crate) misses: Misses,
    pub(crate) notes: Notes,
    /// Numbers the writes that are no plain hits.
    pub(crate) writes: u64,
    /// How many reads of attempts and sleepers depend on lines with these low bits: a write to one is no plain hit.
    pub(crate) watched: Box<[u32; WATCHED]>,
    /// By line. Never iterated.
    pub(crate) sleepers: HashMap<u32, Vec<(usize, u64)>>,
    /// By token.
    pub(crate) parked: HashMap<usize, Vec<usize>>,
    /// Tokens that were left before anybody slept on them.
    pub(crate) tokens: HashSet<usize>,
    pub(crate) timers: BinaryHeap<Reverse<(u64, usize, u64)>>,
    /// Ready threads without a hardware thread.
    pub(crate) queued: usize,
    random: SplitMix,
    /// By how many cycles a start or a wake-up may be late.
    pub(crate) jitter: u64,
    /// In cycles.
    pub(crate) limit: u64,
    pub(crate) failure: Option<Failure>,
}

/// What an access that hits costs, by [`Kind`], and a load from one of the lines that were loaded last, whose address
/// is not likely to depend on a load: alone on the core, and with a busy neighbour.
fn hit_costs(machine: &Machine) -> [[u64; 4]; 2] {
    let (l1, cost) = (machine.latency.l1, &machine.cost);
    let alone = [l1, 1, l1 + cost.rmw, if machine.window > 0 { 1 } else { l1 }].map(|cycles| cycles + cost.access);
    [alone, alone.map(|cycles| cycles + cycles * cost.smt_percent / 100)]
}

impl State {
    pub(crate) fn new(machine: Machine, parallelism: usize, seed: u64, limit: u64, jitter: u64) -> Self {
        let topology = machine.topology();
        let places = topology.all_threads();
        Self {
            parallelism,
            threads: Vec::new(),
            places: vec![HardwareThread::default(); places],
            cores: topology.all_cores(),
            current: 0,
            agenda: Agenda::new(places + 2),
            hit_costs: hit_costs(&machine),
            horizon: 0,
            lookahead: machine.lookahead(),
            repeats: NOWHERE,
            names: Names::new(topology.all_cores()),
            protocol: Protocol::new(topology, machine.caches(), ()),
            fabric: Fabric::new(topology.all_dies()),
            port: None,
            counts: Counts::default(),
            misses: Misses::new(),
            notes: Notes::default(),
            writes: 0,
            watched: vec![0; WATCHED].into_boxed_slice().try_into().expect("as many as were made"),
            sleepers: HashMap::new(),
            parked: HashMap::new(),
            tokens: HashSet::new(),
            timers: BinaryHeap::new(),
            queued: 0,
            random: SplitMix::new(seed),
            jitter,
            // So that a deadline at the end of time is never reached.
            limit: limit.min(LATEST - 1),
            failure: None,
            machine,
        }
    }

    /// Where the running thread keeps its scheduler of user-level threads. None when no thread runs.
    pub(crate) fn host(&mut self) -> Option<&mut Option<Host>> {
        self.threads.get_mut(self.current).map(|thread| &mut thread.host)
    }

    pub(crate) fn thread(&mut self) -> &mut Thread {
        &mut self.threads[self.current]
    }

    /// True if the current thread shares what its core can do: if another hardware thread of the core executes at this moment. One that
    /// sleeps, pauses, stands in line or waits for a line leaves all of it to the others.
    #[inline(always)]
    pub(crate) fn is_taxed(&self) -> bool {
        let thread = &self.threads[self.current];
        thread.shares && self.has_busy_sibling(thread)
    }

    fn has_busy_sibling(&self, thread: &Thread) -> bool {
        // No `step_by`, which divides.
        let siblings = std::iter::successors(Some(thread.core), |place| Some(place + self.cores));
        let siblings = siblings.take_while(|&place| place < self.places.len());
        siblings.filter(|&place| place != thread.place).filter_map(|place| self.places[place].running).any(|other| {
            let other = &self.threads[other];
            let (from, until) = other.still;
            // Behind its clock nothing is known yet: it goes on as it did last.
            let stands = from <= thread.clock && thread.clock.min(other.clock) <= until;
            other.status == Status::Ready && other.in_line.is_none() && !stands
        })
    }

    /// Lets time pass in which the current thread executes nothing.
    pub(crate) fn stand_still(&mut self, cycles: u64) {
        let thread = self.thread();
        let from = thread.clock;
        thread.clock += cycles;
        thread.still = (from, thread.clock);
    }

    /// A number below `end`, which is not 0.
    pub(crate) fn random(&mut self, end: u64) -> u64 {
        self.random.below(end)
    }

    // Who goes next.

    /// The thread to resume, which becomes the current one. `None`: nobody can go on.
    pub(crate) fn choose(&mut self) -> Option<usize> {
        loop {
            let (time, place) = self.agenda.first()?;
            if time > self.limit {
                if place == self.places.len() && self.forget_timers() {
                    continue;
                }
                let waiting = self.waiting();
                self.fail(Failure::TimeLimit { nanos: self.machine.nanos(self.limit), waiting });
                return None;
            }
            if place == self.places.len() {
                self.agenda.clear(place);
                self.wake_due(time);
                continue;
            }
            if place > self.places.len() {
                self.agenda.clear(place);
                self.device_turn(time);
                continue;
            }
            let thread = self.places[place].running.expect("a place on the agenda has a thread");
            if self.spins(thread) {
                self.yields(place, time);
                continue;
            }
            self.current = thread;
            if let Some((line, kind, at)) = self.threads[thread].pending {
                if self.threads[thread].in_line.is_none() && self.is_preempted() {
                    continue;
                }
                // It stays on the agenda meanwhile: most who have to wait in line are there again at once, with another time.
                match self.step(line, kind, at) {
                    Step::Done => self.threads[thread].pending = None,
                    Step::Later => {
                        self.agenda.set(place, self.threads[thread].clock);
                        continue;
                    }
                    Step::InLine => {
                        if self.threads[thread].status == Status::InLine {
                            self.agenda.clear(place);
                        }
                        continue;
                    }
                }
            }
            self.agenda.clear(place);
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
    fn wake_due(&mut self, time: u64) {
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

    /// Forgets the first deadlines as far as nobody waits for them any more. True if there was one.
    fn forget_timers(&mut self) -> bool {
        let before = self.timers.len();
        while let Some(&Reverse((_, thread, ticket))) = self.timers.peek()
            && self.threads[thread].ticket != ticket
        {
            self.timers.pop();
        }
        self.set_timer();
        self.timers.len() < before
    }

    pub(crate) fn set_timer(&mut self) {
        let place = self.places.len();
        match self.timers.peek() {
            Some(&Reverse((deadline, ..))) => self.agenda.set(place, deadline),
            None => self.agenda.clear(place),
        }
    }

    /// The current thread goes on when its clock is the smallest. True if that is now.
    #[inline]
    pub(crate) fn in_turn(&mut self) -> bool {
        let thread = &self.threads[self.current];
        let (place, clock) = (thread.place, thread.clock);
        if !self.agenda.is_first(clock, place) || clock > self.limit {
            self.agenda.set(place, clock);
            return false;
        }
        !self.is_preempted()
    }

    /// True if the current thread, whose turn it is, has had its time slice, and gives way to another.
    #[inline]
    fn is_preempted(&mut self) -> bool {
        if self.queued == 0 {
            return false;
        }
        let thread = &self.threads[self.current];
        let place = &self.places[thread.place];
        let preempted = thread.clock >= place.slice_end && !place.queue.is_empty();
        if preempted {
            self.counts.preemptions += 1;
            self.give_way();
        }
        preempted
    }

    /// The current thread, whose turn it is, goes to the end of its hardware thread's queue.
    pub(crate) fn give_way(&mut self) {
        let (thread, place) = (self.current, self.threads[self.current].place);
        self.leave(thread, self.threads[thread].clock);
        self.places[place].queue.push_back(thread);
        self.queued += 1;
        self.next_on(place, self.threads[thread].clock);
    }

    /// True if another ready thread waits for the current one's hardware thread.
    pub(crate) fn is_wanted(&self) -> bool {
        !self.places[self.threads[self.current].place].queue.is_empty()
    }

    // The end.

    /// Who waits, if anybody does.
    pub(crate) fn waiting(&self) -> Vec<Waiting> {
        (self.threads.iter().enumerate())
            .filter_map(|(thread, other)| match other.status {
                Status::Waits { reason, at } => Some(Waiting { thread, reason, at }),
                Status::Ready | Status::InLine => {
                    let retries = other.retries.filter(|retries| retries.go_on(other.clock))?;
                    Some(Waiting { thread, reason: Reason::Poll, at: retries.at })
                }
                Status::Ended | Status::Stuck => None,
            })
            .collect()
    }

    /// The latest clock of all threads.
    pub(crate) fn latest(&self) -> u64 {
        self.threads.iter().map(|thread| thread.clock).max().unwrap_or(0)
    }
}
