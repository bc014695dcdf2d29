//! A list without a bound, whose cells come from the heap and go back to it: one sender, and one taker or many.
//!
//! Many takers take turns under a lock, which is held while a pointer is moved. The place of an entry is counted under it.

use crate::block::Block;
use thalweg_queue::Yield;
use thalweg_queue::unbounded::{Producer, mpsc};
use thalweg_sync::sync::Mutex;

pub(super) const NAME: &str = "linked";

pub(crate) type Tx = Producer<Block, Yield>;
pub(crate) type Rx = Box<mpsc::Consumer<Block, Yield>>;

/// The taking end for many, and how many entries were taken.
pub(crate) struct SharedRx(Mutex<(Rx, u64)>);

/// Boxed, so that what the taker writes is on a line of its own.
pub(super) fn make() -> (Tx, Rx) {
    let (tx, rx) = mpsc::with_wait(Yield);
    (tx, Box::new(rx))
}

impl SharedRx {
    pub(super) fn new(rx: Rx) -> Self {
        Self(Mutex::new((rx, 0)))
    }

    /// Takes the next block, and its place in the order of the edge. The lock also makes (9) of `receiver.rs`: all pops before this one happened
    /// before it.
    pub(super) fn try_pop(&self) -> Option<(u64, Block)> {
        let mut turn = self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let block = turn.0.try_pop().ok()?;
        let place = turn.1;
        turn.1 += 1;
        Some((place, block))
    }
}
