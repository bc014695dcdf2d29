//! The mesh: rings, and the list of those that consumers have left. The rings have clients of their own; these are about
//! who reads which.
//!
//! There is no order between rings, so the clients ask that each item comes out once.

use super::Pair;
use super::ends::{self, Outcome, Rx, Tx};
use crate::{Client, Setup};
use thalweg_check::history::{KFifo, Queue};
use thalweg_queue::Yield;
use thalweg_queue::research::mesh::{self, Consumer, Producer};
use thalweg_queue::{TryPopError, TryPushError};
use thalweg_sync::cell::Slot;
use thalweg_sync::sync::Arc;
use thalweg_sync::thread;

impl Tx for Producer<Pair, Yield> {
    fn try_push(&mut self, item: Pair) -> Result<(), TryPushError<Pair>> {
        Self::try_push(self, item)
    }
}

impl Rx for Consumer<Pair, Yield> {
    /// `Empty` is not one instant for all rings.
    fn try_pop(&mut self) -> Result<Pair, TryPopError> {
        Self::try_pop(self).map_err(|refused| match refused {
            TryPopError::Empty => TryPopError::Busy,
            other => other,
        })
    }
}

pub(super) const CLIENTS: &[Client] = &[
    Client {
        name: "mesh/1x2",
        what: "a producer with two attempts, and two consumers with one: a ring for each",
        run: |setup| meet(setup, [2], [1, 1]),
    },
    Client {
        name: "mesh/2x1",
        what: "two producers with one attempt, and a consumer with two",
        run: |setup| meet(setup, [1, 1], [2]),
    },
    Client {
        name: "mesh/left",
        what: "a consumer leaves while the producer pushes into its ring: another one goes on with it",
        run: left,
    },
    Client {
        name: "mesh/2x2",
        what: "two producers with two attempts, and two consumers with one: each has one ring",
        run: |setup| meet(setup, [2, 2], [1, 1]),
    },
    Client {
        name: "mesh/roles",
        what: "two threads with a producer and a consumer each, that push one and pop one",
        run: roles,
    },
    Client {
        name: "mesh/swap",
        what: "two threads with two attempts each, that then change ends and go on",
        run: |setup| ends::swap(setup, any(), pair, 2),
    },
    Client { name: "mesh/end", what: "the producer leaves two items behind; the end comes after them", run: end },
    Client {
        name: "mesh/close",
        what: "the producer pushes two items and closes the mesh, but stays; the end comes after them, for both consumers",
        run: close,
    },
    Client {
        name: "mesh/closed",
        what: "a consumer that finds the mesh closed comes after a producer that has no ring to it",
        run: |setup| after_the_end(setup, |rx| rx.is_closed()),
    },
    Client {
        name: "mesh/drained",
        what: "a consumer that finds the end comes after a producer that has no ring to it",
        run: |setup| after_the_end(setup, |rx| rx.try_pop() == Err(TryPopError::Closed)),
    },
];

/// Any item of the queue may be next, and refusals say nothing.
fn any() -> KFifo<u64> {
    KFifo::new(usize::MAX, 1, usize::MAX)
}

/// All handles of both sides.
type Sides<const PRODUCERS: usize, const CONSUMERS: usize> =
    ([Producer<Pair, Yield>; PRODUCERS], [Consumer<Pair, Yield>; CONSUMERS]);

fn handles<const PRODUCERS: usize, const CONSUMERS: usize>() -> Sides<PRODUCERS, CONSUMERS> {
    let (producers, consumers) = mesh::with_wait(PRODUCERS, CONSUMERS, 2, 4, Yield).expect("rings are a mesh");
    let (Ok(producers), Ok(consumers)) = (producers.try_into(), consumers.try_into()) else {
        panic!("as many as asked for")
    };
    (producers, consumers)
}

fn meet<const PRODUCERS: usize, const CONSUMERS: usize>(
    setup: &Setup,
    pushes: [u64; PRODUCERS],
    pops: [u64; CONSUMERS],
) -> Outcome {
    setup.linearizable(any(), move |recorder| {
        let (producers, consumers) = handles::<PRODUCERS, CONSUMERS>();
        let mut me = 0;
        let producers = producers.map(|mut tx| {
            me += 1;
            let (mut log, first, attempts) = (recorder.log(me), 10 * me as u64, pushes[me - 1]);
            thread::spawn(move || (tx.push_some(&mut log, first, attempts), tx))
        });
        me = 0;
        let consumers = consumers.map(|mut rx| {
            me += 1;
            let (mut log, attempts) = (recorder.log(PRODUCERS + me), pops[me - 1]);
            thread::spawn(move || (rx.pop_some(&mut log, attempts), rx))
        });
        let producers = producers.map(|thread| thread.join().unwrap());
        let pushed: u64 = producers.iter().map(|(pushed, _)| pushed).sum();
        let mut log = recorder.log(0);
        let popped = consumers.map(|thread| {
            let (popped, mut rx) = thread.join().unwrap();
            popped + rx.drain(&mut log)
        });
        assert_eq!(popped.into_iter().sum::<u64>(), pushed);
    })
}

/// A mesh of one ring.
fn pair() -> (Producer<Pair, Yield>, Consumer<Pair, Yield>) {
    let ([tx], [rx]) = handles();
    (tx, rx)
}

/// Two threads, each a producer and a consumer, and each the first consumer of what the other pushes.
fn roles(setup: &Setup) -> Outcome {
    setup.linearizable(any(), |recorder| {
        // A producer begins with the consumer of its own number.
        let ([mut tx, mut other_tx], [mut other_rx, mut rx]) = handles::<2, 2>();
        let mut log = recorder.log(1);
        let other = thread::spawn(move || {
            let pushed = other_tx.push_some(&mut log, 10, 1);
            (pushed, other_rx.pop_some(&mut log, 1), other_tx, other_rx)
        });
        let mut log = recorder.log(0);
        let popped = rx.pop_some(&mut log, 1);
        let pushed = tx.push_some(&mut log, 20, 1);
        let (others_pushed, others_popped, _other_tx, mut other_rx) = other.join().unwrap();
        let left = rx.drain(&mut log) + other_rx.drain(&mut log);
        assert_eq!(popped + others_popped + left, pushed + others_pushed);
    })
}

/// One of two consumers leaves after an attempt.
fn left(setup: &Setup) -> Outcome {
    setup.linearizable(any(), |recorder| {
        let ([mut tx], [mut stays, mut leaves]) = handles::<1, 2>();
        let mut log = recorder.log(1);
        let producer = thread::spawn(move || (tx.push_some(&mut log, 0, 2), tx));
        let mut log = recorder.log(2);
        let leaving = thread::spawn(move || leaves.pop_some(&mut log, 1));
        let mut log = recorder.log(0);
        let mut popped = stays.pop_some(&mut log, 1) + leaving.join().unwrap();
        let (pushed, _tx) = producer.join().unwrap();
        popped += stays.drain(&mut log);
        assert_eq!(popped, pushed);
    })
}

fn end(setup: &Setup) -> Outcome {
    setup.linearizable(any(), |recorder| {
        let ([mut tx], [mut one, mut other]) = handles::<1, 2>();
        let mut log = recorder.log(1);
        let producer = thread::spawn(move || {
            let pushed = tx.push_some(&mut log, 0, 2);
            log.call(|| drop(tx), |()| Queue::Left);
            pushed
        });
        let mut log = recorder.log(0);
        let mut popped = one.pop_some(&mut log, 2);
        let pushed = producer.join().unwrap();
        popped += one.drain(&mut log) + other.drain(&mut log);
        assert_eq!(popped, pushed);
        assert_eq!([one.try_pop(), other.try_pop()], [Err(TryPopError::Closed); 2]);
    })
}

fn close(setup: &Setup) -> Outcome {
    setup.linearizable(any(), |recorder| {
        let ([mut tx], [mut one, mut other]) = handles::<1, 2>();
        let mut log = recorder.log(1);
        let producer = thread::spawn(move || {
            let pushed = tx.push_some(&mut log, 0, 2);
            log.call(|| tx.close(), |()| Queue::Left);
            (pushed, tx)
        });
        let mut log = recorder.log(0);
        let mut popped = one.pop_some(&mut log, 2);
        let (pushed, _tx) = producer.join().unwrap();
        popped += one.drain(&mut log) + other.drain(&mut log);
        assert_eq!(popped, pushed);
        assert_eq!([one.try_pop(), other.try_pop()], [Err(TryPopError::Closed); 2]);
    })
}

/// A producer and the consumer of its ring leave a note; the other consumer, whose own producer is gone, reads it if `is_over`.
fn after_the_end(setup: &Setup, is_over: fn(&mut Consumer<Pair, Yield>) -> bool) -> Outcome {
    setup.asserting(move || {
        let ([gone, tx], [mut rx, mut other_rx]) = handles::<2, 2>();
        drop(gone);
        let note = Arc::new(Slot::new(0));
        let other = thread::spawn({
            let note = note.clone();
            move || {
                // SAFETY: nobody reads it before this producer has left.
                note.with_mut(|note| unsafe { *note = 1 });
                drop(tx);
                // `Closed`, if the other one has drained its ring.
                assert!(other_rx.try_pop().is_err());
            }
        });
        if is_over(&mut rx) {
            // SAFETY: its writer has left.
            assert_eq!(note.with(|note| unsafe { *note }), 1);
        }
        other.join().unwrap();
        assert!(is_over(&mut rx));
    })
}
