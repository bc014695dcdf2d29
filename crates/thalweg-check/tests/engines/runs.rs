//! How the fuzzer runs clients: threads, time, replay, and the end of a run that failed.
#![allow(clippy::disallowed_types, reason = "what a test notes about a run must be no part of it")]

use std::panic::{AssertUnwindSafe, catch_unwind};
use thalweg_check::{Cause, Fuzz, Strategy, replay};
use thalweg_sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use thalweg_sync::atomic::{AtomicBool, AtomicU32, AtomicUsize};
use thalweg_sync::park::Parker;
use thalweg_sync::sync::{Arc, Mutex};
use thalweg_sync::time::{self, Duration};
use thalweg_sync::{spin, thread};

/// Three threads add their number in the order in which they come, by two steps each.
fn racy() -> u32 {
    let digits = AtomicU32::new(0);
    thread::scope(|scope| {
        for number in 1..=3 {
            let digits = &digits;
            scope.spawn(move || digits.store(digits.load(Relaxed) * 10 + number, Relaxed));
        }
    });
    digits.load(Relaxed)
}

#[test]
fn the_same_seed_is_the_same_execution() {
    for strategy in [Strategy::Mixed, Strategy::Walk { stay: 128 }, Strategy::Pct { changes: 3 }] {
        let fuzz = Fuzz::new().seeds(0..50).strategy(strategy);
        let outcomes = || {
            let seen = std::sync::Mutex::new(Vec::new());
            let summary = fuzz.check(|| seen.lock().unwrap().push(racy())).unwrap();
            (seen.into_inner().unwrap(), summary)
        };
        assert_eq!(outcomes(), outcomes());
        let other = fuzz.clone().seeds(50..100).check(|| assert_ne!(racy(), 0)).unwrap();
        assert_ne!(other.fingerprint, outcomes().1.fingerprint);
    }
}

#[test]
fn executions_differ() {
    let seen = std::sync::Mutex::new(std::collections::BTreeSet::new());
    Fuzz::new().seeds(0..500).run(|| {
        seen.lock().unwrap().insert(racy());
    });
    let seen = seen.into_inner().unwrap();
    // All six orders without a loss, and the three in which only the last write is left.
    for outcome in [123, 132, 213, 231, 312, 321, 1, 2, 3] {
        assert!(seen.contains(&outcome), "{outcome} is not among {seen:?}");
    }
}

#[test]
fn a_failure_replays_step_by_step() {
    let client = || assert_ne!(racy(), 31);
    let found = Fuzz::new().check(client).unwrap_err();
    let again = Fuzz::new().seeds(found.seed..found.seed + 1).check(client).unwrap_err();
    assert_eq!((found.steps, found.trace.len()), (again.steps, again.trace.len()));
    for (one, other) in found.trace.iter().zip(&again.trace) {
        assert_eq!((one.thread, one.at), (other.thread, other.at));
    }
    let panic = catch_unwind(|| replay(found.seed, client)).unwrap_err();
    let text = panic.downcast_ref::<String>().unwrap();
    assert!(text.contains(&format!("seed {} fails after {} steps", found.seed, found.steps)), "{text}");
}

#[test]
fn two_hundred_threads() {
    const THREADS: usize = 200;
    Fuzz::new().seeds(0..10).run(|| {
        let (arrived, total) = (AtomicUsize::new(0), Mutex::new(0));
        thread::scope(|scope| {
            for i in 0..THREADS {
                let (arrived, total) = (&arrived, &total);
                scope.spawn(move || {
                    arrived.fetch_add(1, AcqRel);
                    spin::until(|| (arrived.load(Acquire) == THREADS).then_some(()));
                    *total.lock().unwrap() += i;
                });
            }
        });
        assert_eq!(total.into_inner().unwrap(), THREADS * (THREADS - 1) / 2);
    });
}

#[test]
fn threads_return_values_and_may_borrow() {
    Fuzz::new().seeds(0..50).run(|| {
        let words = [String::from("a"), String::from("bc")];
        let lengths = thread::scope(|scope| {
            let threads: Vec<_> = words.iter().map(|word| scope.spawn(move || word.len())).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
        });
        assert_eq!(lengths, [1, 2]);
        assert_eq!(thread::spawn(move || words.concat()).join().unwrap(), "abc");
    });
}

#[test]
fn the_machine_has_as_many_threads_as_asked_for() {
    Fuzz::new().seeds(0..1).threads(88).run(|| {
        assert_eq!(thread::available_parallelism(), 88);
        thread::pin_current(87).unwrap();
        assert_eq!(thread::current_affinity().unwrap().cpus().count(), 88);
    });
}

#[test]
fn time_is_virtual() {
    const HOUR: Duration = Duration::from_secs(3600);
    Fuzz::new().seeds(0..50).run(|| {
        let start = time::now();
        assert!(!Parker::new().park_timeout(HOUR), "nobody leaves a token");
        assert!(start.elapsed() >= HOUR);
        thread::sleep(HOUR);
        assert!(start.elapsed() >= 2 * HOUR);
        let end = time::now().after(HOUR);
        spin::until(|| (time::now() >= end).then_some(()));
        assert!(start.elapsed() >= 3 * HOUR);
    });
}

#[test]
fn a_timeout_races_with_the_token() {
    let (taken, given_up) = (std::sync::atomic::AtomicU32::new(0), std::sync::atomic::AtomicU32::new(0));
    Fuzz::new().run(|| {
        let parker = Parker::new();
        let unparker = parker.unparker();
        let waker = thread::spawn(move || {
            (0..20).for_each(|_| thread::yield_now());
            unparker.unpark();
        });
        let outcome = if parker.park_timeout(Duration::from_secs(1)) { &taken } else { &given_up };
        outcome.fetch_add(1, Relaxed);
        waker.join().unwrap();
    });
    assert!(taken.into_inner() > 500);
    assert!(given_up.into_inner() > 0, "a timer may fire early");
}

/// Says when it is dropped.
struct Guard<'a>(&'a std::sync::Mutex<Vec<&'static str>>, &'static str);

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        self.0.lock().unwrap().push(self.1);
    }
}

#[test]
fn after_a_failure_everything_is_dropped_the_borrower_first() {
    let dropped = std::sync::Mutex::new(Vec::new());
    let shared = Arc::new(());
    let failure = Fuzz::new()
        .seeds(0..1)
        .check(|| {
            let owner = Guard(&dropped, "owner");
            let never = AtomicBool::new(false);
            thread::scope(|scope| {
                let (owner, never, shared) = (&owner, &never, shared.clone());
                scope.spawn(move || {
                    let _shared = shared;
                    let _borrower = Guard(owner.0, "borrower");
                    spin::until(|| never.load(Acquire).then_some(()));
                });
                spin::until(|| never.load(Acquire).then_some(()));
            });
        })
        .unwrap_err();
    assert!(matches!(failure.cause, Cause::Deadlock { .. }), "{failure}");
    assert_eq!(dropped.into_inner().unwrap(), ["borrower", "owner"]);
    assert_eq!(Arc::strong_count(&shared), 1, "nothing leaks");
}

#[test]
fn a_thread_that_never_ran_is_dropped_too() {
    let shared = Arc::new(());
    let client = || {
        let inner = shared.clone();
        thread::spawn(move || drop(inner));
        panic!("at once");
    };
    let failure = Fuzz::new().strategy(Strategy::Walk { stay: 255 }).seeds(0..20).check(client).unwrap_err();
    assert!(matches!(&failure.cause, Cause::Panic { thread: 0, message } if message == "at once"), "{failure}");
    assert_eq!(Arc::strong_count(&shared), 1);
}

/// Does two operations when it is dropped.
struct Twice(Arc<AtomicU32>);

impl Drop for Twice {
    fn drop(&mut self) {
        self.0.fetch_add(1, Relaxed);
        self.0.fetch_add(1, Relaxed);
    }
}

#[test]
fn what_a_thread_that_never_ran_owns_is_dropped_to_the_end() {
    for seed in 0..20 {
        let operations = Arc::new(AtomicU32::new(0));
        let client = || {
            let twice = Twice(operations.clone());
            thread::spawn(move || {
                let (_twice, never) = (twice, AtomicBool::new(false));
                spin::until(|| never.load(Acquire).then_some(()));
            });
            panic!("at once");
        };
        let fuzz = Fuzz::new().strategy(Strategy::Walk { stay: 255 }).seeds(seed..seed + 1);
        let failure = fuzz.check(client).unwrap_err();
        assert!(matches!(failure.cause, Cause::Panic { thread: 0, .. }), "{failure}");
        assert_eq!(operations.load(Relaxed), 2, "seed {seed}");
    }
}

/// Takes a lock when it is dropped, and counts how often it got it.
struct Takes<'a>(Arc<Mutex<u32>>, &'a std::sync::atomic::AtomicU32);

impl Drop for Takes<'_> {
    fn drop(&mut self) {
        *self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) += 1;
        self.1.fetch_add(1, Relaxed);
    }
}

/// When a run is given up, a thread that was about to take a lock has not taken it.
#[test]
fn a_lock_that_was_about_to_be_taken_is_free() {
    for seed in 0..60 {
        let taken = std::sync::atomic::AtomicU32::new(0);
        let client = || {
            let lock = Arc::new(Mutex::new(0));
            let _takes = Takes(lock.clone(), &taken);
            let adder = thread::spawn(move || *lock.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) += 1);
            let fails = thread::spawn(|| panic!("on purpose"));
            let _ = (adder.join(), fails.join());
        };
        let fuzz = Fuzz::new().strategy(Strategy::Walk { stay: 0 }).seeds(seed..seed + 1);
        let failure = fuzz.check(client).unwrap_err();
        assert!(matches!(failure.cause, Cause::Panic { thread: 2, .. }), "{failure}");
        assert_eq!(taken.load(Relaxed), 1, "seed {seed}");
    }
}

#[test]
fn a_panic_that_is_caught_is_survived() {
    Fuzz::new().seeds(0..100).run(|| {
        let (lock, caught) = (Mutex::new(0), AtomicUsize::new(0));
        thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    let result = catch_unwind(AssertUnwindSafe(|| {
                        let _guard = lock.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
                        std::panic::resume_unwind(Box::new("meant"));
                    }));
                    caught.fetch_add(usize::from(result.is_err()), Relaxed);
                });
            }
        });
        assert_eq!(caught.load(Relaxed), 3);
        assert!(lock.is_poisoned());
    });
}

#[test]
fn a_panic_in_a_thread_fails_the_run() {
    let failure =
        Fuzz::new().seeds(0..1).check(|| drop(thread::spawn(|| panic!("in thread {}", 1)).join())).unwrap_err();
    assert!(matches!(&failure.cause, Cause::Panic { thread: 1, message } if message == "in thread 1"), "{failure}");
}

/// Waits, when dropped, for a flag that nobody sets.
struct Waits<'a>(&'a AtomicBool);

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        spin::until(|| self.0.load(Acquire).then_some(()));
    }
}

#[test]
fn a_destructor_that_waits_is_left_alone() {
    for _ in 0..2 {
        let failure = Fuzz::new()
            .seeds(0..1)
            .check(|| {
                let never = AtomicBool::new(false);
                let _waits = Waits(&never);
                std::panic::resume_unwind(Box::new("unwinds into the wait"));
            })
            .unwrap_err();
        assert!(matches!(failure.cause, Cause::WaitsWhileUnwinding { .. }), "{failure}");
    }
    assert!(!std::thread::panicking());
    // The same in a run that was given up for another reason.
    let failure = Fuzz::new()
        .seeds(0..1)
        .check(|| {
            let never = Arc::new(AtomicBool::new(false));
            for _ in 0..2 {
                let never = never.clone();
                thread::spawn(move || {
                    let _waits = Waits(&never);
                    spin::until(|| never.load(Acquire).then_some(()));
                });
            }
        })
        .unwrap_err();
    assert!(matches!(failure.cause, Cause::Deadlock { .. }), "{failure}");
}

#[test]
fn waits_nest() {
    Fuzz::new().run(|| {
        let (outer, inner) = (AtomicU32::new(0), AtomicU32::new(0));
        thread::scope(|scope| {
            scope.spawn(|| {
                inner.store(1, Release);
                outer.store(1, Release);
            });
            spin::until(|| {
                spin::until(|| (inner.load(Acquire) == 1).then_some(()));
                (outer.load(Acquire) == 1).then_some(())
            });
        });
    });
}

#[test]
fn a_wait_depends_on_what_the_waits_inside_it_read() {
    Fuzz::new().run(|| {
        let (inner, other) = (AtomicU32::new(0), AtomicU32::new(0));
        thread::scope(|scope| {
            scope.spawn(|| {
                inner.store(1, Release);
                inner.store(2, Release);
            });
            spin::until(|| {
                let value = spin::until(|| Some(inner.load(Acquire)).filter(|&value| value > 0));
                (other.load(Acquire) == 0 && value == 2).then_some(())
            });
        });
    });
}

#[test]
fn an_attempt_that_is_out_of_date_is_tried_again() {
    Fuzz::new().run(|| {
        let (first, second) = (AtomicBool::new(false), AtomicBool::new(false));
        thread::scope(|scope| {
            scope.spawn(|| first.store(true, Release));
            // The first flag may be raised while the second is looked at.
            spin::until(|| (first.load(Acquire) || second.load(Acquire)).then_some(()));
        });
    });
}

#[test]
fn an_attempt_that_writes_is_tried_again() {
    // The attempt takes and gives back, so that nothing it reads has changed when it fails.
    Fuzz::new().run(|| {
        let tokens = AtomicU32::new(1);
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    spin::until(|| match tokens.fetch_sub(1, AcqRel) {
                        1 => Some(()),
                        _ => {
                            tokens.fetch_add(1, AcqRel);
                            None
                        }
                    });
                    tokens.fetch_add(1, AcqRel);
                });
            }
        });
        assert_eq!(tokens.load(Relaxed), 1);
    });
}

#[test]
fn a_weak_exchange_may_fail_without_a_reason() {
    let failure = Fuzz::new()
        .check(|| {
            let flag = AtomicBool::new(false);
            assert!(flag.compare_exchange_weak(false, true, AcqRel, Relaxed).is_ok());
        })
        .unwrap_err();
    assert!(matches!(failure.cause, Cause::Panic { .. }), "{failure}");
}

#[test]
fn no_policy_starves_the_thread_that_another_polls_for() {
    for strategy in [Strategy::Mixed, Strategy::Walk { stay: 255 }, Strategy::Pct { changes: 0 }] {
        Fuzz::new().seeds(0..100).strategy(strategy).run(|| {
            let ready = AtomicBool::new(false);
            thread::scope(|scope| {
                scope.spawn(|| ready.store(true, Release));
                // Not a wait that the engine knows, so it sees a thread that goes on and on.
                while !ready.load(Acquire) {}
            });
        });
    }
}

#[test]
fn every_seed_is_run() {
    let summary = Fuzz::new().seeds(7..19).check(|| ()).unwrap();
    assert_eq!(summary.executions, 12);
}

#[test]
fn no_seeds_are_no_evidence() {
    let runs: [fn(); 2] = [|| _ = Fuzz::new().seeds(7..7).check(|| ()), || replay(u64::MAX, || ())];
    for run in runs {
        let panic = catch_unwind(run).expect_err("nothing is run");
        let text = panic.downcast_ref::<String>().unwrap();
        assert!(text.starts_with("there are no seeds in ") && text.contains("`Fuzz::seeds` takes a range"), "{text}");
    }
}
