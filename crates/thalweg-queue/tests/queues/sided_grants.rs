//! Grants of BBQ where a side is one handle: what its producer does not commit is not there, and what its consumer does not release stays.

use std::collections::VecDeque;
use thalweg_check::Fuzz;
use thalweg_queue::{Park, TryPopError, TryPushError, mpsc, spmc};
use thalweg_sync::random::Xorshift;
use thalweg_sync::sync::Arc;
use thalweg_sync::{spin, thread};

const SHAPES: [(usize, usize); 4] = [(2, 1), (2, 3), (4, 8), (2, 70)];

/// Miri is slow.
const STEPS: usize = if cfg!(miri) { 200 } else { 10_000 };

/// One thread against a list: pushes and grants, some given up, of one of many producers; the one consumer peeks, reads and pops.
#[test]
fn one_consumer_leaves_what_it_does_not_release() {
    for (blocks, entries) in SHAPES {
        let counted = Arc::new(());
        let (tx, mut rx) = mpsc::mpsc(blocks, entries).unwrap();
        let (mut model, mut next) = (VecDeque::new(), 0..);
        let mut dice = Xorshift::new(7 + entries as u64);
        for _ in 0..STEPS {
            let size = 1 + dice.index(entries + 1);
            match dice.index(6) {
                0 => match tx.reserve(size) {
                    Ok(mut grant) => {
                        let new: Vec<_> = next.by_ref().take(dice.index(size + 1)).collect();
                        let written = grant.extend(new.iter().map(|&number| (number, counted.clone())));
                        if dice.index(2) == 0 {
                            assert_eq!(grant.commit(), written);
                            model.extend(new.into_iter().take(written));
                        }
                    }
                    Err(refused) => assert_eq!(refused, TryPushError::Full(())),
                },
                1 | 2 => {
                    let number = next.next().unwrap();
                    match tx.try_push((number, counted.clone())) {
                        Ok(()) => model.push_back(number),
                        Err(refused) => assert!(matches!(refused, TryPushError::Full(_))),
                    }
                }
                3 => assert_eq!(rx.peek().map(|item| item.0).ok(), model.front().copied()),
                4 => match rx.readable(size) {
                    Ok(grant) => {
                        assert!((1..=size).contains(&grant.len()));
                        assert!(grant.iter().map(|item| item.0).eq(model.iter().copied().take(grant.len())));
                        let released = dice.index(grant.len() + 1);
                        grant.release(released);
                        model.drain(..released);
                    }
                    Err(refused) => assert_eq!((refused, model.len()), (TryPopError::Empty, 0)),
                },
                _ => assert_eq!(rx.try_pop().ok().map(|item| item.0), model.pop_front()),
            }
            assert_eq!(Arc::strong_count(&counted), 1 + model.len(), "what is not in the queue is dropped");
            assert!(rx.len() >= model.len());
        }
        drop((tx, rx));
        assert_eq!(Arc::strong_count(&counted), 1);
    }
}

/// The same for the one producer, some of whose grants are leaked: nothing is left of them, neither room that is taken nor a number.
#[test]
fn one_producer_takes_nothing_before_it_commits() {
    for (blocks, entries) in SHAPES {
        let (mut tx, rx) = spmc::spmc(blocks, entries).unwrap();
        let mut model = VecDeque::new();
        let (mut pushed, mut popped) = (0_u64, 0);
        let mut dice = Xorshift::new(7 + entries as u64);
        for _ in 0..STEPS {
            let size = 1 + dice.index(entries + 1);
            let full = model.len() > (blocks - 1) * entries;
            match dice.index(5) {
                0 | 1 => match tx.reserve(size) {
                    Ok(mut grant) => {
                        assert!((1..=size).contains(&grant.capacity()));
                        let written = grant.extend((pushed..).take(dice.index(size + 1))) as u64;
                        match dice.index(4) {
                            0 => drop(grant),
                            1 => std::mem::forget(grant),
                            _ => {
                                assert_eq!(grant.commit() as u64, written);
                                model.extend(pushed..pushed + written);
                                pushed += written;
                            }
                        }
                    }
                    Err(refused) => assert_eq!((refused, full), (TryPushError::Full(()), true)),
                },
                2 => match tx.try_push(pushed) {
                    Ok(()) => {
                        model.push_back(pushed);
                        pushed += 1;
                    }
                    Err(refused) => assert_eq!((refused, full), (TryPushError::Full(pushed), true)),
                },
                3 => match rx.readable(size) {
                    Ok(grant) => {
                        assert!(grant.iter().copied().eq(model.drain(..grant.len())));
                        popped += grant.len() as u64;
                    }
                    Err(refused) => assert_eq!((refused, model.len()), (TryPopError::Empty, 0)),
                },
                _ => match rx.try_pop_numbered() {
                    Ok((position, number)) => {
                        assert_eq!((Some(number), position), (model.pop_front(), popped));
                        popped += 1;
                    }
                    Err(refused) => assert_eq!((refused, model.len()), (TryPopError::Empty, 0)),
                },
            }
            assert_eq!((tx.len(), rx.len()), (model.len(), model.len()));
        }
    }
}

/// Two producers with grants, some given up, and a consumer that reads in place and releases some: all once, each producer's in order.
fn to_one(blocks: usize, entries: usize, each: u64) {
    let (tx, mut rx) = mpsc::with_wait(blocks, entries, Park::new()).unwrap();
    let mut next = [0, each];
    thread::scope(|scope| {
        for (producer, tx) in [tx.clone(), tx].into_iter().enumerate() {
            let mut numbers = (producer as u64 * each..(producer as u64 + 1) * each).peekable();
            scope.spawn(move || {
                while numbers.peek().is_some() {
                    drop(tx.reserve(1));
                    match tx.reserve(2) {
                        Ok(mut grant) => {
                            grant.extend(numbers.by_ref().take(2).map(Box::new));
                            grant.commit();
                        }
                        Err(_) => tx.push(Box::new(numbers.next().unwrap())).unwrap(),
                    }
                }
            });
        }
        let mut tries = 0;
        loop {
            match rx.readable(3) {
                Ok(grant) => {
                    let released = 1 + tries % grant.len();
                    for number in &grant[..released] {
                        let next = &mut next[(**number / each) as usize];
                        assert_eq!(*next, **number);
                        *next += 1;
                    }
                    grant.release(released);
                }
                Err(TryPopError::Closed) => break,
                Err(TryPopError::Empty | TryPopError::Busy) => spin::pause(tries as u32),
            }
            tries += 1;
        }
    });
    assert_eq!(next, [each, 2 * each]);
}

/// A producer with grants, some given up, and two consumers, of which one sleeps and one reads in place: all once, in order to each.
fn from_one(blocks: usize, entries: usize, count: u64) {
    let (mut tx, rx) = spmc::with_wait(blocks, entries, Park::new()).unwrap();
    let seen = thread::scope(|scope| {
        scope.spawn(move || {
            let mut numbers = (0..count).peekable();
            while numbers.peek().is_some() {
                drop(tx.reserve(2));
                let pushed = tx.reserve(2).map(|mut grant| {
                    grant.extend(numbers.by_ref().take(2).map(Box::new));
                    grant.commit()
                });
                if pushed.is_err() {
                    tx.push(Box::new(numbers.next().unwrap())).unwrap();
                }
            }
        });
        let sleeping = scope.spawn({
            let rx = rx.clone();
            move || rx.iter().map(|number| *number).collect::<Vec<_>>()
        });
        let (mut seen, mut tries) = (Vec::new(), 0);
        loop {
            match rx.readable(2) {
                Ok(grant) => seen.extend(grant.iter().map(|number| **number)),
                Err(TryPopError::Closed) => break,
                Err(refused) => {
                    assert_eq!(refused, TryPopError::Empty);
                    tries += 1;
                    spin::pause(tries);
                }
            }
        }
        [sleeping.join().unwrap(), seen]
    });
    assert!(seen.iter().all(|seen| seen.is_sorted()));
    let mut all = seen.concat();
    all.sort_unstable();
    assert!(all.into_iter().eq(0..count));
}

#[test]
fn threads_push_in_grants() {
    to_one(2, 1, 5_000);
    to_one(4, 50, 20_000);
    from_one(2, 1, 5_000);
    from_one(4, 50, 20_000);
}

#[test]
fn under_the_fuzzer() {
    for entries in [1, 2, 3] {
        Fuzz::new().seeds(0..150).run(move || to_one(2, entries, 6));
        Fuzz::new().seeds(0..150).run(move || from_one(2, entries, 9));
    }
}

/// Ends that sleep on a ring with room for one or two, so that each waits for the other all the time.
#[test]
fn the_one_end_sleeps_and_is_woken() {
    for entries in [1, 2] {
        Fuzz::new().seeds(0..200).run(|| {
            let (tx, mut rx) = mpsc::with_wait(2, entries, Park::new()).unwrap();
            thread::scope(|scope| {
                for tx in vec![tx; 3] {
                    scope.spawn(move || (0..4).for_each(|number| tx.push(number).unwrap()));
                }
                assert_eq!(rx.iter().sum::<usize>(), 18);
            });
        });
        Fuzz::new().seeds(0..200).run(|| {
            let (mut tx, rx) = spmc::with_wait(2, entries, Park::new()).unwrap();
            let sum: usize = thread::scope(|scope| {
                let consumers: Vec<_> =
                    vec![rx; 3].into_iter().map(|rx| scope.spawn(move || rx.iter().sum::<usize>())).collect();
                (0..12).for_each(|number| tx.push(number).unwrap());
                drop(tx);
                consumers.into_iter().map(|consumer| consumer.join().unwrap()).sum()
            });
            assert_eq!(sum, 66);
        });
    }
}
