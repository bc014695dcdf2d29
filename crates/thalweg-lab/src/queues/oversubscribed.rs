//! `queues/oversubscribed`: queues for many with more threads than CPUs, which give up their time slice when they cannot get on.

use std::thread;

use serde_json::json;

use super::contenders::*;
use super::one_to_one::{CAPACITY, Ends};
use crate::harness::Role::{self, *};
use crate::harness::{BoxError, Contender, Effort, Experiment, Group, Sample};
use crate::machine::timed;
use crate::peers::Checked;

/// The entry for the registry.
pub const EXPERIMENT: Experiment = Experiment {
    name: "queues/oversubscribed",
    what: "2P2C, 4P1C, 1P4C and 4P4C on two CPUs, u64 one by one, threads that yield when the queue is full or empty",
    plan,
};

/// Ends that may be many. The system places the threads.
trait Many: Ends<Tx: Clone, Rx: Clone> {}
impl<Q: Ends<Tx: Clone, Rx: Clone>> Many for Q {}

fn plan(effort: &Effort) -> Result<Vec<Group>, BoxError> {
    let items = effort.messages(4_000_000);
    let shapes = [("2P2C", 2, 2), ("4P1C", 4, 1), ("1P4C", 1, 4), ("4P4C", 4, 4)];
    let groups = shapes.map(|(name, producers, consumers)| {
        let shape = Shape { producers, consumers, items };
        let contenders = vec![
            through::<Bbq>(Ours, "thalweg-bbq", shape),
            through::<ArrayQueue>(Peer, "crossbeam-array-queue", shape),
            through::<CrossbeamChannel>(Peer, "crossbeam-channel", shape),
            through::<ConcurrentQueue>(Peer, "concurrent-queue", shape),
            through::<Crossfire>(Peer, "crossfire", shape),
            through::<Kanal>(Peer, "kanal", shape),
            through::<Flume>(Peer, "flume", shape),
        ];
        Group::new(name, &["ns/item"], contenders)
    });
    Ok(groups.into())
}

#[derive(Clone, Copy)]
struct Shape {
    producers: u64,
    consumers: u64,
    items: u64,
}

fn through<Q: Many>(role: Role, name: &str, shape: Shape) -> Contender {
    let Shape { producers, consumers, items } = shape;
    let params = json!({
        "items": items, "capacity": CAPACITY, "producers": producers, "consumers": consumers, "waits": "yields",
    });
    Contender::new(role, name, params, move || Ok(Sample::nanos_per(run::<Q>(shape)?, items)))
}

/// Each producer pushes the numbers from 1 on. That each came once is checked by count and sum.
fn run<Q: Many>(shape: Shape) -> Checked {
    let Shape { producers, consumers, items } = shape;
    let share = |of: u64, me: u64| items / of + u64::from(me < items % of);
    let (tx, rx) = Q::build(CAPACITY);
    let (popped, timing) = timed(|| {
        thread::scope(|scope| {
            for me in 0..producers {
                let mut tx = tx.clone();
                scope.spawn(move || {
                    for value in 1..=share(producers, me) {
                        while !Q::push(&mut tx, value) {
                            thread::yield_now();
                        }
                    }
                });
            }
            let consume = |me| {
                let mut rx = rx.clone();
                scope.spawn(move || {
                    (0..share(consumers, me)).fold(0_u64, |sum, _| {
                        loop {
                            match Q::pop(&mut rx) {
                                Some(value) => return sum + value,
                                None => thread::yield_now(),
                            }
                        }
                    })
                })
            };
            let consumers: Vec<_> = (0..consumers).map(consume).collect();
            consumers.into_iter().map(|consumer| consumer.join().expect("no consumer panics")).sum::<u64>()
        })
    });
    let pushed: u64 = (0..producers).map(|me| share(producers, me)).map(|each| each * (each + 1) / 2).sum();
    match popped == pushed {
        true => Ok(timing),
        false => Err(format!("the sum of what was popped is {popped}, not {pushed}").into()),
    }
}
