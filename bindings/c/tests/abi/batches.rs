//! Batches that wait: for room for all of them, or for the first.

use crate::{MORE, Sent, WAITS, item, pattern};
use std::ptr::{null, null_mut};
use thalweg_queue_c::Status::{Closed, Invalid, Ok, Timeout};
use thalweg_queue_c::bbq::*;
use thalweg_queue_c::records::*;
use thalweg_queue_c::spsc::*;
use thalweg_queue_c::spsc_records::*;
use thalweg_sync::thread;

/// A test of queues of pointers: how they are built, for 16 items and a few more at most, and their functions.
macro_rules! pointers {
    ($name:ident: $build:expr, $push_many:ident $push_in_time:ident $free_tx:ident, $pop_many:ident $pop_in_time:ident $free_rx:ident) => {
        #[test]
        fn $name() {
            for wait in WAITS {
                let (mut tx, mut rx) = (null_mut(), null_mut());
                assert_eq!($build(wait, &mut tx, &mut rx), Ok);
                let (items, mut pushed, mut popped): (Vec<_>, _, _) = ((1..=200).map(item).collect(), 9, 9);
                let mut out = [null_mut(); 200];
                assert_eq!((c!($pop_in_time(rx, out.as_mut_ptr(), 5, &mut popped, 1000)), popped), (Timeout, 0));
                assert_eq!((c!($pop_many(rx, null_mut(), 0, &mut popped)), popped), (Ok, 0));
                assert_eq!((c!($push_many(tx, null(), 0, &mut pushed)), pushed), (Ok, 0));
                assert_eq!(c!($push_in_time(tx, items.as_ptr(), 100, &mut pushed, 1000)), Timeout);
                assert!((16..=16 + MORE).contains(&pushed), "what fits is pushed, and counted");
                let producer = Sent(tx);
                let rest = pushed;
                let pushing = thread::spawn(move || {
                    let items: Vec<_> = (rest + 1..=200).map(item).collect();
                    let (first, second) = items.split_at(50);
                    let mut pushed = 0;
                    assert_eq!((c!($push_many(producer.get(), first.as_ptr(), 50, &mut pushed)), pushed), (Ok, 50));
                    let (from, count) = (second.as_ptr(), second.len());
                    let in_time = c!($push_in_time(producer.get(), from, count, &mut pushed, u64::MAX));
                    assert_eq!((in_time, pushed), (Ok, count));
                    c!($free_tx(producer.get()));
                });
                let mut all = 0;
                while all < 200 {
                    let (to, left) = (out[all..].as_mut_ptr(), 7.min(200 - all));
                    let popping = match all % 2 {
                        0 => c!($pop_many(rx, to, left, &mut popped)),
                        _ => c!($pop_in_time(rx, to, left, &mut popped, u64::MAX)),
                    };
                    assert!(popping == Ok && (1..=left).contains(&popped));
                    all += popped;
                }
                assert_eq!(out[..], items[..]);
                pushing.join().unwrap();
                assert_eq!((c!($pop_many(rx, out.as_mut_ptr(), 5, &mut popped)), popped), (Closed, 0));
                c!($free_rx(rx));

                // What is not pushed when the last consumer goes is told from what is.
                let (mut tx, mut rx) = (null_mut(), null_mut());
                assert_eq!($build(wait, &mut tx, &mut rx), Ok);
                let consumer = Sent(rx);
                let leaving = thread::spawn(move || {
                    let mut popped = 0;
                    assert_eq!(c!($pop_many(consumer.get(), [null_mut(); 1].as_mut_ptr(), 1, &mut popped)), Ok);
                    c!($free_rx(consumer.get()));
                });
                assert_eq!(c!($push_many(tx, items.as_ptr(), 200, &mut pushed)), Closed);
                assert!((1..=40).contains(&pushed));
                leaving.join().unwrap();
                assert_eq!((c!($push_many(tx, items.as_ptr(), 200, &mut pushed)), pushed), (Closed, 0));
                assert_eq!((c!($push_in_time(tx, items.as_ptr(), 200, &mut pushed, 1000)), pushed), (Closed, 0));

                pushed = 9;
                assert_eq!((c!($push_many(tx, null(), 1, &mut pushed)), pushed), (Invalid, 0));
                assert_eq!(c!($push_many(tx, items.as_ptr(), 1, null_mut())), Invalid);
                c!($free_tx(tx));
                pushed = 9;
                popped = 9;
                assert_eq!((c!($push_many(null_mut(), items.as_ptr(), 1, &mut pushed)), pushed), (Invalid, 0));
                assert_eq!((c!($pop_many(null_mut(), out.as_mut_ptr(), 1, &mut popped)), popped), (Invalid, 0));
                assert_eq!(c!($push_in_time(null_mut(), items.as_ptr(), 1, &mut pushed, 0)), Invalid);
                assert_eq!(c!($pop_in_time(null_mut(), out.as_mut_ptr(), 1, &mut popped, 0)), Invalid);
            }
        }
    };
}

pointers!(one_to_one: |wait, tx, rx| c!(thalweg_spsc_new(16, wait, tx, rx, null_mut(), 0)),
    thalweg_spsc_push_many thalweg_spsc_push_many_timeout thalweg_spsc_producer_free,
    thalweg_spsc_pop_many thalweg_spsc_pop_many_timeout thalweg_spsc_consumer_free);
pointers!(one_to_one_in_blocks: |wait, tx, rx| c!(thalweg_spsc_new_blocks(2, 8, wait, tx, rx, null_mut(), 0)),
    thalweg_spsc_push_many thalweg_spsc_push_many_timeout thalweg_spsc_producer_free,
    thalweg_spsc_pop_many thalweg_spsc_pop_many_timeout thalweg_spsc_consumer_free);
pointers!(many_to_many: |wait, tx, rx| c!(thalweg_bbq_new(2, 8, wait, tx, rx, null_mut(), 0)),
    thalweg_bbq_push_many thalweg_bbq_push_many_timeout thalweg_bbq_producer_free,
    thalweg_bbq_pop_many thalweg_bbq_pop_many_timeout thalweg_bbq_consumer_free);
pointers!(many_to_one: |wait, tx, rx| c!(thalweg_bbq_new_mpsc(2, 8, wait, tx, rx, null_mut(), 0)),
    thalweg_bbq_push_many thalweg_bbq_push_many_timeout thalweg_bbq_producer_free,
    thalweg_spsc_pop_many thalweg_spsc_pop_many_timeout thalweg_spsc_consumer_free);
pointers!(one_to_many: |wait, tx, rx| c!(thalweg_bbq_new_spmc(2, 8, wait, tx, rx, null_mut(), 0)),
    thalweg_spsc_push_many thalweg_spsc_push_many_timeout thalweg_spsc_producer_free,
    thalweg_bbq_pop_many thalweg_bbq_pop_many_timeout thalweg_bbq_consumer_free);

#[test]
fn a_batch_with_null_is_refused_whole() {
    let (mut tx, mut rx) = (null_mut(), null_mut());
    assert_eq!(c!(thalweg_spsc_new(16, 0, &mut tx, &mut rx, null_mut(), 0)), Ok);
    let (items, mut pushed) = ([item(1), null_mut()], 9);
    assert_eq!((c!(thalweg_spsc_push_many(tx, items.as_ptr(), 2, &mut pushed)), pushed), (Invalid, 0));
    assert_eq!((c!(thalweg_spsc_push_many_timeout(tx, items.as_ptr(), 2, &mut pushed, 0)), pushed), (Invalid, 0));
    assert_eq!(c!(thalweg_spsc_consumer_len(rx)), 0);
    c!(thalweg_spsc_producer_free(tx));
    c!(thalweg_spsc_consumer_free(rx));
}

/// A test of queues of byte entries, in the same manner.
macro_rules! records {
    ($name:ident: $build:expr, $push_many:ident $push_in_time:ident $free_tx:ident, $pop_many:ident $pop_in_time:ident $free_rx:ident) => {
        #[test]
        fn $name() {
            for (size, wait) in [4, 64].into_iter().flat_map(|size| WAITS.map(|wait| (size, wait))) {
                let (mut tx, mut rx) = (null_mut(), null_mut());
                assert_eq!($build(size, wait, &mut tx, &mut rx), Ok);
                let (entries, mut pushed, mut popped) = (pattern(200 * size), 9, 9);
                let mut out = vec![0_u8; 200 * size];
                assert_eq!((c!($pop_in_time(rx, out.as_mut_ptr().cast(), 5, &mut popped, 1000)), popped), (Timeout, 0));
                let from = entries.as_ptr();
                assert_eq!(c!($push_in_time(tx, from.cast(), 200, &mut pushed, 1000)), Timeout);
                assert!((16..=16 + MORE).contains(&pushed), "what fits is pushed, and counted");
                let (producer, rest) = (Sent(tx), entries[pushed * size..].to_vec());
                let pushing = thread::spawn(move || {
                    let (first, second) = rest.split_at(50 * size);
                    let mut pushed = 0;
                    assert_eq!(
                        (c!($push_many(producer.get(), first.as_ptr().cast(), 50, &mut pushed)), pushed),
                        (Ok, 50)
                    );
                    let (from, count) = (second.as_ptr().cast(), second.len() / size);
                    let in_time = c!($push_in_time(producer.get(), from, count, &mut pushed, u64::MAX));
                    assert_eq!((in_time, pushed), (Ok, count));
                    c!($free_tx(producer.get()));
                });
                let mut all = 0;
                while all < 200 {
                    let (to, left) = (out[all * size..].as_mut_ptr().cast(), 7.min(200 - all));
                    let popping = match all % 2 {
                        0 => c!($pop_many(rx, to, left, &mut popped)),
                        _ => c!($pop_in_time(rx, to, left, &mut popped, u64::MAX)),
                    };
                    assert!(popping == Ok && (1..=left).contains(&popped));
                    all += popped;
                }
                assert_eq!(out, entries);
                pushing.join().unwrap();
                assert_eq!((c!($pop_many(rx, out.as_mut_ptr().cast(), 5, &mut popped)), popped), (Closed, 0));
                popped = 9;
                assert_eq!((c!($pop_many(rx, null_mut(), 1, &mut popped)), popped), (Invalid, 0));
                c!($free_rx(rx));
                pushed = 9;
                popped = 9;
                assert_eq!((c!($push_many(null_mut(), from.cast(), 1, &mut pushed)), pushed), (Invalid, 0));
                assert_eq!((c!($pop_many(null_mut(), out.as_mut_ptr().cast(), 1, &mut popped)), popped), (Invalid, 0));
                assert_eq!(c!($push_in_time(null_mut(), from.cast(), 1, &mut pushed, 0)), Invalid);
                assert_eq!(c!($pop_in_time(null_mut(), out.as_mut_ptr().cast(), 1, &mut popped, 0)), Invalid);
            }
        }
    };
}

records!(entries_one_to_one: |size, wait, tx, rx| c!(thalweg_spsc_records_new(size, 16, wait, tx, rx, null_mut(), 0)),
    thalweg_spsc_records_push_many thalweg_spsc_records_push_many_timeout thalweg_spsc_records_producer_free,
    thalweg_spsc_records_pop_many thalweg_spsc_records_pop_many_timeout thalweg_spsc_records_consumer_free);
records!(entries_many_to_many: |size, wait, tx, rx| c!(thalweg_records_new(size, 2, 8, wait, tx, rx, null_mut(), 0)),
    thalweg_records_push_many thalweg_records_push_many_timeout thalweg_records_producer_free,
    thalweg_records_pop_many thalweg_records_pop_many_timeout thalweg_records_consumer_free);

/// What is overwritten leaves room, so nothing waits for a pop.
#[test]
fn old_entries_do_not_hold_a_batch_back() {
    let (mut tx, mut rx) = (null_mut(), null_mut());
    assert_eq!(c!(thalweg_records_new_drop_old(8, 2, 8, 0, &mut tx, &mut rx, null_mut(), 0)), Ok);
    let (entries, mut pushed, mut popped, mut out) = (pattern(100 * 8), 0, 0, [0_u8; 16 * 8]);
    assert_eq!((c!(thalweg_records_push_many(tx, entries.as_ptr().cast(), 100, &mut pushed)), pushed), (Ok, 100));
    assert_eq!(c!(thalweg_records_pop_many(rx, out.as_mut_ptr().cast(), 16, &mut popped)), Ok);
    assert_eq!(out[..popped * 8], entries[(100 - popped) * 8..]);
    c!(thalweg_records_producer_free(tx));
    c!(thalweg_records_consumer_free(rx));
}
