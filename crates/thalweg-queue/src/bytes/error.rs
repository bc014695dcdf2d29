//! Why a message was not pushed.

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
