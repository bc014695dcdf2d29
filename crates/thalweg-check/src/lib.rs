//! Engines that watch thalweg's concurrent code.
//!
//! Code that goes through [`thalweg_sync`] can be run by an engine instead of the machine. This crate has one: a
//! *schedule fuzzer*. It runs a client, an ordinary closure that starts threads, once per seed. The seed decides who
//! runs at each access. An execution ends when all its threads have ended, those that nobody joins too.
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
//! # What it finds
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
//! # What it promises
//!
//! - Hundreds of threads: they are coroutines on one OS thread, and a step costs well under a microsecond.
//! - Each access is a scheduling point, a slot's beginning and end too, so a slot access can be interrupted in the
//!   middle.
//! - Time is virtual. Each step takes 10 ns; when all wait, the clock jumps to the next deadline. Now and then a
//!   timer fires early, as if its rivals had been held up.
//! - After a failure every thread is unwound, so nothing leaks; save those that would wait in a destructor.
//!
//! # What it does not
//!
//! - It is sequentially consistent: a `Relaxed` that should be `Release` is loom's to find.
//! - It samples. A seed range without a failure is evidence, not a proof.
//! - It sees what goes through the facade. An access to anything else is not a scheduling point, and a wait for
//!   anything else (a channel, a native lock) hangs.
//! - Thread-locals belong to the one OS thread, so all threads of a client share them.
#![cfg(not(loom))]
#![allow(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "an engine stands behind the facade, so it must not use it: it would watch itself"
)]

mod engine;
mod failure;
mod fuzz;
pub mod history;
pub mod litmus;
mod memory;
mod model;
mod schedule;
mod world;

pub use failure::{Action, Cause, Failure, Reason, Step, Waiting};
pub use fuzz::{Fuzz, Summary, replay};
pub use model::{
    Check, Event, EventId, EventKind, ExecutionGraph, Explored, Mark, Memory, Rule, ScAxiom, Violation, assume, mark,
};
pub use schedule::Strategy;
