//! A ring of blocks of pointers (BBQ, thesis §2.3): one sender, many takers. The place of an entry is its ticket.

use crate::block::Block;
use thalweg_queue::Yield;
use thalweg_queue::mpmc;

pub(super) const NAME: &str = "bbq";

pub(crate) type Tx = mpmc::Producer<Block, Yield>;
pub(crate) type Rx = mpmc::Consumer<Block, Yield>;

pub(super) fn make(slots: usize) -> (Tx, Rx) {
    mpmc::with_capacity_and_wait(slots, Yield).expect("slots are within the limits of a queue")
}
