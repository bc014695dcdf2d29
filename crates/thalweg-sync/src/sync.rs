//! Locks and shared ownership.

pub use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
