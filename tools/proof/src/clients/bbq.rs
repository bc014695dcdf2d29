//! BBQ. Two blocks of one entry: every push and every pop steps to another block, and four pushes use each twice. Two
//! entries: a block is also used while it is half full.

use super::ends::{self, Outcome, Rx, Tx};
use super::{Pair, push};
use crate::{Client, Setup};
use thalweg_check::history::{Bounded, Log, Queue};
use thalweg_queue::mpmc::Users;
use thalweg_queue::{TryPopError, TryPushError, Yield, mpmc};
use thalweg_sync::thread;

type Producer = mpmc::Producer<Pair, Yield>;
type Consumer = mpmc::Consumer<Pair, Yield>;

impl<C: Users> Tx for mpmc::Producer<Pair, Yield, C> {
    fn try_push(&mut self, item: Pair) -> Result<(), TryPushError<Pair>> {
        Self::try_push(self, item)
    }
}

impl<P: Users> Rx for mpmc::Consumer<Pair, Yield, P> {
    fn try_pop(&mut self) -> Result<Pair, TryPopError> {
        Self::try_pop(self)
    }
}

pub(super) const ONE_TO_ONE_1: Client = Client {
    name: "bbq/1p1c-1",
    what: "one producer, one consumer, four attempts each, blocks of 1: the ring goes round twice",
    run: |setup| ends::between(setup, window(1), queue(0, 1), [4, 4]),
};

pub(super) const ONE_TO_ONE_2: Client = Client {
    name: "bbq/1p1c-2",
    what: "the same with blocks of 2, five attempts to push and two to pop",
    run: |setup| ends::between(setup, window(2), queue(0, 2), [5, 2]),
};

pub(super) const AGED: Client = Client {
    name: "bbq/1p1c-aged",
    what: "the same with blocks of 1, across the wrap of the counters",
    run: |setup| ends::between(setup, window(1), queue(u64::MAX - 1, 1), [3, 3]),
};

pub(super) const ROLES_1: Client = Client {
    name: "bbq/roles-1",
    what: "two threads that push one and pop one each, blocks of 1",
    run: |setup| ends::roles(setup, window(1), queue(0, 1)),
};

pub(super) const ROLES_2: Client = Client {
    name: "bbq/roles-2",
    what: "the same with blocks of 2",
    run: |setup| ends::roles(setup, window(2), queue(0, 2)),
};

pub(super) const END: Client = Client {
    name: "bbq/end",
    what: "the producer leaves two items behind; the end comes after them",
    run: |setup| ends::end(setup, window(1), queue(0, 1)),
};

pub(super) const CLOSE: Client = Client {
    name: "bbq/close",
    what: "the producer pushes two items and closes the queue, but stays; the end comes after them",
    run: |setup| ends::close(setup, window(1), queue(0, 1), mpmc::Producer::close),
};

pub(super) const CLOSE_BEHIND: Client = Client {
    name: "bbq/close-behind",
    what: "two threads push, and the second one closes the queue: the end comes after what it pushed; blocks of 2",
    run: |setup| ends::behind(setup, queue(0, 2), mpmc::Producer::close),
};

pub(super) const FULL: Client = Client {
    name: "bbq/full",
    what: "two threads push into a queue that is never full, one pops before",
    run: |setup| full(setup, queue(0, 2), push_one),
};

pub(super) const FULL_MANY: Client = Client {
    name: "bbq/full-many",
    what: "the same with batches of one",
    run: |setup| full(setup, queue(0, 2), push_batch),
};

pub(super) const LATE: Client = Client {
    name: "bbq/late",
    what: "a producer may look in one round and allocate in the next: another thread fills and empties the ring",
    run: |setup| ends::late(setup, window(1), queue(0, 1)),
};

pub(super) const HOLES: Client = Client {
    name: "bbq/holes",
    what: "a thread gives up the entry it has written, another passes over it and writes there in the next round; blocks of 1",
    run: |setup| holes(setup, 1, queue(0, 1)),
};

pub(super) const TWO_HOLES: Client = Client {
    name: "bbq/two-holes",
    what: "a thread gives up two entries, another passes over both at once and writes there in the next round; blocks of 2",
    run: |setup| holes(setup, 2, queue(0, 2)),
};

pub(super) const BEHIND_1: Client = Client {
    name: "bbq/behind-1",
    what: "three threads push; who has seen one of them end, and others half-way, may not find the queue empty; blocks of 1",
    run: |setup| behind(setup, 1, queue(0, 1)),
};

pub(super) const BEHIND_3: Client =
    Client { name: "bbq/behind-3", what: "the same with blocks of 3", run: |setup| behind(setup, 3, queue(0, 3)) };

pub(super) const TWO_PRODUCERS_1: Client = Client {
    name: "bbq/2p1c-1",
    what: "two producers with one attempt that may stop half-way, a consumer with two; blocks of 1",
    run: |setup| ends::shared(setup, window(1), queue(0, 1), 0, [1, 1], [2]),
};

pub(super) const TWO_PRODUCERS_2: Client = Client {
    name: "bbq/2p1c-2",
    what: "the same with blocks of 2: what the producer that commits last tells of both pushes",
    run: |setup| ends::shared(setup, window(2), queue(0, 2), 0, [1, 1], [2]),
};

pub(super) const THREE_PRODUCERS: Client = Client {
    name: "bbq/3p",
    what: "three equal producers with one attempt each, blocks of 2; then what they pushed is popped",
    run: |setup| ends::equals::<_, _, 3>(setup, window(2), queue(0, 2), 0),
};

pub(super) const THREE_TO_ONE: Client = Client {
    name: "bbq/3p1c",
    what: "the same beside a consumer with one attempt, blocks of 3",
    run: |setup| ends::equals::<_, _, 3>(setup, window(3), queue(0, 3), 1),
};

pub(super) const TWO_CONSUMERS_1: Client = Client {
    name: "bbq/1p2c-1",
    what: "an item in the queue, one producer with two attempts, two consumers with one; blocks of 1",
    run: |setup| ends::shared(&setup.apart(), window(1), queue(0, 1), 1, [2], [1, 1]),
};

pub(super) const TWO_TO_TWO_1: Client = Client {
    name: "bbq/2p2c-1",
    what: "two producers and two consumers, one attempt each, blocks of 1",
    run: |setup| ends::shared(setup, window(1), queue(0, 1), 0, [1, 1], [1, 1]),
};

pub(super) const TWO_TO_TWO_2: Client = Client {
    name: "bbq/2p2c-2",
    what: "the same with blocks of 2, one of which is used up",
    run: |setup| ends::shared(setup, window(2), queue(0, 2), 1, [1, 1], [1, 1]),
};

pub(super) const TWO_TO_TWO_AGAIN: Client = Client {
    name: "bbq/2p2c-again",
    what: "the same with blocks of 1 that were used before: the pushes use again what the pops free",
    run: |setup| ends::shared(&setup.apart(), window(1), ends::used(queue(0, 1), 2), 1, [1, 1], [1, 1]),
};

pub(super) const EMPTIED: Client = Client {
    name: "bbq/emptied",
    what: "two items in the queue, two threads that pop one, a third that pops and pushes: nobody may find it full; blocks of 1",
    run: |setup| ends::emptied(setup, window(1), queue(0, 1)),
};

pub(super) const GONE: Client = Client {
    name: "bbq/gone",
    what: "a thread pushes; it and another one let their consumers go: the last one drops the item",
    run: |setup| {
        let build = || mpmc::with_wait(2, 1, Yield).expect("two blocks are a queue");
        ends::gone(setup, build, |tx, item| mpmc::Producer::try_push(tx, item).is_ok())
    },
};

pub(super) const LAPS: Client = Client {
    name: "bbq/laps",
    what: "a consumer with one attempt while another thread pushes and pops the ring round (errata E1, E2)",
    run: |setup| ends::laps(setup, window(1), queue(0, 1)),
};

/// `N` = 2 blocks of `S` entries are full with `(N - 1) * S + 1` to `N * S` items.
pub(super) fn window(entries: usize) -> Bounded<u64> {
    Bounded::new(entries + 1, 2 * entries)
}

fn queue(head: u64, entries: usize) -> impl Fn() -> (Producer, Consumer) {
    move || mpmc::shared_from(head, 2, entries, Yield).expect("two blocks are a queue")
}

pub(super) fn push_one<C: Users>(log: &mut Log<Queue<u64>>, tx: &mpmc::Producer<Pair, Yield, C>, number: u64) -> bool {
    push(log, number, || tx.try_push(Pair::new(number)))
}

/// As `push_one`, by an exchange instead of an addition.
fn push_batch(log: &mut Log<Queue<u64>>, tx: &Producer, number: u64) -> bool {
    push(log, number, || tx.try_push_slice(&[Pair::new(number)]).map(|count| assert_eq!(count, 1)))
}

/// Three of four entries are taken, the last of one block and the first of the other; both threads push, and one of
/// them pops before. Nobody may see the queue full.
pub(super) fn full<P: Tx + Clone + Sync, C: Rx>(
    setup: &Setup,
    build: impl Fn() -> (P, C) + Send + Sync + 'static,
    push: fn(&mut Log<Queue<u64>>, &P, u64) -> bool,
) -> Outcome {
    setup.linearizable(window(2), move |recorder| {
        let (tx, mut rx) = build();
        let mut log = recorder.log(0);
        let mut pushed = (0..4).filter(|&number| push(&mut log, &tx, number)).count() as u64;
        let mut popped = rx.pop_some(&mut log, 3);
        pushed += u64::from(push(&mut log, &tx, 4));
        let other = thread::spawn({
            let (tx, mut log) = (tx.clone(), recorder.log(1));
            move || u64::from(push(&mut log, &tx, 6))
        });
        popped += rx.pop_some(&mut log, 1);
        pushed += u64::from(push(&mut log, &tx, 5)) + other.join().unwrap();
        assert_eq!(popped + rx.drain(&mut log), pushed);
    })
}

/// Three pushes, of which one has ended when the consumer looks: it may be behind others that have not.
pub(super) fn behind<P: Tx + Clone, C: Rx>(
    setup: &Setup,
    entries: usize,
    build: impl Fn() -> (P, C) + Send + Sync + 'static,
) -> Outcome {
    setup.linearizable(window(entries), move |recorder| {
        let (tx, mut rx) = build();
        let push = |number: u64| {
            let (mut tx, mut log) = (tx.clone(), recorder.log(number as usize + 1));
            thread::spawn(move || u64::from(push(&mut log, number, || tx.try_push(Pair::new(number)))))
        };
        let (others, ended) = ([push(0), push(1)], push(2));
        let mut pushed = ended.join().unwrap();
        let mut log = recorder.log(0);
        let popped = rx.pop_some(&mut log, 1);
        pushed += others.map(|other| other.join().unwrap()).iter().sum::<u64>();
        assert_eq!(popped + rx.drain(&mut log), pushed);
    })
}

/// What is given up is in no history, though it takes room and may stand before items: here the items that are pushed are those that
/// are popped, in order, and nobody writes where somebody else does. A block has so many `entries`, and they are given up one by one.
pub(super) fn holes<C: Users, R: Rx>(
    setup: &Setup,
    entries: u64,
    build: impl Fn() -> (mpmc::Producer<Pair, Yield, C>, R) + Send + Sync + 'static,
) -> Outcome {
    setup.asserting(move || {
        let (tx, mut rx) = build();
        let gives_up = thread::spawn({
            let tx = tx.clone();
            move || {
                for _ in 0..entries {
                    if let Ok(mut grant) = tx.reserve(1) {
                        grant.push(Pair::new(7)).expect("the grant has an entry");
                    }
                }
            }
        });
        let (mut pushed, mut popped) = (0, 0);
        let mut pop = || {
            rx.try_pop().map(|item| {
                assert_eq!(item.number(), popped);
                popped += 1;
            })
        };
        for _ in 0..2 {
            let _ = pop();
            for _ in 0..entries {
                pushed += u64::from(tx.try_push(Pair::new(pushed)).is_ok());
            }
        }
        gives_up.join().unwrap();
        while pop().is_ok() {}
        assert_eq!(popped, pushed);
    })
}
