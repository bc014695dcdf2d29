//! What a run notes beside its counts: what threads said they do, and how long messages took.

use crate::threads::State;
use crate::trace::{Event, Recorder, What};
use serde::Serialize;
use std::collections::HashMap;

/// What the client named, and how often and how long it was done.
#[derive(Clone, Debug, Default)]
pub(crate) struct Task {
    pub(crate) name: String,
    pub(crate) times: u64,
    pub(crate) cycles: u64,
    /// What its messages cost.
    price: Price,
}

/// What a task's messages cost, in nanoseconds each, beside what the simulator sees of it: the work on what no other thread shares.
///
/// For a stream's kernel, price the messages that it gives, if it gives any: their time is charged before another kernel can take them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Price {
    /// Of a message that it takes.
    pub taken: f64,
    /// Of a message that it gives.
    pub given: f64,
}

/// A task that goes on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Doing {
    name: u32,
    began: u64,
    /// Of tasks within it.
    nested: u64,
}

/// The notes of a run.
#[derive(Debug, Default)]
pub(crate) struct Notes {
    /// Plain hits are counted by place, too.
    pub(crate) hits: bool,
    pub(crate) trace: Option<Recorder>,
    /// In the order in which they were first named.
    pub(crate) tasks: Vec<Task>,
    /// By name. Never iterated.
    numbers: HashMap<String, u32>,
    /// In cycles.
    pub(crate) latencies: Vec<u64>,
}

/// Says what the messages of a task cost from now on, such as those of a stream's kernel with that name. A task without a price
/// costs its accesses alone. Outside of a simulation nothing happens.
///
/// ```
/// use thalweg_sim::{Machine, Price, Simulation, price};
/// use thalweg_sync::hint;
///
/// let report = Simulation::new(Machine::named("x86-40")?).run(|| {
///     price("fir", Price { given: 12.5, ..Price::default() });
///     let _task = hint::task("fir");
///     hint::gives(1_000);
/// });
/// assert_eq!(report.tasks[0].nanos, 12_500);
/// # Ok::<(), thalweg_sim::MachineError>(())
/// ```
pub fn price(task: &str, price: Price) {
    crate::heap::tell(|world| {
        let mut state = world.state();
        let number = state.notes.number(task);
        state.notes.tasks[number as usize].price = price;
    });
}

impl Notes {
    /// The number of the task with that name, which may be new.
    fn number(&mut self, name: &str) -> u32 {
        if let Some(&number) = self.numbers.get(name) {
            return number;
        }
        let number = self.tasks.len() as u32;
        self.tasks.push(Task { name: name.to_owned(), ..Task::default() });
        self.numbers.insert(name.to_owned(), number);
        number
    }
}

impl State {
    /// The current thread did `what` from `begin` to `end`.
    #[inline]
    pub(crate) fn trace(&mut self, thread: usize, begin: u64, end: u64, what: What) {
        if let Some(trace) = &mut self.notes.trace {
            trace.add(Event { thread, begin, end, what });
        }
    }

    pub(crate) fn task(&mut self, name: &str) {
        let number = self.notes.number(name);
        let thread = self.thread();
        thread.doing.push(Doing { name: number, began: thread.clock, nested: 0 });
    }

    /// Cycles that `messages` of the task at hand cost.
    pub(crate) fn cost_of(&self, messages: u64, each: fn(Price) -> f64) -> u64 {
        let Some(doing) = self.threads[self.current].doing.last() else { return 0 };
        let nanos = each(self.notes.tasks[doing.name as usize].price) * messages as f64;
        (nanos * self.machine.mhz() as f64 / 1000.0) as u64
    }

    pub(crate) fn task_end(&mut self) {
        let current = self.current;
        let thread = self.thread();
        let clock = thread.clock;
        let Some(Doing { name, began, nested }) = thread.doing.pop() else { return };
        let whole = clock - began;
        if let Some(outer) = thread.doing.last_mut() {
            outer.nested += whole;
        }
        let task = &mut self.notes.tasks[name as usize];
        task.times += 1;
        task.cycles += whole - nested;
        self.trace(current, began, clock, What::Task { name });
    }
}

/// How long messages took, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[non_exhaustive]
pub struct Latencies {
    /// How many arrived.
    pub count: u64,
    /// The quickest.
    pub min: u64,
    /// The mean.
    pub mean: u64,
    /// A tenth of them took no longer.
    pub p10: u64,
    /// A quarter of them took no longer.
    pub p25: u64,
    /// Half of them took no longer.
    pub p50: u64,
    /// Three in four took no longer.
    pub p75: u64,
    /// Nine in ten took no longer.
    pub p90: u64,
    /// 99 in a hundred took no longer.
    pub p99: u64,
    /// 999 in a thousand took no longer.
    pub p999: u64,
    /// The slowest.
    pub max: u64,
}

impl Latencies {
    /// `None` if there are none. The value below which a share lies is the nearest rank's.
    pub(crate) fn of(mut cycles: Vec<u64>, nanos: impl Fn(u64) -> u64) -> Option<Self> {
        cycles.sort_unstable();
        let (&min, &max) = (cycles.first()?, cycles.last()?);
        let sum: u128 = cycles.iter().map(|&one| u128::from(one)).sum();
        let rank = |thousandths: usize| nanos(cycles[(cycles.len() * thousandths).div_ceil(1000) - 1]);
        Some(Self {
            count: cycles.len() as u64,
            min: nanos(min),
            mean: nanos((sum / cycles.len() as u128) as u64),
            p10: rank(100),
            p25: rank(250),
            p50: rank(500),
            p75: rank(750),
            p90: rank(900),
            p99: rank(990),
            p999: rank(999),
            max: nanos(max),
        })
    }
}

/// A moment of a run, to be sent along with a message. Taking it and [arriving](Self::arrived) cost no simulated time.
///
/// ```
/// use thalweg_sim::{Machine, Simulation, Stamp};
/// use thalweg_sync::hint;
///
/// let report = Simulation::new(Machine::named("vl-16")?).run(|| {
///     for cycles in [2_000, 4_000, 200_000] {
///         let sent = Stamp::now();
///         hint::work(cycles);
///         assert_eq!(sent.nanos(), cycles / 2); // at 2 GHz
///         sent.arrived();
///     }
/// });
/// let latencies = report.latencies.unwrap();
/// assert_eq!((latencies.count, latencies.p50, latencies.max), (3, 2_000, 100_000));
/// # Ok::<(), thalweg_sim::MachineError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stamp(u64);

impl Stamp {
    /// This moment, by the clock of the running thread. Outside of a simulation a stamp means nothing.
    pub fn now() -> Self {
        let mut clock = 0;
        crate::heap::tell(|world| clock = world.state().thread().clock);
        Self(clock)
    }

    /// How many simulated nanoseconds ago that was, by the clock of the running thread; none outside of a simulation.
    pub fn nanos(self) -> u64 {
        let mut nanos = 0;
        crate::heap::tell(|world| {
            let mut state = world.state();
            let passed = state.thread().clock.saturating_sub(self.0);
            nanos = state.machine.nanos(passed);
        });
        nanos
    }

    /// What was sent then arrives now: one more of the run's [`Latencies`].
    pub fn arrived(self) {
        crate::heap::tell(|world| {
            let mut state = world.state();
            let passed = state.thread().clock.saturating_sub(self.0);
            state.notes.latencies.push(passed);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_nearest_ranks() {
        let all = Latencies::of((1..=1000).rev().collect(), |cycles| cycles * 2).unwrap();
        assert_eq!(
            (all.count, all.min, all.mean, all.p50, all.p90, all.p99, all.p999, all.max),
            (1000, 2, 1000, 1000, 1800, 1980, 1998, 2000)
        );
        assert_eq!((all.p10, all.p25, all.p75), (200, 500, 1500));
        let one = Latencies::of(vec![7], |cycles| cycles).unwrap();
        assert_eq!((one.min, one.p50, one.p999, one.max), (7, 7, 7, 7));
        assert_eq!(Latencies::of(Vec::new(), |cycles| cycles), None);
    }
}
