//! The routing thread and its exchanges, in the executions that loom's bounds allow.
//!
//! A router with one slot. Two lines are the fewest with which it is used again, and may refuse; two items in a line are the
//! fewest of which a consumer can take a part and leave.
#![cfg(loom)]
#![allow(missing_docs, reason = "nobody but the test uses what is here")]

use thalweg_link::{Limits, Supervisor};
use thalweg_sync::{model_bounded, thread};

/// Switches away from a thread that could go on: none, which leaves every wait, and every value that a load may see.
const PREEMPTIONS: usize = 0;

#[test]
fn items_arrive_whole_and_in_order_and_then_the_end() {
    model_bounded(PREEMPTIONS, || {
        let supervisor = Supervisor::software(Limits { links: 1, entries: 1 }).unwrap();
        let channel = supervisor.open("a").unwrap();
        let (mut tx, mut rx) = (channel.producer::<[u64; 2]>().unwrap(), channel.consumer::<[u64; 2]>().unwrap());
        let producer = thread::spawn(move || {
            tx.push([1, 11]).unwrap();
            tx.push([2, 22]).unwrap();
        });
        assert_eq!(rx.pop(), Ok([1, 11]));
        assert_eq!(rx.pop(), Ok([2, 22]));
        assert!(rx.pop().is_err());
        producer.join().unwrap();
    });
}

/// Two requests under way, at the doors of two of its three lines.
#[test]
fn several_requests_are_served_in_turn() {
    model_bounded(PREEMPTIONS, || {
        let supervisor = Supervisor::software(Limits { links: 1, entries: 1 }).unwrap();
        let channel = supervisor.open("a").unwrap();
        let (mut tx, mut rx) = (channel.producer::<u64>().unwrap(), channel.consumer_of::<u64>(2).unwrap());
        let producer = thread::spawn(move || (1..=2).for_each(|n| tx.push(n).unwrap()));
        rx.prefetch();
        assert_eq!((rx.pop(), rx.pop()), (Ok(1), Ok(2)));
        assert!(rx.pop().is_err());
        producer.join().unwrap();
    });
}

#[test]
fn a_consumer_that_has_asked_and_leaves_gives_back() {
    model_bounded(PREEMPTIONS, || {
        let supervisor = Supervisor::software(Limits { links: 1, entries: 1 }).unwrap();
        let channel = supervisor.open("a").unwrap();
        let (mut tx, mut rx) = (channel.producer::<u64>().unwrap(), channel.consumer::<u64>().unwrap());
        let mut leaver = rx.clone();
        let leaving = thread::spawn(move || leaver.try_pop().ok());
        tx.push(7).unwrap();
        let there = leaving.join().unwrap();
        assert_eq!(there.or_else(|| rx.pop().ok()), Some(7));
    });
}

/// The producer leaves while one consumer takes a part of its line, or none, and leaves; the other one pops to the end.
#[test]
fn the_end_comes_after_what_a_consumer_leaves() {
    model_bounded(PREEMPTIONS, || {
        let supervisor = Supervisor::software(Limits { links: 1, entries: 1 }).unwrap();
        let channel = supervisor.open("a").unwrap();
        let (mut tx, mut rx) = (channel.producer::<u32>().unwrap(), channel.consumer::<u32>().unwrap());
        let mut leaver = rx.clone();
        let leaving = thread::spawn(move || leaver.pop().ok());
        tx.collect(1).unwrap();
        tx.collect(2).unwrap();
        drop(tx);
        let mut popped: Vec<u32> = std::iter::from_fn(|| rx.pop().ok()).collect();
        popped.splice(0..0, leaving.join().unwrap());
        assert_eq!(popped, [1, 2]);
    });
}
