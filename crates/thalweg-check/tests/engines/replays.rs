//! An execution that is run alone: it is the same again, or it is refused.

use thalweg_check::{Check, Rule, Violation, choose};
use thalweg_sync::atomic::AtomicU64;
use thalweg_sync::atomic::Ordering::{self, Acquire, Relaxed, Release, SeqCst};
use thalweg_sync::sync::Arc;
use thalweg_sync::thread;

fn finds(client: impl Fn() + Send + Sync + 'static) -> Violation {
    Check::new().run(client).expect_err("the mistake is not found")
}

#[test]
fn an_execution_is_run_alone() {
    // A thread reads what a later one writes, and modification order is not the order of execution: each takes a choice.
    let client = || {
        let (x, y) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
        let first = thread::spawn({
            let (x, y) = (x.clone(), y.clone());
            move || {
                x.store(1, Relaxed);
                y.load(Relaxed)
            }
        });
        let second = thread::spawn({
            let (x, y) = (x.clone(), y.clone());
            move || {
                x.store(2, Relaxed);
                y.swap(1, Relaxed)
            }
        });
        let read = first.join().unwrap();
        second.join().unwrap();
        assert_ne!((read, x.load(Relaxed)), (1, 1), "the outcome that we want to see");
    };
    let violation = finds(client);
    assert!(violation.complete() > 0, "it is not the first");
    let again = Check::new().replay(&violation.replay(), client).unwrap_err();
    assert_eq!(again.replay(), violation.replay());
    assert!(violation.to_string().contains(&format!("Check::new().replay({:?}, client)", violation.replay())));
}

/// Run alone, the second thread starts one before the first does: that one is the fourth thread all the same.
#[test]
fn an_execution_is_replayed_whose_threads_start_others() {
    let client = || {
        let flag = Arc::new(AtomicU64::new(0));
        let reader = thread::spawn({
            let flag = flag.clone();
            move || {
                let seen = flag.load(Relaxed);
                thread::spawn(|| ()).join().unwrap();
                seen
            }
        });
        let writer = thread::spawn({
            let flag = flag.clone();
            move || {
                flag.store(1, Relaxed);
                thread::spawn(|| choose(2)).join().unwrap()
            }
        });
        assert_ne!((reader.join().unwrap(), writer.join().unwrap()), (1, 1), "the outcome that we want to see");
    };
    let violation = finds(client);
    assert!(violation.replay().ends_with(",s4;;c1"), "{}", violation.replay());
    let again = Check::new().replay(&violation.replay(), client).unwrap_err();
    assert_eq!(again.replay(), violation.replay());
}

/// Of the other thread there was nothing but its store. Run alone, it goes no further before all is done that there was: it would
/// draw the same ticket.
#[test]
fn what_was_not_there_comes_last() {
    let client = || {
        let shared = Arc::new([0, 0].map(AtomicU64::new));
        let other = thread::spawn({
            let shared = shared.clone();
            move || {
                shared[0].store(1, Relaxed);
                shared[1].fetch_add(1, Relaxed);
            }
        });
        if shared[0].load(Relaxed) == 1 {
            assert_ne!(shared[1].fetch_add(1, Relaxed), 0, "the outcome that we want to see");
        }
        other.join().unwrap();
    };
    let violation = finds(client);
    assert_eq!(violation.replay(), "-,1.0,i,w1;w1");
    let again = Check::new().replay(&violation.replay(), client).unwrap_err();
    assert_eq!(again.replay(), violation.replay());
}

/// What is said of `text`, which is of no execution of `client`.
fn refused(text: &str, client: impl Fn() + Send + Sync + 'static) -> String {
    let violation = Check::new().replay(text, client).unwrap_err();
    assert!(matches!(violation.rule(), Rule::NoSuchExecution { .. }), "{violation}");
    assert_eq!(violation.brief().to_string(), violation.to_string());
    violation.to_string()
}

/// A message, and a flag, written with this ordering, that says when.
fn message(store: Ordering) {
    let shared = Arc::new([0, 0].map(AtomicU64::new));
    let other = thread::spawn({
        let shared = shared.clone();
        move || {
            shared[0].store(7, Relaxed);
            shared[1].store(1, store);
        }
    });
    if shared[1].load(Acquire) == 1 {
        assert_eq!(shared[0].load(Relaxed), 7);
    }
    other.join().unwrap();
}

#[test]
fn a_text_that_is_of_another_client_is_refused() {
    for (text, wanted) in [
        ("i,x", "\"x\" is no choice: "),
        ("w1", "it has `w1` for event 0.0, which is `-`: the start of a thread at "),
        ("-,0.0", "it has `0.0` for event 0.1, which is `i`: Load acquire at "),
        ("-,1.0;w1,w1", "it has `1.0` for event 0.1, which is `1.1`: Load acquire at "),
        ("-,1.7", "it has `1.7` for event 0.1, which is not there"),
        ("-,i;w1,w1;w1", "it has `w1` for event 2.0, which is not there"),
    ] {
        let told = refused(text, || message(Release));
        assert!(told.starts_with(&format!("the text is of no execution of this client: {wanted}")), "{told}");
    }
    assert_eq!(Check::new().replay("-,1.1,1.0;w1,w1", || message(Release)).unwrap().complete, 1);
}

/// When the client is mended, it is not told that the mistake is still there.
#[test]
fn an_execution_that_is_not_there_any_more_is_refused() {
    let text = finds(|| message(Relaxed)).replay();
    assert_eq!(text, "-,1.1,i;w1,w1");
    assert!(matches!(Check::new().replay(&text, || message(Relaxed)).unwrap_err().rule(), Rule::Panic { .. }));
    let told = refused(&text, || message(Release));
    assert!(told.contains("it has `i` for event 0.2, which is `1.0`: Load relaxed at "), "too old: {told}");

    let both = |order: Ordering| {
        move || {
            let shared = Arc::new([0, 0].map(AtomicU64::new));
            let threads = [0, 1].map(|me| {
                let shared = shared.clone();
                thread::spawn(move || {
                    shared[me].store(1, order);
                    shared[1 - me].load(order)
                })
            });
            assert_ne!(threads.map(|thread| thread.join().unwrap()), [0, 0]);
        }
    };
    let told = refused(&finds(both(Relaxed)).replay(), both(SeqCst));
    assert!(told.ends_with(": the memory model forbids it"), "{told}");

    let twice = || {
        let number = Arc::new(AtomicU64::new(0));
        let other = thread::spawn({
            let number = number.clone();
            move || {
                number.store(1, Relaxed);
                number.store(2, Relaxed);
            }
        });
        other.join().unwrap();
    };
    assert!(refused(";w2,w1", twice).ends_with(" cannot stand in its order"), "against program order");
    assert_eq!(Check::new().replay(";w1,w2", twice).unwrap().complete, 1);
}
