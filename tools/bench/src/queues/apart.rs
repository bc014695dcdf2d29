//! `queues/1p1c-apart`: what an item costs while the two sides keep away from each other, and while they do not.

use std::hint::spin_loop;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Release};
use std::time::Instant;

use thalweg_sync::CachePadded;

use super::contenders::*;
use super::crew::Crew;
use super::limits;
use super::one_to_one::{CAPACITY, Ends, InMemory, Received, between, params, pop};
use crate::harness::Role::{self, *};
use crate::harness::{BoxError, Contender, Effort, Experiment, Group, Sample};
use crate::machine::{Timing, timed};

/// The entry for the registry.
pub const EXPERIMENT: Experiment = Experiment { name: "queues/1p1c-apart", plan };

/// How many items are in the queue whenever both sides begin.
const BEFORE: [usize; 7] = [0, 256, 1024, 2048, 3072, CAPACITY - 256, CAPACITY];

const UNITS: &[&str] = &[
    "ns per item, empty before",
    "ns per item, 256 before",
    "ns per item, 1024 before",
    "ns per item, 2048 before",
    "ns per item, 3072 before",
    "ns per item, 3840 before",
    "ns per item, full before",
];

/// Items that each side has to do with between two meetings.
const BURST: u64 = 512;

fn plan(effort: &Effort) -> Result<Vec<Group>, BoxError> {
    let bursts = effort.messages(4_000_000).div_ceil(BURST);
    let contenders = vec![
        contender::<Spsc>(Ours, "thalweg `spsc`", bursts),
        contender::<InMemory<Spsc>>(Ours, "thalweg `spsc`, ends in memory", bursts),
        contender::<FastForward>(Ours, "thalweg `fast_forward`", bursts),
        contender::<InMemory<FastForward>>(Ours, "thalweg `fast_forward`, ends in memory", bursts),
        contender::<ChunkRing>(Ours, "thalweg `chunk_ring`", bursts),
        contender::<Rtrb>(Peer, "rtrb", bursts),
        contender::<Ringbuf>(Peer, "ringbuf", bursts),
    ];
    Ok(vec![Group::new("both sides at once", UNITS, contenders), limits::group(effort)])
}

fn contender<Q: Ends>(role: Role, name: &str, bursts: u64) -> Contender {
    Contender::new(role, name, params(bursts * BURST, CAPACITY), move || {
        let (figures, timing): (Result<Vec<_>, BoxError>, Timing) =
            timed(|| BEFORE.iter().map(|&before| cost::<Q>(before, bursts)).collect());
        Ok(Sample { figures: figures?, cpus: Some(timing.cpus()) })
    })
}

/// Where a side says how often it has come to a meeting.
type Seat = CachePadded<AtomicU64>;

/// Waits until both sides have met so often. False if the other one has left.
fn meet(own: &Seat, other: &Seat, times: u64, others: &Crew) -> bool {
    own.store(times, Release);
    others.until(|| (other.load(Acquire) >= times).then_some(()), spin_loop).is_some()
}

/// Nanoseconds that an item takes the consumer, from meetings with `before` items in the queue on.
fn cost<Q: Ends>(before: usize, bursts: u64) -> Result<f64, BoxError> {
    let (mut tx, mut rx) = Q::build(CAPACITY);
    let (here, there) = (&Seat::default(), &Seat::default());
    let before = before as u64;
    let items = before + bursts * BURST;
    let mut nanos = 0;
    let spent = &mut nanos;
    between(
        items,
        move |consumers| {
            let mut next = 1;
            // Up to `last`, or until there is no room and the consumer will make none.
            let mut fill = |last: u64, is_done: &dyn Fn() -> bool| {
                while next <= last {
                    if Q::push(&mut tx, next) {
                        next += 1;
                    } else if is_done() || consumers.gone() {
                        break;
                    } else {
                        spin_loop();
                    }
                }
            };
            fill(before, &|| true);
            for burst in 0..bursts {
                if !meet(here, there, 2 * burst + 1, consumers) {
                    break;
                }
                fill(before + (burst + 1) * BURST, &|| there.load(Acquire) > 2 * burst + 1);
                if !meet(here, there, 2 * burst + 2, consumers) {
                    break;
                }
            }
            fill(items, &|| false);
            tx
        },
        move |producers| {
            let mut received = Received::default();
            let mut nanos = 0;
            let mut take = |received: &mut Received, count: u64| {
                for _ in 0..count {
                    let Some(value) = pop::<Q>(&mut rx, producers) else { break };
                    received.take(value);
                }
            };
            for burst in 0..bursts {
                if !meet(there, here, 2 * burst + 1, producers) {
                    break;
                }
                let start = Instant::now();
                take(&mut received, BURST);
                nanos += start.elapsed().as_nanos();
                if !meet(there, here, 2 * burst + 2, producers) {
                    break;
                }
            }
            take(&mut received, before);
            *spent = nanos;
            received.told()
        },
    )?;
    Ok(nanos as f64 / (bursts * BURST) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_figure_says_how_many_there_were() {
        let said = BEFORE.map(|before| match before {
            0 => "ns per item, empty before".into(),
            CAPACITY => "ns per item, full before".into(),
            some => format!("ns per item, {some} before"),
        });
        assert_eq!(said[..], UNITS[..]);
    }
}
