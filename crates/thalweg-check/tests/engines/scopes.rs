//! A panic in the closure of a scope, which goes on when the scope's threads have ended.

use thalweg_check::{Cause, Check, Fuzz, Rule};
use thalweg_sync::atomic::AtomicBool;
use thalweg_sync::atomic::Ordering::{Acquire, Relaxed, Release};
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

#[test]
fn the_fuzzer_reports_the_panic() {
    for unwinds in [false, true] {
        let failure = Fuzz::new().seeds(0..20).check(move || client(unwinds)).unwrap_err();
        let Cause::Panic { thread: 0, message } = &failure.cause else { panic!("{failure}") };
        assert_eq!(message, "nobody has set it");
    }
}
