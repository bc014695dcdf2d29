//! More threads than a model can take, in schedules drawn by seed; overlapping use of an entry is reported.

use thalweg_check::Fuzz;
use thalweg_queue::research::faaq::{Bbq, Faaq};
use thalweg_queue::research::tube::{self, Tube, queue, ring, scqd::Scqd};
use thalweg_queue::{Park, TryPopError, TryPushError};
use thalweg_sync::{spin, thread};

/// Three producers and three consumers: each item comes out once, and each consumer has each producer's items in order.
fn delivers_each_once<Q: Tube<Item = Box<(usize, usize)>> + 'static>(make: impl Fn() -> Q + Sync) {
    const EACH: usize = 5;
    Fuzz::new().seeds(0..120).run(|| {
        let (tx, rx) = queue(make());
        let mut popped: Vec<(usize, usize)> = thread::scope(|scope| {
            for producer in 0..3 {
                let tx = tx.clone();
                scope.spawn(move || (0..EACH).for_each(|number| tx.push(Box::new((producer, number))).unwrap()));
            }
            drop(tx);
            let drain = |rx: tube::Consumer<Q>| {
                let popped: Vec<_> = std::iter::from_fn(|| rx.pop().ok()).map(|item| *item).collect();
                for producer in 0..3 {
                    let numbers = popped.iter().filter(|item| item.0 == producer).map(|item| item.1);
                    assert!(numbers.is_sorted(), "out of order: {popped:?}");
                }
                popped
            };
            let consumers = [rx.clone(), rx.clone(), rx].map(|rx| scope.spawn(move || drain(rx)));
            consumers.into_iter().flat_map(|consumer| consumer.join().unwrap()).collect()
        });
        popped.sort_unstable();
        assert!(popped.into_iter().eq((0..3).flat_map(|producer| (0..EACH).map(move |number| (producer, number)))));
    });
}

/// Four threads put one in and take one out, over and over: with room for four, nobody may see the queue full or empty.
fn neither_full_nor_empty<Q: Tube<Item = usize> + 'static>(make: impl Fn() -> Q + Sync) {
    Fuzz::new().seeds(0..120).run(|| {
        let (tx, rx) = queue(make());
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

#[test]
fn rings_deliver_each_once() {
    delivers_each_once(|| ring::Mt::new(2).unwrap());
    delivers_each_once(|| ring::Rts::new(2).unwrap());
    delivers_each_once(|| ring::Rts::new(24).unwrap());
    delivers_each_once(|| ring::Hts::new(3).unwrap());
}

#[test]
fn rings_are_neither_full_nor_empty() {
    neither_full_nor_empty(|| ring::Mt::new(4).unwrap());
    neither_full_nor_empty(|| ring::Rts::new(4).unwrap());
    neither_full_nor_empty(|| ring::Hts::new(4).unwrap());
}

#[test]
fn scqd_delivers_each_once() {
    delivers_each_once(|| Scqd::new(2).unwrap());
    delivers_each_once(|| Scqd::new(6).unwrap());
}

#[test]
fn scqd_is_neither_full_nor_empty() {
    neither_full_nor_empty(|| Scqd::new(4).unwrap());
    neither_full_nor_empty(|| Scqd::new(6).unwrap());
}

/// Consumers that stop between their look at a filled block and their addition, which with one or two entries a block is
/// soon in a later round (E4).
#[test]
fn faaq_delivers_each_once() {
    delivers_each_once(|| Faaq::new(2, 1).unwrap());
    delivers_each_once(|| Faaq::new(2, 2).unwrap());
    delivers_each_once(|| Faaq::new(4, 3).unwrap());
    delivers_each_once(|| Bbq::new(2, 2).unwrap());
}

#[test]
fn faaq_is_neither_full_nor_empty() {
    neither_full_nor_empty(|| Faaq::new(4, 1).unwrap());
    neither_full_nor_empty(|| Faaq::new(2, 3).unwrap());
    neither_full_nor_empty(|| Bbq::new(2, 3).unwrap());
}

/// Two of a side that sleep, and nobody of the other side who moves meanwhile: an end that was refused as `Busy` is woken by the one
/// that was half-way, or sleeps for ever, which the fuzzer reports.
fn ends_wake_their_own_side<Q: Tube<Item = usize> + 'static>(make: impl Fn() -> Q + Sync) {
    Fuzz::new().seeds(0..150).run(|| {
        let (tx, rx) = tube::with_wait(make(), Park::new());
        thread::scope(|scope| {
            for number in 1..=2 {
                let tx = tx.clone();
                scope.spawn(move || tx.push(number).unwrap());
            }
        });
        let popped: usize = thread::scope(|scope| {
            let consumers = [rx.clone(), rx.clone()].map(|rx| scope.spawn(move || rx.pop().unwrap()));
            consumers.into_iter().map(|consumer| consumer.join().unwrap()).sum()
        });
        assert_eq!(popped, 3);
        drop((tx, rx));
    });
}

#[test]
fn sleeping_ends_are_woken() {
    ends_wake_their_own_side(|| ring::Mt::new(4).unwrap());
    ends_wake_their_own_side(|| ring::Rts::new(4).unwrap());
    ends_wake_their_own_side(|| ring::Hts::new(4).unwrap());
    ends_wake_their_own_side(|| Scqd::new(4).unwrap());
    ends_wake_their_own_side(|| Faaq::new(2, 4).unwrap());
    ends_wake_their_own_side(|| Bbq::new(2, 4).unwrap());
}
