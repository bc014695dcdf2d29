//! A run that cannot go on: every worker asleep, kernels left, and nobody outside who could change that; or a part of it.

use super::Core;
use crate::edge::Edge;
use crate::error::Wait;
use crate::kernel::Why;
use crate::topology::KernelFacts;
use thalweg_sync::atomic::Ordering::*;

impl Core<'_> {
    /// Whether somebody outside, or time, can make a kernel ready: one that waits for them, and not for room.
    pub(crate) fn waits_outside(&self) -> bool {
        self.seats.iter().enumerate().any(|(kernel, seat)| {
            // One that is busy waits midway: for room.
            !seat.done.load(Acquire)
                && !seat.is_busy()
                && match self.look(kernel) {
                    // Nobody inside is awake, and none of them found it so before: somebody outside has just made it ready, and is about to ring.
                    None => true,
                    Some(Why::Full(_)) => false,
                    // Where there is room outside nobody waits for more.
                    Some(Why::Pending) => true,
                    _ => {
                        let is_fed = self.topology.kernels[kernel].is_source() && seat.outside.is_some();
                        seat.pending.load(Relaxed) || is_fed
                    }
                }
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
    /// an edge that the first has let grow is not full any more, and the kernel that goes on by that has not run yet. `note` gets each edge that was to
    /// grow, and gives whether it has.
    pub(crate) fn stall(&self, outside: bool, night: u64, note: impl Fn(usize, Option<bool>) -> bool) -> bool {
        let mut waits = self.waits.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if self.control.bell.all_asleep() != Some(night) || self.is_over() {
            return false;
        }
        // Who may run some kernels only has looked at those; another one may lie down just now, and has not looked at its own yet.
        if self.scheme.is_restricted() && (0..self.seats.len()).any(|kernel| self.is_ready(kernel)) {
            return false;
        }
        let mut grown = false;
        for edge in &self.edges {
            let may = !outside || self.topology.kernels[edge.plan.to].inputs.len() > 1;
            grown |= may && edge.is_full() && note(edge.plan.id, edge.stretch());
        }
        if grown {
            self.control.bell.ring_all();
            return true;
        }
        if self.wake_midway(outside) {
            return true;
        }
        // One that waited midway may have found room and got up since, which no look at the kernels tells: what it holds is busy.
        if self.control.bell.all_asleep() != Some(night) {
            return false;
        }
        if outside {
            return false;
        }
        if self.end_forgotten() {
            self.control.bell.ring_all();
            return true;
        }
        for (kernel, state) in self.topology.kernels.iter().enumerate() {
            if self.seats[kernel].done.load(Acquire) {
                continue;
            }
            let why = self.look(kernel).unwrap_or(Why::More);
            let full = state.outputs.iter().enumerate().find(|&(_, &edge)| why == Why::Full(edge));
            let (port, reason) = if let Some((port, &edge)) = full {
                let edge = &self.edges[edge];
                let consumer = &self.topology.kernels[edge.plan.to].name;
                let reason = format!(
                    "full with {} messages that {consumer} does not take; give the edge a larger capacity, or declare it as feedback",
                    edge.messages()
                );
                (state.output_names[port].clone(), reason)
            } else {
                self.starvation(state)
            };
            waits.push(Wait { kernel: state.name.clone(), place: state.place, port, reason });
        }
        self.end();
        true
    }

    /// The input at which a kernel waits that could give, and for what.
    ///
    /// It is the one that has some messages, but not as many as the kernel asked for; else one of which it takes none.
    fn starvation(&self, state: &KernelFacts) -> (String, String) {
        let inputs = || state.inputs.iter().map(|&edge| &*self.edges[edge]).enumerate();
        if let Some((port, edge)) =
            inputs().find(|&(port, edge)| state.rates.get(port).is_some_and(|&(peek, _)| edge.unused_messages() < peek))
        {
            let others = inputs().filter(|&(other, _)| other != port);
            let others = others.map(|(other, edge)| {
                format!("; its input {} has {}", state.input_names[other], edge.unused_messages())
            });
            let reason = format!(
                "{} messages are there, and a firing takes {}{}; let the stream begin with what is lacking, or end",
                edge.unused_messages(),
                state.rates[port].0,
                others.collect::<String>()
            );
            return (state.input_names[port].clone(), reason);
        }
        let falls_short = |edge: &Edge| edge.unused_messages() < edge.asked();
        let some = |(_, edge): &(usize, &Edge)| edge.unused_messages() > 0;
        let short = inputs().filter(some).find(|(_, edge)| falls_short(edge));
        let Some((port, edge)) = short.or_else(|| inputs().find(some)) else {
            let (port, asked) =
                inputs().map(|(port, edge)| (port, edge.asked())).find(|&(_, asked)| asked > 1).unwrap_or_default();
            let amount = if asked > 1 { format!("{asked} ") } else { String::new() };
            let port = state.input_names.get(port).cloned().unwrap_or_else(|| "source".to_owned());
            return (port, format!("waits for {amount}messages that cannot come any more"));
        };
        let mut reason = format!("{} messages are there", edge.unused_messages());
        match (falls_short(edge), edge.is_closed()) {
            (false, _) => reason.push_str(" and the kernel takes none"),
            (true, true) => reason.push_str(&format!(", it asks for {}, and no more come", edge.asked())),
            (true, false) => reason.push_str(&format!(", and it asks for {}", edge.asked())),
        }
        for (other, edge) in inputs().filter(|&(other, _)| other != port) {
            let amount = match edge.unused_messages() {
                0 if edge.is_closed() => "has ended".to_owned(),
                0 => "is empty".to_owned(),
                messages if edge.is_full() => format!("is full with {messages}"),
                messages => format!("has {messages}"),
            };
            reason.push_str(&format!("; its input {} {amount}", state.input_names[other]));
            if edge.asked() > 1 && falls_short(edge) {
                reason.push_str(&format!(", where it asks for {}", edge.asked()));
            }
        }
        reason.push_str("; take them, or return Flow::Done");
        (state.input_names[port].clone(), reason)
    }
}
