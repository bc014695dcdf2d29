//! The bounded FIFO queue.

use super::{Queue, Specification};
use std::collections::VecDeque;
use std::hash::Hash;

/// A FIFO queue whose capacity is a window: it may say that it is full when `least` items are inside, and must when
/// `most` are.
///
/// Queues that reuse memory block by block have such a window: with `N` blocks of `S` entries `(N - 1) * S + 1` to
/// `N * S`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Bounded<T> {
    items: VecDeque<T>,
    least: usize,
    most: usize,
    left: bool,
}

impl<T> Bounded<T> {
    /// An empty queue.
    ///
    /// # Panics
    ///
    /// If `least` is 0 or above `most`.
    pub fn new(least: usize, most: usize) -> Self {
        assert!((1..=most).contains(&least), "a queue that is full with {least} items holds no {most}");
        Self { items: VecDeque::new(), least, most, left: false }
    }
}

impl<T: Clone + Eq + Hash + std::fmt::Debug> Specification for Bounded<T> {
    type Operation = Queue<T>;

    fn apply(&mut self, operation: &Queue<T>) -> bool {
        match operation {
            Queue::Pushed(item) => {
                self.items.push_back(item.clone());
                self.items.len() <= self.most && !self.left
            }
            Queue::Full => self.items.len() >= self.least,
            Queue::Popped(item) => self.items.pop_front().as_ref() == Some(item),
            Queue::Empty => self.items.is_empty(),
            Queue::Busy => true,
            Queue::Left => !std::mem::replace(&mut self.left, true),
            Queue::Closed => self.left && self.items.is_empty(),
        }
    }

    fn is_refusal(&self, operation: &Queue<T>) -> bool {
        operation.is_refusal()
    }
}
