//! Inlets: messages from other threads arrive in their order, the last drop ends the stream, and nobody waits for room that never comes.

use crate::common::{Crew, Ledger, SOON, Token, toil, within};
use std::future::Future;
use thalweg::prelude::*;
use thalweg::{Closed, End, PushTimeoutError, TryPushError};
use thalweg_check::Fuzz;
use thalweg_sync::atomic::{AtomicU64, Ordering::*};
use thalweg_sync::sync::{Arc, Mutex};
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
        assert_eq!(inlet.push(5), Err(Closed(5)), "nobody would take it");
        graph.reopen();
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
        assert_eq!(inlet.push(9), Err(Closed(9)));
        graph.reopen();
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

/// How a run comes to its end while somebody pushes.
#[derive(Clone, Copy, Debug)]
enum Over {
    Stopped,
    Cancelled,
    Failed,
    /// What the messages go to takes no more of them, and the run goes on.
    HungUp,
}

/// Takes three messages.
struct Three(u32);

impl Kernel for Three {
    type Ports = In<u64>;
    fn ports(&mut self, bind: &mut Binder<'_>) -> In<u64> {
        bind.input("in")
    }
    fn run(&mut self, port: &In<u64>, io: &mut Io<'_>) -> Result<Flow, BoxError> {
        while self.0 < 3 && io.pop(*port).is_some() {
            self.0 += 1;
        }
        Ok(if self.0 == 3 { Flow::Done } else { Flow::More })
    }
}

/// The pushers are joined before the graph is dropped.
fn nobody_sleeps_under_a_run_that_is_over(over: Over, scheme: Scheme) {
    let mut graph = Graph::new();
    let (source, inlet) = graph.inlet::<u64>(4).unwrap();
    let pass = graph.parallel_map(|x: u64| x);
    if let Over::HungUp = over {
        let three = graph.add(Three(0));
        graph += source.fixed(1) >> pass >> three;
    } else {
        let stopper = graph.stopper();
        let sink = graph.sink(move |x: u64| {
            match over {
                Over::Stopped if x == 20 => stopper.stop(),
                Over::Cancelled if x == 20 => stopper.cancel(),
                _ => {}
            }
            if matches!(over, Over::Failed) && x == 20 { Err("twenty") } else { Ok(()) }
        });
        graph += source >> pass >> sink;
    }
    let push = move |inlet: &thalweg::Inlet<u64>| (0..).find(|&x| inlet.push(x) == Err(Closed(x))).unwrap();
    let pushers: Vec<_> = (0..2)
        .map(|_| {
            let inlet = inlet.clone();
            thread::spawn(move || push(&inlet))
        })
        .collect();
    let tasks: Vec<_> = (0..2)
        .map(|_| {
            let inlet = inlet.clone();
            thread::spawn(move || {
                futures_executor::block_on(async {
                    let mut x = 0;
                    while inlet.push_async(x).await.is_ok() {
                        x += 1;
                    }
                    x
                })
            })
        })
        .collect();
    // Another part of the graph keeps the run that hung up on them going until they are back.
    let (nothing, keeper) = graph.inlet::<u64>(4).unwrap();
    let sink = graph.sink(|_: u64| ());
    graph += nothing >> sink;
    let back = thread::spawn(move || {
        let keeper = matches!(over, Over::HungUp).then_some(keeper);
        pushers.into_iter().chain(tasks).for_each(|pusher| _ = pusher.join().unwrap());
        drop(keeper);
    });
    let result = graph.run(scheme);
    assert_eq!(result.is_err(), matches!(over, Over::Failed), "{over:?} under {scheme:?}");
    back.join().unwrap();
    assert!(inlet.is_closed());
    assert_eq!(inlet.try_push(1), Err(TryPushError::Closed(1)));
    assert_eq!(inlet.push_timeout(1, SOON), Err(PushTimeoutError::Closed(1)));
    let mut many = vec![1, 2];
    assert_eq!(inlet.push_many(&mut many), Err(Closed(())));
    assert_eq!(many, [1, 2]);
    drop(graph);
}

#[test]
fn who_waits_for_room_gets_the_message_back_when_the_run_is_over() {
    for over in [Over::Stopped, Over::Cancelled, Over::Failed, Over::HungUp] {
        for scheme in schemes() {
            within(SOON, move || nobody_sleeps_under_a_run_that_is_over(over, scheme));
        }
    }
}

/// The graph's own kernel may wait for room that the graph will not make any more.
#[test]
fn a_cancelled_run_does_not_wait_for_its_own_kernel_to_push() {
    within(SOON, || {
        let mut graph = Graph::new();
        let (source, inlet) = graph.inlet::<u64>(2).unwrap();
        let stopper = graph.stopper();
        let again = inlet.clone();
        let sink = graph.sink(move |x: u64| {
            if x == 1 {
                let stopper = stopper.clone();
                thread::spawn(move || {
                    thread::sleep(Duration::from_millis(5));
                    stopper.cancel();
                });
            }
            (0..10).for_each(|y| _ = again.push(x + y));
        });
        graph += source.fixed(1) >> sink;
        inlet.push(1).unwrap();
        assert_eq!(graph.run(Scheme::default().workers(1)).unwrap().end, End::Cancelled);
    });
}

#[test]
fn a_feed_that_fails_fails_the_run_after_what_it_pushed() {
    for scheme in schemes() {
        within(SOON, move || {
            let mut graph = Graph::new();
            let (source, inlet) = graph.inlet::<u64>(16).unwrap();
            graph.name(source, "numbers");
            let sink = graph.sink(|_: u64| ());
            graph += source >> sink;
            let endless = inlet.clone();
            let pusher = thread::spawn(move || while endless.push(0).is_ok() {});
            let feed = thread::spawn(move || {
                inlet.push(1).unwrap();
                inlet.fail("no more disk");
            });
            let error = graph.run(scheme).unwrap_err();
            assert!(error.to_string().contains("kernel numbers"), "{error}");
            assert!(format!("{error:#}").contains("no more disk"), "{error}");
            feed.join().unwrap();
            pusher.join().unwrap();
            // It belonged to the run that it failed.
            graph.stopper().stop();
            assert_eq!(graph.run(scheme).unwrap().end, End::Stopped);
        });
    }
}

#[test]
fn a_feed_that_panics_is_no_whole_stream() {
    within(SOON, || {
        let mut graph = Graph::new();
        let (source, inlet) = graph.inlet::<u64>(16).unwrap();
        let sink = graph.sink(|_: u64| ());
        graph += source >> sink;
        let feed = thread::spawn(move || {
            inlet.push(1).unwrap();
            panic!("the feed");
        });
        let error = graph.run(Scheme::default()).unwrap_err();
        assert!(format!("{error:#}").contains("a thread that fed it panicked"), "{error}");
        assert!(feed.join().is_err());
    });
}

/// A failure that comes when the run is over does not fail the next one.
#[test]
fn a_feed_that_is_told_that_the_run_is_over_may_fail() {
    within(SOON, || {
        let mut graph = Graph::new();
        let (source, inlet) = graph.inlet::<u64>(16).unwrap();
        let sink = graph.sink(|_: u64| ());
        graph += source >> sink;
        graph.stopper().stop();
        graph.run(Scheme::default()).unwrap();
        let other = inlet.clone();
        assert!(thread::spawn(move || other.push(1).unwrap()).join().is_err());
        if let Err(closed) = inlet.push(1) {
            inlet.fail(closed.to_string());
        }
        assert_eq!(graph.run(Scheme::default()).unwrap().end, End::Complete);
    });
}

#[test]
fn a_push_that_is_given_up_has_its_message_and_leaves_the_line() {
    let mut seen = Vec::new();
    let mut graph = Graph::new();
    let (source, inlet) = graph.inlet::<u64>(2).unwrap();
    let sink = graph.sink(|x: u64| seen.push(x));
    graph += source >> sink;
    inlet.push_many(&mut vec![1, 2]).unwrap();
    assert_eq!(inlet.push_timeout(3, Duration::from_millis(1)), Err(PushTimeoutError::Timeout(3)));
    let mut many = vec![4, 5];
    assert_eq!(inlet.push_many_timeout(&mut many, Duration::from_millis(1)), Err(PushTimeoutError::Timeout(())));
    let mut pushing = inlet.push_async(6);
    let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
    assert!(std::pin::Pin::new(&mut pushing).poll(&mut cx).is_pending());
    assert_eq!(pushing.into_message(), Some(6));
    drop(inlet);
    graph.run(Scheme::default()).unwrap();
    drop(graph);
    assert_eq!((seen, many), (vec![1, 2], vec![4, 5]));
}

/// The next run goes on with the item that the iterator gave when the last one was over.
#[test]
fn a_blocking_source_goes_on_where_it_was() {
    for scheme in schemes() {
        within(SOON, move || {
            let mut seen = Vec::new();
            let stop = Mutex::new(None::<Stopper>);
            let mut graph = Graph::new();
            *stop.lock().unwrap() = Some(graph.stopper());
            let crew = Crew::gather();
            let numbers = graph.source_blocking(0..500_u64, 4).unwrap();
            let sink = graph.sink(|x: u64| {
                seen.push(x);
                if x % 100 == 50 {
                    stop.lock().unwrap().as_ref().unwrap().stop();
                }
            });
            graph += numbers >> sink;
            let mut runs = 1;
            while graph.run(scheme).unwrap().end == End::Stopped {
                runs += 1;
            }
            // At once, though the graph is there.
            crew.shrinks_to(1);
            drop(graph);
            assert!(runs > 1, "{scheme:?}");
            assert_eq!(seen, (0..500).collect::<Vec<_>>(), "{scheme:?}");
        });
    }
}
