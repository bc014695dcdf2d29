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
//! `po | po;hb;po`. In both a read-modify-write is one event; in the graph it is two nodes, which are one point here.
//! Markers of the client and drops of handles are no events of the model and no points.

use super::ScAxiom;
use super::graph::{EventId, Graph, Kind};
use std::sync::atomic::Ordering;

/// A relation between points, as a matrix of bits.
#[derive(Clone)]
struct Relation {
    /// Words per row.
    width: usize,
    bits: Vec<u64>,
}

impl Relation {
    fn empty(points: usize) -> Self {
        let width = points.div_ceil(64);
        Self { width, bits: vec![0; width * points] }
    }

    fn points(&self) -> usize {
        self.bits.len().checked_div(self.width).unwrap_or(0)
    }

    fn row(&self, from: usize) -> &[u64] {
        &self.bits[from * self.width..(from + 1) * self.width]
    }

    fn has(&self, from: usize, to: usize) -> bool {
        self.row(from)[to / 64] >> (to % 64) & 1 == 1
    }

    fn insert(&mut self, from: usize, to: usize) {
        self.bits[from * self.width + to / 64] |= 1 << (to % 64);
    }

    fn insert_row(&mut self, from: usize, row: &[u64]) {
        let own = &mut self.bits[from * self.width..(from + 1) * self.width];
        own.iter_mut().zip(row).for_each(|(own, theirs)| *own |= theirs);
    }

    fn unite(&mut self, other: &Self) {
        self.bits.iter_mut().zip(&other.bits).for_each(|(own, theirs)| *own |= theirs);
    }

    /// First `self`, then `other`.
    fn then(&self, other: &Self) -> Self {
        let mut result = Self::empty(self.points());
        for from in 0..self.points() {
            for middle in members(self.row(from)) {
                result.insert_row(from, other.row(middle));
            }
        }
        result
    }

    /// `self`, or nothing.
    fn or_stay(&self) -> Self {
        let mut result = self.clone();
        (0..self.points()).for_each(|point| result.insert(point, point));
        result
    }

    /// Only what begins at a point that `from` accepts and ends at one that `to` accepts.
    fn between(&self, from: impl Fn(usize) -> bool, to: impl Fn(usize) -> bool) -> Self {
        let mut result = Self::empty(self.points());
        for start in (0..self.points()).filter(|&start| from(start)) {
            members(self.row(start)).filter(|&end| to(end)).for_each(|end| result.insert(start, end));
        }
        result
    }

    fn closure(mut self) -> Self {
        for middle in 0..self.points() {
            let through = self.row(middle).to_vec();
            for from in 0..self.points() {
                if self.has(from, middle) {
                    self.insert_row(from, &through);
                }
            }
        }
        self
    }
}

fn members(row: &[u64]) -> impl Iterator<Item = usize> + '_ {
    row.iter().enumerate().flat_map(|(word, &bits)| {
        let mut left = bits;
        std::iter::from_fn(move || {
            let bit = (left != 0).then(|| left.trailing_zeros() as usize)?;
            left &= left - 1;
            Some(word * 64 + bit)
        })
    })
}

/// Whether the sequentially consistent events of `graph` can be put in an order.
pub(super) fn is_ordered(graph: &Graph, axiom: ScAxiom) -> bool {
    let sc = |id: &EventId| graph.node(*id).kind.order() == Ordering::SeqCst;
    // A cycle has at least two points, and a read-modify-write is one.
    if graph.order.iter().filter(|id| sc(id) && !graph.is_exclusive_write(**id)).count() < 2 {
        return true;
    }
    Points::of(graph).are_ordered(axiom)
}

struct Points<'a> {
    graph: &'a Graph,
    /// Each point's first node.
    ids: Vec<EventId>,
    po: Relation,
    rf: Relation,
    co: Relation,
    fr: Relation,
    hb: Relation,
}

impl<'a> Points<'a> {
    fn of(graph: &'a Graph) -> Self {
        let is_point = |id: &EventId| {
            let silent = matches!(graph.node(*id).kind, Kind::Mark(_) | Kind::Release { .. } | Kind::Choose { .. });
            !silent && !graph.is_exclusive_write(*id)
        };
        let ids: Vec<_> = graph.order.iter().copied().filter(is_point).collect();
        // By stamp: the point that a node belongs to.
        let mut point_at = vec![usize::MAX; graph.order.len()];
        for (point, &id) in ids.iter().enumerate() {
            point_at[graph.node(id).stamp as usize] = point;
        }
        let point = |id: EventId| {
            let first = if graph.is_exclusive_write(id) { EventId { index: id.index - 1, ..id } } else { id };
            point_at[graph.node(first).stamp as usize]
        };
        let mut points = Self {
            graph,
            po: Relation::empty(ids.len()),
            rf: Relation::empty(ids.len()),
            co: Relation::empty(ids.len()),
            fr: Relation::empty(ids.len()),
            hb: Relation::empty(ids.len()),
            ids,
        };
        for (to, &id) in points.ids.iter().enumerate() {
            let hb = &graph.node(id).hb;
            for (from, &other) in points.ids.iter().enumerate() {
                if from != to && other.index < hb.get(other.thread) {
                    points.hb.insert(from, to);
                }
                if other.thread == id.thread && other.index < id.index {
                    points.po.insert(from, to);
                }
            }
        }
        for location in &graph.locations {
            for (place, &write) in location.co.iter().enumerate() {
                location.co[place + 1..].iter().for_each(|&later| points.co.insert(point(write), point(later)));
            }
            for &read in &location.reads {
                let source = graph.node(read).rf;
                if !source.is_init() {
                    points.rf.insert(point(source), point(read));
                }
                for &later in &location.co[graph.place(source)..] {
                    // A read-modify-write does not come before its own write.
                    if point(later) != point(read) {
                        points.fr.insert(point(read), point(later));
                    }
                }
            }
        }
        points
    }

    fn are_ordered(&self, axiom: ScAxiom) -> bool {
        let node = |point: usize| self.graph.node(self.ids[point]);
        let is_sc = |point: usize| node(point).kind.order() == Ordering::SeqCst;
        let is_fence = |point: usize| is_sc(point) && matches!(node(point).kind, Kind::Fence(_));
        let loc = |point: usize| Some(node(point).loc).filter(|&loc| loc != super::graph::NOWHERE);
        let same_loc = |a: usize, b: usize| loc(a).is_some() && loc(a) == loc(b);

        let mut scb = self.co.clone();
        scb.unite(&self.fr);
        let mut eco = scb.clone();
        eco.unite(&self.rf);
        match axiom {
            ScAxiom::Cxx20 => scb.unite(&self.rf),
            ScAxiom::Rc11 => {
                scb.unite(&self.po);
                let mut elsewhere = Relation::empty(self.ids.len());
                for from in 0..self.ids.len() {
                    members(self.po.row(from))
                        .filter(|&to| !same_loc(from, to))
                        .for_each(|to| elsewhere.insert(from, to));
                    members(self.hb.row(from)).filter(|&to| same_loc(from, to)).for_each(|to| scb.insert(from, to));
                }
                scb.unite(&elsewhere.then(&self.hb).then(&elsewhere));
            }
        }
        let hb_or_stay = self.hb.or_stay();
        let stay = Relation::empty(self.ids.len()).or_stay();
        let mut left = hb_or_stay.between(is_fence, |_| true);
        left.unite(&stay.between(is_sc, is_sc));
        let mut right = hb_or_stay.between(|_| true, is_fence);
        right.unite(&stay.between(is_sc, is_sc));
        let mut psc = left.then(&scb).then(&right);
        if axiom == ScAxiom::Cxx20 {
            let mut strong = self.po.then(&self.hb).then(&self.po);
            strong.unite(&self.po);
            psc.unite(&strong.between(is_sc, is_sc));
        }
        let mut fences = self.hb.then(&eco.closure()).then(&self.hb);
        fences.unite(&self.hb);
        psc.unite(&fences.between(is_fence, is_fence));
        let psc = psc.closure();
        (0..self.ids.len()).all(|point| !psc.has(point, point))
    }
}
