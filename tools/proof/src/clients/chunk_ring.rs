//! The chunk ring. Two chunks of one entry: every push and every pop comes to the end of a chunk. It may grow, so that a
//! chunk is linked in wherever the consumer is.

use super::Pair;
use super::ends::{self, Outcome, Rx, Tx};
use crate::{Client, Setup};
use thalweg_check::history::Bounded;
use thalweg_queue::Yield;
use thalweg_queue::growing::{Consumer, Most, Producer, with_wait};
use thalweg_queue::{TryPopError, TryPushError};
use thalweg_sync::thread;

impl Tx for Producer<Pair, Yield> {
    fn try_push(&mut self, item: Pair) -> Result<(), TryPushError<Pair>> {
        Self::try_push(self, item)
    }
}

impl Rx for Consumer<Pair, Yield> {
    fn try_pop(&mut self) -> Result<Pair, TryPopError> {
        Self::try_pop(self)
    }
}

/// A ring that grows to `most` chunks of one entry is full with that many items or one less.
fn window(most: usize) -> Bounded<u64> {
    Bounded::new(most - 1, most)
}

fn growing(most: usize) -> impl Fn() -> (Producer<Pair, Yield>, Consumer<Pair, Yield>) {
    move || with_wait(1, 2, Most::Entries(most), Yield).expect("two chunks are a ring")
}

pub(super) const FIXED: Client = Client {
    name: "chunk_ring/fixed",
    what: "one producer, one consumer, five attempts each, two chunks of 1",
    run: |setup| ends::between(setup, window(2), growing(2), [5, 5]),
};

pub(super) const GROWS: Client = Client {
    name: "chunk_ring/grows",
    what: "the same, and the ring may grow by one chunk",
    run: |setup| ends::between(setup, window(3), growing(3), [5, 5]),
};

pub(super) const GROWS_TWICE: Client = Client {
    name: "chunk_ring/grows-2",
    what: "the same, and the ring may grow by two chunks",
    run: |setup| ends::between(setup, window(4), growing(4), [6, 4]),
};

pub(super) const SWAP: Client = Client {
    name: "chunk_ring/swap",
    what: "two threads, three attempts each, that then change ends and go on",
    run: |setup| ends::swap(setup, window(3), growing(3), 3),
};

pub(super) const RELAY: Client = Client {
    name: "chunk_ring/relay",
    what: "each end goes from one thread to another, three attempts in each",
    run: |setup| ends::relay(setup, window(3), growing(3), 3),
};

pub(super) const END: Client = Client {
    name: "chunk_ring/end",
    what: "the producer leaves two items behind; the end comes after them",
    run: |setup| ends::end(setup, window(2), growing(2)),
};

pub(super) const SHRINKS: Client = Client {
    name: "chunk_ring/shrinks",
    what: "four chunks, of which free ones are linked out and freed while the consumer goes round",
    run: shrinks,
};

fn shrinks(setup: &Setup) -> Outcome {
    // The ring may be as short as two chunks, and as long as four.
    setup.linearizable(Bounded::new(1, 4), |recorder| {
        let (mut tx, mut rx) = growing(4)();
        let mut log = recorder.log(0);
        let mut pushed = tx.push_some(&mut log, 0, 4);
        let mut popped = rx.pop_some(&mut log, 1);
        let mut other = recorder.log(1);
        let consumer = thread::spawn(move || (rx.pop_some(&mut other, 3), rx));
        tx.shrink();
        pushed += tx.push_some(&mut log, pushed, 2);
        tx.shrink();
        let (others, mut rx) = consumer.join().unwrap();
        popped += others;
        assert_eq!(popped + rx.drain(&mut log), pushed);
    })
}
