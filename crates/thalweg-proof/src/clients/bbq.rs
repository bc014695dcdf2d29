//! BBQ. Two blocks of one entry: every push and every pop steps to another block, and four pushes use each twice. Two
//! entries: a block is also used while it is half full.

use super::{Pair, pop, push};
use crate::{Client, Setup};
use thalweg_check::history::{Bounded, Log, Queue};
use thalweg_check::{Explored, Violation};
use thalweg_queue::{TryPopError, bbq};
use thalweg_sync::thread;

type Producer = bbq::Producer<Pair>;
type Consumer = bbq::Consumer<Pair>;

pub(super) const ONE_TO_ONE_1: Client = Client {
    name: "bbq/1p1c-1",
    what: "one producer, one consumer, four attempts each, blocks of 1: the ring goes round twice",
    run: |setup| one_to_one(setup, 1, 0, 4),
};

pub(super) const ONE_TO_ONE_2: Client = Client {
    name: "bbq/1p1c-2",
    what: "the same with blocks of 2, five attempts to push and two to pop",
    run: |setup| one_to_one(setup, 2, 0, 5),
};

pub(super) const AGED: Client = Client {
    name: "bbq/1p1c-aged",
    what: "the same with blocks of 1, across the wrap of the counters",
    run: |setup| one_to_one(setup, 1, u64::MAX - 1, 3),
};

pub(super) const ROLES_1: Client = Client {
    name: "bbq/roles-1",
    what: "two threads that push one and pop one each, blocks of 1",
    run: |setup| roles(setup, 1),
};

pub(super) const ROLES_2: Client =
    Client { name: "bbq/roles-2", what: "the same with blocks of 2", run: |setup| roles(setup, 2) };

pub(super) const END: Client =
    Client { name: "bbq/end", what: "the producer leaves two items behind; the end comes after them", run: end };

pub(super) const FULL: Client = Client {
    name: "bbq/full",
    what: "two threads push into a queue that is never full, one pops before",
    run: |setup| full(setup, push_one),
};

pub(super) const FULL_MANY: Client =
    Client { name: "bbq/full-many", what: "the same with batches of one", run: |setup| full(setup, push_batch) };

pub(super) const LATE: Client = Client {
    name: "bbq/late",
    what: "a producer may look in one round and allocate in the next: another thread fills and empties the ring",
    run: late,
};

pub(super) const TWO_PRODUCERS_1: Client = Client {
    name: "bbq/2p1c-1",
    what: "two producers with one attempt that may stop half-way, a consumer with two; blocks of 1",
    run: |setup| shared(setup, 1, 0, [1, 1], [2, 0]),
};

pub(super) const TWO_PRODUCERS_2: Client = Client {
    name: "bbq/2p1c-2",
    what: "the same with blocks of 2: what the producer that commits last tells of both pushes",
    run: |setup| shared(setup, 2, 0, [1, 1], [2, 0]),
};

pub(super) const TWO_CONSUMERS_1: Client = Client {
    name: "bbq/1p2c-1",
    what: "an item in the queue, one producer with two attempts, two consumers with one; blocks of 1",
    run: |setup| shared(setup, 1, 1, [2, 0], [1, 1]),
};

pub(super) const TWO_TO_TWO_1: Client = Client {
    name: "bbq/2p2c-1",
    what: "two producers and two consumers, one attempt each, blocks of 1",
    run: |setup| shared(setup, 1, 0, [1, 1], [1, 1]),
};

pub(super) const TWO_TO_TWO_2: Client = Client {
    name: "bbq/2p2c-2",
    what: "the same with blocks of 2, one of which is used up",
    run: |setup| shared(setup, 2, 1, [1, 1], [1, 1]),
};

pub(super) const LAPS: Client = Client {
    name: "bbq/laps",
    what: "a consumer with one attempt while another thread pushes and pops the ring round (errata E1, E2)",
    run: laps,
};

/// `N` = 2 blocks of `S` entries are full with `(N - 1) * S + 1` to `N * S` items.
fn window(entries: usize) -> Bounded<u64> {
    Bounded::new(entries + 1, 2 * entries)
}

fn queue(head: u64, entries: usize) -> (Producer, Consumer) {
    bbq::shared_from(head, 2, entries, thalweg_queue::Yield).expect("two blocks are a queue")
}

fn push_one(log: &mut Log<Queue<u64>>, tx: &Producer, number: u64) -> bool {
    push(log, number, || tx.try_push(Pair::new(number)))
}

/// As `push_one`, by an exchange instead of an addition.
fn push_batch(log: &mut Log<Queue<u64>>, tx: &Producer, number: u64) -> bool {
    push(log, number, || tx.try_push_slice(&[Pair::new(number)]).map(|count| assert_eq!(count, 1)))
}

fn pop_one(log: &mut Log<Queue<u64>>, rx: &Consumer) -> Result<u64, TryPopError> {
    pop(log, |item: &Pair| item.number(), || rx.try_pop()).map(Pair::number)
}

/// Pops what is left.
fn drain(log: &mut Log<Queue<u64>>, rx: &Consumer) -> u64 {
    let mut popped = 0;
    while pop_one(log, rx).is_ok() {
        popped += 1;
    }
    popped
}

fn one_to_one(setup: &Setup, entries: usize, head: u64, attempts: u64) -> Result<Explored, Box<Violation>> {
    setup.linearizable(window(entries), move |recorder| {
        let (tx, rx) = queue(head, entries);
        let mut log = recorder.log(1);
        // The producer's handle comes back, so that nothing closes.
        let producer =
            thread::spawn(move || ((0..attempts).filter(|&number| push_one(&mut log, &tx, number)).count() as u64, tx));
        let mut log = recorder.log(0);
        let mut popped = 0;
        for _ in 0..attempts.min(4) / (entries as u64) {
            popped += u64::from(pop_one(&mut log, &rx).is_ok());
        }
        let (pushed, _tx) = producer.join().unwrap();
        assert_eq!(popped + drain(&mut log, &rx), pushed);
    })
}

fn roles(setup: &Setup, entries: usize) -> Result<Explored, Box<Violation>> {
    setup.linearizable(window(entries), move |recorder| {
        let (tx, rx) = queue(0, entries);
        let other = thread::spawn({
            let (tx, rx, mut log) = (tx.clone(), rx.clone(), recorder.log(1));
            move || [u64::from(push_one(&mut log, &tx, 1)), u64::from(pop_one(&mut log, &rx).is_ok())]
        });
        let mut log = recorder.log(0);
        let mut pushed = u64::from(push_one(&mut log, &tx, 2));
        let mut popped = u64::from(pop_one(&mut log, &rx).is_ok());
        let [their_pushed, their_popped] = other.join().unwrap();
        (pushed, popped) = (pushed + their_pushed, popped + their_popped);
        assert_eq!(popped + drain(&mut log, &rx), pushed);
    })
}

fn end(setup: &Setup) -> Result<Explored, Box<Violation>> {
    setup.linearizable(window(1), |recorder| {
        let (tx, rx) = queue(0, 1);
        let mut log = recorder.log(1);
        let producer = thread::spawn(move || {
            push_one(&mut log, &tx, 0);
            push_one(&mut log, &tx, 1);
            log.call(|| drop(tx), |()| Queue::Left);
        });
        let mut log = recorder.log(0);
        for _ in 0..3 {
            let _ = pop_one(&mut log, &rx);
        }
        producer.join().unwrap();
        drain(&mut log, &rx);
        assert_eq!(pop_one(&mut log, &rx), Err(TryPopError::Closed));
    })
}

/// `before` items are in the queue; producers and consumers have these numbers of attempts, each in its own thread.
fn shared(
    setup: &Setup,
    entries: usize,
    before: u64,
    pushes: [u64; 2],
    pops: [u64; 2],
) -> Result<Explored, Box<Violation>> {
    setup.linearizable(window(entries), move |recorder| {
        let (tx, rx) = queue(0, entries);
        let mut log = recorder.log(0);
        for number in 0..before {
            push_one(&mut log, &tx, number);
        }
        let producers = [0, 1].map(|me| {
            let (tx, mut log, attempts) = (tx.clone(), recorder.log(1 + me), pushes[me]);
            let first = 10 * (1 + me as u64);
            (attempts > 0).then(|| {
                thread::spawn(move || (0..attempts).filter(|n| push_one(&mut log, &tx, first + n)).count() as u64)
            })
        });
        let consumers = [0, 1].map(|me| {
            let (rx, mut log, attempts) = (rx.clone(), recorder.log(3 + me), pops[me]);
            (attempts > 0)
                .then(|| thread::spawn(move || (0..attempts).filter(|_| pop_one(&mut log, &rx).is_ok()).count() as u64))
        });
        let ended = |threads: [Option<thread::JoinHandle<u64>>; 2]| {
            threads.into_iter().flatten().map(|thread| thread.join().unwrap()).sum::<u64>()
        };
        let pushed = before + ended(producers);
        let popped = ended(consumers);
        assert_eq!(popped + drain(&mut log, &rx), pushed);
    })
}

fn laps(setup: &Setup) -> Result<Explored, Box<Violation>> {
    setup.linearizable(window(1), |recorder| {
        let (tx, rx) = queue(0, 1);
        let mut log = recorder.log(0);
        push_one(&mut log, &tx, 0);
        let other = thread::spawn({
            let (rx, mut log) = (rx.clone(), recorder.log(1));
            move || u64::from(pop_one(&mut log, &rx).is_ok())
        });
        let (mut pushed, mut popped) = (1, 0);
        for number in 1..4 {
            pushed += u64::from(push_one(&mut log, &tx, number));
            popped += u64::from(pop_one(&mut log, &rx).is_ok());
        }
        popped += other.join().unwrap();
        assert_eq!(popped + drain(&mut log, &rx), pushed);
    })
}

/// Three of four entries are taken, the last of one block and the first of the other; both threads push, and one of
/// them pops before. Nobody may see the queue full.
fn full(setup: &Setup, push: fn(&mut Log<Queue<u64>>, &Producer, u64) -> bool) -> Result<Explored, Box<Violation>> {
    setup.linearizable(window(2), move |recorder| {
        let (tx, rx) = queue(0, 2);
        let mut log = recorder.log(0);
        let mut pushed = (0..4).filter(|&number| push(&mut log, &tx, number)).count() as u64;
        let mut popped = (0..3).filter(|_| pop_one(&mut log, &rx).is_ok()).count() as u64;
        pushed += u64::from(push(&mut log, &tx, 4));
        let other = thread::spawn({
            let (tx, mut log) = (tx.clone(), recorder.log(1));
            move || u64::from(push(&mut log, &tx, 6))
        });
        popped += u64::from(pop_one(&mut log, &rx).is_ok());
        pushed += u64::from(push(&mut log, &tx, 5)) + other.join().unwrap();
        assert_eq!(popped + drain(&mut log, &rx), pushed);
    })
}

/// A producer that looks in one round and allocates in the next, while the other thread fills and empties the ring.
fn late(setup: &Setup) -> Result<Explored, Box<Violation>> {
    setup.linearizable(window(1), |recorder| {
        let (tx, rx) = queue(0, 1);
        let other = thread::spawn({
            let (tx, mut log) = (tx.clone(), recorder.log(1));
            move || u64::from(push_one(&mut log, &tx, 10))
        });
        let mut log = recorder.log(0);
        let (mut pushed, mut popped) = (0, 0);
        for number in 0..2 {
            pushed += u64::from(push_one(&mut log, &tx, number));
            popped += u64::from(pop_one(&mut log, &rx).is_ok());
        }
        pushed += u64::from(push_one(&mut log, &tx, 2)) + other.join().unwrap();
        assert_eq!(popped + drain(&mut log, &rx), pushed);
    })
}
