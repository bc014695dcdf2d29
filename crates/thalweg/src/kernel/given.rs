//! What an activation of a parallel kernel has given, and keeps until it is handed on.

use super::{Cx, Held};
use crate::block::{Block, Chain};
use crate::edge::Edge;
use crate::edge::reorder::Split;
use std::fmt;
use thalweg_sync::sync::Arc;

/// What an activation's output is handed on as.
#[derive(Debug)]
pub(super) enum Turn {
    /// In order, under the ticket of its block.
    Ticket(u64),
    /// A part of a ticket.
    Part { ticket: u64, split: Arc<Split>, part: usize },
    /// As it comes.
    Free,
}

/// The line in which the results of a parallel kernel leave.
pub(super) trait ResultLine {
    /// Hands on what was `given`, if it is its turn and no more is to be kept beside what is on `edge`; where that is full it waits for room before. If it is not its turn, and no more
    /// is to be kept, it waits for that. Nothing of it happens where waiting could be in vain: then more is kept, or handed on without room.
    fn relieve(&self, cx: &Cx<'_>, edge: &Edge, given: &mut Given<'_>);
}

/// The results of an activation that were not handed on.
pub(crate) struct Given<'a> {
    pub(super) turn: Turn,
    pub(super) chain: Chain,
    /// It has not waited in vain.
    pub(super) waits: bool,
    line: &'a dyn ResultLine,
}

impl<'a> Given<'a> {
    pub(super) fn new(turn: Turn, line: &'a dyn ResultLine) -> Self {
        Self { turn, chain: Chain::default(), waits: true, line }
    }

    /// Adds a full block for `edge`, which is that of the output `port`. Before the second one it may wait.
    pub(super) fn push(&mut self, cx: &Cx<'_>, port: usize, edge: &Edge, block: Block) {
        if !self.chain.is_empty() {
            self.line.relieve(cx, edge, self);
        }
        self.chain.push(port, block);
    }
}

impl fmt::Debug for Given<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Given").field("turn", &self.turn).field("chain", &self.chain).finish_non_exhaustive()
    }
}

/// What lies at the sending ends of a parallel kernel: nobody has them, so whoever comes moves it.
pub(super) struct LineEnds<'a, F> {
    pub(super) edges: &'a [Arc<Edge>],
    pub(super) flush: F,
}

impl<F: FnMut()> Held for LineEnds<'_, F> {
    fn can_move(&self) -> bool {
        self.edges.iter().any(|edge| edge.can_flush())
    }

    fn move_on(&mut self) {
        (self.flush)();
    }

    fn lies_at(&self, port: usize) -> bool {
        self.edges[port].has_spill()
    }
}
