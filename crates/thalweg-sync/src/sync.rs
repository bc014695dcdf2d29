//! Locks and shared ownership.
//!
//! [`Arc`], [`Weak`], [`Mutex`] and [`Condvar`] are the standard library's. With the feature `instrument` they are
//! wrapped, so that an engine sees handles that are dropped, and threads that wait. Under loom they are loom's: there is
//! no `Weak`, no `Condvar::wait_while`, and no time is ever over in `Condvar::wait_timeout`.
//! [`OnceLock`] is the standard library's in every world, and no engine sees it.
//!
//! ```
//! # #[cfg(feature = "std")] {
//! use thalweg_sync::{sync::{Arc, Mutex}, thread};
//!
//! # thalweg_sync::model(|| {
//! let total = Arc::new(Mutex::new(0));
//! let other = thread::spawn({
//!     let total = total.clone();
//!     move || *total.lock().unwrap() += 2
//! });
//! *total.lock().unwrap() += 3;
//! other.join().unwrap();
//! assert_eq!(*total.lock().unwrap(), 5);
//! # });
//! # }
//! ```

#[cfg(all(not(feature = "instrument"), not(loom)))]
pub use alloc::sync::{Arc, Weak};
#[cfg(loom)]
pub use loom::sync::Arc;
/// Its items where [`Arc`] is a type apart from the standard library's, and nothing where it is that one: for a crate that implements a
/// trait for both. Features are united over a build, so a crate's own do not tell which it is.
#[cfg(any(feature = "instrument", loom))]
#[doc(hidden)]
#[macro_export]
macro_rules! where_arc_is_wrapped {
    ($($items:item)*) => { $($items)* };
}
/// Its items where [`Arc`] is a type apart from the standard library's: here it is that one.
#[cfg(not(any(feature = "instrument", loom)))]
#[doc(hidden)]
#[macro_export]
macro_rules! where_arc_is_wrapped {
    ($($items:item)*) => {};
}

#[cfg(feature = "std")]
pub use std::sync::{LockResult, OnceLock, PoisonError, TryLockError, TryLockResult};

#[cfg(all(feature = "instrument", not(loom)))]
mod condvar;
#[cfg(all(feature = "instrument", not(loom)))]
pub use condvar::{Condvar, WaitTimeoutResult};
#[cfg(all(feature = "instrument", not(loom)))]
mod mutex;
#[cfg(all(feature = "instrument", not(loom)))]
pub use mutex::{Mutex, MutexGuard};
#[cfg(all(feature = "instrument", not(loom)))]
mod shared;
#[cfg(all(feature = "instrument", not(loom)))]
pub use shared::{Arc, Weak};

/// A lock: [`std::sync::Mutex`].
// An alias, as those below: clippy takes a re-export for the standard library's own, which clients must not use.
#[cfg(all(feature = "std", not(feature = "instrument"), not(loom)))]
pub type Mutex<T> = std::sync::Mutex<T>;

/// Access to what a [`Mutex`] protects, until dropped.
#[cfg(all(feature = "std", not(feature = "instrument"), not(loom)))]
pub type MutexGuard<'a, T> = std::sync::MutexGuard<'a, T>;

/// A lock: loom's.
#[cfg(loom)]
pub type Mutex<T> = loom::sync::Mutex<T>;

/// Access to what a [`Mutex`] protects, until dropped.
#[cfg(loom)]
pub type MutexGuard<'a, T> = loom::sync::MutexGuard<'a, T>;

/// Waits for what a [`Mutex`] protects to change: [`std::sync::Condvar`].
#[cfg(all(feature = "std", not(feature = "instrument"), not(loom)))]
pub type Condvar = std::sync::Condvar;

/// Whether a wait ended because its time was over.
#[cfg(all(feature = "std", not(feature = "instrument"), not(loom)))]
pub type WaitTimeoutResult = std::sync::WaitTimeoutResult;

/// Waits for what a [`Mutex`] protects to change: loom's.
#[cfg(loom)]
pub type Condvar = loom::sync::Condvar;

/// Whether a wait ended because its time was over; under loom none does.
#[cfg(loom)]
pub type WaitTimeoutResult = loom::sync::WaitTimeoutResult;
