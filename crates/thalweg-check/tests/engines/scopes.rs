//! A panic in the closure of a scope, which goes on when the scope's threads have ended.

use thalweg_check::{Cause, Check, Fuzz, Rule};
use thalweg_sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use thalweg_sync::atomic::{AtomicBool, AtomicU64, fence};
use thalweg_sync::{spin, thread};

/// Sets the flag when it is dropped.
struct Sets<'a>(&'a AtomicBool);

impl Drop for Sets<'_> {
    fn drop(&mut self) {
        self.0.store(true, Release);
    }
}

/// The thread of the scope waits for what the closure does not do any more; or, if it `unwinds` into that, for what no engine
/// sees.
fn client(unwinds: bool) {
    let flag = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| spin::until(|| flag.load(Acquire).then_some(())));
        let _sets = unwinds.then(|| Sets(&flag));
        assert!(flag.load(Relaxed), "nobody has set it");
        flag.store(true, Release);
    });
}

#[test]
fn the_checker_reports_the_panic() {
    for unwinds in [false, true] {
        let violation = Check::new().run(move || client(unwinds)).unwrap_err();
        let Rule::Panic { thread: 0, message } = violation.rule() else { panic!("{violation}") };
        assert_eq!(message, "nobody has set it");
    }
}

/// The scope waits for its threads in the same order in every execution, however far those came that others had started.
#[test]
fn threads_of_a_scope_may_start_others() {
    let waits_itself = |joins: bool| {
        move || {
            let word = &AtomicU64::new(0);
            thread::scope(|scope| {
                let starts = scope.spawn(move || {
                    word.load(Relaxed);
                    let started = scope.spawn(|| fence(SeqCst));
                    if joins {
                        started.join().unwrap();
                    }
                });
                let writers = [(); 2].map(|()| scope.spawn(|| word.store(1, Relaxed)));
                if joins {
                    starts.join().unwrap();
                    writers.into_iter().for_each(|writer| writer.join().unwrap());
                }
            });
        }
    };
    let found =
        [true, false].map(|joins| Check::new().run(waits_itself(joins)).unwrap_or_else(|error| panic!("{error}")));
    assert_eq!(found.map(|explored| explored.complete), [6, 6]);
}

#[test]
fn the_fuzzer_reports_the_panic() {
    for unwinds in [false, true] {
        let failure = Fuzz::new().seeds(0..20).check(move || client(unwinds)).unwrap_err();
        let Cause::Panic { thread: 0, message } = &failure.cause else { panic!("{failure}") };
        assert_eq!(message, "nobody has set it");
    }
}
