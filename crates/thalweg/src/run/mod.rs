//! A run: the state that its workers share, and the one primitive, trying to activate a kernel.
//!
//! # Invariants
//!
//! - **U1** The claim of a sequential kernel is held by the worker that runs it, from before it looks at its edges until after.
//! - **U2** A kernel is marked done once; its outputs are closed before, so whoever sees the mark can end its own kernels.
//! - **U3** What is inside a cycle is counted: [`component`].

pub(crate) mod activate;
pub(crate) mod bell;
pub(crate) mod component;
pub(crate) mod control;
mod cx;
pub(crate) mod elastic;
pub(crate) mod stall;
pub(crate) mod stats;
pub(crate) mod worker;

pub(crate) use cx::Cx;

use crate::block::Block;
use crate::edge::Edge;
use crate::error::{Cause, Failure, Payload};
use crate::kernel::reorder::Reorder;
use crate::pool::Store;
use crate::run::component::Component;
use crate::run::control::Control;
use crate::run::stats::Row;
use crate::scheme::Scheme;
use std::fmt;
use std::panic::Location;
use thalweg_sync::CachePadded;
use thalweg_sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering::*};
use thalweg_sync::sync::{Arc, Mutex};

/// Why an activation ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Why {
    /// Its share of blocks was done; there may be more.
    More,
    /// Nothing on this edge.
    Empty(usize),
    /// No room on this edge.
    Full(usize),
    /// Too many tickets are out.
    Waiting,
    /// A source has nothing now.
    Pending,
    /// The kernel is finished.
    Done,
}

/// What an activation did.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outcome {
    pub(crate) why: Why,
    pub(crate) blocks: u32,
    pub(crate) messages: u64,
}

/// What a run knows of a kernel. Claim, mark and wiring together, so that a change of worker moves few lines.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) name: String,
    pub(crate) place: &'static Location<'static>,
    pub(crate) inputs: Vec<usize>,
    pub(crate) outputs: Vec<usize>,
    pub(crate) input_names: Vec<String>,
    pub(crate) output_names: Vec<String>,
    pub(crate) parallel: bool,
    pub(crate) source: bool,
    pub(crate) ported: bool,
    /// Somebody outside the graph feeds it or empties it.
    pub(crate) outside: bool,
    pub(crate) hint: Option<f32>,
    pub(crate) group: Option<usize>,
    pub(crate) component: Option<usize>,
    pub(crate) reorder: Option<Reorder>,
    pub(crate) claimed: AtomicBool,
    pub(crate) done: AtomicBool,
    /// Activations of a parallel kernel that are not over.
    pub(crate) in_flight: AtomicUsize,
    /// The edges' signature at the last activation that found nothing to do; zero if there is none.
    pub(crate) seen: AtomicU64,
    /// A source, or a kernel with several ports, that has nothing now; when it may be asked again, and how long that was after it was asked last.
    pub(crate) pending: AtomicBool,
    pub(crate) ask_at: AtomicU64,
    pub(crate) ask_after: AtomicU64,
    /// Nanoseconds one block takes, as last measured.
    pub(crate) block_time: AtomicU64,
    /// It has said that it is done, and what it gave has not found room yet: it is not called again.
    pub(crate) said_done: AtomicBool,
    /// Messages that a source made of an iterator gives before it looks up.
    pub(crate) give_len: AtomicU32,
}

/// The kernels' code, to be run by number.
pub(crate) trait Bodies: Sync {
    /// Runs one activation.
    fn activate(&self, kernel: usize, cx: &Cx<'_>) -> Result<Outcome, crate::error::BoxError>;

    /// Whether a source could give something, or an outlet take something.
    fn source_has_input(&self, kernel: usize) -> bool;

    /// Whether a source waits for somebody outside.
    fn source_waits_outside(&self, kernel: usize) -> bool;
}

/// What the workers of a run share.
pub(crate) struct Core {
    pub(crate) kernels: Vec<CachePadded<State>>,
    pub(crate) edges: Vec<Edge>,
    pub(crate) components: Vec<Component>,
    pub(crate) store: Store,
    pub(crate) control: Arc<Control>,
    pub(crate) scheme: Scheme,
    pub(crate) rows: Vec<Row>,
    /// Workers look for a hardware thread of their own: they are not pinned, and there are enough.
    pub(crate) spread: bool,
    pub(crate) failures: Mutex<Vec<Failure>>,
    /// Panics of destructors, of messages that were dropped because the run is over.
    pub(crate) late: Mutex<Vec<Failure>>,
    pub(crate) waits: Mutex<Vec<crate::error::Wait>>,
    /// Kernels that are not done.
    pub(crate) live: AtomicUsize,
    /// The run is over, for whatever reason.
    pub(crate) ended: AtomicBool,
    /// Workers beyond this number sit on the bench.
    pub(crate) target: AtomicUsize,
    pub(crate) crew: Mutex<elastic::Crew>,
    pub(crate) bench: elastic::Bench,
}

impl Core {
    /// Whether an activation of `kernel` could do something now. A snapshot without side effects.
    pub(crate) fn is_ready(&self, bodies: &dyn Bodies, kernel: usize) -> bool {
        let state = &self.kernels[kernel];
        if state.done.load(Relaxed) || (!state.parallel && state.claimed.load(Relaxed)) {
            return false;
        }
        self.look(bodies, kernel).is_none()
    }

    /// Why an activation of `kernel` would do nothing now, if that is certain.
    pub(crate) fn look(&self, bodies: &dyn Bodies, kernel: usize) -> Option<Why> {
        let state = &self.kernels[kernel];
        let hung_up = !state.outputs.is_empty() && state.outputs.iter().all(|&edge| self.edges[edge].is_hung_up());
        if hung_up {
            // Others are still at it, and whoever looks once they are done finishes the kernel.
            let others = state.parallel && state.in_flight.load(Acquire) > 0;
            return others.then_some(Why::Waiting);
        }
        // What waits in a spill moves on as soon as its queue has room, whatever else is full, and whether or not a source has anything.
        if state.outputs.iter().any(|&edge| self.edges[edge].can_flush()) {
            return None;
        }
        if let Some(&edge) = state.outputs.iter().find(|&&edge| self.edges[edge].is_full()) {
            return Some(Why::Full(edge));
        }
        // All that is left of a kernel that is over.
        let stuck = || state.outputs.iter().copied().find(|&edge| self.edges[edge].is_stuck()).map(Why::Full);
        if state.said_done.load(Relaxed) {
            return stuck();
        }
        if state.source {
            if self.control.is_draining() || bodies.source_has_input(kernel) {
                let asked = state.pending.load(Relaxed);
                let later = asked && thalweg_sync::time::now().as_nanos() < state.ask_at.load(Relaxed);
                return if later && !self.control.is_draining() { Some(Why::Pending) } else { None };
            }
            return Some(Why::Pending);
        }
        if state.ported {
            let seen = state.seen.load(Relaxed);
            let unchanged = seen != 0 && seen == self.signature(kernel);
            let generates = state.inputs.is_empty();
            if !unchanged && !generates {
                return None;
            }
            if state.pending.load(Relaxed) {
                let stops = generates && self.control.is_draining();
                let later = thalweg_sync::time::now().as_nanos() < state.ask_at.load(Relaxed);
                return (later && !stops).then_some(Why::Pending);
            }
            return state.inputs.first().filter(|_| unchanged).map(|&edge| Why::Empty(edge));
        }
        let input = state.inputs[0];
        let edge = &self.edges[input];
        if edge.can_take() {
            if state.outside && !bodies.source_has_input(kernel) {
                return Some(Why::Pending);
            }
            let full = state.reorder.as_ref().is_some_and(|reorder| self.reorder_is_full(kernel, reorder));
            return if full { Some(Why::Waiting) } else { None };
        }
        if edge.is_closed() && !edge.has_input() {
            // Others are still at it: the last of them finishes the kernel.
            return if state.in_flight.load(Acquire) > 0 { Some(Why::Waiting) } else { stuck() };
        }
        Some(Why::Empty(input))
    }

    /// Whether no more tickets are to be drawn: the ring has no room, or what waits in it is as much as the edge behind it may hold.
    pub(crate) fn reorder_is_full(&self, kernel: usize, reorder: &Reorder) -> bool {
        let state = &self.kernels[kernel];
        let drawn = self.edges[state.inputs[0]].taken_blocks();
        let waiting = reorder.waiting();
        reorder.is_full(drawn, self.rows.len())
            || waiting > 0 && state.outputs.iter().any(|&edge| self.edges[edge].is_filled_by(waiting))
    }

    /// A number that changes whenever one of the kernel's edges does. Never zero.
    pub(crate) fn signature(&self, kernel: usize) -> u64 {
        let state = &self.kernels[kernel];
        let edges = state.inputs.iter().chain(&state.outputs);
        edges.fold(1_u64, |sum, &edge| sum.rotate_left(7).wrapping_add(self.edges[edge].signature())).max(1)
    }

    /// Marks `kernel` done: closes its outputs, gives up its inputs. Once (U2).
    pub(crate) fn finish(&self, kernel: usize) {
        let state = &self.kernels[kernel];
        if state.done.load(Acquire) || state.done.swap(true, AcqRel) {
            return;
        }
        for &edge in &state.inputs {
            self.edges[edge].hang_up();
        }
        state.outputs.iter().for_each(|&edge| self.close(edge));
        if self.live.fetch_sub(1, AcqRel) == 1 {
            self.end();
        } else if self.scheme.is_restricted() {
            // Whose input has ended may sleep, and nobody else may run it.
            self.control.bell.ring_all();
        }
    }

    fn close(&self, edge: usize) {
        self.edges[edge].close();
        if let Some(component) = self.kernels[self.edges[edge].plan.to].component {
            self.check_drained(component);
        }
    }

    /// `kernel` has said that it is done, and some of what it gave has no room yet. Its other outputs end: who has to make the room may wait for that.
    pub(crate) fn close_early(&self, kernel: usize) {
        for &edge in &self.kernels[kernel].outputs {
            if !self.edges[edge].has_spill() && !self.edges[edge].is_closed() {
                self.close(edge);
            }
        }
        if self.scheme.is_restricted() {
            self.control.bell.ring_all();
        }
    }

    /// Ends the run: every worker comes home.
    pub(crate) fn end(&self) {
        self.ended.store(true, Release);
        self.control.bell.ring_all();
        self.bench.call();
    }

    /// When `kernel` is to be asked again, if it said that it has nothing now and can only be asked.
    pub(crate) fn ask_at(&self, kernel: usize) -> Option<u64> {
        let state = &self.kernels[kernel];
        (state.pending.load(Relaxed) && !state.done.load(Relaxed)).then(|| state.ask_at.load(Relaxed))
    }

    pub(crate) fn is_over(&self) -> bool {
        self.ended.load(Acquire) || self.control.is_cancelled()
    }

    /// Ends a cycle in which nothing is left: its feedback edges close, and its kernels finish one after the other.
    fn check_drained(&self, component: usize) {
        let component = &self.components[component];
        let outside_is_over = || {
            component.from_outside.iter().all(|&edge| {
                let edge = &self.edges[edge];
                edge.is_closed() && !edge.has_input()
            })
        };
        if component.census.is_drained(outside_is_over) {
            component.feedback.iter().for_each(|&edge| self.edges[edge].close());
            self.control.bell.ring_all();
        }
    }

    /// Raises or lowers the count of what is inside a component (U3).
    pub(crate) fn count_in(&self, component: Option<usize>, by: i64) {
        let Some(index) = component else { return };
        if self.components[index].census.count(by) {
            self.check_drained(index);
        }
    }

    pub(crate) fn fail(&self, kernel: usize, cause: Cause) {
        let mut failures = self.failures.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let State { name, place, .. } = &*self.kernels[kernel];
        failures.push(Failure { kernel: name.clone(), place, cause });
        drop(failures);
        self.control.cancel();
        self.bench.call();
    }

    /// Notes what destructors of messages panicked with that `kernel` did not take. The run is over: they are told after the failures, since one
    /// of those may be why the messages were dropped.
    pub(crate) fn note(&self, kernel: usize, panics: Vec<Payload>) {
        if panics.is_empty() {
            return;
        }
        let State { name, place, .. } = &*self.kernels[kernel];
        let mut late = self.late.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let causes = panics.into_iter().flat_map(Cause::all);
        late.extend(causes.map(|cause| Failure { kernel: name.clone(), place, cause }));
    }

    /// Drops messages that `kernel` did not take, in a run that is over.
    pub(crate) fn drop_block(&self, kernel: usize, mut block: Block) {
        let mut panics = Vec::new();
        block.clear_noting(&mut panics);
        self.note(kernel, panics);
    }

    /// Drops messages that `kernel` gave and that did not get to their edge, in a run that is over.
    pub(crate) fn drop_given(&self, kernel: usize, block: Block) {
        let edge = self.kernels[kernel].outputs[block.port()];
        self.drop_block(self.edges[edge].plan.to, block);
    }

    /// Drops all messages that are left, once every worker has come home.
    pub(crate) fn drop_messages(&mut self) {
        for edge in 0..self.edges.len() {
            let mut panics = Vec::new();
            self.edges[edge].clear(&mut panics);
            self.note(self.edges[edge].plan.to, panics);
        }
        for kernel in 0..self.kernels.len() {
            if let Some(mut reorder) = self.kernels[kernel].reorder.take() {
                reorder.take_rest(|block| self.drop_given(kernel, block));
            }
        }
    }
}

impl fmt::Debug for Core {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Core").field("kernels", &self.kernels.len()).field("edges", &self.edges.len()).finish()
    }
}
