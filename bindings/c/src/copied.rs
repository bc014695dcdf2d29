//! Entries of one size, copied between the caller's memory and a queue: what is the same for every queue of bytes.
//!
//! An entry is copied once on its way in, from the caller's memory to its place in the queue, and once on its way out. The size is a
//! parameter of the entry's type, so there is one queue for each power of two; the functions for C find the right one through a table
//! of methods.

use crate::end::{Consumer, Producer};
use crate::entry::{Entry, entries, places};
use crate::status::Status;
use std::ffi::c_void;
use std::time::Duration;

/// The largest entry in bytes. Larger messages travel as pointers.
pub(crate) const MAX_ENTRY_SIZE: usize = 256;

/// Entries up to this size are pushed and popped by value, in registers. A larger one is treated as a batch of one, which most queues
/// copy straight to or from its place.
const BY_VALUE: usize = 16;

/// `$make` for entries of `$size` bytes, which wait by `$W` if they wait.
macro_rules! of_size {
    ($size:expr, $make:ident $(::<$W:ident>)? ($($argument:expr),*)) => {
        match $size {
            1 => $make::<1 $(, $W)?>($($argument),*),
            2 => $make::<2 $(, $W)?>($($argument),*),
            4 => $make::<4 $(, $W)?>($($argument),*),
            8 => $make::<8 $(, $W)?>($($argument),*),
            16 => $make::<16 $(, $W)?>($($argument),*),
            32 => $make::<32 $(, $W)?>($($argument),*),
            64 => $make::<64 $(, $W)?>($($argument),*),
            128 => $make::<128 $(, $W)?>($($argument),*),
            $crate::copied::MAX_ENTRY_SIZE => $make::<{ $crate::copied::MAX_ENTRY_SIZE } $(, $W)?>($($argument),*),
            size => Err($crate::build::Refusal::EntrySize(size)),
        }
    };
}
pub(crate) use of_size;

/// Copies the entry at `entry` into the queue now, or says why not.
///
/// # Safety
///
/// H3, for one entry.
#[inline]
pub(crate) unsafe fn try_push<E: Entry>(end: &mut impl Producer<E>, entry: *const c_void) -> Status {
    // SAFETY: by the caller's promise.
    let Some(entry) = (unsafe { entries(entry.cast::<E>(), 1) }) else { return Status::Invalid };
    if size_of::<E>() <= BY_VALUE { end.try_push(entry[0]) } else { end.try_push_many(entry).into() }
}

/// As [`try_push`], waiting while the queue is full: for some time, or for ever.
///
/// # Safety
///
/// H3, for one entry.
pub(crate) unsafe fn push<E: Entry>(
    end: &mut impl Producer<E>,
    entry: *const c_void,
    timeout: Option<Duration>,
) -> Status {
    // SAFETY: by the caller's promise.
    match unsafe { try_push::<E>(end, entry) } {
        Status::Full | Status::Busy => {}
        done => return done,
    }
    // SAFETY: H3; neither null nor unaligned, or it would have been refused above.
    let entry = unsafe { *entry.cast::<E>() };
    match timeout {
        Some(timeout) => end.push_timeout(entry, timeout),
        None => end.push(entry),
    }
}

/// Copies as many of the `count` entries at `from` as there is room for into the queue. Returns how many.
///
/// # Safety
///
/// H3, for `count` entries.
pub(crate) unsafe fn try_push_many<E: Entry>(
    end: &mut impl Producer<E>,
    from: *const c_void,
    count: usize,
) -> Result<usize, Status> {
    // SAFETY: by the caller's promise.
    let entries = unsafe { entries(from.cast::<E>(), count) }.ok_or(Status::Invalid)?;
    end.try_push_many(entries)
}

/// Copies the `count` entries at `from` into the queue, waiting for room. How many it has copied, and why no more.
///
/// # Safety
///
/// H3, for `count` entries.
pub(crate) unsafe fn push_many<E: Entry>(
    end: &mut impl Producer<E>,
    from: *const c_void,
    count: usize,
    timeout: Option<Duration>,
) -> (usize, Status) {
    // SAFETY: by the caller's promise.
    match unsafe { entries(from.cast::<E>(), count) } {
        Some(entries) => end.push_many(entries, timeout),
        None => (0, Status::Invalid),
    }
}

/// Copies the oldest entry to `entry` and takes it from the queue now, or says why not.
///
/// # Safety
///
/// H3, for one entry.
#[inline]
pub(crate) unsafe fn try_pop<E: Entry>(end: &mut impl Consumer<E>, entry: *mut c_void) -> Status {
    // SAFETY: by the caller's promise.
    let Some(place) = (unsafe { places(entry.cast::<E>(), 1) }) else { return Status::Invalid };
    if size_of::<E>() > BY_VALUE {
        return end.try_pop_many(place).into();
    }
    match end.try_pop() {
        Ok(popped) => {
            place[0].write(popped);
            Status::Ok
        }
        Err(refused) => refused,
    }
}

/// As [`try_pop`], waiting while the queue is empty: for some time, or for ever.
///
/// # Safety
///
/// H3, for one entry.
pub(crate) unsafe fn pop<E: Entry>(
    end: &mut impl Consumer<E>,
    entry: *mut c_void,
    timeout: Option<Duration>,
) -> Status {
    // SAFETY: by the caller's promise.
    match unsafe { try_pop::<E>(end, entry) } {
        Status::Empty | Status::Busy => {}
        done => return done,
    }
    let popped = match timeout {
        Some(timeout) => end.pop_timeout(timeout),
        None => end.pop(),
    };
    // SAFETY: H3; neither null nor unaligned, or it would have been refused above.
    popped.map(|popped| unsafe { entry.cast::<E>().write(popped) }).into()
}

/// Copies what is there, up to `count` entries, to `to`, and takes it from the queue. Returns how many.
///
/// # Safety
///
/// H3, for `count` entries.
pub(crate) unsafe fn try_pop_many<E: Entry>(
    end: &mut impl Consumer<E>,
    to: *mut c_void,
    count: usize,
) -> Result<usize, Status> {
    // SAFETY: by the caller's promise.
    let places = unsafe { places(to.cast::<E>(), count) }.ok_or(Status::Invalid)?;
    end.try_pop_many(places)
}

/// As [`try_pop_many`], waiting for the first entry.
///
/// # Safety
///
/// H3, for `count` entries.
pub(crate) unsafe fn pop_many<E: Entry>(
    end: &mut impl Consumer<E>,
    to: *mut c_void,
    count: usize,
    timeout: Option<Duration>,
) -> Result<usize, Status> {
    // SAFETY: by the caller's promise.
    let places = unsafe { places(to.cast::<E>(), count) }.ok_or(Status::Invalid)?;
    end.pop_many(places, timeout)
}
