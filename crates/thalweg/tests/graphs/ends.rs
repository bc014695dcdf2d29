//! Runs that end by a failure, or because a kernel has had enough: the cause is named, every message is dropped once, no thread is left, and the graph
//! runs again.

use crate::common::{Crew, Ledger, SOON, Token, within};
use thalweg::prelude::*;
use thalweg::{Cause, End, Error};
use thalweg_sync::atomic::{AtomicBool, Ordering::*};
use thalweg_sync::sync::Arc;
use thalweg_sync::thread;
use thalweg_sync::time::Duration;

const COUNT: u64 = 2000;
/// The message that a kernel does not survive.
const UNLUCKY: u64 = 700;

/// The kernel that fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Source,
    Fresh,
    Poll,
    Blocking,
    Sequential,
    Map,
    Parallel,
    Window,
    ParallelWindow,
    Ported,
    Chain,
    Spread,
    Sink,
    ParallelSink,
    ForEach,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum How {
    Panics,
    Errs,
}

const KINDS: [(Kind, &[How]); 15] = [
    (Kind::Source, &[How::Panics]),
    (Kind::Fresh, &[How::Panics]),
    (Kind::Poll, &[How::Panics, How::Errs]),
    (Kind::Blocking, &[How::Panics]),
    (Kind::Sequential, &[How::Panics, How::Errs]),
    (Kind::Map, &[How::Panics]),
    (Kind::Parallel, &[How::Panics, How::Errs]),
    (Kind::Window, &[How::Panics, How::Errs]),
    (Kind::ParallelWindow, &[How::Panics, How::Errs]),
    (Kind::Ported, &[How::Panics, How::Errs]),
    (Kind::Chain, &[How::Panics]),
    (Kind::Spread, &[How::Panics]),
    (Kind::Sink, &[How::Panics, How::Errs]),
    (Kind::ParallelSink, &[How::Panics, How::Errs]),
    (Kind::ForEach, &[How::Panics]),
];

/// Fails at the unlucky message.
fn check(how: How, value: u64) -> Result<(), &'static str> {
    match how {
        _ if value != UNLUCKY => Ok(()),
        How::Panics => panic!("unlucky"),
        How::Errs => Err("unlucky"),
    }
}

/// Passes tokens on, or fails.
struct Ported(How);

#[derive(Clone)]
struct PortedPorts {
    input: In<Token>,
    output: Out<Token>,
}

impl Kernel for Ported {
    type Ports = PortedPorts;
    fn ports(&mut self, bind: &mut Binder<'_>) -> PortedPorts {
        PortedPorts { input: bind.input("in"), output: bind.output("out") }
    }
    fn run(&mut self, ports: &PortedPorts, io: &mut Io<'_>) -> Result<Flow, BoxError> {
        while let Some(token) = io.pop(ports.input) {
            check(self.0, token.value)?;
            io.push(ports.output, token);
        }
        Ok(Flow::More)
    }
}

/// source >> before >> the kernel that fails >> after >> sink, or as much of it as there can be.
fn build(graph: &mut Graph<'static>, kind: Kind, how: How, ledger: &Arc<Ledger>) {
    let fails = move |value: u64| check(how, value).expect("only panics where nothing else is possible");
    let numbers = {
        let ledger = ledger.clone();
        move |fails_here: bool| {
            let ledger = ledger.clone();
            (0..COUNT).map(move |x| {
                if fails_here {
                    fails(x);
                }
                Token::of(&ledger, x)
            })
        }
    };
    let bad_source = match kind {
        Kind::Source => Some(graph.source(numbers(true))),
        Kind::Fresh => {
            let mut runs = 0;
            let numbers = numbers.clone();
            Some(graph.source_with(move || {
                runs += 1;
                numbers(runs == 1)
            }))
        }
        Kind::Poll => {
            let (mut next, ledger) = (0, ledger.clone());
            Some(graph.poll_source(move |out: &mut Output<Token>| {
                next += 1;
                check(how, next)?;
                out.push(Token::of(&ledger, next));
                Ok::<_, &str>(if next < COUNT { Flow::More } else { Flow::Done })
            }))
        }
        Kind::Blocking => Some(graph.source_blocking(numbers(true), 64).unwrap()),
        Kind::ForEach => {
            graph.stream(numbers(false)).for_each(move |token| fails(token.value));
            return;
        }
        _ => None,
    };
    if let Some(source) = bad_source {
        graph.name(source, "bad");
        graph.from(source).map(|token| token).sink(drop::<Token>);
        return;
    }
    let source = graph.source(numbers(false));
    let before = graph.map(|token: Token| token);
    if matches!(kind, Kind::Sink | Kind::ParallelSink) {
        let sink = match kind {
            Kind::Sink => graph.sink(move |token: Token| check(how, token.value)),
            _ => graph.parallel_sink(move |token: Token| check(how, token.value)),
        };
        graph.name(sink, "bad");
        *graph += source >> before >> sink;
        return;
    }
    let pass = move |token: Token, out: &mut Output<Token>| {
        check(how, token.value)?;
        out.push(token);
        Ok::<_, &str>(())
    };
    let look = move |window: &[Token], out: &mut Output<Token>| {
        check(how, window[0].value)?;
        out.push(window[2].clone());
        Ok::<_, &str>(())
    };
    let after = graph.parallel_map(|token: Token| token);
    let sink = graph.sink(drop::<Token>);
    let bad = match kind {
        Kind::Sequential => graph.sequential(pass),
        Kind::Parallel => graph.parallel(pass),
        Kind::Window => graph.window(3, 1, look),
        Kind::ParallelWindow => graph.parallel_window(3, 1, look),
        Kind::Map => graph.map(move |token: Token| {
            fails(token.value);
            token
        }),
        Kind::Ported => {
            let ports = graph.add(Ported(how));
            graph.name(ports.input, "bad");
            *graph += source >> before >> ports.input;
            *graph += ports.output >> after >> sink;
            return;
        }
        Kind::Chain => {
            let path = source >> before;
            let path = graph.from(path).map(|t| t).inspect(move |t| fails(t.value)).filter(|t| t.value % 2 == 0).path();
            *graph += path >> after >> sink;
            return;
        }
        _ => {
            let path = source >> before;
            let path = graph.from(path).inspect(move |t| fails(t.value)).flat_map(|t| [t.clone(), t]).path();
            *graph += path >> after >> sink;
            return;
        }
    };
    graph.name(bad, "bad");
    *graph += source >> before >> bad >> after >> sink;
}

/// The name of the kernel that fails.
fn culprit(kind: Kind) -> &'static str {
    match kind {
        Kind::ForEach => "chain-0",
        // Made when the chain is ended: after the source, the kernel before, the one after and the sink.
        Kind::Chain | Kind::Spread => "chain-4",
        _ => "bad",
    }
}

fn fail_and_run_again(kind: Kind, how: How, scheme: Scheme) {
    let crew = Crew::gather();
    let ledger = Ledger::new(8 * COUNT as usize);
    let mut graph = Graph::new();
    build(&mut graph, kind, how, &ledger);
    let error = graph.run(scheme).unwrap_err();
    let Error::Failed { failures, report } = &error else { panic!("{error}") };
    assert_eq!(report.end, End::Cancelled);
    assert_eq!(failures.len(), 1, "{error}");
    assert_eq!(failures[0].kernel, culprit(kind));
    match (&failures[0].cause, how) {
        (Cause::Panic(text), How::Panics) => assert!(text.starts_with("unlucky"), "{text}"),
        (Cause::Error(text), How::Errs) => assert_eq!(text.to_string(), "unlucky"),
        // The iterator's panic happened on another thread.
        (Cause::Error(text), How::Panics) if kind == Kind::Blocking => assert!(text.to_string().contains("unlucky")),
        (other, _) => panic!("{other:?}"),
    }
    // What was not taken by the failed run is still to come.
    let report = graph.run(scheme).unwrap_or_else(|error| panic!("again: {error}"));
    assert_eq!(report.end, End::Complete);
    // If the failed run had taken nearly all, what is still to come fills no window.
    let left_over: u64 = report.edges.iter().map(|edge| edge.left_over).sum();
    assert_eq!(report.dropped, left_over);
    drop(graph);
    crew.shrinks_to(1);
    ledger.is_settled();
}

#[test]
fn a_failure_is_named_and_drops_every_message_once() {
    for (kind, hows) in KINDS {
        for &how in hows {
            for (index, name) in Scheme::names().enumerate() {
                let scheme = Scheme::named(name).unwrap().workers(index % 3 + 1);
                println!("{kind:?} {how:?} {scheme:?}");
                within(SOON, move || fail_and_run_again(kind, how, scheme));
            }
        }
    }
}

#[test]
fn every_kernel_that_fails_is_named() {
    // Both fail at their first message, and neither can stop the other in time: each waits for both to be there.
    let mut graph = Graph::new();
    let meet = Arc::new(thalweg_sync::atomic::AtomicU32::new(0));
    for name in ["one", "other"] {
        let meet = meet.clone();
        let source = graph.source(0..10);
        let sink = graph.sink(move |_: u32| {
            meet.fetch_add(1, thalweg_sync::atomic::Ordering::AcqRel);
            while meet.load(thalweg_sync::atomic::Ordering::Acquire) < 2 {
                thalweg_sync::thread::yield_now();
            }
            Err::<(), _>("both")
        });
        graph.name(sink, name);
        graph += source >> sink;
    }
    let error = within(SOON, move || graph.run(Scheme::named("random").unwrap().workers(2)).unwrap_err());
    let Error::Failed { failures, .. } = &error else { panic!("{error}") };
    let mut names: Vec<_> = failures.iter().map(|failure| failure.kernel.as_str()).collect();
    names.sort_unstable();
    assert_eq!(names, ["one", "other"]);
}

/// Takes so many, then has had enough.
struct First(u64);

impl Kernel for First {
    type Ports = PortedPorts;
    fn ports(&mut self, bind: &mut Binder<'_>) -> PortedPorts {
        PortedPorts { input: bind.input("in"), output: bind.output("out") }
    }
    fn run(&mut self, ports: &PortedPorts, io: &mut Io<'_>) -> Result<Flow, BoxError> {
        while self.0 > 0 {
            let Some(token) = io.pop(ports.input) else { return Ok(Flow::More) };
            io.push(ports.output, token);
            self.0 -= 1;
        }
        Ok(Flow::Done)
    }
}

fn finish_early(scheme: Scheme, capacity: Option<usize>) {
    let crew = Crew::gather();
    let ledger = Ledger::new(4_000_000);
    let (mut seen, made) = (Vec::new(), ledger.clone());
    let mut graph = Graph::new();
    // It would never end by itself.
    let endless = graph.source((0..).map(move |x| Token::of(&made, x))).into_path();
    let before = graph.parallel_map(|token: Token| token);
    let first = graph.add(First(1000));
    let sink = graph.sink(|token: Token| seen.push(token.value));
    graph.name(first.input, "first");
    match capacity {
        Some(most) => graph += endless.fixed(most) >> before.fixed(most) >> first.input,
        None => graph += endless >> before >> first.input,
    }
    graph += first.output >> sink;
    let report = graph.run(scheme).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(report.end, End::Complete);
    drop(graph);
    assert_eq!(seen, (0..1000).collect::<Vec<_>>());
    assert_eq!(report.kernel("first").unwrap().messages_in, 1000);
    assert_eq!(report.dropped, ledger.made() as u64 - 1000, "every message was processed or is counted as dropped");
    ledger.is_settled();
    crew.shrinks_to(1);
}

#[test]
fn a_kernel_that_finishes_early_hangs_up() {
    for (index, name) in Scheme::names().enumerate() {
        for capacity in [None, Some(1), Some(100)] {
            let scheme = Scheme::named(name).unwrap().workers(index % 3 + 1);
            println!("{scheme:?} {capacity:?}");
            within(SOON, move || finish_early(scheme, capacity));
        }
    }
}

/// What a parallel kernel was in the midst of when its consumer hung up: it leaves the rest of a block that takes too long to others.
#[test]
fn what_a_slow_parallel_kernel_left_behind_is_counted() {
    fn slow(value: u64) {
        if value % 64 == 1 {
            thread::sleep(Duration::from_millis(3));
        }
    }
    for name in Scheme::names() {
        for ordered in [true, false] {
            within(SOON, move || {
                let ledger = Ledger::new(4_000_000);
                let made = ledger.clone();
                let mut graph = Graph::new();
                let endless = graph.source((0..).map(move |x| Token::of(&made, x))).into_path();
                let work = |token: Token| {
                    slow(token.value);
                    token
                };
                let before =
                    if ordered { graph.parallel_map(work).into_path() } else { graph.parallel_map(work).unordered() };
                let first = graph.add(First(300));
                let sink = graph.sink(drop::<Token>);
                graph += endless >> before >> first.input;
                graph += first.output >> sink;
                let report = graph.run(Scheme::named(name).unwrap().workers(3)).unwrap();
                drop(graph);
                assert_eq!(report.end, End::Complete);
                assert_eq!(report.dropped, ledger.made() as u64 - 300, "{name}, in order: {ordered}");
                ledger.is_settled();
            });
        }
    }
}

fn wait_for(flag: &AtomicBool) {
    while !flag.load(Acquire) {
        thread::yield_now();
    }
}

/// Takes one message, and is done once another one is being made.
struct Enough<'a> {
    begun: &'a AtomicBool,
    over: &'a AtomicBool,
}

impl Kernel for Enough<'_> {
    type Ports = In<u64>;
    fn ports(&mut self, bind: &mut Binder<'_>) -> In<u64> {
        bind.input("in")
    }
    fn run(&mut self, port: &In<u64>, io: &mut Io<'_>) -> Result<Flow, BoxError> {
        if io.pop(*port).is_none() {
            return Ok(Flow::More);
        }
        wait_for(self.begun);
        self.over.store(true, Release);
        Ok(Flow::Done)
    }
}

/// Who has nothing to do but to wait for what nobody takes any more tries a few times, and sleeps.
#[test]
fn nobody_is_busy_while_a_result_is_made_that_nobody_takes() {
    let report = within(SOON, || {
        let (begun, over) = (AtomicBool::new(false), AtomicBool::new(false));
        let mut graph = Graph::new();
        let numbers = graph.source(0..2_u64);
        let make = graph.parallel(|x: u64, out: &mut Output<u64>| {
            if x == 1 {
                begun.store(true, Release);
                wait_for(&over);
                thread::sleep(Duration::from_millis(50));
            }
            out.push(x);
        });
        let enough = graph.add(Enough { begun: &begun, over: &over });
        graph.name(make, "make");
        graph += numbers >> make.unordered() >> enough;
        graph.run(Scheme::named("pw").unwrap().workers(2)).unwrap()
    });
    let activations = report.kernel("make").unwrap().activations;
    assert!(activations < 50, "{activations} activations for two messages");
}

/// Messages that wait for each other, as those that take long do: the default calls the other workers though its first one is not back from its
/// first message.
#[test]
fn a_long_first_message_does_not_keep_the_others_from_work() {
    if thread::available_parallelism() == 1 {
        return;
    }
    within(SOON, || {
        let begun = [false, false].map(AtomicBool::new);
        let mut sum = 0;
        let mut graph = Graph::new();
        let numbers = graph.source(0..2_usize);
        let meet = graph.parallel(|x: usize, out: &mut Output<usize>| {
            begun[x].store(true, Release);
            wait_for(&begun[1 - x]);
            out.push(x);
        });
        let add = graph.sink(|x: usize| sum += x);
        graph += numbers >> meet >> add;
        graph.run(Scheme::default()).unwrap();
        drop(graph);
        assert_eq!(sum, 1);
    });
}

/// Panics again when somebody drops what it panicked with.
struct Grenade;

impl Drop for Grenade {
    fn drop(&mut self) {
        panic!("boom");
    }
}

#[test]
fn what_a_kernel_panics_with_may_panic_itself() {
    for workers in [1, 2] {
        within(SOON, move || {
            let mut graph = Graph::new();
            let numbers = graph.source(0..10_u64);
            let sink = graph.sink(|x: u64| {
                if x == 3 {
                    std::panic::panic_any(Grenade);
                }
            });
            graph.name(sink, "bad");
            graph += numbers >> sink;
            let error = graph.run(Scheme::named("random").unwrap().workers(workers)).unwrap_err();
            let Error::Failed { failures, .. } = &error else { panic!("{error}") };
            assert_eq!((failures.len(), failures[0].kernel.as_str()), (1, "bad"));
            assert!(matches!(&failures[0].cause, Cause::Panic(text) if text == "a panic without a message"), "{error}");
        });
    }
}

/// The first one dropped panics.
struct Bomb(Arc<AtomicBool>);

impl Drop for Bomb {
    fn drop(&mut self) {
        assert!(!self.0.swap(false, AcqRel), "boom");
    }
}

/// Leaves its input as it is.
struct Leaves;

impl Kernel for Leaves {
    type Ports = In<Bomb>;
    fn ports(&mut self, bind: &mut Binder<'_>) -> In<Bomb> {
        bind.input("in")
    }
    fn run(&mut self, port: &In<Bomb>, io: &mut Io<'_>) -> std::result::Result<Flow, BoxError> {
        Ok(if io.has(*port, 1) { Flow::Done } else { Flow::More })
    }
}

#[test]
fn a_destructor_that_panics_fails_the_run() {
    for workers in [1, 2] {
        within(SOON, move || {
            let armed = Arc::new(AtomicBool::new(true));
            let mut graph = Graph::new();
            let bombs = graph.source((0..100).map(|_| Bomb(armed.clone())));
            let leaves = graph.add(Leaves);
            graph += bombs >> leaves;
            let error = graph.run(Scheme::default().workers(workers)).unwrap_err();
            assert!(matches!(error, Error::Failed { .. }) && format!("{error:#}").contains("boom"), "{error}");
        });
    }
}

/// Leaves its input as it is, for ever.
struct Ignores;

impl Kernel for Ignores {
    type Ports = In<Bomb>;
    fn ports(&mut self, bind: &mut Binder<'_>) -> In<Bomb> {
        bind.input("in")
    }
    fn run(&mut self, _: &In<Bomb>, _: &mut Io<'_>) -> std::result::Result<Flow, BoxError> {
        Ok(Flow::More)
    }
}

/// What is left in the graph is dropped when the run is over, and that may panic too.
#[test]
fn a_failure_is_told_though_a_destructor_panics_after_it() {
    for workers in [1, 2] {
        within(SOON, move || {
            let (armed, given) = (Arc::new(AtomicBool::new(true)), Arc::new(AtomicBool::new(false)));
            let theirs = given.clone();
            let mut graph = Graph::new();
            let bombs = graph.source((0..100).map(move |number| {
                theirs.store(number == 99, Release);
                Bomb(armed.clone())
            }));
            let ignores = graph.add(Ignores);
            let fails = graph.poll_source(
                move |_: &mut Output<u64>| {
                    if given.load(Acquire) { Err("enough") } else { Ok(Flow::Pending) }
                },
            );
            let sink = graph.sink(drop::<u64>);
            graph.name(fails, "bad");
            graph.name(ignores, "ignores");
            graph += bombs >> ignores;
            graph += fails >> sink;
            let error = graph.run(Scheme::default().workers(workers)).unwrap_err();
            let Error::Failed { failures, .. } = &error else { panic!("{error}") };
            let [bad, late] = &failures[..] else { panic!("{error}") };
            assert_eq!((bad.kernel.as_str(), late.kernel.as_str()), ("bad", "ignores"), "{error}");
            assert!(matches!(&bad.cause, Cause::Error(text) if text.to_string() == "enough"), "{error}");
            assert!(matches!(&late.cause, Cause::Panic(text) if text == "boom"), "{error}");
        });
    }
}
