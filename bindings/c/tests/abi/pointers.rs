//! Pointers, one to one and many to many.

use crate::{MORE, Sent, WAITS, item};
use std::ptr::null_mut;
use thalweg_queue_c::Status::{Closed, Empty, Full, Ok, Timeout};
use thalweg_queue_c::bbq::*;
use thalweg_queue_c::spsc::*;
use thalweg_sync::thread;
use thalweg_sync::time::Duration;

const MILLISECOND: u64 = 1_000_000;

/// Queues of both kinds for 16 items, with every way of waiting.
fn spsc() -> impl Iterator<Item = (*mut SpscProducer, *mut SpscConsumer)> {
    WAITS.into_iter().flat_map(|wait| [(wait, false), (wait, true)]).map(|(wait, blocks)| {
        let (mut tx, mut rx) = (null_mut(), null_mut());
        let built = match blocks {
            false => c!(thalweg_spsc_new(16, wait, &mut tx, &mut rx, null_mut(), 0)),
            true => c!(thalweg_spsc_new_blocks(2, 8, wait, &mut tx, &mut rx, null_mut(), 0)),
        };
        assert_eq!(built, Ok);
        (tx, rx)
    })
}

/// Queues for 16 items, with every way of waiting.
fn bbq() -> impl Iterator<Item = (*mut BbqProducer, *mut BbqConsumer)> {
    WAITS.into_iter().map(|wait| {
        let (mut tx, mut rx) = (null_mut(), null_mut());
        assert_eq!(c!(thalweg_bbq_new(2, 8, wait, &mut tx, &mut rx, null_mut(), 0)), Ok);
        (tx, rx)
    })
}

#[test]
fn spsc_keeps_order_until_it_is_full() {
    for (tx, rx) in spsc() {
        assert_eq!(c!(thalweg_spsc_producer_capacity(tx)), 16);
        assert_eq!(c!(thalweg_spsc_consumer_capacity(rx)), 16);
        let mut pushed = 0;
        while c!(thalweg_spsc_try_push(tx, item(pushed + 1))) == Ok {
            pushed += 1;
        }
        assert!((16..=16 + MORE).contains(&pushed));
        assert_eq!(c!(thalweg_spsc_consumer_len(rx)), pushed);
        assert_eq!(c!(thalweg_spsc_try_push(tx, item(99))), Full);
        assert_eq!(c!(thalweg_spsc_push_timeout(tx, item(99), MILLISECOND)), Timeout);
        for expected in 1..=pushed {
            let mut popped = null_mut();
            assert_eq!((c!(thalweg_spsc_try_pop(rx, &mut popped)), popped), (Ok, item(expected)));
            assert_eq!(c!(thalweg_spsc_consumer_len(rx)), pushed - expected);
        }
        let mut popped = item(5);
        assert_eq!(c!(thalweg_spsc_try_pop(rx, &mut popped)), Empty);
        assert_eq!(c!(thalweg_spsc_pop_timeout(rx, &mut popped, MILLISECOND)), Timeout);
        assert_eq!(popped, item(5));
        assert_eq!(c!(thalweg_spsc_push_timeout(tx, item(8), MILLISECOND)), Ok);
        assert_eq!((c!(thalweg_spsc_pop_timeout(rx, &mut popped, MILLISECOND)), popped), (Ok, item(8)));
        c!(thalweg_spsc_consumer_free(rx));
        assert!(c!(thalweg_spsc_producer_is_closed(tx)));
        assert_eq!(c!(thalweg_spsc_try_push(tx, item(8))), Closed);
        assert_eq!(c!(thalweg_spsc_push(tx, item(8))), Closed);
        assert_eq!(c!(thalweg_spsc_push_timeout(tx, item(8), MILLISECOND)), Closed);
        c!(thalweg_spsc_producer_free(tx));
    }
}

#[test]
fn spsc_moves_batches() {
    for (tx, rx) in spsc() {
        let items: Vec<_> = (1..=100).map(item).collect();
        let (mut pushed, mut popped) = (0, 0);
        let mut out = [null_mut(); 100];
        assert_eq!(c!(thalweg_spsc_try_push_many(tx, items.as_ptr(), 100, &mut pushed)), Ok);
        assert!((16..=16 + MORE).contains(&pushed));
        let mut none = 9;
        assert_eq!((c!(thalweg_spsc_try_push_many(tx, items.as_ptr(), 100, &mut none)), none), (Full, 0));
        assert_eq!((c!(thalweg_spsc_try_pop_many(rx, out.as_mut_ptr(), 5, &mut popped)), popped), (Ok, 5));
        c!(thalweg_spsc_producer_free(tx));
        assert!(c!(thalweg_spsc_consumer_is_closed(rx)));
        let rest = out[5..].as_mut_ptr();
        assert_eq!((c!(thalweg_spsc_try_pop_many(rx, rest, 95, &mut popped)), popped), (Ok, pushed - 5));
        assert_eq!(out[..pushed], items[..pushed]);
        assert!(out[pushed..].iter().all(|item| item.is_null()));
        assert_eq!((c!(thalweg_spsc_try_pop_many(rx, rest, 95, &mut popped)), popped), (Closed, 0));
        c!(thalweg_spsc_consumer_free(rx));
    }
}

#[test]
fn spsc_waits_for_the_other_side() {
    for (tx, rx) in spsc() {
        let producer = Sent(tx);
        let pushing = thread::spawn(move || {
            for number in 1..=1000 {
                assert_eq!(c!(thalweg_spsc_push(producer.get(), item(number))), Ok);
            }
            thread::sleep(Duration::from_millis(5)); // the consumer is waiting when this closes the queue
            c!(thalweg_spsc_producer_free(producer.get()));
        });
        let mut popped = null_mut();
        for expected in 1..=1000 {
            assert_eq!((c!(thalweg_spsc_pop(rx, &mut popped)), popped), (Ok, item(expected)));
        }
        assert_eq!(c!(thalweg_spsc_pop(rx, &mut popped)), Closed);
        c!(thalweg_spsc_consumer_free(rx));
        pushing.join().unwrap();
    }
}

#[test]
fn bbq_keeps_order_until_it_is_full() {
    for (tx, rx) in bbq() {
        assert_eq!(c!(thalweg_bbq_producer_capacity(tx)), 16);
        assert_eq!(c!(thalweg_bbq_consumer_capacity(rx)), 16);
        for number in 0..16 {
            assert_eq!(c!(thalweg_bbq_try_push(tx, item(number))), Ok);
        }
        assert_eq!(c!(thalweg_bbq_producer_len(tx)), 16);
        assert_eq!(c!(thalweg_bbq_consumer_len(rx)), 16);
        assert_eq!(c!(thalweg_bbq_try_push(tx, item(99))), Full);
        assert_eq!(c!(thalweg_bbq_push_timeout(tx, item(99), MILLISECOND)), Timeout);
        let mut popped = item(99);
        for expected in 0..16 {
            assert_eq!((c!(thalweg_bbq_try_pop(rx, &mut popped)), popped), (Ok, item(expected)));
        }
        assert_eq!(c!(thalweg_bbq_try_pop(rx, &mut popped)), Empty);
        assert_eq!(c!(thalweg_bbq_pop_timeout(rx, &mut popped, MILLISECOND)), Timeout);
        assert_eq!(popped, item(15));
        assert_eq!(c!(thalweg_bbq_push_timeout(tx, item(8), MILLISECOND)), Ok);
        assert_eq!((c!(thalweg_bbq_pop_timeout(rx, &mut popped, MILLISECOND)), popped), (Ok, item(8)));
        c!(thalweg_bbq_producer_free(tx));
        c!(thalweg_bbq_consumer_free(rx));
    }
}

#[test]
fn bbq_closes_with_the_last_handle_of_a_side() {
    for (tx, rx) in bbq() {
        let (more_tx, more_rx) = (c!(thalweg_bbq_producer_clone(tx)), c!(thalweg_bbq_consumer_clone(rx)));
        c!(thalweg_bbq_producer_free(tx));
        assert!(!c!(thalweg_bbq_consumer_is_closed(rx)));
        assert_eq!(c!(thalweg_bbq_push(more_tx, item(8))), Ok);
        c!(thalweg_bbq_producer_free(more_tx));
        assert!(c!(thalweg_bbq_consumer_is_closed(rx)));
        c!(thalweg_bbq_consumer_free(rx));
        let mut popped = null_mut();
        assert_eq!((c!(thalweg_bbq_pop(more_rx, &mut popped)), popped), (Ok, item(8)));
        assert_eq!(c!(thalweg_bbq_pop(more_rx, &mut popped)), Closed);
        c!(thalweg_bbq_consumer_free(more_rx));
    }
    for (tx, rx) in bbq() {
        c!(thalweg_bbq_consumer_free(rx));
        assert!(c!(thalweg_bbq_producer_is_closed(tx)));
        assert_eq!(c!(thalweg_bbq_try_push(tx, item(8))), Closed);
        assert_eq!(c!(thalweg_bbq_push(tx, item(8))), Closed);
        c!(thalweg_bbq_producer_free(tx));
    }
}

#[test]
fn bbq_handles_are_shared_by_threads() {
    for (tx, rx) in bbq() {
        let producers: Vec<_> = (0..3)
            .map(|of| {
                let tx = Sent(tx); // the same handle
                thread::spawn(move || {
                    let items: Vec<_> = (0..500).map(|number| item(1 + of * 500 + number)).collect();
                    let mut done = 0;
                    while done < 250 {
                        let mut pushed = 0;
                        let left = items[done..250].as_ptr();
                        c!(thalweg_bbq_try_push_many(tx.get(), left, 250 - done, &mut pushed));
                        done += pushed;
                        thread::yield_now();
                    }
                    for &item in &items[250..] {
                        assert_eq!(c!(thalweg_bbq_push(tx.get(), item)), Ok);
                    }
                })
            })
            .collect();
        let consumers: Vec<_> = (0..2)
            .map(|_| {
                let rx = Sent(rx);
                thread::spawn(move || {
                    let mut got = Vec::new();
                    let mut popped = null_mut();
                    while c!(thalweg_bbq_pop(rx.get(), &mut popped)) == Ok {
                        got.push(popped.addr());
                        let mut places = [null_mut(); 4];
                        let mut count = 0;
                        c!(thalweg_bbq_try_pop_many(rx.get(), places.as_mut_ptr(), 4, &mut count));
                        got.extend(places[..count].iter().map(|item| item.addr()));
                    }
                    got
                })
            })
            .collect();
        producers.into_iter().for_each(|producer| producer.join().unwrap());
        c!(thalweg_bbq_producer_free(tx));
        let mut all = Vec::new();
        for consumer in consumers {
            let got = consumer.join().unwrap();
            for of in 0..3 {
                let from_one: Vec<_> = got.iter().filter(|&&number| (number - 1) / 500 == of).collect();
                assert!(from_one.is_sorted(), "a consumer sees a producer's items in their order");
            }
            all.extend(got);
        }
        all.sort_unstable();
        assert_eq!(all, (1..=1500).collect::<Vec<_>>());
        c!(thalweg_bbq_consumer_free(rx));
    }
}

#[test]
fn block_counts_are_those_of_the_queue() {
    assert_eq!([1, 64, 4096, 65536].map(|capacity| thalweg_bbq_blocks(capacity)), [2, 2, 8, 16]);
}
