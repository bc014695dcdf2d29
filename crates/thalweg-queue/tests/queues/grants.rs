//! Grants of the one-to-one queue: partial commit, partial release, and whatever interrupts them.

use crate::support::Bomb;
use std::panic::{AssertUnwindSafe, catch_unwind};
use thalweg_queue::{TryPopError, TryPushError, spsc};
use thalweg_sync::sync::Arc;
use thalweg_sync::thread;

#[test]
fn what_is_committed_is_pushed_and_nothing_else() {
    let counted = Arc::new(());
    let (mut tx, mut rx) = spsc::spsc(2, 4).unwrap();
    for round in 0..20 {
        // Dropped with two written.
        let mut grant = tx.reserve(4).unwrap();
        let offered = grant.capacity();
        assert!((1..=4).contains(&offered));
        assert_eq!(grant.extend([(round, counted.clone())]), 1);
        drop(grant);
        assert_eq!(Arc::strong_count(&counted), 1);
        assert_eq!(rx.try_pop().err(), Some(TryPopError::Empty));
        // Committed with one written, where more were reserved.
        let mut grant = tx.reserve(4).unwrap();
        assert_eq!(grant.capacity(), offered, "what was not committed is still there");
        grant.push((round, counted.clone())).unwrap();
        assert_eq!(grant[0].0, round);
        grant[0].0 += 100;
        assert_eq!(grant.commit(), 1);
        // Committed with nothing written.
        assert_eq!(tx.reserve(1).unwrap().commit(), 0);
        assert_eq!(rx.try_pop().unwrap().0, round + 100);
        assert_eq!(Arc::strong_count(&counted), 1);
    }
}

#[test]
fn a_grant_ends_with_its_block() {
    let (mut tx, mut rx) = spsc::spsc(2, 4).unwrap();
    tx.push(0).unwrap();
    let mut grant = tx.reserve(100).unwrap();
    assert_eq!(grant.capacity(), 3);
    let mut numbers = 1..;
    assert_eq!(grant.extend(&mut numbers), 3);
    assert_eq!(grant.push(77), Err(77));
    grant.commit();
    assert_eq!(tx.try_push_slice(&[numbers.next().unwrap()]), Ok(1), "no number was lost to a grant that was full");
    assert_eq!(rx.readable(100).unwrap()[..], [0, 1, 2, 3]);
    rx.readable(100).unwrap().release(4);
    assert_eq!(rx.readable(100).unwrap()[..], [4]);
}

#[test]
fn full_and_closed_are_told() {
    let (mut tx, rx) = spsc::spsc(2, 1).unwrap();
    tx.push('a').unwrap();
    tx.push('b').unwrap();
    assert_eq!(tx.reserve(1).err(), Some(TryPushError::Full(())));
    drop(rx);
    assert_eq!(tx.reserve(1).err(), Some(TryPushError::Closed(())));
    let (tx, mut rx) = spsc::spsc::<u8>(2, 1).unwrap();
    assert_eq!(rx.readable(1).err(), Some(TryPopError::Empty));
    assert_eq!(rx.peek().err(), Some(TryPopError::Empty));
    drop(tx);
    assert_eq!(rx.peek().err(), Some(TryPopError::Closed));
}

#[test]
fn what_is_not_released_stays() {
    let counted = Arc::new(());
    let (mut tx, mut rx) = spsc::spsc(2, 4).unwrap();
    let mut next = 0;
    for pushed in 0..40 {
        tx.push((pushed, counted.clone())).unwrap();
        assert_eq!(rx.peek().unwrap().0, next);
        if pushed % 4 == 3 {
            // One of those that are there, then none, then the rest.
            rx.readable(100).unwrap().release(1);
            rx.readable(100).unwrap().release(0);
            assert_eq!(rx.readable(100).unwrap().len(), 3);
            assert_eq!(rx.peek().unwrap().0, next + 1);
            rx.readable(3).unwrap()[0].0 += 0;
            rx.readable(3).unwrap().release(3);
            next = pushed + 1;
            assert_eq!(Arc::strong_count(&counted), 1);
        }
    }
}

#[test]
fn a_panic_while_a_grant_is_filled_pushes_nothing() {
    let counted = Arc::new(());
    let (mut tx, mut rx) = spsc::spsc(2, 4).unwrap();
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        let mut grant = tx.reserve(4).unwrap();
        grant.extend((0..).map(|number| if number < 2 { counted.clone() } else { panic!("at the third") }));
        grant.commit();
    }));
    assert!(panicked.is_err());
    assert_eq!(Arc::strong_count(&counted), 1);
    assert_eq!(rx.try_pop().err(), Some(TryPopError::Empty));
    for _ in 0..20 {
        tx.try_push(counted.clone()).unwrap();
        rx.try_pop().unwrap();
    }
}

#[test]
fn a_panic_while_items_are_released_loses_no_room() {
    let counted = Arc::new(());
    let (mut tx, mut rx) = spsc::spsc(2, 3).unwrap();
    for round in 0..10 {
        for number in 0..3 {
            tx.try_push(Bomb(number == round % 3, counted.clone())).map_err(|_| "no room").unwrap();
        }
        let released = catch_unwind(AssertUnwindSafe(|| rx.readable(3).unwrap().release(3)));
        assert!(released.is_err());
        assert_eq!(Arc::strong_count(&counted), 1, "the others are dropped all the same");
    }
    // In the destructor of an end, too.
    for bomb in [false, true, false, false] {
        tx.try_push(Bomb(bomb, counted.clone())).map_err(|_| "no room").unwrap();
    }
    assert!(catch_unwind(AssertUnwindSafe(|| drop(rx))).is_err());
    drop(tx);
    assert_eq!(Arc::strong_count(&counted), 1);
}

#[test]
fn grants_between_threads() {
    const ITEMS: u64 = 100_000;
    let (mut tx, mut rx) = spsc::spsc(4, 50).unwrap();
    thread::scope(|scope| {
        scope.spawn(move || {
            let mut numbers = 0..ITEMS;
            while !numbers.is_empty() {
                match tx.reserve(1 + (numbers.start % 23) as usize) {
                    Ok(mut grant) => {
                        grant.extend(&mut numbers);
                        grant.commit();
                    }
                    Err(_) => thread::yield_now(),
                }
            }
        });
        let mut next = 0;
        loop {
            match rx.readable(17) {
                Ok(grant) => {
                    assert!(grant.iter().copied().eq(next..next + grant.len() as u64));
                    let released = 1 + next as usize % grant.len();
                    grant.release(released);
                    next += released as u64;
                }
                Err(TryPopError::Closed) => break,
                Err(_) => thread::yield_now(),
            }
        }
        assert_eq!(next, ITEMS);
    });
}
