//! What makes a scheme that scheme: the choices its policy takes, seen in the report of a run on one worker.
//!
//! On one worker the choices are the same in every run, but for the length of blocks, which follows the cost of messages. So these runs have
//! the fuzzer's clock, by which every message costs nothing.

use thalweg::prelude::*;
use thalweg_check::Fuzz;

fn unhurried(test: fn()) {
    Fuzz::new().seeds(0..1).stack_bytes(1 << 20).steps(10_000_000).run(test);
}

/// What a source gives at a time, at most.
const GIVEN: u64 = 4096;

/// `source >> step >> sink` on one worker; the sink is hinted `* 0`.
fn run(scheme: &str) -> Report {
    let mut graph = Graph::new();
    let numbers = graph.source(0..1_000_000_u64);
    let step = graph.sequential(|x: u64, out: &mut Output<u64>| out.push(x + 1));
    let sink = graph.sink(|_: u64| ());
    graph.name(numbers, "source");
    graph.name(sink, "sink");
    graph += numbers >> step >> sink * 0;
    graph.run(Scheme::named(scheme).unwrap().workers(1)).unwrap()
}

/// The most messages seen on any edge.
fn peak(report: &Report) -> u64 {
    report.edges.iter().map(|edge| edge.peak).max().unwrap()
}

#[test]
fn one_shot_runs_what_was_given_to_the_end_before_more() {
    unhurried(|| {
        assert!(peak(&run("one_shot")) <= GIVEN);
        // The measure can tell: a source that is asked several times in a row has more under way.
        assert!(peak(&run("depth_first")) > GIVEN);
    });
}

#[test]
fn qes_stays_with_a_kernel_until_its_edge_is_full() {
    unhurried(|| {
        let full = |scheme| run(scheme).kernel("source").unwrap().blocked_full;
        // A million messages fill an edge of 16 blocks some thirty times.
        assert!(full("qes") >= 10);
        // Who goes on to the consumer first never finds the edge full.
        assert_eq!(full("depth_first"), 0);
    });
}

#[test]
fn under_mix_a_kernel_hinted_rare_runs_as_help() {
    unhurried(|| {
        let mix = run("mix");
        let sink = mix.kernel("sink").unwrap();
        assert!(sink.helps * 10 >= sink.activations * 8, "{} of {}", sink.helps, sink.activations);
        // A polling worker of its own runs it otherwise.
        assert_eq!(run("pw").kernel("sink").unwrap().helps, 0);
    });
}
