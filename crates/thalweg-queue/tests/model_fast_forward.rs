//! FastForward under loom: small clients in every execution, and canaries that show that the model is awake.
//!
//! In a model a line has two slots, so the smallest ring has two lines of two.
#![cfg(loom)]

use thalweg_queue::edges::table::weakened;
use thalweg_queue::{TryPopError, fast_forward};
use thalweg_sync::cell::Slot;
use thalweg_sync::sync::Arc;
use thalweg_sync::{model, thread};

/// A payload of two words, more than one store. loom reports a read of it that its write does not happen before,
/// and, by the `Arc`, an item that is leaked or dropped twice.
struct Item {
    words: Slot<[usize; 2]>,
    _dropped_once: Arc<()>,
}

impl Item {
    fn new(number: usize) -> Box<Self> {
        Box::new(Self { words: Slot::new([number, !number]), _dropped_once: Arc::new(()) })
    }

    fn number(&self) -> usize {
        // SAFETY: an item has one owner, and this is it.
        let [number, complement] = self.words.with(|words| unsafe { *words });
        assert_eq!(number, !complement);
        number
    }
}

/// Nine items: every slot of the ring of four is used twice, and the first one a third time. Too many for all
/// executions.
fn order_is_kept() {
    thalweg_sync::model_bounded(3, || {
        let (mut tx, mut rx) = fast_forward::<Box<Item>>(1).unwrap();
        let producer = thread::spawn(move || {
            for number in 0..9 {
                tx.push(Item::new(number)).unwrap();
            }
        });
        for number in 0..9 {
            assert_eq!(rx.pop().unwrap().number(), number);
        }
        producer.join().unwrap();
        assert_eq!(rx.try_pop().err(), Some(TryPopError::Closed));
    });
}

/// Five items with refusals: the consumer finds nothing in the middle of a line, the producer finds no room.
fn nothing_is_lost_between_refusals() {
    model(|| {
        let (mut tx, mut rx) = fast_forward::<Box<Item>>(1).unwrap();
        let producer = thread::spawn(move || {
            let mut pushed = 0;
            for _ in 0..6 {
                pushed += usize::from(tx.try_push(Item::new(pushed)).is_ok());
            }
            assert!(pushed >= 4, "{pushed} fit whatever the consumer does");
            pushed
        });
        let mut popped = 0;
        for _ in 0..3 {
            if let Ok(item) = rx.try_pop() {
                assert_eq!(item.number(), popped);
                popped += 1;
            }
        }
        let pushed = producer.join().unwrap();
        while let Ok(item) = rx.try_pop() {
            assert_eq!(item.number(), popped);
            popped += 1;
        }
        assert_eq!(popped, pushed);
    });
}

/// The producer leaves behind two items; the consumer must not see the end before them.
fn the_end_comes_last() {
    model(|| {
        let (mut tx, mut rx) = fast_forward::<Box<Item>>(1).unwrap();
        let producer = thread::spawn(move || {
            tx.push(Item::new(0)).unwrap();
            tx.push(Item::new(1)).unwrap();
        });
        let mut popped = 0;
        while let Ok(item) = rx.pop() {
            assert_eq!(item.number(), popped);
            popped += 1;
        }
        assert_eq!(popped, 2);
        producer.join().unwrap();
    });
}

/// The consumer leaves after one item. Whatever is pushed meanwhile is refused or dropped, which the items' `Arc`s
/// check.
fn the_consumer_leaves() {
    model(|| {
        let (mut tx, mut rx) = fast_forward::<Box<Item>>(1).unwrap();
        let consumer = thread::spawn(move || {
            if let Ok(item) = rx.try_pop() {
                assert_eq!(item.number(), 0);
            }
        });
        for number in 0..3 {
            if let Err(refused) = tx.try_push(Item::new(number)) {
                assert_eq!(refused.into_inner().number(), number);
                assert!(tx.is_closed());
            }
        }
        consumer.join().unwrap();
        assert!(tx.push(Item::new(3)).is_err());
    });
}

#[test]
fn model_order() {
    order_is_kept();
}

#[test]
fn model_refusals() {
    nothing_is_lost_between_refusals();
}

#[test]
fn model_end() {
    the_end_comes_last();
}

#[test]
fn model_leaving() {
    the_consumer_leaves();
}

#[test]
#[should_panic(expected = "Causality violation")]
fn canary_fill() {
    weakened("ff.3", the_end_comes_last);
}

#[test]
#[should_panic(expected = "Causality violation")]
fn canary_take() {
    weakened("ff.4", the_end_comes_last);
}

#[test]
#[should_panic(expected = "left == right")]
fn canary_leave() {
    weakened("ff.5", the_end_comes_last);
}

#[test]
#[should_panic(expected = "left == right")]
fn canary_gone() {
    weakened("ff.6", the_end_comes_last);
}

#[test]
#[should_panic(expected = "left == right")]
fn canary_empty() {
    weakened("ff.1", nothing_is_lost_between_refusals);
}

#[test]
#[should_panic(expected = "left == right")]
fn canary_clear() {
    weakened("ff.2", nothing_is_lost_between_refusals);
}
