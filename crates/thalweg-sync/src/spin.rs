//! Waiting without sleeping.

/// Retries `attempt` until it gives a value: the one way to spin.
///
/// Natively it backs off between attempts (a pause, then giving up the time slice). Under an engine the thread sleeps until something that the attempt
/// read has changed, which makes waiting finite for a checker and cheap for a simulator. `attempt` must therefore write nothing
/// when it gives `None`.
#[inline]
pub fn until<R>(mut attempt: impl FnMut() -> Option<R>) -> R {
    let mut tries = 0_u32;
    loop {
        if let Some(value) = attempt() {
            return value;
        }
        tries = tries.saturating_add(1);
        pause(tries);
    }
}

/// One step of back-off, the `tries`-th in a row (from 1): pauses at first, then gives up the time slice.
#[inline]
pub fn pause(tries: u32) {
    if tries < 64 {
        core::hint::spin_loop();
    } else {
        #[cfg(feature = "std")]
        crate::thread::yield_now();
        #[cfg(not(feature = "std"))]
        core::hint::spin_loop();
    }
}
