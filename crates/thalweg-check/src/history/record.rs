//! Recording operations while they run.

use super::History;
use crate::heap::engine_side;
use crate::model::{EventId, EventKind, ExecutionGraph, Mark, mark};
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::ThreadId;
use thalweg_sync::atomic::{AtomicU64, Ordering};

/// Where the threads of a client leave what they did.
///
/// ```
/// use thalweg_check::history::{Bounded, Queue, Recorder};
/// use thalweg_sync::{sync::Mutex, thread};
///
/// let recorder = Recorder::native();
/// let items = Mutex::new(Vec::new());
/// thread::scope(|scope| {
///     for me in 0..2 {
///         let (mut log, items) = (recorder.log(me), &items);
///         scope.spawn(move || {
///             log.call(|| items.lock().unwrap().push(me), |()| Queue::Pushed(me));
///             log.call(|| items.lock().unwrap().remove(0), |&item| Queue::Popped(item));
///         });
///     }
/// });
/// recorder.history().linearize(Bounded::new(2, 2)).unwrap();
/// ```
#[derive(Debug)]
pub struct Recorder<O> {
    shared: Arc<Shared<O>>,
}

#[derive(Debug)]
struct Shared<O> {
    /// None: calls are marked for the model checker.
    clock: Option<AtomicU64>,
    // Not a lock of the facade: what is noted here is no event.
    logs: Mutex<HashMap<Option<ThreadId>, Logs<O>>>,
}

/// The operations of each log, with the times of their beginning and end.
type Logs<O> = Vec<Vec<(O, u64, u64)>>;

impl<O> Shared<O> {
    /// Calls `body` with the logs of this execution. The checker runs all threads of one on one OS thread, and other
    /// executions on others at the same time.
    fn with_logs<R>(&self, body: impl FnOnce(&mut Logs<O>) -> R) -> R {
        // The memory of a log is not the client's.
        let _engine = engine_side();
        let execution = self.clock.is_none().then(|| std::thread::current().id());
        body(self.logs.lock().unwrap_or_else(PoisonError::into_inner).entry(execution).or_default())
    }
}

impl<O> Clone for Recorder<O> {
    fn clone(&self) -> Self {
        Self { shared: self.shared.clone() }
    }
}

impl<O> Recorder<O> {
    /// A recorder with a clock, for native threads and for the fuzzer.
    ///
    /// The clock is one shared counter. It orders the operations that it times, so what only happens without that
    /// order on a weak machine is not seen; that is the model checker's to find.
    pub fn native() -> Self {
        Self { shared: Arc::new(Shared { clock: Some(AtomicU64::new(0)), logs: Mutex::default() }) }
    }

    /// A recorder whose calls begin and end with markers in the execution graph; see
    /// [`Check::linearizable`](crate::Check::linearizable).
    pub(super) fn marked() -> Self {
        Self { shared: Arc::new(Shared { clock: None, logs: Mutex::default() }) }
    }

    /// The log of one thread. Each thread has a number of its own; asked for again, the log is empty.
    ///
    /// In an execution of [`Check::linearizable`](crate::Check::linearizable) one that was asked for twice is a
    /// violation.
    pub fn log(&self, thread: usize) -> Log<O> {
        self.shared.with_logs(|logs| {
            if logs.len() <= thread {
                logs.resize_with(thread + 1, Vec::new);
            }
            logs[thread].clear();
        });
        Log { recorder: self.clone(), thread }
    }
}

impl<O: Clone> Recorder<O> {
    /// What was recorded. Only when all calls have ended: one that is under way is not in it.
    pub fn history(&self) -> History<O> {
        self.shared.with_logs(|logs| {
            History::from_intervals(logs.iter().enumerate().flat_map(|(thread, log)| {
                log.iter().map(move |(operation, begin, end)| (thread, operation.clone(), *begin, *end))
            }))
        })
    }

    /// Takes what was recorded in an execution: a call comes before another if its end happens before the other's
    /// beginning.
    ///
    /// # Panics
    ///
    /// If a log was asked for twice.
    pub(super) fn take_history_of(&self, graph: &ExecutionGraph) -> History<O> {
        self.shared.with_logs(|logs| {
            let history = Self::ordered(logs, graph);
            // What operations have in memory is no leak of the client.
            logs.iter_mut().for_each(Vec::clear);
            history
        })
    }

    fn ordered(logs: &Logs<O>, graph: &ExecutionGraph) -> History<O> {
        // Every call: its log, its place there, its beginning and end.
        let mut calls: Vec<(usize, usize, EventId, EventId)> = Vec::new();
        for thread in 0..graph.threads() {
            let mut begins = Vec::new();
            for event in graph.thread(thread) {
                match event.kind() {
                    EventKind::Mark(Mark::Begin) => begins.push((event.value(), event.id())),
                    EventKind::Mark(Mark::End) => {
                        if let Some((name, begin)) = begins.pop().filter(|(name, _)| *name == event.value()) {
                            calls.push(((name >> 32) as usize, name as u32 as usize, begin, event.id()));
                        }
                    }
                    _ => {}
                }
            }
        }
        // A log that was asked for again is empty, and names calls as before.
        let mut names = HashSet::new();
        for &(log, place, ..) in &calls {
            let is_there = logs.get(log).is_some_and(|log| place < log.len());
            assert!(
                is_there && names.insert((log, place)),
                "`Recorder::log({log})` was called twice in an execution, and the second call has emptied the log: \
                 give each thread a number of its own, and keep its log"
            );
        }
        // Asked of each pair many times below, once for every execution.
        let ends_before = |first: usize| {
            let calls = &calls;
            (0..calls.len()).map(move |second| graph.happens_before(calls[first].3, calls[second].2))
        };
        let known = (0..calls.len()).flat_map(ends_before).collect::<Vec<_>>();
        let before = |first: usize, second: usize| known[first * calls.len() + second];
        let mut history = History::new();
        let mut numbers = vec![None; calls.len()];
        // Each round adds a call that comes after added ones only. There is one, as happens-before has no cycle.
        for _ in 0..calls.len() {
            let is_next = |&call: &usize| {
                numbers[call].is_none()
                    && (0..calls.len()).all(|other| numbers[other].is_some() || !before(other, call))
            };
            let call = (0..calls.len()).find(is_next).expect("happens-before has no cycle");
            // Without those that come before another of them.
            let is_last = |&other: &usize| {
                before(other, call) && !(0..calls.len()).any(|later| before(other, later) && before(later, call))
            };
            let after = (0..calls.len()).filter(is_last).filter_map(|other| numbers[other]);
            let (log, place, ..) = calls[call];
            let number = history.add(log, logs[log][place].0.clone(), after.collect::<Vec<_>>());
            numbers[call] = Some(number);
        }
        history
    }
}

/// The log of one thread.
#[derive(Debug)]
pub struct Log<O> {
    recorder: Recorder<O>,
    thread: usize,
}

impl<O> Log<O> {
    /// Does `operation` and notes when it began and ended, and what `describe` makes of its result.
    ///
    /// # Panics
    ///
    /// If `operation` does.
    #[track_caller]
    pub fn call<R>(&mut self, operation: impl FnOnce() -> R, describe: impl FnOnce(&R) -> O) -> R {
        let shared = &self.recorder.shared;
        if let Some(clock) = &shared.clock {
            // AcqRel: a chain of these is one order of all readings, and what comes before a reading in its thread
            // comes before what follows a later one.
            let now = || clock.fetch_add(1, Ordering::AcqRel);
            let begin = now();
            let result = operation();
            let end = now();
            // Not under the lock: it is somebody else's code.
            let described = describe(&result);
            shared.with_logs(|logs| logs[self.thread].push((described, begin, end)));
            return result;
        }
        // A call's name is the same in every execution in which its thread did the same.
        let name = (self.thread as u64) << 32 | shared.with_logs(|logs| logs[self.thread].len()) as u64;
        mark(Mark::Begin, name);
        let result = operation();
        let described = describe(&result);
        shared.with_logs(|logs| logs[self.thread].push((described, 0, 0)));
        mark(Mark::End, name);
        result
    }
}
