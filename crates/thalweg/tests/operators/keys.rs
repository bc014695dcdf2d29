//! State for each key.

use crate::common::{Ledger, SOON, Token, within};
use crate::each_scheme;
use std::collections::BTreeMap;
use std::fmt::Debug;
use thalweg::operators::KeyBy;
use thalweg::prelude::*;
use thalweg_sync::atomic::{AtomicU64, Ordering::*};
use thalweg_sync::random::Xorshift;
use thalweg_sync::sync::Arc;

/// Numbers without a pattern, of few keys, of which some are frequent.
fn numbers() -> Vec<u64> {
    let mut random = Xorshift::new(1);
    (0..4000).map(|_| random.number() >> 33).collect()
}

fn key(x: &u64) -> u64 {
    // Half of all are of key zero.
    if x.is_multiple_of(2) { 0 } else { x % 200 }
}

/// What a plain loop keeps for each key.
fn by_key() -> BTreeMap<u64, Vec<u64>> {
    let mut messages = BTreeMap::<_, Vec<_>>::new();
    numbers().into_iter().for_each(|x| messages.entry(key(&x)).or_default().push(x));
    messages
}

/// What is given for the numbers, under every scheme, with some numbers of lanes.
fn given<U: Send + Debug + 'static>(
    work: impl Fn(KeyBy<'_, '_, u64, u64>) -> Out<U> + Copy + Send + 'static,
    check: impl Fn(Vec<U>),
) {
    for lanes in [1, 3] {
        each_scheme(|scheme| {
            let seen = within(SOON, move || {
                let mut seen = Vec::new();
                let mut graph = Graph::new();
                let source = graph.source(numbers());
                let out = work(graph.key_by(source, key).lanes(lanes));
                let collect = graph.sink(|x| seen.push(x));
                graph += out >> collect;
                let report = graph.run(scheme).unwrap();
                assert_eq!(report.dropped, 0);
                drop(graph);
                seen
            });
            check(seen);
        });
    }
}

#[test]
fn a_fold_gives_one_value_for_each_key() {
    let expected: BTreeMap<_, _> = by_key().into_iter().map(|(key, all)| (key, fold_all(&all))).collect();
    fn fold_all(all: &[u64]) -> u64 {
        all.iter().fold(7, |sum: u64, &x| sum.wrapping_mul(31).wrapping_add(x))
    }
    given(
        |keyed| keyed.fold(|| 7, |sum: &mut u64, x| *sum = sum.wrapping_mul(31).wrapping_add(x)),
        |seen| {
            assert_eq!(seen.len(), expected.len());
            assert_eq!(seen.into_iter().collect::<BTreeMap<_, _>>(), expected);
        },
    );
}

#[test]
fn a_map_with_state_is_in_order_for_each_key() {
    given(
        |keyed| {
            keyed.map_with(Vec::new, |all: &mut Vec<u64>, &key, x| {
                all.push(x);
                (key, all.len(), x)
            })
        },
        |seen| {
            let mut messages = BTreeMap::<_, Vec<_>>::new();
            for (key, count, x) in seen {
                let all = messages.entry(key).or_default();
                all.push(x);
                assert_eq!(all.len(), count, "key {key}");
            }
            assert_eq!(messages, by_key());
        },
    );
}

#[test]
fn windows_of_each_key_are_whole_and_what_they_leave_over_is_given() {
    for (peek, pop) in [(1, 1), (3, 3), (4, 1), (2, 5), (5, 3)] {
        let expected: BTreeMap<_, Vec<_>> = by_key()
            .into_iter()
            .map(|(key, all)| {
                let mut windows: Vec<_> = all.windows(peek).step_by(pop).map(<[_]>::to_vec).collect();
                let begin = windows.len() * pop;
                let shared = if windows.is_empty() { 0 } else { peek.saturating_sub(pop) };
                if all.len() > begin + shared {
                    windows.push(all[begin..].to_vec());
                }
                (key, windows)
            })
            .collect();
        given(
            move |keyed| keyed.window(peek, pop, |&key, window| (key, window.to_vec())),
            |seen| {
                let mut windows: BTreeMap<_, Vec<_>> = by_key().into_keys().map(|key| (key, Vec::new())).collect();
                seen.into_iter().for_each(|(key, window)| windows.get_mut(&key).unwrap().push(window));
                assert_eq!(windows, expected, "{peek} and {pop}");
            },
        );
    }
}

/// More keys than an edge may hold: what is given at the end waits for room.
#[test]
fn a_fold_at_the_end_respects_the_capacity_behind_it() {
    each_scheme(|scheme| {
        within(SOON, move || {
            let mut seen = 0;
            let mut graph = Graph::new();
            let source = graph.source(0..10_000_u64);
            let folded = graph.key_by(source, |&x| x).lanes(1).fold(|| 0, |sum, x| *sum += x);
            let collect = graph.sink(|(key, sum)| {
                assert_eq!(key, sum);
                seen += 1;
            });
            graph += folded.fixed(8) >> collect;
            let report = graph.run(scheme).unwrap();
            drop(graph);
            assert_eq!(seen, 10_000);
            // A block may come on top.
            assert!(report.edges[2].messages == 10_000 && report.edges[2].peak <= 12, "{report}");
        });
    });
}

#[test]
fn each_key_is_made_once_and_each_message_dropped_once() {
    for fails in [false, true] {
        each_scheme(|scheme| {
            within(SOON, move || {
                let (ledger, states) = (Ledger::new(400_000), Arc::new(AtomicU64::new(0)));
                let mut graph = Graph::new();
                let (tokens, made) = (ledger.clone(), states.clone());
                let source = graph.source_with(move || {
                    let tokens = tokens.clone();
                    (0..5000).map(move |x| Token::of(&tokens, x))
                });
                let init = move || {
                    made.fetch_add(1, AcqRel);
                    Vec::new()
                };
                let grouped =
                    graph.key_by(source, |token| token.value % 100).lanes(3).fold(init, |all, token| all.push(token));
                let sink = graph.sink(|(_, all): (u64, Vec<Token>)| {
                    if fails {
                        return Err("the first one is refused");
                    }
                    assert_eq!(all.len(), 50);
                    Ok(())
                });
                graph += grouped >> sink;
                match graph.run(scheme) {
                    Ok(_) => assert!(!fails && states.load(Acquire) == 100),
                    // A lane that ends early may be refused before another has seen all of its keys.
                    Err(error) => {
                        assert!(fails && format!("{error:#}").contains("the first one is refused"), "{error}")
                    }
                }
                assert!(states.load(Acquire) <= 100);
                drop(graph);
                ledger.is_settled();
            })
        });
    }
}

#[test]
fn a_second_run_begins_anew() {
    each_scheme(|scheme| {
        within(SOON, move || {
            let mut sums = Vec::new();
            let mut graph = Graph::new();
            let source = graph.source_with(|| 0..100_u64);
            let folded = graph.key_by(source, |&x| x % 2).fold(|| 0, |sum, x| *sum += x);
            let collect = graph.sink(|sum| sums.push(sum));
            graph += folded >> collect;
            graph.run(scheme).unwrap();
            graph.run(scheme).unwrap();
            drop(graph);
            sums.sort_unstable();
            assert_eq!(sums, [(0, 2450), (0, 2450), (1, 2500), (1, 2500)]);
        });
    });
}

#[test]
fn a_panic_in_a_step_stops_the_run() {
    within(SOON, || {
        let ledger = Ledger::new(10_000);
        let mut graph = Graph::new();
        let source = graph.source((0..1000).map(|x| Token::of(&ledger, x)));
        let folded = graph.key_by(source, |token| token.value % 10).fold(Vec::new, |all, token| {
            assert!(token.value != 777, "lucky");
            all.push(token);
        });
        let sink = graph.sink(|_: (u64, Vec<Token>)| ());
        graph += folded >> sink;
        assert!(graph.run(Scheme::default()).unwrap_err().to_string().contains("lucky"));
        drop(graph);
        ledger.is_settled();
    });
}

#[test]
fn what_cannot_be_is_refused() {
    let mut graph = Graph::new();
    let pairs = graph.source([(1, 2), (3, 4_u64)]);
    let empty = graph.keyed(pairs).lanes(0).window(0, 1, |_, window| window.len());
    let sink = graph.sink(|_: usize| ());
    graph += empty >> sink;
    let error = graph.run(Scheme::default()).unwrap_err().to_string();
    assert!(error.contains("0 lanes") && error.contains("a window of 0 messages that pops 1"), "{error}");
}
