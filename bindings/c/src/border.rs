//! What the functions of all families do at the border: results into the caller's memory, handles back into boxes.

use crate::entry::Item;
use crate::status::Status;
use std::ffi::c_void;

/// `Debug` for handles, whose contents say nothing to anybody.
macro_rules! opaque {
    ($($Handle:ident),+) => {
        $(impl std::fmt::Debug for $Handle {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.debug_struct(stringify!($Handle)).finish_non_exhaustive()
            }
        })+
    };
}
pub(crate) use opaque;

/// Gives a new handle to the caller.
pub(crate) fn hand_out<H>(handle: H) -> *mut H {
    Box::into_raw(Box::new(handle))
}

/// Frees a handle; nothing for null.
///
/// # Safety
///
/// `handle` is null or came from [`hand_out`], and nobody uses it any more.
pub(crate) unsafe fn free<H>(handle: *mut H) {
    if !handle.is_null() {
        // SAFETY: by the caller's promise.
        drop(unsafe { Box::from_raw(handle) });
    }
}

/// Writes what `pop` returns to `place`. Does not call `pop` if `place` is null.
///
/// # Safety
///
/// `place` is null or valid for a write.
#[inline(always)]
pub(crate) unsafe fn into_place(place: *mut *mut c_void, pop: impl FnOnce() -> Result<Item, Status>) -> Status {
    if place.is_null() {
        return Status::Invalid;
    }
    match pop() {
        Ok(item) => {
            // SAFETY: not null, and so valid by the caller's promise.
            unsafe { place.write(item.get()) };
            Status::Ok
        }
        Err(refused) => refused,
    }
}

/// Writes to `done` how many entries `move_many` says it moved, whatever it answers. Does not call it if `done` is null.
///
/// # Safety
///
/// `done` is null or valid for a write.
pub(crate) unsafe fn counted_anyway(done: *mut usize, move_many: impl FnOnce() -> (usize, Status)) -> Status {
    if done.is_null() {
        return Status::Invalid;
    }
    let (moved, status) = move_many();
    // SAFETY: not null, and so valid by the caller's promise.
    unsafe { done.write(moved) };
    status
}

/// Writes to `done` how many entries `move_many` says it moved: none with an error. Does not call it if `done` is null.
///
/// # Safety
///
/// `done` is null or valid for a write.
#[inline(always)]
pub(crate) unsafe fn counted(done: *mut usize, move_many: impl FnOnce() -> Result<usize, Status>) -> Status {
    if done.is_null() {
        return Status::Invalid;
    }
    let result = move_many();
    // SAFETY: not null, and so valid by the caller's promise.
    unsafe { done.write(result.unwrap_or(0)) };
    result.into()
}
