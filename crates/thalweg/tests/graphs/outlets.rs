//! Outlets: messages reach threads and tasks outside in their order, readers see the end and why, and nobody waits for what never comes.

use crate::common::{Crew, Ledger, SOON, Token, within};
use futures_executor::block_on;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Waker};
use thalweg::prelude::*;
use thalweg::{End, Error, Outlet, Over};
use thalweg_check::Fuzz;
use thalweg_sync::atomic::{AtomicU64, Ordering::*};
use thalweg_sync::sync::{Arc, Mutex};
use thalweg_sync::thread;
use thalweg_sync::time::Duration;

fn schemes() -> impl Iterator<Item = Scheme> {
    Scheme::names().enumerate().map(|(index, name)| Scheme::named(name).unwrap().workers(index % 3 + 1))
}

/// Takes all that comes, and the end.
type Read = fn(&Outlet<u64>) -> (Vec<u64>, Over);

/// Every way to read.
const READERS: [Read; 7] = [
    |outlet| {
        let mut all = Vec::new();
        loop {
            match outlet.pop() {
                Ok(x) => all.push(x),
                Err(over) => return (all, over),
            }
        }
    },
    |outlet| (outlet.iter().collect(), outlet.over().unwrap()),
    |outlet| {
        let mut all = Vec::new();
        loop {
            if let Err(over) = outlet.pop_many(&mut all, 3) {
                return (all, over);
            }
        }
    },
    |outlet| {
        let mut all = Vec::new();
        loop {
            match outlet.pop_timeout(Duration::from_micros(100)) {
                Ok(message) => all.extend(message),
                Err(over) => return (all, over),
            }
        }
    },
    |outlet| {
        let mut all = Vec::new();
        loop {
            match outlet.try_pop_many(&mut all, 5) {
                Ok(0) => thread::sleep(Duration::from_micros(100)),
                Ok(_) => {}
                Err(over) => return (all, over),
            }
        }
    },
    |outlet| {
        block_on(async {
            let mut all = Vec::new();
            loop {
                match outlet.pop_async().await {
                    Ok(x) => all.push(x),
                    Err(over) => return (all, over),
                }
            }
        })
    },
    |outlet| {
        block_on(async {
            let mut all = Vec::new();
            loop {
                if let Err(over) = outlet.pop_many_async(&mut all, 4).await {
                    return (all, over);
                }
            }
        })
    },
];

#[test]
fn every_way_to_read_gives_the_whole_stream_in_order() {
    for scheme in schemes() {
        for read in READERS {
            within(SOON, move || {
                let mut graph = Graph::new();
                let numbers = graph.source(0..1000_u64);
                let double = graph.parallel_map(|x: u64| x * 2);
                let (sink, outlet) = graph.outlet(8).unwrap();
                graph += numbers >> double >> sink;
                let reader = thread::spawn(move || read(&outlet));
                assert_eq!(graph.run(scheme).unwrap().end, End::Complete);
                let (all, over) = reader.join().unwrap();
                assert!(all.into_iter().eq((0..1000).map(|x| x * 2)), "{scheme:?}");
                assert_eq!(over, Over::Complete, "{scheme:?}");
            });
        }
    }
}

/// A reader that has made room is about to ring for the kernel. Between the two all workers may be asleep, and the run is not one that cannot go on.
#[test]
fn a_run_waits_for_a_reader_that_is_about_to_ring() {
    for scheme in ["depth_first", "raft", "pw"] {
        Fuzz::new().seeds(0..1500).threads(2).stack_bytes(1 << 20).run(|| {
            let mut graph = Graph::new();
            let (sink, outlet) = graph.outlet(1).unwrap();
            graph += graph.source(0..4_u64) >> sink;
            let reader = thread::spawn(move || outlet.iter().sum::<u64>());
            assert_eq!(graph.run(Scheme::named(scheme).unwrap().workers(1)).unwrap().end, End::Complete);
            assert_eq!(reader.join().unwrap(), 6);
        });
    }
}

#[test]
fn each_message_goes_to_one_of_several_readers() {
    for scheme in schemes() {
        within(SOON, move || {
            let ledger = Ledger::new(1000);
            let theirs = ledger.clone();
            let mut graph = Graph::new();
            let tokens = graph.source((0..1000).map(move |x| Token::of(&theirs, x)));
            let (sink, outlet) = graph.outlet(4).unwrap();
            graph += tokens >> sink;
            let readers: Vec<_> = (0..3)
                .map(|_| {
                    let outlet = outlet.clone();
                    thread::spawn(move || outlet.iter().map(|token| token.value).collect::<Vec<_>>())
                })
                .collect();
            drop(outlet);
            graph.run(scheme).unwrap();
            let parts: Vec<_> = readers.into_iter().map(|reader| reader.join().unwrap()).collect();
            assert!(parts.iter().all(|part| part.is_sorted()), "{scheme:?}");
            let mut all = parts.concat();
            all.sort_unstable();
            assert!(all.into_iter().eq(0..1000), "{scheme:?}");
            drop(graph);
            ledger.is_settled();
        });
    }
}

#[test]
fn an_outlet_that_nobody_reads_holds_the_source_back() {
    for scheme in schemes() {
        within(SOON, move || {
            let given = Arc::new(AtomicU64::new(0));
            let count = given.clone();
            let mut graph = Graph::new();
            let numbers = graph.source((0..).inspect(move |_: &u64| _ = count.fetch_add(1, AcqRel)));
            let (sink, outlet) = graph.outlet(8).unwrap();
            graph += numbers.fixed(8) >> sink;
            let stopper = graph.stopper();
            let reader = thread::spawn(move || {
                let mut taken = 0;
                for _ in 0..3 {
                    thread::sleep(Duration::from_millis(5));
                    // What the outlet, the edge and both hands hold.
                    assert!(given.load(Acquire) <= taken + 64, "{scheme:?}");
                    taken += (0..10).filter(|_| outlet.pop().is_ok()).count() as u64;
                }
                stopper.stop();
                let rest = outlet.iter().count() as u64;
                assert_eq!(outlet.over(), Some(Over::Stopped));
                (taken + rest, given.load(Acquire))
            });
            assert_eq!(graph.run(scheme).unwrap().end, End::Stopped, "{scheme:?}");
            let (taken, given) = reader.join().unwrap();
            assert_eq!(taken, given, "{scheme:?}");
        });
    }
}

/// A graph whose reader waits, the end that it comes to, and why.
fn end_of(scheme: Scheme, act: fn(&Stopper), fails: bool, expected: fn(&Over) -> bool) {
    let ledger = Ledger::new(100_000);
    let theirs = ledger.clone();
    let mut graph = Graph::new();
    let (tokens, inlet) = graph.inlet(16).unwrap();
    let check = graph.parallel(move |token: Token, out: &mut Output<Token>| {
        if fails && token.value == 4 {
            return Err("four");
        }
        out.push(token);
        Ok(())
    });
    let (sink, outlet) = graph.outlet::<Token>(16).unwrap();
    graph += tokens >> check >> sink;
    let stopper = graph.stopper();
    let readers: Vec<_> = (0..2)
        .map(|_| {
            let (outlet, stopper) = (outlet.clone(), stopper.clone());
            thread::spawn(move || {
                loop {
                    match outlet.pop() {
                        Ok(token) if token.value == 3 => act(&stopper),
                        Ok(_) => {}
                        Err(over) => return over,
                    }
                }
            })
        })
        .collect();
    // It stays open: only the act ends the run.
    (0..5).for_each(|x| _ = inlet.push(Token::of(&theirs, x)));
    assert_eq!(graph.run(scheme).is_err(), fails);
    for reader in readers {
        let over = reader.join().unwrap();
        assert!(expected(&over), "{over:?} under {scheme:?}");
    }
    // It is told again and again, and told to who comes late.
    assert!(expected(&outlet.pop().map(|_| ()).unwrap_err()));
    assert!(block_on(outlet.pop_async()).is_err());
    drop(graph);
    assert!(outlet.over().is_some_and(|over| expected(&over)));
    drop((inlet, outlet));
    ledger.is_settled();
}

#[test]
fn readers_see_the_end_of_the_run_and_why() {
    for scheme in schemes() {
        within(SOON, move || {
            end_of(scheme, Stopper::stop, false, |over| *over == Over::Stopped);
            end_of(scheme, Stopper::cancel, false, |over| *over == Over::Cancelled);
            end_of(scheme, |_| (), true, |over| matches!(over, Over::Failed(text) if text.contains("four")));
        });
    }
}

#[test]
fn a_stream_that_is_complete_ends_though_the_run_goes_on() {
    for scheme in schemes() {
        within(SOON, move || {
            let mut graph = Graph::new();
            let (short, first) = graph.outlet::<u64>(1).unwrap();
            let (long, second) = graph.outlet::<u64>(1).unwrap();
            let (numbers, more) = (graph.source(0..10), graph.source(0..100));
            graph += numbers >> short;
            graph += more >> long;
            // One after the other, so the second is full until the first has ended.
            let reader = thread::spawn(move || (first.iter().count(), first.over(), second.iter().count()));
            graph.run(scheme).unwrap();
            assert_eq!(reader.join().unwrap(), (10, Some(Over::Complete), 100), "{scheme:?}");
        });
    }
}

#[test]
fn readers_of_a_graph_that_never_runs_are_told_when_it_is_dropped() {
    within(SOON, || {
        let crew = Crew::gather();
        let mut graph = Graph::new();
        let numbers = graph.source(0..10_u64);
        let (sink, outlet) = graph.outlet(8).unwrap();
        graph += numbers >> sink;
        assert_eq!(outlet.try_pop(), Ok(None));
        let (other, third) = (outlet.clone(), outlet);
        let thread = thread::spawn(move || other.pop());
        let task = thread::spawn(move || block_on(third.pop_async()));
        thread::sleep(Duration::from_millis(10));
        assert_eq!(crew.size(), 3);
        drop(graph);
        assert_eq!(thread.join().unwrap(), Err(Over::Gone));
        assert_eq!(task.join().unwrap(), Err(Over::Gone));
    });
}

#[test]
fn a_stream_that_nobody_reads_any_more_is_given_up() {
    for scheme in schemes() {
        within(SOON, move || {
            let ledger = Ledger::new(1_000_000);
            let theirs = ledger.clone();
            let mut graph = Graph::new();
            let tokens = graph.source((0..).map(move |x| Token::of(&theirs, x)));
            let (sink, outlet) = graph.outlet(4).unwrap();
            graph += tokens.fixed(4) >> sink;
            let reader = thread::spawn(move || outlet.iter().take(10).map(|token| token.value).collect::<Vec<_>>());
            assert_eq!(graph.run(scheme).unwrap().end, End::Complete, "{scheme:?}");
            assert!(reader.join().unwrap().into_iter().eq(0..10));
            drop(graph);
            ledger.is_settled();
        });
    }
}

#[test]
fn the_next_run_goes_on_at_the_same_outlet() {
    for scheme in schemes() {
        within(SOON, move || {
            let mut graph = Graph::new();
            let numbers = graph.source_with(|| 0..3_u64);
            let (sink, outlet) = graph.outlet(16).unwrap();
            graph += numbers >> sink;
            for _ in 0..3 {
                graph.run(scheme).unwrap();
                assert_eq!(outlet.over(), Some(Over::Complete));
            }
            assert!(outlet.iter().eq([0, 1, 2, 0, 1, 2, 0, 1, 2]), "{scheme:?}");
            graph.reopen();
            let reader = thread::spawn(move || outlet.iter().collect::<Vec<_>>());
            thread::sleep(Duration::from_millis(2));
            graph.run(scheme).unwrap();
            assert_eq!(reader.join().unwrap(), [0, 1, 2], "{scheme:?}");
        });
    }
}

#[test]
fn a_pop_that_is_given_up_has_taken_nothing() {
    let mut graph = Graph::new();
    let numbers = graph.source(0..3_u64);
    let (sink, outlet) = graph.outlet(8).unwrap();
    graph += numbers >> sink;
    let mut cx = Context::from_waker(Waker::noop());
    let mut popping = outlet.pop_async();
    assert!(Pin::new(&mut popping).poll(&mut cx).is_pending());
    assert_eq!(outlet.pop_timeout(Duration::from_millis(1)), Ok(None));
    let mut all = Vec::new();
    assert_eq!(outlet.pop_many_timeout(&mut all, 9, Duration::from_millis(1)), Ok(0));
    graph.run(Scheme::default()).unwrap();
    // It was woken for the first message, and leaves it to the next in line.
    drop(popping);
    assert_eq!(outlet.pop_many_timeout(&mut all, 9, Duration::from_millis(1)), Ok(3));
    assert_eq!(all, [0, 1, 2]);
}

/// Who is outside does not count for a kernel that waits for input.
#[test]
fn a_run_that_cannot_go_on_is_found_beside_an_outlet() {
    for scheme in schemes() {
        within(SOON, move || {
            let mut graph = Graph::new();
            let numbers = graph.source(0..10_u64);
            let stuck = graph.add(Stuck);
            let (sink, outlet) = graph.outlet(8).unwrap();
            graph += numbers >> stuck.0;
            graph += stuck.1 >> sink;
            let error = graph.run(scheme).unwrap_err();
            assert!(matches!(error, Error::Stalled { .. }), "{error}");
            assert!(matches!(outlet.pop(), Err(Over::Failed(text)) if text.contains("cannot go on")), "{scheme:?}");
        });
    }
}

/// Takes nothing.
struct Stuck;

impl Kernel for Stuck {
    type Ports = (In<u64>, Out<u64>);
    fn ports(&mut self, bind: &mut Binder<'_>) -> Self::Ports {
        (bind.input("in"), bind.output("out"))
    }
    fn run(&mut self, (input, _): &Self::Ports, io: &mut Io<'_>) -> Result<Flow, BoxError> {
        io.has(*input, 1);
        Ok(Flow::More)
    }
}

/// Readers and the kernel wake each other at any point, and the end reaches readers that wait.
#[test]
fn an_outlet_and_its_readers_wake_each_other() {
    for (name, capacity) in [("depth_first", 1), ("raft", 1), ("pw", 2), ("one_shot", 4)] {
        Fuzz::new().seeds(0..400).threads(2).stack_bytes(1 << 20).run(|| {
            let seen = Mutex::new(Vec::new());
            let mut graph = Graph::new();
            let numbers = graph.source(0..7_u64);
            let (sink, outlet) = graph.outlet(capacity).unwrap();
            graph += numbers.fixed(1) >> sink;
            let (first, second) = (outlet.clone(), outlet);
            thread::scope(|scope| {
                scope.spawn(|| first.iter().for_each(|x| seen.lock().unwrap().push(x)));
                scope.spawn(|| {
                    let mut many = Vec::new();
                    while second.pop_many(&mut many, 2).is_ok() {
                        seen.lock().unwrap().append(&mut many);
                    }
                });
                graph.run(Scheme::named(name).unwrap().workers(2)).unwrap();
            });
            let mut seen = seen.lock().unwrap();
            seen.sort_unstable();
            assert!(seen.iter().copied().eq(0..7), "{seen:?}");
        });
    }
}

#[test]
fn readers_and_the_end_of_a_run_meet_at_any_point() {
    for (name, cancels) in [("depth_first", true), ("depth_first", false), ("raft", true), ("raft", false)] {
        Fuzz::new().seeds(0..100).threads(2).stack_bytes(1 << 20).steps(3_000_000).run(|| {
            let ledger = Ledger::new(20_000);
            let mut graph = Graph::new();
            let tokens = graph.source((0..).map(|x| Token::of(&ledger, x)));
            let (sink, outlet) = graph.outlet(1).unwrap();
            graph += tokens.fixed(1) >> sink;
            let stopper = graph.stopper();
            thread::scope(|scope| {
                scope.spawn(|| {
                    let count = outlet.iter().zip(0..).filter(|(token, x)| token.value == *x).count() as u64;
                    assert!(cancels || count == ledger.made() as u64, "{count}");
                    let over = if cancels { Over::Cancelled } else { Over::Stopped };
                    assert_eq!(outlet.over(), Some(over));
                });
                scope.spawn(move || if cancels { stopper.cancel() } else { stopper.stop() });
                graph.run(Scheme::named(name).unwrap().workers(2)).unwrap();
            });
            drop(graph);
            ledger.is_settled();
        });
    }
}
