//! Byte entries of one size.

use crate::{SIZES, Sent, WAITS, pattern};
use std::mem::MaybeUninit;
use std::ptr::null_mut;
use thalweg_queue_c::Status::{Closed, Empty, Full, Ok, Timeout};
use thalweg_queue_c::records::*;
use thalweg_sync::thread;

/// Queues for 8 entries, of each size, with every way of waiting.
fn records() -> impl Iterator<Item = (usize, *mut RecordsProducer, *mut RecordsConsumer)> {
    SIZES.into_iter().flat_map(|size| WAITS.map(|wait| (size, wait))).map(|(size, wait)| {
        let (mut tx, mut rx) = (null_mut(), null_mut());
        assert_eq!(c!(thalweg_records_new(size, 2, 4, wait, &mut tx, &mut rx, null_mut(), 0)), Ok);
        (size, tx, rx)
    })
}

#[test]
fn every_byte_arrives_from_any_address() {
    for (size, tx, rx) in records() {
        assert_eq!(c!(thalweg_records_producer_entry_size(tx)), size);
        assert_eq!(c!(thalweg_records_consumer_entry_size(rx)), size);
        assert_eq!(c!(thalweg_records_producer_capacity(tx)), 8);
        assert_eq!(c!(thalweg_records_consumer_capacity(rx)), 8);
        let entries = pattern(9 * size + 1);
        let entry = |number: usize| &entries[1 + number * size..][..size];
        for number in 0..8 {
            let pushed = match number % 3 {
                0 => c!(thalweg_records_try_push(tx, entry(number).as_ptr().cast())),
                1 => c!(thalweg_records_push(tx, entry(number).as_ptr().cast())),
                _ => c!(thalweg_records_push_timeout(tx, entry(number).as_ptr().cast(), 1000)),
            };
            assert_eq!(pushed, Ok);
        }
        assert_eq!(c!(thalweg_records_producer_len(tx)), 8);
        assert_eq!(c!(thalweg_records_consumer_len(rx)), 8);
        assert_eq!(c!(thalweg_records_try_push(tx, entry(8).as_ptr().cast())), Full);
        assert_eq!(c!(thalweg_records_push_timeout(tx, entry(8).as_ptr().cast(), 1000)), Timeout);
        let mut memory = vec![0xAA; size + 2];
        for number in 0..8 {
            memory.fill(0xAA);
            let place = memory[1..].as_mut_ptr().cast();
            let popped = match number % 3 {
                0 => c!(thalweg_records_try_pop(rx, place)),
                1 => c!(thalweg_records_pop(rx, place)),
                _ => c!(thalweg_records_pop_timeout(rx, place, 1000)),
            };
            assert_eq!(popped, Ok);
            assert_eq!(&memory[1..=size], entry(number));
            assert_eq!((memory[0], memory[size + 1]), (0xAA, 0xAA), "written outside of the entry");
        }
        memory.fill(0xAA);
        let place = memory[1..].as_mut_ptr().cast();
        assert_eq!(c!(thalweg_records_try_pop(rx, place)), Empty);
        assert_eq!(c!(thalweg_records_pop_timeout(rx, place, 1000)), Timeout);
        assert!(memory.iter().all(|&byte| byte == 0xAA));
        c!(thalweg_records_producer_free(tx));
        assert_eq!(c!(thalweg_records_pop(rx, memory.as_mut_ptr().cast())), Closed);
        c!(thalweg_records_consumer_free(rx));
    }
}

#[test]
fn batches_are_arrays() {
    for (size, tx, rx) in records() {
        let entries = pattern(20 * size);
        let mut out = vec![0xAA; 20 * size];
        let (mut pushed, mut popped) = (0, 0);
        let (from, to) = (entries.as_ptr().cast(), out.as_mut_ptr().cast());
        assert_eq!((c!(thalweg_records_try_push_many(tx, from, 20, &mut pushed)), pushed), (Ok, 8));
        assert_eq!((c!(thalweg_records_try_push_many(tx, from, 20, &mut pushed)), pushed), (Full, 0));
        assert_eq!((c!(thalweg_records_try_pop_many(rx, to, 20, &mut popped)), popped), (Ok, 8));
        assert_eq!(out[..8 * size], entries[..8 * size]);
        assert!(out[8 * size..].iter().all(|&byte| byte == 0xAA));
        assert_eq!((c!(thalweg_records_try_pop_many(rx, to, 20, &mut popped)), popped), (Empty, 0));
        c!(thalweg_records_consumer_free(rx));
        assert!(c!(thalweg_records_producer_is_closed(tx)));
        assert_eq!((c!(thalweg_records_try_push_many(tx, from, 1, &mut pushed)), pushed), (Closed, 0));
        assert_eq!(c!(thalweg_records_push(tx, from)), Closed);
        c!(thalweg_records_producer_free(tx));
    }
}

#[test]
fn threads_wait_and_lose_nothing() {
    for (size, tx, rx) in records().filter(|(size, ..)| matches!(size, 8 | 64)) {
        let other = Sent(c!(thalweg_records_producer_clone(tx)));
        let rest = Sent(c!(thalweg_records_consumer_clone(rx)));
        c!(thalweg_records_producer_free(tx));
        c!(thalweg_records_consumer_free(rx));
        let pushing = thread::spawn(move || {
            for number in 0..500_u64 {
                let mut entry = vec![number as u8; size];
                entry[..8].copy_from_slice(&number.to_ne_bytes());
                assert_eq!(c!(thalweg_records_push(other.get(), entry.as_ptr().cast())), Ok);
            }
            c!(thalweg_records_producer_free(other.get()));
        });
        let mut entry = vec![0; size];
        for number in 0..500_u64 {
            assert_eq!(c!(thalweg_records_pop(rest.get(), entry.as_mut_ptr().cast())), Ok);
            assert_eq!(entry[..8], number.to_ne_bytes());
            assert!(entry[8..].iter().all(|&byte| byte == number as u8));
        }
        pushing.join().unwrap();
        assert!(c!(thalweg_records_consumer_is_closed(rest.get())));
        assert_eq!(c!(thalweg_records_pop(rest.get(), entry.as_mut_ptr().cast())), Closed);
        c!(thalweg_records_consumer_free(rest.get()));
    }
}

#[test]
fn entries_are_written_and_read_in_place() {
    for (size, tx, rx) in records() {
        let (mut memory, mut count, mut grant) = (null_mut(), 0, std::mem::MaybeUninit::uninit());
        let mut open = |write: bool, wanted| {
            let status = match write {
                true => c!(thalweg_records_try_reserve(tx, wanted, &mut memory, &mut count, grant.as_mut_ptr())),
                false => c!(thalweg_records_try_read(rx, wanted, &mut memory, &mut count, grant.as_mut_ptr())),
            };
            (status == Ok).then(|| (memory.cast::<u8>(), count, c!(grant.assume_init()))).ok_or(status)
        };
        for round in 0..10 {
            let (entries, count, grant) = open(true, 3).unwrap();
            c!(entries.write_bytes(round, count * size));
            assert_eq!(c!(thalweg_records_commit(tx, grant, count + 1)), thalweg_queue_c::Status::Invalid);
            assert_eq!(open(false, 1).err(), Some(thalweg_queue_c::Status::Busy));
            assert_eq!(c!(thalweg_records_commit(tx, grant, 1)), Ok);
            let (entries, read, grant) = open(false, 100).unwrap();
            assert_eq!(read, 1, "the others are passed over");
            // SAFETY: so many bytes are there until the release.
            assert_eq!(unsafe { std::slice::from_raw_parts(entries, size) }, vec![round; size]);
            assert_eq!(c!(thalweg_records_release(rx, grant)), Ok);
            assert_eq!(open(false, 1).err(), Some(Empty));
        }
        c!(thalweg_records_consumer_free(rx));
        assert_eq!(open(true, 1).err(), Some(Closed));
        c!(thalweg_records_producer_free(tx));
    }
}

/// A grant waits for the other side: as long as was said, or until there is something.
#[test]
fn grants_wait() {
    for (size, tx, rx) in records().filter(|(size, ..)| matches!(size, 8 | 64)) {
        let (mut memory, mut count, mut grant) = (null_mut(), 0, std::mem::MaybeUninit::uninit());
        assert_eq!(c!(thalweg_records_read_timeout(rx, 1, &mut memory, &mut count, grant.as_mut_ptr(), 1000)), Timeout);
        let (entries, mut pushed) = (pattern(8 * size), 0);
        assert_eq!(c!(thalweg_records_try_push_many(tx, entries.as_ptr().cast(), 8, &mut pushed)), Ok);
        assert_eq!(
            c!(thalweg_records_reserve_timeout(tx, 1, &mut memory, &mut count, grant.as_mut_ptr(), 1000)),
            Timeout
        );
        let producer = Sent(tx);
        let pushing = thread::spawn(move || {
            let (mut memory, mut count, mut grant) = (null_mut(), 0, std::mem::MaybeUninit::uninit());
            for number in 0..100 {
                let tx = producer.get();
                let reserved = match number % 2 {
                    0 => c!(thalweg_records_reserve(tx, 1, &mut memory, &mut count, grant.as_mut_ptr())),
                    _ => c!(thalweg_records_reserve_timeout(
                        tx,
                        1,
                        &mut memory,
                        &mut count,
                        grant.as_mut_ptr(),
                        u64::MAX
                    )),
                };
                assert_eq!((reserved, count), (Ok, 1));
                c!(memory.cast::<u8>().write_bytes(number, size));
                assert_eq!(c!(thalweg_records_commit(tx, grant.assume_init(), 1)), Ok);
            }
            c!(thalweg_records_producer_free(producer.get()));
        });
        let expected: Vec<_> =
            entries.chunks(size).map(<[u8]>::to_vec).chain((0..100).map(|n| vec![n; size])).collect();
        for (number, expected) in expected.iter().enumerate() {
            let read = match number % 2 {
                0 => c!(thalweg_records_read(rx, 1, &mut memory, &mut count, grant.as_mut_ptr())),
                _ => c!(thalweg_records_read_timeout(rx, 1, &mut memory, &mut count, grant.as_mut_ptr(), u64::MAX)),
            };
            assert_eq!((read, count), (Ok, 1));
            // SAFETY: so many bytes are there until the release.
            assert_eq!(unsafe { std::slice::from_raw_parts(memory.cast::<u8>(), size) }, expected);
            assert_eq!(c!(thalweg_records_release(rx, grant.assume_init())), Ok);
        }
        pushing.join().unwrap();
        assert_eq!(c!(thalweg_records_read(rx, 1, &mut memory, &mut count, grant.as_mut_ptr())), Closed);
        c!(thalweg_records_consumer_free(rx));
    }
}

/// Nobody reads: the newest entries are there, the others are counted.
#[test]
fn old_entries_are_overwritten() {
    for (size, wait) in SIZES.into_iter().flat_map(|size| WAITS.map(|wait| (size, wait))) {
        let (mut tx, mut rx) = (null_mut(), null_mut());
        assert_eq!(c!(thalweg_records_new_drop_old(size, 2, 4, wait, &mut tx, &mut rx, null_mut(), 0)), Ok);
        let entries = pattern(19 * size);
        for entry in entries[..9 * size].chunks(size) {
            assert_eq!(c!(thalweg_records_try_push(tx, entry.as_ptr().cast())), Ok);
        }
        let mut pushed = 0;
        let many = entries[9 * size..].as_ptr().cast();
        assert_eq!((c!(thalweg_records_try_push_many(tx, many, 10, &mut pushed)), pushed), (Ok, 10));
        let mut entry = vec![0xAA; size];
        for expected in entries[12 * size..].chunks(size) {
            assert_eq!(c!(thalweg_records_try_pop(rx, entry.as_mut_ptr().cast())), Ok);
            assert_eq!(entry, expected);
        }
        assert_eq!(c!(thalweg_records_consumer_dropped(rx)), 12);
        assert_eq!(c!(thalweg_records_pop_timeout(rx, entry.as_mut_ptr().cast(), 1000)), Timeout);
        c!(thalweg_records_producer_free(tx));
        assert_eq!(c!(thalweg_records_pop(rx, entry.as_mut_ptr().cast())), Closed);
        c!(thalweg_records_consumer_free(rx));
        assert_eq!(c!(thalweg_records_consumer_dropped(null_mut())), 0);
    }
}

/// The same as an array, to memory that was never written.
#[test]
fn what_is_left_is_popped_as_an_array() {
    for size in SIZES {
        let (mut tx, mut rx) = (null_mut(), null_mut());
        assert_eq!(c!(thalweg_records_new_drop_old(size, 2, 200, 0, &mut tx, &mut rx, null_mut(), 0)), Ok);
        let entries = pattern(500 * size);
        let (mut pushed, mut popped) = (0, 0);
        let from = entries.as_ptr().cast();
        assert_eq!((c!(thalweg_records_try_push_many(tx, from, 500, &mut pushed)), pushed), (Ok, 500));
        let mut memory = Box::<[u8]>::new_uninit_slice(301 * size);
        memory[300 * size..].fill(MaybeUninit::new(0xAA));
        let to = memory.as_mut_ptr().cast();
        assert_eq!((c!(thalweg_records_try_pop_many(rx, to, 301, &mut popped)), popped), (Ok, 300));
        assert_eq!((c!(thalweg_records_try_pop_many(rx, to, 301, &mut popped)), popped), (Empty, 0));
        // SAFETY: the first entries were written by the pop, the last one above.
        let memory = unsafe { memory.assume_init() };
        assert_eq!(memory[..300 * size], entries[200 * size..]);
        assert!(memory[300 * size..].iter().all(|&byte| byte == 0xAA));
        c!(thalweg_records_producer_free(tx));
        c!(thalweg_records_consumer_free(rx));
    }
}
