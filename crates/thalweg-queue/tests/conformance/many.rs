//! The promises of queues with many producers and consumers.

use crate::queue::{Ledger, Many, Numbered, Rx, Tx};
use thalweg_queue::{TryPopError, TryPushError};
use thalweg_sync::atomic::{AtomicUsize, Ordering};
use thalweg_sync::thread;

/// One module per queue, each with every test of this file.
macro_rules! promises {
    ($($name:ident: $queue:expr,)+) => {
        $(mod $name {
            use super::*;
            $crate::many::tests!($queue; each_producer_in_order, numbers_are_dense, roles_switch, the_last_clone_closes,
                last_consumers_leave_in_a_race);
        })+
    };
}
macro_rules! tests {
    ($queue:expr; $($test:ident),+) => {
        $(#[test]
        fn $test() {
            $crate::many::$test($queue);
        })+
    };
}
pub(crate) use {promises, tests};

const PRODUCERS: usize = 3;
const CONSUMERS: usize = 3;
const EACH: usize = 3_000;

/// Runs producers and consumers over all tokens. Token `number` is pushed by producer `number / EACH`. Returns what
/// each consumer popped, in its order, with positions from 0.
fn run(queue: impl Many, ledger: &Ledger) -> Vec<Vec<(u64, usize)>> {
    let (tx, rx) = queue.build();
    thread::scope(|scope| {
        let consumers: Vec<_> = (0..CONSUMERS)
            .map(|_| {
                let rx = rx.clone();
                scope.spawn(move || {
                    let mut popped = Vec::new();
                    loop {
                        match rx.try_pop_numbered() {
                            Ok((position, token)) => {
                                popped.push((position.wrapping_sub(queue.first()), token.number()));
                            }
                            Err(TryPopError::Empty | TryPopError::Busy) => thread::yield_now(),
                            Err(TryPopError::Closed) => return popped,
                        }
                    }
                })
            })
            .collect();
        for producer in 0..PRODUCERS {
            let mut tx = tx.clone();
            scope.spawn(move || {
                for number in producer * EACH..(producer + 1) * EACH {
                    tx.push(ledger.token(number)).unwrap();
                }
            });
        }
        drop(tx);
        consumers.into_iter().map(|consumer| consumer.join().unwrap()).collect()
    })
}

pub(crate) fn each_producer_in_order(queue: impl Many) {
    let ledger = Ledger::new(PRODUCERS * EACH);
    for popped in run(queue, &ledger) {
        let mut last = [None; PRODUCERS];
        for (_, number) in popped {
            let last = &mut last[number / EACH];
            assert!(*last < Some(number), "{number} after {last:?}");
            *last = Some(number);
        }
    }
    ledger.assert_balanced(PRODUCERS * EACH);
}

pub(crate) fn numbers_are_dense(queue: impl Many) {
    let ledger = Ledger::new(PRODUCERS * EACH);
    let mut all: Vec<_> = run(queue, &ledger).into_iter().flatten().collect();
    all.sort_unstable();
    let mut next: [usize; PRODUCERS] = std::array::from_fn(|producer| producer * EACH);
    for (expected, (position, number)) in all.into_iter().enumerate() {
        assert_eq!(position, expected as u64);
        // By position, each producer's items are in its order over all consumers.
        let next = &mut next[number / EACH];
        assert_eq!(number, *next);
        *next += 1;
    }
    assert_eq!(next, std::array::from_fn(|producer| (producer + 1) * EACH));
}

pub(crate) fn roles_switch(queue: impl Many) {
    // Each thread puts one in and takes one out, so a try_push can be full only if more threads than fit are in
    // between.
    let threads = queue.least().min(4);
    let tokens = threads * EACH;
    let ledger = Ledger::new(tokens);
    let (tx, rx) = queue.build();
    let popped = AtomicUsize::new(0);
    thread::scope(|scope| {
        for thread in 0..threads {
            let (mut tx, mut rx) = (tx.clone(), rx.clone());
            let (ledger, popped) = (&ledger, &popped);
            scope.spawn(move || {
                for number in thread * EACH..(thread + 1) * EACH {
                    let mut token = ledger.token(number);
                    while let Err(refused) = tx.try_push(token) {
                        assert!(matches!(refused, TryPushError::Busy(_)), "full with fewer than `least` items");
                        token = refused.into_inner();
                        thread::yield_now();
                    }
                    drop(rx.pop().unwrap());
                    popped.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
    });
    assert_eq!(popped.load(Ordering::Relaxed), tokens);
    ledger.assert_balanced(tokens);
}

pub(crate) fn the_last_clone_closes(queue: impl Many) {
    let ledger = Ledger::new(2);
    let (mut tx, mut rx) = queue.build();
    let other = tx.clone();
    tx.try_push(ledger.token(0)).unwrap();
    drop(tx);
    assert!(!rx.is_closed());
    assert_eq!(rx.try_pop().map(|token| token.number()), Ok(0));
    assert_eq!(rx.try_pop().err(), Some(TryPopError::Empty));
    let other_rx = rx.clone();
    drop(rx);
    assert!(!other.is_closed());
    let mut rx = other_rx;
    let mut tx = other;
    tx.try_push(ledger.token(1)).unwrap();
    drop(tx);
    assert_eq!(rx.try_pop().map(|token| token.number()), Ok(1));
    assert_eq!(rx.try_pop().err(), Some(TryPopError::Closed));
    ledger.assert_balanced(2);
}

pub(crate) fn last_consumers_leave_in_a_race(queue: impl Many) {
    for round in 0..50 {
        let ledger = Ledger::new(PRODUCERS * EACH);
        let (tx, rx) = queue.build();
        let made: usize = thread::scope(|scope| {
            let producers: Vec<_> = (0..PRODUCERS)
                .map(|producer| {
                    let (mut tx, ledger) = (tx.clone(), &ledger);
                    scope.spawn(move || {
                        for made in 0..EACH {
                            let number = made * PRODUCERS + producer;
                            if let Err(refused) = tx.push(ledger.token(number)) {
                                assert_eq!(refused.0.number(), number);
                                return made + 1;
                            }
                        }
                        EACH
                    })
                })
                .collect();
            for consumer in 0..CONSUMERS {
                let mut rx = rx.clone();
                scope.spawn(move || {
                    for _ in 0..(round + consumer) % (2 * queue.most()) {
                        drop(rx.pop().unwrap());
                    }
                });
            }
            drop((tx, rx));
            producers.into_iter().map(|producer| producer.join().unwrap()).sum()
        });
        let drops: usize = (0..PRODUCERS * EACH)
            .map(|number| {
                assert!(ledger.drops(number) <= 1, "token {number} dropped twice");
                ledger.drops(number) as usize
            })
            .sum();
        assert_eq!(drops, made, "tokens dropped of those made");
    }
}
