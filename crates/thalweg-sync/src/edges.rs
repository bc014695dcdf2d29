//! Orderings with names, so that tests can weaken them.
//!
//! Every ordering that carries an edge goes through [`edge`] with the edge's name. Then a test can weaken one edge and see its client fail,
//! and a search can find the weakest orderings that still hold. In an ordinary build `edge` is its second argument; with the feature
//! `instrument`, or under loom, it looks into a table. Fences go through [`fenced`], and two steps of which one has to come first
//! through [`in_order`]: the table can leave out the fence, and swap the steps.
//!
//! ```
//! use thalweg_sync::atomic::{AtomicU32, Ordering::{Acquire, Release}};
//! use thalweg_sync::edges::edge;
//!
//! let ready = AtomicU32::new(0);
//! // (1) Release, pairs with (2).
//! ready.store(1, edge("ready.1", Release));
//! // (2) Acquire, pairs with (1).
//! assert_eq!(ready.load(edge("ready.2", Acquire)), 1);
//! ```

use core::sync::atomic::Ordering;

/// `ordering`: no table in this build.
#[cfg(not(any(loom, feature = "instrument")))]
#[inline(always)]
pub const fn edge(_name: &'static str, ordering: Ordering) -> Ordering {
    ordering
}

/// Does `fence`: no table in this build.
#[cfg(not(any(loom, feature = "instrument")))]
#[inline(always)]
pub fn fenced(_name: &'static str, fence: impl FnOnce()) {
    fence();
}

/// Does `first`, then `second`: no table in this build.
#[cfg(not(any(loom, feature = "instrument")))]
#[inline(always)]
pub fn in_order(_name: &'static str, first: impl FnOnce(), second: impl FnOnce()) {
    first();
    second();
}

#[cfg(any(loom, feature = "instrument"))]
pub use table::{edge, fenced, in_order};

/// The table behind `edge`.
#[cfg(any(loom, feature = "instrument"))]
pub mod table {
    use super::Ordering;
    use alloc::collections::BTreeMap;
    use alloc::string::String;
    use core::cell::{Cell, RefCell};
    use std::sync::{Arc, Mutex, PoisonError};

    /// What makes an edge.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum Strength {
        /// An access with this ordering. In the place of a fence: no fence.
        Ordering(Ordering),
        /// A fence.
        Fence,
        /// Two steps, as they stand.
        InOrder,
        /// The same, the second one first.
        Swapped,
    }

    impl Strength {
        /// What is one notch weaker. Empty for what cannot be weakened.
        ///
        /// An access that is `AcqRel` and only loads or only stores is an acquire or a release: under an engine, that
        /// is what it means.
        pub fn weaker(self) -> &'static [Strength] {
            use Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
            match self {
                Self::Ordering(SeqCst) => &[Self::Ordering(AcqRel)],
                Self::Ordering(AcqRel) => &[Self::Ordering(Acquire), Self::Ordering(Release)],
                Self::Ordering(Acquire | Release) => &[Self::Ordering(Relaxed)],
                Self::Fence => &[Self::Ordering(Relaxed)],
                Self::InOrder => &[Self::Swapped],
                Self::Ordering(_) | Self::Swapped => &[],
            }
        }
    }

    /// Edges that are not as the source has them.
    #[derive(Debug, Default)]
    pub struct Table {
        replaced: BTreeMap<String, Strength>,
        /// What says of the edges that this one does not replace. None: the source.
        base: Option<Arc<Table>>,
        /// What was asked for, as the source has it. None: not noted.
        met: Option<Mutex<BTreeMap<&'static str, Strength>>>,
    }

    impl Table {
        /// Everything as in the source.
        pub fn new() -> Self {
            Self::default()
        }

        /// Everything as in the source; notes which edges are met.
        pub fn survey() -> Self {
            Self { met: Some(Mutex::default()), ..Self::default() }
        }

        /// Everything as in `base`.
        pub fn over(base: Arc<Self>) -> Self {
            Self { base: Some(base), ..Self::default() }
        }

        /// With the edge `name` as `strength`.
        pub fn with(mut self, name: &str, strength: Strength) -> Self {
            self.replaced.insert(name.into(), strength);
            self
        }

        /// The edges that were met, and what they are in the source. Empty unless this is a [`survey`](Self::survey).
        pub fn met(&self) -> BTreeMap<&'static str, Strength> {
            let met = self.met.as_ref();
            met.map(|met| met.lock().unwrap_or_else(PoisonError::into_inner).clone()).unwrap_or_default()
        }

        fn strength(&self, name: &'static str, source: Strength) -> Strength {
            if let Some(met) = &self.met {
                met.lock().unwrap_or_else(PoisonError::into_inner).insert(name, source);
            }
            let base = self.base.as_ref().map_or(source, |base| base.strength(name, source));
            self.replaced.get(name).copied().unwrap_or(base)
        }
    }

    std::thread_local! {
        // Engines and loom run all threads of a client on one OS thread, so clients on other threads see nothing of
        // this.
        static TABLE: RefCell<Option<Arc<Table>>> = const { RefCell::new(None) };
        /// Whether there is a table: the one thing that is looked at when there is none.
        static THERE: Cell<bool> = const { Cell::new(false) };
    }

    /// `ordering`, or what the table says of `name`.
    #[inline]
    pub fn edge(name: &'static str, ordering: Ordering) -> Ordering {
        match strength(name, Strength::Ordering(ordering)) {
            Strength::Ordering(ordering) => ordering,
            Strength::Fence | Strength::InOrder | Strength::Swapped => ordering,
        }
    }

    /// Does `fence`, unless the table leaves out `name`.
    #[inline]
    pub fn fenced(name: &'static str, fence: impl FnOnce()) {
        if strength(name, Strength::Fence) == Strength::Fence {
            fence();
        }
    }

    /// Does `first`, then `second`; the other way round if the table swaps `name`.
    #[inline]
    pub fn in_order(name: &'static str, first: impl FnOnce(), second: impl FnOnce()) {
        if strength(name, Strength::InOrder) == Strength::InOrder {
            first();
            second();
        } else {
            second();
            first();
        }
    }

    #[inline]
    fn strength(name: &'static str, source: Strength) -> Strength {
        if !THERE.get() {
            return source;
        }
        TABLE.with_borrow(|table| table.as_ref().map_or(source, |table| table.strength(name, source)))
    }

    /// From now on, the edges of this OS thread are as `table` says; without one, as in the source.
    ///
    /// Engines run clients on threads of their own, so a client that is to be weakened calls this first.
    pub fn install(table: Option<Arc<Table>>) {
        THERE.set(table.is_some());
        TABLE.set(table);
    }

    /// Runs `client` on this thread with the edges as `table` says, and then as in the source.
    pub fn under<R>(table: Arc<Table>, client: impl FnOnce() -> R) -> R {
        /// Restores the edges, also when the client panics.
        struct Restore;
        impl Drop for Restore {
            fn drop(&mut self) {
                install(None);
            }
        }
        let _restore = Restore;
        install(Some(table));
        client()
    }

    /// Runs `client` on this thread with the edge `name` Relaxed, without its fence, or with its two steps swapped.
    pub fn weakened(name: &'static str, client: impl FnOnce()) {
        under(Arc::new(Table::new().with(name, Strength::Ordering(Ordering::Relaxed))), client);
    }
}
