//! The search on several threads finds what it finds on one; how far it is.
#![allow(clippy::disallowed_types, reason = "what a test notes about a run must be no part of it")]

use std::num::NonZeroUsize;
use std::time::{Duration, Instant};
use thalweg_check::history::{Bounded, Queue};
use thalweg_check::{Check, Explored, Progress, assume};
use thalweg_sync::atomic::AtomicU64;
use thalweg_sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use thalweg_sync::sync::{Arc, Mutex};
use thalweg_sync::{spin, thread};

fn on(threads: usize) -> Check {
    Check::new().threads(NonZeroUsize::new(threads).unwrap())
}

fn counts(explored: Explored) -> [u64; 4] {
    assert!(!explored.bounded);
    [explored.complete, explored.blocked, explored.dropped, explored.events]
}

/// Three threads that read, write and add; one of them drops an object last, and one waits.
fn busy() {
    let shared = Arc::new([0, 0, 0].map(AtomicU64::new));
    for me in 0..3 {
        let shared = shared.clone();
        thread::spawn(move || {
            shared[me % 2].store(1 + me as u64, Release);
            shared[(me + 1) % 2].fetch_add(10, AcqRel);
            match me {
                0 => spin::until(|| (shared[2].load(Acquire) > 0).then_some(())),
                _ => shared[2].store(1, Release),
            }
            assume(shared[0].load(Relaxed) != 1);
        });
    }
}

#[test]
fn counts_are_the_same_on_any_number_of_threads() {
    let alone = counts(on(1).check(busy));
    assert!(alone[0] > 200 && alone[1] > 100 && alone[2] > 0, "{alone:?}");
    for threads in [2, 3, 7] {
        assert_eq!(counts(on(threads).check(busy)), alone, "{threads} threads");
    }
}

#[test]
#[expect(clippy::disallowed_methods, reason = "threads of the system are what is meant")]
fn more_than_one_thread_works() {
    let ids = std::sync::Arc::new(std::sync::Mutex::new(std::collections::HashSet::new()));
    let seen = ids.clone();
    on(2).check(move || {
        seen.lock().unwrap().insert(std::thread::current().id());
        busy();
    });
    assert_eq!(ids.lock().unwrap().len(), 2);
}

#[test]
fn the_violation_is_the_one_that_one_thread_finds() {
    let client = || {
        let shared = Arc::new([0, 0, 0].map(AtomicU64::new));
        let threads = [0, 1, 2].map(|me| {
            let shared = shared.clone();
            thread::spawn(move || {
                shared[me].store(1, Relaxed);
                (0..3).map(|other| shared[other].load(Relaxed)).sum::<u64>()
            })
        });
        let sums = threads.map(|thread| thread.join().unwrap());
        assert_ne!(sums, [1, 2, 1]);
    };
    let alone = on(1).run(client).unwrap_err();
    for threads in [2, 3, 2, 3] {
        let found = on(threads).run(client).unwrap_err();
        assert_eq!((found.replay(), found.complete()), (alone.replay(), alone.complete()));
        assert_eq!(found.to_string(), alone.to_string());
    }
}

/// Also when the text says nothing of what there is to choose, and others have nothing to do.
#[test]
#[allow(clippy::disallowed_methods, reason = "it is the checker that waits, not the client")]
fn one_execution_is_run_alone_on_any_number_of_threads() {
    let runs = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let counted = runs.clone();
    let explored = on(3).replay("", move || {
        counted.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        adds::<2>();
        // The others are there by now, or the test sees nothing.
        std::thread::sleep(Duration::from_millis(100));
    });
    assert_eq!(explored.unwrap().complete, 1);
    assert_eq!(runs.load(std::sync::atomic::Ordering::Relaxed), 1);
}

#[test]
fn histories_do_not_mix() {
    let check = |threads| {
        on(threads).linearizable(Bounded::new(1, 2), |recorder| {
            let items = Mutex::new(Vec::new());
            thread::scope(|scope| {
                for me in 1..=2 {
                    let (mut log, items) = (recorder.log(me), &items);
                    scope.spawn(move || {
                        log.call(|| items.lock().unwrap().push(me), |()| Queue::Pushed(me));
                        log.call(|| items.lock().unwrap().remove(0), |&item| Queue::Popped(item));
                    });
                }
            });
        })
    };
    assert_eq!(counts(check(3).unwrap()), counts(check(1).unwrap()));
}

#[test]
fn a_bound_on_executions_is_kept() {
    for threads in [1, 3] {
        let explored = on(threads).max_executions(Some(50)).check(busy);
        assert!(explored.bounded && explored.complete + explored.blocked == 50, "{explored}");
    }
    let explored = on(2).max_time(Some(Duration::ZERO)).check(busy);
    assert!(explored.bounded, "{explored}");
}

#[test]
fn a_panic_of_the_engine_s_user_is_passed_on() {
    let told = std::panic::catch_unwind(|| on(3).on_progress(|_| panic!("enough")).check(adds::<5>));
    assert_eq!(told.unwrap_err().downcast_ref::<&str>(), Some(&"enough"));
}

/// So many threads add twice: with 3, 6! / 2^3 = 90 executions, with 4, 2520.
fn adds<const THREADS: usize>() {
    let counter = Arc::new(AtomicU64::new(0));
    let threads = [(); THREADS].map(|()| {
        let counter = counter.clone();
        thread::spawn(move || {
            counter.fetch_add(1, Relaxed);
            counter.fetch_add(1, Relaxed);
        })
    });
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

#[test]
fn walks_estimate_how_many_executions_there_are() {
    // A second is plenty, unless the machine is at other work.
    let estimate = Check::new().estimate(Duration::from_secs(30), adds::<3>).unwrap();
    assert!((30.0..270.0).contains(&estimate.complete), "{estimate:?}");
    assert!(estimate.walks > 5 && estimate.error < 0.8, "{estimate:?}");
    assert!(Check::new().estimate(Duration::from_millis(50), || panic!("in each walk")).is_none());
}

#[test]
fn progress_is_told_with_an_estimate() {
    let (told, start) = (std::sync::atomic::AtomicUsize::new(0), Instant::now());
    let watch = move |progress: &Progress| {
        let told = 1 + told.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        assert!(progress.complete > 0);
        if progress.estimate.is_some() {
            assert!(progress.to_string().contains(" executions of about "), "{progress}");
            assert!(told as u128 <= 1 + start.elapsed().as_millis() / 100, "told {told} times");
            panic!("seen");
        }
    };
    // It has 369 600 executions, and is ended by the first estimate.
    let client = || {
        let counter = Arc::new(AtomicU64::new(0));
        let threads = [(); 4].map(|()| {
            let counter = counter.clone();
            thread::spawn(move || {
                for _ in 0..3 {
                    counter.fetch_add(1, Relaxed);
                }
            })
        });
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    };
    let seen = std::panic::catch_unwind(|| Check::new().on_progress(watch).check(client)).unwrap_err();
    assert_eq!(seen.downcast_ref::<&str>(), Some(&"seen"), "{:?}", seen.downcast_ref::<String>());
}
