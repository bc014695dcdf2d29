//! What carries an edge's blocks is chosen: results, capacities, drops and the report are those of the choice.

use crate::common::{Ledger, SOON, Token, within};
use thalweg::prelude::*;
use thalweg::{End, Storage};
use thalweg_check::Fuzz;

const ALL: &[Storage] = &[
    Storage::Ring,
    Storage::Growing,
    Storage::Linked,
    Storage::Many,
    #[cfg(feature = "link")]
    Storage::Device,
];
const FOR_MANY: [Storage; 2] = [Storage::Linked, Storage::Many];

fn takes_a_thread(storage: Storage) -> bool {
    #[cfg(feature = "link")]
    let takes = storage == Storage::Device;
    #[cfg(not(feature = "link"))]
    let takes = {
        _ = storage;
        false
    };
    takes
}

/// Through each kind of kernel: fused, parallel, with windows, with firings.
#[test]
fn every_storage_under_every_scheme_computes_what_a_loop_does() {
    const COUNT: u64 = 5000;
    let expected: Vec<u64> = {
        let tripled: Vec<_> = (0..COUNT).map(|x| 3 * (x + 1)).collect();
        let sums = tripled.windows(2).map(|pair| pair[0] + pair[1]);
        sums.collect::<Vec<_>>().chunks_exact(3).map(|three| three.iter().sum()).collect()
    };
    /// Adds three of its messages.
    struct Three;
    impl ParallelKernel for Three {
        type Ports = (In<u64>, Out<u64>);
        fn ports(&mut self, bind: &mut Binder<'_>) -> Self::Ports {
            (bind.input_of("numbers", 3), bind.output("sums"))
        }
        fn fire(&self, &(numbers, sums): &Self::Ports, firing: &mut Firing<'_>) -> Result<(), BoxError> {
            let sum = firing.slice(numbers).iter().sum::<u64>();
            firing.push(sums, sum);
            Ok(())
        }
    }
    for scheme in Scheme::names().map(|name| Scheme::named(name).unwrap().workers(3)) {
        for &storage in ALL {
            // The thread that stands for a device takes a CPU from the workers.
            let with = if takes_a_thread(storage) { 1 } else { FOR_MANY.len() };
            for many in FOR_MANY.into_iter().take(with) {
                let mut seen = Vec::new();
                let mut graph = Graph::new();
                let triple = graph.parallel_map(|x: u64| 3 * x);
                let pairs = graph.window(2, 1, |pair: &[u64], out: &mut Output<u64>| out.push(pair[0] + pair[1]));
                let (numbers, sums) = graph.add_parallel(Three);
                let head = graph.source(0..COUNT).storage(storage) >> graph.map(|x: u64| x + 1).storage(many);
                graph += head >> triple.storage(storage) >> pairs.storage(storage) >> numbers;
                graph += sums.storage(storage) >> graph.sink(|x: u64| seen.push(x));
                let report = graph.run(scheme).unwrap();
                drop(graph);
                let case = format!("{} by {storage} and {many}", scheme.name());
                assert_eq!(seen, expected, "{case}");
                let names: Vec<_> = report.edges.iter().map(|edge| (edge.storage, edge.chosen)).collect();
                let own = (storage.name(), "chosen");
                assert_eq!(names, [own, (many.name(), "chosen"), own, own, own], "{case}");
            }
        }
    }
}

/// What nobody chose is by the kind of the edge, or by the scheme.
#[test]
fn the_report_says_who_chose() {
    for name in Scheme::names() {
        let mut graph = Graph::new();
        let numbers = graph.source(0..100_u64);
        graph +=
            numbers >> graph.map(|x: u64| x) >> graph.parallel_map(|x: u64| x).newest(100) >> graph.sink(drop::<u64>);
        let report = graph.run(Scheme::named(name).unwrap()).unwrap();
        let names: Vec<_> = report.edges.iter().map(|edge| (edge.storage, edge.chosen)).collect();
        let first = if name == "raft_dyn" { ("chunk_ring", "by the scheme") } else { ("fast_forward", "one taker") };
        assert_eq!(names, [first, ("bbq", "several takers"), ("bbq", "keeps the newest")], "{name}");
        let told = format!("{} ({})\n", first.0, first.1);
        assert!(report.to_string().contains(&told), "{report}");
    }
}

/// A block of half the capacity comes on top, as on every edge.
#[test]
fn a_capacity_holds_whatever_carries_the_edge() {
    for scheme in Scheme::names().map(|name| Scheme::named(name).unwrap().workers(2)) {
        for &storage in ALL {
            let mut graph = Graph::new();
            let mut seen = 0_u64;
            let many = graph.flat_map(|x: u64| (0..1000).map(move |y| 1000 * x + y));
            let sink = graph.sink(|x: u64| {
                assert_eq!(x, seen);
                seen += 1;
            });
            graph += graph.source(0..20_u64) >> many.fixed(64).storage(storage) >> sink;
            let report = graph.run(scheme).unwrap();
            drop(graph);
            let edge = &report.edges[1];
            assert_eq!((seen, edge.messages, edge.grown), (20_000, 20_000, 0), "{} by {storage}", scheme.name());
            assert!((1..=64 + 32).contains(&edge.peak), "{} by {storage}: {report}", scheme.name());
        }
    }
}

#[test]
fn a_cancelled_run_drops_each_message_once() {
    for name in Scheme::names() {
        for (storage, many) in ALL.iter().copied().zip(FOR_MANY.into_iter().cycle()) {
            let ledger = Ledger::new(1 << 20);
            let ours = ledger.clone();
            within(SOON, move || {
                let mut seen = 0;
                let mut graph = Graph::new();
                let stopper = graph.stopper();
                let tokens = graph.source((0..).map_while(|x| (x < 100_000).then(|| Token::of(&ours, x))));
                let pass = graph.parallel_map(|token: Token| token);
                let sink = graph.sink(move |token: Token| {
                    assert_eq!(token.value, seen, "in order");
                    seen += 1;
                    if seen == 2000 {
                        stopper.cancel();
                    }
                });
                graph += tokens.storage(many) >> pass.fixed(500).storage(storage) >> sink;
                let report = graph.run(Scheme::named(name).unwrap().workers(3)).unwrap();
                assert_eq!(report.end, End::Cancelled, "{name} by {storage}");
            });
            assert!(ledger.made() >= 2000);
            ledger.is_settled();
        }
    }
}

/// Edges of one message, or of a few that wait beside the storage: every hand-over is a wait.
#[test]
fn every_interleaving_delivers() {
    for (storage, many) in ALL.iter().copied().zip(FOR_MANY.into_iter().cycle()) {
        for name in ["depth_first", "raft", "pw", "mix"] {
            Fuzz::new().seeds(0..100).threads(2).stack_bytes(1 << 20).run(|| {
                let mut seen = Vec::new();
                let mut graph = Graph::new();
                let spread = graph.sequential(|x: u64, out: &mut Output<u64>| (0..9).for_each(|i| out.push(9 * x + i)));
                let head = graph.source(0..2_u64).fixed(1).storage(storage) >> spread.fixed(1).storage(many);
                let pass = graph.parallel_map(|x: u64| x);
                graph += head >> pass.fixed(1).storage(storage) >> graph.sink(|x: u64| seen.push(x));
                graph.run(Scheme::named(name).unwrap().workers(2)).unwrap();
                drop(graph);
                assert!(seen.iter().copied().eq(0..18), "{name} by {storage} and {many}: {seen:?}");
            });
        }
    }
}

#[test]
fn what_does_not_fit_is_refused_before_anything_runs() {
    let refusal = |graph: &mut Graph<'_>| graph.run(Scheme::default()).unwrap_err().to_string();
    for &storage in ALL {
        let mut given = 0;
        let mut graph = Graph::new();
        let numbers = graph.source((0..9_u64).inspect(|_| given += 1));
        graph.name(numbers, "numbers");
        let sink = graph.parallel_sink(drop::<u64>);
        graph.name(sink, "sink");
        graph += numbers.storage(storage) >> sink;
        if FOR_MANY.contains(&storage) {
            graph.run(Scheme::default()).unwrap();
        } else {
            let told = format!(
                "it runs on many workers, and only one at a time can take from Storage::{storage:?} of the edge numbers >> sink; take Storage::Many or"
            );
            let text = refusal(&mut graph);
            assert!(text.contains(&told), "{text}");
            drop(graph);
            assert_eq!(given, 0);
        }
        let mut graph = Graph::new();
        graph += graph.source(0..9_u64).newest(8).storage(storage) >> graph.sink(drop::<u64>);
        if storage == Storage::Many {
            graph.run(Scheme::default()).unwrap();
        } else {
            let told = format!("nobody can take back what is old from Storage::{storage:?}; take Storage::Many");
            let text = refusal(&mut graph);
            assert!(text.contains(&told), "{text}");
        }
    }
}

/// Each run has its own device, which has 64 queues.
#[cfg(feature = "link")]
#[test]
fn more_edges_than_a_device_has_queues_are_refused_and_fewer_are_not() {
    for (edges, fits) in [(64, true), (65, false)] {
        let mut graph = Graph::new();
        let mut seen = 0;
        let mut path = graph.source(0..10_u64).into_path();
        for _ in 1..edges {
            path = path.storage(Storage::Device) >> graph.sequential(|x: u64, out: &mut Output<u64>| out.push(x + 1));
        }
        let sink = graph.sink(|x: u64| seen += x);
        graph.name(sink, "last");
        graph += path.storage(Storage::Device) >> sink;
        for _ in 0..2 {
            match graph.run(Scheme::default()) {
                Ok(report) => assert!(fits && report.edges[0].storage == "virtual_link", "{report}"),
                Err(error) => {
                    let told = "65 edges lie on a device, as the one that leads here: the routing device has no room for another channel; take less of Storage::Device";
                    assert!(!fits && error.to_string().contains(told), "{error}");
                }
            }
        }
        drop(graph);
        assert_eq!(seen, if fits { 45 + 63 * 10 } else { 0 });
    }
}

/// A taker that leaves early, and an error in the middle: what lies on the device is dropped, once.
#[cfg(feature = "link")]
#[test]
fn what_lies_on_a_device_at_the_end_is_dropped_once() {
    for fails in [false, true] {
        let ledger = Ledger::new(1 << 16);
        let ours = ledger.clone();
        within(SOON, move || {
            let mut left = 100;
            let mut graph = Graph::new();
            let tokens = graph.source((0..).map_while(|x| (x < 50_000).then(|| Token::of(&ours, x))));
            let pass = graph.sequential(|token: Token, out: &mut Output<Token>| out.push(token));
            let sink = graph.sink(move |_: Token| {
                left -= 1;
                assert!(!fails || left > 0, "enough");
            });
            graph += tokens.fixed(16).storage(Storage::Device) >> pass;
            if fails {
                graph += pass.fixed(16).storage(Storage::Device) >> sink;
                graph.run(Scheme::default().workers(2)).unwrap_err();
            } else {
                graph += pass.fixed(16).storage(Storage::Device) >> graph.take(100) >> sink;
                graph.run(Scheme::default().workers(2)).unwrap();
            }
        });
        ledger.is_settled();
    }
}
