//! Executors under the schedule fuzzer.

use std::future::{pending, poll_fn};
use std::task::Poll;
use thalweg_check::Fuzz;
use thalweg_executor::{Bwos, Executor, LocalQueue, Ring, block_on, spawn, yield_now};
use thalweg_queue::oneshot;
use thalweg_sync::atomic::AtomicUsize;
use thalweg_sync::atomic::Ordering::Relaxed;
use thalweg_sync::sync::Arc;
use thalweg_sync::thread;

fn executor<Q: LocalQueue>(workers: usize) -> Executor<Q> {
    Executor::builder().workers(workers).queue::<Q>().start().unwrap()
}

/// Seeds for a client of so many tasks: about a second each.
fn fuzz(seeds: u64) -> Fuzz {
    Fuzz::new().seeds(0..seeds).steps(1_000_000)
}

fn tasks_spawn_and_join<Q: LocalQueue>() {
    fuzz(60).run(|| {
        let executor = executor::<Q>(3);
        let total = executor.run(async {
            let tasks: Vec<_> = (0..20)
                .map(|n| {
                    spawn(async move {
                        if n % 3 == 0 {
                            yield_now().await;
                        }
                        spawn(async move { n }).await.unwrap()
                    })
                })
                .collect();
            let mut total = 0;
            for task in tasks {
                total += task.await.unwrap();
            }
            total
        });
        assert_eq!(total, 190);
        drop(executor);
    });
}

/// Tasks in a row, each of which wakes the next; the first is woken from outside.
fn a_chain_of_wake_ups<Q: LocalQueue>() {
    fuzz(60).run(|| {
        let executor = executor::<Q>(2);
        let (first, mut from) = oneshot::channel();
        for _ in 0..8 {
            let (tx, next) = oneshot::channel();
            let mut before = std::mem::replace(&mut from, next);
            drop(executor.spawn(async move { tx.push(before.pop_async().await.unwrap() + 1).unwrap() }));
        }
        let waker = thread::spawn(move || first.push(0).unwrap());
        assert_eq!(block_on(from.pop_async()).unwrap(), 8);
        waker.join().unwrap();
        drop(executor);
    });
}

/// Several threads wake one task, which sees all that came before.
fn threads_wake_a_task<Q: LocalQueue>() {
    fuzz(60).run(|| {
        let executor = executor::<Q>(2);
        let (tx, mut rx) = oneshot::channel();
        let (mut tx, count) = (Some(tx), Arc::new(AtomicUsize::new(0)));
        let task = executor.spawn({
            let count = count.clone();
            poll_fn(move |context| {
                if let Some(tx) = tx.take() {
                    tx.push(context.waker().clone()).unwrap();
                }
                if count.load(Relaxed) == 9 { Poll::Ready(()) } else { Poll::Pending }
            })
        });
        let waker = rx.pop().unwrap();
        let threads = [(); 3].map(|()| {
            let (waker, count) = (waker.clone(), count.clone());
            thread::spawn(move || {
                for _ in 0..3 {
                    count.fetch_add(1, Relaxed);
                    waker.wake_by_ref();
                }
            })
        });
        block_on(task).unwrap();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        drop(waker);
        drop(executor);
    });
}

/// The executor ends while tasks are in every state, and while others wake and abort them.
fn the_end_comes_at_any_time<Q: LocalQueue>() {
    fuzz(60).run(|| {
        let executor = executor::<Q>(2);
        let alive = Arc::new(());
        let (tx, mut rx) = oneshot::channel();
        let mut tx = Some(tx);
        let held = alive.clone();
        let waits = executor.spawn(poll_fn(move |context| {
            let _held = &held;
            if let Some(tx) = tx.take() {
                tx.push(context.waker().clone()).unwrap();
            }
            Poll::<()>::Pending
        }));
        let mut tasks: Vec<_> = (0..4)
            .map(|n| {
                let held = alive.clone();
                executor.spawn(async move {
                    let _held = held;
                    for _ in 0..n {
                        yield_now().await;
                    }
                    drop(spawn(pending::<()>()));
                    pending::<()>().await;
                })
            })
            .collect();
        tasks.push(waits);
        let waker = rx.pop().unwrap();
        let other = thread::spawn(move || {
            waker.wake();
            tasks[2].abort();
            tasks
        });
        drop(executor);
        let tasks = other.join().unwrap();
        assert!(tasks.into_iter().all(|task| block_on(task).is_err()));
        assert!(Arc::into_inner(alive).is_some(), "a future is left");
    });
}

/// One worker is blocked by its task: the other one is awake, or woken, for the task that ends that.
fn nobody_sleeps_while_there_is_work<Q: LocalQueue>() {
    fuzz(100).run(|| {
        let executor = executor::<Q>(2);
        let (tx, mut rx) = oneshot::channel();
        let first = executor.spawn(async move { rx.pop().unwrap() });
        let second = executor.spawn(async move { tx.push(7).unwrap() });
        assert_eq!(block_on(first).unwrap(), 7);
        block_on(second).unwrap();
        drop(executor);
    });
}

/// Each is spawned by the worker and polled twice, wherever it is stolen to, through queues that are full most of the time.
fn hundreds_of_tasks<Q: LocalQueue>() {
    fuzz(4).run(|| {
        let executor = executor::<Q>(4);
        let ran = Arc::new(AtomicUsize::new(0));
        executor.run({
            let ran = ran.clone();
            async move {
                let tasks: Vec<_> = (0..500)
                    .map(|_| {
                        let ran = ran.clone();
                        spawn(async move {
                            yield_now().await;
                            ran.fetch_add(1, Relaxed);
                        })
                    })
                    .collect();
                for task in tasks {
                    task.await.unwrap();
                }
            }
        });
        assert_eq!(ran.load(Relaxed), 500);
        drop(executor);
    });
}

macro_rules! with_all {
    ($($test:ident)*) => {
        mod bwos { $(#[test] fn $test() { super::$test::<super::Bwos<2, 2>>() })* }
        mod ring { $(#[test] fn $test() { super::$test::<super::Ring<4>>() })* }
    };
}

with_all! { nobody_sleeps_while_there_is_work tasks_spawn_and_join a_chain_of_wake_ups threads_wake_a_task the_end_comes_at_any_time hundreds_of_tasks }
