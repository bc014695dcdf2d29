//! More threads than a model can take, in schedules drawn by seed.

use crate::{bbq, faaq, history, hts, mt, rts, scqd};
use thalweg_check::Fuzz;
use thalweg_queue::research::tube::Tube;
use thalweg_queue::{Park, TryPopError, research::cnq};
use thalweg_sync::atomic::AtomicUsize;
use thalweg_sync::atomic::Ordering::Relaxed;
use thalweg_sync::sync::Arc;
use thalweg_sync::{spin, thread};

/// Runs a queue of this shape under many schedules and checks every order that certainly was.
fn stays_below_k<Q: Tube<Item = u32> + 'static>(
    tube: impl Fn(usize) -> Q + Sync,
    (capsules, entries, k): (usize, usize, usize),
    threads: (usize, usize),
    flushes: usize,
) {
    let bound = (2 * k.div_ceil(2 * entries) - 2) * entries;
    Fuzz::new().seeds(0..150).run(|| {
        let ends = cnq::over(tube(capsules), capsules, entries, k).unwrap();
        let passages = history::run(ends, threads, 8, flushes);
        let largest = history::ranks(&passages).max().unwrap();
        assert!(largest <= bound, "rank {largest} of {bound} with capsules of {entries}");
    });
}

/// FIFO, with capsules that are closed by each that is begun (E7, E9).
#[test]
fn fifo_with_a_window_of_one() {
    stays_below_k(scqd, (4, 1, 1), (2, 2), 100);
    stays_below_k(scqd, (4, 2, 2), (3, 2), 100);
    stays_below_k(scqd, (8, 4, 3), (2, 3), 3);
    stays_below_k(mt, (8, 4, 3), (2, 2), 100);
    stays_below_k(faaq, (4, 2, 2), (2, 3), 100);
    stays_below_k(bbq, (4, 1, 1), (3, 2), 100);
}

/// A producer that has its number and stops: another one begins a capsule and is through, and a third one still has the
/// capsule that the first one was to close (E9).
#[test]
fn a_capsule_is_closed_before_the_next_is_begun() {
    Fuzz::new().seeds(0..400).run(|| {
        let (mut keeping, mut rx) = cnq::over(scqd(4), 4, 4, 1).unwrap();
        keeping.push(0).unwrap();
        thread::scope(|scope| {
            let mut stopped = keeping.clone();
            scope.spawn(move || stopped.push(100).unwrap());
            let mut through = keeping.clone();
            through.push(1).unwrap();
            keeping.push(2).unwrap();
        });
        let popped: Vec<_> = std::iter::from_fn(|| rx.try_pop().ok()).filter(|&number| number != 100).collect();
        assert_eq!(popped, [0, 1, 2]);
    });
}

/// One consumer has each producer's items in order, though it goes from capsule to capsule.
#[test]
fn one_consumer_has_each_producers_order() {
    const EACH: usize = 9;
    for (entries, k) in [(2, 8), (3, 12), (4, 24)] {
        Fuzz::new().seeds(0..100).run(|| {
            let (tx, mut rx) = cnq::over(scqd(8), 8, entries, k).unwrap();
            thread::scope(|scope| {
                for producer in 0..3 {
                    let mut tx = tx.clone();
                    scope.spawn(move || (0..EACH).for_each(|number| tx.push(producer * EACH + number).unwrap()));
                }
                drop(tx);
                let mut next = [0; 3];
                while let Ok(item) = rx.pop() {
                    assert_eq!(item % EACH, next[item / EACH], "of producer {}", item / EACH);
                    next[item / EACH] += 1;
                }
                assert_eq!(next, [EACH; 3]);
            });
        });
    }
}

/// Windows of two, which is where closing, finishing and reuse cross.
#[test]
fn k_fifo_with_a_window_of_two() {
    stays_below_k(scqd, (4, 1, 3), (3, 2), 100);
    stays_below_k(scqd, (8, 2, 8), (3, 3), 3);
    stays_below_k(scqd, (3, 2, 6), (2, 3), 100);
    stays_below_k(rts, (8, 2, 8), (3, 2), 2);
    stays_below_k(hts, (8, 2, 8), (2, 3), 100);
    stays_below_k(faaq, (8, 2, 8), (3, 2), 3);
    stays_below_k(bbq, (4, 1, 3), (2, 3), 100);
}

/// k as large as the queue (E10).
#[test]
fn k_fifo_with_k_near_the_capacity() {
    stays_below_k(scqd, (3, 1, 3), (2, 2), 100);
    stays_below_k(scqd, (2, 2, 4), (2, 2), 3);
}

/// A consumer that comes and goes, one that keeps its capsule, and a producer that idles: the others get everything else.
#[test]
fn nobody_waits_for_an_idle_producer() {
    for k in [1, 4, 8] {
        Fuzz::new().seeds(0..100).run(|| {
            let (tx, rx) = cnq::over(scqd(6), 6, 2, k).unwrap();
            let (mut idle, mut keeping) = (tx.clone(), rx.clone());
            idle.push(0).unwrap();
            assert_eq!(keeping.try_pop(), Ok(0));
            let mut popped: Vec<_> = thread::scope(|scope| {
                for producer in 0..2 {
                    let mut tx = tx.clone();
                    scope.spawn(move || (1..8).for_each(|number| tx.push(producer * 10 + number).unwrap()));
                }
                let consumers = [rx.clone(), rx]
                    .map(|mut rx| scope.spawn(move || (0..7).map(|_| rx.pop().unwrap()).collect::<Vec<_>>()));
                consumers.into_iter().flat_map(|consumer| consumer.join().unwrap()).collect()
            });
            popped.sort_unstable();
            assert!(popped.into_iter().eq((1..8).chain(11..18)));
            drop((idle, tx));
            assert_eq!(keeping.try_pop(), Err(TryPopError::Closed));
        });
    }
}

/// Every few items have handles of their own, on both sides. Some give their capsule up and some are dropped with it. What was in it goes to
/// others, each item once, and in the end no capsule is missing: one producer fills them all.
#[test]
fn handles_come_and_go() {
    const EACH: usize = 6;
    for (capsules, k) in [(2, 1), (2, 4), (4, 6), (6, 12)] {
        Fuzz::new().seeds(0..150).run(move || {
            let (mut tx, mut rx) = cnq::over(scqd(capsules), capsules, 2, k).unwrap();
            let to_pop = AtomicUsize::new(3 * EACH);
            let mut popped: Vec<_> = thread::scope(|scope| {
                for producer in 0..3 {
                    let tx = tx.clone();
                    scope.spawn(move || {
                        let mut numbers = producer * EACH..(producer + 1) * EACH;
                        while !numbers.is_empty() {
                            let mut passing = tx.clone();
                            // Fewer than a capsule has, as many, or one of the next.
                            numbers.by_ref().take(producer + 1).for_each(|number| passing.push(number).unwrap());
                            if numbers.len() % 4 == 0 {
                                passing.flush();
                            }
                        }
                    });
                }
                let consumers = [1, 2].map(|most| {
                    let (rx, to_pop) = (rx.clone(), &to_pop);
                    // Relaxed: a count, and nothing else is told by it.
                    let may_pop = || to_pop.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1)).is_ok();
                    scope.spawn(move || {
                        let mut popped = Vec::new();
                        loop {
                            let mut passing = rx.clone();
                            for _ in 0..most {
                                if !may_pop() {
                                    return popped;
                                }
                                popped.push(passing.pop().unwrap());
                            }
                            if popped.len() % 3 == 0 {
                                passing.flush();
                            }
                        }
                    })
                });
                consumers.into_iter().flat_map(|consumer| consumer.join().unwrap()).collect()
            });
            popped.sort_unstable();
            assert!(popped.into_iter().eq(0..3 * EACH));
            // Capsules that were given back empty before their producer left are freed by who looks at them.
            assert_eq!(rx.try_pop(), Err(TryPopError::Empty));
            let capacity = tx.capacity();
            (0..capacity).for_each(|number| tx.try_push(number).unwrap());
            assert!((0..capacity).all(|number| rx.try_pop() == Ok(number)));
        });
    }
}

/// Consumers leave while producers push: each item is refused or dropped, once.
#[test]
fn what_is_left_is_dropped_once() {
    for k in [1, 6] {
        Fuzz::new().seeds(0..150).run(|| {
            let counted = Arc::new(());
            let (tx, rx) = cnq::over(scqd(4), 4, 2, k).unwrap();
            thread::scope(|scope| {
                for _ in 0..3 {
                    let (mut tx, counted) = (tx.clone(), &counted);
                    scope.spawn(move || while tx.push(counted.clone()).is_ok() {});
                }
                for pops in 0..3 {
                    let mut rx = rx.clone();
                    scope.spawn(move || (0..pops).for_each(|_| drop(rx.pop().unwrap())));
                }
                drop((tx, rx));
            });
            assert_eq!(Arc::strong_count(&counted), 1);
        });
    }
}

/// The last producer leaves while consumers look: nobody sees the end before the last item, and all see it.
#[test]
fn the_end_comes_last() {
    Fuzz::new().seeds(0..150).run(|| {
        let (tx, rx) = cnq::over(scqd(4), 4, 2, 6).unwrap();
        let popped: usize = thread::scope(|scope| {
            for producer in 0..2 {
                let mut tx = tx.clone();
                scope.spawn(move || (0..3).for_each(|number| tx.push(producer * 3 + number).unwrap()));
            }
            drop(tx);
            let drain = |mut rx: cnq::Consumer<usize>| {
                let (mut popped, mut tries) = (0, 0);
                loop {
                    match rx.try_pop() {
                        Ok(_) => popped += 1,
                        Err(TryPopError::Closed) => return popped,
                        Err(TryPopError::Empty | TryPopError::Busy) => {
                            tries += 1;
                            spin::pause(tries);
                        }
                    }
                }
            };
            let consumers = [rx.clone(), rx].map(|rx| scope.spawn(move || drain(rx)));
            consumers.into_iter().map(|consumer| consumer.join().unwrap()).sum()
        });
        assert_eq!(popped, 6);
    });
}

/// Ends that sleep: the engine reports a wake-up that is lost.
#[test]
fn nobody_sleeps_beside_an_item() {
    for (capsules, k) in [(2, 1), (3, 6), (4, 8)] {
        Fuzz::new().seeds(0..100).run(|| {
            let (tx, rx) =
                cnq::with_wait::<usize, _, _>(scqd(capsules), capsules, 2, k.min(2 * capsules), Park::new()).unwrap();
            let popped: usize = thread::scope(|scope| {
                for _ in 0..2 {
                    let mut tx = tx.clone();
                    scope.spawn(move || (0..5).for_each(|number| tx.push(number).unwrap()));
                }
                drop(tx);
                let consumers = [rx.clone(), rx.clone(), rx]
                    .map(|mut rx| scope.spawn(move || std::iter::from_fn(|| rx.pop().ok()).count()));
                consumers.into_iter().map(|consumer| consumer.join().unwrap()).sum()
            });
            assert_eq!(popped, 10);
        });
    }
}
