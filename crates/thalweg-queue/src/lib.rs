//! Queues for handing messages between threads, each usable alone.
//!
//! If in doubt, take [`mpmc::channel(1024)`](mpmc::channel): any number of producers and consumers, blocking or `async`.
//!
//! | you have | take |
//! |---|---|
//! | many producers, many consumers | [`mpmc`]: one exchange for a push, one for a pop |
//! | many producers, one consumer | [`mpsc`]: pops exchange nothing, and the consumer may look at an item before it takes it |
//! | one producer, many consumers | [`spmc`]: pushes exchange nothing |
//! | one producer, one consumer | [`spsc`] for rate and batches; [`spsc::fast_forward`], where a single word arrives soonest; [`growing`] for bursts far above the usual |
//! | old items that may be lost: traces, samples, state to be shown | [`overwriting`]: a push is never refused for want of room |
//! | messages of bytes, of any length | [`bytes`]: written and read in place |
//! | tasks of one worker, which others may take | [`stealing`]: within a block the owner exchanges nothing |
//! | one value, once; a value of which the newest counts; items without a bound | [`oneshot`]; [`watch`]; [`unbounded`] |
//!
//! [`spsc::Static`] and [`mpmc::Static`] are the same queues in the memory of a `static`, for programs without an allocator. [`mpmc::exact`] holds exactly so many items, one as well, where the others round up. [`broadcast`] is for items that each receiver is to see, [`rendezvous`] has no capacity at all. To wait for several of all these at once, whichever is ready first: [`select!`] and what is in [`select`](mod@select).
//!
//! What each costs, beside its peers, is measured in the project's `docs/measurements.md`. [`research`] has queues to compare with and to
//! build on; [`compared`] says what each queue can do, and how many items fit.
//!
//! ```
//! use std::thread;
//! use thalweg_queue::mpmc;
//!
//! let (tx, rx) = mpmc::channel(1024)?;
//! let workers: Vec<_> = (0..3)
//!     .map(|worker| {
//!         let tx = tx.clone();
//!         thread::spawn(move || (0..100).for_each(|n| tx.push(worker * 100 + n).unwrap()))
//!     })
//!     .collect();
//! drop(tx); // the workers' clones are the only producers now
//!
//! assert_eq!(rx.iter().sum::<u64>(), (0..300).sum()); // sleeps while there is nothing
//! workers.into_iter().for_each(|worker| worker.join().unwrap());
//! # Ok::<(), thalweg_queue::BuildError>(())
//! ```
//!
//! With a timeout, several queues at once, and an end that is awaited:
//!
//! ```
//! use std::time::Duration;
//! use thalweg_queue::{PopTimeoutError, mpmc, select};
//!
//! let (jobs, todo) = mpmc::channel(64)?;
//! let (results, done) = mpmc::channel(64)?;
//! let (quit, quits) = mpmc::channel::<()>(1)?;
//! let worker = std::thread::spawn(move || loop {
//!     select! {
//!         pop(todo) -> job => match job {
//!             Ok(n) => results.push(n * n).unwrap(),
//!             Err(_) => break "nobody has jobs any more",
//!         },
//!         pop(quits) -> _ => break "told to quit",
//!         after(Duration::from_secs(60)) => break "nothing for a minute",
//!     }
//! });
//!
//! assert_eq!(done.pop_timeout(Duration::from_millis(1)), Err(PopTimeoutError::Timeout));
//! # futures_executor::block_on(async {
//! jobs.push_async(7).await.unwrap(); // in any executor
//! assert_eq!(done.pop_async().await, Ok(49));
//! # });
//! quit.push(())?;
//! assert_eq!(worker.join().unwrap(), "told to quit");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Coming from another crate
//!
//! | there | here |
//! |---|---|
//! | `crossbeam_channel::bounded(n)`, `flume::bounded(n)`, `std::sync::mpsc::sync_channel(n)` | [`mpmc::channel(n)?`](mpmc::channel), which may hold some more; [`mpmc::exact(n)?`](mpmc::exact) |
//! | `bounded(0)`, `unbounded()` | [`rendezvous::channel()`], whose pushes are no arms of `select!`, [`unbounded::mpmc::channel()`] |
//! | `Sender<T>`, `Receiver<T>` of all of these | [`mpmc::Sender<T>`](mpmc::Sender) and so on, a type for each kind of queue: [`mpmc::ExactSender`], [`rendezvous::Sender`], [`unbounded::mpmc::Sender`]; code for any of them takes `impl `[`Push`]`<Item = T>` (but for the senders of `rendezvous`) and `impl `[`Pop`]`<Item = T>` |
//! | `send`, `recv`, `try_recv`, `recv_timeout`, `recv_deadline` | `push`, `pop`, `try_pop`, `pop_timeout`, `pop_deadline` |
//! | `recv_async`, `send_async` | `pop_async`, `push_async` |
//! | `SendError(item)`, `TrySendError::Full(item)`, `::Disconnected(item)` | [`PushError`]`(item)`, [`TryPushError::Full`]`(item) \| `[`TryPushError::Busy`]`(item)`, [`TryPushError::Closed`]`(item)` |
//! | `select! { recv(rx) -> item => …, send(tx, item) -> sent => …, default(time) => … }` | [`select!`]` { pop(rx) -> item => …, push(tx, item) -> pushed => …, after(time) => … }` |
//! | `after(time)`, made before a loop; `tick(time)`; `never()` | an arm `at(deadline)`; `pop(tick) -> _` of a `mut tick` that is a [`select::Tick`]; an arm `pop(rx) -> item if false` |
//! | `select.recv(&rx)`, and `oper.index()`, `oper.recv(&rx)` | `select.pop(&rx, \|item\| …)` of a [`select::Select`]: what is done then comes with the arm, and is what `wait`, `try_wait` and `wait_timeout` give |
//! | `capacity()`, none if there is no bound | `capacity()`, `usize::MAX` then |
//! | `for item in rx`, `&rx`; `len`, `is_empty`, `is_full`; `clone` | the same |
//!
//! Two programs that were rewritten so are among the examples: `worker_pool` and `job_server`.
//!
//! # The words all of them speak
//!
//! | word | meaning |
//! |---|---|
//! | `try_push`, `try_pop` | now or not at all. Neither waits for another thread, but for the lock of a queue that has one, such as [`unbounded::mpmc`] for its consumers. [`TryPushError`] gives the value back and tells `Full`, `Busy` and `Closed` apart; [`TryPopError`] tells `Empty`, `Busy` and `Closed` apart |
//! | `push`, `pop` | the same, waiting while the queue is full or empty. A type says how an end waits, [chosen when the queue is built](#how-they-are-built): by default ends sleep (`Park`), those of `with_wait(…, Spin)` and `with_wait(…, Yield)` stay awake; see [`wait`]. Where many contend, an operation may stand back for a while |
//! | `push_timeout`, `push_deadline`, `pop_timeout`, `pop_deadline`; `push_many_timeout`, `pop_many_timeout` | the same, up to a time; the errors tell `Timeout` and `Closed` apart. Items of a batch that are not pushed stay in its vector |
//! | `push_async`, `pop_async` | the same as futures, of a queue that was built with `Park`: any executor, and they may be dropped at any time. The value of a push that is given up [comes back](wait::Pushing::into_value) |
//! | `push_many_async` | moves all of a vector; items that are not pushed when the future is dropped [stay in the vector](wait#blocking-and-async-ends) |
//! | `try_pop_many`, `pop_many`, `pop_many_async` | the items that are there, up to a limit; the last two wait for the first item |
//! | `try_pop_slice` | the same into places that are there already; of [`overwriting`] and [`bytes`](mod@bytes) also `try_pop_uninit`, into memory that was never written |
//! | `try_push_slice`, `try_push_many`, `push_many` | as many as there is room for, copied from a slice or moved from a vector; the last waits until all are pushed |
//! | `push_all`, `iter`, `try_iter`; `for item in rx`, `in &rx` | from an iterator; as an iterator, to the end or as far as there are items. An exclusive consumer is looped over as `&mut rx` |
//! | `reserve` and `commit`, `readable` and `release`, `peek` | writing and reading [in place](grant), where the queue allows it; `wait_reserve` and `wait_readable` wait, `reserve_timeout`, `reserve_async` and their likes as above. A grant that is [dropped](grant#dropped) acts by its kind of queue |
//! | dropping a side | dropping the last producer closes the queue, and consumers drain what is left before they see `Closed`. Dropping the last consumer makes pushes fail with the value given back, and drops what is in the queue |
//! | `close` | closes the queue for all handles at once, by any of them: pushes are refused, and pops take the items that are left before they see `Closed` |
//! | `closed`, `closed_timeout`, `closed_async` | of a producer: waits until the consumers are gone or the queue is closed |
//! | `is_closed`, `is_full`, `is_empty`, `len` | whether the other side is gone; whether a push would be refused for want of room; how many items there are |
//! | `producers`, `consumers` | how many handles there are, where they can be cloned |
//! | `downgrade` | a [`Weak`] handle, which does not keep its side alive |
//! | `capacity` | how many items fit, [for certain or at most](compared#how-many-items-fit) |
//! | [`push_now`](Push::push_now), [`pop_now`](Pop::pop_now) | of the traits: as `try_push` and `try_pop`, but never `Busy`: they wait until the operation that is half-way ends, and for nothing else |
//! | `reserve_many` | of [`mpmc`] and [`mpsc`]: [permits](mpmc::Permits), which own their handle, for pushes that find room for certain |
//! | `Pushing::new(tx, value)`, `Popping::new(rx)` | futures that [own their end](wait::Pushing::new). [`within`](wait::Timed::within) gives a future a timeout, and [`Polled`](wait::Polled) polls an end by hand |
//! | `Clone` | a side of many threads has handles that can be cloned; the one handle of an exclusive side cannot, and takes `&mut self`, so that the compiler keeps it the only one |
//!
//! `Sender<T>` and `Receiver<T>` are the ends of a `channel`; `Producer<T, W>` and `Consumer<T, W>` are the same ends with a strategy `W` of your choice.
//!
//! Items go from thread to thread, so constructors require `T: Send`. The types of the ends have no bound, so a type that holds an end needs none:
//!
//! ```
//! struct Log<T> {
//!     lines: thalweg_queue::mpmc::Sender<T>,
//! }
//! ```
//!
//! ```compile_fail
//! let queue = thalweg_queue::mpmc::channel::<std::rc::Rc<str>>(16);
//! ```
//!
//! Code for any queue uses the traits [`Push`] and [`Pop`]. The ends of [`bytes`](mod@bytes) and [`stealing`] do not have them
//! ([why](compared#what-each-queue-offers)).
//!
//! # How they are built
//!
//! Ends sleep while they wait ([`wait::Ordinary`]), unless a constructor takes a strategy. `with_wait` of a module takes everything that can be chosen, and the strategy last. A constructor
//! that chooses something for you has a form with a strategy, too: `in_place_with_wait`, `chunk_ring_with_wait`, `cnq_with_wait`, `with_capacity_and_wait`.
//!
//! A constructor refuses what it cannot build with a [`BuildError`], which names the parameter, its value and the limit, or the bytes
//! that there is no memory for.
//!
//! What a producer did before a push is visible to the consumer after the pop of that item.
//!
//! # What depends on the machine
//!
//! No promise does. Where [a core is slow](thalweg_sync::machine::slow_upgrades) to write lines that another core has read, as on
//! AMD's Zen, consumers of [`mpmc`], [`growing`] and [`cnq`](research::cnq::cnq()) and thieves of [`stealing`] write a byte of each cache line that they
//! have emptied. There, consumers of [`fast_forward`](mod@spsc::fast_forward) prefetch each cache line for writing before they read it, and pushes into
//! [`spsc`] and [`growing`] prefetch none. A process asks the processor once.
//!
//! # What is promised
//!
//! - FIFO and linearizable: pushes and pops fit into one order, and every refusal (`Full`, `Empty`) was true at one
//!   instant between call and return. [`stealing`], [`cnq`](mod@research::cnq) and [`mesh`](mod@research::mesh) promise their own order and answers.
//! - Refusals are judged one by one. Each thread may see late what another thread has just done, so one thread may get `Full` and another `Empty`
//!   where no single order has both, even between one producer and one consumer. A `fence(SeqCst)` between a thread's own operation and
//!   the operation that may be refused excludes that; [`locked`](mod@research::locked) promises one order for all. By a clock that all cores share, a pop may answer `Empty`
//!   shortly after a push on another core has returned.
//! - No item is lost or dropped twice, whoever leaves first. An item whose push races with the last consumer's
//!   leaving may be accepted; then it is dropped with the queue.
//! - Each item's destructor runs, whichever of the others panics; the first of the panics comes out of the call. Without the feature `std` a
//!   panic cannot be caught: then a second one ends the process.
//! - No wake-up is lost, and an end that sleeps or is pending uses no processor time.
//! - Nothing is allocated after a queue is built, with four exceptions: the growth of a `chunk_ring`; an end that goes to sleep or is pending; the
//!   list of a [`mesh`](mod@research::mesh) consumer that takes over the rings of another; and vectors that are popped into, such as those that
//!   `bytes::Consumer::iter` makes, one for each message.
//!
//! # What is not
//!
//! - Wait-freedom of `bbq`: its operations are short, but one that is interrupted half-way makes others `Busy`.
//! - Closing when a handle is leaked: `mem::forget` keeps a side alive for ever.
//! - Progress behind a leaked grant of a queue for many: a forgotten grant cannot be told from a slow one, so everything behind it is `Busy`.
//! - Fairness between the threads of one side.
//!
//! # Features
//!
//! - `stream` makes async ends streams and sinks of the crate `futures`. Those of [`bytes`](mod@bytes) are excepted: an item would be a vector, allocated for each message.
//! - Without the default feature `std` the crate is `no_std`: waiting never gives up the time slice, and there are no timeouts, no `Park`, no async ends and no
//!   [`locked`](mod@research::locked).
//! - Without `alloc` as well nothing asks for an allocator: there are the queues in a `static` ([`spsc::Static`], [`mpsc::Static`], [`spmc::Static`], [`mpmc::Static`]), and no
//!   batches in vectors.
//!
//! Where a target has no atomics of 64 bits, as `thumbv7em-none-eabi`, those of the crate `portable-atomic` stand for them, behind locks. A push or a pop in an interrupt may
//! then wait for the operation that it interrupted, unless that crate is given a `critical-section`.
//! With `full-fences`, and after [`thalweg_sync::fence::forgo`], no end asks the kernel for `membarrier`, which a sandbox may forbid.
//! The feature `instrument` lets an engine watch every access ([`thalweg_sync`]).
#![cfg_attr(not(feature = "std"), no_std)]
#![cfg_attr(
    feature = "instrument",
    allow(clippy::disallowed_macros, reason = "the table in `edges` belongs to a test, and no engine is to see it")
)]
#![cfg_attr(
    not(feature = "alloc"),
    allow(
        dead_code,
        unused_imports,
        unreachable_pub,
        reason = "much of what serves the queues on the heap is not theirs alone"
    )
)]
#[cfg(feature = "alloc")]
extern crate alloc;

#[cfg(all(feature = "std", not(loom)))]
pub mod broadcast;
#[cfg(feature = "alloc")]
pub mod bytes;
pub mod compared;
mod cursor;
#[cfg(feature = "std")]
mod deque;
mod drops;
#[cfg(not(any(loom, feature = "instrument")))]
mod edges;
#[cfg(any(loom, feature = "instrument"))]
#[doc(hidden)]
pub mod edges;
mod ends;
mod error;
#[cfg(not(loom))]
mod fixed;
pub mod grant;
#[cfg(feature = "alloc")]
pub mod growing;
mod handles;
mod held;
mod leave;
#[cfg(feature = "alloc")]
mod left;
mod limits;
mod lines;
mod marks;
mod memory;
pub mod mpmc;
pub mod mpsc;
#[cfg(feature = "std")]
pub mod oneshot;
#[cfg(feature = "alloc")]
pub mod overwriting;
mod prefetch;
#[cfg(all(feature = "std", not(loom)))]
pub mod rendezvous;
#[cfg(feature = "alloc")]
pub mod research;
#[cfg(all(feature = "std", not(loom)))]
pub mod select;
mod share;
mod slip;
pub mod spmc;
pub mod spsc;
#[cfg(feature = "alloc")]
pub mod stealing;
#[cfg(feature = "std")]
pub mod unbounded;
pub mod wait;
#[cfg(feature = "std")]
pub mod watch;

/// The example of the README runs.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

pub use error::{BuildError, PopError, PopTimeoutError, PushError, PushTimeoutError, TryPopError, TryPushError};
pub use handles::{Downgrade, Weak};
#[cfg(feature = "std")]
pub use wait::Park;
pub use wait::{Pop, Push, Spin, Yield};
