//! The deque of one owner, with thieves.

use super::Specification;
use std::collections::VecDeque;
use std::fmt::Debug;
use std::hash::Hash;

/// What an operation on a deque did.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Task<T> {
    /// The owner put this item in.
    Put(T),
    /// The owner found no room.
    Full,
    /// The owner got this item.
    Got(T),
    /// The owner found nothing.
    Empty,
    /// A thief took this item.
    Stolen(T),
    /// A thief found nothing.
    Nothing,
    /// The owner or a thief was told to try again.
    Retry,
}

/// Which item a thief takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Steal {
    /// The oldest.
    Oldest,
    /// Any.
    Any,
}

/// A stack for its owner, from which thieves take.
///
/// The newest `hidden` items may be out of the thieves' sight. The owner may find no room when `least` items are
/// inside.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Deque<T> {
    items: VecDeque<T>,
    least: usize,
    hidden: usize,
    steal: Steal,
}

impl<T> Deque<T> {
    /// An empty deque.
    pub fn new(least: usize, hidden: usize, steal: Steal) -> Self {
        Self { items: VecDeque::new(), least, hidden, steal }
    }
}

impl<T: Clone + Eq + Hash + Debug> Specification for Deque<T> {
    type Operation = Task<T>;

    fn apply(&mut self, operation: &Task<T>) -> bool {
        match operation {
            Task::Put(item) => {
                self.items.push_back(item.clone());
                true
            }
            Task::Full => self.items.len() >= self.least,
            Task::Got(item) => self.items.pop_back().as_ref() == Some(item),
            Task::Empty => self.items.is_empty(),
            Task::Stolen(item) => match self.steal {
                Steal::Oldest => self.items.pop_front().as_ref() == Some(item),
                Steal::Any => {
                    let place = self.items.iter().position(|known| known == item);
                    place.and_then(|place| self.items.remove(place)).is_some()
                }
            },
            Task::Nothing => self.items.len() <= self.hidden,
            Task::Retry => true,
        }
    }

    fn is_refusal(&self, operation: &Task<T>) -> bool {
        matches!(operation, Task::Full | Task::Empty | Task::Nothing | Task::Retry)
    }
}
