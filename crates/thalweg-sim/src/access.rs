//! What an access does to the machine, and how long it takes.

use crate::counts::Cost;
use crate::prefetch::Wish;
use crate::protocol::Source;
use crate::threads::{NOBODY, State, Status};
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
        if if write { watched || thread.stores_done > thread.clock } else { thread.streams.has(line) } {
            return false;
        }
        if !self.protocol.hit(thread.core, line, write) {
            return false;
        }
        thread.clock += self.hit_costs[usize::from(thread.taxed)][kind as usize];
        thread.times.accesses += 1;
        self.counts.accesses += 1;
        self.counts.l1_hits += 1;
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
        let thread = &mut self.threads[self.current];
        let (core, die, clock) = (thread.core, thread.die, thread.clock);
        if kind == Kind::ReadModifyWrite && thread.stores_done > clock {
            self.drain();
            return Step::Later;
        }
        let write = kind != Kind::Load;
        // From here on the directory knows the line.
        self.protocol.user(core, line);
        let (source, start, latency) = match self.protocol.local(core, line, write) {
            Some(source) => {
                let latency = match source {
                    Source::L1 => self.machine.latency.l1,
                    Source::L2 => self.machine.latency.l2,
                    _ => self.machine.latency.sibling,
                };
                let transfer = crate::protocol::Transfer { source, invalidated: None, written_back: 0 };
                self.counts.transfer(&transfer, true);
                if source == Source::Sibling {
                    let cost = Cost::of(&transfer, latency);
                    self.misses.count(line, &mut self.protocol.user(core, line).heat, at, cost);
                } else if self.notes.hits {
                    self.misses.count_hit(at);
                }
                let latency =
                    if thread.taxed { latency + latency * self.machine.cost.smt_percent / 100 } else { latency };
                (source, clock, latency)
            }
            None => {
                let background = kind == Kind::Store && self.machine.store_buffer > 0;
                let traffic = self.protocol.user(core, line);
                let taken = traffic.first != NOBODY && traffic.first != self.current as u32;
                if !background && (traffic.busy > clock || taken) {
                    self.line_up(line);
                    return Step::InLine;
                }
                let begin = clock.max(traffic.busy);
                let transfer = self.protocol.access(core, line, write);
                let home = self.protocol.home(line);
                let (start, mut latency) = self.fabric.carry(&self.machine, die, home, &transfer, begin);
                if self.threads[self.current].in_line.is_some() {
                    // Its request had come a part of the way already.
                    latency -= self.machine.contention.overlap.min(latency / 2);
                }
                self.counts.transfer(&transfer, true);
                let cost = Cost::of(&transfer, start + latency - clock);
                self.misses.count(line, &mut self.protocol.user(core, line).heat, at, cost);
                (transfer.source, start, latency)
            }
        };
        if !matches!(source, Source::L1 | Source::Upgrade(_)) {
            self.device_missed(line);
        }
        let done = self.finish(line, kind, source, start, latency);
        if self.notes.trace.is_some() {
            let since = self.threads[self.current].in_line.map_or(clock, |(_, since)| since);
            let until = self.threads[self.current].clock;
            self.trace(self.current, since, until, What::Line { line, site: at, in_line: start.saturating_sub(since) });
        }
        self.threads[self.current].times.accesses += 1;
        if write {
            self.note_change();
            self.writes += 1;
            let number = self.writes;
            let traffic = self.protocol.user(core, line);
            traffic.written = number;
            if std::mem::take(&mut traffic.slept_on) {
                self.wake_sleepers(line, done);
            }
        } else {
            self.note_read(line);
            self.prefetch(line, source != Source::L1);
        }
        if self.threads[self.current].in_line.is_some() {
            self.next_in_line(line, start);
        }
        Step::Done
    }

    /// Lets the time of an access pass. Returns when it is done.
    fn finish(&mut self, line: u32, kind: Kind, source: Source, start: u64, latency: u64) -> u64 {
        let cost = self.machine.cost;
        let thread = &mut self.threads[self.current];
        let before = thread.clock;
        let global = !matches!(source, Source::L1 | Source::L2 | Source::Sibling);
        let mut done = start + latency;
        let busy = match kind {
            Kind::Load => {
                thread.clock = done;
                if matches!(source, Source::Cache(_)) { done } else { start + self.machine.interconnect.clean }
            }
            Kind::ReadModifyWrite => {
                done += cost.rmw;
                thread.clock = done;
                done + self.machine.contention.hold
            }
            Kind::Store if self.machine.store_buffer == 0 => {
                thread.clock = done;
                done
            }
            Kind::Store => {
                // Stores become visible in order, so this one not before the one before it.
                while thread.stores.front().is_some_and(|&other| other <= thread.clock) {
                    thread.stores.pop_front();
                }
                done = done.max(thread.stores_done + 1);
                if thread.stores.len() >= self.machine.store_buffer as usize
                    && let Some(oldest) = thread.stores.pop_front()
                {
                    self.counts.cycles_for_stores += oldest - thread.clock;
                    thread.clock = oldest;
                }
                if done > thread.clock + 1 {
                    thread.stores.push_back(done);
                    thread.stores_done = done;
                }
                thread.clock += 1;
                done
            }
        };
        let passed = thread.clock - before;
        thread.clock += cost.access;
        let stalled = passed.saturating_sub(self.machine.latency.l1);
        thread.times.stalled += stalled;
        if global {
            self.counts.cycles_in_transfer += stalled;
            let core = thread.core;
            let traffic = self.protocol.user(core, line);
            traffic.busy = traffic.busy.max(busy);
        }
        done
    }

    /// The current thread waits until its stores are done.
    pub(crate) fn drain(&mut self) {
        let thread = &mut self.threads[self.current];
        let waits = thread.stores_done.saturating_sub(thread.clock);
        thread.clock += waits;
        thread.times.stalled += waits;
        thread.stores.clear();
        self.counts.cycles_for_stores += waits;
    }

    /// What the hardware fetches because the current thread has read `line`.
    fn prefetch(&mut self, line: u32, missed: bool) {
        let kind = self.machine.prefetch;
        let thread = &mut self.threads[self.current];
        let wish = if let Some((ready, wish)) = thread.streams.used(line) {
            thread.clock = thread.clock.max(ready);
            self.counts.prefetches_used += 1;
            wish
        } else if missed {
            thread.streams.missed(line, kind)
        } else {
            None
        };
        if let Some(wish) = wish {
            self.fetch(wish);
        }
    }

    fn fetch(&mut self, wish: Wish) {
        let thread = &self.threads[self.current];
        let (core, die, clock) = (thread.core, thread.die, thread.clock);
        let traffic = self.protocol.user(core, wish.line);
        let begin = clock.max(traffic.busy);
        if traffic.first != NOBODY || self.protocol.is_near(core, wish.line) {
            return;
        }
        let transfer = self.protocol.access(core, wish.line, false);
        let home = self.protocol.home(wish.line);
        let (start, latency) = self.fabric.carry(&self.machine, die, home, &transfer, begin);
        let traffic = self.protocol.user(core, wish.line);
        let cache = matches!(transfer.source, Source::Cache(_));
        traffic.busy = start + if cache { latency } else { self.machine.interconnect.clean };
        self.counts.prefetches += 1;
        self.counts.transfer(&transfer, false);
        self.threads[self.current].streams.fetched(wish, start + latency);
    }

    // The line for a line: first come, first served. The first goes on when the line is free, the others when the one
    // before them is done.

    /// The current thread stands in line, unless it does already; if it is the first, until the line is free.
    fn line_up(&mut self, line: u32) {
        let current = self.current;
        let (core, clock, place) = {
            let thread = self.thread();
            (thread.core, thread.clock, thread.place)
        };
        if self.threads[current].in_line.is_none() {
            self.threads[current].in_line = Some((line, clock));
            self.threads[current].behind = NOBODY;
            let traffic = self.protocol.user(core, line);
            let last = std::mem::replace(&mut traffic.last, current as u32);
            if last == NOBODY {
                traffic.first = current as u32;
            } else {
                self.threads[last as usize].behind = current as u32;
            }
        }
        let traffic = self.protocol.user(core, line);
        if traffic.first == current as u32 {
            let free = traffic.busy;
            let thread = self.thread();
            thread.clock = clock.max(free);
            let clock = thread.clock;
            self.agenda.set(place, clock);
        } else {
            self.threads[current].status = Status::InLine;
        }
    }

    /// The current thread, the first in line for `line`, got it at `start`.
    fn next_in_line(&mut self, line: u32, start: u64) {
        let (core, die) = (self.thread().core, self.thread().die);
        let (_, since) = self.thread().in_line.take().expect("it is in line");
        let waited = start.saturating_sub(since);
        self.thread().times.stalled += waited;
        self.counts.cycles_in_line += waited;
        let mut next = std::mem::replace(&mut self.thread().behind, NOBODY);
        let near = self.protocol.user(core, line).near;
        if next != NOBODY && near < self.machine.contention.near_first {
            next = self.neighbour_first(line, next, die);
        }
        let traffic = self.protocol.user(core, line);
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
            let core = self.threads[candidate as usize].core;
            self.protocol.user(core, line).last = before;
        }
        candidate
    }
}
