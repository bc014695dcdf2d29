//! A queue without a capacity: a push never waits, whatever the consumer does.
//!
//! `cargo run --example unbounded` lets threads report to one that is busy elsewhere, and prints how many reports are waiting then and what they
//! add up to. Take it where a producer must not wait, as in a destructor, and where what comes is bounded by something else. Memory is given back
//! as items are popped.

#![allow(clippy::disallowed_methods, reason = "a program of its own has std's threads")]

use std::error::Error;
use std::thread;
use thalweg_queue::{TryPopError, unbounded::mpsc};

/// Tells how long it has lived when it is dropped, which is no place to wait.
struct Guard {
    steps: u64,
    reports: mpsc::Sender<u64>,
}

impl Drop for Guard {
    fn drop(&mut self) {
        // Nobody may listen any more.
        let _ = self.reports.push(self.steps);
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let (reports, mut heard) = mpsc::channel();
    let threads: Vec<_> = (0..4)
        .map(|_| {
            let reports = reports.clone();
            thread::spawn(move || {
                for steps in 0..10_000 {
                    drop(Guard { steps, reports: reports.clone() });
                }
            })
        })
        .collect();
    for thread in threads {
        thread.join().expect("it does not panic");
    }

    // Nothing was popped until here, and nobody has waited.
    println!("{} reports are waiting", heard.len());
    let first = heard.pop()?;
    println!("the first says {first}");
    drop(reports);
    println!("all add up to {}", first + heard.iter().sum::<u64>());
    println!("then it is closed: {}", heard.try_pop() == Err(TryPopError::Closed));
    Ok(())
}
