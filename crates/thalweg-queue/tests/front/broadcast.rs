//! Every receiver sees every item.

use crate::support::{Bomb, Note, block_on};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::{Context, Poll};
use thalweg_check::Fuzz;
use thalweg_queue::broadcast::graph::Graph;
use thalweg_queue::broadcast::{self, Lagged};
use thalweg_queue::{BuildError, PopError, PopTimeoutError, PushError, TryPopError, TryPushError, select};
use thalweg_sync::sync::{Arc, Mutex};
use thalweg_sync::thread;
use thalweg_sync::time::Duration;

#[test]
fn each_receiver_sees_everything_from_its_beginning() {
    let (tx, mut first) = broadcast::channel(8).unwrap();
    tx.push("a").unwrap();
    let mut second = tx.subscribe();
    let mut third = first.clone();
    tx.clone().push("b").unwrap();
    assert_eq!((first.len(), second.len(), third.len()), (2, 1, 2));
    assert_eq!([first.pop(), first.pop()], [Ok(Ok("a")), Ok(Ok("b"))]);
    assert_eq!(second.try_pop(), Ok(Ok("b")));
    assert_eq!(third.skip_all(), 2);
    for rx in [&mut first, &mut second, &mut third] {
        assert_eq!(rx.try_pop(), Err(TryPopError::Empty));
    }
    tx.push("c").unwrap();
    drop(tx);
    for rx in [&mut first, &mut second, &mut third] {
        assert_eq!([rx.pop(), rx.pop()], [Ok(Ok("c")), Err(PopError)]);
    }
}

#[test]
fn who_is_too_slow_is_told_how_much_is_lost() {
    let (tx, mut rx) = broadcast::channel(3).unwrap();
    assert_eq!(rx.capacity(), 4, "rounded up");
    (0..10).for_each(|n| tx.push(n).unwrap());
    assert_eq!(rx.try_pop(), Ok(Err(Lagged(6))));
    tx.push(10).unwrap();
    assert_eq!(rx.try_pop(), Ok(Err(Lagged(1))));
    assert!((7..=10).all(|n| rx.try_pop() == Ok(Ok(n))));
    assert_eq!(rx.try_pop(), Err(TryPopError::Empty));
    drop(tx);
    assert_eq!(rx.try_pop(), Err(TryPopError::Closed));
    assert_eq!(
        broadcast::channel::<u8>(0).err(),
        Some(BuildError::TooSmall { parameter: "capacity", value: 0, min: 1 })
    );
    assert!(matches!(broadcast::channel::<u8>(usize::MAX), Err(BuildError::TooLarge { .. })));
}

#[test]
fn pushes_are_refused_while_nobody_is_there() {
    let (tx, rx) = broadcast::channel(2).unwrap();
    drop(rx);
    assert!(tx.is_closed());
    assert_eq!(tx.push(1), Err(PushError(1)));
    let mut rx = tx.subscribe();
    tx.push(2).unwrap();
    assert_eq!(select! { pop(rx) -> item => item, default => unreachable!("an item is there") }, Ok(Ok(2)));
}

#[test]
fn items_are_dropped_once() {
    let count = Arc::new(());
    let (tx, mut rx) = broadcast::channel(4).unwrap();
    (0..10).for_each(|_| tx.push(count.clone()).unwrap());
    assert_eq!(Arc::strong_count(&count), 5);
    let items: Vec<_> = std::iter::from_fn(|| rx.try_pop().ok()).flatten().collect();
    assert_eq!((items.len(), Arc::strong_count(&count)), (4, 9));
    drop((tx, rx, items));
    assert_eq!(Arc::strong_count(&count), 1);
}

/// A clone that panics: the item stays, and the channel goes on.
#[test]
fn a_clone_that_panics_does_no_harm() {
    struct Item(bool);
    impl Clone for Item {
        fn clone(&self) -> Self {
            assert!(!self.0, "boom");
            Self(false)
        }
    }
    let (tx, mut rx) = broadcast::channel(2).unwrap();
    tx.push(Item(true)).map_err(drop).unwrap();
    assert!(catch_unwind(AssertUnwindSafe(|| rx.try_pop().is_ok())).is_err());
    [false, false].into_iter().for_each(|item| assert!(tx.push(Item(item)).is_ok()));
    assert!(matches!(rx.try_pop(), Ok(Err(Lagged(1)))));
    assert!(matches!(rx.try_pop(), Ok(Ok(Item(false)))));
}

#[test]
fn everybody_who_waits_is_woken() {
    let (tx, mut first) = broadcast::channel(2).unwrap();
    let mut second = first.clone();
    let (one, other) = (Note::default(), Note::default());
    let (mut first, mut second) = (pin!(first.pop_async()), pin!(second.pop_async()));
    assert!(first.as_mut().poll(&mut Context::from_waker(&one.waker())).is_pending());
    assert!(second.as_mut().poll(&mut Context::from_waker(&other.waker())).is_pending());
    tx.push(1).unwrap();
    assert!(one.was_woken() && other.was_woken());
    assert_eq!(first.poll(&mut Context::from_waker(&one.waker())), Poll::Ready(Ok(Ok(1))));
    assert_eq!(second.poll(&mut Context::from_waker(&other.waker())), Poll::Ready(Ok(Ok(1))));
}

/// In schedules drawn by seed: items come in order, what is missing was told, and nobody sleeps beside an item.
#[test]
fn nothing_is_missed_untold() {
    Fuzz::new().seeds(0..200).run(|| {
        let (tx, rx) = broadcast::channel(2).unwrap();
        let receivers: Vec<_> = (0..2)
            .map(|me| {
                let mut rx = rx.clone();
                thread::spawn(move || {
                    let (mut seen, mut last) = (0, [0; 2]);
                    loop {
                        match if me == 0 { rx.pop() } else { block_on(rx.pop_async()) } {
                            Ok(Ok((sender, number))) => {
                                assert!(last[sender] < number, "the order of one sender is kept");
                                last[sender] = number;
                                seen += 1;
                            }
                            Ok(Err(Lagged(lost))) => seen += lost,
                            Err(PopError) => return seen,
                        }
                    }
                })
            })
            .collect();
        let senders = [0, 1].map(|me| {
            let tx = tx.clone();
            thread::spawn(move || (1..5).for_each(|n| tx.push((me, n)).unwrap()))
        });
        drop(tx);
        senders.into_iter().for_each(|sender| sender.join().unwrap());
        receivers.into_iter().for_each(|receiver| assert_eq!(receiver.join().unwrap(), 8));
    });
}

#[test]
fn the_slowest_consumer_sets_the_pace() {
    let mut graph = Graph::new(2).unwrap();
    let _ = (graph.first(), graph.first());
    let (mut tx, consumers) = graph.build().unwrap();
    let [mut first, mut second] = <[_; 2]>::try_from(consumers).unwrap();
    tx.push(1).unwrap();
    tx.push(2).unwrap();
    assert_eq!(first.try_pop_each(9, |_| {}), Ok(2));
    assert_eq!(tx.try_push(3), Err(TryPushError::Full(3)));
    assert_eq!(second.pop(), Ok(1));
    tx.push(3).unwrap();
    drop(second); // holds nobody back any more
    assert_eq!(first.pop(), Ok(3));
    assert_eq!(first.try_pop(), Err(TryPopError::Empty));
    (4..6).for_each(|n| tx.push(n).unwrap());
    drop(first);
    assert!(tx.is_closed());
    assert_eq!(tx.push(6), Err(PushError(6)));
}

#[test]
fn who_follows_sees_what_those_before_have_seen() {
    let mut graph = Graph::new(8).unwrap();
    let (a, b) = (graph.first(), graph.first());
    let c = graph.then(&[a, b]);
    let _ = graph.then(&[c]);
    let (mut tx, consumers) = graph.build().unwrap();
    let [mut a, mut b, mut c, mut d] = <[_; 4]>::try_from(consumers).unwrap();
    (0..4).for_each(|n| tx.push(n).unwrap());
    assert_eq!(c.try_pop(), Err(TryPopError::Empty));
    assert_eq!(a.try_pop_each(3, |_| {}), Ok(3));
    assert_eq!(c.try_pop(), Err(TryPopError::Empty));
    assert_eq!(b.try_pop_each(2, |_| {}), Ok(2));
    assert_eq!((c.len(), d.len()), (2, 0));
    drop(c); // who is behind waits for those before it all the same
    assert_eq!(d.len(), 2);
    drop(tx);
    assert_eq!(d.try_pop_each(9, |_| {}), Ok(2));
    assert_eq!(
        d.pop_each_timeout(9, |_| {}, Duration::ZERO),
        Err(PopTimeoutError::Timeout),
        "not the end: others are at it"
    );
    drop((a, b));
    assert_eq!((d.try_pop(), d.try_pop(), d.try_pop()), (Ok(2), Ok(3), Err(TryPopError::Closed)));
    assert_eq!(d.pop_each(9, |_| {}), Err(PopError));
    assert_eq!(block_on(d.pop_each_async(9, |_| {})), Err(PopError));
    assert!(matches!(Graph::new(4).unwrap().build::<u8>(), Err(BuildError::TooSmall { parameter: "consumers", .. })));
}

#[test]
fn items_of_a_graph_are_dropped_once() {
    let count = Arc::new(());
    let mut graph = Graph::new(4).unwrap();
    graph.first();
    let (mut tx, mut consumers) = graph.build().unwrap();
    for _ in 0..6 {
        tx.push(Bomb(false, count.clone())).map_err(drop).unwrap();
        assert_eq!(consumers[0].try_pop_each(1, |_| {}), Ok(1));
    }
    assert_eq!(Arc::strong_count(&count), 5);
    tx.push(Bomb(false, count.clone())).map_err(drop).unwrap();
    let shown = catch_unwind(AssertUnwindSafe(|| consumers[0].try_pop_each(1, |_| panic!("told to panic"))));
    assert!(shown.is_err());
    assert_eq!(consumers[0].try_pop_each(1, |_| {}), Err(TryPopError::Empty), "it was shown");
    drop((tx, consumers));
    assert_eq!(Arc::strong_count(&count), 1);
    // Two destructors that panic: the second one's item is leaked, and the process goes on.
    let mut graph = Graph::new(4).unwrap();
    graph.first();
    let (mut tx, consumers) = graph.build().unwrap();
    (0..2).for_each(|_| assert!(tx.push(Bomb(true, count.clone())).is_ok()));
    assert!(catch_unwind(AssertUnwindSafe(|| drop((tx, consumers)))).is_err());
}

/// A diamond of consumers in schedules drawn by seed, on a ring for two: each sees all in order, and the last one after both before it.
#[test]
fn a_diamond_keeps_its_order() {
    Fuzz::new().seeds(0..200).run(|| {
        let mut graph = Graph::new(2).unwrap();
        let (a, b) = (graph.first(), graph.first());
        graph.then(&[a, b]);
        let (mut tx, consumers) = graph.build().unwrap();
        let seen = Arc::new(Mutex::new([0; 3]));
        let threads: Vec<_> = consumers
            .into_iter()
            .enumerate()
            .map(|(me, mut rx)| {
                let seen = seen.clone();
                thread::spawn(move || {
                    let look = |&n: &usize| {
                        let mut seen = seen.lock().unwrap();
                        assert_eq!(seen[me], n);
                        assert!(me < 2 || seen[0] > n && seen[1] > n);
                        seen[me] += 1;
                    };
                    match me {
                        0 => while rx.pop_each(2, look).is_ok() {},
                        1 => while block_on(rx.pop_each_async(1, look)).is_ok() {},
                        _ => while rx.pop().map(|n| look(&n)).is_ok() {},
                    }
                })
            })
            .collect();
        (0..6).for_each(|n| tx.push(n).unwrap());
        drop(tx);
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!(*seen.lock().unwrap(), [6; 3]);
    });
}

/// When all ends are gone, every item's destructor runs, whichever of them panic.
#[test]
fn every_destructor_runs() {
    let counted = Arc::new(());
    let (tx, rx) = broadcast::channel(8).unwrap();
    (0..6).for_each(|n| assert!(tx.push(Arc::new(Bomb(n % 2 == 0, counted.clone()))).is_ok()));
    drop(rx);
    assert!(catch_unwind(AssertUnwindSafe(|| drop(tx))).is_err());
    assert_eq!(Arc::strong_count(&counted), 1);

    let mut graph = Graph::new(8).unwrap();
    graph.first();
    let (mut tx, rx) = graph.build().unwrap();
    (0..6).for_each(|n| assert!(tx.try_push(Bomb(n % 2 == 0, counted.clone())).is_ok()));
    drop(rx);
    assert!(catch_unwind(AssertUnwindSafe(|| drop(tx))).is_err());
    assert_eq!(Arc::strong_count(&counted), 1);
}
