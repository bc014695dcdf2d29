//! The latest value.

use crate::support::{Bomb, Note, block_on, fuse};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::{Context, Poll};
use thalweg_check::Fuzz;
use thalweg_queue::watch;
use thalweg_queue::{PopError, PopTimeoutError, PushError, TryPopError};
use thalweg_sync::sync::Arc;
use thalweg_sync::thread;
use thalweg_sync::time::Duration;

#[test]
fn what_is_in_between_is_skipped() {
    let (tx, mut rx) = watch::channel(0);
    assert_eq!(rx.try_pop().err(), Some(TryPopError::Empty));
    assert_eq!(*rx.latest(), 0);
    (1..4).for_each(|n| tx.push(n).unwrap());
    assert!(rx.has_changed());
    assert_eq!(rx.try_pop().unwrap(), 3);
    assert!(!rx.has_changed());
    tx.push(4).unwrap();
    assert_eq!(*rx.latest(), 4);
    assert_eq!(rx.try_pop().err(), Some(TryPopError::Empty), "a look has seen it, too");
}

#[test]
fn the_last_value_comes_before_the_end() {
    let (tx, mut rx) = watch::channel(0);
    let mut other = rx.clone();
    tx.push(1).unwrap();
    drop(tx);
    assert!(rx.is_closed());
    assert_eq!(rx.changed(), Ok(&1));
    assert_eq!(rx.changed(), Err(PopError));
    assert_eq!(*rx.latest(), 1, "it is there to be looked at");
    assert_eq!(other.pop_timeout(Duration::ZERO).unwrap(), 1);
    assert_eq!(other.pop_timeout(Duration::ZERO).err(), Some(PopTimeoutError::Closed));
}

#[test]
fn each_receiver_sees_by_itself() {
    let (tx, mut rx) = watch::channel(0);
    let mut other = rx.clone();
    tx.push(1).unwrap();
    assert_eq!(rx.try_pop().unwrap(), 1);
    let mut late = tx.subscribe();
    let mut seen = rx.clone();
    assert_eq!(other.try_pop().unwrap(), 1);
    assert_eq!(late.try_pop().err(), Some(TryPopError::Empty), "who subscribes has seen the latest");
    assert_eq!(seen.try_pop().err(), Some(TryPopError::Empty), "a clone has seen what its origin has");
}

#[test]
fn pushes_are_refused_while_nobody_is_there() {
    let (tx, rx) = watch::channel("first");
    drop(rx);
    assert!(tx.is_closed());
    tx.closed();
    block_on(tx.closed_async());
    assert_eq!(tx.push("second"), Err(PushError("second")));
    assert_eq!(tx.replace("third"), "first");
    let mut rx = tx.subscribe();
    assert!(!tx.is_closed() && !tx.closed_timeout(Duration::ZERO));
    assert_eq!(*rx.latest(), "third");
    tx.push("fourth").unwrap();
    assert_eq!(*rx.latest(), "fourth");
}

#[test]
fn a_change_wakes_everybody() {
    let (tx, rx) = watch::channel(0);
    let mut receivers = [rx.clone(), rx];
    let notes = [Note::default(), Note::default()];
    {
        let [first, second] = &mut receivers;
        let (mut first, mut second) = (pin!(first.pop_async()), pin!(second.pop_async()));
        assert!(first.as_mut().poll(&mut Context::from_waker(&notes[0].waker())).is_pending());
        assert!(second.as_mut().poll(&mut Context::from_waker(&notes[1].waker())).is_pending());
        tx.push(1).unwrap();
        assert!(notes.iter().all(Note::was_woken));
        assert!(matches!(first.poll(&mut Context::from_waker(&notes[0].waker())), Poll::Ready(Ok(_))));
    }
    drop(tx);
    let [first, second] = &mut receivers;
    assert_eq!(first.changed(), Err(PopError));
    assert_eq!(second.changed(), Ok(&1), "a pop that was dropped has seen nothing");
}

#[test]
fn a_value_is_waited_for() {
    let (tx, mut rx) = watch::channel(5);
    assert_eq!(rx.wait_for(|&n| n == 5), Ok(&5), "the one that is there counts");
    assert_eq!(rx.wait_for_timeout(|&n| n == 6, Duration::from_millis(1)), Err(PopTimeoutError::Timeout));
    let pushes = thread::spawn(move || (6..9).for_each(|n| tx.push(n).unwrap()));
    assert_eq!(block_on(rx.wait_for_async(|&n| n == 8)), Ok(&8));
    assert_eq!(rx.wait_for(|&n| n == 9), Err(PopError));
    pushes.join().unwrap();
}

#[test]
fn updates_are_not_lost() {
    let (tx, mut rx) = watch::channel(0);
    let threads =
        [tx.clone(), tx].map(|tx| thread::spawn(move || (0..500).for_each(|_| assert!(tx.update(|n| Some(n + 1))))));
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    assert_eq!(*rx.latest(), 1000);
}

#[test]
fn every_value_is_dropped_once() {
    let count = Arc::new(());
    let (tx, mut rx) = watch::channel(count.clone());
    let kept = rx.snapshot();
    (0..5).for_each(|_| tx.push(count.clone()).unwrap());
    assert_eq!(Arc::strong_count(&count), 3, "the first one is kept and the last one is there");
    assert!(tx.update(|_| Some(count.clone())));
    rx.latest();
    drop(kept);
    assert_eq!(Arc::strong_count(&count), 2);
    drop((tx, rx));
    assert_eq!(Arc::strong_count(&count), 1);
}

#[test]
fn a_panic_of_somebody_elses_code_does_no_harm() {
    let count = Arc::new(());
    let (tx, mut rx) = watch::channel(Bomb(true, count.clone()));
    tx.update(|_| Some(Bomb(false, count.clone())));
    // The receiver has the first one last.
    assert!(catch_unwind(AssertUnwindSafe(|| rx.latest().0)).is_err());
    assert!(!rx.latest().0);
    assert!(catch_unwind(AssertUnwindSafe(|| tx.update(|_| panic!("told to panic")))).is_err());
    {
        let mut popping = pin!(rx.pop_async());
        assert!(popping.as_mut().poll(&mut Context::from_waker(&fuse())).is_pending());
        assert!(catch_unwind(AssertUnwindSafe(|| tx.push(Bomb(false, count.clone())).map_err(drop))).is_err());
        assert!(matches!(popping.poll(&mut Context::from_waker(&fuse())), Poll::Ready(Ok(_))));
    }
    drop((tx, rx));
    assert_eq!(Arc::strong_count(&count), 1);
}

/// In schedules drawn by seed: changes are seen in order, the last one always, and nobody sleeps beside one.
#[test]
fn changes_come_in_order() {
    Fuzz::new().seeds(0..300).run(|| {
        let (tx, rx) = watch::channel(0);
        let receivers: Vec<_> = (0..3)
            .map(|me| {
                let mut rx = rx.clone();
                thread::spawn(move || {
                    let mut last = 0;
                    loop {
                        let popped = if me == 0 { block_on(rx.pop_async()) } else { rx.pop() };
                        let Ok(value) = popped else { return last };
                        assert!(*value > last);
                        last = *value;
                    }
                })
            })
            .collect();
        drop(rx);
        let other = tx.clone();
        let second = thread::spawn(move || (0..3).for_each(|_| assert!(other.update(|n| Some(n + 1)))));
        (0..3).for_each(|_| assert!(tx.update(|n| Some(n + 1))));
        drop(tx);
        second.join().unwrap();
        receivers.into_iter().for_each(|receiver| assert_eq!(receiver.join().unwrap(), 6));
    });
}
