//! Every client passes, and what is broken is found.
#![cfg(not(loom))]

use std::mem::discriminant;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;
use thalweg_check::{Check, Heap, Rule};
use thalweg_proof::{Setup, clients, named, throughput};
use thalweg_queue::Yield;
use thalweg_queue::edges::table::{Strength, Table};
use thalweg_queue::mpmc;
use thalweg_sync::atomic::Ordering;
use thalweg_sync::thread;

#[global_allocator]
static HEAP: Heap = Heap::new();

/// Clients that have no known end, or take so long that the others would not be done in a minute or two together.
const LONG: [&str; 23] = [
    "bbq/2p2c-again",
    "bbq/laps",
    "bbq/emptied",
    "spmc/emptied",
    "bytes/late",
    "bwos/thesis-lifo",
    "bwos/thesis-fifo",
    "cnq-thesis/c4",
    "cnq-thesis/c5",
    "cnq-thesis/c6",
    "scqd/1p2c-2",
    "scqd/heads",
    "bbq_tube/laps",
    "bbq_tube/2p2c-again",
    "faaq/laps",
    "faaq/late-pop",
    "faaq/two-rounds",
    "faaq/3c",
    "faaq/2p2c-again",
    "wait/half-way",
    "wait/2c",
    "unbounded/half-way",
    "select/hand-on",
];

/// In release builds, all executions of all clients that are not long.
fn every_client_passes(setup: &Setup) {
    let mut failed = Vec::new();
    for client in clients() {
        let time = match (cfg!(debug_assertions), LONG.contains(&client.name)) {
            (true, _) => Some(Duration::from_millis(30)),
            (false, true) => Some(Duration::from_secs(1)),
            (false, false) => None,
        };
        match client.check(&setup.clone().max_time(time)) {
            Ok(explored) => {
                println!("{}: {explored}", client.name);
                let some = explored.complete + explored.blocked > 0;
                assert!(some && (time.is_some() || !explored.bounded), "{}", client.name);
            }
            Err(violation) => {
                println!("{}: {violation}", client.name);
                failed.push(client.name);
            }
        }
    }
    assert!(failed.is_empty(), "{failed:?}");
}

/// On two threads: one of the two tests has far more to do than the other.
fn setup() -> Setup {
    Setup::default().threads(NonZeroUsize::new(2).unwrap())
}

#[test]
fn every_client_passes_under_the_memory_model() {
    every_client_passes(&setup());
}

#[test]
fn every_client_passes_in_turns() {
    every_client_passes(&setup().interleaved());
}

/// Three equal producers: of the six orders that they may have nearly always one is explored.
#[test]
fn of_equal_producers_one_order_is_explored() {
    let executions = |equal| {
        let explored = named("bbq/3p").unwrap().check(&Setup::default().equal_threads(equal)).unwrap();
        explored.complete
    };
    let (one, all) = (executions(true), executions(false));
    println!("{one} executions, and {all} without");
    assert!(4 * one <= all, "{one} executions, and {all} without");
}

#[test]
fn names_are_unique() {
    for client in clients() {
        assert_eq!(named(client.name).unwrap().what, client.what);
        assert_eq!(clients().iter().filter(|other| other.name == client.name).count(), 1, "{}", client.name);
    }
    // A long one by another name would run as long as it takes.
    assert!(LONG.iter().all(|name| named(name).is_some()));
}

/// With a history, and with assertions only; in the setup in which it went wrong, and in the right one.
#[test]
fn an_execution_of_a_client_is_run_alone() {
    for (client, edge) in [("lamport/plain", "lamport.4"), ("wait/push", "wait.1")] {
        let client = named(client).unwrap();
        let table = Table::new().with(edge, Strength::Ordering(Ordering::Relaxed));
        let weak = Setup::default().table(Arc::new(table));
        let violation = client.check(&weak).unwrap_err();
        let again = client.check(&weak.replay(&violation.replay())).unwrap_err();
        assert_eq!(discriminant(again.rule()), discriminant(violation.rule()), "{again}");
        match client.check(&Setup::default().replay(&violation.replay())) {
            Ok(explored) => assert!(explored.complete + explored.blocked <= 1, "{explored}"),
            Err(other) => assert!(matches!(other.rule(), Rule::NoSuchExecution { .. }), "{}: {other}", client.name),
        }
    }
}

/// Chunks are freed, and queues leave the place of a `static`: what the tables of orderings say of that has a name of its own.
#[test]
fn what_is_freed_too_early_is_dropped_in_use() {
    for (client, edge) in
        [("chunk_ring/shrinks", "chunk.3"), ("chunk_ring/shrinks", "chunk.4"), ("static/left", "home.3")]
    {
        let table = Table::new().with(edge, Strength::Ordering(Ordering::Relaxed));
        let setup = Setup::default().table(Arc::new(table));
        let violation = named(client).unwrap().check(&setup).unwrap_err();
        assert!(matches!(violation.rule(), Rule::DroppedInUse { .. }), "{client} without {edge}: {violation}");
    }
}

/// The clients are awake: without these edges they fail.
#[test]
fn clients_notice_missing_edges() {
    for (client, edge) in [
        ("bbq/1p1c-1", "bbq.3"),
        ("bbq/1p1c-1", "bbq.9"),
        ("bbq/holes", "bbq.26"),
        ("bbq/two-holes", "bbq.27"),
        ("ff/1p1c", "ff.3"),
        ("ff/1p1c", "ff.4"),
        ("lamport/plain", "lamport.4"),
        ("chunk_ring/fixed", "chunk.4"),
        ("spsc/1p1c-1", "spsc.2"),
        ("spsc/around", "spsc.2"),
        ("mpsc/1p1c-1", "bbq.29"),
        ("mpsc/1p1c-1", "bbq.30"),
        ("spmc/1p1c-1", "bbq.4"),
        ("mt/roles", "ring.3"),
        ("rts/roles", "ring.4"),
        ("hts/item", "ring.4"),
        ("faaq/1p1c", "faaq.3"),
        ("scqd/1p1c", "scqd.1"),
        ("ticketed/turns", "ticketed.2"),
        ("cnq/shared-bare", "cnq.10"),
        ("bwos/again-1-fifo", "bwos.2"),
        ("bwos/reuse-lifo", "bwos.4"),
        ("static/again", "home.1"),
        ("static/again", "home.2"),
    ] {
        let table = Table::new().with(edge, Strength::Ordering(Ordering::Relaxed));
        let violation = named(client).unwrap().check(&Setup::default().table(Arc::new(table))).unwrap_err();
        assert!(violation.to_string().contains("data race"), "{client} without {edge}: {violation}");
    }
}

/// Without these, who has seen a push end finds the queue empty: consumers are not warned of the push in front of it.
#[test]
fn a_push_that_ends_before_the_one_in_front_is_told() {
    let relaxed = Strength::Ordering(Ordering::Relaxed);
    for (client, edge, tried) in [
        ("bbq/behind-3", "bbq.34", relaxed),
        ("bbq/behind-3", "bbq.35", relaxed),
        ("bbq/behind-1", "bbq.36", Strength::Swapped),
        ("mpsc/behind", "bbq.34", relaxed),
    ] {
        let table = Arc::new(Table::new().with(edge, tried));
        let violation = named(client).unwrap().check(&Setup::default().table(table)).unwrap_err();
        assert!(violation.to_string().contains("not linearizable"), "{client} without {edge}: {violation}");
    }
}

/// Items that are pushed as one piece of memory are popped from their slots.
#[test]
fn a_batch_is_popped_one_by_one() {
    let explored = Check::new().check(|| {
        let (tx, rx) = mpmc::with_wait(2, 2, Yield).unwrap();
        // Not dropped before the push, which would be refused.
        let other = thread::spawn(move || ([rx.try_pop().ok(), rx.try_pop().ok()], rx));
        assert_eq!(tx.try_push_slice(&[0_u64, 1]), Ok(2));
        let (popped, _rx) = other.join().unwrap();
        assert!([[None; 2], [Some(0), None], [None, Some(0)], [Some(0), Some(1)]].contains(&popped), "{popped:?}");
    });
    assert!(explored.complete > 1, "{explored}");
}

#[test]
fn the_end_is_an_end() {
    // A label that nobody asks for changes nothing.
    let table = Table::new().with("bbq.0", Strength::Ordering(Ordering::Relaxed));
    let client = named("bbq/end").unwrap();
    let plain = client.check(&Setup::default()).unwrap().complete;
    assert_eq!(client.check(&Setup::default().table(Arc::new(table))).unwrap().complete, plain);
}

/// An execution that is run again, to see whether it is the same, does not count as one that was found twice.
#[test]
fn executions_beside_loom_s_are_counted_once() {
    let found = throughput::compare(Duration::ZERO, |_| {});
    assert_eq!(found.len(), 5);
    for comparison in &found {
        assert_eq!((comparison.ours.executions, comparison.ours.distinct), (1, 1), "{comparison:?}");
        assert!(comparison.loom.executions > 0, "{comparison:?}");
    }
    assert_eq!(throughput::Table(&found).to_string().lines().count(), 1 + 2 * found.len());
}

#[test]
fn clients_notice_a_lost_wake_up() {
    for (client, edge, what) in [
        ("wait/push", "wait.1", "a wait never ends"),
        ("wait/push", "wait.2", "a wait never ends"),
        ("wait/halves-bare", "wait.3", "the producer sleeps beside a free block"),
    ] {
        let table = Table::new().with(edge, Strength::Ordering(Ordering::Relaxed));
        let violation = named(client).unwrap().check(&Setup::default().table(Arc::new(table))).unwrap_err();
        assert!(violation.to_string().contains(what), "without {edge}: {violation}");
    }
}

/// A consumer that finds a block in a later round looks again, and must come upon the head that led there.
#[test]
fn clients_notice_a_look_without_end() {
    let table = Table::new().with("bbq.28", Strength::Ordering(Ordering::Relaxed));
    let violation = named("spmc/laps").unwrap().check(&Setup::default().table(Arc::new(table))).unwrap_err();
    assert!(violation.to_string().contains("more than 1000 events"), "{violation}");
}

#[test]
#[cfg_attr(debug_assertions, ignore = "takes long in debug builds")]
fn clients_notice_steps_in_the_wrong_order() {
    let table = Table::new().with("faaq.20", Strength::Swapped);
    assert!(named("faaq/room").unwrap().check(&Setup::default().table(Arc::new(table))).is_err());
}

/// What the command lists without building a checker: `tools/proof/clients.txt`.
#[test]
fn the_list_has_every_client() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/clients.txt");
    let line = |client: &thalweg_proof::Client| format!("{:16} {}\n", client.name, client.what);
    let list: String = clients().iter().map(line).collect();
    if std::env::var_os("THALWEG_BLESS").is_some() {
        std::fs::write(file, &list).unwrap();
    }
    let written = std::fs::read_to_string(file).unwrap();
    assert!(written == list, "THALWEG_BLESS=1 cargo test -p thalweg-proof --test clients list writes {file} anew");
}
