//! Waiting without sleeping.

/// After how many pauses in a row a thread gives up its time slice instead.
const YIELD_FROM: u32 = 64;

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
pub fn until<R>(attempt: impl FnMut() -> Option<R>) -> R {
    retry(attempt, pause)
}

/// As [`until`], but natively it never gives up the time slice: for threads that have a core to themselves.
///
/// ```
/// assert_eq!(thalweg_sync::spin::hold(|| Some(7)), 7);
/// ```
#[inline]
#[track_caller]
pub fn hold<R>(attempt: impl FnMut() -> Option<R>) -> R {
    retry(attempt, |_| pause(1))
}

/// Switches to another user-level thread of this thread; false if there is none.
#[cfg(not(loom))]
#[inline]
fn yields_task() -> bool {
    #[cfg(feature = "std")]
    let yielded = crate::host::yield_now();
    #[cfg(not(feature = "std"))]
    let yielded = false;
    yielded
}

/// Whether a scheduler of user-level threads runs on this thread.
#[cfg(not(loom))]
fn has_tasks() -> bool {
    #[cfg(feature = "std")]
    let has = crate::host::current().is_some();
    #[cfg(not(feature = "std"))]
    let has = false;
    has
}

/// Retries `attempt` for about a microsecond, then some times more with the time slice given up in between: before
/// sleeping, which costs more than that. Under an engine and under loom it tries once.
///
/// ```
/// assert_eq!(thalweg_sync::spin::briefly(|| None::<u32>), None);
/// ```
#[inline]
#[track_caller]
pub fn briefly<R>(mut attempt: impl FnMut() -> Option<R>) -> Option<R> {
    /// A pause is 5 to 40 ns, and a time slice that nobody wants comes back after less than a microsecond.
    const TRIES: u32 = YIELD_FROM + 4;
    for tries in 1..TRIES {
        let value = attempt();
        if value.is_some() || cfg!(loom) || crate::engine::current().is_some() {
            return value;
        }
        pause(tries);
    }
    attempt()
}

#[inline]
#[track_caller]
fn retry<R>(mut attempt: impl FnMut() -> Option<R>, back_off: impl Fn(u32)) -> R {
    #[cfg(not(loom))]
    if let Some(engine) = engine::current() {
        return watched(engine, attempt, true, core::panic::Location::caller());
    }
    let mut tries = 0_u32;
    loop {
        if let Some(value) = attempt() {
            return value;
        }
        tries = tries.saturating_add(1);
        back_off(tries);
    }
}

/// As [`until`] under `engine`, but a user-level thread waits with its thread: for locks, whose owners do not switch stacks.
#[cfg(all(feature = "instrument", not(loom)))]
pub(crate) fn with_thread<R>(engine: &dyn engine::Engine, attempt: impl FnMut() -> Option<R>, at: engine::Site) -> R {
    watched(engine, attempt, false, at)
}

#[cfg(not(loom))]
fn watched<R>(
    engine: &dyn engine::Engine,
    mut attempt: impl FnMut() -> Option<R>,
    switches: bool,
    at: engine::Site,
) -> R {
    /// Ends the attempt when it succeeds or unwinds.
    struct Watch<'a>(&'a dyn engine::Engine);
    impl Drop for Watch<'_> {
        fn drop(&mut self) {
            self.0.unwatch();
        }
    }
    let mut others_first = switches;
    loop {
        engine.watch();
        let watch = Watch(engine);
        if let Some(value) = attempt() {
            return value;
        }
        // Another user-level thread of this thread may have to go first; what it does belongs to no attempt.
        if core::mem::take(&mut others_first) && has_tasks() {
            drop(watch);
            others_first = yields_task();
            continue;
        }
        core::mem::forget(watch);
        engine.wait(at);
        others_first = switches;
    }
}

/// Pauses so many times, and keeps the time slice: to let others get on who are busy in the same place. A pause is 5 to 40 ns.
///
/// To an engine that has time it is time; to a checker, and under loom, it is nothing.
///
/// ```
/// thalweg_sync::spin::relax(3);
/// ```
#[inline]
#[track_caller]
pub fn relax(pauses: u32) {
    #[cfg(not(loom))]
    if let Some(engine) = engine::current() {
        engine.relax(pauses);
    } else {
        (0..pauses).for_each(|_| core::hint::spin_loop());
    }
    #[cfg(loom)]
    let _ = pauses;
}

/// Pauses for about so long, and keeps the time slice: to leave a place to others who are busy there, for a time that does not depend on
/// what a pause is, which is 3 to 50 ns. Without the standard library there is no clock, and a pause is taken for 40 ns.
///
/// Where no time passes, in a checker, under loom and Miri, it is nothing, and `nanos` is not asked: what it reads is to decide nothing
/// else.
///
/// ```
/// thalweg_sync::spin::relax_for(|| 500);
/// ```
#[inline]
#[track_caller]
pub fn relax_for(nanos: impl Fn() -> u32) {
    #[cfg(not(loom))]
    match engine::current() {
        Some(engine) => engine.relax_for(&nanos),
        None if cfg!(miri) => {}
        None => pause_for(nanos()),
    }
    #[cfg(loom)]
    let _ = nanos;
}

#[cfg(not(loom))]
fn pause_for(nanos: u32) {
    if nanos == 0 {
        return;
    }
    #[cfg(feature = "std")]
    {
        // Between two looks at the clock, which takes some 30 ns.
        let pauses = (nanos / 50).clamp(1, 16);
        let (start, time) = (std::time::Instant::now(), core::time::Duration::from_nanos(nanos.into()));
        while start.elapsed() < time {
            (0..pauses).for_each(|_| core::hint::spin_loop());
        }
    }
    #[cfg(not(feature = "std"))]
    (0..nanos / 40).for_each(|_| core::hint::spin_loop());
}

/// One step of back-off, the `tries`-th in a row (from 1): pauses at first, then gives up the time slice.
///
/// For loops that cannot be written with [`until`], because each round writes. Under an engine it lets others run; to one
/// that has time, `tries` says how long it takes.
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
        engine.pause(tries, core::panic::Location::caller());
    } else if tries < YIELD_FROM {
        core::hint::spin_loop();
    } else if !yields_task() {
        #[cfg(feature = "std")]
        std::thread::yield_now();
        #[cfg(not(feature = "std"))]
        core::hint::spin_loop();
    }
}
