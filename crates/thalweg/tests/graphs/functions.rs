//! Kernels that are functions: they run beside the workers, wait at their ports, and their ends and failures are the run's.

use crate::common::{Crew, Ledger, SOON, Token, within};
use thalweg::prelude::*;
use thalweg::{Cause, Closed, End, Error, TaskBody};
use thalweg_check::Fuzz;
use thalweg_sync::atomic::{AtomicUsize, Ordering::*};
use thalweg_sync::sync::{Arc, Mutex};
use thalweg_sync::thread;

/// Adds each pair, and gives the larger ones to another port.
fn pairs((left, right, sum, larger): (Outlet<u64>, Outlet<u64>, Inlet<u64>, Inlet<u64>)) -> Result<(), Closed<u64>> {
    while let (Ok(a), Ok(b)) = (left.pop(), right.pop()) {
        sum.push(a + b)?;
        larger.push(a.max(b))?;
    }
    Ok(())
}

fn with_pairs(scheme: Scheme, count: u64, capacity: usize) {
    let mut graph = Graph::new();
    let (left, right, sum, larger) = graph.task(capacity, pairs).unwrap();
    let (sums, all_sums) = graph.collect();
    let (ends, all_larger) = graph.collect();
    graph += graph.source(0..count) >> graph.parallel_map(|x: u64| x * 3) >> left;
    graph += graph.source((0..count).rev()) >> right;
    graph += sum >> sums;
    graph += larger >> graph.map(|x: u64| x + 1) >> ends;
    assert_eq!(graph.run(scheme).unwrap().end, End::Complete);
    let expected = (0..count).map(|x| (3 * x, count - 1 - x));
    assert!(all_sums.take().into_iter().eq(expected.clone().map(|(a, b)| a + b)));
    assert!(all_larger.take().into_iter().eq(expected.map(|(a, b)| a.max(b) + 1)));
}

#[test]
fn a_function_with_four_ports_is_a_kernel_under_every_scheme() {
    for (index, name) in Scheme::names().enumerate() {
        for capacity in [1, 64] {
            let scheme = Scheme::named(name).unwrap().workers(index % 3 + 1);
            println!("{scheme:?} {capacity}");
            let crew = Crew::gather();
            // A port of one is a switch of threads for each message.
            let count = if capacity == 1 { 200 } else { 2000 };
            within(SOON, move || with_pairs(scheme, count, capacity));
            crew.shrinks_to(1);
        }
    }
}

#[test]
fn a_function_is_a_kernel_in_every_schedule() {
    for name in ["depth_first", "raft", "mix"] {
        let fuzz = Fuzz::new().seeds(0..200).threads(2).stack_bytes(1 << 20);
        fuzz.run(|| with_pairs(Scheme::named(name).unwrap().workers(2), 3, 1));
    }
}

#[test]
fn an_array_has_so_many_ports() {
    let mut graph = Graph::new();
    let (to, [even, odd]) = graph
        .task(8, |(input, outputs): (Outlet<usize>, [Inlet<usize>; 2])| {
            input.iter().try_for_each(|x| outputs[x % 2].push(x))
        })
        .unwrap();
    let (ends, counts): (Vec<_>, Vec<_>) = (0..2).map(|_| graph.count()).unzip();
    graph += graph.source(0..101) >> to;
    for (from, end) in [even, odd].into_iter().zip(ends) {
        graph += from >> end;
    }
    within(SOON, move || {
        graph.run(Scheme::default()).unwrap();
        assert_eq!(counts.iter().map(|count| count.take()).collect::<Vec<_>>(), [51, 50]);
    });
}

/// One message becomes a million, and no more than the ports and the edge hold wait.
#[test]
fn a_push_waits_for_room() {
    let mut graph = Graph::new();
    let (given, taken) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let most = Arc::new(AtomicUsize::new(0));
    let (to, from) = graph
        .task(16, {
            let (given, taken, most) = (given.clone(), taken.clone(), most.clone());
            move |(input, output): (Outlet<usize>, Inlet<usize>)| {
                for count in input.iter() {
                    for x in 0..count {
                        output.push(x)?;
                        let waiting = (given.fetch_add(1, Relaxed) + 1).saturating_sub(taken.load(Relaxed));
                        most.fetch_max(waiting, Relaxed);
                    }
                }
                Ok::<(), Closed<usize>>(())
            }
        })
        .unwrap();
    let count = taken.clone();
    graph += graph.source([100_000]) >> to;
    graph += from.fixed(64) >> graph.sink(move |_: usize| _ = count.fetch_add(1, Relaxed));
    within(SOON, move || graph.run(Scheme::default()).unwrap());
    assert_eq!(taken.load(Relaxed), 100_000);
    let most = most.load(Relaxed);
    assert!(most <= 256, "{most} messages were on their way");
}

#[test]
fn the_run_is_over_when_the_function_has_returned() {
    for name in Scheme::names() {
        let mut graph = Graph::new();
        let done = Arc::new(Mutex::new(false));
        let flag = done.clone();
        let to = graph
            .task(1000, move |input: Outlet<u64>| {
                while input.pop().is_ok() {}
                for _ in 0..100 {
                    thread::yield_now();
                }
                *flag.lock().unwrap() = true;
            })
            .unwrap();
        graph += graph.source(0..10) >> to;
        within(SOON, move || graph.run(Scheme::named(name).unwrap()).unwrap());
        assert!(*done.lock().unwrap(), "{name}");
    }
}

fn failing(how: fn() -> Result<(), &'static str>) -> Error {
    let ledger = Ledger::new(1 << 22);
    let made = ledger.clone();
    let error = within(SOON, move || {
        let mut graph = Graph::new();
        let (to, from) = graph
            .task(16, move |(input, output): (Outlet<Token>, Inlet<Token>)| {
                for token in input.iter().take(100) {
                    output.push(token).map_err(|_| "closed")?;
                }
                how()
            })
            .unwrap();
        graph.name(to, "fragile");
        // Neither of them would end by itself.
        graph += graph.source((0..).map(move |x| Token::of(&made, x))) >> to;
        graph += graph.source(0..) >> graph.sink(|_: u64| ());
        graph += from >> graph.sink(drop::<Token>);
        graph.run(Scheme::default().workers(2)).unwrap_err()
    });
    ledger.is_settled();
    error
}

#[test]
fn a_function_that_fails_fails_the_run_by_name() {
    let error = failing(|| Err("it broke"));
    let Error::Failed { failures, report } = &error else { panic!("{error}") };
    assert_eq!(report.end, End::Cancelled);
    assert_eq!(failures[0].kernel, "fragile");
    assert!(matches!(&failures[0].cause, Cause::Error(error) if error.to_string() == "it broke"), "{error:#}");
    assert_eq!(failures.len(), 1, "{error:#}");

    let error = failing(|| panic!("it fell"));
    let Error::Failed { failures, .. } = &error else { panic!("{error}") };
    assert_eq!(failures[0].kernel, "fragile");
    assert!(matches!(&failures[0].cause, Cause::Panic(text) if text == "it fell"), "{error:#}");
}

#[test]
fn who_drops_a_function_fails_the_run() {
    within(SOON, || {
        let mut graph = Graph::new();
        let (to, from) = graph
            .task_on(drop::<TaskBody>, 16, |(input, output): (Outlet<u64>, Inlet<u64>)| {
                input.iter().for_each(|x| output.push(x).unwrap());
            })
            .unwrap();
        graph += graph.source(0..) >> to;
        graph += from >> graph.sink(|_: u64| ());
        let error = graph.run(Scheme::default()).unwrap_err();
        assert!(format!("{error:#}").contains("TaskBody::run"), "{error:#}");
    });
}

#[test]
fn a_graph_with_a_function_runs_once() {
    let mut graph = Graph::new();
    let to = graph.task(16, |input: Outlet<u64>| assert_eq!(input.iter().count(), 10)).unwrap();
    graph.name(to, "count");
    let missing = graph.sink(|_: u64| ());
    graph += graph.source(0..10) >> to;
    // The first attempt is refused before anything begins.
    let Err(Error::Refused(refusals)) = graph.run(Scheme::default()) else { panic!("a sink has no input") };
    assert_eq!(refusals.len(), 1);
    graph += graph.source(0..10) >> missing;
    within(SOON, move || {
        assert_eq!(graph.run(Scheme::default()).unwrap().end, End::Complete);
        let Err(Error::Refused(refusals)) = graph.run(Scheme::default()) else { panic!("it is called once") };
        assert!(refusals[0].kernel.starts_with("count ("), "{refusals:?}");
        assert!(refusals[0].reason.contains("make the graph anew"), "{refusals:?}");
    });
}

#[test]
fn stopping_ends_what_it_asks_for() {
    within(SOON, || {
        let mut graph = Graph::new();
        let seen = Arc::new(AtomicUsize::new(0));
        let count = seen.clone();
        let stopper = graph.stopper();
        let to = graph
            .task(16, move |input: Outlet<u64>| {
                for x in input.iter() {
                    count.fetch_add(1, Relaxed);
                    if x == 500 {
                        stopper.stop();
                    }
                }
            })
            .unwrap();
        graph += graph.source(0..) >> to;
        let report = graph.run(Scheme::default()).unwrap();
        assert_eq!((report.end, report.dropped), (End::Stopped, 0));
        assert_eq!(report.edges[0].messages as usize, seen.load(Relaxed), "what was given was taken");
    });
}
