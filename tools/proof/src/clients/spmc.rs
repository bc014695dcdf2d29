//! BBQ for one producer and many consumers. Rings as in `bbq`, whose clients these are as far as one producer goes.

use super::Pair;
use super::bbq::window;
use super::ends::{self, Tx};
use crate::Client;
use thalweg_queue::spmc::{self, Producer};
use thalweg_queue::{TryPushError, Yield};

impl Tx for Producer<Pair, Yield> {
    fn try_push(&mut self, item: Pair) -> Result<(), TryPushError<Pair>> {
        Self::try_push(self, item)
    }
}

fn queue(head: u64, entries: usize) -> impl Fn() -> spmc::Ends<Pair, Yield> {
    move || spmc::spmc_from(head, 2, entries, Yield).expect("two blocks are a queue")
}

pub(super) const CLIENTS: &[Client] = &[
    Client {
        name: "spmc/1p1c-1",
        what: "one producer, one consumer, four attempts each, blocks of 1: the ring goes round twice",
        run: |setup| ends::between(setup, window(1), queue(0, 1), [4, 4]),
    },
    Client {
        name: "spmc/1p1c-2",
        what: "the same with blocks of 2, six attempts to push and five to pop",
        run: |setup| ends::between(setup, window(2), queue(0, 2), [6, 5]),
    },
    Client {
        name: "spmc/1p1c-aged",
        what: "the same with blocks of 1, across the wrap of the counters",
        run: |setup| ends::between(setup, window(1), queue(u64::MAX - 1, 1), [3, 3]),
    },
    Client {
        name: "spmc/swap",
        what: "two threads, two attempts each, that then change ends and go on",
        run: |setup| ends::swap(setup, window(1), queue(0, 1), 2),
    },
    Client {
        name: "spmc/roles",
        what: "with an item in the queue, the producer's thread pushes and pops, another one pops: nobody may find it empty",
        run: |setup| ends::item(setup, window(1), queue(0, 1)),
    },
    Client {
        name: "spmc/end",
        what: "the producer leaves two items behind; the end comes after them",
        run: |setup| ends::end(setup, window(1), queue(0, 1)),
    },
    Client {
        name: "spmc/full",
        what: "a queue that is full, the producer with two attempts, two consumers with one; blocks of 1",
        run: |setup| ends::from_one(setup, window(1), queue(0, 1), 2, 2, [1, 1]),
    },
    Client {
        name: "spmc/1p2c-1",
        what: "an item in the queue, the producer with two attempts, two consumers with one; blocks of 1",
        run: |setup| ends::from_one(&setup.apart(), window(1), queue(0, 1), 1, 2, [1, 1]),
    },
    Client {
        name: "spmc/1p2c-2",
        what: "the same with blocks of 2",
        run: |setup| ends::from_one(setup, window(2), queue(0, 2), 1, 2, [1, 1]),
    },
    Client {
        name: "spmc/emptied",
        what: "two items in the queue, two threads that pop one, the producer's that pops and pushes: it may not find it full",
        run: |setup| ends::emptied(setup, window(1), queue(0, 1)),
    },
    Client {
        name: "spmc/gone",
        what: "a thread pushes; it and another one let their consumers go: the last one drops the item",
        run: |setup| {
            let build = || spmc::with_wait(2, 1, Yield).expect("two blocks are a queue");
            ends::gone(setup, build, |tx, item| Producer::try_push(tx, item).is_ok())
        },
    },
    Client {
        name: "spmc/laps",
        what: "a consumer with one attempt while the producer's thread pops and pushes the ring round (errata E1, E2)",
        run: |setup| ends::round(setup, window(1), queue(0, 1)),
    },
];
