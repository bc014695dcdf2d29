//! The semaphore and the locks.

use super::Specification;
use std::collections::BTreeSet;

/// What an operation on a semaphore did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OnSemaphore {
    /// So many permits were taken.
    Acquired(usize),
    /// So many were asked for, and there were not enough.
    Refused(usize),
    /// So many were given back.
    Released(usize),
}

/// A number of permits.
///
/// ```
/// use thalweg_check::history::{History, OnSemaphore, Semaphore};
///
/// let mut history = History::new();
/// let taken = history.add(0, OnSemaphore::Acquired(1), []);
/// history.add(1, OnSemaphore::Acquired(1), [taken]);
/// assert!(history.linearize(Semaphore::new(1)).is_err());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Semaphore(usize);

impl Semaphore {
    /// A semaphore with so many permits.
    pub fn new(permits: usize) -> Self {
        Self(permits)
    }
}

impl Specification for Semaphore {
    type Operation = OnSemaphore;

    fn apply(&mut self, operation: &OnSemaphore) -> bool {
        match *operation {
            OnSemaphore::Acquired(permits) => match self.0.checked_sub(permits) {
                Some(left) => {
                    self.0 = left;
                    true
                }
                None => false,
            },
            OnSemaphore::Refused(permits) => self.0 < permits,
            OnSemaphore::Released(permits) => {
                self.0 += permits;
                true
            }
        }
    }

    fn is_refusal(&self, operation: &OnSemaphore) -> bool {
        matches!(operation, OnSemaphore::Refused(_))
    }
}

/// What an operation on a lock did. The number is that of the thread, or of whatever holds the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OnLock {
    /// It has the lock.
    Locked(usize),
    /// It tried, and somebody has the lock.
    Refused(usize),
    /// It gave the lock back.
    Unlocked(usize),
}

/// Mutual exclusion.
///
/// ```
/// use thalweg_check::history::{History, Lock, OnLock};
///
/// let mut history = History::new();
/// for thread in [1, 2] {
///     let locked = history.add(thread, OnLock::Locked(thread), []);
///     history.add(thread, OnLock::Unlocked(thread), [locked]);
/// }
/// assert!(history.linearize(Lock::new()).is_ok());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Lock(Option<usize>);

impl Lock {
    /// A lock that nobody has.
    pub fn new() -> Self {
        Self(None)
    }
}

impl Specification for Lock {
    type Operation = OnLock;

    fn apply(&mut self, operation: &OnLock) -> bool {
        match *operation {
            OnLock::Locked(thread) => self.0.replace(thread).is_none(),
            OnLock::Refused(_) => self.0.is_some(),
            OnLock::Unlocked(thread) => self.0.take() == Some(thread),
        }
    }

    fn is_refusal(&self, operation: &OnLock) -> bool {
        matches!(operation, OnLock::Refused(_))
    }
}

/// What an operation on a reader–writer lock did. The number is that of the thread, or of whatever holds the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OnReadWriteLock {
    /// It may read.
    Reads(usize),
    /// It tried to, and somebody writes.
    ReadRefused(usize),
    /// It may write.
    Writes(usize),
    /// It tried to, and somebody reads or writes.
    WriteRefused(usize),
    /// It does neither any more.
    Unlocked(usize),
}

/// One writer, or any number of readers.
///
/// ```
/// use thalweg_check::history::{History, OnReadWriteLock, ReadWriteLock};
///
/// let mut history = History::new();
/// let both = [1, 2].map(|thread| history.add(thread, OnReadWriteLock::Reads(thread), []));
/// history.add(3, OnReadWriteLock::Writes(3), both);
/// assert!(history.linearize(ReadWriteLock::new()).is_err());
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ReadWriteLock {
    readers: BTreeSet<usize>,
    writer: Option<usize>,
}

impl ReadWriteLock {
    /// A lock that nobody has.
    pub fn new() -> Self {
        Self::default()
    }
}

impl Specification for ReadWriteLock {
    type Operation = OnReadWriteLock;

    fn apply(&mut self, operation: &OnReadWriteLock) -> bool {
        match *operation {
            OnReadWriteLock::Reads(thread) => self.writer.is_none() && self.readers.insert(thread),
            OnReadWriteLock::ReadRefused(_) => self.writer.is_some(),
            OnReadWriteLock::Writes(thread) => self.readers.is_empty() && self.writer.replace(thread).is_none(),
            OnReadWriteLock::WriteRefused(_) => self.writer.is_some() || !self.readers.is_empty(),
            OnReadWriteLock::Unlocked(thread) if self.writer == Some(thread) => self.writer.take().is_some(),
            OnReadWriteLock::Unlocked(thread) => self.readers.remove(&thread),
        }
    }

    fn is_refusal(&self, operation: &OnReadWriteLock) -> bool {
        matches!(operation, OnReadWriteLock::ReadRefused(_) | OnReadWriteLock::WriteRefused(_))
    }
}
