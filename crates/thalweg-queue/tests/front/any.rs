//! Overwriting, for items of any kind.

use crate::support::{Bomb, block_on};
use std::panic::{AssertUnwindSafe, catch_unwind};
use thalweg_check::Fuzz;
use thalweg_queue::overwriting::any;
use thalweg_queue::{BuildError, PopError, PushError, TryPopError};
use thalweg_sync::sync::Arc;
use thalweg_sync::thread;

#[test]
fn the_oldest_items_make_room() {
    let (tx, rx) = any::channel(3).unwrap();
    let mut over = Vec::new();
    (0..8).for_each(|n| over.extend(tx.push_over(n).unwrap()));
    assert_eq!(over, [0, 1, 2, 3, 4]);
    assert_eq!((rx.len(), rx.capacity(), rx.overwritten(), tx.overwritten()), (3, 3, 5, 5));
    assert_eq!([rx.pop(), rx.pop(), rx.pop()], [Ok(5), Ok(6), Ok(7)]);
    assert_eq!(rx.try_pop(), Err(TryPopError::Empty));
    tx.push(8).unwrap();
    drop(tx);
    assert_eq!([rx.pop(), rx.pop()], [Ok(8), Err(PopError)]);
    assert_eq!(any::channel::<u8>(0).err(), Some(BuildError::TooSmall { parameter: "capacity", value: 0, min: 1 }));
}

#[test]
fn items_are_dropped_once() {
    let count = Arc::new(());
    let (tx, rx) = any::channel(2).unwrap();
    (0..5).for_each(|_| tx.push(count.clone()).unwrap());
    assert_eq!(Arc::strong_count(&count), 3);
    drop(rx);
    assert_eq!(Arc::strong_count(&count), 1);
    assert_eq!(tx.push(count.clone()), Err(PushError(count.clone())));
    // Two destructors that panic: the process goes on.
    let (tx, rx) = any::channel(2).unwrap();
    (0..2).for_each(|_| assert!(tx.push(Bomb(true, count.clone())).is_ok()));
    drop(tx);
    assert!(catch_unwind(AssertUnwindSafe(|| drop(rx))).is_err());
}

/// In schedules drawn by seed: every item is popped or overwritten, in order, and nobody sleeps beside one.
#[test]
fn every_item_is_popped_or_overwritten() {
    Fuzz::new().seeds(0..200).run(|| {
        let (tx, rx) = any::channel(2).unwrap();
        let producers = [0, 1].map(|me| {
            let tx = tx.clone();
            thread::spawn(move || (0..4).filter(|n| tx.push_over(Box::new((me, *n))).unwrap().is_some()).count())
        });
        drop(tx);
        let consumers = [0, 1].map(|me| {
            let rx = rx.clone();
            thread::spawn(move || {
                let (mut last, mut popped) = ([None; 2], 0);
                while let Ok(item) = if me == 0 { rx.pop() } else { block_on(rx.pop_async()) } {
                    assert!(last[item.0] < Some(item.1), "the order of one producer is kept");
                    last[item.0] = Some(item.1);
                    popped += 1;
                }
                popped
            })
        });
        drop(rx);
        let over: usize = producers.into_iter().map(|thread| thread.join().unwrap()).sum();
        let popped: usize = consumers.into_iter().map(|thread| thread.join().unwrap()).sum();
        assert_eq!(over + popped, 8);
    });
}
