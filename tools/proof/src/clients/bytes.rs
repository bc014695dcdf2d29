//! BBQ for byte messages, in both modes. Two blocks of two granules; messages of one and of two, so that they go over the edge of a
//! block; and one without bytes, which has a granule all the same.

use super::ends::{self, Outcome, Rx, Tx};
use super::{Pair, pop, push};
use crate::{Client, Setup};
use thalweg_check::history::{Bounded, DropOld, Log, Queue};
use thalweg_queue::bytes::{self, Mode, PushBytesError, RetryNew};
use thalweg_queue::{TryPopError, TryPushError, Yield};
use thalweg_sync::thread;

#[derive(Clone)]
struct Producer<M: Mode = RetryNew>(bytes::Producer<Yield, M>);

#[derive(Clone)]
struct Consumer<M: Mode = RetryNew>(bytes::Consumer<Yield, M>);

/// The number of the message without bytes. It cannot say its number, so there is one such.
const NOTHING: u64 = 100;

/// How long the message of a number is: of an even one a granule, of an odd one two, as few words as that needs.
fn bytes_of(number: u64) -> usize {
    match number {
        NOTHING => 0,
        even if even.is_multiple_of(2) => 16,
        _ => 17,
    }
}

impl<M: Mode> Tx for Producer<M> {
    fn try_push(&mut self, item: Pair) -> Result<(), TryPushError<Pair>> {
        let Pair([number, complement]) = item;
        let mut message = [0; 32];
        message[..8].copy_from_slice(&number.to_le_bytes());
        message[8..16].copy_from_slice(&complement.to_le_bytes());
        self.0.try_push(&message[..bytes_of(number)]).map_err(|refused| match refused {
            PushBytesError::Full => TryPushError::Full(item),
            PushBytesError::Busy => TryPushError::Busy(item),
            _ => TryPushError::Closed(item),
        })
    }
}

impl<M: Mode> Rx for Consumer<M> {
    fn try_pop(&mut self) -> Result<Pair, TryPopError> {
        let mut message = Vec::new();
        let bytes = self.0.try_pop(&mut message)?;
        if bytes == 0 {
            return Ok(Pair::new(NOTHING));
        }
        let word = |at: usize| u64::from_le_bytes(message[at..at + 8].try_into().expect("eight bytes"));
        let item = Pair([word(0), word(8)]);
        assert_eq!(bytes, bytes_of(item.number()), "a frame of another message");
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

pub(super) const BEHIND: Client = Client {
    name: "bytes/end-behind",
    what: "two threads push, and the second one closes the queue: the end comes after what it pushed",
    run: |setup| ends::behind(setup, queue, |tx| tx.0.close()),
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

pub(super) const TAKEN: Client = Client {
    name: "bytes/taken",
    what: "two messages in the queue, two consumers with one attempt each: nobody is half-way, and neither is refused",
    run: taken,
};

pub(super) const OVERTAKEN: Client = Client {
    name: "bytes/overtaken",
    what: "a consumer with one attempt while another thread pushes and pops the ring round",
    run: overtaken,
};

pub(super) const FULL: Client = Client {
    name: "bytes/full",
    what: "two messages in the queue, a thread pops and pushes while another one pushes: nobody may find it full (C1)",
    run: full,
};

pub(super) const EMPTY: Client = Client {
    name: "bytes/empty",
    what: "a message without bytes and one that goes over the edge, beside a consumer with two attempts: it is neither a hole nor the rest of the block",
    run: empty,
};

pub(super) const LATE: Client = Client {
    name: "bytes/late",
    what: "a producer that looks in one round and allocates in the next, which another is beginning, and a consumer; blocks of a granule",
    run: late,
};

pub(super) const LAP: Client = Client {
    name: "bytes/lap",
    what: "in drop-old mode: a producer with three attempts, a consumer with one: a lap while it reads",
    run: |setup| overwritten(setup, [3, 0], [1, 0]),
};

pub(super) const LAP_TWO_PRODUCERS: Client = Client {
    name: "bytes/lap-2p",
    what: "in drop-old mode: two producers with two attempts and one, one of which begins the other's round",
    run: |setup| overwritten(setup, [2, 1], [0, 0]),
};

pub(super) const LAP_TWO_CONSUMERS: Client = Client {
    name: "bytes/lap-2c",
    what: "in drop-old mode: a producer with two attempts, two consumers with one",
    run: |setup| overwritten(setup, [2, 0], [1, 1]),
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
    let (tx, rx) = bytes::bytes_from(head, 2, 32, Yield).expect("two blocks are a queue");
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

fn taken(setup: &Setup) -> Outcome {
    setup.asserting(|| {
        let (mut tx, mut rx) = queue();
        for number in [0, 2] {
            assert!(tx.try_push(Pair::new(number)).is_ok());
        }
        let mut other = rx.clone();
        let other = thread::spawn(move || other.try_pop().map(Pair::number));
        let popped = [rx.try_pop().map(Pair::number), other.join().unwrap()];
        assert!([[Ok(0), Ok(2)], [Ok(2), Ok(0)]].contains(&popped), "{popped:?}");
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

/// Of messages of a granule three fit for certain, and there are two at most before the other thread's. One of the first block is popped
/// before the second block is filled, so who finds that one filled knows that the first is free.
fn full(setup: &Setup) -> Outcome {
    setup.linearizable(Bounded::new(3, 4), |recorder| {
        let (mut tx, mut rx) = queue();
        let mut log = recorder.log(0);
        let mut pushed = [0, 2, 4].map(|number| u64::from(push_one(&mut log, &mut tx, number))).iter().sum::<u64>();
        let mut popped = rx.pop_some(&mut log, 1);
        let other = thread::spawn({
            let (mut tx, mut log) = (tx.clone(), recorder.log(1));
            move || u64::from(push_one(&mut log, &mut tx, 8))
        });
        popped += rx.pop_some(&mut log, 1);
        pushed += u64::from(push_one(&mut log, &mut tx, 6)) + other.join().unwrap();
        assert_eq!(popped + rx.drain(&mut log), pushed);
    })
}

fn empty(setup: &Setup) -> Outcome {
    setup.linearizable(window(), |recorder| {
        let (mut tx, mut rx) = queue();
        let other = thread::spawn({
            let (mut rx, mut log) = (rx.clone(), recorder.log(1));
            move || rx.pop_some(&mut log, 2)
        });
        let mut log = recorder.log(0);
        for number in [NOTHING, 1] {
            assert!(push_one(&mut log, &mut tx, number), "there is room for both");
        }
        assert_eq!(other.join().unwrap() + rx.drain(&mut log), 2);
    })
}

/// What is popped of a round that is still being begun is given back to that round, so that the block can be begun again.
fn late(setup: &Setup) -> Outcome {
    setup.linearizable(Bounded::new(1, 2), |recorder| {
        let (tx, rx) = bytes::with_wait(2, 16, Yield).expect("two blocks are a queue");
        let (mut tx, mut rx) = (Producer(tx), Consumer(rx));
        let spawn_push = |me: usize, number| {
            let (mut tx, mut log) = (tx.clone(), recorder.log(me));
            thread::spawn(move || u64::from(push_one(&mut log, &mut tx, number)))
        };
        let late = spawn_push(1, 20);
        let mut log = recorder.log(0);
        let (mut pushed, mut popped) = (0, 0);
        for number in [0, 2] {
            pushed += u64::from(push_one(&mut log, &mut tx.clone(), number));
            popped += u64::from(pop_one(&mut log, &mut rx));
        }
        let other = spawn_push(2, 30);
        popped += u64::from(pop_one(&mut log, &mut rx));
        pushed += late.join().unwrap() + other.join().unwrap();
        assert_eq!(popped + rx.drain(&mut log), pushed);
        for number in [4, 6] {
            assert!(push_one(&mut log, &mut tx, number) && pop_one(&mut log, &mut rx), "the queue is empty");
        }
    })
}

/// Up to two threads that push so many messages each, beside up to two that try to pop as many.
///
/// Of the newest messages one is kept for certain: it may have a block for itself.
fn overwritten(setup: &Setup, pushes: [u64; 2], pops: [u64; 2]) -> Outcome {
    setup.linearizable(DropOld::new(1, 4), move |recorder| {
        let (tx, rx) = bytes::drop_old_from(0, 2, 32, Yield).expect("two blocks are a queue");
        let (tx, mut rx) = (Producer(tx), Consumer(rx));
        let handles = [1, 2].map(|me| (tx.clone(), rx.clone(), recorder.log(me), recorder.log(me + 2)));
        let (mut producers, mut consumers) = (Vec::new(), Vec::new());
        for (me, (mut tx, mut rx, mut pushed, mut popped)) in handles.into_iter().enumerate() {
            let (first, pushes, pops) = (10 * me as u64, pushes[me], pops[me]);
            producers.extend((pushes > 0).then(|| thread::spawn(move || tx.push_some(&mut pushed, first, pushes))));
            consumers.extend((pops > 0).then(|| thread::spawn(move || rx.pop_some(&mut popped, pops))));
        }
        let pushed: u64 = producers.into_iter().map(|thread| thread.join().unwrap()).sum();
        let mut popped: u64 = consumers.into_iter().map(|thread| thread.join().unwrap()).sum();
        popped += rx.drain(&mut recorder.log(0));
        // What is dropped is counted in bytes, of whole granules.
        assert!(popped <= pushed && popped + rx.0.dropped() / 16 >= pushed);
    })
}

fn push_one(log: &mut Log<Queue<u64>>, tx: &mut Producer, number: u64) -> bool {
    push(log, number, || tx.try_push(Pair::new(number)))
}

fn pop_one(log: &mut Log<Queue<u64>>, rx: &mut Consumer) -> bool {
    pop(log, |item: &Pair| item.number(), || rx.try_pop()).is_ok()
}
