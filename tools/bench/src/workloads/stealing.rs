//! Work stealing: an owner that fills its queue and empties it, over and over, and a thief that takes a share.
//!
//! The owner says once per round how much the thief may have taken by then, so that both meet only at the queue.

use std::hint;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use serde_json::{Value, json};
use thalweg_sync::CachePadded;

use crate::harness::{BoxError, Sample};
use crate::machine::{Placement, Start};

/// How many items the owner puts in before it takes them out.
pub const CAPACITY: usize = 8192;

/// A kind of queue.
pub trait Deque: 'static {
    /// Its owner's end.
    type Owner: Owner;
    /// The other end.
    type Thief: Thief;
    /// Whether it can be asked for several items at once.
    const BATCHES: bool;

    /// A queue for [`CAPACITY`] items, if it has a bound.
    fn build() -> (Self::Owner, Self::Thief);

    /// What it has room for, as a record says it.
    fn capacity() -> Value {
        json!(CAPACITY)
    }
}

/// The owner's end of a queue.
pub trait Owner: Send {
    /// Puts an item in. False if there is no room.
    fn push(&mut self, item: u64) -> bool;
    /// Takes the next item out.
    fn pop(&mut self) -> Option<u64>;
}

/// The other end.
pub trait Thief: Send {
    /// Steals up to `most` items. False if that gave none.
    fn steal(&mut self, most: usize, take: impl FnMut(u64)) -> bool;
}

/// The work: so many rounds, of whose items a thief takes so many per cent, if it can.
#[derive(Clone, Copy, Debug)]
pub struct Stealing {
    /// How often the queue is filled and emptied.
    pub rounds: u64,
    /// The share of all items that the thief may take; without a thief if 0.
    pub percent: u64,
    /// How many items it asks for at once.
    pub batch: usize,
}

impl Stealing {
    /// Runs the owner on one CPU and the thief on another. Gives nanoseconds for each operation (each item is put in
    /// once and taken out once), and the percentage of the items that the owner did not take out.
    pub fn run<D: Deque>(self) -> Result<Sample, BoxError> {
        let (mut owner, mut thief) = D::build();
        // Apart from the owner's end, which may lie on this stack and is written all the time.
        let shared = CachePadded((AtomicU64::new(0), AtomicBool::new(false)));
        let (allowed, done) = &shared.0;
        let (start, thieves) = (&Start::default(), usize::from(self.percent > 0));
        let (mut all, stolen, timing) = thread::scope(|scope| {
            let stealing = (thieves > 0).then(|| {
                scope.spawn(move || {
                    Placement::TwoCpus.pin(1, 2);
                    let mut stolen = Tally::default();
                    start.wait();
                    while !done.load(Ordering::Acquire) {
                        let left = allowed.load(Ordering::Relaxed) - stolen.count;
                        let most = self.batch.min(left as usize);
                        if most == 0 || !thief.steal(most, |item| stolen.add(item)) {
                            hint::spin_loop();
                        }
                    }
                    stolen
                })
            });
            let over = Over(done);
            Placement::TwoCpus.pin(0, 2);
            let (popped, timing) = start.timed(thieves, || self.own(&mut owner, allowed));
            drop(over);
            (popped, stealing.map(|thief| thief.join().expect("the thief does not panic")).unwrap_or_default(), timing)
        });
        let left = 100.0 * all.popped.count as f64 / all.pushed.count.max(1) as f64;
        while let Some(item) = owner.pop() {
            all.popped.add(item);
        }
        let mut taken = all.popped;
        taken.join(stolen);
        if taken != all.pushed {
            return Err(format!("{taken:?} taken, but {:?} pushed", all.pushed).into());
        }
        let mut sample = Sample::nanos_per(timing, 2 * all.pushed.count);
        sample.figures.push(100.0 - left);
        Ok(sample)
    }

    #[inline(never)]
    fn own(self, owner: &mut impl Owner, allowed: &AtomicU64) -> Owned {
        let (mut next, mut popped) = (0, Tally::default());
        for _ in 0..self.rounds {
            allowed.store((next + CAPACITY as u64) * self.percent / 100, Ordering::Relaxed);
            for _ in 0..CAPACITY {
                // A queue that is full goes into the next half of the round.
                if !owner.push(next) {
                    break;
                }
                next += 1;
            }
            while let Some(item) = owner.pop() {
                popped.add(item);
            }
        }
        Owned { pushed: Tally { count: next, sum: (0..next).fold(0, u64::wrapping_add) }, popped }
    }
}

/// Tells the thief, when it is dropped, that there will be no more: by a panic of the owner too.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

/// What the owner did.
struct Owned {
    pushed: Tally,
    popped: Tally,
}

/// Enough to see that no item was lost and none taken twice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// How many items.
    pub count: u64,
    /// Their sum.
    pub sum: u64,
}

impl Tally {
    /// Counts what another tally has counted.
    pub fn join(&mut self, other: Self) {
        self.count += other.count;
        self.sum = self.sum.wrapping_add(other.sum);
    }

    /// Counts `item`.
    #[inline]
    pub fn add(&mut self, item: u64) {
        self.count += 1;
        self.sum = self.sum.wrapping_add(item);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Panics as soon as it has something to do.
    struct Breaks;

    impl Deque for Breaks {
        type Owner = Self;
        type Thief = ();
        const BATCHES: bool = false;

        fn build() -> (Self, ()) {
            (Self, ())
        }
    }

    impl Owner for Breaks {
        fn push(&mut self, _item: u64) -> bool {
            panic!("there is no queue")
        }

        fn pop(&mut self) -> Option<u64> {
            None
        }
    }

    #[test]
    fn a_panic_of_the_owner_ends_the_thief() {
        let stealing = Stealing { rounds: 1, percent: 10, batch: 1 };
        // On a thread of its own, which is pinned.
        assert!(thread::spawn(move || stealing.run::<Breaks>()).join().is_err());
    }
}
