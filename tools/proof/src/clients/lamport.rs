//! Lamport's queue, plain and with cached indices. Room for one item is two slots: three items use one of them twice.

use super::Pair;
use super::ends::{self, Rx, Tx};
use crate::Client;
use thalweg_check::history::Bounded;
use thalweg_queue::Yield;
use thalweg_queue::research::lamport::{self, Caching, Consumer, Producer};
use thalweg_queue::{TryPopError, TryPushError};

impl<L: Caching + 'static> Tx for Producer<Pair, Yield, L> {
    fn try_push(&mut self, item: Pair) -> Result<(), TryPushError<Pair>> {
        Self::try_push(self, item)
    }
}

impl<L: Caching + 'static> Rx for Consumer<Pair, Yield, L> {
    fn try_pop(&mut self) -> Result<Pair, TryPopError> {
        Self::try_pop(self)
    }
}

/// Exactly one item fits.
fn one() -> Bounded<u64> {
    Bounded::new(1, 1)
}

fn plain() -> lamport::Ends<Pair, Yield, lamport::Plain> {
    lamport::with_wait::<_, _, lamport::Plain>(1, Yield).expect("one item is a queue")
}

fn cached() -> lamport::Ends<Pair, Yield, lamport::Cached> {
    lamport::with_wait::<_, _, lamport::Cached>(1, Yield).expect("one item is a queue")
}

pub(super) const PLAIN: Client = Client {
    name: "lamport/plain",
    what: "one producer, one consumer, five attempts each, room for one",
    run: |setup| ends::between(setup, one(), plain, [5, 5]),
};

pub(super) const CACHED: Client = Client {
    name: "lamport/cached",
    what: "the same with cached indices",
    run: |setup| ends::between(setup, one(), cached, [5, 5]),
};

pub(super) const SWAP: Client = Client {
    name: "lamport/swap",
    what: "two threads, three attempts each, that then change ends and go on",
    run: |setup| ends::swap(setup, one(), cached, 3),
};

pub(super) const RELAY: Client = Client {
    name: "lamport/relay",
    what: "each end goes from one thread to another, two attempts in each",
    run: |setup| ends::relay(setup, one(), cached, 2),
};

pub(super) const END: Client = Client {
    name: "lamport/end",
    what: "the producer leaves items behind; the end comes after them",
    run: |setup| ends::end(setup, one(), plain),
};
