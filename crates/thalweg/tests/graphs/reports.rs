//! Reports: the table, JSON that parses and adds up, a graph that Graphviz reads, and names.

use crate::common::{SOON, toil, within};
use serde_json::Value;
use thalweg::prelude::*;
use thalweg::{End, Error};
use thalweg_check::Fuzz;
use thalweg_sync::atomic::AtomicU64;
use thalweg_sync::atomic::Ordering::Relaxed;
use thalweg_sync::thread;
use thalweg_sync::time::Duration;

const NASTY: &str = "a \"quoted\" \\ name\nin two lines\t";

/// numbers >> thirds >> sink, with a name that needs quoting.
fn run(scheme: &str) -> Report {
    let mut graph = Graph::new();
    let numbers = graph.source(0..3000_u64);
    let thirds = graph.parallel(|x: u64, out: &mut Output<u64>| (0..x % 3).for_each(|_| out.push(x)));
    let pass = graph.window(4, 2, |window: &[u64], out: &mut Output<u64>| out.push(window[0]));
    let sink = graph.sink(drop::<u64>);
    graph.name(thirds, "thirds");
    graph.name(pass, NASTY);
    graph += numbers.capacity(32, 256) >> thirds * 2 >> pass >> sink;
    graph.run(Scheme::named(scheme).unwrap().workers(2)).unwrap()
}

#[test]
fn messages_are_conserved_along_edges() {
    for scheme in Scheme::names() {
        let report = run(scheme);
        assert_eq!((report.end, report.scheme, report.dropped), (End::Complete, scheme, 0));
        let given: Vec<_> = report.kernels.iter().map(|kernel| kernel.messages_out).collect();
        let taken: Vec<_> = report.kernels.iter().map(|kernel| kernel.messages_in).collect();
        // 1499 windows fit; the last two messages would begin another.
        assert_eq!(given, [3000, 3000, 1499, 0], "{scheme}");
        assert_eq!((taken[0], taken[1], taken[3]), (0, 3000, 1499), "{scheme}");
        assert_eq!(taken[2], 2 * 1499, "{scheme}: each window takes its step");
        for edge in &report.edges {
            let (from, to) = edge.ends;
            assert_eq!((&edge.from, &edge.to), (&report.kernels[from].name, &report.kernels[to].name));
            assert_eq!(edge.messages, given[from], "{scheme}: {} >> {}", edge.from, edge.to);
            assert_eq!(
                edge.messages - taken[to],
                if edge.windowed { 2 } else { 0 },
                "{scheme}: {} >> {}",
                edge.from,
                edge.to
            );
            assert!(edge.mean <= edge.peak as f64 && edge.peak <= edge.messages);
        }
        for kernel in &report.kernels {
            assert!(kernel.activations > 0 && !kernel.busy.is_zero(), "{scheme}: {}", kernel.name);
        }
        assert_eq!(report.kernels.iter().filter(|kernel| kernel.parallel).count(), 1);
        assert_eq!(report.kernel("thirds").unwrap().messages_in, 3000);
        assert!(report.kernel("nobody").is_none());
    }
}

#[test]
fn json_says_what_the_report_says() {
    let report = run("mix_dyn");
    let json: Value = serde_json::from_str(&report.to_json()).expect("it is JSON");
    assert_eq!(json["scheme"], "mix_dyn");
    assert_eq!(json["end"], "complete");
    assert_eq!(json["workers"], 2);
    assert_eq!(json["wall_ns"], report.wall.as_nanos() as u64);
    let counts =
        [("polls", report.polls), ("yields", report.yields), ("sleeps", report.sleeps), ("dropped", report.dropped)];
    for (key, value) in counts {
        assert_eq!(json[key], value, "{key}");
    }
    let kernels = json["kernels"].as_array().unwrap();
    assert_eq!(kernels.len(), report.kernels.len());
    for (json, kernel) in kernels.iter().zip(&report.kernels) {
        assert_eq!(json["name"], kernel.name.as_str());
        assert_eq!(json["parallel"], kernel.parallel);
        let counts = [
            ("activations", kernel.activations),
            ("messages_in", kernel.messages_in),
            ("messages_out", kernel.messages_out),
            ("busy_ns", kernel.busy.as_nanos() as u64),
            ("blocked_empty", kernel.blocked_empty),
            ("blocked_full", kernel.blocked_full),
            ("blocked_ticket", kernel.blocked_ticket),
            ("blocked_busy", kernel.blocked_busy),
            ("helps", kernel.helps),
        ];
        for (key, value) in counts {
            assert_eq!(json[key], value, "{key} of {}", kernel.name);
        }
    }
    let edges = json["edges"].as_array().unwrap();
    assert_eq!(edges.len(), report.edges.len());
    for (json, edge) in edges.iter().zip(&report.edges) {
        assert_eq!((json["from"].as_str(), json["to"].as_str()), (Some(&*edge.from), Some(&*edge.to)));
        let counts = [
            ("messages", edge.messages),
            ("grown", edge.grown),
            ("peak", edge.peak),
            ("blocked_empty", edge.blocked_empty),
            ("blocked_full", edge.blocked_full),
        ];
        for (key, value) in counts {
            assert_eq!(json[key], value, "{key}");
        }
        assert!((json["mean"].as_f64().unwrap() - edge.mean).abs() < 0.06);
    }
    assert_eq!(kernels[2]["name"], NASTY, "what a name holds comes through");
}

/// Two workers poll a source, a step that takes its time, and a sink.
#[test]
fn who_finds_nothing_no_room_or_somebody_else_counts_it() {
    let report = within(SOON, || {
        let mut graph = Graph::new();
        let numbers = graph.source(0..2000_u64);
        let slow = graph.map(|x: u64| (toil(2000), x).1);
        let sink = graph.sink(drop::<u64>);
        graph.name(numbers, "numbers");
        graph.name(slow, "slow");
        graph.name(sink, "sink");
        graph += numbers.fixed(4) >> slow.fixed(4) >> sink;
        graph.run(Scheme::named("pw").unwrap().workers(2)).unwrap()
    });
    let kernel = |name| report.kernel(name).unwrap();
    assert!(kernel("numbers").blocked_full > 0, "{report}");
    assert!(kernel("sink").blocked_empty > 0, "{report}");
    assert!(kernel("slow").blocked_busy > 0, "{report}");
    // Each at its own edge.
    let [first, second] = &report.edges[..] else { panic!("{report}") };
    assert_eq!(
        (first.blocked_full, second.blocked_full),
        (kernel("numbers").blocked_full, kernel("slow").blocked_full)
    );
    assert_eq!(
        (first.blocked_empty, second.blocked_empty),
        (kernel("slow").blocked_empty, kernel("sink").blocked_empty)
    );
    assert_ne!(first.blocked_full, second.blocked_full, "{report}");
    // And only that: a source takes nothing, a sink gives nothing, and nobody waits for a ticket.
    assert_eq!((kernel("numbers").blocked_empty, kernel("sink").blocked_full), (0, 0), "{report}");
    assert!(report.kernels.iter().all(|kernel| kernel.blocked_ticket == 0), "{report}");
}

/// The first edge has room for all, the second one for four.
#[test]
fn the_edge_that_is_full_is_the_one_that_says_so() {
    let report = within(SOON, || {
        let mut graph = Graph::new();
        let numbers = graph.source(0..200_u64);
        let pass = graph.map(|x: u64| x);
        let slow = graph.sink(|_: u64| thread::sleep(Duration::from_micros(200)));
        graph += numbers.fixed(201) >> pass.fixed(4) >> slow;
        // A thread for each kernel: the one in the middle looks while the last one sleeps.
        graph.run(Scheme::named("raft").unwrap()).unwrap()
    });
    let [first, second] = &report.edges[..] else { panic!("{report}") };
    assert!(first.blocked_full == 0 && second.blocked_full > 0, "{report}");
}

/// By the fuzzer's clock, which goes on by what kernels sleep, and a little by what a worker does.
#[test]
fn busy_time_is_the_time_in_a_kernel_however_short_and_whoever_runs_it() {
    const EACH: u64 = 400;
    Fuzz::new().seeds(0..1).stack_bytes(1 << 20).steps(10_000_000).run(|| {
        // Under `mix` and `one_shot` a kernel runs within the one before it.
        for (name, capacity) in [("depth_first", 4), ("depth_first", 1000), ("mix", 4), ("one_shot", 4)] {
            let mut graph = Graph::new();
            let numbers = graph.source(0..4000_u64);
            let one = graph.map(|x: u64| {
                thread::sleep(Duration::from_nanos(EACH));
                x
            });
            let two = graph.sink(|_: u64| thread::sleep(Duration::from_nanos(2 * EACH)));
            graph += numbers.fixed(capacity) >> one.fixed(capacity) >> two;
            let report = graph.run(Scheme::named(name).unwrap().workers(1)).unwrap();
            for (kernel, each) in report.kernels[1..].iter().zip([EACH, 2 * EACH]) {
                let (busy, least) = (kernel.busy.as_nanos() as u64, each * 4000);
                assert!(busy >= least * 9 / 10, "{name}: {busy} ns, not {least}\n{report}");
            }
            let busy: Duration = report.kernels.iter().map(|kernel| kernel.busy).sum();
            assert!(busy <= report.wall * 11 / 10, "{name}: one worker was busy for {busy:?}\n{report}");
        }
    });
}

/// The text between the quotes that begin at the front, and what comes after them.
fn quoted(text: &str) -> (String, &str) {
    let mut inside = String::new();
    let mut chars = text.strip_prefix('"').expect("a quote").char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return (inside, &text[at + 2..]),
            '\\' => inside.extend(['\\', chars.next().expect("an escaped character").1]),
            c => inside.push(c),
        }
    }
    panic!("no end of {text}");
}

#[test]
fn dot_is_well_formed() {
    let report = run("pw");
    let dot = report.to_dot();
    let mut lines = dot.lines();
    assert_eq!(lines.next(), Some("digraph thalweg {"));
    assert_eq!(dot.lines().last(), Some("}"));
    let (mut nodes, mut edges) = (0, 0);
    for line in lines.map(str::trim).filter(|line| line.starts_with('k')) {
        assert!(line.ends_with("];"), "{line}");
        let (ends, label) = line.split_once(" [label=").expect("a label");
        let (text, rest) = quoted(label);
        assert!(rest == "];" || rest == ", peripheries=2];", "{rest}");
        match ends.split_once(" -> ") {
            None => {
                assert_eq!(ends, format!("k{nodes}"));
                assert_eq!(rest.contains("peripheries"), report.kernels[nodes].parallel);
                let kernel = &report.kernels[nodes];
                let blocked = (kernel.blocked_empty, kernel.blocked_full, kernel.blocked_ticket);
                for part in [
                    format!("{} in, {} out", kernel.messages_in, kernel.messages_out),
                    format!("{} activations, ", kernel.activations),
                    format!("blocked {} empty, {} full, {} ticket", blocked.0, blocked.1, blocked.2),
                    format!("{} helps", kernel.helps),
                ] {
                    assert!(text.contains(&part), "{part} is not in {text}");
                }
                // What is not printed has no form in a label.
                assert!(!text.contains("\\u") && !text.contains('\t'), "{text}");
                nodes += 1;
            }
            Some((from, to)) => {
                assert_eq!(
                    (from, to),
                    (&*format!("k{}", report.edges[edges].ends.0), &*format!("k{}", report.edges[edges].ends.1))
                );
                assert!(text.starts_with(&report.edges[edges].messages.to_string()));
                let edge = &report.edges[edges];
                let blocked = format!("{} times empty, {} full", edge.blocked_empty, edge.blocked_full);
                assert!(text.ends_with(&format!("grown {}\\n{blocked}", edge.grown)), "{text}");
                edges += 1;
            }
        }
    }
    assert_eq!((nodes, edges), (report.kernels.len(), report.edges.len()));
}

#[test]
fn the_table_has_a_row_for_each_kernel_and_edge() {
    let mut graph = Graph::new();
    let numbers = graph.source(0..10_u64);
    let (double, sink) = (graph.parallel_map(|x: u64| x * 2), graph.sink(drop::<u64>));
    graph.name(numbers, "numbers");
    graph.name(double, "double");
    graph.name(sink, "sink");
    graph += numbers >> double >> sink;
    let table = graph.run(Scheme::default()).unwrap().to_string();
    let lines: Vec<Vec<_>> = table.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(lines[0][0], "complete");
    assert_eq!(lines[1], ["kernel", "activations", "in", "out", "busy", "empty", "full", "ticket", "helps"]);
    assert_eq!((lines[2][0], lines[2][2], lines[2][3]), ("numbers", "0", "10"));
    assert_eq!((&lines[3][..2], lines[3][3], lines[3][4]), (&["double", "*"][..], "10", "10"));
    assert_eq!((lines[4][0], lines[4][2], lines[4][3]), ("sink", "10", "0"));
    assert_eq!(lines[5], ["edge", "messages", "mean", "peak", "grown", "empty", "full", "storage"]);
    assert_eq!(lines[6][..4], ["numbers", ">>", "double", "10"]);
    assert_eq!(lines[7][..4], ["double", ">>", "sink", "10"]);
    assert!(table.lines().nth(8).unwrap().contains(" polls, "));
    assert!(lines[6].ends_with(&["bbq", "(several", "takers)"]), "{table}");
    assert!(lines[7].ends_with(&["fast_forward", "(one", "taker)"]), "{table}");
    // Columns stand under each other.
    let widths: Vec<_> = table.lines().skip(1).take(4).map(|line| line.chars().count()).collect();
    assert!(widths.windows(2).all(|pair| pair[0] == pair[1]), "{table}");
}

#[test]
fn an_error_brings_the_report_so_far() {
    let mut graph = Graph::new();
    let numbers = graph.source(0..1000_u64);
    let sink = graph.sink(|x: u64| if x == 500 { Err("half") } else { Ok(()) });
    graph += numbers >> sink;
    let Err(Error::Failed { report, .. }) = graph.run(Scheme::default()) else { panic!("it fails") };
    assert_eq!(report.end, End::Cancelled);
    assert_eq!(report.kernels.len(), 2);
    assert!(report.kernels[0].messages_out >= 500);
}

/// However a kernel fails or the run is cancelled, what it took until then counts.
#[test]
fn the_last_activation_counts() {
    let report = |graph: &mut Graph<'_>, scheme: &str| match graph.run(Scheme::named(scheme).unwrap().workers(2)) {
        Ok(report) => report,
        Err(Error::Failed { report, .. }) => *report,
        Err(error) => panic!("{error}"),
    };
    for scheme in Scheme::names() {
        for fails in [true, false] {
            let (taken, seen) = (AtomicU64::new(0), AtomicU64::new(0));
            let mut graph = Graph::new();
            let numbers = graph.source(0..10_000_u64);
            let pass = graph.parallel_map(|x: u64| {
                seen.fetch_add(1, Relaxed);
                x
            });
            let sink = graph.sink(|x: u64| {
                taken.fetch_add(1, Relaxed);
                match x {
                    5000 if fails => Err("half"),
                    5000 => panic!("half"),
                    _ => Ok(()),
                }
            });
            graph += numbers >> pass >> sink;
            let report = report(&mut graph, scheme);
            drop(graph);
            assert_eq!(report.kernels[2].messages_in, taken.into_inner(), "{scheme}, {fails}");
            assert_eq!(report.kernels[1].messages_in, seen.into_inner(), "{scheme}, {fails}");
        }
    }
}

/// More than all messages, or less than half of them, in one window.
#[test]
fn what_no_window_pops_was_given() {
    for (peek, pop, taken) in [(100, 1, 0), (2, 60, 50), (4, 2, 48)] {
        let mut graph = Graph::new();
        let numbers = graph.source(0..50_u64);
        let windows = graph.window(peek, pop, |window: &[u64], out: &mut Output<u64>| out.push(window[0]));
        let sink = graph.sink(drop::<u64>);
        graph += numbers >> windows >> sink;
        let report = graph.run(Scheme::default()).unwrap();
        assert_eq!((report.kernels[0].messages_out, report.edges[0].messages), (50, 50), "{peek}, {pop}");
        assert_eq!(report.kernels[1].messages_in, taken, "{peek}, {pop}");
    }
}

#[test]
fn kernels_of_a_chain_are_reported_where_the_chain_is_written() {
    let pass = |x: u64, out: &mut Output<u64>| out.push(x);
    let first = |window: &[u64], out: &mut Output<u64>| out.push(window[0]);
    let mut graph = Graph::new();
    let node = graph.sequential(pass);
    let chain = graph.stream(0..3_u64).sequential(pass).map(|x| x + 1).parallel(pass).map(|x| x + 1);
    let chain = chain.window(2, 1, first).map(|x| x + 1).parallel_window(2, 1, first).map(|x| x + 1);
    // Without an end nothing is connected, and each kernel is told.
    let _ = chain.then(node).map(|x: u64| x + 1).path();
    let Err(Error::Refused(refusals)) = graph.run(Scheme::default()) else { panic!("it runs") };
    let place = format!(" ({}:", file!());
    let mut names: Vec<_> = refusals.iter().map(|refusal| refusal.kernel.split(&place).next().unwrap()).collect();
    names.dedup();
    // A place elsewhere would be left of the text.
    let mut expected = vec!["sequential-0", "source-1", "sequential-2", "chain-3", "parallel-4", "chain-5"];
    expected.extend(["window-6", "chain-7", "window-8", "chain-9", "chain-10"]);
    assert_eq!(names, expected);
}
