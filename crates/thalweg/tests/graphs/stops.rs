//! Runs that are stopped or cancelled from another thread: whatever they are at, they end, and every message is processed or dropped once.

use crate::common::{Crew, Ledger, SOON, Token, within};
use thalweg::End;
use thalweg::prelude::*;
use thalweg_check::Fuzz;
use thalweg_sync::atomic::{AtomicBool, AtomicU64, Ordering::*};
use thalweg_sync::sync::{Arc, Mutex, OnceLock};
use thalweg_sync::thread;
use thalweg_sync::time::{Duration, now};

const A_WHILE: Duration = Duration::from_millis(15);

/// Runs `graph`, and does `act` to it from another thread once `seen` says that it is under way.
fn disturb(graph: &mut Graph<'_>, scheme: Scheme, seen: &AtomicU64, act: impl FnOnce(&Stopper) + Send) -> Report {
    let stopper = graph.stopper();
    thread::scope(|scope| {
        scope.spawn(|| {
            while seen.load(Acquire) == 0 {
                thread::sleep(Duration::from_millis(1));
            }
            thread::sleep(A_WHILE);
            act(&stopper);
        });
        graph.run(scheme).unwrap_or_else(|error| panic!("{error}"))
    })
}

/// An endless stream of tokens through a kernel of each sort.
fn endless<'a>(graph: &mut Graph<'a>, ledger: &'a Arc<Ledger>, seen: &'a AtomicU64) {
    let numbers = graph.source((0..).map(|x| Token::of(ledger, x)));
    let one = graph.sequential(|token: Token, out: &mut Output<Token>| out.push(token));
    let two = graph.parallel_map(|token: Token| token);
    let window = graph.window(2, 2, |pair: &[Token], out: &mut Output<Token>| {
        out.push(pair[0].clone());
        out.push(pair[1].clone());
    });
    let sink = graph.sink(|_: Token| {
        seen.fetch_add(1, AcqRel);
    });
    *graph += numbers >> one.capacity(16, 256) >> two.fixed(64) >> window >> sink;
}

#[test]
fn a_run_that_is_stopped_processes_what_its_sources_gave() {
    for (index, name) in Scheme::names().enumerate() {
        let scheme = Scheme::named(name).unwrap().workers(index % 3 + 1);
        println!("{scheme:?}");
        within(SOON, move || {
            let crew = Crew::gather();
            let (ledger, seen) = (Ledger::new(8_000_000), AtomicU64::new(0));
            let mut graph = Graph::new();
            endless(&mut graph, &ledger, &seen);
            // Twice: the wish belongs to the run that it ended.
            for _ in 0..2 {
                seen.store(0, Release);
                let report = disturb(&mut graph, scheme, &seen, Stopper::stop);
                assert_eq!(report.end, End::Stopped);
                let given = report.kernels[0].messages_out;
                // The message that has no partner in a window of two goes with the end of the stream, and is counted.
                assert_eq!(report.dropped, given % 2);
                assert_eq!(seen.load(Acquire), given / 2 * 2, "what the source gave has arrived");
            }
            drop(graph);
            ledger.is_settled();
            crew.shrinks_to(1);
        });
    }
}

#[test]
fn a_run_that_is_cancelled_drops_what_is_under_way() {
    for (index, name) in Scheme::names().enumerate() {
        let scheme = Scheme::named(name).unwrap().workers(index % 3 + 1);
        println!("{scheme:?}");
        within(SOON, move || {
            let crew = Crew::gather();
            let (ledger, seen) = (Ledger::new(8_000_000), AtomicU64::new(0));
            let mut graph = Graph::new();
            endless(&mut graph, &ledger, &seen);
            for _ in 0..2 {
                seen.store(0, Release);
                let report = disturb(&mut graph, scheme, &seen, Stopper::cancel);
                assert_eq!(report.end, End::Cancelled);
                assert_eq!(ledger.alive(), 0, "nothing of a run survives it");
            }
            drop(graph);
            ledger.is_settled();
            crew.shrinks_to(1);
        });
    }
}

/// What a source waits for.
#[derive(Clone, Copy, Debug)]
enum Waits {
    Inlet,
    Blocking,
    Poll,
}

/// A source that gives three messages and then nothing, and never ends.
fn silent(graph: &mut Graph<'static>, waits: Waits) -> (Source<u64>, Box<dyn FnOnce() + Send>) {
    match waits {
        Waits::Inlet => {
            let (source, inlet) = graph.inlet(8).unwrap();
            (0..3).for_each(|x| inlet.push(x).unwrap());
            (source, Box::new(|| drop(inlet)))
        }
        Waits::Blocking => {
            let over = Arc::new(AtomicBool::new(false));
            let theirs = over.clone();
            let forever = std::iter::once_with(move || {
                while !theirs.load(Acquire) {
                    thread::sleep(Duration::from_millis(1));
                }
                3
            });
            let source = graph.source_blocking((0..3).chain(forever), 8).unwrap();
            (source, Box::new(move || over.store(true, Release)))
        }
        Waits::Poll => {
            let mut next = 0;
            let source = graph.poll_source(move |out: &mut Output<u64>| {
                if next == 3 {
                    return Flow::Pending;
                }
                out.push(next);
                next += 1;
                Flow::More
            });
            (source, Box::new(|| ()))
        }
    }
}

#[test]
fn a_run_ends_while_its_source_waits() {
    for waits in [Waits::Inlet, Waits::Blocking, Waits::Poll] {
        for (index, name) in Scheme::names().enumerate() {
            for end in [End::Stopped, End::Cancelled] {
                let scheme = Scheme::named(name).unwrap().workers(index % 3 + 1);
                println!("{waits:?} {scheme:?} {end:?}");
                within(SOON, move || {
                    let crew = Crew::gather();
                    let seen = Arc::new(AtomicU64::new(0));
                    let theirs = seen.clone();
                    let mut graph = Graph::new();
                    let (source, release) = silent(&mut graph, waits);
                    let sink = graph.sink(move |_: u64| {
                        theirs.fetch_add(1, AcqRel);
                    });
                    graph += source >> sink;
                    let act = if end == End::Stopped { Stopper::stop } else { Stopper::cancel };
                    let report = disturb(&mut graph, scheme, &seen, act);
                    assert_eq!(report.end, end);
                    assert_eq!(seen.load(Acquire), 3, "what came before the silence was handed on");
                    drop(graph);
                    release();
                    crew.shrinks_to(1);
                });
            }
        }
    }
}

#[test]
fn a_deadline_turns_stopping_into_cancelling() {
    for workers in [1, 2] {
        within(SOON, move || {
            let seen = AtomicU64::new(0);
            let mut graph = Graph::new();
            let numbers = graph.source(0..1_000_000_u64);
            let slow = graph.sink(|_: u64| {
                seen.fetch_add(1, AcqRel);
                thread::sleep(Duration::from_millis(1));
            });
            graph += numbers >> slow;
            let asked = Mutex::new(now());
            // Fills the edge before anything is taken: thousands of messages, of a millisecond each, in blocks of a few hundred.
            let scheme = Scheme::named("qes").unwrap().workers(workers);
            let report = disturb(&mut graph, scheme, &seen, |stopper| {
                *asked.lock().unwrap() = now();
                stopper.stop_within(Duration::from_millis(50));
            });
            let took = asked.into_inner().unwrap().elapsed();
            assert_eq!(report.end, End::Cancelled);
            assert!(took >= Duration::from_millis(50), "{took:?}");
            // In messages, since a millisecond each is the least they take.
            let seen = seen.load(Acquire);
            assert!(seen < 1500, "{seen} messages with {workers} workers, all of them busy");
        });
    }
}

/// The only worker has more messages in hand when the time is over.
#[test]
fn a_deadline_is_seen_between_two_messages() {
    let seen = AtomicU64::new(0);
    let mut graph = Graph::new();
    let (stopper, count) = (graph.stopper(), &seen);
    let numbers = graph.source(0..1000_u64);
    let sink = graph.sink(move |_: u64| {
        count.fetch_add(1, AcqRel);
        stopper.stop_within(Duration::ZERO);
    });
    graph += numbers >> sink;
    assert_eq!(graph.run(Scheme::default().workers(1)).unwrap().end, End::Cancelled);
    drop(graph);
    assert_eq!(seen.load(Acquire), 1);
}

#[test]
fn a_deadline_that_is_kept_cancels_nothing() {
    within(SOON, || {
        let (ledger, seen) = (Ledger::new(8_000_000), AtomicU64::new(0));
        let mut graph = Graph::new();
        endless(&mut graph, &ledger, &seen);
        let report = disturb(&mut graph, Scheme::default().workers(2), &seen, |stopper| stopper.stop_within(SOON));
        assert_eq!(report.end, End::Stopped);
        drop(graph);
        ledger.is_settled();
    });
}

#[test]
fn a_wish_before_the_run_ends_the_next_one_at_once() {
    for name in Scheme::names() {
        within(SOON, move || {
            let seen = AtomicU64::new(0);
            let mut graph = Graph::new();
            let numbers = graph.source_with(|| 0..100_000_u64);
            let sink = graph.sink(|_: u64| {
                seen.fetch_add(1, AcqRel);
            });
            graph += numbers >> sink;
            let scheme = Scheme::named(name).unwrap().workers(2);
            graph.stopper().stop();
            assert_eq!(graph.run(scheme).unwrap().end, End::Stopped);
            graph.stopper().cancel();
            assert_eq!(graph.run(scheme).unwrap().end, End::Cancelled);
            assert_eq!(seen.load(Acquire), 0, "{name}: neither run gave anything");
            assert_eq!(graph.run(scheme).unwrap().end, End::Complete);
            assert_eq!(seen.load(Acquire), 100_000, "{name}: the third is not concerned");
        });
    }
}

#[test]
fn a_deadline_belongs_to_one_run() {
    within(SOON, || {
        let mut graph = Graph::new();
        let numbers = graph.source_with(|| 0..1000_u64);
        let sink = graph.sink(|_: u64| ());
        graph += numbers >> sink;
        graph.stopper().stop_within(Duration::ZERO);
        assert_eq!(graph.run(Scheme::default()).unwrap().end, End::Cancelled);
        graph.stopper().stop();
        assert_eq!(graph.run(Scheme::default()).unwrap().end, End::Stopped, "nobody set this one a time");
    });
}

#[test]
fn a_chain_in_one_kernel_can_be_stopped() {
    within(SOON, || {
        let seen = AtomicU64::new(0);
        let mut graph = Graph::new();
        graph.stream(0_u64..).map(|x| x / 2).for_each(|_| {
            seen.fetch_add(1, AcqRel);
        });
        assert_eq!(disturb(&mut graph, Scheme::default(), &seen, Stopper::stop).end, End::Stopped);
        assert_eq!(disturb(&mut graph, Scheme::default(), &seen, Stopper::cancel).end, End::Cancelled);
    });
}

/// Messages are long until it is known that they are short.
#[test]
fn a_cancelled_kernel_does_not_go_on_to_its_next_message() {
    fn third(stopper: &Stopper, seen: &AtomicU64) {
        if seen.fetch_add(1, AcqRel) == 2 {
            stopper.cancel();
        }
    }
    type Build = for<'a> fn(&mut Graph<'a>, &'a Stopper, &'a AtomicU64);
    // All of them before anything is known of what follows.
    fn at_once(graph: &mut Graph<'_>) -> Source<u64> {
        graph.poll_source(|out: &mut Output<u64>| {
            (0..1000).for_each(|number| out.push(number));
            Flow::Done
        })
    }
    let kinds: [(&str, Build); 6] = [
        ("sink", |graph, stopper, seen| {
            let sink = graph.sink(move |_: u64| third(stopper, seen));
            let numbers = at_once(graph);
            *graph += numbers >> sink;
        }),
        ("sequential", |graph, stopper, seen| {
            let kernel = graph.sequential(move |x: u64, out: &mut Output<u64>| {
                third(stopper, seen);
                out.push(x);
            });
            let (numbers, sink) = (at_once(graph), graph.sink(|_| ()));
            *graph += numbers >> kernel >> sink;
        }),
        ("in place", |graph, stopper, seen| {
            let kernel = graph.update(move |_: &mut u64| third(stopper, seen));
            let (numbers, sink) = (at_once(graph), graph.sink(|_| ()));
            *graph += numbers >> kernel >> sink;
        }),
        ("one for one", |graph, stopper, seen| {
            let kernel = graph.map(move |x: u64| {
                third(stopper, seen);
                [x; 2]
            });
            let (numbers, sink) = (at_once(graph), graph.sink(|_| ()));
            *graph += numbers >> kernel >> sink;
        }),
        ("window", |graph, stopper, seen| {
            let kernel = graph.window(1, 1, move |_: &[u64], out: &mut Output<u64>| {
                third(stopper, seen);
                out.push(0);
            });
            let (numbers, sink) = (at_once(graph), graph.sink(|_| ()));
            *graph += numbers >> kernel >> sink;
        }),
        ("parallel sink", |graph, stopper, seen| {
            let sink = graph.parallel_sink(move |_: u64| third(stopper, seen));
            let numbers = at_once(graph);
            *graph += numbers >> sink;
        }),
    ];
    for (kind, build) in kinds {
        let seen = AtomicU64::new(0);
        // Declared before the graph, which may borrow it then; it is the graph's own.
        let stopper = OnceLock::new();
        let mut graph = Graph::new();
        let stopper = stopper.get_or_init(|| graph.stopper());
        build(&mut graph, stopper, &seen);
        assert_eq!(graph.run(Scheme::default().workers(1)).unwrap().end, End::Cancelled, "{kind}");
        drop(graph);
        assert_eq!(seen.load(Acquire), 3, "{kind}");
    }
}

#[test]
fn a_run_stops_although_somebody_goes_on_pushing() {
    for workers in [1, 2] {
        within(SOON, move || {
            let (seen, over) = (AtomicU64::new(0), AtomicBool::new(false));
            let mut graph = Graph::new();
            let (numbers, inlet) = graph.inlet(64).unwrap();
            let sink = graph.sink(|_: u64| {
                seen.fetch_add(1, AcqRel);
            });
            graph += numbers >> sink;
            let over = &over;
            let report = thread::scope(|scope| {
                scope.spawn(move || {
                    while !over.load(Acquire) {
                        let _ = inlet.try_push(1);
                    }
                });
                let report = disturb(&mut graph, Scheme::default().workers(workers), &seen, Stopper::stop);
                over.store(true, Release);
                report
            });
            assert_eq!(report.end, End::Stopped);
        });
    }
}

/// What a kernel gives once in a long while arrives although there is always more for it to do. By the fuzzer's clock, by which the kernel is fast:
/// one that is slow hands on what it gave at once.
#[test]
fn a_rare_result_is_not_held_back() {
    const MESSAGES: usize = 20_000;
    Fuzz::new().seeds(0..1).stack_bytes(1 << 20).steps(10_000_000).run(|| {
        let (searched, found) = (AtomicU64::new(0), AtomicU64::new(0));
        let mut graph = Graph::new();
        let mut all = Some(0..MESSAGES);
        let numbers = graph.poll_source(move |out: &mut Output<usize>| {
            all.take().into_iter().flatten().for_each(|x| out.push(x));
            Flow::Done
        });
        let find = graph.sequential(|x: usize, out: &mut Output<usize>| {
            searched.fetch_add(1, Relaxed);
            if x == 500 {
                out.push(x);
            }
        });
        let sink = graph.sink(|_: usize| found.store(searched.load(Relaxed), Relaxed));
        graph += numbers.fixed(MESSAGES) >> find >> sink;
        graph.run(Scheme::default().workers(1)).unwrap();
        drop(graph);
        // Four activations of eight blocks of sixteen.
        let found = found.into_inner();
        assert!((500..2000).contains(&found), "arrived after {found} messages");
    });
}

/// A chain whose source gives nothing, however long it is asked.
#[derive(Clone, Copy, Debug)]
enum Nothing {
    Filter,
    FlatMap,
    ForEach,
}

#[test]
fn a_chain_that_lets_nothing_through_ends() {
    for nothing in [Nothing::Filter, Nothing::FlatMap, Nothing::ForEach] {
        for (index, name) in Scheme::names().enumerate() {
            let scheme = Scheme::named(name).unwrap().workers(index % 3 + 1);
            for end in [End::Stopped, End::Cancelled] {
                within(SOON, move || {
                    let asked = Arc::new(AtomicU64::new(0));
                    let count = asked.clone();
                    let mut graph = Graph::new();
                    let chain = graph.stream(0_u64..).inspect(move |_| _ = count.fetch_add(1, AcqRel));
                    match nothing {
                        Nothing::Filter => chain.filter(|x| *x == u64::MAX).map(|x| x + 1).sink(|_| ()),
                        Nothing::FlatMap => chain.flat_map(|x| (x == u64::MAX).then_some(x)).sink(|_| ()),
                        Nothing::ForEach => chain.filter(|x| *x == u64::MAX).for_each(|_| ()),
                    }
                    let stopper = graph.stopper();
                    thread::spawn(move || {
                        while asked.load(Acquire) < 1000 {
                            thread::sleep(Duration::from_micros(200));
                        }
                        if end == End::Stopped { stopper.stop() } else { stopper.cancel() }
                    });
                    let report = graph.run(scheme).unwrap();
                    assert_eq!(report.end, end, "{nothing:?} under {scheme:?}");
                });
            }
        }
    }
}

/// However often it is stopped, and in the middle of what a message became: the chain gives what a plain loop gives.
#[test]
fn a_chain_that_is_stopped_goes_on_where_it_was() {
    for (index, name) in Scheme::names().enumerate() {
        let scheme = Scheme::named(name).unwrap().workers(index % 3 + 1);
        within(SOON, move || {
            let mut seen = Vec::new();
            let stop = Mutex::new(None::<Stopper>);
            let mut graph = Graph::new();
            *stop.lock().unwrap() = Some(graph.stopper());
            graph
                .stream(0..200_u64)
                .filter(|x| x % 3 > 0)
                .flat_map(|x| (0..x).filter(move |y| y % 7 == x % 7))
                .map(|x| x * 2)
                .inspect(|x| assert!(x % 2 == 0))
                .filter(|x| x % 5 > 0)
                .sink(|x| {
                    seen.push(x);
                    if x % 31 == 0 {
                        stop.lock().unwrap().as_ref().unwrap().stop();
                    }
                });
            let mut stops = 0;
            while graph.run(scheme).unwrap().end == End::Stopped {
                stops += 1;
            }
            drop(graph);
            let plain = (0..200_u64).filter(|x| x % 3 > 0).flat_map(|x| (0..x).filter(move |y| y % 7 == x % 7));
            assert!(seen.iter().copied().eq(plain.map(|x| x * 2).filter(|x| x % 5 > 0)), "{scheme:?}");
            assert!(stops > 0, "{scheme:?}");
        });
    }
}
