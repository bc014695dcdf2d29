//! What the report of a violation says, beside what is wrong.

use thalweg_check::{Check, Rule, Violation};
use thalweg_sync::atomic::Ordering::{self, Acquire, Relaxed, Release};
use thalweg_sync::atomic::{AtomicBool, AtomicU64, fence};
use thalweg_sync::cell::Slot;
use thalweg_sync::sync::{Arc, Condvar, Mutex};
use thalweg_sync::{spin, thread};

/// A message in a slot, and a flag of these orderings that says when; `fenced`: behind a release fence.
fn message(store: Ordering, load: Ordering, fenced: bool) -> Violation {
    let client = move || {
        let shared = Arc::new((Slot::new(0), AtomicBool::new(false)));
        let reader = thread::spawn({
            let shared = shared.clone();
            move || {
                spin::until(|| shared.1.load(load).then_some(()));
                // SAFETY: the flag is set, and the other thread only sets it when it has written.
                shared.0.with(|slot| unsafe { *slot })
            }
        });
        // SAFETY: the other thread waits for the flag.
        shared.0.with_mut(|slot| unsafe { *slot = 42 });
        if fenced {
            fence(Release);
        }
        shared.1.store(true, store);
        reader.join().unwrap();
    };
    Check::new().run(client).expect_err("nothing orders the two")
}

#[test]
fn a_race_stands_where_it_is() {
    let violation = message(Relaxed, Acquire, false);
    let Rule::Race { after: [1, 1], sites: [write, read], .. } = violation.rule() else { panic!("{violation}") };
    let text = violation.to_string();
    let lines = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect::<Vec<_>>();
    let place = |wanted: &str| {
        let place = lines.iter().position(|line| line.starts_with(wanted));
        place.unwrap_or_else(|| panic!("no line begins with {wanted:?}:\n{text}"))
    };
    assert_eq!(
        place("0.0 start thread 1 sync ") + 1,
        place(&format!(">>>> write of the slot, races with thread 1 {write}"))
    );
    assert_eq!(
        place("1.0 read shared.1#0 = 1 from 0.1 acquire") + 1,
        place(&format!(">>>> read of the slot, races with thread 0 {read}"))
    );
    let first = place("shared.1#0 is first used at ");
    assert!(lines[first].ends_with("; its values in modification order: initial < 0.1"), "{text}");
    assert!(!violation.graph().to_string().contains(">>>>"), "the graph alone has events only");
    let hint = "to run it alone, with the same options, and with `-- --nocapture` to see what it prints: ";
    assert!(text.ends_with(&format!("{hint}Check::new().replay({:?}, client)", violation.replay())), "{text}");
}

#[test]
fn an_edge_that_is_missing() {
    for (store, load, fenced, why) in [
        (Relaxed, Acquire, false, "0.1 is relaxed and releases nothing"),
        (Release, Relaxed, false, "1.0 is relaxed and acquires nothing"),
        (Relaxed, Relaxed, false, "0.1 is relaxed, 1.0 is relaxed"),
        (Relaxed, Relaxed, true, "1.0 is relaxed and acquires nothing"),
    ] {
        let text = message(store, load, fenced).to_string();
        let from = if fenced { "0.2" } else { "0.1" };
        let line = format!("\n1.0 reads from {from}, which makes no happens-before edge: {why}\n");
        assert!(text.contains(&line), "{line} is missing: {text}");
    }
    // Nobody has read anything.
    let unrelated = Check::new().run(|| {
        let slot = Arc::new(Slot::new(0));
        let other = thread::spawn({
            let slot = slot.clone();
            // SAFETY: it is not; that is the mistake.
            move || slot.with_mut(|n| unsafe { *n = 1 })
        });
        // SAFETY: as above.
        slot.with_mut(|n| unsafe { *n = 2 });
        other.join().unwrap();
    });
    let text = unrelated.unwrap_err().to_string();
    assert!(!text.contains("happens-before edge") && text.matches(">>>>").count() == 2, "{text}");
}

#[test]
fn what_is_repeated_is_shown_once() {
    let polls = Check::new().run(|| {
        let flags = Arc::new([AtomicU64::new(0), AtomicU64::new(0)]);
        let other = thread::spawn({
            let flags = flags.clone();
            move || {
                flags[1].store(1, Relaxed);
                while flags[0].load(Relaxed) + flags[1].load(Relaxed) < 9 {}
            }
        });
        other.join().unwrap();
    });
    let text = polls.unwrap_err().to_string();
    assert!(text.lines().count() < 20, "{text}");
    assert!(text.contains("\n  ...    and so on, to 1."), "{text}");
    assert_eq!(
        (text.matches("read flags#0 = 1 from 1.0").count(), text.matches("read flags#1 = 0 from initial").count()),
        (1, 1),
        "{text}"
    );

    let swaps = Check::new().run(|| {
        let flag = Arc::new(AtomicBool::new(true));
        let other = thread::spawn({
            let flag = flag.clone();
            move || spin::until(|| (!flag.swap(true, Acquire)).then_some(()))
        });
        other.join().unwrap();
    });
    let text = swaps.unwrap_err().to_string();
    assert!(text.lines().count() < 20, "an update that reads what the one before wrote: {text}");
    // A loop that does something else each time stays as it is.
    let counts = Check::new().max_events(70).run(|| {
        let number = Arc::new(AtomicU64::new(0));
        let other = thread::spawn({
            let number = number.clone();
            move || while number.fetch_add(1, Relaxed) < 1000 {}
        });
        other.join().unwrap();
    });
    let text = counts.unwrap_err().to_string();
    assert!(!text.contains("and so on") && text.contains("update writes number#0 := 30"), "{text}");
}

/// Locks and condition variables have places in the client, also where a destructor opens a lock or a closure takes it.
#[test]
fn locks_stand_where_the_client_asks_for_them() {
    let client = || {
        let shared = Arc::new((Mutex::new(0), Condvar::new()));
        let other = thread::spawn({
            let shared = shared.clone();
            move || {
                *shared.0.lock().unwrap() += 1;
                shared.1.notify_one();
            }
        });
        let mut seen = shared.0.lock().unwrap();
        while *seen == 0 {
            seen = shared.1.wait(seen).unwrap();
        }
        drop(seen);
        other.join().unwrap();
        assert!(shared.0.try_lock().is_err(), "on purpose");
    };
    let text = Check::new().run(client).expect_err("it fails on purpose").to_string();
    let elsewhere = |line: &&str| line.contains(".rs:") && !line.contains("tests/engines/reports.rs");
    assert_eq!(text.lines().filter(elsewhere).collect::<Vec<_>>(), Vec::<&str>::new(), "{text}");
    assert!(text.contains("update"), "{text}");
}
