//! One producer, one consumer, pointers: `thalweg_spsc_*`. An end of these is also the only one of its side in a queue of
//! [`bbq`](crate::bbq) that has many on the other.

use crate::border::{counted, counted_anyway, free, into_place, opaque};
use crate::build::{build, with_wait};
use crate::end::{OnlyConsumer, Producer};
use crate::entry::{Item, entries, places};
use crate::status::Status;
use std::ffi::{c_char, c_void};
use std::time::Duration;
use thalweg_queue::{spsc, spsc::fast_forward};

/// The only writing end of a queue: for one consumer, or many. One thread at a time uses it; it may move between threads.
pub struct SpscProducer(pub(crate) Box<dyn Producer<Item>>);

/// The only reading end of a queue: for one producer, or many. One thread at a time uses it; it may move between threads.
pub struct SpscConsumer(pub(crate) Box<dyn OnlyConsumer<Item>>);

opaque!(SpscProducer, SpscConsumer);

/// A queue for `capacity` pointers, one producer and one consumer: FastForward, the fastest one for single items.
///
/// At least `capacity` items fit, and up to 16 more; up to 32 where a pointer has 4 bytes. 512 to 4096 is where throughput is best.
/// `wait` is a `thalweg_wait`. OK: the caller owns both handles and frees each. INVALID: nothing is written but the reason, to `error`,
/// a buffer of `error_size` bytes, which may be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_spsc_new(
    capacity: usize,
    wait: u32,
    producer: *mut *mut SpscProducer,
    consumer: *mut *mut SpscConsumer,
    error: *mut c_char,
    error_size: usize,
) -> Status {
    // SAFETY: the caller's promise about the places for results.
    unsafe {
        build((producer, "producer"), (consumer, "consumer"), (error, error_size), || {
            with_wait!(wait, W => {
                let (tx, rx) = fast_forward::with_wait(capacity, W::default())?;
                Ok((SpscProducer(Box::new(tx)), SpscConsumer(Box::new(rx))))
            })
        })
    }
}

/// A queue of `blocks` blocks with `entries` pointers each, for one producer and one consumer: the block-based queue, better for
/// batches. Same handles and functions as `thalweg_spsc_new`.
///
/// `blocks` is a power of two and at least 2, `entries` at least 1. Blocks are given back whole, so FULL means that at least
/// `(blocks - 1) * entries + 1` items are in the queue.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_spsc_new_blocks(
    blocks: usize,
    entries: usize,
    wait: u32,
    producer: *mut *mut SpscProducer,
    consumer: *mut *mut SpscConsumer,
    error: *mut c_char,
    error_size: usize,
) -> Status {
    // SAFETY: the caller's promise about the places for results.
    unsafe {
        build((producer, "producer"), (consumer, "consumer"), (error, error_size), || {
            with_wait!(wait, W => {
                let (tx, rx) = spsc::with_wait(blocks, entries, W::default())?;
                Ok((SpscProducer(Box::new(tx)), SpscConsumer(Box::new(rx))))
            })
        })
    }
}

/// Pushes `item` now, or answers FULL, CLOSED, or BUSY where there are many consumers. INVALID if `item` is NULL: null marks an empty
/// slot. Never waits.
///
/// With OK the item is the consumer's; else it is still the caller's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_spsc_try_push(producer: *mut SpscProducer, item: *mut c_void) -> Status {
    // SAFETY: H1, H2.
    match unsafe { producer.as_mut() } {
        Some(producer) if !item.is_null() => producer.0.try_push(Item::new(item)),
        _ => Status::Invalid,
    }
}

/// Pushes `item`, waiting while the queue is full. OK, or CLOSED when every consumer is gone; INVALID if `item` is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_spsc_push(producer: *mut SpscProducer, item: *mut c_void) -> Status {
    // SAFETY: H1, H2.
    match unsafe { producer.as_mut() } {
        Some(producer) if !item.is_null() => producer.0.push(Item::new(item)),
        _ => Status::Invalid,
    }
}

/// As `thalweg_spsc_push`, but answers TIMEOUT after `nanoseconds`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_spsc_push_timeout(
    producer: *mut SpscProducer,
    item: *mut c_void,
    nanoseconds: u64,
) -> Status {
    // SAFETY: H1, H2.
    match unsafe { producer.as_mut() } {
        Some(producer) if !item.is_null() => {
            producer.0.push_timeout(Item::new(item), Duration::from_nanos(nanoseconds))
        }
        _ => Status::Invalid,
    }
}

/// Pushes as many of `count` pointers at `items` as there is room for, from the first on, and writes how many to `pushed`.
///
/// OK: at least one, unless `count` is 0. Otherwise none, and `pushed` gets 0: as `thalweg_spsc_try_push`, and INVALID if any of them is
/// NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_spsc_try_push_many(
    producer: *mut SpscProducer,
    items: *const *mut c_void,
    count: usize,
    pushed: *mut usize,
) -> Status {
    // SAFETY: H1 to H3.
    let (producer, items) = unsafe { (producer.as_mut(), entries(items.cast::<Item>(), count)) };
    // SAFETY: H3.
    unsafe {
        counted(pushed, || match (producer, items) {
            (Some(producer), Some(items)) if items.iter().all(|item| !item.get().is_null()) => {
                producer.0.try_push_many(items)
            }
            _ => Err(Status::Invalid),
        })
    }
}

/// Pushes the `count` pointers at `items`, from the first on, waiting while the queue is full, and writes how many to `pushed`.
///
/// OK: all of them. Otherwise the rest is still the caller's: CLOSED when every consumer is gone, or INVALID, and none is pushed, if
/// any of them is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_spsc_push_many(
    producer: *mut SpscProducer,
    items: *const *mut c_void,
    count: usize,
    pushed: *mut usize,
) -> Status {
    // SAFETY: H1 to H3.
    let (producer, items) = unsafe { (producer.as_mut(), entries(items.cast::<Item>(), count)) };
    // SAFETY: H3.
    unsafe {
        counted_anyway(pushed, || match (producer, items) {
            (Some(producer), Some(items)) if items.iter().all(|item| !item.get().is_null()) => {
                producer.0.push_many(items, None)
            }
            _ => (0, Status::Invalid),
        })
    }
}

/// As `thalweg_spsc_push_many`, but answers TIMEOUT after `nanoseconds` if some are left.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_spsc_push_many_timeout(
    producer: *mut SpscProducer,
    items: *const *mut c_void,
    count: usize,
    pushed: *mut usize,
    nanoseconds: u64,
) -> Status {
    // SAFETY: H1 to H3.
    let (producer, items) = unsafe { (producer.as_mut(), entries(items.cast::<Item>(), count)) };
    // SAFETY: H3.
    unsafe {
        counted_anyway(pushed, || match (producer, items) {
            (Some(producer), Some(items)) if items.iter().all(|item| !item.get().is_null()) => {
                producer.0.push_many(items, Some(Duration::from_nanos(nanoseconds)))
            }
            _ => (0, Status::Invalid),
        })
    }
}

/// Whether every consumer is gone. Then it stays so. True for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_spsc_producer_is_closed(producer: *const SpscProducer) -> bool {
    // SAFETY: H1, H2.
    unsafe { producer.as_ref() }.is_none_or(|producer| producer.0.is_closed())
}

/// How many items fit for certain; of a queue of blocks, how many entries all blocks have, of which as few as `capacity - entries + 1`
/// may fill it, as blocks are given back whole. 0 for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_spsc_producer_capacity(producer: *const SpscProducer) -> usize {
    // SAFETY: H1, H2.
    unsafe { producer.as_ref() }.map_or(0, |producer| producer.0.capacity())
}

/// Frees the writing end, which closes the queue: consumers pop what is left and then get CLOSED. Nothing for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_spsc_producer_free(producer: *mut SpscProducer) {
    // SAFETY: H1: made by `build`, and freed once.
    unsafe { free(producer) }
}

/// Pops the oldest item into `item` now, or answers EMPTY, CLOSED, or BUSY where there are many producers. Never waits.
///
/// With OK the item is the caller's; else `item` is not written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_spsc_try_pop(consumer: *mut SpscConsumer, item: *mut *mut c_void) -> Status {
    // SAFETY: H1, H2.
    let Some(consumer) = (unsafe { consumer.as_mut() }) else { return Status::Invalid };
    // SAFETY: H3.
    unsafe { into_place(item, || consumer.0.try_pop()) }
}

/// Pops the oldest item into `item`, waiting while the queue is empty. OK, or CLOSED when every producer is gone and nothing is left.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_spsc_pop(consumer: *mut SpscConsumer, item: *mut *mut c_void) -> Status {
    // SAFETY: H1, H2.
    let Some(consumer) = (unsafe { consumer.as_mut() }) else { return Status::Invalid };
    // SAFETY: H3.
    unsafe { into_place(item, || consumer.0.pop()) }
}

/// As `thalweg_spsc_pop`, but answers TIMEOUT after `nanoseconds`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_spsc_pop_timeout(
    consumer: *mut SpscConsumer,
    item: *mut *mut c_void,
    nanoseconds: u64,
) -> Status {
    // SAFETY: H1, H2.
    let Some(consumer) = (unsafe { consumer.as_mut() }) else { return Status::Invalid };
    // SAFETY: H3.
    unsafe { into_place(item, || consumer.0.pop_timeout(Duration::from_nanos(nanoseconds))) }
}

/// Pops what is there, up to `count` items, the oldest first, to `items`, and writes how many to `popped`.
///
/// OK: at least one, unless `count` is 0. Otherwise none, and `popped` gets 0: as `thalweg_spsc_try_pop`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_spsc_try_pop_many(
    consumer: *mut SpscConsumer,
    items: *mut *mut c_void,
    count: usize,
    popped: *mut usize,
) -> Status {
    // SAFETY: H1 to H3.
    let (consumer, items) = unsafe { (consumer.as_mut(), places(items.cast::<Item>(), count)) };
    // SAFETY: H3.
    unsafe {
        counted(popped, || match (consumer, items) {
            (Some(consumer), Some(items)) => consumer.0.try_pop_many(items),
            _ => Err(Status::Invalid),
        })
    }
}

/// As `thalweg_spsc_try_pop_many`, waiting for the first item while the queue is empty. OK, or CLOSED when every producer is gone and
/// nothing is left.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_spsc_pop_many(
    consumer: *mut SpscConsumer,
    items: *mut *mut c_void,
    count: usize,
    popped: *mut usize,
) -> Status {
    // SAFETY: H1 to H3.
    let (consumer, items) = unsafe { (consumer.as_mut(), places(items.cast::<Item>(), count)) };
    // SAFETY: H3.
    unsafe {
        counted(popped, || match (consumer, items) {
            (Some(consumer), Some(items)) => consumer.0.pop_many(items, None),
            _ => Err(Status::Invalid),
        })
    }
}

/// As `thalweg_spsc_pop_many`, but answers TIMEOUT after `nanoseconds` without an item.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_spsc_pop_many_timeout(
    consumer: *mut SpscConsumer,
    items: *mut *mut c_void,
    count: usize,
    popped: *mut usize,
    nanoseconds: u64,
) -> Status {
    // SAFETY: H1 to H3.
    let (consumer, items) = unsafe { (consumer.as_mut(), places(items.cast::<Item>(), count)) };
    // SAFETY: H3.
    unsafe {
        counted(popped, || match (consumer, items) {
            (Some(consumer), Some(items)) => consumer.0.pop_many(items, Some(Duration::from_nanos(nanoseconds))),
            _ => Err(Status::Invalid),
        })
    }
}

/// Whether every producer is gone. Then it stays so; items may still be left. True for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_spsc_consumer_is_closed(consumer: *const SpscConsumer) -> bool {
    // SAFETY: H1, H2.
    unsafe { consumer.as_ref() }.is_none_or(|consumer| consumer.0.is_closed())
}

/// How many items are pushed and not popped: at least so many, as pushes go on. 0 for NULL.
///
/// Looks at each of them, or at a line of each block: for a report, not for each pop. The writing end does not know.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_spsc_consumer_len(consumer: *const SpscConsumer) -> usize {
    // SAFETY: H1, H2.
    unsafe { consumer.as_ref() }.map_or(0, |consumer| consumer.0.len())
}

/// How many items fit for certain; of a queue of blocks, how many entries all blocks have, of which as few as `capacity - entries + 1`
/// may fill it, as blocks are given back whole. 0 for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_spsc_consumer_capacity(consumer: *const SpscConsumer) -> usize {
    // SAFETY: H1, H2.
    unsafe { consumer.as_ref() }.map_or(0, |consumer| consumer.0.capacity())
}

/// Frees the reading end, which closes the queue: pushes get CLOSED from then on. What is in the queue is forgotten, not freed:
/// free the producers first and pop until CLOSED if the items own something. Nothing for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_spsc_consumer_free(consumer: *mut SpscConsumer) {
    // SAFETY: H1: made by `build`, and freed once.
    unsafe { free(consumer) }
}
