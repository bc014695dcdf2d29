//! The taking ends of an edge: one for a kernel that runs on one worker at a time, one for many workers at once.

use super::Edge;
use super::storage::{Rx, SharedRx};
use crate::block::Block;
use crate::error::Payload;
use std::fmt;
use thalweg_sync::atomic::{Ordering::*, fence};
use thalweg_sync::hint::Access;
use thalweg_sync::sync::Arc;

/// The taking end of an edge, owned by the sequential kernel that takes.
pub(crate) struct Receiver {
    edge: Arc<Edge>,
    rx: Rx,
    /// A block of which some messages were taken.
    current: Option<Block>,
}

impl Receiver {
    pub(super) fn new(edge: Arc<Edge>, rx: Rx) -> Self {
        Self { edge, rx, current: None }
    }

    /// What both ends know of the edge.
    #[inline(always)]
    pub(crate) fn edge(&self) -> &Arc<Edge> {
        &self.edge
    }

    /// Takes the next block, or what was left of the last one.
    #[inline]
    pub(crate) fn take(&mut self) -> Option<Block> {
        if let Some(block) = self.current.take() {
            self.edge.held.store(0, Relaxed);
            return Some(block);
        }
        let block = self.rx.try_pop()?;
        block.touch(block.first()..block.end(), self.edge.plan.message_bytes, Access::Read);
        self.edge.taken.count(self.edge.messages_of(&block), self.edge.plan.newest);
        Some(block)
    }

    /// Puts back a block that was taken in part: with `rest`, something of its last message too, which counts as one.
    pub(crate) fn put_back(&mut self, block: Block, rest: bool) {
        self.edge.held.store(self.edge.messages_of(&block) as usize + usize::from(rest), Relaxed);
        self.current = Some(block);
    }

    /// Says how many messages were taken and wait to be used, in the hands of who has this end.
    pub(crate) fn note_held(&self, messages: usize) {
        self.edge.held.store(messages, Relaxed);
    }

    /// Drops all messages at this end, and notes the panics of their destructors.
    pub(crate) fn clear(&mut self, panics: &mut Vec<Payload>) {
        while let Some(mut block) = self.take() {
            block.clear_noting(panics);
        }
    }
}

impl fmt::Debug for Receiver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Receiver").field("edge", &self.edge).finish_non_exhaustive()
    }
}

/// The taking end of an edge into a parallel kernel.
pub(crate) struct SharedReceiver {
    edge: Arc<Edge>,
    rx: SharedRx,
}

impl SharedReceiver {
    pub(super) fn new(edge: Arc<Edge>, rx: SharedRx) -> Self {
        Self { edge, rx }
    }

    /// What both ends know of the edge.
    #[inline(always)]
    pub(crate) fn edge(&self) -> &Arc<Edge> {
        &self.edge
    }

    /// Takes the next block and its ticket, its place in the order of the edge.
    pub(crate) fn take(&self) -> Option<(u64, Block)> {
        let (ticket, block) = self.rx.try_pop()?;
        // (9) Acquire, pairs with the release of the pops before this one (bbq.18, bbq.10): see (7) of the reorder ring.
        fence(Acquire);
        block.touch(block.first()..block.end(), self.edge.plan.message_bytes, Access::Read);
        self.edge.taken.count(self.edge.messages_of(&block), true);
        Some((ticket, block))
    }

    /// Drops all messages at this end, and notes the panics of their destructors.
    pub(crate) fn clear(&mut self, panics: &mut Vec<Payload>) {
        while let Some((_, mut block)) = self.take() {
            block.clear_noting(panics);
        }
    }
}

impl fmt::Debug for SharedReceiver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedReceiver").field("edge", &self.edge).finish_non_exhaustive()
    }
}
