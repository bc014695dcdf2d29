//! The sending end of an edge.
//!
//! **E3** Blocks enter the storage in the order in which they were sent: once something is in the spill, all goes through it.

use super::storage::Tx;
use super::{Edge, MOST_KEPT};
use crate::block::pool::Pool;
use crate::block::windows::Assemble;
use crate::block::{Block, Stamps};
use crate::error::Payload;
use std::collections::VecDeque;
use std::fmt;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use thalweg_sync::atomic::Ordering::*;
use thalweg_sync::sync::Arc;

/// The sending end of an edge, owned by the kernel that gives.
pub(crate) struct Sender<'r> {
    edge: Arc<Edge>,
    tx: Tx,
    /// Blocks that found the storage full.
    spill: VecDeque<Block>,
    /// A block that is not full yet, kept from one activation to the next.
    open: Option<Block>,
    /// How many blocks had been sent when it was first kept with something in it, and at the ends of how many activations it was.
    kept: (u64, u32),
    /// Blocks that were dropped for newer ones, and that nobody has counted.
    overwritten: usize,
    /// Stamps of messages that are in no window yet.
    stamps: Stamps,
    /// Lays windows out contiguously, on a windowed edge.
    assembler: Option<Box<dyn Assemble + 'r>>,
}

impl<'r> Sender<'r> {
    pub(super) fn new(edge: Arc<Edge>, tx: Tx, assembler: Option<Box<dyn Assemble + 'r>>) -> Self {
        Self {
            edge,
            tx,
            spill: VecDeque::new(),
            open: None,
            kept: (0, 0),
            overwritten: 0,
            stamps: Stamps::default(),
            assembler,
        }
    }

    /// What both ends know of the edge.
    #[inline(always)]
    pub(crate) fn edge(&self) -> &Arc<Edge> {
        &self.edge
    }

    /// Sends a block. On a windowed edge it becomes a block of whole windows, or waits until there is one. Returns how many blocks entered the edge.
    ///
    /// `panics` gets those of the messages' own code, which the kernel that takes asks for: their clones in windows, and destructors of what
    /// nobody takes.
    pub(crate) fn send(&mut self, mut block: Block, pool: &Pool<'_>, panics: &mut Vec<Payload>) -> usize {
        let Some(assembler) = &mut self.assembler else { return self.enter(block, panics) };
        self.edge.gauge.given.add(block.unread() as u64);
        self.stamps.add_all(&block.stamps_mut().take());
        match catch_unwind(AssertUnwindSafe(|| assembler.assemble(block, pool, panics))) {
            Ok(windows) => windows.map_or(0, |mut block| {
                *block.stamps_mut() = self.stamps.take();
                self.enter(block, panics)
            }),
            Err(payload) => {
                panics.push(payload);
                0
            }
        }
    }

    fn enter(&mut self, mut block: Block, panics: &mut Vec<Payload>) -> usize {
        let messages = self.edge.messages_of(&block);
        if messages == 0 {
            return 0;
        }
        if self.edge.is_hung_up() {
            self.edge.gauge.lost.add(messages);
            block.clear_noting(panics);
            return 0;
        }
        if self.edge.plan.newest {
            self.make_way(messages as usize, panics);
        }
        let refused = if self.spill.is_empty() { self.tx.try_push(block).err() } else { Some(block) };
        if let Some(block) = refused {
            self.spill.push_back(block);
            self.edge.spilled.store(self.spill.len(), Release);
        }
        self.edge.sent.count(messages, false);
        self.edge.sample();
        1
    }

    /// Drops the oldest blocks, until so many messages more are no more than the edge may hold.
    fn make_way(&mut self, messages: usize, panics: &mut Vec<Payload>) {
        let most = self.edge.plan.capacity.map_or(usize::MAX, |capacity| capacity.most);
        self.flush();
        while self.edge.messages() + messages > most.max(messages) || self.edge.backlog() >= self.edge.slots as u64 {
            // The taker is in the midst of taking what is left in the storage: then the oldest that is not in its hands.
            let Some(mut old) = self.tx.take_back().or_else(|| self.spill.pop_front()) else { break };
            self.edge.spilled.store(self.spill.len(), Release);
            self.edge.taken.count(old.unread() as u64, true);
            self.edge.gauge.overwritten.add(old.unread() as u64);
            self.overwritten += 1;
            old.clear_noting(panics);
        }
    }

    /// How many blocks were dropped for newer ones since this was asked last.
    pub(crate) fn take_overwritten(&mut self) -> usize {
        mem::take(&mut self.overwritten)
    }

    /// Moves what is in the spill into the storage as far as there is room. True if something was moved.
    pub(crate) fn flush(&mut self) -> bool {
        let before = self.spill.len();
        while let Some(block) = self.spill.pop_front() {
            if let Err(block) = self.tx.try_push(block) {
                self.spill.push_front(block);
                break;
            }
        }
        if self.spill.len() < before {
            self.edge.spilled.store(self.spill.len(), Release);
        }
        self.spill.len() < before
    }

    /// Takes the block that was left open.
    pub(crate) fn take_open(&mut self) -> Option<Block> {
        self.open.take()
    }

    /// Whether there are messages in a block that was left open.
    pub(crate) fn has_open(&self) -> bool {
        self.open.as_ref().is_some_and(|block| block.unread() > 0)
    }

    /// Leaves a block open for the next activation.
    pub(crate) fn keep_open(&mut self, block: Block) {
        let before = self.open.replace(block);
        debug_assert!(before.is_none(), "an output goes on with the block that was left open");
    }

    /// Whether the open block may wait for the end of another activation: [`MOST_KEPT`] in all.
    pub(crate) fn may_stay_open(&mut self) -> bool {
        if self.open.as_ref().is_none_or(|block| block.unread() == 0) {
            return true;
        }
        let sent = self.edge.sent_blocks();
        self.kept = if self.kept.0 == sent { (sent, self.kept.1 + 1) } else { (sent, 1) };
        let stays = self.kept.1 < MOST_KEPT;
        if !stays {
            // It goes now. On a windowed edge that may not count as sent yet.
            self.kept.1 = 0;
        }
        stays
    }

    /// Drops all messages at this end, and notes the panics of their destructors.
    pub(crate) fn clear(&mut self, panics: &mut Vec<Payload>) {
        self.spill.iter_mut().chain(&mut self.open).for_each(|block| block.clear_noting(panics));
        self.assembler.iter_mut().for_each(|assembler| assembler.clear(panics));
    }
}

impl fmt::Debug for Sender<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sender").field("edge", &self.edge).field("spill", &self.spill.len()).finish_non_exhaustive()
    }
}
