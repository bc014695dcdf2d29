//! Histories of operations, and whether they are linearizable.
//!
//! A queue that many threads use is *linearizable* if all its operations can be put into one order in which a
//! sequential queue would have given the same results, and in which an operation that had ended before another began
//! still comes before it.
//!
//! ```
//! use thalweg_check::history::{Bounded, History, Queue};
//!
//! let mut history = History::new();
//! let pushed = history.add(0, Queue::Pushed('a'), []);
//! history.add(1, Queue::Empty, []); // overlaps the push: may come first
//! assert!(history.linearize(Bounded::new(1, 1)).is_ok());
//! history.add(1, Queue::Empty, [pushed]); // comes after it: `a` must be there
//! assert!(history.linearize(Bounded::new(1, 1)).is_err());
//! ```
//!
//! # The order of operations
//!
//! Natively, and under the fuzzer, an operation comes before another if it had ended when the other began, by one
//! clock: [`Recorder::native`]. On weak memory there is no clock that all threads agree on. There an operation comes
//! before another if its end *happens before* the other's beginning, so a history is a partial order:
//! [`Check::linearizable`](crate::Check::linearizable). Any partial order will do for [`History::linearize`].
//!
//! # Specifications
//!
//! A [`Specification`] is a sequential object that says of each operation, with its result, whether it may come next.
//!
//! | object | specification |
//! |---|---|
//! | FIFO queue with a window of capacities | [`Bounded`] |
//! | queue that may give any of its k oldest items | [`KFifo`] |
//! | stack | [`Stack`] |
//! | stack of an owner, with thieves | [`Deque`] |
//! | queue that overwrites its oldest items | [`DropOld`] |
//! | set, map | [`Set`], [`Map`] |
//! | register, counter | [`Register`], [`Counter`] |
//! | semaphore, lock, reader–writer lock | [`Semaphore`], [`Lock`], [`ReadWriteLock`] |
//! | yours | [`Specification`] has an example of ten lines |
//!
//! An answer that only says "try again" ([`Queue::Busy`], [`Task::Retry`]) is right at any time.

mod checked;
mod linearize;
mod record;
mod specification;

pub use linearize::NotLinearizable;
pub use record::{Log, Recorder};
pub use specification::{
    Bounded, Counter, Deque, DropOld, KFifo, Lock, Map, OnCounter, OnLock, OnMap, OnReadWriteLock, OnRegister,
    OnSemaphore, OnSet, Queue, ReadWriteLock, Register, Semaphore, Set, Specification, Stack, Steal, Task,
};

use std::collections::BTreeMap;

/// An operation that has ended.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Call<O> {
    /// Who did it.
    pub thread: usize,
    /// What it did, with its result.
    pub operation: O,
    /// Calls that had ended when it began, as their numbers. What came before those came before it too.
    pub after: Vec<usize>,
}

/// Operations, and which of them had ended when others began.
///
/// Calls are numbered in the order in which they are added.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct History<O> {
    calls: Vec<Call<O>>,
}

impl<O> Default for History<O> {
    fn default() -> Self {
        Self::new()
    }
}

impl<O> History<O> {
    /// Without operations.
    pub fn new() -> Self {
        Self { calls: Vec::new() }
    }

    /// Adds an operation of `thread` that began when the calls in `after`, and all that came before those, had ended.
    /// Returns its number.
    ///
    /// # Panics
    ///
    /// If `after` names a call that is not there yet.
    pub fn add(&mut self, thread: usize, operation: O, after: impl IntoIterator<Item = usize>) -> usize {
        let number = self.calls.len();
        let after = after.into_iter().collect::<Vec<_>>();
        if let Some(call) = after.iter().find(|&&call| call >= number) {
            panic!("call {number} cannot come after call {call}, which is not there yet");
        }
        self.calls.push(Call { thread, operation, after });
        number
    }

    /// Operations with the times at which they began and ended: (thread, operation, begin, end). What ends before
    /// another begins comes before it.
    ///
    /// # Panics
    ///
    /// If two calls of one thread overlap.
    pub fn from_intervals(intervals: impl IntoIterator<Item = (usize, O, u64, u64)>) -> Self {
        let mut intervals = intervals.into_iter().collect::<Vec<_>>();
        intervals.sort_by_key(|&(_, _, begin, end)| (begin, end));
        // Of each thread, the ends of its calls so far, with their numbers. They rise.
        let mut ended: BTreeMap<usize, Vec<(u64, usize)>> = BTreeMap::new();
        let mut history = Self::new();
        for (thread, operation, begin, end) in intervals {
            let before = |(other, ends): (&usize, &Vec<(u64, usize)>)| {
                let over = if *other == thread { ends.len() } else { ends.partition_point(|&(end, _)| end < begin) };
                ends[..over].last().map(|&(_, call)| call)
            };
            let after = ended.iter().filter_map(before).collect::<Vec<_>>();
            let ends = ended.entry(thread).or_default();
            assert!(
                ends.last().is_none_or(|&(last, _)| last <= begin),
                "two calls of thread {thread} overlap at {begin}"
            );
            ends.push((end, history.add(thread, operation, after)));
        }
        history
    }

    /// All calls.
    pub fn calls(&self) -> &[Call<O>] {
        &self.calls
    }
}
