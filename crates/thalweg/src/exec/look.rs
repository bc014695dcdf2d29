//! Whether an activation of a kernel could do something now. Snapshots without side effects.

use super::{Core, Post, Seat};
use crate::kernel::{Why, signature};
use crate::topology::{KernelFacts, Kind};
use thalweg_sync::atomic::Ordering::*;
use thalweg_sync::time::now;

impl Core<'_> {
    /// Whether an activation of `kernel` could do something now.
    pub(crate) fn is_ready(&self, kernel: usize) -> bool {
        let seat = &self.seats[kernel];
        let taken = match &seat.post {
            Post::One(claim) => claim.is_held(),
            Post::Many(_) => false,
        };
        !seat.done.load(Relaxed) && !taken && self.look(kernel).is_none()
    }

    /// Why an activation of `kernel` would do nothing now, if that is certain.
    pub(crate) fn look(&self, kernel: usize) -> Option<Why> {
        let (seat, facts) = (&*self.seats[kernel], &self.topology.kernels[kernel]);
        let edge = |&edge: &usize| &*self.edges[edge];
        if !facts.outputs.is_empty() && facts.outputs.iter().map(edge).all(|edge| edge.is_hung_up()) {
            // Others are still at it, and whoever looks once they are done finishes the kernel.
            let others = facts.is_parallel() && seat.in_flight.load(Acquire) > 0;
            return others.then_some(Why::Waiting);
        }
        // What waits in a spill moves on as soon as its queue has room, whatever else is full, and whether or not a source has anything.
        if facts.outputs.iter().map(edge).any(|edge| edge.can_flush()) {
            return None;
        }
        if let Some(edge) = facts.outputs.iter().map(edge).find(|edge| edge.is_full()) {
            let at = seat.waits_at().filter(|&at| self.edges[at].is_full());
            return Some(Why::Full(at.unwrap_or(edge.plan.id)));
        }
        if seat.said_done.load(Relaxed) {
            return self.stuck(facts);
        }
        match facts.kind {
            Kind::Source { .. } => self.look_source(seat),
            Kind::Ported => self.look_ported(seat, facts),
            Kind::Sequential => self.look_sequential(seat, facts),
            Kind::Parallel => self.look_parallel(seat, facts),
        }
    }

    /// All that is left of a kernel that is over.
    fn stuck(&self, facts: &KernelFacts) -> Option<Why> {
        facts.outputs.iter().find(|&&edge| self.edges[edge].is_stuck()).map(|&edge| Why::Full(edge))
    }

    fn look_source(&self, seat: &Seat<'_>) -> Option<Why> {
        if self.control.is_draining() {
            return None;
        }
        if seat.outside.is_some_and(|outside| !outside.is_ready()) {
            return Some(Why::Pending);
        }
        let later = seat.pending.load(Relaxed) && now().as_nanos() < seat.ask_at.load(Relaxed);
        later.then_some(Why::Pending)
    }

    fn look_ported(&self, seat: &Seat<'_>, facts: &KernelFacts) -> Option<Why> {
        let seen = seat.seen.load(Relaxed);
        let generates = facts.inputs.is_empty();
        let unchanged = seen != 0 && seen == self.signature(facts);
        if !unchanged && !generates {
            return None;
        }
        if seat.pending.load(Relaxed) {
            let stops = generates && self.control.is_draining();
            let later = now().as_nanos() < seat.ask_at.load(Relaxed);
            return (later && !stops).then_some(Why::Pending);
        }
        if !unchanged {
            return None;
        }
        // The input that it waits at: one that has less than it asked for and may get more.
        let short = |&&edge: &&usize| {
            let edge = &self.edges[edge];
            !edge.is_closed() && edge.unused_messages() < edge.asked().max(1)
        };
        facts.inputs.iter().find(short).or(facts.inputs.first()).map(|&edge| Why::Empty(edge))
    }

    fn look_sequential(&self, seat: &Seat<'_>, facts: &KernelFacts) -> Option<Why> {
        let edge = &self.edges[facts.inputs[0]];
        if edge.can_take() {
            return seat.outside.is_some_and(|outside| !outside.is_ready()).then_some(Why::Pending);
        }
        if edge.is_closed() && !edge.has_input() {
            return self.stuck(facts);
        }
        Some(Why::Empty(edge.plan.id))
    }

    fn look_parallel(&self, seat: &Seat<'_>, facts: &KernelFacts) -> Option<Why> {
        let Post::Many(task) = &seat.post else { unreachable!("a parallel kernel has a shared task") };
        match task.can_take() {
            Some(true) => None,
            Some(false) => Some(Why::Waiting),
            None if task.input_is_over() => {
                // Others are still at it: the last of them finishes the kernel.
                if seat.in_flight.load(Acquire) > 0 { Some(Why::Waiting) } else { self.stuck(facts) }
            }
            None => Some(Why::Empty(task.short())),
        }
    }

    /// A number that changes whenever one of the kernel's edges does. Never zero.
    fn signature(&self, facts: &KernelFacts) -> u64 {
        signature(facts.inputs.iter().chain(&facts.outputs).map(|&edge| &*self.edges[edge]))
    }
}
