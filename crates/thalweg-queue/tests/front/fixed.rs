//! Queues in the memory of a `static`.

use crate::support::{Bomb, block_on};
use std::panic::{AssertUnwindSafe, catch_unwind};
use thalweg_queue::{Spin, TryPopError, Yield, mpmc, mpsc, spmc, spsc};
use thalweg_sync::sync::Arc;
use thalweg_sync::thread;

/// What is wider than a line, and of an odd size.
#[repr(align(256))]
#[derive(Debug, PartialEq)]
struct Wide([u8; 300]);

/// Every shape holds what its capacity says, again and again, and items keep their alignment.
macro_rules! shapes {
    ($module:ident, $T:ty, $value:expr, $([$blocks:literal, $entries:literal])+) => {$({
        static QUEUE: $module::Static<$T, $blocks, $entries, Yield> = $module::Static::new();
        let value: fn(usize) -> $T = $value;
        for _ in 0..3 {
            #[allow(unused_mut, reason = "some handles are shared")]
            let (mut tx, mut rx) = QUEUE.take().unwrap();
            assert!(QUEUE.take().is_none());
            assert_eq!((tx.capacity(), rx.capacity()), ($blocks * $entries, $blocks * $entries));
            for round in 0..3 {
                (0..$blocks * $entries).for_each(|n| tx.try_push(value(n + round)).unwrap());
                assert!(tx.try_push(value(0)).unwrap_err().is_full());
                (0..$blocks * $entries).for_each(|n| assert_eq!(rx.try_pop(), Ok(value(n + round))));
                assert_eq!(rx.try_pop(), Err(TryPopError::Empty));
            }
        }
    })+};
}

#[test]
fn every_shape_has_its_memory() {
    macro_rules! of {
        ($module:ident) => {
            shapes!($module, u64, |n| n as u64, [2, 1] [2, 7] [4, 64] [8, 65] [2, 200]);
            shapes!($module, u8, |n| n as u8, [2, 1] [4, 63] [2, 129]);
            shapes!($module, (), |_| (), [2, 1] [4, 70]);
            shapes!($module, Wide, |n| Wide([n as u8; 300]), [2, 3] [4, 1]);
        };
    }
    of!(spsc);
    of!(mpmc);
    of!(mpsc);
    of!(spmc);
}

/// A place is to be had again when all of its handles are gone, the weak ones too, and what was left is dropped by then.
#[test]
fn a_place_is_taken_again() {
    static QUEUE: mpmc::Static<Arc<()>, 2, 4> = mpmc::Static::new();
    let item = Arc::new(());
    let (tx, rx) = QUEUE.take().unwrap();
    let (other, weak) = (tx.clone(), rx.downgrade());
    (0..3).for_each(|_| tx.push(item.clone()).unwrap());
    drop((tx, rx));
    assert_eq!(Arc::strong_count(&item), 1);
    assert!(other.push(item.clone()).is_err() && weak.upgrade().is_none());
    drop(other);
    assert!(QUEUE.take().is_none(), "a weak handle is left");
    drop(weak);
    let (tx, rx) = QUEUE.take().unwrap();
    assert!(rx.is_empty() && !tx.is_closed());
}

#[test]
fn a_place_is_taken_again_after_a_destructor_panicked() {
    static QUEUE: spsc::Static<Bomb, 2, 4> = spsc::Static::new();
    let (mut tx, rx) = QUEUE.take().unwrap();
    assert!(tx.try_push(Bomb(true, Arc::new(()))).is_ok());
    assert!(catch_unwind(AssertUnwindSafe(|| drop(rx))).is_err());
    drop(tx);
    assert!(QUEUE.take().is_some());
}

/// As above, of what the queue itself drops: an item that was pushed when no consumer was left.
#[test]
fn a_place_is_taken_again_after_its_queue_panicked() {
    static QUEUE: spsc::Static<Bomb, 2, 4> = spsc::Static::new();
    let (mut tx, rx) = QUEUE.take().unwrap();
    let item = Arc::new(());
    let mut grant = tx.reserve(1).unwrap();
    drop(rx);
    assert!(grant.push(Bomb(true, item.clone())).is_ok());
    assert_eq!(grant.commit(), 1);
    assert!(catch_unwind(AssertUnwindSafe(|| drop(tx))).is_err());
    assert_eq!(Arc::strong_count(&item), 1);
    assert!(QUEUE.take().is_some());
}

/// One of several threads gets it each time, and finds it as new.
#[test]
fn one_of_many_takes_it() {
    static QUEUE: spsc::Static<usize, 2, 2, Spin> = spsc::Static::new();
    let threads: Vec<_> = (0..3)
        .map(|me| {
            thread::spawn(move || {
                let mut taken = 0;
                while taken < 200 {
                    match QUEUE.take() {
                        Some((mut tx, mut rx)) => {
                            assert!(rx.is_empty() && tx.try_push(me).is_ok());
                            assert_eq!(rx.try_pop(), Ok(me));
                            taken += 1;
                        }
                        None => thread::yield_now(),
                    }
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    assert!(QUEUE.take().is_some());
}

/// Ends that sleep, in threads and as futures.
#[test]
fn ends_sleep() {
    static JOBS: mpmc::Static<u32, 2, 4> = mpmc::Static::new();
    static DONE: spsc::Static<u32, 2, 4> = spsc::Static::new();
    let (jobs, todo) = JOBS.take().unwrap();
    let (mut results, mut done) = DONE.take().unwrap();
    let worker = thread::spawn(move || todo.iter().for_each(|n| results.push(2 * n).unwrap()));
    let sum = block_on(async {
        let mut sum = 0;
        for n in 0..100 {
            jobs.push_async(n).await.unwrap();
            sum += done.pop_async().await.unwrap();
        }
        sum
    });
    assert_eq!(sum, 9900);
    drop(jobs);
    worker.join().unwrap();
}
