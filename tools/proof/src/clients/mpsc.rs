//! BBQ for many producers and one consumer. Rings as in `bbq`, whose clients these are as far as one consumer goes.

use super::Pair;
use super::bbq::{behind, full, holes, push_one, window};
use super::ends::{self, Rx};
use crate::Client;
use thalweg_queue::mpsc::{self, Consumer};
use thalweg_queue::{TryPopError, Yield};

impl Rx for Consumer<Pair, Yield> {
    fn try_pop(&mut self) -> Result<Pair, TryPopError> {
        Self::try_pop(self)
    }
}

fn queue(head: u64, entries: usize) -> impl Fn() -> mpsc::Ends<Pair, Yield> {
    move || mpsc::mpsc_from(head, 2, entries, Yield).expect("two blocks are a queue")
}

pub(super) const CLIENTS: &[Client] = &[
    Client {
        name: "mpsc/1p1c-1",
        what: "one producer, one consumer, four attempts each, blocks of 1: the ring goes round twice",
        run: |setup| ends::between(setup, window(1), queue(0, 1), [4, 4]),
    },
    Client {
        name: "mpsc/1p1c-2",
        what: "the same with blocks of 2, six attempts to push and five to pop",
        run: |setup| ends::between(setup, window(2), queue(0, 2), [6, 5]),
    },
    Client {
        name: "mpsc/1p1c-aged",
        what: "the same with blocks of 1, across the wrap of the counters",
        run: |setup| ends::between(setup, window(1), queue(u64::MAX - 1, 1), [3, 3]),
    },
    Client {
        name: "mpsc/swap",
        what: "two threads, two attempts each, that then change ends and go on",
        run: |setup| ends::swap(setup, window(1), queue(0, 1), 2),
    },
    Client {
        name: "mpsc/roles",
        what: "the consumer's thread pushes, pops and pushes, another one pushes: nobody may find the queue full",
        run: |setup| ends::room(setup, window(1), queue(0, 1)),
    },
    Client {
        name: "mpsc/end",
        what: "the producer leaves two items behind; the end comes after them",
        run: |setup| ends::end(setup, window(1), queue(0, 1)),
    },
    Client {
        name: "mpsc/end-behind",
        what: "two threads push, and the second one closes the queue: the end comes after what it pushed; blocks of 2",
        run: |setup| ends::behind(setup, queue(0, 2), mpsc::Producer::close),
    },
    Client {
        name: "mpsc/full",
        what: "two threads push into a queue that is never full, one pops before",
        run: |setup| full(setup, queue(0, 2), push_one),
    },
    Client {
        name: "mpsc/behind",
        what: "three threads push; who has seen one of them end, and others half-way, may not find the queue empty; blocks of 3",
        run: |setup| behind(setup, 3, queue(0, 3)),
    },
    Client {
        name: "mpsc/holes",
        what: "a thread gives up the entry it has written, another passes over it and writes there in the next round; blocks of 1",
        run: |setup| holes(setup, 1, queue(0, 1)),
    },
    Client {
        name: "mpsc/two-holes",
        what: "a thread gives up two entries, another passes over both at once and writes there in the next round; blocks of 2",
        run: |setup| holes(setup, 2, queue(0, 2)),
    },
    Client {
        name: "mpsc/late",
        what: "a producer may look in one round and allocate in the next: another thread fills and empties the ring",
        run: |setup| ends::late(setup, window(1), queue(0, 1)),
    },
    Client {
        name: "mpsc/2p1c-1",
        what: "two producers, which may stop half-way, with two attempts and one, a consumer with two; blocks of 1",
        run: |setup| ends::to_one(&setup.apart(), window(1), queue(0, 1), [2, 1], 2),
    },
    Client {
        name: "mpsc/2p1c-2",
        what: "the same with blocks of 2",
        run: |setup| ends::to_one(setup, window(2), queue(0, 2), [2, 1], 2),
    },
];
