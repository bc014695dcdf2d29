//! Timely dataflow: the same pipeline in every worker, each over its share of the source.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

use timely::WorkerConfig;
use timely::communication::Config as Communication;
use timely::dataflow::operators::vec::{Map, ToStream};
use timely::dataflow::operators::{Exchange, Inspect, Probe};
use timely::execute::Config;

use crate::machine::Start;
use crate::peers::Checked;
use crate::workloads::Chain;
use crate::workloads::keyed::{Counts, Words};

/// The chain of light stages, changing messages in place.
pub fn chain(chain: Chain, workers: usize) -> Checked {
    let communication = if workers == 1 { Communication::Thread } else { Communication::Process(workers) };
    let config = Config { communication, worker: WorkerConfig::default() };
    let start = Arc::new(Start::default());
    let begin = start.clone();
    let guards = timely::execute(config, move |worker| {
        begin.wait();
        let share = |at: usize| chain.messages * at as u64 / worker.peers() as u64;
        let part = share(worker.index())..share(worker.index() + 1);
        let check = Rc::new(Cell::new(chain.check(part.clone())));
        let sink = Rc::clone(&check);
        let probe = worker.dataflow::<u64, _, _>(|scope| {
            let mut stream = Chain::source(part).to_stream(scope);
            for _ in 0..chain.stages {
                stream = stream.map_in_place(|v| *v = Chain::stage(*v));
            }
            // On a copy, which can live in registers for as long as the batch.
            let sum = move |_: &u64, batch: &Vec<u64>| {
                let mut check = sink.get();
                batch.iter().for_each(|&v| check.add(v));
                sink.set(check);
            };
            stream.inspect_batch(sum).probe().0
        });
        while !probe.done() {
            worker.step();
        }
        check.get()
    })?;
    let (joined, timing) = start.timed(workers, || guards.join());
    let checks: Vec<_> = joined.into_iter().collect::<Result<_, _>>()?;
    chain.verify(&checks)?;
    Ok(timing)
}

/// Counts the words: each worker reads its share, and a word is counted where its hash belongs.
pub fn words(words: Words, workers: usize) -> Checked {
    let communication = if workers == 1 { Communication::Thread } else { Communication::Process(workers) };
    let config = Config { communication, worker: WorkerConfig::default() };
    let start = Arc::new(Start::default());
    let begin = start.clone();
    let guards = timely::execute(config, move |worker| {
        begin.wait();
        let share = |at: usize| words.messages * at as u64 / worker.peers() as u64;
        let part = share(worker.index())..share(worker.index() + 1);
        let counts = Rc::new(RefCell::new(Counts::default()));
        let sink = Rc::clone(&counts);
        let probe = worker.dataflow::<u64, _, _>(|scope| {
            let count = move |_: &u64, batch: &Vec<u64>| {
                let mut counts = sink.borrow_mut();
                batch.iter().for_each(|&word| *counts.entry(word).or_default() += 1);
            };
            let stream = part.map(Words::at).to_stream(scope).container::<Vec<_>>();
            stream.exchange(|&word| word.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32).inspect_batch(count).probe().0
        });
        while !probe.done() {
            worker.step();
        }
        counts.take()
    })?;
    let (joined, timing) = start.timed(workers, || guards.join());
    let counts: Vec<Counts> = joined.into_iter().collect::<Result<_, _>>()?;
    words.verify(counts.into_iter().flatten())?;
    Ok(timing)
}
