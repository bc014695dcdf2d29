//! One value, once. Two ends of a few steps each: all of what may meet.

use crate::Client;
use thalweg_queue::oneshot;
use thalweg_queue::{PopError, PushError};
use thalweg_sync::sync::Arc;
use thalweg_sync::thread;

pub(super) const CLIENTS: &[Client] = &[
    Client {
        name: "oneshot/push",
        what: "a push wakes the receiver, which may be asleep; the value is visible, and the memory is freed once",
        run: |setup| setup.asserting(push),
    },
    Client {
        name: "oneshot/end",
        what: "the sender leaves without a push; a receiver that may be asleep sees the end",
        run: |setup| setup.asserting(end),
    },
    Client {
        name: "oneshot/leave",
        what: "a push meets the receiver's leaving: the value comes back, or is dropped with the receiver",
        run: |setup| setup.asserting(leave),
    },
    Client {
        name: "oneshot/close",
        what: "a push meets a close: the value comes back, or is popped",
        run: |setup| setup.asserting(close),
    },
    Client {
        name: "oneshot/closed",
        what: "the receiver leaves; a sender that may be asleep sees it",
        run: |setup| setup.asserting(closed),
    },
];

fn push() {
    let (tx, mut rx) = oneshot::channel();
    let sender = thread::spawn(move || tx.push(Box::new(7)).unwrap());
    assert_eq!(rx.pop(), Ok(Box::new(7)));
    drop(rx);
    sender.join().unwrap();
}

fn end() {
    let (tx, mut rx) = oneshot::channel::<Box<u64>>();
    let sender = thread::spawn(move || drop(tx));
    assert_eq!(rx.pop(), Err(PopError));
    drop(rx);
    sender.join().unwrap();
}

fn leave() {
    let value = Arc::new(7);
    let (tx, rx) = oneshot::channel();
    let sender = thread::spawn({
        let value = value.clone();
        move || drop(tx.push(value))
    });
    drop(rx);
    sender.join().unwrap();
    assert_eq!(Arc::strong_count(&value), 1);
}

fn close() {
    let (tx, mut rx) = oneshot::channel();
    let sender = thread::spawn(move || tx.push(Box::new(7)));
    rx.close();
    let popped = rx.try_pop();
    drop(rx);
    match sender.join().unwrap() {
        Ok(()) => assert_eq!(popped, Ok(Box::new(7))),
        Err(PushError(value)) => assert!(*value == 7 && popped.is_err()),
    }
}

fn closed() {
    let (mut tx, rx) = oneshot::channel::<Box<u64>>();
    let receiver = thread::spawn(move || drop(rx));
    tx.closed();
    drop(tx);
    receiver.join().unwrap();
}
