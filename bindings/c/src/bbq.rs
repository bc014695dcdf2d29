//! Many producers, many consumers, or many of one and one of the other, pointers: `thalweg_bbq_*`.

use crate::border::{counted, counted_anyway, free, hand_out, into_place, opaque};
use crate::build::{build, with_wait};
use crate::end::{SharedConsumer, SharedProducer};
use crate::entry::{Item, entries, places};
use crate::spsc::{SpscConsumer, SpscProducer};
use crate::status::Status;
use std::ffi::{c_char, c_void};
use std::time::Duration;
use thalweg_queue::{mpmc, mpsc, spmc};

/// A writing end of a queue for many. Shared: any number of threads may use it at the same time.
pub struct BbqProducer(Box<dyn SharedProducer<Item>>);

/// A reading end of a queue for many. Shared: any number of threads may use it at the same time.
pub struct BbqConsumer(Box<dyn SharedConsumer<Item>>);

opaque!(BbqProducer, BbqConsumer);

/// A queue of `blocks` blocks with `entries` pointers each, for any number of producers and consumers: the block-based bounded queue
/// in retry-new mode.
///
/// `blocks` is a power of two and at least 2, `entries` at least 1; `thalweg_bbq_blocks` has a good number for a capacity. `wait` is
/// a `thalweg_wait`. OK: the caller owns both handles and frees each. INVALID: nothing is written but the reason, to `error`, a
/// buffer of `error_size` bytes, which may be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_bbq_new(
    blocks: usize,
    entries: usize,
    wait: u32,
    producer: *mut *mut BbqProducer,
    consumer: *mut *mut BbqConsumer,
    error: *mut c_char,
    error_size: usize,
) -> Status {
    // SAFETY: the caller's promise about the places for results.
    unsafe {
        build((producer, "producer"), (consumer, "consumer"), (error, error_size), || {
            with_wait!(wait, W => {
                let (tx, rx) = mpmc::with_wait(blocks, entries, W::default())?;
                Ok((BbqProducer(Box::new(tx)), BbqConsumer(Box::new(rx))))
            })
        })
    }
}

/// As `thalweg_bbq_new`, but for one consumer, whose pops are cheaper then.
///
/// It is the handle of `thalweg_spsc_*`, which one thread at a time uses and which has no clone. The producers are as ever, but never BUSY:
/// what they push, NULL too, is what it pops.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_bbq_new_mpsc(
    blocks: usize,
    entries: usize,
    wait: u32,
    producer: *mut *mut BbqProducer,
    consumer: *mut *mut SpscConsumer,
    error: *mut c_char,
    error_size: usize,
) -> Status {
    // SAFETY: the caller's promise about the places for results.
    unsafe {
        build((producer, "producer"), (consumer, "consumer"), (error, error_size), || {
            with_wait!(wait, W => {
                let (tx, rx) = mpsc::with_wait(blocks, entries, W::default())?;
                Ok((BbqProducer(Box::new(tx)), SpscConsumer(Box::new(rx))))
            })
        })
    }
}

/// As `thalweg_bbq_new`, but for one producer, whose pushes are cheaper then.
///
/// It is the handle of `thalweg_spsc_*`, which one thread at a time uses and which has no clone, and refuses NULL. The consumers are as
/// ever, but never BUSY.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_bbq_new_spmc(
    blocks: usize,
    entries: usize,
    wait: u32,
    producer: *mut *mut SpscProducer,
    consumer: *mut *mut BbqConsumer,
    error: *mut c_char,
    error_size: usize,
) -> Status {
    // SAFETY: the caller's promise about the places for results.
    unsafe {
        build((producer, "producer"), (consumer, "consumer"), (error, error_size), || {
            with_wait!(wait, W => {
                let (tx, rx) = spmc::with_wait(blocks, entries, W::default())?;
                Ok((SpscProducer(Box::new(tx)), BbqConsumer(Box::new(rx))))
            })
        })
    }
}

/// How many blocks a queue of `capacity` entries should have.
#[unsafe(no_mangle)]
pub extern "C" fn thalweg_bbq_blocks(capacity: usize) -> usize {
    mpmc::heuristic_blocks(capacity)
}

/// Another writing end of the same queue, for the caller to free. The queue closes when the last one is freed. NULL for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_bbq_producer_clone(producer: *const BbqProducer) -> *mut BbqProducer {
    // SAFETY: H1, H2.
    unsafe { producer.as_ref() }.map_or(std::ptr::null_mut(), |producer| hand_out(BbqProducer(producer.0.another())))
}

/// Pushes `item`, which may be NULL, now, or answers FULL, BUSY or CLOSED. Never waits.
///
/// With OK the item is the consumers'; else it is still the caller's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_bbq_try_push(producer: *const BbqProducer, item: *mut c_void) -> Status {
    // SAFETY: H1, H2.
    match unsafe { producer.as_ref() } {
        Some(producer) => producer.0.try_push(Item::new(item)),
        None => Status::Invalid,
    }
}

/// Pushes `item`, waiting while the queue is full. OK, or CLOSED when every consumer is gone.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_bbq_push(producer: *const BbqProducer, item: *mut c_void) -> Status {
    // SAFETY: H1, H2.
    match unsafe { producer.as_ref() } {
        Some(producer) => producer.0.push(Item::new(item)),
        None => Status::Invalid,
    }
}

/// As `thalweg_bbq_push`, but answers TIMEOUT after `nanoseconds`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_bbq_push_timeout(
    producer: *const BbqProducer,
    item: *mut c_void,
    nanoseconds: u64,
) -> Status {
    // SAFETY: H1, H2.
    match unsafe { producer.as_ref() } {
        Some(producer) => producer.0.push_timeout(Item::new(item), Duration::from_nanos(nanoseconds)),
        None => Status::Invalid,
    }
}

/// Pushes as many of `count` pointers at `items` as there is room for, from the first on, and writes how many to `pushed`.
///
/// OK: at least one, unless `count` is 0. Otherwise none, and `pushed` gets 0: FULL, BUSY or CLOSED.
///
/// Those of one block stand one behind the other in the queue; between blocks others may come in.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_bbq_try_push_many(
    producer: *const BbqProducer,
    items: *const *mut c_void,
    count: usize,
    pushed: *mut usize,
) -> Status {
    // SAFETY: H1 to H3.
    let (producer, items) = unsafe { (producer.as_ref(), entries(items.cast::<Item>(), count)) };
    // SAFETY: H3.
    unsafe {
        counted(pushed, || match (producer, items) {
            (Some(producer), Some(items)) => producer.0.try_push_many(items),
            _ => Err(Status::Invalid),
        })
    }
}

/// Pushes the `count` pointers at `items`, from the first on, waiting while the queue is full, and writes how many to `pushed`.
///
/// OK: all of them. Otherwise the rest is still the caller's: CLOSED when every consumer is gone.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_bbq_push_many(
    producer: *const BbqProducer,
    items: *const *mut c_void,
    count: usize,
    pushed: *mut usize,
) -> Status {
    // SAFETY: H1 to H3.
    let (producer, items) = unsafe { (producer.as_ref(), entries(items.cast::<Item>(), count)) };
    // SAFETY: H3.
    unsafe {
        counted_anyway(pushed, || match (producer, items) {
            (Some(producer), Some(items)) => producer.0.push_many(items, None),
            _ => (0, Status::Invalid),
        })
    }
}

/// As `thalweg_bbq_push_many`, but answers TIMEOUT after `nanoseconds` if some are left.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_bbq_push_many_timeout(
    producer: *const BbqProducer,
    items: *const *mut c_void,
    count: usize,
    pushed: *mut usize,
    nanoseconds: u64,
) -> Status {
    // SAFETY: H1 to H3.
    let (producer, items) = unsafe { (producer.as_ref(), entries(items.cast::<Item>(), count)) };
    // SAFETY: H3.
    unsafe {
        counted_anyway(pushed, || match (producer, items) {
            (Some(producer), Some(items)) => producer.0.push_many(items, Some(Duration::from_nanos(nanoseconds))),
            _ => (0, Status::Invalid),
        })
    }
}

/// Whether every consumer is gone. Then it stays so. True for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_bbq_producer_is_closed(producer: *const BbqProducer) -> bool {
    // SAFETY: H1, H2.
    unsafe { producer.as_ref() }.is_none_or(|producer| producer.0.is_closed())
}

/// How many items are pushed and not popped, lately. Exact when nobody else uses the queue. 0 for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_bbq_producer_len(producer: *const BbqProducer) -> usize {
    // SAFETY: H1, H2.
    unsafe { producer.as_ref() }.map_or(0, |producer| producer.0.len())
}

/// How many entries all blocks have. As few as `capacity - entries + 1` items may fill the queue, as blocks are reused whole.
/// 0 for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_bbq_producer_capacity(producer: *const BbqProducer) -> usize {
    // SAFETY: H1, H2.
    unsafe { producer.as_ref() }.map_or(0, |producer| producer.0.capacity())
}

/// Frees a writing end. The last one closes the queue: consumers pop what is left and then get CLOSED. Nothing for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_bbq_producer_free(producer: *mut BbqProducer) {
    // SAFETY: H1: made by `build` or a clone, and freed once.
    unsafe { free(producer) }
}

/// Another reading end of the same queue, for the caller to free. NULL for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_bbq_consumer_clone(consumer: *const BbqConsumer) -> *mut BbqConsumer {
    // SAFETY: H1, H2.
    unsafe { consumer.as_ref() }.map_or(std::ptr::null_mut(), |consumer| hand_out(BbqConsumer(consumer.0.another())))
}

/// Pops the oldest item into `item` now, or answers EMPTY, BUSY or CLOSED. Never waits.
///
/// With OK the item is the caller's; else `item` is not written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_bbq_try_pop(consumer: *const BbqConsumer, item: *mut *mut c_void) -> Status {
    // SAFETY: H1, H2.
    let Some(consumer) = (unsafe { consumer.as_ref() }) else { return Status::Invalid };
    // SAFETY: H3.
    unsafe { into_place(item, || consumer.0.try_pop()) }
}

/// Pops the oldest item into `item`, waiting while the queue is empty. OK, or CLOSED when every producer is gone and nothing is left.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_bbq_pop(consumer: *const BbqConsumer, item: *mut *mut c_void) -> Status {
    // SAFETY: H1, H2.
    let Some(consumer) = (unsafe { consumer.as_ref() }) else { return Status::Invalid };
    // SAFETY: H3.
    unsafe { into_place(item, || consumer.0.pop()) }
}

/// As `thalweg_bbq_pop`, but answers TIMEOUT after `nanoseconds`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_bbq_pop_timeout(
    consumer: *const BbqConsumer,
    item: *mut *mut c_void,
    nanoseconds: u64,
) -> Status {
    // SAFETY: H1, H2.
    let Some(consumer) = (unsafe { consumer.as_ref() }) else { return Status::Invalid };
    // SAFETY: H3.
    unsafe { into_place(item, || consumer.0.pop_timeout(Duration::from_nanos(nanoseconds))) }
}

/// Pops what is there, up to `count` items, the oldest first, to `items`, and writes how many to `popped`.
///
/// OK: at least one, unless `count` is 0. Otherwise none, and `popped` gets 0: EMPTY, BUSY or CLOSED.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_bbq_try_pop_many(
    consumer: *const BbqConsumer,
    items: *mut *mut c_void,
    count: usize,
    popped: *mut usize,
) -> Status {
    // SAFETY: H1 to H3.
    let (consumer, items) = unsafe { (consumer.as_ref(), places(items.cast::<Item>(), count)) };
    // SAFETY: H3.
    unsafe {
        counted(popped, || match (consumer, items) {
            (Some(consumer), Some(items)) => consumer.0.try_pop_many(items),
            _ => Err(Status::Invalid),
        })
    }
}

/// As `thalweg_bbq_try_pop_many`, waiting for the first item while the queue is empty. OK, or CLOSED when every producer is gone and
/// nothing is left.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_bbq_pop_many(
    consumer: *const BbqConsumer,
    items: *mut *mut c_void,
    count: usize,
    popped: *mut usize,
) -> Status {
    // SAFETY: H1 to H3.
    let (consumer, items) = unsafe { (consumer.as_ref(), places(items.cast::<Item>(), count)) };
    // SAFETY: H3.
    unsafe {
        counted(popped, || match (consumer, items) {
            (Some(consumer), Some(items)) => consumer.0.pop_many(items, None),
            _ => Err(Status::Invalid),
        })
    }
}

/// As `thalweg_bbq_pop_many`, but answers TIMEOUT after `nanoseconds` without an item.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_bbq_pop_many_timeout(
    consumer: *const BbqConsumer,
    items: *mut *mut c_void,
    count: usize,
    popped: *mut usize,
    nanoseconds: u64,
) -> Status {
    // SAFETY: H1 to H3.
    let (consumer, items) = unsafe { (consumer.as_ref(), places(items.cast::<Item>(), count)) };
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
pub unsafe extern "C" fn thalweg_bbq_consumer_is_closed(consumer: *const BbqConsumer) -> bool {
    // SAFETY: H1, H2.
    unsafe { consumer.as_ref() }.is_none_or(|consumer| consumer.0.is_closed())
}

/// How many items are pushed and not popped, lately. Exact when nobody else uses the queue. 0 for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_bbq_consumer_len(consumer: *const BbqConsumer) -> usize {
    // SAFETY: H1, H2.
    unsafe { consumer.as_ref() }.map_or(0, |consumer| consumer.0.len())
}

/// How many entries all blocks have. As few as `capacity - entries + 1` items may fill the queue, as blocks are reused whole.
/// 0 for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_bbq_consumer_capacity(consumer: *const BbqConsumer) -> usize {
    // SAFETY: H1, H2.
    unsafe { consumer.as_ref() }.map_or(0, |consumer| consumer.0.capacity())
}

/// Frees a reading end. With the last one the queue closes: pushes get CLOSED from then on, and what is in the queue is forgotten, not
/// freed. Free the producers first and pop until CLOSED if the items own something. Nothing for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_bbq_consumer_free(consumer: *mut BbqConsumer) {
    // SAFETY: H1: made by `build` or a clone, and freed once.
    unsafe { free(consumer) }
}
