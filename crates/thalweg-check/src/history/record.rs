//! Recording operations while they run.

use super::History;
use std::sync::{Arc, Mutex, PoisonError};
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
    clock: AtomicU64,
    /// The operations of each log, with their beginning and end.
    // Not a lock of the facade: what is noted here is no event.
    logs: Mutex<Vec<Vec<(O, u64, u64)>>>,
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
        Self { shared: Arc::new(Shared { clock: AtomicU64::new(0), logs: Mutex::new(Vec::new()) }) }
    }

    /// The log of one thread. Each thread has a number of its own; asked for again, the log is empty.
    pub fn log(&self, thread: usize) -> Log<O> {
        let mut logs = self.shared.logs.lock().unwrap_or_else(PoisonError::into_inner);
        if logs.len() <= thread {
            logs.resize_with(thread + 1, Vec::new);
        }
        logs[thread].clear();
        Log { recorder: self.clone(), thread }
    }
}

impl<O: Clone> Recorder<O> {
    /// What was recorded. Only when all calls have ended: one that is under way is not in it.
    pub fn history(&self) -> History<O> {
        let logs = self.shared.logs.lock().unwrap_or_else(PoisonError::into_inner);
        History::from_intervals(logs.iter().enumerate().flat_map(|(thread, log)| {
            log.iter().map(move |(operation, begin, end)| (thread, operation.clone(), *begin, *end))
        }))
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
    pub fn call<R>(&mut self, operation: impl FnOnce() -> R, describe: impl FnOnce(&R) -> O) -> R {
        let begin = self.now();
        let result = operation();
        let end = self.now();
        let mut logs = self.recorder.shared.logs.lock().unwrap_or_else(PoisonError::into_inner);
        logs[self.thread].push((describe(&result), begin, end));
        result
    }

    fn now(&self) -> u64 {
        // AcqRel: a chain of these is one order of all readings, and what comes before a reading in its thread comes
        // before what follows a later one.
        self.recorder.shared.clock.fetch_add(1, Ordering::AcqRel)
    }
}
