//! Messages whose destructors panic when a run that failed, was cancelled or could not go on drops them: each is dropped once, and each panic is told.

use crate::common::{Ledger, SOON, Token, within};
use thalweg::prelude::*;
use thalweg::{Cause, End, Error, Failure};
use thalweg_sync::atomic::{AtomicBool, AtomicUsize, Ordering::*};
use thalweg_sync::sync::Arc;

const COUNT: u64 = 300;
/// The message at which a kernel panics.
const UNLUCKY: u64 = 100;

/// Whether charges go off, and how many have.
#[derive(Default)]
struct Fuse {
    live: AtomicBool,
    blasts: AtomicUsize,
}

/// Panics when it is dropped once the fuse is live, unless somebody saw to it.
#[derive(Clone)]
struct Charge {
    token: Token,
    fuse: Arc<Fuse>,
    safe: bool,
}

impl Charge {
    /// What a kernel that panics at the unlucky message does with its own.
    fn check(&mut self) {
        self.safe = true;
        if self.token.value == UNLUCKY {
            self.fuse.live.store(true, Release);
            panic!("unlucky");
        }
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        if !self.safe && self.fuse.live.load(Acquire) {
            self.fuse.blasts.fetch_add(1, AcqRel);
            panic!("boom");
        }
    }
}

/// Charges for a graph, and what there is to know of them afterwards.
#[derive(Clone)]
struct Charges(Arc<Ledger>, Arc<Fuse>);

impl Charges {
    fn new() -> Self {
        Self(Ledger::new(8 * COUNT as usize), Arc::default())
    }

    fn give(&self, count: u64) -> impl Iterator<Item = Charge> + Send + 'static {
        let Self(ledger, fuse) = self.clone();
        (0..count).map(move |x| Charge { token: Token::of(&ledger, x), fuse: fuse.clone(), safe: false })
    }

    /// Every charge was dropped once, and of those that went off each is one of the failures. Gives the other ones.
    fn other_failures(&self, error: &Error, least: usize) -> Vec<(String, String)> {
        let Error::Failed { failures, .. } = error else { panic!("{error}") };
        let went_off = |failure: &&Failure| matches!(&failure.cause, Cause::Panic(text) if text == "boom");
        let told = failures.iter().filter(went_off).count();
        assert_eq!(told, self.1.blasts.load(Acquire), "{error}");
        assert!(told >= least, "{told} went off");
        self.0.is_settled();
        let others = failures.iter().filter(|failure| !went_off(failure));
        others
            .map(|failure| match &failure.cause {
                Cause::Panic(text) => (failure.kernel.clone(), text.clone()),
                Cause::Error(error) => (failure.kernel.clone(), error.to_string()),
                other => panic!("{other:?}"),
            })
            .collect()
    }
}

/// Passes charges on, and panics.
struct Ported;

impl Kernel for Ported {
    type Ports = (In<Charge>, Out<Charge>);
    fn ports(&mut self, bind: &mut Binder<'_>) -> Self::Ports {
        (bind.input("in"), bind.output("out"))
    }
    fn run(&mut self, &(input, output): &Self::Ports, io: &mut Io<'_>) -> Result<Flow, BoxError> {
        // Many are in hand.
        while io.has(input, 60) {
            for _ in 0..60 {
                let Some(mut charge) = io.pop(input) else { break };
                charge.check();
                charge.safe = false;
                io.push(output, charge);
            }
        }
        Ok(Flow::More)
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Sink,
    ParallelSink,
    Sequential,
    Parallel,
    Window,
    ParallelWindow,
    /// Rewrites messages where they are.
    Update,
    Map,
    Ported,
}

const KINDS: [Kind; 9] = [
    Kind::Sink,
    Kind::ParallelSink,
    Kind::Sequential,
    Kind::Parallel,
    Kind::Window,
    Kind::ParallelWindow,
    Kind::Update,
    Kind::Map,
    Kind::Ported,
];

fn build(graph: &mut Graph<'static>, kind: Kind, charges: &Charges) {
    let source = graph.source(charges.give(COUNT));
    let check = |mut charge: Charge| charge.check();
    if matches!(kind, Kind::Sink | Kind::ParallelSink) {
        let sink = if kind == Kind::Sink { graph.sink(check) } else { graph.parallel_sink(check) };
        graph.name(sink, "bad");
        *graph += source >> sink;
        return;
    }
    let sink = graph.sink(|mut charge: Charge| charge.safe = true);
    let pass = |mut charge: Charge, out: &mut Output<Charge>| {
        charge.check();
        charge.safe = false;
        out.push(charge);
    };
    let look = |window: &[Charge], out: &mut Output<Charge>| {
        let mut charge = window[0].clone();
        charge.check();
        charge.safe = false;
        out.push(charge);
    };
    let bad = match kind {
        Kind::Sequential => graph.sequential(pass),
        Kind::Parallel => graph.parallel(pass),
        // Some messages lie between two windows.
        Kind::Window => graph.window(30, 50, look),
        Kind::ParallelWindow => graph.parallel_window(30, 10, look),
        Kind::Map => graph.map(|mut charge: Charge| {
            charge.check();
            charge.safe = false;
            charge
        }),
        Kind::Ported => {
            let (input, output) = graph.add(Ported);
            graph.name(input, "bad");
            *graph += source >> input;
            *graph += output >> sink;
            return;
        }
        _ => {
            let update = |charge: &mut Charge| {
                charge.check();
                charge.safe = false;
            };
            let path = graph.from(source).update(update).path();
            *graph += path >> sink;
            return;
        }
    };
    graph.name(bad, "bad");
    *graph += source >> bad >> sink;
}

fn panic_among_charges(kind: Kind, scheme: Scheme) {
    let charges = Charges::new();
    let mut graph = Graph::new();
    build(&mut graph, kind, &charges);
    let error = graph.run(scheme).unwrap_err();
    drop(graph);
    let others = charges.other_failures(&error, 0);
    let [(kernel, text)] = &others[..] else { panic!("{error}") };
    assert!(kernel == "bad" || kind == Kind::Update, "{error}");
    assert_eq!(text, "unlucky");
}

#[test]
fn what_is_left_of_a_failed_run_may_panic_any_number_of_times() {
    for kind in KINDS {
        for (index, name) in Scheme::names().enumerate() {
            let scheme = Scheme::named(name).unwrap().workers(index % 3 + 1);
            println!("{kind:?} {scheme:?}");
            within(SOON, move || panic_among_charges(kind, scheme));
        }
    }
}

/// Leaves its input as it is, for ever.
struct Ignores;

impl Kernel for Ignores {
    type Ports = In<Charge>;
    fn ports(&mut self, bind: &mut Binder<'_>) -> In<Charge> {
        bind.input("in")
    }
    fn run(&mut self, port: &In<Charge>, io: &mut Io<'_>) -> Result<Flow, BoxError> {
        // In part brought together, in part on the edge.
        io.has(*port, 50);
        Ok(Flow::More)
    }
}

#[test]
fn what_is_left_of_a_cancelled_run_may_panic_any_number_of_times() {
    for workers in [1, 2] {
        within(SOON, move || {
            let charges = Charges::new();
            let mut graph = Graph::new();
            let fuse = charges.1.clone();
            let left = graph.source(charges.give(100).chain(std::iter::from_fn(move || {
                fuse.live.store(true, Release);
                None
            })));
            let ignores = graph.add(Ignores);
            // Of these some wait for the rest of a window.
            let few = graph.source(charges.give(5));
            let window = graph.window(10, 1, |_: &[Charge], _: &mut Output<u64>| ());
            let (stopper, fuse) = (graph.stopper(), charges.1.clone());
            let cancels = graph.poll_source(move |_: &mut Output<u64>| {
                if fuse.live.load(Acquire) {
                    stopper.cancel();
                }
                Flow::Pending
            });
            let sinks = [graph.sink(drop::<u64>), graph.sink(drop::<u64>)];
            graph.name(ignores, "ignores");
            graph += left >> ignores;
            graph += few >> window >> sinks[0];
            graph += cancels >> sinks[1];
            let error = graph.run(Scheme::default().workers(workers)).unwrap_err();
            drop(graph);
            assert_eq!(charges.other_failures(&error, 100), []);
            let Error::Failed { failures, report } = error else { unreachable!("it is settled") };
            assert_eq!(report.end, End::Cancelled);
            assert_eq!(failures.iter().filter(|failure| failure.kernel == "ignores").count(), 100);
        });
    }
}

#[test]
fn what_a_finished_kernel_did_not_take_may_panic_any_number_of_times() {
    /// Has had enough once all are there.
    struct Leaves;
    impl Kernel for Leaves {
        type Ports = In<Charge>;
        fn ports(&mut self, bind: &mut Binder<'_>) -> In<Charge> {
            bind.input("in")
        }
        fn run(&mut self, port: &In<Charge>, io: &mut Io<'_>) -> Result<Flow, BoxError> {
            let Some(all) = io.peek(*port, 100) else { return Ok(Flow::More) };
            all[0].fuse.live.store(true, Release);
            Ok(Flow::Done)
        }
    }
    for workers in [1, 2] {
        within(SOON, move || {
            let charges = Charges::new();
            let mut graph = Graph::new();
            let source = graph.source(charges.give(100));
            let leaves = graph.add(Leaves);
            graph.name(leaves, "leaves");
            graph += source >> leaves;
            let error = graph.run(Scheme::default().workers(workers)).unwrap_err();
            drop(graph);
            assert_eq!(charges.other_failures(&error, 100), []);
        });
    }
}

#[test]
fn a_stall_is_told_though_destructors_panic_after_it() {
    for workers in [1, 2] {
        within(SOON, move || {
            let charges = Charges::new();
            charges.1.live.store(true, Release);
            let mut graph = Graph::new();
            let source = graph.source(charges.give(20));
            let ignores = graph.add(Ignores);
            graph.name(ignores, "ignores");
            graph += source >> ignores;
            let error = graph.run(Scheme::default().workers(workers)).unwrap_err();
            drop(graph);
            let others = charges.other_failures(&error, 20);
            let [(kernel, text)] = &others[..] else { panic!("{error}") };
            assert_eq!(kernel, "ignores");
            assert!(text.starts_with("it cannot go on at in: 20 messages are there, it asks for 50"), "{text}");
        });
    }
}
