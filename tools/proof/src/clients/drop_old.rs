//! BBQ in drop-old mode. Two blocks of one entry: every push after the second overwrites one. In each execution an item is popped,
//! or counted as dropped.

use super::ends::{self, Outcome, Rx, Tx};
use super::{Pair, pop, push};
use crate::{Client, Setup};
use thalweg_check::history::{DropOld, Log, Queue};
use thalweg_queue::Yield;
use thalweg_queue::overwriting::{self, Plain};
use thalweg_queue::{TryPopError, TryPushError};
use thalweg_sync::thread;

// SAFETY: two numbers.
unsafe impl Plain for Pair {}

type Producer = overwriting::Producer<Pair, Yield>;
type Consumer = overwriting::Consumer<Pair, Yield>;

impl Tx for Producer {
    fn try_push(&mut self, item: Pair) -> Result<(), TryPushError<Pair>> {
        Self::try_push(self, item)
    }
}

impl Rx for Consumer {
    fn try_pop(&mut self) -> Result<Pair, TryPopError> {
        Self::try_pop(self)
    }

    fn dropped(&self) -> u64 {
        Self::dropped(self)
    }
}

pub(super) const LAP_1: Client = Client {
    name: "drop_old/lap-1",
    what: "one producer with four attempts, one consumer with two, blocks of 1: a lap while it reads",
    run: |setup| between(setup, [2, 1], 0, 4, 2),
};

pub(super) const LAP_2: Client = Client {
    name: "drop_old/lap-2",
    what: "the same with blocks of 2, six attempts and two",
    run: |setup| between(setup, [2, 2], 0, 6, 2),
};

pub(super) const LAP_TWICE: Client = Client {
    name: "drop_old/lap-twice",
    what: "blocks of 1, six attempts and one: it may be overrun by more than a round",
    run: |setup| between(setup, [2, 1], 0, 6, 1),
};

pub(super) const FOUR: Client = Client {
    name: "drop_old/four",
    what: "four blocks of 1, six attempts and two: after a lap older blocks survive",
    run: |setup| between(setup, [4, 1], 0, 6, 2),
};

pub(super) const AGED: Client = Client {
    name: "drop_old/aged",
    what: "blocks of 1, across the wrap of the counters",
    run: |setup| between(setup, [2, 1], u64::MAX - 1, 4, 2),
};

pub(super) const ROLES_1: Client = Client {
    name: "drop_old/roles-1",
    what: "two threads that push one and pop one each, blocks of 1",
    run: |setup| roles(setup, 1),
};

pub(super) const ROLES_2: Client =
    Client { name: "drop_old/roles-2", what: "the same with blocks of 2", run: |setup| roles(setup, 2) };

pub(super) const END: Client =
    Client { name: "drop_old/end", what: "the producer leaves items behind; the end comes after them", run: end };

pub(super) const OVERTAKEN: Client = Client {
    name: "drop_old/overtaken",
    what: "two producers, one with two attempts and one with one that may be overtaken by a round; blocks of 1",
    run: |setup| ends::shared(setup, window([2, 1]), || queue([2, 1], 0), 0, [2, 1], []),
};

pub(super) const TWO_PRODUCERS: Client = Client {
    name: "drop_old/2p1c",
    what: "two producers and a consumer with one attempt each; blocks of 1",
    run: |setup| ends::shared(setup, window([2, 1]), || queue([2, 1], 0), 0, [1, 1], [1]),
};

pub(super) const HALF_WAY: Client = Client {
    name: "drop_old/half-way",
    what: "blocks of 3: two producers with one attempt, a consumer with two, which takes what is in front of a push that is half-way",
    run: |setup| ends::shared(setup, window([2, 3]), || queue([2, 3], 0), 0, [1, 1], [2]),
};

pub(super) const TWO_CONSUMERS: Client = Client {
    name: "drop_old/1p2c",
    what: "an item in the queue, a producer with two attempts, two consumers with one; blocks of 1",
    run: |setup| ends::shared(setup, window([2, 1]), || queue([2, 1], 0), 1, [2], [1, 1]),
};

pub(super) const JUMP: Client = Client {
    name: "drop_old/jump",
    what: "a thread pushes three and pops, another pops: who is overrun finds what the other has pushed; blocks of 1",
    run: jump,
};

pub(super) const HANDED: Client = Client {
    name: "drop_old/handed",
    what: "a thread pushes and pops, another pops what a third has pushed before it; blocks of 2",
    run: handed,
};

pub(super) const BEGUN: Client = Client {
    name: "drop_old/begun",
    what: "a consumer that knows of one item while others push two more: it finds its block begun again; blocks of 1",
    run: begun,
};

pub(super) const LATE: Client = Client {
    name: "drop_old/late",
    what: "a producer that looks in one round and allocates in the next, which another has begun; blocks of 1",
    run: late,
};

/// The newest `(N - 1) * S` items are kept.
fn window([blocks, entries]: [usize; 2]) -> DropOld<u64> {
    DropOld::new((blocks - 1) * entries, blocks * entries)
}

fn queue([blocks, entries]: [usize; 2], head: u64) -> (Producer, Consumer) {
    overwriting::drop_old_from(head, blocks, entries, thalweg_queue::Yield).expect("two blocks are a queue")
}

fn push_some(log: &mut Log<Queue<u64>>, tx: &Producer, first: u64, attempts: u64) -> u64 {
    (first..first + attempts).filter(|&number| push(log, number, || tx.try_push(Pair::new(number)))).count() as u64
}

fn pop_one(log: &mut Log<Queue<u64>>, rx: &Consumer) -> Result<u64, TryPopError> {
    pop(log, |item: &Pair| item.number(), || rx.try_pop()).map(Pair::number)
}

fn pop_some(log: &mut Log<Queue<u64>>, rx: &Consumer, attempts: u64) -> u64 {
    (0..attempts).filter(|_| pop_one(log, rx).is_ok()).count() as u64
}

/// Pops what is left. What was pushed was popped, now or before, or is counted as dropped.
fn pop_the_rest(log: &mut Log<Queue<u64>>, rx: &Consumer, pushed: u64, mut popped: u64) {
    while pop_one(log, rx).is_ok() {
        popped += 1;
    }
    assert_eq!(popped + rx.dropped(), pushed);
}

fn between(setup: &Setup, shape: [usize; 2], head: u64, pushes: u64, pops: u64) -> Outcome {
    setup.linearizable(window(shape), move |recorder| {
        let (tx, rx) = queue(shape, head);
        let mut log = recorder.log(1);
        // The producer's handle comes back, so that nothing closes.
        let producer = thread::spawn(move || (push_some(&mut log, &tx, 0, pushes), tx));
        let mut log = recorder.log(0);
        let popped = pop_some(&mut log, &rx, pops);
        let (pushed, _tx) = producer.join().unwrap();
        assert_eq!(pushed, pushes, "alone, nobody is in the way of a producer");
        pop_the_rest(&mut log, &rx, pushed, popped);
    })
}

fn roles(setup: &Setup, entries: usize) -> Outcome {
    setup.linearizable(window([2, entries]), move |recorder| {
        let (tx, rx) = queue([2, entries], 0);
        let other = thread::spawn({
            let (tx, rx, mut log) = (tx.clone(), rx.clone(), recorder.log(1));
            move || [push_some(&mut log, &tx, 10, 1), pop_some(&mut log, &rx, 1)]
        });
        let mut log = recorder.log(0);
        let pushed = push_some(&mut log, &tx, 20, 1);
        let popped = pop_some(&mut log, &rx, 1);
        let [their_pushed, their_popped] = other.join().unwrap();
        pop_the_rest(&mut log, &rx, pushed + their_pushed, popped + their_popped);
    })
}

fn end(setup: &Setup) -> Outcome {
    setup.linearizable(window([2, 1]), |recorder| {
        let (tx, rx) = queue([2, 1], 0);
        let mut log = recorder.log(1);
        let producer = thread::spawn(move || {
            let pushed = push_some(&mut log, &tx, 0, 3);
            log.call(|| drop(tx), |()| Queue::Left);
            pushed
        });
        let mut log = recorder.log(0);
        let (mut popped, mut closed) = (0, false);
        for _ in 0..3 {
            match pop_one(&mut log, &rx) {
                Ok(_) => {
                    assert!(!closed, "an item after the end");
                    popped += 1;
                }
                Err(refused) => closed |= refused == TryPopError::Closed,
            }
        }
        let pushed = producer.join().unwrap();
        pop_the_rest(&mut log, &rx, pushed, popped);
        assert_eq!(pop_one(&mut log, &rx), Err(TryPopError::Closed));
    })
}

fn jump(setup: &Setup) -> Outcome {
    setup.linearizable(window([2, 1]), |recorder| {
        let (tx, rx) = queue([2, 1], 0);
        let other = thread::spawn({
            let (rx, mut log) = (rx.clone(), recorder.log(1));
            move || pop_some(&mut log, &rx, 1)
        });
        let mut log = recorder.log(0);
        let pushed = push_some(&mut log, &tx, 0, 3);
        let popped = pop_some(&mut log, &rx, 1);
        let popped = popped + other.join().unwrap();
        pop_the_rest(&mut log, &rx, pushed, popped);
    })
}

/// Who pops passes on what it has seen of others, though it has pushed nothing itself.
fn handed(setup: &Setup) -> Outcome {
    setup.linearizable(window([2, 2]), |recorder| {
        let (tx, rx) = queue([2, 2], 0);
        let both = thread::spawn({
            let (tx, rx, mut log) = (tx.clone(), rx.clone(), recorder.log(1));
            move || [push_some(&mut log, &tx, 10, 1), pop_some(&mut log, &rx, 1)]
        });
        let mut log = recorder.log(0);
        let pushed = push_some(&mut log, &tx, 20, 1);
        let consumer = thread::spawn({
            let (rx, mut log) = (rx.clone(), recorder.log(2));
            move || pop_some(&mut log, &rx, 1)
        });
        let ([their_pushed, their_popped], popped) = (both.join().unwrap(), consumer.join().unwrap());
        pop_the_rest(&mut log, &rx, pushed + their_pushed, popped + their_popped);
    })
}

/// Who begins a block passes on what it has seen of others, though it has pushed nothing itself.
fn begun(setup: &Setup) -> Outcome {
    setup.linearizable(window([2, 1]), |recorder| {
        let (tx, rx) = queue([2, 1], 0);
        let mut log = recorder.log(0);
        let mut pushed = push_some(&mut log, &tx, 0, 1);
        let consumer = thread::spawn({
            let (rx, mut log) = (rx.clone(), recorder.log(1));
            move || pop_some(&mut log, &rx, 1)
        });
        pushed += push_some(&mut log, &tx, 1, 1);
        let producer = thread::spawn({
            let (tx, mut log) = (tx.clone(), recorder.log(2));
            move || push_some(&mut log, &tx, 2, 1)
        });
        let (their_pushed, popped) = (producer.join().unwrap(), consumer.join().unwrap());
        pop_the_rest(&mut log, &rx, pushed + their_pushed, popped);
    })
}

/// Who allocates in a round that it has not looked at comes after those who wrote in the one before. Items of one word: else there
/// are four times as many executions.
fn late(setup: &Setup) -> Outcome {
    setup.linearizable(window([2, 1]), |recorder| {
        let (tx, rx) = overwriting::with_wait::<u64, _>(2, 1, Yield).expect("two blocks are a queue");
        let push_one = |log: &mut Log<Queue<u64>>, tx: &overwriting::Producer<u64, Yield>, number| {
            u64::from(push(log, number, || tx.try_push(number)))
        };
        let late = thread::spawn({
            let (tx, mut log) = (tx.clone(), recorder.log(1));
            move || push_one(&mut log, &tx, 10)
        });
        let mut log = recorder.log(0);
        let mut pushed = push_one(&mut log, &tx, 0) + push_one(&mut log, &tx, 1);
        let other = thread::spawn({
            let (tx, mut log) = (tx.clone(), recorder.log(2));
            move || push_one(&mut log, &tx, 2)
        });
        pushed += late.join().unwrap() + other.join().unwrap();
        let mut popped = 0;
        while pop(&mut log, |number: &u64| *number, || rx.try_pop()).is_ok() {
            popped += 1;
        }
        assert_eq!(popped + rx.dropped(), pushed);
    })
}
