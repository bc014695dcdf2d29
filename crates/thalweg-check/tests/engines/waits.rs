//! Waits that are tried again, and when that is given up.

use thalweg_check::{Check, Rule};
use thalweg_sync::atomic::AtomicU64;
use thalweg_sync::atomic::Ordering::Relaxed;
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

#[test]
fn exchanges_that_expect_something_else_each_time() {
    Check::new().sequential(true).check(|| {
        let number = AtomicU64::new(0);
        assert!((1..150).all(|expected| number.compare_exchange(expected, 0, Relaxed, Relaxed).is_err()));
    });
}
