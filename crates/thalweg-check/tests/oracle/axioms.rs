//! The memory models, as their papers define them.
//!
//! Relations are matrices of bits; an event is a row. Initial writes come first, one for each location. A
//! read-modify-write is one event, as in RC11.

use crate::enumerate::{Event, Write};
use std::sync::atomic::Ordering;

/// Which executions are consistent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Model {
    /// Lahav et al., *Repairing Sequential Consistency in C/C++11*, PLDI 2017, with the release sequences of C++20.
    Rc11,
    /// As `Rc11`, with the order of sc events that [atomics.order] of C++20 asks for.
    Cxx20,
    /// As `Rc11`, without its condition on sc events.
    Ra,
    /// Sequential consistency: po ∪ rf ∪ co ∪ fr has no cycle.
    Sc,
}

/// The most events, initial writes included.
const EVENTS: usize = 64;

/// A relation between events: bit j of row i says that (i, j) is in it.
#[derive(Clone)]
struct Relation(Vec<u64>);

impl Relation {
    fn none(events: usize) -> Self {
        Self(vec![0; events])
    }

    fn add(&mut self, from: usize, to: usize) {
        self.0[from] |= 1 << to;
    }

    fn has(&self, from: usize, to: usize) -> bool {
        self.0[from] >> to & 1 == 1
    }

    fn or(&self, other: &Self) -> Self {
        Self(self.0.iter().zip(&other.0).map(|(a, b)| a | b).collect())
    }

    /// Pairs that `keep` allows.
    fn filter(&self, keep: impl Fn(usize, usize) -> bool) -> Self {
        let mut kept = Self::none(self.0.len());
        for (from, row) in self.0.iter().enumerate() {
            ones(*row).filter(|&to| keep(from, to)).for_each(|to| kept.add(from, to));
        }
        kept
    }

    /// First this relation, then `other`.
    fn then(&self, other: &Self) -> Self {
        Self(self.0.iter().map(|row| ones(*row).fold(0, |found, middle| found | other.0[middle])).collect())
    }

    /// The transitive closure.
    fn plus(&self) -> Self {
        let mut closed = self.clone();
        for middle in 0..closed.0.len() {
            let through = closed.0[middle];
            for row in &mut closed.0 {
                if *row >> middle & 1 == 1 {
                    *row |= through;
                }
            }
        }
        closed
    }

    /// With every event related to itself.
    fn maybe(&self) -> Self {
        Self(self.0.iter().enumerate().map(|(event, row)| row | 1 << event).collect())
    }

    fn irreflexive(&self) -> bool {
        self.0.iter().enumerate().all(|(event, row)| row >> event & 1 == 0)
    }

    fn acyclic(&self) -> bool {
        self.plus().irreflexive()
    }
}

fn ones(mut row: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let next = (row != 0).then(|| row.trailing_zeros() as usize);
        row &= row.wrapping_sub(1);
        next
    })
}

/// Everything about an execution that does not depend on co.
pub(crate) struct Judge<'a> {
    /// How many initial writes there are.
    locations: usize,
    events: &'a [Event],
    po: Relation,
    rf: Relation,
    /// po, and the starts and ends of threads.
    program: Relation,
    /// From what starts a thread to all of the thread.
    starts: Relation,
    /// From all of a thread to what joins it.
    ends: Relation,
    hb: Relation,
}

impl<'a> Judge<'a> {
    pub(crate) fn new(locations: usize, events: &'a [Event]) -> Self {
        let count = locations + events.len();
        assert!(count <= EVENTS, "{count} events are too many for this method");
        let mut judge = Self {
            locations,
            events,
            po: Relation::none(count),
            rf: Relation::none(count),
            program: Relation::none(count),
            starts: Relation::none(count),
            ends: Relation::none(count),
            hb: Relation::none(count),
        };
        for (from, first) in events.iter().enumerate() {
            for (to, second) in events.iter().enumerate() {
                if first.thread == second.thread && first.index < second.index {
                    judge.po.add(locations + from, locations + to);
                }
                if first.spawns == Some(second.thread) {
                    judge.starts.add(locations + from, locations + to);
                }
                if second.joins == Some(first.thread) {
                    judge.ends.add(locations + from, locations + to);
                }
            }
            for initial in 0..locations {
                judge.program.add(initial, locations + from);
            }
            if let Some(write) = first.rf {
                let write = match write {
                    Write::Init(location) => location,
                    Write::Event(thread, index) => {
                        let is_it = |event: &Event| (event.thread, event.index) == (thread, index);
                        locations + events.iter().position(is_it).unwrap()
                    }
                };
                judge.rf.add(write, locations + from);
            }
        }
        judge.program = judge.program.or(&judge.po).or(&judge.starts).or(&judge.ends);
        judge.hb = judge.program.or(&judge.synchronises()).plus();
        judge
    }

    fn event(&self, number: usize) -> Option<&Event> {
        number.checked_sub(self.locations).map(|number| &self.events[number])
    }

    fn location(&self, number: usize) -> Option<usize> {
        self.event(number).map_or(Some(number), |event| event.location)
    }

    fn is(&self, number: usize, property: impl Fn(&Event) -> bool) -> bool {
        self.event(number).is_some_and(property)
    }

    fn is_fence(&self, number: usize) -> bool {
        self.is(number, |event| event.location.is_none() && event.order.is_some())
    }

    fn is_sc(&self, number: usize) -> bool {
        self.is(number, |event| event.order == Some(Ordering::SeqCst))
    }

    fn is_modify(&self, number: usize) -> bool {
        self.is(number, |event| event.rf.is_some() && event.wrote.is_some())
    }

    fn is_atomic_access(&self, number: usize) -> bool {
        self.is(number, |event| event.location.is_some() && event.order.is_some())
    }

    /// sw = [REL]; ([F]; po)?; [W.atomic]; (rf; [RMW])*; rf; [R.atomic]; (po; [F])?; [ACQ]
    fn synchronises(&self) -> Relation {
        use Ordering::{AcqRel, Acquire, Release, SeqCst};
        let releases = |event: &Event| matches!(event.order, Some(Release | AcqRel | SeqCst));
        let acquires = |event: &Event| matches!(event.order, Some(Acquire | AcqRel | SeqCst));
        let count = self.po.0.len();
        // From a release event to the atomic writes that it publishes, and from the atomic reads to the acquire event.
        let mut publishes = Relation::none(count);
        let mut obtains = Relation::none(count);
        for write in 0..count {
            if !self.is_atomic_access(write) || !self.is(write, |event| event.wrote.is_some()) {
                continue;
            }
            if self.is(write, releases) {
                publishes.add(write, write);
            }
            for fence in (0..count).filter(|&fence| self.is_fence(fence) && self.po.has(fence, write)) {
                if self.is(fence, releases) {
                    publishes.add(fence, write);
                }
            }
        }
        for read in 0..count {
            if !self.is_atomic_access(read) || !self.is(read, |event| event.rf.is_some()) {
                continue;
            }
            if self.is(read, acquires) {
                obtains.add(read, read);
            }
            for fence in (0..count).filter(|&fence| self.is_fence(fence) && self.po.has(read, fence)) {
                if self.is(fence, acquires) {
                    obtains.add(read, fence);
                }
            }
        }
        let sequence = self.rf.filter(|_, to| self.is_modify(to)).plus().maybe();
        publishes.then(&sequence).then(&self.rf).then(&obtains)
    }

    /// Whether the execution with this order of writes is consistent.
    pub(crate) fn consistent(&self, model: Model, orders: &[Vec<usize>]) -> bool {
        let count = self.po.0.len();
        let mut co = Relation::none(count);
        for (location, order) in orders.iter().enumerate() {
            for (at, &write) in order.iter().enumerate() {
                co.add(location, self.locations + write);
                order[at + 1..].iter().for_each(|&later| co.add(self.locations + write, self.locations + later));
            }
        }
        // fr = rf⁻¹; co, without an RMW that is before itself because it follows the write it reads.
        let mut fr = Relation::none(count);
        for (write, row) in self.rf.0.iter().enumerate() {
            for read in ones(*row) {
                fr.0[read] |= co.0[write] & !(1 << read);
            }
        }
        // Atomicity: nothing comes between an RMW and what it reads.
        if (0..count).any(|number| self.is_modify(number) && ones(fr.0[number]).any(|write| co.has(write, number))) {
            return false;
        }
        let communication = self.rf.or(&co).or(&fr);
        if model == Model::Sc {
            return self.program.or(&communication).acyclic();
        }
        let eco = communication.plus();
        // An RMW that is eco-before itself follows the write that it reads, or reads from its future.
        if !eco.irreflexive() || !self.hb.irreflexive() || !self.hb.then(&eco).irreflexive() {
            return false;
        }
        model == Model::Ra || self.sc_events_can_be_ordered(model, &co, &fr, &eco)
    }

    fn sc_events_can_be_ordered(&self, model: Model, co: &Relation, fr: &Relation, eco: &Relation) -> bool {
        let count = self.po.0.len();
        let hb = &self.hb;
        let same_location = |a: usize, b: usize| self.location(a).is_some() && self.location(a) == self.location(b);
        let sc = |number: usize| self.is_sc(number);
        let fence = |number: usize| self.is_sc(number) && self.is_fence(number);
        let identity = Relation::none(count).maybe();
        // [SC] ∪ [F.sc]; hb? and [SC] ∪ hb?; [F.sc]
        let from = identity.filter(|a, _| sc(a)).or(&hb.maybe().filter(|a, _| fence(a)));
        let to = identity.filter(|a, _| sc(a)).or(&hb.maybe().filter(|_, b| fence(b)));
        let scb = if model == Model::Rc11 {
            let apart = self.po.filter(|a, b| !same_location(a, b));
            let around = self.around(&apart);
            self.po.or(&around).or(&hb.filter(same_location)).or(co).or(fr)
        } else {
            self.rf.or(co).or(fr)
        };
        let mut psc = from.then(&scb).then(&to);
        if model == Model::Cxx20 {
            // Strongly happens before.
            let strong = self.po.or(&self.around(&self.po));
            psc = psc.or(&strong.filter(|a, b| sc(a) && sc(b)));
        }
        let fences = hb.or(&hb.then(eco).then(hb)).filter(|a, b| fence(a) && fence(b));
        psc.or(&fences).acyclic()
    }

    /// `step;hb;step`, where `step` is a part of po. The start and the end of a thread are no events here, but count as such in po: all
    /// of a thread steps to its end, which comes before what joins it, and is stepped to from its start.
    fn around(&self, step: &Relation) -> Relation {
        let (first, last) = (step.then(&self.hb), self.hb.maybe());
        let ends = self.ends.then(&last);
        let steps = first.or(&ends).then(step);
        let starts = step.or(&ends).then(&last).then(&self.starts);
        steps.or(&starts)
    }

    /// Whether two threads access a location, one of them writing and one of them plainly, and neither happens before
    /// the other.
    pub(crate) fn races(&self) -> bool {
        let conflict = |(a, first): (usize, &Event), (b, second): (usize, &Event)| {
            let (a, b) = (self.locations + a, self.locations + b);
            first.thread != second.thread
                && first.location.is_some()
                && first.location == second.location
                && (first.wrote.is_some() || second.wrote.is_some())
                && (first.order.is_none() || second.order.is_none())
                && !self.hb.has(a, b)
                && !self.hb.has(b, a)
        };
        let events = || self.events.iter().enumerate();
        events().any(|first| events().any(|second| conflict(first, second)))
    }
}
