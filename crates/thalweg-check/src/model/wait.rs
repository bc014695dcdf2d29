//! Waiting: attempts are explored once per outcome.
//!
//! An attempt that failed, and only read, is not repeated: its thread stays blocked, and a later write to something that
//! it read revisits the read, as it would any other. So of a wait each execution has one attempt, the one that
//! succeeds, and there are finitely many. An attempt that wrote, or looked at the clock, is repeated for real.

use super::graph::{EventId, Kind};
use super::report::{Rule, Wait};
use super::run::{Ending, Run};
use super::state::{State, Status};
use std::sync::atomic::Ordering;
use thalweg_sync::engine::{Operation, Site};

/// How often a wait may be tried again in one execution though nothing that it read can have changed.
const RETRIES: u32 = 1000;

/// The read of who parks.
const AWAITS_TOKEN: Kind = Kind::Read {
    operation: Operation::Load,
    success: Ordering::Relaxed,
    failure: Ordering::Relaxed,
    exclusive: false,
    spurious: false,
};

impl Run {
    /// The innermost attempt failed.
    pub(super) fn wait_for_change(&self, at: Site) -> Result<(), Ending> {
        let mut state = self.state();
        let Some(attempt) = state.thread_mut().attempts.pop() else { return Ok(()) };
        if attempt.clock {
            // The time that it waits for comes.
            let thread = state.thread_mut();
            thread.clock += 1_000 << thread.retries.min(40);
            if let Some(outer) = thread.attempts.last_mut() {
                outer.clock = true;
            }
        }
        let thread = state.current;
        let mut events = (attempt.first..state.thread().done).map(|index| EventId { thread, index });
        let only_reads = events.clone().all(|id| {
            let kind = state.explorer.graph.node(id).kind;
            matches!(kind, Kind::Read { exclusive: false, .. } | Kind::Fence(_) | Kind::Release { last: false })
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
                    return self.diverges(id, &AWAITS_TOKEN, at);
                }
                let value = state.explorer.graph.written(loc, from);
                state.explorer.graph.node_mut(id).value = value;
                state.thread_mut().done += 1;
                id
            }
            None => {
                self.reach_new()?;
                self.reach_guided_source()?;
                let mut state = self.state();
                let Some(loc) = state.places.find(token) else { return Ok(()) };
                let thread = state.current;
                let relaxed = [Ordering::Relaxed; 2];
                let id = state.explorer.add_read(thread, loc, Operation::Load, relaxed, at);
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

    /// A destructor waits while its thread unwinds: nothing will come (R5).
    pub(crate) fn wait_while_passive(&self) {
        let mut state = self.state();
        state.thread_mut().retries += 1;
        if state.thread().retries < RETRIES {
            return;
        }
        state.thread_mut().status = Status::Stuck;
        // Also if the execution is over: the OS thread counts the panic for good, so nothing can be run on it any more.
        let thread = state.current;
        state.break_rule(Rule::WaitsWhileUnwinding { thread });
        drop(state);
        let _ = self.switch();
        unreachable!("a stuck thread is never resumed");
    }

    /// Whether the running thread has tried too often what cannot change.
    pub(crate) fn retries(&self) -> Result<(), Ending> {
        let retries = {
            let mut state = self.state();
            state.thread_mut().retries += 1;
            state.thread().retries
        };
        if retries > RETRIES {
            let rule = self.state().unbounded(self.limits.events);
            self.fail(rule)?;
        }
        Ok(())
    }
}

impl State {
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
