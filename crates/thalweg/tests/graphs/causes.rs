//! What an error says: which kernel, where, and every cause once, whoever prints it.

use crate::common::{SOON, within};
use anyhow::Context;
use std::error::Error as StdError;
use std::fmt;
use std::hash::{Hash, Hasher};
use thalweg::prelude::*;
use thalweg::{Cause, Error, Over};
use thalweg_sync::atomic::{AtomicBool, Ordering::*};
use thalweg_sync::sync::{Arc, Mutex};

#[derive(Debug)]
struct NoDisk(u64);

impl fmt::Display for NoDisk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "disk {} is gone", self.0)
    }
}

impl StdError for NoDisk {}

/// Three errors, one the cause of the next.
fn deep(disk: u64) -> anyhow::Error {
    let lowest = Err::<(), _>(NoDisk(disk));
    lowest.with_context(|| format!("page {disk} is unread")).with_context(|| format!("query {disk}")).unwrap_err()
}

/// A run whose kernel `check` fails for the fifth message, and the line where it was made.
fn failed() -> (Error, u32) {
    let mut graph = Graph::new();
    let line = line!() + 1;
    let check = graph.sink(|x: u64| if x == 5 { Err(deep(1)) } else { Ok(()) });
    graph.name(check, "check");
    graph += graph.source(0..10_u64) >> check;
    (graph.run(Scheme::default()).unwrap_err(), line)
}

/// The texts of an error and of what is behind it, as a loop sees them.
fn chain(error: &(dyn StdError + 'static)) -> Vec<String> {
    std::iter::successors(Some(error), |&cause| cause.source()).map(ToString::to_string).collect()
}

#[test]
fn the_source_is_what_the_kernel_returned_with_all_of_its_causes() {
    let (error, line) = failed();
    let at_our_level = format!("kernel check ({}:{line}:23) failed", file!());
    assert_eq!(chain(&error), [at_our_level.as_str(), "query 1", "page 1 is unread", "disk 1 is gone"]);
    let whole = chain(&error).join(": ");
    assert_eq!(format!("{error:#}"), whole);
    assert_eq!(format!("{error:?}"), whole, "what `main` prints if it returns the error");
    let Error::Failed { failures, .. } = &error else { panic!("{error}") };
    assert_eq!(format!("{:#}", failures[0]), whole);
    assert_eq!(chain(&failures[0]), chain(&error));
}

#[test]
fn anyhow_prints_every_cause_once_and_finds_it() {
    let (error, _) = failed();
    let whole = format!("{error:#}");
    let error = anyhow::Error::from(error);
    assert_eq!(format!("{error:#}"), whole);
    assert_eq!(error.chain().count(), 4);
    assert_eq!(error.chain().find_map(|cause| cause.downcast_ref::<NoDisk>()).expect("it is there").0, 1);
    let told = format!("{error:?}");
    for text in ["failed", "query 1", "page 1 is unread", "disk 1 is gone"] {
        assert_eq!(told.matches(text).count(), 1, "{told}");
    }
}

/// Gives nothing, and fails with an error and, when the run is over, with a destructor.
#[test]
fn of_several_failures_each_is_told_beside_its_own_kernel() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("boom");
        }
    }
    let mut graph = Graph::new();
    let (bombs, more) = (graph.source((0..1).map(|_| Bomb)), graph.source(0..1));
    let check = graph.add(Refuses { bombs: 1 });
    graph.name(check.0, "check");
    graph += bombs >> check.0;
    graph += more >> check.1;
    let error = graph.run(Scheme::default().workers(1)).unwrap_err();
    let Error::Failed { failures, .. } = &error else { panic!("{error}") };
    assert!(matches!(failures[0].cause, Cause::Error(_)) && matches!(failures[1].cause, Cause::Panic(_)), "{error}");
    let whole = format!("{error:#}");
    assert_eq!(format!("{:#}", anyhow::Error::from(error)), whole);
    let lines: Vec<_> = whole.lines().collect();
    assert_eq!(lines.len(), 2, "{whole}");
    assert!(lines[0].starts_with("kernel check (") && lines[0].ends_with(") panicked: boom"), "{whole}");
    assert!(lines[1].ends_with(") failed: query 7: page 7 is unread: disk 7 is gone"), "{whole}");

    /// Fails when both of its inputs have something, and leaves it.
    struct Refuses {
        bombs: usize,
    }
    impl Kernel for Refuses {
        type Ports = (In<Bomb>, In<i32>);
        fn ports(&mut self, bind: &mut Binder<'_>) -> Self::Ports {
            (bind.input("bombs"), bind.input("more"))
        }
        fn run(&mut self, &(bombs, more): &Self::Ports, io: &mut Io<'_>) -> Result<Flow, BoxError> {
            if io.has(bombs, self.bombs) && io.has(more, 1) { Err(deep(7).into()) } else { Ok(Flow::More) }
        }
    }
}

#[test]
fn each_feed_of_an_inlet_that_fails_is_a_failure_of_its_own() {
    let mut graph = Graph::new();
    let (source, inlet) = graph.inlet::<u64>(4).unwrap();
    graph += source >> graph.sink(drop::<u64>);
    graph.reopen();
    (1..=2).for_each(|disk| inlet.clone().fail(deep(disk)));
    drop(inlet);
    let error = graph.run(Scheme::default()).unwrap_err();
    let Error::Failed { failures, .. } = &error else { panic!("{error}") };
    for (failure, disk) in failures.iter().zip(1..) {
        let Cause::Error(cause) = &failure.cause else { panic!("{error}") };
        assert_eq!(chain(&**cause), chain(&*BoxError::from(deep(disk))));
    }
    assert_eq!(failures.len(), 2, "{error}");
    assert_eq!(chain(&error).len(), 4, "the first one is the source");
}

#[test]
fn who_takes_from_an_outlet_is_told_every_cause() {
    within(SOON, || {
        let mut graph = Graph::new();
        let (sink, outlet) = graph.outlet::<u64>(4).unwrap();
        graph +=
            graph.source(0..10_u64) >> graph.sequential(|_: u64, _: &mut Output<u64>| Err::<(), _>(deep(3))) >> sink;
        graph.run(Scheme::default()).unwrap_err();
        let Err(Over::Failed(text)) = outlet.pop() else { panic!("it failed") };
        assert!(text.ends_with("failed: query 3: page 3 is unread: disk 3 is gone"), "{text}");
    });
}

/// A message whose own code panics where it is asked to.
#[derive(Debug)]
struct Touchy {
    number: u64,
    at: &'static str,
}

impl Touchy {
    fn touch(&self, at: &str) {
        assert!(self.at != at || self.number != 5, "touched by {at}");
    }
}

impl Clone for Touchy {
    fn clone(&self) -> Self {
        self.touch("Clone");
        Self { at: if self.at == "Drop of a copy" { "Drop" } else { self.at }, ..*self }
    }
}

impl Drop for Touchy {
    fn drop(&mut self) {
        self.touch("Drop");
    }
}

impl Hash for Touchy {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.touch("Hash");
        self.number.hash(state);
    }
}

impl PartialEq for Touchy {
    fn eq(&self, other: &Self) -> bool {
        self.number == other.number
    }
}

impl Eq for Touchy {}

impl PartialOrd for Touchy {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Touchy {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.touch("Ord");
        self.number.cmp(&other.number)
    }
}

#[test]
fn a_panic_in_the_code_of_a_message_names_the_kernel_that_asked_for_it() {
    type Build = fn(&mut Graph<'static>, Source<Touchy>, Sink<Touchy>);
    let cases: [(&str, &str, Build); 8] = [
        ("Clone", "bad", |graph, source, sink| {
            // The windows of two blocks share messages. What panics is in the code of the edge, on the producer's side.
            let window = graph.window(4, 1, |_: &[Touchy], _: &mut Output<Touchy>| ());
            graph.name(window, "bad");
            *graph += source >> window >> sink;
        }),
        ("Clone", "Tee", |graph, source, sink| {
            let [one, two] = graph.tee(source);
            *graph += one >> sink;
            *graph += two >> graph.sink(drop::<Touchy>);
        }),
        ("Drop", "bad", |graph, source, sink| {
            graph.name(sink, "bad");
            *graph += source >> sink;
        }),
        ("Drop", "chain", |graph, source, sink| {
            let none = graph.from(source).filter(|_| false).path();
            *graph += none >> sink;
        }),
        ("Drop of a copy", "bad", |graph, source, sink| {
            // Nobody takes them any more: they are dropped where they are given.
            let leaves = graph.add(Leaves);
            graph.name(leaves, "bad");
            let [one, two] = graph.tee(source.fixed(1));
            *graph += one.fixed(1) >> leaves;
            *graph += two.fixed(1) >> sink;
        }),
        ("Hash", "bad", |graph, source, sink| {
            let outputs: [_; 2] = graph.partition(source, |message: &Touchy| {
                message.hash(&mut std::hash::DefaultHasher::new());
                message.number
            });
            graph.name(outputs[0], "bad");
            let [one, two] = outputs;
            *graph += one >> sink;
            *graph += two >> graph.sink(drop::<Touchy>);
        }),
        ("Hash", "Address", |graph, source, sink| {
            let folded = graph.key_by(source, |message| Touchy { ..*message }).fold(|| 0, |count, _| *count += 1);
            *graph += folded >> graph.sink(drop::<(Touchy, i32)>);
            *graph += graph.source((0..0).map(|number| Touchy { number, at: "" })) >> sink;
        }),
        ("Ord", "bad", |graph, source, sink| {
            let other = graph.source((0..20).map(|number| Touchy { number, at: "Ord" }));
            let merged = graph.merge_by_key([source, other], |message| Touchy { ..*message });
            graph.name(merged, "bad");
            *graph += merged >> sink;
        }),
    ];
    for (case, (at, kernel, build)) in cases.into_iter().enumerate() {
        for scheme in [Scheme::default().workers(1), Scheme::default().workers(2), Scheme::named("mix").unwrap()] {
            within(SOON, move || {
                let mut graph = Graph::new();
                let source = graph.source((0..20).map(move |number| Touchy { number, at }));
                graph.name(source, "giver");
                let sink = graph.sink(drop::<Touchy>);
                build(&mut graph, source, sink);
                let error = graph.run(scheme).unwrap_err();
                let Error::Failed { failures, .. } = &error else { panic!("{case}: {error}") };
                let first = &failures[0];
                assert!(first.kernel.contains(kernel), "{case}: {error}");
                let touched = |told: &str| told.strip_prefix("touched by ").is_some_and(|by| at.starts_with(by));
                assert!(matches!(&first.cause, Cause::Panic(told) if touched(told)), "{case}: {error}");
            });
        }
    }

    /// Takes nothing.
    struct Leaves;
    impl Kernel for Leaves {
        type Ports = In<Touchy>;
        fn ports(&mut self, bind: &mut Binder<'_>) -> In<Touchy> {
            bind.input("in")
        }
        fn run(&mut self, _: &In<Touchy>, _: &mut Io<'_>) -> Result<Flow, BoxError> {
            Ok(Flow::Done)
        }
    }
}

/// Every second one panics when it is dropped, also while another panic unwinds.
#[test]
fn what_destructors_panic_with_while_another_panic_unwinds_is_told() {
    struct Odd(u64, Arc<Mutex<Vec<u64>>>);
    impl Clone for Odd {
        fn clone(&self) -> Self {
            Self(self.0, self.1.clone())
        }
    }
    impl Drop for Odd {
        fn drop(&mut self) {
            if self.0 % 2 == 1 {
                self.1.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).push(self.0);
                panic!("{}", self.0);
            }
        }
    }
    let told = |error: Error| {
        let Error::Failed { failures, .. } = error else { panic!("{error}") };
        let numbers = failures.into_iter().map(|failure| match failure.cause {
            Cause::Panic(text) => text.parse::<u64>().expect("a number"),
            other => panic!("{other:?}"),
        });
        let mut numbers: Vec<_> = numbers.collect();
        numbers.sort_unstable();
        numbers
    };
    for at_a_time in 1..20 {
        let fired = Arc::new(Mutex::new(Vec::new()));
        let (mut graph, mut next, theirs) = (Graph::new(), 0, fired.clone());
        let source = graph.poll_source(move |out: &mut Output<Odd>| {
            if next >= 200 {
                return Flow::Done;
            }
            for _ in 0..at_a_time {
                out.push(Odd(next, theirs.clone()));
                next += 1;
            }
            Flow::Pending
        });
        let window = graph.window(1, 2, |_: &[Odd], out: &mut Output<u64>| out.push(1));
        let all = graph.from(source).filter(|_| true).path();
        graph += all >> window >> graph.sink(drop::<u64>);
        let told = told(graph.run(Scheme::default().workers(1)).unwrap_err());
        drop(graph);
        let mut fired = Arc::into_inner(fired).unwrap().into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
        fired.sort_unstable();
        assert!(!fired.is_empty());
        assert_eq!(told, fired, "{at_a_time} at a time");
    }
}

/// Gives three numbers. May panic then, and when it is dropped.
struct Frail {
    next: u64,
    panics: bool,
    is_live: Arc<AtomicBool>,
}

impl Iterator for Frail {
    type Item = u64;
    fn next(&mut self) -> Option<u64> {
        assert!(self.next < 3 || !self.panics, "the iterator");
        self.next += 1;
        (self.next <= 3).then_some(self.next)
    }
}

impl Drop for Frail {
    fn drop(&mut self) {
        assert!(!self.is_live.load(Acquire), "its destructor");
    }
}

#[test]
fn a_panicking_destructor_of_an_iterator_does_not_leave_run() {
    let panics = |error: Error| {
        let Error::Failed { failures, .. } = error else { panic!("{error}") };
        let texts = failures.into_iter().map(|failure| {
            assert!(["giver", "chain-0"].contains(&&*failure.kernel), "{}", failure.kernel);
            let Cause::Panic(text) = failure.cause else { panic!("{:?}", failure.cause) };
            text
        });
        texts.collect::<Vec<_>>()
    };
    // One for each run, dropped by the next one.
    let is_live = Arc::new(AtomicBool::new(false));
    let theirs = is_live.clone();
    let mut graph = Graph::new();
    let source = graph.source_with(move || Frail { next: 0, panics: false, is_live: theirs.clone() });
    graph.name(source, "giver");
    graph += source >> graph.sink(drop::<u64>);
    graph.run(Scheme::default()).unwrap();
    is_live.store(true, Release);
    assert_eq!(panics(graph.run(Scheme::default()).unwrap_err()), ["its destructor"]);
    is_live.store(false, Release);
    graph.run(Scheme::default()).unwrap();
    // In a chain that is one kernel: dropped at its end, and while its own panic unwinds.
    for (fails, told) in [(false, &["its destructor"][..]), (true, &["the iterator", "its destructor"])] {
        let frail = || Frail { next: 0, panics: fails, is_live: Arc::new(AtomicBool::new(true)) };
        let chains: [fn(&mut Graph<'static>, Frail); 2] = [
            |graph, frail| graph.stream(frail).for_each(drop::<u64>),
            |graph, frail| graph.stream(frail).filter(|_| true).for_each(drop::<u64>),
        ];
        for chain in chains {
            let mut graph = Graph::new();
            chain(&mut graph, frail());
            assert_eq!(panics(graph.run(Scheme::default()).unwrap_err()), told);
        }
    }
}
