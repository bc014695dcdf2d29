//! What an error says: which kernel, where, and every cause once, whoever prints it.

use crate::common::{SOON, within};
use anyhow::Context;
use std::error::Error as StdError;
use std::fmt;
use thalweg::prelude::*;
use thalweg::{Cause, Error, Over};

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
        graph += graph.source(0..10_u64) >> graph.sequential(|_: u64, _: &mut Output<u64>| Err(deep(3))) >> sink;
        graph.run(Scheme::default()).unwrap_err();
        let Err(Over::Failed(text)) = outlet.pop() else { panic!("it failed") };
        assert!(text.ends_with("failed: query 3: page 3 is unread: disk 3 is gone"), "{text}");
    });
}
