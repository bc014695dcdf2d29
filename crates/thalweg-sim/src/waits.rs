//! Waiting: for memory to change, for a token, for a deadline.
//!
//! A failed attempt of `spin::until` sleeps if it can succeed only after a line that it read was written. Such a write
//! has to be noticed, also before the sleep begins:
//!
//! - by another core, it takes the line from the reader's cache, so it is no plain hit: it numbers the line
//!   ([`Traffic::written`](crate::threads::Traffic)) and wakes who sleeps on it;
//! - by a thread of the same core, it may be a hit, so a line that a thread with neighbours has read, or that anybody
//!   sleeps on, counts as watched, and writes to it take the long way;
//! - a line that the reader's cache has lost meanwhile counts as written.

use crate::agenda::LATEST;
use crate::failure::Reason;
use crate::threads::{Attempt, Retries, State, Status, WATCHED};
use crate::trace::What;
use std::cmp::Reverse;
use thalweg_sync::engine::Site;

/// After how many attempts of `spin::until` in a row, or calls of `spin::pause` as the caller counts them, a thread only
/// pauses; after the others it gives up the time slice.
pub(crate) const PATIENCE: u32 = 64;

impl State {
    /// The current thread waits. With a `deadline` (in cycles) no longer than that. Spinning keeps its hardware thread; if somebody else
    /// wants it, until its patience is over.
    pub(crate) fn sleep(&mut self, reason: Reason, deadline: Option<u64>, at: Site) {
        let thread = self.current;
        let place = self.threads[thread].place;
        self.threads[thread].status = Status::Waits { reason, at };
        self.threads[thread].ticket += 1;
        self.threads[thread].credit = 0;
        if let Some(deadline) = deadline {
            self.timers.push(Reverse((deadline.min(LATEST), thread, self.threads[thread].ticket)));
            self.set_timer();
        }
        if reason != Reason::Spin {
            let clock = self.threads[thread].clock;
            self.leave(thread, clock);
            self.next_on(place, clock);
        } else if !self.places[place].queue.is_empty() {
            self.agenda.set(place, self.patient_until(thread));
        }
    }

    /// Until when a thread that spins keeps a hardware thread that somebody else wants. Then it has yielded.
    pub(crate) fn patient_until(&self, thread: usize) -> u64 {
        self.threads[thread].clock + u64::from(PATIENCE) * self.machine.cost.pause
    }

    /// True if the thread spins, and so waits on its hardware thread.
    pub(crate) fn spins(&self, thread: usize) -> bool {
        matches!(self.threads[thread].status, Status::Waits { reason: Reason::Spin, .. })
    }

    /// The patience of who spins on `place` is over at `time`: the hardware thread goes to who wants it, if somebody still does.
    pub(crate) fn yields(&mut self, place: usize, time: u64) {
        self.agenda.clear(place);
        if let Some(thread) = self.places[place].running
            && !self.places[place].queue.is_empty()
        {
            self.leave(thread, time);
            self.next_on(place, time);
        }
    }

    /// A thread that waits goes on, not before `time`.
    pub(crate) fn wake(&mut self, thread: usize, time: u64) {
        let Status::Waits { reason, at } = self.threads[thread].status else { return };
        let spins = reason == Reason::Spin;
        let time = if spins { time } else { time + self.wake_up() };
        let before = self.threads[thread].clock;
        let period = self.machine.cost.pause.max(1);
        // It looks once for each pause.
        let time = if spins { before + time.saturating_sub(before).next_multiple_of(period) } else { time };
        let (place, clock) = (self.threads[thread].place, before.max(time));
        if self.places[place].running == Some(thread) && clock > self.patient_until(thread) {
            self.yields(place, self.patient_until(thread));
        }
        let other = &mut self.threads[thread];
        other.ticket += 1;
        other.status = Status::Ready;
        *(if spins { &mut other.times.spinning } else { &mut other.times.off }) += time.saturating_sub(before);
        other.clock = clock;
        if spins {
            other.still = (before, clock);
        }
        self.trace(thread, before, clock, What::Wait { reason, site: at });
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
            self.leave(thread, clock);
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
        thread.retries = None;
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
        let sleeps = !attempt.restless
            && !reads.is_empty()
            && reads.iter().all(unchanged)
            && !reads.iter().any(|&line| self.device_lost(line));
        self.unread(attempt.reads);
        if !sleeps {
            self.counts.polls += 1;
            self.threads[thread].tries = self.threads[thread].tries.saturating_add(1);
            self.note_retry(self.threads[thread].tries, at);
            self.pause(self.threads[thread].tries);
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

    /// The current thread is about to try again, the `tries`-th time in a row.
    pub(crate) fn note_retry(&mut self, tries: u32, at: Site) {
        let thread = self.thread();
        let now = thread.clock;
        let from = thread.retries.filter(|_| tries > 1).map_or(now, |retries| retries.from);
        thread.retries = Some(Retries { at, from, last: now });
    }

    /// The current thread's `tries`-th step of back-off in a row.
    pub(crate) fn pause(&mut self, tries: u32) {
        let pauses = tries <= PATIENCE;
        let passed = if pauses { self.machine.cost.pause } else { self.machine.cycles(self.machine.os.yields) };
        if pauses {
            self.stand_still(passed);
        } else {
            // The system's code.
            self.thread().clock += passed;
        }
        self.thread().times.spinning += passed;
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
        self.device_retired(address);
    }
}
