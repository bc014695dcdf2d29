//! How many handles of each kind a queue has.

use crate::TryPopError;
use crate::edges::edge;
use thalweg_sync::atomic::AtomicUsize;
use thalweg_sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// Two counts. One that has reached zero stays there.
#[derive(Debug)]
pub(crate) struct Handles {
    producers: AtomicUsize,
    consumers: AtomicUsize,
}

impl Handles {
    /// One of each.
    pub(crate) fn new() -> Self {
        Self { producers: AtomicUsize::new(1), consumers: AtomicUsize::new(1) }
    }

    /// One producer more, cloned from one that is there.
    pub(crate) fn add_producer(&self) {
        // Relaxed, here and below: the handle that is cloned keeps the count above zero meanwhile.
        self.producers.fetch_add(1, Relaxed);
    }

    /// One consumer more, cloned from one that is there.
    pub(crate) fn add_consumer(&self) {
        self.consumers.fetch_add(1, Relaxed);
    }

    /// One producer less. True for the last one.
    pub(crate) fn leave_producer(&self) -> bool {
        // (handles.1) Release, pairs with (handles.2): what was pushed comes before the count.
        self.producers.fetch_sub(1, edge("handles.1", Release)) == 1
    }

    /// One consumer less. True for the last one.
    pub(crate) fn leave_consumer(&self) -> bool {
        // Relaxed: nothing that the consumer did is read by who sees the count.
        self.consumers.fetch_sub(1, Relaxed) == 1
    }

    pub(crate) fn producers_gone(&self) -> bool {
        // (handles.2) Acquire, pairs with (handles.1): everything they pushed is visible. Relaxed could report the end before the
        // last items.
        self.producers.load(edge("handles.2", Acquire)) == 0
    }

    /// As [`last_look`], with these producers.
    #[inline(always)]
    pub(crate) fn last_look<R>(&self, mut pop: impl FnMut() -> Result<R, TryPopError>) -> Result<R, TryPopError> {
        last_look(self, Self::producers_gone, |_| pop())
    }

    pub(crate) fn consumers_gone(&self) -> bool {
        // Relaxed: a refusal touches nothing else.
        self.consumers.load(Relaxed) == 0
    }
}

/// Pops from `queue` by `pop`. A producer may have pushed after it looked and before it left, so it looks again before this says `Closed`.
///
/// A `pop` that is a function to be inlined is; a closure around it is one function for all who call this, and called.
#[inline(always)]
pub(crate) fn last_look<'a, Q, R>(
    queue: &'a Q,
    producers_gone: impl Fn(&'a Q) -> bool,
    mut pop: impl FnMut(&'a Q) -> Result<R, TryPopError>,
) -> Result<R, TryPopError> {
    // One call in a loop, not two: of two, neither is inlined, and what a call returns goes through memory, in pieces that the caller
    // waits for when it takes them as a whole.
    let mut last = false;
    loop {
        match pop(queue) {
            Ok(popped) => return Ok(popped),
            Err(_) if last => return Err(TryPopError::Closed),
            Err(TryPopError::Empty) if producers_gone(queue) => last = true,
            Err(refused) => return Err(refused),
        }
    }
}
