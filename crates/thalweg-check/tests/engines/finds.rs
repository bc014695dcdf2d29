//! What the fuzzer finds: each client has one mistake, and next to it stands the form without.

use std::mem::ManuallyDrop;
use thalweg_check::{Action, Cause, Failure, Fuzz, Reason, Strategy};
use thalweg_sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use thalweg_sync::atomic::{AtomicBool, AtomicU64};
use thalweg_sync::cell::Slot;
use thalweg_sync::engine::Operation;
use thalweg_sync::park::Parker;
use thalweg_sync::sync::{Arc, Mutex};
use thalweg_sync::{spin, thread};

/// Every strategy finds every mistake within this many seeds. PCT needs the most: its two changes have to come at two
/// given accesses.
const SEEDS: u64 = 5000;

fn finds(client: impl Fn() + Sync) -> Failure {
    for strategy in [Strategy::Walk { stay: 0 }, Strategy::Walk { stay: 200 }, Strategy::Pct { changes: 2 }] {
        let result = Fuzz::new().seeds(0..SEEDS).strategy(strategy).check(&client);
        assert!(result.is_err(), "{strategy:?} finds nothing");
    }
    Fuzz::new().seeds(0..SEEDS).check(&client).unwrap_err()
}

fn passes(client: impl Fn() + Sync) {
    Fuzz::new().run(client);
}

fn count(increment: impl Fn(&AtomicU64) + Sync) {
    let counter = AtomicU64::new(0);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| increment(&counter));
        }
    });
    assert_eq!(counter.load(Relaxed), 2, "an increment is lost");
}

#[test]
fn a_lost_update() {
    let failure = finds(|| count(|counter| counter.store(counter.load(Relaxed) + 1, Relaxed)));
    let Cause::Panic { thread: 0, message } = &failure.cause else { panic!("{failure}") };
    assert!(message.contains("an increment is lost"), "{message}");
    assert!(failure.to_string().contains(&format!("THALWEG_SEED={}", failure.seed)));

    passes(|| {
        count(|counter| {
            counter.fetch_add(1, Relaxed);
        })
    });
    passes(|| {
        count(|counter| {
            counter.fetch_update(Relaxed, Relaxed, |n| Some(n + 1)).unwrap();
        })
    });
}

/// Two threads enter a critical section behind a flag each; `polite` raises the own flag before it looks at the other
/// one.
fn two_flags(polite: bool) {
    let flags = [AtomicBool::new(false), AtomicBool::new(false)];
    let section = Slot::new(0);
    thread::scope(|scope| {
        for me in 0..2 {
            let (flags, section) = (&flags, &section);
            scope.spawn(move || {
                if polite {
                    flags[me].store(true, SeqCst);
                }
                if flags[1 - me].load(SeqCst) {
                    return;
                }
                flags[me].store(true, SeqCst);
                // SAFETY: the flags keep the other thread out, if they are used well.
                section.with_mut(|n| unsafe { *n += 1 });
            });
        }
    });
}

#[test]
fn two_in_a_critical_section() {
    let failure = finds(|| two_flags(false));
    let Cause::Overlap { threads, sites } = &failure.cause else { panic!("{failure}") };
    assert_ne!(threads[0], threads[1]);
    assert!(sites[0].file().ends_with("finds.rs") && sites[0] == sites[1], "{failure}");

    passes(|| two_flags(true));
}

fn hand_over(early: bool) {
    let (message, ready) = (Slot::new(0), AtomicBool::new(false));
    thread::scope(|scope| {
        scope.spawn(|| {
            if early {
                ready.store(true, Release);
            }
            // SAFETY: nobody reads before `ready`, if it is set late.
            message.with_mut(|slot| unsafe { *slot = 42 });
            ready.store(true, Release);
        });
        spin::until(|| ready.load(Acquire).then_some(()));
        // SAFETY: the writer is done.
        assert_eq!(message.with(|slot| unsafe { *slot }), 42);
    });
}

#[test]
fn a_message_that_is_published_early() {
    let failure = finds(|| hand_over(true));
    assert!(matches!(failure.cause, Cause::Overlap { .. } | Cause::Panic { .. }), "{failure}");
    passes(|| hand_over(false));
}

#[test]
fn a_read_slot_is_not_an_overlap() {
    passes(|| {
        let slot = Slot::new(7);
        thread::scope(|scope| {
            for _ in 0..3 {
                // SAFETY: nobody writes.
                scope.spawn(|| slot.with(|value| assert_eq!(unsafe { *value }, 7)));
            }
        });
    });
}

/// A thread sleeps until there is work. `recheck`: it looks again after it has said that it sleeps.
fn sleeper(recheck: bool) {
    let (work, asleep) = (AtomicBool::new(false), AtomicBool::new(false));
    let parker = Parker::new();
    let unparker = parker.unparker();
    thread::scope(|scope| {
        let (work, asleep) = (&work, &asleep);
        scope.spawn(move || {
            work.store(true, SeqCst);
            if asleep.load(SeqCst) {
                unparker.unpark();
            }
        });
        if !work.load(SeqCst) {
            asleep.store(true, SeqCst);
            if !(recheck && work.load(SeqCst)) {
                parker.park();
            }
        }
    });
}

#[test]
fn a_lost_wake_up() {
    let failure = finds(|| sleeper(false));
    let Cause::Deadlock { waiting } = &failure.cause else { panic!("{failure}") };
    assert!(matches!(waiting[..], [one] if one.thread == 0 && matches!(one.reason, Reason::Park { .. })), "{failure}");
    passes(|| sleeper(true));
}

#[test]
fn a_token_that_comes_first_is_kept() {
    passes(|| {
        let parker = Parker::new();
        for _ in 0..2 {
            let unparker = parker.unparker();
            let waker = thread::spawn(move || unparker.unpark());
            parker.park();
            waker.join().unwrap();
        }
    });
}

#[test]
fn a_spin_that_nobody_ends() {
    let failure = finds(|| {
        let flag = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| flag.store(false, Release));
            spin::until(|| flag.load(Acquire).then_some(()));
        });
    });
    let Cause::Deadlock { waiting } = &failure.cause else { panic!("{failure}") };
    assert_eq!(waiting[0].reason, Reason::Spin);
    assert!(failure.steps < 100, "found when it happens, not by a limit");
}

fn two_locks(swapped: bool) {
    let locks = [Mutex::new(1), Mutex::new(2)];
    thread::scope(|scope| {
        for me in 0..2 {
            let locks = &locks;
            scope.spawn(move || {
                let first = locks[if swapped { me } else { 0 }].lock().unwrap();
                let second = locks[if swapped { 1 - me } else { 1 }].lock().unwrap();
                assert_eq!(*first + *second, 3);
            });
        }
    });
}

#[test]
fn a_lock_cycle() {
    let failure = finds(|| two_locks(true));
    let Cause::Deadlock { waiting } = &failure.cause else { panic!("{failure}") };
    assert_eq!(waiting.len(), 3, "both, and the scope that joins them: {failure}");
    passes(|| two_locks(false));
}

#[test]
fn a_lock_excludes() {
    passes(|| {
        let total = Arc::new(Mutex::new(0));
        let threads: Vec<_> = (0..3)
            .map(|_| {
                let total = total.clone();
                thread::spawn(move || {
                    let mut total = total.lock().unwrap();
                    let before = *total;
                    thread::yield_now();
                    *total = before + 1;
                })
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!(*total.lock().unwrap(), 3);
    });
}

#[test]
fn a_livelock() {
    let failure = Fuzz::new()
        .seeds(0..1)
        .steps(1000)
        .check(|| {
            let flag = AtomicBool::new(false);
            let mut tries = 0;
            while !flag.load(Acquire) {
                tries += 1;
                spin::pause(tries);
            }
        })
        .unwrap_err();
    assert!(matches!(failure.cause, Cause::StepLimit { limit: 1000 }), "{failure}");
}

#[test]
fn a_slot_that_is_dropped_in_use() {
    let failure = finds(|| {
        let slot = ManuallyDrop::new(Slot::new(5));
        thread::scope(|scope| {
            let slot = &slot;
            scope.spawn(move || slot.with(|value| assert!(!value.is_null())));
            scope.spawn(move || {
                let slot = std::ptr::from_ref::<Slot<i32>>(slot).cast_mut();
                // SAFETY: none: that nobody else uses it is what the client gets wrong. A number has no destructor,
                // so the memory stays good.
                unsafe { slot.drop_in_place() };
            });
        });
    });
    assert!(matches!(failure.cause, Cause::DroppedInUse { user: (1, _), dropper: 2 }), "{failure}");
}

#[test]
fn the_trace_tells_the_last_steps() {
    let failure = finds(|| count(|counter| counter.store(counter.load(Relaxed) + 1, Relaxed)));
    let atomics = failure.trace.iter().filter(|step| matches!(step.action, Action::Atomic { .. })).count();
    assert!(atomics >= 5, "two loads, two stores and the last look: {failure}");
    let text = failure.to_string();
    assert!(text.contains("thread 1: Load of atomic #") && text.contains("read 0"), "{text}");
}

/// Looks at another number when it is dropped.
struct Looks<'a>(&'a AtomicU64);

impl Drop for Looks<'_> {
    fn drop(&mut self) {
        let _ = self.0.load(Relaxed);
    }
}

/// Steps stand in the order in which they were done, each with what it read itself.
#[test]
fn the_trace_tells_what_was_read() {
    let client = || {
        let other = AtomicU64::new(77);
        let _looks = Looks(&other);
        count(|counter| counter.store(counter.load(Relaxed) + 1, Relaxed));
    };
    let mut failures = 0;
    for seed in 0..200 {
        let fuzz = Fuzz::new().strategy(Strategy::Walk { stay: 0 }).seeds(seed..seed + 1);
        let Err(failure) = fuzz.check(client) else { continue };
        failures += 1;
        let mut value = 0;
        for step in &failure.trace {
            match step.action {
                Action::Atomic { operation: Operation::Store(new), read, .. } => {
                    assert_eq!(read, None, "{failure}");
                    value = new;
                }
                Action::Atomic { read, .. } => assert_eq!(read, Some(value), "{failure}"),
                _ => {}
            }
        }
    }
    assert!(failures > 10, "{failures} of 200");
}
