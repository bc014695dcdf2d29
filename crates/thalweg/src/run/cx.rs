//! What a kernel's loop sees of the run: its edges, its worker, and what the scheme does when an edge is full.

use crate::block::{Block, Chain};
use crate::edge::Edge;
use crate::run::stats::KernelStats;
use crate::run::worker::Worker;
use crate::run::{Outcome, State, Why};
use thalweg_sync::atomic::Ordering::*;

/// Helps within helps, and the bytes of a message times their number; deeper ones could overflow the stack, on which a help has several copies of a
/// message if nothing is optimised.
const MOST_HELPS: u32 = 32;
const MOST_HELP_BYTES: usize = 64 << 10;
/// A block that takes longer than this, in nanoseconds, is worth waking another worker for, and worth handing on half full.
const WORTH_WAKING: u64 = 20_000;
/// A block that takes longer than this is not finished once the run is cancelled.
const TOO_LONG: u64 = 1_000_000;

/// The context of one activation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cx<'a> {
    pub(crate) worker: &'a Worker<'a>,
    pub(crate) kernel: usize,
}

impl<'a> Cx<'a> {
    fn state(&self) -> &'a State {
        &self.worker.core.kernels[self.kernel]
    }

    pub(crate) fn stats(&self) -> &'a KernelStats {
        &self.worker.row.kernels[self.kernel]
    }

    pub(crate) fn edge(&self, edge: usize) -> &'a Edge {
        &self.worker.core.edges[edge]
    }

    pub(crate) fn inputs(&self) -> &'a [usize] {
        &self.state().inputs
    }

    pub(crate) fn outputs(&self) -> &'a [usize] {
        &self.state().outputs
    }

    /// Blocks an activation may take.
    pub(crate) fn quantum(&self) -> u32 {
        self.worker.core.scheme.quantum()
    }

    /// Messages a source may give before it looks up.
    pub(crate) fn give_len(&self) -> u32 {
        self.state().give_len.load(Relaxed)
    }

    /// A source that is slow, or of which nothing is known yet, gives little at a time and hands it on at once.
    pub(crate) fn gives_slowly(&self) -> bool {
        let time = self.state().block_time.load(Relaxed);
        time == 0 || time > WORTH_WAKING * 2
    }

    /// A block of this kernel takes long, or nothing is known of it: between two messages it looks whether the run was cancelled.
    pub(crate) fn takes_long(&self) -> bool {
        let time = self.state().block_time.load(Relaxed);
        time == 0 || time > TOO_LONG
    }

    /// The kernel has said that it is done; only what it gave is still to be handed on.
    pub(crate) fn has_said_done(&self) -> bool {
        self.state().said_done.load(Relaxed)
    }

    /// Blocks an activation of a parallel kernel may take: its messages are worth spreading, so fewer.
    pub(crate) fn parallel_quantum(&self) -> u32 {
        1
    }

    /// Whether the run is cancelled; cancels it when the time for draining is over, for the workers may all be busy then.
    pub(crate) fn is_cancelled(&self) -> bool {
        let control = &self.worker.core.control;
        if !control.is_draining() {
            return false;
        }
        control.time_left();
        control.is_cancelled()
    }

    pub(crate) fn is_draining(&self) -> bool {
        self.worker.core.control.is_draining()
    }

    /// The kernel is a source that somebody outside the graph feeds.
    pub(crate) fn waits_outside(&self) -> bool {
        self.worker.bodies.source_waits_outside(self.kernel)
    }

    pub(crate) fn open_block<T>(&self, messages: usize) -> Block {
        self.worker.pool.open::<T>(&self.worker.core.store, messages)
    }

    pub(crate) fn close_block(&self, block: Block) {
        self.worker.pool.close(&self.worker.core.store, block);
    }

    /// An output edge that is full.
    pub(crate) fn full_output(&self) -> Option<usize> {
        self.outputs().iter().copied().find(|&edge| self.edge(edge).is_full())
    }

    /// An output edge that is full, and that the scheme's actions did not make room on.
    pub(crate) fn blocked_output(&self) -> Option<usize> {
        self.outputs().iter().copied().find(|&edge| self.edge(edge).is_full() && !self.make_room(edge))
    }

    /// Nobody takes from any output any more.
    pub(crate) fn outputs_hung_up(&self) -> bool {
        !self.outputs().is_empty() && self.outputs().iter().all(|&edge| self.edge(edge).is_hung_up())
    }

    pub(crate) fn signature(&self) -> u64 {
        self.worker.core.signature(self.kernel)
    }

    /// This kernel is not worth another activation until its edges change from `signature`; or it is at any time.
    pub(crate) fn wait_for_change(&self, signature: Option<u64>) {
        self.state().seen.store(signature.unwrap_or(0), Relaxed);
    }

    /// The actions on a full edge: grow it, or run its consumer here. True if there is room now.
    pub(crate) fn make_room(&self, edge: usize) -> bool {
        let worker = self.worker;
        let on_full = worker.core.scheme.on_full();
        if on_full.grow && self.edge(edge).grow() {
            return true;
        }
        let depth = worker.depth.get();
        let bytes = self.edge(edge).plan.message_bytes.saturating_mul(depth as usize);
        if on_full.help && depth < MOST_HELPS && bytes <= MOST_HELP_BYTES {
            let consumer = self.edge(edge).plan.to;
            if worker.help(consumer) {
                return !self.edge(edge).is_full();
            }
        }
        false
    }

    /// Sends a block, and wakes a worker if there is more than this one will see to.
    ///
    /// # Safety
    ///
    /// E1, unless the producer is unordered.
    pub(crate) unsafe fn hand_on(&self, edge_id: usize, block: Block) {
        let edge = self.edge(edge_id);
        // U3: the block counts before anyone can take it.
        self.worker.core.count_in(edge.plan.component, 1);
        // SAFETY: E1, by the caller.
        if unsafe { edge.send(block) } == 0 {
            self.worker.core.count_in(edge.plan.component, -1);
            return;
        }
        self.worker.emitted.set(Some(edge_id));
        let bell = &self.worker.core.control.bell;
        if bell.has_sleepers() {
            // The first block is this worker's own to carry on; waking somebody for it would only move it to another core.
            let slow = self.worker.core.kernels[edge.plan.to].block_time.load(Relaxed) > WORTH_WAKING
                || self.state().block_time.load(Relaxed) > WORTH_WAKING;
            if (slow || edge.backlog() > 1) && bell.ring() {
                self.worker.make_way();
            }
        }
    }

    /// A block was taken: there is room for another. Wakes a worker that could fill it, if this kernel will be busy for a while.
    pub(crate) fn note_room(&self) {
        let slow = self.state().block_time.load(Relaxed) > WORTH_WAKING;
        if slow && self.worker.core.control.bell.ring() {
            self.worker.make_way();
        }
    }

    /// A block of `edge` was used up.
    pub(crate) fn settle(&self, edge: usize) {
        self.worker.core.count_in(self.edge(edge).plan.component, -1);
    }

    /// Moves what waits in the spills of the outputs, for a sequential kernel.
    pub(crate) fn flush_outputs(&self) {
        for &edge in self.outputs() {
            // SAFETY: E1: only the claim holder of a sequential kernel calls this.
            if unsafe { self.edge(edge).flush() } {
                self.worker.emitted.set(Some(edge));
            }
        }
    }

    /// Completes a ticket of a parallel kernel.
    pub(crate) fn complete(&self, ticket: u64, mut chain: Chain) {
        match &self.state().reorder {
            Some(reorder) => reorder.complete(ticket, chain, |block| self.deliver(block)),
            None => {
                while let Some(block) = chain.pop() {
                    self.deliver(block);
                }
            }
        }
    }

    fn deliver(&self, block: Block) {
        let edge = self.outputs()[block.port()];
        // SAFETY: E1: called by the drain flag's holder, or by an unordered producer.
        unsafe { self.hand_on(edge, block) };
    }

    /// Hands on what is ready at the front of the reorder ring, and what waits in the spills, for a parallel kernel.
    pub(crate) fn drain_reorder(&self) {
        if !self.outputs().iter().any(|&edge| self.edge(edge).has_spill()) {
            return;
        }
        match &self.state().reorder {
            Some(reorder) => reorder.drain(|| self.flush_outputs(), |block| self.deliver(block)),
            None => self.flush_outputs(),
        }
    }

    pub(crate) fn reorder_is_full(&self) -> bool {
        let reorder = self.state().reorder.as_ref();
        reorder.is_some_and(|reorder| self.worker.core.reorder_is_full(self.kernel, reorder))
    }

    /// The end of an activation of a sequential kernel: partial blocks are handed on, unless the kernel is fast and certain to run again at
    /// once; and then too if they have waited through a few activations, since what it gives may be rare.
    pub(crate) fn end_activation(&self, why: Why, blocks: u32, messages: u64) -> Outcome {
        let state = self.state();
        let goes_on = why == Why::More
            // An inlet may have given all there is without a look at whether there is more.
            && (state.source && !self.gives_slowly() && self.worker.bodies.source_has_input(self.kernel)
                || (1..=WORTH_WAKING).contains(&state.block_time.load(Relaxed))
                    && self.inputs().iter().any(|&edge| self.edge(edge).has_input()))
            && !self.is_draining();
        // All or none: a block that goes may fill its edge, and a kernel is not called to hand on the others while an output is full.
        let stay = goes_on
            && self.full_output().is_none()
            && self.outputs().iter().fold(true, |stay, &edge| {
                // SAFETY: E1: this worker holds the kernel's claim.
                let may = unsafe { self.edge(edge).may_stay_open() };
                may && stay
            });
        for &edge in self.outputs().iter().filter(|_| !stay) {
            // SAFETY: as above.
            let open = unsafe { self.edge(edge).take_open() };
            match open {
                // SAFETY: as above.
                Some(block) if block.unread() > 0 => unsafe { self.hand_on(edge, block) },
                Some(block) => self.close_block(block),
                None => {}
            }
        }
        let mut why = why;
        if why == Why::Done && !self.is_cancelled() {
            self.flush_outputs();
            let blocked = |&&edge: &&usize| self.edge(edge).has_spill() && !self.edge(edge).is_hung_up();
            if let Some(&edge) = self.outputs().iter().find(blocked) {
                state.said_done.store(true, Relaxed);
                why = Why::Full(edge);
            }
        }
        Outcome { why, blocks, messages }
    }
}
