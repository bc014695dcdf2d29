//! The clock, and how much of a processor was used.

pub use core::time::Duration;

use crate::engine;
use std::io;

/// A point in time, in nanoseconds since the clock's start: the first look at it in this process, or the start of an
/// engine's run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Instant(u64);

impl Instant {
    /// Nanoseconds since the clock's start.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// The point `nanos` nanoseconds after the clock's start.
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// The time from `earlier` to `self`; zero if `earlier` is later.
    pub const fn since(self, earlier: Instant) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }

    /// The time since this point.
    #[track_caller]
    pub fn elapsed(self) -> Duration {
        now().since(self)
    }

    /// The point `by` later.
    pub fn after(self, by: Duration) -> Instant {
        Instant(self.0.saturating_add(u64::try_from(by.as_nanos()).unwrap_or(u64::MAX)))
    }
}

impl From<std::time::Instant> for Instant {
    /// The point that is as far from now. Under an engine that is virtual time.
    fn from(instant: std::time::Instant) -> Self {
        let (std_now, now) = (std::time::Instant::now(), now());
        match instant.checked_duration_since(std_now) {
            Some(ahead) => now.after(ahead),
            None => Self(now.0.saturating_sub(std_now.duration_since(instant).as_nanos() as u64)),
        }
    }
}

/// Now: the system's monotonic clock natively; virtual time under an engine; always the clock's start under loom, which has no time.
#[inline]
#[track_caller]
pub fn now() -> Instant {
    if cfg!(loom) {
        return Instant(0);
    }
    match engine::current() {
        Some(engine) => Instant(engine.now(core::panic::Location::caller())),
        None => native_now(),
    }
}

#[inline]
fn native_now() -> Instant {
    static START: std::sync::OnceLock<std::time::Instant> = std::sync::OnceLock::new();
    let start = *START.get_or_init(std::time::Instant::now);
    Instant(start.elapsed().as_nanos() as u64)
}

/// The processor time that the calling thread has used. Natively, under every engine. Errors where the system does
/// not tell.
///
/// ```
/// if let Ok(before) = thalweg_sync::time::cpu_time_of_thread() {
///     assert!(thalweg_sync::time::cpu_time_of_thread().unwrap() >= before);
/// }
/// ```
pub fn cpu_time_of_thread() -> io::Result<Duration> {
    cpu_time(Of::Thread)
}

/// The processor time that all threads of this process have used, the ended ones too. Errors where the system does
/// not tell.
pub fn cpu_time_of_process() -> io::Result<Duration> {
    cpu_time(Of::Process)
}

enum Of {
    Thread,
    Process,
}

#[cfg(target_os = "linux")]
fn cpu_time(of: Of) -> io::Result<Duration> {
    let clock = match of {
        Of::Thread => libc::CLOCK_THREAD_CPUTIME_ID,
        Of::Process => libc::CLOCK_PROCESS_CPUTIME_ID,
    };
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a timespec that the call may write.
    if unsafe { libc::clock_gettime(clock, &mut time) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(Duration::new(time.tv_sec as u64, time.tv_nsec as u32))
}

#[cfg(not(target_os = "linux"))]
fn cpu_time(of: Of) -> io::Result<Duration> {
    let of = match of {
        Of::Thread => "a thread",
        Of::Process => "the process",
    };
    Err(io::Error::new(
        io::ErrorKind::Unsupported,
        format!("the processor time of {of} is read on Linux only; measure the time that passes instead (time::now)"),
    ))
}
