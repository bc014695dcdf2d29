//! Who drops an `Arc` last: random programs, against the same programs with a count of their own.
//!
//! The count is an atomic, so all orders of the drops are explored; what the checker does with `Arc` is right if it has
//! each execution once that differs in more than the order of the drops before the last.
#![allow(clippy::disallowed_types, reason = "what a test notes about a run must be no part of it")]

use std::collections::BTreeSet;
use std::sync::Mutex;
use thalweg_check::{Check, EventKind, ExecutionGraph, Mark, mark};
use thalweg_sync::atomic::AtomicU64;
use thalweg_sync::atomic::Ordering::{Acquire, Relaxed, Release};
use thalweg_sync::random::Xorshift;
use thalweg_sync::sync::Arc;
use thalweg_sync::thread;

/// What a thread does next.
#[derive(Clone, Copy, Debug)]
enum Step {
    Load(usize),
    Store(usize, u64),
    Add(usize),
    Drop(usize),
}

const LOCATIONS: usize = 2;
const PROGRAMS: usize = if cfg!(debug_assertions) { 150 } else { 4000 };

#[derive(Clone, Debug)]
struct Program {
    threads: Vec<Vec<Step>>,
    /// What the destructor of each object does.
    destructors: Vec<Vec<Step>>,
}

struct Random(Xorshift);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0.index(bound)
    }

    fn access(&mut self, value: &mut u64) -> Step {
        let location = self.below(LOCATIONS);
        match self.below(5) {
            0 | 1 => Step::Load(location),
            2 | 3 => {
                *value += 1;
                Step::Store(location, *value)
            }
            _ => Step::Add(location),
        }
    }

    fn program(&mut self) -> Program {
        let (count, objects) = (2 + self.below(2), 1 + self.below(2));
        let mut value = 0;
        let threads = (0..count).map(|_| {
            let accesses = 1 + self.below(if count == 2 { 3 } else { 2 });
            let mut steps = (0..accesses).map(|_| self.access(&mut value)).collect::<Vec<_>>();
            for object in 0..objects {
                let place = self.below(steps.len() + 1);
                steps.insert(place, Step::Drop(object));
            }
            steps
        });
        let threads = threads.collect();
        let destructors = (0..objects).map(|_| (0..self.below(2)).map(|_| self.access(&mut value)).collect());
        Program { threads, destructors: destructors.collect() }
    }
}

type Shared = [AtomicU64; LOCATIONS];

fn access(step: Step, shared: &Shared) {
    match step {
        Step::Load(location) => drop(shared[location].load(Relaxed)),
        Step::Store(location, value) => shared[location].store(value, Relaxed),
        Step::Add(location) => drop(shared[location].fetch_add(100, Relaxed)),
        Step::Drop(_) => unreachable!("an access"),
    }
}

struct Object {
    number: usize,
    steps: Vec<Step>,
    shared: std::sync::Arc<Shared>,
}

impl Object {
    fn destroy(&self) {
        mark(Mark::Begin, self.number as u64);
        self.steps.iter().for_each(|&step| access(step, &self.shared));
    }
}

/// What is dropped when the last handle is.
struct Watched(Object);

impl Drop for Watched {
    fn drop(&mut self) {
        self.0.destroy();
    }
}

/// The same with a count of its own.
struct Counted {
    count: AtomicU64,
    object: Object,
}

impl Counted {
    fn give_up(&self) {
        if self.count.fetch_sub(1, Release) == 1 {
            // Not a fence: it would also synchronise with what the other object's count was read from.
            self.count.load(Acquire);
            self.object.destroy();
        }
    }
}

/// Runs thread 0 here and the others beside it, each with a handle of each object. `make` gives an object so many.
fn run<H: Send + 'static>(
    program: &Program,
    make: impl Fn(Object, usize) -> Vec<H>,
    give_up: impl Fn(H) + Copy + Send + 'static,
) {
    // The standard library's: these handles are not what is explored.
    let shared: std::sync::Arc<Shared> = std::sync::Arc::new([1, 2].map(|location| AtomicU64::new(location << 32)));
    let mut handles = (0..).zip(&program.destructors).map(|(number, steps)| {
        make(Object { number, steps: steps.clone(), shared: shared.clone() }, program.threads.len())
    });
    let mut handles = handles.by_ref().collect::<Vec<_>>();
    let bodies = program.threads.iter().map(|steps| {
        let (steps, shared) = (steps.clone(), shared.clone());
        let mut handles = handles.iter_mut().map(Vec::pop).collect::<Vec<_>>();
        move || {
            for step in steps {
                match step {
                    Step::Drop(object) => give_up(handles[object].take().unwrap()),
                    step => access(step, &shared),
                }
            }
        }
    });
    let mut bodies = bodies.collect::<Vec<_>>().into_iter();
    let own = bodies.next().unwrap();
    let threads = bodies.map(thread::spawn).collect::<Vec<_>>();
    own();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

/// What tells executions apart: by thread what it read, wrote and destroyed; by location the order of its writes.
type Signature = (Vec<Vec<(bool, u64)>>, Vec<Vec<u64>>);

fn signature(graph: &ExecutionGraph) -> Signature {
    let is_shared = |location: usize| graph.initial(location) >> 32 != 0;
    let threads = (0..graph.threads()).map(|thread| {
        let events = graph.thread(thread).filter_map(|event| match event.kind() {
            EventKind::Mark(_) => Some((true, event.value())),
            EventKind::Read { .. } => event.location().is_some_and(is_shared).then_some((false, event.value())),
            _ => None,
        });
        events.collect()
    });
    let order = |location| graph.modification_order(location).iter().map(|&id| graph.event(id).value()).collect();
    let mut orders = (0..graph.locations()).filter(|&location| is_shared(location));
    let mut orders = orders.by_ref().map(|location| (graph.initial(location), order(location))).collect::<Vec<_>>();
    orders.sort();
    (threads.collect(), orders.into_iter().map(|(_, order)| order).collect())
}

/// The signatures of all executions, and how many there are.
fn explore(client: impl Fn() + Send + Sync + 'static) -> (BTreeSet<Signature>, u64) {
    let met = std::sync::Arc::new(Mutex::new(BTreeSet::new()));
    let seen = met.clone();
    let check = Check::new().on_complete(move |graph| {
        seen.lock().unwrap().insert(signature(graph));
    });
    let complete = check.check(client).complete;
    let met = std::mem::take(&mut *met.lock().unwrap());
    (met, complete)
}

#[test]
fn every_order_of_drops_that_matters() {
    let mut random = Random(Xorshift::new(1));
    for _ in 0..PROGRAMS {
        let program = random.program();
        let client = program.clone();
        let (found, complete) = explore(move || {
            run(&client, |object, count| std::iter::repeat_n(Arc::new(Watched(object)), count).collect(), drop);
        });
        let client = program.clone();
        let (expected, _) = explore(move || {
            let objects = Mutex::new(Vec::new());
            let make = |object, count: usize| {
                let counted = std::sync::Arc::new(Counted { count: AtomicU64::new(count as u64), object });
                // They live until all threads have ended.
                objects.lock().unwrap().push(counted.clone());
                vec![counted; count]
            };
            run(&client, make, |counted: std::sync::Arc<Counted>| counted.give_up());
        });
        assert_eq!(found.len() as u64, complete, "an execution twice: {program:#?}");
        assert!(found == expected, "{} instead of {} executions of {program:#?}", found.len(), expected.len());
    }
}
