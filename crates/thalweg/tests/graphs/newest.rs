//! Edges that keep the newest messages.

use crate::common::{Ledger, SOON, Token, within};
use thalweg::End;
use thalweg::prelude::*;
use thalweg_check::Fuzz;
use thalweg_sync::sync::{Arc, Mutex};
use thalweg_sync::thread;
use thalweg_sync::time::Duration;

/// A slow sink behind a quick source sees less and less old messages, in order, and the last one; each of the others was dropped once.
#[test]
fn who_is_slow_sees_the_newest_in_order_and_the_rest_is_counted() {
    const COUNT: u64 = 20_000;
    for name in Scheme::names() {
        for keep in [1, 7, 64] {
            let ledger = Ledger::new(COUNT as usize);
            let ours = ledger.clone();
            let (report, seen) = within(SOON, move || {
                let mut seen = Vec::new();
                let mut graph = Graph::new();
                let numbers = graph.source((0..COUNT).map(|x| Token::of(&ours, x)));
                let sink = graph.sink(|token: Token| {
                    if token.value.is_multiple_of(64) {
                        thread::sleep(Duration::from_micros(200));
                    }
                    seen.push(token.value);
                });
                graph += numbers.newest(keep) >> sink;
                let report = graph.run(Scheme::named(name).unwrap().workers(2)).unwrap();
                drop(graph);
                (report, seen)
            });
            let edge = &report.edges[0];
            assert_eq!(report.end, End::Complete, "{name}");
            assert_eq!((edge.messages, report.dropped), (COUNT, edge.overwritten), "{name}");
            assert_eq!(seen.len() as u64 + edge.overwritten, COUNT, "{name} with {keep}");
            assert!(seen.is_sorted() && seen.last() == Some(&(COUNT - 1)), "{name} with {keep}");
            // With one block more, on its way in.
            assert!(
                edge.peak <= (keep + keep.div_ceil(2)) as u64 && edge.blocked_full == 0,
                "{name} with {keep}: {report}"
            );
            assert!(edge.chosen == "keeps the newest", "{report}");
            ledger.is_settled();
        }
    }
}

/// The source gives all it has before the sink may take anything.
#[test]
fn what_a_sink_finds_is_as_much_as_is_kept() {
    let mut seen = Vec::new();
    let mut graph = Graph::new();
    let mut given = false;
    let numbers = graph.poll_source(move |out: &mut Output<u64>| {
        if !given {
            (0..10_000).for_each(|x| out.push(x));
        }
        given = true;
        Flow::Done
    });
    let sink = graph.sink(|x: u64| seen.push(x));
    graph += numbers.newest(10) >> sink;
    graph.run(Scheme::named("depth_first").unwrap().workers(1)).unwrap();
    drop(graph);
    assert!((6..=10).contains(&seen.len()), "{seen:?}");
    assert!(seen.iter().copied().eq(10_000 - seen.len() as u64..10_000), "{seen:?}");
}

#[test]
fn who_needs_every_message_refuses() {
    let refusal = |graph: &mut Graph<'_>| graph.run(Scheme::default()).unwrap_err().to_string();
    let mut graph = Graph::new();
    graph += graph.source(0..9_u64).latest() >> graph.parallel_sink(|_: u64| ());
    let text = refusal(&mut graph);
    assert!(text.contains("keeps the newest messages, and a parallel kernel keeps the order of all"), "{text}");
    let mut graph = Graph::new();
    let window = graph.window(2, 1, |_: &[u64], _: &mut Output<u64>| ());
    graph += graph.source(0..9_u64).newest(8) >> window >> graph.sink(|_: u64| ());
    assert!(refusal(&mut graph).contains("windows need every message"), "{}", refusal(&mut graph));
    let mut graph = Graph::new();
    graph += graph.source(0..9_u64).newest(0) >> graph.sink(|_: u64| ());
    assert!(refusal(&mut graph).contains("it needs at least 1"), "{}", refusal(&mut graph));
}

/// Sends round what it gets, and one message on for each; within the cycle only the newest goes on.
struct Round;

impl Kernel for Round {
    type Ports = ([In<u64>; 2], [Out<u64>; 2]);
    fn ports(&mut self, bind: &mut Binder<'_>) -> Self::Ports {
        ([bind.input("fresh"), bind.input("again")], [bind.output("round"), bind.output("done")])
    }
    fn run(&mut self, &([fresh, again], [round, done]): &Self::Ports, io: &mut Io<'_>) -> Result<Flow, BoxError> {
        while let Some(x) = io.pop(fresh) {
            io.push(round, x);
        }
        while let Some(x) = io.pop(again) {
            io.push(done, x);
        }
        Ok(Flow::More)
    }
}

#[test]
fn a_cycle_that_forgets_ends() {
    let run = |name: &str, count: u64| {
        let mut seen = Vec::new();
        let mut graph = Graph::new();
        let ([fresh, again], [round, done]) = graph.add(Round);
        let sink = graph.sink(|x: u64| seen.push(x));
        graph += graph.source(0..count) >> fresh;
        graph += round.newest(2).feedback() >> again;
        graph += done >> sink;
        let report = graph.run(Scheme::named(name).unwrap().workers(2)).unwrap();
        drop(graph);
        assert_eq!(report.end, End::Complete, "{name}");
        assert!(seen.is_sorted() && seen.len() as u64 + report.dropped == count, "{name}: {seen:?}");
    };
    for name in Scheme::names() {
        let name = name.to_owned();
        within(SOON, move || run(&name, 5000));
    }
    Fuzz::new().seeds(0..300).threads(2).stack_bytes(1 << 20).run(|| run("depth_first", 7));
}

#[test]
fn nothing_is_lost_uncounted_in_any_interleaving() {
    for name in ["depth_first", "raft", "mix_dyn"] {
        Fuzz::new().seeds(0..400).threads(2).stack_bytes(1 << 20).run(|| {
            let seen = Arc::new(Mutex::new(Vec::new()));
            let ours = seen.clone();
            let mut graph = Graph::new();
            let sink = graph.sink(move |x: u64| ours.lock().unwrap().push(x));
            graph += graph.source(0..9_u64).latest() >> graph.map(|x: u64| x) >> sink;
            let report = graph.run(Scheme::named(name).unwrap().workers(2)).unwrap();
            drop(graph);
            let seen = seen.lock().unwrap();
            assert!(seen.is_sorted() && seen.last() == Some(&8), "{name}: {seen:?}");
            assert_eq!(seen.len() as u64 + report.edges[0].overwritten, 9, "{name}");
            assert_eq!(report.edges[0].blocked_full, 0, "{name}");
        });
    }
}

#[test]
fn a_capacity_may_be_said_in_bytes() {
    let mut graph = Graph::new();
    graph += graph.source((0..1000_u64).map(|x| [x; 4])).fixed_bytes(1024) >> graph.sink(|_: [u64; 4]| ());
    graph += graph.source(0..9_u64).fixed_bytes(1) >> graph.sink(|_: u64| ());
    let report = graph.run(Scheme::named("qes").unwrap().workers(1)).unwrap();
    assert!(report.edges[0].peak <= 32 + 16, "{report}");
    assert!(report.edges[1].peak <= 1 + 1, "{report}");
}
