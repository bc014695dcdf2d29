//! All executions of a small program, by definition: every way to read (rf) times every order of writes (co), judged by
//! the axioms. Slow and simple, and it shares nothing with the explorer that it is the oracle for but the programs.
//!
//! Executions have no cycle in po ∪ rf, so each can be built event by event, each event after the write that it reads.
//! [`readings`] does so for rf alone and keeps a set of what it has met; then come all orders of the writes of each
//! location, and [`Judge`] decides.

use crate::axioms::{Judge, Model};
use std::collections::HashSet;
use std::sync::atomic::Ordering;
use thalweg_check::litmus::{Machine, Order, Outcomes, Program, Register, Update};

/// A write: an event of a thread, or the first value of a location.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Write {
    Init(usize),
    Event(usize, usize),
}

/// What a thread does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    Load { location: usize, order: Order },
    Store { location: usize, value: i64, order: Order },
    Modify { location: usize, update: Update, operand: i64, order: Ordering },
    Exchange { location: usize, values: [i64; 2], success: Ordering, failure: Ordering },
    Fence(Ordering),
    Spawn(usize),
    Join(usize),
}

/// An event of a complete reading.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Event {
    pub(crate) thread: usize,
    pub(crate) index: usize,
    pub(crate) location: Option<usize>,
    pub(crate) order: Order,
    /// What it reads.
    pub(crate) rf: Option<Write>,
    /// What it writes.
    pub(crate) wrote: Option<i64>,
    /// It starts this thread.
    pub(crate) spawns: Option<usize>,
    /// It waits for this thread.
    pub(crate) joins: Option<usize>,
}

/// What was found.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) executions: u64,
    pub(crate) outcomes: Outcomes,
    pub(crate) race: bool,
    pub(crate) fails: bool,
}

/// Enumerates `program`, unless more than `limit` partial readings are met, or a reading has more orders of writes.
pub(crate) fn enumerate(program: &Program, model: Model, limit: usize) -> Option<Found> {
    let mut found = Found::default();
    for reading in readings(program, limit)? {
        let run = reading.run(program);
        let blocked = run.threads.iter().any(|thread| thread.end != End::Finished);
        if orders(program, &run.events) > limit {
            return None;
        }
        let judge = Judge::new(program.locations.len(), &run.events);
        let registers = run.threads.iter().map(|thread| thread.registers.clone()).collect::<Vec<_>>();
        let fails = run.threads.iter().any(|thread| thread.fails);
        each_order(program, &run.events, &mut |co| {
            if !judge.consistent(model, co) {
                return;
            }
            // What comes before a wrong assumption has happened, a race too.
            found.race |= judge.races();
            if blocked {
                return;
            }
            let last = co.iter().enumerate().map(|(location, order)| match order.last() {
                Some(&event) => run.events[event].wrote.unwrap(),
                None => program.locations[location].initial,
            });
            *found.outcomes.entry(program.valuation(&registers, &last.collect::<Vec<_>>())).or_default() += 1;
            found.executions += 1;
            found.fails |= fails;
        });
    }
    Some(found)
}

/// What each thread has read so far, event by event; `None` for an event that reads nothing.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Reading(Vec<Vec<Option<Write>>>);

/// Every complete or blocked reading; `None` if more than `limit` partial ones were met.
fn readings(program: &Program, limit: usize) -> Option<Vec<Reading>> {
    let start = Reading(vec![Vec::new(); program.threads.len()]);
    let mut met = HashSet::from([start.clone()]);
    let mut todo = vec![start];
    let mut ended = Vec::new();
    while let Some(reading) = todo.pop() {
        if met.len() > limit {
            return None;
        }
        let run = reading.run(program);
        let mut over = true;
        for (number, thread) in run.threads.iter().enumerate() {
            let started =
                !program.threads[number].spawned || run.events.iter().any(|event| event.spawns == Some(number));
            let End::Next(action) = thread.end else { continue };
            if !started {
                continue;
            }
            let choices = match action {
                Action::Load { location, .. } | Action::Modify { location, .. } | Action::Exchange { location, .. } => {
                    let events = run.events.iter().filter(|event| event.location == Some(location));
                    let writes = events.filter(|event| event.wrote.is_some());
                    let ids = writes.map(|event| Write::Event(event.thread, event.index));
                    ids.chain([Write::Init(location)]).map(Some).collect()
                }
                Action::Join(other) if run.threads[other].end != End::Finished => continue,
                Action::Store { .. } | Action::Fence(_) | Action::Spawn(_) | Action::Join(_) => vec![None],
            };
            over = false;
            for choice in choices {
                let mut next = reading.clone();
                next.0[number].push(choice);
                if met.insert(next.clone()) {
                    todo.push(next);
                }
            }
        }
        if over {
            ended.push(reading);
        }
    }
    Some(ended)
}

/// The threads of a reading, run as far as it goes, and their events.
struct Run {
    threads: Vec<ThreadRun>,
    events: Vec<Event>,
}

struct ThreadRun {
    registers: Vec<Register>,
    fails: bool,
    end: End,
}

/// Why a thread stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Finished,
    Assumed,
    /// It has not read enough: this comes next.
    Next(Action),
}

impl Reading {
    /// Runs every thread until its reads are used up. A value read may come from a thread that is not run yet, so this
    /// goes round until all values are known.
    fn run(&self, program: &Program) -> Run {
        let mut values: Vec<Vec<Option<i64>>> = self.0.iter().map(|reads| vec![None; reads.len()]).collect();
        loop {
            let mut threads = Vec::new();
            let mut events = Vec::new();
            let mut waits = false;
            for (number, thread) in program.threads.iter().enumerate() {
                let mut registers = vec![None; thread.registers.len()];
                let written = std::mem::take(&mut values[number]);
                let mut replay = Replay {
                    program,
                    thread: number,
                    reads: &self.0[number],
                    values: &values,
                    written,
                    events: Vec::new(),
                    fails: false,
                };
                let end = match thread.run(&mut registers, &mut replay) {
                    Ok(()) => End::Finished,
                    Err(Stop::Assumed) => End::Assumed,
                    Err(Stop::Next(action)) => End::Next(action),
                    Err(Stop::Later) => {
                        waits = true;
                        End::Assumed
                    }
                };
                let (fails, written) = (replay.fails, replay.written);
                events.append(&mut replay.events);
                values[number] = written;
                threads.push(ThreadRun { registers, fails, end });
            }
            if !waits {
                return Run { threads, events };
            }
        }
    }
}

/// A thread that repeats what it has read.
struct Replay<'a> {
    program: &'a Program,
    thread: usize,
    reads: &'a [Option<Write>],
    /// What every other thread's events wrote, as far as known.
    values: &'a [Vec<Option<i64>>],
    /// What this thread's events wrote.
    written: Vec<Option<i64>>,
    events: Vec<Event>,
    fails: bool,
}

enum Stop {
    Assumed,
    Next(Action),
    /// A value is not known yet.
    Later,
}

impl Replay<'_> {
    /// The next event, if it is in the reading, with the value it reads.
    fn event(&mut self, action: Action) -> Result<Option<i64>, Stop> {
        let index = self.events.len();
        let Some(&rf) = self.reads.get(index) else { return Err(Stop::Next(action)) };
        let read = match rf {
            None => None,
            Some(Write::Init(location)) => Some(self.program.locations[location].initial),
            Some(Write::Event(thread, at)) if thread == self.thread => self.written[at],
            Some(Write::Event(thread, at)) => Some(self.values[thread][at].ok_or(Stop::Later)?),
        };
        let mut event = Event {
            thread: self.thread,
            index,
            location: None,
            order: None,
            rf,
            wrote: None,
            spawns: None,
            joins: None,
        };
        match action {
            Action::Load { location, order } => (event.location, event.order) = (Some(location), order),
            Action::Store { location, value, order } => {
                (event.location, event.order, event.wrote) = (Some(location), order, Some(value));
            }
            Action::Modify { location, update, operand, order } => {
                let wrote = update.apply(read.unwrap(), operand);
                (event.location, event.order, event.wrote) = (Some(location), Some(order), Some(wrote));
            }
            Action::Exchange { location, values: [old, new], success, failure } => {
                let wrote = (read == Some(old)).then_some(new);
                event.location = Some(location);
                event.order = Some(if wrote.is_some() { success } else { failure });
                event.wrote = wrote;
            }
            Action::Fence(order) => event.order = Some(order),
            Action::Spawn(thread) => event.spawns = Some(thread),
            Action::Join(thread) => event.joins = Some(thread),
        }
        self.written[index] = event.wrote;
        self.events.push(event);
        Ok(read)
    }
}

impl Machine for Replay<'_> {
    type Stop = Stop;

    fn load(&mut self, location: usize, order: Order) -> Result<i64, Stop> {
        self.event(Action::Load { location, order }).map(Option::unwrap)
    }

    fn store(&mut self, location: usize, value: i64, order: Order) -> Result<(), Stop> {
        self.event(Action::Store { location, value, order }).map(drop)
    }

    fn modify(&mut self, location: usize, update: Update, operand: i64, order: Ordering) -> Result<i64, Stop> {
        self.event(Action::Modify { location, update, operand, order }).map(Option::unwrap)
    }

    fn compare_exchange(
        &mut self,
        location: usize,
        values: [i64; 2],
        success: Ordering,
        failure: Ordering,
    ) -> Result<i64, Stop> {
        self.event(Action::Exchange { location, values, success, failure }).map(Option::unwrap)
    }

    fn fence(&mut self, order: Ordering) -> Result<(), Stop> {
        self.event(Action::Fence(order)).map(drop)
    }

    fn spawn(&mut self, thread: usize) -> Result<(), Stop> {
        self.event(Action::Spawn(thread)).map(drop)
    }

    fn join(&mut self, thread: usize) -> Result<(), Stop> {
        self.event(Action::Join(thread)).map(drop)
    }

    fn assume(&mut self, holds: bool) -> Result<(), Stop> {
        if holds { Ok(()) } else { Err(Stop::Assumed) }
    }

    fn assert(&mut self, holds: bool) -> Result<(), Stop> {
        self.fails |= !holds;
        Ok(())
    }
}

/// How many orders of writes there are: the product of factorials.
fn orders(program: &Program, events: &[Event]) -> usize {
    let is_write = |event: &Event, location| event.location == Some(location) && event.wrote.is_some();
    let writes = |location| events.iter().filter(|event| is_write(event, location)).count();
    (0..program.locations.len()).flat_map(|location| 1..=writes(location)).fold(1, usize::saturating_mul)
}

/// Calls `judge` with every order of the writes of each location; the initial write, which is first, is left out.
fn each_order(program: &Program, events: &[Event], judge: &mut dyn FnMut(&[Vec<usize>])) {
    let mut rest = vec![Vec::new(); program.locations.len()];
    for (number, event) in events.iter().enumerate() {
        if let (Some(location), Some(_)) = (event.location, event.wrote) {
            rest[location].push(number);
        }
    }
    let mut co = vec![Vec::new(); rest.len()];
    order_from(0, &mut rest, &mut co, judge);
}

fn order_from(
    location: usize,
    rest: &mut [Vec<usize>],
    co: &mut Vec<Vec<usize>>,
    judge: &mut dyn FnMut(&[Vec<usize>]),
) {
    let Some(writes) = rest.get(location).map(Vec::len) else { return judge(co) };
    if writes == 0 {
        return order_from(location + 1, rest, co, judge);
    }
    for choice in 0..writes {
        let write = rest[location].remove(choice);
        co[location].push(write);
        order_from(location, rest, co, judge);
        co[location].pop();
        rest[location].insert(choice, write);
    }
}
