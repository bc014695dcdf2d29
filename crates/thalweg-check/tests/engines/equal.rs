//! Threads that are declared equal: one order of them is explored, and what tells them apart is found.

use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use thalweg_check::{Check, Rule, Violation, choose, equal};
use thalweg_sync::atomic::{AtomicU64, Ordering::Relaxed};
use thalweg_sync::sync::Arc;
use thalweg_sync::thread;

/// Three equal threads draw a ticket each, and then `judge` sees the tickets.
fn tickets(judge: impl Fn([u64; 3]) + Send + Sync + 'static) -> impl Fn() + Send + Sync + 'static {
    move || {
        let next = Arc::new(AtomicU64::new(0));
        // One more stays here, so that none of the threads drops the last.
        let handles = [(); 3].map(|()| next.clone());
        let threads = equal(|| handles.map(|next| thread::spawn(move || next.fetch_add(1, Relaxed))));
        judge(threads.map(|thread| thread.join().unwrap()));
    }
}

fn unequal(client: impl Fn() + Send + Sync + 'static) -> Violation {
    let violation = Check::new().run(client).unwrap_err();
    assert!(matches!(violation.rule(), Rule::Unequal { .. }), "{violation}");
    violation
}

#[test]
fn one_order_is_explored() {
    let client = || tickets(|tickets| assert_eq!(tickets.iter().sum::<u64>(), 3));
    let explored = Check::new().check(client());
    assert_eq!((explored.complete, explored.exchanged), (1, 1));
    let explored = Check::new().equal_threads(false).check(client());
    assert_eq!((explored.complete, explored.exchanged), (6, 0));
    let two = NonZeroUsize::new(2).unwrap();
    assert_eq!(Check::new().threads(two).check(client()).complete, 1);
}

/// What equal threads choose counts without its order.
#[test]
fn choices_have_no_order() {
    let client = || {
        let sum = Arc::new(AtomicU64::new(0));
        let handles = [sum.clone(), sum.clone()];
        let add = |sum: Arc<AtomicU64>| thread::spawn(move || sum.fetch_add(choose(3) as u64, Relaxed));
        for thread in equal(|| handles.map(add)) {
            thread.join().unwrap();
        }
        assert!(sum.load(Relaxed) <= 4);
    };
    // Nine pairs of choices, and either thread may add first.
    assert_eq!(Check::new().check(client).complete, 9);
    assert_eq!(Check::new().equal_threads(false).check(client).complete, 18);
}

/// The execution in which the assertion fails is one of those that are not explored. It is run alone afterwards.
#[test]
fn an_assertion_that_asks_who_is_found() {
    let client = || tickets(|tickets| assert!(tickets.is_sorted(), "{tickets:?}"));
    let violation = Check::new().run(client()).unwrap_err();
    assert!(matches!(violation.rule(), Rule::Panic { thread: 0, .. }), "{violation}");
    let again = Check::new().replay(&violation.replay(), client()).unwrap_err();
    assert_eq!(again.rule().to_string(), violation.rule().to_string());
}

#[test]
fn other_code_is_found() {
    let client = || {
        let next = Arc::new(AtomicU64::new(0));
        let handles = [(next.clone(), false), (next, true)];
        let start = |(next, reads): (Arc<AtomicU64>, bool)| {
            thread::spawn(move || if reads { next.load(Relaxed) } else { next.fetch_add(1, Relaxed) })
        };
        for thread in equal(|| handles.map(start)) {
            thread.join().unwrap();
        }
    };
    unequal(client);
}

#[test]
fn starts_and_joins_stand_side_by_side() {
    let client = |between: fn(&AtomicU64), [starts, joins]: [bool; 2]| {
        move || {
            let next = Arc::new(AtomicU64::new(0));
            let handles = [next.clone(), next.clone()];
            let start = |own: Arc<AtomicU64>| {
                let thread = thread::spawn(move || own.fetch_add(1, Relaxed));
                starts.then(|| between(&next));
                thread
            };
            let [one, other] = equal(|| handles.map(start));
            one.join().unwrap();
            joins.then(|| between(&next));
            other.join().unwrap();
        }
    };
    let read = |next: &AtomicU64| assert!(next.load(Relaxed) <= 2);
    assert_eq!(Check::new().check(client(read, [false, false])).complete, 1);
    let said = unequal(client(read, [true, false])).to_string();
    assert!(said.contains("between their starts, at "), "{said}");
    let said = unequal(client(read, [false, true])).to_string();
    assert!(said.contains("between their joins, behind "), "{said}");
}

/// What is started after the closure is not equal to what was started in it.
#[test]
fn others_are_not_equal() {
    let client = || {
        let next = Arc::new(AtomicU64::new(0));
        let start = |next: &Arc<AtomicU64>| {
            let next = next.clone();
            thread::spawn(move || next.fetch_add(1, Relaxed))
        };
        let equals = equal(|| [start(&next), start(&next)]);
        let other = start(&next);
        for thread in equals.into_iter().chain([other]) {
            thread.join().unwrap();
        }
    };
    assert_eq!(Check::new().check(client).complete, 3);
}

#[test]
fn outside_of_a_check_nothing_is_declared() {
    assert_eq!(equal(|| 7), 7);
}

/// What comes out, and how many executions have it: with one order of equal threads, or with all.
#[allow(clippy::disallowed_types, reason = "what is noted of an execution is no part of it")]
fn outcomes<T: Ord + Send + 'static>(
    equal: bool,
    client: impl Fn() -> T + Send + Sync + 'static,
) -> (BTreeSet<T>, u64) {
    let met = std::sync::Arc::new(std::sync::Mutex::new(BTreeSet::new()));
    let theirs = met.clone();
    let explored = Check::new().equal_threads(equal).check(move || _ = theirs.lock().unwrap().insert(client()));
    (std::sync::Arc::into_inner(met).expect("the check is over").into_inner().unwrap(), explored.complete)
}

/// An older write that only the first of two equal threads makes possible is left for the second to read.
#[test]
fn an_older_write_that_comes_after_the_twins_read_is_read() {
    let client = || {
        let [x, y] = [(); 2].map(|()| Arc::new(AtomicU64::new(0)));
        let handles = [(); 2].map(|()| (x.clone(), y.clone()));
        let newer = thread::spawn({
            let x = x.clone();
            move || x.store(2, Relaxed)
        });
        let older = thread::spawn({
            let (x, y) = (x.clone(), y.clone());
            move || _ = (y.load(Relaxed) == 1).then(|| x.store(1, Relaxed))
        });
        let read = |(x, y): (Arc<AtomicU64>, Arc<AtomicU64>)| {
            thread::spawn(move || {
                let read = x.load(Relaxed);
                y.store(1, Relaxed);
                read
            })
        };
        let mut read = equal(|| handles.map(read)).map(|thread| thread.join().unwrap());
        read.sort();
        newer.join().unwrap();
        older.join().unwrap();
        (read, x.load(Relaxed))
    };
    let ((all, _), (explored, _)) = (outcomes(false, client), outcomes(true, client));
    assert!(all.contains(&([1, 2], 2)), "{all:?}");
    assert_eq!(explored, all);
}

/// What a revisit keeps of an update that an equal thread is compared with is the whole of it.
#[test]
fn a_revisit_keeps_the_write_of_an_update_that_is_compared_with() {
    let client = || {
        let [x, y] = [(); 2].map(|()| Arc::new(AtomicU64::new(0)));
        let handles = [(); 2].map(|()| (x.clone(), y.clone()));
        let look = thread::spawn({
            let y = y.clone();
            move || y.load(Relaxed)
        });
        let store = thread::spawn({
            let x = x.clone();
            move || x.store(5, Relaxed)
        });
        let attempt = |(x, y): (Arc<AtomicU64>, Arc<AtomicU64>)| {
            thread::spawn(move || {
                let failed = x.compare_exchange(0, 1, Relaxed, Relaxed).err();
                if failed.is_some() {
                    y.store(1, Relaxed);
                }
                failed
            })
        };
        let mut failed = equal(|| handles.map(attempt)).map(|thread| thread.join().unwrap());
        failed.sort();
        store.join().unwrap();
        (failed, look.join().unwrap(), x.load(Relaxed))
    };
    let ((all, executions), (explored, orbits)) = (outcomes(false, client), outcomes(true, client));
    assert_eq!(explored, all);
    // Each has another in which the two have changed places.
    assert_eq!((executions, orbits), (14, 7));
}
