//! RC11's condition on sequentially consistent events: they can be put in an order.
//!
//! O. Lahav, V. Vafeiadis, J. Kang, C.-K. Hur, D. Dreyer, *Repairing Sequential Consistency in C/C++11*, PLDI 2017,
//! section 3. With `F` the fences among the sequentially consistent events `SC`, no cycle in
//!
//! ```text
//! psc_base = ([SC] | [F];hb?) ; scb ; ([SC] | hb?;[F])        psc_F = [F] ; (hb | hb;eco;hb) ; [F]
//! scb      = po | po≠loc;hb;po≠loc | hb@loc | co | fr         eco   = (rf | co | fr)+
//! ```
//!
//! C++20 (`[atomics.order]`) has `rf | co | fr` in the place of `scb`, and besides orders events of `SC` by
//! `po | po;hb;po`. In both a read-modify-write is one event; in the graph it is two nodes, which are one point here, named by
//! the first. Markers of the client and drops of handles are no events of the model and no points. The start and the end of a thread, which
//! the model leaves open, count as events without a location, in `po` with those around them: so what comes before a start, or after a
//! join, is ordered with all of the thread by the middle part of `scb`.
//!
//! Only events of `SC` are nodes of the relation whose cycles are looked for; what leads from one to another is found from
//! clocks and places, not by composing relations over all events:
//!
//! - **S1** Between fences `psc_base` is part of `psc_F`: `scb` is part of `hb | eco`, and a fence has no location.
//! - **S2** In one location `eco` compares places. A write at place `p` comes before every other access at a later place and before
//!   the reads of `p`; a read of `p` before every other access at a later place. So of all accesses after a fence the first of each
//!   sort matters, and of those before a fence the last.
//! - **S3** From a fence `f` to an access `e`: what `f` happens before, or `f`, comes in po before `e`, or is an access to the
//!   location of `e`. The part `po≠loc;hb;po≠loc` of `scb` adds nothing, for its last step is po. Likewise from an access to a
//!   fence.

use super::ScAxiom;
use super::clock::Clock;
use super::graph::{EventId, Graph, Kind, NOWHERE};
use std::sync::atomic::Ordering;

/// Whether the sequentially consistent events of `graph` can be put in an order.
pub(super) fn is_ordered(graph: &Graph, axiom: ScAxiom) -> bool {
    let is_point = |id: &EventId| graph.node(*id).kind.order() == Ordering::SeqCst && !graph.is_exclusive_write(*id);
    let points: Vec<_> = graph.order.iter().copied().filter(is_point).collect();
    // A cycle has at least two points.
    points.len() < 2 || Points::of(graph, axiom, points).are_ordered()
}

/// Whether `psc` may lead on from `chosen` (C4): a later access to its location is an event of `SC`, or happens before a fence among
/// those. There is seldom one, and to see that is far less than to look for cycles.
pub(super) fn leads_on(graph: &Graph, chosen: EventId) -> bool {
    let node = graph.node(chosen);
    let location = &graph.locations[node.loc as usize];
    let place = if matches!(node.kind, Kind::Read { .. }) { graph.place(node.rf) } else { node.place as usize };
    if place == location.co.len() {
        return false;
    }
    let mut before_fences = Clock::default();
    for line in &graph.lines {
        // What happens before an earlier one happens before the last one.
        let last = line.nodes.iter().rfind(|node| matches!(node.kind, Kind::Fence(Ordering::SeqCst)));
        last.into_iter().for_each(|fence| before_fences.join(&fence.hb));
    }
    let is_met =
        |id: EventId| graph.node(id).kind.order() == Ordering::SeqCst || id.index < before_fences.get(id.thread);
    let is_later = |read: EventId| graph.place(graph.node(read).rf) > place;
    location.co[place..].iter().any(|&write| is_met(write))
        || location.reads.iter().any(|&read| is_later(read) && is_met(read))
}

/// The accesses to a location that a fence happens before, or that happen before it.
#[derive(Clone, Copy)]
struct Reach {
    /// The first places that are written and read after the fence.
    after: [u32; 2],
    /// The last places that are written and read before the fence, each plus one.
    before: [u32; 2],
}

const NOTHING: Reach = Reach { after: [u32::MAX; 2], before: [0; 2] };

struct Points<'a> {
    graph: &'a Graph,
    axiom: ScAxiom,
    points: Vec<EventId>,
    /// By point and location; empty for what is no fence.
    reach: Vec<Vec<Reach>>,
}

impl<'a> Points<'a> {
    fn of(graph: &'a Graph, axiom: ScAxiom, points: Vec<EventId>) -> Self {
        let is_fence = |id: &EventId| graph.node(*id).loc == NOWHERE;
        let reach = match points.iter().filter(|id| is_fence(id)).count() {
            0 | 1 => vec![Vec::new(); points.len()],
            _ => points.iter().map(|id| if is_fence(id) { reach(graph, *id) } else { Vec::new() }).collect(),
        };
        Self { graph, axiom, points, reach }
    }

    /// Whether there is no cycle: what nothing left comes before is taken away, until nothing is left.
    fn are_ordered(&self) -> bool {
        let count = self.points.len();
        let mut edges: Vec<Vec<usize>> = vec![Vec::new(); count];
        let mut incoming = vec![0; count];
        for (from, edges) in edges.iter_mut().enumerate() {
            edges.extend((0..count).filter(|&to| from != to && self.has(from, to)));
            edges.iter().for_each(|&to| incoming[to] += 1);
        }
        let mut first: Vec<_> = (0..count).filter(|&point| incoming[point] == 0).collect();
        let mut taken = 0;
        while let Some(point) = first.pop() {
            taken += 1;
            for &to in &edges[point] {
                incoming[to] -= 1;
                if incoming[to] == 0 {
                    first.push(to);
                }
            }
        }
        taken == count
    }

    /// Whether `psc` leads from one point to another.
    fn has(&self, from: usize, to: usize) -> bool {
        let ends = [self.points[from], self.points[to]];
        let [one, other] = ends;
        match ends.map(|id| self.graph.node(id).loc != NOWHERE) {
            [false, false] => self.is_before(one, other) || self.crosses(from, to),
            [false, true] => {
                self.is_strong(one, other)
                    || self.accesses(other).any(|a| a != other && self.is_before(one, a) && self.is_scb_at(a, other))
            }
            [true, false] => {
                self.is_strong(one, other)
                    || self.accesses(one).any(|b| b != one && self.is_before(b, other) && self.is_scb_at(one, b))
            }
            [true, true] => {
                self.is_strong(one, other)
                    || self.graph.node(one).loc == self.graph.node(other).loc && self.is_scb_at(one, other)
            }
        }
    }

    /// `hb`, without staying.
    fn is_before(&self, one: EventId, other: EventId) -> bool {
        one != other && one.index < self.graph.node(other).hb.get(one.thread)
    }

    /// `hb;eco;hb` between two fences (S2).
    fn crosses(&self, from: usize, to: usize) -> bool {
        self.reach[from].iter().zip(&self.reach[to]).any(|(from, to)| {
            let ([write, read], [last_write, last_read]) = (from.after, to.before);
            write != u32::MAX && (write + 1 < last_write || write < last_read)
                || read != u32::MAX && read + 1 < last_write.max(last_read)
        })
    }

    /// The part of `scb` within a location, between two points of one.
    fn is_scb_at(&self, one: EventId, other: EventId) -> bool {
        let ([read, written], [other_read, other_written]) = (self.places(one), self.places(other));
        let is_older = |place: Option<usize>| place.is_some() && other_written > place;
        is_older(written)
            || is_older(read)
            || match self.axiom {
                ScAxiom::Rc11 => self.is_before(one, other),
                ScAxiom::Cxx20 => written.is_some() && written == other_read,
            }
    }

    /// What of the order goes by program order: of RC11 `po | po≠loc;hb;po≠loc`, behind a fence also `hb;po`, before one `po;hb`;
    /// of C++20 `po | po;hb;po`.
    fn is_strong(&self, one: EventId, other: EventId) -> bool {
        if one.thread == other.thread && one.index < other.index {
            return true;
        }
        let [own, others] = [one, other].map(|id| self.graph.node(id).loc);
        let (next, last) = match self.axiom {
            ScAxiom::Cxx20 => (self.after(one, |_| true), self.until(other, |_| true)),
            ScAxiom::Rc11 if own == NOWHERE => (Some(one), self.until(other, |_| true)),
            ScAxiom::Rc11 if others == NOWHERE => (self.after(one, |_| true), Some(other)),
            ScAxiom::Rc11 => (self.after(one, |loc| loc != own), self.until(other, |loc| loc != others)),
        };
        matches!((next, last), (Some(next), Some(last)) if next == last || self.is_before(next, last))
    }

    /// The first point in po after `id` with such a location; behind all of them the end of the thread, which a join comes after.
    fn after(&self, id: EventId, is_meant: impl Fn(u32) -> bool) -> Option<EventId> {
        let count = self.graph.len(id.thread);
        let mut later = (id.index + 1..count).map(|index| EventId { index, ..id });
        let found = later.find(|&id| self.is_point(id) && is_meant(self.graph.node(id).loc));
        found.or(Some(EventId { index: count, ..id }))
    }

    /// The last point in po before `id` with such a location; before all of them what started the thread.
    fn until(&self, id: EventId, is_meant: impl Fn(u32) -> bool) -> Option<EventId> {
        let mut earlier = (0..id.index).rev().map(|index| EventId { index, ..id });
        let found = earlier.find(|&id| self.is_point(id) && is_meant(self.graph.node(id).loc));
        found.or(self.graph.lines[id.thread as usize].parent)
    }

    fn is_point(&self, id: EventId) -> bool {
        let silent = matches!(
            self.graph.node(id).kind,
            Kind::Mark(_) | Kind::Release { .. } | Kind::Choose { .. } | Kind::Wake | Kind::Allocate(_) | Kind::Free(_)
        );
        !silent && !self.graph.is_exclusive_write(id)
    }

    /// The points of the location of `id`.
    fn accesses(&self, id: EventId) -> impl Iterator<Item = EventId> + use<'_, 'a> {
        let location = &self.graph.locations[self.graph.node(id).loc as usize];
        let writes = location.co.iter().copied().filter(|&write| self.is_point(write));
        writes.chain(location.reads.iter().copied())
    }

    /// The place that an access reads, and the one that it writes.
    fn places(&self, id: EventId) -> [Option<usize>; 2] {
        let node = self.graph.node(id);
        match node.kind {
            Kind::Read { exclusive, .. } => {
                let own = EventId { index: id.index + 1, ..id };
                let writes = exclusive && own.index < self.graph.len(id.thread);
                [Some(self.graph.place(node.rf)), writes.then(|| self.graph.place(own))]
            }
            _ => [None, Some(self.graph.place(id))],
        }
    }
}

/// What the fence `fence` reaches of each location.
///
/// The two nodes of a read-modify-write count apart. That adds nothing: from its read to its own write there is po.
fn reach(graph: &Graph, fence: EventId) -> Vec<Reach> {
    let mut reach = vec![NOTHING; graph.locations.len()];
    let hb = &graph.node(fence).hb;
    for &id in &graph.order {
        let node = graph.node(id);
        let (sort, place) = match node.kind {
            Kind::Write { .. } => (0, node.place),
            Kind::Read { .. } => (1, graph.place(node.rf) as u32),
            _ => continue,
        };
        let reach = &mut reach[node.loc as usize];
        if id.index < hb.get(id.thread) {
            reach.before[sort] = reach.before[sort].max(place + 1);
        } else if fence.index < node.hb.get(fence.thread) {
            reach.after[sort] = reach.after[sort].min(place);
        }
    }
    reach
}
