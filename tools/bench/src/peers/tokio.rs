//! A tokio task for each stage, single messages over its bounded channel. The runtime is started before the clock.

use tokio::runtime::{Builder, Runtime};
use tokio::sync::mpsc::{Receiver, Sender, channel};

use crate::harness::BoxError;
use crate::machine::timed;
use crate::peers::{CAPACITY, Checked};
use crate::workloads::{Chain, Stamped, Trickle, Trickled};

/// A runtime with `workers` threads; one worker runs everything on the calling thread.
pub fn runtime(workers: usize) -> Result<Runtime, BoxError> {
    Ok(match workers {
        1 => Builder::new_current_thread().build()?,
        _ => Builder::new_multi_thread().worker_threads(workers).build()?,
    })
}

async fn forward<T, U>(mut input: Receiver<T>, tx: Sender<U>, mut stage: impl FnMut(T) -> U) {
    while let Some(message) = input.recv().await {
        if tx.send(stage(message)).await.is_err() {
            return;
        }
    }
}

/// The chain of light stages.
pub fn chain(chain: Chain, workers: usize) -> Checked {
    let runtime = runtime(workers)?;
    let (joined, timing) = timed(|| {
        runtime.block_on(async {
            let (tx, mut rx) = channel(CAPACITY);
            tokio::spawn(async move {
                for v in Chain::source(0..chain.messages) {
                    if tx.send(v).await.is_err() {
                        return;
                    }
                }
            });
            for _ in 0..chain.stages {
                let (tx, next) = channel(CAPACITY);
                let input = std::mem::replace(&mut rx, next);
                tokio::spawn(forward(input, tx, Chain::stage));
            }
            let sink = tokio::spawn(async move {
                let mut check = chain.check(0..chain.messages);
                while let Some(v) = rx.recv().await {
                    check.add(v);
                }
                check
            });
            sink.await
        })
    });
    chain.verify(&[joined?])?;
    Ok(timing)
}

/// A thread sends one by one, a task takes `batch` at a time.
pub fn outlet(chain: Chain, batch: usize) -> Checked {
    let runtime = runtime(1)?;
    let (check, timing) = timed(|| {
        let (tx, mut rx) = channel(CAPACITY);
        std::thread::scope(|scope| {
            scope.spawn(move || Chain::source(0..chain.messages).try_for_each(|message| tx.blocking_send(message)));
            runtime.block_on(async {
                let mut check = chain.check(0..chain.messages);
                if batch == 1 {
                    while let Some(message) = rx.recv().await {
                        check.add(message);
                    }
                    return check;
                }
                let mut messages = Vec::with_capacity(batch);
                while rx.recv_many(&mut messages, batch).await > 0 {
                    messages.drain(..).for_each(|message| check.add(message));
                }
                check
            })
        })
    });
    chain.verify(&[check])?;
    Ok(timing)
}

/// The trickle through two stages and a sink, sent from a thread outside.
pub fn trickle(messages: u64, workers: usize) -> Result<Trickled, BoxError> {
    let runtime = runtime(workers)?;
    let trickle = Trickle::new(messages);
    let (result, timing) = timed(|| {
        std::thread::scope(|scope| {
            let (tx, first) = channel::<Stamped>(CAPACITY);
            let (second_tx, second) = channel(CAPACITY);
            let (third_tx, mut third) = channel(CAPACITY);
            let sender = scope.spawn(|| {
                let tx = tx;
                trickle.drive(|message| tx.blocking_send(message))
            });
            let sunk = runtime.block_on(async {
                tokio::spawn(forward(first, second_tx, |message| message));
                tokio::spawn(forward(second, third_tx, |message| message));
                while let Some(message) = third.recv().await {
                    trickle.arrived(message)?;
                }
                Ok(())
            });
            sunk.and(sender.join().expect("the sender does not panic"))
        })
    });
    result?;
    trickle.outcome(timing)
}
