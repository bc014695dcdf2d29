//! A queue in the memory of a `static`: who has the memory. Its handles are those of the queues on the heap.
//!
//! A real one would outlive an execution. Here each has its own, which is given back when all threads are gone.

use crate::Client;
use thalweg_queue::{TryPopError, Yield, spsc};
use thalweg_sync::thread;

pub(super) const CLIENTS: &[Client] = &[
    Client {
        name: "static/left",
        what: "both ends leave, each in its thread; the last one drops what is there, after all that the other did",
        run: |setup| setup.asserting(left),
    },
    Client {
        name: "static/again",
        what: "one end leaves in its thread; the other leaves, and whoever finds the place free builds the next queue there",
        run: |setup| setup.asserting(again),
    },
    Client {
        name: "static/race",
        what: "two threads want the place: one at most has it at a time, and finds a queue that nobody has used",
        run: |setup| setup.asserting(race),
    },
];

type InStatic = spsc::Static<Box<u64>, 2, 1, Yield>;

/// Runs `body` with a place that is freed afterwards.
fn with_place(body: impl FnOnce(&'static InStatic)) {
    let place = Box::into_raw(Box::new(InStatic::new()));
    // SAFETY: it is there until it is freed below.
    body(unsafe { &*place });
    // SAFETY: from a box, and all threads and handles are gone.
    drop(unsafe { Box::from_raw(place) });
}

fn left() {
    with_place(|place| {
        let (mut tx, rx) = place.take().expect("it is free");
        let producer = thread::spawn(move || drop(tx.try_push(Box::new(7))));
        drop(rx);
        producer.join().unwrap();
        assert!(place.take().is_some(), "both are gone");
    });
}

fn again() {
    with_place(|place| {
        let (mut tx, rx) = place.take().expect("it is free");
        let consumer = thread::spawn(move || drop(rx));
        let _ = tx.try_push(Box::new(7));
        drop(tx);
        // Free, if the consumer has left by now.
        if let Some((mut tx, mut rx)) = place.take() {
            assert_eq!(rx.try_pop(), Err(TryPopError::Empty));
            assert!(tx.try_push(Box::new(8)).is_ok());
            assert_eq!(rx.try_pop(), Ok(Box::new(8)));
        }
        consumer.join().unwrap();
    });
}

fn race() {
    with_place(|place| {
        let take = |me: u64| {
            let Some((mut tx, mut rx)) = place.take() else { return false };
            assert_eq!(rx.try_pop(), Err(TryPopError::Empty));
            assert!(tx.try_push(Box::new(me)).is_ok());
            assert_eq!(rx.try_pop(), Ok(Box::new(me)));
            true
        };
        let other = thread::spawn(move || take(1));
        let mine = take(2);
        assert!(other.join().unwrap() || mine, "the first to come takes it");
    });
}
