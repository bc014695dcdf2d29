//! Many producers and one consumer, one producer and many consumers: pointers, and byte entries.

use crate::{SIZES, Sent, WAITS, item, pattern};
use std::ptr::null_mut;
use thalweg_queue_c::Status::{Closed, Empty, Full, Invalid, Ok, Timeout};
use thalweg_queue_c::bbq::*;
use thalweg_queue_c::records::*;
use thalweg_queue_c::spsc::*;
use thalweg_queue_c::spsc_records::*;
use thalweg_sync::thread;

/// For 16 pointers and one consumer, with every way of waiting.
fn mpsc() -> impl Iterator<Item = (*mut BbqProducer, *mut SpscConsumer)> {
    WAITS.into_iter().map(|wait| {
        let (mut tx, mut rx) = (null_mut(), null_mut());
        assert_eq!(c!(thalweg_bbq_new_mpsc(2, 8, wait, &mut tx, &mut rx, null_mut(), 0)), Ok);
        (tx, rx)
    })
}

/// For 16 pointers and one producer, with every way of waiting.
fn spmc() -> impl Iterator<Item = (*mut SpscProducer, *mut BbqConsumer)> {
    WAITS.into_iter().map(|wait| {
        let (mut tx, mut rx) = (null_mut(), null_mut());
        assert_eq!(c!(thalweg_bbq_new_spmc(2, 8, wait, &mut tx, &mut rx, null_mut(), 0)), Ok);
        (tx, rx)
    })
}

#[test]
fn one_consumer_pops_in_order_what_many_push() {
    for (tx, rx) in mpsc() {
        let other = c!(thalweg_bbq_producer_clone(tx));
        assert_eq!((c!(thalweg_bbq_producer_capacity(tx)), c!(thalweg_spsc_consumer_capacity(rx))), (16, 16));
        for number in 0..16 {
            let tx = if number % 2 == 0 { tx } else { other };
            assert_eq!(c!(thalweg_bbq_try_push(tx, item(number))), Ok); // the first is NULL
        }
        assert_eq!((c!(thalweg_bbq_producer_len(tx)), c!(thalweg_spsc_consumer_len(rx))), (16, 16));
        assert_eq!(c!(thalweg_bbq_try_push(tx, item(99))), Full);
        let mut popped = item(99);
        assert_eq!((c!(thalweg_spsc_try_pop(rx, &mut popped)), popped), (Ok, item(0)));
        let (mut places, mut count) = ([item(99); 20], 0);
        assert_eq!((c!(thalweg_spsc_try_pop_many(rx, places.as_mut_ptr(), 20, &mut count)), count), (Ok, 15));
        assert!(places[..15].iter().copied().eq((1..16).map(item)));
        assert_eq!(c!(thalweg_spsc_try_pop(rx, &mut popped)), Empty);
        assert_eq!(c!(thalweg_spsc_pop_timeout(rx, &mut popped, 1000)), Timeout);
        c!(thalweg_bbq_producer_free(tx));
        assert!(!c!(thalweg_spsc_consumer_is_closed(rx)));
        c!(thalweg_bbq_producer_free(other));
        assert!(c!(thalweg_spsc_consumer_is_closed(rx)));
        assert_eq!(c!(thalweg_spsc_pop(rx, &mut popped)), Closed);
        c!(thalweg_spsc_consumer_free(rx));
    }
    for (tx, rx) in mpsc() {
        c!(thalweg_spsc_consumer_free(rx));
        assert!(c!(thalweg_bbq_producer_is_closed(tx)));
        assert_eq!(c!(thalweg_bbq_push(tx, item(8))), Closed);
        c!(thalweg_bbq_producer_free(tx));
    }
}

#[test]
fn many_consumers_pop_in_order_what_one_pushes() {
    for (tx, rx) in spmc() {
        let other = c!(thalweg_bbq_consumer_clone(rx));
        assert_eq!((c!(thalweg_spsc_producer_capacity(tx)), c!(thalweg_bbq_consumer_capacity(rx))), (16, 16));
        assert_eq!(c!(thalweg_spsc_try_push(tx, null_mut())), Invalid);
        assert_eq!(c!(thalweg_spsc_try_push(tx, item(1))), Ok);
        let (items, mut count): (Vec<_>, _) = ((2..22).map(item).collect(), 0);
        assert_eq!((c!(thalweg_spsc_try_push_many(tx, items.as_ptr(), 20, &mut count)), count), (Ok, 15));
        assert_eq!(c!(thalweg_spsc_try_push(tx, item(99))), Full);
        assert_eq!(c!(thalweg_spsc_push_timeout(tx, item(99), 1000)), Timeout);
        assert_eq!(c!(thalweg_bbq_consumer_len(other)), 16);
        for number in 1..=16 {
            let rx = if number % 2 == 0 { rx } else { other };
            let mut popped = item(99);
            assert_eq!((c!(thalweg_bbq_try_pop(rx, &mut popped)), popped), (Ok, item(number)));
        }
        c!(thalweg_bbq_consumer_free(rx));
        assert!(!c!(thalweg_spsc_producer_is_closed(tx)));
        assert_eq!(c!(thalweg_spsc_push(tx, item(8))), Ok);
        c!(thalweg_spsc_producer_free(tx));
        assert!(c!(thalweg_bbq_consumer_is_closed(other)));
        let mut popped = item(99);
        assert_eq!((c!(thalweg_bbq_pop(other, &mut popped)), popped), (Ok, item(8)));
        assert_eq!(c!(thalweg_bbq_pop(other, &mut popped)), Closed);
        c!(thalweg_bbq_consumer_free(other));
    }
    for (tx, rx) in spmc() {
        c!(thalweg_bbq_consumer_free(rx));
        assert!(c!(thalweg_spsc_producer_is_closed(tx)));
        assert_eq!(c!(thalweg_spsc_push(tx, item(8))), Closed);
        c!(thalweg_spsc_producer_free(tx));
    }
}

/// The producers use one handle at the same time, which is freed when they are done.
#[test]
fn threads_push_to_one_consumer() {
    for (tx, rx) in mpsc() {
        let producers: Vec<_> = (0..3)
            .map(|of| {
                let tx = Sent(tx);
                thread::spawn(move || {
                    for number in 0..500 {
                        assert_eq!(c!(thalweg_bbq_push(tx.get(), item(of * 500 + number))), Ok);
                    }
                })
            })
            .collect();
        let mut next = [0, 500, 1000];
        for _ in 0..1500 {
            let mut popped = null_mut();
            assert_eq!(c!(thalweg_spsc_pop(rx, &mut popped)), Ok);
            let of = popped.addr() / 500;
            assert_eq!(popped.addr(), next[of], "a producer's items come in their order");
            next[of] += 1;
        }
        producers.into_iter().for_each(|producer| producer.join().unwrap());
        c!(thalweg_bbq_producer_free(tx));
        assert_eq!(c!(thalweg_spsc_pop(rx, &mut null_mut())), Closed);
        c!(thalweg_spsc_consumer_free(rx));
    }
}

/// The consumers use one handle at the same time, which is freed when they are done.
#[test]
fn threads_pop_from_one_producer() {
    for (tx, rx) in spmc() {
        let consumers: Vec<_> = (0..3)
            .map(|_| {
                let rx = Sent(rx);
                thread::spawn(move || {
                    let (mut got, mut popped) = (Vec::new(), null_mut());
                    while c!(thalweg_bbq_pop(rx.get(), &mut popped)) == Ok {
                        got.push(popped.addr());
                    }
                    got
                })
            })
            .collect();
        for number in 1..=1500 {
            assert_eq!(c!(thalweg_spsc_push(tx, item(number))), Ok);
        }
        c!(thalweg_spsc_producer_free(tx));
        let mut all = Vec::new();
        for consumer in consumers {
            let got = consumer.join().unwrap();
            assert!(got.is_sorted(), "a consumer sees the items in their order");
            all.extend(got);
        }
        all.sort_unstable();
        assert!(all.into_iter().eq(1..=1500));
        c!(thalweg_bbq_consumer_free(rx));
    }
}

/// Singly, as arrays and waiting, of each size, with every way of waiting.
#[test]
fn every_byte_of_an_entry_arrives_on_one_side_and_on_many() {
    for (size, wait) in SIZES.into_iter().flat_map(|size| WAITS.map(|wait| (size, wait))) {
        let entries = pattern(8 * size);
        let from = |number: usize| entries[number * size..].as_ptr().cast();
        let mut count = 0;

        let (mut tx, mut rx, mut out) = (null_mut(), null_mut(), vec![0xAA; 8 * size]);
        let to = |out: &mut Vec<u8>, number: usize| out[number * size..].as_mut_ptr().cast();
        assert_eq!(c!(thalweg_records_new_mpsc(size, 2, 4, wait, &mut tx, &mut rx, null_mut(), 0)), Ok);
        let other = c!(thalweg_records_producer_clone(tx));
        assert_eq!(
            (c!(thalweg_records_producer_entry_size(tx)), c!(thalweg_spsc_records_consumer_entry_size(rx))),
            (size, size)
        );
        assert_eq!(c!(thalweg_records_try_push(tx, from(0))), Ok);
        assert_eq!(c!(thalweg_records_push(other, from(1))), Ok);
        assert_eq!((c!(thalweg_records_try_push_many(other, from(2), 6, &mut count)), count), (Ok, 6));
        assert_eq!(c!(thalweg_records_try_push(tx, from(0))), Full);
        assert_eq!((c!(thalweg_records_producer_len(tx)), c!(thalweg_spsc_records_consumer_len(rx))), (8, 8));
        c!(thalweg_records_producer_free(tx));
        c!(thalweg_records_producer_free(other));
        assert_eq!(c!(thalweg_spsc_records_try_pop(rx, to(&mut out, 0))), Ok);
        assert_eq!(c!(thalweg_spsc_records_pop(rx, to(&mut out, 1))), Ok);
        assert_eq!((c!(thalweg_spsc_records_try_pop_many(rx, to(&mut out, 2), 9, &mut count)), count), (Ok, 6));
        assert_eq!(c!(thalweg_spsc_records_pop(rx, to(&mut out, 0))), Closed);
        assert_eq!(out, entries);
        c!(thalweg_spsc_records_consumer_free(rx));

        let (mut tx, mut rx, mut out) = (null_mut(), null_mut(), vec![0xAA; 8 * size]);
        assert_eq!(c!(thalweg_records_new_spmc(size, 2, 4, wait, &mut tx, &mut rx, null_mut(), 0)), Ok);
        let other = c!(thalweg_records_consumer_clone(rx));
        assert_eq!(
            (c!(thalweg_spsc_records_producer_entry_size(tx)), c!(thalweg_records_consumer_entry_size(rx))),
            (size, size)
        );
        assert_eq!(c!(thalweg_spsc_records_try_push(tx, from(0))), Ok);
        assert_eq!(c!(thalweg_spsc_records_push(tx, from(1))), Ok);
        assert_eq!((c!(thalweg_spsc_records_try_push_many(tx, from(2), 6, &mut count)), count), (Ok, 6));
        assert_eq!(c!(thalweg_spsc_records_push_timeout(tx, from(0), 1000)), Timeout);
        assert_eq!((c!(thalweg_records_consumer_len(rx)), c!(thalweg_records_consumer_dropped(rx))), (8, 0));
        c!(thalweg_spsc_records_producer_free(tx));
        assert_eq!(c!(thalweg_records_try_pop(rx, to(&mut out, 0))), Ok);
        assert_eq!(c!(thalweg_records_pop(other, to(&mut out, 1))), Ok);
        assert_eq!((c!(thalweg_records_try_pop_many(rx, to(&mut out, 2), 9, &mut count)), count), (Ok, 6));
        assert_eq!(c!(thalweg_records_pop(other, to(&mut out, 0))), Closed);
        assert_eq!(out, entries);
        c!(thalweg_records_consumer_free(rx));
        c!(thalweg_records_consumer_free(other));
    }
}

/// Of the side that is many, with the other one alone.
#[test]
fn entries_are_written_and_read_in_place_where_ends_are_many() {
    for size in SIZES {
        let (mut memory, mut count, mut grant) = (null_mut(), 0, std::mem::MaybeUninit::uninit());
        let mut entry = vec![0xAA; size];

        let (mut tx, mut rx) = (null_mut(), null_mut());
        assert_eq!(c!(thalweg_records_new_mpsc(size, 2, 4, 0, &mut tx, &mut rx, null_mut(), 0)), Ok);
        assert_eq!(c!(thalweg_records_try_reserve(tx, 3, &mut memory, &mut count, grant.as_mut_ptr())), Ok);
        c!(memory.cast::<u8>().write_bytes(7, size));
        assert_eq!(c!(thalweg_records_commit(tx, grant.assume_init(), 1)), Ok);
        assert_eq!(c!(thalweg_spsc_records_try_pop(rx, entry.as_mut_ptr().cast())), Ok);
        assert_eq!(entry, vec![7; size]);
        assert_eq!(c!(thalweg_spsc_records_try_pop(rx, entry.as_mut_ptr().cast())), Empty);
        c!(thalweg_records_producer_free(tx));
        c!(thalweg_spsc_records_consumer_free(rx));

        let (mut tx, mut rx) = (null_mut(), null_mut());
        assert_eq!(c!(thalweg_records_new_spmc(size, 2, 4, 0, &mut tx, &mut rx, null_mut(), 0)), Ok);
        assert_eq!(c!(thalweg_spsc_records_push(tx, entry.as_ptr().cast())), Ok);
        assert_eq!(c!(thalweg_records_try_read(rx, 3, &mut memory, &mut count, grant.as_mut_ptr())), Ok);
        assert_eq!(count, 1);
        // SAFETY: so many bytes are there until the release.
        assert_eq!(unsafe { std::slice::from_raw_parts(memory.cast::<u8>(), size) }, entry);
        assert_eq!(c!(thalweg_records_release(rx, grant.assume_init())), Ok);
        c!(thalweg_spsc_records_producer_free(tx));
        c!(thalweg_records_consumer_free(rx));
    }
}
