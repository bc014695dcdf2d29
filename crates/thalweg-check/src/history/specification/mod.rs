//! Sequential objects that say which results are right.

mod bounded;
mod cells;
mod deque;
mod drop_old;
mod k_fifo;
mod keyed;
mod locks;
mod stack;

pub use bounded::Bounded;
pub use cells::{Counter, OnCounter, OnRegister, Register};
pub use deque::{Deque, Steal, Task};
pub use drop_old::DropOld;
pub use k_fifo::KFifo;
pub use keyed::{Map, OnMap, OnSet, Set};
pub use locks::{Lock, OnLock, OnReadWriteLock, OnSemaphore, ReadWriteLock, Semaphore};
pub use stack::Stack;

use std::fmt::Debug;
use std::hash::Hash;

/// A sequential object in some state.
///
/// Two that are equal must answer everything alike from then on. One of your own says of each operation, with its result, whether it may
/// come next:
///
/// ```
/// use thalweg_check::history::{History, Specification};
///
/// /// A latch: closed until it is opened once. An operation is what it gave.
/// #[derive(Clone, PartialEq, Eq, Hash)]
/// struct Latch { open: bool }
///
/// impl Specification for Latch {
///     type Operation = (&'static str, bool);
///     fn apply(&mut self, &(operation, result): &Self::Operation) -> bool {
///         match operation {
///             "open" => result != std::mem::replace(&mut self.open, true), // true for the first
///             _ => result == self.open,
///         }
///     }
/// }
///
/// let mut history = History::new();
/// let first = history.add(0, ("open", true), []);
/// history.add(1, ("is_open", false), [first]); // comes after it
/// assert!(history.linearize(Latch { open: false }).is_err());
/// ```
pub trait Specification: Clone + Eq + Hash {
    /// An operation together with its result.
    type Operation: Debug;

    /// Whether `operation` may come next, with this result. If so, the object is in the state after it; if not, the
    /// state is lost.
    fn apply(&mut self, operation: &Self::Operation) -> bool;

    /// Whether `operation` only says why nothing was done, as that a queue is full. See [`History::linearize_apart`](super::History::linearize_apart).
    fn is_refusal(&self, operation: &Self::Operation) -> bool {
        let _ = operation;
        false
    }
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
