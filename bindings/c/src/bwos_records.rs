//! One owner and any number of thieves, byte entries of one size: `thalweg_bwos_records_*`.

use crate::border::{counted, free, hand_out, opaque};
use crate::build::{Refusal, build};
use crate::copied::of_size;
use crate::end::{Thief, pop_each};
use crate::entry::{Record, entries, places};
use crate::status::Status;
use std::ffi::{c_char, c_void};
use thalweg_queue::stealing;

/// The owner of a work-stealing queue of byte entries: pushes and pops. One thread at a time uses it; it may move between threads.
pub struct BwosRecordsOwner(Box<dyn Owner>);

/// A thief of a work-stealing queue of byte entries. One thread at a time uses it; clone it for each thread that steals.
pub struct BwosRecordsThief(Box<dyn Stealer>);

opaque!(BwosRecordsOwner, BwosRecordsThief);

/// An owner of entries of any size.
trait Owner: Send {
    /// # Safety
    ///
    /// H3, for one entry.
    unsafe fn push(&mut self, entry: *const c_void) -> Status;

    /// # Safety
    ///
    /// H3, for one entry.
    unsafe fn pop(&mut self, entry: *mut c_void) -> Status;

    /// # Safety
    ///
    /// H3, for `count` entries.
    unsafe fn push_many(&mut self, from: *const c_void, count: usize) -> Result<usize, Status>;

    /// # Safety
    ///
    /// H3, for `count` entries.
    unsafe fn pop_many(&mut self, to: *mut c_void, count: usize) -> Result<usize, Status>;

    fn share(&mut self);
    fn thief(&self) -> Box<dyn Stealer>;
    fn entry_size(&self) -> usize;
    fn len(&self) -> usize;
    fn capacity(&self) -> usize;
}

/// The owner of one order.
macro_rules! owner {
    ($order:ident) => {
        impl<const SIZE: usize> Owner for stealing::$order::Owner<Record<SIZE>> {
            unsafe fn push(&mut self, entry: *const c_void) -> Status {
                // SAFETY: by the caller's promise.
                match unsafe { entries(entry.cast::<Record<SIZE>>(), 1) } {
                    Some(entry) => self.push(entry[0]).map_err(Status::from).into(),
                    None => Status::Invalid,
                }
            }

            unsafe fn pop(&mut self, entry: *mut c_void) -> Status {
                // SAFETY: by the caller's promise.
                let Some(place) = (unsafe { places(entry.cast::<Record<SIZE>>(), 1) }) else { return Status::Invalid };
                match self.pop() {
                    Some(popped) => {
                        place[0].write(popped);
                        Status::Ok
                    }
                    None => Status::Empty,
                }
            }

            unsafe fn push_many(&mut self, from: *const c_void, count: usize) -> Result<usize, Status> {
                // SAFETY: by the caller's promise.
                let entries = unsafe { entries(from.cast::<Record<SIZE>>(), count) }.ok_or(Status::Invalid)?;
                Ok(self.push_slice(entries)?)
            }

            unsafe fn pop_many(&mut self, to: *mut c_void, count: usize) -> Result<usize, Status> {
                // SAFETY: by the caller's promise.
                let places = unsafe { places(to.cast::<Record<SIZE>>(), count) }.ok_or(Status::Invalid)?;
                pop_each(places, self.drain())
            }

            fn share(&mut self) {
                self.share();
            }

            fn thief(&self) -> Box<dyn Stealer> {
                Box::new(Thief::new(self.stealer()))
            }

            fn entry_size(&self) -> usize {
                SIZE
            }

            fn len(&self) -> usize {
                self.len()
            }

            fn capacity(&self) -> usize {
                self.capacity()
            }
        }
    };
}

owner!(lifo);
owner!(fifo);

/// A thief of entries of any size.
trait Stealer: Send {
    /// # Safety
    ///
    /// H3, for one entry.
    unsafe fn steal(&mut self, entry: *mut c_void) -> Status;

    /// # Safety
    ///
    /// H3, for `count` entries.
    unsafe fn steal_many(&mut self, to: *mut c_void, count: usize) -> Result<usize, Status>;

    fn entry_size(&self) -> usize;
    fn len(&self) -> usize;
    fn capacity(&self) -> usize;
    fn is_closed(&self) -> bool;
    fn another(&self) -> Box<dyn Stealer>;
}

impl<const SIZE: usize> Stealer for Thief<Record<SIZE>> {
    unsafe fn steal(&mut self, entry: *mut c_void) -> Status {
        // SAFETY: by the caller's promise.
        let Some(place) = (unsafe { places(entry.cast::<Record<SIZE>>(), 1) }) else { return Status::Invalid };
        match self.stealer.steal() {
            Ok(stolen) => {
                place[0].write(stolen);
                Status::Ok
            }
            Err(refused) => refused.into(),
        }
    }

    unsafe fn steal_many(&mut self, to: *mut c_void, count: usize) -> Result<usize, Status> {
        // SAFETY: by the caller's promise.
        let places = unsafe { places(to.cast::<Record<SIZE>>(), count) }.ok_or(Status::Invalid)?;
        self.steal_many(places)
    }

    fn entry_size(&self) -> usize {
        SIZE
    }

    fn len(&self) -> usize {
        self.stealer.len()
    }

    fn capacity(&self) -> usize {
        self.stealer.capacity()
    }

    fn is_closed(&self) -> bool {
        self.stealer.is_closed()
    }

    fn another(&self) -> Box<dyn Stealer> {
        Box::new(self.another())
    }
}

fn lifo<const SIZE: usize>(blocks: usize, entries: usize) -> Result<(BwosRecordsOwner, BwosRecordsThief), Refusal> {
    let (owner, stealer) = stealing::lifo::<Record<SIZE>>(blocks, entries)?;
    Ok((BwosRecordsOwner(Box::new(owner)), BwosRecordsThief(Box::new(Thief::new(stealer)))))
}

fn fifo<const SIZE: usize>(blocks: usize, entries: usize) -> Result<(BwosRecordsOwner, BwosRecordsThief), Refusal> {
    let (owner, stealer) = stealing::fifo::<Record<SIZE>>(blocks, entries)?;
    Ok((BwosRecordsOwner(Box::new(owner)), BwosRecordsThief(Box::new(Thief::new(stealer)))))
}

/// A work-stealing stack of `blocks` blocks with `entries` entries of `entry_size` bytes each: the owner pops what it pushed last.
///
/// Entries are copied in and out and may stand at any address. `entry_size` is a power of two from 1 to 256: round up, or push
/// pointers to what is larger. At least 2 blocks, at least 1 entry; 8 blocks of 64 cost the owner nothing. OK: the caller owns both
/// handles and frees each. INVALID: nothing is written but the reason, to `error`, a buffer of `error_size` bytes, which may be NULL.
///
/// Thieves see what the owner has left behind in other blocks, and what it has shared. No function of this family waits.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_bwos_records_new_lifo(
    entry_size: usize,
    blocks: usize,
    entries: usize,
    owner: *mut *mut BwosRecordsOwner,
    thief: *mut *mut BwosRecordsThief,
    error: *mut c_char,
    error_size: usize,
) -> Status {
    // SAFETY: the caller's promise about the places for results.
    unsafe {
        build((owner, "owner"), (thief, "thief"), (error, error_size), || of_size!(entry_size, lifo(blocks, entries)))
    }
}

/// As `thalweg_bwos_records_new_lifo`, but a queue: the owner pops what it pushed first.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_bwos_records_new_fifo(
    entry_size: usize,
    blocks: usize,
    entries: usize,
    owner: *mut *mut BwosRecordsOwner,
    thief: *mut *mut BwosRecordsThief,
    error: *mut c_char,
    error_size: usize,
) -> Status {
    // SAFETY: the caller's promise about the places for results.
    unsafe {
        build((owner, "owner"), (thief, "thief"), (error, error_size), || of_size!(entry_size, fifo(blocks, entries)))
    }
}

/// Copies the entry at `entry` into the queue.
///
/// FULL: every block holds an entry; do the task now. BUSY: thieves are still reading in the only free blocks. Never CLOSED.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_bwos_records_push(owner: *mut BwosRecordsOwner, entry: *const c_void) -> Status {
    // SAFETY: H1, H2, H3.
    unsafe { owner.as_mut().map_or(Status::Invalid, |owner| owner.0.push(entry)) }
}

/// Copies to `entry` what was pushed last (LIFO) or first (FIFO), of what thieves have left, and takes it from the queue. EMPTY if
/// they have left nothing.
///
/// `entry` is written only with OK.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_bwos_records_pop(owner: *mut BwosRecordsOwner, entry: *mut c_void) -> Status {
    // SAFETY: H1, H2, H3.
    unsafe { owner.as_mut().map_or(Status::Invalid, |owner| owner.0.pop(entry)) }
}

/// Copies as many of the `count` entries at `from` as there is room for into the queue, from the first on, and writes how many to
/// `pushed`.
///
/// OK: at least one, unless `count` is 0. Otherwise none, and `pushed` gets 0: FULL or BUSY, as for one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_bwos_records_push_many(
    owner: *mut BwosRecordsOwner,
    from: *const c_void,
    count: usize,
    pushed: *mut usize,
) -> Status {
    // SAFETY: H1, H2.
    let owner = unsafe { owner.as_mut() };
    // SAFETY: H3.
    unsafe { counted(pushed, || owner.ok_or(Status::Invalid)?.0.push_many(from, count)) }
}

/// Copies up to `count` entries to `to`, in the order of `thalweg_bwos_records_pop`, takes them from the queue, and writes how many to
/// `popped`.
///
/// OK: at least one, unless `count` is 0. Otherwise none, and `popped` gets 0: EMPTY, as for one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_bwos_records_pop_many(
    owner: *mut BwosRecordsOwner,
    to: *mut c_void,
    count: usize,
    popped: *mut usize,
) -> Status {
    // SAFETY: H1, H2.
    let owner = unsafe { owner.as_mut() };
    // SAFETY: H3.
    unsafe { counted(popped, || owner.ok_or(Status::Invalid)?.0.pop_many(to, count)) }
}

/// Lets thieves take everything that is in the queue now. For before a task that is long or waits. INVALID for NULL, else OK.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_bwos_records_share(owner: *mut BwosRecordsOwner) -> Status {
    // SAFETY: H1, H2.
    match unsafe { owner.as_mut() } {
        Some(owner) => owner.0.share(),
        None => return Status::Invalid,
    }
    Status::Ok
}

/// How many bytes an entry has. 0 for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_bwos_records_owner_entry_size(owner: *const BwosRecordsOwner) -> usize {
    // SAFETY: H1, H2.
    unsafe { owner.as_ref() }.map_or(0, |owner| owner.0.entry_size())
}

/// How many entries are left, now or lately. Exact when nobody steals. 0 for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_bwos_records_owner_len(owner: *const BwosRecordsOwner) -> usize {
    // SAFETY: H1, H2.
    unsafe { owner.as_ref() }.map_or(0, |owner| owner.0.len())
}

/// How many entries all blocks have. Thieves can leave gaps: only `blocks` entries are certain to fit. 0 for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_bwos_records_owner_capacity(owner: *const BwosRecordsOwner) -> usize {
    // SAFETY: H1, H2.
    unsafe { owner.as_ref() }.map_or(0, |owner| owner.0.capacity())
}

/// Frees the owner, which leaves all entries to the thieves and closes the queue. Nothing for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_bwos_records_owner_free(owner: *mut BwosRecordsOwner) {
    // SAFETY: H1: made by `build`, and freed once.
    unsafe { free(owner) }
}

/// A thief of the owner's queue, for the caller to free: also when all that there were are freed. NULL for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_bwos_records_thief_new(owner: *const BwosRecordsOwner) -> *mut BwosRecordsThief {
    // SAFETY: H1, H2.
    unsafe { owner.as_ref() }.map_or(std::ptr::null_mut(), |owner| hand_out(BwosRecordsThief(owner.0.thief())))
}

/// Another thief of the same queue, for the caller to free. NULL for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_bwos_records_thief_clone(thief: *const BwosRecordsThief) -> *mut BwosRecordsThief {
    // SAFETY: H1, H2.
    unsafe { thief.as_ref() }.map_or(std::ptr::null_mut(), |thief| hand_out(BwosRecordsThief(thief.0.another())))
}

/// Steals an entry, from the oldest block that is known to have one: copies it to `entry` and takes it from the queue.
///
/// EMPTY: nothing is granted; the owner may still hold entries. BUSY: others came first. CLOSED: the owner is gone and nothing is left.
/// `entry` is written only with OK.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_bwos_records_steal(thief: *mut BwosRecordsThief, entry: *mut c_void) -> Status {
    // SAFETY: H1, H2, H3.
    unsafe { thief.as_mut().map_or(Status::Invalid, |thief| thief.0.steal(entry)) }
}

/// Steals up to `count` entries of one block, the oldest first: copies them to `to`, takes them from the queue, and writes how many to
/// `stolen`. A whole block costs hardly more than one entry.
///
/// OK: at least one, unless `count` is 0. Otherwise none, and `stolen` gets 0: EMPTY, BUSY or CLOSED, as for one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_bwos_records_steal_many(
    thief: *mut BwosRecordsThief,
    to: *mut c_void,
    count: usize,
    stolen: *mut usize,
) -> Status {
    // SAFETY: H1, H2.
    let thief = unsafe { thief.as_mut() };
    // SAFETY: H3.
    unsafe { counted(stolen, || thief.ok_or(Status::Invalid)?.0.steal_many(to, count)) }
}

/// How many bytes an entry has. 0 for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_bwos_records_thief_entry_size(thief: *const BwosRecordsThief) -> usize {
    // SAFETY: H1, H2.
    unsafe { thief.as_ref() }.map_or(0, |thief| thief.0.entry_size())
}

/// How many entries are granted, now or lately: what thieves could take. 0 for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_bwos_records_thief_len(thief: *const BwosRecordsThief) -> usize {
    // SAFETY: H1, H2.
    unsafe { thief.as_ref() }.map_or(0, |thief| thief.0.len())
}

/// How many entries all blocks have. 0 for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_bwos_records_thief_capacity(thief: *const BwosRecordsThief) -> usize {
    // SAFETY: H1, H2.
    unsafe { thief.as_ref() }.map_or(0, |thief| thief.0.capacity())
}

/// Whether the owner is gone. Then it stays so; entries may still be left. True for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_bwos_records_thief_is_closed(thief: *const BwosRecordsThief) -> bool {
    // SAFETY: H1, H2.
    unsafe { thief.as_ref() }.is_none_or(|thief| thief.0.is_closed())
}

/// Frees a thief. With the last handle, what is in the queue is discarded. Nothing for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_bwos_records_thief_free(thief: *mut BwosRecordsThief) {
    // SAFETY: H1: made by `build`, `thalweg_bwos_records_thief_new` or `thalweg_bwos_records_thief_clone`, and freed once.
    unsafe { free(thief) }
}
