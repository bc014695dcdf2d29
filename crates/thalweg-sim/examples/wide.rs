//! A graph on a modelled machine: a parallel kernel, then a sequential one that will stop it.
//!
//! `cargo sim run wide --on x86-88t:64` in a checkout, or
//! `cargo run --release --package thalweg-sim --example wide -- --on x86-88t:64`.

use std::process::ExitCode;
use thalweg::prelude::*;
use thalweg_sim::{Heap, Stamp};
use thalweg_sync::hint;

#[global_allocator]
static HEAP: Heap = Heap;

/// Messages that go through.
const MESSAGES: u64 = 200_000;

fn graph() -> u64 {
    let mut sum = 0;
    let mut graph = Graph::new();
    let numbers = graph.source((1..=MESSAGES).map(|n| (n, Stamp::now())));
    let square = graph.parallel(|(n, sent): (u64, Stamp), out: &mut Output<(u64, Stamp)>| {
        hint::work(6_000);
        out.push((n * n, sent));
    });
    let add = graph.sink(|(n, sent): (u64, Stamp)| {
        hint::work(400);
        sum += n;
        sent.arrived();
    });
    graph.name(square, "square");
    graph.name(add, "add");
    graph += numbers >> square >> add;
    graph.run(Scheme::default()).expect("nothing in this graph fails");
    drop(graph);
    assert_eq!(sum, MESSAGES * (MESSAGES + 1) * (2 * MESSAGES + 1) / 6);
    MESSAGES
}

fn main() -> ExitCode {
    thalweg_sim::main(graph)
}
