//! The stack.

use super::{Queue, Specification};
use std::fmt::Debug;
use std::hash::Hash;

/// A stack: a pop gives the newest item. Its operations are those of a [`Queue`].
///
/// A push may find it full when `least` items are inside, and has to when `most` are.
///
/// ```
/// use thalweg_check::history::{History, Queue, Stack};
///
/// let mut history = History::new();
/// let pushed = [1, 2].map(|item| history.add(0, Queue::Pushed(item), []));
/// history.add(0, Queue::Popped(2), pushed);
/// assert!(history.linearize(Stack::unbounded()).is_ok());
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Stack<T> {
    items: Vec<T>,
    least: usize,
    most: usize,
}

impl<T> Stack<T> {
    /// An empty stack.
    pub fn new(least: usize, most: usize) -> Self {
        Self { items: Vec::new(), least, most }
    }

    /// An empty stack that is never full.
    pub fn unbounded() -> Self {
        Self::new(usize::MAX, usize::MAX)
    }
}

impl<T: Clone + Eq + Hash + Debug> Specification for Stack<T> {
    type Operation = Queue<T>;

    fn apply(&mut self, operation: &Queue<T>) -> bool {
        match operation {
            Queue::Pushed(item) => {
                self.items.push(item.clone());
                self.items.len() <= self.most
            }
            Queue::Full => self.items.len() >= self.least,
            Queue::Popped(item) => self.items.pop().as_ref() == Some(item),
            Queue::Empty => self.items.is_empty(),
            Queue::Busy | Queue::Left => true,
            Queue::Closed => false,
        }
    }

    fn is_refusal(&self, operation: &Queue<T>) -> bool {
        operation.is_refusal()
    }
}
