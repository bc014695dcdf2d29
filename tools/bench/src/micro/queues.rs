//! Queues between one producer and one consumer.

use super::{Hardware, between, each, on_first};
use std::num::NonZero;
use thalweg_queue::Yield;
use thalweg_queue::{Pop, Push, mpmc, research::lamport as lamports, spsc, spsc::fast_forward as ff};
use thalweg_sync::hint::{self, code};
use thalweg_sync::time;

/// Messages that a queue holds.
const CAPACITY: usize = 4096;

type Item = NonZero<u64>;

// Instructions of a push and a pop together that need not wait, counted on x86-64; and of the two loops around them.
const LAMPORT: u64 = 54;
const FAST_FORWARD: u64 = 52;
const BBQ_SPSC: u64 = 36;
const BBQ_SHARED: u64 = 126;
const LOOPS: u64 = 15;

/// Numbers go through a queue of so many instructions, one by one. What fills it for the first time is not measured.
fn through(
    place: &Hardware,
    rounds: u64,
    instructions: u64,
    mut push: impl FnMut(Item) + Send,
    mut pop: impl FnMut() -> Item + Send,
) -> f64 {
    let warm = (2 * CAPACITY as u64).min(rounds / 4);
    let each_side = (instructions + LOOPS).div_ceil(2);
    between(
        place,
        || (1..=rounds).for_each(|number| code(each_side, || push(item(number)))),
        || {
            let mut wrong = 0;
            let mut take = |number: u64| code(each_side, || wrong |= pop().get() ^ number);
            (1..=warm).for_each(&mut take);
            let start = time::now();
            (warm + 1..=rounds).for_each(&mut take);
            let nanos = each(start, rounds - warm);
            assert_eq!(wrong, 0, "a number was lost or changed");
            nanos
        },
    )
}

fn item(number: u64) -> Item {
    NonZero::new(number).expect("from 1")
}

const FITS: &str = "the queue can have this capacity";
const STAYS: &str = "the other side stays until the end";

/// Numbers go through a queue whose ends lie in memory, as they do where code that is not inlined is handed them, and note there where they
/// are, each in a line of its own.
fn in_memory(
    place: &Hardware,
    rounds: u64,
    instructions: u64,
    (mut tx, mut rx): (impl Push<Item = Item> + Send, impl Pop<Item = Item> + Send),
) -> f64 {
    fn moved_on<T>(end: &T) {
        hint::touch(core::ptr::from_ref(end).cast(), 8, hint::Access::Write);
    }
    through(
        place,
        rounds,
        instructions,
        move |item| {
            Push::push(&mut tx, item).expect(STAYS);
            moved_on(&tx);
        },
        move || {
            let item = Pop::pop(&mut rx).expect(STAYS);
            moved_on(&rx);
            item
        },
    )
}

pub(crate) fn lamport(place: &Hardware, rounds: u64) -> f64 {
    let (mut tx, mut rx) = lamports::with_wait::<Item, _, lamports::Plain>(CAPACITY, Yield).expect(FITS);
    through(place, rounds, LAMPORT, move |item| tx.push(item).expect(STAYS), move || rx.pop().expect(STAYS))
}

/// Both sides by one thread, which waits for nobody.
pub(crate) fn alone(place: &Hardware, rounds: u64) -> f64 {
    let (mut tx, mut rx) = ff::with_wait::<Item, _>(CAPACITY, Yield).expect(FITS);
    on_first(place, || {
        let mut round = |number: u64| {
            code(FAST_FORWARD + LOOPS / 2, || {
                tx.push(item(number)).expect(STAYS);
                rx.pop().expect(STAYS).get() ^ number
            })
        };
        let warm = CAPACITY as u64;
        let mut wrong = (1..=warm).fold(0, |wrong, number| wrong | round(number));
        let start = time::now();
        wrong |= (warm + 1..=warm + rounds).fold(0, |wrong, number| wrong | round(number));
        let nanos = each(start, rounds);
        assert_eq!(wrong, 0, "a number was lost or changed");
        nanos
    })
}

pub(crate) fn fast_forward(place: &Hardware, rounds: u64) -> f64 {
    in_memory(place, rounds, FAST_FORWARD, ff::with_wait::<Item, _>(CAPACITY, Yield).expect(FITS))
}

pub(crate) fn bbq_spsc(place: &Hardware, rounds: u64) -> f64 {
    in_memory(place, rounds, BBQ_SPSC, spsc::with_wait::<Item, _>(8, CAPACITY / 8, Yield).expect(FITS))
}

pub(crate) fn bbq_shared(place: &Hardware, rounds: u64) -> f64 {
    let (tx, rx) = mpmc::with_capacity_and_wait::<Item, _>(CAPACITY, Yield).expect(FITS);
    through(place, rounds, BBQ_SHARED, move |item| tx.push(item).expect(STAYS), move || rx.pop().expect(STAYS))
}
