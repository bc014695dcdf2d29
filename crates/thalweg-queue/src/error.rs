//! What every queue answers when it cannot do as asked.
//!
//! One type per operation. A refused value is inside the error, so that nothing is lost; `Debug` and `Display` do
//! not print it.

use core::fmt;

/// Why a `try_push` did not push. The value comes back in every case.
///
/// ```
/// use thalweg_queue::{TryPushError, spsc::fast_forward};
///
/// let (mut tx, rx) = fast_forward::fast_forward::<Box<u32>>(8)?;
/// drop(rx);
/// let error = tx.try_push(Box::new(7)).unwrap_err();
/// assert_eq!(error.to_string(), "the queue is closed: every consumer is gone, so stop pushing");
/// assert_eq!(error.into_inner(), Box::new(7));
/// # Ok::<(), thalweg_queue::BuildError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum TryPushError<T> {
    /// No room: a consumer has to pop first.
    Full(T),
    /// Not before operations end that are half-way: pops that make the room, or another push. Trying again soon is worthwhile. The page
    /// of each queue says which.
    Busy(T),
    /// Every consumer is gone, so nothing will be popped any more.
    Closed(T),
}

impl<T> TryPushError<T> {
    /// The value that was not pushed.
    pub fn into_inner(self) -> T {
        match self {
            Self::Full(value) | Self::Busy(value) | Self::Closed(value) => value,
        }
    }

    /// Whether there was no room.
    pub fn is_full(&self) -> bool {
        matches!(self, Self::Full(_))
    }

    /// Whether it is worthwhile to try again soon: others are half-way.
    pub fn is_busy(&self) -> bool {
        matches!(self, Self::Busy(_))
    }

    /// Whether every consumer is gone.
    pub fn is_closed(&self) -> bool {
        matches!(self, Self::Closed(_))
    }

    /// The reason alone.
    pub fn without_value(self) -> TryPushError<()> {
        self.split().0
    }

    /// The reason, and the value that was not pushed.
    pub fn split(self) -> (TryPushError<()>, T) {
        match self {
            Self::Full(value) => (TryPushError::Full(()), value),
            Self::Busy(value) => (TryPushError::Busy(()), value),
            Self::Closed(value) => (TryPushError::Closed(()), value),
        }
    }
}

impl TryPushError<()> {
    /// The same reason for a value.
    #[inline(always)]
    pub(crate) fn with_value<T>(self, value: T) -> TryPushError<T> {
        match self {
            Self::Full(()) => TryPushError::Full(value),
            Self::Busy(()) => TryPushError::Busy(value),
            Self::Closed(()) => TryPushError::Closed(value),
        }
    }

    /// As [`with_value`](Self::with_value), out of line where the value fits into a register: each push of a program has the call.
    #[inline(always)]
    pub(crate) fn refuse<T>(self, value: T) -> Result<(), TryPushError<T>> {
        #[cold]
        #[inline(never)]
        fn aside<T>(reason: TryPushError<()>, value: T) -> Result<(), TryPushError<T>> {
            Err(reason.with_value(value))
        }
        if size_of::<T>() <= size_of::<usize>() { aside(self, value) } else { Err(self.with_value(value)) }
    }
}

impl<T> fmt::Debug for TryPushError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Full(_) => "Full(..)",
            Self::Busy(_) => "Busy(..)",
            Self::Closed(_) => "Closed(..)",
        })
    }
}

impl<T> fmt::Display for TryPushError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Full(_) => "the queue is full: pop first, or wait with `push`",
            Self::Busy(_) => "the push has to wait for operations that are half-way: try again soon",
            Self::Closed(_) => CLOSED_TO_PUSHES,
        })
    }
}

impl<T> core::error::Error for TryPushError<T> {}

impl<T> From<PushError<T>> for TryPushError<T> {
    fn from(refused: PushError<T>) -> Self {
        Self::Closed(refused.0)
    }
}

impl<T> From<PushError<T>> for PushTimeoutError<T> {
    fn from(refused: PushError<T>) -> Self {
        Self::Closed(refused.0)
    }
}

impl TryPopError {
    /// Whether there was nothing to pop.
    pub fn is_empty(&self) -> bool {
        matches!(self, Self::Empty)
    }

    /// Whether it is worthwhile to try again soon: others are half-way.
    pub fn is_busy(&self) -> bool {
        matches!(self, Self::Busy)
    }

    /// Whether every producer is gone and the queue is drained.
    pub fn is_closed(&self) -> bool {
        matches!(self, Self::Closed)
    }
}

impl From<PopError> for TryPopError {
    fn from(PopError: PopError) -> Self {
        Self::Closed
    }
}

impl From<PopError> for PopTimeoutError {
    fn from(PopError: PopError) -> Self {
        Self::Closed
    }
}

impl PopTimeoutError {
    /// Whether the time is over.
    pub fn is_timeout(&self) -> bool {
        matches!(self, Self::Timeout)
    }

    /// Whether every producer is gone and the queue is drained.
    pub fn is_closed(&self) -> bool {
        matches!(self, Self::Closed)
    }
}

impl<T> PushError<T> {
    /// The value that was not pushed.
    ///
    /// ```
    /// let (tx, rx) = thalweg_queue::mpmc::channel(8)?;
    /// drop(rx);
    /// assert_eq!(tx.push("value").unwrap_err().into_inner(), "value");
    /// # Ok::<(), thalweg_queue::BuildError>(())
    /// ```
    pub fn into_inner(self) -> T {
        self.0
    }

    /// The reason alone.
    pub fn without_value(self) -> PushError<()> {
        self.split().0
    }

    /// The reason, and the value that was not pushed.
    pub fn split(self) -> (PushError<()>, T) {
        (PushError(()), self.0)
    }
}

/// Why a `try_pop` returned no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TryPopError {
    /// Nothing to pop: a producer has to push first.
    Empty,
    /// Not before operations end that are half-way: the push of the next item, or another pop. Trying again soon is worthwhile. The page
    /// of each queue says which.
    Busy,
    /// Every producer is gone and everything they pushed has been popped.
    Closed,
}

impl fmt::Display for TryPopError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Empty => "the queue is empty: push first, or wait with `pop`",
            Self::Busy => "the pop has to wait for operations that are half-way: try again soon",
            Self::Closed => CLOSED_TO_POPS,
        })
    }
}

impl core::error::Error for TryPopError {}

/// A `push` found every consumer gone. The value comes back.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct PushError<T>(pub T);

impl<T> fmt::Debug for PushError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PushError(..)")
    }
}

impl<T> fmt::Display for PushError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(CLOSED_TO_PUSHES)
    }
}

impl<T> core::error::Error for PushError<T> {}

/// A `pop` found every producer gone and the queue drained.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PopError;

impl fmt::Display for PopError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(CLOSED_TO_POPS)
    }
}

impl core::error::Error for PopError {}

/// Why a `push_timeout` did not push. The value comes back in every case.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum PushTimeoutError<T> {
    /// The time is over, and there was no room.
    Timeout(T),
    /// Every consumer is gone, so nothing will be popped any more.
    Closed(T),
}

impl<T> PushTimeoutError<T> {
    /// Whether the time is over.
    pub fn is_timeout(&self) -> bool {
        matches!(self, Self::Timeout(_))
    }

    /// Whether every consumer is gone.
    pub fn is_closed(&self) -> bool {
        matches!(self, Self::Closed(_))
    }

    /// The value that was not pushed.
    pub fn into_inner(self) -> T {
        match self {
            Self::Timeout(value) | Self::Closed(value) => value,
        }
    }

    /// The reason alone.
    pub fn without_value(self) -> PushTimeoutError<()> {
        self.split().0
    }

    /// The reason, and the value that was not pushed.
    pub fn split(self) -> (PushTimeoutError<()>, T) {
        match self {
            Self::Timeout(value) => (PushTimeoutError::Timeout(()), value),
            Self::Closed(value) => (PushTimeoutError::Closed(()), value),
        }
    }
}

impl<T> fmt::Debug for PushTimeoutError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Timeout(_) => "Timeout(..)",
            Self::Closed(_) => "Closed(..)",
        })
    }
}

impl<T> fmt::Display for PushTimeoutError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Timeout(_) => "the queue had no room in time: pop faster, or wait longer",
            Self::Closed(_) => CLOSED_TO_PUSHES,
        })
    }
}

impl<T> core::error::Error for PushTimeoutError<T> {}

/// Why a `pop_timeout` returned no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PopTimeoutError {
    /// The time is over, and there was nothing to pop.
    Timeout,
    /// Every producer is gone and everything they pushed has been popped.
    Closed,
}

impl fmt::Display for PopTimeoutError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Timeout => "nothing was pushed in time: push, or wait longer",
            Self::Closed => CLOSED_TO_POPS,
        })
    }
}

impl core::error::Error for PopTimeoutError {}

const CLOSED_TO_PUSHES: &str = "the queue is closed: every consumer is gone, so stop pushing";
const CLOSED_TO_POPS: &str = "the queue is closed: every producer is gone and the queue is drained, so stop popping";

/// A queue that cannot be built as asked. `Display` names the parameter, its value and what is possible; or the bytes that there is no
/// memory for, which all parameters together have made.
///
/// ```
/// let error = thalweg_queue::mpmc::shared::<u32>(12, 64).unwrap_err();
/// assert_eq!(error.to_string(), "blocks must be a power of two, not 12; 16 is the next");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BuildError {
    /// The value is below the smallest possible one.
    TooSmall {
        /// The parameter's name.
        parameter: &'static str,
        /// What was asked for.
        value: usize,
        /// The smallest possible value.
        min: usize,
    },
    /// The value is above the largest possible one.
    TooLarge {
        /// The parameter's name.
        parameter: &'static str,
        /// What was asked for.
        value: usize,
        /// The largest possible value below it, with the other parameters as they are.
        max: usize,
    },
    /// The value has to be a power of two.
    NotPowerOfTwo {
        /// The parameter's name.
        parameter: &'static str,
        /// What was asked for.
        value: usize,
    },
    /// The allocator has not so much memory. Each parameter is possible, so none is named.
    OutOfMemory {
        /// How many bytes it was asked for at once.
        bytes: usize,
    },
}

impl BuildError {
    /// Checks that `value` lies in `min..=max`.
    pub(crate) fn check(parameter: &'static str, value: usize, min: usize, max: usize) -> Result<(), Self> {
        if value < min {
            Err(Self::TooSmall { parameter, value, min })
        } else if value > max {
            Err(Self::TooLarge { parameter, value, max })
        } else {
            Ok(())
        }
    }
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::TooSmall { parameter, value, min } => write!(f, "{parameter} must be at least {min}, not {value}"),
            Self::TooLarge { parameter, value, max } => write!(f, "{parameter} must be at most {max}, not {value}"),
            Self::NotPowerOfTwo { parameter, value } => {
                write!(f, "{parameter} must be a power of two, not {value}")?;
                match value.checked_next_power_of_two() {
                    Some(next) => write!(f, "; {next} is the next"),
                    None => Ok(()),
                }
            }
            Self::OutOfMemory { bytes } => write!(f, "there is no memory for {bytes} bytes: ask for a smaller queue"),
        }
    }
}

impl core::error::Error for BuildError {}
