//! The promises of tubes with many threads on either side.

use crate::queue::{Ledger, Queue, Rx, Tx};
use thalweg_queue::{TryPopError, TryPushError};
use thalweg_sync::thread;

/// One module per queue, each with every test of this file.
macro_rules! promises {
    ($($name:ident: $queue:expr,)+) => {
        $(mod $name {
            use super::*;
            $crate::many::tests!($queue; each_producer_in_order, roles_switch, the_last_clone_closes,
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
const EACH: usize = 2_000;

pub(crate) fn each_producer_in_order(queue: impl Queue<Tx: Clone, Rx: Clone>) {
    let ledger = Ledger::new(PRODUCERS * EACH);
    let (tx, rx) = queue.build();
    thread::scope(|scope| {
        for _ in 0..CONSUMERS {
            let mut rx = rx.clone();
            scope.spawn(move || {
                let mut last = [None; PRODUCERS];
                while let Ok(token) = rx.pop() {
                    let last = &mut last[token.number() / EACH];
                    assert!(*last < Some(token.number()), "{} after {last:?}", token.number());
                    *last = Some(token.number());
                }
            });
        }
        for producer in 0..PRODUCERS {
            let (mut tx, ledger) = (tx.clone(), &ledger);
            scope.spawn(move || {
                for number in producer * EACH..(producer + 1) * EACH {
                    tx.push(ledger.token(number)).unwrap();
                }
            });
        }
        drop((tx, rx));
    });
    ledger.assert_balanced(PRODUCERS * EACH);
}

pub(crate) fn roles_switch(queue: impl Queue<Tx: Clone, Rx: Clone>) {
    // Each thread puts one in and takes one out, so a try_push can be full only if more threads than fit are in
    // between.
    let threads = queue.least().min(4);
    let ledger = Ledger::new(threads * EACH);
    let (tx, rx) = queue.build();
    thread::scope(|scope| {
        for thread in 0..threads {
            let (mut tx, mut rx, ledger) = (tx.clone(), rx.clone(), &ledger);
            scope.spawn(move || {
                for number in thread * EACH..(thread + 1) * EACH {
                    let mut token = ledger.token(number);
                    while let Err(refused) = tx.try_push(token) {
                        assert!(matches!(refused, TryPushError::Busy(_)), "full with fewer than `least` items");
                        token = refused.into_inner();
                        thread::yield_now();
                    }
                    drop(rx.pop().unwrap());
                }
            });
        }
    });
    drop((tx, rx));
    ledger.assert_balanced(threads * EACH);
}

pub(crate) fn the_last_clone_closes(queue: impl Queue<Tx: Clone, Rx: Clone>) {
    let ledger = Ledger::new(2);
    let (mut tx, mut rx) = queue.build();
    let mut other = tx.clone();
    tx.try_push(ledger.token(0)).unwrap();
    drop(tx);
    assert!(!rx.is_closed());
    assert_eq!(rx.try_pop().map(|token| token.number()), Ok(0));
    assert_eq!(rx.try_pop().err(), Some(TryPopError::Empty));
    let mut last = rx.clone();
    drop(rx);
    assert!(!other.is_closed());
    other.try_push(ledger.token(1)).unwrap();
    drop(other);
    assert_eq!(last.try_pop().map(|token| token.number()), Ok(1));
    assert_eq!(last.try_pop().err(), Some(TryPopError::Closed));
    ledger.assert_balanced(2);
}

pub(crate) fn last_consumers_leave_in_a_race(queue: impl Queue<Tx: Clone, Rx: Clone>) {
    for round in 0..20 {
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
