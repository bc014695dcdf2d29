//! What CNQ promises: as a queue for one and one, which is FIFO; with many handles, k-FIFO, over every tube.
#![cfg(not(loom))]

mod fuzz;
mod history;
mod order;
mod pauses;
#[allow(dead_code, reason = "its queues are tested in their own place")]
#[path = "../conformance/queue.rs"]
mod queue;
#[path = "../conformance/single.rs"]
mod single;

use queue::{Queue, Rx, Token, Tx};
use thalweg_queue::cnq;
use thalweg_queue::tube::{Tube, ring, scqd::Scqd};
use thalweg_queue::{BuildError, PopError, PushError, TryPopError, TryPushError};

/// A CNQ by its shape, and how to make its tube.
#[derive(Clone, Copy)]
struct Cnq<F> {
    tube: F,
    number: u64,
    capsules: usize,
    entries: usize,
    k: usize,
}

fn cnq<Q, F: Fn(usize) -> Q>(tube: F, capsules: usize, entries: usize, k: usize) -> Cnq<F> {
    Cnq { tube, number: 0, capsules, entries, k }
}

impl<F> Cnq<F> {
    /// With the first capsule at `number`.
    fn from(self, number: u64) -> Self {
        Self { number, ..self }
    }
}

impl<Q: Tube<Item = u32> + 'static, F: Fn(usize) -> Q + Copy + Send + Sync> Queue for Cnq<F> {
    type Tx = cnq::Producer<Token, Q>;
    type Rx = cnq::Consumer<Token, Q>;

    fn build(self) -> (Self::Tx, Self::Rx) {
        cnq::starting_at(self.number, (self.tube)(self.capsules), self.capsules, self.entries, self.k).unwrap()
    }

    fn least(self) -> usize {
        (self.capsules - 1) * self.entries + 1
    }

    fn most(self) -> usize {
        self.capsules * self.entries
    }
}

impl<Q: Tube<Item = u32>> Tx for cnq::Producer<Token, Q> {
    fn try_push(&mut self, token: Token) -> Result<(), TryPushError<Token>> {
        self.try_push(token)
    }
    fn push(&mut self, token: Token) -> Result<(), PushError<Token>> {
        self.push(token)
    }
    fn is_closed(&self) -> bool {
        self.is_closed()
    }
    fn capacity(&self) -> usize {
        self.capacity()
    }
}

impl<Q: Tube<Item = u32>> Rx for cnq::Consumer<Token, Q> {
    fn try_pop(&mut self) -> Result<Token, TryPopError> {
        self.try_pop()
    }
    fn pop(&mut self) -> Result<Token, PopError> {
        self.pop()
    }
    fn is_closed(&self) -> bool {
        self.is_closed()
    }
    fn is_empty(&self) -> bool {
        self.is_empty()
    }
    fn capacity(&self) -> usize {
        self.capacity()
    }
}

fn scqd(capsules: usize) -> Scqd<u32> {
    Scqd::new(capsules).unwrap()
}

fn mt(capsules: usize) -> ring::Mt<u32> {
    ring::Mt::new(capsules).unwrap()
}

fn rts(capsules: usize) -> ring::Rts<u32> {
    ring::Rts::new(capsules).unwrap()
}

fn hts(capsules: usize) -> ring::Hts<u32> {
    ring::Hts::new(capsules).unwrap()
}

/// The last numbers before those in a capsule's words wrap.
const WRAP: u64 = (1 << 42) - 5;

single::promises! {
    scqd_2x1: cnq(scqd, 2, 1, 1),
    scqd_2x3: cnq(scqd, 2, 3, 6),
    scqd_4x2: cnq(scqd, 4, 2, 8),
    scqd_70x1: cnq(scqd, 70, 1, 10),
    number_wraps: cnq(scqd, 4, 2, 8).from(WRAP),
    counter_wraps: cnq(scqd, 4, 1, 4).from(u64::MAX - 5),
    mt_4x2: cnq(mt, 4, 2, 4),
    rts_8x2: cnq(rts, 8, 2, 16),
    hts_3x3: cnq(hts, 3, 3, 5),
}

#[test]
fn wrong_shapes_are_named() {
    let text = |error: BuildError| error.to_string();
    let refused = |capacity, k| text(cnq::cnq::<u8>(capacity, k).unwrap_err());
    assert_eq!(refused(64, 0), "k must be at least 1, not 0");
    assert_eq!(refused(64, 65), "k must be at most 64, not 65");
    assert_eq!(refused(1, 1), "capacity must be at least 2, not 1");
    assert!(refused(usize::MAX, 1).starts_with("capacity must be at most "));
    let refused = |capsules, entries, k| text(cnq::over::<u8, _>(scqd(8), capsules, entries, k).unwrap_err());
    assert_eq!(refused(1, 4, 4), "capsules must be at least 2, not 1");
    assert_eq!(refused(8, 0, 4), "entries must be at least 1, not 0");
    assert_eq!(refused(8, 4, 33), "k must be at most 32, not 33");
    assert_eq!(refused(9, 4, 8), "the tube's capacity must be at least 9, not 8");
}

#[test]
fn any_size_and_alignment() {
    #[derive(Clone, Copy, PartialEq, Debug)]
    #[repr(align(512))]
    struct Wide(u8);
    let (mut tx, mut rx) = cnq::cnq(64, 16).unwrap();
    for number in 0..200 {
        tx.push(Wide(number)).unwrap();
        assert_eq!(rx.pop(), Ok(Wide(number)));
    }
    let (mut tx, mut rx) = cnq::cnq(64, 16).unwrap();
    for _ in 0..200 {
        tx.push(()).unwrap();
        assert_eq!((tx.len(), rx.pop()), (1, Ok(())));
    }
}

#[test]
fn length_counts_what_waits() {
    let (mut tx, mut rx) = cnq::over(scqd(4), 4, 3, 12).unwrap();
    for waiting in 1..=12 {
        tx.try_push(waiting).unwrap();
        assert_eq!((tx.len(), rx.len()), (waiting, waiting));
    }
    assert!(tx.try_push(13).is_err());
    for waiting in (0..12).rev() {
        rx.try_pop().unwrap();
        assert_eq!((tx.len(), rx.len()), (waiting, waiting));
    }
    assert!(tx.is_empty() && rx.is_empty());
}
