//! `queues/oversubscribed`: queues for many with more threads than CPUs, which give up their time slice or sleep when they cannot get on.

use std::thread;

use serde_json::json;

use super::contenders::*;
use super::one_to_one::{CAPACITY, Ends};
use super::wait::{self, Sleeping};
use crate::harness::Role::{self, *};
use crate::harness::{BoxError, Contender, Effort, Experiment, Group, Sample};
use crate::machine::timed;
use crate::peers::Checked;

/// The entry for the registry.
pub const EXPERIMENT: Experiment = Experiment {
    name: "queues/oversubscribed",
    what: "2P2C, 4P1C, 1P4C and 4P4C on two CPUs, u64 one by one, threads that yield or sleep when the queue is full or empty",
    plan,
};

/// Ends that may be many. The system places the threads.
trait Many: Ends<Tx: Clone, Rx: Clone> {}
impl<Q: Ends<Tx: Clone, Rx: Clone>> Many for Q {}

fn plan(effort: &Effort) -> Result<Vec<Group>, BoxError> {
    let (items, slow) = (effort.messages(4_000_000), effort.messages(1_000_000));
    let shapes = [
        ("1P1C, yielding", "1P1C, sleeping", 1, 1),
        ("2P2C, yielding", "2P2C, sleeping", 2, 2),
        ("4P1C, yielding", "4P1C, sleeping", 4, 1),
        ("1P4C, yielding", "1P4C, sleeping", 1, 4),
        ("4P4C, yielding", "4P4C, sleeping", 4, 4),
    ];
    let yielding = shapes.map(|(name, _, producers, consumers)| {
        let shape = Shape { producers, consumers, items };
        let few = Shape { items: slow, ..shape };
        let contenders = vec![
            yields::<Bbq>(Ours, "thalweg-bbq", shape),
            yields::<Cnq>(Ours, "thalweg-cnq, k 1024", shape),
            yields::<CnqWide>(Ours, "thalweg-cnq, k 1024, capsules of 256", shape),
            yields::<ArrayQueue>(Peer, "crossbeam-array-queue", shape),
            yields::<CrossbeamChannel>(Peer, "crossbeam-channel", shape),
            yields::<ConcurrentQueue>(Peer, "concurrent-queue", shape),
            yields::<Crossfire>(Peer, "crossfire", shape),
            yields::<Kanal>(Peer, "kanal", few),
            yields::<Flume>(Peer, "flume", few),
        ];
        Group::new(name, &["ns/item"], contenders)
    });
    let sleeping = shapes.map(|(_, name, producers, consumers)| {
        let shape = Shape { producers, consumers, items };
        let few = Shape { items: slow, ..shape };
        let contenders = vec![
            sleeps::<wait::Bbq>(Ours, "thalweg-bbq", shape),
            sleeps::<wait::CrossbeamChannel>(Peer, "crossbeam-channel", shape),
            sleeps::<wait::Crossfire>(Peer, "crossfire", shape),
            sleeps::<wait::Kanal>(Peer, "kanal", few),
            sleeps::<wait::Flume>(Peer, "flume", few),
        ];
        Group::new(name, &["ns/item"], contenders)
    });
    Ok(yielding.into_iter().chain(sleeping).collect())
}

#[derive(Clone, Copy)]
struct Shape {
    producers: u64,
    consumers: u64,
    items: u64,
}

fn yields<Q: Many>(role: Role, name: &str, shape: Shape) -> Contender {
    contender(role, name, shape, "yields", move || {
        let push = |tx: &mut Q::Tx, value| {
            while !Q::push(tx, value) {
                thread::yield_now();
            }
        };
        let pop = |rx: &mut Q::Rx| loop {
            match Q::pop(rx) {
                Some(value) => return value,
                None => thread::yield_now(),
            }
        };
        run(shape, Q::build(CAPACITY), push, pop)
    })
}

fn sleeps<Q: Sleeping<Tx: Clone, Rx: Clone>>(role: Role, name: &str, shape: Shape) -> Contender {
    let pop = |rx: &mut Q::Rx| Q::receive(rx).expect("a producer is left");
    contender(role, name, shape, "sleeps", move || run(shape, Q::build(), Q::send, pop))
}

fn contender(
    role: Role,
    name: &str,
    shape: Shape,
    waits: &str,
    run: impl Fn() -> Checked + Send + 'static,
) -> Contender {
    let Shape { producers, consumers, items } = shape;
    let params = json!({
        "items": items, "capacity": CAPACITY, "producers": producers, "consumers": consumers, "waits": waits,
    });
    Contender::new(role, name, params, move || Ok(Sample::nanos_per(run()?, items)))
}

/// Each producer pushes the numbers from 1 on. That each came once is checked by count and sum.
fn run<Tx: Clone + Send, Rx: Clone + Send>(
    shape: Shape,
    (tx, rx): (Tx, Rx),
    push: impl Fn(&mut Tx, u64) + Sync,
    pop: impl Fn(&mut Rx) -> u64 + Sync,
) -> Checked {
    let Shape { producers, consumers, items } = shape;
    let share = |of: u64, me: u64| items / of + u64::from(me < items % of);
    let (push, pop) = (&push, &pop);
    let (popped, timing) = timed(|| {
        thread::scope(|scope| {
            for me in 0..producers {
                let mut tx = tx.clone();
                scope.spawn(move || (1..=share(producers, me)).for_each(|value| push(&mut tx, value)));
            }
            let consume = |me| {
                let mut rx = rx.clone();
                scope.spawn(move || (0..share(consumers, me)).map(|_| pop(&mut rx)).sum::<u64>())
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
