//! The engine against the published programs: counts, outcomes, races, failed assertions.

use std::num::NonZeroUsize;
use thalweg_check::litmus::{Manner, Scoreboard, read};
use thalweg_check::{Check, ScAxiom};

/// Slow in builds that look for graphs that are met twice: long executions, or many.
const SLOW: [&str; 5] = ["par_length-400", "IRIW-iter", "assume-2vars", "assume-exp", "loop-peel"];

#[test]
fn the_published_counts_are_found() {
    let mut entries =
        read("rc11.litmus", include_str!("../litmus/rc11.litmus")).unwrap_or_else(|error| panic!("{error}"));
    let largest = if cfg!(debug_assertions) { 200 } else { 10_000 };
    entries.retain(|entry| entry.executions.or(entry.enumerated).is_some_and(|count| count <= largest));
    entries.retain(|entry| !cfg!(debug_assertions) || !SLOW.contains(&entry.name.as_str()));
    let board = Scoreboard { verdicts: entries.iter().map(|entry| entry.judge(&Check::new())).collect() };
    let [passed, failed] = board.count();
    assert!(failed == 0 && passed >= 135, "{board}");
}

/// By RC11 as printed `WWmerge1` has 18 executions, by C++20 one less. `Z6.U` has 24 by both, as a read-modify-write is
/// one event in them.
#[test]
fn the_definition_of_the_sc_order_is_the_one_that_was_asked_for() {
    let entries = read("rc11.litmus", include_str!("../litmus/rc11.litmus")).unwrap_or_else(|error| panic!("{error}"));
    for (name, axiom, count) in [
        ("WWmerge1", ScAxiom::Rc11, 18),
        ("WWmerge1", ScAxiom::Cxx20, 17),
        ("Z6.U", ScAxiom::Rc11, 24),
        ("Z6.U", ScAxiom::Cxx20, 24),
    ] {
        let program = &entries.iter().find(|entry| entry.name == name).unwrap().program;
        let found = program.explore(&Check::new().sc(axiom), Manner::default()).unwrap();
        assert_eq!(found.explored.complete, count, "{name}, {axiom:?}");
    }
}

/// Each execution has its own final values, on however many threads they are explored.
#[test]
fn outcomes_do_not_mix() {
    let text = "name: t\ninit: x=0 y=0\nT0: W x 1 rlx ; a = R y rlx ; b = R x rlx\n\
                T1: W y 1 rlx ; W x 2 rlx ; a = R y rlx\nT2: W y 2 rlx ; a = R x rlx ; b = R y rlx";
    let program = &read("t", text).unwrap_or_else(|error| panic!("{error}"))[0].program;
    let on = |threads| {
        let check = Check::new().threads(NonZeroUsize::new(threads).unwrap());
        program.explore(&check, Manner::default()).unwrap().outcomes
    };
    let alone = on(1);
    for _ in 0..5 {
        assert_eq!(on(3), alone);
    }
}

/// A thread that nobody has started does not finish, so who joins it is blocked.
#[test]
fn a_join_of_a_thread_that_was_not_started() {
    let text = "name: t\ninit: x=0 y=0\nT0: a = R x rlx ; if a == 1 { spawn T1 } ; join T1 ; join T1\n\
                T1: W y 1 rlx\nT2: W x 1 rlx\nexecutions: 1\noutcomes: (T0.a x y) 1,1,1";
    let entry = &read("t", text).unwrap_or_else(|error| panic!("{error}"))[0];
    let found = entry.program.explore(&Check::new(), Manner::default()).unwrap().explored;
    assert_eq!((found.complete, found.blocked), (1, 1));
    let verdict = entry.judge(&Check::new());
    assert!(verdict.passed(), "{verdict}");
}

/// A test that is wrong in any of its statements does not pass.
#[test]
fn what_is_not_as_stated_is_reported() {
    let message_passing = |store: &str, rest: &str| {
        let text = format!(
            "name: t\ninit: y=0\nplain: x=0\nT0: W x 1 na ; W y 1 {store}\n\
             T1: a = R y acq ; if a == 1 {{ b = R x na }} ; assert a < 2\n{rest}"
        );
        let entries = read("t", &text).unwrap_or_else(|error| panic!("{error}"));
        entries[0].judge(&Check::new()).to_string()
    };
    let right = message_passing("rel", "executions: 2\nrace: no\noutcomes: (T1.a T1.b x y) 0,-,1,1 1,1,1,1");
    assert!(right.starts_with("ok     t "), "{right}");
    for (store, rest, wanted) in [
        ("rel", "executions: 3", "2 executions instead of 3"),
        ("rel", "executions: 2\nrace: yes", "no race was found"),
        ("rel", "executions: 2\nerror: assert", "no failing assertion was found"),
        ("rlx", "executions: 2", "data race"),
        ("rel", "outcomes: (T1.a T1.b x y) 0,-,1,1*2 1,1,1,1", "1 executions end in T1.a=0 y=1 x=1 instead of 2"),
        (
            "rel",
            "outcomes: (T1.a T1.b x y) 0,-,1,1",
            "1 executions end in T1.a=1 T1.b=1 y=1 x=1, which is not possible",
        ),
        ("rel", "distinct: 3", "2 different outcomes instead of 3"),
        ("rel", "forbidden: T1.b == 1", "forbidden, and found: T1.a=1 T1.b=1 y=1 x=1"),
        ("rlx", "race: yes\nenumerated: 2", "3 executions instead of 2"),
    ] {
        let verdict = message_passing(store, rest);
        assert!(verdict.starts_with("FAILED") && verdict.contains(wanted), "{verdict}\n    wanted: {wanted}");
    }
    let failing = read("t", "name: t\ninit: x=0\nT0: a = R x rlx ; assert a == 1\nexecutions: 1").unwrap();
    let verdict = failing[0].judge(&Check::new()).to_string();
    assert!(verdict.contains("failed assertion of T0"), "{verdict}");
    let endless = read("t", "name: t\nT0: repeat 1000000000000000000 { a = 1 }\nexecutions: 1").unwrap();
    let verdict = endless[0].judge(&Check::new().sequential(true)).to_string();
    assert!(verdict.contains("more than 1000000 rounds of `repeat`"), "{verdict}");
}
