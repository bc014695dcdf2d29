//! Byte entries in place, where an end is the only one of its side.

use crate::{MORE, SIZES, Sent, WAITS, pattern};
use std::ffi::c_void;
use std::ptr::null_mut;
use thalweg_queue_c::Status::{self, Closed, Empty, Full, Invalid, Ok, Timeout};
use thalweg_queue_c::records::*;
use thalweg_queue_c::spsc_records::*;
use thalweg_sync::thread;

/// Both queues for one and one, of 8 entries, of each size, with every way of waiting, and how many entries one grant has.
fn one_to_one() -> impl Iterator<Item = (usize, usize, *mut SpscRecordsProducer, *mut SpscRecordsConsumer)> {
    let ways = WAITS.into_iter().flat_map(|wait| [(wait, false), (wait, true)]);
    ways.flat_map(|way| SIZES.map(|size| (size, way))).map(|(size, (wait, blocks))| {
        let (mut tx, mut rx) = (null_mut(), null_mut());
        let built = match blocks {
            false => c!(thalweg_spsc_records_new(size, 8, wait, &mut tx, &mut rx, null_mut(), 0)),
            true => c!(thalweg_spsc_records_new_blocks(size, 2, 4, wait, &mut tx, &mut rx, null_mut(), 0)),
        };
        assert_eq!(built, Ok);
        (size, if blocks { 4 } else { 1 }, tx, rx)
    })
}

fn reserve(tx: *mut SpscRecordsProducer, wanted: usize) -> Result<(*mut u8, usize), Status> {
    let (mut entries, mut granted) = (null_mut(), 0);
    let status = c!(thalweg_spsc_records_try_reserve(tx, wanted, &mut entries, &mut granted));
    (status == Ok).then_some((entries.cast(), granted)).ok_or(status)
}

fn read(rx: *mut SpscRecordsConsumer, size: usize, wanted: usize) -> Result<Vec<u8>, Status> {
    let (mut entries, mut granted) = (null_mut(), 0);
    let status = c!(thalweg_spsc_records_try_read(rx, wanted, &mut entries, &mut granted));
    // SAFETY: so many entries are there until the release.
    (status == Ok).then(|| unsafe { in_memory(entries, granted * size) }).ok_or(status)
}

unsafe fn in_memory(entries: *mut c_void, bytes: usize) -> Vec<u8> {
    // SAFETY: the caller's promise.
    unsafe { std::slice::from_raw_parts(entries.cast::<u8>(), bytes) }.to_vec()
}

#[test]
fn entries_are_written_and_read_in_place() {
    for (size, most, tx, rx) in one_to_one() {
        let entries = pattern(4 * size);
        assert_eq!(read(rx, size, 1), Err(Empty));
        // Round the ring, and whole blocks each time.
        for _ in 0..6 {
            let (memory, granted) = reserve(tx, 9).unwrap();
            assert_eq!(granted, most);
            c!(memory.copy_from_nonoverlapping(entries.as_ptr(), granted * size));
            assert_eq!(read(rx, size, 1), Err(Empty), "not in the queue before the commit");
            assert_eq!(c!(thalweg_spsc_records_commit(tx, granted + 1)), Invalid);
            assert_eq!(c!(thalweg_spsc_records_commit(tx, granted)), Ok);
            assert_eq!(c!(thalweg_spsc_records_commit(tx, 1)), Invalid, "nothing is reserved any more");
            assert_eq!(read(rx, size, 9).unwrap(), entries[..granted * size]);
            assert_eq!(c!(thalweg_spsc_records_consumer_len(rx)), granted, "in the queue until the release");
            assert_eq!(c!(thalweg_spsc_records_release(rx, granted + 1)), Invalid);
            assert_eq!(c!(thalweg_spsc_records_release(rx, granted)), Ok);
            assert_eq!(c!(thalweg_spsc_records_release(rx, 1)), Invalid, "nothing is being read any more");
            assert_eq!(c!(thalweg_spsc_records_consumer_len(rx)), 0);
        }
        c!(thalweg_spsc_records_consumer_free(rx));
        assert_eq!(reserve(tx, 1), Err(Closed));
        c!(thalweg_spsc_records_producer_free(tx));
    }
}

/// What was reserved or read and not ended was never asked for, and a push or a pop ends it.
#[test]
fn what_is_not_ended_is_as_before() {
    for (size, most, tx, rx) in one_to_one() {
        let entries = pattern(3 * size);
        let (first, second) = (entries[..size].as_ptr().cast(), entries[size..].as_ptr().cast());
        let (memory, _) = reserve(tx, 1).unwrap();
        c!(memory.write_bytes(0xAA, size));
        assert_eq!(c!(thalweg_spsc_records_commit(tx, 0)), Ok);
        let (memory, _) = reserve(tx, 1).unwrap();
        c!(memory.write_bytes(0xAA, size));
        assert_eq!(c!(thalweg_spsc_records_push(tx, first)), Ok);
        assert_eq!(c!(thalweg_spsc_records_commit(tx, 1)), Invalid, "the push has taken the entry");
        assert_eq!(c!(thalweg_spsc_records_push(tx, second)), Ok);
        assert_eq!(c!(thalweg_spsc_records_consumer_len(rx)), 2);

        let mut out = vec![0; size];
        assert_eq!(read(rx, size, 2).unwrap(), entries[..most.min(2) * size]);
        assert_eq!(read(rx, size, 1).unwrap(), entries[..size], "the same again");
        assert_eq!(c!(thalweg_spsc_records_release(rx, 0)), Ok);
        assert_eq!(read(rx, size, 1).unwrap(), entries[..size]);
        assert_eq!(c!(thalweg_spsc_records_try_pop(rx, out.as_mut_ptr().cast())), Ok);
        assert_eq!(out, entries[..size]);
        assert_eq!(c!(thalweg_spsc_records_release(rx, 1)), Invalid, "the pop has taken the entry");
        assert_eq!(read(rx, size, 1).unwrap(), entries[size..2 * size]);
        assert_eq!(c!(thalweg_spsc_records_release(rx, 1)), Ok);
        assert_eq!(read(rx, size, 1), Err(Empty));
        c!(thalweg_spsc_records_producer_free(tx));
        assert_eq!(read(rx, size, 1), Err(Closed));
        c!(thalweg_spsc_records_consumer_free(rx));
    }
}

#[test]
fn grants_wait() {
    for (size, _, tx, rx) in one_to_one().filter(|(size, ..)| matches!(size, 8 | 64)) {
        let (mut entries, mut granted) = (null_mut(), 0);
        assert_eq!(c!(thalweg_spsc_records_read_timeout(rx, 1, &mut entries, &mut granted, 1000)), Timeout);
        let mut fit = 0_u8;
        while reserve(tx, 1).map(|(memory, _)| c!(memory.write_bytes(fit, size))) != Err(Full) {
            assert_eq!(c!(thalweg_spsc_records_commit(tx, 1)), Ok);
            fit += 1;
        }
        assert!((8..=8 + MORE).contains(&usize::from(fit)));
        assert_eq!(c!(thalweg_spsc_records_reserve_timeout(tx, 1, &mut entries, &mut granted, 1000)), Timeout);
        let producer = Sent(tx);
        let pushing = thread::spawn(move || {
            let (mut entries, mut granted) = (null_mut(), 0);
            for number in fit..200 {
                let tx = producer.get();
                let reserved = match number % 2 {
                    0 => c!(thalweg_spsc_records_reserve(tx, 1, &mut entries, &mut granted)),
                    _ => c!(thalweg_spsc_records_reserve_timeout(tx, 1, &mut entries, &mut granted, u64::MAX)),
                };
                assert_eq!((reserved, granted), (Ok, 1));
                c!(entries.cast::<u8>().write_bytes(number, size));
                assert_eq!(c!(thalweg_spsc_records_commit(tx, 1)), Ok);
            }
            c!(thalweg_spsc_records_producer_free(producer.get()));
        });
        for number in 0..200 {
            let reading = match number % 2 {
                0 => c!(thalweg_spsc_records_read(rx, 1, &mut entries, &mut granted)),
                _ => c!(thalweg_spsc_records_read_timeout(rx, 1, &mut entries, &mut granted, u64::MAX)),
            };
            assert_eq!((reading, granted), (Ok, 1));
            assert_eq!(c!(in_memory(entries, size)), vec![number; size]);
            assert_eq!(c!(thalweg_spsc_records_release(rx, 1)), Ok);
        }
        pushing.join().unwrap();
        assert_eq!(c!(thalweg_spsc_records_read(rx, 1, &mut entries, &mut granted)), Closed);
        c!(thalweg_spsc_records_consumer_free(rx));
    }
}

/// The one end of a queue that has many on the other side.
#[test]
fn the_one_end_of_a_sided_queue_writes_and_reads_in_place() {
    for size in SIZES {
        let (entries, mut out) = (pattern(3 * size), vec![0; size]);
        let (mut tx, mut rx) = (null_mut(), null_mut());
        assert_eq!(c!(thalweg_records_new_mpsc(size, 2, 4, 0, &mut tx, &mut rx, null_mut(), 0)), Ok);
        let mut count = 0;
        assert_eq!(c!(thalweg_records_try_push_many(tx, entries.as_ptr().cast(), 3, &mut count)), Ok);
        assert_eq!(read(rx, size, 9).unwrap(), entries);
        assert_eq!(c!(thalweg_spsc_records_release(rx, 2)), Ok);
        assert_eq!(c!(thalweg_spsc_records_try_pop(rx, out.as_mut_ptr().cast())), Ok);
        assert_eq!(out, entries[2 * size..]);
        c!(thalweg_records_producer_free(tx));
        assert_eq!(read(rx, size, 1), Err(Closed));
        c!(thalweg_spsc_records_consumer_free(rx));

        let (mut tx, mut rx) = (null_mut(), null_mut());
        assert_eq!(c!(thalweg_records_new_spmc(size, 2, 4, 0, &mut tx, &mut rx, null_mut(), 0)), Ok);
        let (memory, granted) = reserve(tx, 9).unwrap();
        assert_eq!(granted, 4);
        c!(memory.copy_from_nonoverlapping(entries.as_ptr(), 3 * size));
        assert_eq!(c!(thalweg_spsc_records_commit(tx, 2)), Ok);
        assert_eq!(c!(thalweg_records_consumer_len(rx)), 2);
        for expected in entries.chunks(size).take(2) {
            assert_eq!(c!(thalweg_records_try_pop(rx, out.as_mut_ptr().cast())), Ok);
            assert_eq!(out, expected);
        }
        c!(thalweg_records_consumer_free(rx));
        assert_eq!(reserve(tx, 1), Err(Closed));
        c!(thalweg_spsc_records_producer_free(tx));
    }
}

#[test]
fn null_is_refused_and_ends_nothing() {
    let (mut entries, mut granted) = (null_mut(), 9);
    let nobody = [
        c!(thalweg_spsc_records_try_reserve(null_mut(), 1, &mut entries, &mut granted)),
        c!(thalweg_spsc_records_reserve(null_mut(), 1, &mut entries, &mut granted)),
        c!(thalweg_spsc_records_reserve_timeout(null_mut(), 1, &mut entries, &mut granted, 0)),
        c!(thalweg_spsc_records_commit(null_mut(), 0)),
        c!(thalweg_spsc_records_try_read(null_mut(), 1, &mut entries, &mut granted)),
        c!(thalweg_spsc_records_read(null_mut(), 1, &mut entries, &mut granted)),
        c!(thalweg_spsc_records_read_timeout(null_mut(), 1, &mut entries, &mut granted, 0)),
        c!(thalweg_spsc_records_release(null_mut(), 0)),
    ];
    assert_eq!((nobody, granted), ([Invalid; 8], 9));
    for (size, _, tx, rx) in one_to_one() {
        let (memory, _) = reserve(tx, 1).unwrap();
        assert_eq!(c!(thalweg_spsc_records_try_reserve(tx, 1, null_mut(), &mut granted)), Invalid);
        assert_eq!(c!(thalweg_spsc_records_reserve(tx, 1, &mut entries, null_mut())), Invalid);
        c!(memory.write_bytes(7, size));
        assert_eq!(c!(thalweg_spsc_records_commit(tx, 1)), Ok);
        assert_eq!(read(rx, size, 1).unwrap(), vec![7; size]);
        assert_eq!(c!(thalweg_spsc_records_try_read(rx, 1, null_mut(), &mut granted)), Invalid);
        assert_eq!(c!(thalweg_spsc_records_read(rx, 1, &mut entries, null_mut())), Invalid);
        assert_eq!(c!(thalweg_spsc_records_release(rx, 1)), Ok);
        c!(thalweg_spsc_records_producer_free(tx));
        c!(thalweg_spsc_records_consumer_free(rx));
    }
}
