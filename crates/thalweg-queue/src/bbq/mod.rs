//! BBQ: a bounded FIFO queue whose ring is split into blocks.
//!
//! | | |
//! |---|---|
//! | order | FIFO, linearizable, refusals one by one ([crate page](crate#what-is-promised)) |
//! | who | any number of producers and consumers; handles are `Clone` and their methods take `&self`. One of each: [`mod@spsc`] |
//! | items | any `T: Send` |
//! | progress | deadlock-free, not lock-free: `Busy` while another operation on the block is half-way |
//! | cost | a push: one `fetch_add` to allocate, one to commit. A pop: one compare-and-exchange to reserve, one `fetch_add` to consume. A batch: the same for all its items in one block |
//!
//! A ring of entries makes producers watch the consumers' index and the other way round. Here each block has its
//! own cursors: producers look at a consumers' cursor once per block, when they move on to the next.
//!
//! From J. Wang et al., *BBQ: A Block-based Bounded Queue for Exchanging Data and Profiling*, USENIX ATC 2022,
//! sections 3 and 4 (retry-new mode); names as there, with *round* for version. Different from the paper: closing,
//! items with destructors, positions, and what follows.
//!
//! - A consumer compares the rounds of cursors too, not the offsets alone, and trusts a head only after the block's
//!   own cursor has confirmed its round. As printed, `dequeue` can report empty with an item in the queue.
//! - A consumer that finds nothing to reserve answers `Busy` if a push into the block is half-way: pushes behind it
//!   may have ended.
//! - A consumer that is kept from committed items by a push behind them that is half-way asks producers to tell how far
//!   everything is committed. As printed it learns that only between two pushes, which while producers are busy may not be before
//!   the block is full.
//! - Batches allocate by compare-and-exchange, so they never run past the end of a block (errata C3).
//! - Every block has the same round as the head; the blocks after the first start at the end of the round before
//!   the first.
//! - Rounds begin by an exact compare-and-exchange instead of MAX, so they may wrap.
//! - `Full` is told from `Busy` by whether a pop that has not begun is needed.
//!
//! # What the answers mean
//!
//! Each takes effect at one instant between call and return:
//!
//! | answer | at that instant |
//! |---|---|
//! | `try_push`: `Ok` | the item is at the end of the queue |
//! | `try_push`: `Full` | at least `(blocks - 1) * entries + 1` items are in the queue, pushes half-way included: a block is reused only as a whole |
//! | `try_push`: `Busy` | the oldest block is reserved to its end and some pops of it have not ended |
//! | `try_pop`: `Ok` | the item was at the front |
//! | `try_pop`: `Empty` | no item was in the queue |
//! | `try_pop`: `Busy` | a push into the oldest block was half-way, and no item was told to be before it; items behind it, if any, wait for it |
//! | either: `Closed` | no handle of the other side is left, and for `try_pop` no item |
//!
//! # Invariants, per round of a block
//!
//! - **I1** `consumed ≤ reserved ≤ committed ≤ allocated`. Only `allocated` may run past the end, by at most one
//!   per thread.
//! - **I2** An offset goes once to a producer, whose `fetch_add` returned it, and once to a consumer, whose
//!   exchange moved `reserved` past it; to the consumer only after it and every entry before it are committed.
//! - **I3** A round begins for producers when the one before is fully consumed, and for consumers when producers
//!   have begun it and the block before is fully reserved.
//! - **I4** `committed` and `consumed` count, `allocated` and `reserved` point. A count is reset before anybody can
//!   add to it in the new round: `committed` before `allocated`, `consumed` before the consumers' head.
//! - **I5** `ready`, in its round, points: every entry before it is committed.

mod block;
mod consumer;
mod cursor;
pub mod drop_old;
mod handles;
mod place;
mod plain;
mod producer;
mod shared;
pub mod spsc;

pub use consumer::Consumer;
pub use producer::Producer;
#[doc(hidden)]
pub use shared::shared_from;
pub use shared::{Ends, heuristic_blocks, shared, with_capacity, with_wait};
pub use spsc::spsc;
