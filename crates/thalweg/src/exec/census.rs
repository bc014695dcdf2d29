//! When a cycle is over: nothing comes in any more, and nothing is left in it.
//!
//! **U3** The census of a component counts the blocks inside it, the activations of its kernels that are not over, and the kernels that may give into
//! it without having taken from it: with several ports, until they were asked once and had nothing, and while they say that they are pending. It is
//! raised before a block from outside is taken, so when it is zero and the outside is closed and empty, nothing is left in the component.

use thalweg_sync::atomic::{AtomicBool, AtomicI64, Ordering::*, fence};

/// Kernels that form a cycle.
#[derive(Debug)]
pub(crate) struct Component {
    /// Edges into it from outside.
    pub(crate) from_outside: Vec<usize>,
    /// Its declared feedback edges.
    pub(crate) feedback: Vec<usize>,
    pub(crate) census: Census,
}

/// What is inside a component, and whether its end was noticed.
#[derive(Debug, Default)]
pub(crate) struct Census {
    inside: AtomicI64,
    drained: AtomicBool,
}

impl Census {
    /// Raises or lowers the count. True if it is zero now: the caller looks whether the component [is drained](Self::is_drained).
    pub(crate) fn count(&self, by: i64) -> bool {
        // Release, pairs with the load in `is_drained`: who reads zero has all that was done inside. Acquire: so has who counts on from here.
        self.inside.fetch_add(by, AcqRel) + by == 0
    }

    /// Whether the component is over. True for one caller only, who closes its feedback edges.
    ///
    /// Asked by whoever closes the outside and by whoever lowers the count to zero. `outside_is_over` has to look whether the edges from
    /// outside are closed, then whether they are empty.
    pub(crate) fn is_drained(&self, outside_is_over: impl FnOnce() -> bool) -> bool {
        if self.drained.load(Relaxed) {
            return false;
        }
        // Between closing or lowering, and looking: of two that do one each at once, the later sees both. Without it neither may, and the
        // run would never end.
        fence(SeqCst);
        // In this order (U3): closed, then empty, then nothing inside.
        outside_is_over() && self.inside.load(Acquire) == 0 && !self.drained.swap(true, AcqRel)
    }

    /// Notes the end of a component that still counts something. True for one caller only.
    pub(crate) fn end(&self) -> bool {
        !self.drained.swap(true, AcqRel)
    }
}

#[cfg(all(test, loom))]
mod model {
    use super::*;
    use thalweg_sync::atomic::AtomicU64;
    use thalweg_sync::cell::Slot;
    use thalweg_sync::sync::Arc;
    use thalweg_sync::{model, thread};

    /// A component with one edge from outside.
    #[derive(Default)]
    struct Cycle {
        census: Census,
        sent: AtomicU64,
        taken: AtomicU64,
        closed: AtomicBool,
        /// What is inside. A slot, so that loom reports an end that comes too early.
        inside: Slot<u32>,
        ends: AtomicU64,
    }

    impl Cycle {
        fn look(&self) {
            let outside_is_over = || self.closed.load(Acquire) && self.taken.load(Acquire) == self.sent.load(Acquire);
            if self.census.is_drained(outside_is_over) {
                // SAFETY: nothing is left inside, so nobody else looks at it.
                self.inside.with_mut(|inside| unsafe { *inside += 1 });
                self.ends.fetch_add(1, Relaxed);
            }
        }

        fn activate(&self) {
            self.census.count(1);
            if self.sent.load(Acquire) > self.taken.load(Relaxed) {
                self.taken.store(1, Release);
                // SAFETY: one kernel, one activation at a time.
                self.inside.with_mut(|inside| unsafe { *inside += 1 });
            }
            if self.census.count(-1) {
                self.look();
            }
        }
    }

    /// A block comes in, the outside closes, the kernel takes the block: whatever comes first, the end is noticed once, and not before the
    /// kernel is done with the block.
    #[test]
    fn the_end_of_a_cycle_is_noticed_once_and_not_too_early() {
        model(|| {
            let cycle = Arc::new(Cycle::default());
            let outside = cycle.clone();
            let source = thread::spawn(move || {
                outside.sent.store(1, Release);
                outside.closed.store(true, Release);
                outside.look();
            });
            cycle.activate();
            let taken = cycle.taken.load(Relaxed) == 1;
            source.join().unwrap();
            if !taken {
                cycle.activate();
            }
            assert_eq!(cycle.ends.load(Relaxed), 1);
        });
    }
}
