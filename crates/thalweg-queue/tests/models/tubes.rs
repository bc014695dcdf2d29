//! Tubes under loom: small clients, and canaries that show that the model is awake.
//!
//! Two entries are the smallest ring in which a thread can be half-way while another goes on. Waiting would multiply the
//! executions, so clients try a few times and drain the queue at the end.

use crate::support::Leaked;
use thalweg_queue::research::faaq::{Bbq, Faaq};
use thalweg_queue::research::tube::{Consumer, Producer, Tube, queue, ring, scqd::Scqd};
use thalweg_queue::{TryPopError, TryPushError};
use thalweg_sync::sync::Arc;
use thalweg_sync::{model, model_bounded, thread};

/// An item. loom reports one that is leaked or dropped twice; the slots report a read that its write does not happen
/// before, and a write that a read does not.
type Item = Arc<usize>;

/// Pushes up to `attempts` items, numbered from `first`. Returns the number after the last.
fn push_some<Q: Tube<Item = Item>>(tx: &Producer<Q>, first: usize, attempts: usize) -> usize {
    let mut next = first;
    for _ in 0..attempts {
        match tx.try_push(Arc::new(next)) {
            Ok(()) => next += 1,
            Err(refused) => assert_eq!(*refused.into_inner(), next),
        }
    }
    next
}

/// Pops until the queue is closed.
fn drain<Q: Tube<Item = Item>>(rx: &Consumer<Q>) -> Vec<usize> {
    let mut popped = Vec::new();
    loop {
        match rx.try_pop() {
            Ok(item) => popped.push(*item),
            Err(TryPopError::Closed) => return popped,
            Err(TryPopError::Empty | TryPopError::Busy) => thread::yield_now(),
        }
    }
}

/// One producer, one consumer, three attempts each on two entries: both are used again. A canary leaves the queue as it
/// is, as dropping what is left in it would panic again.
fn order_is_kept<Q: Tube<Item = Item> + 'static>(make: fn() -> Q) {
    model_bounded(3, move || {
        let (tx, rx) = queue(make());
        let rx = Leaked::new(rx);
        let producer = thread::spawn(move || push_some(&tx, 0, 3));
        let mut popped: Vec<_> = (0..3).filter_map(|_| rx.try_pop().ok()).map(|item| *item).collect();
        let pushed = producer.join().unwrap();
        popped.extend(drain(&rx));
        drop(rx);
        assert!(popped.into_iter().eq(0..pushed));
    });
}

/// Two producers, a consumer that tries once meanwhile: each producer's items come in its order.
fn two_producers<Q: Tube<Item = Item> + 'static>(make: fn() -> Q) {
    model_bounded(2, move || {
        let (tx, rx) = queue(make());
        let rx = Leaked::new(rx);
        let other = tx.clone();
        let other = thread::spawn(move || push_some(&other, 10, 1));
        let consumer = thread::spawn(move || (rx.try_pop().ok().map(|item| *item), rx));
        let pushed = push_some(&tx, 0, 2);
        drop(tx);
        let others = other.join().unwrap();
        let (first, rx) = consumer.join().unwrap();
        let popped: Vec<_> = first.into_iter().chain(drain(&rx)).collect();
        drop(rx);
        let of = |range: std::ops::Range<usize>| popped.iter().copied().filter(move |item| range.contains(item));
        assert!(of(0..10).eq(0..pushed) && of(10..20).eq(10..others));
    });
}

/// Two consumers with an attempt each, while items are pushed and one of them makes room.
fn two_consumers<Q: Tube<Item = Item> + 'static>(make: fn() -> Q) {
    model_bounded(2, move || {
        let (tx, rx) = queue(make());
        tx.try_push(Arc::new(0)).unwrap();
        let consumers = [rx.clone(), rx.clone()].map(|rx| thread::spawn(move || rx.try_pop().ok().map(|item| *item)));
        let pushed = push_some(&tx, 1, 2);
        drop(tx);
        let mut popped: Vec<_> = consumers.into_iter().filter_map(|consumer| consumer.join().unwrap()).collect();
        popped.extend(drain(&rx));
        popped.sort_unstable();
        assert!(popped.into_iter().eq(0..pushed));
    });
}

/// Two threads put one in and take one out; with room for two, nobody may see the queue full or empty.
fn roles_switch<Q: Tube<Item = Item> + 'static>(make: fn() -> Q) {
    model_bounded(3, move || {
        let (tx, rx) = queue(make());
        let (other_tx, other_rx) = (tx.clone(), rx.clone());
        let other = thread::spawn(move || push_and_pop(&other_tx, &other_rx, 1));
        push_and_pop(&tx, &rx, 2);
        push_and_pop(&tx, &rx, 3);
        other.join().unwrap();
        assert_eq!(rx.try_pop().err(), Some(TryPopError::Empty));
    });
}

fn push_and_pop<Q: Tube<Item = Item>>(tx: &Producer<Q>, rx: &Consumer<Q>, number: usize) {
    let mut item = Arc::new(number);
    while let Err(refused) = tx.try_push(item) {
        assert!(matches!(refused, TryPushError::Busy(_)), "{refused:?} with room");
        item = refused.into_inner();
        thread::yield_now();
    }
    while let Err(refused) = rx.try_pop() {
        assert_eq!(refused, TryPopError::Busy, "with an item in the queue");
        thread::yield_now();
    }
}

/// The producer leaves behind an item; the consumer must not see the end before it.
fn the_end_comes_last<Q: Tube<Item = Item> + 'static>(make: fn() -> Q) {
    model(move || {
        let (tx, rx) = queue(make());
        let producer = thread::spawn(move || drop(tx.try_push(Arc::new(0))));
        assert_eq!(drain(&rx), [0]);
        producer.join().unwrap();
    });
}

/// The last consumer leaves while items are pushed: each is refused or dropped, as loom's `Arc` checks.
fn the_consumer_leaves<Q: Tube<Item = Item> + 'static>(make: fn() -> Q) {
    model_bounded(3, move || {
        let (tx, rx) = queue(make());
        let consumer = thread::spawn(move || drop(rx.try_pop()));
        push_some(&tx, 0, 2);
        consumer.join().unwrap();
        assert!(matches!(tx.try_push(Arc::new(2)), Err(TryPushError::Closed(_))));
    });
}

fn mt() -> ring::Mt<Item> {
    ring::Mt::new(2).unwrap()
}

fn rts() -> ring::Rts<Item> {
    // An eighth of 16: two may be half-way.
    ring::Rts::new(16).unwrap()
}

fn small_rts() -> ring::Rts<Item> {
    ring::Rts::new(2).unwrap()
}

fn hts() -> ring::Hts<Item> {
    ring::Hts::new(2).unwrap()
}

fn scqd() -> Scqd<Item> {
    Scqd::new(2).unwrap()
}

fn single_scqd() -> Scqd<Item> {
    Scqd::new(1).unwrap()
}

/// Two blocks of one: each push and each pop comes to the end of a block.
fn blocks() -> Bbq<Item> {
    Bbq::new(2, 1).unwrap()
}

fn faaq() -> Faaq<Item> {
    Faaq::new(2, 1).unwrap()
}

/// A block is left half full, and its tickets are drawn by addition only when it is full.
fn faaq_of_2() -> Faaq<Item> {
    Faaq::new(2, 2).unwrap()
}

models! {
    mt_order: order_is_kept(mt),
    mt_producers: two_producers(mt),
    mt_consumers: two_consumers(mt),
    mt_roles: roles_switch(mt),
    mt_end: the_end_comes_last(mt),
    mt_leaving: the_consumer_leaves(mt),
    rts_order: order_is_kept(small_rts),
    rts_producers: two_producers(rts),
    rts_consumers: two_consumers(rts),
    rts_roles: roles_switch(small_rts),
    rts_leaving: the_consumer_leaves(small_rts),
    hts_order: order_is_kept(hts),
    hts_producers: two_producers(hts),
    hts_consumers: two_consumers(hts),
    hts_roles: roles_switch(hts),
    hts_leaving: the_consumer_leaves(hts),
    scqd_order: order_is_kept(single_scqd),
    scqd_producers: two_producers(scqd),
    scqd_consumers: two_consumers(scqd),
    scqd_roles: roles_switch(scqd),
    scqd_leaving: the_consumer_leaves(single_scqd),
    bbq_order: order_is_kept(blocks),
    bbq_producers: two_producers(blocks),
    bbq_consumers: two_consumers(blocks),
    bbq_leaving: the_consumer_leaves(blocks),
    faaq_order: order_is_kept(faaq),
    faaq_producers: two_producers(faaq),
    faaq_consumers: two_consumers(faaq),
    faaq_consumers_of_2: two_consumers(faaq_of_2),
    faaq_leaving: the_consumer_leaves(faaq),
}

// RTS has no canary for what `Mt` and it have in common. Blocks have no model of threads that switch roles: whoever finds a head out of date
// looks again, and to loom that may take for ever.
canaries! {
    mt_canary_1: "ring.1", "with room", roles_switch(mt),
    mt_canary_2: "ring.2", "with room", roles_switch(mt),
    mt_canary_3: "ring.3", "Causality violation", order_is_kept(mt),
    mt_canary_4: "ring.4", "Causality violation", order_is_kept(mt),
    mt_canary_5: "ring.5", "Causality violation", two_producers(mt),
    rts_canary_3: "ring.3", "Causality violation", order_is_kept(small_rts),
    rts_canary_4: "ring.4", "Causality violation", order_is_kept(small_rts),
    hts_canary_1: "ring.1", "with room", roles_switch(hts),
    hts_canary_3: "ring.3", "Causality violation", order_is_kept(hts),
    hts_canary_4: "ring.4", "Causality violation", order_is_kept(hts),
    scqd_canary_1: "scqd.1", "Causality violation", order_is_kept(single_scqd),
    scqd_canary_2: "scqd.2", "Causality violation", order_is_kept(single_scqd),
    bbq_canary_3: "faaq.3", "Causality violation", order_is_kept(blocks),
    bbq_canary_4: "faaq.4", "Causality violation", order_is_kept(blocks),
    bbq_canary_7: "faaq.7", "Causality violation", order_is_kept(blocks),
    bbq_canary_9: "faaq.9", "Causality violation", order_is_kept(blocks),
    faaq_canary_3: "faaq.3", "Causality violation", order_is_kept(faaq),
    faaq_canary_4: "faaq.4", "Causality violation", order_is_kept(faaq),
    faaq_canary_7: "faaq.7", "Causality violation", order_is_kept(faaq),
    faaq_canary_9: "faaq.9", "Causality violation", order_is_kept(faaq),
    tube_canary_1: "tube.1", "left == right", the_end_comes_last(mt),
    tube_canary_2: "tube.2", "left == right", the_end_comes_last(mt),
}
