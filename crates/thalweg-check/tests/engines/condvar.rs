//! Condition variables under both engines: what is lost, who is woken, what a time that is over explores.
#![allow(clippy::disallowed_types, reason = "what a test notes about a run must be no part of it")]

use std::collections::BTreeSet;
use thalweg_check::{Cause, Check, Fuzz, Rule, choose};
use thalweg_sync::atomic::AtomicU64;
use thalweg_sync::atomic::Ordering::Relaxed;
use thalweg_sync::sync::{Arc, Condvar, Mutex};
use thalweg_sync::time::{self, Duration};
use thalweg_sync::{spin, thread};

const HOUR: Duration = Duration::from_secs(3600);

/// What all executions give.
fn outcomes<T: Ord + Send + 'static>(client: impl Fn() -> T + Send + Sync + 'static) -> BTreeSet<T> {
    let met = std::sync::Arc::new(std::sync::Mutex::new(BTreeSet::new()));
    let seen = met.clone();
    Check::new().sequential(true).check(move || {
        let outcome = client();
        seen.lock().unwrap().insert(outcome);
    });
    std::mem::take(&mut *met.lock().unwrap())
}

/// A message through a place. `holds`: the receiver looks and waits under one lock.
fn message(holds: bool) {
    let place = Arc::new((Mutex::new(None), Condvar::new()));
    let sender = thread::spawn({
        let place = place.clone();
        move || {
            *place.0.lock().unwrap() = Some(7);
            place.1.notify_one();
        }
    });
    let received = if holds {
        let mut item = place.1.wait_while(place.0.lock().unwrap(), |item| item.is_none()).unwrap();
        item.take()
    } else {
        // Looks, lets go of the lock, and then waits: the notification may have come in between.
        if place.0.lock().unwrap().is_none() {
            drop(place.1.wait(place.0.lock().unwrap()).unwrap());
        }
        place.0.lock().unwrap().take()
    };
    assert_eq!(received, Some(7));
    sender.join().unwrap();
}

#[test]
fn a_lost_wake_up_is_a_wait_without_end() {
    assert!(Check::new().check(|| message(true)).complete >= 2);
    let violation = Check::new().run(|| message(false)).unwrap_err();
    let Rule::WaitsForever { waits } = violation.rule() else { panic!("{violation}") };
    assert_eq!((waits.len(), waits[0].thread), (1, 0), "{violation}");
    assert!(waits[0].at.file().ends_with("condvar.rs"), "{violation}");
    let again = Check::new().replay(&violation.replay(), || message(false)).unwrap_err();
    assert!(matches!(again.rule(), Rule::WaitsForever { .. }), "{again}");

    Fuzz::new().seeds(0..300).check(|| message(true)).unwrap();
    let failure = Fuzz::new().seeds(0..300).check(|| message(false)).unwrap_err();
    assert!(matches!(failure.cause, Cause::Deadlock { .. }), "{failure}");
}

/// Two threads wait, the first one longer. Returns in which order they go on, when `notify` wakes one or both and the
/// other is woken after the first has gone on.
fn woken(notify: impl Fn(&Condvar)) -> Vec<u64> {
    let shared = Arc::new((Mutex::new(Vec::new()), Condvar::new()));
    // How many wait, and how many have gone on.
    let counts = Arc::new([0, 0].map(AtomicU64::new));
    let waiters = [1, 2].map(|me| {
        let (shared, counts) = (shared.clone(), counts.clone());
        thread::spawn(move || {
            spin::until(|| (counts[0].load(Relaxed) == me - 1).then_some(()));
            let mut guard = shared.0.lock().unwrap();
            counts[0].store(me, Relaxed);
            guard = shared.1.wait(guard).unwrap();
            guard.push(me);
            counts[1].fetch_add(1, Relaxed);
        })
    });
    spin::until(|| (counts[0].load(Relaxed) == 2).then_some(()));
    // Who has the lock knows that the second waits.
    drop(shared.0.lock().unwrap());
    notify(&shared.1);
    spin::until(|| (counts[1].load(Relaxed) > 0).then_some(()));
    shared.1.notify_all();
    waiters.into_iter().for_each(|waiter| waiter.join().unwrap());
    let both = shared.0.lock().unwrap().clone();
    assert_eq!(both.len(), 2);
    both
}

#[test]
fn one_notification_wakes_any_one() {
    let both = BTreeSet::from([vec![1, 2], vec![2, 1]]);
    assert_eq!(outcomes(|| woken(Condvar::notify_one)), both);
    assert_eq!(outcomes(|| woken(Condvar::notify_all)), both);
    let met = std::sync::Mutex::new(BTreeSet::new());
    Fuzz::new().seeds(0..200).run(|| {
        let order = woken(Condvar::notify_one);
        met.lock().unwrap().insert(order);
    });
    assert_eq!(met.into_inner().unwrap(), both);
}

/// Two threads wait for different things at one variable.
fn two_reasons(notify: fn(&Condvar)) {
    let shared = Arc::new((Mutex::new([false; 2]), Condvar::new()));
    let waiters = [0, 1].map(|me| {
        let shared = shared.clone();
        thread::spawn(move || drop(shared.1.wait_while(shared.0.lock().unwrap(), |set| !set[me]).unwrap()))
    });
    for me in [0, 1] {
        shared.0.lock().unwrap()[me] = true;
        notify(&shared.1);
    }
    waiters.into_iter().for_each(|waiter| waiter.join().unwrap());
}

#[test]
fn one_notification_for_two_reasons_is_too_few() {
    Check::new().check(|| two_reasons(Condvar::notify_all));
    let violation = Check::new().run(|| two_reasons(Condvar::notify_one)).unwrap_err();
    assert!(matches!(violation.rule(), Rule::WaitsForever { .. }), "{violation}");
}

/// Waits an hour for a thread that notifies, or for one that does not. Whether the time was over, and what was set.
fn patient(notifies: bool) -> (bool, bool) {
    let shared = Arc::new((Mutex::new(false), Condvar::new()));
    let other = thread::spawn({
        let shared = shared.clone();
        move || {
            *shared.0.lock().unwrap() = true;
            if notifies {
                shared.1.notify_one();
            }
        }
    });
    let guard = shared.0.lock().unwrap();
    if *guard {
        drop(guard);
        other.join().unwrap();
        return (false, true);
    }
    let (guard, result) = shared.1.wait_timeout(guard, HOUR).unwrap();
    let outcome = (result.timed_out(), *guard);
    drop(guard);
    other.join().unwrap();
    outcome
}

#[test]
fn a_time_may_be_over_at_any_time() {
    // Too early; in time; or, having been set, before the notification.
    assert_eq!(outcomes(|| patient(true)), [(false, true), (true, false), (true, true)].into());
    assert_eq!(outcomes(|| patient(false)), [(false, true), (true, false), (true, true)].into());
    Fuzz::new().seeds(0..100).run(|| {
        let start = time::now();
        let (timed_out, set) = patient(false);
        assert!(set || timed_out);
        assert!(!timed_out || start.elapsed() >= HOUR, "the clock jumps to the end of the wait");
    });
}

#[test]
fn every_choice_is_explored_once() {
    assert_eq!(outcomes(|| (choose(3), choose(2))).len(), 6);
    let explored = Check::new().check(|| {
        let place = Arc::new(AtomicU64::new(0));
        let other = thread::spawn({
            let place = place.clone();
            move || place.store(1 + choose(2) as u64, Relaxed)
        });
        // A choice after a read that may yet read something else.
        place.load(Relaxed);
        choose(2);
        other.join().unwrap();
    });
    assert_eq!(explored.complete, 8);
    let client = || assert_ne!([choose(2), choose(4)], [1, 2]);
    let violation = Check::new().run(client).unwrap_err();
    assert!(Check::new().replay(&violation.replay(), client).is_err());
    assert!(violation.to_string().contains("choose 2 of 4"), "{violation}");
    assert!(std::panic::catch_unwind(|| choose(usize::MAX)).is_err(), "more than can be counted");
}

/// A message through a place. `looks_again`: the receiver waits in a loop.
fn received(looks_again: bool) {
    let place = Arc::new((Mutex::new(None), Condvar::new()));
    let sender = thread::spawn({
        let place = place.clone();
        move || {
            *place.0.lock().unwrap() = Some(7);
            place.1.notify_one();
        }
    });
    let mut item = place.0.lock().unwrap();
    if looks_again {
        while item.is_none() {
            item = place.1.wait(item).unwrap();
        }
    } else if item.is_none() {
        item = place.1.wait(item).unwrap();
    }
    assert_eq!(item.take(), Some(7), "woken without a reason");
    drop(item);
    sender.join().unwrap();
}

/// A wait may return though nobody notified it. Without the option it does not, and an `if` will do.
#[test]
fn a_wait_that_returns_without_a_reason() {
    Check::new().check(|| received(false));
    let violation = Check::new().spurious(true).run(|| received(false)).unwrap_err();
    assert!(matches!(violation.rule(), Rule::Panic { thread: 0, .. }), "{violation}");
    assert!(violation.to_string().contains("wait, and wake without a reason"), "{violation}");
    let again = Check::new().spurious(true).replay(&violation.replay(), || received(false)).unwrap_err();
    assert!(matches!(again.rule(), Rule::Panic { .. }), "{again}");
    let (once, also) = (Check::new().check(|| received(true)), Check::new().spurious(true).check(|| received(true)));
    assert!(also.complete > once.complete, "{also}");

    Fuzz::new().check(|| received(false)).unwrap();
    Fuzz::new().spurious(true).check(|| received(true)).unwrap();
    assert!(matches!(Fuzz::new().spurious(true).check(|| received(false)).unwrap_err().cause, Cause::Panic { .. }));
}

/// A lost wake-up is one also where others wake without a reason: not every wait does.
#[test]
fn a_lost_wake_up_stays_one() {
    let violation = Check::new().spurious(true).run(|| message(false)).unwrap_err();
    assert!(matches!(violation.rule(), Rule::WaitsForever { .. }), "{violation}");
}
