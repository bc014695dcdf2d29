//! What each function answers.

use std::ffi::{CStr, c_char};
use thalweg_queue::bytes::{PopBytesError, PopBytesTimeoutError};
use thalweg_queue::stealing::StealError;
use thalweg_queue::{PopError, PopTimeoutError, PushError, PushTimeoutError, TryPopError, TryPushError};

/// What a function answers.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Done.
    Ok = 0,
    /// Nothing pushed: no room, a consumer has to pop first.
    Full = 1,
    /// Nothing popped or stolen: there is nothing, a producer has to push first.
    Empty = 2,
    /// Nothing done, as another thread is in the middle of something: trying again soon is worthwhile.
    Busy = 3,
    /// Nothing done, and it will stay so: the other side is gone, and for a pop or a steal nothing is left.
    Closed = 4,
    /// Nothing done until the time was over.
    Timeout = 5,
    /// Nothing done: an argument is out of range, or NULL where it may not be.
    Invalid = 6,
}

impl Status {
    const fn text(self) -> &'static CStr {
        match self {
            Self::Ok => c"done",
            Self::Full => c"the queue is full: pop first, or wait",
            Self::Empty => c"the queue is empty: push first, or wait",
            Self::Busy => c"another operation is half-way: try again soon",
            Self::Closed => c"the queue is closed: the other side is gone, so stop pushing, popping or stealing",
            Self::Timeout => c"the time is over: pop faster if the queue is full, push if it is empty, or wait longer",
            Self::Invalid => c"an argument is out of range, or NULL where it may not be",
        }
    }
}

/// What `status` means, in English. Never NULL; the text is static, so nobody frees it. Takes any number.
#[unsafe(no_mangle)]
pub extern "C" fn thalweg_status_text(status: u32) -> *const c_char {
    const ALL: [Status; 7] =
        [Status::Ok, Status::Full, Status::Empty, Status::Busy, Status::Closed, Status::Timeout, Status::Invalid];
    ALL.into_iter().find(|known| *known as u32 == status).map_or(c"not a status", Status::text).as_ptr()
}

impl<T> From<Result<T, Status>> for Status {
    fn from(result: Result<T, Status>) -> Self {
        result.err().unwrap_or(Self::Ok)
    }
}

impl<T> From<TryPushError<T>> for Status {
    fn from(refused: TryPushError<T>) -> Self {
        match refused {
            TryPushError::Full(_) => Self::Full,
            TryPushError::Busy(_) => Self::Busy,
            TryPushError::Closed(_) => Self::Closed,
        }
    }
}

impl<T> From<PushError<T>> for Status {
    fn from(_: PushError<T>) -> Self {
        Self::Closed
    }
}

impl<T> From<PushTimeoutError<T>> for Status {
    fn from(refused: PushTimeoutError<T>) -> Self {
        match refused {
            PushTimeoutError::Timeout(_) => Self::Timeout,
            PushTimeoutError::Closed(_) => Self::Closed,
        }
    }
}

impl From<TryPopError> for Status {
    fn from(refused: TryPopError) -> Self {
        match refused {
            TryPopError::Empty => Self::Empty,
            TryPopError::Busy => Self::Busy,
            TryPopError::Closed => Self::Closed,
        }
    }
}

impl From<PopBytesError> for Status {
    fn from(refused: PopBytesError) -> Self {
        match refused {
            PopBytesError::Empty => Self::Empty,
            PopBytesError::Busy => Self::Busy,
            PopBytesError::Closed => Self::Closed,
            _ => Self::Invalid,
        }
    }
}

impl From<PopBytesTimeoutError> for Status {
    fn from(refused: PopBytesTimeoutError) -> Self {
        match refused {
            PopBytesTimeoutError::Refused(refused) => refused.into(),
            _ => Self::Timeout,
        }
    }
}

impl From<PopError> for Status {
    fn from(_: PopError) -> Self {
        Self::Closed
    }
}

impl From<PopTimeoutError> for Status {
    fn from(refused: PopTimeoutError) -> Self {
        match refused {
            PopTimeoutError::Timeout => Self::Timeout,
            PopTimeoutError::Closed => Self::Closed,
        }
    }
}

impl From<StealError> for Status {
    fn from(refused: StealError) -> Self {
        match refused {
            StealError::Empty => Self::Empty,
            StealError::Busy => Self::Busy,
            StealError::Closed => Self::Closed,
        }
    }
}
