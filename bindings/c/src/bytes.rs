//! Many producers, many consumers, byte messages of any size, copied or in place: `thalweg_bytes_*`.

use crate::border::{counted, free, hand_out, opaque};
use crate::build::{build, with_wait};
use crate::end::Until;
use crate::entry::places;
use crate::message_ends::{Reader, Writer};
use crate::status::Status;
use std::ffi::{c_char, c_void};
use std::slice;
use thalweg_queue::bytes::{self, RawGrant};

/// A writing end of a queue of byte messages. Shared: any number of threads may use it at the same time.
pub struct BytesProducer(Box<dyn Writer>);

/// A reading end of a queue of byte messages. Shared: any number of threads may use it at the same time.
pub struct BytesConsumer(Box<dyn Reader>);

opaque!(BytesProducer, BytesConsumer);

/// A message that is being written or read in place. To be ended once, with the handle that gave it or a clone of that; what is in it
/// concerns nobody else.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BytesGrant {
    place: u64,
    pub(crate) size: usize,
}

impl From<RawGrant> for BytesGrant {
    fn from(raw: RawGrant) -> Self {
        let (place, size) = raw.into();
        Self { place, size }
    }
}

impl From<BytesGrant> for RawGrant {
    fn from(grant: BytesGrant) -> Self {
        (grant.place, grant.size).into()
    }
}

/// The `size` bytes at `message`, or none if they would not fit into the address space.
///
/// # Safety
///
/// As H3 and H5, for as long as the slice lives.
unsafe fn message<'a>(message: *const c_void, size: usize) -> Option<&'a [u8]> {
    if size == 0 {
        return Some(&[]);
    }
    let fits = !message.is_null() && size <= isize::MAX as usize;
    // SAFETY: not null, not too long, and otherwise by the caller's promise.
    fits.then(|| unsafe { slice::from_raw_parts(message.cast(), size) })
}

/// A queue of `blocks` blocks of `block_bytes` bytes each, rounded up to a multiple of 16, for any number of producers and consumers: the
/// block-based bounded queue with variable-sized entries, in retry-new mode.
///
/// A message has at most as many bytes as a block, lies in one piece, and starts at a multiple of 16. `blocks` is a power of two and at
/// least 2. `wait` is a `thalweg_wait`. OK: the caller owns both handles and frees each. INVALID: nothing is written but the reason, to
/// `error`, a buffer of `error_size` bytes, which may be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_bytes_new(
    blocks: usize,
    block_bytes: usize,
    wait: u32,
    producer: *mut *mut BytesProducer,
    consumer: *mut *mut BytesConsumer,
    error: *mut c_char,
    error_size: usize,
) -> Status {
    // SAFETY: the caller's promise about the places for results.
    unsafe {
        build((producer, "producer"), (consumer, "consumer"), (error, error_size), || {
            with_wait!(wait, W => {
                let (tx, rx) = bytes::with_wait(blocks, block_bytes, W::default())?;
                Ok((BytesProducer(Box::new(tx)), BytesConsumer(Box::new(rx))))
            })
        })
    }
}

/// As `thalweg_bytes_new`, but in drop-old mode: a push that finds no room overwrites the oldest block, so it is never FULL, and pops
/// pass over what was overwritten. For traces, log lines and the like.
///
/// Messages are copied in and out: reserving and reading in place are INVALID.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_bytes_new_drop_old(
    blocks: usize,
    block_bytes: usize,
    wait: u32,
    producer: *mut *mut BytesProducer,
    consumer: *mut *mut BytesConsumer,
    error: *mut c_char,
    error_size: usize,
) -> Status {
    // SAFETY: the caller's promise about the places for results.
    unsafe {
        build((producer, "producer"), (consumer, "consumer"), (error, error_size), || {
            with_wait!(wait, W => {
                let (tx, rx) = bytes::drop_old_with_wait(blocks, block_bytes, W::default())?;
                Ok((BytesProducer(Box::new(tx)), BytesConsumer(Box::new(rx))))
            })
        })
    }
}

/// Another writing end of the same queue, for the caller to free. The queue closes when the last one is freed. NULL for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_bytes_producer_clone(producer: *const BytesProducer) -> *mut BytesProducer {
    // SAFETY: H1, H2.
    unsafe { producer.as_ref() }.map_or(std::ptr::null_mut(), |producer| hand_out(BytesProducer(producer.0.another())))
}

/// Copies the message of `size` bytes at `from` into the queue now, or answers FULL, BUSY, CLOSED, or INVALID if it never fits. Never
/// waits.
///
/// Every byte of it has to be written, its padding too.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_bytes_try_push(
    producer: *const BytesProducer,
    from: *const c_void,
    size: usize,
) -> Status {
    // SAFETY: H1, H2, H3, H5.
    match unsafe { (producer.as_ref(), message(from, size)) } {
        (Some(producer), Some(message)) => producer.0.push(message, Until::Now),
        _ => Status::Invalid,
    }
}

/// Copies the message of `size` bytes at `from` into the queue, waiting while it is full. OK, or CLOSED when every consumer is gone, or
/// INVALID if it never fits.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_bytes_push(
    producer: *const BytesProducer,
    from: *const c_void,
    size: usize,
) -> Status {
    // SAFETY: H1, H2, H3, H5.
    match unsafe { (producer.as_ref(), message(from, size)) } {
        (Some(producer), Some(message)) => producer.0.push(message, Until::Closed),
        _ => Status::Invalid,
    }
}

/// As `thalweg_bytes_push`, but answers TIMEOUT after `nanoseconds`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_bytes_push_timeout(
    producer: *const BytesProducer,
    from: *const c_void,
    size: usize,
    nanoseconds: u64,
) -> Status {
    // SAFETY: H1, H2, H3, H5.
    match unsafe { (producer.as_ref(), message(from, size)) } {
        (Some(producer), Some(message)) => producer.0.push(message, Until::after(nanoseconds)),
        _ => Status::Invalid,
    }
}

/// Reserves a message of `size` bytes now, or answers as `thalweg_bytes_try_push`. OK: `bytes` gets where it is to be written, `grant`
/// what `thalweg_bytes_commit` or `thalweg_bytes_abandon` asks for; else nothing is written. INVALID in drop-old mode.
///
/// Its place in the order of the queue is taken, and consumers wait for it: write it soon. The bytes are at first what was there before.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_bytes_try_reserve(
    producer: *const BytesProducer,
    size: usize,
    bytes: *mut *mut c_void,
    grant: *mut BytesGrant,
) -> Status {
    // SAFETY: H1, H2, H3.
    unsafe { reserved(producer, size, bytes, grant, Until::Now) }
}

/// As `thalweg_bytes_try_reserve`, waiting while the queue is full. OK, or CLOSED when every consumer is gone, or INVALID if it never fits
/// and in drop-old mode.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_bytes_reserve(
    producer: *const BytesProducer,
    size: usize,
    bytes: *mut *mut c_void,
    grant: *mut BytesGrant,
) -> Status {
    // SAFETY: H1, H2, H3.
    unsafe { reserved(producer, size, bytes, grant, Until::Closed) }
}

/// As `thalweg_bytes_reserve`, but answers TIMEOUT after `nanoseconds`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_bytes_reserve_timeout(
    producer: *const BytesProducer,
    size: usize,
    bytes: *mut *mut c_void,
    grant: *mut BytesGrant,
    nanoseconds: u64,
) -> Status {
    // SAFETY: H1, H2, H3.
    unsafe { reserved(producer, size, bytes, grant, Until::after(nanoseconds)) }
}

/// # Safety
///
/// H1, H2; `bytes` and `place` are null or valid for a write.
unsafe fn reserved(
    producer: *const BytesProducer,
    size: usize,
    bytes: *mut *mut c_void,
    place: *mut BytesGrant,
    until: Until,
) -> Status {
    // SAFETY: H1, H2.
    let Some(producer) = (unsafe { producer.as_ref() }) else { return Status::Invalid };
    if bytes.is_null() || place.is_null() {
        return Status::Invalid;
    }
    match producer.0.reserve(size, until) {
        Ok((grant, memory)) => {
            // SAFETY: not null, and so valid by the caller's promise.
            unsafe {
                bytes.write(memory.cast());
                place.write(grant);
            }
            Status::Ok
        }
        Err(refused) => refused,
    }
}

/// Pushes the first `size` bytes of what was reserved as the message. OK, also when every consumer is gone. INVALID if there are not so
/// many: then the grant is still open.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_bytes_commit(
    producer: *const BytesProducer,
    grant: BytesGrant,
    size: usize,
) -> Status {
    // SAFETY: H1, H2, H6.
    unsafe { producer.as_ref().map_or(Status::Invalid, |producer| producer.0.end(grant, Some(size))) }
}

/// Gives back what was reserved: there is no message. INVALID for NULL, else OK.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_bytes_abandon(producer: *const BytesProducer, grant: BytesGrant) -> Status {
    // SAFETY: H1, H2, H6.
    unsafe { producer.as_ref().map_or(Status::Invalid, |producer| producer.0.end(grant, None)) }
}

/// How many bytes the largest message may have. 0 for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_bytes_producer_max_message(producer: *const BytesProducer) -> usize {
    // SAFETY: H1, H2.
    unsafe { producer.as_ref() }.map_or(0, |producer| producer.0.max_message())
}

/// How many bytes all blocks have. 0 for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_bytes_producer_capacity(producer: *const BytesProducer) -> usize {
    // SAFETY: H1, H2.
    unsafe { producer.as_ref() }.map_or(0, |producer| producer.0.capacity())
}

/// How many bytes the messages take that are pushed and neither popped nor overwritten, lately: each rounded up to a multiple of 16,
/// what is left over at the ends of blocks, and what is reserved. What is given up counts while something is in the queue before it.
/// Exact when nobody else uses the queue. 0 for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_bytes_producer_len(producer: *const BytesProducer) -> usize {
    // SAFETY: H1, H2.
    unsafe { producer.as_ref() }.map_or(0, |producer| producer.0.len())
}

/// Whether every consumer is gone. Then it stays so. True for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_bytes_producer_is_closed(producer: *const BytesProducer) -> bool {
    // SAFETY: H1, H2.
    unsafe { producer.as_ref() }.is_none_or(|producer| producer.0.is_closed())
}

/// Frees a writing end, none of whose grants is open. The last one closes the queue: consumers read what is left and then get CLOSED.
/// Nothing for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_bytes_producer_free(producer: *mut BytesProducer) {
    // SAFETY: H1: made by `build` or a clone, and freed once.
    unsafe { free(producer) }
}

/// Another reading end of the same queue, for the caller to free. NULL for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_bytes_consumer_clone(consumer: *const BytesConsumer) -> *mut BytesConsumer {
    // SAFETY: H1, H2.
    unsafe { consumer.as_ref() }.map_or(std::ptr::null_mut(), |consumer| hand_out(BytesConsumer(consumer.0.another())))
}

/// Copies the oldest message to `to`, writes how many bytes it has to `size`, and takes it from the queue now, or answers EMPTY, BUSY or
/// CLOSED. Never waits.
///
/// `room` says how many bytes fit at `to`: not fewer than the largest message has (`thalweg_bytes_consumer_max_message`), or it is
/// INVALID. With any answer but OK `size` gets 0, and `to` is not written, except in drop-old mode: there it may hold what somebody else
/// has popped or overwritten meanwhile, also behind a message.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_bytes_try_pop(
    consumer: *const BytesConsumer,
    to: *mut c_void,
    room: usize,
    size: *mut usize,
) -> Status {
    // SAFETY: H1, H2, H3.
    unsafe { pop(consumer, (to, room), size, Until::Now) }
}

/// As `thalweg_bytes_try_pop`, waiting while the queue is empty. OK, or CLOSED when every producer is gone and nothing is left: then `size`
/// gets 0, and `to` is as there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_bytes_pop(
    consumer: *const BytesConsumer,
    to: *mut c_void,
    room: usize,
    size: *mut usize,
) -> Status {
    // SAFETY: H1, H2, H3.
    unsafe { pop(consumer, (to, room), size, Until::Closed) }
}

/// As `thalweg_bytes_pop`, but answers TIMEOUT after `nanoseconds`: `size` gets 0 then, too.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_bytes_pop_timeout(
    consumer: *const BytesConsumer,
    to: *mut c_void,
    room: usize,
    size: *mut usize,
    nanoseconds: u64,
) -> Status {
    // SAFETY: H1, H2, H3.
    unsafe { pop(consumer, (to, room), size, Until::after(nanoseconds)) }
}

/// # Safety
///
/// H1, H2, H3; `size` is null or valid for a write.
unsafe fn pop(
    consumer: *const BytesConsumer,
    (to, room): (*mut c_void, usize),
    size: *mut usize,
    until: Until,
) -> Status {
    // SAFETY: H1, H2, H3.
    let (consumer, into) = unsafe { (consumer.as_ref(), places(to.cast::<u8>(), room)) };
    // SAFETY: H3.
    unsafe {
        counted(size, || match (consumer, into) {
            (Some(consumer), Some(into)) => consumer.0.pop(into, until),
            _ => Err(Status::Invalid),
        })
    }
}

/// Takes the oldest message from the queue now, to be read in place, or answers EMPTY, BUSY or CLOSED. OK: `bytes` gets where it is,
/// `size` how many bytes it has, `grant` what `thalweg_bytes_release` asks for; else nothing is written. Never waits. INVALID in drop-old
/// mode.
///
/// Its memory is used again only after the release.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_bytes_try_read(
    consumer: *const BytesConsumer,
    bytes: *mut *const c_void,
    size: *mut usize,
    grant: *mut BytesGrant,
) -> Status {
    // SAFETY: H1, H2, H3.
    unsafe { read(consumer, bytes, size, grant, Until::Now) }
}

/// As `thalweg_bytes_try_read`, waiting while the queue is empty. OK, or CLOSED when every producer is gone and nothing is left; INVALID in
/// drop-old mode.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_bytes_read(
    consumer: *const BytesConsumer,
    bytes: *mut *const c_void,
    size: *mut usize,
    grant: *mut BytesGrant,
) -> Status {
    // SAFETY: H1, H2, H3.
    unsafe { read(consumer, bytes, size, grant, Until::Closed) }
}

/// As `thalweg_bytes_read`, but answers TIMEOUT after `nanoseconds`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_bytes_read_timeout(
    consumer: *const BytesConsumer,
    bytes: *mut *const c_void,
    size: *mut usize,
    grant: *mut BytesGrant,
    nanoseconds: u64,
) -> Status {
    // SAFETY: H1, H2, H3.
    unsafe { read(consumer, bytes, size, grant, Until::after(nanoseconds)) }
}

/// # Safety
///
/// H1, H2; `bytes`, `size` and `place` are null or valid for a write.
unsafe fn read(
    consumer: *const BytesConsumer,
    bytes: *mut *const c_void,
    size: *mut usize,
    place: *mut BytesGrant,
    until: Until,
) -> Status {
    // SAFETY: H1, H2.
    let Some(consumer) = (unsafe { consumer.as_ref() }) else { return Status::Invalid };
    if bytes.is_null() || size.is_null() || place.is_null() {
        return Status::Invalid;
    }
    match consumer.0.read(until) {
        Ok((grant, memory)) => {
            // SAFETY: not null, and so valid by the caller's promise.
            unsafe {
                bytes.write(memory.cast());
                size.write(grant.size);
                place.write(grant);
            }
            Status::Ok
        }
        Err(refused) => refused,
    }
}

/// Gives the memory of a message back that was read. INVALID for NULL, else OK.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_bytes_release(consumer: *const BytesConsumer, grant: BytesGrant) -> Status {
    // SAFETY: H1, H2, H6.
    unsafe { consumer.as_ref().map_or(Status::Invalid, |consumer| consumer.0.end(grant)) }
}

/// How many bytes the largest message may have. 0 for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_bytes_consumer_max_message(consumer: *const BytesConsumer) -> usize {
    // SAFETY: H1, H2.
    unsafe { consumer.as_ref() }.map_or(0, |consumer| consumer.0.max_message())
}

/// How many bytes all blocks have. 0 for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_bytes_consumer_capacity(consumer: *const BytesConsumer) -> usize {
    // SAFETY: H1, H2.
    unsafe { consumer.as_ref() }.map_or(0, |consumer| consumer.0.capacity())
}

/// How many bytes the messages take that are pushed and neither popped nor overwritten, lately: each rounded up to a multiple of 16,
/// what is left over at the ends of blocks, and what is reserved. What is given up counts while something is in the queue before it.
/// Exact when nobody else uses the queue. 0 for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_bytes_consumer_len(consumer: *const BytesConsumer) -> usize {
    // SAFETY: H1, H2.
    unsafe { consumer.as_ref() }.map_or(0, |consumer| consumer.0.len())
}

/// How many bytes, as in `thalweg_bytes_consumer_len`, all consumers of the queue have found overwritten and passed over, so far. 0 for
/// a queue that is not in drop-old mode, and for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_bytes_consumer_dropped(consumer: *const BytesConsumer) -> u64 {
    // SAFETY: H1, H2.
    unsafe { consumer.as_ref() }.map_or(0, |consumer| consumer.0.dropped())
}

/// Whether every producer is gone. Then it stays so; messages may still be left. True for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_bytes_consumer_is_closed(consumer: *const BytesConsumer) -> bool {
    // SAFETY: H1, H2.
    unsafe { consumer.as_ref() }.is_none_or(|consumer| consumer.0.is_closed())
}

/// Frees a reading end, none of whose grants is open. With the last one the queue closes: pushes get CLOSED from then on, and what is in
/// the queue is discarded. Nothing for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thalweg_bytes_consumer_free(consumer: *mut BytesConsumer) {
    // SAFETY: H1: made by `build` or a clone, and freed once.
    unsafe { free(consumer) }
}
