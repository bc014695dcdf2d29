//! A kernel with ports that pushes without asking for room waits for it in the middle of its activation, whatever else it has in hand.

use crate::common::{Ledger, SOON, Token, within};
use crate::midway::{ROOM, is_bounded, is_whole, schemes};
use thalweg::prelude::*;
use thalweg::{End, Error};
use thalweg_check::Fuzz;
use thalweg_sync::atomic::{AtomicU64, Ordering::*};
use thalweg_sync::sync::{Arc, Mutex};

/// Makes `each` of each message, at an output chosen by `to`, without a look at the room.
struct Many<F, G> {
    each: u64,
    outputs: usize,
    to: F,
    make: G,
}

impl<T: Send, F: FnMut(u64) -> usize + Send, G: FnMut(u64) -> T + Send> Kernel for Many<F, G> {
    type Ports = (In<u64>, Vec<Out<T>>);

    fn ports(&mut self, bind: &mut Binder<'_>) -> Self::Ports {
        (bind.input("in"), (0..self.outputs).map(|output| bind.output(&format!("out {output}"))).collect())
    }

    fn run(&mut self, (input, outputs): &Self::Ports, io: &mut Io<'_>) -> Result<Flow, BoxError> {
        while let Some(x) = io.pop(*input) {
            for x in self.each * x..self.each * (x + 1) {
                io.push(outputs[(self.to)(x)], (self.make)(x));
            }
        }
        Ok(Flow::More)
    }
}

fn many(each: u64) -> Many<impl FnMut(u64) -> usize + Send, impl FnMut(u64) -> u64 + Send> {
    Many { each, outputs: 1, to: |_| 0, make: |x| x }
}

/// By which port a number leaves.
type Route = fn(u64) -> usize;

fn many_to(each: u64, outputs: usize, to: Route) -> Many<Route, fn(u64) -> u64> {
    Many { each, outputs, to, make: |x| x }
}

#[test]
fn one_message_that_becomes_many_at_a_port_is_held_back() {
    for scheme in schemes() {
        let (seen, report) = within(SOON, move || {
            let mut seen = Vec::new();
            let mut graph = Graph::new();
            let (numbers, out) = graph.add(many(3000));
            let sink = graph.sink(|x: u64| seen.push(x));
            graph += graph.source(0..2_u64) >> numbers;
            graph += out[0].fixed(ROOM) >> sink;
            let report = graph.run(scheme).unwrap();
            drop(graph);
            (seen, report)
        });
        is_bounded(&report, scheme);
        assert!(is_whole(&seen, 2, 3000), "{scheme:?}");
    }
}

/// Nineteen of twenty leave by the first port. A pair of both sides comes of what lies open at the second one while the first one is full: each pair takes a
/// sum of the first.
#[test]
fn what_lies_open_at_another_port_goes_on_meanwhile() {
    for scheme in schemes() {
        let (seen, report) = within(SOON, move || {
            let mut seen = 0_u64;
            let mut graph = Graph::new();
            let (numbers, out) = graph.add(many_to(20_000, 2, |x| usize::from(x % 20 == 0)));
            let sums = graph.window(19, 19, |some: &[u64], out: &mut Output<u64>| out.push(some[0] - 1));
            let pairs = graph.zip(out[0].fixed(ROOM) >> sums.fixed(2), out[1].fixed(ROOM));
            let sink = graph.sink(|(a, b): (u64, u64)| {
                assert_eq!((a, b), (20 * seen, 20 * seen));
                seen += 1;
            });
            graph += graph.source(0..1_u64) >> numbers;
            graph += pairs.fixed(ROOM) >> sink;
            let report = graph.run(scheme).unwrap();
            drop(graph);
            (seen, report)
        });
        is_bounded(&report, scheme);
        assert_eq!(seen, 1000, "{scheme:?}");
    }
}

/// Two ports, full in turns, into sinks of their own: neither holds more than it may, however small a part of a block lies open when the other one is full.
#[test]
fn neither_of_two_ports_holds_more_than_it_may() {
    for scheme in schemes() {
        for to in [|x| (x % 2) as usize, |x| usize::from(x % 33 == 0), |x| usize::from(x % 200 > 99)] as [Route; 3] {
            let (counts, report) = within(SOON, move || {
                let mut graph = Graph::new();
                let (numbers, out) = graph.add(many_to(10_000, 2, to));
                let (first, some) = graph.count();
                let (second, others) = graph.count();
                let slow = graph.map(|x: u64| {
                    crate::common::toil(50);
                    x
                });
                graph += graph.source(0..1_u64) >> numbers;
                graph += out[0].fixed(ROOM) >> first;
                graph += out[1].fixed(ROOM) >> slow.fixed(ROOM) >> second;
                let report = graph.run(scheme).unwrap();
                ((some.take(), others.take()), report)
            });
            is_bounded(&report, scheme);
            assert_eq!(counts.0 + counts.1, 10_000, "{scheme:?}");
        }
    }
}

/// A cycle that holds less than one round makes, by kernels that do not ask for room.
#[test]
fn a_cycle_of_ports_that_is_full_goes_on() {
    for scheme in schemes() {
        let count = within(SOON, move || {
            let mut graph = Graph::new();
            let merge = graph.add(thalweg::operators::Merge::new(2));
            let (input, out) = graph.add(More);
            let less = graph.map(|left: u64| left - 1);
            let (end, count) = graph.count();
            graph += graph.source([2_u64, 2]) >> merge.inputs[0];
            graph += merge.out >> input;
            graph += out[0].fixed(16) >> less.fixed(16).feedback() >> merge.inputs[1];
            graph += out[1].fixed(16) >> end;
            graph.run(scheme).unwrap();
            count.take()
        });
        assert_eq!(count, 2 * 40 * 40, "{scheme:?}");
    }
}

/// Forty of each that has rounds left.
struct More;

impl Kernel for More {
    type Ports = (In<u64>, [Out<u64>; 2]);
    fn ports(&mut self, bind: &mut Binder<'_>) -> Self::Ports {
        (bind.input("in"), [bind.output("again"), bind.output("done")])
    }
    fn run(&mut self, &(input, [again, done]): &Self::Ports, io: &mut Io<'_>) -> Result<Flow, BoxError> {
        while let Some(left) = io.pop(input) {
            match left {
                0 => io.push(done, 0),
                _ => (0..40).for_each(|_| io.push(again, left)),
            }
        }
        Ok(Flow::More)
    }
}

/// What is held back when the taker fails, or the run is cancelled, is dropped once.
#[test]
fn a_failure_or_a_cancel_drops_what_a_port_held_back() {
    for scheme in schemes() {
        for cancels in [false, true] {
            let ledger = Ledger::new(3000);
            let ours = ledger.clone();
            let result = within(SOON, move || {
                let mut graph = Graph::new();
                let stopper = graph.stopper();
                let make = move |x| Token::of(&ours, x);
                let (numbers, out) = graph.add(Many { each: 3000, outputs: 1, to: |_| 0, make });
                let sink = graph.sink(move |token: Token| {
                    if token.value == 500 && cancels {
                        stopper.cancel();
                    }
                    assert!(cancels || token.value < 500, "it was asked to fail");
                });
                graph.name(sink, "taker");
                graph += graph.source(0..1_u64) >> numbers;
                graph += out[0].fixed(ROOM) >> sink;
                graph.run(scheme)
            });
            match result {
                Ok(report) => assert!(cancels && report.end == End::Cancelled, "{scheme:?}"),
                Err(Error::Failed { failures, .. }) => assert!(!cancels && failures[0].kernel == "taker", "{scheme:?}"),
                Err(other) => panic!("{scheme:?}: {other}"),
            }
            ledger.is_settled();
        }
    }
}

#[test]
fn no_port_waits_for_ever_in_any_interleaving() {
    for name in Scheme::names() {
        for workers in [1, 2, 3] {
            Fuzz::new().seeds(0..60).threads(2).stack_bytes(1 << 20).run(|| {
                let seen = Arc::new(Mutex::new(Vec::new()));
                let ours = seen.clone();
                let mut graph = Graph::new();
                let (first, numbers) = graph.add(many(6));
                let (second, both) = graph.add(many_to(6, 2, |x| usize::from(x % 3 == 0)));
                let sink = graph.sink(move |x: u64| ours.lock().unwrap().push(x));
                let (end, others) = graph.count();
                graph += graph.source(0..2_u64) >> first;
                graph += numbers[0].fixed(1) >> second;
                graph += both[0].fixed(1) >> sink;
                graph += both[1].fixed(1) >> end;
                let report = graph.run(Scheme::named(name).unwrap().workers(workers)).unwrap();
                drop(graph);
                assert!(report.edges.iter().all(|edge| edge.peak <= 2), "{name}: {report}");
                assert!(seen.lock().unwrap().iter().copied().eq((0..72).filter(|x| x % 3 > 0)), "{name}");
                assert_eq!(others.take(), 24);
            });
        }
    }
}

/// The second side of each pair lies open while the first one waits.
#[test]
fn both_sides_of_a_pair_come_from_ports_in_any_interleaving() {
    for name in Scheme::names() {
        for workers in [1, 2, 3] {
            Fuzz::new().seeds(0..60).threads(2).stack_bytes(1 << 20).run(|| {
                let count = Arc::new(AtomicU64::new(0));
                let ours = count.clone();
                let mut graph = Graph::new();
                let (input, sides) = graph.add(many_to(12, 2, |x| usize::from(x % 4 == 3)));
                let window = graph.window(3, 3, |some: &[u64], out: &mut Output<u64>| out.push(some[2] + 1));
                let pairs = graph.zip(sides[0].fixed(4) >> window.fixed(1), sides[1].fixed(4));
                let sink = graph.sink(move |(a, b): (u64, u64)| {
                    assert_eq!(a, b);
                    ours.fetch_add(1, Relaxed);
                });
                graph += graph.source(0..2_u64) >> input;
                graph += pairs.fixed(1) >> sink;
                graph.run(Scheme::named(name).unwrap().workers(workers)).unwrap();
                drop(graph);
                assert_eq!(count.load(Relaxed), 6, "{name}");
            });
        }
    }
}
