//! Building a queue for C: the way of waiting, where the ends go, and refusals as text.

use crate::border::hand_out;
use crate::status::Status;
use std::ffi::c_char;
use std::fmt::{self, Display, Write};
use thalweg_queue::BuildError;

/// How the ends of a queue wait while it is full or empty.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// On the processor for about a microsecond, then giving up the time slice over and over. Threads that seldom wait for long.
    Yield = 0,
    /// On the processor, keeping the time slice. Threads that have a core to themselves.
    Spin = 1,
    /// As yield for a moment, then asleep until the other side says so. Threads that wait for long, or more of them than cores.
    /// Each push and each pop then looks at one more word.
    Park = 2,
}

impl Wait {
    /// The one that `number` stands for. An enum of C may hold any number, so it does not come in as a [`Wait`].
    pub(crate) fn from_number(number: u32) -> Result<Self, Refusal> {
        match number {
            0 => Ok(Self::Yield),
            1 => Ok(Self::Spin),
            2 => Ok(Self::Park),
            _ => Err(Refusal::Wait(number)),
        }
    }
}

/// Runs `$build` with `$W` as the type that the number `$wait` stands for.
macro_rules! with_wait {
    ($wait:expr, $W:ident => $build:expr) => {
        match $crate::build::Wait::from_number($wait)? {
            $crate::build::Wait::Yield => {
                type $W = thalweg_queue::Yield;
                $build
            }
            $crate::build::Wait::Spin => {
                type $W = thalweg_queue::Spin;
                $build
            }
            $crate::build::Wait::Park => {
                type $W = thalweg_queue::Park;
                $build
            }
        }
    };
}
pub(crate) use with_wait;

/// Why a queue was not built.
pub(crate) enum Refusal {
    Shape(BuildError),
    Wait(u32),
    EntrySize(usize),
    NoPlaceFor(&'static str),
}

impl From<BuildError> for Refusal {
    fn from(error: BuildError) -> Self {
        Self::Shape(error)
    }
}

impl Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Shape(error) => error.fmt(f),
            Self::Wait(number) => write!(f, "wait must be 0 (yield), 1 (spin) or 2 (park), not {number}"),
            Self::EntrySize(size) => {
                write!(f, "entry_size must be a power of two from 1 to {}, not {size}", crate::copied::MAX_ENTRY_SIZE)
            }
            Self::NoPlaceFor(handle) => write!(f, "{handle} must not be NULL: a handle is written there"),
        }
    }
}

/// Builds a queue, writes its two handles to `first` and `second`, which are named for refusals, and a refusal's text to `text`.
///
/// # Safety
///
/// `first`, `second` and `text` are null or valid for a write; `text` for `size` bytes.
pub(crate) unsafe fn build<A, B>(
    (first, first_name): (*mut *mut A, &'static str),
    (second, second_name): (*mut *mut B, &'static str),
    (text, size): (*mut c_char, usize),
    make: impl FnOnce() -> Result<(A, B), Refusal>,
) -> Status {
    let made = if first.is_null() {
        Err(Refusal::NoPlaceFor(first_name))
    } else if second.is_null() {
        Err(Refusal::NoPlaceFor(second_name))
    } else {
        make()
    };
    // SAFETY: by the caller's promise.
    let mut text = unsafe { Text::new(text, size) };
    match made {
        Ok((a, b)) => {
            // SAFETY: not null, and so valid by the caller's promise.
            unsafe {
                first.write(hand_out(a));
                second.write(hand_out(b));
            }
            Status::Ok
        }
        Err(refusal) => {
            // Fails only when the buffer is full; what fits is there then.
            let _ = write!(text, "{refusal}");
            Status::Invalid
        }
    }
}

/// A string in the caller's memory. It ends with a NUL at any time.
struct Text {
    next: *mut u8,
    /// How many bytes there are from `next` on, with the one for the NUL.
    left: usize,
}

impl Text {
    /// An empty string, if there is room for one.
    ///
    /// # Safety
    ///
    /// `text` is null or valid for writes of `size` bytes for as long as this lives.
    unsafe fn new(text: *mut c_char, size: usize) -> Self {
        let mut text = Self { next: text.cast(), left: if text.is_null() { 0 } else { size } };
        text.append(&[]);
        text
    }

    fn append(&mut self, bytes: &[u8]) {
        if self.left > bytes.len() {
            // SAFETY: `left` bytes are ours from `next` on, which is more than are written, with the NUL.
            unsafe {
                self.next.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
                self.next = self.next.add(bytes.len());
                self.next.write(0);
            }
            self.left -= bytes.len();
        }
    }
}

impl Write for Text {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        // Texts are ASCII, so they may be cut anywhere.
        let fits = text.len().min(self.left.saturating_sub(1));
        self.append(&text.as_bytes()[..fits]);
        if fits == text.len() { Ok(()) } else { Err(fmt::Error) }
    }
}
