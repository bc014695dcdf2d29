//! Which end of a queue with one producer and one consumer has left, or is closed.

use crate::edges::edge;
use thalweg_sync::CachePadded;
use thalweg_sync::atomic::AtomicBool;
use thalweg_sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// Two notes, each by its own end, or by who closes.
#[derive(Debug)]
pub(crate) struct Ends {
    producer_gone: CachePadded<AtomicBool>,
    consumer_gone: CachePadded<AtomicBool>,
}

impl Ends {
    /// Both are there.
    pub(crate) fn new() -> Self {
        Self { producer_gone: CachePadded(AtomicBool::new(false)), consumer_gone: CachePadded(AtomicBool::new(false)) }
    }

    /// Notes that the producer is gone.
    pub(crate) fn leave_producer(&self) {
        // (ends.1) Release, pairs with (ends.2): every push comes before the note.
        self.producer_gone.store(true, edge("ends.1", Release));
    }

    /// Whether the producer is gone; if so, every item it pushed is visible now.
    #[inline(always)]
    pub(crate) fn producer_gone(&self) -> bool {
        // (ends.2) Acquire, pairs with (ends.1): Relaxed could report the end before the last items.
        self.producer_gone.load(edge("ends.2", Acquire))
    }

    /// Notes that the consumer is gone.
    pub(crate) fn leave_consumer(&self) {
        // Relaxed: the producer acts on the note alone; what is still in the queue is dropped under the `Arc`'s own edge.
        self.consumer_gone.store(true, Relaxed);
    }

    /// Notes that each is gone for the other one, as if it were.
    pub(crate) fn close(&self) {
        self.leave_consumer();
        self.leave_producer();
    }

    /// Whether the consumer is gone.
    #[inline(always)]
    pub(crate) fn consumer_gone(&self) -> bool {
        // Relaxed: see `leave_consumer`.
        self.consumer_gone.load(Relaxed)
    }
}

/// Gives both ends of a queue with [`Ends`] what all have: `close`. `$ends` and `$wait` are those of `$end`.
macro_rules! ended {
    ($([$($bounds:tt)*] $Handle:ty;)+ |$end:ident| $ends:expr, $wait:expr) => {$(
        impl<$($bounds)*> $Handle {
            $crate::handles::close! { |$end| { $ends.close(); $wait.notify_all() } }
        }
    )+};
}

pub(crate) use ended;
