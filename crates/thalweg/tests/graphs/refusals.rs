//! Graphs that cannot work are refused before anything runs: the kernel with the place where it was made, the values, and the way out.

use crate::common::{SOON, within};
use std::panic::Location;
use thalweg::prelude::*;
use thalweg::{End, Error, Refusal};
use thalweg_sync::atomic::{AtomicBool, Ordering::*};

/// What a graph is refused for.
fn refusals(build: impl FnOnce(&mut Graph<'static>)) -> Vec<Refusal> {
    let mut graph = Graph::new();
    build(&mut graph);
    match graph.run(Scheme::default()) {
        Err(Error::Refused(refusals)) => refusals,
        other => panic!("{other:?}"),
    }
}

/// The only reason why a graph is refused, which lies with `kernel`.
#[track_caller]
fn reason(kernel: &str, build: impl FnOnce(&mut Graph<'static>)) -> String {
    let mut refusals = refusals(build);
    assert_eq!(refusals.len(), 1, "{refusals:?}");
    let refusal = refusals.remove(0);
    let place = format!("{kernel} ({}:", Location::caller().file());
    assert!(refusal.kernel.starts_with(&place), "{} is not {place}", refusal.kernel);
    refusal.reason
}

/// `source >> sink` with this capacity.
fn with_capacity(first: usize, most: usize) -> impl FnOnce(&mut Graph<'static>) {
    move |graph| {
        let (numbers, sink) = (graph.source(0..3), graph.sink(|_: i32| ()));
        *graph += numbers.capacity(first, most) >> sink;
    }
}

#[test]
fn a_capacity_holds_a_message_and_does_not_shrink() {
    for (first, most) in [(0, 0), (0, 5), (10, 5), (2, 1)] {
        let reason = reason("source-0", with_capacity(first, most));
        assert!(reason.contains("the edge source-0 >> sink-1"), "{reason}");
        assert!(reason.contains(&format!("capacity {first} to {most}; it needs at least 1")), "{reason}");
    }
}

/// `source >> window >> sink`, the first edge with a capacity.
fn with_window(graph: &mut Graph<'_>, capacity: (usize, usize), peek: usize, pop: usize) {
    let numbers = graph.source(0..300);
    let window = graph.window(peek, pop, |window: &[i32], out: &mut Output<i32>| out.push(window[0]));
    let sink = graph.sink(|_: i32| ());
    *graph += numbers.capacity(capacity.0, capacity.1) >> window >> sink;
}

#[test]
fn a_window_may_be_as_large_as_what_its_edge_holds() {
    for capacity in [(64, 64), (1, 64)] {
        let reason = reason("window-1", |graph| with_window(graph, capacity, 65, 1));
        assert!(reason.contains("window of 65 messages is larger than the 64 that the edge source-0 >> window-1"));
        assert!(reason.contains("let it hold 65 or more"), "{reason}");
        within(SOON, move || {
            let mut graph = Graph::new();
            with_window(&mut graph, capacity, 64, 1);
            assert_eq!(graph.run(Scheme::default()).unwrap().kernels[1].messages_out, 300 - 63);
        });
    }
}

#[test]
fn a_window_sees_and_pops_something() {
    for (peek, pop) in [(0, 1), (1, 0), (1 << 31, 1), (1, 1 << 31)] {
        let reason = reason("window-1", |graph| with_window(graph, (usize::MAX, usize::MAX), peek, pop));
        assert!(reason.contains(&format!("a window of {peek} messages that pops {pop}")), "{reason}");
        assert!(reason.contains("at least 1, and less than 2^31"), "{reason}");
    }
}

#[test]
fn a_window_needs_an_order() {
    let reason = reason("window-2", |graph| {
        let numbers = graph.source(0..3);
        let pass = graph.parallel_map(|x: i32| x);
        let window = graph.window(2, 1, |window: &[i32], out: &mut Output<i32>| out.push(window[0]));
        let sink = graph.sink(|_: i32| ());
        *graph += numbers >> pass.unordered() >> window >> sink;
    });
    assert!(reason.contains("parallel-1 >> window-2 is unordered, and windows need an order"), "{reason}");
}

#[test]
fn an_input_takes_from_one_edge() {
    let reason = reason("sink-2", |graph| {
        let (one, other) = (graph.source(0..3), graph.source(0..3));
        let sink = graph.sink(|_: i32| ());
        *graph += one >> sink;
        *graph += other >> sink;
    });
    assert!(reason.contains("2 edges lead to its input in; give each its own input port of a Kernel"), "{reason}");
}

#[test]
fn a_cycle_is_told_by_its_kernels() {
    let reason = reason("map-0", |graph| {
        let (one, other) = (graph.map(|x: i32| x), graph.map(|x: i32| x));
        *graph += one >> other >> one;
    });
    let told = "the cycle map-0 >> map-1 >> map-0 has no feedback edge; declare one with .feedback()";
    assert!(reason.contains(told), "{reason}");
}

#[test]
fn every_reason_is_told_and_nothing_runs() {
    static ASKED: AtomicBool = AtomicBool::new(false);
    let refusals = refusals(|graph| {
        let numbers = graph.source(std::iter::from_fn(|| (!ASKED.swap(true, AcqRel)).then_some(0)));
        let sink = graph.sink(|_: i32| ());
        let (_, _) = (graph.source(0..3), graph.sink(|_: u8| ()));
        *graph += numbers.fixed(0) >> sink;
    });
    let kernels: Vec<_> = refusals.iter().map(|refusal| refusal.kernel.split(' ').next().unwrap()).collect();
    assert_eq!(kernels, ["source-2", "sink-3", "source-0"]);
    assert!(refusals[0].reason.contains("its output out leads nowhere; connect something that takes i32"));
    assert!(refusals[1].reason.contains("nothing leads to its input in; connect something that gives u8"));
    assert!(!ASKED.load(Acquire));
}

#[test]
fn a_graph_of_nothing_is_complete() {
    assert_eq!(Graph::new().run(Scheme::default()).unwrap().end, End::Complete);
}
