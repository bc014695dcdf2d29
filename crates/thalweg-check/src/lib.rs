//! Engines that watch thalweg's concurrent code.
//!
//! Code that goes through [`thalweg_sync`] can be run by an engine instead of the machine. This crate has two. Both
//! run a *client*: an ordinary closure that starts threads.
//!
//! | you want | take | it runs |
//! |---|---|---|
//! | a proof for a small client, orderings included | [`Check`] | every execution that Rust's memory model allows, each once |
//! | evidence for a large one | [`Fuzz`] | one sequentially consistent schedule per seed |
//!
//! # The model checker
//!
//! A spin lock: broken, repaired, and weakened as far as it goes.
//!
//! ```
//! use thalweg_check::{Check, Rule};
//! use thalweg_sync::atomic::{AtomicBool, Ordering::{self, *}};
//! use thalweg_sync::{cell::Slot, spin, sync::Arc, thread};
//!
//! struct Counter {
//!     taken: AtomicBool,
//!     count: Slot<u32>,
//! }
//!
//! /// Two threads count under the lock, with these orderings to take it and to give it back.
//! fn client(take: Ordering, give_back: Ordering) -> impl Fn() + Send + Sync {
//!     move || {
//!         let shared = Arc::new(Counter { taken: AtomicBool::new(false), count: Slot::new(0) });
//!         let threads = [(); 2].map(|()| {
//!             let shared = shared.clone();
//!             thread::spawn(move || {
//!                 spin::until(|| shared.taken.compare_exchange(false, true, take, Relaxed).ok());
//!                 // SAFETY: we have the lock.
//!                 shared.count.with_mut(|count| unsafe { *count += 1 });
//!                 shared.taken.store(false, give_back);
//!             })
//!         });
//!         threads.into_iter().for_each(|thread| thread.join().unwrap());
//!         // SAFETY: the threads have ended.
//!         assert_eq!(shared.count.with(|count| unsafe { *count }), 2);
//!     }
//! }
//!
//! // Broken: nothing orders the two counts. `check` would panic with what is an error here; print it and see.
//! let violation = Check::new().run(client(Relaxed, Relaxed)).unwrap_err();
//! assert!(matches!(violation.rule(), Rule::Race { .. }));
//! // Repaired: every execution is right, and there are two, however long a thread waits.
//! let explored = Check::new().check(client(SeqCst, SeqCst));
//! assert_eq!(explored.complete, 2);
//! // Weakened as far as it goes: these will do, and with less it is broken again.
//! Check::new().check(client(Acquire, Release));
//! assert!(Check::new().run(client(Relaxed, Release)).is_err());
//! assert!(Check::new().run(client(Acquire, Relaxed)).is_err());
//! ```
//!
//! All of it is made inside the client, so that each execution begins anew. A client is small: a few operations per
//! thread, as executions multiply.
//!
//! - Two executions differ in an event, in what a read reads, in the modification order of two writes, or in who drops
//!   an `Arc` last; so three threads that add to a counter have 6. An execution counts as complete when every thread has ended.
//! - A failing compare-exchange may read an old value, and a weak one may fail without a reason
//!   ([`Check::spurious`]).
//! - [`spin::until`](thalweg_sync::spin::until) is explored once per outcome. Any other loop that waits has no end, and
//!   is reported at [`Check::max_events`].
//! - A violation prints the execution, event by event, and a line of text by which [`Check::replay`] runs it alone.
//! - Memory that is accessed after it was freed, freed twice, or not freed is seen if [`Heap`] is the program's
//!   allocator.
//! - The order on `SeqCst` events is that of RC11, or of C++20: [`ScAxiom`].
//! - Not explored: load buffering, which RC11 forbids; accesses of mixed size.
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
//! | panic | a thread ended by a panic; also one that somebody would have joined |
//! | deadlock | nobody can go on: a lost wake-up, a lock cycle, a wait for what never comes. Exact, no timeout |
//! | overlapping access | two threads are inside the same [`Slot`](thalweg_sync::cell::Slot), one of them to write; or one drops it meanwhile |
//! | step limit | a livelock |
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
pub mod history;
pub mod litmus;
mod memory;
mod model;
mod picture;
mod schedule;
mod world;

pub use failure::{Action, Cause, Failure, Reason, Step, Waiting};
pub use fuzz::{Fuzz, Summary, replay};
pub use model::{
    Check, Estimate, Event, EventId, EventKind, ExecutionGraph, Explored, Heap, Mark, Memory, Progress, Rule, ScAxiom,
    Violation, Wait, assume, mark,
};
pub use schedule::Strategy;
