//! Waiting: attempts are explored once per outcome.
//!
//! An attempt that failed, and only read, is not repeated: its thread stays blocked, and a later write to something that
//! it read revisits the read, as it would any other. So of a wait each execution has one attempt, the one that
//! succeeds, and there are finitely many. An attempt that wrote, or looked at the clock, is repeated for real.

use super::graph::{EventId, Graph, Kind, Node};
use super::report::{Rule, Wait};
use super::run::{Ending, Run};
use super::state::{State, Status};
use std::sync::atomic::Ordering;
use thalweg_sync::engine::{Operation, Scalar, Site};

/// How often a wait may be tried again in one execution though nothing that it read can have changed.
const RETRIES: u32 = 1000;

/// Of how many reads the body of a loop may be that is found to wait.
const READS: usize = 4;

/// What a thread did over and over, in vain.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Vain {
    /// The wait whose attempts failed and wrote, and how many in a row.
    wait: Option<(Site, u32)>,
    /// How many reads in a row, up to the event before `end`, read what the one before read, the second one before, ….
    same: [u32; READS],
    end: u32,
}

/// The read of who parks.
const AWAITS_TOKEN: Kind = Kind::read(Operation::Load, Scalar::Bool, [Ordering::Relaxed; 2]);

impl Run {
    /// The innermost attempt failed.
    pub(super) fn wait_for_change(&self, at: Site) -> Result<(), Ending> {
        let mut state = self.state();
        let Some(attempt) = state.thread_mut().attempts.pop() else { return Ok(()) };
        if attempt.clock {
            // The time that it waits for comes.
            let thread = state.thread_mut();
            thread.clock = thread.clock.saturating_add(1_000 << thread.retries.min(40));
            if let Some(outer) = thread.attempts.last_mut() {
                outer.clock = true;
            }
        }
        let thread = state.current;
        let mut events = (attempt.first..state.thread().done).map(|index| EventId { thread, index });
        let writes = |kind| matches!(kind, Kind::Read { exclusive: true, .. } | Kind::Write { exclusive: false, .. });
        let written = events.clone().map(|id| state.explorer.graph.node(id)).find(|node| writes(node.kind));
        if let Some(write) = written.map(|node| node.at)
            && !attempt.clock
        {
            let tries = state.thread_mut().vain.tries_again(at);
            if tries >= self.limits.in_vain() {
                let rule = Rule::WaitWrites { wait: state.wait_of(attempt.first, at), write, tries };
                drop(state);
                return self.fail(rule);
            }
        }
        let only_reads = events.clone().all(|id| {
            let kind = state.explorer.graph.node(id).kind;
            matches!(
                kind,
                Kind::Read { exclusive: false, .. }
                    | Kind::Fence(_)
                    | Kind::Release { last: false }
                    | Kind::Allocate(_)
            )
        });
        let reads = events.any(|id| matches!(state.explorer.graph.node(id).kind, Kind::Read { .. }));
        if attempt.clock || !only_reads || !reads {
            // Tried again it may succeed though nothing that it read changes.
            drop(state);
            return self.retries();
        }
        state.thread_mut().status = Status::Awaits { first: attempt.first, at };
        drop(state);
        self.switch()
    }

    /// The running thread gives up its turn. If all it did since it did so before is to read what it had just read, it is in a loop that
    /// waits: it goes on when a later write is there to be read.
    pub(super) fn yields(&self, at: Site) -> Result<(), Ending> {
        let mut state = self.state();
        let (thread, done) = (state.current, state.thread().done);
        let first = std::mem::replace(&mut state.thread_mut().yielded, done);
        let length = done - first;
        let Some(before) = first.checked_sub(length).filter(|_| length > 0 && state.thread().attempts.is_empty())
        else {
            return Ok(());
        };
        let nodes = &state.explorer.graph.lines[thread as usize].nodes;
        let only_reads =
            |node: &Node| matches!(node.kind, Kind::Read { exclusive: false, spurious: false, .. } | Kind::Fence(_));
        let same = (before..first).zip(first..done).all(|(one, other)| {
            let (one, other) = (&nodes[one as usize], &nodes[other as usize]);
            only_reads(other)
                && one.kind.is_like(&other.kind)
                && (one.loc, one.rf, one.at) == (other.loc, other.rf, other.at)
        });
        if !same {
            return Ok(());
        }
        state.thread_mut().status = Status::Awaits { first, at };
        drop(state);
        self.switch()
    }

    /// The running thread has read, by the event `read`. A loop that polls what does not change is found out.
    pub(super) fn polls(&self, read: EventId) -> Result<(), Ending> {
        let mut state = self.state();
        let mut vain = state.thread().vain;
        let (reads, round) = vain.reads_again(&state.explorer.graph, read);
        state.thread_mut().vain = vain;
        if reads < self.limits.in_vain() {
            return Ok(());
        }
        let graph = &state.explorer.graph;
        let mut last = (read.index + 1 - round..=read.index).map(|index| graph.node(EventId { index, ..read }).kind);
        if last.any(|kind| matches!(kind, Kind::Read { spurious: true, .. })) {
            // Unfair: no machine fails without a reason for ever. Where it fails less often the loop goes on.
            state.thread_mut().status = Status::Assumes;
            drop(state);
            return self.switch();
        }
        let at = graph.node(read).at;
        drop(state);
        self.fail(Rule::Polls { read, at, reads })
    }

    /// Awaits that the flag at `token` is set.
    pub(super) fn wait_for_token(&self, token: usize, at: Site) -> Result<(), Ending> {
        let recorded = self.recorded();
        let id = match recorded {
            Some(id) => {
                let from = self.state().explorer.graph.node(id).rf;
                self.reach(from)?;
                let mut state = self.state();
                let loc = state.explorer.graph.node(id).loc;
                if state.places.find(token) != Some(loc) || state.explorer.graph.node(id).at != at {
                    drop(state);
                    return self.diverges(id, &AWAITS_TOKEN, 0, at);
                }
                let value = state.explorer.graph.written(loc, from);
                state.explorer.graph.node_mut(id).value = value;
                state.thread_mut().done += 1;
                id
            }
            None => {
                self.reach_new_access()?;
                self.reach_guided_source()?;
                let mut state = self.state();
                let Some(loc) = state.places.find(token) else { return Ok(()) };
                let thread = state.current;
                let id = state.explorer.add_read(thread, loc, AWAITS_TOKEN, at);
                state.thread_mut().done += 1;
                id
            }
        };
        let mut state = self.state();
        if state.explorer.graph.node(id).value == 0 {
            state.thread_mut().status = Status::Awaits { first: id.index, at };
            drop(state);
            self.switch()?;
        }
        Ok(())
    }

    /// A destructor waits while its thread unwinds, or after. Nobody else goes on, but what it does itself may end it.
    pub(crate) fn wait_while_passive(&self) {
        let retries = {
            let mut state = self.state();
            state.thread_mut().retries += 1;
            state.thread().retries
        };
        if retries >= RETRIES {
            self.wait_for_ever();
        }
    }

    /// A destructor does something while its thread unwinds, or after: counted, for it may wait in a loop of its own.
    pub(crate) fn step_while_passive(&self) {
        let (steps, runs) = {
            let mut state = self.state();
            let thread = state.thread_mut();
            thread.passive_steps += 1;
            (thread.passive_steps, thread.yielder.is_some())
        };
        // Between executions no thread runs, and a hook may do as much as it likes.
        if runs && steps > self.limits.steps() {
            self.wait_for_ever();
        }
    }

    /// A destructor waits for what never comes: its thread stops here (R5, R6).
    fn wait_for_ever(&self) {
        let mut state = self.state();
        if state.thread().status != Status::Keeps || std::thread::panicking() {
            state.thread_mut().status = Status::Stuck;
            // Also if the execution is over: the OS thread counts the panic for good, so nothing can be run on it any more.
            let thread = state.current;
            state.break_rule(Rule::WaitsWhileUnwinding { thread });
        }
        drop(state);
        let _ = self.switch();
        unreachable!("a thread that waits for ever is never resumed");
    }

    /// Whether the running thread has tried too often what cannot change.
    pub(crate) fn retries(&self) -> Result<(), Ending> {
        let retries = {
            let mut state = self.state();
            state.thread_mut().retries += 1;
            state.thread().retries
        };
        if retries > RETRIES.max(self.limits.repeats.unwrap_or(0)) {
            let thread = self.state().current;
            self.fail(Rule::BlindWait { thread, tries: retries })?;
        }
        Ok(())
    }
}

impl Vain {
    /// An attempt of the wait `at` failed and wrote. How many in a row did.
    fn tries_again(&mut self, at: Site) -> u32 {
        let before = self.wait.filter(|&(wait, _)| wait == at).map_or(0, |(_, tries)| tries);
        self.wait = Some((at, before + 1));
        before + 1
    }

    /// The outermost attempt succeeded.
    pub(super) fn succeeds(&mut self) {
        self.wait = None;
    }

    /// How many reads in a row, up to `read`, read the same again: from the same writes, in a loop of a few reads; and how many
    /// those are. A failed exchange is not the same as one that expected another value.
    fn reads_again(&mut self, graph: &Graph, read: EventId) -> (u32, u32) {
        if self.end != read.index {
            self.same = [0; READS];
        }
        self.end = read.index + 1;
        let (nodes, index) = (&graph.lines[read.thread as usize].nodes[..], read.index as usize);
        let node = &nodes[index];
        for (count, distance) in self.same.iter_mut().zip(1..) {
            // In range if it is not below 0.
            let is_same = nodes.get(index.wrapping_sub(distance)).is_some_and(|before| {
                // What differs most often first, as every read comes here.
                (before.loc, before.rf) == (node.loc, node.rf)
                    && matches!(before.kind, Kind::Read { exclusive: false, .. })
                    && before.kind.is_like(&node.kind)
                    && before.at == node.at
            });
            *count = if is_same { *count + 1 } else { 0 };
        }
        self.same.into_iter().zip(1..).max_by_key(|&(count, _)| count).unwrap_or_default()
    }
}

impl State {
    /// The running thread's wait `at`, whose last attempt read from event `first` on.
    fn wait_of(&self, first: u32, at: Site) -> Wait {
        let (thread, graph) = (self.current, &self.explorer.graph);
        let events = (first..self.thread().done).map(|index| EventId { thread, index });
        let reads = events.filter(|&id| matches!(graph.node(id).kind, Kind::Read { .. }));
        Wait { thread, at, reads: reads.map(|read| (read, graph.node(read).value)).collect() }
    }

    /// Nobody can go on. If every wait has seen the newest values, nothing will change them: the threads would wait for
    /// ever. Otherwise somebody has not looked yet, and another execution shows what happens when it does.
    pub(super) fn waits_for_ever(&self) -> Option<Rule> {
        let mut waits = Vec::new();
        for &thread in &self.started {
            match self.of(thread).status {
                Status::Ended | Status::Joins(_) => {}
                Status::Awaits { first, at } => {
                    let reads = first..self.explorer.graph.len(thread);
                    let reads = reads.map(|index| EventId { thread, index });
                    if !reads.clone().all(|read| self.explorer.reads_newest(read)) {
                        return None;
                    }
                    let reads = reads.map(|read| (read, self.explorer.graph.node(read).value)).collect();
                    waits.push(Wait { thread, at, reads });
                }
                _ => return None,
            }
        }
        Some(Rule::WaitsForever { waits })
    }
}
