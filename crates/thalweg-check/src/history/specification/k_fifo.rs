//! The k-FIFO queue.

use super::{Queue, Specification};
use std::collections::VecDeque;
use std::hash::Hash;

/// A queue that gives any of its `k` oldest items.
///
/// After T. Henzinger et al., *Quantitative Relaxation of Concurrent Data Structures*, POPL 2013. A pop may say that
/// it is empty while at most `hidden` items are inside, which others may be about to take.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct KFifo<T> {
    items: VecDeque<T>,
    k: usize,
    least: usize,
    hidden: usize,
}

impl<T> KFifo<T> {
    /// An empty queue that may say that it is full when `least` items are inside.
    ///
    /// # Panics
    ///
    /// If `k` or `least` is 0.
    pub fn new(k: usize, least: usize, hidden: usize) -> Self {
        assert!(k > 0 && least > 0, "k and the least capacity are at least 1, not {k} and {least}");
        Self { items: VecDeque::new(), k, least, hidden }
    }
}

impl<T: Clone + Eq + Hash + std::fmt::Debug> Specification for KFifo<T> {
    type Operation = Queue<T>;

    fn apply(&mut self, operation: &Queue<T>) -> bool {
        match operation {
            Queue::Pushed(item) => {
                self.items.push_back(item.clone());
                true
            }
            Queue::Full => self.items.len() >= self.least,
            Queue::Popped(item) => {
                let place = self.items.iter().take(self.k).position(|known| known == item);
                place.and_then(|place| self.items.remove(place)).is_some()
            }
            Queue::Empty | Queue::Closed => self.items.len() <= self.hidden,
            Queue::Busy | Queue::Left => true,
        }
    }

    fn is_refusal(&self, operation: &Queue<T>) -> bool {
        operation.is_refusal()
    }
}
