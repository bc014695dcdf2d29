//! What an access does to the machine, and how long it takes.

use crate::counts::Cost;
use crate::prefetch::{EACH_TIME, Wish};
use crate::protocol::{FoundAt, Transfer};
use crate::threads::{NOBODY, State, Status, Store, Thread, WATCHED};
use crate::trace::What;
use thalweg_sync::engine::Site;

/// What an access does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Load = 0,
    /// It waits in the store buffer, while its thread goes on.
    Store = 1,
    /// It holds the line while it reads and writes, after all stores before it. Sequentially consistent stores too.
    ReadModifyWrite = 2,
}

/// How an access went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Done,
    /// Time has passed: again, when it is the thread's turn.
    Later,
    /// The thread is in line: again, when it is resumed.
    InLine,
}

impl Thread {
    /// True if one of its last loads was from `line`, as is this one.
    #[inline(always)]
    fn has_just_loaded(&mut self, line: u32) -> bool {
        let has = self.loaded.contains(&line);
        if !has {
            self.loaded = [line, self.loaded[0], self.loaded[1], self.loaded[2]];
        }
        has
    }
}

impl State {
    /// The line at a host address, which the current thread accesses.
    #[inline(always)]
    pub(crate) fn line(&mut self, address: usize) -> u32 {
        let core = self.threads[self.current].core;
        self.names.line(address, core)
    }

    /// An access that the core's own cache can answer, by a thread that is not too far ahead of the others. False if it
    /// is anything else; then nothing has happened. Nothing here may depend on a host address: what is quick decides
    /// who is ahead of whom.
    #[inline(always)]
    pub(crate) fn quick(&mut self, line: u32, kind: Kind, at: Site) -> bool {
        let watched = self.is_watched(line);
        let thread = &mut self.threads[self.current];
        if thread.clock > self.horizon {
            return false;
        }
        let write = kind != Kind::Load;
        // A write that somebody may wait for, or that comes behind others in the store buffer; a line that was fetched
        // ahead, and may not be there yet.
        if (write && (watched || thread.stores_done > thread.clock)) || thread.streams.has(line) {
            return false;
        }
        if !self.protocol.hit(thread.core, line, write) {
            return false;
        }
        let taxed = self.is_taxed();
        let thread = &mut self.threads[self.current];
        let costs = &self.hit_costs[usize::from(taxed)];
        let mut cost = costs[kind as usize];
        if kind == Kind::Load {
            if thread.has_just_loaded(line) {
                cost = costs[3];
            }
        } else if kind == Kind::ReadModifyWrite {
            thread.credit = 0;
        }
        self.pass_hit(cost);
        if self.notes.hits {
            self.misses.count_hit(at);
        }
        if write {
            self.note_change()
        } else {
            self.note_read(line)
        }
        true
    }

    /// [`quick`](Self::quick), for the load that it did last, once more: what it found is still so, but for the time.
    #[inline(always)]
    pub(crate) fn repeat(&mut self) -> bool {
        let thread = &self.threads[self.current];
        if thread.clock > self.horizon || self.notes.hits {
            return false;
        }
        self.pass_hit(self.hit_costs[usize::from(self.is_taxed())][3]);
        true
    }

    /// An access of the current thread hit, at this cost.
    #[inline(always)]
    fn pass_hit(&mut self, cost: u64) {
        let thread = &mut self.threads[self.current];
        let cost = if thread.credit > 0 { thread.done_meanwhile(cost, thread.weight()) } else { cost };
        thread.clock += cost;
        thread.times.accesses += 1;
        self.counts.accesses += 1;
        self.counts.l1_hits += 1;
    }

    /// An access by the current thread. False if it has to switch; when it is resumed, the access is done.
    #[inline]
    pub(crate) fn at_once(&mut self, line: u32, kind: Kind, at: Site) -> bool {
        if self.in_turn() {
            match self.step(line, kind, at) {
                Step::Done => return true,
                Step::Later => self.agenda.set(self.threads[self.current].place, self.threads[self.current].clock),
                Step::InLine => {}
            }
        }
        self.threads[self.current].pending = Some((line, kind, at));
        false
    }

    /// An access by the current thread, whose turn it is.
    pub(crate) fn step(&mut self, line: u32, kind: Kind, at: Site) -> Step {
        let thread = &self.threads[self.current];
        let (core, clock, in_line) = (thread.core, thread.clock, thread.in_line);
        if kind == Kind::ReadModifyWrite {
            if thread.stores_done > clock {
                self.drain();
                return Step::Later;
            }
            if self.again(line) {
                return Step::Done;
            }
        }
        let write = kind != Kind::Load;
        self.protocol.visit(core, line);
        self.device_accesses(line);
        let near = match self.protocol.local(core, line, write) {
            None if self.still_has(core, line, write) => Some(FoundAt::L1),
            near => near,
        };
        // Only what the own cluster answers is slowed down by a neighbour.
        let taxed = near.is_some() && self.is_taxed();
        let far = match near {
            Some(source) => Some((Transfer::within(source), clock, self.near(line, source, at, taxed))),
            None => self.far(line, kind),
        };
        let Some((transfer, start, latency)) = far else { return Step::InLine };
        let source = transfer.source;
        let (done, held) = self.finish(line, kind, at, source, start, latency);
        self.threads[self.current].times.accesses += 1;
        if write {
            self.note_change();
            self.writes += 1;
            let number = self.writes;
            let (traffic, _) = self.protocol.known(line);
            traffic.written = number;
            if std::mem::take(&mut traffic.slept_on) {
                self.wake_sleepers(line, done);
            }
        } else {
            self.note_read(line);
            self.prefetch(line, source != FoundAt::L1, at);
        }
        if in_line.is_some() {
            self.next_in_line(line);
        }
        let asked = in_line.map_or(clock, |(_, since)| since);
        if self.notes.trace.is_some() {
            let until = self.threads[self.current].clock;
            self.trace(self.current, asked, until, What::Line { line, site: at, in_line: start.saturating_sub(asked) });
        }
        // What a hit costs is no waiting.
        let own = self.hit_costs[usize::from(taxed)][kind as usize] + held;
        let in_transfer = (self.threads[self.current].clock - clock).saturating_sub(own);
        if in_transfer > 0 {
            self.thread().still = (clock, self.thread().clock);
        }
        self.counts.cycles_in_line += clock - asked;
        self.counts.cycles_in_transfer += in_transfer;
        self.charge(line, at, Cost::of(&transfer, clock - asked + in_transfer));
        Step::Done
    }

    /// A short way for most steps of threads that contend: a read-modify-write of what the core owns already, with nobody to tell. False if
    /// it is anything else; then nothing has changed but the order of use. All is as the long way would have it.
    #[inline]
    fn again(&mut self, line: u32) -> bool {
        let thread = &self.threads[self.current];
        if thread.in_line.is_some() || thread.streams.has(line) || self.notes.hits || self.notes.trace.is_some() {
            return false;
        }
        let Some(traffic) = self.protocol.hit_to_write(thread.core, line) else { return false };
        if traffic.slept_on {
            return false;
        }
        self.writes += 1;
        traffic.written = self.writes;
        let latency = self.slowed_down(self.machine.latency.l1, self.is_taxed());
        let cost = self.machine.cost;
        let thread = &mut self.threads[self.current];
        thread.clock += latency + cost.rmw + cost.access;
        thread.credit = 0;
        thread.times.accesses += 1;
        self.counts.accesses += 1;
        self.counts.l1_hits += 1;
        self.note_change();
        true
    }

    /// How long it takes what the own cluster answers, within `latency` when it is not taxed.
    #[inline]
    fn slowed_down(&self, latency: u64, taxed: bool) -> u64 {
        if taxed { latency + latency * self.machine.cost.smt_percent / 100 } else { latency }
    }

    /// What an access to `line` moved, and how long the current thread stood still for it.
    #[inline]
    fn charge(&mut self, line: u32, at: Site, cost: Cost) {
        self.thread().times.stalled += cost.nanos;
        if !cost.is_zero() {
            self.misses.count(line, &mut self.protocol.known(line).0.heat, at, cost);
        }
    }

    /// An access that the core's own cluster answers. Returns how long that takes.
    #[inline]
    fn near(&mut self, line: u32, source: FoundAt, at: Site, taxed: bool) -> u64 {
        let latency = match source {
            FoundAt::L1 => self.machine.latency.l1,
            FoundAt::L2 => self.machine.latency.l2,
            _ => self.machine.latency.sibling,
        };
        let thread = &self.threads[self.current];
        let late = source == FoundAt::L1 && thread.streams.is_coming(line, thread.clock);
        if late {
            self.counts.accesses += 1;
            self.counts.late_hits += 1;
        } else {
            self.counts.access(&Transfer::within(source));
        }
        if self.notes.hits && !late && source != FoundAt::Sibling {
            self.misses.count_hit(at);
        }
        self.slowed_down(latency, taxed)
    }

    /// An access that others have to answer: what it moves, since when, and how long it takes. `None`: the thread is in line for it.
    #[inline(never)]
    fn far(&mut self, line: u32, kind: Kind) -> Option<(Transfer, u64, u64)> {
        let current = self.current as u32;
        let thread = &self.threads[self.current];
        let (core, die, clock, in_line) = (thread.core, thread.die, thread.clock, thread.in_line.is_some());
        let write = kind != Kind::Load;
        let background = kind == Kind::Store && self.machine.store_buffer > 0;
        let (traffic, owned) = self.protocol.known(line);
        let free = traffic.free(core, write || owned);
        let taken = traffic.first != NOBODY && traffic.first != current;
        // A store in the buffer comes before one who waits, and not before a row of them.
        let row = taken && traffic.first != traffic.last;
        if if background { row } else { free > clock || taken } {
            self.line_up(line, free);
            return None;
        }
        let begin = clock.max(free);
        if background && begin > clock {
            (traffic.loser, traffic.lost, traffic.owned) = (traffic.holder, begin, owned);
        }
        let transfer = self.protocol.access(core, line, write);
        let home = self.protocol.home(line);
        let (start, mut latency) = self.fabric.carry(&self.machine, die, home, &transfer, begin);
        if in_line {
            // Its request had come a part of the way already.
            latency -= self.machine.contention.overlap.min(latency / 2);
        }
        self.counts.access(&transfer);
        Some((transfer, start, latency))
    }

    /// Lets the time of an access pass. Returns when it is done, and for how long of that time the store buffer was full.
    fn finish(&mut self, line: u32, kind: Kind, at: Site, source: FoundAt, start: u64, latency: u64) -> (u64, u64) {
        let (cost, window) = (self.machine.cost, self.window());
        let thread = &mut self.threads[self.current];
        let before = thread.clock;
        let global = !matches!(source, FoundAt::L1 | FoundAt::L2 | FoundAt::Sibling);
        let mut done = start + latency;
        let mut oldest = None;
        let busy = match kind {
            Kind::Load => {
                thread.clock = done;
                if matches!(source, FoundAt::Cache(_)) { done } else { start + self.machine.interconnect.clean }
            }
            Kind::ReadModifyWrite => {
                if let Some((ready, _)) = thread.streams.used(line, thread.instructions()) {
                    done = done.max(ready);
                    self.counts.prefetches_used += 1;
                }
                done += cost.rmw;
                thread.clock = done;
                done
            }
            Kind::Store if self.machine.store_buffer == 0 => {
                thread.clock = done;
                done
            }
            Kind::Store => {
                if let Some((ready, _)) = thread.streams.used(line, thread.instructions()) {
                    done = done.max(ready);
                    self.counts.prefetches_used += 1;
                }
                if let Some(ahead) = self.machine.cache.reclaims
                    && matches!(source, FoundAt::Reclaim(_))
                {
                    done = done.max(thread.runs.before(line, ahead) + latency);
                }
                // Stores become visible in order, so this one not before the one before it.
                while thread.stores.front().is_some_and(|other| other.done <= thread.clock) {
                    thread.stores.pop_front();
                }
                done = done.max(thread.stores_done + 1);
                if thread.stores.len() >= self.machine.store_buffer as usize {
                    oldest = thread.stores.pop_front();
                    thread.clock = oldest.as_ref().map_or(before, |oldest| oldest.done);
                }
                if done > thread.clock + 1 {
                    thread.stores.push_back(Store { done, line, at });
                    thread.stores_done = done;
                }
                thread.runs.push(line, done);
                thread.clock += 1;
                done
            }
        };
        let passed = thread.clock - before;
        thread.clock += cost.access;
        match kind {
            Kind::Load if global => thread.waited(passed, window),
            Kind::Load | Kind::Store => {
                thread.clock = before + thread.done_meanwhile(passed + cost.access, thread.weight());
                if let (Kind::Store, Some((_, since))) = (kind, thread.in_line) {
                    // It stood in line from its buffer.
                    thread.waited(before - since, window);
                }
            }
            Kind::ReadModifyWrite => thread.credit = 0,
        }
        if kind == Kind::Load {
            thread.has_just_loaded(line);
        }
        let after = thread.clock;
        if global {
            let core = thread.core;
            let (traffic, _) = self.protocol.known(line);
            traffic.busy = traffic.busy.max(busy);
            let hold = if kind == Kind::ReadModifyWrite { self.machine.contention.hold } else { 0 };
            (traffic.holder, traffic.kept) = (core as u32, done + hold);
        }
        let held = oldest.map_or(0, |oldest| {
            // Some of it may have been done while a load waited.
            let held = (oldest.done - before).min(after - before);
            self.charge_for_store(&oldest, held);
            held
        });
        (done, held)
    }

    /// The current thread waits until its stores are done, one after the other.
    pub(crate) fn drain(&mut self) {
        while let Some(store) = self.thread().stores.pop_front() {
            let waits = store.done.saturating_sub(self.thread().clock);
            self.stand_still(waits);
            self.charge_for_store(&store, waits);
        }
    }

    /// The current thread stood still for so many cycles until `store` was done.
    fn charge_for_store(&mut self, store: &Store, cycles: u64) {
        self.counts.cycles_for_stores += cycles;
        self.charge(store.line, store.at, Cost { nanos: cycles, ..Cost::default() });
    }

    /// What the hardware fetches because the current thread has read `line`.
    fn prefetch(&mut self, line: u32, missed: bool, at: Site) {
        let (kind, window) = (self.machine.prefetch, self.window());
        let thread = &mut self.threads[self.current];
        let instructions = thread.instructions();
        let stream = if let Some((ready, stream)) = thread.streams.used(line, instructions) {
            if ready > thread.clock {
                thread.waited(ready - thread.clock, window);
                thread.clock = ready;
            }
            self.counts.prefetches_used += 1;
            stream
        } else if missed {
            thread.streams.missed(line, kind, instructions)
        } else {
            None
        };
        let Some(stream) = stream else { return };
        for _ in 0..EACH_TIME {
            let streams = &mut self.threads[self.current].streams;
            // A page that nobody has touched has no home yet.
            let Some(wish) = streams.next(stream, window, |line| self.protocol.knows(line)) else { break };
            self.fetch(wish, at);
        }
    }

    fn fetch(&mut self, wish: Wish, at: Site) {
        if let Some((ready, transfer)) = self.fetch_line(wish.line, false) {
            self.thread().streams.fetched(wish, ready);
            self.charge(wish.line, at, Cost::ahead(&transfer));
        }
    }

    /// The program asks for a line.
    pub(crate) fn ask(&mut self, line: u32, write: bool) {
        self.thread().clock += 1;
        if let Some((ready, _)) = self.fetch_line(line, write) {
            let clock = self.thread().clock;
            self.thread().streams.asked(line, ready, clock);
        }
    }

    /// Fetches a line that nobody has on its way, and the core does not have. Returns when it is there, and what that moves.
    fn fetch_line(&mut self, line: u32, write: bool) -> Option<(u64, Transfer)> {
        let thread = &self.threads[self.current];
        let (core, die, clock) = (thread.core, thread.die, thread.clock);
        self.protocol.visit(core, line);
        let (traffic, owned) = self.protocol.known(line);
        let (first, free) = (traffic.first, traffic.free(core, write || owned));
        let has = if write { self.protocol.owns(core, line) } else { self.protocol.is_near(core, line) };
        if first != NOBODY || free > clock || has {
            return None;
        }
        self.device_accesses(line);
        let transfer = self.protocol.access(core, line, write);
        let home = self.protocol.home(line);
        let (start, latency) = self.fabric.carry(&self.machine, die, home, &transfer, clock);
        let shared = matches!(transfer.source, FoundAt::Llc(_) | FoundAt::Memory(_)) && !write;
        let ready = start + latency;
        let traffic = self.protocol.user(core, line);
        traffic.busy = if shared { start + self.machine.interconnect.clean } else { ready };
        (traffic.holder, traffic.kept) = (core as u32, ready);
        self.counts.prefetch(&transfer);
        Some((ready, transfer))
    }

    // The line for a line: first come, first served. The first goes on when the line is free, the others when the one
    // before them is done.

    /// True if `core` has `line` for some time yet, though a store in another core's buffer has asked for it.
    fn still_has(&mut self, core: usize, line: u32, write: bool) -> bool {
        let clock = self.thread().clock;
        let (traffic, _) = self.protocol.known(line);
        traffic.loser == core as u32 && clock <= traffic.lost && (traffic.owned || !write)
    }

    /// The current thread stands in line, unless it does already; if it is the first, until the line is `free`.
    fn line_up(&mut self, line: u32, free: u64) {
        let current = self.current;
        let thread = &mut self.threads[current];
        let (traffic, _) = self.protocol.known(line);
        if thread.in_line.is_none() {
            thread.in_line = Some((line, thread.clock));
            thread.behind = NOBODY;
            let last = std::mem::replace(&mut traffic.last, current as u32);
            if last == NOBODY {
                traffic.first = current as u32;
            } else {
                self.threads[last as usize].behind = current as u32;
            }
            // Who has the line must not run ahead of who waits for it.
            self.watched[line as usize % WATCHED] += 1;
        }
        let thread = &mut self.threads[current];
        if traffic.first == current as u32 {
            thread.clock = thread.clock.max(free);
            self.agenda.set(thread.place, thread.clock);
        } else {
            thread.status = Status::InLine;
        }
    }

    /// The current thread, the first in line for `line`, had its turn.
    fn next_in_line(&mut self, line: u32) {
        let die = self.thread().die;
        self.thread().in_line = None;
        self.watched[line as usize % WATCHED] -= 1;
        let mut next = std::mem::replace(&mut self.thread().behind, NOBODY);
        let near = self.protocol.known(line).0.near;
        if next != NOBODY && u64::from(near) < self.machine.contention.near_first {
            next = self.neighbour_first(line, next, die);
        }
        let (traffic, _) = self.protocol.known(line);
        traffic.first = next;
        if next == NOBODY {
            traffic.last = NOBODY;
            return;
        }
        let free = traffic.busy;
        let next = &mut self.threads[next as usize];
        traffic.near = if next.die == die { near + 1 } else { 0 };
        next.status = Status::Ready;
        next.clock = next.clock.max(free);
        let (place, clock) = (next.place, next.clock);
        self.agenda.set(place, clock);
        self.look_ahead();
    }

    /// Moves the first thread of `die` to the front of a line. Returns the new front.
    fn neighbour_first(&mut self, line: u32, first: u32, die: usize) -> u32 {
        let mut before = NOBODY;
        let mut candidate = first;
        while candidate != NOBODY && self.threads[candidate as usize].die != die {
            before = candidate;
            candidate = self.threads[candidate as usize].behind;
        }
        if candidate == NOBODY || before == NOBODY {
            return first;
        }
        let behind = std::mem::replace(&mut self.threads[candidate as usize].behind, first);
        self.threads[before as usize].behind = behind;
        if behind == NOBODY {
            self.protocol.known(line).0.last = before;
        }
        candidate
    }
}
