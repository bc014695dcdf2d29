//! The ring of DPDK's `rte_ring`, in three modes.
//!
//! | | |
//! |---|---|
//! | order | FIFO, linearizable, refusals one by one ([crate page](crate#what-is-promised)) |
//! | who | any number of threads on either side; items are any `T: Send` |
//! | room | exactly the capacity that was asked for; slots are the next power of two |
//! | progress | by mode, see below; never lock-free |
//!
//! Each side has a *head*, which says what is taken, and a *tail*, which says what is handed on. A side takes entries up to
//! the other side's tail.
//!
//! | mode | how the tail moves | what a thread stopped half-way does to its side |
//! |---|---|---|
//! | [`Mt`] (`MP`/`MC`) | in the order of the tickets, each thread waiting for those before it | all others spin |
//! | [`Rts`] (relaxed tail sync) | whoever hands on last moves it to the head: a count says who that is | what came since nobody was half-way stays hidden, nobody spins; `Busy` after an eighth of the capacity |
//! | [`Hts`] (head and tail sync) | with the head, in one word | all others are `Busy` |
//!
//! Positions have 32 bits and wrap. In `Rts` and `Hts` a thread would have to stop between a look at its side and its exchange for exactly
//! 2^32 operations to be misled.
//!
//! `Mt` is the mode most programs run and the one that suffers most when there are more threads than cores: a thread that
//! is preempted half-way is waited for by all of its side. It is here as the baseline it is in the thesis.
//!
//! ```
//! use thalweg_queue::TryPushError;
//! use thalweg_queue::research::tube::{queue, ring};
//!
//! let (tx, rx) = queue(ring::Rts::new(3)?); // or `Mt`, `Hts`
//! let other = tx.clone();
//! std::thread::scope(|scope| {
//!     scope.spawn(|| other.push(1));
//!     scope.spawn(|| tx.push(2));
//! });
//! tx.try_push(3)?;
//! assert_eq!(tx.try_push(4), Err(TryPushError::Full(4))); // four slots, and room for three
//! assert_eq!(rx.pop()? + rx.pop()? + rx.pop()?, 6);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! From DPDK's programmer's guide, *Ring Library*, and the thesis, Figure 3.2. Different from there: entries are typed;
//! `Busy` is told from `Full` and `Empty`; a take loads its own head with Acquire before the other side's tail and moves
//! its head with Release, which upstream added in 2025: without, a thread that pushes and then pops can see a tail
//! that is older than its own head, and the difference of the two runs below zero.
//!
//! # Invariants
//!
//! - **R1** tail ≤ head on either side; consumers' head ≤ producers' tail; producers' head ≤ consumers' tail + capacity.
//! - **R2** A position goes to one producer and one consumer, whose exchange moved the head of their side past it; to the
//!   consumer only after the producers' tail passed it, and to a producer of the next lap only after the consumers'
//!   tail did.
//! - **R3** A tail passes a position only after the thread that took it has handed it on.

mod side;

use super::{AllocateError, ReserveError, Tube};
use crate::drops::Drops;
use crate::wait::both;
use crate::{BuildError, limits, memory};
use alloc::boxed::Box;
use core::fmt;
use core::mem::MaybeUninit;
use side::{HtsSide, MtSide, RtsSide, Side, Take};
use thalweg_sync::CachePadded;
use thalweg_sync::cell::Slot;

/// A ring in the mode that `S` is; named [`Mt`], [`Rts`] and [`Hts`].
pub struct Ring<T, S: Side> {
    producers: CachePadded<S>,
    consumers: CachePadded<S>,
    slots: Box<[Slot<MaybeUninit<T>>]>,
    capacity: u32,
}

/// A ring whose threads hand on in the order in which they took. See the [module](self).
///
/// A thread that has taken several entries of a side hands them on in that order, too: `produce` and `consume` wait, without end, until
/// all entries before are handed on.
///
/// ```
/// use thalweg_queue::research::tube::{AllocateError, Tube, ring};
///
/// let tube = ring::Mt::new(1)?;
/// let entry = tube.allocate()?;
/// assert_eq!(tube.allocate().err(), Some(AllocateError::Full));
/// // SAFETY: the entries are this tube's.
/// unsafe {
///     tube.produce(entry, "message");
///     let entry = tube.reserve()?;
///     assert_eq!(tube.allocate().err(), Some(AllocateError::Busy)); // until it is consumed
///     assert_eq!(tube.consume(entry), "message");
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub type Mt<T> = Ring<T, MtSide>;

/// A ring whose last thread to hand on moves the tail for all. See the [module](self).
pub type Rts<T> = Ring<T, RtsSide>;

/// A ring that lets one thread of a side in at a time. See the [module](self).
pub type Hts<T> = Ring<T, HtsSide>;

/// A position that a thread has taken and not handed on.
#[derive(Debug)]
#[must_use = "an entry that is not handed on stops the ring"]
pub struct Entry(u32);

impl<T, S: Side> Ring<T, S> {
    /// A ring for `capacity` items: at least 1, at most 2^30.
    pub fn new(capacity: usize) -> Result<Self, BuildError> {
        Self::starting_at(0, capacity)
    }

    /// As [`new`](Self::new), with all positions at `position`: tests start near the wrap.
    #[doc(hidden)]
    pub fn starting_at(position: u32, capacity: usize) -> Result<Self, BuildError> {
        let memory = limits::power_of_two(isize::MAX as usize / size_of::<T>().max(1));
        BuildError::check("capacity", capacity, 1, memory.min(1 << 30))?;
        let slots = capacity.next_power_of_two();
        Ok(Self {
            producers: CachePadded(S::new(position, capacity as u32)),
            consumers: CachePadded(S::new(position, capacity as u32)),
            slots: memory::slots(slots)?,
            capacity: capacity as u32,
        })
    }

    #[inline(always)]
    fn slot(&self, position: u32) -> &Slot<MaybeUninit<T>> {
        &self.slots[position as usize & (self.slots.len() - 1)]
    }
}

// SAFETY: R2 gives each position to one thread at a time; R3 and the edges of `Side` order the two ends.
unsafe impl<T: Send, S: Side> Tube for Ring<T, S> {
    type Item = T;
    type Allocated = Entry;
    type Reserved = Entry;

    #[inline]
    fn allocate(&self) -> Result<Entry, AllocateError> {
        match self.producers.take(&self.consumers, self.capacity) {
            Take::Position(position) => Ok(Entry(position)),
            Take::None => Err(AllocateError::Full),
            Take::Busy => Err(AllocateError::Busy),
        }
    }

    #[inline]
    unsafe fn produce(&self, entry: Entry, item: T) {
        // SAFETY: the position is the caller's alone (R2). Moving the item runs no user code.
        self.slot(entry.0).with_mut(|slot| unsafe { (*slot).write(item) });
        self.producers.hand_on(entry.0);
    }

    #[inline]
    fn reserve(&self) -> Result<Entry, ReserveError> {
        match self.consumers.take(&self.producers, 0) {
            Take::Position(position) => Ok(Entry(position)),
            Take::None => Err(ReserveError::Empty),
            Take::Busy => Err(ReserveError::Busy),
        }
    }

    #[inline]
    unsafe fn consume(&self, entry: Entry) -> T {
        // SAFETY: the position is the caller's alone (R2), and its item is written (R3).
        let item = self.slot(entry.0).with(|slot| unsafe { (*slot).assume_init_read() });
        self.consumers.hand_on(entry.0);
        item
    }

    unsafe fn discard(&self, entry: Entry) {
        // SAFETY: as in `consume`.
        let item = || self.slot(entry.0).with_mut(|slot| unsafe { (*slot).assume_init_drop() });
        both(item, || self.consumers.hand_on(entry.0));
    }

    fn can_allocate(&self) -> Result<(), AllocateError> {
        match self.producers.look(&self.consumers, self.capacity) {
            Take::Position(_) => Ok(()),
            Take::None => Err(AllocateError::Full),
            Take::Busy => Err(AllocateError::Busy),
        }
    }

    fn can_reserve(&self) -> Result<(), ReserveError> {
        match self.consumers.look(&self.producers, 0) {
            Take::Position(_) => Ok(()),
            Take::None => Err(ReserveError::Empty),
            Take::Busy => Err(ReserveError::Busy),
        }
    }

    fn capacity(&self) -> usize {
        self.capacity as usize
    }

    fn len(&self) -> usize {
        // The consumers' side first: a tail that is read after it is not below it.
        let taken = self.consumers.head();
        let there = self.producers.tail();
        (there.wrapping_sub(taken) as i32).clamp(0, self.capacity as i32) as usize
    }
}

impl<T, S: Side> Drop for Ring<T, S> {
    /// Drops what is handed on and not taken.
    fn drop(&mut self) {
        let (mut position, end) = (self.consumers.head(), self.producers.tail());
        let mut drops = Drops::default();
        while position != end {
            // SAFETY: the item is written (R3), and nobody has taken it (R2), nor can from now on.
            drops.one(|| self.slot(position).with_mut(|slot| unsafe { (*slot).assume_init_drop() }));
            position = position.wrapping_add(1);
        }
    }
}

impl<T, S: Side> fmt::Debug for Ring<T, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ring").field("mode", &S::NAME).field("capacity", &self.capacity).finish_non_exhaustive()
    }
}
