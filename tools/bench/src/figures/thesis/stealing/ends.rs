//! What the figures compare: an owner's end of each queue, and a thief's.

use std::collections::VecDeque;

use thalweg_queue::Yield;
use thalweg_queue::{mpmc, stealing};
use thalweg_sync::atomic::AtomicU64;
use thalweg_sync::atomic::Ordering::Relaxed;
use thalweg_sync::sync::Arc;
use thalweg_sync::{CachePadded, hint};

use super::{BLOCKS, CAPACITY, padded};
use crate::baselines::abp;
use crate::figures::own::queues::RIGHT;

/// The owner's end.
pub(crate) trait Owner: Send {
    /// Whether there was room.
    fn push(&mut self, item: u64) -> bool;
    fn pop(&mut self) -> Option<u64>;
    /// Lets thieves see what is there, if they do not anyway.
    fn share(&mut self) {}
}

/// The others' end.
pub(crate) trait Thief: Send {
    fn steal(&mut self) -> Option<u64>;
    /// How many items there seem to be.
    fn size(&mut self) -> usize;
}

pub(crate) type Ends = (Box<dyn Owner>, Box<dyn Thief>);
pub(crate) type Contender = (&'static str, fn() -> Ends);

macro_rules! owner {
    ($($owner:ty),+) => {
        $(impl Owner for $owner {
            fn push(&mut self, item: u64) -> bool {
                <$owner>::push(self, item).is_ok()
            }
            fn pop(&mut self) -> Option<u64> {
                <$owner>::pop(self)
            }
            fn share(&mut self) {
                <$owner>::share(self);
            }
        })+
    };
}
owner!(stealing::lifo::Owner<u64>, stealing::fifo::Owner<u64>);

pub(crate) const LIFO: Contender = ("bwos", || {
    let (owner, stealer) = stealing::lifo(BLOCKS, CAPACITY / BLOCKS).expect(RIGHT);
    (Box::new(owner), Box::new(stealer))
});
pub(crate) const FIFO: Contender = ("bwos", || {
    let (owner, stealer) = stealing::fifo(BLOCKS, CAPACITY / BLOCKS).expect(RIGHT);
    (Box::new(owner), Box::new(stealer))
});
pub(crate) const ABP: Contender = ("abp (opt)", abp::<false>);
pub(crate) const ABP_SC: Contender = ("abp (sc)", abp::<true>);
pub(crate) const BBQ: Contender = ("bbq", || {
    let (owner, thief) = bbq_queue();
    (owner, Box::new(thief))
});
/// The upper bounds: memory that nobody else has. Nothing can be stolen.
pub(crate) const PLAIN: Contender =
    ("a plain stack", || (Box::new(Plain(Vec::with_capacity(CAPACITY))), Box::new(Nobody)));
pub(crate) const PLAIN_RING: Contender =
    ("a plain ring", || (Box::new(PlainRing(VecDeque::with_capacity(CAPACITY))), Box::new(Nobody)));

struct Nobody;

impl Thief for Nobody {
    fn steal(&mut self) -> Option<u64> {
        None
    }
    fn size(&mut self) -> usize {
        0
    }
}

impl Thief for stealing::Stealer<u64> {
    fn steal(&mut self) -> Option<u64> {
        stealing::Stealer::steal(self).ok()
    }
    fn size(&mut self) -> usize {
        self.len()
    }
}

impl Thief for mpmc::Consumer<u64, Yield> {
    fn steal(&mut self) -> Option<u64> {
        self.try_pop().ok()
    }
    fn size(&mut self) -> usize {
        self.len()
    }
}

struct Plain(Vec<u64>);

impl Owner for Plain {
    fn push(&mut self, item: u64) -> bool {
        let room = self.0.len() < CAPACITY;
        if room {
            self.0.push(item);
            hint::touch(&raw const self.0[self.0.len() - 1] as *const u8, 8, hint::Access::Write);
        }
        room
    }

    fn pop(&mut self) -> Option<u64> {
        self.0.last().inspect(|last| hint::touch(std::ptr::from_ref(*last).cast(), 8, hint::Access::Read));
        self.0.pop()
    }
}

pub(crate) struct PlainRing(pub(crate) VecDeque<u64>);

impl Owner for PlainRing {
    fn push(&mut self, item: u64) -> bool {
        let room = self.0.len() < CAPACITY;
        if room {
            self.0.push_back(item);
            hint::touch(&raw const self.0[self.0.len() - 1] as *const u8, 8, hint::Access::Write);
        }
        room
    }

    fn pop(&mut self) -> Option<u64> {
        self.0.front().inspect(|first| hint::touch(std::ptr::from_ref(*first).cast(), 8, hint::Access::Read));
        self.0.pop_front()
    }
}

/// A queue for many, of which the owner has both ends.
struct Shared(mpmc::Producer<u64, Yield>, mpmc::Consumer<u64, Yield>);

impl Owner for Shared {
    fn push(&mut self, item: u64) -> bool {
        self.0.try_push(item).is_ok()
    }
    fn pop(&mut self) -> Option<u64> {
        self.1.try_pop().ok()
    }
}

/// Figures 4.1e and f: the owner's operations are writes, each of a line that is chosen at random; who asks for the size reads
/// such a line, or writes it.
struct Lines<const COUNT: usize> {
    set: Arc<Set<COUNT>>,
    rng: stealing::Rng,
    put: usize,
}

struct OnLines<const COUNT: usize, const WRITES: bool> {
    set: Arc<Set<COUNT>>,
    rng: stealing::Rng,
}

type Set<const COUNT: usize> = [CachePadded<AtomicU64>; COUNT];

pub(crate) const READ: [Contender; 2] = [("1 line", lines::<1, false>), ("64 lines", lines::<64, false>)];
pub(crate) const WRITTEN: [Contender; 2] = [("1 line", lines::<1, true>), ("64 lines", lines::<64, true>)];

fn lines<const COUNT: usize, const WRITES: bool>() -> Ends {
    let set = Arc::new([(); COUNT].map(|()| padded(0)));
    let [one, other] = [0, 1].map(stealing::Rng::new);
    (Box::new(Lines { set: set.clone(), rng: one, put: 0 }), Box::new(OnLines::<COUNT, WRITES> { set, rng: other }))
}

impl<const COUNT: usize> Lines<COUNT> {
    fn write(&mut self) {
        self.set[self.rng.below(COUNT)].store(self.put as u64, Relaxed);
    }
}

impl<const COUNT: usize> Owner for Lines<COUNT> {
    fn push(&mut self, _: u64) -> bool {
        let room = self.put < CAPACITY;
        if room {
            self.put += 1;
            self.write();
        }
        room
    }

    fn pop(&mut self) -> Option<u64> {
        self.put = self.put.checked_sub(1)?;
        self.write();
        Some(0)
    }
}

impl<const COUNT: usize, const WRITES: bool> Thief for OnLines<COUNT, WRITES> {
    fn steal(&mut self) -> Option<u64> {
        None
    }

    fn size(&mut self) -> usize {
        let line = &self.set[self.rng.below(COUNT)];
        if WRITES {
            line.store(0, Relaxed);
            return 0;
        }
        line.load(Relaxed) as usize
    }
}

impl<const SC: bool> Thief for abp::Thief<SC> {
    fn steal(&mut self) -> Option<u64> {
        abp::Thief::steal(self)
    }
    fn size(&mut self) -> usize {
        self.len()
    }
}

impl<const SC: bool> Owner for abp::Owner<SC> {
    fn push(&mut self, item: u64) -> bool {
        abp::Owner::push(self, item)
    }
    fn pop(&mut self) -> Option<u64> {
        abp::Owner::pop(self)
    }
}

fn abp<const SC: bool>() -> Ends {
    let (owner, thief) = abp::abp::<SC>(CAPACITY);
    (Box::new(owner), Box::new(thief))
}

/// One of a pool.
pub(crate) fn abp_queue() -> (Box<dyn Owner>, abp::Thief<false>) {
    let (owner, thief) = abp::abp(CAPACITY);
    (Box::new(owner), thief)
}

/// One of a pool, from which its owner takes as all others do.
pub(crate) fn bbq_queue() -> (Box<dyn Owner>, mpmc::Consumer<u64, Yield>) {
    let (tx, rx) = mpmc::with_capacity_and_wait::<u64, _>(CAPACITY, Yield).expect(RIGHT);
    let thief = rx.clone();
    (Box::new(Shared(tx, rx)), thief)
}
