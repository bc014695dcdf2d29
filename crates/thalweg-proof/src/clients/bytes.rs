//! BBQ for byte messages. Two blocks of two granules; messages of one and of two, so that they go over the edge of a block.

use super::ends::{self, Outcome, Rx, Tx};
use super::{Pair, pop, push};
use crate::{Client, Setup};
use thalweg_check::history::{Bounded, Log, Queue};
use thalweg_queue::bbq::bytes::{self, PushBytesError};
use thalweg_queue::{TryPopError, TryPushError};
use thalweg_sync::thread;

/// Even numbers travel in messages of one granule, odd ones in messages of two.
#[derive(Clone)]
struct Producer(bytes::Producer);

#[derive(Clone)]
struct Consumer(bytes::Consumer);

impl Tx for Producer {
    fn try_push(&mut self, item: Pair) -> Result<(), TryPushError<Pair>> {
        let Pair([number, complement]) = item;
        let mut message = [0; 32];
        message[..8].copy_from_slice(&number.to_le_bytes());
        message[8..16].copy_from_slice(&complement.to_le_bytes());
        let bytes = if number.is_multiple_of(2) { 16 } else { 32 };
        self.0.try_push(&message[..bytes]).map_err(|refused| match refused {
            PushBytesError::Full => TryPushError::Full(item),
            PushBytesError::Busy => TryPushError::Busy(item),
            _ => TryPushError::Closed(item),
        })
    }
}

impl Rx for Consumer {
    fn try_pop(&mut self) -> Result<Pair, TryPopError> {
        let mut message = Vec::new();
        let bytes = self.0.try_pop(&mut message)?;
        let word = |at: usize| u64::from_le_bytes(message[at..at + 8].try_into().expect("eight bytes"));
        let item = Pair([word(0), word(8)]);
        assert_eq!(bytes, if item.number().is_multiple_of(2) { 16 } else { 32 }, "a frame of another message");
        Ok(item)
    }
}

pub(super) const ONE_TO_ONE: Client = Client {
    name: "bytes/1p1c",
    what: "one producer with four attempts, one consumer with two: over the edge, and round",
    run: |setup| ends::between(setup, window(), queue, [4, 2]),
};

pub(super) const AGED: Client = Client {
    name: "bytes/aged",
    what: "the same across the wrap of the counters, three attempts each",
    run: |setup| ends::between(setup, window(), aged, [3, 3]),
};

pub(super) const END: Client = Client {
    name: "bytes/end",
    what: "the producer leaves two messages behind; the end comes after them",
    run: |setup| ends::end(setup, window(), queue),
};

pub(super) const ROLES: Client = Client {
    name: "bytes/roles",
    what: "two threads that push one and pop one each",
    run: |setup| ends::roles(setup, window(), queue),
};

pub(super) const TWO_OVER_THE_EDGE: Client = Client {
    name: "bytes/edge",
    what: "a message in the queue, two producers with one attempt, both go over the edge of the block",
    run: edge,
};

pub(super) const TWO_PRODUCERS: Client = Client {
    name: "bytes/2p1c",
    what: "two producers and a consumer with one attempt each",
    run: |setup| ends::shared(setup, window(), queue, 0, [1, 1], [1]),
};

pub(super) const TWO_CONSUMERS: Client = Client {
    name: "bytes/1p2c",
    what: "two messages in the queue, a producer and two consumers with one attempt each",
    run: |setup| ends::shared(setup, window(), queue, 2, [1], [1, 1]),
};

pub(super) const OVERTAKEN: Client = Client {
    name: "bytes/overtaken",
    what: "a consumer with one attempt while another thread pushes and pops the ring round",
    run: overtaken,
};

/// A message of one granule in a block can keep the other from being begun; four such are the most.
fn window() -> Bounded<u64> {
    Bounded::new(1, 4)
}

fn queue() -> (Producer, Consumer) {
    from(0)
}

fn aged() -> (Producer, Consumer) {
    from(u64::MAX)
}

fn from(head: u64) -> (Producer, Consumer) {
    let (tx, rx) = bytes::bytes_from(head, 2, 32, thalweg_queue::Yield).expect("two blocks are a queue");
    (Producer(tx), Consumer(rx))
}

fn edge(setup: &Setup) -> Outcome {
    setup.linearizable(window(), |recorder| {
        let (mut tx, mut rx) = queue();
        let mut log = recorder.log(0);
        let mut pushed = tx.push_some(&mut log, 0, 1);
        let others = [1, 3].map(|number| {
            let (mut tx, mut log) = (tx.clone(), recorder.log(number));
            thread::spawn(move || tx.push_some(&mut log, number as u64, 1))
        });
        pushed += others.map(|other| other.join().unwrap()).iter().sum::<u64>();
        assert_eq!(rx.drain(&mut log), pushed);
    })
}

fn overtaken(setup: &Setup) -> Outcome {
    setup.linearizable(window(), |recorder| {
        let (mut tx, mut rx) = queue();
        let mut log = recorder.log(0);
        let mut pushed = tx.push_some(&mut log, 0, 1);
        let other = thread::spawn({
            let (mut rx, mut log) = (rx.clone(), recorder.log(1));
            move || rx.pop_some(&mut log, 1)
        });
        let mut popped = 0;
        for number in [1, 3, 4] {
            pushed += u64::from(push_one(&mut log, &mut tx, number));
            popped += u64::from(pop_one(&mut log, &mut rx));
        }
        popped += other.join().unwrap();
        assert_eq!(popped + rx.drain(&mut log), pushed);
    })
}

fn push_one(log: &mut Log<Queue<u64>>, tx: &mut Producer, number: u64) -> bool {
    push(log, number, || tx.try_push(Pair::new(number)))
}

fn pop_one(log: &mut Log<Queue<u64>>, rx: &mut Consumer) -> bool {
    pop(log, |item: &Pair| item.number(), || rx.try_pop()).is_ok()
}
