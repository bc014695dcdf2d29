//! A thread for each stage, single messages over crossbeam-channel: what one writes first.

use std::thread;
use std::time::Duration;

use crossbeam_channel::{Receiver, Select, Sender, bounded};

use crate::harness::BoxError;
use crate::machine::{Placement, Start, timed};
use crate::peers::{CAPACITY, Checked};
use crate::workloads::keyed::Fan;
use crate::workloads::{Chain, Digest, Farm, Stamped, Text, Trickle, Trickled};

/// Forwards what `stage` makes of each message until either side is gone.
fn forward<T, U>(input: Receiver<T>, tx: Sender<U>, mut stage: impl FnMut(T) -> U) {
    for message in input {
        if tx.send(stage(message)).is_err() {
            return;
        }
    }
}

/// The chain of light stages.
pub fn chain(chain: Chain, placement: Placement) -> Checked {
    let threads = chain.stages + 2;
    let start = &Start::default();
    let (check, timing) = thread::scope(|scope| {
        let (tx, mut rx) = bounded(CAPACITY);
        scope.spawn(move || {
            placement.pin(0, threads);
            start.wait();
            Chain::source(0..chain.messages).all(|v| tx.send(v).is_ok())
        });
        for at in 1..=chain.stages {
            let (tx, next) = bounded(CAPACITY);
            let input = std::mem::replace(&mut rx, next);
            scope.spawn(move || {
                placement.pin(at, threads);
                start.wait();
                forward(input, tx, Chain::stage);
            });
        }
        placement.pin(threads - 1, threads);
        start.timed(threads - 1, || {
            let mut check = chain.check(0..chain.messages);
            rx.into_iter().for_each(|v| check.add(v));
            check
        })
    });
    chain.verify(&[check])?;
    Ok(timing)
}

/// The farm; results leave in any order.
pub fn farm(farm: Farm, right: &Digest) -> Checked {
    let start = &Start::default();
    let (digest, timing) = thread::scope(|scope| {
        let (work, todo) = bounded(CAPACITY);
        let (results, done) = bounded(CAPACITY);
        scope.spawn(move || {
            start.wait();
            (0..farm.messages).all(|v| work.send(v).is_ok())
        });
        for _ in 0..Farm::WORKERS {
            let (todo, results) = (todo.clone(), results.clone());
            scope.spawn(move || {
                start.wait();
                forward(todo, results, Farm::work);
            });
        }
        drop((todo, results));
        start.timed(Farm::WORKERS + 1, || done.into_iter().collect::<Digest>())
    });
    digest.verify(right, false)?;
    Ok(timing)
}

/// The search: one thread hands out chunks, one for each CPU counts, this one adds up.
pub fn search(text: &Text, workers: usize) -> Checked {
    let start = &Start::default();
    let (matches, timing) = thread::scope(|scope| {
        let (work, todo) = bounded(CAPACITY);
        let (results, done) = bounded(CAPACITY);
        scope.spawn(move || {
            start.wait();
            text.chunks().all(|chunk| work.send(chunk).is_ok())
        });
        for _ in 0..workers {
            let (todo, results) = (todo.clone(), results.clone());
            let finder = Text::finder();
            scope.spawn(move || {
                start.wait();
                forward(todo, results, |chunk| Text::count(&finder, chunk));
            });
        }
        drop((todo, results));
        start.timed(workers + 1, || done.into_iter().sum::<u64>())
    });
    text.verify(matches)?;
    Ok(timing)
}

/// The trickle through two stages and a sink.
pub fn trickle(messages: u64) -> Result<Trickled, BoxError> {
    let trickle = Trickle::new(messages);
    let (result, timing) = timed(|| {
        thread::scope(|scope| {
            let (tx, first) = bounded::<Stamped>(CAPACITY);
            let (second_tx, second) = bounded(CAPACITY);
            let (third_tx, third) = bounded(CAPACITY);
            scope.spawn(move || forward(first, second_tx, |message| message));
            scope.spawn(move || forward(second, third_tx, |message| message));
            let sink = scope.spawn(|| third.into_iter().try_for_each(|message| trickle.arrived(message)));
            let sent = trickle.drive(|message| tx.send(message));
            drop(tx);
            sink.join().expect("the sink does not panic").and(sent)
        })
    });
    result?;
    trickle.outcome(timing)
}

/// The trickle over one channel to one thread: what a single wake-up takes and costs, with nothing around it.
pub fn wake_up(messages: u64) -> Result<Trickled, BoxError> {
    let trickle = Trickle::new(messages);
    let (result, timing) = timed(|| {
        thread::scope(|scope| {
            let (tx, rx) = bounded::<Stamped>(CAPACITY);
            let sink = scope.spawn(|| rx.into_iter().try_for_each(|message| trickle.arrived(message)));
            let sent = trickle.drive(|message| tx.send(message));
            drop(tx);
            sink.join().expect("the sink does not panic").and(sent)
        })
    });
    result?;
    trickle.outcome(timing)
}

/// Three stages that wait for a first message for `time`, and get none.
pub fn idle(time: Duration) -> Checked {
    let (arrived, timing) = timed(|| {
        thread::scope(|scope| {
            let (tx, first) = bounded::<u64>(CAPACITY);
            let (second_tx, second) = bounded(CAPACITY);
            let (third_tx, third) = bounded(CAPACITY);
            scope.spawn(move || forward(first, second_tx, Chain::stage));
            scope.spawn(move || forward(second, third_tx, Chain::stage));
            let sink = scope.spawn(move || third.into_iter().count());
            thread::sleep(time);
            drop(tx);
            sink.join().expect("the sink does not panic")
        })
    });
    match arrived {
        0 => Ok(timing),
        _ => Err(format!("{arrived} messages arrived, none was sent").into()),
    }
}

/// The fan: a channel for each part, and whoever joins them waits for any.
pub fn fan(fan: Fan, right: &Digest) -> Checked {
    let start = &Start::default();
    let (digest, timing) = thread::scope(|scope| {
        let (tx, split) = bounded(CAPACITY);
        let (outs, ins): (Vec<Sender<u64>>, Vec<Receiver<u64>>) = (0..Fan::PARTS).map(|_| bounded(CAPACITY)).unzip();
        let (merged, rx) = bounded(CAPACITY);
        scope.spawn(move || {
            start.wait();
            Chain::source(0..fan.messages).all(|message| tx.send(message).is_ok())
        });
        scope.spawn(move || {
            start.wait();
            split.into_iter().all(|message| outs[Fan::part(message)].send(message).is_ok())
        });
        scope.spawn(move || {
            start.wait();
            let mut select = Select::new();
            ins.iter().for_each(|part| _ = select.recv(part));
            let mut open = Fan::PARTS;
            while open > 0 {
                let ready = select.select();
                let at = ready.index();
                match ready.recv(&ins[at]) {
                    Ok(message) if merged.send(message).is_err() => return,
                    Ok(_) => {}
                    Err(_) => {
                        select.remove(at);
                        open -= 1;
                    }
                }
            }
        });
        start.timed(3, || rx.into_iter().collect::<Digest>())
    });
    digest.verify(right, false)?;
    Ok(timing)
}
