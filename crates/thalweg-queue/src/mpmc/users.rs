//! How many handles a side of the queue has, as a type: what only contention needs is there for many, and nowhere else.

use crate::edges::edge;
use core::fmt::Debug;
use thalweg_sync::atomic::AtomicU64;
use thalweg_sync::atomic::Ordering::{self, Relaxed};

/// How many handles a side of a queue has: [`One`] or [`Many`]. A parameter of the other side's handles, which do the same for both, but for
/// what they need not look for where there is one.
pub trait Users: sealed::Sealed + Debug + Send + Sync + 'static {
    #[doc(hidden)]
    const MANY: bool;
}

/// One handle, which cannot be cloned and whose operations take `&mut self`.
#[derive(Clone, Copy, Debug)]
pub enum One {}

/// Any number of handles: clones, whose operations take `&self`.
#[derive(Clone, Copy, Debug)]
pub enum Many {}

impl Users for One {
    const MANY: bool = false;
}

impl Users for Many {
    const MANY: bool = true;
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::One {}
    impl Sealed for super::Many {}
}

/// The ordering of an edge from one handle of a side to another one of the same side. One alone has no such edge: what the other one would
/// tell, it has done itself.
#[inline(always)]
pub(crate) fn among<U: Users>(name: &'static str, ordering: Ordering) -> Ordering {
    if U::MANY { edge(name, ordering) } else { Relaxed }
}

/// Moves a word that one side writes from `from` to `to`, unless another handle of that side has.
#[inline(always)]
#[track_caller]
pub(crate) fn advance<U: Users>(word: &AtomicU64, from: u64, to: u64, ordering: Ordering) {
    if U::MANY {
        // An exact exchange does what the paper's MAX is for, and stays right when the round wraps. Failure is Relaxed: somebody else
        // has done it, and it comes before what we do next by coherence.
        let _ = word.compare_exchange(from, to, ordering, Relaxed);
    } else {
        word.store(to, ordering);
    }
}
