//! Hardware threads: who runs on which, and who comes next.

use crate::prefetch::Streams;
use crate::threads::{HardwareThread, NOBODY, Runs, State, Status, Thread, Times};
use crate::trace::What;
use crate::window::Code;
use crate::world::Fiber;
use std::collections::VecDeque;

impl State {
    /// A new thread, at `time`.
    pub(crate) fn started(&mut self, fiber: Fiber, time: u64) -> usize {
        let thread = self.threads.len();
        // The first idle place; else the one with the fewest threads.
        let load = |place: &HardwareThread| place.queue.len() + usize::from(place.running.is_some());
        let place = (0..self.parallelism).min_by_key(|&place| load(&self.places[place])).expect("there is a place");
        let jitter = if thread == 0 { 0 } else { self.random(self.jitter + 1) };
        self.threads.push(Thread {
            fiber: Some(Box::new(fiber)),
            yielder: None,
            status: Status::Ready,
            clock: time + jitter,
            place,
            core: 0,
            die: 0,
            shares: false,
            still: (0, 0),
            crowded: false,
            pinned: false,
            ticket: 0,
            stores: VecDeque::new(),
            runs: Runs::new(),
            stores_done: 0,
            streams: Streams::new(),
            code: Code::default(),
            credit: 0,
            behind_load: 0,
            loaded: [NOBODY; 4],
            attempts: Vec::new(),
            reads: Vec::new(),
            tries: 0,
            retries: None,
            pending: None,
            in_line: None,
            behind: NOBODY,
            answer: None,
            pushed: None,
            impatience: 0,
            host: None,
            doing: Vec::new(),
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
    pub(crate) fn arrive(&mut self, thread: usize) {
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
        if self.places[place].queue.is_empty() && self.spins(running) {
            // It may have run out of patience before anybody wanted its hardware thread.
            self.agenda.set(place, clock.max(self.patient_until(running)));
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
        let (wanted, since) = (other.clock, other.clock.max(time));
        other.clock = since;
        other.times.wanting += since - wanted;
        self.places[place].since = since;
        self.places[place].slice_end = since + slice;
        self.agenda.set(place, since);
        if since > wanted {
            self.trace(thread, wanted, since, What::Wanted);
        }
        self.crowd(place);
        self.look_ahead();
    }

    /// The thread gives up its hardware thread, at `time`.
    pub(crate) fn leave(&mut self, thread: usize, time: u64) {
        let place = self.threads[thread].place;
        debug_assert_eq!(self.places[place].running, Some(thread));
        self.places[place].running = None;
        self.trace(thread, self.places[place].since, self.threads[thread].clock, What::Had { place });
        self.agenda.clear(place);
        self.device_left(thread, time);
        self.crowd(place);
    }

    /// Somebody else runs on `place`, which was left at `time`.
    pub(crate) fn next_on(&mut self, place: usize, time: u64) {
        let mut next = self.places[place].queue.pop_front();
        if next.is_none() && self.queued > 0 && place < self.parallelism {
            // An idle place takes the first that may move, where most of them wait.
            let movable = |thread: &usize| !self.threads[*thread].pinned;
            let waiting = |other: &usize| self.places[*other].queue.iter().filter(|thread| movable(thread)).count();
            let from = (0..self.parallelism).max_by_key(waiting);
            let first = from.and_then(|from| Some((from, self.places[from].queue.iter().position(movable)?)));
            next = first.and_then(|(from, first)| self.places[from].queue.remove(first));
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
            let HardwareThread { running: here, queue, .. } = &self.places[place];
            for &thread in here.iter().chain(queue) {
                let thread = &mut self.threads[thread];
                thread.shares = running > 1;
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
        self.leave(thread, self.threads[thread].clock);
        self.next_on(old, self.threads[thread].clock);
        self.assign(thread, place);
        self.arrive(thread);
        true
    }
}
