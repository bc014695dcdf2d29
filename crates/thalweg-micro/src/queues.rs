//! Queues between one producer and one consumer.

use crate::{Place, between, each};
use std::num::NonZero;
use thalweg_queue::{bbq, fast_forward as ff, lamport as lamports};
use thalweg_sync::time;

/// Messages that a queue holds.
const CAPACITY: usize = 4096;

type Item = NonZero<u64>;

/// Numbers go through a queue, one by one. What fills it for the first time is not measured.
fn through(place: &Place, rounds: u64, mut push: impl FnMut(Item) + Send, mut pop: impl FnMut() -> Item + Send) -> f64 {
    let warm = (2 * CAPACITY as u64).min(rounds / 4);
    between(
        place,
        || (1..=rounds).for_each(|number| push(NonZero::new(number).expect("from 1"))),
        || {
            let mut wrong = 0;
            let mut take = |number: u64| wrong |= pop().get() ^ number;
            (1..=warm).for_each(&mut take);
            let start = time::now();
            (warm + 1..=rounds).for_each(&mut take);
            let nanos = each(start, rounds - warm);
            assert_eq!(wrong, 0, "a number was lost or changed");
            nanos
        },
    )
}

const FITS: &str = "the queue can have this capacity";
const STAYS: &str = "the other side stays until the end";

pub(crate) fn lamport(place: &Place, rounds: u64) -> f64 {
    let (mut tx, mut rx) = lamports::plain::<Item>(CAPACITY).expect(FITS);
    through(place, rounds, move |item| tx.push(item).expect(STAYS), move || rx.pop().expect(STAYS))
}

pub(crate) fn fast_forward(place: &Place, rounds: u64) -> f64 {
    let (mut tx, mut rx) = ff::<Item>(CAPACITY).expect(FITS);
    through(place, rounds, move |item| tx.push(item).expect(STAYS), move || rx.pop().expect(STAYS))
}

pub(crate) fn bbq_spsc(place: &Place, rounds: u64) -> f64 {
    let (mut tx, mut rx) = bbq::spsc::<Item>(8, CAPACITY / 8).expect(FITS);
    through(place, rounds, move |item| tx.push(item).expect(STAYS), move || rx.pop().expect(STAYS))
}

pub(crate) fn bbq_shared(place: &Place, rounds: u64) -> f64 {
    let (tx, rx) = bbq::with_capacity::<Item>(CAPACITY).expect(FITS);
    through(place, rounds, move |item| tx.push(item).expect(STAYS), move || rx.pop().expect(STAYS))
}
