//! Small graphs under the schedule fuzzer: every interleaving drawn ends, with the right results and nothing lost.
//!
//! Results are compared within the client, so a wrong one is a failure with a seed; a lost wake-up is a deadlock with a trace.

use crate::common::{Ledger, Token};
use thalweg::prelude::*;
use thalweg::{End, Error};
use thalweg_check::Fuzz;
use thalweg_sync::sync::{Arc, Mutex};
use thalweg_sync::thread;
use thalweg_sync::time::Duration;

/// As many as fit in the time; a failing seed is told by the failure.
fn fuzz(seeds: u64) -> Fuzz {
    Fuzz::new().seeds(0..seeds).threads(2).stack_bytes(1 << 20)
}

fn two_workers(name: &str) -> Scheme {
    Scheme::named(name).unwrap().workers(2)
}

/// Three kernels in a row, edges of one message: every hand-over is a wait.
fn row(scheme: Scheme) {
    let mut seen = Vec::new();
    let mut graph = Graph::new();
    let numbers = graph.source(0..6_u64);
    let double = graph.map(|x: u64| x * 2);
    let sink = graph.sink(|x: u64| seen.push(x));
    graph += numbers.fixed(1) >> double.fixed(1) >> sink;
    assert_eq!(graph.run(scheme).unwrap().end, End::Complete);
    drop(graph);
    assert_eq!(seen, [0, 2, 4, 6, 8, 10]);
}

#[test]
fn a_row_under_every_scheme() {
    for name in Scheme::names() {
        fuzz(250).run(|| row(two_workers(name)));
        fuzz(50).run(|| row(two_workers(name).partitioned(true)));
    }
}

#[test]
fn a_message_that_becomes_many_goes_through() {
    for name in ["depth_first", "raft", "pw", "mix"] {
        fuzz(300).run(|| {
            let mut seen = Vec::new();
            let mut graph = Graph::new();
            let numbers = graph.source(0..2_u64);
            // Far more than the edge's queue holds.
            let many = graph.sequential(|x: u64, out: &mut Output<u64>| (0..9).for_each(|i| out.push(9 * x + i)));
            let sink = graph.sink(|x: u64| seen.push(x));
            graph += numbers >> many.fixed(1) >> sink;
            graph.run(two_workers(name)).unwrap();
            drop(graph);
            assert!(seen.iter().copied().eq(0..18), "{name}: {seen:?}");
        });
    }
}

#[test]
fn three_workers_on_a_row_find_no_stall_where_there_is_none() {
    for name in ["depth_first", "qes", "random"] {
        fuzz(400).run(|| row(Scheme::named(name).unwrap().workers(3)));
    }
}

#[test]
fn a_row_with_as_many_workers_as_turn_out_useful() {
    fuzz(500).run(|| row(Scheme::default()));
}

#[test]
fn a_parallel_kernel_keeps_the_order() {
    for name in ["depth_first", "raft", "mix", "qes_pss_prs"] {
        fuzz(500).run(|| {
            let mut seen = Vec::new();
            let mut graph = Graph::new();
            let numbers = graph.source(0..6_u64);
            let spread = graph.parallel(|x: u64, out: &mut Output<u64>| (0..x % 3).for_each(|_| out.push(x)));
            let sink = graph.sink(|x: u64| seen.push(x));
            graph += numbers.fixed(2) >> (spread * 2).fixed(1) >> sink;
            graph.run(two_workers(name)).unwrap();
            drop(graph);
            assert_eq!(seen, [1, 2, 2, 4, 5, 5], "{name}");
        });
    }
}

#[test]
fn an_unordered_parallel_kernel_loses_nothing() {
    for name in ["depth_first", "qes_pss_prs", "mix_dyn"] {
        fuzz(500).run(|| {
            let mut seen = Vec::new();
            let mut graph = Graph::new();
            let numbers = graph.source(0..5_u64);
            let (pass, again) = (graph.parallel_map(|x: u64| x), graph.parallel_map(|x: u64| x));
            let sink = graph.sink(|x: u64| seen.push(x));
            graph += numbers.fixed(2) >> pass.unordered().fixed(1) >> again.unordered() >> sink;
            graph.run(Scheme::named(name).unwrap().workers(3)).unwrap();
            drop(graph);
            seen.sort_unstable();
            assert_eq!(seen, [0, 1, 2, 3, 4], "{name}");
        });
    }
}

/// Sends each message round as often as it says.
struct Laps;

#[derive(Clone)]
struct LapsPorts {
    fresh: In<u64>,
    again: In<u64>,
    round: Out<u64>,
    done: Out<u64>,
}

impl Kernel for Laps {
    type Ports = LapsPorts;
    fn ports(&mut self, bind: &mut Binder<'_>) -> LapsPorts {
        LapsPorts {
            fresh: bind.input("fresh"),
            again: bind.input("again"),
            round: bind.output("round"),
            done: bind.output("done"),
        }
    }
    fn run(&mut self, ports: &LapsPorts, io: &mut Io<'_>) -> Result<Flow, BoxError> {
        while let Some(x) = io.pop(ports.again).or_else(|| io.pop(ports.fresh)) {
            match x % 10 {
                0 => io.push(ports.done, x / 10),
                _ => io.push(ports.round, x - 1),
            }
        }
        Ok(Flow::More)
    }
}

#[test]
fn a_cycle_ends_when_it_is_empty() {
    for name in ["depth_first", "raft", "pw", "mix"] {
        fuzz(300).run(|| {
            let mut seen = Vec::new();
            let mut graph = Graph::new();
            // The last digit says how many laps are left.
            let numbers = graph.source([12, 20, 31_u64]);
            let laps = graph.add(Laps);
            let pass = graph.parallel_map(|x: u64| x);
            let sink = graph.sink(|x: u64| seen.push(x));
            graph += numbers.fixed(1) >> laps.fresh;
            graph += laps.round >> pass.feedback() >> laps.again;
            graph += laps.done >> sink;
            graph.run(two_workers(name)).unwrap();
            drop(graph);
            seen.sort_unstable();
            assert_eq!(seen, [1, 2, 3], "{name}");
        });
    }
}

#[test]
fn an_inlet_and_its_pushers_wake_each_other() {
    for name in ["depth_first", "raft", "pw", "one_shot"] {
        fuzz(500).run(|| {
            let mut seen = Vec::new();
            let mut graph = Graph::new();
            let (source, inlet) = graph.inlet::<u64>(2).unwrap();
            // Time is virtual: who sleeps lets everybody else come to rest first.
            let sink = graph.sink(|x: u64| {
                thread::sleep(Duration::from_micros(if x < 10 { 50 } else { 0 }));
                seen.push(x);
            });
            graph += source.fixed(1) >> sink;
            let other = inlet.clone();
            thread::scope(|scope| {
                scope.spawn(move || (0..4).for_each(|x| inlet.push(x).unwrap()));
                scope.spawn(move || {
                    (10..13).for_each(|x| {
                        thread::sleep(Duration::from_micros(300));
                        other.push(x).unwrap();
                    });
                });
                graph.run(two_workers(name)).unwrap();
            });
            drop(graph);
            assert!(seen.iter().filter(|&&x| x < 10).copied().eq(0..4), "{seen:?}");
            assert!(seen.iter().filter(|&&x| x >= 10).copied().eq(10..13), "{seen:?}");
        });
    }
}

/// Pushers are joined before the graph is dropped, so one that sleeps after the run is a deadlock.
#[test]
fn pushers_and_the_end_of_a_run_meet_at_any_point() {
    for (name, cancels) in [("depth_first", true), ("depth_first", false), ("raft", true), ("raft", false)] {
        fuzz(400).steps(3_000_000).run(|| {
            let ledger = Ledger::new(100);
            let mut graph = Graph::new();
            let (source, inlet) = graph.inlet(1).unwrap();
            let sink = graph.sink(drop::<Token>);
            graph += source.fixed(1) >> sink;
            let (stopper, other) = (graph.stopper(), inlet.clone());
            thread::scope(|scope| {
                let push = |inlet: thalweg::Inlet<Token>| (0..4).all(|x| inlet.push(Token::of(&ledger, x)).is_ok());
                scope.spawn(move || push(inlet));
                scope.spawn(move || push(other));
                scope.spawn(move || if cancels { stopper.cancel() } else { stopper.stop() });
                graph.run(two_workers(name)).unwrap();
            });
            graph.reopen();
            graph.run(two_workers(name)).unwrap();
            drop(graph);
            ledger.is_settled();
        });
    }
}

/// The thread of the iterator comes home, or goes on, wherever the next run finds it. There is one run only that it may not miss, so a miss
/// is a run that does not end.
#[test]
fn a_blocking_source_is_stopped_at_any_point_and_goes_on() {
    fuzz(1500).run(|| {
        let mut seen = Vec::new();
        let mut graph = Graph::new();
        let numbers = graph.source_blocking(0..4_u64, 1).unwrap();
        let sink = graph.sink(|x: u64| seen.push(x));
        graph += numbers >> sink;
        let stopper = graph.stopper();
        thread::scope(|scope| {
            scope.spawn(move || stopper.stop());
            graph.run(Scheme::default().workers(1)).unwrap();
        });
        // A wish that came too late for the first run is the second one's.
        while graph.run(Scheme::default().workers(1)).unwrap().end != End::Complete {}
        drop(graph);
        assert!(seen.iter().copied().eq(0..4), "{seen:?}");
    });
}

#[test]
fn stopping_and_cancelling_end_a_run_at_any_point() {
    for (name, cancels) in [("depth_first", true), ("depth_first", false), ("raft", true), ("raft", false)] {
        fuzz(300).steps(3_000_000).run(|| {
            let ledger = Ledger::new(20_000);
            let seen = Mutex::new(0);
            let mut graph = Graph::new();
            let numbers = graph.source((0..).map(|x| Token::of(&ledger, x)));
            let pass = graph.parallel_map(|token: Token| token);
            let sink = graph.sink(|_: Token| *seen.lock().unwrap() += 1);
            graph += numbers.fixed(2) >> pass.fixed(2) >> sink;
            let stopper = graph.stopper();
            let report = thread::scope(|scope| {
                scope.spawn(move || if cancels { stopper.cancel() } else { stopper.stop() });
                graph.run(two_workers(name)).unwrap()
            });
            assert_eq!(report.end, if cancels { End::Cancelled } else { End::Stopped });
            if !cancels {
                assert_eq!(report.kernels[0].messages_out, *seen.lock().unwrap());
            }
            drop(graph);
            ledger.is_settled();
        });
    }
}

#[test]
fn a_failure_ends_a_run_at_any_point() {
    for name in ["depth_first", "raft", "mix"] {
        fuzz(300).run(|| {
            let ledger = Ledger::new(100);
            let mut graph = Graph::new();
            let numbers = graph.source((0..8).map(|x| Token::of(&ledger, x)));
            let check = graph.parallel(|token: Token, out: &mut Output<Token>| {
                if token.value == 3 {
                    return Err("three");
                }
                out.push(token);
                Ok(())
            });
            let sink = graph.sink(drop::<Token>);
            graph += numbers.fixed(2) >> check.fixed(2) >> sink;
            let Err(Error::Failed { failures, .. }) = graph.run(two_workers(name)) else {
                panic!("{name} did not fail")
            };
            assert_eq!(failures.len(), 1);
            drop(graph);
            ledger.is_settled();
        });
    }
}

#[test]
fn a_stall_is_found_and_only_where_there_is_one() {
    for name in ["depth_first", "raft", "random"] {
        fuzz(300).run(|| {
            let mut graph = Graph::new();
            let numbers = graph.source([11, 20, 31_u64]);
            let laps = graph.add(Laps);
            let sink = graph.sink(drop::<u64>);
            let never = graph.source([5_u64]);
            graph += numbers >> laps.fresh;
            graph += never >> laps.again;
            graph += laps.done >> sink;
            let rest = Arc::new(Mutex::new(0));
            let theirs = rest.clone();
            let collect = graph.add(Refuses(theirs));
            graph += laps.round >> collect;
            let error = graph.run(two_workers(name)).unwrap_err();
            assert!(matches!(error, Error::Stalled { .. }), "{error}");
            assert!(error.to_string().contains("takes none"), "{error}");
            assert!(*rest.lock().unwrap() > 0, "it was asked");
        });
    }
}

/// Never takes anything.
struct Refuses(Arc<Mutex<u32>>);

impl Kernel for Refuses {
    type Ports = In<u64>;
    fn ports(&mut self, bind: &mut Binder<'_>) -> In<u64> {
        bind.input("in")
    }
    fn run(&mut self, port: &In<u64>, io: &mut Io<'_>) -> Result<Flow, BoxError> {
        io.has(*port, 1);
        *self.0.lock().unwrap() += 1;
        Ok(Flow::More)
    }
}

/// Somebody takes workers away and gives them back while a run goes on: what was at work comes back, what sat gets up, and nothing is lost.
#[test]
fn an_allowance_that_changes_while_it_runs_loses_nothing() {
    for name in Scheme::names() {
        fuzz(150).threads(3).run(|| {
            let mut seen = Vec::new();
            let mut graph = Graph::new();
            let numbers = graph.source(0..6_u64);
            let spread = graph.parallel_map(|x: u64| x + 1);
            let sink = graph.sink(|x: u64| seen.push(x));
            graph += numbers.fixed(2) >> spread.fixed(1) >> sink;
            let allowance = graph.allowance();
            let other = thread::spawn(move || [1, 3, 1, 2].into_iter().for_each(|workers| allowance.allow(workers)));
            // `raft` has a thread for each kernel, whatever it is asked.
            let scheme = Scheme::named(name).unwrap();
            assert_eq!(graph.run(scheme.workers(3)).unwrap().end, End::Complete, "{name}");
            other.join().unwrap();
            drop(graph);
            assert_eq!(seen, [1, 2, 3, 4, 5, 6], "{name}");
        });
    }
}

/// A wish comes while all workers but the first sit on the bench, or are about to: the run ends.
#[test]
fn a_wish_is_seen_while_workers_sit() {
    for cancel in [false, true] {
        fuzz(400).threads(3).run(|| {
            let mut graph = Graph::new();
            let forever = graph.source(0_u64..);
            let pass = graph.parallel_map(|x: u64| x);
            graph += forever.fixed(2) >> pass.fixed(1) >> graph.sink(drop::<u64>);
            let (allowance, stopper) = (graph.allowance(), graph.stopper());
            let other = thread::spawn(move || {
                allowance.allow(1);
                if cancel {
                    stopper.cancel()
                } else {
                    stopper.stop()
                }
                allowance.allow(2);
            });
            let end = graph.run(Scheme::named("depth_first").unwrap().workers(3)).unwrap().end;
            assert_eq!(end, if cancel { End::Cancelled } else { End::Stopped });
            other.join().unwrap();
        });
    }
}
