//! What an engine should know about the time between accesses. Natively nothing.

use crate::engine::{self, Span};

/// How memory is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Read only.
    Read,
    /// Written.
    Write,
}

/// Says that `bytes` bytes behind `address` are read or written, outside the facade's own types.
///
/// ```
/// use thalweg_sync::hint::{Access, touch};
///
/// fn checksum(payload: &[u8]) -> u32 {
///     touch(payload.as_ptr(), payload.len(), Access::Read);
///     payload.iter().map(|&byte| u32::from(byte)).sum()
/// }
/// assert_eq!(checksum(b"abc"), 294);
/// ```
#[inline(always)]
#[track_caller]
pub fn touch(address: *const u8, bytes: usize, access: Access) {
    if let Some(engine) = engine::current() {
        let at = core::panic::Location::caller();
        engine.touch(&Span { address: address.addr(), bytes, access, may_be_uninit: false, at });
    }
}

/// Says that the line at `address` was asked for, which will be read or written later.
///
/// ```
/// use thalweg_sync::hint::{Access, prefetch};
///
/// let next = 7_u64;
/// prefetch(&raw const next, Access::Write); // beside the instruction that does it
/// ```
#[inline(always)]
#[track_caller]
pub fn prefetch<T>(address: *const T, access: Access) {
    if let Some(engine) = engine::current() {
        engine.prefetch(address.addr(), access);
    }
}

/// Says that about `cycles` cycles of work were done that touch no shared memory.
#[inline(always)]
#[track_caller]
pub fn work(cycles: u64) {
    if let Some(engine) = engine::current() {
        engine.work(cycles);
    }
}

/// Runs `body`, and says that it is about so many instructions, those of the calls in it among them.
///
/// Where nothing is said, an engine that has time takes each access to stand for as many instructions as are usual around one.
/// In `body` it counts these instead: how long they take, and how many accesses a core has under way at once. Calls nest, and
/// add up.
///
/// ```
/// use thalweg_sync::atomic::{AtomicU64, Ordering::Relaxed};
/// use thalweg_sync::hint::code;
///
/// let sums = [AtomicU64::new(1), AtomicU64::new(2)];
/// // A load, an addition, and the loop's two.
/// let sum: u64 = sums.iter().map(|sum| code(4, || sum.load(Relaxed))).sum();
/// assert_eq!(sum, 3);
/// ```
#[inline(always)]
#[track_caller]
pub fn code<R>(instructions: u64, body: impl FnOnce() -> R) -> R {
    struct End;
    impl Drop for End {
        #[inline(always)]
        fn drop(&mut self) {
            if let Some(engine) = engine::entered() {
                engine.code_end();
            }
        }
    }
    if let Some(engine) = engine::current() {
        engine.code(instructions);
    }
    let _end = End;
    body()
}

/// Says that the calling thread does what is called `name`, until the guard is dropped: a kernel's activation, say. Tasks
/// nest.
///
/// ```
/// let _task = thalweg_sync::hint::task("parse");
/// ```
#[inline(always)]
#[track_caller]
pub fn task(name: &str) -> Task {
    if let Some(engine) = engine::current() {
        engine.task(name);
    }
    Task { _on_its_thread: core::marker::PhantomData }
}

/// Says that the task at hand has taken so many messages. An engine that has time may charge what they cost.
#[inline(always)]
#[track_caller]
pub fn took(messages: u64) {
    if let Some(engine) = engine::current() {
        engine.took(messages);
    }
}

/// Says that the task at hand gives so many messages, before anybody can take them. An engine that has time may charge what they cost.
///
/// ```
/// use thalweg_sync::hint;
/// let _task = hint::task("parse");
/// hint::gives(32);
/// ```
#[inline(always)]
#[track_caller]
pub fn gives(messages: u64) {
    if let Some(engine) = engine::current() {
        engine.gives(messages);
    }
}

/// A task that goes on; see [`task`].
#[derive(Debug)]
#[must_use = "the task ends when this is dropped"]
pub struct Task {
    _on_its_thread: core::marker::PhantomData<*const ()>,
}

impl Drop for Task {
    #[inline(always)]
    fn drop(&mut self) {
        if let Some(engine) = engine::entered() {
            engine.task_end();
        }
    }
}
