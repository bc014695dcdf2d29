//! FastForward under loom: small clients in every execution, and canaries that show that the model is awake.
//!
//! In a model a line has two slots, so the smallest ring has two lines of two.

use crate::support::Leaked;
use thalweg_queue::spsc::fast_forward::{self, Ends, Entry, InPlace};
use thalweg_queue::{TryPopError, Yield};
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

/// The smallest queue, whose items are words.
fn words() -> Ends<Box<Item>> {
    fast_forward::fast_forward(1).unwrap()
}

/// The smallest queue, whose items lie in the slots. loom also reports a slot that is read or written while the other side is in it.
fn in_place() -> Ends<Box<Item>, Yield, InPlace<Box<Item>>> {
    fast_forward::in_place(1).unwrap()
}

/// Nine items: every slot of the ring of four is used twice, and the first one a third time. Too many for all
/// executions.
fn order_is_kept<S: Entry<Box<Item>> + Send + Sync + 'static>(build: fn() -> Ends<Box<Item>, Yield, S>) {
    thalweg_sync::model_bounded(3, move || {
        let (mut tx, rx) = build();
        let mut rx = Leaked::new(rx);
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
fn nothing_is_lost_between_refusals<S: Entry<Box<Item>> + Send + Sync + 'static>(
    build: fn() -> Ends<Box<Item>, Yield, S>,
) {
    model(move || {
        let (mut tx, rx) = build();
        let mut rx = Leaked::new(rx);
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
fn the_end_comes_last<S: Entry<Box<Item>> + Send + Sync + 'static>(build: fn() -> Ends<Box<Item>, Yield, S>) {
    model(move || {
        let (mut tx, rx) = build();
        let mut rx = Leaked::new(rx);
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
fn the_consumer_leaves<S: Entry<Box<Item>> + Send + Sync + 'static>(build: fn() -> Ends<Box<Item>, Yield, S>) {
    model(move || {
        let (mut tx, mut rx) = build();
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

models! {
    model_order: order_is_kept(words),
    model_refusals: nothing_is_lost_between_refusals(words),
    model_end: the_end_comes_last(words),
    model_leaving: the_consumer_leaves(words),
    in_place_order: order_is_kept(in_place),
    in_place_refusals: nothing_is_lost_between_refusals(in_place),
    in_place_end: the_end_comes_last(in_place),
    in_place_leaving: the_consumer_leaves(in_place),
}

canaries! {
    canary_fill: "ff.3", "Causality violation", the_end_comes_last(words),
    canary_take: "ff.4", "Causality violation", the_end_comes_last(words),
    canary_leave: "ends.1", "left == right", the_end_comes_last(words),
    canary_gone: "ends.2", "left == right", the_end_comes_last(words),
    canary_empty: "ff.1", "left == right", nothing_is_lost_between_refusals(words),
    canary_clear: "ff.2", "left == right", nothing_is_lost_between_refusals(words),
    canary_in_place_empty: "ff.7", "Causality violation", nothing_is_lost_between_refusals(in_place),
    canary_in_place_clear: "ff.8", "Causality violation", nothing_is_lost_between_refusals(in_place),
    canary_in_place_fill: "ff.9", "Causality violation", the_end_comes_last(in_place),
    canary_in_place_take: "ff.10", "Causality violation", the_end_comes_last(in_place),
}
