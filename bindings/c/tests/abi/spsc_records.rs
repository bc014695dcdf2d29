//! Byte entries of one size, one to one.

use crate::{MORE, SIZES, Sent, WAITS, pattern};
use std::mem::MaybeUninit;
use std::ptr::null_mut;
use thalweg_queue_c::Status::{Closed, Empty, Full, Ok, Timeout};
use thalweg_queue_c::spsc_records::*;
use thalweg_sync::thread;
use thalweg_sync::time::Duration;

/// So many entries fit for certain, and at most so many.
const FIT: std::ops::RangeInclusive<usize> = 8..=8 + MORE;

/// Queues of both kinds for 8 entries, of each size, with every way of waiting.
fn records() -> impl Iterator<Item = (usize, *mut SpscRecordsProducer, *mut SpscRecordsConsumer)> {
    let ways = WAITS.into_iter().flat_map(|wait| [(wait, false), (wait, true)]);
    ways.flat_map(|way| SIZES.map(|size| (size, way))).map(|(size, (wait, blocks))| {
        let (mut tx, mut rx) = (null_mut(), null_mut());
        let built = match blocks {
            false => c!(thalweg_spsc_records_new(size, 8, wait, &mut tx, &mut rx, null_mut(), 0)),
            true => c!(thalweg_spsc_records_new_blocks(size, 2, 4, wait, &mut tx, &mut rx, null_mut(), 0)),
        };
        assert_eq!(built, Ok);
        (size, tx, rx)
    })
}

#[test]
fn every_byte_arrives_from_any_address() {
    for (size, tx, rx) in records() {
        assert_eq!(c!(thalweg_spsc_records_producer_entry_size(tx)), size);
        assert_eq!(c!(thalweg_spsc_records_consumer_entry_size(rx)), size);
        assert_eq!(c!(thalweg_spsc_records_producer_capacity(tx)), 8);
        assert_eq!(c!(thalweg_spsc_records_consumer_capacity(rx)), 8);
        let entries = pattern(9 * size + 1);
        let entry = |number: usize| entries[1 + number * size..].as_ptr().cast();
        for number in 0..8 {
            let pushed = match number % 3 {
                0 => c!(thalweg_spsc_records_try_push(tx, entry(number))),
                1 => c!(thalweg_spsc_records_push(tx, entry(number))),
                _ => c!(thalweg_spsc_records_push_timeout(tx, entry(number), 1000)),
            };
            assert_eq!(pushed, Ok);
            assert_eq!(c!(thalweg_spsc_records_consumer_len(rx)), number + 1);
        }
        let mut memory = vec![0_u8; size + 2];
        for number in 0..8 {
            memory.fill(0xAA);
            let place = memory[1..].as_mut_ptr().cast();
            let popped = match number % 3 {
                0 => c!(thalweg_spsc_records_try_pop(rx, place)),
                1 => c!(thalweg_spsc_records_pop(rx, place)),
                _ => c!(thalweg_spsc_records_pop_timeout(rx, place, 1000)),
            };
            assert_eq!(popped, Ok);
            assert_eq!(memory[1..=size], entries[1 + number * size..][..size]);
            assert_eq!((memory[0], memory[size + 1]), (0xAA, 0xAA), "written outside of the entry");
        }
        memory.fill(0xAA);
        let place = memory[1..].as_mut_ptr().cast();
        assert_eq!(c!(thalweg_spsc_records_try_pop(rx, place)), Empty);
        assert_eq!(c!(thalweg_spsc_records_pop_timeout(rx, place, 1000)), Timeout);
        assert!(memory.iter().all(|&byte| byte == 0xAA));
        c!(thalweg_spsc_records_producer_free(tx));
        assert_eq!(c!(thalweg_spsc_records_pop(rx, memory.as_mut_ptr().cast())), Closed);
        c!(thalweg_spsc_records_consumer_free(rx));
    }
}

#[test]
fn refused_when_full_and_when_closed() {
    for (size, tx, rx) in records() {
        let entry = vec![7_u8; size];
        let from = entry.as_ptr().cast();
        let mut pushed = 0;
        while c!(thalweg_spsc_records_try_push(tx, from)) == Ok {
            pushed += 1;
        }
        assert!(FIT.contains(&pushed));
        assert_eq!(c!(thalweg_spsc_records_try_push(tx, from)), Full);
        assert_eq!(c!(thalweg_spsc_records_push_timeout(tx, from, 1000)), Timeout);
        assert!(!c!(thalweg_spsc_records_producer_is_closed(tx)));
        c!(thalweg_spsc_records_consumer_free(rx));
        assert!(c!(thalweg_spsc_records_producer_is_closed(tx)));
        assert_eq!(c!(thalweg_spsc_records_try_push(tx, from)), Closed);
        assert_eq!(c!(thalweg_spsc_records_push(tx, from)), Closed);
        assert_eq!(c!(thalweg_spsc_records_push_timeout(tx, from, 1000)), Closed);
        assert_eq!((c!(thalweg_spsc_records_try_push_many(tx, from, 1, &mut pushed)), pushed), (Closed, 0));
        c!(thalweg_spsc_records_producer_free(tx));
    }
}

/// Popped to memory that was never written.
#[test]
fn batches_are_arrays() {
    for (size, tx, rx) in records() {
        let entries = pattern(50 * size);
        let (mut pushed, mut popped, mut none) = (0, 0, 9);
        let from = entries.as_ptr().cast();
        assert_eq!(c!(thalweg_spsc_records_try_push_many(tx, from, 50, &mut pushed)), Ok);
        assert!(FIT.contains(&pushed));
        assert_eq!((c!(thalweg_spsc_records_try_push_many(tx, from, 50, &mut none)), none), (Full, 0));
        let mut memory = Box::<[u8]>::new_uninit_slice(50 * size);
        memory[pushed * size..].fill(MaybeUninit::new(0xAA));
        let to = memory.as_mut_ptr().cast();
        assert_eq!((c!(thalweg_spsc_records_try_pop_many(rx, to, 5, &mut popped)), popped), (Ok, 5));
        c!(thalweg_spsc_records_producer_free(tx));
        assert!(c!(thalweg_spsc_records_consumer_is_closed(rx)));
        let rest = memory[5 * size..].as_mut_ptr().cast();
        assert_eq!((c!(thalweg_spsc_records_try_pop_many(rx, rest, 45, &mut popped)), popped), (Ok, pushed - 5));
        assert_eq!((c!(thalweg_spsc_records_try_pop_many(rx, rest, 45, &mut popped)), popped), (Closed, 0));
        // SAFETY: the first entries were written by the pops, the others above.
        let memory = unsafe { memory.assume_init() };
        assert_eq!(memory[..pushed * size], entries[..pushed * size]);
        assert!(memory[pushed * size..].iter().all(|&byte| byte == 0xAA));
        c!(thalweg_spsc_records_consumer_free(rx));
    }
}

#[test]
fn threads_wait_and_lose_nothing() {
    for (size, tx, rx) in records().filter(|(size, ..)| matches!(size, 8 | 64)) {
        let producer = Sent(tx);
        let pushing = thread::spawn(move || {
            for number in 0..500_u64 {
                let mut entry = vec![number as u8; size];
                entry[..8].copy_from_slice(&number.to_ne_bytes());
                assert_eq!(c!(thalweg_spsc_records_push(producer.get(), entry.as_ptr().cast())), Ok);
            }
            thread::sleep(Duration::from_millis(5)); // the consumer is waiting when this closes the queue
            c!(thalweg_spsc_records_producer_free(producer.get()));
        });
        let mut entry = vec![0_u8; size];
        for number in 0..500_u64 {
            assert_eq!(c!(thalweg_spsc_records_pop(rx, entry.as_mut_ptr().cast())), Ok);
            assert_eq!(entry[..8], number.to_ne_bytes());
            assert!(entry[8..].iter().all(|&byte| byte == number as u8));
        }
        assert_eq!(c!(thalweg_spsc_records_pop(rx, entry.as_mut_ptr().cast())), Closed);
        pushing.join().unwrap();
        c!(thalweg_spsc_records_consumer_free(rx));
    }
}
