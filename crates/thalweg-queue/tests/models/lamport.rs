//! Lamport's queue under loom: small clients, and canaries that show that the model is awake.

use crate::support::Leaked;
use thalweg_queue::edges::table::weakened;
use thalweg_queue::research::lamport::{self, Caching, Consumer, Producer};
use thalweg_queue::wait::Ordinary;
use thalweg_queue::{BuildError, TryPopError};
use thalweg_sync::model_bounded;
use thalweg_sync::sync::Arc;
use thalweg_sync::{model, thread};

/// An item. loom reports one that is leaked or dropped twice; the queue's own slots report a read that its write does
/// not happen before, and a write that a read does not.
type Item = Arc<usize>;

type Built<L> = Result<(Producer<Item, Ordinary, L>, Consumer<Item, Ordinary, L>), BuildError>;

/// Room for one item and four attempts of each: both slots are used twice.
fn order_is_kept<L: Caching + 'static>(build: fn(usize) -> Built<L>) {
    model_bounded(3, move || {
        let (mut tx, rx) = build(1).unwrap();
        let mut rx = Leaked::new(rx);
        let producer = thread::spawn(move || {
            let mut pushed = 0;
            for _ in 0..4 {
                match tx.try_push(Arc::new(pushed)) {
                    Ok(()) => pushed += 1,
                    Err(refused) => assert_eq!(*refused.into_inner(), pushed),
                }
            }
            pushed
        });
        let mut popped = 0;
        for _ in 0..4 {
            if let Ok(item) = rx.try_pop() {
                assert_eq!(*item, popped);
                popped += 1;
            }
        }
        let pushed = producer.join().unwrap();
        while let Ok(item) = rx.try_pop() {
            assert_eq!(*item, popped);
            popped += 1;
        }
        assert_eq!(popped, pushed);
        assert_eq!(rx.try_pop().err(), Some(TryPopError::Closed));
    });
}

/// Room for one item and three that wait for it: both slots are used, and the first one again.
fn slots_are_reused<L: Caching + 'static>(build: fn(usize) -> Built<L>) {
    model_bounded(2, move || {
        let (mut tx, rx) = build(1).unwrap();
        let mut rx = Leaked::new(rx);
        let producer = thread::spawn(move || (0..3).for_each(|number| tx.push(Arc::new(number)).unwrap()));
        for number in 0..3 {
            assert_eq!(*rx.pop().unwrap(), number);
        }
        producer.join().unwrap();
    });
}

/// The consumer leaves after one item. Whatever is pushed meanwhile is refused or dropped, which loom's `Arc` checks.
fn the_consumer_leaves<L: Caching + 'static>(build: fn(usize) -> Built<L>) {
    model(move || {
        let (mut tx, mut rx) = build(2).unwrap();
        let consumer = thread::spawn(move || {
            if let Ok(item) = rx.try_pop() {
                assert_eq!(*item, 0);
            }
        });
        for number in 0..3 {
            if let Err(refused) = tx.try_push(Arc::new(number)) {
                assert_eq!(*refused.into_inner(), number);
            }
        }
        consumer.join().unwrap();
    });
}

#[test]
fn order_plain() {
    order_is_kept(lamport::plain);
}

#[test]
fn order_cached() {
    order_is_kept(lamport::cached);
}

#[test]
fn reuse_plain() {
    slots_are_reused(lamport::plain);
}

#[test]
fn reuse_cached() {
    slots_are_reused(lamport::cached);
}

#[test]
fn leaving_plain() {
    the_consumer_leaves(lamport::plain);
}

#[test]
fn leaving_cached() {
    the_consumer_leaves(lamport::cached);
}

#[test]
#[should_panic(expected = "Causality violation")]
fn canary_publish() {
    weakened("lamport.1", || order_is_kept(lamport::plain));
}

#[test]
#[should_panic(expected = "Causality violation")]
fn canary_head() {
    weakened("lamport.2", || order_is_kept(lamport::cached));
}

#[test]
#[should_panic(expected = "Causality violation")]
fn canary_give_back() {
    weakened("lamport.3", || slots_are_reused(lamport::cached));
}

#[test]
#[should_panic(expected = "Causality violation")]
fn canary_tail() {
    weakened("lamport.4", || slots_are_reused(lamport::plain));
}
