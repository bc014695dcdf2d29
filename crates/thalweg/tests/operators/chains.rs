//! Operators of chains, states of workers, and what windows leave over: each against a plain loop.

use crate::common::{SOON, toil, within};
use crate::{each_scheme, through};
use thalweg::operators::Emit;
use thalweg::prelude::*;
use thalweg::{Cause, Error};
use thalweg_sync::atomic::{AtomicU64, Ordering::*};
use thalweg_sync::sync::Arc;

/// Every operator of a chain once, behind a source that fuses, behind steps, and behind a kernel.
#[test]
fn chains_have_the_operators_of_iterators() {
    each_scheme(|scheme| {
        within(SOON, move || {
            let mut graph = Graph::new();
            let fused = graph.stream(0..3000_u64).filter_map(|x| (x % 3 > 0).then_some(x * 2)).collect();
            let steps = graph.stream(0..300_u64).map(|x| 0..x % 5).flatten().filter_map(|x| x.checked_sub(1)).collect();
            let behind = graph
                .stream(0..3000_u64)
                .parallel_map(|x| x + 1)
                .filter_map(|x| (x % 7 > 0).then_some([x; 3]))
                .flatten()
                .named("threes")
                .parallel_filter(|x| x % 2 == 0)
                .parallel_update(|x| *x += 1)
                .then_with(|graph| graph.map(|x: u64| x * 5))
                .take(2000)
                .chunks(64)
                .collect();
            let words = graph.stream(["1", "2", "x", "3"]).map_while(|word: &str| word.parse::<u32>().ok()).collect();
            let small = graph.stream(0..).take_while(|&x: &u32| x < 700).count();
            let letters = graph.source((0..700_u64).map(|x| char::from(b'a' + (x % 26) as u8)));
            let [left, right] = graph.stream(0..1000_u64).tee();
            let sum = graph.from(left).fold(|| 0, |sum, x| *sum += x).collect();
            let pairs = graph.from(right).map(|x| x * x).zip(letters).gather(0, |count, (x, letter)| {
                assert_eq!((*count * *count, char::from(b'a' + (*count % 26) as u8)), (x, letter));
                *count += 1;
            });
            let [even, odd] = graph.stream(0..500_u64).split(|x| x % 2 == 0);
            let merged = graph.from(even).merge(odd).collect();
            let seen = Arc::new(AtomicU64::new(0));
            let adds = seen.clone();
            graph.stream(0..1000_u64).parallel_sink(move |x| _ = adds.fetch_add(x, AcqRel));
            let report = graph.run(scheme).unwrap();
            assert!(report.kernel("threes").is_some());
            assert!(fused.take().into_iter().eq((0..3000).filter(|x| x % 3 > 0).map(|x| x * 2)));
            assert!(steps.take().into_iter().eq((0..300_u64).flat_map(|x| 0..x % 5).filter_map(|x| x.checked_sub(1))));
            let numbers = (1..=3000_u64).filter(|x| x % 7 > 0).flat_map(|x| [x; 3]).filter(|x| x % 2 == 0);
            let numbers: Vec<_> = numbers.map(|x| (x + 1) * 5).take(2000).collect();
            assert!(behind.take().iter().map(|chunk| &chunk[..]).eq(numbers.chunks(64)));
            assert_eq!(words.take(), [1, 2]);
            assert_eq!(small.take(), 700);
            assert_eq!(sum.take(), [1000 * 999 / 2]);
            assert_eq!(pairs.take(), 700);
            let mut all = merged.take();
            all.sort_unstable();
            assert!(all.into_iter().eq(0..500));
            assert_eq!(seen.load(Acquire), 1000 * 999 / 2);
        });
    });
}

/// No worker shares its state with another, and there are no more of them than workers; they are kept from run to run.
#[test]
fn each_worker_has_a_state_of_its_own() {
    each_scheme(|scheme| {
        within(SOON, move || {
            let (made, used) = (AtomicU64::new(0), AtomicU64::new(0));
            let mut graph = Graph::new();
            let (end, seen) = graph.collect();
            let work = graph.parallel_with(
                || (made.fetch_add(1, AcqRel), Vec::new()),
                |(_, scratch): &mut (u64, Vec<u64>), x: u64, out: &mut Output<u64>| {
                    scratch.clear();
                    scratch.extend(0..x % 10);
                    toil(100);
                    used.fetch_add(1, AcqRel);
                    out.push(scratch.iter().sum::<u64>() + x);
                },
            );
            graph += graph.source_with(|| 0..3000_u64) >> work * 4 >> end;
            let mut most = 0;
            for _ in 0..2 {
                let report = graph.run(scheme).unwrap();
                most = most.max(report.workers as u64);
                assert!(seen.take().into_iter().eq((0..3000).map(|x| (0..x % 10).sum::<u64>() + x)));
            }
            drop(graph);
            assert!((1..=most).contains(&made.load(Acquire)), "{} for {most}", made.load(Acquire));
            assert_eq!(used.load(Acquire), 6000);
        });
    });
}

/// A state whose use ended in a panic is not used again, and its destructor does not run while that unwinds.
#[test]
fn a_state_that_a_panic_left_is_put_aside() {
    struct Brittle(bool);
    impl Drop for Brittle {
        fn drop(&mut self) {
            assert!(!std::thread::panicking(), "dropped in the midst of a panic");
        }
    }
    each_scheme(|scheme| {
        within(SOON, move || {
            let mut graph = Graph::new();
            let (end, count) = graph.count();
            let runs = AtomicU64::new(0);
            let work = graph.parallel_with(
                || Brittle(false),
                move |state: &mut Brittle, x: u64, out: &mut Output<u64>| {
                    assert!(!state.0, "used again");
                    if x == 100 && runs.fetch_add(1, AcqRel) == 0 {
                        state.0 = true;
                        panic!("on purpose");
                    }
                    out.push(x);
                },
            );
            graph += graph.source_with(|| 0..300_u64) >> work * 4 >> end;
            let Err(Error::Failed { failures, .. }) = graph.run(scheme) else { panic!("it panicked") };
            assert!(
                matches!(&failures[..], [only] if matches!(&only.cause, Cause::Panic(text) if text == "on purpose"))
            );
            count.take();
            graph.run(scheme).unwrap();
            assert_eq!(count.take(), 300);
        });
    });
}

/// Windows over `0..count`, and with `partial` the shorter one at the end.
fn windows(count: u64, peek: usize, pop: usize, partial: bool) -> Vec<Vec<u64>> {
    let all: Vec<u64> = (0..count).collect();
    let (mut windows, mut first, mut covered) = (Vec::new(), 0, 0);
    while first + peek <= all.len() {
        windows.push(all[first..first + peek].to_vec());
        covered = first + peek;
        first += pop;
    }
    if partial && all.len() > covered.max(first) {
        windows.push(all[first..].to_vec());
    }
    windows
}

#[test]
fn what_a_window_leaves_over_is_given_or_counted() {
    for (count, peek, pop) in
        [(0, 3, 3), (2, 3, 1), (10, 3, 3), (11, 3, 2), (11, 3, 1), (12, 2, 5), (14, 2, 5), (999, 100, 7)]
    {
        each_scheme(|scheme| {
            let (seen, report) = through(scheme, 0..count, move |graph| {
                graph.window_partial(peek, pop, |window: &[u64], out: &mut Emit<'_, '_, Vec<u64>>| {
                    out.push(window.to_vec())
                })
            });
            assert_eq!(seen, windows(count, peek, pop, true), "{count} by {peek}, {pop}");
            assert_eq!(report.dropped, 0);
            let (seen, report) = through(scheme, 0..count, move |graph| {
                graph.window(peek, pop, |window: &[u64], out: &mut Output<Vec<u64>>| out.push(window.to_vec()))
            });
            let plain = windows(count, peek, pop, false);
            assert_eq!(seen, plain);
            let last = windows(count, peek, pop, true).split_off(plain.len()).concat();
            let covered = plain.last().and_then(|window| window.last()).map_or(0, |last| last + 1);
            let left_over = last.iter().filter(|&&x| x >= covered).count() as u64;
            assert_eq!((report.edges[0].left_over, report.dropped), (left_over, left_over), "{count} by {peek}, {pop}");
            assert_eq!(report.to_string().contains("filled no window"), left_over > 0);
        });
    }
}

#[test]
fn windows_of_nothing_are_refused() {
    let mut graph = Graph::new();
    let windows = graph.window_partial(0, 1, |_: &[u64], _: &mut Emit<'_, '_, u64>| ());
    graph += graph.source(0..3) >> windows >> graph.sink(|_| ());
    let error = graph.run(Scheme::default()).unwrap_err().to_string();
    assert!(error.contains("a window of 0 messages that pops 1"), "{error}");
}

/// At the first message of a block, in its midst and at its last one; what came behind is counted, and a second run begins anew.
#[test]
fn a_plain_closure_ends_early() {
    for (count, last) in [(1, 0), (5000, 0), (5000, 777), (5000, 4999), (u64::MAX, 3000)] {
        each_scheme(|scheme| {
            within(SOON, move || {
                let (calls, taken) = (AtomicU64::new(0), AtomicU64::new(0));
                let mut graph = Graph::new();
                let (end, seen) = graph.collect();
                let some = graph.sequential(|x: u64, out: &mut Output<u64>| {
                    calls.fetch_add(1, AcqRel);
                    out.push(x);
                    if x == last { Flow::Done } else { Flow::More }
                });
                graph += graph.source_with(|| 0..count) >> some >> end;
                let sink = graph.sink(|x: u64| {
                    taken.fetch_add(1, AcqRel);
                    Ok::<_, BoxError>(if x == last { Flow::Done } else { Flow::More })
                });
                graph += graph.source_with(|| 0..count) >> sink;
                for run in 1..3 {
                    let report = graph.run(scheme).unwrap();
                    assert_eq!(report.end, thalweg::End::Complete);
                    assert!(seen.take().into_iter().eq(0..=last), "{last} of {count}");
                    assert_eq!((calls.load(Acquire), taken.load(Acquire)), (run * (last + 1), run * (last + 1)));
                    if count == 5000 {
                        assert!(report.dropped <= 2 * (count - last - 1), "{}", report.dropped);
                    }
                }
            });
        });
    }
}
