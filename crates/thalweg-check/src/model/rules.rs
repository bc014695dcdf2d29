//! The rules one by one, on graphs built by hand.

use super::clock::Clock;
use super::explore::{Explorer, Rules};
use super::graph::{EventId, Kind, Location};
use super::{Memory, ScAxiom};
use std::panic::Location as Here;
use std::sync::atomic::Ordering::{self, AcqRel, Acquire, Relaxed, Release, SeqCst};
use thalweg_sync::engine::{Operation, Scalar};

const X: u32 = 0;
const Y: u32 = 1;

/// A graph with three threads and the locations X and Y, without events.
fn empty() -> Explorer {
    let rules = Rules { memory: Memory::Rc11, axiom: ScAxiom::Rc11, spurious: false, reuse: 0 };
    let mut explorer = Explorer::new(rules, None);
    explorer.graph.lines.resize_with(3, Default::default);
    for _ in [X, Y] {
        let location = Location { init: 0, at: Here::caller(), co: Vec::new(), reads: Vec::new() };
        explorer.graph.locations.push(location);
    }
    explorer
}

fn kind(operation: Operation, order: Ordering) -> Kind {
    Kind::read(operation, Scalar::U64, [order; 2])
}

fn id(thread: u32, index: u32) -> EventId {
    EventId { thread, index }
}

impl Explorer {
    /// How many choices are still to be tried.
    fn work(&self) -> usize {
        self.work.len()
    }

    fn store(&mut self, thread: u32, loc: u32, order: Ordering, value: u64) -> EventId {
        self.add_write(thread, loc, order, value, Here::caller())
    }

    /// Reads from `from`, whatever the rules say.
    fn load(&mut self, thread: u32, loc: u32, order: Ordering, from: EventId) -> EventId {
        let read = self.add_read(thread, loc, kind(Operation::Load, order), Here::caller());
        self.assign(read, from, false);
        read
    }

    /// Adds 1 to what `from` wrote. Gives the write, and whether the graph goes on.
    fn increment(&mut self, thread: u32, loc: u32, order: Ordering, from: EventId) -> (EventId, bool) {
        let read = self.add_read(thread, loc, kind(Operation::Add(1), order), Here::caller());
        self.assign(read, from, false);
        let goes_on = self.add_exclusive_write(read);
        (id(thread, read.index + 1), goes_on)
    }

    fn fence(&mut self, thread: u32, order: Ordering) -> EventId {
        self.add_plain(thread, Kind::Fence(order), 0, Here::caller())
    }

    fn is_ordered(&self, first: EventId, second: EventId) -> bool {
        self.graph.happens_before(first, second)
    }

    fn has_order_on_sc(&self, axiom: ScAxiom) -> bool {
        self.graph.is_consistent(Memory::Rc11, axiom)
    }
}

#[test]
fn acquire_and_release_synchronise_and_nothing_less_does() {
    for (release, acquire, synchronises) in
        [(Release, Acquire, true), (SeqCst, SeqCst, true), (Relaxed, Acquire, false), (Release, Relaxed, false)]
    {
        let mut graph = empty();
        let before = graph.store(0, Y, Relaxed, 1);
        let write = graph.store(0, X, release, 1);
        let read = graph.load(1, X, acquire, write);
        assert_eq!(graph.is_ordered(before, read), synchronises, "{release:?} {acquire:?}");
        assert!(graph.graph.node(read).porf.get(0) == 2, "po and rf count in any case");
        assert!(!graph.is_ordered(read, write));
    }
}

#[test]
fn fences_synchronise_for_the_accesses_beside_them() {
    for (release, acquire) in [(Release, Acquire), (AcqRel, AcqRel), (SeqCst, SeqCst)] {
        let mut graph = empty();
        graph.store(0, Y, Relaxed, 1);
        let release = graph.fence(0, release);
        let write = graph.store(0, X, Relaxed, 1);
        let read = graph.load(1, X, Relaxed, write);
        assert!(!graph.is_ordered(release, read));
        let acquire = graph.fence(1, acquire);
        assert!(graph.is_ordered(release, acquire));
        assert!(!graph.is_ordered(write, acquire), "the write is behind the fence that synchronises");
    }
    let mut graph = empty();
    let write = graph.store(0, X, Relaxed, 1);
    graph.fence(0, Release);
    graph.load(1, X, Relaxed, write);
    let acquire = graph.fence(1, Acquire);
    assert!(!graph.is_ordered(write, acquire), "a release fence is for the writes after it");
}

#[test]
fn a_release_sequence_goes_on_through_updates_only() {
    let mut graph = empty();
    let head = graph.store(0, X, Release, 1);
    let (update, _) = graph.increment(1, X, Relaxed, head);
    let read = graph.load(2, X, Acquire, update);
    assert!(graph.is_ordered(head, read));
    assert!(!graph.is_ordered(update, read), "a relaxed update passes on what it does not see");

    let mut graph = empty();
    let head = graph.store(0, X, Release, 1);
    let later = graph.store(0, X, Relaxed, 2);
    let read = graph.load(1, X, Acquire, later);
    assert!(!graph.is_ordered(head, read), "since C++20 a plain write of the same thread ends it");
}

#[test]
fn the_start_and_the_end_of_a_thread_are_edges() {
    let mut graph = empty();
    let spawn = graph.add_plain(0, Kind::Spawn { child: 1 }, 0, Here::caller());
    graph.graph.lines[1].parent = Some(spawn);
    let inside = graph.store(1, X, Relaxed, 1);
    assert!(graph.is_ordered(spawn, inside));
    let join = graph.add_plain(0, Kind::Join { child: 1 }, 0, Here::caller());
    assert!(graph.is_ordered(inside, join));
    assert_eq!(graph.graph.node(join).hb.get(1), 2, "what the thread did after its last event comes before too");
    assert_eq!(graph.graph.node(join).porf.get(1), 1, "but there is no such event");
}

#[test]
fn the_last_drop_of_a_handle_comes_after_the_others() {
    let mut graph = empty();
    let before = graph.store(0, X, Relaxed, 1);
    let one = graph.add_release(0, false, Vec::new(), Here::caller());
    let other = graph.add_release(1, false, Vec::new(), Here::caller());
    assert!(!graph.is_ordered(one, other));
    let last = graph.add_release(2, true, vec![one, other], Here::caller());
    assert!(graph.is_ordered(before, last) && graph.is_ordered(other, last));
    assert_eq!(graph.graph.node(last).porf.get(0), 2);
}

#[test]
fn a_read_is_not_older_than_what_happens_before_it() {
    let mut graph = empty();
    let old = graph.store(0, X, Relaxed, 1);
    let new = graph.store(0, X, Relaxed, 2);
    let floor = |graph: &Explorer, before: &Clock| graph.graph.floor(X, before, id(9, 9));
    assert_eq!(floor(&graph, &Clock::default()), 0, "nothing happens before: the initial value is there");
    assert_eq!(floor(&graph, &graph.graph.node(old).hb), 1);
    assert_eq!(floor(&graph, &graph.graph.node(new).hb), 2);
    let read = graph.load(1, X, Relaxed, old);
    assert_eq!(floor(&graph, &graph.graph.node(read).hb), 1, "nor older than what an earlier read has read");
    assert_eq!(graph.graph.floor(X, &graph.graph.node(read).hb, read), 0, "what is to be chosen does not count");
}

#[test]
fn nothing_comes_between_an_update_and_what_it_reads() {
    let mut graph = empty();
    let first = graph.store(0, X, Relaxed, 1);
    let (update, goes_on) = graph.increment(1, X, Relaxed, first);
    assert!(goes_on);
    assert_eq!((graph.graph.place(first), graph.graph.place(update)), (1, 2));
    assert_eq!([0, 1, 2].map(|place| graph.graph.may_follow(X, place)), [true, false, true]);
    let (second, goes_on) = graph.increment(2, X, Relaxed, first);
    assert!(!goes_on, "two updates of one write");
    assert_eq!(graph.graph.place(second), 2);
}

#[test]
fn an_update_that_saw_another_does_not_take_its_place() {
    let mut graph = empty();
    let (update, _) = graph.increment(0, X, Release, EventId::INIT);
    let before = graph.work();
    graph.add_read(1, X, kind(Operation::Add(1), Relaxed), Here::caller());
    assert_eq!(graph.work() - before, 1, "it may read the initial value, and then revisit the other one");
    graph.graph.cut(2);
    graph.load(1, X, Acquire, update);
    let before = graph.work();
    graph.add_read(1, X, kind(Operation::Add(1), Relaxed), Here::caller());
    assert_eq!(graph.work() - before, 0, "it comes after the other one in any case");
}

#[test]
fn maximal_is_what_was_newest() {
    let mut graph = empty();
    let first = graph.store(0, X, Relaxed, 1);
    let newest = graph.load(1, X, Relaxed, first);
    let stale = graph.load(1, X, Relaxed, EventId::INIT);
    let weak = Operation::CompareExchange { expected: 1, new: 2, weak: true };
    let fails = graph.add_read(2, X, kind(weak, Relaxed), Here::caller());
    graph.assign(fails, first, true);
    let other = graph.store(1, Y, Relaxed, 1);
    let fence = graph.fence(1, SeqCst);
    let write = graph.store(0, X, Relaxed, 2);
    let maximal = |event| graph.is_maximal(event, &graph.graph.node(write).porf, write);
    assert!(maximal(newest) && maximal(other) && maximal(fence) && maximal(first));
    assert!(!maximal(stale), "it could have read a newer one");
    assert!(!maximal(fails), "it could have gone well");
}

#[test]
fn a_write_that_an_earlier_read_was_revisited_by_is_not_maximal() {
    let mut graph = empty();
    let read = graph.load(0, X, Relaxed, EventId::INIT);
    let first = graph.store(1, X, Relaxed, 1);
    graph.assign(read, first, false);
    let write = graph.store(2, X, Relaxed, 2);
    assert!(
        !graph.is_maximal(first, &graph.graph.node(write).porf, write),
        "deleting it would leave the read without what it reads"
    );
    assert!(!graph.is_maximal(read, &graph.graph.node(write).porf, write), "nor could the read have read it");
}

#[test]
fn what_is_before_the_write_counts_though_it_came_later() {
    let mut graph = empty();
    let read = graph.load(0, X, Relaxed, EventId::INIT);
    let first = graph.store(1, X, Relaxed, 1);
    let seen = graph.load(2, X, Relaxed, first);
    let write = graph.store(2, X, Relaxed, 2);
    assert!(!graph.is_maximal(read, &graph.graph.node(write).porf, write), "with {first} kept, the newest was {first}");
    assert_eq!(graph.graph.node(seen).rf, first);
}

#[test]
fn a_revisit_keeps_what_came_before_the_read_or_is_before_the_write() {
    let mut graph = empty();
    let read = graph.load(0, X, Relaxed, EventId::INIT);
    graph.store(0, Y, Relaxed, 7);
    let before = graph.load(1, Y, Relaxed, EventId::INIT);
    let write = graph.store(1, X, Relaxed, 1);
    while graph.graph.node(read).rf != write {
        assert!(graph.advance(), "the read is never revisited");
    }
    let graph = &graph.graph;
    assert_eq!((graph.len(0), graph.len(1)), (1, 2), "the write to Y came after the read");
    assert_eq!(graph.order, [read, before, write]);
    assert_eq!((graph.node(read).value, graph.node(read).porf.get(1)), (1, 2));
    assert_eq!(graph.locations[Y as usize].co, []);
    assert!((0..).zip(&graph.order).all(|(stamp, &event)| graph.node(event).stamp == stamp));
}

#[test]
fn a_write_does_not_revisit_what_is_before_it() {
    let mut graph = empty();
    graph.load(0, X, Relaxed, EventId::INIT);
    let passes_on = graph.store(0, Y, Relaxed, 1);
    graph.load(1, Y, Relaxed, passes_on);
    let before = graph.work();
    graph.store(1, X, Relaxed, 1);
    assert_eq!(graph.work(), before, "that would be a cycle in po and rf");
}

#[test]
fn a_cut_leaves_what_was_there() {
    let mut graph = empty();
    graph.store(0, X, Relaxed, 1);
    graph.store(1, X, Relaxed, 2);
    let was = graph.graph.clone();
    graph.increment(2, X, AcqRel, id(0, 0));
    graph.fence(2, SeqCst);
    graph.graph.cut(2);
    assert_eq!(graph.graph.to_string(), was.to_string());
    assert_eq!(graph.graph.place(id(1, 0)), 2);
}

/// Store buffering, each thread missing the other's store.
fn store_buffering(order: Ordering, fences: Option<Ordering>) -> Explorer {
    let mut graph = empty();
    for (thread, mine, theirs) in [(0, X, Y), (1, Y, X)] {
        graph.store(thread, mine, order, 1);
        if let Some(fence) = fences {
            graph.fence(thread, fence);
        }
        graph.load(thread, theirs, order, EventId::INIT);
    }
    graph
}

#[test]
fn store_buffering_is_an_order_of_sc_events_that_is_not_there() {
    for axiom in [ScAxiom::Rc11, ScAxiom::Cxx20] {
        for (order, fences, allowed) in [
            (Relaxed, None, true),
            (SeqCst, None, false),
            (Relaxed, Some(SeqCst), false),
            (Relaxed, Some(AcqRel), true),
            (SeqCst, Some(SeqCst), false),
        ] {
            let graph = store_buffering(order, fences);
            assert_eq!(graph.has_order_on_sc(axiom), allowed, "{axiom:?} {order:?} {fences:?}");
        }
    }
    let graph = store_buffering(SeqCst, None).graph;
    assert!(graph.is_consistent(Memory::Ra, ScAxiom::Rc11));
    assert!(!store_buffering(Relaxed, None).graph.is_consistent(Memory::Sc, ScAxiom::Rc11));
}

#[test]
fn sequential_consistency_sees_cycles_through_every_relation() {
    // Independent reads of independent writes, in one thread of each kind: rf, po, fr.
    let mut graph = empty();
    let x = graph.store(0, X, Relaxed, 1);
    let y = graph.store(0, Y, Relaxed, 1);
    graph.load(1, Y, Relaxed, y);
    graph.load(1, X, Relaxed, EventId::INIT);
    assert!(!graph.graph.is_consistent(Memory::Sc, ScAxiom::Rc11));
    assert!(graph.has_order_on_sc(ScAxiom::Rc11));
    graph.assign(id(1, 1), x, false);
    assert!(graph.graph.is_consistent(Memory::Sc, ScAxiom::Rc11));
    // 2+2W: co and po.
    let mut graph = empty();
    graph.store(0, X, Relaxed, 1);
    graph.store(0, Y, Relaxed, 1);
    let y = graph.store(1, Y, Relaxed, 2);
    let x = graph.store(1, X, Relaxed, 2);
    assert!(graph.graph.is_consistent(Memory::Sc, ScAxiom::Rc11));
    assert_eq!(graph.graph.place(y), 2);
    graph.graph.remove(x);
    graph.graph.insert(x, 0);
    assert!(!graph.graph.is_consistent(Memory::Sc, ScAxiom::Rc11));
}

#[test]
fn each_drop_may_be_the_last_that_comes_before_no_other() {
    let mut graph = empty();
    let drop = |graph: &mut Explorer, thread, others: &[EventId]| {
        graph.add_release(thread, !others.is_empty(), others.to_vec(), Here::caller())
    };
    let first = drop(&mut graph, 0, &[]);
    let write = graph.store(0, X, Relaxed, 1);
    graph.load(1, X, Relaxed, write);
    let second = drop(&mut graph, 1, &[]);
    graph.work.clear();
    let third = drop(&mut graph, 2, &[first, second]);
    assert_eq!(graph.graph.node(third).others, [first, second]);
    assert!(graph.is_ordered(first, third) && !graph.is_ordered(first, second));
    // The first comes before the second, by what thread 1 read.
    assert_eq!(graph.work(), 1);
    assert!(graph.advance());
    assert_eq!(graph.graph.node(second).others, [first, third]);
    assert!(graph.is_ordered(third, second) && !graph.is_ordered(first, third));
    assert!(!graph.is_maximal(third, &Clock::default(), EventId::INIT), "added after the last one it would be that");
    assert!(graph.graph.node(first).last == second && graph.graph.node(third).last == second);
    assert!(!graph.advance(), "that was the only other one");
}

#[test]
fn what_is_to_be_chosen_from_takes_no_room() {
    let mut graph = empty();
    let choice = graph.add_choice(0, Kind::Choose { of: 1000 }, 1000, Here::caller());
    for value in 1..1000 {
        assert_eq!(graph.work(), 1);
        assert!(graph.advance());
        assert_eq!(graph.graph.node(choice).value, value, "in this order");
    }
    assert!(!graph.advance(), "each once");
}
