//! What a push does when there is no room: the two modes of a queue of messages, and what its ends need to know of them.

use super::overwriting::Overwriting;
use super::ring::Ring;
use super::{PushBytesError, TryPopError};
use crate::handles::Handles;
use crate::mpmc::spot::Shape;
use crate::wait::Wait;
use core::fmt;

/// What a push does when there is no room: a parameter of both ends.
pub trait Mode: sealed::Sealed + 'static {
    /// What both ends share.
    #[doc(hidden)]
    type Ring<W: Wait>: Messages<W>;
}

/// A push that finds no room is refused, or waits.
#[derive(Clone, Copy, Debug)]
pub enum RetryNew {}

/// A push that finds no room overwrites the oldest block.
#[derive(Clone, Copy, Debug)]
pub enum DropOld {}

impl Mode for RetryNew {
    type Ring<W: Wait> = Ring<W>;
}

impl Mode for DropOld {
    type Ring<W: Wait> = Overwriting<W>;
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::RetryNew {}
    impl Sealed for super::DropOld {}
}

/// A ring of messages.
pub trait Messages<W: Wait>: fmt::Debug + Send + Sync {
    /// Pushes a copy of `message`, or says why not. `placed` is called as soon as it is certain that it will be pushed: also if a waker
    /// panics afterwards.
    fn push(&self, message: &[u8], placed: impl FnOnce()) -> Result<(), PushBytesError>;

    /// Whether a push of `bytes` bytes would do anything but refuse for want of room. Writes nothing.
    fn may_push(&self, bytes: usize) -> bool;

    /// Copies the oldest message to where `room` says, and returns how many bytes it has. `room` is told how many, and may be asked
    /// more than once.
    ///
    /// # Safety
    ///
    /// It answers with memory for so many bytes.
    unsafe fn pop(&self, room: impl FnMut(usize) -> *mut u8) -> Result<usize, TryPopError>;

    /// Whether a pop would do anything but find nothing. Writes nothing.
    fn may_pop(&self) -> bool;

    /// How many granules are pushed and not popped, lately.
    fn len(&self) -> usize;

    /// What is there whatever the mode.
    fn common(&self) -> Common<'_, W>;
}

/// Of a ring: its shape, who uses it, and how they wait.
#[derive(Debug)]
pub struct Common<'a, W> {
    pub(super) shape: &'a Shape,
    pub(super) handles: &'a Handles,
    pub(super) wait: &'a W,
}
