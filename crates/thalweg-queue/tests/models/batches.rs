//! Batches, and the one-to-one form of BBQ, under loom.

use std::mem::ManuallyDrop;
use thalweg_queue::{TryPopError, TryPushError, mpmc, spsc};
use thalweg_sync::model_bounded;
use thalweg_sync::sync::Arc;
use thalweg_sync::{model, thread};

/// As in `bbq.rs`: loom reports one that is leaked or dropped twice.
type Item = Arc<usize>;

fn items(numbers: std::ops::Range<usize>) -> Vec<Item> {
    numbers.map(Arc::new).collect()
}

/// Dropped unless the client has failed already: the queue's own drop would run into the same violation, and abort the test.
struct Quiet<T>(ManuallyDrop<T>);

impl<T> Drop for Quiet<T> {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            // SAFETY: dropped here only.
            unsafe { ManuallyDrop::drop(&mut self.0) };
        }
    }
}

/// A batch of three through blocks of one or two, popped in batches. Both sides wait, so one switch is all that can be afforded.
fn batches_keep_order(entries: usize) {
    model_bounded(1, move || {
        let (tx, rx) = mpmc::shared::<Item>(2, entries).unwrap();
        let producer = thread::spawn(move || {
            let mut batch = items(0..3);
            while !batch.is_empty() {
                let _ = tx.try_push_many(&mut batch);
                thread::yield_now();
            }
        });
        let mut popped = Vec::new();
        while rx.pop_many(&mut popped, 2).is_ok() {}
        producer.join().unwrap();
        assert!(popped.iter().map(|item| **item).eq(0..3));
    });
}

/// As `full_is_true` in `bbq.rs`, with batches of one.
fn a_batch_leaves_full_true() {
    model_bounded(3, || {
        let (tx, rx) = mpmc::shared::<Item>(2, 2).unwrap();
        tx.try_push_many(&mut items(0..4)).unwrap();
        rx.try_pop_many(&mut Vec::new(), 3).unwrap();
        tx.try_push_many(&mut items(4..5)).unwrap();
        // The last entry of one block and the first of the other are taken.
        let other = tx.clone();
        let other = thread::spawn(move || {
            let mut batch = items(6..7);
            while let Err(refused) = other.try_push_many(&mut batch) {
                assert!(matches!(refused, TryPushError::Busy(())), "{refused:?} with room");
                thread::yield_now();
            }
        });
        rx.pop().unwrap();
        tx.try_push_many(&mut items(5..6)).unwrap();
        other.join().unwrap();
        assert_eq!(rx.len(), 3);
    });
}

/// Two producers, one of which may stop half-way: nothing behind it is popped before it, and nothing that is not written.
fn nothing_half_way_is_popped() {
    model_bounded(2, || {
        let (tx, rx) = mpmc::shared::<Item>(2, 4).unwrap();
        let producers = [(tx.clone(), 0), (tx, 10)].map(|(tx, first)| {
            thread::spawn(move || (first..first + 2).for_each(|number| tx.try_push(Arc::new(number)).unwrap()))
        });
        let mut next = [0, 10];
        let mut pop = || {
            let item = rx.try_pop()?;
            let next = &mut next[*item / 10];
            assert_eq!(*item, *next);
            *next += 1;
            Ok::<_, TryPopError>(())
        };
        for _ in 0..2 {
            let _ = pop();
        }
        producers.into_iter().for_each(|producer| producer.join().unwrap());
        while pop().is_ok() {}
        assert_eq!(next, [2, 12]);
    });
}

/// One to one: five items, so that with one entry a block each block is used at least twice.
fn spsc_keeps_order(entries: usize) {
    model_bounded(3, move || {
        let (mut tx, rx) = spsc::spsc::<Item>(2, entries).unwrap();
        let mut rx = Quiet(ManuallyDrop::new(rx));
        let producer = thread::spawn(move || {
            for number in 0..5 {
                tx.push(Arc::new(number)).unwrap();
            }
        });
        for number in 0..5 {
            assert_eq!(*rx.0.pop().unwrap(), number);
        }
        producer.join().unwrap();
        assert_eq!(rx.0.try_pop().err(), Some(TryPopError::Closed));
    });
}

/// One to one, in batches of two and three.
fn spsc_batches_keep_order() {
    model_bounded(3, || {
        let (mut tx, mut rx) = spsc::spsc::<Item>(2, 2).unwrap();
        let producer = thread::spawn(move || {
            let mut batch = items(0..3);
            while !batch.is_empty() {
                let _ = tx.try_push_many(&mut batch);
                thread::yield_now();
            }
            let _ = tx.try_push_many(&mut items(3..5));
        });
        let mut popped = Vec::new();
        while rx.pop_many(&mut popped, 3).is_ok() {}
        producer.join().unwrap();
        assert!(popped.len() >= 4);
        assert!(popped.iter().map(|item| **item).eq(0..popped.len()));
    });
}

/// One to one: the consumer leaves. Each item is refused or dropped, which loom's `Arc` checks.
fn spsc_the_consumer_leaves() {
    model(|| {
        let (mut tx, mut rx) = spsc::spsc::<Item>(2, 1).unwrap();
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
        assert!(matches!(tx.try_push(Arc::new(3)), Err(TryPushError::Closed(_))));
    });
}

models! {
    batches_1: batches_keep_order(1),
    batches_2: batches_keep_order(2),
    full: a_batch_leaves_full_true(),
    half_way: nothing_half_way_is_popped(),
    spsc_1: spsc_keeps_order(1),
    spsc_2: spsc_keeps_order(2),
    spsc_batches: spsc_batches_keep_order(),
    spsc_leaving: spsc_the_consumer_leaves(),
}

canaries! {
    canary_spsc_1: "spsc.1", "Causality violation", spsc_keeps_order(1),
    canary_spsc_2: "spsc.2", "Causality violation", spsc_keeps_order(1),
    canary_spsc_3: "spsc.3", "Causality violation", spsc_keeps_order(2),
    canary_spsc_4: "spsc.4", "Causality violation", spsc_keeps_order(2),
}
