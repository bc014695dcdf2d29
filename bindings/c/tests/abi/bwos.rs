//! An owner and its thieves.

use crate::{Sent, item};
use std::ptr::{null, null_mut};
use thalweg_queue_c::Status::{Closed, Empty, Full, Ok};
use thalweg_queue_c::bwos::*;
use thalweg_sync::thread;

#[derive(Clone, Copy, PartialEq)]
enum Order {
    Lifo,
    Fifo,
}

fn bwos(order: Order, blocks: usize, entries: usize) -> (*mut BwosOwner, *mut BwosThief) {
    let (mut owner, mut thief) = (null_mut(), null_mut());
    let built = match order {
        Order::Lifo => c!(thalweg_bwos_new_lifo(blocks, entries, &mut owner, &mut thief, null_mut(), 0)),
        Order::Fifo => c!(thalweg_bwos_new_fifo(blocks, entries, &mut owner, &mut thief, null_mut(), 0)),
    };
    assert_eq!(built, Ok);
    (owner, thief)
}

#[test]
fn the_owner_pops_in_its_order() {
    for order in [Order::Lifo, Order::Fifo] {
        let (owner, thief) = bwos(order, 4, 2);
        assert_eq!(c!(thalweg_bwos_owner_capacity(owner)), 8);
        assert_eq!(c!(thalweg_bwos_thief_capacity(thief)), 8);
        for number in 0..8 {
            assert_eq!(c!(thalweg_bwos_push(owner, item(number))), Ok);
        }
        assert_eq!(c!(thalweg_bwos_push(owner, item(99))), Full);
        assert_eq!(c!(thalweg_bwos_owner_len(owner)), 8);
        for number in 0..8 {
            let expected = if order == Order::Lifo { 7 - number } else { number };
            let mut popped = item(99);
            assert_eq!((c!(thalweg_bwos_pop(owner, &mut popped)), popped), (Ok, item(expected)));
        }
        let mut popped = item(99);
        assert_eq!((c!(thalweg_bwos_pop(owner, &mut popped)), popped), (Empty, item(99)));
        c!(thalweg_bwos_thief_free(thief));
        assert_eq!(c!(thalweg_bwos_push(owner, item(1))), Ok);
        c!(thalweg_bwos_owner_free(owner));
    }
}

#[test]
fn the_owner_moves_batches_in_its_order() {
    for order in [Order::Lifo, Order::Fifo] {
        let (owner, thief) = bwos(order, 4, 2);
        let items: Vec<_> = (0..10).map(item).collect();
        let mut count = 9;
        assert_eq!((c!(thalweg_bwos_push_many(owner, items.as_ptr(), 3, &mut count)), count), (Ok, 3));
        assert_eq!((c!(thalweg_bwos_push_many(owner, items[3..].as_ptr(), 7, &mut count)), count), (Ok, 5));
        assert_eq!((c!(thalweg_bwos_push_many(owner, items[8..].as_ptr(), 2, &mut count)), count), (Full, 0));
        assert_eq!((c!(thalweg_bwos_push_many(owner, null(), 0, &mut count)), count), (Ok, 0));
        assert_eq!(c!(thalweg_bwos_owner_len(owner)), 8);
        let mut places = [item(99); 10];
        assert_eq!((c!(thalweg_bwos_pop_many(owner, places.as_mut_ptr(), 3, &mut count)), count), (Ok, 3));
        assert_eq!((c!(thalweg_bwos_pop_many(owner, places[3..].as_mut_ptr(), 7, &mut count)), count), (Ok, 5));
        assert_eq!((c!(thalweg_bwos_pop_many(owner, places.as_mut_ptr(), 10, &mut count)), count), (Empty, 0));
        count = 9;
        assert_eq!((c!(thalweg_bwos_pop_many(owner, null_mut(), 0, &mut count)), count), (Ok, 0));
        let mut expected = items[..8].to_vec();
        if order == Order::Lifo {
            expected.reverse();
        }
        assert_eq!((&places[..8], &places[8..]), (&expected[..], &[item(99); 2][..]));
        c!(thalweg_bwos_thief_free(thief));
        c!(thalweg_bwos_owner_free(owner));
    }
}

/// Also when all thieves that there were are freed.
#[test]
fn the_owner_makes_thieves() {
    for order in [Order::Lifo, Order::Fifo] {
        let (owner, first) = bwos(order, 2, 8);
        c!(thalweg_bwos_thief_free(first));
        for number in 1..=2 {
            assert_eq!(c!(thalweg_bwos_push(owner, item(number))), Ok);
        }
        assert_eq!(c!(thalweg_bwos_share(owner)), Ok);
        let thieves = [c!(thalweg_bwos_thief_new(owner)), c!(thalweg_bwos_thief_new(owner))];
        let mut stolen = item(99);
        for (thief, expected) in thieves.into_iter().zip([item(1), item(2)]) {
            assert!(!c!(thalweg_bwos_thief_is_closed(thief)));
            assert_eq!((c!(thalweg_bwos_steal(thief, &mut stolen)), stolen), (Ok, expected));
        }
        c!(thalweg_bwos_owner_free(owner));
        for thief in thieves {
            assert_eq!(c!(thalweg_bwos_steal(thief, &mut stolen)), Closed);
            c!(thalweg_bwos_thief_free(thief));
        }
    }
}

#[test]
fn thieves_take_what_is_shared_and_what_is_left() {
    for order in [Order::Lifo, Order::Fifo] {
        let (owner, thief) = bwos(order, 2, 8);
        for number in 1..=5 {
            assert_eq!(c!(thalweg_bwos_push(owner, item(number))), Ok);
        }
        let mut stolen = item(99);
        assert_eq!((c!(thalweg_bwos_steal(thief, &mut stolen)), stolen), (Empty, item(99)));
        assert_eq!(c!(thalweg_bwos_thief_len(thief)), 0);
        assert_eq!(c!(thalweg_bwos_share(owner)), Ok);
        assert_eq!(c!(thalweg_bwos_thief_len(thief)), 5);
        assert_eq!((c!(thalweg_bwos_steal(thief, &mut stolen)), stolen), (Ok, item(1)));
        let other = c!(thalweg_bwos_thief_clone(thief));
        let (mut places, mut count) = ([item(99); 4], 9);
        assert_eq!(c!(thalweg_bwos_steal_many(other, places.as_mut_ptr(), 2, &mut count)), Ok);
        assert_eq!((count, places), (2, [item(2), item(3), item(99), item(99)]));
        assert_eq!(c!(thalweg_bwos_steal_many(other, null_mut(), 0, &mut count)), Ok);
        assert_eq!(count, 0);
        c!(thalweg_bwos_thief_free(thief));
        assert!(!c!(thalweg_bwos_thief_is_closed(other)));
        c!(thalweg_bwos_owner_free(owner));
        assert!(c!(thalweg_bwos_thief_is_closed(other)));
        assert_eq!(c!(thalweg_bwos_steal_many(other, places.as_mut_ptr(), 4, &mut count)), Ok);
        assert_eq!((count, places), (2, [item(4), item(5), item(99), item(99)]));
        assert_eq!((c!(thalweg_bwos_steal_many(other, places.as_mut_ptr(), 4, &mut count)), count), (Closed, 0));
        assert_eq!(c!(thalweg_bwos_steal(other, &mut stolen)), Closed);
        c!(thalweg_bwos_thief_free(other));
    }
}

#[test]
fn each_task_goes_to_one() {
    for order in [Order::Lifo, Order::Fifo] {
        let (owner, thief) = bwos(order, 4, 4);
        let thieves: Vec<_> = [thief, c!(thalweg_bwos_thief_clone(thief))]
            .into_iter()
            .map(|thief| {
                let thief = Sent(thief);
                thread::spawn(move || {
                    let mut got = Vec::new();
                    let mut places = [null_mut(); 3];
                    let mut count = 0;
                    while c!(thalweg_bwos_steal_many(thief.get(), places.as_mut_ptr(), 3, &mut count)) != Closed {
                        got.extend(places[..count].iter().map(|item| item.addr()));
                        thread::yield_now();
                    }
                    c!(thalweg_bwos_thief_free(thief.get()));
                    got
                })
            })
            .collect();
        let mut all = Vec::new();
        for number in 0..2000 {
            if c!(thalweg_bwos_push(owner, item(number))) != Ok {
                all.push(number);
            }
            let mut popped = null_mut();
            if number % 3 == 0 && c!(thalweg_bwos_pop(owner, &mut popped)) == Ok {
                all.push(popped.addr());
            }
        }
        c!(thalweg_bwos_owner_free(owner));
        for thief in thieves {
            all.extend(thief.join().unwrap());
        }
        all.sort_unstable();
        assert_eq!(all, (0..2000).collect::<Vec<_>>());
    }
}
