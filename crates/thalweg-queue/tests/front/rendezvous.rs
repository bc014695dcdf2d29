//! No capacity at all.

use crate::support::{Bomb, Note, block_on, fuse};
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::{Context, Poll};
use thalweg_check::Fuzz;
use thalweg_queue::{
    PopError, PopTimeoutError, PushError, PushTimeoutError, TryPopError, TryPushError, rendezvous, select,
};
use thalweg_sync::sync::Arc;
use thalweg_sync::thread;
use thalweg_sync::time::{self, Duration};

#[test]
fn nothing_is_kept() {
    let (tx, rx) = rendezvous::channel();
    assert_eq!(tx.try_push(1), Err(TryPushError::Full(1)));
    assert_eq!(tx.push_timeout(2, Duration::from_millis(1)), Err(PushTimeoutError::Timeout(2)));
    assert_eq!(rx.try_pop(), Err(TryPopError::Empty));
    assert_eq!(rx.pop_timeout(Duration::from_millis(1)), Err(PopTimeoutError::Timeout));
    assert_eq!((tx.capacity(), rx.capacity(), rx.len()), (0, 0, 0));
    assert_eq!(tx.try_push(3), Err(TryPushError::Full(3)), "who has given up is not there any more");
}

#[test]
fn a_push_is_over_when_it_is_popped() {
    let (tx, rx) = rendezvous::channel();
    let note = Note::default();
    let waker = note.waker();
    let mut cx = Context::from_waker(&waker);
    let mut pushing = tx.push_async(1);
    assert!(pin!(&mut pushing).poll(&mut cx).is_pending());
    assert_eq!(rx.len(), 1);
    assert_eq!(rx.try_pop(), Ok(1));
    assert!(note.was_woken());
    assert_eq!(pin!(&mut pushing).poll(&mut cx), Poll::Ready(Ok(())));
    drop(pushing);
    // Given up: what is not popped comes back.
    let mut pushing = tx.push_async(2);
    assert!(pin!(&mut pushing).poll(&mut cx).is_pending());
    assert_eq!(pushing.into_value(), Some(2));
    let mut pushing = tx.push_async(3);
    assert!(pin!(&mut pushing).poll(&mut cx).is_pending());
    assert_eq!(rx.pop(), Ok(3));
    assert_eq!(pushing.into_value(), None);
    assert_eq!(tx.push_async(4).into_value(), Some(4));
    drop(tx.push_async(5));
    assert_eq!(rx.try_pop(), Err(TryPopError::Empty));
}

#[test]
fn try_push_is_for_who_sleeps_in_a_pop() {
    let (tx, rx) = rendezvous::channel();
    let consumer = thread::spawn(move || rx.pop());
    let mut item = 7;
    while let Err(TryPushError::Full(back)) = tx.try_push(item) {
        item = back;
        thread::yield_now();
    }
    assert_eq!(consumer.join().unwrap(), Ok(7));
    assert_eq!(tx.try_push(8), Err(TryPushError::Closed(8)));
}

#[test]
fn either_side_may_leave() {
    let (tx, rx) = rendezvous::channel::<u32>();
    let other = tx.clone();
    let pushes = [tx, other].map(|tx| thread::spawn(move || tx.push(1)));
    while rx.len() < 2 {
        thread::yield_now();
    }
    drop(rx);
    assert!(pushes.into_iter().all(|push| push.join().unwrap() == Err(PushError(1))));

    let (tx, rx) = rendezvous::channel::<u32>();
    let pop = thread::spawn(move || rx.pop());
    drop(tx);
    assert_eq!(pop.join().unwrap(), Err(PopError));

    let (tx, rx) = rendezvous::channel();
    let note = Note::default();
    let mut pushing = pin!(tx.push_async(1));
    assert!(pushing.as_mut().poll(&mut Context::from_waker(&note.waker())).is_pending());
    drop(rx);
    assert!(note.was_woken());
    assert_eq!(pushing.poll(&mut Context::from_waker(&note.waker())), Poll::Ready(Err(PushError(1))));
    assert_eq!(tx.push_deadline(2, time::now()), Err(PushTimeoutError::Closed(2)));
}

#[test]
fn a_consumer_is_an_arm_of_a_select() {
    let (tx, rx) = rendezvous::channel();
    let (_other, empty) = rendezvous::channel::<u32>();
    let producer = thread::spawn(move || tx.push(7));
    let item = select! { pop(empty) -> item => item, pop(rx) -> item => item };
    assert_eq!(item, Ok(7));
    producer.join().unwrap().unwrap();
}

#[test]
fn a_panic_of_a_waker_or_a_destructor_does_no_harm() {
    let count = Arc::new(());
    let (tx, rx) = rendezvous::channel();
    {
        let mut pushing = pin!(tx.push_async(Bomb(false, count.clone())));
        assert!(pushing.as_mut().poll(&mut Context::from_waker(&fuse())).is_pending());
        assert!(catch_unwind(AssertUnwindSafe(|| rx.try_pop().is_ok())).is_err());
        assert!(pushing.poll(&mut Context::from_waker(&fuse())).is_ready());
    }
    assert_eq!(Arc::strong_count(&count), 1);
    let mut pushing = tx.push_async(Bomb(true, count.clone()));
    assert!(pin!(&mut pushing).poll(&mut Context::from_waker(&fuse())).is_pending());
    assert!(catch_unwind(AssertUnwindSafe(|| drop(pushing))).is_err());
    assert_eq!((rx.len(), Arc::strong_count(&count)), (0, 1));
}

/// Pushes and pops of every kind in schedules drawn by seed: every item is popped or comes back, exactly once.
#[test]
fn every_item_is_popped_or_comes_back() {
    Fuzz::new().seeds(0..300).run(|| {
        let (tx, rx) = rendezvous::channel();
        let producers: Vec<_> = (0..3)
            .map(|me| {
                let tx = tx.clone();
                thread::spawn(move || {
                    let push = |n: u32| match me {
                        0 => tx.push(n).is_ok(),
                        1 => block_on(tx.push_async(n)).is_ok(),
                        _ => tx.push_timeout(n, Duration::from_nanos(50)).is_ok() || tx.try_push(n).is_ok(),
                    };
                    (0..3).filter(|n| push(me * 3 + n)).map(|n| me * 3 + n).collect::<Vec<_>>()
                })
            })
            .collect();
        drop(tx);
        let consumers: Vec<_> = (0..2)
            .map(|me| {
                let rx = rx.clone();
                thread::spawn(move || {
                    let mut popped = Vec::new();
                    loop {
                        match if me == 0 {
                            block_on(rx.pop_async()).map_err(|_| PopTimeoutError::Closed)
                        } else {
                            rx.pop_timeout(Duration::from_nanos(60))
                        } {
                            Ok(item) => popped.push(item),
                            Err(PopTimeoutError::Timeout) => {}
                            Err(PopTimeoutError::Closed) => return popped,
                        }
                    }
                })
            })
            .collect();
        drop(rx);
        let mut pushed: Vec<_> = producers.into_iter().flat_map(|thread| thread.join().unwrap()).collect();
        let mut popped: Vec<_> = consumers.into_iter().flat_map(|thread| thread.join().unwrap()).collect();
        pushed.sort_unstable();
        popped.sort_unstable();
        assert_eq!(popped, pushed);
    });
}
