//! The latest value.

use crate::Client;
use thalweg_check::Kept;
use thalweg_queue::PopError;
use thalweg_queue::watch;
use thalweg_sync::thread;

pub(super) const CLIENTS: &[Client] = &[
    Client {
        name: "watch/change",
        what: "two pushes; a receiver that may be asleep sees values in order, and the last one",
        run: |setup| setup.asserting(change),
    },
    Client {
        name: "watch/end",
        what: "a push, and the sender leaves: the value comes before the end",
        run: |setup| setup.asserting(end),
    },
    Client { name: "watch/update", what: "two senders update: neither is lost", run: |setup| setup.asserting(update) },
    Client {
        name: "watch/closed",
        what: "the receiver leaves; a sender that may be asleep sees it",
        run: |setup| setup.asserting(closed),
    },
];

fn ends(value: u64) -> (Kept<watch::Sender<u64>>, Kept<watch::Receiver<u64>>) {
    let (tx, rx) = watch::channel(value);
    (Kept::new(tx), Kept::new(rx))
}

fn change() {
    let (tx, mut rx) = ends(0);
    let sender = thread::spawn(move || {
        (1..3).for_each(|n| tx.push(n).unwrap());
        tx
    });
    let mut last = 0;
    while last < 2 {
        let value = *rx.changed().unwrap();
        assert!(value > last);
        last = value;
    }
    drop(sender.join().unwrap());
}

fn end() {
    let (tx, mut rx) = ends(0);
    let sender = thread::spawn(move || {
        tx.push(1).unwrap();
        drop(tx);
    });
    assert_eq!([rx.changed().copied(), rx.changed().copied()], [Ok(1), Err(PopError)]);
    sender.join().unwrap();
}

fn update() {
    let (tx, mut rx) = ends(0);
    let other = tx.clone();
    let sender = thread::spawn(move || {
        assert!(other.update(|n| Some(n + 1)));
        other
    });
    assert!(tx.update(|n| Some(n + 2)));
    drop(sender.join().unwrap());
    assert_eq!(*rx.latest(), 3);
}

fn closed() {
    let (tx, rx) = ends(0);
    let receiver = thread::spawn(move || drop(rx));
    tx.closed();
    receiver.join().unwrap();
}
