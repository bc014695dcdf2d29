//! BBQ under loom: small clients, and canaries that show that the model is awake.
//!
//! Two blocks are the smallest ring. With one entry each, every push and pop steps to another block; with two, blocks are also used while
//! they are half full.
#![cfg(loom)]

mod support;

use support::model_bounded;
use thalweg_queue::edges::table::weakened;
use thalweg_queue::{TryPopError, TryPushError, bbq};
use thalweg_sync::sync::Arc;
use thalweg_sync::{model, thread};

/// An item. loom reports one that is leaked or dropped twice; the queue's own slots report a read that its write does not happen
/// before, and a write that a read does not.
type Item = Arc<usize>;

/// One producer, one consumer, five items: with one entry a block, each block is used twice and one a third time.
fn order_is_kept(entries: usize, head: u64) {
    model_bounded(2, move || {
        let (tx, rx) = bbq::shared_from::<Item>(head, 2, entries).unwrap();
        let producer = thread::spawn(move || {
            for number in 0..5 {
                tx.push(Arc::new(number)).unwrap();
            }
        });
        for number in 0..5 {
            assert_eq!(*rx.pop().unwrap(), number);
        }
        producer.join().unwrap();
        assert_eq!(rx.try_pop().err(), Some(TryPopError::Closed));
    });
}

/// Two producers with two items each, one consumer: each producer's items come in its order, positions without gaps.
fn two_producers(entries: usize) {
    model_bounded(2, move || {
        let (tx, rx) = bbq::shared::<Item>(2, entries).unwrap();
        let other = tx.clone();
        let producers = [(tx, 0), (other, 10)].map(|(tx, first)| {
            thread::spawn(move || {
                tx.push(Arc::new(first)).unwrap();
                tx.push(Arc::new(first + 1)).unwrap();
            })
        });
        let mut next = [0, 10];
        let mut position = 0;
        while position < 4 {
            match rx.try_pop_numbered() {
                Ok((at, item)) => {
                    assert_eq!(at, position);
                    position += 1;
                    let next = &mut next[*item / 10];
                    assert_eq!(*item, *next);
                    *next += 1;
                }
                Err(TryPopError::Closed) => panic!("closed after {position} items"),
                Err(TryPopError::Empty | TryPopError::Busy) => thread::yield_now(),
            }
        }
        for producer in producers {
            producer.join().unwrap();
        }
        assert_eq!(rx.try_pop().err(), Some(TryPopError::Closed));
    });
}

/// One producer with three items, two consumers: who pops position n has item n, and all are popped.
fn two_consumers(entries: usize) {
    model_bounded(2, move || {
        let (tx, rx) = bbq::shared::<Item>(2, entries).unwrap();
        let other = rx.clone();
        let consumer = thread::spawn(move || drain(&other));
        let producer = thread::spawn(move || {
            for number in 0..3 {
                tx.push(Arc::new(number)).unwrap();
            }
        });
        let popped = drain(&rx) + consumer.join().unwrap();
        producer.join().unwrap();
        assert_eq!(popped, 3);
    });
}

/// Pops until the queue is closed. Returns how many there were.
fn drain(rx: &bbq::Consumer<Item>) -> usize {
    let mut popped = 0;
    loop {
        match rx.try_pop_numbered() {
            Ok((position, item)) => {
                assert_eq!(position, *item as u64);
                popped += 1;
            }
            Err(TryPopError::Closed) => return popped,
            Err(TryPopError::Empty | TryPopError::Busy) => thread::yield_now(),
        }
    }
}

/// Two threads push one and pop one. Never more than two are in the queue and never fewer than it takes, so nobody may see it full or empty.
fn roles_switch(entries: usize) {
    model(move || {
        let (tx, rx) = bbq::shared::<Item>(2, entries).unwrap();
        let (other_tx, other_rx) = (tx.clone(), rx.clone());
        let other = thread::spawn(move || push_and_pop(&other_tx, &other_rx, 1));
        push_and_pop(&tx, &rx, 2);
        other.join().unwrap();
        assert_eq!(rx.try_pop().err(), Some(TryPopError::Empty));
    });
}

/// Puts one in and takes one out of a queue that always has room for it and something in it.
fn push_and_pop(tx: &bbq::Producer<Item>, rx: &bbq::Consumer<Item>, number: usize) {
    let mut item = Arc::new(number);
    while let Err(refused) = tx.try_push(item) {
        assert!(matches!(refused, TryPushError::Busy(_)), "{refused:?} with room");
        item = refused.into_inner();
        thread::yield_now();
    }
    while let Err(refused) = rx.try_pop() {
        assert_eq!(refused, TryPopError::Busy, "with an item in the queue");
        thread::yield_now();
    }
}

/// One item is in the queue. A thread pushes one and pops one, three times over, so that the ring goes round; another pops one
/// meanwhile. There is always something for it: `Empty` would be wrong (errata E1 and E2).
fn empty_is_true(entries: usize, laps: usize) {
    model_bounded(2, move || {
        let (tx, rx) = bbq::shared::<Item>(2, entries).unwrap();
        tx.push(Arc::new(0)).unwrap();
        let other = rx.clone();
        let consumer = thread::spawn(move || {
            while let Err(refused) = other.try_pop() {
                assert_eq!(refused, TryPopError::Busy, "with an item in the queue");
                thread::yield_now();
            }
        });
        for number in 1..laps {
            tx.push(Arc::new(number)).unwrap();
            rx.pop().unwrap();
        }
        tx.push(Arc::new(laps)).unwrap();
        consumer.join().unwrap();
        assert_eq!(*rx.pop().unwrap(), laps);
    });
}

/// Fewer items are in the queue than fill it, and both threads take one out before they put one in: nobody may see it full.
fn full_is_true() {
    model_bounded(3, || {
        let (tx, rx) = bbq::shared::<Item>(2, 2).unwrap();
        for number in 0..4 {
            tx.push(Arc::new(number)).unwrap();
        }
        for _ in 0..3 {
            rx.pop().unwrap();
        }
        tx.push(Arc::new(4)).unwrap();
        // The last entry of one block and the first of the other are taken.
        let other = tx.clone();
        let other = thread::spawn(move || {
            let mut item = Arc::new(6);
            while let Err(refused) = other.try_push(item) {
                assert!(matches!(refused, TryPushError::Busy(_)), "{refused:?} with room");
                item = refused.into_inner();
                thread::yield_now();
            }
        });
        rx.pop().unwrap();
        tx.push(Arc::new(5)).unwrap();
        other.join().unwrap();
        assert_eq!(rx.len(), 3);
    });
}

/// The producer leaves behind two items; the consumer must not see the end before them.
fn the_end_comes_last(entries: usize) {
    model(move || {
        let (tx, rx) = bbq::shared::<Item>(2, entries).unwrap();
        let producer = thread::spawn(move || {
            tx.push(Arc::new(0)).unwrap();
            tx.push(Arc::new(1)).unwrap();
        });
        assert_eq!(drain(&rx), 2);
        producer.join().unwrap();
    });
}

/// The last consumer leaves while items are pushed. Each is refused or dropped with the queue, as loom's `Arc` checks.
fn the_consumer_leaves(entries: usize) {
    model(move || {
        let (tx, rx) = bbq::shared::<Item>(2, entries).unwrap();
        let consumer = thread::spawn(move || {
            if let Ok(item) = rx.try_pop() {
                assert_eq!(*item, 0);
            }
        });
        for number in 0..2 {
            if let Err(refused) = tx.try_push(Arc::new(number)) {
                assert_eq!(*refused.into_inner(), number);
            }
        }
        consumer.join().unwrap();
        assert!(matches!(tx.try_push(Arc::new(2)), Err(TryPushError::Closed(_))));
    });
}

#[test]
fn model_order_1() {
    order_is_kept(1, 0);
}

#[test]
fn model_order_2() {
    order_is_kept(2, 0);
}

#[test]
fn model_order_wrap() {
    order_is_kept(1, u64::MAX - 1);
}

#[test]
fn model_two_producers_1() {
    two_producers(1);
}

#[test]
fn model_two_producers_2() {
    two_producers(2);
}

#[test]
fn model_two_consumers_1() {
    two_consumers(1);
}

#[test]
fn model_two_consumers_2() {
    two_consumers(2);
}

#[test]
fn model_roles_1() {
    roles_switch(1);
}

#[test]
fn model_roles_2() {
    roles_switch(2);
}

#[test]
fn model_empty_1() {
    empty_is_true(1, 4);
}

#[test]
fn model_empty_2() {
    empty_is_true(2, 4);
}

#[test]
fn model_full() {
    full_is_true();
}

#[test]
fn model_end_1() {
    the_end_comes_last(1);
}

#[test]
fn model_end_2() {
    the_end_comes_last(2);
}

#[test]
fn model_leaving_1() {
    the_consumer_leaves(1);
}

#[test]
fn model_leaving_2() {
    the_consumer_leaves(2);
}

#[test]
fn survey() {
    let label: &'static str = std::env::var("EDGE").unwrap().leak();
    let client = std::env::var("CLIENT").unwrap();
    weakened(label, || match &*client {
        "order1" => order_is_kept(1, 0),
        "order2" => order_is_kept(2, 0),
        "prod1" => two_producers(1),
        "prod2" => two_producers(2),
        "cons1" => two_consumers(1),
        "cons2" => two_consumers(2),
        "roles1" => roles_switch(1),
        "roles2" => roles_switch(2),
        "empty1" => empty_is_true(1, 4),
        "empty2" => empty_is_true(2, 4),
        "full" => full_is_true(),
        "end1" => the_end_comes_last(1),
        "end2" => the_end_comes_last(2),
        _ => the_consumer_leaves(1),
    });
}
