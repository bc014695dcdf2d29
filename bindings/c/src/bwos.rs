//! One owner and any number of thieves, pointers: `thalweg_bwos_*`.

use crate::border::{counted, free, hand_out, into_place, opaque};
use crate::build::{Refusal, build};
use crate::end::{Thief, pop_each};
use crate::entry::{Item, entries, places};
use crate::status::Status;
use std::ffi::{c_char, c_void};
use thalweg_queue::stealing;

/// The owner of a work-stealing queue: pushes and pops. One thread at a time uses it; it may move between threads.
pub struct BwosOwner(Order);

enum Order {
    Lifo(stealing::lifo::Owner<Item>),
    Fifo(stealing::fifo::Owner<Item>),
}

/// A thief of a work-stealing queue. One thread at a time uses it; clone it for each thread that steals.
pub struct BwosThief(Thief<Item>);

opaque!(BwosOwner, BwosThief);

/// A work-stealing stack of `blocks` blocks with `entries` pointers each: the owner pops what it pushed last.
///
/// At least 2 blocks, at least 1 entry; 8 blocks of 64 cost the owner nothing. OK: the caller owns both handles and frees each.
/// INVALID: nothing is written but the reason, to `error`, a buffer of `error_size` bytes, which may be NULL.
///
/// Thieves see what the owner has left behind in other blocks, and what it has shared. No function of this family waits.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_bwos_new_lifo(
    blocks: usize,
    entries: usize,
    owner: *mut *mut BwosOwner,
    thief: *mut *mut BwosThief,
    error: *mut c_char,
    error_size: usize,
) -> Status {
    // SAFETY: the caller's promise about the places for results.
    unsafe {
        build((owner, "owner"), (thief, "thief"), (error, error_size), || {
            let (owner, stealer) = stealing::lifo(blocks, entries).map_err(Refusal::from)?;
            Ok((BwosOwner(Order::Lifo(owner)), BwosThief(Thief::new(stealer))))
        })
    }
}

/// As `thalweg_bwos_new_lifo`, but a queue: the owner pops what it pushed first.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_bwos_new_fifo(
    blocks: usize,
    entries: usize,
    owner: *mut *mut BwosOwner,
    thief: *mut *mut BwosThief,
    error: *mut c_char,
    error_size: usize,
) -> Status {
    // SAFETY: the caller's promise about the places for results.
    unsafe {
        build((owner, "owner"), (thief, "thief"), (error, error_size), || {
            let (owner, stealer) = stealing::fifo(blocks, entries).map_err(Refusal::from)?;
            Ok((BwosOwner(Order::Fifo(owner)), BwosThief(Thief::new(stealer))))
        })
    }
}

/// Pushes `item`, which may be NULL.
///
/// FULL: every block holds an item; do the task now. BUSY: thieves are still reading in the only free blocks. Never CLOSED.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_bwos_push(owner: *mut BwosOwner, item: *mut c_void) -> Status {
    // SAFETY: H1, H2.
    let pushed = match unsafe { owner.as_mut() } {
        Some(BwosOwner(Order::Lifo(owner))) => owner.push(Item::new(item)),
        Some(BwosOwner(Order::Fifo(owner))) => owner.push(Item::new(item)),
        None => return Status::Invalid,
    };
    pushed.map_err(Status::from).into()
}

/// Pops into `item` what was pushed last (LIFO) or first (FIFO), of what thieves have left. EMPTY if they have left nothing.
///
/// With OK the item is the caller's; else `item` is not written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_bwos_pop(owner: *mut BwosOwner, item: *mut *mut c_void) -> Status {
    // SAFETY: H1, H2.
    let Some(BwosOwner(owner)) = (unsafe { owner.as_mut() }) else { return Status::Invalid };
    let pop = || match owner {
        Order::Lifo(owner) => owner.pop().ok_or(Status::Empty),
        Order::Fifo(owner) => owner.pop().ok_or(Status::Empty),
    };
    // SAFETY: H3.
    unsafe { into_place(item, pop) }
}

/// Pushes as many of `count` pointers at `items` as there is room for, from the first on, and writes how many to `pushed`.
///
/// OK: at least one, unless `count` is 0. Otherwise none, and `pushed` gets 0: FULL or BUSY, as for one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_bwos_push_many(
    owner: *mut BwosOwner,
    items: *const *mut c_void,
    count: usize,
    pushed: *mut usize,
) -> Status {
    // SAFETY: H1 to H3.
    let (owner, items) = unsafe { (owner.as_mut(), entries(items.cast::<Item>(), count)) };
    // SAFETY: H3.
    unsafe {
        counted(pushed, || match (owner, items) {
            (Some(BwosOwner(Order::Lifo(owner))), Some(items)) => Ok(owner.push_slice(items)?),
            (Some(BwosOwner(Order::Fifo(owner))), Some(items)) => Ok(owner.push_slice(items)?),
            _ => Err(Status::Invalid),
        })
    }
}

/// Pops up to `count` items to `items`, in the order of `thalweg_bwos_pop`, and writes how many to `popped`.
///
/// OK: at least one, unless `count` is 0. Otherwise none, and `popped` gets 0: EMPTY, as for one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_bwos_pop_many(
    owner: *mut BwosOwner,
    items: *mut *mut c_void,
    count: usize,
    popped: *mut usize,
) -> Status {
    // SAFETY: H1 to H3.
    let (owner, items) = unsafe { (owner.as_mut(), places(items.cast::<Item>(), count)) };
    // SAFETY: H3.
    unsafe {
        counted(popped, || match (owner, items) {
            (Some(BwosOwner(Order::Lifo(owner))), Some(items)) => pop_each(items, owner.drain()),
            (Some(BwosOwner(Order::Fifo(owner))), Some(items)) => pop_each(items, owner.drain()),
            _ => Err(Status::Invalid),
        })
    }
}

/// Lets thieves take everything that is in the queue now. For before a task that is long or waits. INVALID for NULL, else OK.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_bwos_share(owner: *mut BwosOwner) -> Status {
    // SAFETY: H1, H2.
    match unsafe { owner.as_mut() } {
        Some(BwosOwner(Order::Lifo(owner))) => owner.share(),
        Some(BwosOwner(Order::Fifo(owner))) => owner.share(),
        None => return Status::Invalid,
    }
    Status::Ok
}

/// How many items are left, now or lately. Exact when nobody steals. 0 for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_bwos_owner_len(owner: *const BwosOwner) -> usize {
    // SAFETY: H1, H2.
    match unsafe { owner.as_ref() } {
        Some(BwosOwner(Order::Lifo(owner))) => owner.len(),
        Some(BwosOwner(Order::Fifo(owner))) => owner.len(),
        None => 0,
    }
}

/// How many entries all blocks have. Thieves can leave gaps: only `blocks` items are certain to fit. 0 for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_bwos_owner_capacity(owner: *const BwosOwner) -> usize {
    // SAFETY: H1, H2.
    match unsafe { owner.as_ref() } {
        Some(BwosOwner(Order::Lifo(owner))) => owner.capacity(),
        Some(BwosOwner(Order::Fifo(owner))) => owner.capacity(),
        None => 0,
    }
}

/// Frees the owner, which leaves all items to the thieves and closes the queue. Nothing for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_bwos_owner_free(owner: *mut BwosOwner) {
    // SAFETY: H1: made by `build`, and freed once.
    unsafe { free(owner) }
}

/// A thief of the owner's queue, for the caller to free: also when all that there were are freed. NULL for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_bwos_thief_new(owner: *const BwosOwner) -> *mut BwosThief {
    // SAFETY: H1, H2.
    let stealer = match unsafe { owner.as_ref() } {
        Some(BwosOwner(Order::Lifo(owner))) => owner.stealer(),
        Some(BwosOwner(Order::Fifo(owner))) => owner.stealer(),
        None => return std::ptr::null_mut(),
    };
    hand_out(BwosThief(Thief::new(stealer)))
}

/// Another thief of the same queue, for the caller to free. NULL for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_bwos_thief_clone(thief: *const BwosThief) -> *mut BwosThief {
    // SAFETY: H1, H2.
    unsafe { thief.as_ref() }.map_or(std::ptr::null_mut(), |thief| hand_out(BwosThief(thief.0.another())))
}

/// Steals an item into `item`, from the oldest block that is known to have one.
///
/// EMPTY: nothing is granted; the owner may still hold items. BUSY: others came first. CLOSED: the owner is gone and nothing is left.
/// With OK the item is the caller's; else `item` is not written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_bwos_steal(thief: *mut BwosThief, item: *mut *mut c_void) -> Status {
    // SAFETY: H1, H2.
    let Some(thief) = (unsafe { thief.as_mut() }) else { return Status::Invalid };
    // SAFETY: H3.
    unsafe { into_place(item, || Ok(thief.0.stealer.steal()?)) }
}

/// Steals up to `count` items of one block, the oldest first, to `items`, and writes how many to `stolen`. A whole block costs hardly
/// more than one item.
///
/// OK: at least one, unless `count` is 0. Otherwise none, and `stolen` gets 0: EMPTY, BUSY or CLOSED, as for one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_bwos_steal_many(
    thief: *mut BwosThief,
    items: *mut *mut c_void,
    count: usize,
    stolen: *mut usize,
) -> Status {
    // SAFETY: H1 to H3.
    let (thief, items) = unsafe { (thief.as_mut(), places(items.cast::<Item>(), count)) };
    // SAFETY: H3.
    unsafe {
        counted(stolen, || match (thief, items) {
            (Some(thief), Some(items)) => thief.0.steal_many(items),
            _ => Err(Status::Invalid),
        })
    }
}

/// How many items are granted, now or lately: what thieves could take. 0 for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_bwos_thief_len(thief: *const BwosThief) -> usize {
    // SAFETY: H1, H2.
    unsafe { thief.as_ref() }.map_or(0, |thief| thief.0.stealer.len())
}

/// How many entries all blocks have. 0 for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_bwos_thief_capacity(thief: *const BwosThief) -> usize {
    // SAFETY: H1, H2.
    unsafe { thief.as_ref() }.map_or(0, |thief| thief.0.stealer.capacity())
}

/// Whether the owner is gone. Then it stays so; items may still be left. True for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_bwos_thief_is_closed(thief: *const BwosThief) -> bool {
    // SAFETY: H1, H2.
    unsafe { thief.as_ref() }.is_none_or(|thief| thief.0.stealer.is_closed())
}

/// Frees a thief. When it was the last handle, what is in the queue is forgotten, not freed: free the owner first and steal until
/// CLOSED if the items own something. Nothing for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_bwos_thief_free(thief: *mut BwosThief) {
    // SAFETY: H1: made by `build`, `thalweg_bwos_thief_new` or `thalweg_bwos_thief_clone`, and freed once.
    unsafe { free(thief) }
}
