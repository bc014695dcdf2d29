//! Grants of the queue for many: what is committed is pushed, what is given up is passed over, whoever else is at work.

use crate::support::Bomb;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use thalweg_check::{Check, Fuzz};
use thalweg_queue::{Park, TryPopError, TryPushError, bytes, mpmc, mpsc, spmc};
use thalweg_sync::random::Xorshift;
use thalweg_sync::sync::Arc;
use thalweg_sync::{spin, thread};

/// Random pushes, grants and pops of one thread against a list, round after round of rings of several shapes.
#[test]
fn one_thread_sees_what_it_must() {
    for (blocks, entries) in [(2, 1), (2, 3), (4, 8), (2, 70)] {
        let counted = Arc::new(());
        let (tx, rx) = mpmc::shared(blocks, entries).unwrap();
        let mut model = VecDeque::new();
        let mut random = Xorshift::new(entries as u64);
        let mut number = 0_u64;
        // Miri is slow.
        for _ in 0..if cfg!(miri) { 200 } else { 10_000 } {
            let state = random.number();
            let size = (state >> 33) as usize % (entries + 2);
            match state >> 60 {
                0..4 => match tx.reserve(size) {
                    Ok(mut grant) => {
                        assert!((1..=size.max(1)).contains(&grant.capacity()));
                        let first = number;
                        let values = std::iter::from_fn(|| {
                            number += 1;
                            Some((number - 1, counted.clone()))
                        });
                        let written = grant.extend(values.take((state >> 20) as usize % (size + 1)));
                        assert!(grant.iter().map(|item| item.0).eq(first..number));
                        if state & 1 == 0 {
                            assert_eq!(grant.commit(), written);
                            model.extend(first..number);
                        }
                    }
                    Err(refused) => assert_eq!(refused, TryPushError::Full(())),
                },
                4..6 => match tx.try_push((number, counted.clone())) {
                    Ok(()) => {
                        model.push_back(number);
                        number += 1;
                    }
                    Err(refused) => assert!(matches!(refused, TryPushError::Full(_))),
                },
                6..12 => match rx.readable(size) {
                    Ok(mut grant) => {
                        assert!((1..=size.max(1)).contains(&grant.len()));
                        grant.iter_mut().for_each(|item| item.0 += 1);
                        assert!(grant.iter().map(|item| item.0 - 1).eq(model.drain(..grant.len())));
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

#[test]
fn others_get_on_meanwhile() {
    let (tx, rx) = mpmc::shared(2, 8).unwrap();
    let mut first = tx.reserve(2).unwrap();
    let mut second = tx.reserve(100).unwrap();
    assert_eq!(second.capacity(), 6, "it ends with the block");
    second.push('c').unwrap();
    assert_eq!(second.commit(), 1);
    tx.try_push('d').unwrap();
    assert_eq!(rx.try_pop(), Err(TryPopError::Busy), "the first grant is still open");
    first.extend(['a', 'b']);
    first.commit();
    let read = rx.readable(100).unwrap();
    assert_eq!(read[..], ['a', 'b', 'c'], "a run ends with a hole");
    assert_eq!(rx.try_pop(), Ok('d'), "another consumer gets on");
    drop(read);
    assert_eq!(rx.try_pop(), Err(TryPopError::Empty));
    assert!(rx.is_empty());
    drop(tx);
    assert_eq!(rx.readable(1).err(), Some(TryPopError::Closed));
}

/// What counts that is no item: the entries of an open grant, and holes that no pop has passed.
#[test]
fn len_counts_what_is_reserved() {
    let (tx, rx) = mpmc::shared(2, 8).unwrap();
    let mut grant = tx.reserve(3).unwrap();
    grant.push('a').unwrap();
    assert_eq!((tx.len(), rx.len(), rx.try_pop()), (3, 3, Err(TryPopError::Busy)));
    drop(grant);
    assert_eq!((tx.len(), rx.len(), tx.is_empty(), rx.is_empty()), (3, 3, false, false));
    tx.push('b').unwrap();
    assert_eq!((tx.len(), rx.try_pop(), tx.len()), (4, Ok('b'), 0));
    tx.reserve(2).unwrap().commit();
    assert_eq!((rx.len(), rx.try_pop(), rx.len()), (2, Err(TryPopError::Empty), 0));

    let (tx, mut rx) = mpsc::mpsc(2, 8).unwrap();
    drop(tx.reserve(3).unwrap());
    assert_eq!((tx.len(), rx.len(), rx.is_empty()), (3, 3, false));
    tx.push('b').unwrap();
    assert_eq!((rx.try_pop(), rx.len()), (Ok('b'), 0));

    let (mut tx, rx) = spmc::spmc(2, 8).unwrap();
    let mut grant = tx.reserve(3).unwrap();
    grant.push('a').unwrap();
    assert_eq!(rx.len(), 0);
    grant.commit();
    assert_eq!((tx.len(), rx.len()), (1, 1));
    drop(tx.reserve(3).unwrap());
    assert_eq!((tx.len(), rx.try_pop(), rx.is_empty()), (1, Ok('a'), true));

    let (tx, rx) = bytes::bytes(2, 256).unwrap();
    tx.try_push(b"a").unwrap();
    let grant = tx.reserve(40).unwrap();
    assert_eq!((tx.len(), rx.len()), (64, 64));
    drop(grant);
    assert_eq!((tx.len(), rx.try_pop(&mut Vec::new()), rx.is_empty()), (64, Ok(1), true));
}

#[test]
fn full_and_closed_are_told() {
    let (tx, rx) = mpmc::shared(2, 2).unwrap();
    drop(tx.reserve(2).unwrap());
    tx.push_all([1, 2]).unwrap();
    assert_eq!(tx.reserve(1).err(), Some(TryPushError::Full(())), "holes count until a consumer comes");
    let read = rx.readable(1).unwrap();
    assert_eq!(read[..], [1]);
    drop(tx.reserve(1).unwrap());
    drop(read);
    drop(rx);
    assert_eq!(tx.reserve(1).err(), Some(TryPushError::Closed(())));
}

#[test]
fn panics_leave_a_queue_that_works() {
    let counted = Arc::new(());
    let (tx, rx) = mpmc::shared(2, 3).unwrap();
    let bomb = |armed| Bomb(armed, counted.clone());
    for round in 0..10 {
        // In what fills a grant, in a destructor of what was written in vain, and in one of what is read.
        let filling = catch_unwind(AssertUnwindSafe(|| {
            tx.reserve(3).unwrap().extend((0..).map(|number| if number < 1 { bomb(false) } else { panic!("second") }))
        }));
        assert!(filling.is_err());
        assert_eq!(rx.try_pop().err(), Some(TryPopError::Empty));
        let dropped = catch_unwind(AssertUnwindSafe(|| {
            tx.reserve(3).unwrap().extend([bomb(round % 2 == 0), bomb(round % 2 == 1)]);
        }));
        assert!(dropped.is_err());
        assert_eq!(rx.try_pop().err(), Some(TryPopError::Empty));
        tx.try_push(bomb(true)).map_err(|_| "no room").unwrap();
        assert!(catch_unwind(AssertUnwindSafe(|| drop(rx.readable(3).unwrap()))).is_err());
        assert_eq!(Arc::strong_count(&counted), 1);
    }
}

#[test]
fn a_destructor_that_panics_in_a_grant_stops_no_other() {
    let counted = Arc::new(());
    let (tx, rx) = mpmc::shared(2, 3).unwrap();
    for round in 0..6 {
        for number in 0..3 {
            tx.try_push(Bomb(number == round % 3, counted.clone())).map_err(|_| "no room").unwrap();
        }
        let grant = rx.readable(3).unwrap();
        assert_eq!(grant.len(), 3);
        assert!(catch_unwind(AssertUnwindSafe(|| drop(grant))).is_err());
        assert_eq!(Arc::strong_count(&counted), 1, "the others are dropped all the same");
        assert_eq!(rx.try_pop().err(), Some(TryPopError::Empty));
    }
}

/// Pushes `numbers` in grants of changing size, some of which are given up, some in part.
fn write(tx: &mpmc::Producer<Box<u64>, Park>, numbers: std::ops::Range<u64>) {
    let mut numbers = numbers.peekable();
    let mut tries = 0;
    while let Some(&next) = numbers.peek() {
        match tx.reserve(1 + next as usize % 3) {
            Ok(_) if tries % 4 == 3 => tries += 1,
            Ok(mut grant) => {
                grant.extend(numbers.by_ref().take(2).map(Box::new));
                grant.commit();
                tries += 1;
            }
            Err(TryPushError::Closed(())) => panic!("a consumer is there"),
            Err(_) => {
                // As a push that waits does: then it is woken.
                tx.push(Box::new(numbers.next().unwrap())).unwrap();
                tries += 1;
            }
        }
    }
}

/// Two producers with grants, two sleeping consumers, of which one reads in place: all once, each producer's in order.
fn between_threads(blocks: usize, entries: usize, each: u64) {
    let (tx, rx) = mpmc::with_wait(blocks, entries, Park::new()).unwrap();
    let seen = thread::scope(|scope| {
        for producer in 0..2 {
            let tx = tx.clone();
            scope.spawn(move || write(&tx, producer * each..(producer + 1) * each));
        }
        drop(tx);
        let popping = scope.spawn({
            let rx = rx.clone();
            move || rx.iter().map(|number| *number).collect::<Vec<_>>()
        });
        let mut seen = Vec::new();
        let mut tries = 0;
        loop {
            match rx.readable(2) {
                Ok(grant) => seen.extend(grant.iter().map(|number| **number)),
                Err(TryPopError::Closed) => break,
                Err(_) => {
                    tries += 1;
                    spin::pause(tries);
                }
            }
        }
        [popping.join().unwrap(), seen]
    });
    for seen in &seen {
        let of = |producer| seen.iter().filter(move |&&number| number / each == producer);
        assert!(of(0).is_sorted() && of(1).is_sorted());
    }
    let mut all = seen.concat();
    all.sort_unstable();
    assert!(all.into_iter().eq(0..2 * each));
}

#[test]
fn threads_push_in_grants() {
    between_threads(2, 1, 5_000);
    between_threads(4, 50, 20_000);
}

#[test]
fn under_the_fuzzer() {
    for entries in [1, 2, 3] {
        Fuzz::new().seeds(0..150).run(move || between_threads(2, entries, 6));
    }
}

/// A consumer that sleeps is woken for holes: nobody else could give their room back.
#[test]
fn holes_wake_a_consumer() {
    Fuzz::new().seeds(0..300).run(|| {
        let (tx, rx) = mpmc::with_wait(2, 1, Park::new()).unwrap();
        let consumer = thread::spawn(move || rx.pop());
        for _ in 0..3 {
            drop(tx.reserve(1));
        }
        tx.push('x').unwrap();
        assert_eq!(consumer.join().unwrap(), Ok('x'));
    });
}

/// Every execution of a producer that gives up what it has written, beside a thread that passes over it and goes round: the entry is
/// not written again while what was in it is being dropped.
#[test]
fn holes_under_the_checker() {
    Check::new().check(|| {
        let (tx, rx) = mpmc::shared::<Box<u32>>(2, 1).unwrap();
        let gives_up = thread::spawn({
            let tx = tx.clone();
            move || {
                if let Ok(mut grant) = tx.reserve(1) {
                    grant.push(Box::new(7)).unwrap();
                }
            }
        });
        let mut expected = 0;
        let mut next = 0;
        let mut pop = || rx.try_pop().map(|item| assert_eq!(std::mem::replace(&mut expected, *item + 1), *item));
        for _ in 0..2 {
            let _ = pop();
            next += u32::from(tx.try_push(Box::new(next)).is_ok());
        }
        gives_up.join().unwrap();
        while pop().is_ok() {}
        assert_eq!(expected, next);
    });
}
