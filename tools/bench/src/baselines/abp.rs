//! The work-stealing queue of Arora, Blumofe and Plaxton as Chase and Lev have it, in a ring that does not grow.
//!
//! | | |
//! |---|---|
//! | order | the owner's end is LIFO, thieves take the oldest |
//! | who | one owner, any number of thieves |
//! | progress | lock-free |
//! | cost | a pop has a full barrier, and an exchange for the last item; a steal has both |
//!
//! D. Chase and Y. Lev, *Dynamic Circular Work-Stealing Deque*, SPAA 2005, with the orderings of N. M. Lê, A. Pop, A. Cohen and F. Zappa
//! Nardelli, *Correct and Efficient Work-Stealing for Weak Memory Models*, PPoPP 2013; or, with `SC`, all sequentially consistent. A baseline:
//! what the thesis' Figures 4.1, 4.9 and 4.11 measure against.

use thalweg_sync::CachePadded;
use thalweg_sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use thalweg_sync::atomic::{AtomicU64, fence};
use thalweg_sync::sync::Arc;

struct Ring {
    top: CachePadded<AtomicU64>,
    bottom: CachePadded<AtomicU64>,
    slots: Box<[AtomicU64]>,
}

impl Ring {
    fn at(&self, position: u64) -> &AtomicU64 {
        &self.slots[position as usize % self.slots.len()]
    }
}

/// The end of the thread that pushes.
pub(crate) struct Owner<const SC: bool>(Arc<Ring>);

/// An end of the others.
#[derive(Clone)]
pub(crate) struct Thief<const SC: bool>(Arc<Ring>);

/// A queue for `capacity` items.
pub(crate) fn abp<const SC: bool>(capacity: usize) -> (Owner<SC>, Thief<SC>) {
    let padded = || CachePadded(AtomicU64::new(0));
    let slots = (0..capacity).map(|_| AtomicU64::new(0)).collect();
    let ring = Arc::new(Ring { top: padded(), bottom: padded(), slots });
    (Owner(ring.clone()), Thief(ring))
}

impl<const SC: bool> Thief<SC> {
    /// The oldest item. `None` if there is none, or another thread has just taken it.
    pub(crate) fn steal(&self) -> Option<u64> {
        let ring = &*self.0;
        let top = ring.top.load(if SC { SeqCst } else { Acquire });
        if !SC {
            fence(SeqCst);
        }
        if top >= ring.bottom.load(if SC { SeqCst } else { Acquire }) {
            return None;
        }
        let item = ring.at(top).load(if SC { SeqCst } else { Relaxed });
        ring.top.compare_exchange(top, top + 1, SeqCst, Relaxed).ok().map(|_| item)
    }

    /// How many items there seem to be.
    pub(crate) fn len(&self) -> usize {
        self.0.bottom.load(Relaxed).saturating_sub(self.0.top.load(Relaxed)) as usize
    }
}

impl<const SC: bool> Owner<SC> {
    /// Whether there was room.
    pub(crate) fn push(&mut self, item: u64) -> bool {
        let ring = &*self.0;
        let bottom = ring.bottom.load(if SC { SeqCst } else { Relaxed });
        if bottom - ring.top.load(if SC { SeqCst } else { Acquire }) >= ring.slots.len() as u64 {
            return false;
        }
        ring.at(bottom).store(item, if SC { SeqCst } else { Relaxed });
        ring.bottom.store(bottom + 1, if SC { SeqCst } else { Release });
        true
    }

    /// The newest item.
    pub(crate) fn pop(&mut self) -> Option<u64> {
        let ring = &*self.0;
        let (read, write) = if SC { (SeqCst, SeqCst) } else { (Relaxed, Relaxed) };
        let bottom = ring.bottom.load(read);
        // Below the first position there is nothing: positions are not negative.
        let last = bottom.checked_sub(1)?;
        ring.bottom.store(last, write);
        if !SC {
            fence(SeqCst);
        }
        let top = ring.top.load(read);
        if top > last {
            ring.bottom.store(bottom, write);
            return None;
        }
        let item = ring.at(last).load(read);
        if top < last {
            return Some(item);
        }
        let won = ring.top.compare_exchange(top, top + 1, SeqCst, Relaxed).is_ok();
        ring.bottom.store(bottom, write);
        won.then_some(item)
    }
}

#[cfg(all(test, feature = "machines"))]
mod tests {
    use super::*;

    fn both_ends<const SC: bool>() {
        let (mut owner, thief) = abp::<SC>(3);
        for round in 0..4 {
            assert!((0..3).all(|n| owner.push(10 * round + n)));
            assert!(!owner.push(99));
            assert_eq!((thief.len(), thief.steal(), owner.pop()), (3, Some(10 * round), Some(10 * round + 2)));
            assert_eq!((owner.pop(), owner.pop(), thief.steal()), (Some(10 * round + 1), None, None));
        }
    }

    #[test]
    fn the_owner_takes_the_newest_and_thieves_the_oldest() {
        both_ends::<false>();
        both_ends::<true>();
    }
}
