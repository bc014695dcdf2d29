//! Parallel kernels: how many workers run one at once, how far their results may run ahead, and in which order they leave.

use crate::common::{SOON, toil, within};
use std::collections::HashSet;
use thalweg::prelude::*;
use thalweg_sync::atomic::{AtomicU64, Ordering::*};
use thalweg_sync::sync::Mutex;
use thalweg_sync::thread;
use thalweg_sync::time::{Duration, now};

/// Waits for what comes in a moment if it comes at all.
fn wait_until(what: impl Fn() -> bool) {
    let start = now();
    while !what() {
        assert!(start.elapsed() < SOON / 4, "what a kernel waits for does not come");
        thread::yield_now();
    }
}

/// The first message is done when all others have arrived.
#[test]
fn what_is_unordered_leaves_as_it_comes() {
    for name in Scheme::names() {
        within(SOON, move || {
            let arrived = AtomicU64::new(0);
            let mut seen = Vec::new();
            let mut graph = Graph::new();
            // Few enough that no edge is full: who helps would be stuck in the source.
            let numbers = graph.source(0..10_u64);
            let pass = graph.parallel(|x: u64, out: &mut Output<u64>| {
                if x == 0 {
                    wait_until(|| arrived.load(Acquire) == 9);
                }
                out.push(x);
            });
            let sink = graph.sink(|x: u64| {
                seen.push(x);
                arrived.fetch_add(1, AcqRel);
            });
            graph += numbers >> (pass * 2).unordered() >> sink;
            graph.run(Scheme::named(name).unwrap().workers(2)).unwrap();
            drop(graph);
            assert_eq!((seen.len(), seen.last()), (10, Some(&0)), "{name}: {seen:?}");
        });
    }
}

/// A message that is alone in its block.
type Large = [u64; 1500];

/// The first message waits until the others do not come further.
#[test]
fn few_results_wait_for_an_earlier_one() {
    for name in ["depth_first", "raft", "qes"] {
        within(SOON, move || {
            let done = AtomicU64::new(0);
            let mut seen = 0;
            let mut graph = Graph::new();
            let numbers = graph.source((0..2000_u64).map(|x| [x; 1500]));
            let pass = graph.parallel(|x: Large, out: &mut Output<Large>| {
                if x[0] == 0 {
                    let mut before = u64::MAX;
                    while before != done.load(Acquire) || before == 0 {
                        before = done.load(Acquire);
                        thread::sleep(Duration::from_millis(50));
                    }
                    // Two for each of sixteen tickets and worker would be many.
                    assert!(before < 64, "{name}: {before} results wait for the first one");
                }
                done.fetch_add(1, AcqRel);
                out.push(x);
            });
            let sink = graph.sink(|x: Large| {
                assert_eq!(x[0], seen);
                seen += 1;
            });
            graph.name(pass, "pass");
            graph += numbers >> pass * 2 >> sink;
            let report = graph.run(Scheme::named(name).unwrap().workers(2)).unwrap_or_else(|error| panic!("{error}"));
            drop(graph);
            assert_eq!(seen, 2000);
            assert!(report.kernel("pass").unwrap().blocked_ticket > 0, "{name}: who found the ring full counts it");
        });
    }
}

/// Each message becomes 500, one message is a block, and the taker is slow: results that are finished or on the edge are those of a block for each worker, beside the
/// capacity. One block more is in the taker's hands.
#[test]
fn no_more_results_wait_than_the_capacity_and_a_block_of_each_worker() {
    const EACH: u64 = 500;
    for unordered in [false, true] {
        for scheme in
            Scheme::names().flat_map(|name| [1, 2, 4].map(|workers| Scheme::named(name).unwrap().workers(workers)))
        {
            let (most, workers, report) = within(SOON, move || {
                let (given, taken, most) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
                let mut graph = Graph::new();
                let many = graph.parallel(|x: u64, out: &mut Output<u64>| {
                    for y in 0..EACH {
                        out.push(EACH * x + y);
                    }
                    let given = given.fetch_add(EACH, AcqRel) + EACH;
                    most.fetch_max(given.saturating_sub(taken.load(Acquire)), AcqRel);
                });
                let sink = graph.sink(|_: u64| {
                    toil(20);
                    taken.fetch_add(1, AcqRel);
                });
                let numbers = graph.source(0..60_u64).fixed(2);
                graph += match unordered {
                    true => numbers >> many.fixed(64).unordered() >> sink,
                    false => numbers >> many.fixed(64) >> sink,
                };
                let report = graph.run(scheme).unwrap();
                drop(graph);
                (most.into_inner(), report.workers as u64, report)
            });
            let bound = 64 + 32 + workers * EACH;
            assert!(most <= bound, "{scheme:?}, {workers} workers: {most} results, where {bound} may be");
            assert!(report.edges[1].peak <= bound, "{scheme:?}: {report}");
        }
    }
}

#[test]
fn as_many_workers_work_as_were_asked_for() {
    let schemes = Scheme::names().map(|name| Scheme::named(name).unwrap());
    for scheme in schemes.filter(|scheme| !scheme.chooses_workers()) {
        for workers in [1, 2, 4] {
            within(SOON, move || {
                let (here, most) = (AtomicU64::new(0), AtomicU64::new(0));
                let mut graph = Graph::new();
                let numbers = graph.source(0..100_u64);
                let meet = graph.parallel_sink(|_: u64| {
                    most.fetch_max(here.fetch_add(1, AcqRel) + 1, AcqRel);
                    wait_until(|| most.load(Acquire) >= workers as u64);
                    here.fetch_sub(1, AcqRel);
                });
                graph += numbers >> meet;
                assert_eq!(graph.run(scheme.workers(workers)).unwrap().workers, workers, "{scheme:?}");
                drop(graph);
                assert_eq!(most.load(Acquire), workers as u64, "{scheme:?}");
            });
        }
    }
}

#[test]
fn no_workers_are_one() {
    let mut graph = Graph::new();
    let (numbers, sink) = (graph.source(0..10), graph.sink(|_: i32| ()));
    graph += numbers >> sink;
    assert_eq!(graph.run(Scheme::default().workers(0)).unwrap().workers, 1);
}

#[test]
#[cfg(target_os = "linux")]
fn without_a_number_there_are_as_many_workers_as_cpus_that_may_be_used() {
    within(SOON, || {
        let before = thread::current_affinity().unwrap();
        for mask in [None, before.cpus().last()] {
            mask.map(thread::pin_current).transpose().unwrap();
            let expected = mask.map_or(thread::available_parallelism(), |_| 1);
            for scheme in Scheme::names().map(|name| Scheme::named(name).unwrap()) {
                let mut graph = Graph::new();
                let (numbers, sink) = (graph.source(0..10), graph.sink(|_: i32| ()));
                graph += numbers >> sink;
                let workers = graph.run(scheme).unwrap().workers;
                assert_eq!(workers, if scheme.chooses_workers() { 2 } else { expected }, "{scheme:?} on {mask:?}");
            }
        }
        before.restore().unwrap();
    });
}

/// The CPUs on which the calling thread may run.
#[cfg(target_os = "linux")]
fn cpus() -> Vec<usize> {
    thread::current_affinity().expect("Linux tells").cpus().collect()
}

#[test]
#[cfg(target_os = "linux")]
#[expect(clippy::disallowed_methods, reason = "the threads of the system are counted")]
fn pinned_workers_have_a_core_each_if_there_are_so_many() {
    within(SOON, || {
        let all = cpus();
        for (workers, pinned) in [(all.len(), true), (all.len(), false), (all.len() + 1, true)] {
            let seen = Mutex::new(HashSet::new());
            let mut graph = Graph::new();
            let numbers = graph.source(0..10 * workers);
            let look = graph.parallel_sink(|_: usize| {
                seen.lock().unwrap().insert((std::thread::current().id(), cpus()));
                wait_until(|| seen.lock().unwrap().len() >= workers);
            });
            graph += numbers >> look;
            graph.run(Scheme::named("random").unwrap().workers(workers).pinned(pinned)).unwrap();
            drop(graph);
            assert_eq!(cpus(), all, "the caller of `run` has its CPUs back");
            let mut theirs: Vec<_> = seen.into_inner().unwrap().into_iter().map(|(_, cpus)| cpus).collect();
            theirs.sort_unstable();
            let expected: Vec<_> = if pinned && workers == all.len() {
                all.iter().map(|&cpu| vec![cpu]).collect()
            } else {
                vec![all.clone(); workers]
            };
            assert_eq!(theirs, expected, "{workers} workers, pinned: {pinned}");
        }
    });
}
