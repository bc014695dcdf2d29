//! A thread for each stage, single messages over the fastest published SPSC ring; threads yield when a ring is full or empty.

use std::thread;

use rtrb::{Consumer, Producer, PushError, RingBuffer};

use crate::machine::{Placement, Start};
use crate::peers::{CAPACITY, Checked};
use crate::workloads::Chain;

/// The chain of light stages.
pub fn chain(chain: Chain, placement: Placement) -> Checked {
    let threads = chain.stages + 2;
    let start = &Start::default();
    let (check, timing) = thread::scope(|scope| {
        let (mut tx, mut rx) = RingBuffer::new(CAPACITY);
        scope.spawn(move || {
            placement.pin(0, threads);
            start.wait();
            Chain::source(0..chain.messages).for_each(|v| push(&mut tx, v));
        });
        for at in 1..=chain.stages {
            let (mut tx, next) = RingBuffer::new(CAPACITY);
            let mut input = std::mem::replace(&mut rx, next);
            scope.spawn(move || {
                placement.pin(at, threads);
                start.wait();
                while let Some(v) = pop(&mut input) {
                    push(&mut tx, Chain::stage(v));
                }
            });
        }
        placement.pin(threads - 1, threads);
        start.timed(threads - 1, || {
            let mut check = chain.check(0..chain.messages);
            while let Some(v) = pop(&mut rx) {
                check.add(v);
            }
            check
        })
    });
    chain.verify(&[check])?;
    Ok(timing)
}

#[inline]
fn push(tx: &mut Producer<u64>, mut v: u64) {
    while let Err(PushError::Full(back)) = tx.push(v) {
        v = back;
        thread::yield_now();
    }
}

/// The next message, or `None` when the producer is gone and the ring is empty.
#[inline]
fn pop(rx: &mut Consumer<u64>) -> Option<u64> {
    loop {
        if let Ok(v) = rx.pop() {
            return Some(v);
        }
        if rx.is_abandoned() {
            // It may have pushed and left after that look.
            return rx.pop().ok();
        }
        thread::yield_now();
    }
}
