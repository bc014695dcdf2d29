//! `queues/1p1c-latency`: how long an item is on its way when items are few.

use std::hint::spin_loop;

use serde_json::json;

use super::contenders::*;
use super::crew::Crew;
use super::limits::{self, Words};
use super::one_to_one::{CAPACITY, Ends, params, pop, push};
use super::stamps::{Clock, Stamps};
use crate::harness::Role::{self, Bound};
use crate::harness::{BoxError, Contender, Effort, Experiment, Group, Sample};
use crate::machine::{Placement, timed};
use crate::report::record::quantile;

/// The entry for the registry.
pub const EXPERIMENT: Experiment = Experiment { name: "queues/1p1c-latency", plan };

/// The 98th percentile too: where a host takes a hundredth of the time for itself, the 99th is its own.
const UNITS: &[&str] = &["ns p50", "ns p98", "ns p99"];

fn plan(effort: &Effort) -> Result<Vec<Group>, BoxError> {
    let sparse = Sending { bursts: effort.messages(120_000), burst: 1, every: 2_000 };
    let bursts = Sending { bursts: effort.messages(30_000), burst: 16, every: 8_000 };
    let group = |workload, sending| {
        let mut contenders = each_queue!(contender(sending));
        contenders.push(contender::<Words>(Bound, "limit: bare words", true, sending));
        Group::new(workload, UNITS, contenders)
    };
    Ok(vec![group("one item every 2 us", sparse), group("bursts of 16 every 8 us", bursts), limits::group(effort)])
}

/// So many `bursts` of so many items, one each so many nanoseconds.
#[derive(Clone, Copy, Debug)]
struct Sending {
    bursts: u64,
    burst: u64,
    every: u64,
}

fn contender<Q: Ends>(role: Role, name: &str, _fast: bool, sending: Sending) -> Contender {
    let mut given = params(sending.bursts * sending.burst, CAPACITY);
    given["burst"] = json!(sending.burst);
    given["period_ns"] = json!(sending.every);
    Contender::new(role, name, given, move || sending.run::<Q>())
}

impl Sending {
    fn run<Q: Ends>(self) -> Result<Sample, BoxError> {
        let clock = Clock::new();
        let (mut tx, mut rx) = Q::build(CAPACITY);
        let items = self.bursts * self.burst;
        let mut arrived = Stamps::with_capacity(items);
        let (producers, consumers) = (Crew::of(1), Crew::of(1));
        let (sent, timing) = timed(|| {
            std::thread::scope(|scope| {
                let member = consumers.member();
                let producer = scope.spawn(|| {
                    let _member = producers.member();
                    Placement::TwoCpus.pin(0, 2);
                    let mut sum = 0_u64;
                    let start = clock.now();
                    for burst in 1..=self.bursts {
                        while clock.nanos(clock.now() - start) < burst * self.every {
                            spin_loop();
                        }
                        for _ in 0..self.burst {
                            let stamp = clock.now();
                            if !push::<Q>(&mut tx, stamp, &consumers) {
                                return (sum, tx);
                            }
                            sum = sum.wrapping_add(stamp);
                        }
                    }
                    (sum, tx)
                });
                Placement::TwoCpus.pin(1, 2);
                while arrived.count() < items {
                    let Some(stamp) = pop::<Q>(&mut rx, &producers) else { break };
                    arrived.take(stamp, clock.now());
                }
                drop(member);
                producer.join().expect("the producer does not panic").0
            })
        });
        let delays = arrived.delays(sent, &clock)?;
        let figures = [0.5, 0.98, 0.99].map(|q| quantile(&delays, q)).to_vec();
        Ok(Sample { figures, cpus: Some(timing.cpus()) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::measure;

    #[test]
    fn every_contender_delivers_every_item() {
        let outcome = measure(&EXPERIMENT, &Effort::TINY, &mut Vec::new()).unwrap();
        assert_eq!(outcome.failures, [""; 0]);
        assert!(outcome.records.len() >= 2 * 3 * 11);
        assert!(outcome.records.iter().all(|record| record.spread.median > 0.0));
    }
}
