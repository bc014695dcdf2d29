//! BBQ: a bounded FIFO queue whose ring is split into blocks.
//!
//! | | |
//! |---|---|
//! | order | FIFO, linearizable, refusals one by one ([crate page](crate#what-is-promised)) |
//! | who | any number of producers and consumers; handles are `Clone` and their methods take `&self`. One consumer: [`mpsc`](crate::mpsc); one producer: [`spmc`](crate::spmc); one of each: [`spsc`](crate::spsc) |
//! | items | any `T: Send` |
//! | progress | deadlock-free, not lock-free: `Busy` while another operation on the block is half-way |
//! | cost | a push: one compare-and-exchange to allocate, two stores to commit. A pop: one exchange to reserve, one store to give back. A batch: one exchange and a store for each item, for all its items in one block. A pop in vain after another writes nothing and, unless producers have warned, reads no line that each push writes but that of the mark |
//!
//! A ring of entries makes producers watch the consumers' index and the other way round. Here each block has its
//! own cursors: producers look at what consumers write once per block, when they move on to the next.
//!
//! ```
//! use thalweg_queue::mpmc;
//!
//! let (tx, rx) = mpmc::with_room(100)?; // or `shared(blocks, entries)`
//! let (tx2, rx2) = (tx.clone(), rx.clone());
//! let squares = std::thread::scope(|scope| {
//!     scope.spawn(move || (0..500).try_for_each(|n| tx.push(n)));
//!     scope.spawn(move || (500..1000).try_for_each(|n| tx2.push(n)));
//!     [rx, rx2].map(|rx| scope.spawn(move || rx.iter().map(|n: u64| n * n).sum::<u64>())).map(|sum| sum.join().unwrap())
//! });
//! assert_eq!(squares[0] + squares[1], (0..1000).map(|n| n * n).sum());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! From J. Wang et al., *BBQ: A Block-based Bounded Queue for Exchanging Data and Profiling*, USENIX ATC 2022,
//! sections 3 and 4 (retry-new mode); names as there, with *round* for version. Different from the paper: closing,
//! items with destructors, positions, and what follows.
//!
//! - The paper counts what is committed and what is consumed; here each entry has two bytes, which its producer and its consumer
//!   *mark* in each round. Counts tell a consumer that entries are committed only between two pushes, which while producers are busy
//!   may not be before the block is full; by marks it takes whatever is committed in front of the first push that is half-way. A
//!   mark is a plain store, where a count is a second read-modify-write on a line that the other side is looking at.
//! - A mark may also say that an entry is a hole: reserved to be [written in place](Producer::reserve), and given up. Consumers look
//!   for holes only where they find no item.
//! - What a consumer has seen committed is noted for all of them (`known`), so that they look at the producers' lines once for many
//!   items; and while the ends are close together they look a fraction of a microsecond less often, unless nothing comes meanwhile. An
//!   item that is alone is taken without that note. Who takes a batch looks up to four lines of marks further, as long as lines are
//!   marked to their end.
//! - Producers allocate by compare-and-exchange, never past the end of a block (errata C3). A `push` or `pop` that loses an exchange stands back (`contention.rs`), at
//!   first for less than a microsecond; a `try_push`, a `try_pop`, batches, grants and async ends try again at once. If others took some entries meanwhile, the operation
//!   leaves them the place for some microseconds, or dozens where there are many handles; then it has its turn, and stays where it loses again. Threads that take turns entry by entry take several
//!   times as long for each entry as one thread alone, so a single operation may take longer and its side as a whole gets on faster.
//! - That a block is reserved to its end is noted for producers (`drained`), who ask for it over and over while the queue is full.
//! - A consumer compares the rounds of cursors too, not the offsets alone. As printed, `dequeue` can report empty with an item in
//!   the queue (errata E1).
//! - A consumer looks at `reserved` first, with Acquire, and then at what is committed and allocated. The paper orders these
//!   loads by sequentially consistent barriers; in another order, as it compares by `==`, a new `reserved` beside an older cursor gives an
//!   entry that is not written, or a false empty (errata E20).
//! - A consumer that finds nothing to reserve answers `Busy` if a push into the block is half-way and pushes behind it may have ended. As printed a
//!   block that is half-way is empty, also with an item in a later one (errata E19).
//! - Producers set `disordered` when they commit out of order, when they leave a block, and when they open a grant. A pop in vain looks at `allocated` only if
//!   `disordered` is set. As printed, each pop in vain looks there, and the next push has to take that cache line back.
//! - A producer knows by `settled`, a word beside the producers' cursor, whether the entry in front of its own is committed. The mark of that entry says so too,
//!   but consumers that poll share the cache line of the mark, and each push would wait for that line twice.
//! - Every block has the same round as the head; the blocks after the first start at the end of the round before
//!   the first. A consumer whose next block is in an older round answers `Empty`, and looks again if it is in a newer one. As printed
//!   both are empty, so one that read the head a round ago can say empty beside unread items (errata E2).
//! - There are at least two blocks. With one, which the paper does not exclude, the next block is the one with all items. In drop-old mode a
//!   producer empties it before its own item is in, and a consumer finds a queue empty that never was (errata E21).
//! - Items are returned: as printed, `consume_entry` ends without a `return` of what it has read (errata E11).
//! - Where a side is one handle, of [`mpsc`](crate::mpsc) or [`spmc`](crate::spmc), that side has no exchanges and what else only contention needs; the other
//!   side is as here, but for what it need not look for then.
//! - Rounds begin by an exact compare-and-exchange instead of MAX, so they may wrap. As printed, a wrapped round is below the last one, and
//!   MAX refuses it for ever (errata E15).
//! - `Full` is told from `Busy` by whether a pop that has not begun is needed. As printed, by whether `reserved` equals `consumed`: where
//!   additions have moved `reserved` past the end, as in [`faaq`](crate::research::faaq), they never do, and a full queue is busy (errata E5).
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
//! | `try_pop`: `Empty` | no item was in the queue. With an open grant at the front it is `Busy` |
//! | `try_pop`: `Busy` | the oldest entry's push was half-way; items behind it, if any, wait for it |
//! | either: `Closed` | no handle of the other side is left, and for `try_pop` no item |
//!
//! # Invariants, per round of a block
//!
//! - **I1** `reserved ≤ allocated`, and neither runs past the end. An entry is reserved after it is committed.
//! - **I2** An offset goes once to a producer, whose exchange moved `allocated` past it, and once to a consumer, whose
//!   exchange moved `reserved` past it; to the consumer only after it and every entry before it are committed.
//! - **I3** A round begins for producers when every entry was read in the one before, and for consumers when producers
//!   have begun it and the block before is fully reserved.
//! - **I4** `written` of an entry has the mark of the round from when its producer commits it or gives it up, `read` from when its consumer gives it
//!   back; until then, that of the round before.
//! - **I5** `known`, in its round, points: every entry before it is committed.
//! - **I6** `drained` reaches the end of a round after `reserved` has, and before any item of the next block is reserved. Of one consumer
//!   alone, it does when all of the round is read, and stands for `read`.
//! - **I7** The one handle of a side is used by one thread at a time: it is no clone, and its operations take `&mut`. So the entries up to the
//!   end of the block are its own when it has looked, or those that it has seen committed, and it moves `allocated` when they are
//!   written, or `reserved` when they are read.
//! - **I8** While an entry is not committed and a push behind it has ended, in this block or a later one, `disordered` of its block is in its
//!   round, or later: whoever pushes behind it warns before, or knows by `settled` of who did.

mod batch;
pub(crate) mod block;
pub(crate) mod claim;
mod consumer;
pub(crate) mod contention;
#[cfg(feature = "alloc")]
mod exact;
#[cfg(not(loom))]
mod fixed;
#[cfg(not(loom))]
mod grant;
#[cfg(all(feature = "alloc", not(loom)))]
mod permits;
pub(crate) mod plain;
mod producer;
pub(crate) mod shared;
pub(crate) mod size;
pub(crate) mod spot;
pub(crate) mod users;

pub use consumer::Consumer;
#[cfg(feature = "alloc")]
pub use exact::{ExactEnds, ExactReceiver, ExactSender, exact, exact_with_wait};
#[cfg(not(loom))]
pub use fixed::Static;
#[cfg(not(loom))]
pub use grant::{Claimed, ReadGrant};
#[cfg(all(feature = "alloc", not(loom)))]
pub use permits::Permits;
pub use producer::Producer;
#[cfg(feature = "alloc")]
#[doc(hidden)]
pub use shared::shared_from;
pub use shared::{Ends, heuristic_blocks};
#[cfg(feature = "alloc")]
pub use shared::{shared, with_capacity, with_wait};
pub use size::{Receiver, Sender};
#[cfg(feature = "alloc")]
pub use size::{channel, with_capacity_and_wait, with_room, with_room_and_wait};
#[cfg(feature = "alloc")]
pub(crate) use size::{in_blocks, of_room};
pub use users::{Many, One, Users};
