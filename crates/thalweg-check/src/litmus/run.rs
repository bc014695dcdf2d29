//! Programs as clients of the model checker.

use super::Outcomes;
use super::program::{Machine, Order, Program, Register, Update};
use crate::model::{Check, Explored, Violation, assume, equal};
use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::ThreadId;
use thalweg_sync::atomic::{AtomicI64, fence};
use thalweg_sync::cell::Slot;
use thalweg_sync::thread::{self, Scope, ScopedJoinHandle};

/// How a program is run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Manner {
    /// The threads are started in the reverse order; but those that others join come first. Counts do not depend on
    /// it.
    pub reversed: bool,
    /// Plain locations are relaxed atomics and assertions are not looked at, so that all executions are counted, with
    /// races and failures too.
    pub unchecked: bool,
    /// Threads of the same text that are started one after the other are declared [`equal`]; not those that others start or join.
    pub equal: bool,
}

/// What the executions of a program are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// How many there are.
    pub explored: Explored,
    /// The final valuations, each with the number of executions that end so.
    pub outcomes: Outcomes,
}

impl Program {
    /// Explores all executions. A hook of `check` is called too.
    ///
    /// # Errors
    ///
    /// With the first race, or assertion that fails.
    #[allow(clippy::result_large_err, reason = "made once, to be looked at")]
    pub fn explore(&self, check: &Check, manner: Manner) -> Result<Found, Violation> {
        // By OS thread: a check on several runs an execution on each at the same time.
        let last = Arc::new(Mutex::new(HashMap::<ThreadId, Vec<Register>>::new()));
        let outcomes = Arc::new(Mutex::new(Outcomes::new()));
        let check = {
            let (last, outcomes) = (last.clone(), outcomes.clone());
            let hook = check.hook();
            check.clone().on_complete(move |graph| {
                hook.iter().for_each(|hook| hook(graph));
                let valuation = lock(&last).get(&std::thread::current().id()).cloned();
                let valuation = valuation.expect("the execution that has ended here has left its values");
                *lock(&outcomes).entry(valuation).or_default() += 1;
            })
        };
        let program = self.clone();
        let explored = check.run(move || {
            let valuation = execute(&program, manner);
            lock(&last).insert(std::thread::current().id(), valuation);
        })?;
        let outcomes = lock(&outcomes).clone();
        Ok(Found { explored, outcomes })
    }

    /// Whether nothing tells two threads apart.
    fn are_equal(&self, one: usize, other: usize) -> bool {
        let [one, other] = [one, other].map(|thread| &self.threads[thread]);
        one == other && !one.spawned && !one.joined
    }

    /// The threads in the order in which they are started; without those that others start.
    fn order(&self, manner: Manner) -> Vec<usize> {
        let mut order = (0..self.threads.len()).filter(|&thread| !self.threads[thread].spawned).collect::<Vec<_>>();
        if manner.reversed {
            order.reverse();
        }
        // A thread that joins another finds its handle.
        order.sort_by_key(|&thread| !self.threads[thread].joined);
        order
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// One execution. Returns its final valuation.
fn execute(program: &Program, manner: Manner) -> Vec<Register> {
    let memory = program.locations.iter().map(|location| match location.plain && !manner.unchecked {
        true => Cell::Plain(Slot::new(location.initial)),
        false => Cell::Atomic(AtomicI64::new(location.initial)),
    });
    let world = World {
        program,
        manner,
        memory: memory.collect(),
        registers: Mutex::new(program.threads.iter().map(|thread| vec![None; thread.registers.len()]).collect()),
    };
    thread::scope(|scope| {
        let handles = (0..program.threads.len()).map(|_| Started::Not).collect::<Vec<_>>();
        let handles = Arc::new(Mutex::new(handles));
        let order = program.order(manner);
        let are_equal = |one: &usize, other: &usize| manner.equal && program.are_equal(*one, *other);
        for threads in order.chunk_by(are_equal) {
            let starts = || threads.iter().for_each(|&thread| start(scope, &world, &handles, thread));
            if threads.len() > 1 { equal(starts) } else { starts() }
        }
    });
    // Every thread has ended, so there is one value to read of each.
    let memory = world.memory.iter().map(|cell| cell.load(Some(Ordering::Relaxed))).collect::<Vec<_>>();
    program.valuation(&lock(&world.registers), &memory)
}

/// What the threads share.
struct World<'a> {
    program: &'a Program,
    manner: Manner,
    memory: Vec<Cell>,
    /// Where each thread leaves its registers at its end. No memory of the program.
    registers: Mutex<Vec<Vec<Register>>>,
}

/// A location.
enum Cell {
    Atomic(AtomicI64),
    Plain(Slot<i64>),
}

impl Cell {
    fn load(&self, order: Order) -> i64 {
        match self {
            Self::Atomic(cell) => cell.load(order.unwrap_or(Ordering::Relaxed)),
            // SAFETY: a race ends the run before the access (the checker's promise for slots), so nobody writes.
            Self::Plain(slot) => slot.with(|value| unsafe { *value }),
        }
    }

    fn store(&self, value: i64, order: Order) {
        match self {
            Self::Atomic(cell) => cell.store(value, order.unwrap_or(Ordering::Relaxed)),
            // SAFETY: as in `load`: nobody else has access.
            Self::Plain(slot) => slot.with_mut(|place| unsafe { *place = value }),
        }
    }

    fn atomic(&self) -> &AtomicI64 {
        match self {
            Self::Atomic(cell) => cell,
            Self::Plain(_) => unreachable!("the notation has no atomic accesses to plain locations"),
        }
    }
}

/// How far a thread of the program is.
enum Started<'scope> {
    Not,
    Runs(ScopedJoinHandle<'scope, ()>),
    Joined,
}

/// The threads of the program.
type Handles<'scope> = Arc<Mutex<Vec<Started<'scope>>>>;

fn start<'scope>(
    scope: &'scope Scope<'scope, '_>,
    world: &'scope World<'scope>,
    handles: &Handles<'scope>,
    thread: usize,
) {
    let mut hardware = Hardware { scope, world, handles: handles.clone(), thread };
    let handle = scope.spawn(move || {
        let body = &world.program.threads[thread];
        let mut registers = vec![None; body.registers.len()];
        let Ok(()) = body.run(&mut registers, &mut hardware);
        lock(&world.registers)[thread] = registers;
    });
    lock(handles)[thread] = Started::Runs(handle);
}

/// The facade, as a machine for one thread.
struct Hardware<'scope, 'env> {
    scope: &'scope Scope<'scope, 'env>,
    world: &'scope World<'scope>,
    handles: Handles<'scope>,
    thread: usize,
}

impl Machine for Hardware<'_, '_> {
    type Stop = Infallible;

    fn load(&mut self, location: usize, order: Order) -> Result<i64, Infallible> {
        Ok(self.world.memory[location].load(order))
    }

    fn store(&mut self, location: usize, value: i64, order: Order) -> Result<(), Infallible> {
        self.world.memory[location].store(value, order);
        Ok(())
    }

    fn modify(&mut self, location: usize, update: Update, operand: i64, order: Ordering) -> Result<i64, Infallible> {
        let cell = self.world.memory[location].atomic();
        Ok(match update {
            Update::Add => cell.fetch_add(operand, order),
            Update::Sub => cell.fetch_sub(operand, order),
            Update::Exchange => cell.swap(operand, order),
        })
    }

    fn compare_exchange(
        &mut self,
        location: usize,
        [old, new]: [i64; 2],
        success: Ordering,
        failure: Ordering,
    ) -> Result<i64, Infallible> {
        let result = self.world.memory[location].atomic().compare_exchange(old, new, success, failure);
        Ok(result.unwrap_or_else(|read| read))
    }

    fn fence(&mut self, order: Ordering) -> Result<(), Infallible> {
        fence(order);
        Ok(())
    }

    fn spawn(&mut self, thread: usize) -> Result<(), Infallible> {
        start(self.scope, self.world, &self.handles, thread);
        Ok(())
    }

    fn join(&mut self, thread: usize) -> Result<(), Infallible> {
        let before = std::mem::replace(&mut lock(&self.handles)[thread], Started::Joined);
        match before {
            Started::Runs(handle) => handle.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
            Started::Joined => {}
            // Only this thread would have started it, so it waits for ever.
            Started::Not => assume(false),
        }
        Ok(())
    }

    fn assume(&mut self, holds: bool) -> Result<(), Infallible> {
        assume(holds);
        Ok(())
    }

    fn assert(&mut self, holds: bool) -> Result<(), Infallible> {
        assert!(holds || self.world.manner.unchecked, "{FAILED} of T{}", self.thread);
        Ok(())
    }
}

/// How the message of an assertion that fails begins.
pub(super) const FAILED: &str = "failed assertion";
