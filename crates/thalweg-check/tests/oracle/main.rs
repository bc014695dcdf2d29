//! A brute-force enumeration of the axioms, the second oracle beside the published counts.
#![cfg(not(loom))]

mod axioms;
mod enumerate;
mod random;
mod shapes;
mod symmetric;

use axioms::Model;
use enumerate::{Found, enumerate};
use random::{Shape, program};
use thalweg_check::litmus::{Manner, Test, read};
use thalweg_check::{Check, Memory, Rule, ScAxiom};

/// Partial readings, and orders of writes, to look at before an entry counts as too large for this method.
const LIMIT: usize = if cfg!(debug_assertions) { 400 } else { 2_000 };

fn entries() -> Vec<Test> {
    read("rc11.litmus", include_str!("../litmus/rc11.litmus")).unwrap_or_else(|error| panic!("{error}"))
}

fn entry(name: &str) -> Test {
    entries().into_iter().find(|entry| entry.name == name).unwrap()
}

/// Says how `found` differs from what the file says of `entry`; nothing if it does not.
fn differences(entry: &Test, found: &Found) -> Vec<String> {
    let mut differences = Vec::new();
    let wanted = entry.executions.or(entry.enumerated);
    if wanted != Some(found.executions) && !entry.also.contains(&found.executions) {
        differences.push(format!("{} executions, not {wanted:?}", found.executions));
    }
    if entry.race != found.race {
        differences.push(format!("a race: {}", found.race));
    }
    if entry.fails != found.fails {
        differences.push(format!("a failed assertion: {}", found.fails));
    }
    if entry.outcomes.as_ref().is_some_and(|outcomes| *outcomes != found.outcomes) {
        differences.push(format!("outcomes {:?}", found.outcomes));
    }
    if entry.distinct.is_some_and(|distinct| distinct != found.outcomes.len() as u64) {
        differences.push(format!("{} distinct outcomes", found.outcomes.len()));
    }
    if let Some(forbidden) = &entry.forbidden
        && found.outcomes.keys().any(|outcome| forbidden.value(outcome).is_some_and(|value| value != 0))
    {
        differences.push("the forbidden outcome".to_owned());
    }
    differences
}

#[test]
fn the_enumeration_finds_the_published_counts() {
    let mut agreed = 0;
    let mut wrong = Vec::new();
    for entry in entries() {
        if entry.has_tag("large") {
            continue;
        }
        let Some(found) = enumerate(&entry.program, Model::Rc11, LIMIT) else { continue };
        let differences = differences(&entry, &found);
        agreed += usize::from(differences.is_empty());
        if !differences.is_empty() {
            wrong.push(format!("{}: {}", entry.name, differences.join("; ")));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(agreed >= if cfg!(debug_assertions) { 80 } else { 95 }, "only {agreed} are small enough");
}

/// The README of the published counts has both.
#[test]
fn two_entries_tell_the_definitions_of_sc_apart() {
    for (name, rc11, cxx20) in [("WWmerge1", 18, 17), ("Z6.U", 24, 24)] {
        let program = entry(name).program;
        let count = |model| enumerate(&program, model, 100_000).unwrap().executions;
        assert_eq!((count(Model::Rc11), count(Model::Cxx20)), (rc11, cxx20), "{name}");
    }
}

#[test]
fn weaker_models_allow_more() {
    let count = |name: &str, model| enumerate(&entry(name).program, model, 100_000).unwrap().executions;
    // Store buffering by sc accesses: sequentially consistent, but not without the condition on sc events.
    for (name, sc, rc11, ra) in [("2+2W+4sc", 3, 3, 4), ("MP", 3, 3, 3), ("2+2W", 3, 4, 4)] {
        let counts = [Model::Sc, Model::Rc11, Model::Ra].map(|model| count(name, model));
        assert_eq!(counts, [sc, rc11, ra], "{name}");
    }
}

const SHAPES: [Shape; 3] = [
    Shape { events: 8, plain: false, sc: false },
    Shape { events: 7, plain: false, sc: true },
    Shape { events: 7, plain: true, sc: false },
];

/// Executions do not depend on the numbers of the threads, and a weaker model has all those of a stronger one.
#[test]
fn random_programs_are_judged_evenly() {
    for seed in 0..100 {
        let text = program(seed, SHAPES[seed as usize % 2]);
        let entry = &read("random", &text).unwrap_or_else(|error| panic!("{error}\n{text}"))[0];
        let found = |model| enumerate(&entry.program, model, usize::MAX).unwrap();
        let all = [Model::Sc, Model::Rc11, Model::Ra].map(found);
        for pair in all.windows(2) {
            let contained = pair[0].outcomes.iter().all(|(outcome, n)| pair[1].outcomes.get(outcome) >= Some(n));
            assert!(contained, "{text}{pair:?}");
        }
    }
}

/// How many random programs of each shape: so many, or as `THALWEG_ORACLE_PROGRAMS` says.
pub(crate) fn programs() -> u64 {
    match std::env::var("THALWEG_ORACLE_PROGRAMS") {
        Ok(count) => count.parse().unwrap_or_else(|_| panic!("THALWEG_ORACLE_PROGRAMS is a number, not {count:?}")),
        Err(_) if cfg!(debug_assertions) => 800,
        Err(_) => 2000,
    }
}

/// The engine has exactly the executions that the axioms allow, in every model and with the threads in both orders.
#[test]
fn the_engine_agrees_with_the_axioms() {
    let models = [
        (Model::Rc11, Check::new()),
        (Model::Cxx20, Check::new().sc(ScAxiom::Cxx20)),
        (Model::Ra, Check::new().memory(Memory::Ra)),
        (Model::Sc, Check::new().memory(Memory::Sc)),
    ];
    for seed in 0..programs() * SHAPES.len() as u64 {
        let shape = SHAPES[(seed % SHAPES.len() as u64) as usize];
        let text = program(seed, shape);
        let program = &read("random", &text).unwrap_or_else(|error| panic!("{error}\n{text}"))[0].program;
        for (model, check) in &models {
            let found = enumerate(program, *model, usize::MAX).unwrap();
            let manner = Manner { reversed: seed % 2 == 1, unchecked: true, ..Manner::default() };
            let explored = program.explore(check, manner).unwrap_or_else(|violation| panic!("{text}{violation}"));
            assert_eq!(explored.outcomes, found.outcomes, "{model:?}, {manner:?}\n{text}");
            assert_eq!(explored.explored.complete, found.executions, "{model:?}, {manner:?}\n{text}");
            if shape.plain && *model == Model::Rc11 {
                let checked = program.explore(check, Manner { unchecked: false, ..manner });
                let race = checked.is_err_and(|violation| matches!(violation.rule(), Rule::Race { .. }));
                assert_eq!(race, found.race, "{text}");
            }
        }
    }
}
