//! A ring of chunks (BLQ §3.4): it begins small, and links chunks in and out. One sender, one taker.

use crate::block::Block;
use thalweg_queue::Yield;
use thalweg_queue::growing::{self, Most};

pub(super) const NAME: &str = "chunk_ring";

pub(crate) type Tx = Box<growing::Producer<Block, Yield>>;
pub(crate) type Rx = Box<growing::Consumer<Block, Yield>>;

/// Slots at the beginning.
const FIRST: usize = 16;
/// Slots of the largest chunk.
const CHUNK: usize = 64;

/// Boxed, as those of [`fast_forward`](super::fast_forward) are. A chunk is free only when the taker has left it, so there is one beside the `slots`.
pub(super) fn make(slots: usize) -> (Tx, Rx) {
    let chunk = (slots / 8).clamp(1, CHUNK);
    let ends = growing::with_wait(chunk, FIRST.min(slots), Most::Entries(slots + chunk), Yield);
    let (tx, rx) = ends.expect("slots are within the limits of a queue");
    (Box::new(tx), Box::new(rx))
}
