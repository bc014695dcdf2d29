//! Errors of single messages.

use crate::common::{Ledger, SOON, Token, within};
use crate::{each_scheme, through};
use std::error::Error as StdError;
use thalweg::operators::{Backoff, Skipped, TooManyErrors};
use thalweg::prelude::*;
use thalweg::{Cause, End, Error};
use thalweg_sync::time::{Duration, now};

fn parse(x: u64) -> Result<u32, String> {
    if x % 7 == 3 { Err(format!("{x} is wrong")) } else { Ok(x as u32 * 2) }
}

fn right(count: u64) -> impl Iterator<Item = u32> {
    (0..count).filter_map(|x| parse(x).ok())
}

fn wrong(count: u64) -> impl Iterator<Item = String> {
    (0..count).filter_map(|x| parse(x).err())
}

#[test]
fn errors_have_an_output_of_their_own() {
    each_scheme(|scheme| {
        within(SOON, move || {
            let (mut results, mut errors) = (Vec::new(), Vec::new());
            let mut graph = Graph::new();
            let numbers = graph.source(0..5000);
            let (parsed, failed) = graph.try_map(numbers, parse);
            let keep = graph.sink(|x| results.push(x));
            let note = graph.sink(|error| errors.push(error));
            graph += parsed >> keep;
            graph += failed >> note;
            graph.run(scheme).unwrap();
            drop(graph);
            assert!(results.into_iter().eq(right(5000)));
            assert!(errors.into_iter().eq(wrong(5000)));
        });
    });
}

#[test]
fn errors_are_skipped_and_counted() {
    each_scheme(|scheme| {
        let skipped = Skipped::new();
        let (one, other) = (skipped.clone(), skipped.clone());
        let (results, _) = through(scheme, 0..5000, move |graph| graph.map_or_skip(parse, &one));
        assert!(results.into_iter().eq(right(5000)));
        let (results, _) = through(scheme, 0..5000, move |graph| graph.parallel_map_or_skip(parse, &other));
        assert!(results.into_iter().eq(right(5000)));
        assert_eq!(skipped.count(), 2 * wrong(5000).count() as u64);
    });
}

#[test]
fn a_limit_ends_the_run_with_the_error_that_was_too_much() {
    each_scheme(|scheme| {
        for allowed in [0, 10, 714] {
            let skipped = Skipped::at_most(allowed);
            let handle = skipped.clone();
            let result = within(SOON, move || {
                let mut graph = Graph::new();
                let numbers = graph.source(0..5000);
                let change = graph.map_or_skip(parse, &handle);
                let sink = graph.sink(drop::<u32>);
                graph += numbers >> change >> sink;
                graph.name(change, "parse");
                graph.run(scheme)
            });
            let failing = wrong(5000).nth(allowed as usize);
            let Some(failing) = failing else {
                assert_eq!(result.unwrap().end, End::Complete);
                assert_eq!(skipped.count(), allowed);
                continue;
            };
            let Err(Error::Failed { failures, .. }) = result else { panic!("{allowed} may fail") };
            let Cause::Error(cause) = &failures[0].cause else { panic!("{failures:?}") };
            assert_eq!(failures[0].kernel, "parse");
            assert_eq!(cause.to_string(), format!("more messages failed than the {allowed} that may be skipped"));
            assert_eq!(cause.downcast_ref::<TooManyErrors>().unwrap().source().unwrap().to_string(), failing);
            assert_eq!(skipped.count(), allowed + 1);
        }
    });
}

#[test]
fn what_fails_for_a_while_is_tried_again_in_order() {
    each_scheme(|scheme| {
        within(SOON, move || {
            let ledger = Ledger::new(10_000);
            let (mut done, mut failed, mut tried) = (Vec::new(), Vec::new(), Vec::new());
            let mut graph = Graph::new();
            let tokens = ledger.clone();
            let source = graph.source((0..60).map(move |x| Token::of(&tokens, x)));
            // Every tenth succeeds the third time, and those in between at once, but for one that never does.
            let mut left = 0;
            let (results, errors) = graph.retry(source, Backoff::new(3, Duration::from_micros(50)), |token| {
                tried.push(token.value);
                if tried.iter().rev().take_while(|&&x| x == token.value).count() == 1 {
                    left = if token.value.is_multiple_of(10) { 2 } else { 0 };
                }
                if token.value == 35 || left > 0 {
                    left -= i32::from(left > 0);
                    return Err("busy");
                }
                Ok(token.value)
            });
            let keep = graph.sink(|x| done.push(x));
            let note = graph.sink(|(token, error): (Token, &str)| failed.push((token.value, error)));
            graph += results >> keep;
            graph += errors >> note;
            graph.run(scheme).unwrap();
            drop(graph);
            assert!(done.into_iter().eq((0..60).filter(|&x| x != 35)));
            assert_eq!(failed, [(35, "busy")]);
            let times = |x: u64| if x.is_multiple_of(10) || x == 35 { 3 } else { 1 };
            assert!(tried.into_iter().eq((0..60).flat_map(|x| std::iter::repeat_n(x, times(x)))));
            ledger.is_settled();
        });
    });
}

#[test]
fn pauses_double_up_to_the_most() {
    within(SOON, || {
        let pause = Duration::from_millis(2);
        let mut times = Vec::new();
        let mut graph = Graph::new();
        let one = graph.source([1]);
        let (results, errors) = graph.retry(one, Backoff::new(5, pause).at_most(pause * 3), |_| {
            times.push(now());
            Err::<u32, _>(())
        });
        let keep = graph.sink(drop::<u32>);
        let note = graph.sink(|(_, ())| ());
        graph += results >> keep;
        graph += errors >> note;
        graph.run(Scheme::default()).unwrap();
        drop(graph);
        assert_eq!(times.len(), 5);
        for (pair, factor) in times.windows(2).zip([1, 2, 3, 3]) {
            assert!(pair[1].since(pair[0]) >= pause * factor, "{times:?}");
        }
    });
}

/// What waits to be tried again is still to be done: a run that is stopped does it, one that is cancelled drops it.
#[test]
fn a_run_that_is_stopped_tries_on() {
    for cancels in [false, true] {
        each_scheme(|scheme| {
            within(SOON, move || {
                let ledger = Ledger::new(1000);
                let mut done = 0;
                let mut asked = 0;
                let mut graph = Graph::new();
                let stopper = graph.stopper();
                let tokens = ledger.clone();
                let source = graph.source((0..10).map(move |x| Token::of(&tokens, x)));
                let (results, errors) = graph.retry(source, Backoff::new(100, Duration::from_micros(100)), move |_| {
                    asked += 1;
                    if asked == 2 {
                        if cancels { stopper.cancel() } else { stopper.stop() }
                    }
                    if asked < 5 { Err(()) } else { Ok(()) }
                });
                let keep = graph.sink(|()| done += 1);
                let note = graph.sink(|_: (Token, ())| ());
                graph += results >> keep;
                graph += errors >> note;
                let report = graph.run(scheme).unwrap();
                drop(graph);
                if cancels {
                    assert_eq!((report.end, done), (End::Cancelled, 0));
                } else {
                    assert_eq!(report.end, End::Stopped);
                    assert!(done > 0 && report.dropped == 0, "{report}");
                }
                ledger.is_settled();
            });
        });
    }
}
