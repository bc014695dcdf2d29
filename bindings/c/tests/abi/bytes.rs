//! Byte messages of any size.

use crate::{Sent, WAITS};
use std::ffi::c_void;
use std::ptr::{null, null_mut};
use thalweg_queue_c::Status::{Busy, Closed, Empty, Full, Invalid, Ok, Timeout};
use thalweg_queue_c::bytes::*;
use thalweg_sync::thread;

/// Queues of two blocks of 64 bytes, with every way of waiting.
fn queues() -> impl Iterator<Item = (*mut BytesProducer, *mut BytesConsumer)> {
    WAITS.into_iter().map(|wait| {
        let (mut tx, mut rx) = (null_mut(), null_mut());
        assert_eq!(c!(thalweg_bytes_new(2, 60, wait, &mut tx, &mut rx, null_mut(), 0)), Ok);
        (tx, rx)
    })
}

fn push(tx: *const BytesProducer, message: &[u8]) -> thalweg_queue_c::Status {
    c!(thalweg_bytes_try_push(tx, message.as_ptr().cast(), message.len()))
}

/// Reads, or says why not. The message stays where it is until its grant is released.
fn read(rx: *const BytesConsumer, wait: bool) -> Result<(Vec<u8>, BytesGrant), thalweg_queue_c::Status> {
    let (mut bytes, mut size, mut grant) = (null(), 0, std::mem::MaybeUninit::uninit());
    let status = match wait {
        true => c!(thalweg_bytes_read(rx, &mut bytes, &mut size, grant.as_mut_ptr())),
        false => c!(thalweg_bytes_try_read(rx, &mut bytes, &mut size, grant.as_mut_ptr())),
    };
    match status {
        Ok => {
            assert_eq!(bytes.addr() % 16, 0);
            // SAFETY: so many bytes are there until the release.
            let message = unsafe { std::slice::from_raw_parts(bytes.cast::<u8>(), size) }.to_vec();
            Result::Ok((message, c!(grant.assume_init())))
        }
        refused => Err(refused),
    }
}

#[test]
fn messages_are_written_and_read_in_place() {
    for (tx, rx) in queues() {
        assert_eq!((c!(thalweg_bytes_producer_max_message(tx)), c!(thalweg_bytes_consumer_max_message(rx))), (64, 64));
        assert_eq!((c!(thalweg_bytes_producer_capacity(tx)), c!(thalweg_bytes_consumer_capacity(rx))), (128, 128));
        let (mut bytes, mut grant) = (null_mut(), std::mem::MaybeUninit::uninit());
        assert_eq!(c!(thalweg_bytes_try_reserve(tx, 30, &mut bytes, grant.as_mut_ptr())), Ok);
        c!(bytes.cast::<u8>().write_bytes(7, 3));
        let grant_in = c!(grant.assume_init());
        assert_eq!(c!(thalweg_bytes_commit(tx, grant_in, 31)), Invalid);
        assert_eq!(read(rx, false).err(), Some(Busy));
        assert_eq!(c!(thalweg_bytes_commit(tx, grant_in, 3)), Ok);
        assert_eq!(c!(thalweg_bytes_reserve(tx, 9, &mut bytes, grant.as_mut_ptr())), Ok);
        assert_eq!(c!(thalweg_bytes_abandon(tx, grant.assume_init())), Ok);
        assert_eq!(push(tx, &[]), Ok);
        let (message, first) = read(rx, true).unwrap();
        assert_eq!(message, [7; 3]);
        let (message, second) = read(rx, false).unwrap();
        assert_eq!(message, []);
        assert_eq!(read(rx, false).err(), Some(Empty));
        assert_eq!(push(tx, &[1; 64]), Ok);
        assert_eq!(push(tx, &[2; 64]), Busy);
        assert_eq!(c!(thalweg_bytes_release(rx, second)), Ok);
        assert_eq!(c!(thalweg_bytes_release(rx, first)), Ok);
        assert_eq!(push(tx, &[2; 64]), Ok);
        assert_eq!(push(tx, &[3; 64]), Full);
        assert_eq!(c!(thalweg_bytes_push_timeout(tx, [3; 64].as_ptr().cast(), 64, 1000)), Timeout);
        assert_eq!(push(tx, &[3; 65]), Invalid);
        assert_eq!(c!(thalweg_bytes_push(tx, null(), 1)), Invalid);
        c!(thalweg_bytes_consumer_free(rx));
        assert!(c!(thalweg_bytes_producer_is_closed(tx)));
        assert_eq!(push(tx, b"late"), Closed);
        c!(thalweg_bytes_producer_free(tx));
    }
}

/// A grant waits as long as was said, and is given when the other side makes it possible.
#[test]
fn grants_wait_for_some_time() {
    for (tx, rx) in queues() {
        let (mut read_at, mut size, mut at) = (null(), 0, null_mut());
        let (mut taken, mut open) = (std::mem::MaybeUninit::uninit(), std::mem::MaybeUninit::uninit());
        assert_eq!(c!(thalweg_bytes_read_timeout(rx, &mut read_at, &mut size, taken.as_mut_ptr(), 1000)), Timeout);
        assert_eq!((push(tx, &[1; 64]), push(tx, &[2; 64])), (Ok, Ok));
        assert_eq!(c!(thalweg_bytes_reserve_timeout(tx, 64, &mut at, open.as_mut_ptr(), 1000)), Timeout);
        assert_eq!(c!(thalweg_bytes_reserve_timeout(tx, 65, &mut at, open.as_mut_ptr(), 1000)), Invalid);
        let consumer = Sent(rx);
        let popping = thread::spawn(move || {
            let (mut out, mut size) = ([0_u8; 64], 0);
            for expected in 1..=3 {
                let to = out.as_mut_ptr().cast::<c_void>();
                assert_eq!((c!(thalweg_bytes_pop(consumer.get(), to, 64, &mut size)), out), (Ok, [expected; 64]));
            }
        });
        assert_eq!(c!(thalweg_bytes_reserve_timeout(tx, 64, &mut at, open.as_mut_ptr(), u64::MAX)), Ok);
        c!(at.cast::<u8>().write_bytes(3, 64));
        assert_eq!(c!(thalweg_bytes_commit(tx, open.assume_init(), 64)), Ok);
        popping.join().unwrap();
        assert_eq!(push(tx, b"last"), Ok);
        c!(thalweg_bytes_producer_free(tx));
        assert_eq!(c!(thalweg_bytes_read_timeout(rx, &mut read_at, &mut size, taken.as_mut_ptr(), 1000)), Ok);
        assert_eq!(size, 4);
        assert_eq!(c!(thalweg_bytes_release(rx, taken.assume_init())), Ok);
        assert_eq!(c!(thalweg_bytes_read_timeout(rx, &mut read_at, &mut size, taken.as_mut_ptr(), 1000)), Closed);
        c!(thalweg_bytes_consumer_free(rx));
    }
}

#[test]
fn threads_wait_and_lose_nothing() {
    for (tx, rx) in queues() {
        let other = Sent(c!(thalweg_bytes_producer_clone(tx)));
        let rest = c!(thalweg_bytes_consumer_clone(rx));
        c!(thalweg_bytes_producer_free(tx));
        c!(thalweg_bytes_consumer_free(rx));
        let pushing = thread::spawn(move || {
            for number in 0..300_usize {
                let message = vec![number as u8; number % 65];
                assert_eq!(c!(thalweg_bytes_push(other.get(), message.as_ptr().cast::<c_void>(), message.len())), Ok);
            }
            c!(thalweg_bytes_producer_free(other.get()));
        });
        for number in 0..300_usize {
            let (message, grant) = read(rest, true).unwrap();
            assert_eq!(message, vec![number as u8; number % 65]);
            assert_eq!(c!(thalweg_bytes_release(rest, grant)), Ok);
        }
        pushing.join().unwrap();
        assert!(c!(thalweg_bytes_consumer_is_closed(rest)));
        assert_eq!(read(rest, true).err(), Some(Closed));
        c!(thalweg_bytes_consumer_free(rest));
    }
}

#[test]
fn messages_are_copied_out() {
    for (tx, rx) in queues() {
        let (mut out, mut size) = ([7_u8; 66], 99);
        let to = out.as_mut_ptr().cast::<c_void>();
        assert_eq!((c!(thalweg_bytes_try_pop(rx, to, 64, &mut size)), size), (Empty, 0));
        size = 99;
        assert_eq!((c!(thalweg_bytes_pop_timeout(rx, to, 64, &mut size, 1000)), size), (Timeout, 0));
        assert_eq!(push(tx, b"one"), Ok);
        assert_eq!(push(tx, &[2; 64]), Ok);
        assert_eq!((c!(thalweg_bytes_producer_len(tx)), c!(thalweg_bytes_consumer_len(rx))), (128, 128));
        size = 99;
        assert_eq!((c!(thalweg_bytes_try_pop(rx, to, 63, &mut size)), size), (Invalid, 0));
        size = 99;
        assert_eq!((c!(thalweg_bytes_pop(rx, null_mut(), 64, &mut size)), size), (Invalid, 0));
        assert_eq!(out, [7; 66], "written by a refusal");
        assert_eq!((c!(thalweg_bytes_try_pop(rx, to, 65, &mut size)), size), (Ok, 3));
        assert_eq!((&out[..3], &out[64..]), (&b"one"[..], &[7; 2][..]));
        assert_eq!((c!(thalweg_bytes_pop_timeout(rx, to, 64, &mut size, 1000)), size), (Ok, 64));
        assert_eq!((&out[..64], &out[64..]), (&[2; 64][..], &[7; 2][..]));
        assert_eq!(c!(thalweg_bytes_consumer_dropped(rx)), 0);
        c!(thalweg_bytes_producer_free(tx));
        assert_eq!((c!(thalweg_bytes_pop(rx, to, 64, &mut size)), size), (Closed, 0));
        assert_eq!(out[..64], [2; 64], "written by a refusal");
        c!(thalweg_bytes_consumer_free(rx));
    }
}

/// Nobody reads: the newest messages are there, the others are counted, and nothing is written or read in place.
#[test]
fn old_messages_are_overwritten() {
    for wait in WAITS {
        let (mut tx, mut rx) = (null_mut(), null_mut());
        assert_eq!(c!(thalweg_bytes_new_drop_old(2, 64, wait, &mut tx, &mut rx, null_mut(), 0)), Ok);
        for number in 0..9 {
            assert_eq!(push(tx, &[number; 20]), Ok);
        }
        let (mut bytes, mut grant) = (null_mut(), std::mem::MaybeUninit::uninit());
        assert_eq!(c!(thalweg_bytes_try_reserve(tx, 1, &mut bytes, grant.as_mut_ptr())), Invalid);
        assert_eq!(read(rx, true).err(), Some(Invalid));
        let (mut out, mut size) = ([0_u8; 64], 0);
        for number in 6..9 {
            let to = out.as_mut_ptr().cast::<c_void>();
            assert_eq!((c!(thalweg_bytes_pop(rx, to, 64, &mut size)), size), (Ok, 20));
            assert_eq!(out[..20], [number; 20]);
        }
        assert_eq!(c!(thalweg_bytes_consumer_dropped(rx)), 6 * 32);
        c!(thalweg_bytes_producer_free(tx));
        c!(thalweg_bytes_consumer_free(rx));
    }
}

#[test]
fn null_is_refused() {
    let (mut bytes, mut grant) = (null_mut(), std::mem::MaybeUninit::uninit());
    assert_eq!(push(null(), b"nowhere"), Invalid);
    assert_eq!(c!(thalweg_bytes_reserve(null(), 1, &mut bytes, grant.as_mut_ptr())), Invalid);
    assert_eq!(c!(thalweg_bytes_reserve_timeout(null(), 1, &mut bytes, grant.as_mut_ptr(), 0)), Invalid);
    assert_eq!(read(null(), false).err(), Some(Invalid));
    assert_eq!(c!(thalweg_bytes_read_timeout(null(), &mut null(), &mut 0, grant.as_mut_ptr(), 0)), Invalid);
    assert!(c!(thalweg_bytes_producer_clone(null())).is_null() && c!(thalweg_bytes_consumer_clone(null())).is_null());
    assert!(c!(thalweg_bytes_producer_is_closed(null())) && c!(thalweg_bytes_consumer_is_closed(null())));
    let (mut out, mut size) = ([0_u8; 64], 9);
    let to = out.as_mut_ptr().cast::<c_void>();
    assert_eq!((c!(thalweg_bytes_pop(null(), to, 64, &mut size)), size), (Invalid, 0));
    let sizes = [
        c!(thalweg_bytes_producer_max_message(null())),
        c!(thalweg_bytes_consumer_max_message(null())),
        c!(thalweg_bytes_producer_capacity(null())),
        c!(thalweg_bytes_consumer_capacity(null())),
        c!(thalweg_bytes_producer_len(null())),
        c!(thalweg_bytes_consumer_len(null())),
    ];
    assert_eq!((sizes, c!(thalweg_bytes_consumer_dropped(null()))), ([0; 6], 0));
    for (tx, rx) in queues() {
        assert_eq!(c!(thalweg_bytes_reserve(tx, 1, null_mut(), grant.as_mut_ptr())), Invalid);
        assert_eq!(c!(thalweg_bytes_try_read(rx, null_mut(), null_mut(), null_mut())), Invalid);
        // A grant that was not ended is open still.
        assert_eq!(c!(thalweg_bytes_reserve(tx, 1, &mut bytes, grant.as_mut_ptr())), Ok);
        let open = c!(grant.assume_init());
        assert_eq!(c!(thalweg_bytes_commit(null(), open, 1)), Invalid);
        assert_eq!(c!(thalweg_bytes_abandon(null(), open)), Invalid);
        assert_eq!(c!(thalweg_bytes_release(null(), open)), Invalid);
        assert_eq!(read(rx, false).err(), Some(Busy));
        assert_eq!(c!(thalweg_bytes_abandon(tx, open)), Ok);
        c!(thalweg_bytes_producer_free(tx));
        c!(thalweg_bytes_consumer_free(rx));
    }
    c!(thalweg_bytes_producer_free(null_mut()));
    c!(thalweg_bytes_consumer_free(null_mut()));
}
