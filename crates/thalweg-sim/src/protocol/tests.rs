//! The protocol against what it promises: each transition by itself, and random traffic against a reference that
//! carries values.

use super::*;
use Distance::{Die, Socket, System};
use std::collections::HashMap;
use thalweg_sync::random::Xorshift;

/// Carries values from place to place as the protocol says; what a core reads is what came to its cache.
#[derive(Clone, Debug, Default)]
struct Values(HashMap<(Holder, u32), u64>);

impl Observer for Values {
    fn moved(&mut self, line: u32, from: Holder, to: Holder) {
        let value = match self.0.get(&(from, line)) {
            Some(&value) => value,
            None if from == Holder::Memory => 0,
            None => panic!("line {line} came from {from:?}, which never had it"),
        };
        self.0.insert((to, line), value);
    }
}

type Machine = Protocol<(), Values>;

/// Two sockets of two dies of four cores.
const SMALL: Topology = Topology { sockets: 2, dies: 2, cores: 4, cluster: 1, smt: 1 };
const PAIRS: Topology = Topology { cluster: 2, ..SMALL };

fn caches(l2: bool, victims: bool) -> Caches {
    let l2 = l2.then_some(Geometry { sets: 2, ways: 3 });
    Caches { l1: Geometry { sets: 2, ways: 1 }, l2, llc: Geometry { sets: 3, ways: 4 }, victims, migratory: false }
}

/// Caches that never evict in these tests.
fn roomy(topology: Topology) -> Machine {
    let geometry = Geometry { sets: 16, ways: 8 };
    Protocol::new(
        topology,
        Caches { l1: geometry, l2: Some(geometry), llc: geometry, victims: false, migratory: false },
        Values::default(),
    )
}

/// Runs accesses of `(core, write)` to one line; returns what the last one moved.
fn after(machine: &mut Machine, accesses: &[(usize, bool)]) -> Transfer {
    let mut last = None;
    for &(core, write) in accesses {
        last = Some(machine.access(core, 0, write));
        machine.check();
    }
    last.expect("at least one access")
}

const READ: bool = false;
const WRITE: bool = true;

impl Machine {
    fn write(&mut self, core: usize, line: u32, value: u64) -> Transfer {
        let transfer = self.access(core, line, WRITE);
        self.observer.0.insert((Holder::L1(core), line), value);
        transfer
    }

    /// Reads `line`: the value that came to the core's cache; 0 is what memory holds before any write.
    fn read(&mut self, core: usize, line: u32) -> u64 {
        self.access(core, line, READ);
        self.observer.0[&(Holder::L1(core), line)]
    }

    /// M1 to M3, by looking at all caches.
    fn check(&mut self) {
        let mut sharers: HashMap<u32, Vec<(usize, State)>> = HashMap::new();
        for cluster in 0..self.topology.all_clusters() {
            let l2: HashMap<_, _> = match self.l2.get(cluster) {
                Some(l2) => l2.iter().collect(),
                None => self.l1[cluster].iter().collect(),
            };
            let mut in_l1: HashMap<u32, Vec<State>> = HashMap::new();
            for core in self.topology.cores_of_cluster(cluster) {
                for (line, state) in self.l1[core].iter() {
                    assert!(l2.contains_key(&line), "M2: core {core} has line {line}, its cluster does not");
                    assert!(!state.is_owned() || l2[&line].is_owned(), "M1: core {core} owns line {line} alone");
                    in_l1.entry(line).or_default().push(state);
                }
            }
            for (line, states) in in_l1 {
                assert!(states.len() == 1 || states.iter().all(|state| !state.is_owned()), "M1: {line}: {states:?}");
            }
            l2.into_iter().for_each(|(line, state)| sharers.entry(line).or_default().push((cluster, state)));
        }
        for (line, holders) in sharers {
            let entry = self.directory.get(line);
            let mut expected = Clusters::default();
            holders.iter().for_each(|&(cluster, _)| expected.insert(cluster));
            assert_eq!(entry.sharers, expected, "M3: line {line}");
            let owner = holders.iter().find(|(_, state)| state.is_owned()).map(|&(cluster, _)| cluster);
            assert_eq!(entry.owner(), owner, "M3: line {line}");
            assert!(owner.is_none() || holders.len() == 1, "M1: line {line} is owned and shared: {holders:?}");
        }
    }
}

#[test]
fn a_first_read_comes_from_the_memory_of_its_first_user() {
    assert_eq!(after(&mut roomy(SMALL), &[(5, READ)]).source, FoundAt::Memory(Die));
    let mut machine = roomy(SMALL);
    machine.access(0, 0, READ);
    // Line 1 is in the same page, whose home is die 0 by now.
    assert_eq!(machine.access(1, 1, READ).source, FoundAt::Memory(Die));
    assert_eq!(machine.access(4, 2, READ).source, FoundAt::Memory(Socket));
    assert_eq!(machine.access(8, 3, READ).source, FoundAt::Memory(System));
}

#[test]
fn who_reads_alone_writes_without_asking() {
    let transfer = after(&mut roomy(SMALL), &[(0, READ), (0, WRITE)]);
    assert_eq!((transfer.source, transfer.invalidated), (FoundAt::L1, None));
}

#[test]
fn a_reader_takes_the_right_to_write() {
    let mut machine = roomy(SMALL);
    assert_eq!(after(&mut machine, &[(0, READ), (1, READ)]).source, FoundAt::Cache(Die), "exclusive: only it knows");
    assert_eq!(
        after(&mut machine, &[(0, WRITE)]),
        Transfer { source: FoundAt::Upgrade(Die), invalidated: Some((1, Die)), written_back: 0 }
    );
    assert_eq!(after(&mut machine, &[(0, WRITE)]).source, FoundAt::L1);
}

#[test]
fn a_modified_line_is_forwarded_from_wherever_it_is() {
    for (reader, distance) in [(1, Die), (4, Socket), (8, System)] {
        for write in [READ, WRITE] {
            let transfer = after(&mut roomy(SMALL), &[(0, WRITE), (reader, write)]);
            assert_eq!(transfer.source, FoundAt::Cache(distance));
            assert_eq!(transfer.invalidated, write.then_some((1, distance)));
        }
    }
}

#[test]
fn a_modified_line_moves_to_its_reader_where_it_is_migratory() {
    let mut machine = roomy(SMALL);
    machine.migratory = true;
    assert_eq!(after(&mut machine, &[(0, WRITE), (1, READ)]).source, FoundAt::Cache(Die));
    assert_eq!(after(&mut machine, &[(1, WRITE)]).source, FoundAt::L1, "it came with the right to write");
    assert_eq!(after(&mut machine, &[(0, READ)]).source, FoundAt::Cache(Die));
    assert_eq!(
        after(&mut machine, &[(2, READ), (0, READ)]).source,
        FoundAt::L1,
        "nobody has written: now it is shared"
    );
}

#[test]
fn what_was_modified_and_read_is_in_the_last_level() {
    assert_eq!(after(&mut roomy(SMALL), &[(0, WRITE), (1, READ), (2, READ)]).source, FoundAt::Llc(Die));
    assert_eq!(after(&mut roomy(SMALL), &[(0, WRITE), (1, READ), (12, READ)]).source, FoundAt::Llc(System));
    let own = after(&mut roomy(SMALL), &[(0, WRITE), (12, READ), (13, READ)]).source;
    assert_eq!(own, FoundAt::Llc(Die), "a reader's own die has a copy now");
}

#[test]
fn a_write_takes_the_line_from_all_sharers() {
    let mut machine = roomy(SMALL);
    let transfer = after(&mut machine, &[(0, READ), (1, READ), (4, READ), (12, READ), (4, WRITE)]);
    assert_eq!(transfer.source, FoundAt::Upgrade(System), "the farthest decides");
    assert_eq!(transfer.invalidated, Some((3, System)));
    assert_eq!(after(&mut machine, &[(5, WRITE)]).source, FoundAt::Cache(Die), "no copy is of use any more");
    let not_had = after(&mut roomy(SMALL), &[(0, READ), (1, READ), (2, WRITE)]);
    assert_eq!((not_had.source, not_had.invalidated), (FoundAt::Llc(Die), Some((2, Die))));
}

#[test]
fn who_modified_a_line_and_has_it_since_claims_it_back() {
    let mut machine = roomy(SMALL);
    let back = after(&mut machine, &[(0, WRITE), (1, READ), (0, WRITE)]);
    assert_eq!((back.source, back.invalidated), (FoundAt::Reclaim(Die), Some((1, Die))));
    assert_eq!(after(&mut machine, &[(1, READ), (1, WRITE)]).source, FoundAt::Upgrade(Die), "not for who read it");
    assert_eq!(after(&mut machine, &[(12, READ), (1, WRITE)]).source, FoundAt::Reclaim(System), "the farthest decides");
    assert_eq!(after(&mut machine, &[(0, READ), (0, WRITE)]).source, FoundAt::Upgrade(Die), "it was another's since");
    let mut machine = roomy(SMALL);
    assert_eq!(after(&mut machine, &[(0, READ), (1, READ), (0, WRITE)]).source, FoundAt::Upgrade(Die), "not modified");
    // Other lines of its set push it out.
    let mut machine = Protocol::new(SMALL, caches(true, true), Values::default());
    after(&mut machine, &[(0, WRITE), (1, READ)]);
    for line in [2, 4, 6] {
        machine.access(0, line, READ);
    }
    assert_eq!(after(&mut machine, &[(0, READ), (0, WRITE)]).source, FoundAt::Upgrade(Die), "it lost it in between");
}

#[test]
fn a_cluster_serves_its_cores_itself() {
    let mut machine = roomy(PAIRS);
    assert_eq!(after(&mut machine, &[(0, READ), (1, READ)]).source, FoundAt::Sibling, "the first had it alone");
    assert_eq!(
        after(&mut machine, &[(1, WRITE)]),
        Transfer { source: FoundAt::Sibling, invalidated: None, written_back: 0 }
    );
    assert_eq!(after(&mut machine, &[(0, WRITE)]).source, FoundAt::Sibling);
    assert_eq!(after(&mut machine, &[(2, READ)]).source, FoundAt::Cache(Die), "another cluster");
    assert_eq!(after(&mut machine, &[(1, READ)]).source, FoundAt::L2, "it was shared by then");
    let upgrade = after(&mut machine, &[(1, WRITE)]);
    assert_eq!((upgrade.source, upgrade.invalidated), (FoundAt::Reclaim(Die), Some((1, Die))));
}

#[test]
fn what_has_no_room_goes_down_and_comes_back() {
    // One set of two ways, then one of one.
    let l1 = Geometry { sets: 1, ways: 1 };
    let l2 = Some(Geometry { sets: 1, ways: 2 });
    for victims in [false, true] {
        let llc = Geometry { sets: 1, ways: 1 };
        let mut machine: Machine =
            Protocol::new(SMALL, Caches { l1, l2, llc, victims, migratory: false }, Values::default());
        machine.write(0, 0, 7);
        machine.write(0, 1, 8);
        assert_eq!(machine.access(0, 0, READ).source, FoundAt::L2);
        assert_eq!(machine.access(0, 2, READ).source, FoundAt::Memory(Die), "line 1 goes to the last level");
        machine.check();
        let again = machine.access(0, 1, READ);
        // Reading line 2 put it into the last level, over line 1, unless only victims go there.
        let expected = if victims { FoundAt::Llc(Die) } else { FoundAt::Memory(Die) };
        assert_eq!(again.source, expected);
        assert_eq!(machine.read(0, 1), 8);
        assert_eq!(machine.read(1, 0), 7);
    }
}

#[test]
fn a_near_private_cache_goes_before_a_far_copy() {
    let mut machine: Machine = Protocol::new(SMALL, caches(true, true), Values::default());
    // The fourth line of a set of three ways sends the first to the last level of its die.
    for line in [0, 2, 4, 6] {
        machine.access(0, line, READ);
    }
    assert_eq!(machine.access(4, 0, READ).source, FoundAt::Llc(Socket));
    assert_eq!(machine.access(5, 0, READ).source, FoundAt::Cache(Die), "its owner");
    // Two of die 1 share it, and die 0 has a copy.
    assert_eq!(machine.access(6, 0, READ).source, FoundAt::Cache(Die));
    machine.check();
}

#[test]
fn what_memory_lacks_is_written_back_once() {
    let one = Geometry { sets: 1, ways: 1 };
    let mut machine: Machine = Protocol::new(
        SMALL,
        Caches { l1: one, l2: None, llc: one, victims: true, migratory: false },
        Values::default(),
    );
    machine.write(0, 0, 1);
    assert_eq!(machine.write(0, 1, 2).written_back, 0, "line 0 is in the last level");
    assert_eq!(machine.write(0, 2, 3).written_back, 1, "line 1 takes its place there");
    assert_eq!(machine.access(0, 3, READ).written_back, 1);
    assert_eq!(machine.access(0, 4, READ).written_back, 1, "line 2, for line 3");
    assert_eq!(machine.access(0, 5, READ).written_back, 0, "line 3 was not written");
}

#[test]
fn an_old_value_is_not_written_back() {
    let (l1, llc) = (Geometry { sets: 1, ways: 1 }, Geometry { sets: 1, ways: 2 });
    let caches = Caches { l1, l2: None, llc, victims: true, migratory: false };
    let mut machine: Machine = Protocol::new(SMALL, caches, Values::default());
    machine.write(0, 0, 1);
    machine.write(0, 1, 2);
    assert_eq!(machine.write(1, 0, 3).source, FoundAt::Llc(Die), "where line 1 had driven it");
    machine.write(0, 2, 4);
    assert_eq!(machine.write(0, 3, 5).written_back, 0, "line 0 goes, which core 1 has written since");
    assert_eq!(machine.write(0, 4, 6).written_back, 1, "line 1 goes");
}

/// Every read gives the value of the last write, and no write is lost: each adds one to what was read before, and the
/// sum at the end is the number of writes.
fn traffic(topology: Topology, caches: Caches, seed: u64) {
    const LINES: u64 = 40;
    let mut machine: Machine = Protocol::new(topology, caches, Values::default());
    let mut last = [0_u64; LINES as usize];
    let mut random = Xorshift::new(seed);
    let mut writes = 0;
    for step in 0..2000 {
        let core = random.index(topology.all_cores());
        // Some lines are hot, and some are in pages of their own.
        let line = if random.below(2) == 0 { random.below(4) } else { random.below(LINES) };
        let address = (line / 8 * u64::from(PAGE) + line % 8) as u32;
        let read = machine.read(core, address);
        assert_eq!(read, last[line as usize], "step {step}: core {core} read an old value of line {line}");
        if random.below(3) == 0 {
            machine.write(core, address, read + 1);
            last[line as usize] += 1;
            writes += 1;
        }
        if step % 16 == 0 {
            machine.check();
        }
    }
    let sum: u64 = (0..LINES).map(|line| machine.read(0, (line / 8 * u64::from(PAGE) + line % 8) as u32)).sum();
    assert_eq!(sum, writes);
}

#[test]
fn random_traffic_reads_what_was_written_last() {
    for topology in [SMALL, PAIRS, Topology { cluster: 4, smt: 2, ..SMALL }] {
        for (victims, migratory) in [(false, false), (true, false), (false, true), (true, true)] {
            for seed in 0..4 {
                traffic(topology, Caches { migratory, ..caches(true, victims) }, seed);
                if topology.cluster == 1 {
                    traffic(topology, Caches { migratory, ..caches(false, victims) }, seed);
                }
            }
        }
    }
}
