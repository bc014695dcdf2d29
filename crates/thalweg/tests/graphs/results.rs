//! What stops people: names, and results without borrowing.

use thalweg::prelude::*;

#[test]
fn results_come_back_while_the_graph_is_there_under_every_scheme() {
    for name in Scheme::names() {
        let mut graph = Graph::new();
        let (end, squares) = graph.collect();
        graph += graph.source(0..500_u64) >> graph.parallel_map(|n: u64| n * n) >> end;
        graph.run(Scheme::named(name).unwrap().workers(2)).unwrap();
        assert!(squares.take().into_iter().eq((0..500).map(|n| n * n)), "{name}");
        assert!(squares.take().is_empty());
    }
}

#[test]
fn what_came_before_a_failure_is_there() {
    let mut graph = Graph::new();
    let (end, kept) = graph.gather(Vec::new(), |kept: &mut Vec<u64>, n: u64| {
        assert!(n < 3, "enough");
        kept.push(n);
    });
    graph += graph.source(0..10_u64) >> end;
    graph.run(Scheme::default().workers(1)).unwrap_err();
    assert_eq!(kept.take(), [0, 1, 2]);
}

#[test]
fn equal_names_are_numbered_and_kernels_have_the_name_of_their_type() {
    let mut graph = Graph::new();
    let [first, second, third] = std::array::from_fn(|_| graph.map(|n: u64| n));
    for kernel in [first, second, third] {
        graph.name(kernel, "same");
    }
    let taken = graph.map(|n: u64| n);
    graph.name(taken, "same (2)");
    let (end, _) = graph.count::<u64>();
    graph += graph.source(0..9_u64) >> first >> second >> third >> taken >> end;
    for _ in 0..2 {
        let report = graph.run(Scheme::default()).unwrap();
        let names: Vec<_> = report.kernels.iter().map(|kernel| kernel.name.as_str()).collect();
        assert_eq!(names, ["same", "same (3)", "same (4)", "same (2)", "Gather-4", "source-5"]);
    }
}
