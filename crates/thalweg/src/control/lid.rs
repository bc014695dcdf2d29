//! The lid on an end outside of the graph: shut by a wish, by the end of a run, and by the end of the graph.
//!
//! - **L1** A lid is shut before those who wait are rung for, and whoever waits looks at the lid after it is on the list. So by the
//!   strategy's own promise (P1 of `thalweg_queue::wait`) nobody sleeps under a lid that is shut.

use crate::error::{self, BoxError};
use std::mem;
use thalweg_queue::{Park, wait::Wait};
use thalweg_sync::atomic::{AtomicBool, AtomicU8, Ordering::*};
use thalweg_sync::sync::{Mutex, MutexGuard};

const OPEN: u8 = 0;
const SHUT: u8 = 1;
const GONE: u8 = 2;

/// Whether an end can be used now, and who waits at it.
#[derive(Debug, Default)]
pub(crate) struct Lid {
    state: AtomicU8,
    /// Something is in `failures`.
    failed: AtomicBool,
    failures: Mutex<Vec<BoxError>>,
    pub(crate) park: Park,
}

impl Lid {
    pub(crate) fn is_open(&self) -> bool {
        // Acquire, pairs with the release in `raise`: a reader that finds the lid shut sees all that was pushed before.
        self.state.load(Acquire) == OPEN
    }

    fn raise(&self, state: u8) {
        self.state.fetch_max(state, AcqRel);
        // L1.
        self.park.notify_all();
    }

    /// The run is over, or about to be: whoever waits goes away.
    pub(crate) fn shut(&self) {
        self.raise(SHUT);
    }

    /// The graph is gone: there will be no other run.
    pub(crate) fn bury(&self) {
        self.raise(GONE);
    }

    /// For the next run. Failures that nobody has asked for were those of the run before.
    pub(crate) fn open(&self) {
        if self.state.load(Acquire) == SHUT {
            self.take_failures();
            // The graph is there, so nobody buries it meanwhile.
            self.state.store(OPEN, Release);
        }
    }

    fn failures(&self) -> MutexGuard<'_, Vec<BoxError>> {
        self.failures.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Notes a failure, unless the run is over: then it has no part in it any more.
    pub(crate) fn fail(&self, error: BoxError) {
        let mut failures = self.failures();
        if self.is_open() {
            failures.push(error);
            self.failed.store(true, Release);
        }
    }

    pub(crate) fn has_failed(&self) -> bool {
        self.failed.load(Acquire)
    }

    fn take_failures(&self) -> Vec<BoxError> {
        let mut failures = self.failures();
        self.failed.store(false, Relaxed);
        mem::take(&mut failures)
    }

    /// The failures as one, if there are any.
    pub(crate) fn failure(&self) -> Option<BoxError> {
        error::join(self.take_failures())
    }
}
