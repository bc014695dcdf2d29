//! A scheduling policy of one's own: it says for each worker what it runs next.
//!
//! `cargo run --example own_policy` runs one graph twice, on one worker. A policy that runs the first kernel that can run lets the edges fill;
//! one that runs the last such kernel keeps them short. The sums are the same: a policy changes who runs when, and never what comes out.

use thalweg::prelude::*;
use thalweg::scheme::{Choice, Event, Policy, View};

/// Runs what is nearest to the source.
struct FirstFirst;

impl Policy for FirstFirst {
    fn first(&mut self, view: &View<'_>) -> Choice {
        (0..view.kernels()).find(|&kernel| view.is_ready(kernel)).map_or(Choice::Sleep, Choice::Run)
    }

    fn next(&mut self, view: &View<'_>, _kernel: usize, _event: Event) -> Choice {
        self.first(view)
    }
}

/// Runs what is nearest to the end.
struct LastFirst;

impl Policy for LastFirst {
    fn first(&mut self, view: &View<'_>) -> Choice {
        (0..view.kernels()).rev().find(|&kernel| view.is_ready(kernel)).map_or(Choice::Sleep, Choice::Run)
    }

    fn next(&mut self, view: &View<'_>, _kernel: usize, _event: Event) -> Choice {
        self.first(view)
    }
}

/// Gives how many messages wait on average.
fn run(scheme: Scheme) -> Result<f64, thalweg::Error> {
    let mut graph = Graph::new();
    // Kernels are numbered in the order in which they are made: here from the source on.
    let first = graph.source(1..=1_000_000_u64);
    let second = graph.map(|n: u64| n + 2);
    let third = graph.map(|n: u64| n / 2);
    let (end, sum) = graph.gather(0, |sum: &mut u64, n: u64| *sum += n);
    graph += first.fixed(1 << 18) >> second;
    graph += second.fixed(1 << 18) >> third;
    graph += third.fixed(1 << 18) >> end;
    let report = graph.run(scheme)?;

    let mean: f64 = report.edges.iter().map(|edge| edge.mean).sum();
    println!("{}: {mean:.0} messages waiting on average, sum {}", report.scheme, sum.take());
    Ok(mean)
}

fn main() -> Result<(), thalweg::Error> {
    let long = run(Scheme::custom("first first", &|_setup| Box::new(FirstFirst)).workers(1))?;
    let short = run(Scheme::custom("last first", &|_setup| Box::new(LastFirst)).workers(1))?;
    println!("last first keeps the edges shorter: {}", short < long);
    Ok(())
}
