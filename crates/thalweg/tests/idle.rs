//! What happens when there is little to do: a trickle is handed on at once, idle workers sleep, and large messages stay where they are.

mod common;

use common::{SOON, toil, within};
use std::collections::HashSet;
use thalweg::prelude::*;
use thalweg_sync::atomic::{AtomicU64, Ordering::*};
use thalweg_sync::sync::{Arc, Mutex, MutexGuard, OnceLock};
use thalweg_sync::thread;
use thalweg_sync::time::{Duration, cpu_time_of_process, now};

/// One of these tests measures the whole process, so each has it for itself.
static QUIET: OnceLock<Mutex<()>> = OnceLock::new();

fn quiet() -> MutexGuard<'static, ()> {
    QUIET.get_or_init(Mutex::default).lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// What a message may take through three stages, five of twenty: others may meet a pause of the machine. Far above what it does take, and
/// far below for ever.
const AT_ONCE: Duration = Duration::from_millis(150);

/// Where a trickle comes from.
#[derive(Clone, Copy, Debug)]
enum Trickle {
    Inlet,
    Blocking,
    Poll,
}

/// Sends twenty messages, each after the one before has arrived, through three stages.
fn ping_pong(trickle: Trickle, scheme: Scheme) {
    let (asked, arrived) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let mut graph = Graph::new();
    let (theirs, over) = (asked.clone(), arrived.clone());
    let (source, inlet) = match trickle {
        Trickle::Inlet => {
            let (source, inlet) = graph.inlet::<u64>(8).unwrap();
            (source, Some(inlet))
        }
        Trickle::Blocking => {
            let mut given = 0;
            let numbers = std::iter::from_fn(move || {
                while theirs.load(Acquire) == given {
                    thread::sleep(Duration::from_micros(200));
                }
                given += 1;
                (given <= 20).then_some(given)
            });
            (graph.source_blocking(numbers, 8).unwrap(), None)
        }
        Trickle::Poll => {
            let mut given = 0;
            let source = graph.poll_source(move |out: &mut Output<u64>| {
                if theirs.load(Acquire) == given {
                    return Flow::Pending;
                }
                given += 1;
                if given > 20 {
                    return Flow::Done;
                }
                out.push(given);
                Flow::More
            });
            (source, None)
        }
    };
    let one = graph.map(|x: u64| x);
    let two = graph.parallel_map(|x: u64| x);
    let three = graph.sequential(|x, out: &mut Output<u64>| out.push(x));
    let sink = graph.sink(move |x: u64| over.store(x, Release));
    graph += source >> one >> two >> three >> sink;
    let asker = thread::spawn(move || {
        let mut times = Vec::new();
        for x in 1..=20 {
            let start = now();
            asked.store(x, Release);
            if let Some(inlet) = &inlet {
                inlet.push(x).unwrap();
            }
            while arrived.load(Acquire) < x {
                assert!(start.elapsed() < SOON / 2, "message {x} is held back");
                thread::sleep(Duration::from_micros(200));
            }
            times.push(start.elapsed());
        }
        asked.store(21, Release);
        times.sort_unstable();
        times[4]
    });
    graph.run(scheme).unwrap_or_else(|error| panic!("{error}"));
    let fifth = asker.join().unwrap();
    assert!(fifth < AT_ONCE, "{trickle:?} under {scheme:?}: a message took {fifth:?}");
}

#[test]
fn a_trickle_is_handed_on_at_once() {
    let _quiet = quiet();
    for trickle in [Trickle::Inlet, Trickle::Blocking, Trickle::Poll] {
        for (index, name) in Scheme::names().enumerate() {
            let scheme = Scheme::named(name).unwrap().workers(index % 3 + 1);
            println!("{trickle:?} {scheme:?}");
            within(SOON, move || ping_pong(trickle, scheme));
        }
    }
}

#[test]
fn an_idle_graph_uses_no_processor() {
    let _quiet = quiet();
    for name in Scheme::names() {
        within(SOON, move || {
            let mut graph = Graph::new();
            let (source, inlet) = graph.inlet::<u64>(8).unwrap();
            let one = graph.parallel_map(|x: u64| x);
            let sink = graph.sink(drop::<u64>);
            graph += source >> one >> sink;
            // Beside it one that is full, with a source that has more.
            let endless = graph.source(0_u64..);
            let (full, outlet) = graph.outlet::<u64>(8).unwrap();
            graph += endless.fixed(8) >> full;
            let watcher = thread::spawn(move || {
                inlet.push(1).unwrap();
                thread::sleep(Duration::from_millis(20));
                let used = || cpu_time_of_process().unwrap();
                // Once in twenty: the machine may be at other work, which makes everything cost more.
                let mut costs = (0..20).map(|_| {
                    let before = used();
                    thread::sleep(Duration::from_millis(100));
                    used() - before
                });
                let idle = costs.any(|cost| cost < Duration::from_millis(5));
                inlet.push(2).unwrap();
                // What leads to it ends with the outlet.
                drop(outlet);
                idle
            });
            graph.run(Scheme::named(name).unwrap().workers(4)).unwrap();
            assert!(watcher.join().unwrap(), "{name}: never less than 5 ms in 100 ms of idling");
        });
    }
}

#[test]
fn who_has_nothing_is_asked_ever_more_rarely() {
    const NOTHING: Duration = Duration::from_millis(300);
    let _quiet = quiet();
    for (index, name) in Scheme::names().enumerate() {
        within(SOON, move || {
            let (start, mut asked) = (now(), 0);
            let mut graph = Graph::new();
            let source = graph.poll_source(|_: &mut Output<u64>| {
                asked += 1;
                if start.elapsed() < NOTHING { Flow::Pending } else { Flow::Done }
            });
            let sink = graph.sink(drop::<u64>);
            graph += source >> sink;
            let report = graph.run(Scheme::named(name).unwrap().workers(index % 3 + 1)).unwrap();
            drop(graph);
            // Ten times in the first 20 ms, then each 10 ms.
            assert!(asked <= 60, "{name}: {asked} times");
            // Up to three workers, each until it is time to ask, or for a millisecond while another one is at it.
            assert!(report.sleeps <= 1500, "{name}: {report}");
        });
    }
}

#[test]
fn more_workers_than_cores_work() {
    let _quiet = quiet();
    for name in Scheme::names() {
        within(SOON, move || {
            let mut sum = 0;
            let mut graph = Graph::new();
            let numbers = graph.source(0..2000_u64);
            let work = graph.parallel_map(|x: u64| (toil(100), x).1);
            let sink = graph.sink(|x: u64| sum += x);
            graph += numbers >> work * 8 >> sink;
            graph.run(Scheme::named(name).unwrap().workers(8)).unwrap();
            drop(graph);
            assert_eq!(sum, 1999 * 1000, "{name}");
        });
    }
}

/// 64 KiB that know where they were at each stage.
struct Large {
    number: u64,
    places: Vec<usize>,
    _data: [u8; 64 << 10],
}

#[test]
fn large_messages_stay_where_they_are() {
    let _quiet = quiet();
    for workers in [1, 2] {
        within(SOON, move || {
            let note = |large: &mut Large| {
                let place = std::ptr::from_mut(large).addr();
                large.places.push(place);
            };
            let (seen, places) = (Mutex::new(0), Mutex::new(HashSet::new()));
            let mut graph = Graph::new();
            let numbers = (0..50).map(|number| Large { number, places: Vec::new(), _data: [0; 64 << 10] });
            let source = graph.source(numbers);
            // Three kernels: what makes two of them is the path that is taken up again. And two on many workers.
            let one = graph.from(source).update(note).path();
            let two = graph.from(one).update(note).path();
            let many = [graph.parallel_update(note), graph.parallel_update(note)];
            graph.from(two >> many[0] * 2 >> many[1]).update(note).sink(|large: Large| {
                let mut seen = seen.lock().unwrap();
                assert_eq!(large.number, *seen);
                *seen += 1;
                assert_eq!(large.places.len(), 5);
                let moved = large.places.windows(2).filter(|pair| pair[0] != pair[1]).count();
                assert_eq!(moved, 0, "message {} was copied {moved} times on the way", large.number);
                places.lock().unwrap().insert(large.places[0]);
            });
            graph.run(Scheme::default().workers(workers)).unwrap();
            drop(graph);
            assert_eq!(seen.into_inner().unwrap(), 50);
            // On a stack all would have been at one place.
            assert!(places.into_inner().unwrap().len() > 2, "messages are changed in a copy");
        });
    }
}
