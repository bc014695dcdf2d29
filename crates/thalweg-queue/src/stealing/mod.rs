//! BWoS: a bounded queue of one owner, from which others steal, split into blocks.
//!
//! | | |
//! |---|---|
//! | order | the owner's: [`lifo()`] or [`fifo()`]. Thieves: the oldest entry of a block first, and the oldest block they know of; across blocks that is a matter of speed, not a promise |
//! | who | one owner, which pushes and pops; any number of [`Stealer`]s |
//! | items | any `T: Send` |
//! | progress | wait-free for all: nobody waits for anybody. A thief that stops half-way keeps one block from being used again, not the owner from getting on |
//! | cost | owner: no atomic operation, but once per block a store to grant it, a swap to take it back, a load to use it again. Thief: a load per block it looks at, then one compare-and-exchange and one `fetch_add`, for an item or for a whole block |
//!
//! In a work-stealing deque the owner and its thieves watch each other's index all the time. Here each block belongs
//! either to the owner or to the thieves. The owner *grants* the block that it leaves and *takes over* the one that it
//! comes to, by one write to the block's word; in between it works as if it were alone.
//!
//! ```
//! use thalweg_queue::stealing::{self, StealError};
//!
//! let (mut owner, thief) = stealing::lifo(8, 2)?;
//! for task in 1..=5 {
//!     owner.push(task)?;
//! }
//! assert_eq!(thief.steal(), Ok(1)); // from the oldest block that was left
//! assert_eq!(owner.pop(), Some(5));
//! assert_eq!([thief.steal(), thief.steal(), thief.steal()], [Ok(2), Ok(3), Ok(4)]);
//! owner.push(6)?;
//! assert_eq!(thief.steal(), Err(StealError::Empty)); // the owner is in this block
//! owner.share(); // before it goes off to work for long
//! assert_eq!(thief.steal(), Ok(6));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Its own words
//!
//! Elsewhere in this crate `push` and `pop` wait, and `try_push` and `try_pop` do not. Here nothing waits, so nothing is called `try_`: `push`
//! gives a value back that has no room, `pop` returns an `Option`, `push_many`, `push_slice`, `pop_many` and `pop_slice` return how many they have
//! moved, `drain` pops while there is something, and `steal` and `steal_into`, of many, have an error of their own. The owner is producer and
//! consumer: waiting for room or for an item, it would wait for itself. Nor is it ever told that the queue is closed: without thieves it pops
//! what it has pushed, and it can [make one](lifo::Owner::stealer) at any time. So `is_closed` is the thieves' alone, whose other side is
//! the owner.
//!
//! # From whom to steal
//!
//! Several queues, one per worker, make a [`Pool`], in which a [`Policy`] chooses from whom to steal: those of sections 4.2.1.3 and 4.3.4 of
//! the thesis, and their hybrids.
//!
//! | policy | chooses | reads of others |
//! |---|---|---|
//! | [`Random`] | any queue | nothing |
//! | [`Sequential`] | the next ones, in a fixed order | nothing |
//! | [`Last`] of a policy | the one that gave something last, as long as it gives | as the policy |
//! | [`BestOf`] | the longest of a few that are drawn: two, half of them, … | the length of those: a load per block |
//! | [`Near`] of a policy | at first among the queues of the own memory node | as the policy |
//! | [`Probabilistic`] of a policy | a queue that the policy names, with a probability of its fill | one block of each |
//!
//! Hybrids are nested: `Last::new(Probabilistic::new(Near(Random)))`.
//!
//! # Which shape?
//!
//! What is in the owner's blocks cannot be stolen: up to `entries` items (FIFO: twice as many), until the owner moves
//! on or calls `share`. Call it before a task that is long or waits. Eight blocks of 64 and more entries cost the
//! owner nothing (section 4.6.1); few and long tasks want small blocks, down to one entry.
//!
//! From J. Wang et al., *BWoS: Formally Verified Block-based Work Stealing for Parallel Processing*, USENIX OSDI 2023,
//! and chapter 4 of J. Wang's thesis. Different from the paper:
//!
//! - What thieves may take of a block is one word, the range of its entries: the paper's `s_pos` and the end of the
//!   block's data, which a thief would else read one after the other. So an exchange of that word is exact: a thief
//!   that looked long ago either fails or gets an entry of what is granted now. The paper's rounds told that apart.
//! - In place of rounds in `f_pos` and `s_cnt`, the owner counts what thieves took of a block, the thieves what they
//!   have read, and both counts only grow. Nothing is reset, so no reset can race with a thief.
//! - A thief's place among the blocks is a hint. It looks at all blocks before it says `Empty`, so it cannot pass by
//!   a block that was taken over and granted again as if it were exhausted, which loses items. The paper does not say how they differ
//!   (errata E23).
//! - FIFO thieves do not enter the block that is being filled, unless the owner shares it. In return a push publishes
//!   nothing.
//! - Blocks need not be used in their order. One in which a thief is still reading is skipped, and exhausted ones
//!   are used again wherever they are: full means that every block holds an item.
//! - Batches are copied out. Closing, and items with destructors, are new.
//!
//! # What the answers mean
//!
//! | answer | meaning |
//! |---|---|
//! | push: `Full` | every block holds an item that nobody has popped or stolen, so there are at least `blocks` of them |
//! | push: `Busy` | else there would be room: thieves are still reading what they took of the only free blocks |
//! | pop: `None` | at one instant of the call, nothing was left that thieves had not taken |
//! | steal: `Empty` | each block was seen with nothing granted. What was granted before the call and was not taken by others or by the owner would have been found, but this is not one instant for all blocks |
//! | steal: `Busy` | nothing found, and somebody came first at a block that had something |
//! | steal: `Closed` | the owner is gone and nothing is left, for ever |
//!
//! # Invariants
//!
//! - **I1** Only the owner writes a block's word while it grants nothing; then the owner alone may touch its
//!   entries, but for those that thieves have taken and not yet read.
//! - **I2** A granted word is `first..end`, and these entries are written. A thief takes entries from the front, by an
//!   exact exchange; the owner takes all that are left, by a swap. So each goes to one of them.
//! - **I3** Entries that thieves took and may still be reading are below the first entry that the owner holds. The owner
//!   writes at and above what it holds, and from the start again only when thieves have read all they took.
//! - **I4** All that thieves took of a block is what its grants began with less what the owner got back.

mod batch;
mod block;
mod chain;
pub mod fifo;
pub mod lifo;
mod policy;
mod pool;
mod steal;

pub use fifo::fifo;
pub use lifo::lifo;
pub use policy::{Accept, BestOf, Last, Near, Policy, Probabilistic, Random, Rng, Sequential, Victims};
pub use pool::{Pool, Thief};
pub use steal::{StealError, Stealer};
