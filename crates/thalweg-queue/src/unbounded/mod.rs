//! Queues without a capacity: blocks are linked as items come, and given back as they are popped.
//!
//! | | |
//! |---|---|
//! | order | FIFO, linearizable, refusals one by one ([crate page](crate#what-is-promised)) |
//! | who | any number of producers; one consumer ([`mpsc`]), or any number, which take turns under a lock ([`mpmc`]) |
//! | items | any `T: Send` |
//! | progress | a push never waits, for room or for another push, and is never `Full`. A pop is `Busy` while the push of the item in front is half-way |
//! | cost | a push: one addition, and two stores beside each other; an allocation for each block that is not used again. A pop: a load, and with many consumers the lock |
//!
//! ```
//! use thalweg_queue::unbounded::mpsc;
//!
//! let (tx, mut rx) = mpsc::channel();
//! let producers: Vec<_> = (0..3).map(|n| {
//!     let tx = tx.clone();
//!     std::thread::spawn(move || (0..1000).try_for_each(|i| tx.push(n * 1000 + i)))
//! }).collect();
//! drop(tx);
//! assert_eq!(rx.iter().sum::<u32>(), (0..3000).sum());
//! producers.into_iter().for_each(|producer| producer.join().unwrap().unwrap());
//! ```
//!
//! Take a queue with a capacity where producers may be faster than consumers for long: nothing here holds them back, and what is not popped takes
//! memory until there is none, which ends the process as it does for a `Vec`.
//!
//! A block is 4 KiB of items, at most 128 of them and at least one. An empty queue keeps up to four blocks: the one in use, two that a push
//! may still be looking at, and one to be used again; all others go back to the allocator as soon as their items are popped.
//!
//! A push draws its position by an addition, and so never meets another one again: the position says in which block it lies, and in
//! which entry. Blocks are found from the *hint*, which is behind the block by at most the blocks that pushes have not filled yet.
//! The addition on one word comes from Y. Afek and A. Morrison, *Fast Concurrent Queues for x86 Processors*, PPoPP 2013; that a
//! block is given back when the positions which were drawn before the hint left it are popped, from the channels of Tokio.
//!
//! # What the answers mean
//!
//! | answer | at one instant between call and return |
//! |---|---|
//! | `try_push`: `Closed` | no consumer was left; the value comes back |
//! | `try_pop`: `Ok` | the item was at the front |
//! | `try_pop`: `Empty` | every position that was drawn had been popped |
//! | `try_pop`: `Busy` | the push at the front was half-way; it notifies when it ends |
//! | `try_pop`: `Closed` | no producer was left, and nothing was in the queue |
//!
//! Needs the feature `std`.
//!
//! # Invariants
//!
//! - **U1** A position is drawn once. Its entry is its producer's until it is marked full, and then the consumer's whose position has come to it:
//!   the one consumer's, or that of the one who has the lock.
//! - **U2** The hint leaves a block when all its entries are full. So the hint of whoever has drawn a position and has not filled it is not
//!   behind the position's block.
//! - **U3** Who has moved the hint off a block then reads how many positions are drawn (`left`). Both that and drawing are read-modify-writes of one
//!   word: whoever draws later sees the hint moved. So who looks at the block drew a position before `left`.
//! - **U4** A producer looks at no block any more when its entry is full. So with U3, when all positions before `left` are popped, nobody looks at the
//!   block: it is given back then, and not before.
//! - **U5** A block that is not linked belongs to one thread, or to the spare's place.

mod block;
mod handles;
mod list;

pub use handles::{Producer, mpmc, mpsc};
