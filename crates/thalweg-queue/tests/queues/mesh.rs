//! What only a mesh does: rings between pairs, sweeps, and rings that are left behind.

use crate::support::{Bomb, Note};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::{Context, Poll};
use thalweg_check::Fuzz;
use thalweg_queue::research::mesh::{BURST, Ends, mesh, with_wait};
use thalweg_queue::wait::Wait;
use thalweg_queue::{Park, PopError, TryPopError, TryPushError, Yield};
use thalweg_sync::sync::Arc;
use thalweg_sync::thread;

/// An item: who pushed it, and its number there.
type Item = (usize, usize);

/// Runs a mesh: each producer pushes `each` items, and each consumer pops to the end, but for the first ones: of these,
/// consumer `c` leaves after `leave[c]` pops. Returns what each consumer popped, in its order.
fn run<W: Wait>((producers, consumers): Ends<Item, W>, each: usize, leave: &[usize]) -> Vec<Vec<Item>> {
    thread::scope(|scope| {
        for (producer, mut tx) in producers.into_iter().enumerate() {
            scope.spawn(move || (0..each).for_each(|number| tx.push((producer, number)).unwrap()));
        }
        let consumers: Vec<_> = consumers
            .into_iter()
            .enumerate()
            .map(|(consumer, mut rx)| {
                let pops = leave.get(consumer).copied().unwrap_or(usize::MAX);
                scope.spawn(move || rx.iter().take(pops).collect::<Vec<_>>())
            })
            .collect();
        consumers.into_iter().map(|consumer| consumer.join().unwrap()).collect()
    })
}

/// Every item was popped once. Where nobody left, each consumer got those of each producer in order.
#[track_caller]
fn check(popped: Vec<Vec<Item>>, producers: usize, each: usize, leave: &[usize]) {
    for items in &popped {
        for producer in 0..producers {
            let in_order = items.iter().filter(|item| item.0 == producer).is_sorted();
            assert!(in_order || !leave.is_empty(), "out of order from producer {producer}");
        }
    }
    let mut all = popped.concat();
    all.sort_unstable();
    assert_eq!(all.len(), producers * each);
    assert!(all.into_iter().eq((0..producers).flat_map(|producer| (0..each).map(move |number| (producer, number)))));
}

#[test]
fn every_shape_delivers_each_item_once() {
    for (producers, consumers) in [(1, 1), (1, 3), (3, 1), (2, 2), (2, 4), (4, 2), (3, 2), (4, 3)] {
        check(run(mesh(producers, consumers, 4, 16).unwrap(), 2_000, &[]), producers, 2_000, &[]);
        let park = with_wait(producers, consumers, 4, 4, Park::new()).unwrap();
        check(run(park, 300, &[]), producers, 300, &[]);
    }
}

#[test]
fn rings_are_as_many_as_the_least_common_multiple() {
    for (producers, consumers, rings) in [(1, 1, 1), (2, 2, 2), (2, 4, 4), (4, 3, 12), (6, 4, 12)] {
        let (tx, rx) = mesh::<u8>(producers, consumers, 2, 2).unwrap();
        assert!(tx.iter().all(|tx| tx.rings() == rings / producers));
        assert!(rx.iter().all(|rx| rx.rings() == rings / consumers));
    }
    assert!(mesh::<u8>(0, 1, 2, 2).is_err());
    assert!(mesh::<u8>(1, 0, 2, 2).is_err());
    assert!(mesh::<u8>(1, 1, 1, 2).is_err());
    assert!(mesh::<u8>(65_535, 65_536, 2, 2).is_err());
}

#[test]
fn a_sweep_is_fair() {
    const RINGS: usize = 3;
    let (mut tx, mut rx) = mesh(RINGS, 1, 64, 64).unwrap();
    let mut waits = [0; RINGS];
    for turn in 0..3_000 {
        for (number, tx) in tx.iter_mut().enumerate() {
            while tx.try_push(number).is_ok() {}
        }
        let popped = rx[0].try_pop().unwrap();
        for (number, wait) in waits.iter_mut().enumerate() {
            *wait = if number == popped { 0 } else { *wait + 1 };
            assert!(*wait <= RINGS * BURST, "ring {number} waits for {wait} pops at turn {turn}");
        }
    }
}

#[test]
fn pushes_go_round_and_past_full_rings() {
    let (mut tx, mut rx) = mesh(1, 2, 2, 2).unwrap();
    (0..4).for_each(|number| tx[0].try_push(number).unwrap());
    assert_eq!(tx[0].try_push(4), Err(TryPushError::Full(4)));
    assert_eq!([rx[0].try_pop(), rx[0].try_pop()], [Ok(0), Ok(2)]);
    // Two chunks of one: popping the second one gave the first one back.
    tx[0].try_push(4).unwrap();
    assert_eq!(tx[0].try_push(5), Err(TryPushError::Full(5)));
    assert_eq!([rx[1].try_pop(), rx[1].try_pop(), rx[1].try_pop()], [Ok(1), Ok(3), Err(TryPopError::Empty)]);
    assert_eq!(rx[0].try_pop(), Ok(4));
}

/// A consumer that looks at the first item of a chunk has left the one before: a producer that sleeps is told, whether the item is
/// popped or not.
#[test]
fn a_look_makes_room() {
    for grants in [false, true] {
        let (mut tx, mut rx) = with_wait(1, 1, 2, 2, Park::new()).unwrap();
        let (tx, rx) = (&mut tx[0], &mut rx[0]);
        (0..2).for_each(|number| tx.try_push(number).unwrap());
        assert_eq!(rx.try_pop(), Ok(0));
        let note = Note::default();
        let waker = note.waker();
        let mut pushing = Box::pin(tx.push_async(2));
        let cx = &mut Context::from_waker(&waker);
        assert!(pushing.as_mut().poll(cx).is_pending());
        match grants {
            false => assert_eq!(rx.peek(), Ok(&1)),
            true => assert_eq!(rx.readable(1).unwrap()[..], [1]),
        }
        assert!(note.was_woken(), "the producer sleeps beside a free chunk");
        assert_eq!(pushing.as_mut().poll(cx), Poll::Ready(Ok(())));
        drop(pushing);
        assert_eq!([rx.try_pop(), rx.try_pop()], [Ok(1), Ok(2)]);
    }
}

#[test]
fn what_a_consumer_leaves_is_popped_by_another() {
    let (mut tx, mut rx) = mesh(1, 2, 8, 8).unwrap();
    (0..8).for_each(|number| tx[0].try_push(number).unwrap());
    let other = rx.pop().unwrap();
    drop(other);
    assert!(!tx[0].is_closed());
    assert_eq!(rx[0].rings(), 1);
    let mut popped: Vec<usize> = std::iter::from_fn(|| rx[0].try_pop().ok()).collect();
    assert_eq!(rx[0].rings(), 2);
    popped.sort_unstable();
    assert_eq!(popped, [0, 1, 2, 3, 4, 5, 6, 7]);
    // Its ring goes on.
    (8..10).for_each(|number| tx[0].try_push(number).unwrap());
    assert!(rx[0].try_pop().is_ok() && rx[0].try_pop().is_ok());
    drop(tx);
    assert_eq!(rx[0].try_pop(), Err(TryPopError::Closed));
}

#[test]
fn the_last_consumer_drops_what_is_left() {
    let counted = Arc::new(());
    let (mut tx, rx) = mesh(2, 2, 8, 8).unwrap();
    for tx in &mut tx {
        (0..5).for_each(|_| tx.try_push(counted.clone()).unwrap());
    }
    assert_eq!(Arc::strong_count(&counted), 11);
    drop(rx);
    assert_eq!(Arc::strong_count(&counted), 1);
    for tx in &mut tx {
        assert!(tx.is_closed());
        assert!(matches!(tx.try_push(counted.clone()), Err(TryPushError::Closed(_))));
    }
    assert_eq!(Arc::strong_count(&counted), 1);
}

/// When the last consumer goes, every item's destructor runs, whichever of them panic; a producer finds its rings empty and closed.
#[test]
fn a_producer_survives_what_was_left_in_its_rings() {
    let counted = Arc::new(());
    let (mut tx, rx) = mesh(1, 2, 4, 8).unwrap();
    let bomb = |armed| Bomb(armed, counted.clone());
    for number in 0..5 {
        // Both are in the second ring, which the producer is at in the end.
        tx[0].try_push(bomb(number % 2 == 1)).unwrap();
    }
    assert!(catch_unwind(AssertUnwindSafe(|| drop(rx))).is_err());
    assert_eq!(Arc::strong_count(&counted), 1);
    assert!(matches!(tx[0].try_push(bomb(false)), Err(TryPushError::Closed(_))));
    assert_eq!(Arc::strong_count(&counted), 1);
}

#[test]
fn consumers_leave_while_items_flow() {
    for round in 0..20 {
        let leave = [round, 7 * round, 100];
        check(run(mesh(2, 4, 4, 16).unwrap(), 1_000, &leave), 2, 1_000, &leave);
        check(run(with_wait(4, 4, 2, 2, Park::new()).unwrap(), 100, &leave), 4, 100, &leave);
    }
}

/// As above in schedules drawn by seed, with ends that sleep: a wake-up that is lost is a deadlock.
#[test]
fn fuzzed_meshes_deliver_each_item_once() {
    for (producers, consumers, leave) in [(2, 1, &[] as &[usize]), (2, 2, &[2]), (1, 3, &[0, 1]), (3, 2, &[1])] {
        Fuzz::new().seeds(0..100).run(|| {
            check(run(with_wait(producers, consumers, 2, 2, Yield).unwrap(), 6, leave), producers, 6, leave);
            check(run(with_wait(producers, consumers, 2, 2, Park::new()).unwrap(), 6, leave), producers, 6, leave);
        });
    }
}

/// The end is one for all consumers: who has drained its own rings may have to go on with those of another.
#[test]
fn the_end_waits_for_every_ring() {
    let (mut producers, mut consumers) = mesh(2, 2, 4, 4).unwrap();
    let (mut p1, mut p0) = (producers.pop().unwrap(), producers.pop().unwrap());
    let (c1, mut c0) = (consumers.pop().unwrap(), consumers.pop().unwrap());
    p0.try_push(0).unwrap();
    p1.try_push(1).unwrap();
    drop(p0);
    assert_eq!([c0.try_pop(), c0.try_pop()], [Ok(0), Err(TryPopError::Empty)], "the other ring has an item");
    assert!(c0.rings() == 0 && !c0.is_closed());
    drop(p1);
    assert!(c0.is_closed() && c1.is_closed());
    assert_eq!(c0.try_pop(), Err(TryPopError::Empty), "and still has");
    drop(c1);
    assert_eq!([c0.try_pop(), c0.try_pop(), c0.try_pop()], [Ok(1), Err(TryPopError::Closed), Err(TryPopError::Closed)]);
}

/// Any end closes it for all: what is there is popped, then all see the end, though nobody has left.
#[test]
fn a_close_is_one_for_all() {
    let (mut tx, mut rx) = with_wait(2, 2, 4, 4, Park::new()).unwrap();
    assert_eq!((tx[0].producers(), rx[0].consumers()), (2, 2));
    let note = Note::default();
    (0..2).for_each(|number| tx[0].try_push(number).unwrap());
    let (mut idle, mut busy) = (rx.pop().unwrap(), rx.pop().unwrap());
    let waker = note.waker();
    let mut popping = Box::pin(idle.pop_async());
    let cx = &mut Context::from_waker(&waker);
    assert!(popping.as_mut().poll(cx).is_pending());
    tx[1].close();
    assert!(note.was_woken() && tx[0].is_closed() && busy.is_closed());
    assert_eq!(tx[0].try_push(2), Err(TryPushError::Closed(2)));
    assert_eq!(tx[1].push(2).unwrap_err().into_inner(), 2);
    assert!(popping.as_mut().poll(cx).is_pending(), "the other's ring is not drained");
    assert_eq!([busy.try_pop(), busy.try_pop(), busy.try_pop()], [Ok(0), Ok(1), Err(TryPopError::Closed)]);
    assert_eq!(popping.as_mut().poll(cx), Poll::Ready(Err(PopError)));
    drop(popping);
    drop(idle);
    assert_eq!((busy.producers(), tx[0].consumers()), (2, 1));
}

/// As above in schedules drawn by seed, while others push: everybody comes to an end, and nothing is popped twice.
#[test]
fn a_close_meets_pushes_and_pops() {
    for (producers, consumers) in [(1, 1), (2, 2), (2, 1), (1, 2)] {
        Fuzz::new().seeds(0..100).run(|| {
            let counted = Arc::new(());
            let (tx, rx) = with_wait(producers, consumers, 2, 2, Park::new()).unwrap();
            let item = counted.clone();
            let pops = rx.into_iter().map(|mut rx| thread::spawn(move || rx.iter().count())).collect::<Vec<_>>();
            let pushes = tx.into_iter().enumerate().map(|(me, mut tx)| {
                let item = item.clone();
                thread::spawn(move || {
                    let pushed = (0..6).take_while(|&n| (me > 0 || n < 3) && tx.push(item.clone()).is_ok()).count();
                    if me == 0 {
                        tx.close();
                        assert!(tx.try_push(item).unwrap_err().is_closed());
                    }
                    (pushed, tx)
                })
            });
            let pushes: Vec<_> = pushes.collect();
            let popped: usize = pops.into_iter().map(|pops| pops.join().unwrap()).sum();
            let pushes: Vec<_> = pushes.into_iter().map(|pushes| pushes.join().unwrap()).collect();
            let pushed: usize = pushes.iter().map(|pushes| pushes.0).sum();
            assert!(popped >= 3 && popped <= pushed, "what was pushed before is popped, {popped} of {pushed}");
            drop((pushes, item));
            assert_eq!(Arc::strong_count(&counted), 1, "what the close has overtaken is dropped with its ring");
        });
    }
}

/// Whoever drains the last ring wakes those that wait for the end.
#[test]
fn the_end_wakes_who_waits_for_it() {
    let (producers, mut consumers) = with_wait::<u8, _>(2, 2, 4, 4, Park::new()).unwrap();
    drop(producers);
    let note = Note::default();
    let waker = note.waker();
    let mut last = consumers.pop().unwrap();
    let mut popping = Box::pin(consumers[0].pop_async());
    let cx = &mut Context::from_waker(&waker);
    assert!(popping.as_mut().poll(cx).is_pending());
    assert_eq!(last.try_pop(), Err(TryPopError::Closed));
    assert!(note.was_woken(), "it sleeps at the end");
    assert_eq!(popping.as_mut().poll(cx), Poll::Ready(Err(PopError)));
}
