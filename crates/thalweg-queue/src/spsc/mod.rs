//! BBQ for one producer and one consumer: no read-modify-write, grants, and any item.
//!
//! | | |
//! |---|---|
//! | order | FIFO, linearizable, refusals one by one ([crate page](crate#what-is-promised)) |
//! | who | one producer, one consumer |
//! | items | any `T: Send` |
//! | progress | `try_push` and `try_pop` are wait-free; never `Busy` |
//! | cost | a push: one write of an entry, one store of a cursor. A pop: one read of an entry; one load of a cursor when all that was seen is popped. Each side looks at, or writes, one more cursor per block |
//!
//! From J. Wang et al., *BBQ: A Block-based Bounded Queue for Exchanging Data and Profiling*, USENIX ATC 2022; section 2.4.5 of
//! the thesis: with one producer, what is allocated is what is committed once the entry is written, and with one consumer, what
//! is reserved is what is consumed, so two of a block's four cursors are left, and both heads are private. Different from the
//! paper: a cursor is a position in the whole queue, so nothing is reset when a round begins; the consumer writes its cursor
//! once per block, when it gives the block back; batches, grants, closing, and items with destructors.
//!
//! ```
//! use thalweg_queue::{TryPopError, spsc, mpmc};
//!
//! let (mut tx, mut rx) = spsc::spsc(8, 512)?;
//! let producer = std::thread::spawn(move || (0..10_000_u64).try_for_each(|n| tx.push(n)));
//! for n in 0..10_000 {
//!     assert_eq!(rx.pop(), Ok(n));
//! }
//! producer.join().unwrap()?;
//! assert_eq!(rx.try_pop(), Err(TryPopError::Closed));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Batches and grants
//!
//! [`Producer::try_push_slice`], [`Producer::try_push_many`], [`Consumer::try_pop_slice`] and [`Consumer::try_pop_many`] move as
//! many items as there is room, or as there are, with one store of a cursor for each block they touch.
//!
//! [`Producer::reserve`] and [`Consumer::readable`] give the entries themselves, within one block, to be written or read in
//! place: [grants](crate::grant).
//!
//! ```
//! # #[cfg(not(loom))] {
//! use thalweg_queue::spsc;
//!
//! let (mut tx, mut rx) = spsc::spsc::<u64>(2, 16)?;
//! let mut grant = tx.reserve(10)?;
//! grant.extend((0..).map(|n| n * n));
//! assert_eq!(grant.commit(), 10);
//!
//! let grant = rx.readable(usize::MAX)?;
//! assert_eq!(grant[..4], [0, 1, 4, 9]);
//! grant.release(4);
//! assert_eq!(rx.try_pop()?, 16);
//! # }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Capacity
//!
//! `blocks * entries` items fit; blocks are given back whole, so `Full` means that at least `(blocks - 1) * entries + 1` are
//! waiting.
//!
//! # What the answers mean
//!
//! Each takes effect at one instant between call and return:
//!
//! | answer | at that instant |
//! |---|---|
//! | `try_push`: `Full` | at least `(blocks - 1) * entries + 1` items are in the queue: the next block is not read to its end |
//! | `try_pop`: `Empty` | no item is in the queue: what is committed is popped |
//! | either: `Closed` | the other end is gone, and for `try_pop` no item is left |
//!
//! Neither is ever `Busy`. Items are there when their push, or the commit of their grant, has returned; a grant that is not
//! committed holds nothing back that was pushed before.
//!
//! # Invariants
//!
//! - **S1** The producer owns the entries from its position up to the end of its block, from the moment it has seen the block
//!   granted. The consumer owns those from its position up to the position it has seen committed, which are written.
//! - **S2** `committed` of a block is written by the producer only, and never runs back. It lies in the block's present round or
//!   at its start, or at the end of an earlier one; so a position that it has passed is committed.
//! - **S3** `granted` of a block is written by the consumer only: the start of the round for which the block is free.

#[cfg(not(loom))]
mod around;
mod consumer;
#[cfg(feature = "alloc")]
pub mod fast_forward;
#[cfg(not(loom))]
mod fixed;
mod producer;
mod ring;

#[cfg(not(loom))]
pub use around::{ReadAround, WriteAround};
pub use consumer::Consumer;
#[cfg(not(loom))]
pub use fixed::Static;
pub use producer::Producer;

#[cfg(feature = "alloc")]
use crate::BuildError;
#[cfg(feature = "alloc")]
use crate::memory::Heap;
#[cfg(feature = "alloc")]
use crate::mpmc::size::{in_blocks, of_capacity, of_room};
#[cfg(feature = "alloc")]
use crate::share::Share;
use crate::wait::Ordinary;
#[cfg(feature = "alloc")]
use crate::wait::Wait;
#[cfg(feature = "alloc")]
use ring::Ring;

/// Both ends of a queue.
pub type Ends<T, W = Ordinary> = (Producer<T, W>, Consumer<T, W>);

/// The ordinary writing end: it sleeps while it waits, and may be `async`.
pub type Sender<T> = Producer<T, Ordinary>;

/// The ordinary reading end: it sleeps while it waits, and may be `async`.
pub type Receiver<T> = Consumer<T, Ordinary>;

/// A queue for one producer and one consumer with room for `capacity` items at least. Its ends sleep while they wait, and may be `async`.
///
/// ```
/// use thalweg_queue::spsc;
///
/// let (mut tx, mut rx) = spsc::channel(1024)?;
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

/// A queue of `blocks` blocks with `entries` entries each, for one producer and one consumer.
///
/// `blocks` must be a power of two and at least 2, `entries` at least 1.
///
/// Memory: the entries, and 256 bytes per block.
#[cfg(feature = "alloc")]
pub fn spsc<T: Send>(blocks: usize, entries: usize) -> Result<Ends<T>, BuildError> {
    with_wait(blocks, entries, Ordinary::default())
}

/// As [`spsc`], with at least `capacity` entries in a number of blocks chosen by [`heuristic_blocks`](crate::mpmc::heuristic_blocks).
///
/// ```
/// let (tx, _rx) = thalweg_queue::spsc::with_capacity::<u64>(4096)?;
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

/// As [`spsc`], with room for `capacity` items for certain, in a number of blocks chosen by
/// [`heuristic_blocks`](crate::mpmc::heuristic_blocks). Its entries are more, as in [`mpmc::with_room`](crate::mpmc::with_room).
///
/// ```
/// let (mut tx, _rx) = thalweg_queue::spsc::with_room(8)?;
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

/// As [`spsc`], with ends that [wait](crate::wait) by `wait`.
///
/// ```
/// use thalweg_queue::{Park, spsc, mpmc};
///
/// let (mut tx, mut rx) = spsc::with_wait(2, 8, Park::new())?;
/// let consumer = std::thread::spawn(move || rx.pop()); // sleeps until the push
/// tx.push("hello")?;
/// assert_eq!(consumer.join().unwrap(), Ok("hello"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[cfg(feature = "alloc")]
pub fn with_wait<T: Send, W: Wait>(blocks: usize, entries: usize, wait: W) -> Result<Ends<T, W>, BuildError> {
    spsc_from(0, blocks, entries, wait)
}

/// As [`with_wait`], but the count of blocks starts at `head` instead of 0: a queue that is old already, so that tests reach the
/// wrap of its positions.
#[doc(hidden)]
#[cfg(feature = "alloc")]
pub fn spsc_from<T: Send, W: Wait>(
    head: u64,
    blocks: usize,
    entries: usize,
    wait: W,
) -> Result<Ends<T, W>, BuildError> {
    let (ring, start) = Ring::new(&mut Heap, head, (blocks, entries), wait)?;
    let ring = Share::new(ring);
    Ok((Producer::new(ring.clone(), start), Consumer::new(ring, start)))
}
