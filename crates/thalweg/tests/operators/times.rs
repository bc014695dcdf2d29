//! Time. Nothing here depends on how fast the machine is: periods are either nothing or for ever, or there is a bound on one side only.

use crate::common::{SOON, within};
use crate::{each_scheme, through};
use std::collections::BTreeMap;
use thalweg::operators::Skipped;
use thalweg::prelude::*;
use thalweg::{Error, Report};
use thalweg_sync::atomic::{AtomicU64, Ordering::*};
use thalweg_sync::sync::Arc;
use thalweg_sync::thread;
use thalweg_sync::time::{Duration, now};

pub(crate) const EVER: Duration = Duration::from_secs(24 * 3600);

#[test]
fn ticks_rise_and_do_not_come_early() {
    each_scheme(|scheme| {
        within(SOON, move || {
            let period = Duration::from_millis(1);
            let (mut ticks, begin) = (Vec::new(), now());
            let mut graph = Graph::new();
            let (source, some) = (graph.every(period), graph.take(5));
            let collect = graph.sink(|tick: u64| ticks.push((tick, begin.elapsed())));
            graph += source >> some >> collect;
            graph.run(scheme).unwrap();
            drop(graph);
            assert_eq!(ticks.len(), 5);
            assert!(ticks.is_sorted_by(|a, b| a.0 < b.0), "{ticks:?}");
            assert!(ticks.iter().all(|&(tick, at)| at >= period * tick as u32), "{ticks:?}");
        });
    });
}

/// Who says when it has something is not asked in between: a few times for each tick, where one that is asked after ever longer pauses would be asked for
/// each doubling of 20 us.
#[test]
fn ticks_are_asked_for_when_they_are_due() {
    each_scheme(|scheme| {
        within(SOON, move || {
            let mut graph = Graph::new();
            let ticks = graph.every(Duration::from_millis(20));
            graph.name(ticks, "ticks");
            let (three, sink) = (graph.take(3), graph.sink(|_: u64| ()));
            graph += ticks >> three >> sink;
            let report = graph.run(scheme).unwrap();
            let asked = report.kernel("ticks").unwrap().activations;
            assert!(asked <= 3 * 4, "{scheme:?}: asked {asked} times");
        });
    });
}

/// A kernel that waits for a day sees the end of its input at once, and a wish to stop.
#[test]
fn a_pause_ends_with_the_input() {
    each_scheme(|scheme| {
        within(SOON, move || {
            let mut graph = Graph::new();
            let (numbers, inlet) = graph.inlet(4).unwrap();
            let (end, all) = graph.collect();
            graph += numbers >> graph.debounce(EVER) >> end;
            let feed = thread::spawn(move || {
                inlet.push(1_u64).unwrap();
                thread::sleep(Duration::from_millis(20));
                inlet.push(2).unwrap();
                thread::sleep(Duration::from_millis(20));
            });
            graph.run(scheme).unwrap();
            feed.join().unwrap();
            assert_eq!(all.take(), [2], "{scheme:?}");

            let ticks = graph_of_ticks();
            let stopper = ticks.stopper();
            let stop = thread::spawn(move || {
                thread::sleep(Duration::from_millis(20));
                stopper.stop();
            });
            let mut ticks = ticks;
            assert_eq!(ticks.run(scheme).unwrap().end, thalweg::End::Stopped);
            stop.join().unwrap();
        });
    });
}

fn graph_of_ticks() -> Graph<'static> {
    let mut graph = Graph::new();
    graph += graph.every(EVER) >> graph.sink(|_| ());
    graph
}

#[test]
fn ticks_end_when_the_run_is_stopped() {
    within(SOON, || {
        let mut graph = Graph::new();
        let stopper = graph.stopper();
        let ticks = graph.every(Duration::from_millis(1));
        let sink = graph.sink(move |_| stopper.stop());
        graph += ticks >> sink;
        assert_eq!(graph.run(Scheme::default()).unwrap().end, thalweg::End::Stopped);
    });
}

#[test]
fn a_throttle_gives_all_in_order_and_not_too_fast() {
    each_scheme(|scheme| {
        let begin = now();
        let (seen, _) = through(scheme, 0..20_u64, |graph| graph.throttle(5, Duration::from_millis(2)));
        assert!(begin.elapsed() >= Duration::from_millis(6));
        assert!(seen.into_iter().eq(0..20));
        // What is enough for all of them does not wait.
        let (seen, _) = through(scheme, 0..1000_u64, |graph| graph.throttle(1000, EVER));
        assert!(seen.into_iter().eq(0..1000));
    });
}

#[test]
fn a_debounce_gives_the_last_of_those_that_follow_each_other() {
    each_scheme(|scheme| {
        let (seen, _) = through(scheme, 0..5000_u64, |graph| graph.debounce(EVER));
        assert_eq!(seen, [4999]);
        let (seen, _) = through(scheme, std::iter::empty::<u64>(), |graph| graph.debounce(EVER));
        assert_eq!(seen, []);
        let (seen, _) = through(scheme, 0..5000_u64, |graph| graph.debounce(Duration::ZERO));
        assert!(seen.is_sorted() && seen.last() == Some(&4999));
    });
}

fn until(is_so: impl Fn() -> bool) {
    while !is_so() {
        thread::sleep(Duration::from_micros(100));
    }
}

/// Pushes one after the other, each once the one before has come out at the other end.
fn one_by_one(scheme: Scheme, node: impl FnOnce(&mut Graph<'_>) -> Node<u64, u64> + Send + 'static) -> Report {
    within(SOON, move || {
        let came = Arc::new(AtomicU64::new(0));
        let seen = came.clone();
        let mut graph = Graph::new();
        let (numbers, inlet) = graph.inlet(8).unwrap();
        let node = node(&mut graph);
        let sink = graph.sink(move |x: u64| assert_eq!(came.fetch_add(1, AcqRel), x));
        graph += numbers >> node >> sink;
        let pusher = thread::spawn(move || {
            for x in 0..5 {
                inlet.push(x).unwrap();
                until(|| seen.load(Acquire) > x);
            }
        });
        let report = graph.run(scheme).unwrap();
        pusher.join().unwrap();
        report
    })
}

/// While the source stays open: what is held goes when its time has come, not with the end or the next message.
#[test]
fn what_is_held_goes_when_it_is_due() {
    each_scheme(|scheme| {
        one_by_one(scheme, |graph| graph.debounce(Duration::from_millis(1)));
        one_by_one(scheme, |graph| graph.throttle(1, Duration::from_millis(1)));
    });
}

#[test]
fn a_chunk_goes_when_it_is_due() {
    each_scheme(|scheme| {
        within(SOON, move || {
            let came = Arc::new(AtomicU64::new(0));
            let seen = came.clone();
            let mut graph = Graph::new();
            let (numbers, inlet) = graph.inlet(8).unwrap();
            let chunks = graph.chunks_within(100, Duration::from_millis(1));
            let sink = graph.sink(move |chunk: Vec<u64>| assert_eq!(chunk, [came.fetch_add(1, AcqRel)]));
            graph += numbers >> chunks >> sink;
            let pusher = thread::spawn(move || {
                for x in 0..5 {
                    inlet.push(x).unwrap();
                    until(|| seen.load(Acquire) > x);
                }
            });
            graph.run(scheme).unwrap();
            pusher.join().unwrap();
        });
    });
}

#[test]
fn chunks_within_for_ever_are_chunks() {
    for (count, length) in [(0, 3), (1000, 7), (5, 100)] {
        each_scheme(|scheme| {
            let (seen, _) = through(scheme, 0..count, move |graph| graph.chunks_within(length, EVER));
            let all: Vec<u64> = (0..count).collect();
            assert!(seen.iter().eq(all.chunks(length)), "{count} by {length}");
            let (seen, _) = through(scheme, 0..count, move |graph| graph.chunks_within(length, Duration::ZERO));
            assert!(seen.iter().all(|chunk| (1..=length).contains(&chunk.len())));
            assert!(seen.concat() == all);
        });
    }
}

/// Times that rise, with gaps, and some that fall back.
fn times() -> impl Iterator<Item = u64> {
    (0..3000_u64).map(|x| x / 3 + x / 500 * 100 - if x % 50 == 49 { (x / 3).min(30) } else { 0 })
}

#[test]
fn windows_by_time_have_what_belongs_to_them() {
    for width in [1, 10, 1000, u64::MAX] {
        let (mut windows, mut latest, mut late) = (BTreeMap::<u64, Vec<u64>>::new(), 0, 0);
        for time in times() {
            latest = latest.max(time / width);
            if time / width < latest {
                late += 1;
            } else {
                windows.entry(time / width * width).or_default().push(time);
            }
        }
        let windows: Vec<_> = windows.into_iter().collect();
        each_scheme(|scheme| {
            let skipped = Skipped::new();
            let handle = skipped.clone();
            let (seen, _) = through(scheme, times(), move |graph| graph.window_by_time(width, |&time| time, &handle));
            assert_eq!(seen, windows);
            assert_eq!(skipped.count(), late, "{width}");
        });
    }
}

#[test]
fn late_messages_may_end_the_run() {
    within(SOON, || {
        let mut graph = Graph::new();
        let source = graph.source([5, 17, 9, 20]);
        let windows = graph.window_by_time(10, |&time| time, &Skipped::at_most(0));
        let sink = graph.sink(drop::<(u64, Vec<u64>)>);
        graph += source >> windows >> sink;
        let Err(Error::Failed { failures, .. }) = graph.run(Scheme::default()) else { panic!("one is late") };
        let thalweg::Cause::Error(cause) = &failures[0].cause else { panic!("{failures:?}") };
        let late = cause.source().unwrap().to_string();
        assert_eq!(late, "a message of time 9, when the window from 10 was open");
    });
}

#[test]
fn a_deadline_tells_late_messages_apart() {
    for (limit, in_time) in [(EVER, 3000), (Duration::ZERO, 0)] {
        each_scheme(|scheme| {
            within(SOON, move || {
                let (mut shown, mut missed) = (Vec::new(), Vec::new());
                let mut graph = Graph::new();
                let frames = graph.source(0..3000_u64);
                let [fresh, stale] = graph.deadline(frames, limit);
                let show = graph.sink(|x| shown.push(x));
                let miss = graph.sink(|x| missed.push(x));
                graph += fresh.fixed(1) >> show;
                graph += stale >> miss;
                graph.run(scheme).unwrap();
                drop(graph);
                assert!(shown.into_iter().eq(0..in_time));
                assert!(missed.into_iter().eq(in_time..3000));
            });
        });
    }
}

#[test]
fn periods_and_amounts_of_nothing_are_refused() {
    let mut graph = Graph::new();
    let ticks = graph.every(Duration::ZERO);
    let nodes = [graph.throttle(0, EVER)];
    let chunks = graph.chunks_within(0, EVER);
    let windows = graph.window_by_time(0, |chunk: &Vec<u64>| chunk[0], &Skipped::new());
    let sink = graph.sink(drop::<(u64, Vec<Vec<u64>>)>);
    graph += ticks >> nodes[0] >> chunks >> windows >> sink;
    let error = graph.run(Scheme::default()).unwrap_err().to_string();
    for reason in ["no time in between", "0 messages in each period", "chunks of 0 messages", "windows of no width"] {
        assert!(error.contains(reason), "{reason}: {error}");
    }
}
