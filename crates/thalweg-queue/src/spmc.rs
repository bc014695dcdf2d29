//! BBQ for one producer and many consumers: pushes without a read-modify-write.
//!
//! | | |
//! |---|---|
//! | order | FIFO, linearizable, refusals one by one ([crate page](crate#what-is-promised)) |
//! | who | one producer; any number of consumers, whose handles are `Clone` and take `&self` |
//! | items | any `T: Send` |
//! | progress | deadlock-free, not lock-free: a push is `Busy` while pops of the oldest block are half-way. A pop never is |
//! | cost | a push: one store of the producer's own cursor, one store to commit. A pop: one compare-and-exchange to reserve, one store to give back |
//!
//! The queue of [`mpmc::shared`](crate::mpmc::shared()), and its consumers. That there is one producer is known to the compiler, and both sides
//! rely on it:
//!
//! - The rest of the block is the producer's own. So it takes nothing by an exchange, and a push takes its place in the order when it is
//!   committed: there is nothing half-way in front of an item.
//! - So what is [reserved](Producer::reserve) and not committed holds nothing back, leaves no hole behind, and may even be leaked.
//! - Consumers that find an entry without its mark know that there is no item: they look for no holes and for no pushes that are half-way,
//!   and answer `Empty`.
//!
//! ```
//! use std::thread;
//! use thalweg_queue::spmc;
//!
//! let (mut tx, rx) = spmc::spmc(4, 16)?;
//! let workers = [(); 3].map(|()| {
//!     let rx = rx.clone();
//!     thread::spawn(move || rx.iter().sum::<u64>())
//! });
//! drop(rx);
//! tx.push_all(1..=1000)?;
//! drop(tx);
//! assert_eq!(workers.map(|worker| worker.join().unwrap()).iter().sum::<u64>(), 500_500);
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
//! | `try_push`: `Full` | at least `(blocks - 1) * entries + 1` items are in the queue: a block is reused only as a whole |
//! | `try_push`: `Busy` | the oldest block is reserved to its end and some pops of it have not ended |
//! | `try_pop`: `Ok` | the item was at the front |
//! | `try_pop`: `Empty` | no item was in the queue |
//! | either: `Closed` | no handle of the other side is left, and for `try_pop` no item |
//!
//! The invariants are those of the [module above](super#invariants-per-round-of-a-block).

#[cfg(not(loom))]
use crate::PushError;
#[cfg(all(feature = "std", not(loom)))]
use crate::PushTimeoutError;
#[cfg(not(loom))]
use crate::grant::WriteGrant;
use crate::mpmc::shared::Shared;
use crate::mpmc::size::{in_blocks, of_capacity, of_room};
use crate::mpmc::users::{Many, One};
use crate::share::Share;
#[cfg(not(loom))]
use crate::wait::push_by;
use crate::wait::{Ordinary, Wait};
#[cfg(all(feature = "std", not(loom)))]
use crate::wait::{Sleep, deadline, push_when};
use crate::{BuildError, TryPushError};
#[cfg(feature = "alloc")]
use alloc::vec::Vec;
use core::fmt;
#[cfg(all(feature = "std", not(loom)))]
use core::time::Duration;

/// A reading end: one of many.
pub type Consumer<T, W = Ordinary> = crate::mpmc::Consumer<T, W, One>;

/// Memory for one queue in a `static`: see [`mpmc::Static`](crate::mpmc::Static).
///
/// ```
/// use thalweg_queue::spmc;
///
/// static JOBS: spmc::Static<u32, 2, 16> = spmc::Static::new();
///
/// let (mut tx, rx) = JOBS.take().expect("nobody else takes it");
/// tx.push(7)?;
/// assert_eq!(rx.clone().pop(), Ok(7));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[cfg(not(loom))]
pub type Static<T, const BLOCKS: usize, const ENTRIES: usize, W = Ordinary> =
    crate::mpmc::Static<T, BLOCKS, ENTRIES, W, One, Many>;

/// Both ends of a queue.
pub type Ends<T, W = Ordinary> = (Producer<T, W>, Consumer<T, W>);

/// Entries of one block that a [`WriteGrant`] of the one producer writes.
#[cfg(not(loom))]
pub type Claimed<'a, T, W> = crate::mpmc::Claimed<'a, T, W, One, Many>;

/// The ordinary writing end: it sleeps while it waits, and may be `async`.
pub type Sender<T> = Producer<T, Ordinary>;

/// The ordinary reading end: it sleeps while it waits, and may be `async`.
pub type Receiver<T> = Consumer<T, Ordinary>;

/// A queue for one producer and any number of consumers with room for `capacity` items at least. Its ends sleep while they wait, and may be `async`.
///
/// ```
/// use thalweg_queue::spmc;
///
/// let (mut tx, rx) = spmc::channel(1024)?;
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

/// A queue of `blocks` blocks with `entries` entries each, for one producer and many consumers.
///
/// `blocks` must be a power of two and at least 2, `entries` at least 1.
///
/// Memory: the entries, two bytes for each (in lines of 64), and some 500 bytes per block.
#[cfg(feature = "alloc")]
pub fn spmc<T: Send>(blocks: usize, entries: usize) -> Result<Ends<T>, BuildError> {
    with_wait(blocks, entries, Ordinary::default())
}

/// As [`spmc`], with at least `capacity` entries in a number of blocks chosen by [`heuristic_blocks`](crate::mpmc::heuristic_blocks).
///
/// ```
/// let (tx, _rx) = thalweg_queue::spmc::with_capacity::<u64>(4096)?;
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

/// As [`spmc`], with room for `capacity` items for certain, in a number of blocks chosen by
/// [`heuristic_blocks`](crate::mpmc::heuristic_blocks). Its entries are more, as in [`mpmc::with_room`](crate::mpmc::with_room).
///
/// ```
/// let (mut tx, _rx) = thalweg_queue::spmc::with_room(8)?;
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

/// As [`spmc`], with ends that [wait](crate::wait) by `wait`.
///
/// ```
/// use thalweg_queue::{Park, spmc, mpmc};
///
/// let (mut tx, rx) = spmc::with_wait(2, 8, Park::new())?;
/// let consumer = std::thread::spawn(move || rx.pop()); // sleeps until the push
/// tx.push("hello")?;
/// assert_eq!(consumer.join().unwrap(), Ok("hello"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[cfg(feature = "alloc")]
pub fn with_wait<T: Send, W: Wait>(blocks: usize, entries: usize, wait: W) -> Result<Ends<T, W>, BuildError> {
    spmc_from(0, blocks, entries, wait)
}

/// As [`with_wait`], but the count of blocks starts at `head` instead of 0, and positions at `head * entries`: a queue that is old
/// already, so that tests reach the wrap of its counters.
#[doc(hidden)]
#[cfg(feature = "alloc")]
pub fn spmc_from<T: Send, W: Wait>(
    head: u64,
    blocks: usize,
    entries: usize,
    wait: W,
) -> Result<Ends<T, W>, BuildError> {
    Shared::build(head, blocks, entries, wait).map(ends)
}

/// The first two ends of a queue.
pub(crate) fn ends<T, W: Wait>(shared: Share<Shared<T, W, One, Many>>) -> Ends<T, W> {
    (Producer { shared: shared.clone() }, Consumer::new(shared))
}

/// The writing end. Dropping it closes the queue; the consumers drain what is left.
///
/// It moves between threads but cannot be cloned: "one producer" is checked by the compiler.
///
/// ```compile_fail,E0599
/// let (tx, _rx) = thalweg_queue::spmc::spmc::<u64>(2, 8)?;
/// let second = tx.clone();
/// # Ok::<(), thalweg_queue::BuildError>(())
/// ```
pub struct Producer<T, W: Wait = Ordinary> {
    shared: Share<Shared<T, W, One, Many>>,
}

impl<T, W: Wait> Producer<T, W> {
    /// Pushes, or says why not and gives the value back.
    ///
    /// - `Full`: at least `(blocks - 1) * entries + 1` items are still waiting for a pop to begin.
    /// - `Busy`: room depends only on pops that have begun and not ended.
    /// - `Closed`: every consumer is gone. A push while the last one leaves may still succeed; its item is dropped
    ///   with the queue.
    #[inline(always)]
    pub fn try_push(&mut self, value: T) -> Result<(), TryPushError<T>> {
        self.shared.push::<false>(value)
    }

    /// Copies as many of `values` as there is room for, from the first on. Returns how many: at least one, unless there are none.
    pub fn try_push_slice(&mut self, values: &[T]) -> Result<usize, TryPushError<()>>
    where
        T: Copy,
    {
        self.shared.push_slice(values)
    }

    /// Moves as many of `values` as there is room for into the queue, from the first on. Returns how many: at least one, unless
    /// there are none.
    #[cfg(feature = "alloc")]
    pub fn try_push_many(&mut self, values: &mut Vec<T>) -> Result<usize, TryPushError<()>> {
        self.shared.push_many(values)
    }

    /// Gives up to `count` entries, at least one, to be written in place: what is left of the block, at most. The reasons why not
    /// are those of [`try_push`](Self::try_push).
    ///
    /// What is not committed is not in the queue: entries that are given up, as the grant is dropped or less is committed, are the
    /// next to be written.
    ///
    /// ```
    /// let (mut tx, rx) = thalweg_queue::spmc::spmc(2, 8)?;
    /// let mut grant = tx.reserve(3)?;
    /// grant.extend(["to", "be"]);
    /// assert_eq!(grant.commit(), 2);
    /// tx.push("not")?;
    /// drop(tx);
    /// assert_eq!(rx.try_pop_numbered()?, (0, "to"));
    /// assert_eq!(rx.try_pop_numbered()?, (1, "be"));
    /// assert_eq!(rx.try_pop_numbered()?, (2, "not"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[cfg(not(loom))]
    pub fn reserve(&mut self, count: usize) -> Result<WriteGrant<Claimed<'_, T, W>>, TryPushError<()>> {
        Claimed::new(&self.shared, count)
    }

    /// As [`reserve`](Self::reserve), waiting while there is no room.
    #[cfg(not(loom))]
    pub fn wait_reserve(&mut self, count: usize) -> Result<WriteGrant<Claimed<'_, T, W>>, PushError<()>> {
        push_by(self, None, |end| end.reserve(count).map(drop)).map_err(|_| PushError(()))?;
        self.reserve_found(count)
    }

    /// As [`wait_reserve`](Self::wait_reserve), but no longer than `timeout`.
    #[cfg(all(feature = "std", not(loom)))]
    pub fn reserve_timeout(
        &mut self,
        count: usize,
        timeout: Duration,
    ) -> Result<WriteGrant<Claimed<'_, T, W>>, PushTimeoutError<()>> {
        push_by(self, deadline(timeout), |end| end.reserve(count).map(drop))?;
        self.reserve_found(count).map_err(|PushError(())| PushTimeoutError::Closed(()))
    }

    /// As [`reserve`](Self::reserve), pending while there is no room. Dropped before it is ready, it has reserved nothing.
    #[cfg(all(feature = "std", not(loom)))]
    pub async fn reserve_async(&mut self, count: usize) -> Result<WriteGrant<Claimed<'_, T, W>>, PushError<()>>
    where
        W: Sleep,
    {
        push_when(&mut *self, |end| end.reserve(count).map(drop)).await?;
        self.reserve_found(count)
    }

    /// A grant of the room that was found: it is still there, as nobody else pushes. So only the end can come in between.
    #[cfg(not(loom))]
    fn reserve_found(&mut self, count: usize) -> Result<WriteGrant<Claimed<'_, T, W>>, PushError<()>> {
        self.reserve(count).map_err(|_| PushError(()))
    }

    fn may_push(&self) -> bool {
        self.shared.may_push() || self.shared.consumers_gone()
    }

    fn strategy(&self) -> &W {
        &self.shared.wait
    }

    /// How many items are pushed and not popped, lately. Exact when nobody else uses the queue. A grant counts when it is
    /// committed, for what is written in it.
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

    /// Whether every consumer is gone. Then it stays so, and every push is refused.
    pub fn is_closed(&self) -> bool {
        self.shared.consumers_gone()
    }
}

impl<T, W: Wait> Drop for Producer<T, W> {
    fn drop(&mut self) {
        self.shared.leave_producer();
    }
}

impl<T, W: Wait> fmt::Debug for Producer<T, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Producer").field("len", &self.len()).field("capacity", &self.capacity()).finish_non_exhaustive()
    }
}

crate::handles::counted! { [T, W: Wait] Producer<T, W>; |end| end.shared.handles, end.shared.wait }
crate::wait::producer!(exclusive batches Producer[T]);
