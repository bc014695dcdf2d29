//! A ring of blocks of pointers (BBQ, thesis §2.3): one sender, many takers. The place of an entry is its ticket.

use crate::block::Block;
use thalweg_queue::mpmc;

pub(super) const NAME: &str = "bbq";

pub(crate) type Tx = mpmc::Producer<Block>;
pub(crate) type Rx = mpmc::Consumer<Block>;

pub(super) fn make(slots: usize) -> (Tx, Rx) {
    mpmc::with_capacity(slots).expect("slots are within the limits of a queue")
}
