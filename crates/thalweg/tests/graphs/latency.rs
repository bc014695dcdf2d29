//! Latency by sampled stamps: over every kind of kernel, where messages become few or many, merge, go round, and are asked for in vain.

use crate::common::{SOON, within};
use thalweg::observe::{Did, Latency};
use thalweg::prelude::*;
use thalweg::{Error, Snapshot};
use thalweg_sync::thread;
use thalweg_sync::time::Duration;

/// Runs `build` under each scheme, and gives what was sampled between the two kernels that it gives.
fn sampled<A: thalweg::Handle, B: thalweg::Handle>(
    build: impl Fn(&mut Graph<'static>) -> (A, B) + Send + Sync + Copy + 'static,
) -> Vec<(String, Latency)> {
    let run = move |scheme: &'static str| {
        within(SOON, move || {
            let mut graph = Graph::new();
            let (from, to) = build(&mut graph);
            graph.latency(from, to);
            let (observer, tracer) = (graph.observe(), graph.trace(1 << 16));
            let report = graph.run(Scheme::named(scheme).unwrap().workers(2)).unwrap();
            let [latency] = &report.latencies[..] else { panic!("{scheme}: {:?}", report.latencies) };
            let last = observer.snapshot().unwrap();
            assert_eq!(last.latencies, report.latencies, "{scheme}");
            assert_eq!(Snapshot::from_json(&last.to_json()).unwrap().latencies, report.latencies, "{scheme}");
            let order = [latency.p50, latency.p90, latency.p99, latency.p999, latency.max];
            assert!(order.is_sorted(), "{scheme}: {latency:?}");
            assert!(latency.max.is_none_or(|max| max <= report.wall), "{scheme}: {latency:?}");
            assert!(latency.stamps > 0, "{scheme}: {latency:?}");
            let arrived = tracer.take().unwrap().events.iter().filter(|event| event.did == Did::Arrived(0)).count();
            assert_eq!(arrived as u64, latency.samples, "{scheme}");
            latency.clone()
        })
    };
    Scheme::names().map(|scheme| (scheme.to_owned(), run(scheme))).collect()
}

const MANY: u64 = 1000;

macro_rules! arrives {
    ($($name:ident: |$graph:ident| $build:expr;)*) => {$(
        #[test]
        fn $name() {
            for (scheme, latency) in sampled(|$graph| $build) {
                assert!(latency.samples > 0, "{scheme}: {latency:?}");
            }
        }
    )*};
}

arrives! {
    through_kernels_that_change_messages_where_they_are: |graph| {
        let (from, to) = (graph.source(0..MANY), graph.sink(drop::<u64>));
        *graph += from >> graph.map(|x: u64| x + 1) >> graph.filter(|x: &u64| !x.is_multiple_of(3)) >> graph.map(|x: u64| x as f32)
            >> graph.map(|x: f32| x as u64) >> to;
        (from, to)
    };
    through_messages_that_become_many: |graph| {
        let (from, to) = (graph.source(0..MANY), graph.sink(drop::<u64>));
        *graph += from >> graph.flat_map(|x: u64| 0..x % 7) >> to;
        (from, to)
    };
    through_parallel_kernels_in_order: |graph| {
        let (from, to) = (graph.source(0..MANY), graph.sink(drop::<u64>));
        *graph += from >> graph.parallel(|x: u64, out: &mut Output<u64>| out.push(x)) >> graph.parallel_update(|x: &mut u64| *x += 1) >> to;
        (from, to)
    };
    to_a_parallel_end: |graph| {
        let (from, to) = (graph.source(0..MANY), graph.parallel_sink(drop::<u64>));
        *graph += from >> to;
        (from, to)
    };
    through_windows: |graph| {
        let (from, to) = (graph.source(0..MANY), graph.sink(drop::<u64>));
        *graph += from >> graph.window(700, 2, |window: &[u64], out: &mut Output<u64>| out.push(window[0])) >> to;
        (from, to)
    };
    through_the_pieces_of_a_block_that_takes_long: |graph| {
        let (from, to) = (graph.source(0..40_u64), graph.sink(drop::<u64>));
        let slow = graph.parallel(|x: u64, out: &mut Output<u64>| {
            if x == 20 {
                thread::sleep(Duration::from_millis(5));
            }
            out.push(x);
        });
        *graph += from >> slow >> to;
        (from, to)
    };
    to_one_that_leaves_what_it_takes: |graph| {
        let (from, to) = (graph.source(0..40_u64), graph.sink(drop::<u64>));
        *graph += from >> graph.map(|x: u64| [x; 64]).fixed(8) >> graph.flat_map(|x: [u64; 64]| x).fixed(8) >> to;
        (from, to)
    };
    from_the_midst_to_the_midst: |graph| {
        let (from, to) = (graph.map(|x: u64| x), graph.sequential(|x: u64, out: &mut Output<u64>| out.push(x)));
        *graph += graph.source(0..MANY) >> from >> to >> graph.sink(drop::<u64>);
        (from, to)
    };
    from_kernels_with_ports_through_firings: |graph| {
        let (left, right, sums) = graph.add_parallel(Sums);
        let (from, to) = (graph.source(0..MANY), graph.sink(drop::<u64>));
        *graph += from >> left;
        *graph += graph.source(0..MANY) >> right;
        *graph += sums >> to;
        (from, to)
    };
    over_every_way_of_a_copy_and_a_merge: |graph| {
        let (from, to) = (graph.source(0..MANY), graph.sink(drop::<u64>));
        let [left, right] = graph.tee(from);
        *graph += graph.merge([left >> graph.map(|x: u64| x), right >> graph.map(|x: u64| x)]) >> to;
        (from, to)
    };
}

/// Of three numbers from the left and one from the right the sum.
struct Sums;

impl ParallelKernel for Sums {
    type Ports = (In<u64>, In<u64>, Out<u64>);
    fn ports(&mut self, bind: &mut Binder<'_>) -> Self::Ports {
        (bind.input_of("left", 3), bind.input("right"), bind.output("sums"))
    }
    fn fire(&self, &(left, right, sums): &Self::Ports, firing: &mut Firing<'_>) -> Result<(), BoxError> {
        let sum = firing.slice(left).iter().sum::<u64>() + firing.take(right);
        firing.push(sums, sum);
        Ok(())
    }
}

/// What comes of the first message waits in a block that is not full, and has the stamps of none that fell.
#[test]
fn what_nothing_comes_of_does_not_arrive() {
    let all = sampled(|graph| {
        let (from, to) = (graph.source(0..MANY), graph.sink(drop::<u64>));
        *graph += from.fixed(1) >> graph.flat_map(|x: u64| (x == 0).then_some(x)) >> to;
        (from, to)
    });
    for (scheme, latency) in all {
        assert!(latency.samples <= 1, "{scheme}: {latency:?}");
    }
}

#[test]
fn the_time_that_a_message_waits_is_in_it() {
    const NAP: Duration = Duration::from_millis(10);
    let all = sampled(|graph| {
        let (from, to) = (graph.source(0..8_u64), graph.sink(drop::<u64>));
        *graph += from.fixed(1)
            >> graph
                .map(|x: u64| {
                    thread::sleep(NAP);
                    x
                })
                .fixed(1)
            >> to;
        (from, to)
    });
    for (scheme, latency) in all {
        assert!(latency.samples > 0 && latency.p50 >= Some(NAP), "{scheme}: {latency:?}");
        assert!(latency.sum >= NAP * latency.samples as u32, "{scheme}: {latency:?}");
    }
}

#[test]
fn each_of_two_streams_that_meet_has_its_own() {
    for scheme in Scheme::names() {
        within(SOON, move || {
            let mut graph = Graph::new();
            let (left, right) = (graph.source(0..MANY), graph.source(0..MANY));
            let end = graph.sink(drop::<(u64, u64)>);
            graph += graph.zip(left, right) >> end;
            graph.latency(left, end);
            graph.latency(right, end);
            let report = graph.run(Scheme::named(scheme).unwrap()).unwrap();
            assert!(report.latencies.iter().all(|latency| latency.samples > 0), "{scheme}: {:?}", report.latencies);
        });
    }
}

#[test]
fn a_stamp_does_not_go_round() {
    let all = sampled(|graph| {
        let (from, to) = (graph.source([1 << 20_u64]), graph.sink(drop::<u64>));
        let (new, old, again, odd) = graph.add(Halves);
        *graph += from >> new;
        *graph += again.feedback() >> old;
        *graph += odd >> to;
        (from, to)
    });
    for (scheme, latency) in all {
        assert_eq!((latency.stamps, latency.samples), (1, 0), "{scheme}");
    }
}

/// Halves numbers until they are odd; what is even goes round.
struct Halves;

impl Kernel for Halves {
    type Ports = (In<u64>, In<u64>, Out<u64>, Out<u64>);
    fn ports(&mut self, bind: &mut Binder<'_>) -> Self::Ports {
        (bind.input("new"), bind.input("old"), bind.output("again"), bind.output("odd"))
    }
    fn run(&mut self, &(new, old, again, odd): &Self::Ports, io: &mut Io<'_>) -> Result<Flow, BoxError> {
        while let Some(number) = io.pop(old).or_else(|| io.pop(new)) {
            if number % 2 == 0 {
                io.push(again, number / 2);
            } else {
                io.push(odd, number);
            }
        }
        Ok(Flow::More)
    }
}

#[test]
fn nothing_is_sampled_where_nobody_asks_and_all_where_all_is_asked_for() {
    let mut graph = Graph::new();
    let [a, b] = [0, 1].map(|_| graph.source_with(|| 0..MANY));
    let [left, right] = graph.tee(graph.merge([a, b]));
    graph += left >> graph.sink(drop::<u64>);
    graph += right >> graph.sink(drop::<u64>);
    assert_eq!(graph.run(Scheme::default()).unwrap().latencies, []);
    graph.stopper().latencies();
    let report = graph.run(Scheme::default()).unwrap();
    assert_eq!(report.latencies.len(), 4);
    assert!(report.latencies.iter().all(|latency| latency.samples > 0), "{:?}", report.latencies);
    let text = report.to_string();
    assert!(text.contains("p99.9") && text.contains("latency: from a block"), "{text}");
    let json: serde_json::Value = serde_json::from_str(&report.to_json()).unwrap();
    assert_eq!(json["latencies"][3]["samples"], report.latencies[3].samples);
}

#[test]
fn kernels_that_are_not_on_one_way_are_refused() {
    let mut graph = Graph::new();
    let (a, b) = (graph.source(0..1_u64), graph.source(0..1_u64));
    let (end, other) = (graph.sink(drop::<u64>), graph.sink(drop::<u64>));
    graph.name(a, "a");
    graph.name(other, "other");
    graph += a >> end;
    graph += b >> other;
    graph.latency(a, other);
    let Err(Error::Refused(refusals)) = graph.run(Scheme::default()) else { panic!("it is refused") };
    assert!(refusals[0].reason.contains("the latency from a to other was asked for"), "{refusals:?}");
    let elsewhere = Graph::new();
    elsewhere.latency(a, end);
    let mut elsewhere = elsewhere;
    let Err(Error::Refused(refusals)) = elsewhere.run(Scheme::default()) else { panic!("it is refused") };
    assert!(refusals[0].reason.contains("another graph; ask there"), "{refusals:?}");
}
