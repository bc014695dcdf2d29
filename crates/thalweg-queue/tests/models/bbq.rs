//! BBQ under loom: small clients, and canaries that show that the model is awake.
//!
//! Two blocks are the smallest ring. With one entry each, every push and pop steps to another block; with two,
//! blocks are also used while they are half full.

use thalweg_queue::{TryPopError, TryPushError, Yield, mpmc};
use thalweg_sync::model_bounded;
use thalweg_sync::sync::Arc;
use thalweg_sync::{model, thread};

/// An item. loom reports one that is leaked or dropped twice; the queue's own slots report a read that its write
/// does not happen before, and a write that a read does not.
type Item = Arc<usize>;

/// Pushes up to `attempts` items, numbered from `first`, without waiting. Returns the number after the last.
fn push_some(tx: &mpmc::Producer<Item>, first: usize, attempts: usize) -> usize {
    let mut next = first;
    for _ in 0..attempts {
        match tx.try_push(Arc::new(next)) {
            Ok(()) => next += 1,
            Err(refused) => assert_eq!(*refused.into_inner(), next),
        }
    }
    next
}

/// One producer, one consumer, four attempts each: with one entry a block, every block is used twice. Waiting would
/// multiply the executions, so what is left is popped at the end.
fn order_is_kept(entries: usize, head: u64) {
    model_bounded(3, move || {
        let (tx, rx) = mpmc::shared_from::<Item, _>(head, 2, entries, Yield).unwrap();
        let producer = thread::spawn(move || push_some(&tx, 0, 4));
        let first = head.wrapping_mul(entries as u64);
        let mut popped = 0;
        let mut pop = || {
            let (position, item) = rx.try_pop_numbered()?;
            assert_eq!((position, *item), (first.wrapping_add(popped as u64), popped));
            popped += 1;
            Ok::<_, TryPopError>(())
        };
        for _ in 0..4 {
            let _ = pop();
        }
        let pushed = producer.join().unwrap();
        while pop().is_ok() {}
        assert_eq!(pop(), Err(TryPopError::Closed));
        assert_eq!(popped, pushed);
    });
}

/// Two producers with two attempts each, a consumer with two: each producer's items come in its order, positions
/// without gaps.
fn two_producers(entries: usize) {
    model_bounded(2, move || {
        let (tx, rx) = mpmc::shared::<Item>(2, entries).unwrap();
        let producers = [(tx.clone(), 0), (tx, 10)].map(|(tx, first)| thread::spawn(move || push_some(&tx, first, 2)));
        let mut next = [0, 10];
        let mut position = 0;
        let mut pop = || {
            let (at, item) = rx.try_pop_numbered()?;
            assert_eq!(at, position);
            position += 1;
            let next = &mut next[*item / 10];
            assert_eq!(*item, *next);
            *next += 1;
            Ok::<_, TryPopError>(())
        };
        for _ in 0..2 {
            let _ = pop();
        }
        let pushed = producers.map(|producer| producer.join().unwrap());
        while pop().is_ok() {}
        assert_eq!(pop(), Err(TryPopError::Closed));
        assert_eq!(next, pushed);
    });
}

/// Two consumers with an attempt each, a producer with one item in the queue and two attempts: who pops position n
/// has item n, and all are popped once.
fn two_consumers(entries: usize) {
    model_bounded(2, move || {
        let (tx, rx) = mpmc::shared::<Item>(2, entries).unwrap();
        tx.push(Arc::new(0)).unwrap();
        let consumers = [rx.clone(), rx.clone()].map(|rx| thread::spawn(move || pop_some(&rx, 1)));
        let pushed = push_some(&tx, 1, 2);
        drop(tx);
        let popped = consumers.map(|consumer| consumer.join().unwrap());
        assert_eq!(popped[0] + popped[1] + drain(&rx), pushed);
    });
}

/// Pops up to `attempts` items without waiting. Returns how many there were.
fn pop_some(rx: &mpmc::Consumer<Item>, attempts: usize) -> usize {
    (0..attempts).filter(|_| rx.try_pop_numbered().is_ok_and(|(position, item)| position == *item as u64)).count()
}

/// Pops until the queue is closed. Returns how many there were.
fn drain(rx: &mpmc::Consumer<Item>) -> usize {
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

/// Two threads push one and pop one. Never more than two are in the queue and never fewer than it takes, so nobody
/// may see it full or empty.
fn roles_switch(entries: usize) {
    model(move || {
        let (tx, rx) = mpmc::shared::<Item>(2, entries).unwrap();
        let (other_tx, other_rx) = (tx.clone(), rx.clone());
        let other = thread::spawn(move || push_and_pop(&other_tx, &other_rx, 1));
        push_and_pop(&tx, &rx, 2);
        other.join().unwrap();
        assert_eq!(rx.try_pop().err(), Some(TryPopError::Empty));
    });
}

/// Puts one in and takes one out of a queue that always has room for it and something in it.
fn push_and_pop(tx: &mpmc::Producer<Item>, rx: &mpmc::Consumer<Item>, number: usize) {
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

/// One item is in the queue. A thread pushes one and pops one, three times over, so that the ring goes round;
/// another pops one meanwhile. There is always something for it: `Empty` would be wrong (errata E1 and E2).
fn empty_is_true(entries: usize, laps: usize, preemptions: usize) {
    model_bounded(preemptions, move || {
        let (tx, rx) = mpmc::shared::<Item>(2, entries).unwrap();
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

/// Fewer items are in the queue than fill it, and both threads take one out before they put one in: nobody may see
/// it full.
fn full_is_true() {
    model_bounded(3, || {
        let (tx, rx) = mpmc::shared::<Item>(2, 2).unwrap();
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

/// A producer that looks in one round and allocates in the next: the other thread fills and empties the ring
/// meanwhile. The consumer of its entry's last round has to come before its write.
fn an_allocation_comes_late() {
    model_bounded(2, || {
        let (tx, rx) = mpmc::shared::<Item>(2, 1).unwrap();
        let other = tx.clone();
        let other = thread::spawn(move || push_some(&other, 10, 1) - 10);
        let (mut pushed, mut popped) = (0, 0);
        for _ in 0..2 {
            pushed = push_some(&tx, pushed, 1);
            popped += usize::from(rx.try_pop().is_ok());
        }
        pushed = push_some(&tx, pushed, 1);
        pushed += other.join().unwrap();
        while rx.try_pop().is_ok() {
            popped += 1;
        }
        assert_eq!(popped, pushed);
    });
}

/// A producer may stop after it has begun a block and before it has moved the head, and consumers may enter the
/// block then. Another producer has to get on all the same: there is room, and no pop is half-way.
fn a_push_moves_the_head_for_another() {
    model(|| {
        let (tx, rx) = mpmc::shared::<Item>(2, 1).unwrap();
        tx.push(Arc::new(0)).unwrap();
        let other = tx.clone();
        let other = thread::spawn(move || assert_eq!(push_some(&other, 1, 1), 2));
        assert_eq!(*rx.try_pop().unwrap(), 0);
        let popped = rx.try_pop().is_ok();
        tx.try_push(Arc::new(2)).unwrap();
        other.join().unwrap();
        assert_eq!(rx.len(), 2 - usize::from(popped));
    });
}

/// Two items of one line of marks are committed one after the other, and two consumers take one each: the second may go by what the
/// first has seen.
fn known_to_another() {
    model_bounded(3, || {
        let (tx, rx) = mpmc::shared::<Item>(2, 2).unwrap();
        let producer = thread::spawn(move || push_some(&tx, 0, 2));
        let other = rx.clone();
        let consumer = thread::spawn(move || pop_some(&other, 1));
        let popped = pop_some(&rx, 1) + consumer.join().unwrap();
        let pushed = producer.join().unwrap();
        assert_eq!(popped + drain(&rx), pushed);
    });
}

/// The producer leaves behind two items; the consumer must not see the end before them.
fn the_end_comes_last(entries: usize) {
    model(move || {
        let (tx, rx) = mpmc::shared::<Item>(2, entries).unwrap();
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
        let (tx, rx) = mpmc::shared::<Item>(2, entries).unwrap();
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

models! {
    order_1: order_is_kept(1, 0),
    order_2: order_is_kept(2, 0),
    order_across_the_wrap: order_is_kept(1, u64::MAX - 1),
    two_producers_1: two_producers(1),
    two_producers_2: two_producers(2),
    two_consumers_1: two_consumers(1),
    two_consumers_2: two_consumers(2),
    roles_1: roles_switch(1),
    roles_2: roles_switch(2),
    empty_1: empty_is_true(1, 4, 1),
    empty_2: empty_is_true(2, 4, 1),
    long_empty_1: empty_is_true(1, 4, 2),
    long_empty_2: empty_is_true(2, 4, 2),
    full: full_is_true(),
    helping: a_push_moves_the_head_for_another(),
    late: an_allocation_comes_late(),
    long_end_1: the_end_comes_last(1),
    end_2: the_end_comes_last(2),
    long_known: known_to_another(),
    leaving_1: the_consumer_leaves(1),
    leaving_2: the_consumer_leaves(2),
}

canaries! {
    canary_1: "bbq.1", "with room", full_is_true(),
    canary_2: "bbq.2", "with room", full_is_true(),
    canary_3: "bbq.3", "Causality violation", order_is_kept(1, 0),
    canary_4: "bbq.4", "Causality violation", order_is_kept(1, 0),
    canary_5: "bbq.5", "Causality violation", an_allocation_comes_late(),
    canary_7: "bbq.7", "Causality violation", order_is_kept(1, 0),
    canary_8: "bbq.8", "with an item in the queue", roles_switch(1),
    canary_9: "bbq.9", "Causality violation", order_is_kept(1, 0),
    canary_10: "bbq.10", "with an item in the queue", empty_is_true(1, 4, 2),
    canary_11: "bbq.11", "exceeded maximum number of branches", empty_is_true(1, 4, 2),
    canary_12: "bbq.12", "exceeded maximum number of branches", two_producers(1),
    canary_13: "bbq.13", "exceeded maximum number of branches", two_producers(1),
    canary_14: "bbq.14", "exceeded maximum number of branches", empty_is_true(1, 4, 2),
    canary_15: "bbq.15", "exceeded maximum number of branches", empty_is_true(1, 4, 2),
    canary_16: "bbq.16", "left == right", the_end_comes_last(1),
    canary_17: "bbq.17", "left == right", the_end_comes_last(1),
    canary_18: "bbq.18", "with an item in the queue", roles_switch(1),
    canary_20: "bbq.20", "Causality violation", known_to_another(),
    canary_21: "bbq.21", "Causality violation", known_to_another(),
}
