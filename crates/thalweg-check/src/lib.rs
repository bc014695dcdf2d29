//! Engines that watch concurrent code: every execution of a small client, or many schedules of a large one.
//!
//! Code that goes through [`thalweg_sync`] can be run by an engine instead of the machine. This crate has two. Both
//! run a *client*: an ordinary closure that starts threads.
//!
//! | you want | take | it runs |
//! |---|---|---|
//! | a proof for a small client, orderings included | [`Check`] | every execution that Rust's memory model allows, each once |
//! | evidence for a large one | [`Fuzz`] | one sequentially consistent schedule per seed |
//!
//! # The first check, in ten minutes
//!
//! The code under test takes its atomics, cells and waiting from the facade; natively that is the standard library,
//! inlined. The checker is for tests only:
//!
//! ```toml
//! [dependencies]
//! thalweg-sync = "0.1"
//!
//! [dev-dependencies]
//! thalweg-check = "0.1" # from a checkout: { path = "../thalweg/crates/thalweg-check" }, and so for the other
//! ```
//!
//! A spin lock goes into `src/lib.rs`. Its orderings are parameters here, so that they can be tried; a lock of yours
//! would have them in place.
//!
//! ```
//! use thalweg_sync::atomic::{AtomicBool, Ordering, Ordering::Relaxed};
//! use thalweg_sync::{cell::Slot, spin};
//!
//! /// A number that one thread at a time can change.
//! pub struct Locked {
//!     taken: AtomicBool,
//!     number: Slot<u32>, // an `UnsafeCell` whose accesses are watched
//! }
//!
//! // SAFETY: `number` is accessed only by who has set `taken`.
//! unsafe impl Sync for Locked {}
//!
//! impl Locked {
//!     pub fn new() -> Self {
//!         Self { taken: AtomicBool::new(false), number: Slot::new(0) }
//!     }
//!
//!     pub fn add(&self, take: Ordering, give_back: Ordering) -> u32 {
//!         // Waiting is `spin::until`: the attempt is repeated when something that it read has changed. So it writes
//!         // nothing when it gives `None`: not `(!self.taken.swap(true, take)).then_some(())`.
//!         spin::until(|| self.taken.compare_exchange(false, true, take, Relaxed).ok());
//!         // SAFETY: we have set `taken`.
//!         let number = self.number.with_mut(|number| unsafe {
//!             *number += 1;
//!             *number
//!         });
//!         self.taken.store(false, give_back);
//!         number
//!     }
//! }
//! ```
//!
//! And the check into `tests/lock.rs`. All that a client uses is made inside it, as each execution begins anew.
//!
//! ```
//! # use thalweg_sync::atomic::AtomicBool;
//! # use thalweg_sync::{cell::Slot, spin};
//! # pub struct Locked { taken: AtomicBool, number: Slot<u32> }
//! # unsafe impl Sync for Locked {}
//! # impl Locked {
//! #     pub fn new() -> Self { Self { taken: AtomicBool::new(false), number: Slot::new(0) } }
//! #     pub fn add(&self, take: Ordering, give_back: Ordering) -> u32 {
//! #         spin::until(|| self.taken.compare_exchange(false, true, take, Ordering::Relaxed).ok());
//! #         let number = self.number.with_mut(|number| unsafe { *number += 1; *number });
//! #         self.taken.store(false, give_back);
//! #         number
//! #     }
//! # }
//! # /*
//! use my_lock::Locked; // your crate
//! # */
//! use thalweg_check::{Check, Rule};
//! use thalweg_sync::atomic::Ordering::{self, *};
//! use thalweg_sync::{sync::Arc, thread};
//!
//! /// Two threads add under the lock, with these orderings to take it and to give it back.
//! fn client(take: Ordering, give_back: Ordering) -> impl Fn() + Send + Sync {
//!     move || {
//!         let locked = Arc::new(Locked::new());
//!         let other = thread::spawn({
//!             let locked = locked.clone();
//!             move || locked.add(take, give_back)
//!         });
//!         let here = locked.add(take, give_back);
//!         assert_eq!(here + other.join().unwrap(), 1 + 2);
//!     }
//! }
//!
//! # /*
//! #[test]
//! # */
//! fn the_lock_excludes() {
//!     // Broken: nothing orders the two additions. `check` in place of `run` would panic and print it.
//!     let violation = Check::new().run(client(Relaxed, Relaxed)).unwrap_err();
//!     println!("{violation}");
//!     assert!(matches!(violation.rule(), Rule::Race { .. }));
//!     // Repaired: every execution is right. There are two, as either thread may be first, however long the other waits.
//!     let explored = Check::new().check(client(SeqCst, SeqCst));
//!     assert_eq!(explored.complete, 2);
//!     // Weakened as far as it goes: this will do, and with less it is broken again.
//!     Check::new().check(client(Acquire, Release));
//!     assert!(Check::new().run(client(Relaxed, Release)).is_err());
//!     assert!(Check::new().run(client(Acquire, Relaxed)).is_err());
//! }
//! # the_lock_excludes();
//! ```
//!
//! `cargo test -- --nocapture` shows what is broken: the two accesses, every event of the execution with what it read
//! and from where, and a line of text by which [`Check::replay`] runs it alone: to see what the client prints in it, or
//! under a debugger. An atomic has the name of the field or variable that it is first called on. Names are read from the source
//! when the report is printed; without the source an atomic has a number only.
//!
//! ```text
//! data race: thread 0 writes at src/lib.rs:23:34, thread 1 writes at src/lib.rs:23:34, and nothing orders the two
//! 1.0 reads from 0.3, which makes no happens-before edge: 0.3 is relaxed, 1.0 is relaxed
//! after 0 complete executions, in this one:
//! thread 0
//!   0.0    start thread 1                                 sync     tests/lock.rs:10:21
//!   0.1    update reads taken#0 = 0 from initial          relaxed  src/lib.rs:21:35
//!   0.2    update writes taken#0 := 1                     relaxed  src/lib.rs:21:35
//!   >>>>   write of the slot, races with thread 1                  src/lib.rs:23:34
//!   0.3    write taken#0 := 0                             relaxed  src/lib.rs:27:20
//! thread 1, started by 0.0
//!   1.0    update reads taken#0 = 0 from 0.3              relaxed  src/lib.rs:21:35
//!   1.1    update writes taken#0 := 1                     relaxed  src/lib.rs:21:35
//!   >>>>   write of the slot, races with thread 0                  src/lib.rs:23:34
//! taken#0 is first used at src/lib.rs:21:35; its values in modification order: initial < 0.2 < 0.3 < 1.1
//! to run it alone, with the same options, and with `-- --nocapture` to see what it prints: Check::new().replay("-,i,w1,w2;0.3,w3", client)
//! ```
//!
//! # The model checker
//!
//! The checker sees what goes through [`thalweg_sync`], and nothing else: no thread, atomic or `UnsafeCell` of the
//! standard library. A client that uses those alone would have one execution, whatever it does. So a client without any
//! thread or access that the checker sees is a violation, unless [`Check::sequential`] says that it is meant to be so.
//!
//! A client is small: a few operations per thread, as executions multiply. Try a few operations and then drain; threads
//! that wait for each other have many times as many executions, and find no more.
//!
//! | you want | take |
//! |---|---|
//! | to say what a result has to be | assertions in the client; [`Check::on_complete`] for the whole execution |
//! | a queue, a stack, a deque to be linearizable | [`Check::linearizable`] with a specification from [`history`] |
//! | input that may be anything | [`choose`]; [`assume`] gives up what is of no interest |
//! | to know how long it will take | [`Check::estimate`], [`Check::on_progress`] |
//! | all cores | [`Check::threads`] |
//! | use after free, double free, leaks, addresses that come back (ABA); also boxed items that are lost or dropped twice | [`Heap`] as the program's allocator, [`Check::leaks`], [`Check::reuse`] |
//! | a weak compare-exchange that fails, or a wait that ends, without a reason | [`Check::spurious`] |
//! | a destructor that waits or wakes, in executions that are given up | [`Kept`] |
//! | to run alone the execution in which something is wrong | [`Check::replay`], [`Check::replay_linearizable`] |
//! | to check code that was written for `std::sync` or for loom | [`std`](mod@std) |
//! | to know which orderings could be weaker, and which client needs each | [`weaken`] |
//! | a few lines of a litmus test instead of Rust | [`litmus`] |
//! | a picture | [`Violation::dot`] |
//!
//! - Two executions differ in an event, in what a read reads, in the modification order of two writes, or in the thread that drops
//!   an `Arc` last. So three threads that add to a counter have six executions. An execution is complete when every thread has
//!   ended.
//! - [`Explored::blocked`] counts executions that end earlier: a thread waits and has not seen the newest value (in another
//!   execution it sees it), or an [`assume`] was wrong. [`Explored::dropped`] counts beginnings of executions that the memory model
//!   forbids; they are not run. Both counts are work, and say nothing about the client.
//! - [`Explored::stuck`] counts the given-up executions whose values stay in memory because a destructor waits for ever.
//! - A failing compare-exchange may read an old value.
//! - [`spin::until`](thalweg_sync::spin::until) is explored once per outcome, and so are locks, condition variables and
//!   `park`. A wait that nobody ends is a violation. So is an attempt that writes and fails over and over.
//! - Any other loop that waits has no end. A loop that reads the same value a hundred times in a row ([`Check::max_repeats`]) is reported as such; other
//!   loops are reported at [`Check::max_events`]. A loop without any operation of the facade hangs, and after ten seconds standard error names its thread.
//! - A condition variable wakes up by itself with [`Check::spurious`] only. Threads of a client share thread-locals: they are one thread of the system.
//! - A `wait_timeout` or `park_timeout` may be over at any time.
//! - A client has to depend on its reads alone. One that depends on something else (a static, a clock, the order of a hash map) is reported where
//!   two executions begin alike and go on differently, with what it did both times. So is an assertion that fails once and does not fail when the same
//!   execution is run again. An atomic that survives an execution is reported by name; so is a slot or a lock, if it is a static on Linux or if
//!   [`Heap`] is the allocator. Not found: state that the facade does not see and that fails an assertion every time, such as a count of executions in a `Cell`.
//! - Memory: a stack of graphs, at most one per event; and up to ten thousand histories that were met.
//! - The order on `SeqCst` events is that of RC11, or of C++20: [`ScAxiom`].
//! - Not explored: load buffering, which RC11 forbids; accesses of mixed size; what `Arc::strong_count`, `get_mut` and
//!   `try_unwrap` could find: they count the handles that are left at that moment.
//!
//! # The schedule fuzzer
//!
//! The seed decides who runs at each access. An execution ends when all its threads have ended, those that nobody
//! joins too.
//!
//! ```
//! use thalweg_check::Fuzz;
//! use thalweg_sync::{atomic::{AtomicBool, Ordering}, cell::Slot, spin, thread};
//!
//! Fuzz::new().seeds(0..200).run(|| {
//!     let (message, ready) = (Slot::new(0), AtomicBool::new(false));
//!     thread::scope(|scope| {
//!         scope.spawn(|| {
//!             // SAFETY: nobody reads before `ready`.
//!             message.with_mut(|slot| unsafe { *slot = 42 });
//!             ready.store(true, Ordering::Release); // forgotten: a deadlock. Before the write: overlapping access
//!         });
//!         spin::until(|| ready.load(Ordering::Acquire).then_some(()));
//!         // SAFETY: the writer is done.
//!         assert_eq!(message.with(|slot| unsafe { *slot }), 42);
//!     });
//! });
//! ```
//!
//! ## What it finds
//!
//! | failure | means |
//! |---|---|
//! | panic | a thread, or the closure of a scope, ended by a panic; also one that somebody would have joined |
//! | deadlock | nobody can go on: a lost wake-up, a lock cycle, a wait for what never comes. Exact, no timeout |
//! | overlapping access | two threads are inside the same [`Slot`](thalweg_sync::cell::Slot), one of them to write; or one drops it meanwhile |
//! | step limit | a livelock |
//! | use after free, double free | with [`Heap`] as the program's allocator; freed addresses are handed out again by chance |
//!
//! A failure names its seed. `THALWEG_SEED=17 cargo test that_test` runs the same execution again, and so does
//! [`replay`]: the same steps in the same order, as long as the client itself depends on nothing else (a hash map's
//! order, the real clock, another run's leftovers in a static).
//!
//! ## What it promises
//!
//! - Hundreds of threads: they are coroutines on one OS thread, and a step costs well under a microsecond.
//! - Each access is a scheduling point, a slot's beginning and end too, so a slot access can be interrupted in the
//!   middle.
//! - Time is virtual. Each step takes 10 ns; when all wait, the clock jumps to the next deadline. Now and then a
//!   timer fires early, as if its rivals had been held up.
//! - After a failure every thread is unwound, so nothing leaks; save those that would wait in a destructor.
//!
//! ## What it does not
//!
//! - It is sequentially consistent: a `Relaxed` that should be `Release` is the model checker's to find.
//! - It samples. A seed range without a failure is evidence, not a proof.
//! - It sees what goes through the facade. An access to anything else is not a scheduling point, and a wait for
//!   anything else (a channel, a native lock) hangs.
//! - Thread-locals belong to the one OS thread, so all threads of a client share them.
#![cfg(not(loom))]
#![allow(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "an engine stands behind the facade, so it must not use it: it would watch itself"
)]

mod engine;
mod failure;
mod fuzz;
mod heap;
pub mod history;
pub mod litmus;
mod memory;
mod model;
mod picture;
mod schedule;
pub mod std;
pub mod weaken;
mod world;

pub use failure::{Action, Cause, Failure, Reason, Step, Waiting};
pub use fuzz::{Fuzz, Summary, replay};
pub use heap::{FreedBlock, Heap, Moment};
pub use model::{
    Check, Estimate, Event, EventId, EventKind, ExecutionGraph, Explored, Kept, Mark, Memory, Progress, Rule, ScAxiom,
    Violation, Wait, assume, choose, equal, mark,
};
pub use schedule::Strategy;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
