//! The clock.

pub use core::time::Duration;
use std::sync::OnceLock;

/// A point in time, in nanoseconds since the first look at the clock of this process.
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
    pub fn elapsed(self) -> Duration {
        now().since(self)
    }

    /// The point `by` later.
    pub fn after(self, by: Duration) -> Instant {
        Instant(self.0.saturating_add(u64::try_from(by.as_nanos()).unwrap_or(u64::MAX)))
    }
}

/// Now. About 25 ns natively.
#[inline]
pub fn now() -> Instant {
    static START: OnceLock<std::time::Instant> = OnceLock::new();
    let start = *START.get_or_init(std::time::Instant::now);
    Instant(start.elapsed().as_nanos() as u64)
}
