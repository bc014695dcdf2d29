//! The ticketed queue under loom: small clients, and canaries that show that the model is awake.
//!
//! Two entries are the smallest queue in which two reservations of a side are out at once; each entry is used twice.

use crate::support::Leaked;
use thalweg_queue::research::ticketed::{ticketed, with_counters};
use thalweg_queue::{TryPopError, TryPushError};
use thalweg_sync::sync::Arc;
use thalweg_sync::{model, model_bounded, thread};

/// An item. loom reports one that is leaked or dropped twice; the queue's own slots report a read that its write does
/// not happen before, and a write that a read does not.
type Item = Arc<usize>;

/// One producer and one consumer with three attempts each, what is left is popped at the end.
fn order_is_kept() {
    model_bounded(3, || {
        let (tx, rx) = ticketed::<Item>(2).unwrap();
        let (tx, rx) = (Leaked::new(tx), Leaked::new(rx));
        let producer = thread::spawn(move || (0..3).filter(|_| tx.try_push(Arc::new(0)).is_ok()).count());
        let mut popped = (0..2).filter(|_| rx.try_pop().is_ok()).count();
        let pushed = producer.join().unwrap();
        while rx.try_pop().is_ok() {
            popped += 1;
        }
        assert_eq!(popped, pushed);
    });
}

/// Two threads reserve, write and commit at once: whoever ends last passes both spans, and none is left behind.
fn ends_are_passed() {
    model(|| {
        let (tx, rx) = ticketed::<Item>(2).unwrap();
        let other = tx.clone();
        let producer = thread::spawn(move || other.try_push(Arc::new(1)).unwrap());
        tx.try_push(Arc::new(2)).unwrap();
        producer.join().unwrap();
        assert_eq!(rx.len(), 2, "a span that has ended is not passed");
        assert_eq!(*rx.try_pop().unwrap() + *rx.try_pop().unwrap(), 3);
    });
}

/// The same for two consumers, whose room a producer needs.
fn room_comes_back() {
    model_bounded(3, || {
        let (tx, rx) = ticketed::<Item>(2).unwrap();
        let (tx, rx) = (Leaked::new(tx), Leaked::new(rx));
        (0..2).for_each(|number| tx.try_push(Arc::new(number)).unwrap());
        let other = Leaked::new(rx.clone());
        let consumer = thread::spawn(move || *other.try_pop().unwrap());
        let popped = *rx.try_pop().unwrap();
        assert_eq!(popped + consumer.join().unwrap(), 1);
        (2..4).for_each(|number| tx.try_push(Arc::new(number)).unwrap());
        assert_eq!([*rx.try_pop().unwrap(), *rx.try_pop().unwrap()], [2, 3]);
    });
}

/// A producer takes the room that a consumer on another thread gives back: it writes where that one has read.
fn entries_are_reused() {
    model_bounded(3, || {
        let (tx, rx) = ticketed::<Item>(1).unwrap();
        let (tx, rx) = (Leaked::new(tx), Leaked::new(rx));
        tx.try_push(Arc::new(0)).unwrap();
        let consumer = thread::spawn(move || drop(rx.try_pop().unwrap()));
        let _ = tx.try_push(Arc::new(1));
        consumer.join().unwrap();
    });
}

/// Two threads pop with tickets and append, in turn, to a list that is nobody else's: their turns exclude each other and come in the
/// order of the pops.
fn turns_come_in_order() {
    model_bounded(3, || {
        let (tx, rx) = with_counters::<usize>(2, 1).unwrap();
        (0..2).for_each(|number| tx.try_push(number).unwrap());
        let list = Arc::new(thalweg_sync::cell::Slot::new(Vec::new()));
        let work = |rx: &thalweg_queue::research::ticketed::Consumer<usize>,
                    list: &thalweg_sync::cell::Slot<Vec<usize>>| {
            let mut take = rx.try_reserve(1).unwrap();
            let number = take.next().unwrap();
            let ticket = take.commit();
            ticket.wait_for_turn(0);
            // SAFETY: it is our turn, and not the other thread's.
            list.with_mut(|list| unsafe { (*list).push(number) });
            drop(ticket);
        };
        let (other, other_list) = (rx.clone(), list.clone());
        let worker = thread::spawn(move || work(&other, &other_list));
        work(&rx, &list);
        worker.join().unwrap();
        // SAFETY: the other thread has ended.
        assert_eq!(list.with(|list| unsafe { (*list).clone() }), [0, 1]);
    });
}

/// Two spans of pops end at once, and who ends the second one pushes where the first was read: it may have passed that one itself,
/// or the other thread both.
fn spans_are_passed_for_others() {
    model_bounded(3, || {
        let (tx, rx) = ticketed::<Item>(2).unwrap();
        let (tx, rx) = (Leaked::new(tx), Leaked::new(rx));
        (0..2).for_each(|number| tx.try_push(Arc::new(number)).unwrap());
        let [first, second] = [(); 2].map(|()| rx.try_reserve(1).unwrap());
        thread::scope(|scope| {
            scope.spawn(move || drop(first));
            scope.spawn(|| {
                drop(second);
                drop(tx.try_push(Arc::new(2)));
            });
        });
    });
}

/// The same, and a third thread pushes where the first was read.
fn a_third_thread_uses_the_room() {
    model_bounded(2, || {
        let (tx, rx) = ticketed::<Item>(2).unwrap();
        let (tx, rx) = (Leaked::new(tx), Leaked::new(rx));
        (0..2).for_each(|number| tx.try_push(Arc::new(number)).unwrap());
        let [first, second] = [(); 2].map(|()| rx.try_reserve(1).unwrap());
        thread::scope(|scope| {
            scope.spawn(move || drop(first));
            scope.spawn(move || drop(second));
            scope.spawn(|| drop(tx.try_push(Arc::new(2))));
        });
    });
}

/// Three tickets: the first is used, the second is dropped, the third waits for its turn. It comes after the first, whoever
/// passed that one.
fn unused_tickets_are_passed() {
    model_bounded(2, || {
        let (tx, rx) = with_counters::<usize>(4, 1).unwrap();
        (0..3).for_each(|number| tx.try_push(number).unwrap());
        let list = thalweg_sync::cell::Slot::new(0);
        let [first, second, third] = [(); 3].map(|()| rx.try_reserve(1).unwrap().commit());
        let list = &list;
        thread::scope(|scope| {
            scope.spawn(move || {
                // SAFETY: it is the first one's turn, and nobody else's.
                list.with_mut(|list| unsafe { *list += 1 });
                drop(first);
            });
            scope.spawn(move || {
                third.wait_for_turn(0);
                // SAFETY: it is the third one's turn: the first one has been served.
                assert_eq!(list.with_mut(|list| unsafe { *list }), 1);
            });
            drop(second);
        });
    });
}

/// A thread has an item reserved, not taken, and pushes another one. Whoever finds no room then waits for its end: `Busy`.
fn an_open_take_is_busy() {
    model(|| {
        let (tx, rx) = ticketed::<Item>(2).unwrap();
        let (tx, rx) = (Leaked::new(tx), Leaked::new(rx));
        tx.try_push(Arc::new(0)).unwrap();
        let other = Leaked::new(tx.clone());
        let worker = thread::spawn(move || {
            let take = rx.try_reserve(1).unwrap();
            let _ = other.try_push(Arc::new(1));
            drop(take);
            rx
        });
        if let Err(refused) = tx.try_push(Arc::new(2)) {
            assert!(matches!(refused, TryPushError::Busy(_)), "{refused:?} with room");
        }
        drop(worker.join().unwrap());
    });
}

/// A thread has an entry reserved, not written, and pops an item. Whoever finds nothing then waits for its end: `Busy`.
fn an_open_grant_is_busy() {
    model(|| {
        let (tx, rx) = ticketed::<Item>(2).unwrap();
        let (tx, rx) = (Leaked::new(tx), Leaked::new(rx));
        tx.try_push(Arc::new(0)).unwrap();
        let other = Leaked::new(rx.clone());
        let worker = thread::spawn(move || {
            let mut grant = tx.try_reserve(1).unwrap();
            drop(other.try_pop());
            grant.push(Arc::new(1)).unwrap();
            drop(grant);
            tx
        });
        if let Err(refused) = rx.try_pop() {
            assert_eq!(refused, TryPopError::Busy, "with an item in the queue");
        }
        drop(worker.join().unwrap());
    });
}

/// Two threads put one in and take one out: with room for two, nobody may see the queue full or empty.
fn roles_switch() {
    model_bounded(2, || {
        let (tx, rx) = ticketed::<Item>(2).unwrap();
        let work = |tx: &thalweg_queue::research::ticketed::Producer<Item>,
                    rx: &thalweg_queue::research::ticketed::Consumer<Item>| {
            let mut item = Arc::new(0);
            while let Err(refused) = tx.try_push(item) {
                assert!(matches!(refused, TryPushError::Busy(_)), "{refused:?} with room");
                item = refused.into_inner();
                thread::yield_now();
            }
            while let Err(refused) = rx.try_pop() {
                assert_eq!(refused, TryPopError::Busy, "with an item in the queue");
                thread::yield_now();
            }
        };
        let (other_tx, other_rx) = (tx.clone(), rx.clone());
        let other = thread::spawn(move || work(&other_tx, &other_rx));
        work(&tx, &rx);
        other.join().unwrap();
        assert_eq!(rx.try_pop().err(), Some(TryPopError::Empty));
    });
}

/// The producer leaves behind two items; the consumer must not see the end before them.
fn the_end_comes_last() {
    model(|| {
        let (tx, rx) = ticketed::<Item>(2).unwrap();
        let producer = thread::spawn(move || {
            tx.try_push(Arc::new(0)).unwrap();
            tx.try_push(Arc::new(1)).unwrap();
        });
        let mut popped = 0;
        loop {
            match rx.try_pop() {
                Ok(item) => assert_eq!(*item, popped),
                Err(TryPopError::Closed) => break,
                Err(_) => {
                    thread::yield_now();
                    continue;
                }
            }
            popped += 1;
        }
        assert_eq!(popped, 2);
        producer.join().unwrap();
    });
}

models! {
    order: order_is_kept(),
    ends: ends_are_passed(),
    room: room_comes_back(),
    reuse: entries_are_reused(),
    turns: turns_come_in_order(),
    unused: unused_tickets_are_passed(),
    passed: spans_are_passed_for_others(),
    third: a_third_thread_uses_the_room(),
    open_take: an_open_take_is_busy(),
    open_grant: an_open_grant_is_busy(),
    roles: roles_switch(),
    end: the_end_comes_last(),
}

canaries! {
    canary_1: "ticketed.1", "Causality violation", a_third_thread_uses_the_room(),
    canary_2: "ticketed.2", "Causality violation", entries_are_reused(),
    canary_3: "ticketed.3", "Causality violation", spans_are_passed_for_others(),
    canary_4: "ticketed.4", "Causality violation", spans_are_passed_for_others(),
    canary_5: "ticketed.5", "Causality violation", unused_tickets_are_passed(),
    canary_6: "ticketed.6", "Causality violation", turns_come_in_order(),
    canary_7: "ticketed.7", "with room", an_open_take_is_busy(),
    canary_8: "ticketed.8", "with room", an_open_take_is_busy(),
    canary_9: "ticketed.9", "with an item in the queue", an_open_grant_is_busy(),
    canary_10: "ticketed.10", "with an item in the queue", an_open_grant_is_busy(),
    canary_11: "ticketed.11", "left == right", the_end_comes_last(),
}
