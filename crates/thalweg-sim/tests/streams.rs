//! Streams: what travels in a block is moved, line by line, like what a queue holds.
#![cfg(not(loom))]

mod support;

use support::{HEAP, machine};
use thalweg::prelude::*;
use thalweg_sim::{Cost, Heap, Price, Simulation};
use thalweg_sync::hint;

#[global_allocator]
static ALLOCATOR: Heap = HEAP;

const MESSAGES: u64 = 20_000;

/// What the blocks of an edge cost the kernel that takes from it: two stages, each with a worker of its own, and messages of so many words.
fn taken<const WORDS: usize>() -> Cost {
    let report = Simulation::new(machine("x86-88t")).threads(2).stack_bytes(1 << 20).run(|| {
        let mut sum = 0;
        let mut graph = Graph::new();
        let source = graph.source((0..MESSAGES).map(|number| [number; WORDS]));
        let sink = graph.sink(|message: [u64; WORDS]| sum += message[WORDS - 1]);
        graph += source >> sink;
        graph.run(Scheme::named("raft").unwrap().workers(2)).expect("nothing in this graph fails");
        drop(graph);
        assert_eq!(sum, MESSAGES * (MESSAGES - 1) / 2, "a message was lost");
    });
    let block = report.fields.into_iter().find(|field| field.name == "edge/receiver.rs: block");
    block.expect("blocks are taken").cost
}

#[test]
fn messages_move_line_by_line() {
    let lines = |words: u64| MESSAGES * words / 8;
    let moved = |cost: &Cost| cost.transfers + cost.prefetches.transfers;
    let (short, long) = (taken::<1>(), taken::<16>());
    // Nearly all come from the other core, each once; blocks have a header's line each.
    assert!((lines(1)..2 * lines(1)).contains(&moved(&short)), "{short:?}");
    assert!((lines(16)..lines(16) * 5 / 4).contains(&moved(&long)), "{long:?}");
}

/// The order in which a graph frees what it no longer needs decides where the rest of it lies, and so what the caches have. Each run is on a
/// thread of the host of its own, on which the standard library's maps hash in another way.
#[test]
fn a_graph_lies_on_the_same_lines_in_every_run() {
    let counts = || {
        let report = Simulation::new(machine("x86-40")).threads(2).stack_bytes(1 << 20).run(|| {
            let mut next = 0;
            let mut graph = Graph::new();
            let source = graph.source(0..4_000_u64);
            let farm = graph.parallel(|number: u64, out: &mut Output<u64>| {
                hint::work(76_000);
                out.push(number);
            });
            let sink = graph.sink(|number: u64| {
                assert_eq!(number, next);
                next += 1;
            });
            graph += source >> farm >> sink;
            graph.run(Scheme::named("qes_pss").unwrap().workers(2)).expect("nothing in this graph fails");
        });
        (report.cycles, report.counts)
    };
    let first = counts();
    (0..10).for_each(|_| assert_eq!(counts(), first));
}

/// Adds a kernel to a graph.
type Build = fn(&mut Graph<'_>) -> Node<u64, u64>;

/// What a kernel computes is charged once for each message: that it gives, or that it takes.
#[test]
fn each_message_has_its_price() {
    let nanos = |name: &str, price: Price, build: Build| {
        let report = Simulation::new(machine("x86-88t")).threads(3).stack_bytes(1 << 20).run(|| {
            thalweg_sim::price("it", price);
            let mut graph = Graph::new();
            let (source, it) = (graph.source(0..MESSAGES), build(&mut graph));
            graph.name(it, "it");
            let sink = graph.sink(drop::<u64>);
            graph += source >> it >> sink;
            graph.run(Scheme::named(name).unwrap()).expect("nothing in this graph fails");
        });
        report.tasks.iter().find(|task| task.name == "it").expect("it ran").nanos
    };
    let kernels: [Build; 3] = [
        |graph| graph.map(|number| number),
        |graph| graph.parallel(|number, out: &mut Output<u64>| out.push(number)),
        |graph| {
            graph.window(2, 2, |pair: &[u64], out: &mut Output<u64>| pair.iter().for_each(|&number| out.push(number)))
        },
    ];
    for (at, build) in kernels.into_iter().enumerate() {
        for price in [Price { given: 1_000.0, taken: 0.0 }, Price { given: 0.0, taken: 1_000.0 }] {
            for scheme in ["depth_first", "raft", "qes"] {
                let (free, charged) = (nanos(scheme, Price::default(), build), nanos(scheme, price, build));
                let difference = charged - free;
                // What else it does may take a little longer or shorter.
                let due = MESSAGES * 1_000;
                assert!(difference.abs_diff(due) < due / 8, "{at} by {scheme} with {price:?}: {difference}, not {due}");
            }
        }
    }
}
