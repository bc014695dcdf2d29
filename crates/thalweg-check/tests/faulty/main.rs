//! Known bugs, found again: each copy is faulty in one place, and its twin without the fault passes.
//!
//! | bug | what goes wrong |
//! |---|---|
//! | missing release | a ring publishes an entry before it is written |
//! | Dekker without fences | two threads each miss the other's flag |
//! | C1 | a consumer sees its own head ahead of the producers' tail, and counts entries below zero |
//! | E1 | a consumer compares offsets of two rounds and calls a queue empty that is not |
//! | E2 | a consumer with a head that is a lap behind compares versions with it, and the same |
//! | E3 | a consumer of a queue that overwrites compares offsets of two rounds and calls it empty with seven items in it |
//! | E4 | a consumer compares by `==` though reserved has run past committed, and takes an entry that is not written |
//! | E5 | a producer compares by `==` though reserved has run past the end of a block: it says busy of a full queue for ever |
//! | E6 | who finds the dummy entry at the end of a block frees the block under those who still read in it |
//! | E7 | a put is refused and has happened all the same |
//! | E8 | consumers wait for a producer that does nothing, or it keeps a place of the tube: a push into an empty queue is refused |
//! | E9 | a capsule that was closed is opened by its late reset: items overtake more than k others |
//! | E10 | a late store erases that a capsule is finished: consumers wait for ever |
//! | E11 | a consumer does not return the last item of a capsule: it is lost |
//! | E13 | a window is rounded down to nothing, or what was never begun is not finished: nothing ever passes |
//! | E15 | a block is not reset after the last version, as the next one is smaller |
//! | E16 | an enqueue that lost against another one says that the queue is full |
//! | E17 | a consumer stops with items in its capsule: another one says empty with more than k inside |
//! | E18 | a consumer in an empty capsule does not look at what others left behind: nobody finds it |
//! | E19 | a consumer calls a block empty that is half-way, though there is an item behind it |
//! | E20 | the same as E4 from loads that are out of order |
//! | E21 | a ring has one block, and a producer that goes on to the next one empties the one with all items: a consumer says empty |
//! | E22 | a consumer steps to the next chunk before there is something in it, and the producer puts a new one before that |
//! | T-B1 | a thief takes a block that the owner has taken over for an exhausted one, and passes by what is put there then |
#![cfg(not(loom))]

mod bbq;
mod capsule;
mod chunks;
mod conflict;
mod drop_old;
mod dummy;
mod lock;
mod reserve;
mod ring;
mod stealing;
mod window;
mod wrap;

use thalweg_check::{Check, Rule, Violation};

/// The first violation of a faulty copy. All are found within seconds, in debug builds too.
fn finds(client: impl Fn() + Send + Sync + 'static) -> Box<Violation> {
    let result = Check::new().max_events(1000).run(client);
    result.map_err(Box::new).expect_err("the fault is not found")
}

fn passes(client: impl Fn() + Send + Sync + 'static) {
    let explored = Check::new().max_events(1000).check(client);
    assert!(explored.complete > 1 && !explored.bounded, "{explored}");
}

fn is_race(violation: &Violation) -> bool {
    matches!(violation.rule(), Rule::Race { .. })
}
