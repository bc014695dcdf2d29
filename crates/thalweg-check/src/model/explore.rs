//! The search: which graphs are visited, and that each is visited once.
//!
//! TruSt: M. Kokologiannakis, I. Marmanis, V. Gladstein, V. Vafeiadis, *Truly Stateless, Optimal Dynamic Partial Order
//! Reduction*, POPL 2022, Algorithms 1 and 2. Names as there: a graph grows by one event at a time; a read that is
//! added branches over the writes that are there (*forward*); a write that is added branches over its places in
//! modification order, and over the reads that are there and could read it (*backward revisits*). There is no set of
//! visited graphs: memory is a stack of graphs, at most one per event.
//!
//! # Invariants
//!
//! - **T1** Which event is added next is a function of the graph: the exclusive write that is missing, otherwise the
//!   next event of the lowest thread that can go on. So what was visited can be told from the graph. That write follows from
//!   the operation and what it reads, so it needs no execution.
//! - **T2** A revisit of read `r` by write `w` keeps the events with stamps up to `r`'s and those before `w` in
//!   po and rf, and deletes the others. It is done only if `r` and every deleted event are *maximal*
//!   ([`Explorer::is_maximal`]): what they would be, were they added last to what is kept and came before them. Every
//!   graph that `r` reading `w` leads to is reached from exactly one such graph.
//! - **T3** A kept set is closed under po and rf: a deleted write that a kept read reads is not maximal. So clocks
//!   stay right (G4), and a revisited read is the last event of its thread.
//! - **T4** Revisits by a write are those of the graph without it, so they do not depend on where it stands in
//!   modification order, and are computed once. Each revisited graph tries every place for it.
//! - **T5** The items of work of one graph have been pushed in the order of the stamps of their events. Taking one cuts the
//!   graph to the stamps up to it, which are as they were when it was pushed.
//!   Two items do not depend on each other, so they may be taken in different copies of the graph.
//! - **T6** A read-modify-write may be begun on a write that another one has already read. Its write then stands nowhere
//!   (C2), so the graph goes no further; but it may revisit, and so take the place of the other one.
//!
//! - **T7** Which handle of an object is dropped last is a choice as well: the last drop reads from all others, and its
//!   thread waits for them. The drop that is added when all others are there is the last, for now, and revisits each
//!   of them that comes before none of the others. Such a revisit is one of T2, by all other drops at once: it keeps
//!   what is before any of them.
//!
//! Different from the paper: the graphs that a revisit gives are explored on a stack of our own instead of by
//! recursion; a weak compare-exchange may have a third choice, to fail without a reason, which is never maximal.

use super::clock::Clock;
use super::graph::{EventId, Graph, Kind, Node, ThreadEvents};
use super::guide::Guide;
use super::{Memory, ScAxiom};
use std::sync::atomic::Ordering;
use thalweg_sync::engine::{Operation, Site};

/// A choice that is still to be tried.
#[derive(Clone, Copy, Debug)]
pub(super) enum Work {
    /// Let `read` read from `from`.
    Read { read: EventId, from: EventId, spurious: bool },
    /// Put `write` at `place`.
    Write { write: EventId, place: usize },
    /// Let `write` revisit `read`.
    Back { write: EventId, read: EventId, spurious: bool },
    /// Let `drop` be the drop of the last handle instead of `added` (T7).
    Last { drop: EventId, added: EventId },
    /// Give `allocation` the block of `free`.
    Reuse { allocation: EventId, free: EventId },
    /// Let `choice` be `from`, and later each of the values up to `end`, without it: there may be very many.
    Choose { choice: EventId, from: u32, end: u32 },
}

impl Work {
    /// The event whose choice it is: the graph is cut to its stamp when the choice is taken.
    pub(super) fn event(self) -> EventId {
        match self {
            Self::Read { read, .. } => read,
            Self::Write { write, .. } | Self::Back { write, .. } => write,
            Self::Last { added, .. } => added,
            Self::Reuse { allocation, .. } => allocation,
            Self::Choose { choice, .. } => choice,
        }
    }
}

/// What the options say about the search.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules {
    pub(crate) memory: Memory,
    pub(crate) axiom: ScAxiom,
    pub(crate) spurious: bool,
    /// How many allocations may be given freed blocks.
    pub(crate) reuse: u32,
}

/// The graph that is explored, and those that it was reached from.
#[derive(Debug)]
pub(crate) struct Explorer {
    pub(crate) graph: Graph,
    pub(super) work: Vec<Work>,
    /// The graphs that led to this one, with their work.
    below: Vec<(Graph, Vec<Work>)>,
    /// Graphs that are done with, and their empty work, for the memory that they have.
    used: Vec<(Graph, Vec<Work>)>,
    rules: Rules,
    /// The one execution to run, if not all.
    pub(crate) guide: Option<Guide>,
    /// Choices that were dropped, because they broke an axiom.
    pub(crate) dropped: u64,
}

/// Whether an operation that read `value` writes.
pub(crate) fn writes(operation: Operation, value: u64) -> bool {
    match operation {
        Operation::Load => false,
        Operation::CompareExchange { expected, .. } => value == expected,
        _ => true,
    }
}

/// A copy of the graph as far as a choice needs it.
fn cut_to(graph: &Graph, item: Work) -> Graph {
    let mut graph = graph.clone();
    graph.cut(graph.node(item.event()).stamp as usize + 1);
    graph
}

fn is_weak(operation: Operation) -> bool {
    matches!(operation, Operation::CompareExchange { weak: true, .. })
}

impl Explorer {
    /// Begins with the graph without events. With a guide, there is one execution.
    pub(crate) fn new(rules: Rules, guide: Option<Guide>) -> Self {
        let graph = Graph { strong: rules.memory == Memory::Sc, ..Graph::default() };
        Self { graph, work: Vec::new(), below: Vec::new(), used: Vec::new(), rules, guide, dropped: 0 }
    }

    pub(super) fn rules(&self) -> &Rules {
        &self.rules
    }

    /// Whether the graph breaks no axiom, with this choice for `chosen` (C4).
    fn is_consistent(&mut self, chosen: EventId) -> bool {
        let consistent = self.graph.stays_consistent(chosen, self.rules.memory, self.rules.axiom);
        self.dropped += u64::from(!consistent);
        consistent
    }

    /// Lets `read` read from `from`, or fail spuriously doing so.
    pub(super) fn assign(&mut self, read: EventId, from: EventId, spurious: bool) {
        let loc = self.graph.node(read).loc;
        let value = self.graph.written(loc, from);
        let node = self.graph.node_mut(read);
        node.rf = from;
        node.value = value;
        if let Kind::Read { operation, exclusive, spurious: fails, .. } = &mut node.kind {
            *exclusive = writes(*operation, value) && !spurious;
            *fails = spurious;
        }
        self.graph.set_clocks(read);
    }

    /// Whether `read` reads the newest write of its location, and did not fail without a reason.
    pub(crate) fn reads_newest(&self, read: EventId) -> bool {
        let node = self.graph.node(read);
        match node.kind {
            Kind::Read { spurious, .. } => {
                !spurious && self.graph.place(node.rf) == self.graph.locations[node.loc as usize].co.len()
            }
            _ => true,
        }
    }

    // Adding events.

    /// Adds an event that nothing is to be chosen for.
    pub(crate) fn add_plain(&mut self, thread: u32, kind: Kind, value: u64, at: Site) -> EventId {
        let id = self.graph.add(thread, kind, super::graph::NOWHERE, value, EventId::INIT, at);
        self.graph.set_clocks(id);
        id
    }

    /// Adds a choice of this kind between the numbers below `of`. It is 0, for now.
    pub(crate) fn add_choice(&mut self, thread: u32, kind: Kind, of: u32, at: Site) -> EventId {
        let choice = self.add_plain(thread, kind, 0, at);
        match self.guide.as_ref().and_then(|guide| guide.chosen(choice)) {
            Some(value) => self.graph.node_mut(choice).value = value.min(u64::from(of) - 1),
            None => {
                let end = of.min(self.last_in_order(choice).map_or(of, |last| last + 1));
                if end > 1 {
                    self.work.push(Work::Choose { choice, from: 1, end });
                }
            }
        }
        choice
    }

    /// Adds the drop of a handle; of a last one, after all of `others`.
    pub(crate) fn add_release(&mut self, thread: u32, last: bool, others: Vec<EventId>, at: Site) -> EventId {
        let id = self.add_plain(thread, Kind::Release { last: false }, 0, at);
        if last {
            if self.guide.is_none() {
                for &drop in &others {
                    let keep = self.kept_for(drop, &others, id);
                    if keep.is_some_and(|keep| self.is_revisitable(drop, &keep, id)) {
                        self.work.push(Work::Last { drop, added: id });
                    }
                }
            }
            self.graph.make_last(id, others);
        }
        id
    }

    /// What comes before the drops `others` and `added`, but for `drop` itself. None if `drop` is among it: then it cannot
    /// be the last.
    fn kept_for(&self, drop: EventId, others: &[EventId], added: EventId) -> Option<Clock> {
        let mut before = self.graph.node(added).porf.clone();
        others.iter().filter(|&&other| other != drop).for_each(|&other| before.join(&self.graph.node(other).porf));
        (drop.index >= before.get(drop.thread)).then_some(before)
    }

    /// Whether `event`, and everything that a revisit of it deletes, is maximal (T2): what has a later stamp and is not
    /// in `before`, which is what comes before the revisiting event `by`.
    fn is_revisitable(&self, event: EventId, before: &Clock, by: EventId) -> bool {
        let stamp = self.graph.node(event).stamp as usize;
        let mut deleted = self.graph.order[stamp..].iter().filter(|id| id.index >= before.get(id.thread));
        deleted.all(|&id| self.is_maximal(id, before, by))
    }

    /// Adds a read, which is of this kind. It reads the newest write, for now.
    pub(crate) fn add_read(&mut self, thread: u32, loc: u32, kind: Kind, at: Site) -> EventId {
        let Kind::Read { operation, .. } = kind else { unreachable!("it is a read") };
        let read = self.graph.add(thread, kind, loc, 0, EventId::INIT, at);
        let floor = self.graph.floor(loc, self.graph.before(read), read);
        if let Some((from, spurious)) = self.guide.as_ref().and_then(|guide| guide.read(read)) {
            let is_there = from.is_init() || self.graph.locations[loc as usize].co.contains(&from);
            let succeeds = || writes(operation, self.graph.written(loc, from));
            let may_fail = || self.rules.spurious && is_weak(operation) && succeeds();
            // Otherwise it is the guide of another execution, and the read gets what it gets without one (`misfit`).
            if is_there && self.graph.place(from) >= floor && (!spurious || may_fail()) {
                self.assign(read, from, spurious);
                return read;
            }
        }
        let newest = self.graph.locations[loc as usize].co.len();
        for place in floor..=newest {
            let from = self.graph.at_place(loc, place);
            let succeeds = writes(operation, self.graph.written(loc, from));
            if self.rules.spurious && is_weak(operation) && succeeds && self.is_in_order(read, from, true) {
                self.work.push(Work::Read { read, from, spurious: true });
            }
            let is_taken = || succeeds && self.is_taken_for_good(read, loc, place);
            if place < newest && self.is_in_order(read, from, false) && !is_taken() {
                self.work.push(Work::Read { read, from, spurious: false });
            }
        }
        self.assign(read, self.graph.at_place(loc, newest), false);
        read
    }

    /// Whether a read-modify-write before `read` has read the write at `place`: then `read` cannot take its place (T6).
    fn is_taken_for_good(&self, read: EventId, loc: u32, place: usize) -> bool {
        let next = self.graph.locations[loc as usize].co.get(place);
        let is_before = |next: EventId| {
            let counterpart = self.graph.counterpart(read).map(|other| &self.graph.node(other).porf);
            let mut before = std::iter::once(self.graph.porf_before(read)).chain(counterpart);
            before.any(|before| next.index <= before.get(next.thread))
        };
        next.is_some_and(|&next| self.graph.is_exclusive_write(next) && is_before(next))
    }

    /// Adds a write. It is the newest, for now.
    pub(crate) fn add_write(&mut self, thread: u32, loc: u32, order: Ordering, value: u64, at: Site) -> EventId {
        let kind = Kind::Write { order, exclusive: false };
        let write = self.graph.add(thread, kind, loc, value, EventId::INIT, at);
        self.graph.set_clocks(write);
        let floor = self.graph.floor(loc, &self.graph.node(write).hb, write);
        let may_stand = |&place: &usize| place >= floor && self.graph.may_follow(loc, place);
        if let Some(place) = self.guided_place(write).filter(may_stand) {
            self.graph.insert(write, place);
            return write;
        }
        let newest = self.graph.locations[loc as usize].co.len();
        for place in floor.max(self.first_in_order(write))..newest {
            if self.graph.may_follow(loc, place) {
                self.work.push(Work::Write { write, place });
            }
        }
        self.graph.insert(write, newest);
        self.push_revisits(write);
        write
    }

    /// Adds the write of `read`, which is the last event of its thread, if it is exclusive. False if the graph ends there: the
    /// write has no place (T6), or an axiom is broken.
    pub(crate) fn add_exclusive_write(&mut self, read: EventId) -> bool {
        let node = self.graph.node(read);
        let Kind::Read { operation, scalar, success: order, exclusive: true, .. } = node.kind else { return true };
        let (thread, loc, from, at) = (read.thread, node.loc, node.rf, node.at);
        let value = operation.next(scalar, node.value).expect("an exclusive read is followed by a write");
        let write = self.graph.add(thread, Kind::Write { order, exclusive: true }, loc, value, EventId::INIT, at);
        self.graph.set_clocks(write);
        let place = self.graph.place(from);
        if self.guided_place(write) == Some(place) {
            self.graph.insert(write, place);
            return true;
        }
        let has_place = self.graph.may_follow(loc, place);
        self.graph.insert(write, place);
        self.push_revisits(write);
        if !has_place {
            self.dropped += 1;
            return false;
        }
        let is_newest = place + 1 == self.graph.locations[loc as usize].co.len();
        is_newest || self.is_consistent(write)
    }

    /// Adds the exclusive write that is missing, if there is one; otherwise as
    /// [`add_exclusive_write`](Self::add_exclusive_write).
    fn add_missing_write(&mut self) -> bool {
        let half = (0..).zip(&self.graph.lines).find_map(|(thread, line)| {
            let index = line.nodes.len().checked_sub(1)?;
            let is_half = matches!(line.nodes[index].kind, Kind::Read { exclusive: true, .. });
            is_half.then_some(EventId { thread, index: index as u32 })
        });
        half.is_none_or(|read| self.add_exclusive_write(read))
    }

    /// Where the guide wants the new write `write` among those that are there.
    fn guided_place(&self, write: EventId) -> Option<usize> {
        let guide = self.guide.as_ref()?;
        let place = guide.place(write)?;
        let others = &self.graph.locations[self.graph.node(write).loc as usize].co;
        Some(others.iter().filter(|&&other| guide.place(other).is_some_and(|other| other < place)).count())
    }

    /// Why the guide is of no execution of the client, if so; `is_over`: the graph has all events of its own.
    pub(crate) fn misfit(&self, is_over: bool) -> Option<String> {
        let differs = self.guide.as_ref()?.misfit(&self.graph, is_over);
        let is_consistent = || self.graph.is_consistent(self.rules.memory, self.rules.axiom);
        differs.or_else(|| (!is_consistent()).then(|| "the memory model forbids it".to_owned()))
    }

    /// Finds the reads that the new write `write` revisits.
    fn push_revisits(&mut self, write: EventId) {
        let node = self.graph.node(write);
        let (loc, value) = (node.loc, node.value);
        let reads = |id: EventId, explorer: &Self| match explorer.graph.node(id) {
            Node { kind: Kind::Read { operation, .. }, loc: other, .. } if *other == loc => Some((id, *operation)),
            _ => None,
        };
        for (read, operation) in self.revisitable(write, reads) {
            self.work.push(Work::Back { write, read, spurious: false });
            if self.rules.spurious && is_weak(operation) && writes(operation, value) {
                self.work.push(Work::Back { write, read, spurious: true });
            }
        }
    }

    /// What the new event `by` can revisit (T2), of the events of which `fits` makes something, the newest first.
    pub(super) fn revisitable<R>(&self, by: EventId, fits: impl Fn(EventId, &Self) -> Option<R>) -> Vec<R> {
        let node = self.graph.node(by);
        let mut found = Vec::new();
        // None of what comes before it; so when all threads have ended there are none, and nothing is looked at.
        let beside = |(thread, line): (u32, &ThreadEvents)| line.nodes.len() as u32 - node.porf.get(thread);
        let mut left = (0..).zip(&self.graph.lines).map(beside).sum::<u32>();
        // From the newest on, for what is not maximal here is deleted by the revisit of any older read (T2).
        for stamp in (0..node.stamp).rev() {
            if left == 0 {
                break;
            }
            let id = self.graph.order[stamp as usize];
            if id.index < node.porf.get(id.thread) {
                continue;
            }
            left -= 1;
            if !self.is_maximal(id, &node.porf, by) {
                break;
            }
            found.extend(fits(id, self));
        }
        found
    }

    /// Whether `event` is what it would be, were it added last to what came before it and to `before`, without `by`: it
    /// is the newest write, or reads it, and nothing that came before reads it; it is the drop of a handle, and the last
    /// one does not come before (T2).
    pub(super) fn is_maximal(&self, event: EventId, before: &Clock, by: EventId) -> bool {
        let graph = &self.graph;
        let node = graph.node(event);
        let counts = |id: EventId| id != by && (graph.node(id).stamp <= node.stamp || id.index < before.get(id.thread));
        let from = match node.kind {
            Kind::Read { spurious: true, .. } => return false,
            Kind::Read { .. } => node.rf,
            Kind::Write { .. } => {
                let reads = &graph.locations[node.loc as usize].reads;
                if reads.iter().any(|&read| graph.node(read).rf == event && graph.node(read).stamp < node.stamp) {
                    return false;
                }
                event
            }
            // Added after the last one it would be that itself. A last one comes after the others, or one of those is
            // deleted, and not maximal.
            Kind::Release { last: false } => return node.last.is_init() || graph.node(node.last).stamp > node.stamp,
            // As a read, it was the first to be tried.
            Kind::Choose { .. } | Kind::Wake => return node.value == 0,
            // Fresh is what is left when nothing was freed, and always is.
            Kind::Allocate(_) => return node.rf.is_init(),
            Kind::Free(_) => return graph.reuse_of(event).is_none_or(|given| graph.node(given).stamp > node.stamp),
            _ => return true,
        };
        (from.is_init() || counts(from))
            && !graph.locations[node.loc as usize].co[graph.place(from)..].iter().any(|&later| counts(later))
    }

    // Going back.

    /// Takes the next choice that leaves a consistent graph. False when there is none left: everything was visited.
    pub(crate) fn advance(&mut self) -> bool {
        loop {
            let Some(work) = self.work.pop() else {
                let Some((graph, work)) = self.below.pop() else { return false };
                let graph = std::mem::replace(&mut self.graph, graph);
                self.used.push((graph, std::mem::replace(&mut self.work, work)));
                continue;
            };
            if self.take(work) == Some(true) {
                return true;
            }
        }
    }

    /// Takes a choice. Returns whether the graph is consistent; none if it has yet to be chosen where the write stands
    /// that revisits.
    pub(super) fn take(&mut self, work: Work) -> Option<bool> {
        match work {
            Work::Read { read, from, spurious } => {
                self.graph.cut(self.graph.node(read).stamp as usize + 1);
                self.assign(read, from, spurious);
                Some(self.is_consistent(read) && self.add_exclusive_write(read))
            }
            Work::Write { write, place } => {
                self.graph.cut(self.graph.node(write).stamp as usize + 1);
                self.graph.remove(write);
                self.graph.insert(write, place);
                Some(self.is_consistent(write) && self.add_missing_write())
            }
            Work::Back { write, read, .. } if matches!(self.graph.node(read).kind, Kind::Allocate(_)) => {
                self.graph.cut(self.graph.node(write).stamp as usize + 1);
                self.descend(read, self.graph.node(write).porf.clone());
                self.give(read, write);
                Some(true)
            }
            Work::Back { write, read, spurious } => {
                self.revisit(write, read, spurious);
                None
            }
            Work::Last { drop, added } => {
                self.drop_last(drop, added);
                Some(true)
            }
            Work::Reuse { allocation, free } => {
                self.graph.cut(self.graph.node(allocation).stamp as usize + 1);
                self.give(allocation, free);
                Some(true)
            }
            Work::Choose { choice, from, end } => {
                self.graph.cut(self.graph.node(choice).stamp as usize + 1);
                self.graph.node_mut(choice).value = from.into();
                if from + 1 < end {
                    // Below what this value leads to, so it is taken after all of that.
                    self.work.push(Work::Choose { choice, from: from + 1, end });
                }
                Some(true)
            }
        }
    }

    /// Leaves aside what is still to be tried, and returns what is of the current graph.
    pub(super) fn leave_work(&mut self) -> Vec<Work> {
        self.below.clear();
        std::mem::take(&mut self.work)
    }

    /// Whether nothing was visited yet and nothing chosen.
    pub(crate) fn is_whole(&self) -> bool {
        self.work.is_empty()
    }

    /// Takes out what would be tried last, as a search of its own. None if nothing is left to be tried.
    pub(crate) fn split(&mut self) -> Option<Self> {
        let lowest = self.below.iter_mut().find(|(_, work)| !work.is_empty());
        let (graph, work) = lowest.map_or((&self.graph, &mut self.work), |(graph, work)| (&*graph, work));
        if work.is_empty() {
            return None;
        }
        let item = work.remove(0);
        Some(Self { graph: cut_to(graph, item), work: vec![item], ..Self::new(self.rules, None) })
    }

    /// A search that begins with a choice of the current graph.
    pub(super) fn with_choice(&self, item: Work) -> Self {
        Self { graph: cut_to(&self.graph, item), work: vec![item], ..Self::new(self.rules, None) }
    }

    /// What sort of choice it is, and how many events stand before the one that it is about.
    pub(super) fn kind_of(&self, item: Work) -> (u32, u32) {
        let (sort, event) = match item {
            Work::Read { read, .. } => (0, read),
            Work::Write { write, .. } => (1, write),
            Work::Back { read, .. } => (2, read),
            Work::Last { drop, .. } => (3, drop),
            Work::Reuse { allocation, .. } => (5, allocation),
            Work::Choose { choice, .. } => (4, choice),
        };
        (sort, self.graph.node(event).stamp)
    }

    /// Goes to the graph in which `write` has revisited `read` (T2). Its work is to put the write in each place.
    fn revisit(&mut self, write: EventId, read: EventId, spurious: bool) {
        self.graph.cut(self.graph.node(write).stamp as usize + 1);
        self.descend(read, self.graph.node(write).porf.clone());
        let loc = self.graph.node(write).loc;
        self.graph.remove(write);
        self.assign(read, write, spurious);

        let floor = (self.graph.floor(loc, &self.graph.node(write).hb, write)).max(self.graph.floor(
            loc,
            &self.graph.node(read).hb,
            read,
        ));
        let floor = floor.max(self.first_in_order(write)).max(self.first_to_be_read(read, write));
        let newest = self.graph.locations[loc as usize].co.len();
        let places = if self.graph.is_exclusive_write(write) {
            let own = self.graph.node(EventId { index: write.index - 1, ..write }).rf;
            let own = self.graph.place(own);
            own..own + 1
        } else {
            floor..newest + 1
        };
        for place in places {
            if place >= floor && self.graph.may_follow(loc, place) {
                self.work.push(Work::Write { write, place });
            }
        }
        // It has to stand somewhere until its first place is taken.
        self.graph.insert(write, newest);
    }

    /// Goes to the graph in which `drop` is the last of its object's, and `added` is not (T7).
    fn drop_last(&mut self, drop: EventId, added: EventId) {
        self.graph.cut(self.graph.node(added).stamp as usize + 1);
        let others = self.graph.unmake_last(added);
        let keep = self.kept_for(drop, &others, added).expect("it was found that it can be the last");
        self.descend(drop, keep);
        let (graph, _) = self.below.last_mut().expect("it was just put there");
        graph.make_last(added, others.clone());
        let others = others.into_iter().filter(|&other| other != drop).chain([added]);
        self.graph.make_last(drop, others.collect());
    }

    /// Puts the graph and its work on the stack, and goes to the part of it that a revisit of `event` keeps (T2): the
    /// stamps up to it, and `before`.
    fn descend(&mut self, event: EventId, before: Clock) {
        let stamp = self.graph.node(event).stamp as usize;
        let mut keep = before;
        for id in &self.graph.order[..=stamp] {
            keep.raise(id.thread, id.index + 1);
        }
        let (mut kept, work) = self.used.pop().unwrap_or_default();
        self.graph.restrict_to(&keep, &mut kept);
        let whole = std::mem::replace(&mut self.graph, kept);
        self.below.push((whole, std::mem::replace(&mut self.work, work)));
    }
}
