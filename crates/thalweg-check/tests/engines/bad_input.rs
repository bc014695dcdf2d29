//! Clients that are none: each gets a message that says what to do.
#![allow(clippy::disallowed_types, reason = "clients here do what clients must not")]

use std::cell::Cell;
use std::process::Command;
use std::sync::atomic::AtomicUsize;
use thalweg_check::{Check, Fuzz, Kept, Rule, Violation, assume};
use thalweg_sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
use thalweg_sync::atomic::{AtomicBool, AtomicU64, fence};
use thalweg_sync::cell::Slot;
use thalweg_sync::sync::{Arc, Mutex};
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
    let client = || AtomicU64::new(0).store(1, Relaxed);
    let violation = Check::new().run(client).unwrap_err();
    assert!(matches!(violation.rule(), Rule::NothingShared { threads: 1 }));
    let text = violation.to_string();
    assert!(text.contains("started no thread through `thalweg_sync::thread`") && text.lines().count() == 1, "{text}");
    let explored = Check::new().sequential(true).check(client);
    assert_eq!((explored.complete, explored.threads), (1, 1));
    let explored = Check::new().check(|| with_flag(|_| {}));
    assert_eq!((explored.complete, explored.threads), (3, 2));
}

#[test]
fn threads_that_share_nothing_that_is_seen() {
    let client = || {
        let native = std::sync::Arc::new(std::sync::atomic::AtomicU64::new(0));
        let other = thread::spawn({
            let native = native.clone();
            move || native.fetch_add(1, Relaxed)
        });
        native.fetch_add(1, Relaxed);
        other.join().unwrap();
    };
    let violation = Check::new().run(client).unwrap_err();
    assert!(matches!(violation.rule(), Rule::NothingShared { threads: 2 }), "{violation}");
    assert!(violation.to_string().contains("the client has 2 threads, and none of them"), "{violation}");
    assert_eq!(Check::new().sequential(true).check(client).complete, 1);
    // A slot is enough.
    Check::new().check(|| {
        let slot = Arc::new(Slot::new(0));
        let other = thread::spawn({
            let slot = slot.clone();
            // SAFETY: the other thread waits for the end of this one.
            move || slot.with_mut(|n| unsafe { *n += 1 })
        });
        other.join().unwrap();
    });
}

#[test]
fn a_loop_without_a_bound() {
    let polls = finds(|| with_flag(|flag| while flag.load(Relaxed) < 2 {}));
    assert!(matches!(polls.rule(), Rule::Polls { reads: 50, .. }), "{polls}");
    let text = polls.to_string();
    assert!(
        text.contains("a loop that waits: thread 0 at ") && text.contains("It should be a `spin::until`"),
        "{text}"
    );
    assert!(polls.brief().to_string().lines().count() < 12, "{}", polls.brief());
    let polls = finds(|| with_flag(|flag| while flag.load(Relaxed) + flag.load(Acquire) < 9 {}));
    assert!(matches!(polls.rule(), Rule::Polls { .. }), "two reads: {polls}");
    let exchanges = finds(|| with_flag(|flag| while flag.compare_exchange(5, 6, Relaxed, Relaxed).is_err() {}));
    assert!(matches!(exchanges.rule(), Rule::Polls { .. }), "a failed exchange reads: {exchanges}");

    let adds = finds(|| with_flag(|flag| while flag.fetch_add(1, Relaxed) < 1000 {}));
    assert!(matches!(adds.rule(), Rule::Unbounded { thread: 0, limit: 200 }));
    let text = adds.to_string();
    assert!(text.contains("more than 200 events, the last by thread 0"), "{text}");
    assert!(text.contains("should be a `spin::until`") && text.contains("needs a bound (`assume`)"), "{text}");
}

#[test]
fn a_loop_that_has_an_end_is_none_that_waits() {
    let client = || {
        with_flag(|flag| {
            let sum = (0..99).map(|_| flag.load(SeqCst)).sum::<u64>();
            flag.fetch_or(0, Relaxed);
            assume(sum == 0);
        });
    };
    Check::new().check(client);
    assert!(matches!(finds(client).rule(), Rule::Polls { reads: 50, .. }), "a lower limit");
}

/// A lock that is taken by a swap, also while somebody else has it.
#[test]
fn an_attempt_that_writes_and_fails() {
    fn lock(gives_back: bool) {
        let (locked, number) = (Arc::new(AtomicBool::new(false)), Arc::new(Slot::new(0)));
        let add = {
            let (locked, number) = (locked.clone(), number.clone());
            move || {
                spin::until(|| (!locked.swap(true, Acquire)).then_some(()));
                // SAFETY: we have set `locked`.
                number.with_mut(|number| unsafe { *number += 1 });
                locked.store(!gives_back, Release);
            }
        };
        let other = thread::spawn(add.clone());
        add();
        other.join().unwrap();
    }
    for gives_back in [true, false] {
        let violation = Check::new().run(move || lock(gives_back)).unwrap_err();
        let Rule::WaitWrites { wait, write, tries: 100 } = violation.rule() else { panic!("{violation}") };
        assert_eq!(violation.graph().event(wait.reads[0].0).value(), 1);
        let text = violation.to_string();
        assert!(text.contains(&format!("each wrote at {write}")), "{text}");
        assert!(text.contains(&format!("at {} failed, the last having read 1 in ", wait.at)), "{text}");
        assert!(text.contains("Use `compare_exchange` there, or load first"), "{text}");
        assert!(violation.brief().to_string().contains("each wrote at"), "{}", violation.brief());
        Check::new().replay(&violation.replay(), move || lock(gives_back)).unwrap_err();
    }
    // One that helps before it fails may write, as long as it succeeds some time.
    with_check(|flag| {
        spin::until(|| (flag.fetch_add(1, Relaxed) > 20).then_some(()));
    });
}

fn with_check(body: impl Fn(&AtomicU64) + Send + Sync + 'static) {
    Check::new().check(move || with_flag(&body));
}

#[test]
fn orderings_that_there_are_not() {
    type Access = fn(&AtomicU64);
    let accesses: [(&str, Access); 8] = [
        ("a release load", |n| {
            let _ = n.load(Release);
        }),
        ("an acquire-release load", |n| {
            let _ = n.load(AcqRel);
        }),
        ("an acquire store", |n| n.store(1, Acquire)),
        ("an acquire-release store", |n| n.store(1, AcqRel)),
        ("a release failure ordering", |n| {
            let _ = n.compare_exchange(0, 1, Release, Release);
        }),
        ("an acquire-release failure ordering", |n| {
            let _ = n.compare_exchange_weak(0, 1, Release, AcqRel);
        }),
        ("a release load", |n| {
            let _ = n.fetch_update(Relaxed, Release, Some);
        }),
        ("a relaxed fence", |_| fence(Relaxed)),
    ];
    for (what, access) in accesses {
        let native = std::panic::catch_unwind(|| access(&AtomicU64::new(0))).expect_err("natively too");
        let native = native.downcast_ref::<&str>().map(|text| text.to_string());
        let native = native.expect("the standard library says it in so many words");
        assert_eq!(native, format!("there is no such thing as {what}"));
        let checked = finds(move || with_flag(access));
        assert!(matches!(checked.rule(), Rule::Panic { message, .. } if *message == native), "{what}: {checked}");
        let fuzzed = std::panic::catch_unwind(|| Fuzz::new().seeds(0..1).run(move || with_flag(access)));
        let fuzzed = *fuzzed.expect_err("the fuzzer too").downcast::<String>().unwrap();
        assert!(fuzzed.contains(&native), "{what}: {fuzzed}");
    }
}

#[test]
fn a_check_panics_where_it_is_called() {
    use std::sync::Mutex;
    static LINES: Mutex<Vec<(String, u32)>> = Mutex::new(Vec::new());
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        let place = panic.location().map(|at| (at.file().to_owned(), at.line()));
        LINES.lock().unwrap().extend(place);
        before(panic);
    }));
    let line = line!() + 1;
    let result = std::panic::catch_unwind(|| Check::new().check(|| {}));
    assert!(result.is_err());
    // Not locked when the assertion panics, which comes here too.
    let lines = LINES.lock().unwrap().clone();
    assert!(lines.iter().any(|(file, at)| file.ends_with("bad_input.rs") && *at == line), "{lines:?}");
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

#[test]
fn what_was_made_outside() {
    let turns = std::sync::Arc::new(AtomicU64::new(5));
    let violation = finds(move || {
        with_flag(|_| {
            turns.fetch_add(1, Relaxed);
        });
    });
    assert!(matches!(violation.rule(), Rule::Survives { was: 5, is: 6, .. }), "{violation}");
    assert!(violation.to_string().contains("what was made outside and moved in"), "{violation}");
}

/// What is in it is no event, and decides an assertion alone.
#[test]
fn a_static_slot_or_lock() {
    static TURNS: Slot<u64> = Slot::new(0);
    static LOCKED: Mutex<u64> = Mutex::new(0);
    fn another_turn() -> u64 {
        // SAFETY: one thread alone uses it.
        let before = TURNS.with(|turns| unsafe { *turns });
        // SAFETY: as above.
        TURNS.with_mut(|turns| unsafe { *turns += 1 });
        before
    }
    let slot = finds(|| with_flag(|_| assert!(another_turn() < 2)));
    let lock = finds(|| {
        with_flag(|_| {
            let mut turns = LOCKED.lock().unwrap();
            *turns += 1;
            assert!(*turns < 3);
        });
    });
    for violation in [slot, lock] {
        let text = violation.to_string();
        assert!(matches!(violation.rule(), Rule::LeftOver { at } if at.file().ends_with("bad_input.rs")), "{text}");
        assert!(
            text.contains("holds what an earlier execution has left in it") && text.contains("no statics"),
            "{text}"
        );
    }
}

/// Another one comes to the same place in each execution, and what is in it is the execution's own.
#[test]
fn what_is_moved_or_taken_apart_or_written_first_is_not_left_over() {
    static WRITTEN: Slot<u64> = Slot::new(0);
    let written_first = || {
        // SAFETY: one thread alone uses it.
        WRITTEN.with_mut(|place| unsafe { *place = 3 });
        // SAFETY: as above.
        WRITTEN.with(|place| assert_eq!(unsafe { *place }, 3));
    };
    fn used() -> (Slot<u64>, Mutex<u64>) {
        let (mut slot, lock) = (Slot::new(1), Mutex::new(1));
        // SAFETY: nobody else has the slot.
        *slot.get_mut() += slot.with(|place| unsafe { *place });
        *lock.lock().unwrap() += 1;
        (slot, lock)
    }
    let explored = Check::new().check(move || {
        with_flag(|_| {
            written_first();
            let (slot, lock) = used();
            let boxed = Box::new((slot, lock));
            // SAFETY: nobody else has the slot.
            assert_eq!(boxed.0.with(|place| unsafe { *place }), 2);
            // SAFETY: as above.
            boxed.0.with_mut(|place| unsafe { *place = 2 });
            assert_eq!(*boxed.1.lock().unwrap(), 2);
            let (slot, lock) = *boxed;
            // SAFETY: nobody else has the slot.
            assert_eq!(slot.with(|place| unsafe { *place }), 2);
            assert_eq!((slot.into_inner(), lock.into_inner().unwrap()), (2, 2));
        });
    });
    assert_eq!(explored.complete, 3);
}

/// No event differs, only what is asserted: it fails the second time alone, then the fifth.
#[test]
fn an_assertion_that_does_not_fail_again() {
    for turn in [1, 4] {
        let turns = AtomicUsize::new(0);
        let violation = finds(move || {
            let this = turns.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            with_flag(|_| assert_ne!(this, turn, "this turn"));
        });
        let text = violation.to_string();
        assert!(
            matches!(violation.rule(), Rule::Unrepeatable { once } if matches!(**once, Rule::Panic { .. })),
            "{text}"
        );
        assert!(text.contains("this turn") && text.contains("nothing was wrong"), "{text}");
    }
    let violation = finds(|| with_flag(|_| panic!("each turn")));
    assert!(matches!(violation.rule(), Rule::Panic { .. }), "{violation}");
}

#[test]
fn other_accesses_to_slots() {
    fn client(is_first: bool, times: u64) {
        let slot = Slot::new(0);
        with_flag(|_| {
            for _ in 0..times {
                // SAFETY: nobody else has the slot.
                slot.with_mut(|place| unsafe { *place += 1 });
            }
            if is_first {
                // SAFETY: as above.
                slot.with(|place| unsafe { *place });
            } else {
                // SAFETY: as above.
                slot.with_mut(|place| unsafe { *place += 1 });
            }
        });
    }
    let turns = AtomicUsize::new(0);
    let turn = move || turns.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let violation = finds(move || client(turn() == 0, 1));
    let text = violation.to_string();
    assert!(matches!(violation.rule(), Rule::Nondeterministic { .. }), "{text}");
    assert!(
        text.contains("was preceded by a read of a slot at") && text.contains("now is preceded by a write of"),
        "{text}"
    );
    assert!(text.contains("thread 0 one time:") && text.contains("thread 0 another time:"), "{text}");

    let turns = AtomicUsize::new(0);
    let turn = move || turns.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let violation = finds(move || client(true, if turn() == 0 { 1 } else { 0 }));
    assert!(matches!(violation.rule(), Rule::Nondeterministic { .. }), "{violation}");
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
    assert!(text.contains("a write relaxed of 7 at") && text.contains("Load acquire at"), "{text}");
}

/// The two differ in a value alone.
#[test]
fn another_value_in_the_same_place() {
    let runs = std::sync::atomic::AtomicU64::new(3);
    let violation = finds(move || {
        let written = runs.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        with_flag(|flag| flag.store(written, Relaxed));
    });
    let text = violation.to_string();
    assert!(text.contains("was a write relaxed of 3 at") && text.contains("now is a write relaxed of 4 at"), "{text}");
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

/// Waits, when it is dropped, for a flag; if it is told to. Counts its drops.
struct Patient {
    flags: Arc<[AtomicBool; 2]>,
    waits: bool,
    drops: std::sync::Arc<AtomicUsize>,
}

impl Drop for Patient {
    fn drop(&mut self) {
        if self.waits {
            spin::until(|| self.flags[1].load(Acquire).then_some(()));
        }
        self.drops.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    }
}

/// In one of two executions the other thread never sees the first flag, so that it never sets the second.
fn with_patient<T>(waits: bool, keep: fn(Patient) -> T) -> (Result<[u64; 3], Violation>, usize)
where
    T: Send + 'static,
{
    let count = std::sync::Arc::new(AtomicUsize::new(0));
    let drops = count.clone();
    let explored = Check::new().run(move || {
        let flags = Arc::new([false, false].map(AtomicBool::new));
        let patient = keep(Patient { flags: flags.clone(), waits, drops: drops.clone() });
        let other = thread::spawn({
            let flags = flags.clone();
            move || {
                spin::until(|| flags[0].load(Relaxed).then_some(()));
                flags[1].store(true, Release);
            }
        });
        flags[0].store(true, Relaxed);
        other.join().unwrap();
        drop(patient);
    });
    let drops = count.load(std::sync::atomic::Ordering::Relaxed);
    (explored.map(|explored| [explored.complete, explored.blocked, explored.stuck]), drops)
}

#[test]
fn a_destructor_that_waits_for_who_is_given_up() {
    let (result, _) = with_patient(true, |patient| patient);
    let violation = result.unwrap_err();
    assert!(matches!(violation.rule(), Rule::WaitsWhileUnwinding { .. }), "{violation}");
    assert!(violation.to_string().contains("goes into a `Kept`"), "{violation}");
    let (result, drops) = with_patient(true, Kept::new);
    assert_eq!(result.unwrap(), [1, 1, 1], "and it is said how many are");
    assert_eq!(drops, 2, "what waits for ever is left; an execution is run again after the first and the second");
}

#[test]
fn what_is_kept_is_dropped_once_in_each_execution() {
    let (result, without) = with_patient(false, |patient| patient);
    assert_eq!(result.unwrap(), [1, 1, 0]);
    let (result, kept) = with_patient(false, Kept::new);
    assert_eq!(result.unwrap(), [1, 1, 0]);
    assert_eq!((without, kept), (4, 4), "two executions, each run again");
}

/// Notes when it is dropped.
struct Noted(std::sync::Arc<std::sync::Mutex<Vec<&'static str>>>, &'static str);

impl Drop for Noted {
    fn drop(&mut self) {
        self.0.lock().unwrap().push(self.1);
    }
}

#[test]
fn what_a_thread_that_never_ran_keeps() {
    let notes = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let noted = notes.clone();
    let violation = finds(move || {
        let _early = Noted(noted.clone(), "a thread's");
        let late = Kept::new(Noted(noted.clone(), "kept"));
        thread::spawn(move || drop(late));
        // The checker lets nobody else run meanwhile, and gives the execution up.
        loop {
            thread::yield_now();
        }
    });
    assert!(matches!(violation.rule(), Rule::Unbounded { thread: 0, .. }), "{violation}");
    let notes = notes.lock().unwrap();
    assert!(!notes.is_empty() && notes.chunks(2).all(|notes| notes == ["a thread's", "kept"]), "{notes:?}");
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
    again.args(["--exact", "bad_input::a_panic_in_a_destructor_that_unwinds"]).env(ENDS, "1");
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
