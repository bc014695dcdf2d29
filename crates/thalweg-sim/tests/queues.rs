//! Every queue runs on the machine unchanged: all that is pushed comes through, and the report has its fields.
#![cfg(not(loom))]

mod support;

use std::num::NonZero;
use support::{HEAP, machine};
use thalweg_queue::bbq::{self, bytes, drop_old};
use thalweg_queue::chunk_ring::{Most, chunk_ring};
use thalweg_queue::{Pop, Push, bwos, cnq, faaq, fast_forward, lamport, locked, mesh, ticketed, tube};
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
    through("fast_forward/", || fast_forward::fast_forward(64));
    through("fast_forward/", || fast_forward::in_place(64));
    through("lamport/", || lamport::plain(64));
    through("lamport/", || lamport::cached(64));
    through("locked.rs", || locked::locked(64));
    through("chunk_ring/", || chunk_ring(16, Most::Entries(256)));
    through("bbq/spsc/", || bbq::spsc(4, 16));
    through("bbq/", || bbq::shared(4, 16));
    through("bbq/", || bbq::mpsc(4, 16));
    through("bbq/", || bbq::spmc(4, 16));
    through("faaq/", || faaq::shared(4, 16));
    through("cnq/", || cnq::cnq(64, 16));
    through("ticketed/", || ticketed::ticketed(64));
    through("tube/", || tube::ring::Rts::new(64).map(tube::queue));
    through("tube/", || tube::ring::Hts::new(64).map(tube::queue));
    through("tube/", || tube::scqd::Scqd::new(64).map(tube::queue));
    through("chunk_ring/", || {
        mesh::mesh(1, 1, 16, 64).map(|(mut tx, mut rx)| (tx.pop().expect("one"), rx.pop().expect("one")))
    });
}

#[test]
fn messages_of_bytes() {
    run("bbq/bytes/", || {
        let (tx, rx) = bytes::bytes(4, 256).unwrap();
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
    run("bbq/drop_old/", || {
        let (tx, rx) = drop_old::drop_old(4, 16).unwrap();
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
    run("bwos/", || {
        let (mut owner, stealer) = bwos::lifo(8, 16).unwrap();
        sides(
            move || (1..=ITEMS).for_each(|number| spin::until(|| owner.push(number).ok())),
            move || {
                std::iter::from_fn(|| {
                    spin::until(|| match stealer.steal() {
                        Err(bwos::StealError::Closed) => Some(None),
                        stolen => stolen.ok().map(Some),
                    })
                })
                .sum()
            },
        );
    });
}
