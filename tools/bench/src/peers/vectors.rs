//! Vectors of messages, changed in place and passed on over crossbeam-channel, a thread for each stage.
//!
//! The strongest pipeline that can be built by hand from a good channel: one allocation and one hand-over for each
//! vector, and the messages of a vector stay in the cache of the stage that works on them.

use std::collections::BTreeMap;
use std::thread;

use crossbeam_channel::{Receiver, Sender, bounded};

use crate::machine::{Placement, Start, Timing};
use crate::peers::Checked;
use crate::workloads::keyed::Fan;
use crate::workloads::{Chain, Digest, Farm, FirChain};

/// Messages in a small vector.
pub const BATCH: usize = 256;
/// Small vectors in a channel.
pub const IN_FLIGHT: usize = 64;

/// How messages travel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Batches {
    /// Messages in a vector.
    pub size: usize,
    /// Vectors in a channel.
    pub in_flight: usize,
}

/// Small vectors; and vectors of as many words as a block of ours holds at most, as many of them as an edge of ours has blocks.
pub const BOTH: [Batches; 2] = [Batches { size: BATCH, in_flight: IN_FLIGHT }, Batches { size: 2048, in_flight: 16 }];

/// Parameters for a record.
pub fn params(messages: u64, batches: Batches, placement: Placement) -> serde_json::Value {
    serde_json::json!({
        "messages": messages, "batch": batches.size, "capacity": batches.size * batches.in_flight,
        "waits": "crossbeam-channel", "threads": placement.word(),
    })
}

/// Runs `source` through `stages` into `sink`, each on a thread of its own. Says how long it took from when all threads were there.
fn pipeline<T: Copy + Send>(
    source: impl Iterator<Item = T> + Send,
    stages: Vec<impl FnMut(&mut [T]) + Send>,
    mut sink: impl FnMut(&[T]),
    batches: Batches,
    placement: Placement,
) -> Timing {
    let threads = stages.len() + 2;
    let start = &Start::default();
    let ((), timing) = thread::scope(|scope| {
        let (tx, mut rx) = bounded(batches.in_flight);
        scope.spawn(move || {
            placement.pin(0, threads);
            start.wait();
            send_batches(source, &tx, batches.size);
        });
        for (at, mut stage) in stages.into_iter().enumerate() {
            let (tx, next) = bounded::<Vec<T>>(batches.in_flight);
            let input: Receiver<Vec<T>> = std::mem::replace(&mut rx, next);
            scope.spawn(move || {
                placement.pin(at + 1, threads);
                start.wait();
                for mut batch in input {
                    stage(&mut batch);
                    if tx.send(batch).is_err() {
                        return;
                    }
                }
            });
        }
        placement.pin(threads - 1, threads);
        start.timed(threads - 1, || {
            for batch in rx {
                sink(&batch);
            }
        })
    });
    timing
}

fn send_batches<T>(mut source: impl Iterator<Item = T>, tx: &Sender<Vec<T>>, size: usize) {
    loop {
        let mut batch = Vec::with_capacity(size);
        batch.extend(source.by_ref().take(size));
        if batch.is_empty() || tx.send(batch).is_err() {
            return;
        }
    }
}

/// The chain of light stages.
pub fn chain(chain: Chain, batches: Batches, placement: Placement) -> Checked {
    let mut check = chain.check(0..chain.messages);
    let stage = |batch: &mut [u64]| batch.iter_mut().for_each(|v| *v = Chain::stage(*v));
    let sink = |batch: &[u64]| batch.iter().for_each(|&v| check.add(v));
    let source = Chain::source(0..chain.messages);
    let timing = pipeline(source, vec![stage; chain.stages], sink, batches, placement);
    chain.verify(&[check])?;
    Ok(timing)
}

/// The chain of filters.
pub fn fir(chain: FirChain, batches: Batches, placement: Placement, right: &Digest) -> Checked {
    let mut digest = Digest::default();
    let stages = chain
        .filters()
        .into_iter()
        .map(|mut fir| move |batch: &mut [f64]| batch.iter_mut().for_each(|sample| *sample = fir.step(*sample)));
    let sink = |batch: &[f64]| batch.iter().for_each(|sample| digest.add(sample.to_bits()));
    let timing = pipeline(chain.source(), stages.collect(), sink, batches, placement);
    digest.verify(right, true)?;
    Ok(timing)
}

/// Messages in a vector of the farm: small enough that four workers share a short run evenly.
pub const FARM_BATCH: usize = 64;

/// The farm in vectors of [`FARM_BATCH`]; the sink puts them back into order.
pub fn farm(farm: Farm, right: &Digest) -> Checked {
    type Numbered = (u64, Vec<u64>);
    let start = &Start::default();
    let (digest, timing) = thread::scope(|scope| {
        let (work, todo) = bounded::<Numbered>(IN_FLIGHT);
        let (results, done) = bounded::<Numbered>(IN_FLIGHT);
        scope.spawn(move || {
            start.wait();
            let mut source = 0..farm.messages;
            for number in 0.. {
                let batch: Vec<u64> = source.by_ref().take(FARM_BATCH).collect();
                if batch.is_empty() || work.send((number, batch)).is_err() {
                    return;
                }
            }
        });
        for _ in 0..Farm::WORKERS {
            let (todo, results) = (todo.clone(), results.clone());
            scope.spawn(move || {
                start.wait();
                for (number, mut batch) in todo {
                    batch.iter_mut().for_each(|v| *v = Farm::work(*v));
                    if results.send((number, batch)).is_err() {
                        return;
                    }
                }
            });
        }
        drop((todo, results));
        start.timed(Farm::WORKERS + 1, || {
            let mut digest = Digest::default();
            let mut early: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
            let mut next = 0;
            for (number, batch) in done {
                early.insert(number, batch);
                while let Some(batch) = early.remove(&next) {
                    batch.into_iter().for_each(|v| digest.add(v));
                    next += 1;
                }
            }
            digest
        })
    });
    digest.verify(right, true)?;
    Ok(timing)
}

/// The fan: one thread fills a vector for each part, all of them come together in one channel.
pub fn fan(fan: Fan, batches: Batches, placement: Placement, right: &Digest) -> Checked {
    let start = &Start::default();
    let (digest, timing) = thread::scope(|scope| {
        let (whole, split) = bounded::<Vec<u64>>(batches.in_flight);
        let (parts, joined) = bounded::<Vec<u64>>(batches.in_flight);
        scope.spawn(move || {
            placement.pin(0, 3);
            start.wait();
            send_batches(Chain::source(0..fan.messages), &whole, batches.size);
        });
        scope.spawn(move || {
            placement.pin(1, 3);
            start.wait();
            let mut open: [Vec<u64>; Fan::PARTS] = std::array::from_fn(|_| Vec::with_capacity(batches.size));
            for message in split.into_iter().flatten() {
                let part = &mut open[Fan::part(message)];
                part.push(message);
                if part.len() == batches.size {
                    let full = std::mem::replace(part, Vec::with_capacity(batches.size));
                    if parts.send(full).is_err() {
                        return;
                    }
                }
            }
            // Nobody is there to miss them if this fails.
            open.into_iter().for_each(|rest| _ = parts.send(rest));
        });
        placement.pin(2, 3);
        start.timed(2, || {
            let mut digest = Digest::default();
            joined.into_iter().flatten().for_each(|message| digest.add(message));
            digest
        })
    });
    digest.verify(right, false)?;
    Ok(timing)
}
