//! The standard library's concurrent types, as code has them that was not written for [`thalweg_sync`]; and loom's.
//!
//! Code that takes `std::sync`, `std::thread` and `std::cell::UnsafeCell` is checked when it takes these instead, under a feature or a `cfg`
//! of its own:
//!
//! ```
//! // #[cfg(not(test))]
//! // use std::sync;
//! // #[cfg(test)]
//! use thalweg_check::std::{model, sync, thread};
//! use sync::{Arc, Mutex};
//!
//! model(|| {
//!     let sum = Arc::new(Mutex::new(0));
//!     let other = thread::spawn({
//!         let sum = sum.clone();
//!         move || *sum.lock().unwrap() += 2
//!     });
//!     *sum.lock().unwrap() += 3;
//!     other.join().unwrap();
//!     assert_eq!(*sum.lock().unwrap(), 5);
//! });
//! ```
//!
//! # Loom's tests
//!
//! The modules are loom's, so a crate with loom tests is run by changing one line of its `Cargo.toml`: the version of `loom` becomes the path of
//! a crate of that name whose `src/lib.rs` is `pub use thalweg_check::std::*;`. The flag that turns on its tests is set as ever, unless it is
//! `--cfg loom`: that means the real loom to [`thalweg_sync`], and may be set for the tested crate alone.
//! `crates/thalweg-check/tests/loom-crates.py` in the repository does all of that for five published crates.
//!
//! What is as in loom: a [`thread_local`] belongs to a client's thread, a [`lazy_static`] to an
//! execution. What differs: every execution of RC11 is explored, not those with few preemptions; memory has no bound on how old a value
//! may be that a load returns; `SeqCst` is that of the model.
//!
//! - A loop around [`thread::yield_now`] or [`hint::spin_loop`] that reads the same twice in a row waits until that changes. So of a loop that
//!   gives up after some rounds, the executions in which it does so are not explored.
//! - `compare_exchange_weak` does not fail, and [`thread::park`] and `Condvar::wait` do not return, without a reason, unless
//!   [`Check::spurious`](crate::Check::spurious) says so.

pub mod alloc;
pub mod cell;
pub mod future;
pub mod hint;
mod locals;
pub mod model;
pub mod sync;
pub mod thread;

#[doc(inline)]
pub use crate::{__lazy_static as lazy_static, __thread_local as thread_local};
pub use locals::{Lazy, LocalKey};
pub use model::{explore, model, skip_branch, stop_exploring};

pub(crate) use locals::Locals;
