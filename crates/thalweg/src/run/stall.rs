//! A run that cannot go on: every worker asleep, kernels left, and nobody outside who could change that; or a part of it.

use crate::error::Wait;
use crate::run::{Bodies, Core, Why};
use thalweg_sync::atomic::Ordering::*;

impl Core {
    /// Whether somebody outside, or time, can make a kernel ready: one that waits for them, and not for room.
    pub(crate) fn waits_outside(&self, bodies: &dyn Bodies) -> bool {
        self.kernels.iter().enumerate().any(|(kernel, state)| {
            !state.done.load(Acquire)
                && (state.pending.load(Relaxed) || bodies.source_waits_outside(kernel))
                && !matches!(self.look(bodies, kernel), Some(Why::Full(_)))
        })
    }

    /// Ends cycles of which only what nobody will take is counted: what was sent to a kernel that had finished lies in its edge for ever. True if there
    /// was one. Nobody else is awake.
    fn end_forgotten(&self) -> bool {
        let rests = |edge: usize| self.edges[edge].is_hung_up() || !self.edges[edge].has_input();
        let mut ended = false;
        for (number, component) in self.components.iter().enumerate() {
            let mut inside = (0..self.edges.len()).filter(|&edge| self.edges[edge].plan.component == Some(number));
            let outside_is_over =
                component.from_outside.iter().all(|&edge| self.edges[edge].is_closed() && rests(edge));
            if outside_is_over && inside.all(rests) && component.census.end() {
                component.feedback.iter().for_each(|&edge| self.edges[edge].close());
                ended = true;
            }
        }
        ended
    }

    /// Called by a worker when all are asleep and it found nothing: lets full edges grow, if they may. If there are none, and nothing comes from
    /// `outside` either, it notes who waits for what, and ends the run. True if it did one of these.
    ///
    /// While somebody outside may come, only edges into a kernel with several inputs grow, which waits for another of them: what that one brings
    /// may have to come through here. Every other kernel that does not take from a full edge then waits for room of its own, or for time.
    ///
    /// Several workers may come to this at once. One after the other judges, and only while all are still asleep as in `night`: for the second one
    /// an edge that the first has let grow is not full any more, and the kernel that goes on by that has not run yet.
    pub(crate) fn stall(&self, bodies: &dyn Bodies, outside: bool, night: u64) -> bool {
        let mut waits = self.waits.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if self.control.bell.all_asleep() != Some(night) || self.is_over() {
            return false;
        }
        // Who may run some kernels only has looked at those; another one may lie down just now, and has not looked at its own yet.
        if self.scheme.is_restricted() && (0..self.kernels.len()).any(|kernel| self.is_ready(bodies, kernel)) {
            return false;
        }
        let mut grown = false;
        for edge in &self.edges {
            let may = !outside || self.kernels[edge.plan.to].inputs.len() > 1;
            grown |= may && edge.is_full() && edge.stretch();
        }
        if grown {
            self.control.bell.ring_all();
            return true;
        }
        if outside {
            return false;
        }
        if self.end_forgotten() {
            self.control.bell.ring_all();
            return true;
        }
        for (kernel, state) in self.kernels.iter().enumerate() {
            if state.done.load(Acquire) {
                continue;
            }
            let why = self.look(bodies, kernel).unwrap_or(Why::More);
            let full = state.outputs.iter().enumerate().find(|&(_, &edge)| why == Why::Full(edge));
            let holding = state.inputs.iter().enumerate().find(|&(_, &edge)| self.edges[edge].has_input());
            let (port, reason) = if let Some((port, &edge)) = full {
                let edge = &self.edges[edge];
                let consumer = &self.kernels[edge.plan.to].name;
                let reason = format!(
                    "full with {} messages that {consumer} does not take; give the edge a larger capacity, or declare it as feedback",
                    edge.messages()
                );
                (state.output_names[port].clone(), reason)
            } else if let Some((port, &edge)) = holding {
                let edge = &self.edges[edge];
                let starved = state.inputs.iter().position(|&other| !self.edges[other].has_input());
                let other = starved.map_or(String::new(), |other| {
                    let ended = if self.edges[state.inputs[other]].is_closed() { "has ended" } else { "is empty" };
                    format!("; its input {} {ended}", state.input_names[other])
                });
                let reason = format!(
                    "{} messages or more are there and the kernel takes none{other}; take them, or return Flow::Done",
                    edge.messages().max(1)
                );
                (state.input_names[port].clone(), reason)
            } else {
                let port = state.input_names.first().cloned().unwrap_or_else(|| "source".to_owned());
                (port, "waits for messages that cannot come any more".to_owned())
            };
            waits.push(Wait { kernel: state.name.clone(), place: state.place, port, reason });
        }
        self.end();
        true
    }
}
