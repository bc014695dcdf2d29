//! A parallel kernel that makes many messages of one waits in the middle of an activation: who is at the front for room, the others for their turn. So what
//! waits is bounded, the order is kept, and nobody waits for what cannot come.

use crate::common::{Ledger, SOON, Token, toil, within};
use crate::midway::{ROOM, is_whole, schemes};
use thalweg::prelude::*;
use thalweg::{End, Report};
use thalweg_check::Fuzz;
use thalweg_sync::sync::{Arc, Mutex};
use thalweg_sync::thread;
use thalweg_sync::time::Duration;

/// What an edge behind a parallel kernel holds at most: its room, and for each worker as much again and a block.
fn most(workers: u64) -> u64 {
    let room = ROOM as u64;
    room + workers * (room + room / 2)
}

#[track_caller]
fn is_bounded(report: &Report, scheme: Scheme) {
    for edge in &report.edges {
        let most = most(report.workers as u64);
        assert!(edge.peak <= most, "{scheme:?}: {} messages on {} -> {}", edge.peak, edge.from, edge.to);
    }
    assert_eq!(report.end, End::Complete, "{scheme:?}");
}

const EACH: u64 = 2000;

#[derive(Clone, Copy, Debug)]
enum Form {
    Closure,
    WithState,
    Window,
    Ports,
}

/// Makes [`EACH`] of one, as a kernel with ports.
struct Many;

impl ParallelKernel for Many {
    type Ports = (In<u64>, Out<u64>);
    fn ports(&mut self, bind: &mut Binder<'_>) -> Self::Ports {
        (bind.input_of("in", 1), bind.output("out"))
    }
    fn fire(&self, &(input, output): &Self::Ports, firing: &mut Firing<'_>) -> Result<(), BoxError> {
        let x = firing.slice(input)[0];
        (0..EACH).for_each(|i| firing.push(output, EACH * x + i));
        Ok(())
    }
}

#[test]
fn what_each_makes_of_a_message_is_held_back_and_in_order() {
    for scheme in schemes() {
        for form in [Form::Closure, Form::WithState, Form::Window, Form::Ports] {
            let (seen, report) = within(SOON, move || {
                let mut seen = Vec::new();
                let mut graph = Graph::new();
                let source = graph.source(0..6_u64).fixed(2);
                let many = |x: u64, out: &mut Output<u64>| (0..EACH).for_each(|i| out.push(EACH * x + i));
                let sink = graph.sink(|x: u64| {
                    if x.is_multiple_of(64) {
                        toil(10);
                    }
                    seen.push(x);
                });
                match form {
                    Form::Closure => graph += source >> graph.parallel(many).fixed(ROOM) >> sink,
                    Form::WithState => {
                        let kernel =
                            graph.parallel_with(|| (), move |_: &mut (), x, out: &mut Output<u64>| many(x, out));
                        graph += source >> kernel.fixed(ROOM) >> sink;
                    }
                    Form::Window => {
                        let window =
                            graph.parallel_window(1, 1, move |x: &[u64], out: &mut Output<u64>| many(x[0], out));
                        graph += source >> window.fixed(ROOM) >> sink;
                    }
                    Form::Ports => {
                        let (input, output) = graph.add_parallel(Many);
                        graph += source >> input;
                        graph += output.fixed(ROOM) >> sink;
                    }
                }
                let report = graph.run(scheme).unwrap();
                drop(graph);
                (seen, report)
            });
            is_bounded(&report, scheme);
            assert!(is_whole(&seen, 6, EACH), "{scheme:?}, {form:?}");
        }
    }
}

#[test]
fn without_an_order_it_is_held_back_too() {
    for scheme in schemes() {
        let (mut seen, report) = within(SOON, move || {
            let mut seen = Vec::new();
            let mut graph = Graph::new();
            let many = graph.parallel(|x: u64, out: &mut Output<u64>| (0..EACH).for_each(|i| out.push(EACH * x + i)));
            let sink = graph.sink(|x: u64| seen.push(x));
            graph += graph.source(0..6_u64).fixed(2) >> many.fixed(ROOM).unordered() >> sink;
            let report = graph.run(scheme).unwrap();
            drop(graph);
            (seen, report)
        });
        is_bounded(&report, scheme);
        seen.sort_unstable();
        assert!(is_whole(&seen, 6, EACH), "{scheme:?}");
    }
}

/// Gives [`EACH`] to one output, and then one to the other.
struct Uneven;

impl ParallelKernel for Uneven {
    type Ports = (In<u64>, Out<u64>, Out<u64>);
    fn ports(&mut self, bind: &mut Binder<'_>) -> Self::Ports {
        (bind.input_of("in", 1), bind.output("many"), bind.output("one"))
    }
    fn fire(&self, &(input, many, one): &Self::Ports, firing: &mut Firing<'_>) -> Result<(), BoxError> {
        let x = firing.slice(input)[0];
        (0..EACH).for_each(|i| firing.push(many, EACH * x + i));
        firing.push(one, x);
        Ok(())
    }
}

/// Takes one of the one input, and then [`EACH`] of the other.
struct Last {
    left: u64,
}

impl Kernel for Last {
    type Ports = (In<u64>, In<u64>, Out<u64>);
    fn ports(&mut self, bind: &mut Binder<'_>) -> Self::Ports {
        (bind.input("many"), bind.input("one"), bind.output("out"))
    }
    fn run(&mut self, &(many, one, out): &Self::Ports, io: &mut Io<'_>) -> Result<Flow, BoxError> {
        loop {
            if self.left > 0 {
                let Some(x) = io.pop(many) else { break };
                io.push(out, x);
                self.left -= 1;
            } else if io.pop(one).is_some() {
                self.left = EACH;
            } else {
                break;
            }
        }
        Ok(Flow::More)
    }
}

/// Who takes it needs first what the firing gives last, while that waits for room: it is let go, and nothing is lost, doubled or out of order.
#[test]
fn a_firing_whose_taker_needs_its_other_output_does_not_wait_in_vain() {
    for scheme in schemes() {
        let seen = within(SOON, move || {
            let mut seen = Vec::new();
            let mut graph = Graph::new();
            let (input, many, one) = graph.add_parallel(Uneven);
            let (all, first, out) = graph.add(Last { left: 0 });
            graph += graph.source(0..6_u64).fixed(2) >> input;
            graph += many.fixed(ROOM) >> all;
            graph += one.fixed(ROOM) >> first;
            graph += out.fixed(ROOM) >> graph.sink(|x: u64| seen.push(x));
            let end = graph.run(scheme).unwrap_or_else(|error| panic!("{scheme:?}: {error}")).end;
            assert_eq!(end, End::Complete);
            drop(graph);
            seen
        });
        assert!(is_whole(&seen, 6, EACH), "{scheme:?}");
    }
}

/// One behind the other, and the last one behind a sink that is slow: all of them wait, within each other on few workers.
#[test]
fn one_behind_the_other_each_is_held_back() {
    for scheme in schemes() {
        let (seen, report) = within(SOON, move || {
            let mut seen = Vec::new();
            let mut graph = Graph::new();
            let many = || |x: u64, out: &mut Output<u64>| (0..100).for_each(|i| out.push(100 * x + i));
            let (first, second) = (graph.parallel(many()), graph.parallel(many()));
            let sink = graph.sink(|x: u64| seen.push(x));
            graph += graph.source(0..3_u64) >> first.fixed(ROOM) >> second.fixed(ROOM) >> sink;
            let report = graph.run(scheme).unwrap();
            drop(graph);
            (seen, report)
        });
        assert_eq!(report.end, End::Complete);
        assert!(is_whole(&seen, 300, 100), "{scheme:?}");
    }
}

/// Beside a source that never ends no worker is the last to fall asleep: the patrol finds the kernel that waits in vain.
#[test]
fn who_waits_in_vain_goes_on_beside_work_that_goes_on() {
    for scheme in schemes() {
        let seen = within(SOON, move || {
            let mut seen = 0;
            let mut graph = Graph::new();
            let stopper = graph.stopper();
            let copies = graph.broadcast(graph.source(0..4_u64), 2);
            let many = graph.parallel(|_: u64, out: &mut Output<u64>| (0..100).for_each(|x| out.push(x)));
            let other = graph.parallel(|_: u64, out: &mut Output<u64>| (0..100).for_each(|x| out.push(x)));
            // All of it comes at the end.
            let late = graph.sequential_with(
                Vec::new(),
                |all: &mut Vec<u64>, x, _out: &mut thalweg::operators::Emit<'_, '_, u64>| all.push(x),
                |all, out| out.extend(all.drain(..)),
            );
            let late = copies[1].fixed(2) >> other.fixed(8) >> late.fixed(8);
            let pairs = graph.zip(copies[0] >> many.fixed(8), late);
            let count = &mut seen;
            let sink = graph.sink(move |_: (u64, u64)| {
                *count += 1;
                if *count == 400 {
                    stopper.stop();
                }
            });
            graph += pairs.fixed(8) >> sink;
            let endless = graph.sink(|_: u64| ());
            graph += graph.source(0_u64..) >> endless;
            graph.run(scheme).unwrap();
            drop(graph);
            seen
        });
        assert_eq!(seen, 400, "{scheme:?}");
    }
}

/// A block that takes too long is cut, after some of its results have left.
#[test]
fn who_has_handed_on_some_leaves_the_rest_to_others_in_order() {
    for ordered in [true, false] {
        let (mut seen, _) = within(SOON, move || {
            let mut seen = Vec::new();
            let mut graph = Graph::new();
            let many = graph.parallel(|x: u64, out: &mut Output<u64>| {
                thread::sleep(Duration::from_micros(300));
                (0..100).for_each(|i| out.push(100 * x + i));
            });
            let sink = graph.sink(|x: u64| seen.push(x));
            let many = many.fixed(8);
            graph += graph.source(0..300_u64) >> if ordered { many } else { many.unordered() } >> sink;
            let report = graph.run(Scheme::default().workers(3)).unwrap();
            drop(graph);
            (seen, report)
        });
        if !ordered {
            seen.sort_unstable();
        }
        assert!(is_whole(&seen, 300, 100), "ordered: {ordered}");
    }
}

/// Few kernels with less room, in any interleaving: the order, the bound, and the end.
#[test]
fn nobody_waits_for_ever_for_a_turn_in_any_interleaving() {
    for name in Scheme::names() {
        for (workers, ordered) in [(1, true), (2, true), (3, true), (3, false)] {
            Fuzz::new().seeds(0..60).threads(2).stack_bytes(1 << 20).run(|| {
                let seen = Arc::new(Mutex::new(Vec::new()));
                let ours = seen.clone();
                let mut graph = Graph::new();
                let many = || |x: u64, out: &mut Output<u64>| (0..6).for_each(|i| out.push(6 * x + i));
                let (first, second) = (graph.parallel(many()).fixed(1), graph.parallel(many()).fixed(1));
                let sink = graph.sink(move |x: u64| ours.lock().unwrap().push(x));
                let first = if ordered { first } else { first.unordered() };
                let second = if ordered { second } else { second.unordered() };
                graph += graph.source(0..2_u64).fixed(1) >> first >> second >> sink;
                let report = graph.run(Scheme::named(name).unwrap().workers(workers)).unwrap();
                drop(graph);
                assert_eq!(report.end, End::Complete, "{name}");
                let mut seen = seen.lock().unwrap();
                if !ordered {
                    seen.sort_unstable();
                }
                assert!(is_whole(&seen, 12, 6), "{name}: {seen:?}");
            });
        }
    }
}

/// A failure or a cancel while some wait for their turn: nothing is lost or dropped twice, and nobody stays.
#[test]
fn a_failure_or_a_cancel_reaches_who_waits_for_a_turn() {
    for name in ["depth_first", "raft", "pw", "mix", "one_shot"] {
        for cancels in [false, true] {
            Fuzz::new().seeds(0..100).threads(2).stack_bytes(1 << 20).run(|| {
                let ledger = Ledger::new(48);
                let mut graph = Graph::new();
                let (stopper, theirs) = (graph.stopper(), ledger.clone());
                let many = graph.parallel(move |x: u64, out: &mut Output<Token>| {
                    (0..12).for_each(|i| out.push(Token::of(&theirs, 12 * x + i)));
                });
                let sink = graph.sink(move |token: Token| {
                    if token.value == 3 {
                        stopper.cancel();
                    }
                    if token.value == 3 && !cancels { Err("it was asked to fail") } else { Ok(()) }
                });
                graph += graph.source(0..4_u64).fixed(1) >> many.fixed(1) >> sink;
                let result = graph.run(Scheme::named(name).unwrap().workers(3));
                drop(graph);
                assert_eq!(result.is_ok(), cancels, "{name}: {result:?}");
                ledger.is_settled();
            });
        }
    }
}
