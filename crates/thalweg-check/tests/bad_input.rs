//! Clients that are none: each gets a message that says what to do.
#![cfg(not(loom))]
#![allow(clippy::disallowed_types, clippy::disallowed_macros, reason = "clients here do what clients must not")]

use std::cell::Cell;
use std::process::Command;
use thalweg_check::{Check, Rule, Violation};
use thalweg_sync::atomic::AtomicU64;
use thalweg_sync::atomic::Ordering::{Acquire, Relaxed, Release};
use thalweg_sync::sync::Arc;
use thalweg_sync::{spin, thread};

fn finds(client: impl Fn() + Send + Sync + 'static) -> Violation {
    Check::new().max_events(200).run(client).unwrap_err()
}

/// Two reads that may miss a write: three executions at least.
fn with_flag(body: impl Fn(&AtomicU64)) {
    let flag = Arc::new(AtomicU64::new(0));
    let other = thread::spawn({
        let flag = flag.clone();
        move || flag.store(1, Release)
    });
    body(&flag);
    flag.load(Acquire);
    flag.load(Acquire);
    other.join().unwrap();
}

#[test]
fn no_threads() {
    let explored = Check::new().check(|| {
        AtomicU64::new(0).store(1, Relaxed);
    });
    assert_eq!((explored.complete, explored.threads), (1, 1));
    assert!(explored.to_string().contains("started no thread through `thalweg_sync::thread`"), "{explored}");
    let explored = Check::new().check(|| with_flag(|_| {}));
    assert_eq!((explored.complete, explored.threads), (3, 2));
    assert!(!explored.to_string().contains("started no thread"), "{explored}");
}

#[test]
fn a_loop_without_a_bound() {
    let polls = finds(|| with_flag(|flag| while flag.load(Relaxed) < 2 {}));
    assert!(matches!(polls.rule(), Rule::Unbounded { thread: 0, limit: 200 }));
    let text = polls.to_string();
    assert!(text.contains("more than 200 events, the last by thread 0"), "{text}");
    assert!(text.contains("should be a `spin::until`") && text.contains("needs a bound (`assume`)"), "{text}");
    assert!(text.contains("more ...") && text.lines().count() < 130, "the table is cut: {text}");
    assert!(polls.brief().to_string().lines().count() < 12, "{}", polls.brief());

    let writes = finds(|| {
        with_flag(|flag| {
            spin::until(|| (flag.fetch_add(1, Relaxed) > 1000).then_some(()));
        });
    });
    assert!(matches!(writes.rule(), Rule::Unbounded { .. }), "an attempt that writes is repeated: {writes}");
}

#[test]
fn a_static() {
    static TURNS: AtomicU64 = AtomicU64::new(5);
    let violation = finds(|| {
        with_flag(|_| {
            TURNS.fetch_add(1, Relaxed);
        });
    });
    let text = violation.to_string();
    assert!(matches!(violation.rule(), Rule::Survives { was: 5, is: 6, .. }), "{text}");
    assert!(text.contains("began with 5, and now begins with 6") && text.contains("no statics"), "{text}");
}

std::thread_local! {
    static RUNS: Cell<u64> = const { Cell::new(0) };
}

#[test]
fn a_thread_local() {
    let violation = finds(|| {
        with_flag(|flag| {
            RUNS.set(RUNS.get() + 1);
            if RUNS.get().is_multiple_of(2) {
                flag.store(7, Relaxed);
            }
        });
    });
    assert!(matches!(violation.rule(), Rule::Nondeterministic { .. }));
    let text = violation.to_string();
    assert!(text.contains("the client is not deterministic: after the same choices event 0."), "{text}");
    assert!(text.contains("nothing that survives an execution"), "{text}");
    // Both traces: what is the same in both, and what differs.
    let both = text.split("thread 0 another time:").collect::<Vec<_>>();
    assert_eq!(both.len(), 2, "{text}");
    let [one, another] = [both[0].split("thread 0 one time:").nth(1).unwrap(), both[1]];
    let [one, another] = [one, another].map(|trace| trace.lines().skip(1).take(2).collect::<Vec<_>>());
    assert_eq!(one[0], another[0], "{text}");
    assert!(one[0].contains("start thread 1") && one[1] != another[1], "{text}");
    assert!(text.contains("a write relaxed at") && text.contains("Load acquire at"), "{text}");
}

/// With one execution nothing is replayed but for this; and what differs may come last.
#[test]
fn a_difference_that_no_later_execution_meets() {
    for [first, later] in [[0, 1], [1, 0]] {
        let runs = std::sync::atomic::AtomicU64::new(0);
        let violation = finds(move || {
            let is_first = runs.fetch_add(1, std::sync::atomic::Ordering::Relaxed) == 0;
            let counter = AtomicU64::new(0);
            (0..if is_first { first } else { later }).for_each(|_| counter.store(1, Relaxed));
        });
        let text = violation.to_string();
        assert!(matches!(violation.rule(), Rule::Nondeterministic { .. }), "{text}");
        assert!(
            text.contains(if first == 0 { "was not there, and now is" } else { "the end of the thread" }),
            "{text}"
        );
    }
}

/// Asserts when it is dropped.
struct Asserts(bool);

impl Drop for Asserts {
    fn drop(&mut self) {
        assert!(self.0, "not empty");
    }
}

#[test]
fn a_panic_in_a_destructor() {
    let violation = finds(|| {
        let other = thread::spawn(|| drop(Asserts(false)));
        other.join().unwrap();
    });
    assert!(matches!(violation.rule(), Rule::Panic { thread: 1, .. }));
    assert!(violation.to_string().starts_with("thread 1 panicked: not empty"), "{violation}");
}

const ENDS: &str = "THALWEG_TEST_ENDS_THE_PROCESS";

/// One that panics while its thread is unwound cannot be survived; the process says why it ends.
#[test]
fn a_panic_in_a_destructor_that_unwinds() {
    if std::env::var_os(ENDS).is_some() {
        let _ = Check::new().run(|| {
            let flag = Arc::new(AtomicU64::new(0));
            let waiter = thread::spawn(move || {
                let _asserts = Asserts(false);
                spin::until(|| (flag.load(Relaxed) == 1).then_some(()));
            });
            waiter.join().unwrap();
        });
        return;
    }
    let mut again = Command::new(std::env::current_exe().unwrap());
    again.args(["--exact", "a_panic_in_a_destructor_that_unwinds"]).env(ENDS, "1");
    let output = again.output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success(), "{text}");
    assert!(text.contains("a destructor of the client panics while its thread is unwound"), "{text}");
    assert!(text.contains("should do so only if\n`!std::thread::panicking()`"), "{text}");
}

#[test]
fn a_violation_in_short() {
    let violation = finds(|| {
        let shared = Arc::new([0, 0, 0].map(AtomicU64::new));
        let threads = [0, 1, 2].map(|place| {
            let shared = shared.clone();
            thread::spawn(move || (0..20).for_each(|n| shared[place].store(n, Relaxed)))
        });
        assert_eq!(shared[1].load(Relaxed), 0, "seen");
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
    let (brief, whole) = (violation.brief().to_string(), violation.to_string());
    assert!(brief.starts_with("thread 0 panicked: ") && brief.contains("seen"), "{brief}");
    // Who panicked, and who wrote what it read.
    assert!(brief.contains("\nthread 0\n") && brief.contains("\nthread 2\n"), "{brief}");
    assert!(!brief.contains("\nthread 1") && !brief.contains("\nthread 3"), "{brief}");
    assert!(brief.len() < whole.len() && whole.contains("\nthread 1, started by"), "{brief}");
}
