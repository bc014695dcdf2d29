//! What wrappers around a queue need: permits that own their handle, grants around the end of a ring, looks by a shared reference, ends that
//! are polled, answers without `Busy`.

use crate::support::{Bomb, Note, block_on};
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::{Context, Poll};
use thalweg_queue::stealing::{self, StealError};
use thalweg_queue::wait::Polled;
use thalweg_queue::{Pop, PopError, Push, PushError, TryPopError, TryPushError, mpmc, mpsc, spsc};
use thalweg_sync::sync::Arc;
use thalweg_sync::thread;

#[test]
fn permits_are_of_many_blocks() {
    let (tx, rx) = mpmc::shared(4, 2).unwrap();
    let mut permits = tx.reserve_many(5).unwrap();
    assert_eq!(permits.len(), 5);
    tx.push(9).unwrap();
    (0..5).for_each(|n| {
        permits.push(n).unwrap();
        assert_eq!(rx.try_pop(), Ok(n), "each is seen at once");
    });
    assert!(permits.is_empty());
    assert_eq!(permits.push(7), Err(7));
    assert_eq!(rx.try_pop(), Ok(9));
    assert_eq!(tx.reserve_many(100).unwrap().len(), 8, "as many as there is room for");
    assert_eq!(rx.try_pop(), Err(TryPopError::Empty), "holes are passed over");
}

#[test]
fn permits_own_their_producer() {
    let (tx, rx) = mpsc::mpsc::<String>(2, 4).unwrap();
    let mut permits = tx.reserve_many(2).unwrap();
    drop(tx);
    let pushes = thread::spawn(move || {
        permits.push("from afar".to_string()).unwrap();
        permits.into_producer()
    });
    let tx = pushes.join().unwrap();
    let mut rx = rx;
    assert_eq!(rx.pop().unwrap(), "from afar");
    assert_eq!(rx.try_pop(), Err(TryPopError::Empty));
    drop(tx);
    assert_eq!(rx.pop(), Err(PopError));
}

#[test]
fn permits_are_waited_for() {
    let (tx, rx) = mpmc::shared::<u32>(2, 1).unwrap();
    tx.push_all([1, 2]).unwrap();
    assert!(matches!(tx.reserve_many(1), Err(TryPushError::Full(()))));
    let other = tx.clone();
    let pushes = thread::spawn(move || {
        other.wait_reserve_many(1).unwrap().push(3).unwrap();
        block_on(other.reserve_many_async(1)).unwrap().push(4).unwrap();
    });
    assert!(rx.iter().take(4).eq(1..=4));
    pushes.join().unwrap();
    drop(rx);
    assert!(tx.wait_reserve_many(1).is_err() && block_on(tx.reserve_many_async(1)).is_err());
}

#[test]
fn a_permit_behind_the_end_drops_its_item() {
    let item = Arc::new(());
    let (tx, rx) = mpmc::channel(4).unwrap();
    let mut permits = tx.reserve_many(2).unwrap();
    drop(rx);
    assert!(permits.push(item.clone()).is_ok());
    drop((permits, tx));
    assert_eq!(Arc::strong_count(&item), 1);
}

/// Bursts of all lengths through rings of many shapes, beside a list that has the same.
#[test]
fn grants_go_around() {
    for (blocks, entries) in [(2, 1), (2, 3), (4, 2), (8, 1), (4, 5)] {
        let (mut tx, mut rx) = spsc::spsc::<Box<usize>>(blocks, entries).unwrap();
        let (mut model, mut next, mut went_around) = (VecDeque::new(), 0, [false; 2]);
        for round in 0..400 {
            let wanted = 1 + round * 7 % (blocks * entries + 2);
            let before = model.len();
            match tx.reserve_around(wanted) {
                Ok(mut grant) => {
                    assert!(grant.capacity() <= wanted);
                    went_around[0] |= !grant.uninit().1.is_empty();
                    let written = grant.extend((next..).take(grant.capacity() - round % 2).map(Box::new));
                    if round % 5 == 4 {
                        drop(grant);
                    } else {
                        assert_eq!(grant.commit(), written);
                        model.extend(next..next + written);
                        next += written;
                    }
                }
                Err(refused) => assert!(refused.is_full() && before > (blocks - 1) * entries, "{refused}"),
            }
            assert_eq!(rx.len(), model.len());
            let wanted = 1 + round * 5 % (blocks * entries + 2);
            match rx.readable_around(wanted) {
                Ok(there) => {
                    assert_eq!(there.count(), wanted.min(model.len()), "all that there is");
                    let (end, start) = there.as_slices();
                    went_around[1] |= !start.is_empty();
                    assert!(end.iter().chain(start).map(|item| **item).eq(model.iter().copied().take(there.count())));
                    let released = there.count() - round % 3 % there.count();
                    there.release(released);
                    model.drain(..released);
                }
                Err(refused) => assert!(refused.is_empty() && model.is_empty()),
            }
            assert_eq!(rx.front().ok().map(|item| **item), model.front().copied());
            if round % 4 == 3 {
                assert_eq!(rx.try_pop().ok().map(|item| *item), model.pop_front());
            }
        }
        assert_eq!(went_around, [true; 2], "{blocks} blocks of {entries}");
    }
}

#[test]
fn grants_go_around_between_threads() {
    const ITEMS: usize = if cfg!(miri) { 300 } else { 20_000 };
    let (mut tx, mut rx) = spsc::spsc::<usize>(4, 3).unwrap();
    let pushes = thread::spawn(move || {
        let mut next = 0..ITEMS;
        while !next.is_empty() {
            match tx.reserve_around(7) {
                Ok(mut grant) => {
                    grant.extend(&mut next);
                    grant.commit();
                }
                Err(_) => thread::yield_now(),
            }
        }
    });
    let mut expected = 0;
    loop {
        match rx.readable_around(9) {
            Ok(there) => {
                let (end, start) = there.as_slices();
                end.iter().chain(start).for_each(|&item| {
                    assert_eq!(item, expected);
                    expected += 1;
                });
                let count = there.count();
                there.release(count);
            }
            Err(TryPopError::Closed) => break,
            Err(_) => thread::yield_now(),
        }
    }
    assert_eq!(expected, ITEMS);
    pushes.join().unwrap();
}

#[test]
fn a_destructor_that_panics_in_a_grant_around_stops_no_other() {
    let count = Arc::new(());
    let (mut tx, mut rx) = spsc::spsc(4, 2).unwrap();
    (0..5).for_each(|n| assert!(tx.try_push(Bomb(n == 1, count.clone())).is_ok()));
    assert!(catch_unwind(AssertUnwindSafe(|| rx.readable_around(9).unwrap().release(4))).is_err());
    assert_eq!((Arc::strong_count(&count), rx.len()), (2, 1));
    let mut grant = tx.reserve_around(4).unwrap();
    (0..3).for_each(|n| assert!(grant.push(Bomb(n == 0, count.clone())).is_ok()));
    assert!(catch_unwind(AssertUnwindSafe(|| drop(grant))).is_err());
    assert_eq!(Arc::strong_count(&count), 2);
    drop((tx, rx));
    assert_eq!(Arc::strong_count(&count), 1);
}

#[test]
fn the_front_says_why_there_is_none() {
    let (mut tx, rx) = spsc::channel::<u8>(4).unwrap();
    assert_eq!(rx.front(), Err(TryPopError::Empty));
    tx.push(1).unwrap();
    drop(tx);
    assert_eq!(rx.front(), Ok(&1));
    let mut rx = rx;
    assert_eq!(rx.pop(), Ok(1));
    assert_eq!(rx.front(), Err(TryPopError::Closed));
}

#[test]
fn a_thief_goes_on_in_the_next_block() {
    let (mut owner, thief) = stealing::fifo(8, 2).unwrap();
    (0..10).for_each(|n| owner.push(n).unwrap());
    owner.share();
    let mut batch = Vec::new();
    assert_eq!(thief.steal_many(&mut batch, 0), Ok(0));
    assert_eq!(thief.steal_many(&mut batch, 7), Ok(7));
    assert!(batch.iter().copied().eq(0..7));
    assert_eq!(thief.steal_many(&mut batch, 7), Ok(3));
    assert_eq!(thief.steal_many(&mut batch, 7), Err(StealError::Empty));
    drop(owner);
    assert_eq!(thief.steal_many(&mut batch, 7), Err(StealError::Closed));
}

#[test]
fn ends_are_polled_for_batches() {
    let (tx, rx) = mpmc::shared(2, 1).unwrap();
    let (mut tx, mut rx) = (Polled::producer(tx), Polled::consumer(rx));
    let (pushes, pops) = (Note::default(), Note::default());
    let (push_waker, pop_waker) = (pushes.waker(), pops.waker());
    let (mut push_cx, mut pop_cx) = (Context::from_waker(&push_waker), Context::from_waker(&pop_waker));
    let mut popped = Vec::new();
    assert!(rx.poll_pop_many(&mut pop_cx, &mut popped, 9).is_pending());
    assert_eq!(tx.poll_ready(&mut push_cx), Poll::Ready(Ok(())));
    let mut values = vec![1, 2, 3];
    assert!(tx.poll_push_many(&mut push_cx, &mut values).is_pending());
    assert_eq!(values, [3]);
    assert!(tx.poll_ready(&mut push_cx).is_pending());
    assert!(pops.was_woken() && !pushes.was_woken());
    assert_eq!(rx.poll_pop_many(&mut pop_cx, &mut popped, 9), Poll::Ready(Ok(2)));
    assert!(pushes.was_woken());
    assert_eq!(tx.poll_push_many(&mut push_cx, &mut values), Poll::Ready(Ok(())));
    drop(rx.into_end());
    assert_eq!(tx.poll_ready(&mut push_cx), Poll::Ready(Err(PushError(()))));
    values.push(4);
    assert_eq!(tx.poll_push_many(&mut push_cx, &mut values), Poll::Ready(Err(PushError(()))));
    assert_eq!((popped, values), (vec![1, 2], vec![4]));
}

/// A grant that is open makes others `Busy`, until it is committed.
#[test]
fn an_answer_is_settled() {
    let (mut tx, mut rx) = mpmc::shared(2, 4).unwrap();
    let other = tx.clone();
    let mut grant = other.reserve(1).unwrap();
    tx.push_now(2).unwrap();
    assert_eq!(rx.try_pop(), Err(TryPopError::Busy));
    let pops = thread::spawn(move || [rx.pop_now(), rx.pop_now(), rx.pop_now()]);
    thread::yield_now();
    grant.push(1).unwrap();
    grant.commit();
    assert_eq!(pops.join().unwrap(), [Ok(1), Ok(2), Err(TryPopError::Empty)]);
    assert!(matches!(tx.push_now(3), Err(TryPushError::Closed(3))));
}
