//! One value, once.

use crate::support::{Bomb, Note, block_on, fuse};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll};
use thalweg_check::Fuzz;
use thalweg_queue::oneshot::{self, Receiver};
use thalweg_queue::{PopError, PopTimeoutError, PushError, TryPopError};
use thalweg_sync::sync::Arc;
use thalweg_sync::thread;
use thalweg_sync::time::{self, Duration};

fn poll<T>(rx: &mut Receiver<T>, note: &Note) -> Poll<Result<T, PopError>> {
    Future::poll(Pin::new(rx), &mut Context::from_waker(&note.waker()))
}

#[test]
fn a_value_is_there_once() {
    let (tx, mut rx) = oneshot::channel();
    assert_eq!(rx.try_pop(), Err(TryPopError::Empty));
    assert!(rx.is_empty() && !rx.is_closed() && !tx.is_closed());
    tx.push(7).unwrap();
    assert!(!rx.is_empty() && rx.is_closed());
    assert_eq!(rx.try_pop(), Ok(7));
    assert!(rx.is_empty());
    assert_eq!(rx.try_pop(), Err(TryPopError::Closed));
    assert_eq!(rx.pop(), Err(PopError));
    assert_eq!(block_on(rx), Err(PopError));
}

#[test]
fn a_sender_that_leaves_ends_every_wait() {
    let (tx, mut rx) = oneshot::channel::<u32>();
    let note = Note::default();
    assert!(poll(&mut rx, &note).is_pending());
    drop(tx);
    assert!(note.was_woken());
    assert_eq!(poll(&mut rx, &note), Poll::Ready(Err(PopError)));
    assert_eq!(rx.try_pop(), Err(TryPopError::Closed));
    assert_eq!(rx.pop_timeout(Duration::ZERO), Err(PopTimeoutError::Closed));
}

#[test]
fn a_receiver_that_leaves_gives_the_value_back() {
    let (tx, rx) = oneshot::channel();
    drop(rx);
    assert!(tx.is_closed());
    assert_eq!(tx.push("mine"), Err(PushError("mine")));
}

#[test]
fn close_refuses_what_comes_later_and_keeps_what_came() {
    let (tx, mut rx) = oneshot::channel();
    tx.push(1).unwrap();
    rx.close();
    assert_eq!(rx.try_pop(), Ok(1));

    let (tx, mut rx) = oneshot::channel();
    let note = Note::default();
    assert!(poll(&mut rx, &note).is_pending());
    rx.close();
    assert_eq!(poll(&mut rx, &note), Poll::Ready(Err(PopError)));
    assert_eq!(tx.push(2), Err(PushError(2)));
}

#[test]
fn a_sender_learns_that_nobody_waits() {
    let (mut tx, mut rx) = oneshot::channel::<u32>();
    assert!(!tx.closed_timeout(Duration::from_millis(1)));
    let note = Note::default();
    {
        let mut closed = std::pin::pin!(tx.closed_async());
        assert!(closed.as_mut().poll(&mut Context::from_waker(&note.waker())).is_pending());
        rx.close();
        assert!(note.was_woken());
        assert!(closed.as_mut().poll(&mut Context::from_waker(&note.waker())).is_ready());
    }
    tx.closed();

    let (mut tx, rx) = oneshot::channel::<u32>();
    let other = thread::spawn(move || tx.closed());
    drop(rx);
    other.join().unwrap();
}

/// The waker of the last poll is the one that counts.
#[test]
fn a_receiver_may_move_to_another_task() {
    let (tx, mut rx) = oneshot::channel();
    let (first, second) = (Note::default(), Note::default());
    assert!(poll(&mut rx, &first).is_pending());
    assert!(poll(&mut rx, &second).is_pending());
    tx.push(7).unwrap();
    assert!(second.was_woken() && !first.was_woken());
    assert_eq!(poll(&mut rx, &second), Poll::Ready(Ok(7)));
}

#[test]
#[allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "a deadline may be the standard library's")]
fn a_wait_ends_in_time_and_may_be_repeated() {
    let (tx, mut rx) = oneshot::channel();
    let before = time::now();
    assert_eq!(rx.pop_timeout(Duration::from_millis(20)), Err(PopTimeoutError::Timeout));
    assert!(before.elapsed() >= Duration::from_millis(20));
    let past = std::time::Instant::now();
    assert_eq!(rx.pop_deadline(past), Err(PopTimeoutError::Timeout));
    let other = thread::spawn(move || tx.push(7));
    assert_eq!(rx.pop_deadline(past + Duration::from_secs(600)), Ok(7));
    other.join().unwrap().unwrap();
}

/// Whoever has the value last drops it, and nobody else.
#[test]
fn a_value_is_dropped_once() {
    type Act = fn(oneshot::Sender<Arc<()>>, Receiver<Arc<()>>, Arc<()>);
    let count = Arc::new(());
    let end = |act: Act| {
        let (tx, rx) = oneshot::channel();
        act(tx, rx, count.clone());
        assert_eq!(Arc::strong_count(&count), 1);
    };
    end(|tx, rx, value| {
        tx.push(value).unwrap();
        drop(rx); // with the value in it
    });
    end(|tx, mut rx, value| {
        tx.push(value).unwrap();
        rx.try_pop().unwrap();
    });
    end(|tx, rx, value| {
        drop(rx);
        drop(tx.push(value).unwrap_err());
    });
    end(|tx, rx, _| drop((tx, rx)));
    end(|tx, mut rx, value| {
        rx.close();
        assert!(tx.push(value).is_err());
    });
}

/// Somebody else's code panics when all is done: nothing is lost or freed twice.
#[test]
fn a_panic_of_a_waker_or_a_destructor_does_no_harm() {
    let (tx, mut rx) = oneshot::channel();
    assert!(Future::poll(Pin::new(&mut rx), &mut Context::from_waker(&fuse())).is_pending());
    assert!(catch_unwind(AssertUnwindSafe(|| tx.push(7))).is_err());
    assert_eq!(rx.try_pop(), Ok(7));

    let count = Arc::new(());
    let (tx, rx) = oneshot::channel();
    tx.push(Bomb(true, count.clone())).map_err(drop).unwrap();
    assert!(catch_unwind(AssertUnwindSafe(|| drop(rx))).is_err());
    assert_eq!(Arc::strong_count(&count), 1);
}

#[test]
fn handles_are_what_executors_and_unwinding_ask() {
    fn is<T: Send + Sync + Unpin + std::panic::UnwindSafe + std::fmt::Debug>() {}
    is::<oneshot::Sender<std::cell::Cell<u8>>>();
    is::<oneshot::Receiver<std::cell::Cell<u8>>>();
}

/// Waits of every kind against a push, an end and a close, in schedules drawn by seed. A wake-up that is lost is reported as a deadlock.
#[test]
fn nobody_sleeps_beside_an_event() {
    for case in 0..6 {
        Fuzz::new().seeds(0..200).run(move || {
            let count = Arc::new(());
            let value = count.clone();
            let (mut tx, mut rx) = oneshot::channel();
            let sender = thread::spawn(move || match case {
                0..3 => drop(tx.push(value)),
                3 => drop((tx, value)),
                _ => tx.closed(),
            });
            match case {
                0 | 3 => drop(rx.pop()),
                1 => drop(block_on(rx.pop_async())),
                2 => drop(rx.pop_timeout(Duration::from_nanos(50))),
                4 => rx.close(),
                _ => {}
            }
            drop(rx);
            sender.join().unwrap();
            assert_eq!(Arc::strong_count(&count), 1);
        });
    }
}
