//! Every receiver sees every item. Rings of one or two places: each push is in the place of another.

use crate::Client;
use thalweg_check::Kept;
use thalweg_queue::broadcast::graph::{self, Graph};
use thalweg_queue::broadcast::{self, Lagged};
use thalweg_queue::{PopError, TryPopError, Yield};
use thalweg_sync::atomic::{AtomicU64, Ordering::Relaxed};
use thalweg_sync::sync::Arc;
use thalweg_sync::thread;

pub(super) const CLIENTS: &[Client] = &[
    Client {
        name: "broadcast/lag",
        what: "three pushes into two places while a receiver pops: items in order, and what is missing is told",
        run: |setup| setup.asserting(lag),
    },
    Client {
        name: "broadcast/end",
        what: "a push, and the sender leaves; a receiver that may be asleep sees the item before the end",
        run: |setup| setup.asserting(end),
    },
    Client {
        name: "broadcast/two",
        what: "two senders push one each, a receiver that may be asleep sees both",
        run: |setup| setup.asserting(two),
    },
    Client {
        name: "broadcast/gate",
        what: "a graph of two consumers on a ring for one: no place is written while somebody looks at it",
        run: |setup| setup.asserting(gate),
    },
    Client {
        name: "broadcast/then",
        what: "a consumer behind another one: what that one did with an item is visible",
        run: |setup| setup.asserting(then),
    },
    Client {
        name: "broadcast/full",
        what: "a producer that may be asleep as the ring is full, and a consumer that may be asleep behind it",
        run: |setup| setup.asserting(full),
    },
    Client {
        name: "broadcast/last",
        what: "a push, and the producer of a graph leaves; a consumer that may be asleep sees the item before the end",
        run: |setup| setup.asserting(last),
    },
    Client {
        name: "broadcast/bare",
        what: "the same, with ends that do not sleep, whose waiting has no fence",
        run: |setup| setup.asserting(bare),
    },
    Client {
        name: "broadcast/leave",
        what: "a consumer leaves while another one and the producer go on: neither waits for it",
        run: |setup| setup.asserting(leave),
    },
];

fn lag() {
    let (tx, rx) = broadcast::channel(2).unwrap();
    let (tx, mut rx) = (Kept::new(tx), Kept::new(rx));
    let sender = thread::spawn(move || {
        (0..3).for_each(|n| tx.push(Box::new(n)).unwrap());
        tx
    });
    let mut next = 0;
    let mut see = |popped: Result<Result<Box<u64>, Lagged>, TryPopError>| match popped {
        Ok(Ok(item)) => {
            assert_eq!(*item, next);
            next += 1;
        }
        Ok(Err(Lagged(lost))) => next += lost,
        Err(refused) => assert_eq!(refused, TryPopError::Empty),
    };
    (0..2).for_each(|_| see(rx.try_pop()));
    let _tx = sender.join().unwrap();
    (0..4).for_each(|_| see(rx.try_pop()));
    assert_eq!(next, 3);
}

fn end() {
    let (tx, rx) = broadcast::channel(1).unwrap();
    let (tx, mut rx) = (Kept::new(tx), Kept::new(rx));
    let sender = thread::spawn(move || {
        tx.push(1).unwrap();
        drop(tx);
    });
    assert_eq!([rx.pop(), rx.pop()], [Ok(Ok(1)), Err(PopError)]);
    sender.join().unwrap();
}

fn two() {
    let (tx, rx) = broadcast::channel(2).unwrap();
    let (tx, mut rx) = (Kept::new(tx), Kept::new(rx));
    let other = tx.clone();
    let sender = thread::spawn(move || {
        other.push(1).unwrap();
        other
    });
    tx.push(2).unwrap();
    assert_eq!(rx.pop().unwrap().unwrap() + rx.pop().unwrap().unwrap(), 3);
    drop(sender.join().unwrap());
}

type Ends<const N: usize> = (Kept<graph::Producer<Box<u64>>>, [Kept<graph::Consumer<Box<u64>>>; N]);

fn build<const N: usize>(graph: Graph) -> Ends<N> {
    let (tx, consumers) = graph.build().expect("there is a consumer");
    let consumers: Vec<_> = consumers.into_iter().map(Kept::new).collect();
    (Kept::new(tx), consumers.try_into().unwrap_or_else(|_| unreachable!("so many were made")))
}

fn gate() {
    let mut graph = Graph::new(1).unwrap();
    let _ = (graph.first(), graph.first());
    let (mut tx, [mut a, mut b]) = build::<2>(graph);
    let other = thread::spawn(move || {
        let mut sum = 0;
        (0..2).for_each(|_| _ = a.try_pop_each(1, |n| sum += **n));
        (sum, a)
    });
    let mut pushed = 0;
    for n in [1, 2] {
        pushed += u64::from(tx.try_push(Box::new(n)).is_ok());
        let _ = b.try_pop_each(1, |_| {});
    }
    let (sum, mut a) = other.join().unwrap();
    let mut rest = 0;
    let _ = a.try_pop_each(1, |n| rest += **n);
    assert!(matches!((pushed, sum + rest), (1, 1) | (2, 3)));
}

fn then() {
    let mut graph = Graph::new(2).unwrap();
    let first = graph.first();
    graph.then(&[first]);
    let (mut tx, [mut a, mut b]) = build::<2>(graph);
    tx.try_push(Box::new(7)).expect("there is room");
    let mark = Arc::new(AtomicU64::new(0));
    let other = thread::spawn({
        let mark = mark.clone();
        move || {
            // Relaxed: the graph orders it.
            a.pop_each(1, |n| mark.store(**n, Relaxed)).unwrap();
            a
        }
    });
    b.pop_each(1, |n| assert_eq!(mark.load(Relaxed), **n)).unwrap();
    drop((other.join().unwrap(), tx));
}

fn full() {
    let mut graph = Graph::new(1).unwrap();
    graph.first();
    let (mut tx, [mut a]) = build::<1>(graph);
    tx.try_push(Box::new(1)).expect("there is room");
    let producer = thread::spawn(move || {
        tx.push(Box::new(2)).unwrap();
        tx
    });
    for n in [1, 2] {
        a.pop_each(1, |item| assert_eq!(**item, n)).unwrap();
    }
    drop(producer.join().unwrap());
}

fn last() {
    let mut graph = Graph::new(1).unwrap();
    graph.first();
    let (mut tx, [mut a]) = build::<1>(graph);
    let producer = thread::spawn(move || {
        tx.try_push(Box::new(1)).expect("there is room");
        drop(tx);
    });
    assert_eq!(a.pop_each(1, |item| assert_eq!(**item, 1)), Ok(1));
    assert_eq!(a.pop_each(1, |_| {}), Err(PopError));
    producer.join().unwrap();
}

fn bare() {
    let mut graph = Graph::new(1).unwrap();
    graph.first();
    let (mut tx, mut consumers) = graph.build_with_wait(Yield).expect("there is a consumer");
    let producer = thread::spawn(move || {
        tx.try_push(Box::new(1)).expect("there is room");
        drop(tx);
    });
    let mut seen = 0;
    for _ in 0..2 {
        match consumers[0].try_pop_each(1, |item| assert_eq!(**item, 1)) {
            Ok(count) => seen += count,
            Err(TryPopError::Closed) => assert_eq!(seen, 1, "the end before the item"),
            Err(refused) => assert_eq!(refused, TryPopError::Empty),
        }
    }
    producer.join().unwrap();
}

fn leave() {
    let mut graph = Graph::new(1).unwrap();
    let first = graph.first();
    graph.then(&[first]);
    let (mut tx, [a, mut b]) = build::<2>(graph);
    tx.try_push(Box::new(1)).expect("there is room");
    let other = thread::spawn(move || drop(a));
    b.pop_each(1, |item| assert_eq!(**item, 1)).unwrap();
    tx.push(Box::new(2)).unwrap();
    other.join().unwrap();
    drop((tx, b));
}
