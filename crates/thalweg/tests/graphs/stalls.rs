//! Runs that cannot go on: who waits where and for how much is told, and edges have not grown without end before.

use crate::common::{SOON, within};
use thalweg::prelude::*;
use thalweg::{Error, Wait};

/// Takes from its left input only, and does not end when that does.
struct Deaf;

impl Kernel for Deaf {
    type Ports = (In<u64>, In<u64>);
    fn ports(&mut self, bind: &mut Binder<'_>) -> Self::Ports {
        (bind.input("left"), bind.input("right"))
    }
    fn run(&mut self, &(left, _): &Self::Ports, io: &mut Io<'_>) -> Result<Flow, BoxError> {
        while io.pop(left).is_some() {}
        Ok(Flow::More)
    }
}

/// `few >> left`, `many >> right`, where nobody takes. Gives who waits for what, and what happened until then.
fn stall(many: u64, capacity: Option<(usize, usize)>, scheme: Scheme) -> (Vec<Wait>, Report) {
    within(SOON, move || {
        let mut graph = Graph::new();
        let (few, many) = (graph.source(0..10), graph.source(0..many));
        let (left, right) = graph.add(Deaf);
        graph.name(many, "many");
        graph.name(right, "deaf");
        graph += few >> left;
        match capacity {
            Some((first, most)) => graph += many.capacity(first, most) >> right,
            None => graph += many >> right,
        }
        match graph.run(scheme) {
            Err(Error::Stalled { waits, report }) => (waits, *report),
            other => panic!("{other:?}"),
        }
    })
}

fn schemes() -> impl Iterator<Item = Scheme> {
    Scheme::names().enumerate().map(|(index, name)| Scheme::named(name).unwrap().workers(index % 3 + 1))
}

#[test]
fn who_does_not_take_is_told_with_how_much_there_is() {
    for scheme in schemes() {
        let (waits, _) = stall(100, None, scheme);
        let [Wait { kernel, place, port, reason, .. }] = &waits[..] else { panic!("{scheme:?}: {waits:?}") };
        assert_eq!((kernel.as_str(), port.as_str(), place.file()), ("deaf", "right", file!()));
        let told = "100 messages or more are there and the kernel takes none; its input left has ended; take them, or return Flow::Done";
        assert_eq!(reason, told, "{scheme:?}");
    }
}

#[test]
fn who_has_no_room_is_told_with_how_much_there_is() {
    for scheme in schemes() {
        let (waits, report) = stall(u64::MAX, Some((8, 32)), scheme);
        let [blocked, deaf] = &waits[..] else { panic!("{scheme:?}: {waits:?}") };
        assert_eq!((blocked.kernel.as_str(), blocked.port.as_str()), ("many", "out"));
        let messages = report.edges[1].messages;
        // Every full edge grows before a run is given up; a block of four may come on top.
        assert!((32..36).contains(&messages), "{scheme:?}: {messages}");
        let told = format!("full with {messages} messages that deaf does not take; give the edge a larger capacity");
        assert!(blocked.reason.starts_with(&told), "{scheme:?}: {}", blocked.reason);
        assert_eq!((deaf.kernel.as_str(), deaf.port.as_str()), ("deaf", "right"));
    }
}

/// Where nobody said how much an edge may hold, it grows as long as it holds less than 4 MiB, of which a header may be half.
#[test]
fn an_edge_that_nobody_takes_from_holds_a_few_megabytes() {
    for scheme in schemes() {
        let (_, report) = stall(u64::MAX, None, scheme);
        let bytes = report.edges[1].messages * 8;
        assert!((1 << 20..5 << 20).contains(&bytes), "{scheme:?}: {bytes} bytes");
    }
}
