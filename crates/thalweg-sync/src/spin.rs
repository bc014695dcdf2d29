//! Waiting without sleeping.

#[cfg(not(loom))]
use crate::engine;

/// Retries `attempt` until it gives a value: the one way to spin.
///
/// Natively it backs off between attempts (a pause, then giving up the time slice). Under an engine the thread sleeps
/// until something that the attempt read has changed, which makes waiting finite for a checker and cheap for a
/// simulator, and turns a wait that nobody ends into a report. `attempt` must therefore write nothing when it gives
/// `None`, and decide by what it reads through this crate.
///
/// ```
/// # #[cfg(feature = "std")] {
/// use thalweg_sync::{atomic::{AtomicU32, Ordering}, spin, sync::Arc, thread};
///
/// # thalweg_sync::model(|| {
/// let turn = Arc::new(AtomicU32::new(0));
/// let other = thread::spawn({
///     let turn = turn.clone();
///     move || turn.store(7, Ordering::Release)
/// });
/// let seen = spin::until(|| match turn.load(Ordering::Acquire) {
///     0 => None,
///     number => Some(number),
/// });
/// assert_eq!(seen, 7);
/// other.join().unwrap();
/// # });
/// # }
/// ```
#[inline]
#[track_caller]
pub fn until<R>(mut attempt: impl FnMut() -> Option<R>) -> R {
    #[cfg(not(loom))]
    if let Some(engine) = engine::current() {
        return watched(engine, attempt, core::panic::Location::caller());
    }
    let mut tries = 0_u32;
    loop {
        if let Some(value) = attempt() {
            return value;
        }
        tries = tries.saturating_add(1);
        pause(tries);
    }
}

#[cfg(not(loom))]
fn watched<R>(engine: &dyn engine::Engine, mut attempt: impl FnMut() -> Option<R>, at: engine::Site) -> R {
    /// Ends the attempt when it succeeds or unwinds.
    struct Watch<'a>(&'a dyn engine::Engine);
    impl Drop for Watch<'_> {
        fn drop(&mut self) {
            self.0.unwatch();
        }
    }
    loop {
        engine.watch();
        let watch = Watch(engine);
        if let Some(value) = attempt() {
            return value;
        }
        core::mem::forget(watch);
        engine.wait(at);
    }
}

/// One step of back-off, the `tries`-th in a row (from 1): pauses at first, then gives up the time slice.
///
/// For loops that cannot be written with [`until`], because each round writes. Under an engine it lets others run.
#[inline]
#[track_caller]
pub fn pause(tries: u32) {
    #[cfg(loom)]
    {
        let _ = tries;
        loom::thread::yield_now();
    }
    #[cfg(not(loom))]
    if let Some(engine) = engine::current() {
        engine.yield_now(core::panic::Location::caller());
    } else if tries < 64 {
        core::hint::spin_loop();
    } else {
        #[cfg(feature = "std")]
        std::thread::yield_now();
        #[cfg(not(feature = "std"))]
        core::hint::spin_loop();
    }
}
