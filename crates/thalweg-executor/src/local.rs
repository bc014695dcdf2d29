//! The workers' local queues.

use crate::task::TaskRef;
use core::fmt;
use thalweg_queue::TryPushError;
use thalweg_queue::stealing::{Stealer, fifo};

/// A worker's own queue of tasks, from which other workers steal.
///
/// The worker owns it and is the only one to push and pop; thieves have the other end. A task that was pushed is popped once, or stolen once.
pub trait LocalQueue: Sized + Send + 'static {
    /// The other end. All workers have it.
    type Thief: Send + Sync + 'static;

    /// An empty queue.
    fn new() -> (Self, Self::Thief);

    /// Pushes, or gives the task back if there is no room.
    fn push(&mut self, task: TaskRef) -> Result<(), TaskRef>;

    /// Pops the oldest task that thieves have left. `None` if there is none: then the queue is empty.
    fn pop(&mut self) -> Option<TaskRef>;

    /// Takes about half of the tasks out, the oldest: there was no room. May take none.
    fn overflow(&mut self, into: &mut Vec<TaskRef>);

    /// Whether there are none, now or lately.
    fn is_empty(&self) -> bool;

    /// Lets thieves take everything that is in the queue.
    fn share(&mut self);

    /// Appends what is stolen at once. False if nothing was.
    fn steal(thief: &Self::Thief, into: &mut Vec<TaskRef>) -> bool;

    /// Whether there is something to steal, now or lately.
    fn has_some(thief: &Self::Thief) -> bool;
}

/// FIFO [BWoS](thalweg_queue::stealing), in blocks: the owner pushes and pops without an atomic operation, and a thief takes all that is left of a block
/// at once.
///
/// Thieves see neither the oldest block nor the newest until the owner shares them, which it does while others are idle. Eight blocks of 32 unless it is
/// said.
pub struct Bwos<const BLOCKS: usize = 8, const ENTRIES: usize = 32> {
    owner: fifo::Owner<TaskRef>,
}

impl<const BLOCKS: usize, const ENTRIES: usize> LocalQueue for Bwos<BLOCKS, ENTRIES> {
    type Thief = Stealer<TaskRef>;

    fn new() -> (Self, Self::Thief) {
        const { assert!(BLOCKS >= 2 && ENTRIES >= 1, "BWoS has at least two blocks of at least one entry") };
        let (owner, thief) = fifo(BLOCKS, ENTRIES).expect("the numbers are checked above");
        (Self { owner }, thief)
    }

    #[inline]
    fn push(&mut self, task: TaskRef) -> Result<(), TaskRef> {
        self.owner.push(task).map_err(|refused| match refused {
            TryPushError::Full(task) | TryPushError::Busy(task) | TryPushError::Closed(task) => task,
        })
    }

    #[inline]
    fn pop(&mut self) -> Option<TaskRef> {
        self.owner.pop()
    }

    fn overflow(&mut self, into: &mut Vec<TaskRef>) {
        let half = self.owner.len() / 2;
        into.extend(core::iter::from_fn(|| self.owner.pop()).take(half));
    }

    fn is_empty(&self) -> bool {
        self.owner.is_empty()
    }

    fn share(&mut self) {
        self.owner.share();
    }

    fn steal(thief: &Self::Thief, into: &mut Vec<TaskRef>) -> bool {
        thief.steal_into(into, usize::MAX).is_ok()
    }

    fn has_some(thief: &Self::Thief) -> bool {
        !thief.is_empty()
    }
}

impl<const BLOCKS: usize, const ENTRIES: usize> fmt::Debug for Bwos<BLOCKS, ENTRIES> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bwos").field("len", &self.owner.len()).finish_non_exhaustive()
    }
}
