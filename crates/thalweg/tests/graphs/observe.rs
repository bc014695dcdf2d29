//! A run seen from another thread: while it goes on, when it is over, when it fails or is cancelled, and again.

use crate::common::{SOON, within};
use thalweg::observe::{Did, Doing, Kind, WorkerState};
use thalweg::prelude::*;
use thalweg::{End, Error, Observer, Snapshot};
use thalweg_check::Fuzz;
use thalweg_sync::atomic::{AtomicBool, Ordering::*};
use thalweg_sync::sync::Arc;
use thalweg_sync::{spin, thread};

/// numbers >> thirds >> pass >> sink: a parallel kernel, a window, capacities.
fn graph() -> Graph<'static> {
    let mut graph = Graph::new();
    let numbers = graph.source_with(|| 0..3000_u64);
    let thirds = graph.parallel(|x: u64, out: &mut Output<u64>| (0..x % 3).for_each(|_| out.push(x)));
    let pass = graph.window(4, 2, |window: &[u64], out: &mut Output<u64>| out.push(window[0]));
    let sink = graph.sink(drop::<u64>);
    graph.name(thirds, "a \"quoted\"\nname");
    graph += numbers.capacity(32, 256) >> thirds * 2 >> pass >> sink;
    graph
}

/// The last snapshot has the numbers of the report.
fn same(snapshot: &Snapshot, report: &Report) {
    assert_eq!((snapshot.end, snapshot.scheme.as_str()), (Some(report.end), report.scheme));
    assert_eq!((snapshot.time, snapshot.dropped), (report.wall, report.dropped));
    assert_eq!((snapshot.workers.len(), snapshot.kernels.len()), (report.workers, report.kernels.len()));
    for (seen, told) in snapshot.kernels.iter().zip(&report.kernels) {
        assert_eq!((&seen.name, seen.kind == Kind::Parallel), (&told.name, told.parallel));
        assert_eq!(
            (seen.activations, seen.busy, seen.helps),
            (told.activations, told.busy, told.helps),
            "{}",
            seen.name
        );
        assert_eq!((seen.messages_in, seen.messages_out), (told.messages_in, told.messages_out), "{}", seen.name);
        assert_eq!((seen.blocked_empty, seen.blocked_full), (told.blocked_empty, told.blocked_full), "{}", seen.name);
        assert_eq!((seen.blocked_ticket, seen.blocked_busy), (told.blocked_ticket, told.blocked_busy), "{}", seen.name);
        assert_eq!(seen.workers, 0, "{}", seen.name);
    }
    assert_eq!(snapshot.edges.len(), report.edges.len());
    for (seen, told) in snapshot.edges.iter().zip(&report.edges) {
        assert_eq!((seen.ends, seen.storage.as_str()), (told.ends, told.storage));
        assert_eq!((seen.messages, seen.grown, seen.peak), (told.messages, told.grown, told.peak));
        assert_eq!((seen.blocked_empty, seen.blocked_full), (told.blocked_empty, told.blocked_full));
    }
    let sum = |count: fn(&thalweg::observe::WorkerSnapshot) -> u64| snapshot.workers.iter().map(count).sum::<u64>();
    let sums = (sum(|worker| worker.polls), sum(|worker| worker.yields), sum(|worker| worker.sleeps));
    assert_eq!(sums, (report.polls, report.yields, report.sleeps));
    assert!(snapshot.workers.iter().all(|worker| worker.state == WorkerState::Off), "{:?}", snapshot.workers);
}

#[test]
fn the_last_snapshot_equals_the_report_and_survives_the_graph() {
    for scheme in Scheme::names() {
        let mut graph = graph();
        let observer = graph.observe();
        assert_eq!(observer.snapshot(), None, "{scheme}");
        for run in 1..=2 {
            let report = graph.run(Scheme::named(scheme).unwrap().workers(2)).unwrap();
            let last = observer.snapshot().unwrap();
            assert_eq!(last.run, run, "{scheme}");
            same(&last, &report);
            assert!(last.kernels.iter().all(|kernel| kernel.doing == Doing::Done), "{scheme}");
            assert_eq!(last.kernel("a \"quoted\"\nname").unwrap().messages_in, 3000);
        }
        let last = observer.snapshot();
        drop(graph);
        assert_eq!(observer.snapshot(), last, "{scheme}");
    }
}

#[test]
fn a_run_that_fails_is_cancelled_or_refused_has_a_last_snapshot_too() {
    let mut graph = Graph::new();
    let numbers = graph.source_with(|| 0..1000_u64);
    let fails = graph.try_sink_at(900);
    graph += numbers >> fails;
    let observer = graph.observe();
    let Err(Error::Failed { report, .. }) = graph.run(Scheme::default()) else { panic!("it fails") };
    same(&observer.snapshot().unwrap(), &report);
    assert_eq!(report.end, End::Cancelled);
    graph.stopper().cancel();
    let report = graph.run(Scheme::default()).unwrap();
    let cancelled = observer.snapshot().unwrap();
    same(&cancelled, &report);
    assert_eq!(cancelled.run, 2);
    // Refused: nothing ran.
    let unconnected = graph.map(|x: u64| x);
    graph += graph.source(0..1_u64) >> unconnected;
    assert!(matches!(graph.run(Scheme::default()), Err(Error::Refused(_))));
    assert_eq!(observer.snapshot(), Some(cancelled));
}

trait TrySink {
    fn try_sink_at(&self, bad: u64) -> thalweg::Sink<u64>;
}

impl TrySink for Graph<'_> {
    fn try_sink_at(&self, bad: u64) -> thalweg::Sink<u64> {
        self.sink(move |x: u64| if x < bad { Ok(()) } else { Err("too large") })
    }
}

/// No counter of `now` is behind that of `then`.
fn forwards(then: &Snapshot, now: &Snapshot) {
    assert!(now.time >= then.time && now.run == then.run);
    for (then, now) in then.kernels.iter().zip(&now.kernels) {
        assert!(now.messages_in >= then.messages_in && now.messages_out >= then.messages_out, "{then:?} {now:?}");
        assert!(now.activations >= then.activations && now.busy >= then.busy, "{then:?} {now:?}");
        assert!(now.blocked_empty >= then.blocked_empty && now.blocked_full >= then.blocked_full, "{then:?} {now:?}");
        assert!(then.doing != Doing::Done || now.doing == Doing::Done, "{then:?} {now:?}");
    }
    for (then, now) in then.edges.iter().zip(&now.edges) {
        assert!(now.messages >= then.messages && now.grown >= then.grown, "{then:?} {now:?}");
        assert!((0.0..=1.0).contains(&now.fill), "{now:?}");
    }
    for (then, now) in then.workers.iter().zip(&now.workers) {
        assert!(now.idle >= then.idle && now.polls >= then.polls && now.sleeps >= then.sleeps);
    }
    let rates = now.since(then);
    for kernel in &rates.kernels {
        let parts = [kernel.busy, kernel.empty, kernel.full, kernel.ticket, kernel.pending, kernel.ready];
        assert!(parts.iter().all(|part| *part >= 0.0), "{kernel:?}");
        assert!(parts[1..].iter().sum::<f64>() <= 1000.1, "{kernel:?}");
    }
}

/// Looks until the run is over; how many snapshots there were of it.
fn look_until_the_end(observer: &Observer) -> usize {
    let (mut last, mut count): (Option<Snapshot>, usize) = (None, 0);
    loop {
        let Some(now) = observer.snapshot() else {
            thread::yield_now();
            continue;
        };
        assert_eq!(Snapshot::from_json(&now.to_json()).unwrap().to_json(), now.to_json());
        if let Some(then) = &last {
            forwards(then, &now);
        }
        count += 1;
        if now.end.is_some() {
            return count;
        }
        last = Some(now);
        thread::yield_now();
    }
}

#[test]
fn messages_never_go_backwards_while_it_runs() {
    for scheme in Scheme::names() {
        within(SOON, move || {
            let mut graph = Graph::new();
            let numbers = graph.source(0..20_000_u64);
            let work = graph.parallel_map(|x: u64| x ^ 1);
            graph += numbers.capacity(64, 512) >> work * 2 >> graph.sink(drop::<u64>);
            let observer = graph.observe();
            // Two that look at once, and one that never does.
            let others = [observer.clone(), observer.clone()];
            let looking = others.map(|observer| thread::spawn(move || look_until_the_end(&observer)));
            let report = graph.run(Scheme::named(scheme).unwrap().workers(2)).unwrap();
            for looking in looking {
                assert!(looking.join().unwrap() > 0);
            }
            same(&observer.snapshot().unwrap(), &report);
        });
    }
}

/// What is seen of a run in which the sink waits until somebody has seen it wait.
#[test]
fn a_kernel_that_is_long_in_its_code_is_seen_there() {
    within(SOON, || {
        let seen = Arc::new(AtomicBool::new(false));
        let mut graph = Graph::new();
        let numbers = graph.source(0..40_u64);
        let wait = {
            let seen = seen.clone();
            graph.sink(move |_: u64| {
                spin::until(|| seen.load(Acquire).then_some(()));
            })
        };
        graph.name(wait, "wait");
        graph += numbers.fixed(8) >> wait;
        let observer = graph.observe();
        let looking = thread::spawn(move || {
            spin::until(|| {
                let now = observer.snapshot()?;
                let (kernel, edge) = (&now.kernels[1], &now.edges[0]);
                let there = kernel.doing == Doing::Runs && now.workers[0].state == WorkerState::Runs(1);
                // A block is counted as taken once it is in hand.
                let full = edge.messages > 0 && edge.most == Some(8);
                (there && full && kernel.workers == 1 && now.end.is_none()).then_some(())
            });
            seen.store(true, Release);
        });
        graph.run(Scheme::named("depth_first").unwrap().workers(1)).unwrap();
        looking.join().unwrap();
    });
}

/// Few looks, from the side, at whatever there is.
fn glance(observer: Observer) -> thread::JoinHandle<()> {
    thread::spawn(move || {
        let mut last: Option<Snapshot> = None;
        for _ in 0..3 {
            let now = observer.snapshot();
            if let (Some(then), Some(now)) = (&last, &now)
                && then.run == now.run
            {
                forwards(then, now);
            }
            last = now.or(last);
            thread::yield_now();
        }
    })
}

fn fuzz(seeds: u64) -> Fuzz {
    Fuzz::new().seeds(0..seeds).threads(4).stack_bytes(1 << 20)
}

#[test]
fn whoever_looks_disturbs_no_run_nor_its_end() {
    for name in Scheme::names() {
        fuzz(60).run(|| {
            let mut seen = Vec::new();
            let mut graph = Graph::new();
            let numbers = graph.source(0..4_u64);
            let double = graph.map(|x: u64| x * 2);
            let sink = graph.sink(|x: u64| seen.push(x));
            graph += numbers.fixed(1) >> double.fixed(1) >> sink;
            let looking = glance(graph.observe());
            graph.run(Scheme::named(name).unwrap().workers(2)).unwrap();
            drop(graph);
            looking.join().unwrap();
            assert_eq!(seen, [0, 2, 4, 6]);
        });
    }
}

#[test]
fn whoever_looks_sees_runs_fail_and_begin_again() {
    fuzz(300).run(|| {
        let mut graph = Graph::new();
        let numbers = graph.source_with(|| 0..3_u64);
        graph += numbers.fixed(1) >> graph.try_sink_at(2);
        let looking = glance(graph.observe());
        for _ in 0..2 {
            assert!(matches!(graph.run(Scheme::default().workers(2)), Err(Error::Failed { .. })));
        }
        drop(graph);
        looking.join().unwrap();
    });
}

#[test]
fn a_trace_has_every_activation_and_its_memory_is_bounded() {
    for scheme in Scheme::names() {
        let mut graph = graph();
        let tracer = graph.trace(1 << 20);
        assert_eq!(tracer.take(), None);
        let report = graph.run(Scheme::named(scheme).unwrap().workers(2)).unwrap();
        let trace = tracer.take().unwrap();
        assert_eq!((trace.lost, trace.workers, tracer.take()), (0, report.workers, None), "{scheme}");
        for (index, kernel) in report.kernels.iter().enumerate() {
            let count = |did: Did| trace.events.iter().filter(|event| event.did == did).count() as u64;
            assert_eq!(
                count(Did::Ran(index)) + count(Did::Helped(index)),
                kernel.activations,
                "{scheme}: {}",
                kernel.name
            );
            assert!(count(Did::Helped(index)) >= kernel.helps, "{scheme}: {}", kernel.name);
        }
        let grown: u64 = report.edges.iter().map(|edge| edge.grown).sum();
        let grew = trace.events.iter().filter(|event| matches!(event.did, Did::Grew(_))).count() as u64;
        assert_eq!(grew, grown, "{scheme}");
        assert!(trace.events.iter().all(|event| event.start + event.length <= report.wall), "{scheme}");
        // In the order in which they ended, worker by worker.
        let order = |event: &thalweg::observe::TraceEvent| (event.worker, event.start + event.length);
        assert!(trace.events.is_sorted_by_key(order), "{scheme}");
        let total = trace.events.len();
        let tracer = graph.trace(8);
        graph.run(Scheme::named(scheme).unwrap().workers(1)).unwrap();
        let short = tracer.take().unwrap();
        assert!(short.events.len() <= 8 * short.workers && short.lost > 0 && total > 8, "{scheme}");
    }
}

#[test]
fn a_trace_is_json_that_says_what_is_lost() {
    let mut graph = graph();
    let tracer = graph.trace(4);
    graph.run(Scheme::default().workers(1)).unwrap();
    let trace = tracer.take().unwrap();
    let json: serde_json::Value = serde_json::from_str(&trace.to_json()).unwrap();
    assert_eq!(json["otherData"]["lost_events"], trace.lost);
    let events = json["traceEvents"].as_array().unwrap();
    // The process and one worker have names.
    assert_eq!(events.len(), trace.events.len() + 2);
    assert_eq!(events[1]["args"]["name"], "worker 0");
    assert!(events[2..].iter().all(|event| event["ts"].is_number() && event["tid"] == 0));
}
