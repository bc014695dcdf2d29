//! No capacity at all.

use crate::Client;
use thalweg_check::Kept;
use thalweg_queue::rendezvous::{self, Consumer, Producer};
use thalweg_queue::{PopError, PushError};
use thalweg_sync::thread;

pub(super) const CLIENTS: &[Client] = &[
    Client {
        name: "rendezvous/meet",
        what: "a push and a pop, either of which may be asleep when the other one comes",
        run: |setup| setup.asserting(meet),
    },
    Client {
        name: "rendezvous/try",
        what: "a try_push is taken if the consumer sleeps, and else comes back; then a push",
        run: |setup| setup.asserting(tries),
    },
    Client {
        name: "rendezvous/gone",
        what: "the consumer leaves; the item of a push that may be asleep comes back",
        run: |setup| setup.asserting(gone),
    },
    Client {
        name: "rendezvous/end",
        what: "the producer leaves; a pop that may be asleep sees the end",
        run: |setup| setup.asserting(end),
    },
];

type Ends = (Kept<Producer<Box<u64>>>, Kept<Consumer<Box<u64>>>);

fn ends() -> Ends {
    let (tx, rx) = rendezvous::channel();
    (Kept::new(tx), Kept::new(rx))
}

fn meet() {
    let (tx, rx) = ends();
    let producer = thread::spawn(move || {
        tx.push(Box::new(7)).unwrap();
        tx
    });
    assert_eq!(rx.pop(), Ok(Box::new(7)));
    drop(producer.join().unwrap());
}

fn tries() {
    let (tx, rx) = ends();
    let consumer = thread::spawn(move || {
        let item = rx.pop();
        (item, rx)
    });
    let taken = tx.try_push(Box::new(1)).is_ok();
    if !taken {
        tx.push(Box::new(1)).unwrap();
    }
    let (item, rx) = consumer.join().unwrap();
    assert_eq!(item, Ok(Box::new(1)));
    assert!(rx.try_pop().is_err());
}

fn gone() {
    let (tx, rx) = ends();
    let consumer = thread::spawn(move || drop(rx));
    assert_eq!(tx.push(Box::new(7)), Err(PushError(Box::new(7))));
    consumer.join().unwrap();
}

fn end() {
    let (tx, rx) = ends();
    let producer = thread::spawn(move || drop(tx));
    assert_eq!(rx.pop(), Err(PopError));
    producer.join().unwrap();
}
