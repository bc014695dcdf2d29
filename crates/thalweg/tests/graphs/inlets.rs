//! Inlets: messages from other threads arrive in their order, the last drop ends the stream, and nobody waits for room that never comes.

use crate::common::{Crew, Ledger, SOON, Token, toil, within};
use thalweg::prelude::*;
use thalweg::{Closed, End, TryPushError};
use thalweg_check::Fuzz;
use thalweg_sync::atomic::{AtomicU64, Ordering::*};
use thalweg_sync::sync::Arc;
use thalweg_sync::thread;
use thalweg_sync::time::Duration;

fn schemes() -> impl Iterator<Item = Scheme> {
    Scheme::names().enumerate().map(|(index, name)| Scheme::named(name).unwrap().workers(index % 3 + 1))
}

#[test]
fn the_last_drop_ends_the_stream() {
    for scheme in schemes() {
        within(SOON, move || {
            let mut seen: Vec<(u64, u64)> = Vec::new();
            let mut graph = Graph::new();
            let (source, inlet) = graph.inlet::<(u64, u64)>(4).unwrap();
            let sink = graph.sink(|message| seen.push(message));
            graph += source >> sink;
            let pushers: Vec<_> = (0..4_u64)
                .map(|pusher| {
                    let inlet = inlet.clone();
                    thread::spawn(move || (0..500).for_each(|x| inlet.push((pusher, x)).unwrap()))
                })
                .collect();
            drop(inlet);
            assert_eq!(graph.run(scheme).unwrap().end, End::Complete);
            pushers.into_iter().for_each(|pusher| pusher.join().unwrap());
            drop(graph);
            assert_eq!(seen.len(), 2000);
            for pusher in 0..4 {
                let theirs: Vec<_> = seen.iter().filter(|(of, _)| *of == pusher).map(|(_, x)| *x).collect();
                assert_eq!(theirs, (0..500).collect::<Vec<_>>(), "pusher {pusher} under {scheme:?}");
            }
        });
    }
}

#[test]
fn what_is_pushed_before_the_run_or_between_runs_arrives() {
    within(SOON, || {
        let mut seen = Vec::new();
        let mut graph = Graph::new();
        let (source, inlet) = graph.inlet::<u64>(16).unwrap();
        let sink = graph.sink(|x| seen.push(x));
        graph += source >> sink;
        (0..5).for_each(|x| inlet.push(x).unwrap());
        // A source from outside gives what has arrived before it stops.
        graph.stopper().stop();
        assert_eq!(graph.run(Scheme::default()).unwrap().end, End::Stopped);
        (5..10).for_each(|x| inlet.push(x).unwrap());
        drop(inlet);
        assert_eq!(graph.run(Scheme::default().workers(2)).unwrap().end, End::Complete);
        drop(graph);
        assert_eq!(seen, (0..10).collect::<Vec<_>>());
    });
}

#[test]
fn a_message_comes_back_when_the_graph_is_gone() {
    let mut graph = Graph::new();
    let (source, inlet) = graph.inlet::<String>(2).unwrap();
    let sink = graph.sink(drop::<String>);
    graph += source >> sink;
    inlet.push("one".to_owned()).unwrap();
    inlet.push("two".to_owned()).unwrap();
    assert_eq!(inlet.try_push("three".to_owned()), Err(TryPushError::Full("three".to_owned())));
    drop(graph);
    assert_eq!(inlet.push("four".to_owned()), Err(Closed("four".to_owned())));
    assert_eq!(inlet.try_push("five".to_owned()), Err(TryPushError::Closed("five".to_owned())));
}

#[test]
fn who_waits_for_room_goes_on_when_there_is_some() {
    for scheme in schemes() {
        within(SOON, move || {
            let crew = Crew::gather();
            let ledger = Ledger::new(10_000);
            let arrived = AtomicU64::new(0);
            let mut graph = Graph::new();
            let (source, inlet) = graph.inlet::<Token>(2).unwrap();
            // Slow, so that the pushers do wait.
            let sink = graph.sink(|_: Token| {
                toil(200);
                arrived.fetch_add(1, AcqRel);
            });
            graph += source.fixed(1) >> sink;
            for _ in 0..3 {
                let (inlet, ledger) = (inlet.clone(), ledger.clone());
                thread::spawn(move || (0..200).for_each(|x| inlet.push(Token::of(&ledger, x)).unwrap()));
            }
            drop(inlet);
            graph.run(scheme).unwrap();
            drop(graph);
            assert_eq!(arrived.load(Acquire), 600, "{scheme:?}");
            crew.shrinks_to(1);
            ledger.is_settled();
        });
    }
}

#[test]
fn who_waits_for_room_gets_the_message_back_when_the_graph_goes() {
    within(SOON, || {
        let crew = Crew::gather();
        let ledger = Ledger::new(100);
        let mut graph = Graph::new();
        let (source, inlet) = graph.inlet::<Token>(2).unwrap();
        let sink = graph.sink(drop::<Token>);
        graph += source >> sink;
        let refused = Arc::new(AtomicU64::new(0));
        for pusher in 0..4_u64 {
            let (inlet, ledger, refused) = (inlet.clone(), ledger.clone(), refused.clone());
            thread::spawn(move || {
                for x in 0..4 {
                    let number = pusher * 4 + x;
                    if let Err(Closed(token)) = inlet.push(Token::of(&ledger, number)) {
                        assert_eq!(token.value, number);
                        refused.fetch_add(1, AcqRel);
                    }
                }
            });
        }
        // Two are in the inlet, and every pusher is at its wits' end.
        thread::sleep(Duration::from_millis(30));
        assert_eq!(crew.size(), 5);
        drop(graph);
        crew.shrinks_to(1);
        assert_eq!(refused.load(Acquire), 14);
        drop(inlet);
        ledger.is_settled();
    });
}

#[test]
fn an_inlet_survives_its_graphs_failure() {
    within(SOON, || {
        let mut seen = Vec::new();
        let mut graph = Graph::new();
        let (source, inlet) = graph.inlet::<u64>(64).unwrap();
        let sink = graph.sink(|x| {
            seen.push(x);
            if x == 3 { Err("three") } else { Ok(()) }
        });
        graph += source >> sink;
        (0..4).for_each(|x| inlet.push(x).unwrap());
        assert!(graph.run(Scheme::default()).is_err());
        inlet.push(10).unwrap();
        drop(inlet);
        assert_eq!(graph.run(Scheme::default()).unwrap().end, End::Complete);
        drop(graph);
        assert_eq!(seen, [0, 1, 2, 3, 10]);
    });
}

/// What an inlet gives in its last activation is handed on, also if it is as much as one may give. By the fuzzer's clock every message is
/// cheap: an inlet that is slow hands on what it gave at once.
#[test]
fn nothing_stays_behind_in_an_inlet_that_is_kept() {
    Fuzz::new().seeds(0..1).stack_bytes(1 << 20).steps(100_000_000).run(|| {
        for count in 1..=400_u64 {
            let mut seen = 0;
            let mut graph = Graph::new();
            let stopper = graph.stopper();
            let (numbers, inlet) = graph.inlet(2048).unwrap();
            (0..count).for_each(|x| inlet.push(x).unwrap());
            let sink = graph.sink(move |_: u64| {
                seen += 1;
                if seen == count {
                    stopper.stop();
                }
            });
            graph += numbers >> sink;
            assert_eq!(graph.run(Scheme::named("one_shot").unwrap().workers(1)).unwrap().end, End::Stopped);
        }
    });
}
