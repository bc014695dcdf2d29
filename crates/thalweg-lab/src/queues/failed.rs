//! `queues/failed-ops`: what a push on a full queue and a pop on an empty one cost, beside those that succeed.

use std::hint::black_box;
use std::time::Instant;

use super::contenders::*;
use super::one_to_one::{CAPACITY, Ends, params};
use crate::harness::Role::{self, *};
use crate::harness::{BoxError, Contender, Effort, Experiment, Group, Sample};
use crate::machine::Placement;

/// The entry for the registry.
pub const EXPERIMENT: Experiment =
    Experiment { name: "queues/failed-ops", what: "one thread alone: push, push on full, pop, pop on empty", plan };

fn plan(effort: &Effort) -> Result<Vec<Group>, BoxError> {
    let rounds = effort.messages(4_000_000) / CAPACITY as u64 + 1;
    let contenders = vec![
        alone::<Spsc>(Ours, "thalweg-bbq-spsc", rounds),
        alone::<Bbq>(Ours, "thalweg-bbq", rounds),
        alone::<Rtrb>(Peer, "rtrb", rounds),
        alone::<ArrayQueue>(Peer, "crossbeam-array-queue", rounds),
        alone::<CrossbeamChannel>(Peer, "crossbeam-channel", rounds),
        alone::<ConcurrentQueue>(Peer, "concurrent-queue", rounds),
    ];
    Ok(vec![Group::new("one thread", &["ns/push", "ns/push on full", "ns/pop", "ns/pop on empty"], contenders)])
}

fn alone<Q: Ends>(role: Role, name: &str, rounds: u64) -> Contender {
    let mut given = params(rounds * CAPACITY as u64, CAPACITY);
    given["threads"] = Placement::OneCpu.word().into();
    Contender::new(role, name, given, move || {
        std::thread::spawn(move || run::<Q>(rounds)).join().expect("it does not panic")
    })
}

fn run<Q: Ends>(rounds: u64) -> Result<Sample, BoxError> {
    Placement::OneCpu.pin(0, 1);
    let (mut tx, mut rx) = Q::build(CAPACITY);
    let mut nanos = [0.0; 4];
    let each = CAPACITY as u64;
    for _ in 0..rounds {
        // As many as come right, of those that are to come so.
        let mut part = |number: usize, right: &mut dyn FnMut(u64) -> bool| {
            let start = Instant::now();
            let count = (1..=each).filter(|&value| black_box(right(value))).count() as u64;
            nanos[number] += start.elapsed().as_nanos() as f64;
            count == each
        };
        let went = part(0, &mut |value| Q::push(&mut tx, value))
            && part(1, &mut |value| !Q::push(&mut tx, value))
            && part(2, &mut |_| Q::pop(&mut rx).is_some())
            && part(3, &mut |_| Q::pop(&mut rx).is_none());
        if !went {
            return Err("a queue of this capacity took more or fewer items".into());
        }
    }
    let figures = nanos.map(|nanos| nanos / (rounds * each) as f64).to_vec();
    Ok(Sample { figures, cpus: None })
}
