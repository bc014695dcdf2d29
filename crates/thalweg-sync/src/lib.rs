//! The facade: every line of concurrent code in thalweg goes through this crate.
//!
//! In an ordinary build everything here is the standard library, inlined away. The same source can also be run by an
//! *engine*, which sees every access and decides who runs, and by [loom], which explores what weak memory allows.
//!
//! | world | how to get it | what it does with your code |
//! |---|---|---|
//! | native | nothing | runs it: no cost, no dependency but `libc` on Linux |
//! | watched | feature `instrument`, then an engine | runs it natively, or under whichever engine runs on the thread: [`engine`] |
//! | modelled | `RUSTFLAGS="--cfg loom"` | tries all executions of small clients, up to loom's bounds: [`model`] |
//!
//! Engines are crates of their own. `thalweg-check` has two: a model checker, which runs every execution of a small client
//! that weak memory allows, orderings included, without loom's bounds; and a schedule fuzzer, for hundreds of threads,
//! sequentially consistent. Both replay what they found.
//!
//! # The smallest example
//!
//! A message is handed over through a [`cell::Slot`], and a flag says when.
//!
//! ```
//! # #[cfg(feature = "std")] {
//! use thalweg_sync::{atomic::{AtomicBool, Ordering}, cell::Slot, model, spin, sync::Arc, thread};
//!
//! model(|| {
//!     let shared = Arc::new((Slot::new(0), AtomicBool::new(false)));
//!     let writer = thread::spawn({
//!         let shared = shared.clone();
//!         move || {
//!             // SAFETY: nobody reads the slot before the flag is set.
//!             shared.0.with_mut(|slot| unsafe { *slot = 42 });
//!             shared.1.store(true, Ordering::Release); // Relaxed: loom reports a causality violation
//!         }
//!     });
//!     spin::until(|| shared.1.load(Ordering::Acquire).then_some(()));
//!     // SAFETY: the flag is set, so the writer is done with the slot.
//!     assert_eq!(shared.0.with(|slot| unsafe { *slot }), 42);
//!     writer.join().unwrap();
//! });
//! # }
//! ```
//!
//! # What is where
//!
//! | you need | take |
//! |---|---|
//! | an atomic, a fence | [`atomic`]; [`fence`] where one side runs often and the other rarely |
//! | memory that a protocol hands from thread to thread | [`cell::Slot`] |
//! | to wait for something that others do | [`spin::until`], [`spin::hold`]; [`spin::briefly`], then `park::Parker` to sleep |
//! | a lock, a condition variable, shared ownership | [`sync`] |
//! | threads, pinning | `thread` |
//! | to let user-level threads wait by switching stacks | `host` |
//! | the clock | `time` |
//! | no false sharing | [`CachePadded`] |
//! | to tell an engine what it cannot see | [`hint`] |
//! | numbers for choices, the same in every run | [`random`] |
//! | to know what the machine is slow at | [`machine`] |
//! | a message device, on a simulated machine | [`link`] |
//!
//! # What is promised
//!
//! - The same names with the same meaning in every world. Code that stays within the common subset (under loom: no
//!   `const fn new`, no `get_mut` of atomics, no handles from `thread::scope`, no `Weak`; under loom and with
//!   `instrument`: no `Arc<dyn Trait>`, no `self: Arc<Self>`, and of the types of [`sync`] and `thread` no methods
//!   but those that their pages have with `instrument`) builds in all of them.
//! - Natively, nothing is added: the types are transparent, the functions are inlined, the hook is known to be empty
//!   when compiling.
//! - With `instrument` and no engine, behaviour is native; each access costs a thread-local load and a branch more.
//!   The feature is additive, so a build may contain it without harm; numbers are measured without it.
//!
//! # What is not
//!
//! - Engines see what goes through this crate. Plain memory, `Weak`, thread-locals, files and other libraries' locks
//!   they do not see.
//! - Objects do not cross worlds: a thread outside an engine's run must not wait for one inside, or the other way
//!   round.
//! - loom is bounded (five threads, recent stores) and reads `SeqCst` accesses as `AcqRel`; use `fence(SeqCst)` where
//!   that matters.
//!
//! Without the default feature `std` the crate is `no_std`, and has no threads, no clock and no locks; with `alloc` it has shared ownership. Where the
//! target has no atomics of 64 bits, those of the crate `portable-atomic` stand for them.
//!
//! [loom]: https://docs.rs/loom
#![cfg_attr(not(feature = "std"), no_std)]
#![allow(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "this crate is the facade: it alone wraps the standard library's and loom's own"
)]
#[cfg(feature = "alloc")]
extern crate alloc;

pub mod atomic;
pub mod cell;
pub mod edges;
pub mod engine;
pub mod fence;
pub mod hint;
#[cfg(all(feature = "std", not(loom)))]
pub mod host;
pub mod link;
pub mod machine;
mod pad;
#[cfg(feature = "std")]
pub mod park;
pub mod random;
pub mod spin;
#[cfg(feature = "alloc")]
pub mod sync;
#[cfg(feature = "std")]
pub mod thread;
#[cfg(feature = "std")]
pub mod time;

pub use pad::CachePadded;

/// Runs `client` once natively; under loom, in every way that memory model and scheduler allow, within loom's bounds.
///
/// Under loom, `LOOM_MAX_PREEMPTIONS=2` bounds the switches and `LOOM_MAX_DURATION` the seconds; a run of more than
/// `LOOM_MAX_BRANCHES` steps (here 100 000 unless set) is reported as a livelock.
///
/// # Panics
///
/// If an execution panics, deadlocks, races on a [`cell::Slot`] or leaks an [`Arc`](sync::Arc).
pub fn model(client: impl Fn() + Send + Sync + 'static) {
    explore(None, client);
}

/// As [`model`], but under loom only executions with at most `preemptions` switches away from a thread that could go on.
///
/// Switches at a wait and at a thread's end are free, and so is which store a load reads. For clients that are too large for all executions; two or
/// three find most faults.
///
/// # Panics
///
/// As [`model`].
pub fn model_bounded(preemptions: usize, client: impl Fn() + Send + Sync + 'static) {
    explore(Some(preemptions), client);
}

#[cfg(loom)]
fn explore(preemptions: Option<usize>, client: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    if std::env::var_os("LOOM_MAX_BRANCHES").is_none() {
        // loom's own 1 000 is too few for clients that wait.
        builder.max_branches = 100_000;
    }
    if preemptions.is_some() {
        builder.preemption_bound = preemptions;
    }
    builder.check(client);
}

#[cfg(not(loom))]
fn explore(_preemptions: Option<usize>, client: impl Fn()) {
    client();
}
