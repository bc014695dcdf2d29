//! What every tube promises: as a queue, the promises of every queue and those of queues with many on either side; as a
//! tube, what an entry that is half-way means to others.
#![cfg(not(loom))]

mod fuzz;
mod many;
mod phases;
#[allow(dead_code, reason = "its queues are tested in their own place")]
#[path = "../conformance/queue.rs"]
mod queue;
#[path = "../conformance/single.rs"]
mod single;

use queue::{Queue, Rx, Token, Tx};
use thalweg_queue::faaq::{Bbq, Faaq};
use thalweg_queue::tube::{self, Tube, ring, scqd::Scqd};
use thalweg_queue::{PopError, PushError, TryPopError, TryPushError};

/// A tube as a queue: how to make it, and what it has room for.
#[derive(Clone, Copy)]
struct Of<F> {
    make: F,
    least: usize,
    most: usize,
}

impl<Q: Tube<Item = Token> + 'static, F: Fn() -> Q + Copy + Send + Sync> Queue for Of<F> {
    type Tx = tube::Producer<Q>;
    type Rx = tube::Consumer<Q>;

    fn build(self) -> (Self::Tx, Self::Rx) {
        tube::queue((self.make)())
    }

    fn least(self) -> usize {
        self.least
    }

    fn most(self) -> usize {
        self.most
    }
}

impl<Q: Tube<Item = Token>> Tx for tube::Producer<Q> {
    fn try_push(&mut self, token: Token) -> Result<(), TryPushError<Token>> {
        tube::Producer::try_push(self, token)
    }
    fn push(&mut self, token: Token) -> Result<(), PushError<Token>> {
        tube::Producer::push(self, token)
    }
    fn is_closed(&self) -> bool {
        tube::Producer::is_closed(self)
    }
    fn capacity(&self) -> usize {
        tube::Producer::capacity(self)
    }
}

impl<Q: Tube<Item = Token>> Rx for tube::Consumer<Q> {
    fn try_pop(&mut self) -> Result<Token, TryPopError> {
        tube::Consumer::try_pop(self)
    }
    fn pop(&mut self) -> Result<Token, PopError> {
        tube::Consumer::pop(self)
    }
    fn is_closed(&self) -> bool {
        tube::Consumer::is_closed(self)
    }
    fn is_empty(&self) -> bool {
        tube::Consumer::is_empty(self)
    }
    fn capacity(&self) -> usize {
        tube::Consumer::capacity(self)
    }
}

/// A tube that takes exactly `room` items.
fn exactly<Q, F: Fn() -> Q>(room: usize, make: F) -> Of<F> {
    Of { make, least: room, most: room }
}

/// A tube of blocks.
fn blocks<Q, F: Fn() -> Q>(blocks: usize, entries: usize, make: F) -> Of<F> {
    Of { make, least: (blocks - 1) * entries + 1, most: blocks * entries }
}

/// A head before the last block of a round, near the end of the bits that a cursor has for rounds.
const ROUNDS: u64 = (1 << 42) * 2 - 3;

/// Near the end of the 32 bits that a ring's positions have.
const WRAP: u32 = u32::MAX - 20;

single::promises! {
    mt_1: exactly(1, || ring::Mt::new(1).unwrap()),
    mt_7: exactly(7, || ring::Mt::new(7).unwrap()),
    mt_wraps: exactly(8, || ring::Mt::starting_at(WRAP, 8).unwrap()),
    rts_1: exactly(1, || ring::Rts::new(1).unwrap()),
    rts_7: exactly(7, || ring::Rts::new(7).unwrap()),
    rts_wraps: exactly(16, || ring::Rts::starting_at(WRAP, 16).unwrap()),
    hts_1: exactly(1, || ring::Hts::new(1).unwrap()),
    hts_7: exactly(7, || ring::Hts::new(7).unwrap()),
    hts_wraps: exactly(8, || ring::Hts::starting_at(WRAP, 8).unwrap()),
    scqd_1: exactly(1, || Scqd::new(1).unwrap()),
    scqd_7: exactly(7, || Scqd::new(7).unwrap()),
    scqd_64: exactly(64, || Scqd::new(64).unwrap()),
    faaq_2x1: blocks(2, 1, || Faaq::new(2, 1).unwrap()),
    faaq_2x8: blocks(2, 8, || Faaq::new(2, 8).unwrap()),
    faaq_8x3: blocks(8, 3, || Faaq::new(8, 3).unwrap()),
    faaq_round_wraps: blocks(2, 3, || Faaq::starting_at(ROUNDS, 2, 3).unwrap()),
    faaq_head_wraps: blocks(4, 2, || Faaq::starting_at(u64::MAX - 5, 4, 2).unwrap()),
    bbq_2x1: blocks(2, 1, || Bbq::new(2, 1).unwrap()),
    bbq_4x2: blocks(4, 2, || Bbq::starting_at(u64::MAX - 5, 4, 2).unwrap()),
}

many::promises! {
    mt_2_shared: exactly(2, || ring::Mt::new(2).unwrap()),
    mt_64_shared: exactly(64, || ring::Mt::starting_at(WRAP, 64).unwrap()),
    rts_2_shared: exactly(2, || ring::Rts::new(2).unwrap()),
    rts_64_shared: exactly(64, || ring::Rts::starting_at(WRAP, 64).unwrap()),
    hts_2_shared: exactly(2, || ring::Hts::new(2).unwrap()),
    hts_64_shared: exactly(64, || ring::Hts::starting_at(WRAP, 64).unwrap()),
    scqd_4_shared: exactly(4, || Scqd::new(4).unwrap()),
    scqd_64_shared: exactly(64, || Scqd::new(64).unwrap()),
    faaq_2x1_shared: blocks(2, 1, || Faaq::new(2, 1).unwrap()),
    faaq_2x8_shared: blocks(2, 8, || Faaq::starting_at(ROUNDS, 2, 8).unwrap()),
    faaq_8x64_shared: blocks(8, 64, || Faaq::new(8, 64).unwrap()),
    bbq_2x8_shared: blocks(2, 8, || Bbq::new(2, 8).unwrap()),
}
