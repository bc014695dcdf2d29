//! One stream into several.

use crate::common::{Ledger, SOON, Token, within};
use crate::each_scheme;
use std::collections::HashMap;
use thalweg::operators::{Broadcast, Route};
use thalweg::prelude::*;

/// What each output of a kernel gives for the numbers below `count`.
fn fanned(
    scheme: Scheme,
    count: u64,
    fan: impl Fn(&mut Graph<'_>, Source<u64>) -> Vec<Out<u64>> + Send + 'static,
) -> Vec<Vec<u64>> {
    within(SOON, move || {
        let mut graph = Graph::new();
        let numbers = graph.source(0..count);
        let outs = fan(&mut graph, numbers);
        let mut seen = vec![Vec::new(); outs.len()];
        // Dropped before `seen` is looked at.
        let mut graph = graph;
        let seen_by = seen.iter_mut().zip(outs);
        for (seen, out) in seen_by {
            let collect = graph.sink(|x| seen.push(x));
            graph += out >> collect;
        }
        graph.run(scheme).unwrap();
        drop(graph);
        seen
    })
}

#[test]
fn a_broadcast_gives_all_to_each() {
    for outputs in [1, 2, 5] {
        each_scheme(|scheme| {
            let seen = fanned(scheme, 3000, move |graph, numbers| graph.broadcast(numbers, outputs));
            assert_eq!(seen, vec![(0..3000).collect::<Vec<_>>(); outputs]);
        });
    }
}

#[test]
fn a_split_gives_each_message_to_one_in_order() {
    let square = |x: u64| (x as f64).sqrt().fract() == 0.0;
    each_scheme(|scheme| {
        let seen = fanned(scheme, 5000, move |graph, numbers| graph.split(numbers, move |&x| square(x)).to_vec());
        let (squares, others): (Vec<_>, Vec<_>) = (0..5000).partition(|&x| square(x));
        assert_eq!(seen, [squares, others]);
    });
}

#[test]
fn a_partition_gives_equal_keys_to_one_and_different_ones_to_all() {
    const COUNT: u64 = 20_000;
    let mut first = None;
    for turn in 0..2 {
        for scheme in crate::schemes(turn) {
            let seen = fanned(scheme, COUNT, |graph, numbers| graph.partition::<_, _, 7>(numbers, |x| x / 4).to_vec());
            let mut home = HashMap::new();
            for (part, stream) in seen.iter().enumerate() {
                assert!(stream.is_sorted(), "part {part}");
                // A seventh of 5000 keys, and a fifth more or less: ten times what chance does.
                assert!((COUNT / 7 * 4 / 5..COUNT / 7 * 6 / 5).contains(&(stream.len() as u64)), "{}", stream.len());
                for x in stream {
                    assert_eq!(*home.entry(x / 4).or_insert(part), part, "the part of key {}", x / 4);
                }
            }
            assert_eq!(seen.iter().map(Vec::len).sum::<usize>(), COUNT as usize);
            assert_eq!(&seen, first.get_or_insert(seen.clone()), "the same in every run");
        }
    }
}

#[test]
fn words_that_differ_in_one_letter_go_to_all_parts() {
    let words: Vec<_> =
        (b'a'..=b'z').flat_map(|a| (b'a'..=b'z').map(move |b| format!("key-{}", [a, b].escape_ascii()))).collect();
    let mut counts = [0; 4];
    let mut graph = Graph::new();
    let source = graph.source(words);
    let parts: [_; 4] = graph.partition(source, String::clone);
    for (count, part) in counts.iter_mut().zip(parts) {
        let sink = graph.sink(|_: String| *count += 1);
        graph += part >> sink;
    }
    graph.run(Scheme::default()).unwrap();
    drop(graph);
    // 169 each, and a third more or less: five times what chance does.
    assert!(counts.iter().all(|count| (112..226).contains(count)), "{counts:?}");
}

#[test]
fn a_route_to_an_output_that_is_not_there_is_an_error() {
    each_scheme(|scheme| {
        within(SOON, move || {
            let ledger = Ledger::new(100_000);
            let mut graph = Graph::new();
            let numbers = graph.source((0..100).map(|x| Token::of(&ledger, x)));
            let [one, two] = graph.route(numbers, |token| if token.value == 70 { 2 } else { token.value as usize % 2 });
            graph.name(one, "route");
            for out in [one, two] {
                let sink = graph.sink(drop::<Token>);
                graph += out >> sink;
            }
            let error = format!("{:#}", graph.run(scheme).unwrap_err());
            assert!(error.contains("route") && error.contains("output 2 of 2"), "{error}");
            drop(graph);
            ledger.is_settled();
        });
    });
}

/// One output ends early: the others go on, and what it does not take is counted.
#[test]
fn an_output_that_ends_early_does_not_hold_up_the_others() {
    struct Three;
    impl Kernel for Three {
        type Ports = In<u64>;
        fn ports(&mut self, bind: &mut Binder<'_>) -> In<u64> {
            bind.input("in")
        }
        fn run(&mut self, input: &In<u64>, io: &mut Io<'_>) -> Result<Flow, BoxError> {
            Ok(if io.skip(*input, 3) > 0 { Flow::Done } else { Flow::More })
        }
    }
    each_scheme(|scheme| {
        within(SOON, move || {
            let mut sum = 0;
            let mut graph = Graph::new();
            let numbers = graph.source(0..10_000_u64);
            let [one, two] = graph.tee(numbers);
            let three = graph.add(Three);
            let add = graph.sink(|x: u64| sum += x);
            graph += one >> three;
            graph += two >> add;
            let report = graph.run(scheme).unwrap();
            drop(graph);
            assert_eq!(sum, (0..10_000).sum());
            assert!(report.dropped >= 9_000, "{}", report.dropped);
        });
    });
}

#[test]
fn fans_of_a_number_known_at_run_time_are_kernels() {
    for outputs in 1..6 {
        each_scheme(move |scheme| {
            let seen = fanned(scheme, 1000, move |graph, numbers| {
                let route = graph.add(Route::new(outputs, move |&x: &u64| x as usize % outputs));
                *graph += numbers >> route.input;
                let all = graph.add(Broadcast::new(1));
                *graph += route.outputs[0] >> all.input;
                [&all.outputs[..], &route.outputs[1..]].concat()
            });
            for (output, stream) in seen.into_iter().enumerate() {
                assert!(stream.into_iter().eq((output as u64..1000).step_by(outputs)), "output {output} of {outputs}");
            }
        });
    }
}
