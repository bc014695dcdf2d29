//! `queues/turns`: a queue that is nearly empty. Threads that push an item and pop one, in turns, as from a pool of objects, and as the
//! literature's *pairs*.

use std::hint::spin_loop;
use std::thread;

use serde_json::json;
use thalweg_queue::stealing::Rng;

use super::contenders::*;
use super::crew::Crew;
use super::limits;
use super::one_to_one::{CAPACITY, Ends, pop, push};
use super::oversubscribed::Many;
use super::stamps::{Clock, touched};
use crate::harness::Role::{self, *};
use crate::harness::{BoxError, Contender, Effort, Experiment, Group, Sample};
use crate::machine::{Placement, Start, Timing};
use crate::report::record::quantile;

/// The entry for the registry.
pub const EXPERIMENT: Experiment = Experiment { name: "queues/turns", plan };

fn plan(effort: &Effort) -> Result<Vec<Group>, BoxError> {
    let pairs = effort.messages(8_000_000);
    let one = vec![
        alone::<Spsc>(Ours, "thalweg `spsc`", pairs),
        alone::<FastForward>(Ours, "thalweg `fast_forward`", pairs),
        alone::<FastForwardInPlace>(Ours, "thalweg `fast_forward`, in place", pairs),
        alone::<ChunkRing>(Ours, "thalweg `chunk_ring`", pairs),
        alone::<BbqMpsc>(Ours, "thalweg `mpsc`", pairs),
        alone::<BbqSpmc>(Ours, "thalweg `spmc`", pairs),
        alone::<Bbq>(Ours, "thalweg `mpmc`", pairs),
        alone::<Cnq>(Ours, "thalweg `cnq`", pairs),
        alone::<TubeBbq>(Ours, "thalweg tube `bbq`", pairs),
        alone::<TubeFaaq>(Ours, "thalweg tube `faaq`", pairs),
        alone::<TubeScqd>(Ours, "thalweg tube `scqd`", pairs),
        alone::<Ticketed>(Ours, "thalweg `ticketed`", pairs),
        alone::<LamportCached>(Ours, "thalweg `lamport`, cached", pairs),
        alone::<Locked>(Ours, "thalweg `locked`", pairs),
        alone::<Rtrb>(Peer, "rtrb", pairs),
        alone::<Ringbuf>(Peer, "ringbuf", pairs),
        alone::<ArrayQueue>(Peer, "crossbeam ArrayQueue", pairs),
        alone::<CrossbeamChannel>(Peer, "crossbeam-channel", pairs),
        alone::<ConcurrentQueue>(Peer, "concurrent-queue", pairs),
        alone::<Kanal>(Peer, "kanal", pairs),
        alone::<Flume>(Peer, "flume", pairs),
    ];
    let two = |at_intervals: bool, pairs: u64| {
        vec![
            beside::<Bbq>(Ours, "thalweg `mpmc`", pairs, at_intervals),
            beside::<Cnq>(Ours, "thalweg `cnq`", pairs, at_intervals),
            beside::<TubeBbq>(Ours, "thalweg tube `bbq`", pairs, at_intervals),
            beside::<TubeFaaq>(Ours, "thalweg tube `faaq`", pairs, at_intervals),
            beside::<TubeScqd>(Ours, "thalweg tube `scqd`", pairs, at_intervals),
            beside::<Ticketed>(Ours, "thalweg `ticketed`", pairs, at_intervals),
            beside::<ArrayQueue>(Peer, "crossbeam ArrayQueue", pairs, at_intervals),
            beside::<CrossbeamChannel>(Peer, "crossbeam-channel", pairs, at_intervals),
            beside::<ConcurrentQueue>(Peer, "concurrent-queue", pairs, at_intervals),
            beside::<Kanal>(Peer, "kanal", pairs, at_intervals),
            beside::<Flume>(Peer, "flume", pairs, at_intervals),
        ]
    };
    Ok(vec![
        Group::new("one thread", &["ns per pair"], one),
        Group::new("two threads", &["ns per pair"], two(false, pairs)),
        Group::new(
            "two threads, a pair each about 1 us",
            &["ns p50", "ns p98", "ns p99"],
            two(true, effort.messages(200_000)),
        ),
        limits::group(effort),
    ])
}

fn alone<Q: Ends>(role: Role, name: &str, pairs: u64) -> Contender {
    let params = json!({ "pairs": pairs, "capacity": CAPACITY, "threads": Placement::OneCpu.word() });
    Contender::new(role, name, params, move || {
        Placement::OneCpu.pin(0, 1);
        let (mut tx, mut rx) = Q::build(CAPACITY);
        let start = Start::default();
        let (sum, timing) = start.timed(0, move || {
            let mut sum = 0;
            for value in 1..=pairs {
                if !Q::push(&mut tx, value) {
                    break;
                }
                let Some(popped) = Q::pop(&mut rx) else { break };
                sum += popped;
            }
            sum
        });
        checked(sum, pairs * (pairs + 1) / 2)?;
        Ok(Sample::nanos_per(timing, pairs))
    })
}

fn beside<Q: Many>(role: Role, name: &str, pairs: u64, at_intervals: bool) -> Contender {
    let mut params = json!({ "pairs": pairs, "capacity": CAPACITY, "threads": Placement::TwoCpus.word() });
    if at_intervals {
        params["period_ns"] = json!(PERIOD);
    }
    Contender::new(role, name, params, move || {
        let (mut times, timing) = run::<Q>(pairs / THREADS, at_intervals)?;
        if !at_intervals {
            return Ok(Sample::nanos_per(timing, pairs / THREADS * THREADS));
        }
        times.sort_unstable();
        let figures = [0.5, 0.98, 0.99].map(|q| quantile(&times, q)).to_vec();
        Ok(Sample { figures, cpus: Some(timing.cpus()) })
    })
}

const THREADS: u64 = 2;

/// Nanoseconds from one pair to the next, on the average: from half of that to one and a half.
const PERIOD: u64 = 1_000;

/// What each pair took, where they are made at intervals; and all of them.
fn run<Q: Many>(pairs: u64, at_intervals: bool) -> Result<(Vec<u64>, Timing), BoxError> {
    let (tx, rx) = Q::build(CAPACITY);
    // Each looks whether the other is still at work.
    let (clock, start, crews) = (Clock::new(), Start::default(), [(); THREADS as usize].map(|()| Crew::of(1)));
    let (sums, timing) = thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|me| {
                let (mut ends, clock, start) = ((tx.clone(), rx.clone()), &clock, &start);
                let [mine, other] = [me, 1 - me].map(|thread| &crews[thread as usize]);
                scope.spawn(move || {
                    let _member = mine.member();
                    Placement::TwoCpus.pin(me as usize, THREADS as usize);
                    let _running = start.running();
                    if at_intervals {
                        at_times::<Q>(&mut ends, pairs, other, me, clock)
                    } else {
                        (in_turns::<Q>(&mut ends, pairs, other), Vec::new())
                    }
                })
            })
            .collect();
        start.timed(threads.len(), || {
            threads.into_iter().map(|thread| thread.join().expect("no thread panics")).collect::<Vec<_>>()
        })
    });
    checked(sums.iter().map(|(sum, _)| sum).sum(), THREADS * pairs * (pairs + 1) / 2)?;
    Ok((sums.into_iter().flat_map(|(_, times)| times).collect(), timing))
}

#[inline(always)]
fn pair<Q: Ends>((tx, rx): &mut (Q::Tx, Q::Rx), value: u64, other: &Crew) -> Option<u64> {
    push::<Q>(tx, value, other).then(|| pop::<Q>(rx, other))?
}

/// The sum of what was popped.
fn in_turns<Q: Ends>(ends: &mut (Q::Tx, Q::Rx), pairs: u64, other: &Crew) -> u64 {
    (1..=pairs).map_while(|value| pair::<Q>(ends, value, other)).sum()
}

/// As [`in_turns`], every [`PERIOD`] on the average and never in step with another thread; and what each pair took.
fn at_times<Q: Ends>(ends: &mut (Q::Tx, Q::Rx), pairs: u64, other: &Crew, me: u64, clock: &Clock) -> (u64, Vec<u64>) {
    let (mut random, mut times) = (Rng::new(me), touched(pairs));
    let (mut due, mut sum) = (clock.now(), 0);
    for value in 1..=pairs {
        due += clock.ticks((PERIOD / 2 + random.below(PERIOD as usize) as u64) as f64);
        while clock.now() < due {
            spin_loop();
        }
        let start = clock.now();
        let Some(popped) = pair::<Q>(ends, value, other) else { break };
        times.push(clock.nanos(clock.now() - start));
        sum += popped;
    }
    (sum, times)
}

fn checked(popped: u64, pushed: u64) -> Result<(), BoxError> {
    if popped == pushed { Ok(()) } else { Err(format!("the sum of what was popped is {popped}, not {pushed}").into()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::measure;

    #[test]
    fn every_contender_pops_what_was_pushed() {
        let outcome = measure(&EXPERIMENT, &Effort::TINY, &mut Vec::new()).unwrap();
        assert_eq!(outcome.failures, [""; 0]);
        assert!(outcome.records.iter().all(|record| record.spread.median > 0.0));
    }
}
