//! `queues/failed-ops`: what a push on a full queue and a pop on an empty one cost, beside those that succeed.

use std::time::Instant;

use super::contenders::*;
use super::one_to_one::{CAPACITY, Ends, params};
use crate::harness::Role::{self, *};
use crate::harness::{BoxError, Contender, Effort, Experiment, Group, Sample};
use crate::machine::Placement;

/// The entry for the registry.
pub const EXPERIMENT: Experiment = Experiment {
    name: "queues/failed-ops",
    what: "one thread alone, each kind of operation in a loop of its own: push, push on full, pop, pop on empty",
    plan,
};

fn plan(effort: &Effort) -> Result<Vec<Group>, BoxError> {
    let rounds = effort.messages(4_000_000) / TIMES + 1;
    let contenders = vec![
        alone::<Spsc>(Ours, "thalweg-bbq-spsc", rounds),
        alone::<FastForward>(Ours, "thalweg-fast-forward", rounds),
        alone::<ChunkRing>(Ours, "thalweg-chunk-ring", rounds),
        alone::<BbqMpsc>(Ours, "thalweg-bbq-mpsc", rounds),
        alone::<BbqSpmc>(Ours, "thalweg-bbq-spmc", rounds),
        alone::<Bbq>(Ours, "thalweg-bbq", rounds),
        alone::<Cnq>(Ours, "thalweg-cnq, k 1024", rounds),
        alone::<TubeBbq>(Ours, "thalweg-tube, bbq", rounds),
        alone::<TubeFaaq>(Ours, "thalweg-tube, faaq", rounds),
        alone::<TubeScqd>(Ours, "thalweg-tube, scqd", rounds),
        alone::<TubeMt>(Ours, "thalweg-tube, ring mt", rounds),
        alone::<TubeRts>(Ours, "thalweg-tube, ring rts", rounds),
        alone::<TubeHts>(Ours, "thalweg-tube, ring hts", rounds),
        alone::<Rtrb>(Peer, "rtrb", rounds),
        alone::<Ringbuf>(Peer, "ringbuf", rounds),
        alone::<ArrayQueue>(Peer, "crossbeam-array-queue", rounds),
        alone::<CrossbeamChannel>(Peer, "crossbeam-channel", rounds),
        alone::<ConcurrentQueue>(Peer, "concurrent-queue", rounds),
    ];
    Ok(vec![Group::new("one thread", &["ns/push", "ns/push on full", "ns/pop", "ns/pop on empty"], contenders)])
}

fn alone<Q: Ends>(role: Role, name: &str, rounds: u64) -> Contender {
    let mut given = params(rounds * TIMES, CAPACITY);
    given["threads"] = Placement::OneCpu.word().into();
    Contender::new(role, name, given, move || run::<Q>(rounds))
}

/// How many operations of each kind a round has. Half of the entries, as some queues are full with fewer items than they have entries for, or
/// with more.
const TIMES: u64 = CAPACITY as u64 / 2;

fn run<Q: Ends>(rounds: u64) -> Result<Sample, BoxError> {
    Placement::OneCpu.pin(0, 1);
    let (mut tx, mut rx) = Q::build(CAPACITY);
    let (mut nanos, mut pushed, mut popped) = ([0.0; 4], 0, 0_u64);
    for _ in 0..rounds {
        let push = timed(TIMES, |value| Q::push(&mut tx, value));
        let all = TIMES + (TIMES + 1..).take_while(|&value| Q::push(&mut tx, value)).count() as u64;
        pushed += all * (all + 1) / 2;
        let full = timed(TIMES, |value| !Q::push(&mut tx, value));
        let pop = timed(TIMES, |_| Q::pop(&mut rx).map(|value| popped += value).is_some());
        popped += std::iter::from_fn(|| Q::pop(&mut rx)).sum::<u64>();
        // One more goes through: a queue of blocks is empty within a block then, as mostly, and not behind its last one.
        pushed += u64::from(Q::push(&mut tx, 1));
        popped += Q::pop(&mut rx).unwrap_or(0);
        let empty = timed(TIMES, |_| Q::pop(&mut rx).is_none());
        for (sum, time) in nanos.iter_mut().zip([push, full, pop, empty]) {
            *sum += time.ok_or("an operation went as it should not")?;
        }
    }
    if popped != pushed {
        return Err(format!("the sum of what was popped is {popped}, not {pushed}").into());
    }
    Ok(Sample { figures: nanos.map(|nanos| nanos / (rounds * TIMES) as f64).to_vec(), cpus: None })
}

/// Nanoseconds of so many operations, if all went `right`. A loop for each operation of each queue, as a user writes it: a call in
/// between would add the same to what succeeds and what fails.
#[inline(always)]
fn timed(times: u64, mut right: impl FnMut(u64) -> bool) -> Option<f64> {
    let start = Instant::now();
    let all = (1..=times).fold(true, |all, value| all & right(value));
    let nanos = start.elapsed().as_nanos() as f64;
    all.then_some(nanos)
}
