//! What caches and lines cost.

use super::{Hardware, between, each, on_first};
use crate::lcg::Lcg;
use std::hint::black_box;
use thalweg_sync::atomic::{AtomicU64, Ordering::*};
use thalweg_sync::{CachePadded, hint::code, spin, time};

/// A word on a line of its own.
#[repr(align(64))]
struct Line(AtomicU64);

/// Nanoseconds for a cycle: a chain of multiplications, of which each takes three.
pub fn cycles_nanos() -> f64 {
    const MULTIPLICATIONS: u64 = 30_000_000;
    let chain = || {
        let start = time::now();
        let mut number = black_box(3_u64);
        for _ in 0..MULTIPLICATIONS / 8 {
            // Opaque, or a power of the factor is all that is left of them.
            for _ in 0..8 {
                number = black_box_register(number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
            }
        }
        black_box(number);
        each(start, MULTIPLICATIONS * 3)
    };
    // The shortest: the clock rate, and nothing in between.
    (0..5).map(|_| chain()).fold(f64::INFINITY, f64::min)
}

/// As `black_box`, but the value stays in its register.
#[inline(always)]
fn black_box_register(value: u64) -> u64 {
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    {
        let mut value = value;
        // SAFETY: it does nothing.
        unsafe { core::arch::asm!("/* {0} */", inout(reg) value, options(nomem, nostack, pure, preserves_flags)) };
        value
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    black_box(value)
}

/// So many lines, of which each says which is next, in an order that no prefetcher guesses: one cycle through all (Sattolo's shuffle).
fn chain(count: usize) -> Vec<Line> {
    let mut order: Vec<usize> = (0..count).collect();
    let mut random = Lcg::new();
    for last in (1..count).rev() {
        order.swap(last, random.number(33) as usize % last);
    }
    order.iter().map(|&next| Line(AtomicU64::new(next as u64))).collect()
}

/// Where `steps` steps through a chain lead.
fn follow(lines: &[Line], from: usize, steps: u64) -> usize {
    (0..steps).fold(from, |at, _| lines[at].0.load(Relaxed) as usize)
}

/// Follows a chain through `bytes` bytes of lines.
fn chase(place: &Hardware, bytes: usize, rounds: u64) -> f64 {
    let count = (bytes / 64).max(2);
    let lines = chain(count);
    on_first(place, || {
        let at = follow(&lines, 0, count as u64);
        let start = time::now();
        let at = follow(&lines, at, rounds);
        let nanos = each(start, rounds);
        assert!(black_box(at) < count);
        nanos
    })
}

pub(crate) fn l1(place: &Hardware, rounds: u64) -> f64 {
    chase(place, place.l1 / 2, rounds)
}

pub(crate) fn l2(place: &Hardware, rounds: u64) -> f64 {
    chase(place, place.l2 / 2, rounds)
}

pub(crate) fn llc(place: &Hardware, rounds: u64) -> f64 {
    chase(place, place.l2 * 3, rounds)
}

/// More than any cache holds; building the chain through it takes long without optimisation.
const BEYOND_CACHES: usize = if cfg!(test) { 8 << 20 } else { 512 << 20 };

pub(crate) fn memory(place: &Hardware, rounds: u64) -> f64 {
    chase(place, BEYOND_CACHES, rounds)
}

pub(crate) fn pause(place: &Hardware, rounds: u64) -> f64 {
    on_first(place, || {
        let start = time::now();
        (0..rounds).for_each(|_| spin::relax(1));
        each(start, rounds)
    })
}

/// A number goes there in one word and back in another, which may be the same.
fn ball(place: &Hardware, rounds: u64, there: &AtomicU64, back: &AtomicU64) -> f64 {
    let go = |from: &AtomicU64, to: &AtomicU64, turn: u64| {
        spin::hold(|| (from.load(Acquire) == turn).then_some(()));
        to.store(turn + 1, Release);
    };
    between(
        place,
        || (0..rounds).for_each(|round| go(back, there, 2 * round)),
        || {
            let start = time::now();
            (0..rounds).for_each(|round| go(there, back, 2 * round + 1));
            each(start, rounds)
        },
    )
}

pub(crate) fn round_trip(place: &Hardware, rounds: u64) -> f64 {
    let word = CachePadded(AtomicU64::new(0));
    ball(place, rounds, &word, &word)
}

/// Follows a chain of lines that another core has written since.
pub(crate) fn taken(place: &Hardware, rounds: u64) -> f64 {
    const LINES: u64 = 256;
    let lines = chain(LINES as usize);
    let turns = rounds.div_ceil(LINES);
    let turn = CachePadded(AtomicU64::new(0));
    let wait_for = |number: u64| spin::hold(|| (turn.load(Acquire) == number).then_some(()));
    between(
        place,
        || {
            for round in 0..turns {
                wait_for(2 * round);
                lines.iter().for_each(|line| line.0.store(line.0.load(Relaxed), Relaxed));
                turn.store(2 * round + 1, Release);
            }
        },
        || {
            let mut nanos = 0.0;
            for round in 0..turns {
                wait_for(2 * round + 1);
                let start = time::now();
                let at = follow(&lines, 0, LINES);
                nanos += each(start, LINES);
                assert_eq!(at, 0, "a chain leads back");
                turn.store(2 * round + 2, Release);
            }
            nanos / turns as f64
        },
    )
}

pub(crate) fn each_way(place: &Hardware, rounds: u64) -> f64 {
    let [there, back] = [CachePadded(AtomicU64::new(0)), CachePadded(AtomicU64::new(0))];
    ball(place, rounds, &there, &back)
}

fn alone(place: &Hardware, rounds: u64, change: impl Fn(&AtomicU64) + Sync) -> f64 {
    let word = CachePadded(AtomicU64::new(0));
    let nanos = on_first(place, || {
        let start = time::now();
        (0..rounds).for_each(|_| change(&word));
        each(start, rounds)
    });
    assert_eq!(word.load(Relaxed), rounds);
    nanos
}

fn contended(place: &Hardware, rounds: u64, change: impl Fn(&AtomicU64) + Sync) -> f64 {
    let word = CachePadded(AtomicU64::new(0));
    let half = rounds / 2;
    let nanos = between(
        place,
        || (0..half).for_each(|_| change(&word)),
        || {
            let start = time::now();
            (0..half).for_each(|_| change(&word));
            // Both are done.
            spin::hold(|| (word.load(Acquire) == 2 * half).then_some(()));
            each(start, 2 * half)
        },
    );
    assert_eq!(word.load(Relaxed), 2 * half);
    nanos
}

fn add(word: &AtomicU64) {
    word.fetch_add(1, AcqRel);
}

fn exchange(word: &AtomicU64) {
    let mut old = word.load(Relaxed);
    while let Err(now) = word.compare_exchange(old, old + 1, AcqRel, Relaxed) {
        old = now;
    }
}

pub(crate) fn add_alone(place: &Hardware, rounds: u64) -> f64 {
    alone(place, rounds, add)
}

pub(crate) fn add_contended(place: &Hardware, rounds: u64) -> f64 {
    contended(place, rounds, add)
}

pub(crate) fn exchange_alone(place: &Hardware, rounds: u64) -> f64 {
    alone(place, rounds, exchange)
}

pub(crate) fn exchange_contended(place: &Hardware, rounds: u64) -> f64 {
    contended(place, rounds, exchange)
}

/// Instructions for a number of a stream on either side, the loop's among them: unrolled, nineteen for eight, on x86-64.
const EACH: u64 = 2;

pub(crate) fn stream(place: &Hardware, rounds: u64) -> f64 {
    streamed(place, rounds, |item, number| item.store(number, Relaxed))
}

/// Between two stores to a line of the stream there is one to a line that nobody reads.
pub(crate) fn stream_shown(place: &Hardware, rounds: u64) -> f64 {
    let shown = CachePadded(AtomicU64::new(0));
    streamed(place, rounds, |item, number| {
        item.store(number, Relaxed);
        shown.store(number, Relaxed);
    })
}

/// Numbers through a ring of 4096, of which one side writes an eighth while the other reads another.
fn streamed(place: &Hardware, rounds: u64, write: impl Fn(&AtomicU64, u64) + Sync) -> f64 {
    const RING: u64 = 4096;
    const BLOCK: u64 = RING / 8;
    let ring: Vec<AtomicU64> = (0..RING).map(|_| AtomicU64::new(0)).collect();
    let (written, read) = (CachePadded(AtomicU64::new(0)), CachePadded(AtomicU64::new(0)));
    let rounds = rounds.next_multiple_of(BLOCK);
    let block = |first: u64| {
        let first = (first % RING) as usize;
        &ring[first..first + BLOCK as usize]
    };
    let (nanos, sum) = between(
        place,
        || {
            for first in (0..rounds).step_by(BLOCK as usize) {
                spin::hold(|| (read.load(Acquire) + RING >= first + BLOCK).then_some(()));
                block(first).iter().zip(first..).for_each(|(item, number)| code(EACH, || write(item, number)));
                written.store(first + BLOCK, Release);
            }
        },
        || {
            let (start, mut sum) = (time::now(), 0);
            for first in (0..rounds).step_by(BLOCK as usize) {
                spin::hold(|| (written.load(Acquire) >= first + BLOCK).then_some(()));
                sum += block(first).iter().map(|item| code(EACH, || item.load(Relaxed))).sum::<u64>();
                read.store(first + BLOCK, Release);
            }
            (each(start, rounds), sum)
        },
    );
    assert_eq!(sum, rounds * (rounds - 1) / 2);
    nanos
}
