//! Queues for handing messages between threads, each usable alone.
//!
//! # Which one?
//!
//! | you have | take | not when |
//! |---|---|---|
//! | one producer, one consumer, items of one word: a `Box`, an `Arc`, a reference, a number that is not zero (`NonZeroU64`); and what counts is how soon each arrives, with [`Spin`] | [`fast_forward()`] | items are larger: see the next two; they come in a stream: [`bbq::spsc()`](bbq::spsc()) takes about half the time for each |
//! | one producer, one consumer, items of any kind, one by one or many at a time | [`bbq::spsc()`](bbq::spsc()) | the last free entries count: blocks are given back whole |
//! | one producer, one consumer, large items to be filled where they lie | [`fast_forward::in_place()`] | items are small and come in batches |
//! | one producer, one consumer, bursts far above the usual | [`chunk_ring()`]: it grows and shrinks | the size never changes and is small |
//! | many threads that take, work and push in the order of what they took; windows that slide | [`ticketed`](mod@ticketed) | order does not matter: its reservations cost more than a push and a pop |
//! | few threads on each side, all busy, and one number divides the other | [`mesh`](mod@mesh) | the order between producers matters, or items should go to whoever is free |
//! | many producers and one consumer, which may look at an item, or at several, before it takes them | [`bbq::mpsc()`](bbq::mpsc()) | the consumer may become two |
//! | one producer and many consumers; what the producer reserves and gives up leaves no trace | [`bbq::spmc()`](bbq::spmc()) | the producer may become two |
//! | many on both sides, items of any kind | [`bbq::shared`], or [`bbq::with_capacity`] to have the block count chosen | a thread may be killed or suspended for ever in the middle of a call: others would wait for it |
//! | any number of either, and messages of any size, to be written and read in place | [`bbq::bytes`](mod@bbq::bytes) | all have one size, or own something: they are bytes |
//! | any number of either, and what is old may be lost: traces, samples, state to be shown | [`bbq::drop_old`](mod@bbq::drop_old), and [`bbq::bytes::drop_old()`] for messages of any size: never full, as a push overwrites the oldest block | every item counts, or items own something: they are bytes |
//! | many of either, and order matters little | [`cnq::cnq()`]: k-FIFO, and threads meet once per capsule instead of once per item | a reader relies on FIFO, or consumers pause without [`flush`](cnq::Consumer::flush) |
//! | to choose the algorithm, or to build on its steps | [`tube`]: rings as DPDK has them, SCQD, [`faaq`] | you do not know why |
//! | many producers that never wait for room, and one consumer or many | [`unbounded`] | producers may be faster for long: memory is the only limit |
//! | one value to come, once: the reply to a request | [`oneshot`] | more follow |
//! | a value that changes, of which the newest counts: configuration, progress | [`watch`] | each change counts |
//! | tasks of one worker, which others may take: it pushes and pops, they steal | [`bwos::lifo()`] for what was pushed last, [`bwos::fifo()`] for what was pushed first | nobody steals: a `Vec` does; or a task must be seen by others the moment it is pushed: they see whole blocks, and what `share` hands over |
//!
//! [`lamport`] and [`locked`] are baselines: what the others are compared with.
//!
//! ```
//! use thalweg_queue::bbq;
//! use std::thread;
//!
//! let (tx, rx) = bbq::with_capacity(1024)?;
//! let workers: Vec<_> = (0..3)
//!     .map(|worker| {
//!         let tx = tx.clone();
//!         thread::spawn(move || (0..100).for_each(|n| tx.push(worker * 100 + n).unwrap()))
//!     })
//!     .collect();
//! drop(tx); // the workers' clones are the only producers now
//!
//! let mut sum = 0;
//! while let Ok(number) = rx.pop() {
//!     sum += number;
//! }
//! assert_eq!(sum, (0..300).sum());
//! workers.into_iter().for_each(|worker| worker.join().unwrap());
//! # Ok::<(), thalweg_queue::BuildError>(())
//! ```
//!
//! # The words all of them speak
//!
//! | word | meaning |
//! |---|---|
//! | `try_push`, `try_pop` | now or not at all. [`TryPushError`] gives the value back and tells `Full`, `Busy` and `Closed` apart; [`TryPopError`] tells `Empty`, `Busy` and `Closed` apart |
//! | `push`, `pop` | the same, waiting while the queue is full or empty. How is a type, [chosen when the queue is built](#how-they-are-built) (`with_wait(…, Park::new())`): [`Spin`], [`Yield`] (the default) or `Park`, which sleeps; see [`wait`] |
//! | `push_timeout`, `pop_timeout`; `push_many_timeout`, `pop_many_timeout` | the same, for some time; the errors tell `Timeout` and `Closed` apart. Of a batch, what is not pushed stays in its vector |
//! | `push_async`, `pop_async` | the same as futures, of a queue that was built with `Park`: any executor, and they may be dropped at any time. The value of a push that is given up [comes back](wait::Pushing::into_value) |
//! | `push_many_async` | moves all of a vector: what is not pushed when it is given up is [still there](wait#blocking-and-async-ends) |
//! | `try_pop_many`, `pop_many`, `pop_many_async` | what is there, up to a limit; the last two wait for the first item |
//! | `try_pop_slice` | the same into places that are there already; of [`bbq::drop_old`](mod@bbq::drop_old) and [`bbq::bytes`](mod@bbq::bytes) also `try_pop_uninit`, into memory that was never written |
//! | `try_push_slice`, `try_push_many`, `push_many` | as many as there is room for, copied from a slice or moved from a vector; the last waits until all are pushed |
//! | `push_all`, `iter`, `try_iter` | from an iterator; as an iterator, to the end or as far as there are items |
//! | `reserve` and `commit`, `readable` and `release`, `peek` | writing and reading [in place](grant), where the queue allows it; `wait_reserve` and `wait_readable` wait, `reserve_timeout`, `reserve_async` and their likes as above. What a grant does that is [dropped](grant#dropped) is not the same everywhere |
//! | dropping a side | dropping the last producer closes the queue, and consumers drain what is left before they see `Closed`. Dropping the last consumer makes pushes fail with the value given back, and drops what is in the queue |
//! | `is_closed` | whether the other side is gone |
//! | `capacity` | how many items fit, [for certain or at most](#how-many-items-fit) |
//! | `Clone` | a handle that can be cloned may be many; one that cannot takes `&mut self`, so that the compiler counts to one |
//!
//! Code for any queue takes them from the traits [`Push`] and [`Pop`], but for the ends of [`bbq::bytes`](mod@bbq::bytes) and [`bwos`], which are
//! [apart](#what-each-queue-offers).
//!
//! # What each queue offers
//!
//! Every queue pushes and pops one at a time and in batches, [waits](wait) for either by any strategy, with timeouts and as futures,
//! and says its `capacity` and `is_closed`. What has no waiting form at all: slices, which are moved now or not, and `push_all`, which
//! waits but not for some time. Two queues are apart: [`bwos`] has [words of its own](mod@bwos#its-own-words), as its owner and thieves never
//! wait, and only thieves ask whether it `is_closed`; and [`bbq::bytes`](mod@bbq::bytes) has messages of any length, with the same words for
//! slices of bytes, and for slices of them. They differ in this:
//!
//! | queue | a batch costs | in place | a grant is waited for | `peek` | `len` | other |
//! |---|---|---|---|---|---|---|
//! | [`fast_forward()`] | a store per item, a look at the other side per line | | | | the consumer's, by looking at each slot | [slip](fast_forward::Slip) |
//! | [`fast_forward::in_place()`] | the same | one item | yes | yes | the same | slip |
//! | [`bbq::spsc()`](bbq::spsc()) | one store per block | to the end of the block | yes | yes | the consumer's | |
//! | [`bbq::shared`] | as one item, per block | to the end of the block; what is given up is a hole | yes | | yes | positions |
//! | [`bbq::mpsc()`](bbq::mpsc()) | the same | the same; what is not released stays | yes | yes | yes | positions |
//! | [`bbq::spmc()`](bbq::spmc()) | the same | the same, without holes | yes | | yes | positions |
//! | [`bbq::drop_old`](mod@bbq::drop_old) | as one item, per block; popped, up to 1024 bytes at a time | | | | yes | positions, and how many were dropped |
//! | [`bbq::bytes`](mod@bbq::bytes) | as many single messages | one message; in drop-old mode copies only | yes | | in bytes | how many bytes were dropped |
//! | [`chunk_ring()`] | one store per chunk | to the end of the chunk | yes | yes | yes | grows, shrinks |
//! | [`mesh`](mod@mesh) | one store per chunk; a run goes to one ring | to the end of the chunk | yes | of the next ring | yes | |
//! | [`ticketed`](mod@ticketed) | one reservation | entry by entry, in the order of reservations: `reserve` waits, `try_reserve` does not | yes | [windows](ticketed::Consumer::window) | yes | tickets, positions |
//! | [`cnq`](cnq::cnq()) | as many single items | | | | yes | [`flush`](cnq::Consumer::flush) |
//! | [`tube::queue`] | as many single items | by the [three phases](tube::Tube) | no | | yes | |
//! | [`lamport`] | one store per round of the ring | to the end of the ring | yes | yes | yes | |
//! | [`locked`] | as many single items | | | | yes | positions |
//! | [`bwos`] | one exchange for thieves, into a vector; for the owner as many single items, which cost no atomic operation | | | | yes | [policies](bwos::Policy) |
//!
//! Nobody can peek at a queue for many consumers: another one may take the item meanwhile. There, what is read in place is taken.
//!
//! Why else something is missing:
//!
//! - Grants of [`fast_forward()`]: the word itself says that its slot is full, so one that is written in place would be pushed already. Its
//!   `peek`: what a slot has is a word, and no item that could be lent. [`in_place`](fast_forward::in_place()) has both.
//! - Of [`bbq::drop_old`](mod@bbq::drop_old): an entry may be overwritten while it is read, so it is copied word by word, and no reference
//!   to it can be lent.
//! - Of [`locked`]: whoever has a reference into the ring would have to hold the lock.
//! - Of [`tube::queue`]: a tube takes values and gives values, and shows no memory.
//! - Of [`cnq`](cnq::cnq()): an entry counts only if its capsule is not closed before the entry is published, and others close it when they
//!   like. What was written in place would have to move to another capsule then. And who reads in place keeps its capsule unfinished: the
//!   window would stand still for as long, and others would be `Busy`.
//! - Of [`bwos`]: what a thief has taken keeps its block from being used again until it is read, so it is moved out at once. The owner's
//!   push and pop are plain accesses without a count to publish: a grant could spare no more than the move, and a `peek` no more than a
//!   pop and a push.
//! - Waiting of [`bwos`]: the owner is producer and consumer, and would wait for itself. Thieves could only be woken by a push that tells
//!   them, and a push here tells nobody.
//! - `len` of the producer of [`fast_forward()`]: it keeps no count of what is popped, and a slot that is taken looks full until its line is
//!   emptied. Of [`bbq::spsc()`](bbq::spsc()): the consumer says what it has popped only once per block.
//!
//! # How many items fit
//!
//! `capacity()` is what is certain in some queues and what is possible in others:
//!
//! | queue | `capacity()` | `Full` is answered with |
//! |---|---|---|
//! | [`fast_forward()`], [`in_place`](fast_forward::in_place()) | what was asked for | at least so many, up to two lines more: 16, or 32 on a machine of 32 bits |
//! | [`bbq::spsc`](mod@bbq::spsc), [`mpsc`](mod@bbq::mpsc), [`spmc`](mod@bbq::spmc), [`shared`](bbq::shared()) | `blocks * entries` | at least `(blocks - 1) * entries + 1`: a block is reused whole |
//! | [`bbq::drop_old`](mod@bbq::drop_old) | `blocks * entries` | never; at least `capacity - entries` are kept |
//! | [`bbq::bytes`](mod@bbq::bytes) | the bytes of all blocks | fewer, by the ends of blocks; a message takes a multiple of 16 |
//! | [`chunk_ring()`], a ring of a [`mesh`](mod@mesh) | the most that it may grow to | at least that without its largest chunk; [fewer](mod@chunk_ring#capacity) where the limit is in bytes |
//! | [`tube::queue`] of [`faaq`] | `(blocks - 1) * entries + 1` | at least so many, up to `blocks * entries` |
//! | [`cnq`](cnq::cnq()) | the entries of all capsules | fewer, as a capsule that is handed on before its end takes its place whole |
//! | [`ticketed`](mod@ticketed), [`lamport`], [`locked`], the other tubes | what was asked for | so many |
//! | [`bwos`] | the entries of all blocks | as few as there are blocks, where thieves have left gaps |
//!
//! So [`bbq::with_capacity(8)`](bbq::with_capacity), of two blocks with four entries each, may be full with five items.
//! [`bbq::with_room(8)`](bbq::with_room()) is not before there are eight.
//!
//! # How they are built
//!
//! A constructor waits by [`Yield`]. `with_wait` of its module takes all that can be chosen there, and the strategy last. One that chooses
//! something for you has a form with the strategy too: `in_place_with_wait`, `chunk_ring_with_wait`, `cnq_with_wait`, and where the name
//! begins with `with`, as that of `with_capacity`, `with_capacity_and_wait`.
//!
//! A constructor refuses what it cannot build with a [`BuildError`], which names the parameter, its value and the limit, or the bytes
//! that there is no memory for.
//!
//! What a producer did before a push is visible to the consumer after the pop of that item.
//!
//! # What depends on the machine
//!
//! Nothing that is promised. Where [a core is slow](thalweg_sync::machine::slow_upgrades) to write lines that another core has read, as on
//! AMD's Zen, consumers of [`bbq`], [`chunk_ring()`] and [`cnq`](cnq::cnq()) and thieves of [`bwos`] write a byte of each line from which they
//! have moved the items out, consumers of [`fast_forward()`] ask for each line as one to write before they read it, and pushes into
//! [`bbq::spsc()`](bbq::spsc()) and [`chunk_ring()`] ask for no lines ahead. The processor is asked once in a process.
//!
//! # What is promised
//!
//! - FIFO and linearizable: what is pushed and popped fits into one order, and every refusal (`Full`, `Empty`) was true at one
//!   instant between call and return. Refusals are judged one by one: of two threads, one may see `Full` and the other `Empty`
//!   where no single order has both, as each may see late what the other has just done; so even between one and one. Only [`locked`]
//!   promises one order for all. Whoever needs more puts a
//!   `fence(SeqCst)` between its own operation and the one that may be refused. [`bwos`], [`cnq`] and [`mesh`] have their own
//!   order and their own answers.
//! - No item is lost or dropped twice, whoever leaves first. An item whose push races with the last consumer's
//!   leaving may be accepted; then it is dropped with the queue.
//! - No wake-up is lost, and an end that sleeps or is pending uses no processor time.
//! - Nothing is allocated after a queue is built, but for the growth of a `chunk_ring`, for an end that goes to sleep or is pending, for the
//!   list of a [`mesh`] consumer that takes over the rings of another, and for a vector that the caller pops into, as that which
//!   `bytes::Consumer::iter` makes for each message.
//!
//! # What is not
//!
//! - Wait-freedom of `bbq`: its operations are short, but one that is interrupted half-way makes others `Busy`.
//! - Closing when a handle is leaked, or getting on behind a leaked grant of a queue for many: `mem::forget` keeps a side alive for ever, and a
//!   grant that is forgotten cannot be told from one that is slow. Everything behind it is `Busy`.
//! - Dropping every item when a destructor panics while the last handle is dropped: what is still in the queue then, since it was pushed while the
//!   last consumer left, or left there by an earlier panic, is leaked. The items of one grant, and those that a [`bwos`] still has when its last handle
//!   is dropped, are dropped as a slice is: there the second panic ends the process.
//! - Fairness between the threads of one side.
//!
//! # Features
//!
//! `stream` makes async ends streams and sinks of the crate `futures`, those of [`bbq::bytes`](mod@bbq::bytes) excepted, whose messages are
//! copied into memory of the caller's or read in place: an item would be a vector, allocated for each. Without the default feature `std` the crate is `no_std` with `alloc`; waiting then never gives up the time slice, and there
//! are no timeouts, no `Park`, no async ends, which wait on its lists, and no [`locked`]. The target has atomics of 64 bits.
//! The feature `instrument` lets an engine watch every access ([`thalweg_sync`]).
#![cfg_attr(not(feature = "std"), no_std)]
#![cfg_attr(
    feature = "instrument",
    allow(clippy::disallowed_macros, reason = "the table in `edges` belongs to a test, and no engine is to see it")
)]
extern crate alloc;

pub mod bbq;
pub mod bwos;
pub mod chunk_ring;
pub mod cnq;
mod cursor;
#[cfg(not(any(loom, feature = "instrument")))]
mod edges;
#[cfg(any(loom, feature = "instrument"))]
#[doc(hidden)]
pub mod edges;
mod ends;
mod error;
pub mod faaq;
pub mod fast_forward;
pub mod grant;
mod held;
pub mod lamport;
mod leave;
mod left;
mod limits;
mod lines;
#[cfg(feature = "std")]
pub mod locked;
mod marks;
mod memory;
pub mod mesh;
#[cfg(feature = "std")]
pub mod oneshot;
mod prefetch;
mod slip;
pub mod ticketed;
pub mod tube;
#[cfg(feature = "std")]
pub mod unbounded;
pub mod wait;
#[cfg(feature = "std")]
pub mod watch;

/// The example of the README runs.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

pub use chunk_ring::chunk_ring;
pub use error::{BuildError, PopError, PopTimeoutError, PushError, PushTimeoutError, TryPopError, TryPushError};
pub use fast_forward::fast_forward;
#[cfg(feature = "std")]
pub use wait::Park;
pub use wait::{Pop, Push, Spin, Yield};
