//! Ends that sleep. A wake-up that is lost leaves a thread that waits for ever in some execution, which the checker reports.
//! Here clients wait, so they are as small as can be.

use crate::Client;
use std::sync::Arc; // what a waker is made of
use std::task::{Context, Wake, Waker};
use thalweg_check::Kept;
use thalweg_queue::growing::{self, Most};
use thalweg_queue::research::tube::ring::Hts;
use thalweg_queue::{Park, PopError, research::cnq, spsc::fast_forward};
use thalweg_queue::{mpmc, spsc};
use thalweg_sync::atomic::{AtomicBool, Ordering::Relaxed};
use thalweg_sync::thread;

pub(super) const CLIENTS: &[Client] = &[
    Client {
        name: "wait/push",
        what: "a push wakes the consumer, which may be asleep; one and one",
        run: |setup| setup.asserting(push),
    },
    Client {
        name: "wait/pop",
        what: "a pop wakes the producer, which may be asleep as the queue was full; one and one",
        run: |setup| setup.asserting(pop),
    },
    Client {
        name: "wait/end",
        what: "the last producer leaves; a consumer that may be asleep sees the end",
        run: |setup| setup.asserting(end),
    },
    Client {
        name: "wait/half-way",
        what: "two producers, one of which may be half-way when the other one ends; the consumer wants both items",
        run: |setup| setup.asserting(half_way),
    },
    Client {
        name: "wait/2c",
        what: "two consumers, which may be asleep, and an item for each",
        run: |setup| setup.asserting(two_consumers),
    },
    Client {
        name: "wait/ff-room",
        what: "a consumer of FastForward pops a line and looks on: that wakes the producer, which may be asleep as the ring was full",
        run: |setup| setup.asserting(line_of_room),
    },
    Client {
        name: "wait/chunk-room",
        what: "a consumer of the chunk ring goes on to the next chunk: that wakes the producer, which may be asleep as all were full",
        run: |setup| setup.asserting(chunk_of_room),
    },
    Client {
        name: "wait/cnq",
        what: "a push to CNQ wakes the consumer, which may be asleep",
        run: |setup| setup.asserting(capsule),
    },
    Client {
        name: "wait/halves-bare",
        what: "two consumers give back half of a block each, for which a producer waits since before; without the fence `wait.2`, which is none for a processor",
        run: |setup| setup.without(&["wait.2"]).asserting(halves),
    },
    Client {
        name: "wait/roles",
        what: "two threads that push one and then wait for one; the queue holds one or two",
        run: |setup| setup.asserting(roles),
    },
];

type Producer = Kept<mpmc::Producer<u64, Park>>;
type Consumer = Kept<mpmc::Consumer<u64, Park>>;

/// Handles that are dropped after those whom they would ring, when an execution is given up.
fn queue(entries: usize) -> (Producer, Consumer) {
    let (tx, rx) = mpmc::with_wait(2, entries, Park::new()).expect("two blocks are a queue");
    (Kept::new(tx), Kept::new(rx))
}

type Single = (Kept<spsc::Producer<u64, Park>>, Kept<spsc::Consumer<u64, Park>>);

fn one_to_one() -> Single {
    let (tx, rx) = spsc::with_wait(2, 1, Park::new()).expect("two blocks are a queue");
    (Kept::new(tx), Kept::new(rx))
}

fn push() {
    let (mut tx, mut rx) = one_to_one();
    let producer = thread::spawn(move || {
        tx.push(7).unwrap();
        // Not dropped before the item is popped: that would wake the consumer, too.
        tx
    });
    assert_eq!(rx.pop(), Ok(7));
    drop(producer.join().unwrap());
}

fn pop() {
    let (mut tx, mut rx) = one_to_one();
    (0..2).for_each(|number| tx.try_push(number).expect("there is room"));
    let producer = thread::spawn(move || {
        tx.push(2).unwrap();
        tx
    });
    assert_eq!(rx.try_pop(), Ok(0));
    drop(producer.join().unwrap());
    assert_eq!([rx.try_pop(), rx.try_pop()], [Ok(1), Ok(2)]);
}

/// The ring of FastForward has 16 slots, in two lines.
fn line_of_room() {
    let (tx, rx) = fast_forward::in_place_with_wait::<u64, _>(1, Park::new()).expect("one item is a queue");
    let (mut tx, mut rx) = (Kept::new(tx), Kept::new(rx));
    (0..16).for_each(|number| tx.try_push(number).expect("there is room"));
    let producer = thread::spawn(move || {
        tx.push(16).unwrap();
        tx
    });
    // The line goes back with the look behind it.
    (0..9).for_each(|number| assert_eq!(rx.try_pop(), Ok(number)));
    drop(producer.join().unwrap());
    (9..17).for_each(|number| assert_eq!(rx.try_pop(), Ok(number)));
}

/// Two chunks of one entry, and no more.
fn chunk_of_room() {
    let (tx, rx) = growing::with_wait(1, 2, Most::Entries(2), Park::new()).expect("two chunks are a ring");
    let (mut tx, mut rx) = (Kept::new(tx), Kept::new(rx));
    (0..2).for_each(|number| tx.try_push(number).expect("there is room"));
    let producer = thread::spawn(move || {
        tx.push(2).unwrap();
        tx
    });
    // The chunk goes back with the pop behind it.
    (0..2).for_each(|number| assert_eq!(rx.try_pop(), Ok(number)));
    drop(producer.join().unwrap());
    assert_eq!(rx.try_pop(), Ok(2));
}

fn capsule() {
    let tube = Hts::new(2).expect("a tube for capsules");
    let (tx, rx) = cnq::with_wait(tube, 2, 1, 2, Park::new()).expect("two capsules are a queue");
    let (mut tx, mut rx) = (Kept::new(tx), Kept::new(rx));
    let producer = thread::spawn(move || {
        tx.push(7).unwrap();
        // As in `push`.
        tx
    });
    assert_eq!(rx.pop(), Ok(7));
    drop(producer.join().unwrap());
}

fn end() {
    let (tx, rx) = queue(1);
    let producer = thread::spawn(move || drop(tx));
    assert_eq!(rx.pop(), Err(PopError));
    producer.join().unwrap();
}

fn half_way() {
    let (tx, rx) = queue(2);
    let other = tx.clone();
    let producer = thread::spawn(move || {
        other.try_push(1).expect("there is room");
        other
    });
    let second = tx.clone();
    let second = thread::spawn(move || {
        second.try_push(2).expect("there is room");
        second
    });
    assert_eq!(rx.pop().unwrap() + rx.pop().unwrap(), 3);
    drop((producer.join().unwrap(), second.join().unwrap(), tx));
}

fn two_consumers() {
    let (tx, rx) = queue(2);
    let consumers = [rx.clone(), rx.clone()].map(|rx| thread::spawn(move || rx.pop().unwrap()));
    (1..3).for_each(|number| tx.try_push(number).expect("there is room"));
    assert_eq!(consumers.map(|thread| thread.join().unwrap()).into_iter().sum::<u64>(), 3);
}

/// A waker that notes that it was woken.
struct Note(AtomicBool);

impl Wake for Note {
    fn wake(self: Arc<Self>) {
        // Relaxed: read after the threads are joined.
        self.0.store(true, Relaxed);
    }
}

/// Whoever comes last sees what the other did, and rings.
fn halves() {
    let (tx, rx) = queue(2);
    (0..4).for_each(|number| tx.try_push(number).expect("there is room"));
    let note = Arc::new(Note(AtomicBool::new(false)));
    let waker = Waker::from(note.clone());
    let mut pushing = Box::pin(tx.push_async(4));
    assert!(pushing.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    let other = rx.clone();
    let half = thread::spawn(move || {
        other.try_pop().expect("there are four");
        other
    });
    rx.try_pop().expect("there are four");
    drop(half.join().unwrap());
    drop(pushing);
    assert!(note.0.load(Relaxed), "the producer sleeps beside a free block");
}

fn roles() {
    let (tx, rx) = queue(1);
    let other = thread::spawn({
        let (tx, rx) = (tx.clone(), rx.clone());
        move || {
            tx.push(1).unwrap();
            rx.pop().unwrap()
        }
    });
    tx.push(2).unwrap();
    assert_eq!(rx.pop().unwrap() + other.join().unwrap(), 3);
}
