//! The names of the ordering edges.
//!
//! Every ordering that carries an edge goes through [`edge`] with the edge's name, so that a model test can weaken
//! one edge and see its client fail. In an ordinary build `edge` is its second argument.

use thalweg_sync::atomic::Ordering;

/// `ordering`, unless a test has weakened the edge `name` on this thread.
#[cfg(not(loom))]
#[inline(always)]
pub(crate) const fn edge(_name: &'static str, ordering: Ordering) -> Ordering {
    ordering
}

/// Does `fence`, unless a test has weakened the edge `name` on this thread.
#[cfg(all(feature = "std", not(loom)))]
#[inline(always)]
pub(crate) fn fenced(_name: &'static str, fence: impl FnOnce()) {
    fence();
}

#[cfg(loom)]
pub(crate) use table::{edge, fenced};

/// The table behind [`edge`](table::edge).
#[cfg(loom)]
#[allow(clippy::disallowed_macros, reason = "the thread's own table of its own test: no model sees it")]
pub mod table {
    use super::Ordering;
    use std::cell::Cell;

    std::thread_local! {
        // A model runs all its threads on the thread that called it, so models in other test threads see nothing of
        // this.
        static WEAKENED: Cell<Option<&'static str>> = const { Cell::new(None) };
    }

    pub(crate) fn edge(name: &'static str, ordering: Ordering) -> Ordering {
        if WEAKENED.get() == Some(name) { Ordering::Relaxed } else { ordering }
    }

    pub(crate) fn fenced(name: &'static str, fence: impl FnOnce()) {
        if WEAKENED.get() != Some(name) {
            fence();
        }
    }

    /// Runs `client` with the edge `name` Relaxed, or without its fence.
    pub fn weakened(name: &'static str, client: impl FnOnce()) {
        /// Restores the edge, also when the client panics, as it should.
        struct Restore;
        impl Drop for Restore {
            fn drop(&mut self) {
                WEAKENED.set(None);
            }
        }
        let _restore = Restore;
        WEAKENED.set(Some(name));
        client();
    }
}
