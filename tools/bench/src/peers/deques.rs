//! Queues with one owner, from which others steal: published ones, and what they cost more than: a plain collection.

use std::collections::VecDeque;

use crossbeam_deque::Steal;

use crate::reached::reached;
use crate::workloads::stealing::{CAPACITY, Deque, Owner, Thief};

/// crossbeam-deque, LIFO. Grows and shrinks.
#[derive(Debug)]
pub struct CrossbeamLifo;
/// crossbeam-deque, FIFO. Grows and shrinks.
#[derive(Debug)]
pub struct CrossbeamFifo;
/// st3, LIFO.
#[derive(Debug)]
pub struct St3Lifo;
/// st3, FIFO.
#[derive(Debug)]
pub struct St3Fifo;

macro_rules! crossbeam {
    ($Deque:ident, $new:ident) => {
        impl Deque for $Deque {
            type Owner = crossbeam_deque::Worker<u64>;
            type Thief = CrossbeamThief;
            const BATCHES: bool = true;

            fn build() -> (Self::Owner, Self::Thief) {
                let owner = crossbeam_deque::Worker::$new();
                let stealer = owner.stealer();
                (owner, CrossbeamThief { stealer, own: crossbeam_deque::Worker::new_fifo() })
            }

            /// It has no call that reserves.
            fn capacity() -> serde_json::Value {
                "grows from 64, shrinks".into()
            }
        }
    };
}
crossbeam!(CrossbeamLifo, new_lifo);
crossbeam!(CrossbeamFifo, new_fifo);

impl Owner for crossbeam_deque::Worker<u64> {
    #[inline]
    fn push(&mut self, item: u64) -> bool {
        crossbeam_deque::Worker::push(self, item);
        true
    }

    #[inline]
    fn pop(&mut self) -> Option<u64> {
        crossbeam_deque::Worker::pop(self)
    }
}

/// Steals from a crossbeam deque; batches go into a deque of its own.
#[expect(missing_debug_implementations, reason = "the stealer prints nothing of use")]
pub struct CrossbeamThief {
    stealer: crossbeam_deque::Stealer<u64>,
    own: crossbeam_deque::Worker<u64>,
}

impl Thief for CrossbeamThief {
    fn steal(&mut self, most: usize, mut take: impl FnMut(u64)) -> bool {
        if most == 1 {
            return match self.stealer.steal() {
                Steal::Success(item) => {
                    take(item);
                    true
                }
                Steal::Empty | Steal::Retry => false,
            };
        }
        match self.stealer.steal_batch_with_limit(&self.own, most) {
            Steal::Success(()) => {
                std::iter::from_fn(|| self.own.pop()).for_each(take);
                true
            }
            Steal::Empty | Steal::Retry => false,
        }
    }
}

macro_rules! st3 {
    ($Deque:ident, $order:ident) => {
        impl Deque for $Deque {
            type Owner = st3::$order::Worker<u64>;
            type Thief = (st3::$order::Stealer<u64>, st3::$order::Worker<u64>);
            const BATCHES: bool = true;

            fn build() -> (Self::Owner, Self::Thief) {
                let owner = st3::$order::Worker::new(CAPACITY);
                let stealer = owner.stealer();
                (owner, (stealer, st3::$order::Worker::new(64)))
            }
        }

        impl Owner for st3::$order::Worker<u64> {
            #[inline]
            fn push(&mut self, item: u64) -> bool {
                st3::$order::Worker::push(self, item).is_ok()
            }

            #[inline]
            fn pop(&mut self) -> Option<u64> {
                st3::$order::Worker::pop(self)
            }
        }

        /// A thief and the queue that its batches go into.
        impl Thief for (st3::$order::Stealer<u64>, st3::$order::Worker<u64>) {
            fn steal(&mut self, most: usize, mut take: impl FnMut(u64)) -> bool {
                let (stealer, own) = self;
                match stealer.steal_and_pop(own, |count| count.min(most)) {
                    Ok((item, _)) => {
                        take(item);
                        std::iter::from_fn(|| own.pop()).for_each(take);
                        true
                    }
                    Err(_) => false,
                }
            }
        }
    };
}
st3!(St3Lifo, lifo);
st3!(St3Fifo, fifo);

/// A collection that nobody can steal from: the limit for a queue's owner.
macro_rules! plain {
    ($(#[$doc:meta])* $Name:ident($Inner:ty), $make:expr, $push:ident, $pop:ident) => {
        $(#[$doc])*
        #[derive(Debug)]
        pub struct $Name($Inner);

        impl Deque for $Name {
            type Owner = Self;
            type Thief = ();
            const BATCHES: bool = false;

            fn build() -> (Self, ()) {
                (Self($make), ())
            }
        }

        impl Owner for $Name {
            #[inline]
            fn push(&mut self, item: u64) -> bool {
                self.0.$push(item);
                true
            }

            #[inline]
            fn pop(&mut self) -> Option<u64> {
                self.0.$pop()
            }
        }
    };
}
plain! {
    /// A stack: `Vec`.
    PlainVec(Vec<u64>), Vec::with_capacity(CAPACITY), push, pop
}
/// A `Vec` whose length is in memory after each operation, as it is where anybody may look at it in between. Without that, the
/// compiler turns a loop of pops into one over a slice.
#[derive(Debug)]
pub struct SeenVec(Vec<u64>);

impl Deque for SeenVec {
    type Owner = Self;
    type Thief = ();
    const BATCHES: bool = false;

    fn build() -> (Self, ()) {
        (Self(Vec::with_capacity(CAPACITY)), ())
    }
}

impl Owner for SeenVec {
    #[inline]
    fn push(&mut self, item: u64) -> bool {
        reached(&mut self.0).push(item);
        true
    }

    #[inline]
    fn pop(&mut self) -> Option<u64> {
        reached(&mut self.0).pop()
    }
}

plain! {
    /// A stack: `VecDeque`, used at one end.
    PlainStack(VecDeque<u64>), VecDeque::with_capacity(CAPACITY), push_back, pop_back
}
plain! {
    /// A queue: `VecDeque`.
    PlainQueue(VecDeque<u64>), VecDeque::with_capacity(CAPACITY), push_back, pop_front
}

/// No thief.
impl Thief for () {
    fn steal(&mut self, _most: usize, _take: impl FnMut(u64)) -> bool {
        false
    }
}
