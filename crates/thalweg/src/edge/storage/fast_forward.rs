//! A ring of pointers, each its own full flag (FastForward §3): one sender, one taker.

use crate::block::Block;
use thalweg_queue::Yield;
use thalweg_queue::spsc::fast_forward;

pub(super) const NAME: &str = "fast_forward";

pub(crate) type Tx = Box<fast_forward::Producer<Block, Yield>>;
pub(crate) type Rx = Box<fast_forward::Consumer<Block, Yield>>;

/// Boxed: what one side writes must not share a line with what the other reads.
pub(super) fn make(slots: usize) -> (Tx, Rx) {
    let (tx, rx) = fast_forward::with_wait(slots, Yield).expect("slots are within the limits of a queue");
    (Box::new(tx), Box::new(rx))
}
