//! How much an edge may hold, and how it grows.

use super::{BLOCK_BYTES, Edge, MOST_BLOCKS};
use thalweg_sync::atomic::Ordering::*;

/// Bytes of messages and headers that an edge without a capacity may come to hold where nobody could go on otherwise.
const MOST_STRETCHED: usize = 64 << 20;

/// How many messages an edge holds: `first` at the beginning, `most` after growing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capacity {
    /// At the beginning; at least one.
    pub first: usize,
    /// At most.
    pub most: usize,
}

/// Bytes of messages that an activation of a parallel kernel may keep for an edge without a capacity while it is not its turn.
const MOST_IN_HAND: usize = 1 << 20;

impl Edge {
    /// Whether the sender should stop for now.
    pub(crate) fn is_full(&self) -> bool {
        let limit = self.limit_blocks.load(Relaxed);
        if limit == usize::MAX || self.plan.newest {
            return false;
        }
        let sent = self.sent.blocks.load(Relaxed);
        if sent < self.sent.credit.load(Relaxed) {
            return false;
        }
        // What was on its way when the taker hung up stays, and must not stop a sender that others still take from.
        if self.is_hung_up() {
            return false;
        }
        let taken = self.taken.blocks.load(Relaxed);
        let by_messages = self.limit_messages.load(Relaxed);
        // Its blocks were short then, and may be long now.
        let stretched = limit > MOST_BLOCKS && self.plan.capacity.is_none();
        if by_messages == usize::MAX && !stretched {
            self.sent.credit.store(taken + limit as u64, Relaxed);
        }
        // Beyond its slots (see `stretch`) some of it is in the spill by rights.
        self.spilled.load(Relaxed) > 0 && limit <= self.slots
            || sent >= taken + limit as u64
            || (by_messages != usize::MAX && self.messages() >= by_messages)
            || stretched && !self.has_room()
    }

    /// Whether so many messages more would be all that it may hold, if a capacity was given.
    pub(crate) fn is_filled_by(&self, more: usize) -> bool {
        self.plan.capacity.is_some()
            && !self.plan.newest
            && !self.is_hung_up()
            && self.messages().saturating_add(more) >= self.limit_messages.load(Relaxed)
    }

    /// Whether an activation of a parallel kernel that keeps so many messages for it, because it is not its turn, must not keep more: as many as the edge
    /// may hold.
    pub(crate) fn is_enough(&self, in_hand: usize) -> bool {
        !self.plan.newest
            && !self.is_hung_up()
            && match self.plan.capacity {
                Some(_) => in_hand >= self.limit_messages.load(Relaxed),
                None => in_hand.saturating_mul(self.plan.message_bytes) >= MOST_IN_HAND,
            }
    }

    /// Raises the limit, up to the most the edge may hold. `None` if it is there already; else whether it was this call that raised it.
    pub(crate) fn grow(&self) -> Option<bool> {
        let (limit, most) = match self.plan.capacity {
            None => (&self.limit_blocks, MOST_BLOCKS),
            Some(capacity) => (&self.limit_messages, capacity.most),
        };
        let now = limit.load(Relaxed);
        // It may be beyond the most already: see `stretch`.
        let next = now.saturating_mul(2).min(most);
        if next <= now {
            return None;
        }
        // Several workers of a parallel kernel may come here at once: one of them takes the step, and all have the room.
        let own = limit.compare_exchange(now, next, Relaxed, Relaxed).is_ok();
        if own {
            self.gauge.grown.fetch_add(1, Relaxed);
        }
        Some(own)
    }

    /// Whether it holds fewer messages than its capacity says; or if none was given, fewer bytes of messages and headers than
    /// [`MOST_STRETCHED`].
    fn has_room(&self) -> bool {
        let messages = self.messages();
        match self.plan.capacity {
            Some(_) => messages < self.limit_messages.load(Relaxed),
            None => {
                let blocks = self.backlog() as usize * BLOCK_BYTES;
                messages.saturating_mul(self.plan.message_bytes).saturating_add(blocks) < MOST_STRETCHED
            }
        }
    }

    /// As [`grow`](Self::grow), when nobody can go on else: beyond the most blocks too, as long as it [has room](Self::has_room), for blocks may be short.
    pub(crate) fn stretch(&self) -> Option<bool> {
        if let Some(own) = self.grow() {
            return Some(own);
        }
        if !self.has_room() {
            return None;
        }
        self.limit_blocks.store(self.limit_blocks.load(Relaxed).saturating_mul(2), Relaxed);
        self.gauge.grown.fetch_add(1, Relaxed);
        Some(true)
    }

    /// The messages that it may hold, if a capacity was asked for; else the blocks, if they are bounded.
    pub(crate) fn bounds(&self) -> (Option<u64>, Option<u64>) {
        let bound = |limit: usize| (limit < usize::MAX).then_some(limit as u64);
        match bound(self.limit_messages.load(Relaxed)) {
            None => (None, bound(self.limit_blocks.load(Relaxed))),
            most => (most, None),
        }
    }

    /// How full, from 0 to 1.
    pub(crate) fn fill(&self) -> f32 {
        let by_messages = self.limit_messages.load(Relaxed);
        let ratio = if by_messages == usize::MAX {
            self.backlog() as f32 / self.limit_blocks.load(Relaxed) as f32
        } else {
            self.messages() as f32 / by_messages as f32
        };
        ratio.min(1.0)
    }
}
