//! Tasks under the schedule fuzzer, and on a simulated machine.

use std::time::Duration;
use thalweg_check::Fuzz;
use thalweg_queue::TryPopError;
use thalweg_sync::atomic::AtomicUsize;
use thalweg_sync::atomic::Ordering::Relaxed;
use thalweg_sync::sync::Arc;
use thalweg_task::{
    Condvar, Mutex, Ready, Runtime, Semaphore, block_in_place, channel, fork, scope, select, sleep, spawn, spawn_now,
    yield_now,
};

fn runtime(workers: usize) -> Runtime {
    Runtime::builder().workers(workers).stack_bytes(64 << 10).start().unwrap()
}

/// Seeds for a client of so many tasks: about a second each.
fn fuzz(seeds: u64) -> Fuzz {
    Fuzz::new().seeds(0..seeds).steps(1_000_000)
}

#[test]
fn tasks_spawn_and_join_under_any_schedule() {
    fuzz(100).run(|| {
        let runtime = runtime(3);
        let total = runtime.run(|| {
            let tasks: Vec<_> = (0..20)
                .map(|n| {
                    spawn(move || {
                        if n % 3 == 0 {
                            yield_now();
                        }
                        spawn_now(move || n).join().unwrap()
                    })
                })
                .collect();
            tasks.into_iter().map(|task| task.join().unwrap()).sum::<usize>()
        });
        assert_eq!(total, 190);
        runtime.finish();
    });
}

#[test]
fn forks_under_any_schedule() {
    fn fib(n: u64) -> u64 {
        if n < 2 {
            return n;
        }
        let (a, b) = fork(|| fib(n - 1), || fib(n - 2));
        a + b
    }
    fuzz(100).run(|| {
        let runtime = runtime(3);
        assert_eq!(runtime.run(|| fib(8)), 21);
        drop(runtime);
    });
}

#[test]
fn channels_and_helpers_under_any_schedule() {
    fuzz(60).run(|| {
        let runtime = runtime(2);
        let total = runtime.run(|| {
            let (tx, rx) = channel::<u64>(2).unwrap();
            let (others, other) = channel::<u64>(2).unwrap();
            let senders = [(tx, 1), (others, 100)]
                .map(|(tx, by)| spawn(move || (1..=4).for_each(|n| tx.send(block_in_place(move || n * by)).unwrap())));
            let (mut total, mut open) = (0, vec![rx, other]);
            while !open.is_empty() {
                let ready: Vec<&dyn Ready> = open.iter().map(|rx| rx as &dyn Ready).collect();
                let at = select(&ready);
                match open[at].try_recv() {
                    Ok(n) => total += n,
                    Err(TryPopError::Closed) => drop(open.remove(at)),
                    Err(_) => {}
                }
            }
            senders.into_iter().for_each(|sender| sender.join().unwrap());
            total
        });
        assert_eq!(total, 1010);
        drop(runtime);
    });
}

#[test]
fn locks_and_signals_under_any_schedule() {
    fuzz(100).run(|| {
        let runtime = runtime(2);
        let (count, free, semaphore) = (Mutex::new(0), Condvar::new(), Semaphore::new(1));
        runtime.run(|| {
            scope(|scope| {
                for task in 0..6 {
                    let (count, free, semaphore) = (&count, &free, &semaphore);
                    scope.spawn(move || {
                        for _ in 0..3 {
                            // Tasks take turns: each waits for its own.
                            let mut guard = free.wait_while(count.lock(), |count| *count % 6 != task);
                            *guard += 1;
                            free.notify_all();
                            drop(guard);
                            let _permit = semaphore.acquire();
                        }
                    });
                }
            });
        });
        assert_eq!(*count.lock(), 18);
        drop(runtime);
    });
}

#[test]
fn monitors_hand_over_under_any_schedule() {
    fuzz(100).run(|| {
        let runtime = runtime(2);
        // A buffer of one entry, after Hoare: what was so at the signal is so behind the wait.
        struct Buffer {
            value: Mutex<Option<usize>>,
            filled: Condvar,
            emptied: Condvar,
        }
        let buffer = Buffer { value: Mutex::new(None), filled: Condvar::new(), emptied: Condvar::new() };
        let got = runtime.run(|| {
            scope(|scope| {
                for producer in 0..2 {
                    let buffer = &buffer;
                    scope.spawn(move || {
                        for n in 0..5 {
                            let mut value = buffer.value.lock();
                            if value.is_some() {
                                value = buffer.emptied.wait(value);
                            }
                            assert!(value.replace(producer * 5 + n).is_none());
                            drop(buffer.filled.signal(value));
                        }
                    });
                }
                let consumer = scope.spawn(|| {
                    (0..10)
                        .map(|_| {
                            let mut value = buffer.value.lock();
                            if value.is_none() {
                                value = buffer.filled.wait(value);
                            }
                            let got = value.take().unwrap();
                            drop(buffer.emptied.signal(value));
                            got
                        })
                        .collect::<Vec<_>>()
                });
                consumer.join().unwrap()
            })
        });
        let mut sorted = got.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, (0..10).collect::<Vec<_>>());
        drop(runtime);
    });
}

/// One worker: an engine runs no other thread while one unwinds, so destructors must not wait for another worker.
#[test]
fn cancelling_and_stopping_under_any_schedule() {
    fuzz(100).run(|| {
        let runtime = runtime(1);
        let lock = Arc::new(Mutex::new(()));
        let tasks: Vec<_> = (0..8)
            .map(|n| {
                let lock = lock.clone();
                runtime.spawn(move || {
                    let _guard = lock.lock();
                    sleep(Duration::from_nanos(n * 50));
                })
            })
            .collect();
        for task in tasks.iter().step_by(2) {
            task.cancel();
        }
        drop(runtime);
        for task in tasks {
            let _ = task.join();
        }
        assert!(lock.try_lock().is_some(), "every guard was dropped");
    });
}

#[test]
fn thousands_of_tasks_under_the_fuzzer() {
    fuzz(2).run(|| {
        let runtime = runtime(4);
        let ran = AtomicUsize::new(0);
        runtime.run(|| {
            scope(|scope| {
                for _ in 0..2000 {
                    scope.spawn(|| {
                        yield_now();
                        ran.fetch_add(1, Relaxed);
                    });
                }
            });
        });
        assert_eq!(ran.load(Relaxed), 2000);
        drop(runtime);
    });
}
