//! Parts of a graph as values.

use crate::common::{SOON, within};
use crate::each_scheme;
use thalweg::prelude::*;

/// Two ways through, of different speed, and one way out: what a function builds and gives as ports.
struct Lanes {
    input: In<u64>,
    small: Out<u64>,
    large: Out<u64>,
}

fn lanes(graph: &mut Graph<'_>, limit: u64) -> Lanes {
    let begin = graph.map(|x: u64| x + 1);
    let [small, large] = graph.split(begin.output(), move |&x| x < limit);
    let halve = graph.map(|x: u64| x / 2);
    *graph += large >> halve;
    Lanes { input: begin.input(), small, large: halve.output() }
}

#[test]
fn a_part_is_used_twice() {
    each_scheme(|scheme| {
        within(SOON, move || {
            let mut seen = [const { Vec::new() }; 3];
            let mut graph = Graph::new();
            let numbers = graph.source(0..3000_u64);
            let (first, second) = (lanes(&mut graph, 1000), lanes(&mut graph, 1200));
            graph += numbers >> first.input;
            graph += first.large >> second.input;
            for (seen, out) in seen.iter_mut().zip([first.small, second.small, second.large]) {
                let sink = graph.sink(|x| seen.push(x));
                graph += out >> sink.input();
            }
            graph.run(scheme).unwrap();
            drop(graph);
            let (small, large): (Vec<_>, Vec<_>) = (1..=3000_u64).partition(|&x| x < 1000);
            let (again, rest): (Vec<_>, Vec<_>) = large.into_iter().map(|x| x / 2 + 1).partition(|&x| x < 1200);
            assert_eq!(seen, [small, again, rest.into_iter().map(|x| x / 2).collect()]);
        });
    });
}

#[test]
fn a_path_becomes_ports() {
    each_scheme(|scheme| {
        within(SOON, move || {
            let mut seen = Vec::new();
            let mut graph = Graph::new();
            let [one, other] = [(); 2].map(|()| graph.parallel_map(|x: u64| x * 3));
            let (input, output) = graph.part(one.fixed(8) >> other);
            let source = graph.source(0..2000_u64).output();
            let collect = graph.sink(|x| seen.push(x));
            graph += output >> collect;
            graph += source >> input;
            graph.run(scheme).unwrap();
            drop(graph);
            assert!(seen.into_iter().eq((0..2000).map(|x| x * 9)));
        });
    });
}

#[test]
fn what_a_part_would_forget_is_refused() {
    let mut graph = Graph::new();
    let [one, other] = [(); 2].map(|()| graph.map(|x: u64| x));
    let (input, output) = graph.part(one >> other.fixed(8));
    let (source, sink) = (graph.source(0..3), graph.sink(drop::<u64>));
    graph += source >> input;
    graph += output >> sink;
    let error = graph.run(Scheme::default()).unwrap_err().to_string();
    assert!(error.contains("ask it of the port"), "{error}");
}
