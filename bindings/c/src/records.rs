//! Many producers, many consumers, or many of one and one of the other, byte entries of one size: `thalweg_records_*`.
//!
//! The queue is [`mpmc`]; in its retry-new mode, entries are written and read in place, too.

use crate::border::{counted, counted_anyway, free, hand_out, opaque};
use crate::build::{Refusal, build, with_wait};
use crate::copied::of_size;
use crate::end::Until;
use crate::entry::{Bytes, Record};
use crate::record_ends::{InPlace, SharedReader, SharedWriter};
use crate::spsc_records::{SpscRecordsConsumer, SpscRecordsProducer};
use crate::status::Status;
use std::ffi::{c_char, c_void};
use std::time::Duration;
use thalweg_queue::bytes::RawGrant;
use thalweg_queue::wait;
use thalweg_queue::{mpmc, mpsc, overwriting, spmc};

/// A writing end of a queue of byte entries. Shared: any number of threads may use it at the same time.
pub struct RecordsProducer(Box<dyn SharedWriter>);

/// A reading end of a queue of byte entries. Shared: any number of threads may use it at the same time.
pub struct RecordsConsumer(Box<dyn SharedReader>);

opaque!(RecordsProducer, RecordsConsumer);

/// Entries that are being written or read in place. To be ended once, with the handle that gave it or a clone of that; what is in it
/// concerns nobody else.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordsGrant {
    place: u64,
    pub(crate) count: usize,
}

impl From<RawGrant> for RecordsGrant {
    fn from(raw: RawGrant) -> Self {
        let (place, count) = raw.into();
        Self { place, count }
    }
}

impl From<RecordsGrant> for RawGrant {
    fn from(grant: RecordsGrant) -> Self {
        (grant.place, grant.count).into()
    }
}

/// Both ends of a queue, as it is for many of either.
type Ends<P = RecordsProducer, C = RecordsConsumer> = Result<(P, C), Refusal>;

fn retry_new<const SIZE: usize, W: wait::Wait + 'static>(blocks: usize, entries: usize) -> Ends {
    let (tx, rx) = mpmc::with_wait::<Record<SIZE>, W>(blocks, entries, W::default())?;
    Ok((RecordsProducer(Box::new(tx)), RecordsConsumer(Box::new(rx))))
}

fn one_consumer<const SIZE: usize, W: wait::Wait + 'static>(
    blocks: usize,
    entries: usize,
) -> Ends<RecordsProducer, SpscRecordsConsumer> {
    let (tx, rx) = mpsc::with_wait::<Record<SIZE>, W>(blocks, entries, W::default())?;
    Ok((RecordsProducer(Box::new(tx)), SpscRecordsConsumer::new(rx)))
}

fn one_producer<const SIZE: usize, W: wait::Wait + 'static>(
    blocks: usize,
    entries: usize,
) -> Ends<SpscRecordsProducer, RecordsConsumer> {
    let (tx, rx) = spmc::with_wait::<Record<SIZE>, W>(blocks, entries, W::default())?;
    Ok((SpscRecordsProducer::new(tx), RecordsConsumer(Box::new(rx))))
}

fn overwriting<const SIZE: usize, W: wait::Wait + 'static>(blocks: usize, entries: usize) -> Ends {
    let (tx, rx) = overwriting::with_wait::<Bytes<SIZE>, W>(blocks, entries, W::default())?;
    Ok((RecordsProducer(Box::new(tx)), RecordsConsumer(Box::new(rx))))
}

/// A queue of `blocks` blocks with `entries` entries of `entry_size` bytes each, for any number of producers and consumers: the
/// block-based bounded queue in retry-new mode.
///
/// Entries are copied in and out and may stand at any address. `entry_size` is a power of two from 1 to 256: round up, or send
/// pointers to what is larger. `blocks` is a power of two and at least 2, `entries` at least 1; `thalweg_bbq_blocks` has a good number
/// for a capacity. `wait` is a `thalweg_wait`. OK: the caller owns both handles and frees each. INVALID: nothing is written but the
/// reason, to `error`, a buffer of `error_size` bytes, which may be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_records_new(
    entry_size: usize,
    blocks: usize,
    entries: usize,
    wait: u32,
    producer: *mut *mut RecordsProducer,
    consumer: *mut *mut RecordsConsumer,
    error: *mut c_char,
    error_size: usize,
) -> Status {
    // SAFETY: the caller's promise about the places for results.
    unsafe {
        build(
            (producer, "producer"),
            (consumer, "consumer"),
            (error, error_size),
            || with_wait!(wait, W => of_size!(entry_size, retry_new::<W>(blocks, entries))),
        )
    }
}

/// As `thalweg_records_new`, but for one consumer, whose pops are cheaper then.
///
/// It is the handle of `thalweg_spsc_records_*`, which one thread at a time uses and which has no clone. The producers are as ever, but
/// never BUSY.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_records_new_mpsc(
    entry_size: usize,
    blocks: usize,
    entries: usize,
    wait: u32,
    producer: *mut *mut RecordsProducer,
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
            || with_wait!(wait, W => of_size!(entry_size, one_consumer::<W>(blocks, entries))),
        )
    }
}

/// As `thalweg_records_new`, but for one producer, whose pushes are cheaper then.
///
/// It is the handle of `thalweg_spsc_records_*`, which one thread at a time uses and which has no clone. The consumers are as ever, but
/// never BUSY.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_records_new_spmc(
    entry_size: usize,
    blocks: usize,
    entries: usize,
    wait: u32,
    producer: *mut *mut SpscRecordsProducer,
    consumer: *mut *mut RecordsConsumer,
    error: *mut c_char,
    error_size: usize,
) -> Status {
    // SAFETY: the caller's promise about the places for results.
    unsafe {
        build(
            (producer, "producer"),
            (consumer, "consumer"),
            (error, error_size),
            || with_wait!(wait, W => of_size!(entry_size, one_producer::<W>(blocks, entries))),
        )
    }
}

/// As `thalweg_records_new`, in drop-old mode: a push overwrites the oldest block instead of answering FULL, and what was overwritten is
/// passed over and counted.
///
/// For traces and samples. The newest `(blocks - 1) * entries` entries are kept. A push answers BUSY while another one, begun a whole
/// round ago, is half-way. Every byte of an entry has to be written, its padding too. What waits waits for that, and for entries to pop.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_records_new_drop_old(
    entry_size: usize,
    blocks: usize,
    entries: usize,
    wait: u32,
    producer: *mut *mut RecordsProducer,
    consumer: *mut *mut RecordsConsumer,
    error: *mut c_char,
    error_size: usize,
) -> Status {
    // SAFETY: the caller's promise about the places for results.
    unsafe {
        build(
            (producer, "producer"),
            (consumer, "consumer"),
            (error, error_size),
            || with_wait!(wait, W => of_size!(entry_size, overwriting::<W>(blocks, entries))),
        )
    }
}

/// Another writing end of the same queue, for the caller to free. The queue closes when the last one is freed. NULL for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_records_producer_clone(producer: *const RecordsProducer) -> *mut RecordsProducer {
    // SAFETY: H1, H2.
    unsafe { producer.as_ref() }
        .map_or(std::ptr::null_mut(), |producer| hand_out(RecordsProducer(producer.0.another())))
}

/// Copies the entry at `entry` into the queue now, or answers FULL, BUSY or CLOSED. Never waits.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_records_try_push(producer: *const RecordsProducer, entry: *const c_void) -> Status {
    // SAFETY: H1, H2, H3.
    unsafe { producer.as_ref().map_or(Status::Invalid, |producer| producer.0.try_push(entry)) }
}

/// Copies the entry at `entry` into the queue, waiting while it is full. OK, or CLOSED when every consumer is gone.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_records_push(producer: *const RecordsProducer, entry: *const c_void) -> Status {
    // SAFETY: H1, H2, H3.
    unsafe { producer.as_ref().map_or(Status::Invalid, |producer| producer.0.push(entry, None)) }
}

/// As `thalweg_records_push`, but answers TIMEOUT after `nanoseconds`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_records_push_timeout(
    producer: *const RecordsProducer,
    entry: *const c_void,
    nanoseconds: u64,
) -> Status {
    // SAFETY: H1, H2, H3.
    unsafe {
        producer
            .as_ref()
            .map_or(Status::Invalid, |producer| producer.0.push(entry, Some(Duration::from_nanos(nanoseconds))))
    }
}

/// Copies as many of the `count` entries at `from` as there is room for into the queue, from the first on, and writes how many to
/// `pushed`.
///
/// OK: at least one, unless `count` is 0. Otherwise none, and `pushed` gets 0: FULL, BUSY or CLOSED. Those of one block stand one
/// behind the other in the queue; between blocks others may come in.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_records_try_push_many(
    producer: *const RecordsProducer,
    from: *const c_void,
    count: usize,
    pushed: *mut usize,
) -> Status {
    // SAFETY: H1, H2.
    let producer = unsafe { producer.as_ref() };
    // SAFETY: H3.
    unsafe { counted(pushed, || producer.ok_or(Status::Invalid)?.0.try_push_many(from, count)) }
}

/// Copies the `count` entries at `from` into the queue, from the first on, waiting while it is full, and writes how many to `pushed`.
///
/// OK: all of them. CLOSED when every consumer is gone: the rest is not pushed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_records_push_many(
    producer: *const RecordsProducer,
    from: *const c_void,
    count: usize,
    pushed: *mut usize,
) -> Status {
    // SAFETY: H1, H2.
    let producer = unsafe { producer.as_ref() };
    // SAFETY: H3.
    unsafe {
        counted_anyway(pushed, || match producer {
            Some(producer) => producer.0.push_many(from, count, None),
            None => (0, Status::Invalid),
        })
    }
}

/// As `thalweg_records_push_many`, but answers TIMEOUT after `nanoseconds` if some are left.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_records_push_many_timeout(
    producer: *const RecordsProducer,
    from: *const c_void,
    count: usize,
    pushed: *mut usize,
    nanoseconds: u64,
) -> Status {
    // SAFETY: H1, H2.
    let producer = unsafe { producer.as_ref() };
    // SAFETY: H3.
    unsafe {
        counted_anyway(pushed, || match producer {
            Some(producer) => producer.0.push_many(from, count, Some(Duration::from_nanos(nanoseconds))),
            None => (0, Status::Invalid),
        })
    }
}

/// Reserves up to `count` entries, at least one, to be written in place, or answers FULL, BUSY or CLOSED. OK: `entries` gets where they
/// are, `granted` how many, `grant` what `thalweg_records_commit` asks for; else nothing is written. Never waits. INVALID in drop-old mode.
///
/// Their place in the order of the queue is taken, and consumers wait for them: write them soon.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_records_try_reserve(
    producer: *const RecordsProducer,
    count: usize,
    entries: *mut *mut c_void,
    granted: *mut usize,
    grant: *mut RecordsGrant,
) -> Status {
    // SAFETY: H1, H2.
    let Some(producer) = (unsafe { producer.as_ref() }) else { return Status::Invalid };
    // SAFETY: H3.
    unsafe { opened(&*producer.0, count, entries, granted, grant, Until::Now) }
}

/// As `thalweg_records_try_reserve`, waiting while the queue is full. OK, or CLOSED when every consumer is gone; INVALID in drop-old mode.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_records_reserve(
    producer: *const RecordsProducer,
    count: usize,
    entries: *mut *mut c_void,
    granted: *mut usize,
    grant: *mut RecordsGrant,
) -> Status {
    // SAFETY: H1, H2.
    let Some(producer) = (unsafe { producer.as_ref() }) else { return Status::Invalid };
    // SAFETY: H3.
    unsafe { opened(&*producer.0, count, entries, granted, grant, Until::Closed) }
}

/// As `thalweg_records_reserve`, but answers TIMEOUT after `nanoseconds`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_records_reserve_timeout(
    producer: *const RecordsProducer,
    count: usize,
    entries: *mut *mut c_void,
    granted: *mut usize,
    grant: *mut RecordsGrant,
    nanoseconds: u64,
) -> Status {
    // SAFETY: H1, H2.
    let Some(producer) = (unsafe { producer.as_ref() }) else { return Status::Invalid };
    // SAFETY: H3.
    unsafe { opened(&*producer.0, count, entries, granted, grant, Until::after(nanoseconds)) }
}

/// Pushes the first `count` of the entries that were reserved, which are written; consumers pass over the others. OK, also when every
/// consumer is gone. INVALID if there are not so many: then the grant is still open.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_records_commit(
    producer: *const RecordsProducer,
    grant: RecordsGrant,
    count: usize,
) -> Status {
    // SAFETY: H1, H2, H6.
    unsafe { producer.as_ref().map_or(Status::Invalid, |producer| producer.0.end(grant, count)) }
}

/// # Safety
///
/// `entries`, `granted` and `place` are null or valid for a write.
unsafe fn opened<E: InPlace + ?Sized>(
    end: &E,
    count: usize,
    entries: *mut *mut c_void,
    granted: *mut usize,
    place: *mut RecordsGrant,
    until: Until,
) -> Status {
    if entries.is_null() || granted.is_null() || place.is_null() {
        return Status::Invalid;
    }
    match end.open(count, until) {
        Ok((grant, memory)) => {
            // SAFETY: not null, and so valid by the caller's promise.
            unsafe {
                entries.write(memory);
                granted.write(grant.count);
                place.write(grant);
            }
            Status::Ok
        }
        Err(refused) => refused,
    }
}

/// How many bytes an entry has. 0 for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_records_producer_entry_size(producer: *const RecordsProducer) -> usize {
    // SAFETY: H1, H2.
    unsafe { producer.as_ref() }.map_or(0, |producer| producer.0.entry_size())
}

/// Whether every consumer is gone. Then it stays so. True for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_records_producer_is_closed(producer: *const RecordsProducer) -> bool {
    // SAFETY: H1, H2.
    unsafe { producer.as_ref() }.is_none_or(|producer| producer.0.is_closed())
}

/// How many entries are pushed and neither popped nor overwritten, lately. Exact when nobody else uses the queue and none was given up
/// that was reserved: what is reserved counts, and what of it is not pushed, until a pop has passed it. 0 for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_records_producer_len(producer: *const RecordsProducer) -> usize {
    // SAFETY: H1, H2.
    unsafe { producer.as_ref() }.map_or(0, |producer| producer.0.len())
}

/// How many entries all blocks have. As few as `capacity - entries + 1` may fill the queue, as blocks are reused whole; in drop-old
/// mode, as few as `capacity - entries` are kept. 0 for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_records_producer_capacity(producer: *const RecordsProducer) -> usize {
    // SAFETY: H1, H2.
    unsafe { producer.as_ref() }.map_or(0, |producer| producer.0.capacity())
}

/// Frees a writing end, none of whose grants is open. The last one closes the queue: consumers pop what is left and then get CLOSED. Nothing for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_records_producer_free(producer: *mut RecordsProducer) {
    // SAFETY: H1: made by `build` or a clone, and freed once.
    unsafe { free(producer) }
}

/// Another reading end of the same queue, for the caller to free. NULL for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_records_consumer_clone(consumer: *const RecordsConsumer) -> *mut RecordsConsumer {
    // SAFETY: H1, H2.
    unsafe { consumer.as_ref() }
        .map_or(std::ptr::null_mut(), |consumer| hand_out(RecordsConsumer(consumer.0.another())))
}

/// Copies the oldest entry to `entry` and takes it from the queue now, or answers EMPTY, BUSY or CLOSED. Never waits.
///
/// `entry` is written only with OK.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_records_try_pop(consumer: *const RecordsConsumer, entry: *mut c_void) -> Status {
    // SAFETY: H1, H2, H3.
    unsafe { consumer.as_ref().map_or(Status::Invalid, |consumer| consumer.0.try_pop(entry)) }
}

/// Copies the oldest entry to `entry` and takes it from the queue, waiting while it is empty. OK, or CLOSED when every producer is
/// gone and nothing is left.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_records_pop(consumer: *const RecordsConsumer, entry: *mut c_void) -> Status {
    // SAFETY: H1, H2, H3.
    unsafe { consumer.as_ref().map_or(Status::Invalid, |consumer| consumer.0.pop(entry, None)) }
}

/// As `thalweg_records_pop`, but answers TIMEOUT after `nanoseconds`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_records_pop_timeout(
    consumer: *const RecordsConsumer,
    entry: *mut c_void,
    nanoseconds: u64,
) -> Status {
    // SAFETY: H1, H2, H3.
    unsafe {
        consumer
            .as_ref()
            .map_or(Status::Invalid, |consumer| consumer.0.pop(entry, Some(Duration::from_nanos(nanoseconds))))
    }
}

/// Copies what is there, up to `count` entries, the oldest first, to `to`, takes it from the queue, and writes how many to
/// `popped`.
///
/// OK: at least one, unless `count` is 0. Otherwise none, and `popped` gets 0: EMPTY, BUSY or CLOSED.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_records_try_pop_many(
    consumer: *const RecordsConsumer,
    to: *mut c_void,
    count: usize,
    popped: *mut usize,
) -> Status {
    // SAFETY: H1, H2.
    let consumer = unsafe { consumer.as_ref() };
    // SAFETY: H3.
    unsafe { counted(popped, || consumer.ok_or(Status::Invalid)?.0.try_pop_many(to, count)) }
}

/// As `thalweg_records_try_pop_many`, waiting for the first entry while the queue is empty. OK, or CLOSED when every producer is
/// gone and nothing is left.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_records_pop_many(
    consumer: *const RecordsConsumer,
    to: *mut c_void,
    count: usize,
    popped: *mut usize,
) -> Status {
    // SAFETY: H1, H2.
    let consumer = unsafe { consumer.as_ref() };
    // SAFETY: H3.
    unsafe { counted(popped, || consumer.ok_or(Status::Invalid)?.0.pop_many(to, count, None)) }
}

/// As `thalweg_records_pop_many`, but answers TIMEOUT after `nanoseconds` without an entry.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_records_pop_many_timeout(
    consumer: *const RecordsConsumer,
    to: *mut c_void,
    count: usize,
    popped: *mut usize,
    nanoseconds: u64,
) -> Status {
    // SAFETY: H1, H2.
    let consumer = unsafe { consumer.as_ref() };
    // SAFETY: H3.
    unsafe {
        counted(popped, || {
            consumer.ok_or(Status::Invalid)?.0.pop_many(to, count, Some(Duration::from_nanos(nanoseconds)))
        })
    }
}

/// Takes up to `count` entries from the queue, at least one, the oldest first, to be read in place, or answers EMPTY, BUSY or CLOSED. OK:
/// `entries` gets where they are, `taken` how many, `grant` what `thalweg_records_release` asks for; else nothing is written. Never
/// waits. INVALID in drop-old mode.
///
/// Their memory is used again only after the release.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_records_try_read(
    consumer: *const RecordsConsumer,
    count: usize,
    entries: *mut *mut c_void,
    taken: *mut usize,
    grant: *mut RecordsGrant,
) -> Status {
    // SAFETY: H1, H2.
    let Some(consumer) = (unsafe { consumer.as_ref() }) else { return Status::Invalid };
    // SAFETY: H3.
    unsafe { opened(&*consumer.0, count, entries, taken, grant, Until::Now) }
}

/// As `thalweg_records_try_read`, waiting while the queue is empty. OK, or CLOSED when every producer is gone and nothing is left; INVALID
/// in drop-old mode.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_records_read(
    consumer: *const RecordsConsumer,
    count: usize,
    entries: *mut *mut c_void,
    taken: *mut usize,
    grant: *mut RecordsGrant,
) -> Status {
    // SAFETY: H1, H2.
    let Some(consumer) = (unsafe { consumer.as_ref() }) else { return Status::Invalid };
    // SAFETY: H3.
    unsafe { opened(&*consumer.0, count, entries, taken, grant, Until::Closed) }
}

/// As `thalweg_records_read`, but answers TIMEOUT after `nanoseconds`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_records_read_timeout(
    consumer: *const RecordsConsumer,
    count: usize,
    entries: *mut *mut c_void,
    taken: *mut usize,
    grant: *mut RecordsGrant,
    nanoseconds: u64,
) -> Status {
    // SAFETY: H1, H2.
    let Some(consumer) = (unsafe { consumer.as_ref() }) else { return Status::Invalid };
    // SAFETY: H3.
    unsafe { opened(&*consumer.0, count, entries, taken, grant, Until::after(nanoseconds)) }
}

/// Gives the memory of entries back that were read. INVALID for NULL, else OK.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_records_release(consumer: *const RecordsConsumer, grant: RecordsGrant) -> Status {
    // SAFETY: H1, H2, H6.
    unsafe { consumer.as_ref().map_or(Status::Invalid, |consumer| consumer.0.end(grant, 0)) }
}

/// How many bytes an entry has. 0 for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_records_consumer_entry_size(consumer: *const RecordsConsumer) -> usize {
    // SAFETY: H1, H2.
    unsafe { consumer.as_ref() }.map_or(0, |consumer| consumer.0.entry_size())
}

/// Whether every producer is gone. Then it stays so; items may still be left. True for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_records_consumer_is_closed(consumer: *const RecordsConsumer) -> bool {
    // SAFETY: H1, H2.
    unsafe { consumer.as_ref() }.is_none_or(|consumer| consumer.0.is_closed())
}

/// How many entries are pushed and neither popped nor overwritten, lately. Exact when nobody else uses the queue and none was given up
/// that was reserved: what is reserved counts, and what of it is not pushed, until a pop has passed it. 0 for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_records_consumer_len(consumer: *const RecordsConsumer) -> usize {
    // SAFETY: H1, H2.
    unsafe { consumer.as_ref() }.map_or(0, |consumer| consumer.0.len())
}

/// How many entries all blocks have. As few as `capacity - entries + 1` may fill the queue, as blocks are reused whole; in drop-old
/// mode, as few as `capacity - entries` are kept. 0 for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_records_consumer_capacity(consumer: *const RecordsConsumer) -> usize {
    // SAFETY: H1, H2.
    unsafe { consumer.as_ref() }.map_or(0, |consumer| consumer.0.capacity())
}

/// How many entries all consumers of the queue have found overwritten and passed over, so far. 0 for a queue that is not in drop-old
/// mode, and for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_records_consumer_dropped(consumer: *const RecordsConsumer) -> u64 {
    // SAFETY: H1, H2.
    unsafe { consumer.as_ref() }.map_or(0, |consumer| consumer.0.dropped())
}

/// Frees a reading end, none of whose grants is open. With the last one the queue closes: pushes get CLOSED from then on, and what is in the queue is discarded.
/// Nothing for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_records_consumer_free(consumer: *mut RecordsConsumer) {
    // SAFETY: H1: made by `build` or a clone, and freed once.
    unsafe { free(consumer) }
}
