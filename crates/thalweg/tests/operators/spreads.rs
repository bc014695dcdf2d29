//! What one message becomes: pulled, and kept from one activation to the next.

use crate::common::{Ledger, SOON, Token, within};
use crate::{each_scheme, schemes};
use thalweg::prelude::*;
use thalweg::{Cause, End, Error};
use thalweg_sync::atomic::{AtomicBool, AtomicU64, Ordering::*};
use thalweg_sync::sync::Arc;
use thalweg_sync::thread;
use thalweg_sync::time::Duration;

/// One message becomes thousands, behind edges of 1, 8 and 64: no edge holds more than its capacity and a block.
#[test]
fn a_capacity_holds_for_what_one_message_becomes() {
    for (capacity, count) in [(1, 2000), (8, 10_000), (64, 50_000)] {
        schemes(capacity).for_each(|scheme| {
            within(SOON, move || {
                let mut next = 0;
                let mut graph = Graph::new();
                let (files, lines) = (graph.source(["file"]), graph.flat_map(|_| 0..count));
                let check = graph.sink(|x| {
                    assert_eq!(x, next);
                    next += 1;
                });
                graph += files >> lines.fixed(capacity) >> check;
                let report = graph.run(scheme).unwrap();
                drop(graph);
                assert_eq!(next, count);
                let most = (capacity + (capacity / 2).max(1)) as u64;
                assert!(report.edges[1].peak <= most, "{} of {capacity}", report.edges[1].peak);
            });
        });
    }
}

#[test]
fn a_chain_spreads_as_iterators_do() {
    fn all(count: u64) -> impl Iterator<Item = u64> {
        (0..count)
            .map(|x| x + 1)
            .filter(|x| x % 5 > 0)
            .flat_map(|x| 0..x % 7)
            .map(|x| x * 3)
            .flat_map(|x| std::iter::repeat_n(x, (x % 4) as usize))
            .flat_map(|x| (x % 9 > 0).then_some(x))
            .inspect(|_| ())
            .flat_map(|x| [x, x + 1])
            .filter(|x| x % 2 == 0)
    }
    for (count, capacity) in [(0, 1), (3, 1), (3000, 2), (3000, 100_000)] {
        each_scheme(move |scheme| {
            within(SOON, move || {
                let mut seen = Vec::new();
                let mut graph = Graph::new();
                let numbers = graph.source(0..count).fixed(capacity);
                let path = graph
                    .from(numbers)
                    .map(|x| x + 1)
                    .filter(|x| x % 5 > 0)
                    .flat_map(|x| 0..x % 7)
                    .map(|x| x * 3)
                    .flat_map(|x| std::iter::repeat_n(x, (x % 4) as usize))
                    .flat_map(|x| (x % 9 > 0).then_some(x))
                    .inspect(|_| ())
                    .flat_map(|x| [x, x + 1])
                    .filter(|x| x % 2 == 0)
                    .path();
                let collect = graph.sink(|x| seen.push(x));
                graph += path.fixed(capacity) >> collect;
                graph.run(scheme).unwrap();
                drop(graph);
                assert!(seen.into_iter().eq(all(count)), "{count} behind edges of {capacity}");
            });
        });
    }
}

/// An iterator without an end, of which nothing comes through, or more than anybody takes.
#[test]
fn an_endless_iterator_sees_the_end_of_the_run_and_of_who_takes() {
    each_scheme(|scheme| {
        within(SOON, move || {
            let mut graph = Graph::new();
            let stopper = graph.stopper();
            let first = graph.source([0_u64]);
            let mut left = 100_000;
            let path = graph
                .from(first)
                .flat_map(|x| x..)
                .filter(move |_| {
                    left -= 1;
                    if left == 0 {
                        stopper.cancel();
                    }
                    left < 0
                })
                .path();
            let sink = graph.sink(|_| ());
            graph += path >> sink;
            assert_eq!(graph.run(scheme).unwrap().end, End::Cancelled);
        });
        within(SOON, move || {
            let mut graph = Graph::new();
            let (some, (end, seen)) = (graph.take(1000), graph.collect());
            graph += graph.source([5_u64, 7]) >> graph.flat_map(|x: u64| x..) >> some >> end;
            assert_eq!(graph.run(scheme).unwrap().end, End::Complete);
            assert!(seen.take().into_iter().eq(5..1005));
        });
    });
}

/// What one message becomes while nothing else is under way in a cycle: of the first item nothing comes, late, so its kernel is left with an iterator in
/// hand and has given nothing.
#[test]
fn a_cycle_does_not_end_before_an_iterator_in_it() {
    each_scheme(|scheme| {
        within(SOON, move || {
            let mut graph = Graph::new();
            let all = graph.add(thalweg::operators::Merge::new(2));
            let [on, seen] = graph.tee(all.out);
            let fewer = graph.from(on).flat_map(|n: u64| 0..=n);
            let fewer = fewer.filter(|&x| {
                if x == 0 {
                    thread::sleep(Duration::from_millis(2));
                }
                x > 0
            });
            let fewer = fewer.map(|x| x - 1).path();
            let (end, count) = graph.count();
            graph += graph.source([5_u64]) >> all.inputs[0];
            graph += fewer.feedback() >> all.inputs[1];
            graph += seen >> end;
            assert_eq!(graph.run(scheme).unwrap().end, End::Complete);
            assert_eq!(count.take(), 32);
        });
    });
}

/// Gives tokens, and panics when it is dropped if that was asked for.
struct Explosive {
    tokens: Box<dyn Iterator<Item = Token> + Send>,
    live: bool,
    dropped: Arc<AtomicU64>,
}

impl Iterator for Explosive {
    type Item = Token;
    fn next(&mut self) -> Option<Token> {
        self.tokens.next()
    }
}

impl Drop for Explosive {
    fn drop(&mut self) {
        self.dropped.fetch_add(1, AcqRel);
        assert!(!self.live, "boom");
    }
}

/// Left in hand: when the run is cancelled, when nobody takes any more, when the kernel itself panics or when another one does.
#[test]
fn an_iterator_in_hand_is_dropped_once_and_its_panic_is_told() {
    #[derive(Clone, Copy, Debug, PartialEq)]
    enum By {
        Cancel,
        EarlyEnd,
        Own,
        Other,
    }
    for (by, live) in
        [By::Cancel, By::EarlyEnd, By::Own, By::Other].into_iter().flat_map(|by| [(by, false), (by, true)])
    {
        schemes(by as usize).for_each(|scheme| {
            println!("{by:?} {live}");
            within(SOON, move || {
                let (ledger, dropped) = (Ledger::new(1_000_000), Arc::new(AtomicU64::new(0)));
                let (made, gone) = (ledger.clone(), dropped.clone());
                let first = AtomicBool::new(true);
                let mut graph = Graph::new();
                let stopper = graph.stopper();
                let spread = graph.flat_map(move |n: u64| {
                    let made = made.clone();
                    let tokens = Box::new((0..n).map(move |x| {
                        assert!(x < 500 || by != By::Own, "its own");
                        Token::of(&made, x)
                    }));
                    Explosive { tokens, live, dropped: gone.clone() }
                });
                let most = if by == By::EarlyEnd { 500 } else { usize::MAX };
                let some = graph.take(most);
                let sink = graph.sink(move |token: Token| {
                    if token.value == 500 && first.swap(false, AcqRel) {
                        assert!(by != By::Other, "another");
                        stopper.cancel();
                    }
                });
                graph.name(spread, "spread");
                // No edge grows: the iterator must not come to its end before the sink has seen 500 items.
                graph += graph.source_with(|| [3000_u64]) >> spread.fixed(16) >> some.fixed(16) >> sink;
                let result = graph.run(scheme);
                assert_eq!(dropped.load(Acquire), 1);
                ledger.is_settled();
                let told = match &result {
                    Err(Error::Failed { failures, .. }) => {
                        let of = |text: &str| {
                            let says = |cause: &Cause| matches!(cause, Cause::Panic(panic) if panic.contains(text));
                            failures
                                .iter()
                                .filter(|failure| says(&failure.cause))
                                .map(|failure| &*failure.kernel)
                                .collect::<Vec<_>>()
                        };
                        assert_eq!(of("its own").len(), usize::from(by == By::Own));
                        assert_eq!(of("another").len(), usize::from(by == By::Other));
                        assert_eq!(of("boom"), if live { vec!["spread"] } else { vec![] });
                        failures.len()
                    }
                    Err(error) => panic!("{error}"),
                    Ok(_) => 0,
                };
                assert_eq!(told, usize::from(live) + usize::from(matches!(by, By::Own | By::Other)), "{result:?}");
            });
        });
    }
}

/// A run goes on where a stopped one left off, and begins without what a cancelled one had in hand.
#[test]
fn a_second_run_has_nothing_left_in_hand() {
    each_scheme(|scheme| {
        within(SOON, move || {
            let runs = Arc::new(AtomicU64::new(0));
            let run = runs.clone();
            let mut graph = Graph::new();
            let stopper = graph.stopper();
            let (end, seen) = graph.gather(Vec::new(), move |seen: &mut Vec<u64>, x| {
                seen.push(x);
                if seen.len() == 100 && run.load(Acquire) == 0 {
                    stopper.cancel();
                }
            });
            graph += graph.source_with(|| [1_u64]) >> graph.flat_map(|_| 0..5000_u64).fixed(8) >> end;
            assert_eq!(graph.run(scheme).unwrap().end, End::Cancelled);
            let first = seen.take();
            assert!(first.iter().copied().eq(0..first.len() as u64) && first.len() < 5000);
            runs.store(1, Release);
            assert_eq!(graph.run(scheme).unwrap().end, End::Complete);
            assert!(seen.take().into_iter().eq(0..5000));
        });
    });
}
