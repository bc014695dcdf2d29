//! The register and the counter.

use super::Specification;
use std::fmt::Debug;
use std::hash::Hash;

/// What an operation on a register did.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum OnRegister<T> {
    /// A write of this value.
    Wrote(T),
    /// A read of this value.
    Read(T),
    /// The first value was written, and the second one was there before.
    Swapped(T, T),
    /// The second value was to be written if the first was there; what was there, as `Ok` if so.
    Exchanged(T, T, Result<T, T>),
}

/// A place for one value.
///
/// ```
/// use thalweg_check::history::{History, OnRegister, Register};
///
/// let mut history = History::new();
/// history.add(0, OnRegister::Exchanged(0, 1, Ok(0)), []);
/// history.add(1, OnRegister::Exchanged(0, 2, Err(1)), []);
/// assert!(history.linearize(Register::new(0)).is_ok());
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Register<T>(T);

impl<T> Register<T> {
    /// A register with this value.
    pub fn new(value: T) -> Self {
        Self(value)
    }
}

impl<T: Clone + Eq + Hash + Debug> Specification for Register<T> {
    type Operation = OnRegister<T>;

    fn apply(&mut self, operation: &OnRegister<T>) -> bool {
        match operation {
            OnRegister::Wrote(value) => {
                self.0 = value.clone();
                true
            }
            OnRegister::Read(value) => self.0 == *value,
            OnRegister::Swapped(value, before) => std::mem::replace(&mut self.0, value.clone()) == *before,
            OnRegister::Exchanged(expected, value, result) => {
                let there = self.0.clone();
                if there == *expected {
                    self.0 = value.clone();
                    *result == Ok(there)
                } else {
                    *result == Err(there)
                }
            }
        }
    }
}

/// What an operation on a counter did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OnCounter {
    /// So much was added.
    Added(i64),
    /// So much was added, and the counter was at the second number before.
    Fetched(i64, i64),
    /// A read of this number.
    Read(i64),
}

/// A number that is added to.
///
/// ```
/// use thalweg_check::history::{Counter, History, OnCounter};
///
/// let mut history = History::new();
/// let added = [1, 2].map(|thread| history.add(thread, OnCounter::Added(1), []));
/// history.add(0, OnCounter::Read(1), added); // one was lost
/// assert!(history.linearize(Counter::new(0)).is_err());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Counter(i64);

impl Counter {
    /// A counter at this number.
    pub fn new(at: i64) -> Self {
        Self(at)
    }
}

impl Specification for Counter {
    type Operation = OnCounter;

    fn apply(&mut self, operation: &OnCounter) -> bool {
        let before = self.0;
        match *operation {
            OnCounter::Added(more) | OnCounter::Fetched(more, _) => self.0 = before.wrapping_add(more),
            OnCounter::Read(_) => {}
        }
        match *operation {
            OnCounter::Added(_) => true,
            OnCounter::Fetched(_, seen) | OnCounter::Read(seen) => seen == before,
        }
    }
}
