//! A closure that makes many messages of one waits for room in the middle of its activation: no edge holds more than it may, nobody waits for what cannot
//! come, and stops, failures and the end are as elsewhere.

use crate::common::{Ledger, SOON, Token, toil, within};
use thalweg::operators::Emit;
use thalweg::prelude::*;
use thalweg::{End, Error, Report};
use thalweg_check::Fuzz;
use thalweg_sync::atomic::{AtomicU64, Ordering::*};
use thalweg_sync::sync::{Arc, Mutex};
use thalweg_sync::thread;
use thalweg_sync::time::Duration;

/// What edges hold, and a block on its way in.
pub(crate) const ROOM: usize = 64;
const MOST: u64 = 64 + 32;

pub(crate) fn schemes() -> impl Iterator<Item = Scheme> {
    Scheme::names().flat_map(|name| [1, 2, 4].map(|workers| Scheme::named(name).unwrap().workers(workers)))
}

#[track_caller]
pub(crate) fn is_bounded(report: &Report, scheme: Scheme) {
    for edge in &report.edges {
        assert!(edge.peak <= MOST, "{scheme:?}: {} messages on {} -> {}", edge.peak, edge.from, edge.to);
    }
    assert_eq!(report.end, End::Complete, "{scheme:?}");
}

/// `rounds` messages of `each`, in order.
pub(crate) fn is_whole(seen: &[u64], rounds: u64, each: u64) -> bool {
    seen.iter().copied().eq(0..rounds * each)
}

#[test]
fn one_message_that_becomes_many_is_held_back() {
    for scheme in schemes() {
        let (seen, report) = within(SOON, move || {
            let mut seen = Vec::new();
            let mut graph = Graph::new();
            let many = graph.sequential(|x: u64, out: &mut Output<u64>| (0..1000).for_each(|i| out.push(1000 * x + i)));
            let pass = graph.map(|x: u64| x);
            let sink = graph.sink(|x: u64| {
                toil(10);
                seen.push(x);
            });
            graph += graph.source(0..2_u64) >> many.fixed(ROOM) >> pass.fixed(ROOM) >> sink;
            let report = graph.run(scheme).unwrap();
            drop(graph);
            (seen, report)
        });
        is_bounded(&report, scheme);
        assert!(is_whole(&seen, 2, 1000), "{scheme:?}");
    }
}

/// Every closure that is handed an output: of a source, over windows, with a state and at the end; one behind the other, each making many.
#[test]
fn many_that_become_many_are_held_back_everywhere() {
    for scheme in schemes() {
        let (seen, report) = within(SOON, move || {
            let mut seen = Vec::new();
            let mut graph = Graph::new();
            let mut asked = 0;
            let source = graph.poll_source(move |out: &mut Output<u64>| {
                asked += 1;
                (0..300).for_each(|x| out.push(300 * (asked - 1) + x));
                if asked == 2 { Flow::Done } else { Flow::More }
            });
            let window = graph.window(300, 300, |all: &[u64], out: &mut Output<u64>| {
                all.iter().for_each(|&x| (0..5).for_each(|i| out.push(5 * x + i)));
            });
            let kept = graph.sequential_with(
                Vec::new(),
                |all: &mut Vec<u64>, x, _out: &mut Emit<'_, '_, u64>| all.push(x),
                |all, out| out.extend(std::mem::take(all)),
            );
            let sink = graph.sink(|x: u64| seen.push(x));
            graph += source.fixed(300) >> window.fixed(ROOM) >> kept.fixed(ROOM) >> sink;
            let report = graph.run(scheme).unwrap();
            drop(graph);
            (seen, report)
        });
        let peaks: Vec<_> = report.edges.iter().map(|edge| edge.peak).collect();
        assert!(peaks[0] <= 600 && peaks[1] <= MOST && peaks[2] <= MOST, "{scheme:?}: {peaks:?}");
        assert!(is_whole(&seen, 600, 5), "{scheme:?}");
    }
}

/// What is ready is run meanwhile, whatever it is: here the taker waits for another source.
#[test]
fn who_waits_sees_to_what_its_taker_waits_for() {
    for scheme in schemes() {
        let (seen, report) = within(SOON, move || {
            let mut seen = Vec::new();
            let mut graph = Graph::new();
            let many = graph.sequential(|_: u64, out: &mut Output<u64>| (0..1000).for_each(|x| out.push(x)));
            let left = graph.source(0..1_u64) >> many.fixed(ROOM);
            let right = graph.source(0..1000_u64).fixed(ROOM);
            let pairs = graph.zip(left, right);
            let sink = graph.sink(|(a, b): (u64, u64)| seen.push(a + b));
            graph += pairs.fixed(ROOM) >> sink;
            let report = graph.run(scheme).unwrap();
            drop(graph);
            (seen, report)
        });
        is_bounded(&report, scheme);
        assert!(seen.iter().copied().eq((0..1000).map(|x| 2 * x)), "{scheme:?}");
    }
}

/// Both sides of a pair come from one kernel, and one side comes later than the other has room for: one of the closures goes on without room. Beside a
/// source that never ends, which is stopped when all are there.
#[test]
fn who_waits_in_vain_goes_on() {
    for scheme in schemes() {
        for beside in [false, true] {
            let seen = within(SOON, move || {
                let mut seen = 0;
                let mut graph = Graph::new();
                let stopper = graph.stopper();
                let copies = graph.broadcast(graph.source(0..4_u64), 2);
                let many = graph.sequential(|_: u64, out: &mut Output<u64>| (0..100).for_each(|x| out.push(x)));
                // All of it comes at the end.
                let late = graph.sequential_with(
                    Vec::new(),
                    |all: &mut Vec<u64>, x, _out: &mut Emit<'_, '_, u64>| all.push(x),
                    |all, out| out.extend(all.drain(..).flat_map(|_| 0..100)),
                );
                let pairs = graph.zip(copies[0] >> many.fixed(8), copies[1].fixed(2) >> late.fixed(8));
                let count = &mut seen;
                let sink = graph.sink(move |_: (u64, u64)| {
                    *count += 1;
                    if *count == 400 && beside {
                        stopper.stop();
                    }
                });
                graph += pairs.fixed(8) >> sink;
                if beside {
                    let endless = graph.sink(|_: u64| ());
                    graph += graph.source(0_u64..) >> endless;
                }
                graph.run(scheme).unwrap();
                drop(graph);
                seen
            });
            assert_eq!(seen, 400, "{scheme:?}, beside an endless source: {beside}");
        }
    }
}

/// Each message makes a few more, as often as it says, on an edge back that holds less than that.
#[test]
fn a_cycle_that_is_full_goes_on() {
    for scheme in schemes() {
        let count = within(SOON, move || {
            let mut graph = Graph::new();
            let merge = graph.add(thalweg::operators::Merge::new(2));
            let more = graph.sequential(|left: u64, out: &mut Output<u64>| {
                (0..if left > 0 { 40 } else { 1 }).for_each(|_| out.push(left));
            });
            let [back, done] = graph.split(merge.out >> more.fixed(16), |&left| left > 0);
            let (end, count) = graph.count();
            let less = graph.map(|left: u64| left - 1);
            graph += graph.source([2_u64, 2]) >> merge.inputs[0];
            graph += back >> less.fixed(16).feedback() >> merge.inputs[1];
            graph += done >> end;
            graph.run(scheme).unwrap();
            count.take()
        });
        assert_eq!(count, 2 * 40 * 40, "{scheme:?}");
    }
}

/// A graph in which one message becomes `count`, and `sink` takes them.
fn flood(ledger: &Arc<Ledger>, count: u64, scheme: Scheme, sink: impl FnMut(Token) + Send) -> Result<Report, Error> {
    let mut graph = Graph::new();
    let theirs = ledger.clone();
    let many = graph.sequential(move |_: u64, out: &mut Output<Token>| {
        (0..count).for_each(|x| out.push(Token::of(&theirs, x)));
    });
    let sink = graph.sink(sink);
    graph.name(many, "many");
    graph.name(sink, "taker");
    graph += graph.source(0..1_u64) >> many.fixed(ROOM) >> sink;
    let result = graph.run(scheme);
    drop(graph);
    result
}

#[test]
fn who_fails_meanwhile_is_named() {
    for scheme in schemes() {
        let ledger = Ledger::new(3000);
        let ours = ledger.clone();
        let result = within(SOON, move || {
            flood(&ours, 3000, scheme, |token| assert!(token.value < 1000, "it was asked to fail"))
        });
        let Err(Error::Failed { failures, .. }) = result else { panic!("{scheme:?}: {result:?}") };
        let names: Vec<_> = failures.iter().map(|failure| failure.kernel.as_str()).collect();
        assert_eq!(names, ["taker"], "{scheme:?}");
        ledger.is_settled();
    }
}

#[test]
fn a_stop_and_a_cancel_are_seen_in_the_middle() {
    for scheme in schemes() {
        for cancels in [false, true] {
            let (end, seen) = within(SOON, move || {
                let mut seen = 0;
                let mut graph = Graph::new();
                let (stopper, count) = (graph.stopper(), &mut seen);
                let many = graph.sequential(|_: u64, out: &mut Output<u64>| (0..2000).for_each(|x| out.push(x)));
                let sink = graph.sink(move |_: u64| {
                    *count += 1;
                    if *count == 500 {
                        if cancels { stopper.cancel() } else { stopper.stop() }
                    }
                });
                graph += graph.source(0_u64..).fixed(2) >> many.fixed(ROOM) >> sink;
                let report = graph.run(scheme).unwrap();
                drop(graph);
                (report.end, seen)
            });
            match cancels {
                true => assert!(end == End::Cancelled && (500..2000).contains(&seen), "{scheme:?}: {seen}"),
                false => assert!(end == End::Stopped && seen % 2000 == 0, "{scheme:?}: {seen}"),
            }
        }
    }
}

/// The room comes from outside, or never: whoever reads goes away.
#[test]
fn a_reader_outside_holds_it_back() {
    for scheme in schemes() {
        for goes_away in [false, true] {
            let given = Arc::new(AtomicU64::new(0));
            let theirs = given.clone();
            within(SOON, move || {
                let mut graph = Graph::new();
                let counted = given.clone();
                let many = graph.sequential(move |_: u64, out: &mut Output<u64>| {
                    (0..600).for_each(|x| {
                        out.push(x);
                        counted.fetch_add(1, AcqRel);
                    });
                });
                let (sink, outlet) = graph.outlet::<u64>(8).unwrap();
                graph += graph.source(0..1_u64) >> many.fixed(8) >> sink;
                let reader = thread::spawn(move || {
                    for x in 0..if goes_away { 100 } else { 600 } {
                        assert_eq!(outlet.pop().unwrap(), x);
                        if x % 50 == 0 {
                            thread::sleep(Duration::from_micros(100));
                        }
                        // The edge, the outlet, and blocks in the hands of each.
                        let ahead = theirs.load(Acquire) - x;
                        assert!(ahead <= 8 + 8 + 3 * 4 + 1, "{scheme:?}: {ahead}");
                    }
                });
                let report = graph.run(scheme).unwrap();
                drop(graph);
                reader.join().unwrap();
                assert_eq!(report.end, End::Complete, "{scheme:?}");
            });
        }
    }
}

/// A closure in a pair of closures, each of which makes many, with few kernels and less room: whoever waits, is let go, fails or is stopped, it ends.
#[test]
fn nobody_waits_for_ever_in_any_interleaving() {
    for name in Scheme::names() {
        for workers in [1, 2, 3] {
            Fuzz::new().seeds(0..60).threads(2).stack_bytes(1 << 20).run(|| {
                let seen = Arc::new(Mutex::new(Vec::new()));
                let ours = seen.clone();
                let mut graph = Graph::new();
                let many = || |x: u64, out: &mut Output<u64>| (0..6).for_each(|i| out.push(6 * x + i));
                let (first, second) = (graph.sequential(many()), graph.sequential(many()));
                let sink = graph.sink(move |x: u64| ours.lock().unwrap().push(x));
                graph += graph.source(0..2_u64) >> first.fixed(1) >> second.fixed(1) >> sink;
                let report = graph.run(Scheme::named(name).unwrap().workers(workers)).unwrap();
                drop(graph);
                assert!(report.edges.iter().all(|edge| edge.peak <= 2), "{name}: {report}");
                assert!(is_whole(&seen.lock().unwrap(), 12, 6), "{name}");
            });
        }
    }
}

#[test]
fn who_waits_for_a_kernel_beneath_it_is_let_go_in_any_interleaving() {
    for name in Scheme::names() {
        for workers in [1, 2, 3] {
            Fuzz::new().seeds(0..60).threads(2).stack_bytes(1 << 20).run(|| {
                let count = Arc::new(AtomicU64::new(0));
                let ours = count.clone();
                let mut graph = Graph::new();
                let copies = graph.broadcast(graph.source(0..2_u64), 2);
                let many = || |_: u64, out: &mut Output<u64>| (0..6).for_each(|i| out.push(i));
                let (first, second) = (graph.sequential(many()), graph.sequential(many()));
                let pairs = graph.zip(copies[0] >> first.fixed(1), copies[1] >> second.fixed(1));
                let sink =
                    graph.sink(move |(a, b): (u64, u64)| assert_eq!((a, b, ours.fetch_add(1, Relaxed) % 6), (b, a, a)));
                graph += pairs.fixed(1) >> sink;
                graph.run(Scheme::named(name).unwrap().workers(workers)).unwrap();
                drop(graph);
                assert_eq!(count.load(Relaxed), 12, "{name}");
            });
        }
    }
}

#[test]
fn a_failure_or_a_stop_in_the_middle_ends_it_in_any_interleaving() {
    for name in ["depth_first", "raft", "pw", "mix", "one_shot"] {
        for stops in [false, true] {
            Fuzz::new().seeds(0..150).threads(2).stack_bytes(1 << 20).run(|| {
                let ledger = Ledger::new(16);
                let mut graph = Graph::new();
                let (stopper, theirs) = (graph.stopper(), ledger.clone());
                let many = graph.sequential(move |_: u64, out: &mut Output<Token>| {
                    (0..8).for_each(|x| out.push(Token::of(&theirs, x)));
                });
                let sink = graph.sink(move |token: Token| {
                    if token.value == 3 {
                        stopper.cancel();
                    }
                    if token.value == 3 && !stops { Err("it was asked to fail") } else { Ok(()) }
                });
                graph += graph.source(0..2_u64) >> many.fixed(1) >> sink;
                let result = graph.run(Scheme::named(name).unwrap().workers(2));
                drop(graph);
                assert_eq!(result.is_ok(), stops, "{name}: {result:?}");
                ledger.is_settled();
            });
        }
    }
}

/// Somebody is at work all the time, so nobody is the last to fall asleep. The taker is slow, so it is in another worker's hands when the sender finds no room, and that
/// worker lies down when it has taken all. It takes as a closure, by a port, or by firings that take more than the edge holds: each calls the sender.
#[test]
fn whoever_makes_room_calls_beside_work_that_goes_on() {
    const ALL: u64 = 320;
    for taker in 0..3 {
        let seen = within(SOON, move || {
            let all = Arc::new(AtomicU64::new(0));
            let mut graph = Graph::new();
            let ours = all.clone();
            let goes_on = graph.sink(move |_: u64| {
                while ours.load(Acquire) < ALL {
                    thread::sleep(Duration::from_micros(100));
                }
            });
            graph += graph.source(0..1_u64) >> goes_on;
            let many = graph.sequential(|_: u64, out: &mut Output<u64>| {
                (0..ALL).for_each(|x| {
                    thread::sleep(Duration::from_micros(20));
                    out.push(x);
                });
            });
            let theirs = all.clone();
            let take = move |_: u64| {
                thread::sleep(Duration::from_micros(200));
                theirs.fetch_add(1, AcqRel);
            };
            let flood = (graph.source(0..1_u64) >> many).fixed(8);
            match taker {
                0 => graph += flood >> graph.sink(take),
                1 => {
                    let port = graph.add(Takes(take));
                    graph += flood >> port;
                }
                _ => {
                    let port = graph.add_parallel(TakesMany(take));
                    graph += flood >> port;
                }
            }
            graph.run(Scheme::default().workers(3)).unwrap();
            drop(graph);
            all.load(Acquire)
        });
        assert_eq!(seen, ALL);
    }
}

struct Takes<F>(F);

impl<F: FnMut(u64) + Send> Kernel for Takes<F> {
    type Ports = In<u64>;
    fn ports(&mut self, bind: &mut Binder<'_>) -> In<u64> {
        bind.input("in")
    }
    fn run(&mut self, &port: &In<u64>, io: &mut Io<'_>) -> Result<Flow, BoxError> {
        while let Some(x) = io.pop(port) {
            (self.0)(x);
        }
        Ok(Flow::More)
    }
}

/// More than its edge holds.
struct TakesMany<F>(F);

impl<F: Fn(u64) + Send + Sync> ParallelKernel for TakesMany<F> {
    type Ports = In<u64>;
    fn ports(&mut self, bind: &mut Binder<'_>) -> In<u64> {
        bind.input_of("in", 40)
    }
    fn fire(&self, &port: &In<u64>, firing: &mut Firing<'_>) -> Result<(), BoxError> {
        firing.slice(port).iter().for_each(|&x| (self.0)(x));
        Ok(())
    }
}
