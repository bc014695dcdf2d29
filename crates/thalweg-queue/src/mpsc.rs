//! BBQ for many producers and one consumer: pops without a read-modify-write.
//!
//! | | |
//! |---|---|
//! | order | FIFO, linearizable, refusals one by one ([crate page](crate#what-is-promised)) |
//! | who | any number of producers, whose handles are `Clone` and take `&self`; one consumer |
//! | items | any `T: Send` |
//! | progress | deadlock-free, not lock-free: a pop may be `Busy` while the push of the oldest entry is half-way. A push never is |
//! | cost | a push: one compare-and-exchange to allocate, two stores to commit. A pop: one store of the consumer's own cursor; one more for the last item of a block |
//!
//! The queue of [`mpmc::shared`](crate::mpmc::shared()), and its producers. That there is one consumer is known to the compiler, and the consumer
//! relies on it:
//!
//! - What it has seen committed is its own. So it takes nothing by an exchange, and a pop has no half-way state: what is taken and what
//!   is read is one cursor, which it moves afterwards.
//! - It reads in order, so it gives a block back whole, by one store that producers look at. Its entries need no marks of their own: there
//!   is one byte for each, not two, and who wants room looks at one word.
//! - Nobody takes an item meanwhile, so it can [`peek`](Consumer::peek), and what it reads [in place](Consumer::readable) is not taken until
//!   it is released.
//!
//! ```
//! use std::thread;
//! use thalweg_queue::{TryPopError, mpsc, mpmc};
//!
//! let (tx, mut rx) = mpsc::mpsc(4, 16)?;
//! let workers = ["ann", "bob", "cy"].map(|name| {
//!     let tx = tx.clone();
//!     thread::spawn(move || tx.push(format!("{name} is done")))
//! });
//! drop(tx);
//! assert_eq!(rx.iter().filter(|line| line.ends_with("done")).count(), 3);
//! assert_eq!(rx.try_pop(), Err(TryPopError::Closed));
//! workers.into_iter().try_for_each(|worker| worker.join().unwrap())?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What the answers mean
//!
//! Each takes effect at one instant between call and return:
//!
//! | answer | at that instant |
//! |---|---|
//! | `try_push`: `Ok` | the item is at the end of the queue |
//! | `try_push`: `Full` | at least `(blocks - 1) * entries + 1` items are in the queue, pushes half-way included: a block is reused only as a whole |
//! | `try_pop`: `Ok` | the item was at the front |
//! | `try_pop`: `Empty` | no item was in the queue. With an open grant at the front it is `Busy` |
//! | `try_pop`: `Busy` | the oldest entry's push was half-way; items behind it, if any, wait for it |
//! | either: `Closed` | no handle of the other side is left, and for `try_pop` no item |
//!
//! The invariants are those of the [module above](super#invariants-per-round-of-a-block).

#[cfg(not(loom))]
use crate::grant::{self, Read, ReadGrant};
#[cfg(not(loom))]
use crate::mpmc::shared::Reserved;
use crate::mpmc::shared::Shared;
use crate::mpmc::size::{in_blocks, of_capacity, of_room};
use crate::mpmc::users::{Many, One};
use crate::share::Share;
#[cfg(not(loom))]
use crate::wait::Side;
use crate::wait::{Ordinary, Wait};
use crate::{BuildError, TryPopError};
#[cfg(feature = "alloc")]
use alloc::vec::Vec;
use core::fmt;
#[cfg(not(loom))]
use thalweg_sync::hint::Access;

/// A writing end: one of many.
pub type Producer<T, W = Ordinary> = crate::mpmc::Producer<T, W, One>;

/// Memory for one queue in a `static`: see [`mpmc::Static`](crate::mpmc::Static).
///
/// ```
/// use thalweg_queue::mpsc;
///
/// static EVENTS: mpsc::Static<u32, 2, 16> = mpsc::Static::new();
///
/// let (tx, mut rx) = EVENTS.take().expect("nobody else takes it");
/// tx.push(7)?;
/// assert_eq!(*rx.peek()?, 7);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[cfg(not(loom))]
pub type Static<T, const BLOCKS: usize, const ENTRIES: usize, W = Ordinary> =
    crate::mpmc::Static<T, BLOCKS, ENTRIES, W, Many, One>;

/// Both ends of a queue.
pub type Ends<T, W = Ordinary> = (Producer<T, W>, Consumer<T, W>);

/// The ordinary writing end: it sleeps while it waits, and may be `async`.
pub type Sender<T> = Producer<T, Ordinary>;

/// The ordinary reading end: it sleeps while it waits, and may be `async`.
pub type Receiver<T> = Consumer<T, Ordinary>;

/// A queue for any number of producers and one consumer with room for `capacity` items at least. Its ends sleep while they wait, and may be `async`.
///
/// ```
/// use thalweg_queue::mpsc;
///
/// let (tx, mut rx) = mpsc::channel(1024)?;
/// tx.push("a")?;
/// assert_eq!(rx.pop(), Ok("a"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Errors and memory are those of [`with_room`].
#[cfg(feature = "alloc")]
pub fn channel<T: Send>(capacity: usize) -> Result<(Sender<T>, Receiver<T>), BuildError> {
    with_room_and_wait(capacity, Ordinary::default())
}

/// A queue of `blocks` blocks with `entries` entries each, for many producers and one consumer.
///
/// `blocks` must be a power of two and at least 2, `entries` at least 1.
///
/// Memory: the entries, a byte for each (in lines of 64), and some 500 bytes per block.
#[cfg(feature = "alloc")]
pub fn mpsc<T: Send>(blocks: usize, entries: usize) -> Result<Ends<T>, BuildError> {
    with_wait(blocks, entries, Ordinary::default())
}

/// As [`mpsc`], with at least `capacity` entries in a number of blocks chosen by [`heuristic_blocks`](crate::mpmc::heuristic_blocks).
///
/// ```
/// let (tx, _rx) = thalweg_queue::mpsc::with_capacity::<u64>(4096)?;
/// assert_eq!(tx.capacity(), 4096);
/// # Ok::<(), thalweg_queue::BuildError>(())
/// ```
#[cfg(feature = "alloc")]
pub fn with_capacity<T: Send>(capacity: usize) -> Result<Ends<T>, BuildError> {
    with_capacity_and_wait(capacity, Ordinary::default())
}

/// As [`with_capacity`], with ends that [wait](crate::wait) by `wait`.
#[cfg(feature = "alloc")]
pub fn with_capacity_and_wait<T: Send, W: Wait>(capacity: usize, wait: W) -> Result<Ends<T, W>, BuildError> {
    of_capacity(capacity, in_blocks::<T>, |blocks, entries| with_wait(blocks, entries, wait))
}

/// As [`mpsc`], with room for `capacity` items for certain, in a number of blocks chosen by
/// [`heuristic_blocks`](crate::mpmc::heuristic_blocks). Its entries are more, as in [`mpmc::with_room`](crate::mpmc::with_room).
///
/// ```
/// let (tx, _rx) = thalweg_queue::mpsc::with_room(8)?;
/// for number in 0..8 {
///     tx.try_push(number)?;
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[cfg(feature = "alloc")]
pub fn with_room<T: Send>(capacity: usize) -> Result<Ends<T>, BuildError> {
    with_room_and_wait(capacity, Ordinary::default())
}

/// As [`with_room`], with ends that [wait](crate::wait) by `wait`.
#[cfg(feature = "alloc")]
pub fn with_room_and_wait<T: Send, W: Wait>(capacity: usize, wait: W) -> Result<Ends<T, W>, BuildError> {
    of_room(capacity, in_blocks::<T>, |blocks, entries| with_wait(blocks, entries, wait))
}

/// As [`mpsc`], with ends that [wait](crate::wait) by `wait`.
///
/// ```
/// use thalweg_queue::{Park, mpsc, mpmc};
///
/// let (tx, mut rx) = mpsc::with_wait(2, 8, Park::new())?;
/// let consumer = std::thread::spawn(move || rx.pop()); // sleeps until the push
/// tx.push("hello")?;
/// assert_eq!(consumer.join().unwrap(), Ok("hello"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[cfg(feature = "alloc")]
pub fn with_wait<T: Send, W: Wait>(blocks: usize, entries: usize, wait: W) -> Result<Ends<T, W>, BuildError> {
    mpsc_from(0, blocks, entries, wait)
}

/// As [`with_wait`], but the count of blocks starts at `head` instead of 0, and positions at `head * entries`: a queue that is old
/// already, so that tests reach the wrap of its counters.
#[doc(hidden)]
#[cfg(feature = "alloc")]
pub fn mpsc_from<T: Send, W: Wait>(
    head: u64,
    blocks: usize,
    entries: usize,
    wait: W,
) -> Result<Ends<T, W>, BuildError> {
    Shared::build(head, blocks, entries, wait).map(ends)
}

/// The first two ends of a queue.
pub(crate) fn ends<T, W: Wait>(shared: Share<Shared<T, W, Many, One>>) -> Ends<T, W> {
    let consumer = Consumer {
        shared: shared.clone(),
        #[cfg(not(loom))]
        front: (0, 0),
    };
    (Producer::new(shared), consumer)
}

/// The reading end. Dropping it closes the queue: pushes fail from then on, and what is in the queue is dropped.
///
/// It moves between threads but cannot be cloned: "one consumer" is checked by the compiler.
///
/// ```compile_fail,E0599
/// let (_tx, rx) = thalweg_queue::mpsc::mpsc::<u64>(2, 8)?;
/// let second = rx.clone();
/// # Ok::<(), thalweg_queue::BuildError>(())
/// ```
pub struct Consumer<T, W: Wait = Ordinary> {
    shared: Share<Shared<T, W, Many, One>>,
    /// Where the items begin that `ready` has counted: a block, and an offset in it. So a grant gets at them without another look.
    #[cfg(not(loom))]
    front: (usize, usize),
}

impl<T, W: Wait> Consumer<T, W> {
    /// Pops the oldest item, or says why not.
    ///
    /// - `Empty`: every item is popped.
    /// - `Busy`: a push is half-way, and items behind it, if any, have to wait for it.
    /// - `Closed`: every producer is gone and the queue is drained.
    #[inline(always)]
    pub fn try_pop(&mut self) -> Result<T, TryPopError> {
        self.shared.pop_to_the_end::<false>()
    }

    /// Pops the oldest item and its position in the queue's order.
    ///
    /// Positions count from 0 without gaps, but for entries that were [reserved](crate::mpmc::Producer::reserve) and not pushed. A position is
    /// a `u64` and wraps at its end.
    ///
    /// ```
    /// let (tx, mut rx) = thalweg_queue::mpsc::mpsc(2, 8)?;
    /// tx.push("tick")?;
    /// drop(tx.reserve(1)?);
    /// tx.push("tock")?;
    /// assert_eq!(rx.try_pop_numbered()?, (0, "tick"));
    /// assert_eq!(rx.try_pop_numbered()?, (2, "tock"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn try_pop_numbered(&mut self) -> Result<(u64, T), TryPopError> {
        self.shared.last_look(Shared::pop_numbered::<false>)
    }

    /// Pops what is there, up to `limit` items, onto the end of `into`. Returns how many: at least one, unless `limit` is zero.
    #[cfg(feature = "alloc")]
    pub fn try_pop_many(&mut self, into: &mut Vec<T>, limit: usize) -> Result<usize, TryPopError> {
        self.shared.pop_many(into, limit)
    }

    /// Moves what is there into `into`, from the first place on, dropping what was in those places. Returns how many: at least
    /// one, unless `into` is empty.
    pub fn try_pop_slice(&mut self, into: &mut [T]) -> Result<usize, TryPopError> {
        self.shared.pop_slice(into)
    }

    /// Gives up to `count` items, at least one, to be read in place: what is there, to the end of the block at most. The reasons why not
    /// are those of [`try_pop`](Self::try_pop).
    ///
    /// They stay in the queue until they are released. A grant that is leaked (`mem::forget`) leaves all of them there.
    ///
    /// ```
    /// let (tx, mut rx) = thalweg_queue::mpsc::mpsc(2, 8)?;
    /// tx.push_all([3, 1, 2])?;
    /// let numbers = rx.readable(8)?;
    /// assert_eq!(numbers[..], [3, 1, 2]);
    /// numbers.release(2);
    /// assert_eq!(rx.pop(), Ok(2));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[cfg(not(loom))]
    pub fn readable(&mut self, count: usize) -> Result<ReadGrant<'_, Self>, TryPopError> {
        ReadGrant::new(self, count)
    }

    /// The oldest item, left where it is.
    ///
    /// ```
    /// let (tx, mut rx) = thalweg_queue::mpsc::mpsc(2, 8)?;
    /// tx.push("first")?;
    /// assert_eq!(rx.peek(), Ok(&"first"));
    /// assert_eq!(rx.pop(), Ok("first"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[cfg(not(loom))]
    pub fn peek(&mut self) -> Result<&T, TryPopError> {
        grant::peek(self)
    }

    fn may_pop(&self) -> bool {
        self.shared.may_pop()
    }

    fn strategy(&self) -> &W {
        &self.shared.wait
    }

    /// How many items are pushed and not popped, lately. Exact when nobody else uses the queue and no write grant was given up, in whole or
    /// in part. The entries of an open one count, and those that it leaves without an item, until a pop has passed them: till then
    /// `is_empty` is false, though `try_pop` may say `Empty`.
    pub fn len(&self) -> usize {
        self.shared.len()
    }

    /// Whether `len` is zero.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many entries all blocks have. As few as `capacity - entries + 1` items may fill the queue, as blocks are
    /// reused whole.
    pub fn capacity(&self) -> usize {
        self.shared.layout.capacity()
    }

    /// Whether a push would be refused now for want of room.
    pub fn is_full(&self) -> bool {
        !self.shared.may_push()
    }

    /// Whether every producer is gone. Then it stays so; items may still be left.
    pub fn is_closed(&self) -> bool {
        self.shared.producers_gone()
    }
}

#[cfg(not(loom))]
impl<T, W: Wait> Consumer<T, W> {
    /// The next `count` items, which `ready` has counted: what it has seen, it sees again (I7).
    #[inline(always)]
    fn front(&self, count: usize) -> Reserved<'_, T, Many, One> {
        self.shared.reserve::<false>(count).unwrap_or_else(|_| unreachable!("what was counted is there"))
    }
}

// SAFETY: the items that are counted are committed in one block, so their entries lie next to each other, and they are the consumer's alone
// until it consumes them (I2, I7).
#[cfg(not(loom))]
unsafe impl<T, W: Wait> Read for Consumer<T, W> {
    type Item = T;

    fn ready(&mut self, count: usize) -> Result<usize, TryPopError> {
        let front = self.shared.last_look(|shared| shared.reserve::<false>(count))?;
        self.front = (self.shared.index_of(front.block), front.claim.offsets.start);
        Ok(front.claim.offsets.len())
    }

    unsafe fn read(&mut self, offset: usize) -> T {
        let Reserved { block, claim, .. } = self.front(offset + 1);
        // SAFETY: by the caller's promise the item is counted, and read once.
        unsafe { block.read(claim.offsets.start + offset) }
    }

    unsafe fn items(&self, count: usize, access: Access) -> *mut T {
        let (block, start) = self.front;
        // SAFETY: `ready` found the block, and by the caller's promise it counted them.
        unsafe { self.shared.memory(block, start..start + count, access).cast() }
    }

    unsafe fn release(&mut self, count: usize) {
        let Reserved { block, claim, known, .. } = self.front(count);
        // SAFETY: by the caller's promise they are counted, and moved out or dropped.
        unsafe { block.consume(&claim) };
        block.ask_ahead(&claim, known);
        self.shared.wait.notify(Side::Room, count, || self.shared.may_push());
    }
}

impl<T, W: Wait> Drop for Consumer<T, W> {
    fn drop(&mut self) {
        self.shared.leave_consumer();
    }
}

impl<T, W: Wait> fmt::Debug for Consumer<T, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Consumer").field("len", &self.len()).field("capacity", &self.capacity()).finish_non_exhaustive()
    }
}

crate::handles::counted! { [T, W: Wait] Consumer<T, W>; |end| end.shared.handles, end.shared.wait }
crate::wait::consumer!(exclusive batches (Consumer [T] [] T [T] is_full));
crate::wait::consumer!(grants (Consumer [T] [] T [T]));
