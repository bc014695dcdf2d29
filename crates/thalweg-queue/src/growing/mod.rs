//! BLQ's chunk ring: a queue for one producer and one consumer that grows by linking chunks in, and shrinks again.
//!
//! | | |
//! |---|---|
//! | order | FIFO, linearizable, refusals one by one ([crate page](crate#what-is-promised)) |
//! | who | one producer, one consumer |
//! | items | any `T: Send`; they are never copied to grow |
//! | progress | `try_push` and `try_pop` are wait-free, but for the allocator when the ring grows or shrinks |
//! | cost | a push: one write of an entry, one store of a count. A pop: one read, one store of a count on a line that the producer does not look at; a load of the chunk's count when all that was seen is popped. Either looks at the other side's line of chunks once per chunk at most |
//!
//! Chunks are linked in a loop. Producer and consumer go round it, each in a chunk. When the producer comes to the end
//! of its chunk and finds the consumer in the next one, it links a new chunk in between and goes on there: nothing is
//! copied, and the consumer neither waits nor notices. A ring that was long at most half in use links chunks out
//! again, one at a time; it keeps one to spare, so that a load that comes and goes does not reach the allocator.
//!
//! From Q. Wu et al., *BLQ: Light-Weight Locality-Aware Runtime for Blocking-Less Queuing*, CC 2024, section 3.4, Figure
//! 4. Different from the paper:
//!
//! - The consumer goes on to the next chunk only when the producer has (errata E22). One that goes on with the last
//!   item of a chunk makes the producer take the ring for full, link a chunk in behind the consumer's back, and fill it
//!   while the consumer waits in the one after it.
//! - Each item is published at once, not each chunk: an item does not wait for its chunk to fill, and two ends that answer
//!   each other do not wait for ever. The count that tells of it is the chunk's, as in BBQ: a consumer that is a chunk behind takes no line
//!   away that the producer writes.
//! - The consumer says how many chunks it has left instead of in which one it is, which also says how many are free.
//! - The ring has a limit, in entries or bytes, and shrinks. Without memory it is full.
//! - A new chunk is as large as the ring, up to a limit: a ring doubles in one allocation. With chunks of one size,
//!   [`with_chunks`], the ring grows as in the paper.
//!
//! ```
//! use thalweg_queue::growing::{Most, chunk_ring};
//!
//! let (mut tx, mut rx) = chunk_ring(64, Most::Entries(4096))?;
//! for number in 0..3000 {
//!     tx.try_push(number)?; // never full: the ring grows
//! }
//! assert!(tx.growth().entries >= 3000);
//! for number in 0..3000 {
//!     assert_eq!(rx.try_pop(), Ok(number));
//! }
//! tx.shrink();
//! assert!(tx.growth().entries < 600); // the chunk in use, and a small one
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Capacity
//!
//! `capacity` entries at most, over all chunks. A chunk is free again when the consumer has looked into the next
//! one, so `Full` means that at least `capacity` without the largest chunk are waiting (or that there is no memory). A
//! ring that is to hold `n` items for certain is built for `n` and a chunk more; chunks are an eighth of the capacity and
//! 64 KiB at most, unless chosen.
//!
//! Under [`Most::Bytes`], `capacity` is what the bytes would hold in one chunk. Each chunk takes two lines more than its entries, or a little less, so a ring of
//! many has fewer of them: `Full` means that the bytes are used up, and that the [entries](Growth::entries) that it has come to, without
//! those of the largest chunk, are waiting.
//!
//! # What the answers mean
//!
//! Each takes effect at one instant between call and return:
//!
//! | answer | at that instant |
//! |---|---|
//! | `try_push`: `Full` | the ring may not grow, or there is no memory for another chunk; and at least its entries less the largest chunk are waiting |
//! | `try_pop`: `Empty` | no item is in the queue |
//! | either: `Closed` | the other end is gone, and for `try_pop` no item is left |
//!
//! Neither is ever `Busy`.
//!
//! # Invariants
//!
//! - **R1** The chunks of the ring are linked in a loop. From the producer's chunk on they are: free ones, then the consumer's,
//!   then those that are filled, then the producer's again; consumer and producer may be in the same chunk, and there may be
//!   no free one. Only the producer links chunks in and out, only free ones out, and frees only what is linked out.
//! - **R2** Entries are filled in ring order by the producer and read in ring order by the consumer. An entry is the consumer's
//!   from the publication of its item until the consumer leaves the chunk, and the producer's otherwise.
//! - **R3** The links of the producer's chunk and of the free ones behind it are the producer's alone: the consumer follows a
//!   link only after the producer has gone on by it. Such a link does not change until the producer comes round
//!   again.
//! - **R4** The producer enters a chunk only if the consumer has left it since it was filled.
//! - **R5** Counts of what the other side did are at times behind, never ahead. The producer then takes too many chunks for used,
//!   the consumer too few items for pushed. A chunk's count is that of all pushed items from when the producer comes there until it
//!   goes on, and is not written otherwise; so a consumer that has come there by R3 finds it not behind what was pushed before.
//! - **R6** A ring that is full and at its limit stays so until the consumer leaves a chunk: neither an item nor a chunk can come or go before,
//!   and what the consumer has left is never again what it was. So the producer need not look for more than that.

mod chunk;
mod consumer;
mod producer;
mod shared;
mod size;

pub use consumer::Consumer;
pub use producer::Producer;
pub use size::{Growth, Most};

use crate::BuildError;
use crate::share::Share;
use crate::wait::{Ordinary, Wait};
use shared::Shared;
use size::{Limits, Size};

/// The ordinary writing end: it sleeps while it waits, and may be `async`.
pub type Sender<T> = Producer<T, Ordinary>;

/// The ordinary reading end: it sleeps while it waits, and may be `async`.
pub type Receiver<T> = Consumer<T, Ordinary>;

/// A queue for one producer and one consumer that begins with a few entries and may grow to `capacity`. Its ends sleep while they wait, and
/// may be `async`.
///
/// ```
/// use thalweg_queue::growing;
///
/// let (mut tx, mut rx) = growing::channel(1 << 20)?;
/// tx.push("a")?;
/// assert_eq!(rx.pop(), Ok("a"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Errors and memory are those of [`chunk_ring`].
pub fn channel<T: Send>(capacity: usize) -> Result<(Sender<T>, Receiver<T>), BuildError> {
    chunk_ring_with_wait(capacity.min(FIRST), Most::Entries(capacity), Ordinary::default())
}

/// Entries that a [`channel`] begins with, if it may have so many.
const FIRST: usize = 64;

/// A queue with `first` entries, which may grow to `most`.
///
/// `first` must be at least 2 and within `most`; with `Most::Entries(first)` the ring never grows. `BuildError` if it is not. Memory:
/// the entries, and a line or two per chunk.
pub fn chunk_ring<T: Send>(first: usize, most: Most) -> Result<Ends<T>, BuildError> {
    chunk_ring_with_wait(first, most, Ordinary::default())
}

/// As [`chunk_ring()`], with ends that [wait](crate::wait) by `wait`.
///
/// ```
/// use thalweg_queue::Park;
/// use thalweg_queue::growing::{Most, chunk_ring_with_wait};
///
/// let (mut tx, mut rx) = chunk_ring_with_wait(64, Most::Entries(4096), Park::new())?;
/// let consumer = std::thread::spawn(move || rx.pop()); // sleeps until the push
/// tx.push("hello")?;
/// assert_eq!(consumer.join().unwrap(), Ok("hello"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn chunk_ring_with_wait<T: Send, W: Wait>(first: usize, most: Most, wait: W) -> Result<Ends<T, W>, BuildError> {
    build(Limits::new::<T>(None, first, most)?, wait)
}

/// As [`chunk_ring()`], with chunks of at most `chunk` entries.
///
/// Small chunks give a tight limit, as one chunk less than `most` may fill the ring, and small steps of growth. Large ones give few
/// steps from chunk to chunk. The paper's ring is `with_chunks(64, 128, most)`.
///
/// ```
/// use thalweg_queue::growing::{Most, with_chunks};
///
/// let (tx, _rx) = with_chunks::<String>(64, 128, Most::Bytes(1 << 20))?;
/// assert_eq!(tx.growth().chunks, 2);
/// # Ok::<(), thalweg_queue::BuildError>(())
/// ```
pub fn with_chunks<T: Send>(chunk: usize, first: usize, most: Most) -> Result<Ends<T>, BuildError> {
    build(Limits::new::<T>(Some(chunk), first, most)?, Ordinary::default())
}

/// As [`with_chunks`], with ends that [wait](crate::wait) by `wait`.
///
/// ```
/// use thalweg_queue::{Park, growing};
///
/// let (mut tx, mut rx) = growing::with_wait(64, 64, growing::Most::Entries(1024), Park::new())?;
/// let consumer = std::thread::spawn(move || rx.pop()); // sleeps until the push
/// tx.push("hello")?;
/// assert_eq!(consumer.join().unwrap(), Ok("hello"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn with_wait<T: Send, W: Wait>(chunk: usize, first: usize, most: Most, wait: W) -> Result<Ends<T, W>, BuildError> {
    build(Limits::new::<T>(Some(chunk), first, most)?, wait)
}

/// The two ends of a queue.
pub type Ends<T, W = Ordinary> = (Producer<T, W>, Consumer<T, W>);

fn build<T: Send, W: Wait>(limits: Limits, wait: W) -> Result<Ends<T, W>, BuildError> {
    let (size, chunk) = Size::new(limits)?;
    let shared = Share::new(Shared::new(chunk, limits.capacity(), wait));
    let producer = Producer::new(shared.clone(), chunk, size);
    Ok((producer, Consumer::new(shared, chunk)))
}
