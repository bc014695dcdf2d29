//! BBQ for messages of any size: bytes, written and read in place.
//!
//! | | |
//! |---|---|
//! | order | FIFO, linearizable, refusals one by one ([crate page](crate#what-is-promised)) |
//! | who | any number of producers and consumers; handles are `Clone` and their methods take `&self` |
//! | items | messages of 0 bytes up to a block's; each starts at a multiple of 16 and lies in one piece |
//! | progress | deadlock-free, not lock-free: `Busy` while another operation on the block is half-way |
//! | cost | a push: one `fetch_add` to allocate, one store to commit, whatever the size. A pop: one compare-and-exchange and one `fetch_add`. Of [`drop_old()`]: a byte stored for each 16 of a message to commit it, and no `fetch_add` to pop |
//! | delivered | a message that is committed, as soon as those before it are, however many pushes behind it are half-way |
//!
//! ```
//! # #[cfg(not(loom))] {
//! use thalweg_queue::bytes;
//!
//! let (tx, rx) = bytes::bytes(4, 1024)?;
//! let mut grant = tx.reserve(5)?; // these five bytes are in the queue already
//! grant.copy_from_slice(b"hello");
//! grant.commit();
//! tx.try_push(b"")?;
//!
//! assert_eq!(&*rx.readable()?, b"hello"); // read in place, and given back when it is dropped
//! assert_eq!(&*rx.readable()?, b"");
//! # }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! From J. Wang et al., *BBQ: A Block-based Bounded Queue for Exchanging Data and Profiling*, USENIX ATC 2022, and section 2.4.4 of
//! the thesis: cursors count space instead of entries, here in granules of 16 bytes, and whoever goes over the edge of a block makes
//! what is left of it an entry without a message. Different from the paper:
//!
//! - Sizes are in a table of their own, a word of four bytes for each granule, not in front of the message. A consumer that was
//!   overtaken may read a size while its place is written again; as an atomic it is out of date, and not taken; among the bytes of a
//!   message it would be a data race.
//! - The paper counts what is committed. A count tells a consumer that messages are committed only between two pushes, which while
//!   several producers are busy may not be before the block is full. Here a message is committed by noting its size, as FastForward
//!   does with an item: who gives its place back clears the size. So a consumer sees each message for itself.
//! - A consumer that takes the rest of a block adds its size to `consumed`. As printed it sets `consumed` to the end, and so frees the
//!   block under those who are still reading in it (errata E6).
//! - An empty message is a message: the rest of a block has a mark of its own, not size zero.
//! - A message that does not fit ends the block only when the next one can be begun. As printed each attempt on a full queue throws the
//!   rest of a block away, where smaller messages would still fit.
//! - One cursor says what consumers take next, a block and an offset in one word, in place of a head and a `reserved` for each
//!   block; producers reset `consumed` when they begin a block.
//! - Rounds begin by an exact exchange instead of MAX, so they may wrap.
//! - In drop-old mode nobody clears sizes, as nobody may ever come to read them. There every granule has a mark, as every entry of
//!   [`overwriting`](crate::overwriting) has.
//!
//! # Batches
//!
//! Messages are copied, so a batch is a slice of them: [`push_many`](Producer::push_many) and its other forms take those that they have pushed
//! off its front, and what ends the wait, or a waker that panics, leaves the others there. They are pushed one by one, and others push between
//! them. [`pop_many`](Consumer::pop_many) puts them one behind the other into a [`Batch`], whose memory is used again.
//!
//! # Grants
//!
//! [`Producer::reserve`] gives the bytes of a message to be written, [`Consumer::readable`] those of the oldest one to be read. A
//! message that is written shorter than it was reserved is committed by [`WriteGrant::commit_first`]. A write grant that is dropped,
//! also by a panic, leaves no message. A thread may have several grants; what is behind a write grant is not seen before it ends, and
//! a block with a read grant is not written again. One that is leaked (`mem::forget`) stops the queue for good when its turn comes.
//!
//! # What the answers mean
//!
//! Each takes effect at one instant between call and return:
//!
//! | answer | at that instant |
//! |---|---|
//! | a push: `Ok` | the message is at the end of the queue; with a grant, that is its place, and it can be popped when it is committed |
//! | a push: `Full` | it did not fit into the rest of the open block, and a message of the next block, or the mark at its end, is waiting for a pop to begin |
//! | a push: `Busy` | the same, but all messages of the next block are taken, and some are still being read |
//! | a push: `TooLarge` | it never fits: it has more bytes than a block |
//! | a pop: `Ok` | the message was at the front |
//! | a pop: `Empty` | no message was in the queue |
//! | a pop: `Busy` | the oldest push was half-way; messages behind it, if any, wait for it |
//! | either: `Closed` | no handle of the other side is left, and for a pop no message |
//!
//! # Capacity
//!
//! `capacity` counts the bytes of all blocks. How much of them messages can use depends on their sizes: a message of `n` bytes takes
//! `g` = `n` / 16 granules, rounded up and at least one, and does not go over the edge of a block. Of messages of one size a block of `e`
//! granules takes ⌊`e` / `g`⌋, and `(blocks - 1) · ⌊e / g⌋ + 1` fit for certain, as a block is given back whole. Just over half a block each,
//! that is one to a block, and about half of the memory. Of messages of several sizes, of which the largest takes `g`,
//! `(blocks - 1) · (e - g + 1) + 1` granules fit for certain.
//!
//! # Invariants
//!
//! They are those of a queue that refuses what is new ([`RetryNew`]); for one that drops what is old, see [`drop_old()`].
//!
//! - **V1** `consumed ≤ allocated`, in one round of a block, in granules; only `allocated` may run past the end, by a message per
//!   thread. A round begins when the one before is fully consumed. `consumed` is reset before `allocated`, and `phead` moves after both.
//! - **V2** A granule goes once to a producer, whose `fetch_add` returned it, and after its commit once to a consumer, whose exchange
//!   moved `next` past it; both only together with the whole message. Until the commit, or until it is given back, it is theirs alone.
//! - **V3** `next` is the start of a message, or of the rest of a block, or of a block. It moves only by an exchange from the very place
//!   at which a header was read, and each place is left once; a block is written again only after it was left. So an exchange that
//!   succeeds has read the right header.
//! - **V4** Of the producers that go over the edge of a block, one began before it: that one passes over the rest.
//! - **V5** There is a header at the start of what is committed and not given back, and nowhere else: at the front none means
//!   half-way. All are cleared before a round begins, and who sees it begun sees that.

mod batch;
mod consumer;
mod error;
#[cfg(not(loom))]
mod grant;
mod memory;
mod mode;
mod overwriting;
#[cfg(all(feature = "std", not(loom)))]
mod polled;
mod producer;
mod ring;
#[cfg(feature = "std")]
mod stream;

pub use batch::Batch;
pub use consumer::Consumer;
pub use error::{PopBytesError, PopBytesTimeoutError, PushBytesError, PushBytesTimeoutError};
#[cfg(not(loom))]
pub use grant::{RawGrant, ReadGrant, WriteGrant};
pub use mode::{DropOld, Mode, RetryNew};
pub use producer::Producer;
#[cfg(feature = "std")]
pub use stream::Reader;

use crate::wait::{Ordinary, Wait};
use crate::{BuildError, TryPopError};
use overwriting::Overwriting;
use ring::Ring;
use thalweg_sync::sync::Arc;

/// Both ends of a queue.
pub type Ends<W = Ordinary, M = RetryNew> = (Producer<W, M>, Consumer<W, M>);

/// The ordinary writing end: it sleeps while it waits, and may be `async`.
pub type Sender = Producer<Ordinary>;

/// The ordinary reading end: it sleeps while it waits, and may be `async`.
pub type Receiver = Consumer<Ordinary>;

/// A queue of messages for any number of producers and consumers, with memory for `capacity` bytes in four blocks; a message takes a quarter
/// of them at most. Its ends sleep while they wait, and may be `async`.
///
/// ```
/// use thalweg_queue::bytes;
///
/// let (tx, rx) = bytes::channel(4096)?;
/// tx.push(b"hello")?;
/// let mut message = Vec::new();
/// rx.pop(&mut message)?;
/// assert_eq!(message, b"hello");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Errors and memory are those of [`bytes()`].
pub fn channel(capacity: usize) -> Result<(Sender, Receiver), BuildError> {
    with_wait(4, capacity.div_ceil(4), Ordinary::default())
}

/// A queue of `blocks` blocks of `block_bytes` bytes each, rounded up to a multiple of 16.
///
/// `blocks` must be a power of two and at least 2, `block_bytes` at least 1 and at most 1 GiB: that of the largest message. On average
/// half a message is left over at the end of each block, so a block should have room for several.
///
/// Memory: the blocks, four bytes for each 16 of them, and 256 bytes per block. Of [`drop_old()`]: one byte more for each 16, in
/// lines of 64.
pub fn bytes(blocks: usize, block_bytes: usize) -> Result<Ends, BuildError> {
    with_wait(blocks, block_bytes, Ordinary::default())
}

/// As [`bytes()`], with ends that [wait](crate::wait) by `wait`.
///
/// ```
/// use thalweg_queue::{Park, bytes};
///
/// let (tx, rx) = bytes::with_wait(2, 64, Park::new())?;
/// let consumer = std::thread::spawn(move || {
///     let mut message = Vec::new();
///     rx.pop(&mut message).map(|_| message) // sleeps until the push
/// });
/// tx.push(b"hello")?;
/// assert_eq!(consumer.join().unwrap()?, b"hello");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn with_wait<W: Wait>(blocks: usize, block_bytes: usize, wait: W) -> Result<Ends<W>, BuildError> {
    bytes_from(0, blocks, block_bytes, wait)
}

/// A queue of messages that overwrites its oldest block when there is no other: traces, log lines. As [`bytes()`], and what
/// [`overwriting`](crate::overwriting) says of items holds for messages. Nothing is written or read in place, as a message is copied while
/// it may be overwritten.
///
/// ```
/// use thalweg_queue::bytes;
///
/// let (tx, rx) = bytes::drop_old(4, 256)?;
/// for line in 0..1000 {
///     tx.try_push(format!("line {line}").as_bytes())?; // nobody reads, and it is never full
/// }
/// let mut oldest = Vec::new();
/// rx.try_pop(&mut oldest)?;
/// assert_eq!(oldest, b"line 944"); // 16 lines to a block, and the last block has 8
/// assert_eq!(rx.dropped(), 944 * 16);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn drop_old(blocks: usize, block_bytes: usize) -> Result<Ends<Ordinary, DropOld>, BuildError> {
    drop_old_with_wait(blocks, block_bytes, Ordinary::default())
}

/// As [`drop_old()`], with ends that [wait](crate::wait) by `wait`: consumers for messages, and producers that were answered `Busy`.
///
/// ```
/// use thalweg_queue::{Park, bytes};
///
/// let (tx, rx) = bytes::drop_old_with_wait(2, 256, Park::new())?;
/// let mut message = Vec::new();
/// let consumer = std::thread::spawn(move || rx.pop(&mut message).map(|_| message)); // sleeps until the push
/// tx.push(b"hello")?;
/// assert_eq!(consumer.join().unwrap()?, b"hello");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn drop_old_with_wait<W: Wait>(blocks: usize, block_bytes: usize, wait: W) -> Result<Ends<W, DropOld>, BuildError> {
    drop_old_from(0, blocks, block_bytes, wait)
}

/// As [`drop_old_with_wait`], but the count of blocks starts at `head` instead of 0.
#[doc(hidden)]
pub fn drop_old_from<W: Wait>(
    head: u64,
    blocks: usize,
    block_bytes: usize,
    wait: W,
) -> Result<Ends<W, DropOld>, BuildError> {
    let ring = Arc::new(Overwriting::new(head, blocks, block_bytes, wait)?);
    Ok((Producer::new(ring.clone()), Consumer::new(ring)))
}

/// As [`with_wait`], but the count of blocks starts at `head` instead of 0: a queue that is old already, so that tests reach the
/// wrap of its counters.
#[doc(hidden)]
pub fn bytes_from<W: Wait>(head: u64, blocks: usize, block_bytes: usize, wait: W) -> Result<Ends<W>, BuildError> {
    let ring = Arc::new(Ring::new(head, blocks, block_bytes, wait)?);
    Ok((Producer::new(ring.clone()), Consumer::new(ring)))
}
