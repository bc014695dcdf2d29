//! An owner and its thieves, byte entries of one size.

use crate::{SIZES, Sent, pattern};
use std::mem::MaybeUninit;
use std::ptr::{null, null_mut};
use thalweg_queue_c::Status::{Closed, Empty, Full, Ok};
use thalweg_queue_c::bwos_records::*;
use thalweg_sync::thread;

#[derive(Clone, Copy, PartialEq)]
enum Order {
    Lifo,
    Fifo,
}

fn bwos(order: Order, size: usize, blocks: usize, entries: usize) -> (*mut BwosRecordsOwner, *mut BwosRecordsThief) {
    let (mut owner, mut thief) = (null_mut(), null_mut());
    let built = match order {
        Order::Lifo => c!(thalweg_bwos_records_new_lifo(size, blocks, entries, &mut owner, &mut thief, null_mut(), 0)),
        Order::Fifo => c!(thalweg_bwos_records_new_fifo(size, blocks, entries, &mut owner, &mut thief, null_mut(), 0)),
    };
    assert_eq!(built, Ok);
    (owner, thief)
}

/// Both orders, each with all sizes.
fn shapes() -> impl Iterator<Item = (Order, usize)> {
    [Order::Lifo, Order::Fifo].into_iter().flat_map(|order| SIZES.map(|size| (order, size)))
}

#[test]
fn the_owner_pops_in_its_order_at_any_address() {
    for (order, size) in shapes() {
        let (owner, thief) = bwos(order, size, 4, 2);
        assert_eq!(c!(thalweg_bwos_records_owner_entry_size(owner)), size);
        assert_eq!(c!(thalweg_bwos_records_thief_entry_size(thief)), size);
        assert_eq!(c!(thalweg_bwos_records_owner_capacity(owner)), 8);
        assert_eq!(c!(thalweg_bwos_records_thief_capacity(thief)), 8);
        let entries = pattern(8 * size + 1);
        let entry = |number: usize| &entries[1 + number * size..][..size];
        for number in 0..8 {
            assert_eq!(c!(thalweg_bwos_records_push(owner, entry(number).as_ptr().cast())), Ok);
        }
        assert_eq!(c!(thalweg_bwos_records_push(owner, entry(0).as_ptr().cast())), Full);
        assert_eq!(c!(thalweg_bwos_records_owner_len(owner)), 8);
        let mut memory = vec![0_u8; size + 2];
        for number in 0..8 {
            memory.fill(0xAA);
            assert_eq!(c!(thalweg_bwos_records_pop(owner, memory[1..].as_mut_ptr().cast())), Ok);
            assert_eq!(&memory[1..=size], entry(if order == Order::Lifo { 7 - number } else { number }));
            assert_eq!((memory[0], memory[size + 1]), (0xAA, 0xAA), "written outside of the entry");
        }
        memory.fill(0xAA);
        assert_eq!(c!(thalweg_bwos_records_pop(owner, memory[1..].as_mut_ptr().cast())), Empty);
        assert!(memory.iter().all(|&byte| byte == 0xAA));
        c!(thalweg_bwos_records_thief_free(thief));
        assert_eq!(c!(thalweg_bwos_records_push(owner, entry(0).as_ptr().cast())), Ok);
        c!(thalweg_bwos_records_owner_free(owner));
    }
}

/// Popped to memory that was never written.
#[test]
fn the_owner_moves_batches_in_its_order() {
    for (order, size) in shapes() {
        let (owner, thief) = bwos(order, size, 4, 2);
        let entries = pattern(10 * size);
        let (from, mut count) = (|number: usize| entries[number * size..].as_ptr().cast(), 9);
        assert_eq!((c!(thalweg_bwos_records_push_many(owner, from(0), 3, &mut count)), count), (Ok, 3));
        assert_eq!((c!(thalweg_bwos_records_push_many(owner, from(3), 7, &mut count)), count), (Ok, 5));
        assert_eq!((c!(thalweg_bwos_records_push_many(owner, from(8), 2, &mut count)), count), (Full, 0));
        assert_eq!((c!(thalweg_bwos_records_push_many(owner, null(), 0, &mut count)), count), (Ok, 0));
        assert_eq!(c!(thalweg_bwos_records_owner_len(owner)), 8);
        let mut memory = Box::<[u8]>::new_uninit_slice(10 * size);
        memory[8 * size..].fill(MaybeUninit::new(0xAA));
        let mut place = |number: usize| memory[number * size..].as_mut_ptr().cast();
        assert_eq!((c!(thalweg_bwos_records_pop_many(owner, place(0), 3, &mut count)), count), (Ok, 3));
        assert_eq!((c!(thalweg_bwos_records_pop_many(owner, place(3), 7, &mut count)), count), (Ok, 5));
        assert_eq!((c!(thalweg_bwos_records_pop_many(owner, place(0), 10, &mut count)), count), (Empty, 0));
        count = 9;
        assert_eq!((c!(thalweg_bwos_records_pop_many(owner, null_mut(), 0, &mut count)), count), (Ok, 0));
        // SAFETY: the first entries were popped to it, the last two are from above.
        let memory = unsafe { memory.assume_init() };
        for (number, popped) in memory[..8 * size].chunks(size).enumerate() {
            let expected = if order == Order::Lifo { 7 - number } else { number };
            assert_eq!(popped, &entries[expected * size..][..size]);
        }
        assert!(memory[8 * size..].iter().all(|&byte| byte == 0xAA));
        c!(thalweg_bwos_records_thief_free(thief));
        c!(thalweg_bwos_records_owner_free(owner));
    }
}

/// Also when all thieves that there were are freed.
#[test]
fn the_owner_makes_thieves() {
    for (order, size) in shapes() {
        let (owner, first) = bwos(order, size, 2, 8);
        c!(thalweg_bwos_records_thief_free(first));
        let entries = pattern(2 * size);
        for entry in entries.chunks(size) {
            assert_eq!(c!(thalweg_bwos_records_push(owner, entry.as_ptr().cast())), Ok);
        }
        assert_eq!(c!(thalweg_bwos_records_share(owner)), Ok);
        let thieves = [c!(thalweg_bwos_records_thief_new(owner)), c!(thalweg_bwos_records_thief_new(owner))];
        let mut stolen = vec![0_u8; size];
        for (thief, expected) in thieves.into_iter().zip(entries.chunks(size)) {
            assert_eq!(c!(thalweg_bwos_records_thief_entry_size(thief)), size);
            assert!(!c!(thalweg_bwos_records_thief_is_closed(thief)));
            assert_eq!(c!(thalweg_bwos_records_steal(thief, stolen.as_mut_ptr().cast())), Ok);
            assert_eq!(stolen, expected);
        }
        c!(thalweg_bwos_records_owner_free(owner));
        for thief in thieves {
            assert_eq!(c!(thalweg_bwos_records_steal(thief, stolen.as_mut_ptr().cast())), Closed);
            c!(thalweg_bwos_records_thief_free(thief));
        }
    }
}

/// Stolen to memory that was never written.
#[test]
fn thieves_take_what_is_shared_and_what_is_left() {
    for (order, size) in shapes() {
        let (owner, thief) = bwos(order, size, 2, 8);
        let entries = pattern(5 * size);
        for entry in entries.chunks(size) {
            assert_eq!(c!(thalweg_bwos_records_push(owner, entry.as_ptr().cast())), Ok);
        }
        let mut memory = Box::<[u8]>::new_uninit_slice(6 * size);
        memory[5 * size..].fill(MaybeUninit::new(0xAA));
        let mut place = |number: usize| memory[number * size..].as_mut_ptr().cast();
        assert_eq!(c!(thalweg_bwos_records_steal(thief, place(0))), Empty);
        assert_eq!(c!(thalweg_bwos_records_thief_len(thief)), 0);
        assert_eq!(c!(thalweg_bwos_records_share(owner)), Ok);
        assert_eq!(c!(thalweg_bwos_records_thief_len(thief)), 5);
        assert_eq!(c!(thalweg_bwos_records_steal(thief, place(0))), Ok);
        let other = c!(thalweg_bwos_records_thief_clone(thief));
        let mut count = 9;
        assert_eq!((c!(thalweg_bwos_records_steal_many(other, place(1), 2, &mut count)), count), (Ok, 2));
        assert_eq!((c!(thalweg_bwos_records_steal_many(other, null_mut(), 0, &mut count)), count), (Ok, 0));
        c!(thalweg_bwos_records_thief_free(thief));
        assert!(!c!(thalweg_bwos_records_thief_is_closed(other)));
        c!(thalweg_bwos_records_owner_free(owner));
        assert!(c!(thalweg_bwos_records_thief_is_closed(other)));
        assert_eq!((c!(thalweg_bwos_records_steal_many(other, place(3), 3, &mut count)), count), (Ok, 2));
        assert_eq!((c!(thalweg_bwos_records_steal_many(other, place(3), 3, &mut count)), count), (Closed, 0));
        assert_eq!(c!(thalweg_bwos_records_steal(other, place(0))), Closed);
        c!(thalweg_bwos_records_thief_free(other));
        // SAFETY: the first entries were stolen to it, the last one is from above.
        let memory = unsafe { memory.assume_init() };
        assert_eq!(memory[..5 * size], entries);
        assert!(memory[5 * size..].iter().all(|&byte| byte == 0xAA));
    }
}

/// The number that a task begins with, and repeats in its other bytes.
fn number_of(task: &[u8]) -> u64 {
    let number = u64::from_ne_bytes(task[..8].try_into().unwrap());
    assert!(task[8..].iter().all(|&byte| byte == number as u8));
    number
}

#[test]
fn each_task_goes_to_one() {
    for (order, size) in shapes().filter(|(_, size)| matches!(size, 8 | 64)) {
        let (owner, thief) = bwos(order, size, 4, 4);
        let thieves: Vec<_> = [thief, c!(thalweg_bwos_records_thief_clone(thief))]
            .into_iter()
            .map(|thief| {
                let thief = Sent(thief);
                thread::spawn(move || {
                    let mut got = Vec::new();
                    let mut tasks = vec![0_u8; 3 * size];
                    let mut count = 0;
                    loop {
                        let to = tasks.as_mut_ptr().cast();
                        if c!(thalweg_bwos_records_steal_many(thief.get(), to, 3, &mut count)) == Closed {
                            break;
                        }
                        got.extend(tasks.chunks(size).take(count).map(number_of));
                        thread::yield_now();
                    }
                    c!(thalweg_bwos_records_thief_free(thief.get()));
                    got
                })
            })
            .collect();
        let mut all = Vec::new();
        for number in 0..2000_u64 {
            let mut task = vec![number as u8; size];
            task[..8].copy_from_slice(&number.to_ne_bytes());
            if c!(thalweg_bwos_records_push(owner, task.as_ptr().cast())) != Ok {
                all.push(number);
            }
            if number % 3 == 0 && c!(thalweg_bwos_records_pop(owner, task.as_mut_ptr().cast())) == Ok {
                all.push(number_of(&task));
            }
        }
        c!(thalweg_bwos_records_owner_free(owner));
        for thief in thieves {
            all.extend(thief.join().unwrap());
        }
        all.sort_unstable();
        assert_eq!(all, (0..2000).collect::<Vec<_>>());
    }
}
