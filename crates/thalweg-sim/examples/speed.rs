//! How many simulated accesses the host does in a second.
//!
//! `cargo run --release --package thalweg-sim --example speed`, for all, or `... -- counter` for those with that word.

use std::process::ExitCode;
use thalweg_queue::Yield;
use thalweg_queue::mpmc;
use thalweg_sim::{Heap, Machine, Simulation};
use thalweg_sync::atomic::{AtomicU64, Ordering::Relaxed};
use thalweg_sync::{CachePadded, thread, time};

#[global_allocator]
static HEAP: Heap = Heap;

/// Each thread adds to counters of its own.
fn private(threads: u64, rounds: u64) {
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(move || {
                let own: [CachePadded<AtomicU64>; 8] = Default::default();
                for n in 0..rounds {
                    let counter = &own[(n % 8) as usize];
                    counter.store(counter.load(Relaxed) + n, Relaxed);
                }
            });
        }
    });
}

/// All threads add to one counter.
fn shared(threads: u64, rounds: u64) {
    let counter = AtomicU64::new(0);
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| (0..rounds).for_each(|_| _ = counter.fetch_add(1, Relaxed)));
        }
    });
}

/// Half of the threads push, the others pop.
fn queue(threads: u64, messages: u64) {
    let (tx, rx) = mpmc::with_capacity_and_wait(4096, Yield).expect("a capacity that a queue can have");
    thread::scope(|scope| {
        for _ in 0..threads / 2 {
            let (tx, rx) = (tx.clone(), rx.clone());
            scope.spawn(move || (0..messages).for_each(|n| tx.push(n).expect("consumers take all")));
            scope.spawn(move || while rx.pop().is_ok() {});
        }
        drop((tx, rx));
    });
}

fn measure(name: &str, run: impl FnOnce() + Send) -> Result<(), Box<dyn std::error::Error>> {
    if std::env::args().nth(1).is_some_and(|word| !name.contains(&word)) {
        return Ok(());
    }
    let simulation = Simulation::new(Machine::named("x86-88t")?);
    let before = time::now();
    let ((), report) = simulation.try_run(run)?;
    let seconds = before.elapsed().as_secs_f64();
    let accesses = report.counts.accesses;
    let hits = 100.0 * report.counts.l1_hits as f64 / accesses as f64;
    let rate = accesses as f64 / seconds / 1e6;
    println!("{name:28}{accesses:>12} accesses, {hits:5.1} % hits, {seconds:6.2} s, {rate:6.1} million a second");
    Ok(())
}

fn main() -> ExitCode {
    let all = || -> Result<(), Box<dyn std::error::Error>> {
        measure("1 thread, private", || private(1, 20_000_000))?;
        measure("2 threads, private", || private(2, 10_000_000))?;
        measure("44 threads, private", || private(44, 500_000))?;
        measure("88 threads, private", || private(88, 250_000))?;
        measure("88 threads, one counter", || shared(88, 100_000))?;
        measure("1P1C, BBQ", || queue(2, 1_000_000))?;
        measure("8P8C, BBQ", || queue(16, 50_000))?;
        measure("44P44C, BBQ", || queue(88, 10_000))?;
        measure("44P44C, BBQ, 100 000 each", || queue(88, 100_000))
    };
    match all() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
