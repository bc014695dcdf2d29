//! What all tasks do.

use crate::TaskId;
use crate::idle;
use crate::runtime::Shared;
use crate::task::Task;
use crate::wait::Reason;
use crate::worker::Worker;
use core::fmt;
use thalweg_sync::atomic::Ordering::Relaxed;
use thalweg_sync::sync::Arc;
use thalweg_sync::time::{self, Duration};
use thalweg_sync::{fence, thread};

/// How long a worker has to answer.
const PATIENCE: Duration = Duration::from_millis(50);

/// What a task does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It runs: it is the one that asks.
    Running,
    /// It could run, and others do.
    Ready,
    /// It waits for this.
    Waits(Reason),
}

/// A task that has begun.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TaskInfo {
    /// Its number.
    pub id: TaskId,
    /// Its name.
    pub name: Option<String>,
    /// Its worker.
    pub worker: usize,
    /// What it does.
    pub state: State,
    /// Whether it was asked to end.
    pub cancelled: bool,
}

impl TaskInfo {
    /// What its home says of a task.
    pub(crate) fn of(task: &Task, worker: usize, state: Option<State>) -> Self {
        let waits = task.at_home.reason.get().map_or(State::Ready, State::Waits);
        Self {
            id: task.id,
            name: task.name.as_deref().map(str::to_owned),
            worker,
            state: state.unwrap_or(waits),
            cancelled: task.is_cancelled(),
        }
    }
}

/// All tasks of a runtime: [`Runtime::dump`](crate::Runtime::dump). Printed, it is a table.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Dump {
    /// Those that have begun, by worker and number.
    pub tasks: Vec<TaskInfo>,
    /// How many have not begun, now or lately; and those of silent workers.
    pub others: usize,
    /// The workers that did not answer, and the tasks that do not let go of them.
    pub silent: Vec<(usize, Option<TaskId>)>,
}

impl fmt::Display for Dump {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "worker  task              name              state")?;
        for TaskInfo { id, name, worker, state, cancelled } in &self.tasks {
            let state = match state {
                State::Running => "runs".to_owned(),
                State::Ready => "is ready".to_owned(),
                State::Waits(reason) => format!("waits for {reason}"),
            };
            let name = name.as_deref().unwrap_or("-");
            let id = id.to_string();
            let cancelled = if *cancelled { ", cancelled" } else { "" };
            writeln!(f, "{worker:<7} {id:<17} {name:<17} {state}{cancelled}")?;
        }
        for (worker, task) in &self.silent {
            match task {
                Some(task) => writeln!(f, "{worker:<7} {:<17} {:<17} runs and does not let go", task.to_string(), "?")?,
                None => writeln!(f, "{worker:<7} does not answer")?,
            }
        }
        write!(f, "and {} that have not begun, or that a silent worker has", self.others)
    }
}

/// Asks every worker.
pub(crate) fn of(shared: &Arc<Shared>) -> Dump {
    let own = Worker::with(|worker| Arc::ptr_eq(&worker.shared, shared).then(|| (worker.index, worker.describe())));
    let mut dump = Dump::default();
    let mut asked: Vec<usize> = (0..shared.remotes.len()).collect();
    if let Some((index, tasks)) = own.flatten() {
        dump.tasks.extend(tasks);
        asked.retain(|&worker| worker != index);
    }
    for &worker in &asked {
        // Relaxed: the fence orders it.
        shared.remotes[worker].asked.store(true, Relaxed);
    }
    // (idle.1) Pairs with (idle.2).
    fence::light();
    for &worker in &asked {
        idle::wake(shared, worker);
    }
    let patience = time::now().after(PATIENCE);
    loop {
        // Two that ask at the same time share the answers: each asks again for what the other has taken.
        asked.retain(|&worker| {
            let remote = &shared.remotes[worker];
            match remote.answer.with(Option::take) {
                Some(tasks) => {
                    dump.tasks.extend(tasks);
                    false
                }
                None => {
                    remote.asked.store(true, Relaxed);
                    true
                }
            }
        });
        if asked.is_empty() || time::now() >= patience {
            break;
        }
        thread::sleep(Duration::from_micros(100));
        fence::light();
        for &worker in &asked {
            idle::wake(shared, worker);
        }
    }
    for worker in asked {
        let running = shared.remotes[worker].running.get();
        dump.silent.push((worker, running.checked_sub(1).map(TaskId)));
    }
    dump.tasks.sort_by_key(|task| (task.worker, task.id));
    dump.others = shared.live().saturating_sub(dump.tasks.len());
    dump
}
