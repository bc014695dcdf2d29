//! The queue that overwrites its oldest items.

use super::{Queue, Specification};
use std::collections::VecDeque;
use std::hash::Hash;

/// A FIFO queue that is never full: pushes overwrite the oldest items. The newest `keep` items are never overwritten,
/// and no more than `most` are ever inside.
///
/// With `N` blocks of `S` entries that are overwritten whole, `keep` is `(N - 1) * S` and `most` is `N * S`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DropOld<T> {
    /// Not popped, not passed over, and not overwritten for certain.
    items: VecDeque<T>,
    keep: usize,
    most: usize,
}

impl<T> DropOld<T> {
    /// An empty queue.
    ///
    /// # Panics
    ///
    /// If `keep` is 0 or above `most`.
    pub fn new(keep: usize, most: usize) -> Self {
        assert!((1..=most).contains(&keep), "a queue of {most} items cannot keep {keep}");
        Self { items: VecDeque::new(), keep, most }
    }
}

impl<T: Clone + Eq + Hash + std::fmt::Debug> Specification for DropOld<T> {
    type Operation = Queue<T>;

    fn apply(&mut self, operation: &Queue<T>) -> bool {
        match operation {
            Queue::Pushed(item) => {
                self.items.push_back(item.clone());
                if self.items.len() > self.most {
                    self.items.pop_front();
                }
                true
            }
            Queue::Popped(item) => {
                let Some(place) = self.items.iter().position(|known| known == item) else { return false };
                // The items before it must have been overwritten, the youngest of them too.
                let may_be_gone = place == 0 || self.items.len() - (place - 1) > self.keep;
                self.items.drain(..=place);
                may_be_gone
            }
            Queue::Empty | Queue::Closed => self.items.is_empty(),
            Queue::Full => false,
            Queue::Busy | Queue::Left => true,
        }
    }

    fn is_refusal(&self, operation: &Queue<T>) -> bool {
        operation.is_refusal()
    }
}
