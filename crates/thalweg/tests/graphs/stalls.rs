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
        let told = "100 messages are there and the kernel takes none; its input left has ended; take them, or return Flow::Done";
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

/// Where nobody said how much an edge may hold, it grows as long as it holds less than 64 MiB of messages and headers: 128 bytes for each block, which
/// has a single message where messages seem to be slow.
#[test]
fn an_edge_that_nobody_takes_from_holds_64_megabytes() {
    const ALL: u64 = 64 << 20;
    for scheme in ["depth_first", "raft", "mix_dyn"].map(|name| Scheme::named(name).unwrap().workers(2)) {
        let (_, report) = stall(u64::MAX, None, scheme);
        let messages = report.edges[1].messages;
        assert!((ALL / (8 + 128)..ALL / 8 + 4096).contains(&messages), "{scheme:?}: {messages}");
    }
}

/// Takes so many from both sides at once, and does not end when a side does.
struct Pairs(usize);

impl Kernel for Pairs {
    type Ports = (In<u64>, In<u64>);
    fn ports(&mut self, bind: &mut Binder<'_>) -> Self::Ports {
        (bind.input("left"), bind.input("right"))
    }
    fn run(&mut self, &(left, right): &Self::Ports, io: &mut Io<'_>) -> Result<Flow, BoxError> {
        while io.has(left, self.0) && io.has(right, self.0) {
            io.skip(left, self.0);
            io.skip(right, self.0);
        }
        Ok(Flow::More)
    }
}

/// Where and why a kernel waits that takes `need` messages from both sides at once, of which there are so many; `right` may hold `most` at once.
fn starve(need: usize, lefts: u64, rights: u64, most: usize, scheme: Scheme) -> (String, String) {
    within(SOON, move || {
        let mut graph = Graph::new();
        let (lefts, rights) = (graph.source(0..lefts), graph.source(0..rights));
        let (left, right) = graph.add(Pairs(need));
        graph.name(left, "pairs");
        graph += lefts >> left;
        graph += rights.fixed(most) >> right;
        match graph.run(scheme) {
            Err(Error::Stalled { waits, .. }) => {
                let wait = waits.into_iter().find(|wait| wait.kernel == "pairs").expect("it waits");
                (wait.port, wait.reason)
            }
            other => panic!("{other:?}"),
        }
    })
}

#[test]
fn who_asks_for_more_than_there_is_is_told_both_amounts() {
    const OUT: &str = "take them, or return Flow::Done";
    for scheme in schemes() {
        let told = |need, lefts, rights, most| starve(need, lefts, rights, most, scheme);
        // Each side in turn is the one that decides, and the messages that were brought together on the other count as well.
        let (port, reason) = told(100, 50, 50, 1000);
        assert_eq!(port, "left", "{scheme:?}: {reason}");
        let amounts = "50 messages are there, it asks for 100, and no more come; its input right has 50";
        assert_eq!(reason, format!("{amounts}; {OUT}"), "{scheme:?}");

        let (port, reason) = told(1000, 999, 1001, 2000);
        assert_eq!(port, "left", "{scheme:?}: {reason}");
        let amounts = "999 messages are there, it asks for 1000, and no more come; its input right has 1001";
        assert_eq!(reason, format!("{amounts}; {OUT}"), "{scheme:?}");

        let (port, reason) = told(1000, 1001, 999, 2000);
        assert_eq!(port, "right", "{scheme:?}: {reason}");
        let amounts = "999 messages are there, it asks for 1000, and no more come; its input left has 1001";
        assert_eq!(reason, format!("{amounts}; {OUT}"), "{scheme:?}");

        // More than its most passes through an edge to a kernel that asks for it, so the capacity is not what decides.
        let (port, reason) = told(100_000, 150_000, 1000, 1000);
        assert_eq!(port, "right", "{scheme:?}: {reason}");
        let amounts = "1000 messages are there, it asks for 100000, and no more come; its input left has 150000";
        assert_eq!(reason, format!("{amounts}; {OUT}"), "{scheme:?}");
    }
}

#[test]
fn who_waits_for_one_side_while_the_other_is_full_is_told_both_amounts() {
    for scheme in schemes() {
        // The second time it asks, the left side has ended, and nobody looks at the right one.
        let (port, reason) = starve(1000, 1500, 5000, 100, scheme);
        assert_eq!(port, "left", "{scheme:?}: {reason}");
        let told = "500 messages are there, it asks for 1000, and no more come; its input right is full with ";
        let rest = reason.strip_prefix(told).unwrap_or_else(|| panic!("{scheme:?}: {reason}"));
        let full: u64 = rest.split(';').next().unwrap().parse().unwrap();
        // What came with the last of the first thousand stays in hand, a block at most.
        assert!((100..200).contains(&full), "{scheme:?}: {full}");
    }
}

/// Gives one message for so many.
struct Groups(usize);

impl Kernel for Groups {
    type Ports = (In<u64>, Out<u64>);
    fn ports(&mut self, bind: &mut Binder<'_>) -> Self::Ports {
        (bind.input("in"), bind.output("out"))
    }
    fn run(&mut self, &(input, output): &Self::Ports, io: &mut Io<'_>) -> Result<Flow, BoxError> {
        while let Some(sum) = io.peek(input, self.0).map(|group| group.iter().sum()) {
            io.skip(input, self.0);
            io.push(output, sum);
        }
        Ok(Flow::More)
    }
}

/// Where and why those wait who make tens of so many numbers, and twenties of those.
fn group(numbers: u64, scheme: Scheme) -> [(String, String); 2] {
    within(SOON, move || {
        let mut graph = Graph::new();
        let numbers = graph.source(0..numbers);
        let (tens, twenties) = (graph.add(Groups(10)), graph.add(Groups(20)));
        let sink = graph.sink(|_: u64| ());
        graph.name(tens.0, "tens");
        graph.name(twenties.0, "twenties");
        graph += numbers >> tens.0;
        graph += tens.1 >> twenties.0;
        graph += twenties.1 >> sink;
        match graph.run(scheme) {
            Err(Error::Stalled { waits, .. }) => ["tens", "twenties"].map(|name| {
                let wait = waits.iter().find(|wait| wait.kernel == name).expect("it waits");
                (wait.port.clone(), wait.reason.clone())
            }),
            other => panic!("{other:?}"),
        }
    })
}

#[test]
fn who_waits_for_somebody_who_waits_is_told_for_how_much() {
    for scheme in schemes() {
        let [tens, twenties] = group(125, scheme);
        let told = "5 messages are there, it asks for 10, and no more come; take them, or return Flow::Done";
        assert_eq!(tens, ("in".to_owned(), told.to_owned()), "{scheme:?}");
        let told = "12 messages are there, and it asks for 20; take them, or return Flow::Done";
        assert_eq!(twenties, ("in".to_owned(), told.to_owned()), "{scheme:?}");
        let [_, twenties] = group(5, scheme);
        let told = "waits for 20 messages that cannot come any more";
        assert_eq!(twenties, ("in".to_owned(), told.to_owned()), "{scheme:?}");
    }
}
