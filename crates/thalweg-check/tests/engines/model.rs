//! The checker's counts on programs whose number of executions is known.
#![allow(clippy::disallowed_types, reason = "what a test notes about a run must be no part of it")]

use thalweg_check::{Check, Rule};
use thalweg_sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use thalweg_sync::atomic::{AtomicU64, fence};
use thalweg_sync::sync::{Arc, Mutex};
use thalweg_sync::thread;

/// Runs each body in a thread of its own, on four atomics that hold 0.
fn threads<const N: usize>(bodies: [fn(&[AtomicU64; 4]); N]) -> impl Fn() + Send + Sync + 'static {
    move || {
        let atomics = Arc::new([0; 4].map(AtomicU64::new));
        let threads = bodies.map(|body| {
            let atomics = atomics.clone();
            thread::spawn(move || body(&atomics))
        });
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    }
}

fn count<const N: usize>(bodies: [fn(&[AtomicU64; 4]); N]) -> u64 {
    Check::new().check(threads(bodies)).complete
}

#[test]
fn two_threads() {
    // SB
    assert_eq!(
        count([
            |[x, y, ..]| {
                x.store(1, Release);
                y.load(Acquire);
            },
            |[x, y, ..]| {
                y.store(1, Release);
                x.load(Acquire);
            }
        ]),
        4
    );
    // MP
    assert_eq!(
        count([
            |[x, y, ..]| {
                x.store(1, Release);
                y.store(1, Release);
            },
            |[x, y, ..]| {
                y.load(Acquire);
                x.load(Acquire);
            }
        ]),
        3
    );
    // LB
    assert_eq!(
        count([
            |[x, y, ..]| {
                y.load(Relaxed);
                x.store(1, Relaxed);
            },
            |[x, y, ..]| {
                x.load(Relaxed);
                y.store(1, Relaxed);
            }
        ]),
        3
    );
    // 2+2W
    assert_eq!(
        count([
            |[x, y, ..]| {
                x.store(1, Relaxed);
                y.store(2, Relaxed);
            },
            |[x, y, ..]| {
                y.store(1, Relaxed);
                x.store(2, Relaxed);
            }
        ]),
        4
    );
    // CoRR
    assert_eq!(
        count([
            |[x, ..]| {
                x.store(1, Relaxed);
                x.store(2, Relaxed);
            },
            |[x, ..]| {
                x.load(Relaxed);
                x.load(Relaxed);
            }
        ]),
        6
    );
}

#[test]
fn more_threads() {
    // IRIW
    assert_eq!(
        count([
            |[x, ..]| x.store(1, Release),
            |[x, y, ..]| {
                x.load(Acquire);
                y.load(Acquire);
            },
            |[x, y, ..]| {
                y.load(Acquire);
                x.load(Acquire);
            },
            |[_, y, ..]| y.store(1, Release),
        ]),
        16
    );
    // ainc-3
    assert_eq!(
        count(
            [|[x, ..]| {
                x.fetch_add(1, Relaxed);
            }; 3]
        ),
        6
    );
    assert_eq!(
        count(
            [|[x, ..]| {
                x.fetch_add(1, Relaxed);
            }; 4]
        ),
        24
    );
}

/// Takes a lock when it is dropped, and counts how often it got it.
struct Takes(Arc<Mutex<u64>>, std::sync::Arc<std::sync::atomic::AtomicU64>);

impl Drop for Takes {
    fn drop(&mut self) {
        *self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) += 1;
        self.1.fetch_add(1, Relaxed);
    }
}

/// When an execution is given up, a thread that was about to take a lock has not taken it.
#[test]
fn a_lock_that_was_about_to_be_taken_is_free() {
    let taken = std::sync::Arc::new(std::sync::atomic::AtomicU64::new(0));
    let counted = taken.clone();
    let violation = Check::new().run(move || {
        let [lock, flag] = [0, 0].map(|_| Arc::new(Mutex::new(0)));
        let seen = Arc::new(AtomicU64::new(0));
        counted.store(0, Relaxed);
        let takes = Takes(lock.clone(), counted.clone());
        let adder = thread::spawn({
            let seen = seen.clone();
            move || {
                seen.store(1, Relaxed);
                // Here it is in the execution that fails.
                *flag.lock().unwrap() += 1;
                drop(takes);
            }
        });
        let last = thread::spawn(move || *lock.lock().unwrap() += 1);
        assert_eq!(seen.load(Relaxed), 0, "on purpose");
        adder.join().unwrap();
        last.join().unwrap();
    });
    assert!(matches!(violation.unwrap_err().rule(), Rule::Panic { thread: 0, .. }));
    assert_eq!(taken.load(Relaxed), 1, "in the execution that failed, which was the last");
}

/// A read-modify-write that reads what another one has read takes its place; with both there is no execution.
#[test]
fn a_beginning_that_goes_no_further_is_counted_and_not_run() {
    fn add(atomics: &[AtomicU64; 4]) {
        atomics[0].fetch_add(1, Relaxed);
    }
    static RUNS: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
    let client = threads([add; 3]);
    let explored = Check::new().check(move || {
        RUNS.fetch_add(1, Relaxed);
        client();
    });
    assert_eq!((explored.complete, explored.blocked), (6, 0));
    assert!(explored.dropped > 0, "{explored:?}");
    // The first, the second and the fourth are run again.
    assert_eq!(RUNS.load(Relaxed), 6 + 3);
}

/// What comes after one fence is read before another one: that orders them, though nothing synchronises. If it did not, the
/// last two reads could both miss.
#[test]
fn fences_are_ordered_by_a_relaxed_write_that_is_read() {
    Check::new().check(|| {
        let [one, two, passed, told] = std::array::from_fn(|_| Arc::new(AtomicU64::new(0)));
        let first = thread::spawn({
            let (one, passed) = (one.clone(), passed.clone());
            move || {
                one.store(1, Relaxed);
                fence(SeqCst);
                passed.store(1, Release);
            }
        });
        let between = thread::spawn({
            let told = told.clone();
            move || {
                let seen = passed.load(Acquire);
                told.store(1, Relaxed);
                seen
            }
        });
        let last = thread::spawn({
            let two = two.clone();
            move || {
                let seen = told.load(Relaxed);
                fence(SeqCst);
                (seen, two.load(Relaxed))
            }
        });
        two.store(1, Relaxed);
        fence(SeqCst);
        let missed = one.load(Relaxed) == 0;
        first.join().unwrap();
        let (passed, (told, other)) = (between.join().unwrap(), last.join().unwrap());
        assert!(!(missed && passed == 1 && told == 1 && other == 0), "the fences have no order");
    });
}
