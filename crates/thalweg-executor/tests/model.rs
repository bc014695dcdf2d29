//! Small clients under the model checker: executions that weak memory allows.

use std::future::{pending, poll_fn};
use std::task::Poll;
use thalweg_check::Check;
use thalweg_executor::{Bwos, Executor, LocalQueue, Ring, block_on, spawn};
use thalweg_queue::oneshot;
use thalweg_sync::atomic::AtomicBool;
use thalweg_sync::atomic::Ordering::Relaxed;
use thalweg_sync::cell::Slot;
use thalweg_sync::sync::Arc;
use thalweg_sync::thread;

/// The smallest queues: every second push finds them full.
type Blocks = Bwos<2, 1>;
type Entries = Ring<2>;

/// Explores so many executions of `client`: of an executor there are thousands, which take minutes without optimisation.
/// `THALWEG_MODEL_EXECUTIONS` says how many instead, 0 for all.
fn check_some(executions: u64, client: impl Fn() + Send + Sync + 'static) {
    let asked = std::env::var("THALWEG_MODEL_EXECUTIONS").ok().map(|text| text.parse().expect("a number"));
    let executions = Some(asked.unwrap_or(executions)).filter(|&executions| executions != 0);
    Check::new().max_executions(executions).check(client);
}

fn executor<Q: LocalQueue>(workers: usize) -> Executor<Q> {
    Executor::builder().workers(workers).queue::<Q>().start().unwrap()
}

/// A worker that may be asleep is woken for a task, and the handle for its end; then the worker stops.
fn a_task_is_run_and_joined<Q: LocalQueue>() {
    check_some(300, || {
        let executor = executor::<Q>(1);
        assert_eq!(block_on(executor.spawn(async { 7 })).unwrap(), 7);
        drop(executor);
    });
}

/// A thread wakes a task at any time: before its poll ends, and when it waits. The poll that follows sees what came before.
fn a_wake_up_is_not_lost<Q: LocalQueue>() {
    check_some(300, || {
        let executor = executor::<Q>(1);
        let (tx, mut rx) = oneshot::channel();
        let (mut tx, flag) = (Some(tx), Arc::new(AtomicBool::new(false)));
        let task = executor.spawn({
            let flag = flag.clone();
            poll_fn(move |context| {
                if let Some(tx) = tx.take() {
                    tx.push(context.waker().clone()).unwrap();
                }
                // Relaxed: the wake-up orders it.
                if flag.load(Relaxed) { Poll::Ready(()) } else { Poll::Pending }
            })
        });
        let waker = rx.pop().unwrap();
        flag.store(true, Relaxed);
        waker.wake();
        block_on(task).unwrap();
        drop(executor);
    });
}

/// Two workers: a task spawns two, and what is not in the next place may be stolen. What they leave is seen by whoever joins them.
fn tasks_are_stolen_and_joined<Q: LocalQueue>() {
    check_some(200, || {
        let executor = executor::<Q>(2);
        let sum = executor.run(async {
            let slots = [1, 2].map(|n| {
                let slot = Arc::new(Slot::new(0));
                let inner = slot.clone();
                // SAFETY: the checker sees who touches it without an edge.
                (slot, spawn(async move { inner.with_mut(|slot| unsafe { *slot = n }) }))
            });
            let mut sum = 0;
            for (slot, task) in slots {
                task.await.unwrap();
                // SAFETY: as above.
                sum += slot.with(|slot| unsafe { *slot });
            }
            sum
        });
        assert_eq!(sum, 3);
        drop(executor);
    });
}

/// A task ends, is aborted, and its handle is dropped, in any order: it has a result or was cancelled, and both the future and the
/// result are dropped once, which the checker sees by the handles of `alive`.
fn an_abort_meets_the_end<Q: LocalQueue>() {
    check_some(300, || {
        let executor = executor::<Q>(1);
        let alive = Arc::new(());
        let held = alive.clone();
        let task = executor.spawn(async move { held });
        task.abort();
        drop(task);
        drop(executor);
        assert!(Arc::into_inner(alive).is_some());
    });
}

/// The executor ends while a thread wakes its task: the future is dropped before the end has come, and the wake-up does no harm.
fn a_wake_up_meets_the_end<Q: LocalQueue>() {
    check_some(300, || {
        let executor = executor::<Q>(1);
        let (tx, mut rx) = oneshot::channel();
        let mut tx = Some(tx);
        let alive = Arc::new(());
        let held = alive.clone();
        let task = executor.spawn(poll_fn(move |context| {
            let _held = &held;
            if let Some(tx) = tx.take() {
                tx.push(context.waker().clone()).unwrap();
            }
            Poll::<()>::Pending
        }));
        let waker = rx.pop().unwrap();
        let other = thread::spawn(move || waker.wake());
        drop(executor);
        assert!(Arc::into_inner(alive).is_some(), "the future is left");
        other.join().unwrap();
        assert!(block_on(task).unwrap_err().is_cancelled());
    });
}

/// Two tasks from outside for two workers, one of which waits for the other: whichever worker takes them, both are run.
fn tasks_from_outside_wait_for_each_other<Q: LocalQueue>() {
    check_some(200, || {
        let executor = executor::<Q>(2);
        let second = executor.spawn(async { 7 });
        let first = executor.spawn(second);
        assert_eq!(block_on(first).unwrap().unwrap(), 7);
        drop(executor.spawn(pending::<()>()));
        drop(executor);
    });
}

macro_rules! with_both {
    ($($test:ident)*) => {
        mod bwos { $(#[test] fn $test() { super::$test::<super::Blocks>() })* }
        mod ring { $(#[test] fn $test() { super::$test::<super::Entries>() })* }
    };
}

with_both! {
    a_task_is_run_and_joined a_wake_up_is_not_lost tasks_are_stolen_and_joined an_abort_meets_the_end a_wake_up_meets_the_end
    tasks_from_outside_wait_for_each_other
}
