//! The end of something that one waits for.
//!
//! # Invariants
//!
//! - **E1** `state` moves to [`OVER`] once, after the result was written. The one joiner may make it [`WAITED`] before, after it has
//!   written `joiner`, and takes that back by an exact exchange; or [`DETACHED`], if it never asks.
//! - **E2** So `joiner` belongs to the joiner while [`RUNNING`], to whoever ends it once `WAITED`; and the result to the joiner once `OVER`, unless it
//!   was `DETACHED` before.

use crate::wait::Ticket;
use thalweg_sync::atomic::AtomicU32;
use thalweg_sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use thalweg_sync::cell::Slot;

const RUNNING: u32 = 0;
const WAITED: u32 = 1;
const OVER: u32 = 2;
const DETACHED: u32 = 3;

pub(crate) struct End {
    state: AtomicU32,
    joiner: Slot<Option<Ticket>>,
}

impl End {
    pub(crate) const fn new() -> Self {
        Self { state: AtomicU32::new(RUNNING), joiner: Slot::new(None) }
    }

    /// The result is there: whoever waits is told, last. False if nobody ever asks for it.
    #[inline]
    pub(crate) fn finish(&self) -> bool {
        // (end.1) Release, pairs with (end.2): the result is visible. Acquire, pairs with (end.3): the joiner is.
        match self.state.swap(OVER, AcqRel) {
            WAITED => {
                // SAFETY: it is ours now (E2).
                let joiner = self.joiner.with_mut(|joiner| unsafe { (*joiner).take() });
                joiner.expect("the joiner left a ticket").grant(1);
                true
            }
            state => state != DETACHED,
        }
    }

    #[inline]
    pub(crate) fn is_over(&self) -> bool {
        // (end.2) Acquire, pairs with (end.1).
        self.state.load(Acquire) == OVER
    }

    /// The joiner is to be told. False if there is nothing left to wait for.
    ///
    /// # Safety
    ///
    /// Only the one joiner calls this, when it has nothing left here.
    #[inline]
    pub(crate) unsafe fn enlist(&self, joiner: Ticket) -> bool {
        // SAFETY: it is the joiner's (E2).
        self.joiner.with_mut(|place| unsafe { *place = Some(joiner) });
        // (end.3) Release, pairs with the Acquire in (end.1). Acquire where it failed, pairs with the Release there.
        self.state.compare_exchange(RUNNING, WAITED, Release, Acquire).is_ok()
    }

    /// The joiner gives up. False if it was told, or is about to be.
    pub(crate) fn delist(&self) -> bool {
        // Relaxed: the joiner takes back what it wrote itself. Acquire where it failed, pairs with the Release in (end.1).
        let taken_back = self.state.compare_exchange(WAITED, RUNNING, Relaxed, Acquire).is_ok();
        if taken_back {
            // SAFETY: it is the joiner's again (E2).
            self.joiner.with_mut(|place| unsafe { *place = None });
        }
        taken_back
    }

    /// Nobody asks. False if it is over already: then the result is the caller's.
    pub(crate) fn detach(&self) -> bool {
        // Release, pairs with the Acquire in (end.1): what the joiner did comes before the result is dropped. Acquire where it failed:
        // (end.2).
        self.state.compare_exchange(RUNNING, DETACHED, Release, Acquire).is_ok()
    }
}
