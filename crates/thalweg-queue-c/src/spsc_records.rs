//! One producer, one consumer, byte entries of one size: `thalweg_spsc_records_*`. An end of these is also the only one of its side in a
//! queue of [`records`](crate::records) that has many on the other.

use crate::border::{counted, free, opaque};
use crate::build::{Refusal, build, with_wait};
use crate::copied::{self, of_size};
use crate::end::Len;
use crate::entry::{AnyBytes, Entry, Record};
use crate::status::Status;
use std::ffi::{c_char, c_void};
use std::time::Duration;
use thalweg_queue::wait::Wait;
use thalweg_queue::{Pop, Push, bbq, fast_forward};

/// The only writing end of a queue of byte entries: for one consumer, or many. One thread at a time uses it; it may move between
/// threads.
pub struct SpscRecordsProducer(pub(crate) Box<dyn Writer>);

/// The only reading end of a queue of byte entries: for one producer, or many. One thread at a time uses it; it may move between
/// threads.
pub struct SpscRecordsConsumer(pub(crate) Box<dyn Reader>);

opaque!(SpscRecordsProducer, SpscRecordsConsumer);

/// A writing end for entries of any size.
pub(crate) trait Writer: Send {
    /// # Safety
    ///
    /// H3, for one entry.
    unsafe fn try_push(&mut self, entry: *const c_void) -> Status;

    /// # Safety
    ///
    /// H3, for one entry.
    unsafe fn push(&mut self, entry: *const c_void, timeout: Option<Duration>) -> Status;

    /// # Safety
    ///
    /// H3, for `count` entries.
    unsafe fn try_push_many(&mut self, from: *const c_void, count: usize) -> Result<usize, Status>;

    fn entry_size(&self) -> usize;
    fn is_closed(&self) -> bool;
    fn capacity(&self) -> usize;
}

impl<E: Entry, P: Push<Item = E> + Send> Writer for P {
    unsafe fn try_push(&mut self, entry: *const c_void) -> Status {
        // SAFETY: by the caller's promise.
        unsafe { copied::try_push::<E>(self, entry) }
    }

    unsafe fn push(&mut self, entry: *const c_void, timeout: Option<Duration>) -> Status {
        // SAFETY: by the caller's promise.
        unsafe { copied::push::<E>(self, entry, timeout) }
    }

    unsafe fn try_push_many(&mut self, from: *const c_void, count: usize) -> Result<usize, Status> {
        // SAFETY: by the caller's promise.
        unsafe { copied::try_push_many::<E>(self, from, count) }
    }

    fn entry_size(&self) -> usize {
        size_of::<E>()
    }

    fn is_closed(&self) -> bool {
        Push::is_closed(self)
    }

    fn capacity(&self) -> usize {
        Push::capacity(self)
    }
}

/// A reading end for entries of any size.
pub(crate) trait Reader: Send {
    /// # Safety
    ///
    /// H3, for one entry.
    unsafe fn try_pop(&mut self, entry: *mut c_void) -> Status;

    /// # Safety
    ///
    /// H3, for one entry.
    unsafe fn pop(&mut self, entry: *mut c_void, timeout: Option<Duration>) -> Status;

    /// # Safety
    ///
    /// H3, for `count` entries.
    unsafe fn try_pop_many(&mut self, to: *mut c_void, count: usize) -> Result<usize, Status>;

    fn entry_size(&self) -> usize;
    fn is_closed(&self) -> bool;
    fn capacity(&self) -> usize;
    fn len(&self) -> usize;
}

impl<E: AnyBytes, P: Pop<Item = E> + Len + Send> Reader for P {
    unsafe fn try_pop(&mut self, entry: *mut c_void) -> Status {
        // SAFETY: by the caller's promise.
        unsafe { copied::try_pop::<E>(self, entry) }
    }

    unsafe fn pop(&mut self, entry: *mut c_void, timeout: Option<Duration>) -> Status {
        // SAFETY: by the caller's promise.
        unsafe { copied::pop::<E>(self, entry, timeout) }
    }

    unsafe fn try_pop_many(&mut self, to: *mut c_void, count: usize) -> Result<usize, Status> {
        // SAFETY: by the caller's promise.
        unsafe { copied::try_pop_many::<E>(self, to, count) }
    }

    fn entry_size(&self) -> usize {
        size_of::<E>()
    }

    fn is_closed(&self) -> bool {
        Pop::is_closed(self)
    }

    fn capacity(&self) -> usize {
        Pop::capacity(self)
    }

    fn len(&self) -> usize {
        Len::len(self)
    }
}

fn in_slots<const SIZE: usize, W: Wait + 'static>(
    capacity: usize,
) -> Result<(SpscRecordsProducer, SpscRecordsConsumer), Refusal> {
    let (tx, rx) = fast_forward::in_place_with_wait::<Record<SIZE>, W>(capacity, W::default())?;
    Ok((SpscRecordsProducer(Box::new(tx)), SpscRecordsConsumer(Box::new(rx))))
}

fn in_blocks<const SIZE: usize, W: Wait + 'static>(
    blocks: usize,
    entries: usize,
) -> Result<(SpscRecordsProducer, SpscRecordsConsumer), Refusal> {
    let (tx, rx) = bbq::spsc::with_wait::<Record<SIZE>, W>(blocks, entries, W::default())?;
    Ok((SpscRecordsProducer(Box::new(tx)), SpscRecordsConsumer(Box::new(rx))))
}

/// A queue for `capacity` entries of `entry_size` bytes each, one producer and one consumer: FastForward, with the entries in its
/// slots.
///
/// Entries are copied in and out and may stand at any address. `entry_size` is a power of two from 1 to 256: round up, or send
/// pointers to what is larger. At least `capacity` entries fit, and up to 32 more. `wait` is a `thalweg_wait`. OK: the caller owns
/// both handles and frees each. INVALID: nothing is written but the reason, to `error`, a buffer of `error_size` bytes, which may be
/// NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_spsc_records_new(
    entry_size: usize,
    capacity: usize,
    wait: u32,
    producer: *mut *mut SpscRecordsProducer,
    consumer: *mut *mut SpscRecordsConsumer,
    error: *mut c_char,
    error_size: usize,
) -> Status {
    // SAFETY: the caller's promise about the places for results.
    unsafe {
        build(
            (producer, "producer"),
            (consumer, "consumer"),
            (error, error_size),
            || with_wait!(wait, W => of_size!(entry_size, in_slots::<W>(capacity))),
        )
    }
}

/// A queue of `blocks` blocks with `entries` entries of `entry_size` bytes each, for one producer and one consumer: the block-based
/// queue, better for batches and for small entries. Same handles and functions as `thalweg_spsc_records_new`.
///
/// `blocks` is a power of two and at least 2, `entries` at least 1. Blocks are given back whole, so FULL means that at least
/// `(blocks - 1) * entries + 1` entries are in the queue.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_spsc_records_new_blocks(
    entry_size: usize,
    blocks: usize,
    entries: usize,
    wait: u32,
    producer: *mut *mut SpscRecordsProducer,
    consumer: *mut *mut SpscRecordsConsumer,
    error: *mut c_char,
    error_size: usize,
) -> Status {
    // SAFETY: the caller's promise about the places for results.
    unsafe {
        build(
            (producer, "producer"),
            (consumer, "consumer"),
            (error, error_size),
            || with_wait!(wait, W => of_size!(entry_size, in_blocks::<W>(blocks, entries))),
        )
    }
}

/// Copies the entry at `entry` into the queue now, or answers FULL, CLOSED, or BUSY where there are many consumers. Never waits.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_spsc_records_try_push(
    producer: *mut SpscRecordsProducer,
    entry: *const c_void,
) -> Status {
    // SAFETY: H1, H2, H3.
    unsafe { producer.as_mut().map_or(Status::Invalid, |producer| producer.0.try_push(entry)) }
}

/// Copies the entry at `entry` into the queue, waiting while it is full. OK, or CLOSED when every consumer is gone.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_spsc_records_push(producer: *mut SpscRecordsProducer, entry: *const c_void) -> Status {
    // SAFETY: H1, H2, H3.
    unsafe { producer.as_mut().map_or(Status::Invalid, |producer| producer.0.push(entry, None)) }
}

/// As `thalweg_spsc_records_push`, but answers TIMEOUT after `nanoseconds`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_spsc_records_push_timeout(
    producer: *mut SpscRecordsProducer,
    entry: *const c_void,
    nanoseconds: u64,
) -> Status {
    // SAFETY: H1, H2, H3.
    unsafe {
        producer
            .as_mut()
            .map_or(Status::Invalid, |producer| producer.0.push(entry, Some(Duration::from_nanos(nanoseconds))))
    }
}

/// Copies as many of the `count` entries at `from` as there is room for into the queue, from the first on, and writes how many to
/// `pushed`.
///
/// OK: at least one, unless `count` is 0. Otherwise none, and `pushed` gets 0: as `thalweg_spsc_records_try_push`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_spsc_records_try_push_many(
    producer: *mut SpscRecordsProducer,
    from: *const c_void,
    count: usize,
    pushed: *mut usize,
) -> Status {
    // SAFETY: H1, H2.
    let producer = unsafe { producer.as_mut() };
    // SAFETY: H3.
    unsafe { counted(pushed, || producer.ok_or(Status::Invalid)?.0.try_push_many(from, count)) }
}

/// How many bytes an entry has. 0 for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_spsc_records_producer_entry_size(producer: *const SpscRecordsProducer) -> usize {
    // SAFETY: H1, H2.
    unsafe { producer.as_ref() }.map_or(0, |producer| producer.0.entry_size())
}

/// Whether every consumer is gone. Then it stays so. True for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_spsc_records_producer_is_closed(producer: *const SpscRecordsProducer) -> bool {
    // SAFETY: H1, H2.
    unsafe { producer.as_ref() }.is_none_or(|producer| producer.0.is_closed())
}

/// How many entries fit for certain; of a queue of blocks, how many entries all blocks have, of which as few as `capacity - entries + 1`
/// may fill it, as blocks are given back whole. 0 for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_spsc_records_producer_capacity(producer: *const SpscRecordsProducer) -> usize {
    // SAFETY: H1, H2.
    unsafe { producer.as_ref() }.map_or(0, |producer| producer.0.capacity())
}

/// Frees the writing end, which closes the queue: consumers pop what is left and then get CLOSED. Nothing for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_spsc_records_producer_free(producer: *mut SpscRecordsProducer) {
    // SAFETY: H1: made by `build`, and freed once.
    unsafe { free(producer) }
}

/// Copies the oldest entry to `entry` and takes it from the queue now, or answers EMPTY, CLOSED, or BUSY where there are many
/// producers. Never waits.
///
/// `entry` is written only with OK.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_spsc_records_try_pop(
    consumer: *mut SpscRecordsConsumer,
    entry: *mut c_void,
) -> Status {
    // SAFETY: H1, H2, H3.
    unsafe { consumer.as_mut().map_or(Status::Invalid, |consumer| consumer.0.try_pop(entry)) }
}

/// Copies the oldest entry to `entry` and takes it from the queue, waiting while it is empty. OK, or CLOSED when every producer is
/// gone and nothing is left.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_spsc_records_pop(consumer: *mut SpscRecordsConsumer, entry: *mut c_void) -> Status {
    // SAFETY: H1, H2, H3.
    unsafe { consumer.as_mut().map_or(Status::Invalid, |consumer| consumer.0.pop(entry, None)) }
}

/// As `thalweg_spsc_records_pop`, but answers TIMEOUT after `nanoseconds`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_spsc_records_pop_timeout(
    consumer: *mut SpscRecordsConsumer,
    entry: *mut c_void,
    nanoseconds: u64,
) -> Status {
    // SAFETY: H1, H2, H3.
    unsafe {
        consumer
            .as_mut()
            .map_or(Status::Invalid, |consumer| consumer.0.pop(entry, Some(Duration::from_nanos(nanoseconds))))
    }
}

/// Copies what is there, up to `count` entries, the oldest first, to `to`, takes it from the queue, and writes how many to
/// `popped`.
///
/// OK: at least one, unless `count` is 0. Otherwise none, and `popped` gets 0: as `thalweg_spsc_records_try_pop`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_spsc_records_try_pop_many(
    consumer: *mut SpscRecordsConsumer,
    to: *mut c_void,
    count: usize,
    popped: *mut usize,
) -> Status {
    // SAFETY: H1, H2.
    let consumer = unsafe { consumer.as_mut() };
    // SAFETY: H3.
    unsafe { counted(popped, || consumer.ok_or(Status::Invalid)?.0.try_pop_many(to, count)) }
}

/// How many bytes an entry has. 0 for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_spsc_records_consumer_entry_size(consumer: *const SpscRecordsConsumer) -> usize {
    // SAFETY: H1, H2.
    unsafe { consumer.as_ref() }.map_or(0, |consumer| consumer.0.entry_size())
}

/// Whether every producer is gone. Then it stays so; entries may still be left. True for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_spsc_records_consumer_is_closed(consumer: *const SpscRecordsConsumer) -> bool {
    // SAFETY: H1, H2.
    unsafe { consumer.as_ref() }.is_none_or(|consumer| consumer.0.is_closed())
}

/// How many entries are pushed and not popped: at least so many, as pushes go on. 0 for NULL.
///
/// Looks at each of them, or at a line of each block: for a report, not for each pop. The writing end does not know.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_spsc_records_consumer_len(consumer: *const SpscRecordsConsumer) -> usize {
    // SAFETY: H1, H2.
    unsafe { consumer.as_ref() }.map_or(0, |consumer| consumer.0.len())
}

/// How many entries fit for certain; of a queue of blocks, how many entries all blocks have, of which as few as `capacity - entries + 1`
/// may fill it, as blocks are given back whole. 0 for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_spsc_records_consumer_capacity(consumer: *const SpscRecordsConsumer) -> usize {
    // SAFETY: H1, H2.
    unsafe { consumer.as_ref() }.map_or(0, |consumer| consumer.0.capacity())
}

/// Frees the reading end, which closes the queue: pushes get CLOSED from then on, and what is in the queue is discarded. Nothing for
/// NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_spsc_records_consumer_free(consumer: *mut SpscRecordsConsumer) {
    // SAFETY: H1: made by `build`, and freed once.
    unsafe { free(consumer) }
}
