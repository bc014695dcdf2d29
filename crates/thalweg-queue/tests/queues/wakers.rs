//! Wakers that panic: the others are woken all the same, and nothing that a queue had in its hands is lost to it.

use crate::support::{Note, fuse};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use thalweg_queue::bytes;
use thalweg_queue::research::tube::scqd::Scqd;
use thalweg_queue::{
    Park, PopError, PopTimeoutError, TryPopError, mpmc,
    research::{cnq, mesh, ticketed},
};
use thalweg_sync::thread;
use thalweg_sync::time::Duration;

fn poll<F: Future>(future: &mut Pin<Box<F>>, waker: &Waker) -> Poll<F::Output> {
    future.as_mut().poll(&mut Context::from_waker(waker))
}

/// Does `body`, which calls a waker that panics.
#[track_caller]
fn panics<R>(body: impl FnOnce() -> R) {
    assert!(catch_unwind(AssertUnwindSafe(body)).is_err(), "the waker was not called");
}

#[test]
fn the_others_of_a_side_are_woken() {
    let (tx, rx) = mpmc::with_wait::<u32, _>(2, 2, Park::new()).unwrap();
    let other = rx.clone();
    let (mut first, mut second) = (Box::pin(rx.pop_async()), Box::pin(other.pop_async()));
    let note = Note::default();
    assert!(poll(&mut first, &fuse()).is_pending());
    assert!(poll(&mut second, &note.waker()).is_pending());
    panics(|| drop(tx));
    assert!(note.was_woken(), "the second one sleeps beside the end");
    assert_eq!(poll(&mut second, &note.waker()), Poll::Ready(Err(PopError)));
}

/// An end of a mesh that leaves rings both sides.
#[test]
fn the_other_side_is_woken() {
    let (mut tx, mut rx) = mesh::with_wait::<u32, _>(2, 2, 2, 2, Park::new()).unwrap();
    let leaves = tx.pop().unwrap();
    while tx[0].try_push(0).is_ok() {}
    let mut pushing = Box::pin(tx[0].push_async(0));
    let mut popping = Box::pin(rx[1].pop_async());
    let note = Note::default();
    assert!(poll(&mut pushing, &fuse()).is_pending());
    assert!(poll(&mut popping, &note.waker()).is_pending());
    panics(|| drop(leaves));
    assert!(note.was_woken(), "the consumer sleeps beside what may be the end");
    assert!(poll(&mut popping, &note.waker()).is_pending(), "it is not: the other producer is there");
}

/// A consumer is woken for two items and takes one. A producer's waker ends its pop; the one that waits behind it is woken all the
/// same. On real threads: the engines cannot follow a lock that is taken in a panic.
#[test]
fn who_is_interrupted_hands_its_wake_up_on() {
    let (tx, rx) = mpmc::with_wait(2, 1, Park::new()).unwrap();
    let (sleeps, other) = (rx.clone(), rx);
    let mut grant = tx.reserve(1).unwrap();
    tx.try_push(1).unwrap();
    let sleeper = thread::spawn(move || catch_unwind(AssertUnwindSafe(|| sleeps.pop())).is_ok());
    // So that it sleeps, and is the first. Should it not, the other one is woken as the first.
    thread::sleep(Duration::from_millis(50));
    let (mut pushing, mut popping, note) = (Box::pin(tx.push_async(2)), Box::pin(other.pop_async()), Note::default());
    assert!(poll(&mut pushing, &fuse()).is_pending());
    assert!(poll(&mut popping, &note.waker()).is_pending());
    grant.push(0).unwrap();
    grant.commit();
    let _ = sleeper.join().unwrap();
    assert!(note.was_woken(), "it waits beside an item");
}

/// A ticket that is dropped rings who waits for items, and is served at every counter.
#[test]
fn a_ticket_is_served_everywhere() {
    let (tx, rx) = ticketed::with_wait::<u32, _>(4, 2, Park::new()).unwrap();
    tx.try_push(1).unwrap();
    let ticket = rx.try_reserve(1).unwrap().commit();
    let mut popping = Box::pin(rx.pop_async());
    assert!(poll(&mut popping, &fuse()).is_pending());
    panics(|| drop(ticket));
    drop(popping);
    tx.try_push(2).unwrap();
    let ticket = rx.try_reserve(1).unwrap().commit();
    assert!((0..2).all(|counter| ticket.is_turn(counter)));
}

/// A pop that takes a message passes over a block without any behind it, and so rings with the message in its hands.
#[test]
fn the_room_of_a_message_is_given_back() {
    let (tx, rx) = bytes::with_wait(2, 32, Park::new()).unwrap();
    tx.try_push(&[0; 16]).unwrap();
    let empty = [tx.reserve(16).unwrap(), tx.reserve(32).unwrap()];
    let mut pushing = Box::pin(tx.push_async(&[1; 32]));
    assert!(poll(&mut pushing, &fuse()).is_pending());
    drop(empty);
    let mut message = Vec::new();
    panics(|| rx.try_pop(&mut message));
    drop(pushing);
    for number in [2, 3] {
        assert_eq!(tx.try_push(&[number; 32]), Ok(()), "a block is not free");
    }
    assert_eq!([rx.try_pop(&mut message), rx.try_pop(&mut message)], [Ok(32), Ok(32)]);
    assert_eq!(message, [[2_u8; 32], [3; 32]].concat());
}

/// A push of a message notifies when it is there, in either mode.
#[test]
fn a_message_that_was_pushed_is_there() {
    fn check<M: bytes::Mode>((tx, rx): (bytes::Producer<Park, M>, bytes::Consumer<Park, M>)) {
        let mut message = Vec::new();
        for number in 0..20_u8 {
            {
                let mut sleeps = Vec::new();
                let mut popping = Box::pin(rx.pop_async(&mut sleeps));
                assert!(poll(&mut popping, &fuse()).is_pending());
                panics(|| tx.try_push(&[number; 20]));
            }
            message.clear();
            assert_eq!(rx.try_pop(&mut message), Ok(20));
            assert_eq!(message, [number; 20]);
        }
    }
    check(bytes::with_wait(2, 64, Park::new()).unwrap());
    check(bytes::drop_old_with_wait(2, 64, Park::new()).unwrap());
}

/// A consumer that draws a capsule rings, since the tube may have been `Busy` with it.
#[test]
fn a_capsule_that_was_drawn_is_kept() {
    let (mut tx, mut rx) = cnq::with_wait(Scqd::new(2).unwrap(), 2, 1, 2, Park::new()).unwrap();
    let mut late = tx.clone();
    (0..2).for_each(|number| tx.try_push(number).unwrap());
    let mut pushing = Box::pin(late.push_async(2));
    assert!(poll(&mut pushing, &fuse()).is_pending());
    panics(|| rx.try_pop());
    drop(pushing);
    assert_eq!([rx.try_pop(), rx.try_pop(), rx.try_pop()], [Ok(0), Ok(1), Err(TryPopError::Empty)]);
}

/// A consumer that leaves notifies when it gives its capsule back, and has left all the same.
#[test]
fn a_consumer_that_leaves_is_gone() {
    let (mut tx, mut rx) = cnq::with_wait(Scqd::new(4).unwrap(), 4, 4, 16, Park::new()).unwrap();
    let mut other = rx.clone();
    (0..2).for_each(|number| tx.try_push(number).unwrap());
    assert_eq!(rx.try_pop(), Ok(0));
    let mut popping = Box::pin(other.pop_async());
    assert!(poll(&mut popping, &fuse()).is_pending());
    panics(|| drop(rx));
    drop(popping);
    assert_eq!(other.try_pop(), Ok(1));
    assert!(!tx.is_closed());
    drop(other);
    assert!(tx.is_closed());
}

/// A push that is half-way for ever, as its grant was leaked, and nobody else who could push: a wait ends at its deadline.
#[test]
fn a_leaked_grant_lets_a_wait_end() {
    let time = Duration::from_millis(1);
    let (tx, rx) = mpmc::with_wait::<u32, _>(2, 2, Park::new()).unwrap();
    std::mem::forget(tx.reserve(1).unwrap());
    drop(tx);
    assert_eq!(rx.pop_timeout(time), Err(PopTimeoutError::Timeout));
    let (tx, rx) = bytes::with_wait(2, 64, Park::new()).unwrap();
    std::mem::forget(tx.reserve(8).unwrap());
    drop(tx);
    assert_eq!(rx.pop_timeout(&mut Vec::new(), time), Err(PopTimeoutError::Timeout));
}
