//! BBQ in drop-old mode: a queue that is never full, as a push overwrites the oldest block.
//!
//! | | |
//! |---|---|
//! | order | FIFO, linearizable, refusals one by one ([crate page](crate#what-is-promised)); items may be missing, the oldest ones |
//! | who | any number of producers and consumers; handles are `Clone` and their methods take `&self` |
//! | items | [`Plain`]: nothing but bytes, as they are read while they may be overwritten; for what owns something there is [`any`] |
//! | kept | the newest `(blocks - 1) * entries` items, and those behind them in the block that is being filled; what is older goes by whole blocks |
//! | progress | a push never waits for a consumer. `Busy` while a push that a whole round has overtaken is half-way |
//! | cost | a push: one `fetch_add` to allocate, one store to commit. A pop: three loads of cursors, one of a mark, and one compare-and-exchange. A batch: one exchange, and a store or a load of a mark for each item, for all its items in one block |
//! | delivered | an item that is committed, as soon as those before it are, however many pushes behind it are half-way |
//!
//! For what is of no use any more when it is old: traces, samples, state that is shown. Producers never look at a cursor that
//! consumers write, so whoever reads does not slow down who writes.
//!
//! ```
//! use thalweg_queue::overwriting;
//!
//! let (tx, rx) = overwriting::drop_old(4, 16)?;
//! for number in 0..1000_u64 {
//!     tx.try_push(number)?; // nobody reads, and it is never full
//! }
//! let (position, number) = rx.try_pop_numbered()?;
//! assert_eq!((position, number), (944, 944)); // the oldest that is left
//! assert_eq!(rx.dropped(), 944);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! From J. Wang et al., *BBQ: A Block-based Bounded Queue for Exchanging Data and Profiling*, USENIX ATC 2022, and section 2.4.3 of
//! the thesis. Different from the paper:
//!
//! - One cursor says what consumers take next, a block and an offset in one word, in place of a head and a `reserved` for each
//!   block. Producers never look at those here, so nothing is gained by keeping them apart; and consumers that were overrun go on by
//!   one exact exchange, which also says how many items they passed over. As printed, a consumer in whose block producers are a
//!   round ahead compares offsets of different rounds, and can say empty beside a queue of unread items (errata E3); and one that was
//!   overrun by several rounds goes to the next block though older ones survive.
//! - A consumer reads, looks whether the entry was overwritten meanwhile, and then takes it. As printed it takes it first: with
//!   several consumers an item could be lost that was never too old, as another consumer takes a later one in between.
//! - Several items, of one block, are allocated by one compare-and-exchange, and taken by one.
//! - Rounds begin by an exact exchange instead of MAX, so they may wrap.
//! - Entries are marked, a byte for each, and not counted, as in [`mpmc`](crate::mpmc): by counts, consumers may see what is
//!   committed only when the block is full. Here there are no marks of what is read: nobody waits for that.
//!
//! # What the answers mean
//!
//! Each takes effect at one instant between call and return:
//!
//! | answer | at that instant |
//! |---|---|
//! | `try_push`: `Ok` | the item is at the end of the queue |
//! | `try_push`: `Busy` | a push into the oldest block, begun a round ago, has not ended |
//! | `try_pop`: `Ok` | the item was the oldest that survived, or was so when it was read |
//! | `try_pop`: `Empty` | no item was in the queue |
//! | `try_pop`: `Busy` | the oldest push was half-way; items behind it, if any, wait for it |
//! | either: `Closed` | no handle of the other side is left, and for `try_pop` no item |
//!
//! `try_push` never answers `Full`. What was pushed was popped, or is left, or is in [`Consumer::dropped`]: nothing twice, and
//! nothing in two of them.
//!
//! # Invariants
//!
//! - **D1** A round of a block begins only when every entry of the one before is committed. `allocated` may run past the end. `phead`
//!   moves after it.
//! - **D2** Whoever writes an entry comes after all who wrote it in the round before, and its writes come after `allocated` of its
//!   round. So who has read a word of a later round also sees `allocated` there.
//! - **D3** `next` is where consumers go on: all before it is popped or dropped. It moves only by an exchange from the very place that
//!   was looked at: past one item that was read whole, or to the start of a block that was begun, when the blocks before are lost.
//! - **D4** The mark of an entry is that of the round from when it is committed, and until then that of the round before. Who sees
//!   `allocated` of a round sees no older ones.

#[cfg(all(feature = "std", not(loom)))]
pub mod any;
mod consumer;
pub(crate) mod cursors;
mod producer;
mod ring;

pub use crate::mpmc::plain::Plain;
pub use consumer::Consumer;
pub use producer::Producer;

use crate::BuildError;
use crate::mpmc::size::{of_capacity, of_room};
use crate::wait::{Ordinary, Wait, Yield};
use ring::Ring;
use thalweg_sync::sync::Arc;

/// Both ends of a queue.
pub type Ends<T, W = Ordinary> = (Producer<T, W>, Consumer<T, W>);

/// The ordinary writing end: it sleeps while it waits, and may be `async`.
pub type Sender<T> = Producer<T, Ordinary>;

/// The ordinary reading end: it sleeps while it waits, and may be `async`.
pub type Receiver<T> = Consumer<T, Ordinary>;

/// A queue for any number of producers and consumers that keeps the newest items, up to `capacity` of them at least: a push overwrites the
/// oldest block when there is no other. Its consumers sleep while they wait, and may be `async`.
///
/// ```
/// use thalweg_queue::overwriting;
///
/// let (tx, rx) = overwriting::channel(64)?;
/// (0..1000).try_for_each(|n| tx.push(n))?;
/// assert!(rx.pop()? > 800);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Errors and memory are those of [`with_capacity`].
pub fn channel<T: Plain>(capacity: usize) -> Result<(Sender<T>, Receiver<T>), BuildError> {
    of_room(capacity, check::<T>, |blocks, entries| with_wait(blocks, entries, Ordinary::default()))
}

/// A queue of `blocks` blocks with `entries` entries each, which overwrites the oldest block when there is no other.
///
/// `blocks` must be a power of two and at least 2, `entries` at least 1. More blocks lose less at a time; larger ones mean fewer
/// steps to a next one. [`with_capacity`] chooses for you.
///
/// Memory: the entries, in words of 8 bytes, a byte for each (in lines of 64), and some 256 bytes per block.
pub fn drop_old<T: Plain>(blocks: usize, entries: usize) -> Result<Ends<T>, BuildError> {
    with_wait(blocks, entries, Ordinary::default())
}

/// As [`drop_old()`], with at least `capacity` entries in a number of blocks chosen by [`heuristic_blocks`](crate::mpmc::heuristic_blocks).
///
/// ```
/// let (tx, _rx) = thalweg_queue::overwriting::with_capacity::<u64>(4096)?;
/// assert_eq!(tx.capacity(), 4096);
/// # Ok::<(), thalweg_queue::BuildError>(())
/// ```
pub fn with_capacity<T: Plain>(capacity: usize) -> Result<Ends<T>, BuildError> {
    with_capacity_and_wait(capacity, Ordinary::default())
}

/// As [`with_capacity`], with ends that [wait](crate::wait) by `wait`.
pub fn with_capacity_and_wait<T: Plain, W: Wait>(capacity: usize, wait: W) -> Result<Ends<T, W>, BuildError> {
    of_capacity(capacity, check::<T>, |blocks, entries| with_wait(blocks, entries, wait))
}

/// Whether there can be a queue of that shape.
pub(crate) fn check<T: Plain>(blocks: usize, entries: usize) -> Result<(), BuildError> {
    Ring::<T, Yield>::check(blocks, entries)
}

/// As [`drop_old()`], with ends that [wait](crate::wait) by `wait`: consumers for items, and producers that were answered `Busy`.
///
/// ```
/// use thalweg_queue::{Park, overwriting};
///
/// let (tx, rx) = overwriting::with_wait(2, 8, Park::new())?;
/// let consumer = std::thread::spawn(move || rx.pop()); // sleeps until the push
/// tx.push(7)?;
/// assert_eq!(consumer.join().unwrap(), Ok(7));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn with_wait<T: Plain, W: Wait>(blocks: usize, entries: usize, wait: W) -> Result<Ends<T, W>, BuildError> {
    drop_old_from(0, blocks, entries, wait)
}

/// As [`with_wait`], but the count of blocks starts at `head` instead of 0: a queue that is old already, so that tests reach the
/// wrap of its counters.
#[doc(hidden)]
pub fn drop_old_from<T: Plain, W: Wait>(
    head: u64,
    blocks: usize,
    entries: usize,
    wait: W,
) -> Result<Ends<T, W>, BuildError> {
    let ring = Arc::new(Ring::new(head, blocks, entries, wait)?);
    Ok((Producer::new(ring.clone()), Consumer::new(ring)))
}
