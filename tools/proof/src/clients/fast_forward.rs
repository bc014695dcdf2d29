//! FastForward. The smallest ring has two lines of eight slots. It is brought to the slot in question before the
//! threads start, so that they need few operations.

use super::Pair;
use super::ends::{self, Outcome, Rx, Tx};
use crate::{Client, Setup};
use thalweg_check::history::Bounded;
use thalweg_queue::spsc::fast_forward::{self, Consumer, InPlace, Producer};
use thalweg_queue::{TryPopError, TryPushError, Yield};
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

/// Items behind pointers.
impl Tx for Producer<Box<Item>, Yield> {
    fn try_push(&mut self, item: Pair) -> Result<(), TryPushError<Pair>> {
        Self::try_push(self, Item::new(item.number())).map_err(|refused| match refused {
            TryPushError::Full(_) => TryPushError::Full(item),
            TryPushError::Busy(_) => TryPushError::Busy(item),
            TryPushError::Closed(_) => TryPushError::Closed(item),
        })
    }
}

impl Rx for Consumer<Box<Item>, Yield> {
    fn try_pop(&mut self) -> Result<Pair, TryPopError> {
        Self::try_pop(self).map(|item| Pair::new(item.number()))
    }
}

/// Items in the slots.
impl Tx for Producer<Pair, Yield, InPlace<Pair>> {
    fn try_push(&mut self, item: Pair) -> Result<(), TryPushError<Pair>> {
        Self::try_push(self, item)
    }
}

impl Rx for Consumer<Pair, Yield, InPlace<Pair>> {
    fn try_pop(&mut self) -> Result<Pair, TryPopError> {
        Self::try_pop(self)
    }
}

fn words() -> fast_forward::Ends<Box<Item>, Yield> {
    fast_forward::with_wait(1, Yield).expect("one item is a queue")
}

fn places() -> fast_forward::Ends<Pair, Yield, InPlace<Pair>> {
    fast_forward::in_place_with_wait(1, Yield).expect("one item is a queue")
}

pub(super) const CLIENTS: &[Client] = &[
    Client {
        name: "ff/1p1c",
        what: "one producer with five attempts, one consumer with five, in a fresh ring",
        run: |setup| ends::between(setup, window(), ends::used(words, 0), [5, 5]),
    },
    Client {
        name: "ff/wrap",
        what: "the same at the end of a ring that was used twice: lines are emptied, slots used a third time",
        run: |setup| ends::between(setup, window(), ends::used(words, 30), [5, 5]),
    },
    Client {
        name: "ff/full",
        what: "a full ring: two attempts to push while the consumer empties a line",
        run: |setup| full(setup, ends::used(words, 5)),
    },
    Client {
        name: "ff/end",
        what: "the producer leaves two items behind; the end comes after them",
        run: |setup| ends::end(setup, window(), ends::used(words, 7)),
    },
    Client {
        name: "ff/swap",
        what: "two threads with two attempts each, over the end of a line, that then change ends and go on",
        run: |setup| ends::swap(setup, window(), ends::used(words, 7), 2),
    },
    Client {
        name: "ff/relay",
        what: "each end goes from one thread to another, two attempts in each",
        run: |setup| ends::relay(setup, window(), ends::used(words, 7), 2),
    },
    Client {
        name: "ff/chain",
        what: "a thread pushes to a queue, a second one moves to another queue, a third one pops; three attempts each",
        run: |setup| ends::chain(setup, ends::used(words, 7), 3),
    },
    Client {
        name: "ff/in-place",
        what: "items in the slots: five attempts each in a fresh ring",
        run: |setup| ends::between(setup, window(), ends::used(places, 0), [5, 5]),
    },
    Client {
        name: "ff/in-place-wrap",
        what: "the same at the end of a ring that was used twice",
        run: |setup| ends::between(setup, window(), ends::used(places, 30), [5, 5]),
    },
    Client {
        name: "ff/in-place-full",
        what: "items in the slots of a full ring, of which the consumer empties a line",
        run: |setup| full(setup, ends::used(places, 5)),
    },
    Client {
        name: "ff/in-place-end",
        what: "items in the slots: the producer leaves two behind, and the end comes after them",
        run: |setup| ends::end(setup, window(), ends::used(places, 7)),
    },
    Client {
        name: "ff/in-place-swap",
        what: "items in the slots: two threads that change ends",
        run: |setup| ends::swap(setup, window(), ends::used(places, 7), 2),
    },
    Client {
        name: "ff/in-place-relay",
        what: "items in the slots: each end goes from one thread to another",
        run: |setup| ends::relay(setup, window(), ends::used(places, 7), 2),
    },
    Client {
        name: "ff/in-place-chain",
        what: "items in the slots: a thread between two queues",
        run: |setup| ends::chain(setup, ends::used(places, 7), 3),
    },
];

/// A ring of 16 slots is full with 1 (the capacity that was asked for) to 16 items.
fn window() -> Bounded<u64> {
    Bounded::new(1, 16)
}

/// The ring is full. Two attempts to push, four to pop.
fn full<P: Tx, C: Rx>(setup: &Setup, build: impl Fn() -> (P, C) + Send + Sync + 'static) -> Outcome {
    setup.linearizable(window(), move |recorder| {
        let mut log = recorder.log(0);
        let (mut tx, mut rx) = build();
        let inside = tx.push_some(&mut log, 0, 16);
        let mut producer = recorder.log(1);
        // The handle comes back, so that nothing closes.
        let producer = thread::spawn(move || (tx.push_some(&mut producer, 100, 2), tx));
        let popped = rx.pop_some(&mut log, 4);
        let (pushed, _tx) = producer.join().unwrap();
        assert_eq!(popped + rx.drain(&mut log), inside + pushed);
    })
}
