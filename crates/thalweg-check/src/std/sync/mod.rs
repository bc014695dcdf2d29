//! `std::sync`.

mod notify;
mod rwlock;

pub mod mpsc;

pub use notify::Notify;
pub use rwlock::{RwLock, RwLockReadGuard, RwLockWriteGuard};
pub use std::sync::{LockResult, PoisonError, TryLockError, TryLockResult};
pub use thalweg_sync::sync::{Arc, Condvar, Mutex, MutexGuard, WaitTimeoutResult, Weak};

/// `std::sync::atomic`.
pub mod atomic {
    pub use std::sync::atomic::compiler_fence;
    pub use thalweg_sync::atomic::{
        AtomicBool, AtomicI8, AtomicI16, AtomicI32, AtomicI64, AtomicIsize, AtomicPtr, AtomicU8, AtomicU16, AtomicU32,
        AtomicU64, AtomicUsize, Ordering, fence,
    };

    /// A step of a loop that waits.
    #[track_caller]
    pub fn spin_loop_hint() {
        crate::std::hint::spin_loop();
    }
}
