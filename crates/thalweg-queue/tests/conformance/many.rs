//! The promises of queues with many producers, many consumers, or many of both.

use crate::queue::{Ledger, Numbered, Queue, Rx, Token, often};
use thalweg_queue::{Pop, Push, TryPopError, TryPushError};
use thalweg_sync::atomic::{AtomicUsize, Ordering};
use thalweg_sync::thread;

macro_rules! promises {
    ($($queues:tt)+) => {
        $crate::each! { many [each_producer_in_order, roles_switch, the_last_producer_closes, the_last_consumer_closes,
            last_consumers_leave_in_a_race] $($queues)+ }
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
        $crate::each! { many [each_producer_in_order_to_one, the_last_producer_closes, the_last_consumer_closes,
            last_consumers_leave_in_a_race] $($queues)+ }
    };
}
pub(crate) use loose;

/// For queues with many producers and one consumer, which number their items.
macro_rules! to_one {
    ($($queues:tt)+) => {
        $crate::each! { many [each_producer_in_order_to_one, numbers_are_dense_to_one, the_last_producer_closes,
            the_consumer_leaves_in_a_race] $($queues)+ }
    };
}
pub(crate) use to_one;

/// For queues with one producer and many consumers, which number their items.
macro_rules! from_one {
    ($($queues:tt)+) => {
        $crate::each! { many [the_producer_in_order, numbers_are_dense_from_one, the_last_consumer_closes,
            last_consumers_leave_one_in_a_race] $($queues)+ }
    };
}
pub(crate) use from_one;

pub(crate) const PRODUCERS: usize = 3;
const CONSUMERS: usize = 3;
const EACH: usize = often(2_000);

/// A queue whose handles are clones.
pub(crate) trait Many: Queue<Tx: Clone, Rx: Clone> {}
impl<Q: Queue<Tx: Clone, Rx: Clone>> Many for Q {}

/// As many handles of each side as there are threads.
type Handles<Q> = (Vec<<Q as Queue>::Tx>, Vec<<Q as Queue>::Rx>);

fn many_to_many<Q: Many>(queue: Q) -> Handles<Q> {
    let (tx, rx) = queue.build();
    (vec![tx; PRODUCERS], vec![rx; CONSUMERS])
}

fn many_to_one<Q: Queue<Tx: Clone>>(queue: Q) -> Handles<Q> {
    let (tx, rx) = queue.build();
    (vec![tx; PRODUCERS], vec![rx])
}

fn one_to_many<Q: Queue<Rx: Clone>>(queue: Q) -> Handles<Q> {
    let (tx, rx) = queue.build();
    (vec![tx], vec![rx; CONSUMERS])
}

/// Runs producers and consumers over all tokens. Token `number` is pushed by producer `number / EACH`. Returns what each consumer
/// returns.
pub(crate) fn run<P: Push<Item = Token> + Send, C: Rx, R: Send>(
    (producers, consumers): (Vec<P>, Vec<C>),
    consume: impl Fn(C) -> R + Copy + Send,
) -> Vec<R> {
    let tokens = producers.len() * EACH;
    let ledger = Ledger::new(tokens);
    let popped = thread::scope(|scope| {
        let consumers: Vec<_> = consumers.into_iter().map(|rx| scope.spawn(move || consume(rx))).collect();
        for (producer, mut tx) in producers.into_iter().enumerate() {
            let ledger = &ledger;
            scope.spawn(move || {
                for number in producer * EACH..(producer + 1) * EACH {
                    tx.push(ledger.token(number)).unwrap();
                }
            });
        }
        consumers.into_iter().map(|consumer| consumer.join().unwrap()).collect()
    });
    ledger.assert_balanced(tokens);
    popped
}

/// Pops all there is, and sees the items of each producer in their order.
pub(crate) fn in_order(mut rx: impl Rx) {
    let mut last = [None; PRODUCERS];
    while let Ok(token) = rx.pop() {
        let number = token.number();
        let last = &mut last[number / EACH];
        assert!(*last < Some(number), "{number} after {last:?}");
        *last = Some(number);
    }
}

pub(crate) fn each_producer_in_order(queue: impl Many) {
    run(many_to_many(queue), in_order);
}

pub(crate) fn each_producer_in_order_to_one(queue: impl Queue<Tx: Clone>) {
    run(many_to_one(queue), in_order);
}

pub(crate) fn the_producer_in_order(queue: impl Queue<Rx: Clone>) {
    run(one_to_many(queue), in_order);
}

/// Numbers are dense from `first` on, and those of each producer are in its order over all consumers.
fn dense(first: u64, handles: (Vec<impl Push<Item = Token> + Send>, Vec<impl Numbered>)) {
    let producers = handles.0.len();
    let popped = run(handles, |mut rx| {
        let mut popped = Vec::new();
        loop {
            match rx.try_pop_numbered() {
                Ok((position, token)) => popped.push((position.wrapping_sub(first), token.number())),
                Err(TryPopError::Empty | TryPopError::Busy) => thread::yield_now(),
                Err(TryPopError::Closed) => return popped,
            }
        }
    });
    let mut all: Vec<_> = popped.into_iter().flatten().collect();
    all.sort_unstable();
    let mut next: Vec<_> = (0..producers).map(|producer| producer * EACH).collect();
    for (expected, (position, number)) in all.into_iter().enumerate() {
        assert_eq!(position, expected as u64);
        let next = &mut next[number / EACH];
        assert_eq!(number, *next);
        *next += 1;
    }
    assert!(next.into_iter().eq((1..=producers).map(|producer| producer * EACH)));
}

pub(crate) fn numbers_are_dense<Q: Many<Rx: Numbered>>(queue: Q) {
    dense(queue.first(), many_to_many(queue));
}

pub(crate) fn numbers_are_dense_to_one<Q: Queue<Tx: Clone, Rx: Numbered>>(queue: Q) {
    dense(queue.first(), many_to_one(queue));
}

pub(crate) fn numbers_are_dense_from_one<Q: Queue<Rx: Clone + Numbered>>(queue: Q) {
    dense(queue.first(), one_to_many(queue));
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

pub(crate) fn the_last_producer_closes(queue: impl Queue<Tx: Clone>) {
    let ledger = Ledger::new(2);
    let (mut tx, mut rx) = queue.build();
    let mut other = tx.clone();
    tx.try_push(ledger.token(0)).unwrap();
    drop(tx);
    assert!(!rx.is_closed());
    assert_eq!(rx.try_pop().map(|token| token.number()), Ok(0));
    assert_eq!(rx.try_pop().err(), Some(TryPopError::Empty));
    other.try_push(ledger.token(1)).unwrap();
    drop(other);
    assert_eq!(rx.try_pop().map(|token| token.number()), Ok(1));
    assert_eq!(rx.try_pop().err(), Some(TryPopError::Closed));
    ledger.assert_balanced(2);
}

pub(crate) fn the_last_consumer_closes(queue: impl Queue<Rx: Clone>) {
    let ledger = Ledger::new(3);
    let (mut tx, mut rx) = queue.build();
    let mut other = rx.clone();
    tx.try_push(ledger.token(0)).unwrap();
    assert_eq!(rx.try_pop().map(|token| token.number()), Ok(0));
    drop(rx);
    assert!(!tx.is_closed());
    tx.try_push(ledger.token(1)).unwrap();
    assert_eq!(other.try_pop().map(|token| token.number()), Ok(1));
    drop(other);
    assert!(tx.is_closed());
    match tx.try_push(ledger.token(2)) {
        Err(TryPushError::Closed(token)) => assert_eq!(token.number(), 2),
        other => panic!("{other:?} without a consumer"),
    }
    ledger.assert_balanced(3);
}

/// Consumers leave after some items, up to twice as many as there is room for, while producers push: what was made is dropped once.
pub(crate) fn leave_in_a_race<P, C>(most: usize, build: impl Fn() -> (Vec<P>, Vec<C>))
where
    P: Push<Item = Token> + Send,
    C: Rx,
{
    for round in 0..often(12) {
        let ledger = Ledger::new(PRODUCERS * EACH);
        let (producers, consumers) = build();
        let made: usize = thread::scope(|scope| {
            let producers: Vec<_> = producers
                .into_iter()
                .enumerate()
                .map(|(producer, mut tx)| {
                    let ledger = &ledger;
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
            for (consumer, mut rx) in consumers.into_iter().enumerate() {
                scope.spawn(move || {
                    for _ in 0..(round + consumer) % (2 * most) {
                        drop(rx.pop().unwrap());
                    }
                });
            }
            producers.into_iter().map(|producer| producer.join().unwrap()).sum()
        });
        assert_eq!(ledger.dropped(), made, "tokens dropped of those made");
    }
}

pub(crate) fn last_consumers_leave_in_a_race<Q: Many>(queue: Q) {
    leave_in_a_race(queue.most(), || many_to_many(queue));
}

pub(crate) fn the_consumer_leaves_in_a_race<Q: Queue<Tx: Clone>>(queue: Q) {
    leave_in_a_race(queue.most(), || many_to_one(queue));
}

pub(crate) fn last_consumers_leave_one_in_a_race<Q: Queue<Rx: Clone>>(queue: Q) {
    leave_in_a_race(queue.most(), || one_to_many(queue));
}
