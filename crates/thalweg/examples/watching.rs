//! A run that is looked at while it goes on: what each kernel is at, and how many messages go through it in a second.
//!
//! `cargo run --example watching` prints a line for each kernel every 100 ms, and what holds the stream back. A look reads counters that are there
//! anyway, so a run that nobody looks at costs nothing more. The command `thalweg top` shows the same of other processes.

#![allow(clippy::disallowed_methods, reason = "a program of its own has std's threads")]

use std::thread;
use std::time::Duration;
use thalweg::observe::{Observer, Snapshot};
use thalweg::prelude::*;

/// Prints what has happened since the last look, until the run is over.
fn watch(observer: &Observer) {
    let mut before: Option<Snapshot> = None;
    loop {
        thread::sleep(Duration::from_millis(100));
        let Some(now) = observer.snapshot() else { continue };
        if now.end.is_some() {
            return;
        }
        let rates = before.as_ref().map_or_else(|| now.since_start(), |before| now.since(before));
        println!("after {:.0?}, {} workers", now.time, now.working);
        for (kernel, rates) in now.kernels.iter().zip(&rates.kernels) {
            println!(
                "  {:<8} {:>9.0} in a second, busy {:>4.0} ms of it, {:?}",
                kernel.name,
                rates.messages_in.max(rates.messages_out),
                rates.busy,
                kernel.doing
            );
        }
        before = Some(now);
    }
}

fn main() -> Result<(), thalweg::Error> {
    let mut graph = Graph::new();
    let numbers = graph.source(0..1500_u64);
    let square = graph.map(|n: u64| n * n);
    let slow = graph.map(|n: u64| {
        thread::sleep(Duration::from_micros(200));
        n
    });
    let (end, count) = graph.count();
    graph.name(numbers, "numbers");
    graph.name(square, "square");
    graph.name(slow, "slow");
    graph.name(end, "end");
    graph += numbers.fixed(64) >> square;
    graph += square.fixed(64) >> slow >> end;

    let observer = graph.observe();
    let watcher = thread::spawn(move || watch(&observer));
    let report = graph.run(Scheme::default())?;
    watcher.join().expect("it does not panic");
    println!("{} messages; {}", count.take(), report.verdict());
    Ok(())
}
