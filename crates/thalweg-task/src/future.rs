//! Futures in tasks.

use crate::task::TaskRef;
use crate::wait::{self, Reason, Running};
use crate::worker::Worker;
use core::pin::pin;
use core::task::{Context, Poll, Waker};
use std::sync::Arc;
use std::task::Wake;
use thalweg_sync::atomic::AtomicBool;
use thalweg_sync::atomic::Ordering::{Acquire, Release};
use thalweg_sync::park::{Parker, Unparker};

/// Runs a future to its end. In a task, others run while it is pending; a cancelled task ends here and drops the future.
///
/// With [`spawn`](crate::spawn()) this makes a runtime an executor: `spawn(|| block_on(future))`. What is awaited may be anything: handles of
/// tasks, async ends of queues, other crates' futures.
///
/// ```
/// use thalweg_queue::{Park, mpmc};
/// use thalweg_task::{Runtime, block_on, spawn};
///
/// let runtime = Runtime::builder().workers(1).start()?;
/// runtime.run(|| {
///     let (tx, rx) = mpmc::with_wait(4, 16, Park::new()).unwrap();
///     let sum = spawn(move || block_on(async move {
///         let child = spawn(|| 40);
///         child.await.unwrap() + rx.pop_async().await.unwrap()
///     }));
///     tx.push(2).unwrap();
///     assert_eq!(sum.join().unwrap(), 42);
/// });
/// # Ok::<(), thalweg_task::StartError>(())
/// ```
pub fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    match Running::get() {
        Some(task) => {
            let woken = Arc::new(Task { woken: AtomicBool::new(false), task: task.reference() });
            let waker = Waker::from(woken.clone());
            let mut cx = Context::from_waker(&waker);
            loop {
                if let Poll::Ready(value) = future.as_mut().poll(&mut cx) {
                    return value;
                }
                // (future.1) Acquire, pairs with (future.2): what was done before the wake-up is visible to the poll.
                while !woken.woken.swap(false, Acquire) {
                    wait::end_if_cancelled();
                    Worker::with(|worker| worker.park(Reason::Future, None));
                }
            }
        }
        None => {
            let parker = Parker::new();
            let waker = Waker::from(Arc::new(Thread(parker.unparker())));
            let mut cx = Context::from_waker(&waker);
            loop {
                match future.as_mut().poll(&mut cx) {
                    Poll::Ready(value) => return value,
                    Poll::Pending => parker.park(),
                }
            }
        }
    }
}

/// A task that waits for a future. With a flag of its own, as waits within a poll take the task's wake-ups.
struct Task {
    woken: AtomicBool,
    task: TaskRef,
}

impl Wake for Task {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        // (future.2) Release, pairs with (future.1). A swap, so that it carries the edges of several.
        self.woken.swap(true, Release);
        self.task.unpark();
    }
}

/// A thread that waits for a future.
struct Thread(Unparker);

impl Wake for Thread {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.0.unpark();
    }
}
