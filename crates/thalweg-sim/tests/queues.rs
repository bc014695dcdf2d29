//! Every queue runs on the machine unchanged: all that is pushed comes through, and the report has its fields.
#![cfg(not(loom))]

mod support;

use std::num::NonZero;
use support::{HEAP, machine};
use thalweg_queue::Yield;
use thalweg_queue::growing::{Most, chunk_ring_with_wait};
use thalweg_queue::{
    Pop, Push,
    research::{cnq, faaq, lamport, locked, mesh, ticketed, tube},
    spsc::fast_forward,
    stealing,
};
use thalweg_queue::{bytes, mpmc, mpsc, overwriting, spmc, spsc};
use thalweg_sim::{Heap, Simulation};
use thalweg_sync::{spin, thread};

#[global_allocator]
static ALLOCATOR: Heap = HEAP;

const ITEMS: u64 = 300;
const SUM: u64 = ITEMS * (ITEMS + 1) / 2;

/// Runs `client`, which uses the queue whose source is in `file`.
fn run(file: &str, client: impl FnOnce() + Send) {
    let report = Simulation::new(machine("x86-88t")).threads(3).stack_bytes(1 << 20).run(client);
    let fields: Vec<_> = report.fields.iter().map(|field| field.name.as_str()).collect();
    assert!(fields.iter().any(|name| name.starts_with(file)), "nothing of {file} in {fields:?}");
}

/// Runs both sides, on a core each.
fn sides(produce: impl FnOnce() + Send, consume: impl FnOnce() -> u64 + Send) {
    thread::scope(|scope| {
        scope.spawn(produce);
        let sum = scope.spawn(consume);
        assert_eq!(sum.join().unwrap(), SUM);
    });
}

/// Numbers from 1 on, one by one.
fn through<T, R, E>(file: &str, ends: impl FnOnce() -> Result<(T, R), E> + Send)
where
    T: Push<Item = NonZero<u64>> + Send,
    R: Pop<Item = NonZero<u64>> + Send,
{
    run(file, || {
        let Ok((mut tx, mut rx)) = ends() else { panic!("{file}: the queue can have this size") };
        sides(
            move || {
                (1..=ITEMS).filter_map(NonZero::new).for_each(|number| tx.push(number).expect("the consumer stays"))
            },
            move || std::iter::from_fn(|| rx.pop().ok()).map(NonZero::get).sum(),
        );
    });
}

#[test]
fn queues_of_items() {
    through("spsc/fast_forward/", || fast_forward::with_wait(64, Yield));
    through("spsc/fast_forward/", || fast_forward::in_place_with_wait(64, Yield));
    through("research/lamport/", || lamport::with_wait::<_, _, lamport::Plain>(64, Yield));
    through("research/lamport/", || lamport::with_wait::<_, _, lamport::Cached>(64, Yield));
    through("research/locked.rs", || locked::with_wait(64, Yield));
    through("growing/", || chunk_ring_with_wait(16, Most::Entries(256), Yield));
    through("spsc/", || spsc::with_wait(4, 16, Yield));
    through("mpmc/", || mpmc::with_wait(4, 16, Yield));
    through("mpmc/", || mpsc::with_wait(4, 16, Yield));
    through("mpmc/", || spmc::with_wait(4, 16, Yield));
    through("research/faaq/", || faaq::with_wait(4, 16, Yield));
    through("research/cnq/", || cnq::cnq_with_wait(64, 16, Yield));
    through("research/ticketed/", || ticketed::with_wait(64, 0, Yield));
    through("research/tube/", || tube::ring::Rts::new(64).map(tube::queue));
    through("research/tube/", || tube::ring::Hts::new(64).map(tube::queue));
    through("research/tube/", || tube::scqd::Scqd::new(64).map(tube::queue));
    through("growing/", || {
        mesh::with_wait(1, 1, 16, 64, Yield).map(|(mut tx, mut rx)| (tx.pop().expect("one"), rx.pop().expect("one")))
    });
}

#[test]
fn messages_of_bytes() {
    run("bytes/", || {
        let (tx, rx) = bytes::with_wait(4, 256, Yield).unwrap();
        sides(
            move || (1..=ITEMS).for_each(|number| tx.push(&number.to_le_bytes()).expect("the consumer stays")),
            move || {
                let mut message = Vec::new();
                let numbers = std::iter::from_fn(|| {
                    message.clear();
                    rx.pop(&mut message).ok()?;
                    Some(u64::from_le_bytes(message.as_slice().try_into().expect("eight bytes")))
                });
                numbers.sum()
            },
        );
    });
}

/// What was dropped is counted, so that nothing is missed.
#[test]
fn drop_old_keeps_the_newest() {
    run("overwriting/", || {
        let (tx, rx) = overwriting::with_wait(4, 16, Yield).unwrap();
        thread::scope(|scope| {
            scope.spawn(move || (1..=ITEMS).for_each(|number| tx.try_push(number).expect("the consumer stays")));
            let last = scope.spawn(move || {
                let mut last = 0;
                while let Ok(number) = rx.pop() {
                    assert!(number > last, "{number} after {last}");
                    last = number;
                }
                last
            });
            assert_eq!(last.join().unwrap(), ITEMS);
        });
    });
}

#[test]
fn what_an_owner_keeps_and_what_is_stolen() {
    run("stealing/", || {
        let (mut owner, stealer) = stealing::lifo(8, 16).unwrap();
        sides(
            move || (1..=ITEMS).for_each(|number| spin::until(|| owner.push(number).ok())),
            move || {
                std::iter::from_fn(|| {
                    spin::until(|| match stealer.steal() {
                        Err(stealing::StealError::Closed) => Some(None),
                        stolen => stolen.ok().map(Some),
                    })
                })
                .sum()
            },
        );
    });
}
