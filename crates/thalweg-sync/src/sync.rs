//! Locks and shared ownership.
//!
//! [`Arc`], [`Weak`] and [`OnceLock`] are the standard library's, and no engine sees them; under loom `Arc` is loom's, and there is no `Weak`.
//! [`Mutex`] is the standard library's, loom's, or one that blocks through the engine.
//!
//! ```
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
//! ```

#[cfg(not(loom))]
pub use alloc::sync::{Arc, Weak};
#[cfg(loom)]
pub use loom::sync::{Arc, Mutex, MutexGuard};
#[cfg(feature = "std")]
pub use std::sync::{LockResult, OnceLock, PoisonError, TryLockError, TryLockResult};
#[cfg(all(feature = "std", not(feature = "instrument"), not(loom)))]
pub use std::sync::{Mutex, MutexGuard};

#[cfg(all(feature = "instrument", not(loom)))]
mod mutex;
#[cfg(all(feature = "instrument", not(loom)))]
pub use mutex::{Mutex, MutexGuard};
