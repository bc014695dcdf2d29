//! Equal threads: of the executions that differ in which of them is which, the engine has one.
#![allow(clippy::disallowed_types, reason = "what is noted of an execution is no part of it")]

use crate::axioms::Model;
use crate::enumerate::enumerate;
use crate::random::symmetric;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use thalweg_check::litmus::{Found, Manner, Program, Register, read};
use thalweg_check::{Check, EventId, ExecutionGraph, Memory};

/// Every order of the equal threads of a program, as what each thread becomes.
fn orders(program: &Program) -> Vec<Vec<usize>> {
    let count = program.threads.len();
    let mut orders = vec![Vec::new()];
    for _ in 0..count {
        let longer = |order: &Vec<usize>| {
            let free = (0..count).filter(|thread| !order.contains(thread)).collect::<Vec<_>>();
            free.into_iter().map(|thread| [&order[..], &[thread]].concat()).collect::<Vec<_>>()
        };
        orders = orders.iter().flat_map(longer).collect();
    }
    let keeps =
        |order: &Vec<usize>| order.iter().enumerate().all(|(old, &new)| program.threads[old] == program.threads[new]);
    orders.retain(keeps);
    orders
}

/// An execution, its threads in the one of `orders` that makes the least text of it.
fn canonical(graph: &ExecutionGraph, orders: &[Vec<usize>]) -> String {
    // At its end the client reads each location, in order.
    let last: Vec<_> = graph.thread(0).filter_map(|event| event.location()).collect();
    let place = |location: usize| last.iter().position(|&other| other == location);
    let text = |order: &Vec<usize>| {
        let renamed = |id: EventId| match id.thread.checked_sub(1) {
            None => (0, id.index),
            Some(old) => (order[old as usize] + 1, id.index),
        };
        let mut lines: Vec<_> = (0..graph.threads())
            .map(|thread| {
                let events = graph.thread(thread).map(|event| {
                    let from = event.reads_from().map(renamed);
                    (event.location().map(place), event.value(), event.ordering(), from)
                });
                (renamed(EventId { thread, index: 0 }).0, format!("{:?}", events.collect::<Vec<_>>()))
            })
            .collect();
        lines.sort();
        let writes =
            |&location: &usize| graph.modification_order(location).iter().map(|&id| renamed(id)).collect::<Vec<_>>();
        format!("{lines:?} {:?}", last.iter().map(writes).collect::<Vec<_>>())
    };
    orders.iter().map(text).min().expect("there is one order at least")
}

/// The final values, likewise.
fn canonical_values(program: &Program, values: &[Register], orders: &[Vec<usize>]) -> Vec<Register> {
    let mut left = values;
    let mut take = |count: usize| {
        let (taken, rest) = left.split_at(count);
        left = rest;
        taken.to_vec()
    };
    let counts = program.threads.iter().map(|thread| thread.registers.iter().filter(|name| *name != "_").count());
    let registers: Vec<_> = counts.map(&mut take).collect();
    let memory = take(program.locations.len());
    let renamed = |order: &Vec<usize>| {
        let mut threads = registers.clone();
        order.iter().enumerate().for_each(|(old, &new)| threads[new] = registers[old].clone());
        threads.concat()
    };
    [orders.iter().map(renamed).min().expect("there is one order at least"), memory].concat()
}

/// What is explored, and the executions, up to the order of equal threads.
fn explore(program: &Program, check: &Check, equal: bool) -> (Found, BTreeSet<String>) {
    let met = Arc::new(Mutex::new(BTreeSet::new()));
    let check = check.clone().on_complete({
        let (met, orders) = (met.clone(), orders(program));
        move |graph| {
            met.lock().unwrap().insert(canonical(graph, &orders));
        }
    });
    let manner = Manner { unchecked: true, equal, ..Manner::default() };
    let found = program.explore(&check, manner).unwrap_or_else(|violation| panic!("{violation}"));
    let met = met.lock().unwrap().clone();
    (found, met)
}

/// One execution of each orbit, and no outcome is lost. In a model with weak orderings an orbit may have two: where a read reads an older
/// write that comes after what its twin read.
#[test]
fn one_order_of_equal_threads_is_explored() {
    let models = [
        (Model::Rc11, Check::new()),
        (Model::Ra, Check::new().memory(Memory::Ra)),
        (Model::Sc, Check::new().memory(Memory::Sc)),
    ];
    let (mut all, mut orbits, mut more) = (0, 0, 0);
    for seed in 0..programs() {
        let text = symmetric(seed, seed % 3 == 0);
        let program = &read("symmetric", &text).unwrap_or_else(|error| panic!("{error}\n{text}"))[0].program;
        let orders = orders(program);
        for (model, check) in &models {
            let (whole, every) = explore(program, check, false);
            let (found, met) = explore(program, check, true);
            if let Some(missing) = every.symmetric_difference(&met).next() {
                panic!("{} orbits, not {}, {model:?}\n{text}{missing}", met.len(), every.len());
            }
            let enumerated = enumerate(program, *model, usize::MAX).unwrap();
            let outcomes = |outcomes: &thalweg_check::litmus::Outcomes| {
                outcomes.keys().map(|values| canonical_values(program, values, &orders)).collect::<BTreeSet<_>>()
            };
            assert_eq!(outcomes(&found.outcomes), outcomes(&enumerated.outcomes), "{model:?}\n{text}");
            assert_eq!(whole.explored.complete, enumerated.executions, "{model:?}\n{text}");
            let excess = found.explored.complete - met.len() as u64;
            assert!(*model != Model::Sc || excess == 0, "{excess} more than there are orbits\n{text}");
            (all, orbits, more) = (all + whole.explored.complete, orbits + met.len() as u64, more + excess);
        }
    }
    println!("{all} executions, {orbits} orbits, {more} explored twice");
    assert!(more * 1000 <= orbits, "of {orbits} orbits {more} were explored twice");
}

/// How many programs: of the default a part, as each is explored six times; or half as many as `THALWEG_ORACLE_PROGRAMS` says.
fn programs() -> u64 {
    match crate::programs() {
        800 => 150,
        more => more / 2,
    }
}
