//! More threads than a model can take, in schedules drawn by seed; overlapping use of an entry is reported.

use thalweg_check::Fuzz;
use thalweg_queue::chunk_ring::{self, Most};
use thalweg_queue::{TryPopError, TryPushError, bbq, fast_forward};
use thalweg_sync::sync::Arc;
use thalweg_sync::{spin, thread};

/// Three producers and three consumers on rings of two blocks; consumers come and go at different times.
#[test]
fn bbq_delivers_each_item_once() {
    const EACH: usize = 6;
    for entries in [1, 2, 3] {
        Fuzz::new().seeds(0..300).run(|| {
            let (tx, rx) = bbq::shared::<Box<(usize, usize)>>(2, entries).unwrap();
            let mut popped: Vec<(u64, (usize, usize))> = thread::scope(|scope| {
                for producer in 0..3 {
                    let tx = tx.clone();
                    scope.spawn(move || (0..EACH).for_each(|number| tx.push(Box::new((producer, number))).unwrap()));
                }
                drop(tx);
                let consumers: Vec<_> = (0..3).map(|_| rx.clone()).map(|rx| scope.spawn(move || drain(&rx))).collect();
                drop(rx);
                consumers.into_iter().flat_map(|consumer| consumer.join().unwrap()).collect()
            });
            popped.sort_unstable();
            let mut next = [0; 3];
            for (expected, (position, (producer, number))) in popped.into_iter().enumerate() {
                assert_eq!(position, expected as u64);
                assert_eq!(number, next[producer]);
                next[producer] += 1;
            }
            assert_eq!(next, [EACH; 3]);
        });
    }
}

fn drain<T: Send>(rx: &bbq::Consumer<Box<T>>) -> Vec<(u64, T)> {
    let mut popped = Vec::new();
    let mut tries = 0;
    loop {
        match rx.try_pop_numbered() {
            Ok((position, item)) => popped.push((position, *item)),
            Err(TryPopError::Closed) => return popped,
            Err(TryPopError::Empty | TryPopError::Busy) => {
                tries += 1;
                spin::pause(tries);
            }
        }
    }
}

/// Four threads put one in and take one out, over and over: with room for four, nobody may see the queue full or empty.
#[test]
fn bbq_is_neither_full_nor_empty() {
    for (blocks, entries) in [(4, 1), (2, 3), (4, 3)] {
        Fuzz::new().seeds(0..300).run(|| {
            let (tx, rx) = bbq::shared(blocks, entries).unwrap();
            thread::scope(|scope| {
                for _ in 0..4 {
                    let (tx, rx) = (tx.clone(), rx.clone());
                    scope.spawn(move || {
                        for number in 0..5 {
                            let mut tries = 0;
                            while let Err(refused) = tx.try_push(number) {
                                assert!(matches!(refused, TryPushError::Busy(_)), "{refused:?} with room");
                                tries += 1;
                                spin::pause(tries);
                            }
                            while let Err(refused) = rx.try_pop() {
                                assert_eq!(refused, TryPopError::Busy, "with an item in the queue");
                                tries += 1;
                                spin::pause(tries);
                            }
                        }
                    });
                }
            });
            assert!(rx.is_empty());
        });
    }
}

/// Consumers leave while producers push: each item is refused or dropped, once.
#[test]
fn bbq_drops_what_is_left_once() {
    Fuzz::new().seeds(0..500).run(|| {
        let counted = Arc::new(());
        let (tx, rx) = bbq::shared(2, 2).unwrap();
        thread::scope(|scope| {
            for _ in 0..3 {
                let (tx, counted) = (tx.clone(), &counted);
                scope.spawn(move || while tx.push(counted.clone()).is_ok() {});
            }
            for pops in 0..3 {
                let rx = rx.clone();
                scope.spawn(move || (0..pops).for_each(|_| drop(rx.pop().unwrap())));
            }
            drop((tx, rx));
        });
        assert_eq!(Arc::strong_count(&counted), 1);
    });
}

/// A small ring and a long stream, with and without slip.
#[test]
fn fast_forward_keeps_order() {
    for slip in [None, Some(fast_forward::Slip { danger: 2, good: 4, every: 3 })] {
        Fuzz::new().seeds(0..300).run(|| {
            let (mut tx, mut rx) = fast_forward(5).unwrap();
            if let Some(slip) = slip {
                rx = rx.with_slip(slip);
            }
            thread::scope(|scope| {
                scope.spawn(move || (0..60).for_each(|number| tx.push(Box::new(number)).unwrap()));
                for number in 0..60 {
                    assert_eq!(*rx.pop().unwrap(), number);
                }
                assert!(rx.pop().is_err());
            });
        });
    }
}

/// A request is answered before the next one: both queues are nearly empty all the time, and nobody may wait for ever.
#[test]
fn fast_forward_answers_each_request() {
    Fuzz::new().seeds(0..300).run(|| {
        let (mut ask, mut asked) = fast_forward(1).unwrap();
        let (mut answer, answered) = fast_forward(1).unwrap();
        let mut answered = answered.with_slip(fast_forward::Slip::default());
        thread::scope(|scope| {
            scope.spawn(move || {
                while let Ok(request) = asked.pop() {
                    answer.push(request).unwrap();
                }
            });
            for number in 0..20 {
                ask.push(Box::new(number)).unwrap();
                assert_eq!(*answered.pop().unwrap(), number);
            }
            drop(ask);
        });
    });
}

/// A ring that grows and shrinks under a long stream. Every entry of a chunk in use by both is reported, and so is a chunk
/// that is freed while the consumer is in it.
#[test]
fn chunk_ring_keeps_order() {
    for (chunk, first, most) in [(1, 2, 2), (1, 2, 7), (3, 2, 12)] {
        Fuzz::new().seeds(0..300).run(|| {
            let (mut tx, mut rx) = chunk_ring::with_chunks(chunk, first, Most::Entries(most)).unwrap();
            thread::scope(|scope| {
                scope.spawn(move || {
                    for number in 0..60 {
                        tx.push(Box::new(number)).unwrap();
                        if number % 17 == 0 {
                            tx.shrink();
                        }
                    }
                });
                for number in 0..60 {
                    assert_eq!(*rx.pop().unwrap(), number);
                }
                assert!(rx.pop().is_err());
            });
        });
    }
}

/// A request is answered before the next one: neither end may keep an item, or a chunk that was read, to itself.
#[test]
fn chunk_ring_answers_each_request() {
    Fuzz::new().seeds(0..300).run(|| {
        let (mut ask, mut asked) = chunk_ring::with_chunks(1, 2, Most::Entries(2)).unwrap();
        let (mut answer, mut answered) = chunk_ring::with_chunks(3, 4, Most::Entries(4)).unwrap();
        thread::scope(|scope| {
            scope.spawn(move || {
                while let Ok(request) = asked.pop() {
                    answer.push(request).unwrap();
                }
            });
            for number in 0..20 {
                ask.push(number).unwrap();
                assert_eq!(answered.pop().unwrap(), number);
            }
            drop(ask);
        });
    });
}
