//! Why a message was not pushed, or not popped.

use crate::{PopError, PopTimeoutError, TryPopError};
use core::fmt;

/// Why a message was not pushed, or nothing reserved for it.
///
/// ```
/// let (tx, _rx) = thalweg_queue::bytes::bytes(2, 64)?;
/// let error = tx.try_push(&[0; 100]).unwrap_err();
/// assert_eq!(error.to_string(), "a message of 100 bytes is larger than a block: at most 64 bytes fit");
/// # Ok::<(), thalweg_queue::BuildError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PushBytesError {
    /// No room: a consumer has to pop first.
    Full,
    /// Not before operations end that are half-way: pops that make the room, or another push. Trying again soon is worthwhile.
    Busy,
    /// Every consumer is gone, so nothing will be popped any more.
    Closed,
    /// The message has more bytes than a block.
    TooLarge {
        /// How many bytes it has.
        bytes: usize,
        /// How many it may have.
        max: usize,
    },
}

impl fmt::Display for PushBytesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full => f.write_str("the queue is full: pop first, or wait with `push`"),
            Self::Busy => f.write_str("the push has to wait for operations that are half-way: try again soon"),
            Self::Closed => f.write_str("the queue is closed: every consumer is gone, so stop pushing"),
            Self::TooLarge { bytes, max } => {
                write!(f, "a message of {bytes} bytes is larger than a block: at most {max} bytes fit")
            }
        }
    }
}

impl core::error::Error for PushBytesError {}

/// Why a waiting push did not push: [`PushBytesError::Full`] and [`PushBytesError::Busy`] are waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PushBytesTimeoutError {
    /// The time is over, and there was no room.
    Timeout,
    /// It never will be pushed: `Closed` or `TooLarge`.
    Refused(PushBytesError),
}

impl fmt::Display for PushBytesTimeoutError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Timeout => f.write_str("the queue had no room in time: pop faster, or wait longer"),
            Self::Refused(refused) => refused.fmt(f),
        }
    }
}

impl core::error::Error for PushBytesTimeoutError {}

/// Why a message was not popped to memory of the caller's.
///
/// ```
/// use thalweg_queue::bytes;
///
/// let (tx, rx) = bytes::bytes(2, 64)?;
/// tx.try_push(b"hello")?;
/// let error = rx.try_pop_slice(&mut [0; 16]).unwrap_err();
/// assert_eq!(error.to_string(), "16 bytes have no room for the largest message, of 64: see `max_message`");
/// assert_eq!(rx.try_pop_slice(&mut [0; 64]), Ok(5)); // it is still there
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PopBytesError {
    /// Nothing to pop: a producer has to push first.
    Empty,
    /// Not before operations end that are half-way: the push of the next message, or another pop. Trying again soon is worthwhile.
    Busy,
    /// Every producer is gone and everything they pushed has been popped.
    Closed,
    /// The memory is smaller than the largest message that may come. None was popped, whatever its length.
    TooSmall {
        /// How many bytes there are.
        room: usize,
        /// How many are needed.
        needed: usize,
    },
}

impl From<TryPopError> for PopBytesError {
    fn from(refused: TryPopError) -> Self {
        match refused {
            TryPopError::Empty => Self::Empty,
            TryPopError::Busy => Self::Busy,
            TryPopError::Closed => Self::Closed,
        }
    }
}

impl From<PopError> for PopBytesError {
    fn from(_: PopError) -> Self {
        Self::Closed
    }
}

impl fmt::Display for PopBytesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Empty => TryPopError::Empty.fmt(f),
            Self::Busy => TryPopError::Busy.fmt(f),
            Self::Closed => TryPopError::Closed.fmt(f),
            Self::TooSmall { room, needed } => {
                write!(f, "{room} bytes have no room for the largest message, of {needed}: see `max_message`")
            }
        }
    }
}

impl core::error::Error for PopBytesError {}

/// Why a waiting pop did not pop: [`PopBytesError::Empty`] and [`PopBytesError::Busy`] are waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PopBytesTimeoutError {
    /// The time is over, and there was nothing to pop.
    Timeout,
    /// There never will be anything to pop: `Closed` or `TooSmall`.
    Refused(PopBytesError),
}

impl From<PopBytesError> for PopBytesTimeoutError {
    fn from(refused: PopBytesError) -> Self {
        Self::Refused(refused)
    }
}

impl From<PopTimeoutError> for PopBytesTimeoutError {
    fn from(refused: PopTimeoutError) -> Self {
        match refused {
            PopTimeoutError::Timeout => Self::Timeout,
            PopTimeoutError::Closed => Self::Refused(PopBytesError::Closed),
        }
    }
}

impl fmt::Display for PopBytesTimeoutError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Timeout => PopTimeoutError::Timeout.fmt(f),
            Self::Refused(refused) => refused.fmt(f),
        }
    }
}

impl core::error::Error for PopBytesTimeoutError {}
