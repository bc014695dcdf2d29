//! BBQ for byte messages under loom: small clients, and canaries that show that the model is awake.
//!
//! Two blocks of two granules; messages of one and of two, so that they go over the edge of a block.

use thalweg_queue::bytes::{Consumer, Producer, bytes, bytes_from};
use thalweg_queue::{TryPopError, Yield};
use thalweg_sync::{model_bounded, thread};

/// A message with this number: even ones take one granule, odd ones two.
fn message(number: u8) -> Vec<u8> {
    vec![number; if number % 2 == 0 { 3 } else { 19 }]
}

fn pop(rx: &Consumer) -> Result<u8, TryPopError> {
    let mut popped = Vec::new();
    rx.try_pop(&mut popped)?;
    assert_eq!(popped, message(popped[0]));
    Ok(popped[0])
}

/// Pushes up to `attempts` messages, numbered from `first`, without waiting. Returns the number after the last.
fn push_some(tx: &Producer, first: u8, attempts: usize) -> u8 {
    (0..attempts).fold(first, |next, _| next + u8::from(tx.try_push(&message(next)).is_ok()))
}

/// What is left when all producers have gone.
fn drain(rx: &Consumer) -> usize {
    let mut popped = 0;
    loop {
        match pop(rx) {
            Ok(_) => popped += 1,
            Err(TryPopError::Closed) => return popped,
            Err(_) => thread::yield_now(),
        }
    }
}

/// One producer with three attempts, one consumer with two: over the edge of a block, and into the first one again.
fn order_is_kept(head: u64) {
    model_bounded(2, move || {
        let (tx, rx) = bytes_from(head, 2, 32, Yield).unwrap();
        let producer = thread::spawn(move || push_some(&tx, 0, 3));
        let mut next = 0;
        for _ in 0..2 {
            if let Ok(number) = pop(&rx) {
                assert_eq!(number, next);
                next += 1;
            }
        }
        let pushed = producer.join().unwrap();
        while let Ok(number) = pop(&rx) {
            assert_eq!(number, next);
            next += 1;
        }
        assert_eq!((next, pop(&rx)), (pushed, Err(TryPopError::Closed)));
    });
}

/// Two producers that both go over the edge of a block.
fn two_over_the_edge() {
    model_bounded(2, || {
        let (tx, rx) = bytes(2, 32).unwrap();
        tx.try_push(&message(0)).unwrap();
        let other = tx.clone();
        let producer = thread::spawn(move || push_some(&other, 1, 1) - 1);
        let pushed = 1 + (push_some(&tx, 3, 1) - 3) + producer.join().unwrap();
        drop(tx);
        assert_eq!(drain(&rx), usize::from(pushed));
    });
}

/// Two consumers, of which one takes the rest of a block while the other may still read in it.
fn two_consumers() {
    model_bounded(2, || {
        let (tx, rx) = bytes(2, 32).unwrap();
        assert_eq!(push_some(&tx, 0, 2), 2);
        let other = rx.clone();
        let consumer = thread::spawn(move || usize::from(pop(&other).is_ok()));
        let mut popped = usize::from(pop(&rx).is_ok());
        let pushed = push_some(&tx, 3, 1) - 1;
        popped += consumer.join().unwrap();
        drop(tx);
        assert_eq!(popped + drain(&rx), usize::from(pushed));
    });
}

/// Two threads push one and pop one. There is always one for each: nobody may see the queue empty.
fn roles_switch() {
    model_bounded(3, || {
        let (tx, rx) = bytes(2, 32).unwrap();
        let (other_tx, other_rx) = (tx.clone(), rx.clone());
        let both = |tx: &Producer, rx: &Consumer, number| {
            tx.push(&message(number)).unwrap();
            while let Err(refused) = pop(rx) {
                assert_eq!(refused, TryPopError::Busy, "with a message in the queue");
                thread::yield_now();
            }
        };
        let other = thread::spawn(move || both(&other_tx, &other_rx, 1));
        both(&tx, &rx, 2);
        other.join().unwrap();
        assert_eq!(pop(&rx), Err(TryPopError::Empty));
    });
}

/// The producer leaves behind two messages; the consumer must not see the end before them.
fn the_end_comes_last() {
    model_bounded(3, || {
        let (tx, rx) = bytes(2, 32).unwrap();
        let producer = thread::spawn(move || push_some(&tx, 0, 2));
        assert_eq!(drain(&rx), 2);
        producer.join().unwrap();
    });
}

models! {
    order: order_is_kept(0),
    order_across_the_wrap: order_is_kept(u64::MAX),
    edge: two_over_the_edge(),
    consumers: two_consumers(),
    roles: roles_switch(),
    end: the_end_comes_last(),
}

canaries! {
    canary_8: "bytes.8", "Causality violation", order_is_kept(0),
    canary_9: "bytes.9", "Causality violation", order_is_kept(0),
    canary_12: "bytes.12", "Causality violation", order_is_kept(0),
    canary_16: "bytes.16", "Causality violation", order_is_kept(0),
    canary_14: "bytes.14", "with a message in the queue", roles_switch(),
    canary_handles_1: "handles.1", "left == right", the_end_comes_last(),
    canary_handles_2: "handles.2", "left == right", the_end_comes_last(),
}
