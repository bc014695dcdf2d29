//! Under loom the facade is loom's, and the model is awake: clients with one mistake fail.
#![cfg(loom)]
#![allow(clippy::disallowed_types, reason = "std's own counter counts executions, which loom must not see")]

use std::sync::atomic::{AtomicUsize as Count, Ordering::SeqCst};
use thalweg_sync::atomic::Ordering::{self, AcqRel, Acquire, Relaxed, Release};
use thalweg_sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, fence};
use thalweg_sync::cell::Slot;
use thalweg_sync::park::Parker;
use thalweg_sync::sync::{Arc, Condvar, Mutex};
use thalweg_sync::time::Duration;
use thalweg_sync::{model, spin, thread};

// Guards: made outside of a model, loom's types panic, and the standard library's do not.

#[test]
#[should_panic(expected = "outside a Loom model")]
fn guard_atomics_are_looms() {
    AtomicU64::new(0).load(Relaxed);
}

#[test]
#[should_panic(expected = "outside a Loom model")]
fn guard_slots_are_looms() {
    Slot::new(0).with(|_| ());
}

#[test]
#[should_panic(expected = "outside a Loom model")]
fn guard_locks_are_looms() {
    drop(Mutex::new(0).lock());
}

#[test]
#[should_panic(expected = "outside a Loom model")]
fn guard_threads_are_looms() {
    thread::spawn(|| ());
}

#[test]
fn guard_the_model_explores() {
    static EXECUTIONS: Count = Count::new(0);
    model(|| {
        EXECUTIONS.fetch_add(1, SeqCst);
        let flag = Arc::new(AtomicBool::new(false));
        let other = thread::spawn({
            let flag = flag.clone();
            move || flag.store(true, Release)
        });
        flag.load(Acquire);
        other.join().unwrap();
    });
    assert!(EXECUTIONS.load(SeqCst) > 1);
}

/// One thread writes a slot and sets a flag, the other waits for the flag and reads.
fn publish(set: Ordering, see: Ordering) {
    model(move || {
        let shared = Arc::new((Slot::new(0), AtomicBool::new(false)));
        let writer = thread::spawn({
            let shared = shared.clone();
            move || {
                // SAFETY: nobody reads before the flag is set.
                shared.0.with_mut(|slot| unsafe { *slot = 42 });
                shared.1.store(true, set);
            }
        });
        spin::until(|| shared.1.load(see).then_some(()));
        // SAFETY: the flag is set, so the writer is done, if the orderings say so.
        assert_eq!(shared.0.with(|slot| unsafe { *slot }), 42);
        writer.join().unwrap();
    });
}

#[test]
fn a_published_slot_is_seen() {
    publish(Release, Acquire);
}

#[test]
#[should_panic(expected = "Causality violation")]
fn canary_relaxed_publish() {
    publish(Relaxed, Acquire);
}

#[test]
#[should_panic(expected = "Causality violation")]
fn canary_relaxed_read() {
    publish(Release, Relaxed);
}

/// Each of two threads raises its flag and looks at the other's: at least one sees the other.
fn two_flags(fenced: bool) {
    model(move || {
        let flags = Arc::new([AtomicBool::new(false), AtomicBool::new(false)]);
        let raise = move |flags: &[AtomicBool; 2], me: usize| {
            flags[me].store(true, Relaxed);
            if fenced {
                fence(Ordering::SeqCst);
            }
            flags[1 - me].load(Relaxed)
        };
        let other = thread::spawn({
            let flags = flags.clone();
            move || raise(&flags, 1)
        });
        let one = raise(&flags, 0);
        assert!(one | other.join().unwrap(), "neither saw the other");
    });
}

#[test]
fn fences_order_two_flags() {
    two_flags(true);
}

#[test]
#[should_panic(expected = "neither saw the other")]
fn canary_no_fence() {
    two_flags(false);
}

#[test]
#[should_panic(expected = "lost")]
fn canary_lost_update() {
    model(|| {
        let count = Arc::new(AtomicUsize::new(0));
        let increment = |count: &AtomicUsize| count.store(count.load(Acquire) + 1, Release);
        let other = thread::spawn({
            let count = count.clone();
            move || increment(&count)
        });
        increment(&count);
        other.join().unwrap();
        assert_eq!(count.load(Acquire), 2, "an increment is lost");
    });
}

#[test]
fn locks_exclude() {
    model(|| {
        let total = Arc::new(Mutex::new(0));
        let other = thread::spawn({
            let total = total.clone();
            move || *total.lock().unwrap() += 1
        });
        *total.lock().unwrap() += 1;
        other.join().unwrap();
        assert_eq!(*total.lock().unwrap(), 2);
    });
}

// That a notification is lost which comes before the wait cannot be shown here: loom panics in a destructor then.
#[test]
fn a_notification_wakes() {
    model(|| {
        let shared = Arc::new((Mutex::new(false), Condvar::new()));
        let other = thread::spawn({
            let shared = shared.clone();
            move || {
                *shared.0.lock().unwrap() = true;
                shared.1.notify_one();
            }
        });
        let mut guard = shared.0.lock().unwrap();
        while !*guard {
            guard = shared.1.wait(guard).unwrap();
        }
        drop(guard);
        other.join().unwrap();
    });
}

#[test]
fn a_token_wakes_and_publishes() {
    model(|| {
        let parker = Parker::new();
        // Two, so that the second token is left before, while, or after the first is taken.
        let wakers: Vec<_> = (0..2)
            .map(|_| {
                let written = Arc::new(AtomicUsize::new(0));
                let unparker = parker.unparker();
                let waker = thread::spawn({
                    let written = written.clone();
                    move || {
                        written.store(1, Relaxed);
                        unparker.unpark();
                    }
                });
                (written, waker)
            })
            .collect();
        parker.park();
        assert!(wakers.iter().any(|(written, _)| written.load(Relaxed) == 1), "who left the token wrote before");
        for (_, waker) in wakers {
            waker.join().unwrap();
        }
        parker.park_timeout(Duration::from_secs(1));
    });
}

#[test]
fn exchanges_and_updates() {
    model(|| {
        let number = Arc::new(AtomicU64::new(1));
        let other = thread::spawn({
            let number = number.clone();
            move || number.fetch_max(5, AcqRel)
        });
        number.fetch_update(AcqRel, Acquire, |n| Some(n * 3)).unwrap();
        other.join().unwrap();
        assert!(matches!(number.load(Acquire), 5 | 15));
    });
}
