//! Graphs among tasks and in pools: a run as a future, a source that is polled, and runs inside of other runtimes.

use crate::common::{Crew, SOON, within};
use futures_executor::block_on;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use thalweg::prelude::*;
use thalweg::{Cause, End, Error, Over};
use thalweg_check::Fuzz;
use thalweg_sync::atomic::{AtomicU64, Ordering::*};
use thalweg_sync::sync::{Arc, Mutex};
use thalweg_sync::thread;
use thalweg_sync::time::Duration;

fn schemes() -> impl Iterator<Item = Scheme> {
    Scheme::names().enumerate().map(|(index, name)| Scheme::named(name).unwrap().workers(index % 3 + 1))
}

/// Squares what comes in, for tasks on both sides, which take turns at an executor that may have a single thread.
async fn squares(scheme: Scheme) {
    let mut graph = Graph::new();
    let (numbers, inlet) = graph.inlet(4).unwrap();
    let square = graph.parallel_map(|x: u64| x * x);
    let (sink, outlet) = graph.outlet(4).unwrap();
    graph += numbers >> square >> sink;
    let feed = tokio::spawn(async move {
        for x in 0..500_u64 {
            inlet.push_async(x).await.unwrap();
        }
    });
    let reader = tokio::spawn(async move {
        let mut all = Vec::new();
        while let Ok(x) = outlet.pop_async().await {
            all.push(x);
        }
        (all, outlet.over())
    });
    let mut run = graph.run_async(scheme);
    assert_eq!((&mut run).await.unwrap().end, End::Complete);
    assert!(run.into_graph().is_some());
    feed.await.unwrap();
    let (all, over) = reader.await.unwrap();
    assert!(all.into_iter().eq((0..500).map(|x| x * x)), "{scheme:?}");
    assert_eq!(over, Some(Over::Complete));
}

#[test]
fn a_run_is_awaited_on_either_kind_of_runtime() {
    for scheme in schemes() {
        within(SOON, move || {
            tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(squares(scheme));
            let many = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
            many.block_on(async { tokio::spawn(squares(scheme)).await.unwrap() });
        });
    }
}

#[test]
fn a_run_that_is_awaited_gives_its_error_and_its_graph() {
    within(SOON, || {
        let mut graph = Graph::new();
        let numbers = graph.source_with(|| 0..10_u64);
        let fails = Arc::new(AtomicU64::new(1));
        let theirs = fails.clone();
        let sink = graph.sink(move |x: u64| if x == 5 && theirs.load(Acquire) > 0 { Err("five") } else { Ok(()) });
        graph += numbers >> sink;
        let mut run = graph.run_async(Scheme::default());
        let Err(Error::Failed { failures, .. }) = block_on(&mut run) else { panic!("it did not fail") };
        assert!(matches!(&failures[0].cause, Cause::Error(error) if error.to_string() == "five"));
        fails.store(0, Release);
        let again = run.into_graph().unwrap().run_async(Scheme::default());
        assert_eq!(block_on(again).unwrap().end, End::Complete);
    });
}

#[test]
fn a_run_that_is_not_awaited_any_more_is_cancelled() {
    for scheme in schemes() {
        within(SOON, move || {
            let crew = Crew::gather();
            let mut graph = Graph::new();
            let numbers = graph.source(0_u64..);
            let (sink, outlet) = graph.outlet(4).unwrap();
            graph += numbers.fixed(4) >> sink;
            let mut run = graph.run_async(scheme);
            let mut cx = Context::from_waker(Waker::noop());
            assert!(Pin::new(&mut run).poll(&mut cx).is_pending());
            assert_eq!(outlet.pop(), Ok(0));
            drop(run);
            while outlet.pop().is_ok() {}
            assert_eq!(outlet.over(), Some(Over::Cancelled), "{scheme:?}");
            // Its threads have gone, and the graph with them.
            crew.shrinks_to(1);
        });
    }
}

/// Numbers up to a limit, each some time after it was asked for, from a thread that wakes whoever asked.
struct Ticks {
    now: Arc<Mutex<(u64, u64, Option<Waker>)>>,
}

impl Ticks {
    fn new(limit: u64, pause: Duration) -> Self {
        let now = Arc::new(Mutex::new((0, 0, None::<Waker>)));
        let theirs = now.clone();
        thread::spawn(move || {
            for tick in 1..=limit {
                thread::sleep(pause);
                let waker = {
                    let mut now = theirs.lock().unwrap();
                    now.0 = tick;
                    now.2.take()
                };
                waker.into_iter().for_each(Waker::wake);
            }
        });
        Self { now }
    }

    fn poll_next(&self, limit: u64, cx: &mut Context<'_>) -> Poll<Option<u64>> {
        let mut now = self.now.lock().unwrap();
        if now.1 == limit {
            return Poll::Ready(None);
        }
        if now.1 < now.0 {
            now.1 += 1;
            return Poll::Ready(Some(now.1));
        }
        now.2 = Some(cx.waker().clone());
        Poll::Pending
    }
}

#[test]
fn a_source_that_is_polled_wakes_the_graph() {
    for scheme in schemes() {
        within(SOON, move || {
            let mut seen = Vec::new();
            let mut polls = 0;
            let ticks = Ticks::new(20, Duration::from_millis(2));
            let mut graph = Graph::new();
            let source = graph.source_polled(|cx: &mut Context<'_>| {
                polls += 1;
                ticks.poll_next(20, cx)
            });
            let pass = graph.parallel_map(|x: u64| x);
            let sink = graph.sink(|x: u64| seen.push(x));
            graph += source >> pass >> sink;
            assert_eq!(graph.run(scheme).unwrap().end, End::Complete);
            drop(graph);
            assert!(seen.into_iter().eq(1..=20), "{scheme:?}");
            // Twice for each, and twice for the end.
            assert!(polls <= 42, "{scheme:?}: polled {polls} times");
        });
    }
}

#[test]
fn a_source_that_is_polled_is_stopped_while_it_has_more_and_while_it_waits() {
    for (index, scheme) in schemes().enumerate() {
        within(SOON, move || {
            let mut graph = Graph::new();
            let mut next = 0_u64;
            let source = graph.source_polled(move |_: &mut Context<'_>| {
                next += 1;
                if index % 2 == 0 || next < 10 { Poll::Ready(Some(next)) } else { Poll::Pending }
            });
            let sink = graph.sink(|_: u64| ());
            graph += source >> sink;
            let stopper = graph.stopper();
            thread::spawn(move || {
                thread::sleep(Duration::from_millis(3));
                stopper.stop();
            });
            assert_eq!(graph.run(scheme).unwrap().end, End::Stopped, "{scheme:?}");
        });
    }
}

#[test]
fn a_source_that_is_polled_and_its_waker_meet_at_any_point() {
    for name in ["depth_first", "raft", "pw"] {
        Fuzz::new().seeds(0..300).threads(2).stack_bytes(1 << 20).run(|| {
            let mut seen = Vec::new();
            let ticks = Ticks::new(4, Duration::ZERO);
            let mut graph = Graph::new();
            let source = graph.source_polled(|cx: &mut Context<'_>| ticks.poll_next(4, cx));
            let sink = graph.sink(|x: u64| seen.push(x));
            graph += source.fixed(1) >> sink;
            assert_eq!(graph.run(Scheme::named(name).unwrap().workers(2)).unwrap().end, End::Complete);
            drop(graph);
            assert_eq!(seen, [1, 2, 3, 4]);
        });
    }
}

fn sum_of_squares(scheme: Scheme, limit: u64) -> u64 {
    let mut sum = 0;
    let mut graph = Graph::new();
    let numbers = graph.source(0..limit);
    let square = graph.parallel_map(|x: u64| x * x);
    let add = graph.sink(|x: u64| sum += x);
    graph += numbers >> square >> add;
    graph.run(scheme).unwrap();
    drop(graph);
    sum
}

#[test]
fn a_kernel_may_run_another_graph() {
    for scheme in schemes() {
        within(SOON, move || {
            let mut seen = Vec::new();
            let mut graph = Graph::new();
            let limits = graph.source(0..20_u64);
            let inner = graph.parallel_map(move |limit: u64| sum_of_squares(scheme, limit));
            let sink = graph.sink(|x: u64| seen.push(x));
            graph += limits >> inner >> sink;
            graph.run(scheme).unwrap();
            drop(graph);
            assert!(seen.into_iter().eq((0..20).map(|limit| (0..limit).map(|x| x * x).sum::<u64>())), "{scheme:?}");
        });
    }
}

#[test]
fn graphs_run_in_a_pool_whose_threads_their_kernels_use() {
    within(SOON, || {
        for threads in [1, 2] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            for scheme in schemes() {
                let sums = pool.install(|| {
                    let run = |limit| {
                        let mut sum = 0;
                        let mut graph = Graph::new();
                        let numbers = graph.source(0..limit);
                        // From a thread of the pool or not, this is work for the pool.
                        let split = graph.map(|x: u64| rayon::join(|| x, || x * 2));
                        let add = graph.sink(|(x, y): (u64, u64)| sum += x + y);
                        graph += numbers >> split >> add;
                        graph.run(scheme).unwrap();
                        drop(graph);
                        sum
                    };
                    rayon::join(|| run(50), || run(100))
                });
                assert_eq!(sums, (3 * (0..50).sum::<u64>(), 3 * (0..100).sum::<u64>()), "{scheme:?}");
            }
        }
    });
}

#[test]
fn a_source_that_is_polled_and_always_ready_gives_all_it_has() {
    for scheme in schemes() {
        within(SOON, move || {
            let (mut next, mut sum) = (0_u64, 0);
            let mut graph = Graph::new();
            let source = graph.source_polled(move |_: &mut Context<'_>| {
                next += 1;
                Poll::Ready((next <= 20_000).then_some(next))
            });
            let sink = graph.sink(|x: u64| sum += x);
            graph += source >> sink;
            assert_eq!(graph.run(scheme).unwrap().end, End::Complete);
            drop(graph);
            assert_eq!(sum, 200_010_000, "{scheme:?}");
        });
    }
}

/// A channel with room for `room` whose reader takes one each `pause`: what was taken, what waits, and who is woken when there is room.
struct Slow(Mutex<(Vec<u64>, usize, Option<Waker>)>);

impl Slow {
    fn new(room: usize, pause: Duration) -> Arc<Self> {
        let slow = Arc::new(Self(Mutex::new((Vec::new(), room, None))));
        let reader = Arc::downgrade(&slow);
        thread::spawn(move || {
            while let Some(slow) = reader.upgrade() {
                let waker = {
                    let mut now = slow.0.lock().unwrap();
                    now.1 += 1;
                    now.2.take()
                };
                waker.into_iter().for_each(Waker::wake);
                drop(slow);
                thread::sleep(pause);
            }
        });
        slow
    }

    fn poll(&self, cx: &mut Context<'_>, message: &mut Option<u64>) -> Poll<()> {
        let mut now = self.0.lock().unwrap();
        if now.1 == 0 {
            now.2 = Some(cx.waker().clone());
            return Poll::Pending;
        }
        now.1 -= 1;
        now.0.extend(message.take());
        Poll::Ready(())
    }
}

#[test]
fn a_sink_that_is_polled_wakes_the_graph_and_gets_every_message_once() {
    for scheme in schemes() {
        within(SOON, move || {
            let slow = Slow::new(2, Duration::from_millis(1));
            let mut polls = 0;
            let mut graph = Graph::new();
            let sink = graph.sink_polled(|cx: &mut Context<'_>, message: &mut Option<u64>| {
                polls += 1;
                slow.poll(cx, message)
            });
            graph += graph.source(0..30) >> graph.parallel_map(|x: u64| x) >> sink;
            assert_eq!(graph.run(scheme).unwrap().end, End::Complete);
            drop(graph);
            assert!(slow.0.lock().unwrap().0.iter().copied().eq(0..30), "{scheme:?}");
            // Once for each message that finds room, and once for each wait.
            assert!(polls <= 61, "{scheme:?}: polled {polls} times");
        });
    }
}

#[test]
fn a_polled_sink_without_room_does_not_keep_a_cancelled_run() {
    for scheme in schemes() {
        within(SOON, move || {
            let mut taken = Vec::new();
            let mut graph = Graph::new();
            let stopper = graph.stopper();
            let (mut room, took) = (3, &mut taken);
            let sink = graph.sink_polled(move |_: &mut Context<'_>, message: &mut Option<u64>| {
                if room == 0 {
                    let stopper = stopper.clone();
                    thread::spawn(move || stopper.cancel());
                    return Poll::Pending;
                }
                room -= 1;
                took.extend(message.take());
                Poll::Ready(())
            });
            graph += graph.source(0..1000) >> sink;
            assert_eq!(graph.run(scheme).unwrap().end, End::Cancelled);
            drop(graph);
            assert_eq!(taken, [0, 1, 2], "{scheme:?}");
        });
    }
}

#[test]
fn a_polled_sink_that_fails_ends_the_run_and_its_messages_are_dropped_once() {
    for scheme in schemes() {
        within(SOON, move || {
            let token = Arc::new(());
            let mut graph = Graph::new();
            let mut count = 0;
            let sink = graph.sink_polled(|_: &mut Context<'_>, message: &mut Option<Arc<()>>| {
                count += 1;
                if count > 5 {
                    return Poll::Ready(Err("the line is cut"));
                }
                message.take();
                Poll::Ready(Ok(()))
            });
            graph += graph.source(vec![token.clone(); 100]) >> sink;
            let error = graph.run(scheme).unwrap_err();
            assert!(format!("{error:#}").contains("the line is cut"), "{error}");
            drop(graph);
            assert_eq!(Arc::strong_count(&token), 1);
        });
    }
}
