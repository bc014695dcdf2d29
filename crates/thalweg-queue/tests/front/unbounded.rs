//! Queues without a capacity.

use crate::support::{Bomb, block_on};
use std::panic::{AssertUnwindSafe, catch_unwind};
use thalweg_check::Fuzz;
use thalweg_queue::unbounded::{mpmc, mpsc};
use thalweg_queue::{Park, Pop, PopError, PopTimeoutError, Push, PushError, Spin, TryPopError};
use thalweg_sync::sync::Arc;
use thalweg_sync::thread;
use thalweg_sync::time::Duration;

/// `test` for the ends of both kinds, with blocks of one entry, of four, and as they are.
fn each<T: Send>(test: impl Fn(&dyn Fn(T), &mut dyn FnMut() -> Result<T, TryPopError>)) {
    for shift in [0, 2, 7] {
        let (tx, mut rx) = mpsc::with_blocks(shift, Park::new());
        test(&|value| assert!(tx.try_push(value).is_ok()), &mut || rx.try_pop());
        let (tx, rx) = mpmc::with_blocks(shift, Park::new());
        test(&|value| assert!(tx.try_push(value).is_ok()), &mut || rx.try_pop());
    }
}

#[test]
fn items_come_in_order_in_any_bursts() {
    each(|push, pop| {
        let mut next = 0;
        for burst in [1, 3, 200, 2, 1000, 1, 129] {
            (next..next + burst).for_each(push);
            (next..next + burst).for_each(|n| assert_eq!(pop(), Ok(n)));
            assert_eq!(pop(), Err(TryPopError::Empty));
            next += burst;
        }
        for n in next..next + 1000 {
            push(n);
            assert_eq!(pop(), Ok(n));
        }
    });
}

#[test]
fn items_of_any_size() {
    each(|push, pop| {
        (0..300).for_each(|_| {
            push(());
            assert_eq!(pop(), Ok(()))
        })
    });
    // Blocks of one entry by their size; none of it goes by way of a stack.
    let (tx, mut rx) = mpsc::channel();
    (0..20_u8).for_each(|n| tx.try_push([n; 100_000]).unwrap_or_else(|_| unreachable!("there is room")));
    (0..20_u8).for_each(|n| assert!(rx.try_pop().unwrap() == [n; 100_000]));
}

#[test]
fn either_side_may_leave() {
    let (tx, mut rx) = mpsc::channel();
    assert!(!tx.is_closed() && !rx.is_closed() && rx.is_empty() && rx.capacity() == usize::MAX);
    tx.push(1).unwrap();
    let other = tx.clone();
    drop(tx);
    other.push(2).unwrap();
    assert_eq!((rx.len(), other.len()), (2, 2));
    drop(other);
    assert!(rx.is_closed());
    assert_eq!([rx.pop(), rx.pop(), rx.pop()], [Ok(1), Ok(2), Err(PopError)]);
    assert_eq!(rx.pop_timeout(Duration::ZERO), Err(PopTimeoutError::Closed));

    let (tx, rx) = mpmc::channel();
    let other = rx.clone();
    drop(rx);
    tx.push("kept").unwrap();
    assert_eq!(other.pop_timeout(Duration::ZERO), Ok("kept"));
    assert_eq!(other.pop_timeout(Duration::from_millis(1)), Err(PopTimeoutError::Timeout));
    drop(other);
    assert!(tx.is_closed());
    assert_eq!(tx.push("back"), Err(PushError("back")));
}

#[test]
fn every_item_is_dropped_once() {
    let count = Arc::new(());
    let push = |tx: &mpmc::Sender<Arc<()>>| (0..300).for_each(|_| tx.push(count.clone()).unwrap());
    let (tx, rx) = mpmc::channel();
    push(&tx);
    (0..150).for_each(|_| drop(rx.pop().unwrap()));
    assert_eq!(Arc::strong_count(&count), 151);
    drop(rx);
    assert_eq!(Arc::strong_count(&count), 1, "the last consumer drops what is there");
    drop(tx);
    let (tx, mut rx) = mpsc::channel();
    push(&tx);
    rx.pop().unwrap();
    drop(tx);
    drop(rx);
    assert_eq!(Arc::strong_count(&count), 1);
}

/// One destructor panics, then another one would: what is left is leaked, and the process goes on.
#[test]
fn two_panicking_destructors_do_not_end_the_process() {
    let count = Arc::new(());
    let (tx, rx) = mpmc::channel();
    [false, true, true, false].into_iter().for_each(|bomb| assert!(tx.push(Bomb(bomb, count.clone())).is_ok()));
    drop(tx);
    assert!(catch_unwind(AssertUnwindSafe(|| drop(rx))).is_err());
    let (tx, rx) = mpsc::channel();
    [true, true].into_iter().for_each(|bomb| assert!(tx.push(Bomb(bomb, count.clone())).is_ok()));
    drop(tx);
    assert!(catch_unwind(AssertUnwindSafe(|| drop(rx))).is_err());
}

#[test]
fn real_threads_lose_nothing() {
    const EACH: u64 = if cfg!(miri) { 200 } else { 20_000 };
    fn run(pushes: Vec<impl Push<Item = u64> + Send>, pops: Vec<impl Pop<Item = u64> + Send>) {
        let producers = pushes.len() as u64;
        let mut all: Vec<u64> = thread::scope(|scope| {
            for (me, mut tx) in pushes.into_iter().enumerate() {
                scope.spawn(move || (0..EACH).for_each(|n| assert!(tx.push(me as u64 * EACH + n).is_ok())));
            }
            let pops: Vec<_> = pops
                .into_iter()
                .map(|mut rx| {
                    scope.spawn(move || {
                        let all: Vec<u64> = rx.iter().collect();
                        for producer in 0..producers {
                            let of_one = all.iter().filter(|&&n| n / EACH == producer);
                            assert!(of_one.is_sorted(), "the order of one producer is kept");
                        }
                        all
                    })
                })
                .collect();
            pops.into_iter().flat_map(|pop| pop.join().unwrap()).collect()
        });
        all.sort_unstable();
        assert!(all.into_iter().eq(0..producers * EACH));
    }
    for shift in [1, 7] {
        let (tx, rx) = mpsc::with_blocks(shift, Park::new());
        run(vec![tx.clone(), tx.clone(), tx], vec![rx]);
        let (tx, rx) = mpsc::with_blocks(shift, thalweg_queue::Yield);
        run(vec![tx.clone(), tx], vec![rx]);
        let (tx, rx) = mpmc::with_blocks(shift, Park::new());
        run(vec![tx.clone(), tx], vec![rx.clone(), rx.clone(), rx]);
    }
}

/// In schedules drawn by seed, with blocks of two entries: blocks are linked, left, given back and used again all the time. Wake-ups that are
/// lost are reported as deadlocks, memory that is used after it was given back as such.
#[test]
fn blocks_come_and_go() {
    for shift in [0, 1] {
        Fuzz::new().seeds(0..150).run(move || {
            let (tx, mut rx) = mpsc::with_blocks(shift, Park::new());
            let producers: Vec<_> = (0..3)
                .map(|me| {
                    let tx = tx.clone();
                    thread::spawn(move || (0..5).for_each(|n| tx.push(Box::new(me * 5 + n)).unwrap()))
                })
                .collect();
            drop(tx);
            let mut last = [None; 3];
            let mut count = 0;
            while let Ok(item) = if count % 2 == 0 { rx.pop() } else { block_on(rx.pop_async()) } {
                let of_one = &mut last[*item / 5];
                assert!(*of_one < Some(*item), "the order of one producer is kept");
                *of_one = Some(*item);
                count += 1;
            }
            assert_eq!(count, 15);
            producers.into_iter().for_each(|producer| producer.join().unwrap());
        });
        Fuzz::new().seeds(0..150).run(move || {
            let (tx, rx) = mpmc::with_blocks(shift, Park::new());
            let producers: Vec<_> = (0..2)
                .map(|me| {
                    let tx = tx.clone();
                    thread::spawn(move || (0..4).for_each(|n| tx.push(Box::new(me * 4 + n)).unwrap()))
                })
                .collect();
            drop(tx);
            let consumers: Vec<_> = (0..3)
                .map(|me| {
                    let rx = rx.clone();
                    thread::spawn(move || {
                        let pop = || if me == 0 { block_on(rx.pop_async()) } else { rx.pop() };
                        std::iter::from_fn(|| pop().ok()).map(|item| *item).collect::<Vec<_>>()
                    })
                })
                .collect();
            drop(rx);
            let mut all: Vec<_> = consumers.into_iter().flat_map(|consumer| consumer.join().unwrap()).collect();
            all.sort_unstable();
            assert!(all.into_iter().eq(0..8));
            producers.into_iter().for_each(|producer| producer.join().unwrap());
        });
    }
}

/// A strategy that spins, under an engine: a pop that waits for a push that is half-way.
#[test]
fn a_consumer_may_spin() {
    Fuzz::new().seeds(0..100).run(|| {
        let (tx, mut rx) = mpsc::with_blocks(1, Spin);
        let other = tx.clone();
        let threads = [tx, other].map(|tx| thread::spawn(move || (0..3).for_each(|n| tx.push(n).unwrap())));
        assert_eq!(rx.iter().sum::<u32>(), 6);
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
}
