//! What carries the blocks of an edge: one file for each storage, chosen when the run starts.
//!
//! A storage is a bounded queue of blocks with one sending end. Its taking end is [exclusive](Rx) or [shared](SharedRx), as the consumer is
//! sequential or parallel. What finds it full waits with the [`Sender`](super::Sender).

mod bbq;
mod fast_forward;

use crate::block::Block;

/// The sending end of a storage.
pub(crate) enum Tx {
    /// To one taker.
    FastForward(fast_forward::Tx),
    /// To many.
    Bbq(bbq::Tx),
    /// To one taker, beside whom the sender takes what is old.
    Newest(bbq::Tx, bbq::Rx),
}

/// The taking end of a storage with one taker.
pub(crate) enum Rx {
    FastForward(fast_forward::Rx),
    Newest(bbq::Rx),
}

/// The taking end of a storage with many takers.
pub(crate) enum SharedRx {
    Bbq(bbq::Rx),
}

impl Tx {
    /// Pushes a block, or gives it back if there is no room.
    #[inline]
    pub(super) fn try_push(&mut self, block: Block) -> Result<(), Block> {
        match self {
            Self::FastForward(tx) => tx.try_push(block).map_err(|refused| refused.into_inner()),
            Self::Bbq(tx) | Self::Newest(tx, _) => tx.try_push(block).map_err(|refused| refused.into_inner()),
        }
    }

    /// Takes the oldest block back, where the sender may.
    pub(super) fn take_back(&mut self) -> Option<Block> {
        match self {
            Self::FastForward(_) | Self::Bbq(_) => None,
            Self::Newest(_, rx) => rx.try_pop().ok(),
        }
    }
}

impl Rx {
    /// Takes the next block.
    #[inline]
    pub(super) fn try_pop(&mut self) -> Option<Block> {
        match self {
            Self::FastForward(rx) => rx.try_pop().ok(),
            Self::Newest(rx) => rx.try_pop().ok(),
        }
    }
}

impl SharedRx {
    /// Takes the next block, and its place in the order of the edge.
    #[inline]
    pub(super) fn try_pop(&self) -> Option<(u64, Block)> {
        match self {
            Self::Bbq(rx) => rx.pop_numbered_patiently().ok(),
        }
    }
}

/// A storage for `slots` blocks with one taker, and its name.
pub(super) fn exclusive(slots: usize) -> (Tx, Rx, &'static str) {
    let (tx, rx) = fast_forward::make(slots);
    (Tx::FastForward(tx), Rx::FastForward(rx), fast_forward::NAME)
}

/// A storage for `slots` blocks with one taker, whose sender drops what is old; and its name.
pub(super) fn newest(slots: usize) -> (Tx, Rx, &'static str) {
    let (tx, rx) = bbq::make(slots);
    (Tx::Newest(tx, rx.clone()), Rx::Newest(rx), bbq::NAME)
}

/// A storage for `slots` blocks with many takers, and its name.
pub(super) fn shared(slots: usize) -> (Tx, SharedRx, &'static str) {
    let (tx, rx) = bbq::make(slots);
    (Tx::Bbq(tx), SharedRx::Bbq(rx), bbq::NAME)
}
