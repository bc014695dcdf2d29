//! A run that is ended from outside, in two ways, and what it has done by then.
//!
//! `cargo run --example cancel` runs an endless stream twice. `stop` ends the source and lets what is in the graph flow out, so all that was given is
//! done. `cancel` drops what is in the graph. Either way `run` returns a report, and the results so far are there.

#![allow(clippy::disallowed_methods, reason = "a program of its own has std's threads")]

use std::thread;
use std::time::Duration;
use thalweg::prelude::*;

fn run(end: fn(&Stopper)) -> Result<(), thalweg::Error> {
    let mut graph = Graph::new();
    let numbers = graph.source(0_u64..);
    graph.name(numbers, "numbers");
    let slow = graph.sequential(|number: u64, out: &mut Output<u64>| {
        thread::sleep(Duration::from_micros(200));
        out.push(number);
    });
    let (sink, done) = graph.count();
    graph += numbers.fixed(64) >> slow >> sink;

    let stopper = graph.stopper();
    let other = thread::spawn(move || {
        thread::sleep(Duration::from_millis(50));
        end(&stopper);
    });
    let report = graph.run(Scheme::default())?;
    other.join().expect("it does not panic");

    let given = report.kernel("numbers").map_or(0, |numbers| numbers.messages_out);
    let done = done.take();
    println!("{:?}: {given} given, {done} done, {} dropped with the graph", report.end, given - done);
    Ok(())
}

fn main() -> Result<(), thalweg::Error> {
    run(Stopper::stop)?;
    run(Stopper::cancel)?;
    // Or politely first: the rest is dropped if it takes longer than a second.
    run(|stopper| stopper.stop_within(Duration::from_secs(1)))
}
