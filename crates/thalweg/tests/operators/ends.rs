//! The end of a stream.

use crate::common::{Ledger, SOON, Token, within};
use crate::{each_scheme, through};
use thalweg::End;
use thalweg::operators::Emit;
use thalweg::prelude::*;
use thalweg_sync::atomic::{AtomicU64, Ordering::*};
use thalweg_sync::sync::Arc;

#[test]
fn a_state_is_flushed_once_at_the_end() {
    for count in [0, 1, 5000] {
        each_scheme(|scheme| {
            let (seen, _) = through(scheme, 0..count, |graph| {
                graph.sequential_with(
                    0_u64,
                    |sum, x, out: &mut Emit<'_, '_, u64>| {
                        *sum += x;
                        out.push(x);
                    },
                    |sum, out| out.push(*sum),
                )
            });
            assert!(seen.into_iter().eq((0..count).chain([(0..count).sum()])), "{count}");
        });
    }
}

/// A hundred thousand messages out of the end, behind an edge of eight: all come through.
#[test]
fn what_the_end_gives_goes_through_whatever_the_capacity() {
    each_scheme(|scheme| {
        within(SOON, move || {
            let mut seen = 0;
            let mut graph = Graph::new();
            let numbers = graph.source(0..10_u64);
            let all = graph.sequential_with((), |(), x, out| out.push(x), |(), out| out.extend(10..20_000));
            let check = graph.sink(|x| {
                assert_eq!(x, seen);
                seen += 1;
            });
            graph += numbers >> all.fixed(8) >> check;
            graph.run(scheme).unwrap();
            drop(graph);
            assert_eq!(seen, 20_000);
        });
    });
}

#[test]
fn a_closure_that_says_done_is_not_called_again_and_its_end_runs() {
    each_scheme(|scheme| {
        let called = Arc::new(AtomicU64::new(0));
        let calls = called.clone();
        let (seen, report) = through(scheme, 0_u64.., move |graph| {
            graph.sequential_with(
                calls,
                |calls, x, out| {
                    calls.fetch_add(1, AcqRel);
                    out.push(x);
                    if x == 9 { Flow::Done } else { Flow::More }
                },
                |_, out| out.push(1000),
            )
        });
        assert!(seen.into_iter().eq((0..10).chain([1000])));
        assert_eq!(called.load(Acquire), 10);
        assert_eq!(report.end, End::Complete, "an endless source ends when nobody takes any more");
    });
}

#[test]
fn the_end_of_a_run_that_fails_or_is_cancelled_is_not_the_streams() {
    each_scheme(|scheme| {
        within(SOON, move || {
            let ended = AtomicU64::new(0);
            let mut graph = Graph::new();
            let stopper = graph.stopper();
            let numbers = graph.source(0_u64..);
            let sink = graph.sink_with(
                0,
                move |_, x| {
                    if x == 500 {
                        stopper.cancel();
                    }
                },
                |_| _ = ended.fetch_add(1, AcqRel),
            );
            graph += numbers >> sink;
            assert_eq!(graph.run(scheme).unwrap().end, End::Cancelled);
            drop(graph);
            assert_eq!(ended.load(Acquire), 0);

            let mut graph = Graph::new();
            let numbers = graph.source(0..10_u64);
            let sink = graph.sink_with(
                (),
                |(), x| if x == 5 { Err("five") } else { Ok(()) },
                |()| _ = ended.fetch_add(1, AcqRel),
            );
            graph += numbers >> sink;
            graph.run(scheme).unwrap_err();
            drop(graph);
            assert_eq!(ended.load(Acquire), 0);
        });
    });
}

#[test]
fn a_run_that_is_stopped_flushes() {
    each_scheme(|scheme| {
        within(SOON, move || {
            let (mut sum, mut flushed) = (0, None);
            let last = &mut sum;
            let mut graph = Graph::new();
            let stopper = graph.stopper();
            let numbers = graph.source(1_u64..);
            let check = graph.sink(|x: u64| flushed = Some(x));
            let add = graph.fold(
                || 0,
                move |total: &mut u64, x| {
                    *total += x;
                    *last = *total;
                    if x == 300 {
                        stopper.stop();
                    }
                },
            );
            graph += numbers >> add >> check;
            assert_eq!(graph.run(scheme).unwrap().end, End::Stopped);
            drop(graph);
            assert!(sum >= 300 * 301 / 2);
            assert_eq!(flushed, Some(sum));
        });
    });
}

#[test]
fn an_error_of_the_end_is_the_runs() {
    within(SOON, || {
        let mut graph = Graph::new();
        let numbers = graph.source(0..10_u64);
        let sink = graph.sink_with((), |(), _| (), |()| Err::<(), _>("the disk is full"));
        graph.name(sink, "file");
        graph += numbers >> sink;
        let error = format!("{:#}", graph.run(Scheme::default()).unwrap_err());
        assert!(error.contains("file") && error.contains("the disk is full"), "{error}");
    });
}

#[test]
fn some_are_taken_and_the_rest_is_counted() {
    for (count, most) in [(0, 5), (5, 0), (3000, 1234), (1234, 3000), (7, 7)] {
        each_scheme(|scheme| {
            let (seen, report) = through(scheme, 0..count, move |graph| graph.take(most as usize));
            assert!(seen.into_iter().eq(0..u64::min(count, most)));
            assert!(report.dropped <= count.saturating_sub(most));
            let (seen, _) = through(scheme, 0..count, move |graph| graph.take_while(move |&x| x < most));
            assert!(seen.into_iter().eq(0..u64::min(count, most)));
        });
    }
}

#[test]
fn taking_begins_anew_in_each_run() {
    each_scheme(|scheme| {
        within(SOON, move || {
            let mut seen = Vec::new();
            let mut graph = Graph::new();
            let (numbers, some) = (graph.source_with(|| 0..100_u64), graph.take(3));
            let (sums, collect) = (graph.fold(|| 0, |sum, x| *sum += x), graph.sink(|x| seen.push(x)));
            graph += numbers >> some >> sums >> collect;
            graph.run(scheme).unwrap();
            graph.run(scheme).unwrap();
            drop(graph);
            assert_eq!(seen, [3, 3]);
        });
    });
}

#[test]
fn chunks_are_whole_but_the_last() {
    for (count, length) in [(0, 3), (1, 3), (999, 3), (1000, 7), (20, 1), (5, 100)] {
        each_scheme(|scheme| {
            let (seen, _) = through(scheme, 0..count, move |graph| graph.chunks(length));
            let all: Vec<u64> = (0..count).collect();
            assert!(seen.iter().eq(all.chunks(length)), "{count} by {length}");
        });
    }
}

#[test]
fn what_an_early_end_does_not_take_is_dropped_once() {
    each_scheme(|scheme| {
        within(SOON, move || {
            let ledger = Ledger::new(1_000_000);
            let mut graph = Graph::new();
            let tokens = ledger.clone();
            let source = graph.source((0..20_000).map(move |x| Token::of(&tokens, x)));
            let (chunks, some) = (graph.chunks(7), graph.take(100));
            let sink = graph.sink(drop::<Vec<Token>>);
            graph += source >> chunks >> some >> sink;
            graph.run(scheme).unwrap();
            drop(graph);
            ledger.is_settled();
        });
    });
}

#[test]
fn chunks_of_nothing_are_refused() {
    let mut graph = Graph::new();
    let (numbers, chunks) = (graph.source(0..3), graph.chunks(0));
    let sink = graph.sink(drop::<Vec<i32>>);
    graph += numbers >> chunks >> sink;
    let error = graph.run(Scheme::default()).unwrap_err().to_string();
    assert!(error.contains("chunks of 0 messages"), "{error}");
}

/// A run that fails in the middle, then one that does not: an operator begins anew, and gives what it would have given without the first.
fn begins_anew<U: Send + Sync + PartialEq + std::fmt::Debug + 'static>(
    operator: impl Fn(
        &Graph<'_>,
        thalweg::Path<thalweg::PathEnd, thalweg::Tail<u64>>,
    ) -> thalweg::Path<thalweg::PathEnd, thalweg::Tail<U>>
    + Copy
    + Send
    + 'static,
    expected: Vec<U>,
) {
    let expected = Arc::new(expected);
    each_scheme(|scheme| {
        let expected = expected.clone();
        within(SOON, move || {
            let fails = Arc::new(AtomicU64::new(1));
            let seen = Arc::new(thalweg_sync::sync::Mutex::new(Vec::new()));
            let mut graph = Graph::new();
            let gate = {
                let fails = fails.clone();
                graph.sequential(move |x: u64, out: &mut Output<u64>| {
                    out.push(x);
                    if x == 1500 && fails.load(Relaxed) == 1 { Err("not yet") } else { Ok(()) }
                })
            };
            let path = graph.source_with(|| 0..2000_u64) >> gate;
            let sink = {
                let seen = seen.clone();
                graph.sink(move |x| seen.lock().unwrap().push(x))
            };
            let path = operator(&graph, path);
            graph += path >> sink;
            // One with an early end may have it before the failure.
            let _ = graph.run(scheme);
            fails.store(0, Relaxed);
            seen.lock().unwrap().clear();
            graph.run(scheme).unwrap();
            assert_eq!(*seen.lock().unwrap(), *expected, "{scheme:?}");
        });
    });
}

#[test]
fn what_a_failed_run_left_in_an_operator_is_not_in_the_next() {
    let ever = crate::times::EVER;
    let sum = (0..2000).sum::<u64>();
    begins_anew(|graph, path| path >> graph.take(1800), (0..1800).collect());
    begins_anew(|graph, path| path >> graph.fold(|| 0, |sum, x: u64| *sum += x), vec![sum]);
    begins_anew(
        |graph, path| path >> graph.chunks(700),
        (0..2000).collect::<Vec<_>>().chunks(700).map(Vec::from).collect(),
    );
    begins_anew(move |graph, path| path >> graph.chunks_within(3000, ever), vec![(0..2000).collect::<Vec<_>>()]);
    begins_anew(move |graph, path| path >> graph.debounce(ever), vec![1999]);
    begins_anew(move |graph, path| path >> graph.throttle(2000, ever), (0..2000).collect());
    begins_anew(
        |graph, path| graph.key_by(path, |_| 0).lanes(1).fold(|| 0, |sum, x: u64| *sum += x).into_path(),
        vec![(0, sum)],
    );
}
