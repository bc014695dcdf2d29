//! Several streams into one.

use crate::common::{Ledger, SOON, Token, within};
use crate::each_scheme;
use thalweg::operators::{Merge, MergeByKey};
use thalweg::prelude::*;
use thalweg::{Cause, Error, Scheme};

/// Streams of which some are empty, some short, and one is long.
fn streams() -> Vec<Vec<u64>> {
    let lengths = [300, 0, 7, 20_000, 1];
    lengths.iter().zip(0..).map(|(&length, stream)| (0..length).map(|x| x * 10 + stream).collect()).collect()
}

/// What a join of `streams` gives.
fn joined(scheme: Scheme, join: impl Fn(&mut Graph<'_>, Vec<Source<u64>>) -> Out<u64> + Send + 'static) -> Vec<u64> {
    within(SOON, move || {
        let mut seen = Vec::new();
        let mut graph = Graph::new();
        let sources = streams().into_iter().map(|stream| graph.source(stream)).collect();
        let out = join(&mut graph, sources);
        let collect = graph.sink(|x| seen.push(x));
        graph += out >> collect;
        let report = graph.run(scheme).unwrap();
        assert_eq!(report.dropped, 0);
        drop(graph);
        seen
    })
}

#[test]
fn a_merge_gives_all_and_keeps_the_order_of_each() {
    each_scheme(|scheme| {
        let seen = joined(scheme, |graph, sources| graph.merge(sources));
        for (stream, number) in streams().into_iter().zip(0..) {
            assert!(seen.iter().copied().filter(|x| x % 10 == number).eq(stream), "stream {number}");
        }
        assert_eq!(seen.len(), streams().iter().map(Vec::len).sum::<usize>());
    });
}

#[test]
fn an_interleaving_takes_turns() {
    let streams = streams();
    let longest = streams.iter().map(Vec::len).max().unwrap();
    let expected: Vec<_> = (0..longest).flat_map(|turn| streams.iter().filter_map(move |s| s.get(turn))).collect();
    each_scheme(|scheme| {
        let seen = joined(scheme, |graph, sources| graph.interleave(sources));
        assert!(seen.iter().eq(expected.iter().copied()));
    });
}

#[test]
fn a_merge_by_key_is_sorted() {
    // Some keys are equal: those of the stream that was named first come first.
    let mut expected: Vec<_> = streams().concat();
    expected.sort_by_key(|&x| (x / 20, x % 10));
    each_scheme(|scheme| {
        let seen = joined(scheme, |graph, sources| graph.merge_by_key(sources, |x| x / 20));
        assert_eq!(seen, expected);
    });
}

#[test]
fn a_zip_ends_with_the_shorter_stream() {
    for (left, right) in [(0, 10), (10, 0), (1000, 30), (30, 1000), (5000, 5000)] {
        each_scheme(|scheme| {
            let (seen, report) = within(SOON, move || {
                let mut seen = Vec::new();
                let mut graph = Graph::new();
                let (numbers, words) = (graph.source(0..left), graph.source((0..right).map(|x: u64| x.to_string())));
                let pairs = graph.zip(numbers, words);
                let collect = graph.sink(|pair| seen.push(pair));
                graph += pairs >> collect;
                let report = graph.run(scheme).unwrap();
                drop(graph);
                (seen, report)
            });
            assert!(seen.into_iter().eq((0..left).zip((0..right).map(|x| x.to_string()))), "{left} and {right}");
            // What the sources gave and nobody paired is counted. A source whose messages nobody takes any more stops.
            let given = report.kernels[0].messages_out + report.kernels[1].messages_out;
            let unpaired = given.saturating_sub(2 * left.min(right));
            assert!((unpaired..=left.abs_diff(right)).contains(&report.dropped), "{left} and {right}: {report}");
        });
    }
}

#[test]
fn a_join_of_nothing_ends() {
    within(SOON, || {
        let mut graph = Graph::new();
        let none = || Vec::<Source<u64>>::new();
        let outs = [graph.merge(none()), graph.interleave(none()), graph.merge_by_key(none(), |&x| x)];
        for out in outs {
            let sink = graph.sink(|x: u64| assert!(x > u64::MAX - 1, "nothing comes"));
            graph += out >> sink;
        }
        graph.run(Scheme::default()).unwrap();
    });
}

/// All of one side comes before anything of the other, which it waits for: the edges of a join grow, up to what is documented.
#[test]
fn a_join_whose_one_side_comes_late_does_not_hang() {
    const COUNT: u64 = 30_000;
    type Join = fn(&mut Graph<'_>, [Out<u64>; 2]) -> Out<u64>;
    let joins: [Join; 2] = [
        |graph, [low, high]| graph.interleave([high, low]),
        |graph, [low, high]| graph.merge_by_key([high, low], |&x| x),
    ];
    for join in joins {
        each_scheme(|scheme| {
            let seen = within(SOON, move || {
                let mut seen = 0_u64;
                let mut graph = Graph::new();
                let numbers = graph.source(0..COUNT);
                let halves = graph.split(numbers, |&x| x < COUNT / 2);
                let out = join(&mut graph, halves);
                let count = graph.sink(|_| seen += 1);
                graph += out >> count;
                graph.run(scheme).unwrap();
                drop(graph);
                seen
            });
            assert_eq!(seen, COUNT);
        });
    }
}

/// Sends numbers round until they are zero; what goes round is merged with what comes.
#[test]
fn a_merge_closes_a_cycle() {
    each_scheme(|scheme| {
        let zeros = within(SOON, move || {
            let mut zeros = 0;
            let mut graph = Graph::new();
            let numbers = graph.source(0..500_u64);
            let merge = graph.add(Merge::new(2));
            let [left, over] = graph.split(merge.out, |&x| x > 0);
            let less = graph.map(|x: u64| x / 2);
            let count = graph.sink(|_: u64| zeros += 1);
            graph += numbers >> merge.inputs[0];
            graph += left >> less.feedback() >> merge.inputs[1];
            graph += over >> count;
            graph.run(scheme).unwrap();
            drop(graph);
            zeros
        });
        assert_eq!(zeros, 500);
    });
}

#[test]
fn every_message_of_a_join_that_fails_is_dropped_once_and_a_second_run_sorts_again() {
    each_scheme(|scheme| {
        within(SOON, move || {
            let ledger = Ledger::new(1_000_000);
            let mut seen = Vec::new();
            let mut graph = Graph::new();
            let merge = graph.add(MergeByKey::new(2, |token: &Token| token.value));
            for (first, &input) in (0..2).zip(&merge.inputs) {
                let ledger = ledger.clone();
                let tokens = graph.source_with(move || {
                    let ledger = ledger.clone();
                    (0..3000).map(move |x| Token::of(&ledger, x * 2 + first))
                });
                graph += tokens >> input;
            }
            let mut failed = false;
            let collect = graph.sink(|token: Token| {
                if token.value == 500 && !std::mem::replace(&mut failed, true) {
                    return Err("enough");
                }
                seen.push(token.value);
                Ok(())
            });
            graph += merge.out >> collect;
            let Err(Error::Failed { failures, .. }) = graph.run(scheme) else { panic!("it fails") };
            assert!(matches!(&failures[..], [failure] if matches!(failure.cause, Cause::Error(_))), "{failures:?}");
            assert_eq!(ledger.alive(), 0);
            graph.run(scheme).unwrap();
            drop(graph);
            assert!(seen.into_iter().eq((0..500).chain(0..6000)));
            ledger.is_settled();
        });
    });
}

#[test]
fn a_panic_in_a_key_names_the_kernel() {
    within(SOON, || {
        let mut graph = Graph::new();
        let streams = [graph.source(0..10_u64), graph.source(0..10)];
        let merged = graph.merge_by_key(streams, |&x| if x == 5 { panic!("five") } else { x });
        graph.name(merged, "sorted");
        let sink = graph.sink(drop::<u64>);
        graph += merged >> sink;
        let error = graph.run(Scheme::default()).unwrap_err().to_string();
        assert!(error.contains("sorted") && error.contains("five"), "{error}");
    });
}
