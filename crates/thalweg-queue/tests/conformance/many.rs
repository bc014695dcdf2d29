//! The promises of queues with many producers and consumers.

use crate::queue::{Ledger, Numbered, Queue, Rx, often};
use thalweg_queue::{Pop, Push, TryPopError, TryPushError};
use thalweg_sync::atomic::{AtomicUsize, Ordering};
use thalweg_sync::thread;

macro_rules! promises {
    ($($queues:tt)+) => {
        $crate::each! { many [each_producer_in_order, roles_switch, the_last_clone_closes, last_consumers_leave_in_a_race] $($queues)+ }
    };
}
pub(crate) use promises;

/// For queues that number their items.
macro_rules! numbered {
    ($($queues:tt)+) => {
        $crate::each! { many [numbers_are_dense] $($queues)+ }
    };
}
pub(crate) use numbered;

/// For queues whose order is looser, but for one consumer.
macro_rules! loose {
    ($($queues:tt)+) => {
        $crate::each! { many [each_producer_in_order_to_one, the_last_clone_closes, last_consumers_leave_in_a_race] $($queues)+ }
    };
}
pub(crate) use loose;

const PRODUCERS: usize = 3;
const CONSUMERS: usize = 3;
const EACH: usize = often(2_000);

/// A queue whose handles are clones.
pub(crate) trait Many: Queue<Tx: Clone, Rx: Clone> {}
impl<Q: Queue<Tx: Clone, Rx: Clone>> Many for Q {}

/// Runs producers and consumers over all tokens. Token `number` is pushed by producer `number / EACH`. Returns what each consumer
/// returns.
fn run<Q: Many, R: Send>(
    queue: Q,
    ledger: &Ledger,
    consumers: usize,
    consume: impl Fn(Q::Rx) -> R + Copy + Send,
) -> Vec<R> {
    let (tx, rx) = queue.build();
    thread::scope(|scope| {
        let consumers: Vec<_> = (0..consumers)
            .map(|_| {
                let rx = rx.clone();
                scope.spawn(move || consume(rx))
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
        drop((tx, rx));
        consumers.into_iter().map(|consumer| consumer.join().unwrap()).collect()
    })
}

/// Pops all there is, and sees the items of each producer in their order.
fn in_order(mut rx: impl Rx) {
    let mut last = [None; PRODUCERS];
    while let Ok(token) = rx.pop() {
        let number = token.number();
        let last = &mut last[number / EACH];
        assert!(*last < Some(number), "{number} after {last:?}");
        *last = Some(number);
    }
}

pub(crate) fn each_producer_in_order(queue: impl Many) {
    let ledger = Ledger::new(PRODUCERS * EACH);
    run(queue, &ledger, CONSUMERS, in_order);
    ledger.assert_balanced(PRODUCERS * EACH);
}

pub(crate) fn each_producer_in_order_to_one(queue: impl Many) {
    let ledger = Ledger::new(PRODUCERS * EACH);
    run(queue, &ledger, 1, in_order);
    ledger.assert_balanced(PRODUCERS * EACH);
}

pub(crate) fn numbers_are_dense<Q: Many>(queue: Q)
where
    Q::Rx: Numbered,
{
    let ledger = Ledger::new(PRODUCERS * EACH);
    let popped = run(queue, &ledger, CONSUMERS, |rx| {
        let mut popped = Vec::new();
        loop {
            match rx.try_pop_numbered() {
                Ok((position, token)) => popped.push((position.wrapping_sub(queue.first()), token.number())),
                Err(TryPopError::Empty | TryPopError::Busy) => thread::yield_now(),
                Err(TryPopError::Closed) => return popped,
            }
        }
    });
    let mut all: Vec<_> = popped.into_iter().flatten().collect();
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
    ledger.assert_balanced(PRODUCERS * EACH);
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
    for round in 0..often(12) {
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
        assert_eq!(ledger.dropped(), made, "tokens dropped of those made");
    }
}
