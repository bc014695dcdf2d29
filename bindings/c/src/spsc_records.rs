//! One producer, one consumer, byte entries of one size: `thalweg_spsc_records_*`. An end of these is also the only one of its side in a
//! queue of [`records`](crate::records) that has many on the other.

use crate::border::{counted, counted_anyway, free, opaque};
use crate::build::{Refusal, build, with_wait};
use crate::copied::of_size;
use crate::end::Until;
use crate::entry::Record;
use crate::only_ends::{Reader, Writer};
use crate::status::Status;
use std::ffi::{c_char, c_void};
use std::time::Duration;
use thalweg_queue::wait::Wait;
use thalweg_queue::{spsc, spsc::fast_forward};

/// The only writing end of a queue of byte entries: for one consumer, or many. One thread at a time uses it; it may move between
/// threads.
pub struct SpscRecordsProducer {
    writer: Box<dyn Writer>,
    /// How many of the next entries are reserved: none after anything else was pushed.
    reserved: usize,
}

/// The only reading end of a queue of byte entries: for one producer, or many. One thread at a time uses it; it may move between
/// threads.
pub struct SpscRecordsConsumer {
    reader: Box<dyn Reader>,
    /// How many of the oldest entries are being read: none after anything else was popped.
    reading: usize,
}

opaque!(SpscRecordsProducer, SpscRecordsConsumer);

impl SpscRecordsProducer {
    pub(crate) fn new(writer: impl Writer + 'static) -> Self {
        Self { writer: Box::new(writer), reserved: 0 }
    }

    /// The end, to push with: what was reserved is not any more.
    fn pushing(&mut self) -> &mut dyn Writer {
        self.reserved = 0;
        &mut *self.writer
    }

    /// Up to `count` of the next entries, and how many.
    fn reserve(&mut self, count: usize, until: Until) -> Result<(*mut c_void, usize), Status> {
        let (entries, reserved) = self.pushing().reserve(count, until)?;
        self.reserved = reserved;
        Ok((entries, reserved))
    }

    /// Pushes the first `count` of those that are reserved, and the others are not any more.
    fn commit(&mut self, count: usize) -> Status {
        if count > self.reserved {
            return Status::Invalid;
        }
        self.pushing().commit(count).into()
    }
}

impl SpscRecordsConsumer {
    pub(crate) fn new(reader: impl Reader + 'static) -> Self {
        Self { reader: Box::new(reader), reading: 0 }
    }

    /// The end, to pop with: what was being read is not any more.
    fn popping(&mut self) -> &mut dyn Reader {
        self.reading = 0;
        &mut *self.reader
    }

    /// Up to `count` of the oldest entries, and how many.
    fn read(&mut self, count: usize, until: Until) -> Result<(*mut c_void, usize), Status> {
        let (entries, reading) = self.popping().read(count, until)?;
        self.reading = reading;
        Ok((entries, reading))
    }

    /// Pops the first `count` of those that are being read; the others are in the queue, and not being read any more.
    fn release(&mut self, count: usize) -> Status {
        if count > self.reading {
            return Status::Invalid;
        }
        self.popping().release(count).into()
    }
}

fn in_slots<const SIZE: usize, W: Wait + 'static>(
    capacity: usize,
) -> Result<(SpscRecordsProducer, SpscRecordsConsumer), Refusal> {
    let (tx, rx) = fast_forward::in_place_with_wait::<Record<SIZE>, W>(capacity, W::default())?;
    Ok((SpscRecordsProducer::new(tx), SpscRecordsConsumer::new(rx)))
}

fn in_blocks<const SIZE: usize, W: Wait + 'static>(
    blocks: usize,
    entries: usize,
) -> Result<(SpscRecordsProducer, SpscRecordsConsumer), Refusal> {
    let (tx, rx) = spsc::with_wait::<Record<SIZE>, W>(blocks, entries, W::default())?;
    Ok((SpscRecordsProducer::new(tx), SpscRecordsConsumer::new(rx)))
}

/// A queue for `capacity` entries of `entry_size` bytes each, one producer and one consumer: FastForward, with the entries in its
/// slots.
///
/// Entries are copied in and out and may stand at any address. `entry_size` is a power of two from 1 to 256: round up, or send
/// pointers to what is larger. At least `capacity` entries fit, and up to 16 more; up to 32 where a pointer has 4 bytes. `wait` is a
/// `thalweg_wait`. OK: the caller owns both handles and frees each. INVALID: nothing is written but the reason, to `error`, a buffer of
/// `error_size` bytes, which may be NULL.
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
    unsafe { producer.as_mut().map_or(Status::Invalid, |producer| producer.pushing().try_push(entry)) }
}

/// Copies the entry at `entry` into the queue, waiting while it is full. OK, or CLOSED when every consumer is gone.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_spsc_records_push(producer: *mut SpscRecordsProducer, entry: *const c_void) -> Status {
    // SAFETY: H1, H2, H3.
    unsafe { producer.as_mut().map_or(Status::Invalid, |producer| producer.pushing().push(entry, None)) }
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
            .map_or(Status::Invalid, |producer| producer.pushing().push(entry, Some(Duration::from_nanos(nanoseconds))))
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
    unsafe { counted(pushed, || producer.ok_or(Status::Invalid)?.pushing().try_push_many(from, count)) }
}

/// Copies the `count` entries at `from` into the queue, from the first on, waiting while it is full, and writes how many to `pushed`.
///
/// OK: all of them. CLOSED when every consumer is gone: the rest is not pushed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_spsc_records_push_many(
    producer: *mut SpscRecordsProducer,
    from: *const c_void,
    count: usize,
    pushed: *mut usize,
) -> Status {
    // SAFETY: H1, H2.
    let producer = unsafe { producer.as_mut() };
    // SAFETY: H3.
    unsafe {
        counted_anyway(pushed, || match producer {
            Some(producer) => producer.pushing().push_many(from, count, None),
            None => (0, Status::Invalid),
        })
    }
}

/// As `thalweg_spsc_records_push_many`, but answers TIMEOUT after `nanoseconds` if some are left.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_spsc_records_push_many_timeout(
    producer: *mut SpscRecordsProducer,
    from: *const c_void,
    count: usize,
    pushed: *mut usize,
    nanoseconds: u64,
) -> Status {
    // SAFETY: H1, H2.
    let producer = unsafe { producer.as_mut() };
    // SAFETY: H3.
    unsafe {
        counted_anyway(pushed, || match producer {
            Some(producer) => producer.pushing().push_many(from, count, Some(Duration::from_nanos(nanoseconds))),
            None => (0, Status::Invalid),
        })
    }
}

/// Reserves up to `count` entries, at least one, to be written in place, or answers as `thalweg_spsc_records_try_push`. OK: `entries` gets
/// where they are, `granted` how many; else nothing is written. Never waits.
///
/// A queue of `thalweg_spsc_records_new` grants one at a time, others what lies in one block. They are the caller's until they are
/// committed, or something else is pushed or reserved; nothing is in the queue before the commit.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_spsc_records_try_reserve(
    producer: *mut SpscRecordsProducer,
    count: usize,
    entries: *mut *mut c_void,
    granted: *mut usize,
) -> Status {
    // SAFETY: H1, H2.
    let Some(producer) = (unsafe { producer.as_mut() }) else { return Status::Invalid };
    // SAFETY: H3.
    unsafe { opened(entries, granted, || producer.reserve(count, Until::Now)) }
}

/// As `thalweg_spsc_records_try_reserve`, waiting while the queue is full. OK, or CLOSED when every consumer is gone.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_spsc_records_reserve(
    producer: *mut SpscRecordsProducer,
    count: usize,
    entries: *mut *mut c_void,
    granted: *mut usize,
) -> Status {
    // SAFETY: H1, H2.
    let Some(producer) = (unsafe { producer.as_mut() }) else { return Status::Invalid };
    // SAFETY: H3.
    unsafe { opened(entries, granted, || producer.reserve(count, Until::Closed)) }
}

/// As `thalweg_spsc_records_reserve`, but answers TIMEOUT after `nanoseconds`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_spsc_records_reserve_timeout(
    producer: *mut SpscRecordsProducer,
    count: usize,
    entries: *mut *mut c_void,
    granted: *mut usize,
    nanoseconds: u64,
) -> Status {
    // SAFETY: H1, H2.
    let Some(producer) = (unsafe { producer.as_mut() }) else { return Status::Invalid };
    // SAFETY: H3.
    unsafe { opened(entries, granted, || producer.reserve(count, Until::after(nanoseconds))) }
}

/// Pushes the first `count` of the entries that are reserved, which are written; the others are free again. OK, or CLOSED when every
/// consumer is gone: then none is pushed, and none is reserved any more. INVALID if there are not so many: then they are reserved still.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_spsc_records_commit(producer: *mut SpscRecordsProducer, count: usize) -> Status {
    // SAFETY: H1, H2.
    unsafe { producer.as_mut() }.map_or(Status::Invalid, |producer| producer.commit(count))
}

/// # Safety
///
/// `entries` and `count` are null or valid for a write.
unsafe fn opened(
    entries: *mut *mut c_void,
    count: *mut usize,
    open: impl FnOnce() -> Result<(*mut c_void, usize), Status>,
) -> Status {
    if entries.is_null() || count.is_null() {
        return Status::Invalid;
    }
    match open() {
        Ok((memory, granted)) => {
            // SAFETY: not null, and so valid by the caller's promise.
            unsafe {
                entries.write(memory);
                count.write(granted);
            }
            Status::Ok
        }
        Err(refused) => refused,
    }
}

/// How many bytes an entry has. 0 for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_spsc_records_producer_entry_size(producer: *const SpscRecordsProducer) -> usize {
    // SAFETY: H1, H2.
    unsafe { producer.as_ref() }.map_or(0, |producer| producer.writer.entry_size())
}

/// Whether every consumer is gone. Then it stays so. True for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_spsc_records_producer_is_closed(producer: *const SpscRecordsProducer) -> bool {
    // SAFETY: H1, H2.
    unsafe { producer.as_ref() }.is_none_or(|producer| producer.writer.is_closed())
}

/// How many entries fit for certain; of a queue of blocks, how many entries all blocks have, of which as few as `capacity - entries + 1`
/// may fill it, as blocks are given back whole. 0 for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_spsc_records_producer_capacity(producer: *const SpscRecordsProducer) -> usize {
    // SAFETY: H1, H2.
    unsafe { producer.as_ref() }.map_or(0, |producer| producer.writer.capacity())
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
    unsafe { consumer.as_mut().map_or(Status::Invalid, |consumer| consumer.popping().try_pop(entry)) }
}

/// Copies the oldest entry to `entry` and takes it from the queue, waiting while it is empty. OK, or CLOSED when every producer is
/// gone and nothing is left.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_spsc_records_pop(consumer: *mut SpscRecordsConsumer, entry: *mut c_void) -> Status {
    // SAFETY: H1, H2, H3.
    unsafe { consumer.as_mut().map_or(Status::Invalid, |consumer| consumer.popping().pop(entry, None)) }
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
            .map_or(Status::Invalid, |consumer| consumer.popping().pop(entry, Some(Duration::from_nanos(nanoseconds))))
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
    unsafe { counted(popped, || consumer.ok_or(Status::Invalid)?.popping().try_pop_many(to, count)) }
}

/// As `thalweg_spsc_records_try_pop_many`, waiting for the first entry while the queue is empty. OK, or CLOSED when every producer is
/// gone and nothing is left.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_spsc_records_pop_many(
    consumer: *mut SpscRecordsConsumer,
    to: *mut c_void,
    count: usize,
    popped: *mut usize,
) -> Status {
    // SAFETY: H1, H2.
    let consumer = unsafe { consumer.as_mut() };
    // SAFETY: H3.
    unsafe { counted(popped, || consumer.ok_or(Status::Invalid)?.popping().pop_many(to, count, None)) }
}

/// As `thalweg_spsc_records_pop_many`, but answers TIMEOUT after `nanoseconds` without an entry.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_spsc_records_pop_many_timeout(
    consumer: *mut SpscRecordsConsumer,
    to: *mut c_void,
    count: usize,
    popped: *mut usize,
    nanoseconds: u64,
) -> Status {
    // SAFETY: H1, H2.
    let consumer = unsafe { consumer.as_mut() };
    // SAFETY: H3.
    unsafe {
        counted(popped, || {
            consumer.ok_or(Status::Invalid)?.popping().pop_many(to, count, Some(Duration::from_nanos(nanoseconds)))
        })
    }
}

/// Gives up to `count` entries, at least one, the oldest first, to be read in place, or answers as `thalweg_spsc_records_try_pop`. OK:
/// `entries` gets where they are, `granted` how many; else nothing is written. Never waits.
///
/// A queue of `thalweg_spsc_records_new` grants one at a time, others what lies in one block. They stay in the queue, and are the
/// caller's, until they are released, or something else is popped or read.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_spsc_records_try_read(
    consumer: *mut SpscRecordsConsumer,
    count: usize,
    entries: *mut *mut c_void,
    granted: *mut usize,
) -> Status {
    // SAFETY: H1, H2.
    let Some(consumer) = (unsafe { consumer.as_mut() }) else { return Status::Invalid };
    // SAFETY: H3.
    unsafe { opened(entries, granted, || consumer.read(count, Until::Now)) }
}

/// As `thalweg_spsc_records_try_read`, waiting while the queue is empty. OK, or CLOSED when every producer is gone and nothing is left.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_spsc_records_read(
    consumer: *mut SpscRecordsConsumer,
    count: usize,
    entries: *mut *mut c_void,
    granted: *mut usize,
) -> Status {
    // SAFETY: H1, H2.
    let Some(consumer) = (unsafe { consumer.as_mut() }) else { return Status::Invalid };
    // SAFETY: H3.
    unsafe { opened(entries, granted, || consumer.read(count, Until::Closed)) }
}

/// As `thalweg_spsc_records_read`, but answers TIMEOUT after `nanoseconds`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_spsc_records_read_timeout(
    consumer: *mut SpscRecordsConsumer,
    count: usize,
    entries: *mut *mut c_void,
    granted: *mut usize,
    nanoseconds: u64,
) -> Status {
    // SAFETY: H1, H2.
    let Some(consumer) = (unsafe { consumer.as_mut() }) else { return Status::Invalid };
    // SAFETY: H3.
    unsafe { opened(entries, granted, || consumer.read(count, Until::after(nanoseconds))) }
}

/// Takes the first `count` of the entries that are being read from the queue; the others are the next to be popped. OK, or INVALID if
/// there are not so many: then they are being read still.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_spsc_records_release(consumer: *mut SpscRecordsConsumer, count: usize) -> Status {
    // SAFETY: H1, H2.
    unsafe { consumer.as_mut() }.map_or(Status::Invalid, |consumer| consumer.release(count))
}

/// How many bytes an entry has. 0 for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_spsc_records_consumer_entry_size(consumer: *const SpscRecordsConsumer) -> usize {
    // SAFETY: H1, H2.
    unsafe { consumer.as_ref() }.map_or(0, |consumer| consumer.reader.entry_size())
}

/// Whether every producer is gone. Then it stays so; entries may still be left. True for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_spsc_records_consumer_is_closed(consumer: *const SpscRecordsConsumer) -> bool {
    // SAFETY: H1, H2.
    unsafe { consumer.as_ref() }.is_none_or(|consumer| consumer.reader.is_closed())
}

/// How many entries are pushed and not popped: at least so many, as pushes go on. 0 for NULL.
///
/// Looks at each of them, or at a line of each block: for a report, not for each pop. The writing end does not know.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_spsc_records_consumer_len(consumer: *const SpscRecordsConsumer) -> usize {
    // SAFETY: H1, H2.
    unsafe { consumer.as_ref() }.map_or(0, |consumer| consumer.reader.len())
}

/// How many entries fit for certain; of a queue of blocks, how many entries all blocks have, of which as few as `capacity - entries + 1`
/// may fill it, as blocks are given back whole. 0 for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_spsc_records_consumer_capacity(consumer: *const SpscRecordsConsumer) -> usize {
    // SAFETY: H1, H2.
    unsafe { consumer.as_ref() }.map_or(0, |consumer| consumer.reader.capacity())
}

/// Frees the reading end, which closes the queue: pushes get CLOSED from then on, and what is in the queue is discarded. Nothing for
/// NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_spsc_records_consumer_free(consumer: *mut SpscRecordsConsumer) {
    // SAFETY: H1: made by `build`, and freed once.
    unsafe { free(consumer) }
}
