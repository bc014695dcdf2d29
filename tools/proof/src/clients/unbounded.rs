//! Queues without a capacity. Blocks of one entry: each push links one, each pop leaves one, and the third is a block used again.

use super::Pair;
use super::ends::{self, Rx, Tx};
use crate::Client;
use thalweg_check::history::Bounded;
use thalweg_check::{Kept, equal};
use thalweg_queue::unbounded::{Producer, mpmc, mpsc};
use thalweg_queue::{Park, PopError, TryPopError, TryPushError, Yield};
use thalweg_sync::thread;

impl Tx for Producer<Pair, Yield> {
    fn try_push(&mut self, item: Pair) -> Result<(), TryPushError<Pair>> {
        Self::try_push(self, item)
    }
}

impl Rx for mpsc::Consumer<Pair, Yield> {
    fn try_pop(&mut self) -> Result<Pair, TryPopError> {
        Self::try_pop(self)
    }
}

impl Tx for Kept<mpmc::Sender<Pair>> {
    fn try_push(&mut self, item: Pair) -> Result<(), TryPushError<Pair>> {
        (**self).try_push(item)
    }
}

impl Rx for Kept<mpmc::Receiver<Pair>> {
    fn try_pop(&mut self) -> Result<Pair, TryPopError> {
        (**self).try_pop()
    }
}

fn to_one(shift: u32) -> impl Fn() -> (Producer<Pair, Yield>, mpsc::Consumer<Pair, Yield>) {
    move || mpsc::with_blocks(shift, Yield)
}

fn to_many(shift: u32) -> impl Fn() -> (Kept<mpmc::Sender<Pair>>, Kept<mpmc::Receiver<Pair>>) {
    move || {
        let (tx, rx) = mpmc::with_blocks(shift, Park::new());
        (Kept::new(tx), Kept::new(rx))
    }
}

/// Room for more than any client pushes.
fn any() -> Bounded<u64> {
    Bounded::new(100, 100)
}

pub(super) const CLIENTS: &[Client] = &[
    Client {
        name: "unbounded/1p1c-1",
        what: "one producer, one consumer, four attempts each, blocks of 1: blocks are left, given back and used again",
        run: |setup| ends::between(setup, any(), to_one(0), [4, 4]),
    },
    Client {
        name: "unbounded/1p1c-2",
        what: "the same with blocks of 2, five attempts each",
        run: |setup| ends::between(setup, any(), to_one(1), [5, 5]),
    },
    Client {
        name: "unbounded/swap",
        what: "two threads, two attempts each, that then change ends and go on",
        run: |setup| ends::swap(setup, any(), to_one(0), 2),
    },
    Client {
        name: "unbounded/end",
        what: "the producer leaves two items behind; the end comes after them",
        run: |setup| ends::end(setup, any(), to_one(0)),
    },
    Client {
        name: "unbounded/close",
        what: "the producer pushes two items and closes the queue, but stays; the end comes after them",
        run: |setup| ends::close(setup, any(), to_one(0), Producer::close),
    },
    Client {
        name: "unbounded/end-behind",
        what: "two threads push, and the second one closes the queue: the end comes after what it pushed",
        run: |setup| ends::behind(setup, to_one(0), Producer::close),
    },
    Client {
        name: "unbounded/late",
        what: "a producer may look for its block late: another thread pushes and pops the blocks before",
        run: |setup| ends::late(setup, any(), to_one(0)),
    },
    Client {
        name: "unbounded/2p1c-1",
        what: "two producers with two attempts and one, a consumer with two; blocks of 1",
        run: |setup| ends::to_one(setup, any(), to_one(0), [2, 1], 2),
    },
    Client {
        name: "unbounded/2p1c-2",
        what: "the same with blocks of 2",
        run: |setup| ends::to_one(setup, any(), to_one(1), [2, 1], 2),
    },
    Client {
        name: "unbounded/linked-twice",
        what: "two producers link a block, and one of them gives its own back; the consumer frees it when it gives back another",
        run: |setup| setup.asserting(linked_twice),
    },
    Client {
        name: "unbounded/1p2c",
        what: "a producer with two attempts, two consumers with one each, which take turns under the lock",
        run: |setup| ends::from_one(setup, any(), to_many(0), 0, 2, [1, 1]),
    },
    Client {
        name: "unbounded/push",
        what: "a push wakes the consumer, which may be asleep",
        run: |setup| setup.asserting(push),
    },
    Client {
        name: "unbounded/half-way",
        what: "two producers, one of which may be half-way when the other one ends; the consumer, which may be asleep, wants both items",
        run: |setup| setup.asserting(half_way),
    },
    Client {
        name: "unbounded/last",
        what: "the last producer leaves; a consumer that may be asleep sees the end",
        run: |setup| setup.asserting(last),
    },
];

/// Positions 0 and 1 are filled, and the hint has left the first block. So the consumer gives that one back whatever the producers do.
fn linked_twice() {
    let (tx, rx) = mpsc::with_blocks::<u64, _>(0, Yield);
    let (tx, mut rx) = (Kept::new(tx), Kept::new(rx));
    (0..2).for_each(|n| tx.push(n).unwrap());
    let ends = [tx.clone(), tx.clone()];
    let producers = equal(|| {
        ends.map(|tx| {
            thread::spawn(move || {
                tx.push(2).unwrap();
                tx
            })
        })
    });
    assert_eq!((rx.try_pop(), rx.try_pop()), (Ok(0), Ok(1)));
    drop(producers.map(|producer| producer.join().unwrap()));
}

fn push() {
    let (tx, rx) = mpmc::with_blocks(0, Park::new());
    let (tx, rx) = (Kept::new(tx), Kept::new(rx));
    let producer = thread::spawn(move || {
        tx.push(7).unwrap();
        // Not dropped before the item is popped: that would wake the consumer, too.
        tx
    });
    assert_eq!(rx.pop(), Ok(7));
    drop(producer.join().unwrap());
}

fn half_way() {
    let (tx, rx) = mpsc::with_blocks(0, Park::new());
    let (tx, mut rx) = (Kept::new(tx), Kept::new(rx));
    let other = tx.clone();
    let producer = thread::spawn(move || {
        other.push(1).unwrap();
        other
    });
    let second = tx.clone();
    let second = thread::spawn(move || {
        second.push(2).unwrap();
        second
    });
    assert_eq!(rx.pop().unwrap() + rx.pop().unwrap(), 3);
    drop((producer.join().unwrap(), second.join().unwrap(), tx));
}

fn last() {
    let (tx, rx) = mpsc::with_blocks::<u64, _>(0, Park::new());
    let (tx, mut rx) = (Kept::new(tx), Kept::new(rx));
    let producer = thread::spawn(move || drop(tx));
    assert_eq!(rx.pop(), Err(PopError));
    producer.join().unwrap();
}
