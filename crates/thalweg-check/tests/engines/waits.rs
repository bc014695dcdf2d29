//! Waits that are tried again, and when that is given up.
#![allow(clippy::disallowed_types, reason = "what a test notes about a run must be no part of it")]

use std::sync::atomic::AtomicUsize;
use thalweg_check::{Check, Kept, Rule, Violation};
use thalweg_sync::atomic::AtomicU64;
use thalweg_sync::atomic::Ordering::{Acquire, Relaxed, Release};
use thalweg_sync::sync::{Arc, Mutex};
use thalweg_sync::time::{self, Duration};
use thalweg_sync::{spin, thread};

/// Each attempt takes the lock and gives it back, so it is repeated; the clock runs faster from one to the next.
#[test]
fn a_timed_wait_with_a_lock_in_it() {
    fn wait(lock: &Mutex<bool>) -> bool {
        let end = time::now().after(Duration::from_secs(1));
        spin::until(|| {
            let is_set = *lock.lock().unwrap();
            (is_set || time::now() >= end).then_some(is_set)
        })
    }
    let alone = Check::new().sequential(true).check(|| assert!(!wait(&Mutex::new(false))));
    assert_eq!(alone.complete, 1, "{alone}");
    // Somebody sets it before one of the attempts, or after the last.
    let told = Check::new().check(|| {
        let lock = Arc::new(Mutex::new(false));
        let other = thread::spawn({
            let lock = lock.clone();
            move || *lock.lock().unwrap() = true
        });
        wait(&lock);
        other.join().unwrap();
    });
    assert!((10..100).contains(&told.complete), "{told}");
}

/// A loop that is longer than a wait is taken to be has an end if the client says so.
#[test]
fn a_loop_that_reads_the_same_and_has_an_end() {
    let client = || {
        let number = AtomicU64::new(0);
        assert_eq!((0..150).map(|_| number.load(Relaxed)).sum::<u64>(), 0);
    };
    let check = Check::new().sequential(true);
    let violation = check.run(client).unwrap_err();
    assert!(matches!(violation.rule(), Rule::Polls { reads: 100, .. }), "{violation}");
    assert!(violation.to_string().contains("raise `Check::max_repeats`"), "{violation}");
    let violation = check.clone().max_repeats(149).run(client).unwrap_err();
    assert!(matches!(violation.rule(), Rule::Polls { reads: 149, .. }), "{violation}");
    assert_eq!(check.max_repeats(150).check(client).complete, 1);
}

/// A weak exchange may fail without a reason, but not for ever.
#[test]
fn a_loop_that_fails_without_a_reason() {
    let explored = |looks: bool| {
        let explored = Check::new().spurious(true).max_repeats(3).check(move || {
            let word = AtomicU64::new(0);
            thread::scope(|scope| {
                scope.spawn(|| {
                    let is_taken = || looks && word.load(Relaxed) > 0;
                    while is_taken() || word.compare_exchange_weak(0, 1, Relaxed, Relaxed).is_err() {}
                });
            });
        });
        [explored.complete, explored.blocked]
    };
    assert_eq!(explored(false), [4, 1], "it fails up to three times; the fourth time is given up");
    assert_eq!(explored(true), [2, 1], "the look in the third round is the third read that is as the one two before");
}

#[test]
fn exchanges_that_expect_something_else_each_time() {
    Check::new().sequential(true).check(|| {
        let number = AtomicU64::new(0);
        assert!((1..150).all(|expected| number.compare_exchange(expected, 0, Relaxed, Relaxed).is_err()));
    });
}

/// What a destructor may wait for: the first number is raised by who has it, the second then by another thread.
type Numbers = Arc<[AtomicU64; 2]>;

/// Drops what may wait, and counts how often that came to its end.
struct Drops {
    numbers: Numbers,
    wait: fn(&AtomicU64),
    ends: std::sync::Arc<AtomicUsize>,
}

impl Drop for Drops {
    fn drop(&mut self) {
        (self.wait)(&self.numbers[1]);
        self.ends.fetch_add(1, Relaxed);
    }
}

/// In one of two executions the other thread never sees the first number, so it is given up. How often the destructor came to
/// its end, of four times: each execution is run again.
fn with_destructor<T: Send + 'static>(wait: fn(&AtomicU64), keep: fn(Drops) -> T) -> Result<usize, Violation> {
    let count = std::sync::Arc::new(AtomicUsize::new(0));
    let ends = count.clone();
    let explored = Check::new().max_events(100).run(move || {
        let numbers: Numbers = Arc::new([0, 0].map(AtomicU64::new));
        let kept = keep(Drops { numbers: numbers.clone(), wait, ends: ends.clone() });
        let other = thread::spawn({
            let numbers = numbers.clone();
            move || {
                spin::until(|| (numbers[0].load(Relaxed) > 0).then_some(()));
                numbers[1].store(1, Release);
            }
        });
        numbers[0].store(1, Relaxed);
        other.join().unwrap();
        drop(kept);
    })?;
    assert_eq!([explored.complete, explored.blocked], [1, 1]);
    Ok(count.load(Relaxed))
}

/// A destructor that drains a queue fails as often as there are items, and is done.
#[test]
fn a_destructor_that_ends_its_wait_itself() {
    let drain = |number: &AtomicU64| spin::until(|| (number.fetch_add(1, Relaxed) > 3).then_some(()));
    assert_eq!(with_destructor(drain, Kept::new).unwrap(), 4);
    assert_eq!(with_destructor(drain, |drops| drops).unwrap(), 4);
}

#[test]
fn a_destructor_that_waits_in_a_loop_of_its_own() {
    let yields = |number: &AtomicU64| {
        while number.load(Acquire) == 0 {
            thread::yield_now();
        }
    };
    let polls = |number: &AtomicU64| while number.load(Acquire) == 0 {};
    let relaxes = |number: &AtomicU64| {
        let mut tries = 0;
        while number.load(Acquire) == 0 {
            tries += 1;
            spin::pause(tries);
        }
    };
    let waits: [fn(&AtomicU64); 3] = [yields, polls, relaxes];
    for wait in waits {
        assert_eq!(with_destructor(wait, Kept::new).unwrap(), 2, "what waits for ever is left");
        let violation = with_destructor(wait, |drops| drops).unwrap_err();
        assert!(matches!(violation.rule(), Rule::WaitsWhileUnwinding { thread: 0 }), "{violation}");
    }
}
