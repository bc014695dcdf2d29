//! Sequential objects that say which results are right.

mod bounded;
mod deque;
mod drop_old;
mod k_fifo;

pub use bounded::Bounded;
pub use deque::{Deque, Steal, Task};
pub use drop_old::DropOld;
pub use k_fifo::KFifo;

use std::fmt::Debug;
use std::hash::Hash;

/// A sequential object in some state.
///
/// Two that are equal must answer everything alike from then on.
pub trait Specification: Clone + Eq + Hash {
    /// An operation together with its result.
    type Operation: Debug;

    /// Whether `operation` may come next, with this result. If so, the object is in the state after it; if not, the
    /// state is lost.
    fn apply(&mut self, operation: &Self::Operation) -> bool;

    /// Whether `operation` only says why nothing was done.
    fn is_refusal(&self, operation: &Self::Operation) -> bool;
}

impl<T> Queue<T> {
    fn is_refusal(&self) -> bool {
        matches!(self, Self::Full | Self::Empty | Self::Busy | Self::Closed)
    }
}

/// What an operation on a queue did.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Queue<T> {
    /// A push of this item.
    Pushed(T),
    /// A push that found the queue full.
    Full,
    /// A pop that gave this item.
    Popped(T),
    /// A pop that found the queue empty.
    Empty,
    /// A push or a pop that was told to try again.
    Busy,
    /// The last producer left.
    Left,
    /// A pop that found the queue empty and without producers.
    Closed,
}
