//! An asymmetric pair of fences: nearly free on the side that runs often, dear on the side that runs rarely.
//!
//! Two threads that each write one location and then read the other's (a store-buffer test) need a sequentially
//! consistent fence between the two on both sides, or both may miss the other's write. Where one side is a queue's every
//! push and the other a thread that is about to sleep, [`light`] on the first and [`heavy`] on the second do the same:
//! of a `light` and a `heavy`, one comes first, and whoever comes second sees everything before the first. Two `light`
//! fences order nothing between each other.
//!
//! ```
//! use thalweg_sync::atomic::{AtomicBool, Ordering::Relaxed};
//! use thalweg_sync::{fence, sync::Arc, thread};
//!
//! # thalweg_sync::model(|| {
//! let shared = Arc::new((AtomicBool::new(false), AtomicBool::new(false)));
//! let other = shared.clone();
//! let often = thread::spawn(move || {
//!     other.0.store(true, Relaxed);
//!     fence::light();
//!     other.1.load(Relaxed)
//! });
//! shared.1.store(true, Relaxed);
//! fence::heavy();
//! let seen = shared.0.load(Relaxed);
//! assert!(often.join().unwrap() || seen, "one of them sees the other");
//! # });
//! ```
//!
//! | where | `light` | `heavy` |
//! |---|---|---|
//! | Linux, if the kernel agrees | a compiler fence, after one load of a line that nobody writes | `membarrier(PRIVATE_EXPEDITED)`: a fence on every processor that runs this process, 1 to 3 us |
//! | elsewhere, with the feature `full-fences`, under an engine, under loom, under Miri | `fence(SeqCst)` | `fence(SeqCst)` |
//!
//! A program that is to be sandboxed, by a filter that refuses `membarrier`, calls [`forgo`] before. If it does not, the first `heavy` that is
//! refused does, which costs it the same time once.
//!
//! # Invariants
//!
//! - **A1** The state leaves `UNKNOWN` once, after the kernel was asked. It may go on from `KERNEL` to `REFUSED`, and never changes again.
//! - **A2** `light` leaves its fence out only in state `KERNEL`. `heavy` goes on only when the state is known, so if that is
//!   the state, every `heavy` is a call of the kernel; it is a full fence in any case, for a `light` that was one too.
//! - **A3** Who takes the state from `KERNEL` to `REFUSED` waits for a grace of 10 ms before it goes on. A `light` that begins later is a full
//!   fence. One that was under way left its fence out, but what its thread stored before is visible by then: a processor keeps stores back
//!   for less than a microsecond, and an interrupt or a switch to another thread makes them visible at once. (A. Morrison and Y. Afek,
//!   *Temporally Bounding TSO for Fence-Free Asymmetric Synchronization*, ASPLOS 2015, section 2, builds on such a bound.)

#[cfg(not(loom))]
use crate::engine;

/// The side that runs often. Pairs with [`heavy`], not with itself.
#[inline(always)]
#[track_caller]
pub fn light() {
    #[cfg(loom)]
    crate::atomic::fence(crate::atomic::Ordering::SeqCst);
    #[cfg(not(loom))]
    match engine::current() {
        Some(engine) => engine.fence(crate::atomic::Ordering::SeqCst, core::panic::Location::caller()),
        None => kernel::light(),
    }
}

/// As [`light`]; but where the kernel could have agreed and has not, it does nothing and is false. The caller then does a `fence(SeqCst)`, out of
/// line if it has a way there anyhow.
///
/// ```
/// use thalweg_sync::atomic::{self, Ordering::SeqCst};
/// use thalweg_sync::fence;
///
/// if !fence::light_if_free() {
///     atomic::fence(SeqCst);
/// }
/// ```
#[doc(hidden)]
#[inline(always)]
#[track_caller]
#[must_use]
pub fn light_if_free() -> bool {
    #[cfg(loom)]
    {
        light();
        true
    }
    #[cfg(not(loom))]
    match engine::current() {
        Some(engine) => {
            engine.fence(crate::atomic::Ordering::SeqCst, core::panic::Location::caller());
            true
        }
        None => kernel::light_if_free(),
    }
}

/// The side that runs rarely. Pairs with [`light`] and with itself.
#[track_caller]
pub fn heavy() {
    #[cfg(loom)]
    crate::atomic::fence(crate::atomic::Ordering::SeqCst);
    #[cfg(not(loom))]
    match engine::current() {
        Some(engine) => engine.fence(crate::atomic::Ordering::SeqCst, core::panic::Location::caller()),
        None => kernel::heavy(),
    }
}

/// Asks the kernel for its part, so that the fences that follow are cheap. [`heavy`] does it too; who calls this when a
/// data structure is made has cheap `light` fences from the start. Costs some microseconds the first time.
pub fn prepare() {
    #[cfg(not(loom))]
    kernel::prepare();
}

/// Does without the kernel's part from now on: both fences are full ones, in all of the process. For a program that is about to forbid itself
/// `membarrier`. Takes no time before the first queue is made, and some milliseconds, once, afterwards.
///
/// ```
/// thalweg_sync::fence::forgo();
/// thalweg_sync::fence::heavy(); // asks the kernel for nothing
/// ```
pub fn forgo() {
    #[cfg(not(loom))]
    kernel::forgo();
}

#[cfg(all(target_os = "linux", not(loom), not(miri), not(feature = "full-fences")))]
mod kernel {
    use core::sync::atomic::{AtomicU8, Ordering, compiler_fence, fence};
    use core::time::Duration;

    /// Nobody has asked the kernel.
    const UNKNOWN: u8 = 0;
    /// The kernel interrupts every processor that runs this process.
    const KERNEL: u8 = 1;
    /// The kernel refused.
    const REFUSED: u8 = 2;

    static STATE: AtomicU8 = AtomicU8::new(UNKNOWN);

    #[inline(always)]
    pub(super) fn light() {
        if !light_if_free() {
            fence(Ordering::SeqCst);
        }
    }

    #[inline(always)]
    pub(super) fn light_if_free() -> bool {
        // Relaxed: the value alone decides (A2), and what is ordered is ordered by this fence or the caller's.
        let free = STATE.load(Ordering::Relaxed) == KERNEL;
        // The kernel's barrier acts between two instructions of this thread. What must not happen is that the
        // compiler moves accesses across this point.
        compiler_fence(Ordering::SeqCst);
        free
    }

    #[cold]
    pub(super) fn heavy() {
        prepare();
        // For a `light` that did not know the state yet (A2).
        fence(Ordering::SeqCst);
        if STATE.load(Ordering::Relaxed) == KERNEL && membarrier(libc::MEMBARRIER_CMD_PRIVATE_EXPEDITED).is_err() {
            // A process that was copied from this one may have to register itself.
            let again = membarrier(libc::MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED)
                .and_then(|()| membarrier(libc::MEMBARRIER_CMD_PRIVATE_EXPEDITED));
            if again.is_err() {
                // A filter of system calls that was installed since.
                forgo();
            }
        }
    }

    /// How long stores are waited for that a processor may keep back (A3): some ten thousand times as long as it takes.
    const GRACE: Duration = Duration::from_millis(10);

    #[cold]
    pub(super) fn forgo() {
        if STATE.swap(REFUSED, Ordering::SeqCst) != KERNEL {
            return;
        }
        let now = || {
            let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
            // SAFETY: the pointer is that of a local value.
            unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
            Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
        };
        let start = now();
        while now() - start <= GRACE {
            // SAFETY: the call takes nothing. A filter may refuse it: then this waits on the processor.
            unsafe { libc::sched_yield() };
        }
    }

    #[cold]
    pub(super) fn prepare() {
        if STATE.load(Ordering::Relaxed) != UNKNOWN {
            return;
        }
        let state = match membarrier(libc::MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) {
            Ok(()) => KERNEL,
            Err(()) => REFUSED,
        };
        // Several threads may register at once; the first answer counts (A1). Registering twice does no harm.
        let _ = STATE.compare_exchange(UNKNOWN, state, Ordering::SeqCst, Ordering::Relaxed);
    }

    fn membarrier(command: libc::c_int) -> Result<(), ()> {
        // SAFETY: the call takes two or three integers and touches no memory of ours.
        match unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) } {
            0 => Ok(()),
            _ => Err(()),
        }
    }
}

#[cfg(all(not(all(target_os = "linux", not(miri), not(feature = "full-fences"))), not(loom)))]
mod kernel {
    use core::sync::atomic::{Ordering, fence};

    #[inline(always)]
    pub(super) fn light() {
        fence(Ordering::SeqCst);
    }

    /// Here at once: there is no kernel to agree.
    #[inline(always)]
    pub(super) fn light_if_free() -> bool {
        fence(Ordering::SeqCst);
        true
    }

    pub(super) fn heavy() {
        fence(Ordering::SeqCst);
    }

    pub(super) fn prepare() {}

    pub(super) fn forgo() {}
}
