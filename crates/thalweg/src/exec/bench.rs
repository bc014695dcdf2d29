//! Where workers sit that are not needed, or that the run may not have now.
//!
//! How many may work is one word, the *target* of the run. It is the smaller of what is asked for, which the default scheme finds by [trying](super::elastic), and of what
//! is allowed from outside: by an [`Allowance`](crate::Allowance), or by a daemon that shares the machine out ([`Bounds`](crate::observe::Bounds)).
//!
//! # Invariants
//!
//! - **B1** The target is never zero, and the first worker never sits: a run goes on, sees a wish and ends without anybody on the bench.
//! - **B2** A worker sits down between two activations: it holds no claim, and no block in its hands. It has left the bell before, and rang after
//!   that, so what it made ready is found by those that are left (W2).
//! - **B3** Who changes what sitters look at (the target, the end of the run) [calls](Bench::call) after that. A sitter looks under the lock before
//!   it sits, so either it sees the change, or the call finds its seat. A wish is seen by the first worker, which calls when it goes home.
//! - **B4** Nobody waits for a worker to sit down: who lowers the target goes on at once, and a worker in a long activation sits when it is back.
//! - **B5** The target is written under the lock of the bounds, where a run can be bounded at all, so the last of two that write knows both numbers.

use thalweg_sync::park::{Parker, Unparker};
use thalweg_sync::sync::Mutex;
use thalweg_sync::time::Duration;

#[derive(Debug, Default)]
pub(crate) struct Bench {
    seats: Mutex<Vec<Unparker>>,
}

impl Bench {
    /// Sits until `over`, which is looked at after each [call](Self::call) (B3).
    pub(crate) fn wait(&self, parker: &Parker, over: impl Fn() -> bool) {
        while !over() {
            let mut seats = self.seats.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            // B3: under the lock.
            if over() {
                return;
            }
            seats.push(parker.unparker());
            drop(seats);
            parker.park();
        }
    }

    /// As [`wait`](Self::wait), but no longer than `limit`. False if that is why it ended; then a seat is left behind, of which `parker` may
    /// still get a token.
    pub(crate) fn wait_at_most(&self, parker: &Parker, limit: Duration, over: impl Fn() -> bool) -> bool {
        let mut seats = self.seats.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if over() {
            return true;
        }
        seats.push(parker.unparker());
        drop(seats);
        parker.park_timeout(limit) && over()
    }

    /// Calls everybody back to look again.
    pub(crate) fn call(&self) {
        let seats = std::mem::take(&mut *self.seats.lock().unwrap_or_else(|poisoned| poisoned.into_inner()));
        // Not under the lock, which those that are called take again if they have to go on sitting.
        seats.iter().for_each(|seat| seat.unpark());
    }
}

#[cfg(all(test, loom))]
mod model {
    use super::*;
    use crate::observe::{By, Crew, Demand, Observed, Pane, Snapshot};
    use thalweg_sync::atomic::{AtomicBool, AtomicUsize, Ordering::*};
    use thalweg_sync::sync::Arc;
    use thalweg_sync::{model, thread};

    /// What a run has to do with its bench.
    struct Run {
        bench: Bench,
        target: AtomicUsize,
        ended: AtomicBool,
        /// Whether a kernel is taken.
        claim: AtomicBool,
    }

    impl Observed for Run {
        fn snapshot(&self) -> Snapshot {
            unreachable!("nobody looks")
        }
        fn crew(&self) -> Option<Crew> {
            Some(Crew { asked: 2, least: 1 })
        }
        fn let_work(&self, workers: usize) {
            self.target.store(workers, Release);
            self.bench.call();
        }
        fn demand(&self) -> Demand {
            unreachable!("nobody asks")
        }
    }

    impl Run {
        fn new() -> Arc<Self> {
            let (target, ended, claim) = (AtomicUsize::new(2), AtomicBool::new(false), AtomicBool::new(false));
            Arc::new(Self { bench: Bench::default(), target, ended, claim })
        }

        /// Works once as worker 1, or not at all if the run ends before; sits while it has no place. True if it worked.
        fn work(&self) -> bool {
            let (parker, is_over) = (Parker::new(), || self.ended.load(Acquire));
            while !is_over() {
                if 1 >= self.target.load(Relaxed) {
                    self.bench.wait(&parker, || 1 < self.target.load(Acquire) || is_over());
                    continue;
                }
                assert!(!self.claim.swap(true, Acquire), "B2: who sits holds no claim");
                self.claim.store(false, Release);
                return true;
            }
            false
        }
    }

    /// What is allowed goes down and up again, while the scheme asks for others, and nothing else ever wakes the worker: it must come back, and
    /// loom reports a call that was lost as a deadlock. Two changes are enough: the worker may sit down before, between and behind them.
    #[test]
    fn who_is_allowed_again_comes_back() {
        model(|| {
            let (run, pane) = (Run::new(), Pane::default());
            let theirs = run.clone();
            let worker = thread::spawn(move || theirs.work());
            let shown = pane.show(&*run);
            pane.allow(By::Program, 1);
            pane.allow(By::Program, 2);
            assert!(worker.join().unwrap());
            drop(shown);
        });
    }

    /// The scheme asks for two while a daemon that allowed one allows two, or the other way round: whichever comes last knows both (B5).
    #[test]
    fn the_last_of_two_that_set_the_target_knows_both() {
        for (first, then) in [(1, 2), (2, 1)] {
            model(move || {
                let (run, pane) = (Run::new(), Arc::new(Pane::default()));
                let shown = pane.show(&*run);
                pane.allow(By::Daemon, first);
                let (theirs, their_pane) = (run.clone(), pane.clone());
                let scheme = thread::spawn(move || {
                    their_pane.ask(2, |workers| theirs.target.store(workers, Release));
                    theirs.bench.call();
                });
                pane.allow(By::Daemon, then);
                scheme.join().unwrap();
                assert_eq!(run.target.load(Relaxed), then);
                drop(shown);
            });
        }
    }

    /// The run ends while the worker sits, or is about to: it comes home, and holds no claim.
    #[test]
    fn the_end_of_the_run_reaches_who_sits() {
        model(|| {
            let (run, pane) = (Run::new(), Pane::default());
            let shown = pane.show(&*run);
            pane.allow(By::Daemon, 1);
            let theirs = run.clone();
            let worker = thread::spawn(move || theirs.work());
            run.ended.store(true, Release);
            run.bench.call();
            assert!(!worker.join().unwrap());
            assert!(!run.claim.load(Acquire));
            drop(shown);
        });
    }
}
