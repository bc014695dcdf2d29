//! What the workers of an executor share.

use crate::idle::Idle;
use crate::registry::Registry;
use crate::task::TaskRef;
use crate::worker::Context;
use crate::{Counts, JoinHandle};
use core::future::Future;
use thalweg_queue::unbounded::mpmc;
use thalweg_sync::CachePadded;
use thalweg_sync::atomic::Ordering::Relaxed;
use thalweg_sync::atomic::{AtomicBool, AtomicU64};
use thalweg_sync::fence;
use thalweg_sync::sync::Arc;

pub(crate) struct Shared {
    to_all: mpmc::Sender<TaskRef>,
    for_all: mpmc::Receiver<TaskRef>,
    pub(crate) registry: Registry,
    pub(crate) idle: Idle,
    ends: AtomicBool,
    pub(crate) tallies: Box<[CachePadded<Tally>]>,
}

impl Shared {
    pub(crate) fn new(workers: usize) -> Self {
        let (to_all, for_all) = mpmc::channel();
        Self {
            to_all,
            for_all,
            registry: Registry::new(workers + 1),
            idle: Idle::new(workers),
            ends: AtomicBool::new(false),
            tallies: (0..workers).map(|_| CachePadded::default()).collect(),
        }
    }

    pub(crate) fn spawn<F>(this: &Arc<Self>, future: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        let shard = Context::of(this, |context| context.index).unwrap_or(this.tallies.len());
        let (task, take) = TaskRef::new(this.clone(), shard, future);
        let handle = JoinHandle::new(task.clone(), take);
        if this.registry.insert(&task) {
            Self::schedule(task);
        } else {
            // The executor is at its end (E1).
            task.cancel_now();
        }
        handle
    }

    /// Puts a task in a queue: one that can run, and is in none (T2).
    pub(crate) fn schedule(task: TaskRef) {
        let shared = Arc::as_ptr(task.shared());
        let mut task = Some(task);
        Context::at(shared, |context| context.push(task.take().expect("it is pushed once")));
        if let Some(task) = task {
            // A reference of our own: once the task is in the queue, it can end, and its executor with it.
            let shared = task.shared().clone();
            shared.inject(task);
        }
    }

    /// Puts a task in the queue of all.
    pub(crate) fn inject(&self, task: TaskRef) {
        self.to_all.try_push(task).expect("the queue's other end is here too, so it is open");
        self.idle.notify();
        // (end.1) The fence in `notify`, or the drop's; pairs with (end.2): the task is seen by the drop, or the end is seen here (E3).
        if self.ends() {
            self.empty();
        }
    }

    /// A task from the queue of all.
    pub(crate) fn take(&self) -> Option<TaskRef> {
        // A look is cheaper than the lock. If a push is half-way, it tells of itself when it is done.
        if self.for_all.is_empty() { None } else { self.for_all.try_pop().ok() }
    }

    /// How many tasks are in the queue of all, now or lately.
    pub(crate) fn waiting(&self) -> usize {
        self.for_all.len()
    }

    /// Whether the executor is at its end.
    #[inline]
    pub(crate) fn ends(&self) -> bool {
        // Relaxed: a look. What depends on it is ordered by fences.
        self.ends.load(Relaxed)
    }

    /// Cancels all tasks, and tells the workers to end (E1).
    pub(crate) fn end(&self) {
        self.ends.store(true, Relaxed);
        self.registry.close().for_each(|task| task.cancel_now());
        // (end.2) A fence, pairs with (end.1), and with (idle.2).
        self.idle.wake_all();
    }

    /// Empties the queue of all. The executor is at its end.
    pub(crate) fn empty(&self) {
        fence::heavy();
        while let Some(task) = self.take() {
            task.cancel_now();
        }
    }
}

/// What a worker counts. Written by it alone.
#[derive(Default)]
pub(crate) struct Tally {
    polls: AtomicU64,
    stolen: AtomicU64,
    steals: AtomicU64,
    sleeps: AtomicU64,
}

fn add(count: &AtomicU64, number: u64) {
    // Relaxed, and no read-modify-write: one thread writes.
    count.store(count.load(Relaxed) + number, Relaxed);
}

impl Tally {
    pub(crate) fn polled(&self) {
        add(&self.polls, 1);
    }

    pub(crate) fn stole(&self, tasks: usize) {
        add(&self.steals, 1);
        add(&self.stolen, tasks as u64);
    }

    pub(crate) fn slept(&self) {
        add(&self.sleeps, 1);
    }

    /// Adds what was counted to `counts`.
    pub(crate) fn add_to(&self, counts: &mut Counts) {
        counts.polls += self.polls.load(Relaxed);
        counts.stolen += self.stolen.load(Relaxed);
        counts.steals += self.steals.load(Relaxed);
        counts.sleeps += self.sleeps.load(Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::future::pending;
    use thalweg_check::Check;
    use thalweg_sync::thread;

    /// A task is woken while the executor ends: whoever comes second empties the queue, and nothing keeps itself alive. All executions.
    #[test]
    fn a_late_push_is_taken_back() {
        Check::new().check(|| {
            let shared = Arc::new(Shared::new(1));
            let weak = Arc::downgrade(&shared);
            let (task, _) = TaskRef::new(shared.clone(), 0, pending::<()>());
            assert!(shared.registry.insert(&task));
            assert!(task.clone().run().is_none());
            let other = thread::spawn(move || {
                // As a wake-up does that has set `SCHEDULED`.
                Shared::schedule(task);
            });
            shared.end();
            shared.empty();
            drop(shared);
            other.join().unwrap();
            assert!(weak.upgrade().is_none());
        });
    }
}
