//! The tubes, as queues. Two entries are the smallest ring in which a thread is half-way while another one goes on; two
//! blocks of one are the smallest of which one is full while the other is being read.

use super::Pair;
use super::ends::{self, Counted, Outcome, Rx, Tx};
use crate::{Client, Setup};
use thalweg_check::Kept;
use thalweg_check::history::{Bounded, Queue, Specification};
use thalweg_queue::Yield;
use thalweg_queue::research::faaq::{Bbq, Faaq};
use thalweg_queue::research::tube::ring::{Hts, Mt, Rts};
use thalweg_queue::research::tube::scqd::Scqd;
use thalweg_queue::research::tube::{self, Consumer, Producer, Tube};
use thalweg_queue::{TryPopError, TryPushError};

impl<Q: Tube<Item = Pair> + 'static> Tx for Producer<Q, Yield> {
    fn try_push(&mut self, item: Pair) -> Result<(), TryPushError<Pair>> {
        Self::try_push(self, item)
    }
}

impl<Q: Tube<Item = Pair> + 'static> Rx for Consumer<Q, Yield> {
    fn try_pop(&mut self) -> Result<Pair, TryPopError> {
        Self::try_pop(self)
    }
}

type Ends<Q> = (Kept<Producer<Q, Yield>>, Kept<Consumer<Q, Yield>>);

fn queue<Q: Tube<Item = Pair> + 'static>(tube: Q) -> Ends<Q> {
    let (tx, rx) = tube::with_wait(tube, Yield);
    (Kept::new(tx), Kept::new(rx))
}

/// A thread pushes; it and another one let their consumers go.
fn gone<Q: Tube<Item = Counted> + 'static>(setup: &Setup, tube: fn() -> Q) -> Outcome {
    let build = move || {
        let (tx, rx) = tube::with_wait(tube(), Yield);
        (Kept::new(tx), Kept::new(rx))
    };
    ends::gone(setup, build, |tx, item| tx.try_push(item).is_ok())
}

fn mt() -> Ends<Mt<Pair>> {
    queue(Mt::new(2).expect("two entries are a tube"))
}

/// Across the wrap of the positions.
fn old_mt() -> Ends<Mt<Pair>> {
    queue(Mt::starting_at(u32::MAX - 1, 2).expect("two entries are a tube"))
}

/// One at a time may be half-way on a side.
fn rts() -> Ends<Rts<Pair>> {
    queue(Rts::new(2).expect("two entries are a tube"))
}

/// Two may be half-way on a side.
fn wide_rts() -> Ends<Rts<Pair>> {
    queue(Rts::new(16).expect("entries are a tube"))
}

fn hts() -> Ends<Hts<Pair>> {
    queue(Hts::new(2).expect("two entries are a tube"))
}

fn scqd() -> Ends<Scqd<Pair>> {
    queue(Scqd::new(1).expect("an entry is a tube"))
}

/// Its rings have four slots.
fn scqd_of_2() -> Ends<Scqd<Pair>> {
    queue(Scqd::new(2).expect("two entries are a tube"))
}

fn blocks() -> Ends<Bbq<Pair>> {
    queue(Bbq::new(2, 1).expect("two blocks are a tube"))
}

/// A block is also used while it is half full.
fn blocks_of_2() -> Ends<Bbq<Pair>> {
    queue(Bbq::new(2, 2).expect("two blocks are a tube"))
}

fn faaq() -> Ends<Faaq<Pair>> {
    queue(Faaq::new(2, 1).expect("two blocks are a tube"))
}

fn faaq_of_2() -> Ends<Faaq<Pair>> {
    queue(Faaq::new(2, 2).expect("two blocks are a tube"))
}

/// Two items fit.
fn two() -> Bounded<u64> {
    Bounded::new(2, 2)
}

/// One item fits. `Full` says only that the entry is taken, maybe by a push or a pop that is half-way: the queue may be empty
/// then, too.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Taken(Bounded<u64>);

fn one() -> Taken {
    Taken(Bounded::new(1, 1))
}

impl Specification for Taken {
    type Operation = Queue<u64>;

    fn apply(&mut self, operation: &Queue<u64>) -> bool {
        *operation == Queue::Full || self.0.apply(operation)
    }

    fn is_refusal(&self, operation: &Queue<u64>) -> bool {
        self.0.is_refusal(operation)
    }
}

/// Sixteen items fit.
fn sixteen() -> Bounded<u64> {
    Bounded::new(16, 16)
}

/// Two blocks of two: full with three or four items.
fn three_or_four() -> Bounded<u64> {
    Bounded::new(3, 4)
}

/// The clients that every tube has, and its own.
macro_rules! tube {
    ($name:literal, $make:ident, $object:ident, $counted:expr $(, $own:literal, $what:literal, $run:expr)*) => {
        &[
            Client {
                name: concat!($name, "/1p1c"),
                what: "one producer, one consumer, four attempts each: the ring goes round twice",
                run: |setup| ends::between(setup, $object(), $make, [4, 4]),
            },
            Client {
                name: concat!($name, "/roles"),
                what: "two threads that push one and pop one each",
                run: |setup| ends::roles(setup, $object(), $make),
            },
            Client {
                name: concat!($name, "/room"),
                what: "a thread pushes, pops and pushes while another one pushes: nobody may find it full (C1)",
                run: |setup| ends::room(setup, $object(), $make),
            },
            Client {
                name: concat!($name, "/item"),
                what: "an item in the queue, a thread pushes and pops while another one pops: nobody may find it empty (C1)",
                run: |setup| ends::item(setup, $object(), $make),
            },
            Client {
                name: concat!($name, "/end"),
                what: "the producer leaves two items behind; the end comes after them",
                run: |setup| ends::end(setup, $object(), $make),
            },
            Client {
                name: concat!($name, "/2p1c"),
                what: "two producers with one attempt that may stop half-way, a consumer with two",
                run: |setup| ends::shared(setup, $object(), $make, 0, [1, 1], [2]),
            },
            Client {
                name: concat!($name, "/1p2c"),
                what: "an item in the queue, one producer with two attempts, two consumers with one",
                run: |setup| ends::shared(setup, $object(), $make, 1, [2], [1, 1]),
            },
            Client {
                name: concat!($name, "/2p2c"),
                what: "two producers and two consumers, one attempt each",
                run: |setup| ends::shared(setup, $object(), $make, 0, [1, 1], [1, 1]),
            },
            Client {
                name: concat!($name, "/gone"),
                what: "a thread pushes; it and another one let their consumers go: the last one drops the item",
                run: |setup| gone(setup, $counted),
            },
            $(Client { name: concat!($name, "/", $own), what: $what, run: $run },)*
        ]
    };
}

pub(super) const MT: &[Client] = tube!(
    "mt",
    mt,
    two,
    || Mt::new(2).expect("two entries are a tube"),
    "1p1c-old",
    "one producer, one consumer, three attempts each, across the wrap of the positions",
    |setup| ends::between(setup, two(), old_mt, [3, 3])
);

pub(super) const RTS: &[Client] = tube!(
    "rts",
    rts,
    two,
    || Rts::new(2).expect("two entries are a tube"),
    "2p1c-wide",
    "two producers, both of which may be half-way, with one attempt, a consumer with two",
    |setup| ends::shared(setup, sixteen(), wide_rts, 0, [1, 1], [2]),
    "2c-wide",
    "two items in the queue, two consumers, both of which may be half-way",
    |setup| ends::shared(setup, sixteen(), wide_rts, 2, [], [1, 1]),
    "item-wide",
    "as item, where two may be half-way on a side: who sees a head sees what was handed on before it was moved",
    |setup| ends::item(setup, sixteen(), wide_rts)
);

pub(super) const HTS: &[Client] = tube!("hts", hts, two, || Hts::new(2).expect("two entries are a tube"));

/// Room for one is the smallest, and a ring of it has two slots; with room for two, tickets and slots go apart.
pub(super) const SCQD: &[Client] = &[
    Client {
        name: "scqd/1p1c",
        what: "one producer, one consumer, two attempts each, room for one",
        run: |setup| ends::between(setup, one(), scqd, [2, 2]),
    },
    Client {
        name: "scqd/roles",
        what: "two threads that push one and pop one each",
        run: |setup| ends::roles(setup, one(), scqd),
    },
    Client {
        name: "scqd/2p1c",
        what: "two producers and a consumer, one attempt each",
        run: |setup| ends::shared(setup, one(), scqd, 0, [1, 1], [1]),
    },
    Client {
        name: "scqd/2c",
        what: "an item in the queue, two consumers with one attempt each",
        run: |setup| ends::shared(setup, one(), scqd, 1, [], [1, 1]),
    },
    Client {
        name: "scqd/gone",
        what: "a thread pushes; it and another one let their consumers go: the last one drops the item",
        run: |setup| gone(setup, || Scqd::new(1).expect("an entry is a tube")),
    },
    Client {
        name: "scqd/1p1c-2",
        what: "one producer, one consumer, two attempts each, room for two",
        run: |setup| ends::between(setup, two(), scqd_of_2, [2, 2]),
    },
    Client {
        name: "scqd/roles-2",
        what: "as roles, with room for two",
        run: |setup| ends::roles(setup, two(), scqd_of_2),
    },
    Client {
        name: "scqd/room-2",
        what: "a thread pushes, pops and pushes while another one pushes: nobody may find it full (C1)",
        run: |setup| ends::room(setup, two(), scqd_of_2),
    },
    Client {
        name: "scqd/item-2",
        what: "an item in the queue, a thread pushes and pops while another one pops: nobody may find it empty (C1)",
        run: |setup| ends::item(setup, two(), scqd_of_2),
    },
    Client {
        name: "scqd/2c-2",
        what: "an item in the queue, two consumers with two attempts each: they pass tickets",
        run: |setup| ends::shared(setup, two(), scqd_of_2, 1, [], [2, 2]),
    },
    Client {
        name: "scqd/3c-2",
        what: "two items in the queue, three consumers with one attempt each",
        run: |setup| ends::shared(setup, two(), scqd_of_2, 2, [], [1, 1, 1]),
    },
    Client {
        name: "scqd/laps-2",
        what: "a consumer with one attempt while another thread pushes and pops the ring round",
        run: |setup| ends::laps(setup, two(), scqd_of_2),
    },
    Client {
        name: "scqd/late-2",
        what: "a producer with one attempt while another thread fills and empties the ring",
        run: |setup| ends::late(setup, two(), scqd_of_2),
    },
    Client {
        name: "scqd/end-2",
        what: "the producer leaves two items behind; the end comes after them",
        run: |setup| ends::end(setup, two(), scqd_of_2),
    },
    Client {
        name: "scqd/2p1c-2",
        what: "two producers with one attempt, a consumer with two",
        run: |setup| ends::shared(setup, two(), scqd_of_2, 0, [1, 1], [2]),
    },
    Client {
        name: "scqd/1p2c-2",
        what: "an item in the queue, one producer and two consumers with one attempt",
        run: |setup| ends::shared(setup, two(), scqd_of_2, 1, [1], [1, 1]),
    },
];

pub(super) const BLOCKS: &[Client] = tube!(
    "bbq_tube",
    blocks,
    two,
    || Bbq::new(2, 1).expect("two blocks are a tube"),
    "laps",
    "a consumer with one attempt while another thread pushes and pops the ring round",
    |setup| ends::laps(setup, two(), blocks),
    "late",
    "a producer with one attempt while another thread fills and empties the ring",
    |setup| ends::late(setup, two(), blocks),
    "2p2c-again",
    "an item in the queue, two producers and two consumers, one attempt each: blocks that were used before are used again",
    |setup| ends::shared(setup, two(), ends::used(blocks, 2), 1, [1, 1], [1, 1]),
    "2p1c-2",
    "two producers with one attempt, a consumer with two, blocks of 2",
    |setup| ends::shared(setup, three_or_four(), blocks_of_2, 0, [1, 1], [2])
);

pub(super) const FAAQ: &[Client] = tube!(
    "faaq",
    faaq,
    two,
    || Faaq::new(2, 1).expect("two blocks are a tube"),
    "laps",
    "a consumer with one attempt while another thread pushes and pops the ring round",
    |setup| ends::laps(setup, two(), faaq),
    "late",
    "a producer with one attempt while another thread fills and empties the ring",
    |setup| ends::late(setup, two(), faaq),
    "2p2c-again",
    "an item in the queue, two producers and two consumers, one attempt each: blocks that were used before are used again",
    |setup| ends::shared(setup, two(), ends::used(faaq, 2), 1, [1, 1], [1, 1]),
    "late-pop",
    "a consumer that looks in one round and draws its ticket in the next, in which a producer is half-way",
    |setup| ends::late_pop(setup, two(), faaq),
    "3c",
    "two items in the queue, three consumers with one attempt each: more tickets than items",
    |setup| ends::shared(setup, two(), faaq, 2, [], [1, 1, 1]),
    "2c-2",
    "a block of 2 is full, two consumers with two attempts: tickets by addition",
    |setup| ends::shared(setup, three_or_four(), faaq_of_2, 2, [], [2, 2])
);
