//! Parallel kernels with several ports. That they compute what a loop computes, under every scheme, is said by the random graphs.

use crate::common::{Ledger, SOON, Token, within};
use std::collections::HashMap;
use std::marker::PhantomData;
use std::thread::{ThreadId, current};
use thalweg::prelude::*;
use thalweg::{End, Error};
use thalweg_check::Fuzz;
use thalweg_sync::sync::{Arc, Mutex};
use thalweg_sync::thread;
use thalweg_sync::time::Duration;

/// Takes so many at each of two inputs, and gives what a closure makes of the first of each.
struct Pair<F, T, U> {
    rates: (usize, usize),
    give: F,
    types: PhantomData<fn(T) -> U>,
}

fn pair<F, T, U>(rates: (usize, usize), give: F) -> Pair<F, T, U>
where
    F: Fn(&T, &T) -> Result<U, BoxError>,
{
    Pair { rates, give, types: PhantomData }
}

impl<F, T: Send, U: Send> ParallelKernel for Pair<F, T, U>
where
    F: Fn(&T, &T) -> Result<U, BoxError> + Send + Sync,
{
    type Ports = (In<T>, In<T>, Out<U>);
    fn ports(&mut self, bind: &mut Binder<'_>) -> Self::Ports {
        (bind.input_of("left", self.rates.0), bind.input_of("right", self.rates.1), bind.output("out"))
    }
    fn fire(&self, &(left, right, out): &Self::Ports, firing: &mut Firing<'_>) -> Result<(), BoxError> {
        let given = (self.give)(&firing.slice(left)[0], &firing.slice(right)[0])?;
        firing.push(out, given);
        Ok(())
    }
}

/// Three whole firings; of the one input one message is left, of the other 91.
#[test]
fn what_is_too_little_for_a_firing_is_dropped_once_and_counted() {
    for name in Scheme::names() {
        let ledger = Ledger::new(200);
        let ours = ledger.clone();
        let (report, seen) = within(SOON, move || {
            let seen = Mutex::new(Vec::new());
            let mut graph = Graph::new();
            let tokens = |count: u64| (0..count).map(|x| Token::of(&ours, x)).collect::<Vec<_>>();
            let (left, right) = (graph.source(tokens(7)), graph.source(tokens(100)));
            let pair = graph.add_parallel(pair((2, 3), |a: &Token, b: &Token| Ok((a.value, b.value))));
            let sink = graph.sink(|both| seen.lock().unwrap().push(both));
            graph += left >> pair.0;
            graph += right >> pair.1;
            graph += pair.2 >> sink;
            let report = graph.run(Scheme::named(name).unwrap().workers(3)).unwrap();
            drop(graph);
            (report, seen.into_inner().unwrap())
        });
        assert_eq!(seen, [(0, 0), (2, 3), (4, 6)], "{name}");
        assert_eq!(report.end, End::Complete, "{name}");
        // An iterator may not have been read to its end, and what is given to who is over counts on no edge.
        let given = report.kernel("source-1").unwrap().messages_out;
        assert!((1 + given - 9..=1 + 91).contains(&report.dropped), "{name}: {report}");
        ledger.is_settled();
    }
}

#[expect(clippy::disallowed_methods, reason = "natively, where a thread is a thread")]
fn this_thread() -> ThreadId {
    current().id()
}

/// What a batch has left when it turns slow is done by the others too, and its results stay in order.
#[test]
fn a_batch_that_turns_slow_is_shared_and_its_results_stay_in_order() {
    const QUICK: u64 = 50_000;
    for name in ["depth_first", "pw", "qes"] {
        let (by, seen) = within(SOON, move || {
            let by = Mutex::new(HashMap::<ThreadId, u64>::new());
            let mut seen = Vec::new();
            let mut graph = Graph::new();
            let (left, right) = (graph.source(0..QUICK + 300), graph.source(0..QUICK + 300));
            let pair = graph.add_parallel(pair((1, 1), |a: &u64, b: &u64| {
                if *a >= QUICK {
                    thread::sleep(Duration::from_millis(2));
                    *by.lock().unwrap().entry(this_thread()).or_default() += 1;
                }
                Ok(a + b)
            }));
            let sink = graph.sink(|x: u64| seen.push(x));
            graph += left >> pair.0;
            graph += right >> pair.1;
            graph += pair.2 >> sink;
            graph.run(Scheme::named(name).unwrap().workers(4)).unwrap();
            drop(graph);
            (by.into_inner().unwrap(), seen)
        });
        assert!(by.len() > 2 && by.values().all(|&count| count < 225), "{name}: {by:?}");
        assert!(seen.into_iter().eq((0..QUICK + 300).map(|x| 2 * x)), "{name}");
    }
}

#[test]
fn a_firing_that_fails_is_named_and_every_message_is_dropped_once() {
    for name in Scheme::names() {
        for panics in [false, true] {
            let ledger = Ledger::new(4000);
            let ours = ledger.clone();
            let error = within(SOON, move || {
                let mut graph = Graph::new();
                let ledger = &ours;
                let tokens = || (0..600).map(move |x| Token::of(ledger, x));
                let (left, right) = (graph.source(tokens()), graph.source(tokens()));
                let pair = graph.add_parallel(pair((1, 2), move |a: &Token, _: &Token| {
                    if a.value == 200 {
                        assert!(!panics, "enough is enough");
                        return Err("enough is enough".into());
                    }
                    Ok(a.clone())
                }));
                let sink = graph.sink(|_: Token| ());
                graph += left >> pair.0;
                graph += right >> pair.1;
                graph += pair.2 >> sink;
                let error = graph.run(Scheme::named(name).unwrap().workers(3)).unwrap_err();
                drop(graph);
                error
            });
            let Error::Failed { failures, .. } = &error else { panic!("{error}") };
            assert!(failures[0].kernel.starts_with("Pair-2"), "{name}: {error}");
            assert!(format!("{:?}", failures[0].cause).contains("enough is enough"), "{name}: {:?}", failures[0].cause);
            ledger.is_settled();
        }
    }
}

/// Gives its first tokens itself, then what comes back.
struct Seed(u64);

impl Kernel for Seed {
    type Ports = (In<u64>, Out<u64>);
    fn ports(&mut self, bind: &mut Binder<'_>) -> Self::Ports {
        (bind.input("back"), bind.output("tokens"))
    }
    fn run(&mut self, &(back, tokens): &Self::Ports, io: &mut Io<'_>) -> Result<Flow, BoxError> {
        io.extend(tokens, 0..std::mem::take(&mut self.0));
        while let Some(token) = io.pop(back) {
            io.push(tokens, token);
        }
        Ok(Flow::More)
    }
}

/// Takes a message and a token, and gives the token back.
struct Toll;

#[derive(Clone)]
struct TollPorts {
    fresh: In<u64>,
    tokens: In<u64>,
    back: Out<u64>,
    done: Out<u64>,
}

impl ParallelKernel for Toll {
    type Ports = TollPorts;
    fn ports(&mut self, bind: &mut Binder<'_>) -> TollPorts {
        TollPorts {
            fresh: bind.input("fresh"),
            tokens: bind.input("tokens"),
            back: bind.output("back"),
            done: bind.output("done"),
        }
    }
    fn fire(&self, ports: &TollPorts, firing: &mut Firing<'_>) -> Result<(), BoxError> {
        let (x, token) = (firing.take(ports.fresh), firing.take(ports.tokens));
        firing.push(ports.back, token);
        firing.push(ports.done, x);
        Ok(())
    }
}

fn toll(graph: &mut Graph<'_>, messages: u64, tokens: u64) -> (Out<u64>, In<u64>) {
    let numbers = graph.source(0..messages);
    let (seed, toll) = (graph.add(Seed(tokens)), graph.add_parallel(Toll));
    *graph += numbers >> toll.fresh;
    *graph += seed.1 >> toll.tokens;
    *graph += toll.back.feedback() >> seed.0;
    (toll.done, seed.0)
}

#[test]
fn feedback_leads_into_a_parallel_kernel() {
    for name in Scheme::names() {
        for tokens in [1, 3, 100] {
            let seen = within(SOON, move || {
                let mut seen = Vec::new();
                let mut graph = Graph::new();
                let (done, _) = toll(&mut graph, 500, tokens);
                let sink = graph.sink(|x: u64| seen.push(x));
                graph += done >> sink;
                let report = graph.run(Scheme::named(name).unwrap().workers(3)).unwrap();
                assert_eq!((report.end, report.dropped), (End::Complete, tokens), "{name}: the tokens are left");
                drop(graph);
                seen
            });
            assert!(seen.into_iter().eq(0..500), "{name} with {tokens} tokens");
        }
    }
}

/// What comes out of a second output is changed where it is, by a kernel with one.
#[test]
fn a_block_that_is_passed_on_leaves_by_the_port_of_who_passes_it_on() {
    struct Halves;
    impl ParallelKernel for Halves {
        type Ports = (In<u64>, [Out<u64>; 2]);
        fn ports(&mut self, bind: &mut Binder<'_>) -> Self::Ports {
            (bind.input("in"), [bind.output("even"), bind.output("odd")])
        }
        fn fire(&self, &(input, halves): &Self::Ports, firing: &mut Firing<'_>) -> Result<(), BoxError> {
            let x = firing.take(input);
            firing.push(halves[x as usize % 2], x);
            Ok(())
        }
    }
    for name in Scheme::names() {
        let (even, odd) = within(SOON, move || {
            let mut graph = Graph::new();
            let (input, [even, odd]) = graph.add_parallel(Halves);
            let ((left, evens), (right, odds)) = (graph.collect(), graph.collect());
            graph += graph.source(0..3000_u64) >> input;
            graph += even >> graph.parallel_update(|x: &mut u64| *x += 1) >> left;
            graph += odd >> graph.parallel_update(|x: &mut u64| *x += 1) >> right;
            graph.run(Scheme::named(name).unwrap().workers(2)).unwrap();
            (evens.take(), odds.take())
        });
        assert!(even.into_iter().eq((1..3000).step_by(2)), "{name}");
        assert!(odd.into_iter().eq((2..=3000).step_by(2)), "{name}");
    }
}

/// A cycle into which nothing was put.
#[test]
fn without_a_token_the_run_says_what_it_waits_for() {
    for name in Scheme::names() {
        let error = within(SOON, move || {
            let mut graph = Graph::new();
            let (done, _) = toll(&mut graph, 20, 0);
            let sink = graph.sink(|_: u64| ());
            graph += done >> sink;
            graph.run(Scheme::named(name).unwrap().workers(2)).unwrap_err()
        });
        let Error::Stalled { waits, .. } = &error else { panic!("{name}: {error}") };
        let wait = waits.iter().find(|wait| wait.kernel == "Toll-2").unwrap();
        assert_eq!(wait.port, "tokens", "{name}: {error}");
        assert!(wait.reason.starts_with("0 messages are there, and a firing takes 1"), "{name}: {error}");
        assert!(wait.reason.contains("its input fresh has 20"), "{name}: {error}");
    }
}

/// What a firing takes is brought together, however little the edge holds.
#[test]
fn a_firing_may_take_more_than_its_edge_holds() {
    for name in Scheme::names() {
        let seen = within(SOON, move || {
            let mut seen = Vec::new();
            let mut graph = Graph::new();
            let (left, right) = (graph.source(0..1000_u64), graph.source(0..100_u64));
            let pair = graph.add_parallel(pair((100, 10), |a: &u64, b: &u64| Ok(a + b)));
            let sink = graph.sink(|x: u64| seen.push(x));
            graph += left.fixed(3) >> pair.0;
            graph += right.fixed(200) >> pair.1;
            graph += pair.2.fixed(1) >> sink;
            graph.run(Scheme::named(name).unwrap().workers(2)).unwrap();
            drop(graph);
            seen
        });
        assert!(seen.into_iter().eq((0..10).map(|x| 110 * x)), "{name}");
    }
}

#[test]
fn who_has_enough_ends_the_kernel_before_it() {
    for name in Scheme::names() {
        let report = within(SOON, move || {
            let mut graph = Graph::new();
            let (left, right) = (graph.source(0_u64..), graph.source(0_u64..));
            let pair = graph.add_parallel(pair((1, 1), |a: &u64, b: &u64| Ok(a + b)));
            let (three, sink) = (graph.take(3), graph.sink(|_: u64| ()));
            graph += left >> pair.0;
            graph += right >> pair.1;
            graph += pair.2 >> three >> sink;
            graph.run(Scheme::named(name).unwrap().workers(2)).unwrap()
        });
        assert_eq!(report.kernels.last().unwrap().messages_in, 3, "{name}");
    }
}

fn refusal(graph: &mut Graph<'_>) -> String {
    match graph.run(Scheme::default()) {
        Err(error @ Error::Refused(_)) => error.to_string(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_firing_takes_something() {
    struct Nothing;
    impl ParallelKernel for Nothing {
        type Ports = Out<u64>;
        fn ports(&mut self, bind: &mut Binder<'_>) -> Out<u64> {
            bind.output("out")
        }
        fn fire(&self, _: &Out<u64>, _: &mut Firing<'_>) -> Result<(), BoxError> {
            Ok(())
        }
    }
    let mut graph = Graph::new();
    let out = graph.add_parallel(Nothing);
    let sink = graph.sink(|_: u64| ());
    graph += out >> sink;
    assert!(refusal(&mut graph).contains("it has no input, so nothing says how often it fires"));

    let mut graph = Graph::new();
    let (left, right) = (graph.source(0..3_u64), graph.source(0..3_u64));
    let pair = graph.add_parallel(pair((1, 0), |a: &u64, _: &u64| Ok(*a)));
    let sink = graph.sink(|_: u64| ());
    graph += left >> pair.0;
    graph += right >> pair.1;
    graph += pair.2 >> sink;
    let text = refusal(&mut graph);
    assert!(text.contains("a firing takes 0 messages at its input right; it must be at least 1"), "{text}");
}

/// A firing that takes more than it may, and a port of another kernel.
#[test]
fn a_firing_keeps_to_its_own() {
    struct Greedy(Option<In<u64>>);
    impl ParallelKernel for Greedy {
        type Ports = In<u64>;
        fn ports(&mut self, bind: &mut Binder<'_>) -> In<u64> {
            bind.input("in")
        }
        fn fire(&self, &port: &In<u64>, firing: &mut Firing<'_>) -> Result<(), BoxError> {
            firing.take(self.0.unwrap_or(port));
            firing.take(port);
            Ok(())
        }
    }
    let run = |other: bool| {
        let mut graph = Graph::new();
        let numbers = graph.source(0..10_u64);
        let stranger = other.then(|| Graph::new().add_parallel(Greedy(None)));
        let port = graph.add_parallel(Greedy(stranger));
        graph += numbers >> port;
        graph.run(Scheme::default()).unwrap_err().to_string()
    };
    assert!(run(false).contains("the firing has taken all of its messages here"), "{}", run(false));
    assert!(run(true).contains("a port of another kernel"), "{}", run(true));
}

#[test]
fn firings_are_in_order_in_every_interleaving() {
    for name in ["depth_first", "raft", "mix", "qes_pss_prs"] {
        Fuzz::new().seeds(0..300).threads(2).stack_bytes(1 << 20).run(|| {
            let seen = Arc::new(Mutex::new(Vec::new()));
            let mut graph = Graph::new();
            let (left, right) = (graph.source(0..4_u64), graph.source(0..7_u64));
            let pair = graph.add_parallel(pair((1, 2), |a: &u64, b: &u64| Ok((*a, *b))));
            let ours = seen.clone();
            let sink = graph.sink(move |both| ours.lock().unwrap().push(both));
            graph += left.fixed(1) >> pair.0;
            graph += right.fixed(2) >> pair.1;
            graph += pair.2.fixed(1) >> sink;
            let report = graph.run(Scheme::named(name).unwrap().workers(2)).unwrap();
            assert_eq!(report.end, End::Complete, "{name}");
            drop(graph);
            assert_eq!(*seen.lock().unwrap(), [(0, 0), (1, 2), (2, 4)], "{name}");
        });
    }
}

#[test]
fn a_cycle_with_firings_ends_in_every_interleaving() {
    for name in ["depth_first", "mix", "pw"] {
        Fuzz::new().seeds(0..300).threads(2).stack_bytes(1 << 20).run(|| {
            let mut graph = Graph::new();
            let (done, _) = toll(&mut graph, 4, 2);
            let (end, count) = graph.count();
            graph += done >> end;
            let report = graph.run(Scheme::named(name).unwrap().workers(2)).unwrap();
            assert_eq!((report.end, count.take()), (End::Complete, 4), "{name}");
        });
    }
}

/// Adds a window of one input and so many of the other.
struct Slide {
    window: (usize, usize),
    others: usize,
}

impl ParallelKernel for Slide {
    type Ports = (In<u64>, In<u64>, Out<u64>, Out<(u64, u64)>);
    fn ports(&mut self, bind: &mut Binder<'_>) -> Self::Ports {
        let (peek, pop) = self.window;
        let (own, others) = (bind.input_window("own", peek, pop), bind.input_of("others", self.others));
        (own, others, bind.output("sums"), bind.output("numbers"))
    }
    fn fire(&self, &(own, others, sums, numbers): &Self::Ports, firing: &mut Firing<'_>) -> Result<(), BoxError> {
        // Long in a block twice: what is left of it is cut.
        if firing.number() % 64 == 5 {
            thread::sleep(Duration::from_millis(2));
        }
        let sum = firing.slice(own).iter().chain(firing.slice(others)).sum();
        firing.push(sums, sum);
        // What is taken of a window is seen again all the same.
        let first = firing.take(own);
        firing.push(numbers, (firing.number(), first));
        Ok(())
    }
}

/// Whatever a firing takes of its window, the next one begins where it should, and what no window saw is counted.
#[test]
fn firings_slide_over_windows() {
    const COUNT: u64 = 300;
    for scheme in Scheme::names().map(|name| Scheme::named(name).unwrap().workers(3)) {
        for (window @ (peek, pop), others) in [((2, 1), 1), ((5, 2), 3), ((7, 6), 1), ((3, 3), 2), ((400, 1), 1)] {
            let own: Vec<u64> = (0..COUNT).map(|x| x * x).collect();
            let fired = own.windows(peek).step_by(pop).count() as u64;
            // One more than is needed, so that it is the other input that ends the kernel, with all its messages there.
            let rest = fired * others as u64 + 1;
            let (report, sums, numbers) = within(SOON, move || {
                let mut graph = Graph::new();
                let (to_own, to_others, sums, numbers) = graph.add_parallel(Slide { window, others });
                graph.name(to_own, "slide");
                let ((first, sums_seen), (second, numbers_seen)) = (graph.collect(), graph.collect());
                graph += graph.source((0..COUNT).map(|x| x * x)) >> to_own;
                graph += graph.source(0..rest) >> to_others;
                graph += sums >> first;
                graph += numbers >> second;
                let report = graph.run(scheme).unwrap();
                (report, sums_seen.take(), numbers_seen.take())
            });
            let all: Vec<u64> = (0..rest).collect();
            let windows = own.windows(peek).step_by(pop).zip(all.chunks_exact(others));
            let expected: Vec<u64> = windows.map(|(own, others)| own.iter().chain(others).sum()).collect();
            let case = format!("{}: {window:?} and {others}", scheme.name());
            assert_eq!(sums, expected, "{case}");
            let firsts = (0..fired).zip(own.into_iter().step_by(pop));
            assert!(numbers.iter().copied().eq(firsts), "{case}: {numbers:?}");
            let seen = if fired == 0 { 0 } else { (fired - 1) * pop as u64 + peek as u64 };
            let unseen = COUNT - seen;
            // The one that is not needed came, or its source was given up.
            assert!((unseen..=unseen + 1).contains(&report.dropped), "{case}: {report}");
            let kernel = report.kernel("slide").unwrap();
            assert_eq!(kernel.messages_in, fired * (pop + others) as u64, "{case}: {report}");
        }
    }
}

/// Sums windows of large messages. A block has 16 such messages.
struct LargeWindow {
    window: (usize, usize),
}

impl ParallelKernel for LargeWindow {
    type Ports = (In<[u64; 128]>, In<u64>, Out<u64>);
    fn ports(&mut self, bind: &mut Binder<'_>) -> Self::Ports {
        let (peek, pop) = self.window;
        (bind.input_window("own", peek, pop), bind.input("other"), bind.output("sums"))
    }
    fn fire(&self, &(own, other, sums): &Self::Ports, firing: &mut Firing<'_>) -> Result<(), BoxError> {
        let sum = firing.slice(own).iter().map(|message| message[0]).sum::<u64>();
        let other = firing.take(other);
        firing.push(sums, sum + other);
        Ok(())
    }
}

#[test]
fn a_batch_of_windows_takes_more_than_it_leaves_to_the_next() {
    const COUNT: u64 = 4000;
    for (peek, pop) in [(2, 1), (16, 1), (40, 4)] {
        let mut graph = Graph::new();
        let (own, other, sums) = graph.add_parallel(LargeWindow { window: (peek, pop) });
        graph.name(own, "window");
        let fired = (COUNT - peek as u64) / pop as u64 + 1;
        graph += graph.source((0..COUNT).map(|x| [x; 128])) >> own;
        graph += graph.source(0..fired) >> other;
        graph += sums >> graph.sink(drop::<u64>);
        let report = graph.run(Scheme::default().workers(1)).unwrap();
        let kernel = report.kernel("window").unwrap();
        let taken = fired * pop as u64;
        // The first few have one firing each, until its cost is known; and some end where the other input has no more.
        let most = 2 * taken / (peek - pop) as u64 + 100;
        assert!(
            kernel.activations <= most,
            "{peek}, {pop}: {} for {taken} messages, at most {most}",
            kernel.activations
        );
    }
}

#[test]
fn a_window_that_cannot_be_is_refused() {
    let refusal = |window, cycle: bool| {
        let mut graph = Graph::new();
        let (own, others, sums, numbers) = graph.add_parallel(Slide { window, others: 1 });
        if cycle {
            graph += sums.feedback() >> own;
        } else {
            graph += sums >> graph.sink(drop::<u64>);
            graph += graph.source(0..9_u64) >> own;
        }
        graph += numbers >> graph.sink(drop::<(u64, u64)>);
        graph += graph.source(0..9_u64) >> others;
        graph.run(Scheme::default()).unwrap_err().to_string()
    };
    let text = refusal((2, 3), false);
    assert!(text.contains("sees 2 messages at its input own and takes 3; it must take at most what it sees"), "{text}");
    let text = refusal((2, 0), false);
    assert!(text.contains("takes 0 messages at its input own"), "{text}");
    let text = refusal((2, 1), true);
    assert!(text.contains("its input own is a window that slides, and lies on a cycle"), "{text}");
}
