//! SCQD: two queues of indices and an array of items. Nobody waits for anybody, and no exchange is wider than a word.
//!
//! | | |
//! |---|---|
//! | order | FIFO by the time of `produce`: an entry that is allocated and not produced holds nobody up |
//! | who | any number of threads on either side, items of any kind; with a capacity below the number of threads, slow |
//! | room | exactly the capacity that was asked for |
//! | progress | lock-free. Never `Busy`: an entry that is half-way counts as taken on both sides |
//! | cost | push and pop: two FAA and two CAS each, half of them on lines of the other side |
//!
//! Free indices wait in one queue, filled ones in another. A push moves an index from the first to the second and fills
//! its entry in between; a pop moves it back.
//!
//! ```
//! use thalweg_queue::TryPushError;
//! use thalweg_queue::research::tube::{queue, scqd::Scqd};
//!
//! let (tx, rx) = queue(Scqd::new(3)?);
//! let other = tx.clone();
//! std::thread::scope(|scope| {
//!     scope.spawn(|| other.push("a".to_string()));
//!     scope.spawn(|| tx.push("b".to_string()));
//! });
//! tx.try_push("c".to_string())?;
//! assert!(matches!(tx.try_push("d".to_string()), Err(TryPushError::Full(_))));
//! let mut popped: Vec<_> = rx.try_iter().collect();
//! popped.sort();
//! assert_eq!(popped, ["a", "b", "c"]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! From R. Nikolaev, *A Scalable, Portable, and Memory-Efficient Lock-Free FIFO Queue*, DISC 2019, sections 5 and 6, and
//! the thesis, sections 2.2 and 3.7.2. Different from there:
//!
//! - The threshold of a queue of n indices, whose ring has 2n slots, is 3n - 1. The thesis prints "3n - 1 with n twice the
//!   capacity", with which a pop from an empty queue tries twice as often before it says so (errata E12).
//! - As published that holds for up to n threads: of more, each of which draws a ticket in vain and subtracts late, an index that came meanwhile
//!   is hidden for good. Here the subtraction is an exchange of what was read before the ticket was drawn.
//! - A slot whose index was not yet fetched when its dequeuer came is invalidated at once; the authors' code spins for a
//!   while first.
//!
//! # Invariants
//!
//! - **S1** An index is at any time in one of the two queues or in one thread's hands. So a queue of indices is never
//!   full.
//! - **S2** A ticket of `tail` or `head` goes to one thread. The slot of ticket t can be filled only while its cycle is
//!   before t's, it holds no index, and no dequeuer can have passed it (*safe*, or `head` is not beyond t). It can be
//!   emptied only by the dequeuer with ticket t.
//! - **S3** While an index is in a queue, the threshold is not negative: it is set to its top after the index was
//!   written, and among 2n tickets that dequeuers draw after that, one finds an index. Who has drawn its own before and counts it after
//!   exchanges what it read before: that fails if the threshold was set meanwhile, as the word then has another number, and if it was at its
//!   top all the time, one of them succeeds.
//! - **S4** Whoever draws ticket t of `tail` comes after the draw of ticket t - 2n of `head`, in the order of *happens before*.
//!
//! # Why the threshold is Relaxed
//!
//! The paper has heads, tails and the threshold sequentially consistent. Here (S4) orders what has to be ordered.
//!
//! *(S4) holds.* What enqueuers and `catch_up` do to `tail` is one chain (scqd.3, scqd.12): whoever draws t knows what led to each ticket before.
//! If it did not know of the draw of t - 2n, nobody moved the tail up to a ticket after that, so enqueuers drew the 2n tickets before t,
//! one for each slot. Which of them found their slot passed, or the head beyond it, would know of that draw (scqd.4, scqd.5). So each other
//! has put its index there, or has it in hands still, or found an index of a lap before. The indices of the first two kinds differ, and
//! from the one that t is for: n - 1 at most. Those that were found differ, too: to put one behind again, a thread takes it from its slot before it
//! draws a ticket for it, and whoever draws a later one sees it gone. So there are n at most, and 2n - 1 are not 2n tickets.
//!
//! *(S3) follows.* Suppose that the threshold fell from its top to zero, by 3n counts, and that an enqueuer which put its index at ticket t saw
//! or set this top, or one before, when it had put the index. Whoever counts has read the count before and then drawn a ticket, so the tickets of the counts
//! rise. If one is beyond t, the dequeuer with ticket t is on its way to the index. If all are before, the second is t - 3n + 1 at most,
//! so its draw comes before that of t by (S4), and with it the look at the threshold that found the first count. By coherence the
//! enqueuer sees no top from before that count, nor does what it sets stand before it: a contradiction.
//!
//! *Each of these edges is needed.* A slot whose index was taken tells an enqueuer nothing of who took it: (scqd.2) releases nothing. So where the tail
//! tells nothing either, one can put two indices, 2n tickets apart, and still see the top after the 3n counts that fit between and before them (4n - 2, which
//! suffices if n is 2 or more). The clients `scqd/hidden` (Acquire of scqd.3, scqd.12) and `scqd/heads` (scqd.5, where no slot is safe) show it. For the Release of
//! scqd.3, which `scqd/chain` shows, it takes three threads, n = 4, and indices a, b and c. D looks in vain at t - 13 to t - 9 and at t - 7 to t - 1, which are 3n counts; M, with a in hands,
//! draws each of these tickets after D has passed its slot, and before D looks at the tail, which D then does not move. P draws t - 8 and puts b, which D
//! takes; after the last count P draws t and puts c. It reads the tail from M, which knows of D's draws, and the slot of t last from D's (scqd.2). Without Release
//! it sees the top both times, while the count is zero: until M goes on, c is not found.

mod indices;

use super::{AllocateError, ReserveError, Tube};
use crate::drops::Drops;
use crate::wait::both;
use crate::{BuildError, memory};
use alloc::boxed::Box;
use core::fmt;
use core::mem::MaybeUninit;
use indices::Indices;
use thalweg_sync::cell::Slot;

/// The tube. See the [module](self).
///
/// ```
/// use thalweg_queue::research::tube::{ReserveError, Tube, scqd::Scqd};
///
/// let tube = Scqd::new(2)?;
/// let (first, second) = (tube.allocate()?, tube.allocate()?);
/// // SAFETY: the entries are this tube's.
/// unsafe {
///     tube.produce(second, "the first to be produced");
///     assert_eq!(tube.consume(tube.reserve()?), "the first to be produced");
///     tube.produce(first, "the second");
///     assert_eq!(tube.consume(tube.reserve()?), "the second");
/// }
/// assert_eq!(tube.reserve().err(), Some(ReserveError::Empty));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Scqd<T> {
    free: Indices,
    filled: Indices,
    items: Box<[Slot<MaybeUninit<T>>]>,
}

/// An entry that a thread has in its hands.
#[derive(Debug)]
#[must_use = "an entry that is not handed on is lost to the tube"]
pub struct Entry(usize);

impl<T> Scqd<T> {
    /// A tube for `capacity` items: at least 1, at most 2^30.
    ///
    /// Memory: the items, and 32 bytes for each, after rounding the capacity up to a power of two.
    pub fn new(capacity: usize) -> Result<Self, BuildError> {
        Self::with(capacity, Indices::empty)
    }

    /// As [`new`](Self::new), as threads leave it that were late: every slot of the filled indices' queue was passed while it held one.
    #[doc(hidden)]
    pub fn passed(capacity: usize) -> Result<Self, BuildError> {
        Self::with(capacity, Indices::passed)
    }

    fn with(capacity: usize, filled: fn(usize) -> Result<Indices, BuildError>) -> Result<Self, BuildError> {
        let memory = isize::MAX as usize / size_of::<T>().max(1);
        BuildError::check("capacity", capacity, 1, memory.min(1 << 30))?;
        Ok(Self { free: Indices::full(capacity)?, filled: filled(capacity)?, items: memory::slots(capacity)? })
    }

    /// As [`produce`](Tube::produce), in steps: `before` runs before each draw of a ticket. For who shows what a step may not miss.
    ///
    /// # Safety
    ///
    /// As for `produce`.
    #[doc(hidden)]
    #[inline]
    pub unsafe fn produce_after(&self, entry: Entry, item: T, before: impl FnMut()) {
        // SAFETY: the index is the caller's alone (S1). Moving the item runs no user code.
        self.items[entry.0].with_mut(|slot| unsafe { (*slot).write(item) });
        self.filled.enqueue_after(entry.0, before);
    }

    /// As [`reserve`](Tube::reserve), in steps: `between` runs after each look in vain, before the look at the tail.
    #[doc(hidden)]
    #[inline]
    pub fn reserve_around(&self, between: impl FnMut()) -> Result<Entry, ReserveError> {
        self.filled.dequeue_around(between).map(Entry).ok_or(ReserveError::Empty)
    }

    /// Moves the item at `index` out.
    ///
    /// # Safety
    ///
    /// The index is the caller's, from the queue of filled ones.
    #[inline]
    unsafe fn read(&self, index: usize) -> T {
        // SAFETY: the caller's promise: it is written, and nobody else's.
        self.items[index].with(|slot| unsafe { (*slot).assume_init_read() })
    }

    /// Drops the item at `index` where it lies.
    ///
    /// # Safety
    ///
    /// As for [`read`](Self::read), instead of it.
    unsafe fn drop_item(&self, index: usize) {
        // SAFETY: the caller's promise.
        self.items[index].with_mut(|slot| unsafe { (*slot).assume_init_drop() });
    }
}

// SAFETY: S1 gives each index to one thread at a time; (scqd.1) and (scqd.2) order one holder after the other.
unsafe impl<T: Send> Tube for Scqd<T> {
    type Item = T;
    type Allocated = Entry;
    type Reserved = Entry;

    #[inline]
    fn allocate(&self) -> Result<Entry, AllocateError> {
        self.free.dequeue().map(Entry).ok_or(AllocateError::Full)
    }

    #[inline]
    unsafe fn produce(&self, entry: Entry, item: T) {
        // SAFETY: the caller's promise.
        unsafe { self.produce_after(entry, item, || ()) }
    }

    #[inline]
    fn reserve(&self) -> Result<Entry, ReserveError> {
        self.reserve_around(|| ())
    }

    #[inline]
    unsafe fn consume(&self, entry: Entry) -> T {
        // SAFETY: the index is the caller's alone (S1), and comes from the queue of filled ones.
        let item = unsafe { self.read(entry.0) };
        self.free.enqueue(entry.0);
        item
    }

    unsafe fn discard(&self, entry: Entry) {
        // SAFETY: as in `consume`.
        both(|| unsafe { self.drop_item(entry.0) }, || self.free.enqueue(entry.0));
    }

    fn can_allocate(&self) -> Result<(), AllocateError> {
        if self.free.is_waiting() { Ok(()) } else { Err(AllocateError::Full) }
    }

    fn can_reserve(&self) -> Result<(), ReserveError> {
        if self.filled.is_waiting() { Ok(()) } else { Err(ReserveError::Empty) }
    }

    fn capacity(&self) -> usize {
        self.items.len()
    }

    fn len(&self) -> usize {
        self.filled.len()
    }
}

impl<T> Drop for Scqd<T> {
    /// Drops what is produced and not reserved.
    fn drop(&mut self) {
        let mut drops = Drops::default();
        while let Some(index) = self.filled.dequeue() {
            // SAFETY: as in `consume`.
            drops.one(|| unsafe { self.drop_item(index) });
        }
    }
}

impl<T> fmt::Debug for Scqd<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scqd").field("capacity", &self.items.len()).finish_non_exhaustive()
    }
}
