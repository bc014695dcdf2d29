//! The chunk ring under loom: small clients, and canaries that show that the model is awake.
//!
//! Two chunks of one entry are the smallest ring: every push and pop comes to the end of a chunk. It may grow by one or
//! two, so that a chunk is linked in while the consumer is in any other.

use crate::support::Leaked;
use thalweg_queue::growing::{Consumer, Most, Producer, with_chunks};
use thalweg_queue::{TryPopError, TryPushError};
use thalweg_sync::model_bounded;
use thalweg_sync::sync::Arc;
use thalweg_sync::{model, thread};

/// An item. loom reports one that is leaked or dropped twice; the queue's own slots report a read that its write does
/// not happen before, and a write that a read does not.
type Item = Arc<usize>;

/// Pushes up to `attempts` items, numbered from `first`, without waiting. Returns the number after the last.
fn push_some(tx: &mut Producer<Item>, first: usize, attempts: usize) -> usize {
    let mut next = first;
    for _ in 0..attempts {
        match tx.try_push(Arc::new(next)) {
            Ok(()) => next += 1,
            Err(refused) => assert_eq!(*refused.into_inner(), next),
        }
    }
    next
}

/// Pops up to `attempts` items without waiting, expecting them from `first` on. Returns the number after the last.
fn pop_some(rx: &mut Consumer<Item>, first: usize, attempts: usize) -> usize {
    let mut next = first;
    for _ in 0..attempts {
        if let Ok(item) = rx.try_pop() {
            assert_eq!(*item, next);
            next += 1;
        }
    }
    next
}

/// Five attempts of each, on a ring of two chunks that may grow to `most`. What was pushed before the last attempt to pop
/// has to be popped, in order: a consumer in the wrong chunk finds nothing there, or the wrong item (errata E22).
fn order_is_kept(most: usize) {
    model_bounded(3, move || {
        let (mut tx, rx) = with_chunks::<Item>(1, 2, Most::Entries(most)).unwrap();
        let mut rx = Leaked::new(rx);
        let producer = thread::spawn(move || push_some(&mut tx, 0, 5));
        let popped = pop_some(&mut rx, 0, 4);
        let pushed = producer.join().unwrap();
        let popped = pop_some(&mut rx, popped, pushed - popped);
        assert_eq!(popped, pushed, "items are in the ring and the consumer does not find them");
        assert_eq!(rx.try_pop().err(), Some(TryPopError::Closed));
    });
}

/// The ring is grown, popped empty but for the last, and shrunk while the consumer takes it: a chunk that is linked out and
/// freed must not be in use.
fn chunks_are_freed_behind_the_consumer() {
    model_bounded(3, || {
        let (mut tx, mut rx) = with_chunks::<Item>(1, 2, Most::Entries(4)).unwrap();
        assert_eq!(push_some(&mut tx, 0, 4), 4);
        assert_eq!(pop_some(&mut rx, 0, 1), 1);
        let consumer = thread::spawn(move || {
            let popped = pop_some(&mut rx, 1, 3);
            (rx, popped)
        });
        tx.shrink();
        let pushed = push_some(&mut tx, 4, 2);
        tx.shrink();
        let (mut rx, popped) = consumer.join().unwrap();
        assert_eq!(pop_some(&mut rx, popped, pushed - popped), pushed);
    });
}

/// The producer leaves behind two items; the consumer must not see the end before them.
fn the_end_comes_last() {
    model(|| {
        let (mut tx, rx) = with_chunks::<Item>(1, 2, Most::Entries(2)).unwrap();
        let mut rx = Leaked::new(rx);
        let producer = thread::spawn(move || {
            tx.push(Arc::new(0)).unwrap();
            tx.push(Arc::new(1)).unwrap();
        });
        let mut popped = 0;
        while let Ok(item) = rx.pop() {
            assert_eq!(*item, popped);
            popped += 1;
        }
        assert_eq!(popped, 2);
        producer.join().unwrap();
    });
}

/// The consumer leaves after one item. Whatever is pushed meanwhile is refused or dropped, which loom's `Arc` checks.
fn the_consumer_leaves() {
    model(|| {
        let (mut tx, mut rx) = with_chunks::<Item>(1, 2, Most::Entries(3)).unwrap();
        let consumer = thread::spawn(move || pop_some(&mut rx, 0, 1));
        for number in 0..3 {
            if let Err(refused) = tx.try_push(Arc::new(number)) {
                assert_eq!(*refused.into_inner(), number);
            }
        }
        consumer.join().unwrap();
        assert!(matches!(tx.try_push(Arc::new(3)), Err(TryPushError::Closed(_))));
    });
}

models! {
    order_fixed: order_is_kept(2),
    order_grows_by_one: order_is_kept(3),
    order_grows_by_two: order_is_kept(4),
    shrinking: chunks_are_freed_behind_the_consumer(),
    end: the_end_comes_last(),
    leaving: the_consumer_leaves(),
}

canaries! {
    canary_publish: "chunk.1", "Causality violation", order_is_kept(2),
    canary_pushed: "chunk.2", "Causality violation", order_is_kept(2),
    canary_leave: "chunk.3", "Causality violation", order_is_kept(2),
    canary_left: "chunk.4", "Causality violation", order_is_kept(2),
    canary_gone: "chunk.5", "Causality violation", order_is_kept(3),
    canary_producer_leaves: "ends.1", "left == right", the_end_comes_last(),
    canary_producer_gone: "ends.2", "left == right", the_end_comes_last(),
}
