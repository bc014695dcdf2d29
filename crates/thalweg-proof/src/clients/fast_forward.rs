//! FastForward. The smallest ring has two lines of eight slots. It is brought to the slot in question before the
//! threads start, so that they need few operations.

use super::{Pair, pop, push};
use crate::{Client, Setup};
use thalweg_check::history::{Bounded, Log, Queue};
use thalweg_check::{Explored, Violation};
use thalweg_queue::fast_forward::{self, Consumer, Producer, fast_forward};
use thalweg_queue::{TryPopError, TryPushError};
use thalweg_sync::cell::Slot;
use thalweg_sync::thread;

/// An item behind a pointer: the checker sees whether its payload was written before it is read.
struct Item(Slot<Pair>);

impl Item {
    fn new(number: u64) -> Box<Self> {
        Box::new(Self(Slot::new(Pair([0, 0])))).with(number)
    }

    fn with(self: Box<Self>, number: u64) -> Box<Self> {
        // SAFETY: an item has one owner, and this is it.
        self.0.with_mut(|pair| unsafe { *pair = Pair::new(number) });
        self
    }

    fn number(&self) -> u64 {
        // SAFETY: as above.
        self.0.with(|pair| unsafe { *pair }).number()
    }
}

pub(super) const FIRST_LINE: Client = Client {
    name: "ff/1p1c",
    what: "one producer with five attempts, one consumer with five, in a fresh ring",
    run: |setup| between(setup, 0, 0, 5, 5),
};

pub(super) const WRAP: Client = Client {
    name: "ff/wrap",
    what: "the same at the end of a ring that was used twice: lines are emptied, slots used a third time",
    run: |setup| between(setup, 30, 0, 5, 5),
};

pub(super) const FULL: Client = Client {
    name: "ff/full",
    what: "a full ring: two attempts to push while the consumer empties a line",
    run: |setup| between(setup, 5, 16, 2, 4),
};

pub(super) const END: Client =
    Client { name: "ff/end", what: "the producer leaves two items behind; the end comes after them", run: end };

/// A ring of 16 slots is full with 1 (the capacity that was asked for) to 16 items.
fn window() -> Bounded<u64> {
    Bounded::new(1, 16)
}

fn push_one(log: &mut Log<Queue<u64>>, tx: &mut Producer<Box<Item>>, number: u64) -> bool {
    push(log, number, || tx.try_push(Item::new(number)))
}

fn pop_one(log: &mut Log<Queue<u64>>, rx: &mut Consumer<Box<Item>>) -> Result<u64, TryPopError> {
    pop(log, |item: &u64| *item, || rx.try_pop().map(|item| item.number()))
}

/// A ring in which `used` items have come and gone and as many as fit of `inside` are.
fn ring(log: &mut Log<Queue<u64>>, used: u64, inside: u64) -> (fast_forward::Ends<Box<Item>>, u64) {
    let (mut tx, mut rx) = fast_forward(1).expect("one item is a queue");
    for _ in 0..used {
        let pushed: Result<(), TryPushError<_>> = tx.try_push(Item::new(0));
        assert!(pushed.is_ok() && rx.try_pop().is_ok(), "one item always fits");
    }
    let inside = (0..inside).take_while(|&number| push_one(log, &mut tx, number)).count() as u64;
    ((tx, rx), inside)
}

fn between(setup: &Setup, used: u64, inside: u64, pushes: u64, pops: u64) -> Result<Explored, Box<Violation>> {
    setup.linearizable(window(), move |recorder| {
        let mut log = recorder.log(0);
        let ((mut tx, mut rx), inside) = ring(&mut log, used, inside);
        let mut producer = recorder.log(1);
        let producer = thread::spawn(move || {
            // The handle comes back, so that nothing closes.
            ((0..pushes).filter(|number| push_one(&mut producer, &mut tx, 100 + number)).count() as u64, tx)
        });
        let mut popped = (0..pops).filter(|_| pop_one(&mut log, &mut rx).is_ok()).count() as u64;
        let (pushed, _tx) = producer.join().unwrap();
        while pop_one(&mut log, &mut rx).is_ok() {
            popped += 1;
        }
        assert_eq!(popped, inside + pushed);
    })
}

fn end(setup: &Setup) -> Result<Explored, Box<Violation>> {
    setup.linearizable(window(), |recorder| {
        let mut log = recorder.log(0);
        let ((mut tx, mut rx), _) = ring(&mut log, 7, 0);
        let mut producer = recorder.log(1);
        let producer = thread::spawn(move || {
            push_one(&mut producer, &mut tx, 0);
            push_one(&mut producer, &mut tx, 1);
            producer.call(|| drop(tx), |()| Queue::Left);
        });
        for _ in 0..3 {
            let _ = pop_one(&mut log, &mut rx);
        }
        producer.join().unwrap();
        while pop_one(&mut log, &mut rx).is_ok() {}
        assert_eq!(pop_one(&mut log, &mut rx), Err(TryPopError::Closed));
    })
}
