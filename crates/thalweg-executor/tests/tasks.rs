//! What an executor promises, on real threads, with both forms of queue.

use std::future::{Future, pending, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any};
use std::pin::Pin;
use std::sync::PoisonError;
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use thalweg_executor::{Bwos, Executor, JoinError, LocalQueue, Ring, block_on, spawn, yield_now};
use thalweg_queue::oneshot;
use thalweg_sync::atomic::Ordering::{Acquire, Relaxed, Release};
use thalweg_sync::atomic::{AtomicBool, AtomicUsize};
use thalweg_sync::sync::{Arc, Mutex};
use thalweg_sync::{spin, thread};

fn executor<Q: LocalQueue>(workers: usize) -> Executor<Q> {
    Executor::builder().workers(workers).queue::<Q>().start().unwrap()
}

fn until(condition: impl Fn() -> bool) {
    spin::until(|| condition().then_some(()));
}

/// Counts how often it was dropped.
#[derive(Clone, Default)]
struct Drops(Arc<AtomicUsize>);

impl Drops {
    fn count(&self) -> usize {
        self.0.load(Acquire)
    }

    fn guard(&self) -> Guard {
        Guard(self.clone())
    }
}

struct Guard(Drops);

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.0.fetch_add(1, Release);
    }
}

/// A place for a waker, and whether it is open.
#[derive(Clone, Default)]
struct Gate(Arc<(AtomicBool, Mutex<Option<Waker>>)>);

impl Gate {
    async fn passed(&self) {
        poll_fn(|context| {
            *self.0.1.lock().unwrap_or_else(PoisonError::into_inner) = Some(context.waker().clone());
            if self.0.0.load(Acquire) { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
    }

    fn waker(&self) -> Option<Waker> {
        self.0.1.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The task has been polled, and waits or is about to.
    fn is_awaited(&self) -> bool {
        self.waker().is_some()
    }

    fn open(&self) {
        self.0.0.store(true, Release);
        if let Some(waker) = self.waker() {
            waker.wake();
        }
    }
}

fn spawns_from_outside_and_inside<Q: LocalQueue>() {
    let executor = executor::<Q>(2);
    let outside: Vec<_> = (0..100_u64)
        .map(|n| {
            executor.spawn(async move { spawn(async move { spawn(async move { n }).await.unwrap() }).await.unwrap() })
        })
        .collect();
    assert_eq!(outside.into_iter().map(|task| block_on(task).unwrap()).sum::<u64>(), 4950);
}

fn spawns_from_destructors<Q: LocalQueue>() {
    struct Spawns(Option<oneshot::Sender<u32>>);
    impl Drop for Spawns {
        fn drop(&mut self) {
            let tx = self.0.take().unwrap();
            drop(spawn(async move { tx.push(7).unwrap() }));
        }
    }
    let executor = executor::<Q>(1);
    let (tx, mut rx) = oneshot::channel();
    let spawns = Spawns(Some(tx));
    let gate = Gate::default();
    let task = executor.spawn({
        let gate = gate.clone();
        async move {
            let _spawns = spawns;
            gate.passed().await;
        }
    });
    until(|| gate.is_awaited());
    task.abort(); // the destructor runs on a worker, so it may spawn
    assert_eq!(rx.pop().unwrap(), 7);
    assert!(block_on(task).unwrap_err().is_cancelled());
}

/// Before the first poll, during a poll, between two polls, after the end.
fn wakes_at_any_time<Q: LocalQueue>() {
    let executor = executor::<Q>(1);
    let gate = Gate::default();
    let polls = Drops::default();
    let task = executor.spawn({
        let (gate, polls) = (gate.clone(), polls.clone());
        async move {
            let mut turn = 0;
            poll_fn(move |context| {
                drop(polls.guard());
                turn += 1;
                match turn {
                    // While it is polled: it is polled again.
                    1 => {
                        context.waker().wake_by_ref();
                        context.waker().wake_by_ref();
                        Poll::Pending
                    }
                    _ => Poll::Ready(()),
                }
            })
            .await;
            gate.passed().await;
        }
    });
    until(|| gate.is_awaited());
    assert_eq!(polls.count(), 2, "two wake-ups during one poll are one more poll");
    gate.open();
    block_on(task).unwrap();
    let waker = gate.waker().unwrap();
    waker.wake_by_ref(); // after the end
    drop(executor);
    waker.wake(); // after the executor's
}

fn many_threads_wake<Q: LocalQueue>() {
    const THREADS: usize = 4;
    const WAKES: usize = 500;
    let executor = executor::<Q>(2);
    let gate = Gate::default();
    let count = Arc::new(AtomicUsize::new(0));
    let task = executor.spawn({
        let (gate, count) = (gate.clone(), count.clone());
        poll_fn(move |context| {
            *gate.0.1.lock().unwrap() = Some(context.waker().clone());
            if count.load(Relaxed) == THREADS * WAKES { Poll::Ready(()) } else { Poll::Pending }
        })
    });
    until(|| gate.is_awaited());
    let threads: Vec<_> = (0..THREADS)
        .map(|_| {
            let (waker, count) = (gate.waker().unwrap(), count.clone());
            thread::spawn(move || {
                for _ in 0..WAKES {
                    count.fetch_add(1, Relaxed); // visible to the poll that follows
                    waker.wake_by_ref();
                }
            })
        })
        .collect();
    block_on(task).unwrap(); // hangs if a wake-up is lost
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

/// One worker: a task that wakes itself starves neither the local queue nor the shared one; nor do two that wake each other.
fn nobody_starves<Q: LocalQueue>() {
    let executor = executor::<Q>(1);
    let stop = Arc::new(AtomicBool::new(false));
    let spinner = |stop: Arc<AtomicBool>| async move {
        while !stop.load(Relaxed) {
            yield_now().await;
        }
    };
    // By yielding.
    let task = executor.spawn(spinner(stop.clone()));
    let inside = executor.spawn({
        let stop = stop.clone();
        async move { spawn(async move { stop.store(true, Relaxed) }).await.unwrap() }
    });
    block_on(inside).unwrap();
    block_on(task).unwrap();
    // By the next place: the one wakes the other, which wakes the one.
    let stop = Arc::new(AtomicBool::new(false));
    let gates = [Gate::default(), Gate::default()];
    let players: Vec<_> = [0, 1]
        .map(|me| {
            let (own, other, stop) = (gates[me].clone(), gates[1 - me].clone(), stop.clone());
            executor.spawn(poll_fn(move |context| {
                *own.0.1.lock().unwrap() = Some(context.waker().clone());
                if let Some(waker) = other.waker() {
                    waker.wake();
                }
                if stop.load(Relaxed) { Poll::Ready(()) } else { Poll::Pending }
            }))
        })
        .into();
    until(|| gates.iter().all(Gate::is_awaited));
    let inside = executor.spawn({
        let stop = stop.clone();
        async move {
            // In the local queue, behind the next place.
            let tasks = [spawn(async {}), spawn(async move { stop.store(true, Relaxed) }), spawn(async {})];
            for task in tasks {
                task.await.unwrap();
            }
        }
    });
    block_on(inside).unwrap();
    players.into_iter().for_each(|player| block_on(player).unwrap());
}

fn panics_come_back<Q: LocalQueue>() {
    struct Panics;
    impl Drop for Panics {
        fn drop(&mut self) {
            if !std::thread::panicking() {
                panic!("in a destructor");
            }
        }
    }
    struct Ends(Panics);
    impl Future for Ends {
        type Output = ();
        fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
            let _keeps = &self.0;
            Poll::Ready(())
        }
    }
    let executor = executor::<Q>(1);
    let failed = block_on(executor.spawn(async { panic!("at {}", 7) })).unwrap_err();
    assert_eq!(failed.to_string(), "the task panicked: at 7");
    let failed = block_on(executor.spawn(async { panic_any(7_u32) })).unwrap_err();
    assert_eq!(failed.into_panic().unwrap().downcast_ref(), Some(&7_u32));
    let failed = block_on(executor.spawn(Ends(Panics))).unwrap_err();
    assert_eq!(failed.to_string(), "the task panicked: in a destructor");
    let gate = Gate::default();
    let task = executor.spawn({
        let gate = gate.clone();
        async move {
            let _panics = Panics;
            gate.passed().await;
        }
    });
    until(|| gate.is_awaited());
    task.abort();
    assert_eq!(block_on(task).unwrap_err().to_string(), "the task panicked: in a destructor");
    drop(executor.spawn(async { panic!("nobody asks") }));
    drop(executor.spawn(async { Panics })); // the result's destructor, as nobody takes it
    assert!(catch_unwind(AssertUnwindSafe(|| executor.run(async { panic!("run") }))).is_err());
    assert_eq!(executor.run(async { 7 }), 7, "the worker lives");
}

fn aborts_at_each_state<Q: LocalQueue>() {
    let executor = executor::<Q>(1);
    let drops = Drops::default();
    // Scheduled, not yet polled: the worker is busy.
    let (busy, go) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    let blocker = executor.spawn({
        let (busy, go) = (busy.clone(), go.clone());
        async move {
            busy.store(true, Relaxed);
            until(|| go.load(Relaxed));
        }
    });
    until(|| busy.load(Relaxed));
    let guard = drops.guard();
    let polled = Arc::new(AtomicBool::new(false));
    let task = executor.spawn({
        let polled = polled.clone();
        async move {
            let _guard = guard;
            polled.store(true, Relaxed);
        }
    });
    task.abort();
    go.store(true, Relaxed);
    assert!(block_on(task).unwrap_err().is_cancelled());
    assert_eq!((drops.count(), polled.load(Relaxed)), (1, false));
    block_on(blocker).unwrap();
    // Idle.
    let (guard, gate) = (drops.guard(), Gate::default());
    let task = executor.spawn({
        let gate = gate.clone();
        async move {
            let _guard = guard;
            gate.passed().await;
        }
    });
    until(|| gate.is_awaited());
    task.abort();
    assert!(block_on(task).unwrap_err().is_cancelled());
    assert_eq!(drops.count(), 2);
    gate.open(); // harms nobody
    // Running, and it goes on to wait.
    let (guard, busy, go) = (drops.guard(), Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    let task = executor.spawn({
        let (busy, go) = (busy.clone(), go.clone());
        async move {
            let _guard = guard;
            busy.store(true, Relaxed);
            until(|| go.load(Relaxed));
            pending::<()>().await;
        }
    });
    until(|| busy.load(Relaxed));
    task.abort();
    go.store(true, Relaxed);
    assert!(block_on(task).unwrap_err().is_cancelled());
    assert_eq!(drops.count(), 3);
    // Done.
    let task = executor.spawn(async { 7 });
    until(|| task.is_finished());
    task.abort();
    assert_eq!(block_on(task).unwrap(), 7);
}

fn results_go_to_the_handle_or_are_dropped<Q: LocalQueue>() {
    let executor = executor::<Q>(1);
    let drops = Drops::default();
    let spawn_one = || {
        let guard = drops.guard();
        executor.spawn(async move { guard })
    };
    // Joined after the end.
    let task = spawn_one();
    until(|| task.is_finished());
    let guard = block_on(task).unwrap();
    assert_eq!(drops.count(), 0);
    drop(guard);
    // Dropped after the end.
    let task = spawn_one();
    until(|| task.is_finished());
    drop(task);
    assert_eq!(drops.count(), 2);
    // Dropped before: the worker is busy.
    let (busy, go) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    let blocker = executor.spawn({
        let (busy, go) = (busy.clone(), go.clone());
        async move {
            busy.store(true, Relaxed);
            until(|| go.load(Relaxed));
        }
    });
    until(|| busy.load(Relaxed));
    drop(spawn_one());
    assert_eq!(drops.count(), 2);
    go.store(true, Relaxed);
    block_on(blocker).unwrap();
    until(|| drops.count() == 3);
    // Dropped before the end, after it was polled once. A waker that lives on does not keep the result.
    let guard = drops.guard();
    let gate = Gate::default();
    let mut task = executor.spawn({
        let gate = gate.clone();
        async move {
            gate.passed().await;
            guard
        }
    });
    let is_pending = block_on(poll_fn(|context| Poll::Ready(Pin::new(&mut task).poll(context).is_pending())));
    assert!(is_pending);
    drop(task);
    gate.open();
    until(|| drops.count() == 4);
    assert!(gate.is_awaited(), "the waker lives");
}

fn a_million<Q: LocalQueue>() {
    const TASKS: usize = 1_000_000;
    let executor = executor::<Q>(2);
    let drops = Drops::default();
    let all = drops.clone();
    executor.run(async move {
        for _ in 0..TASKS / 1000 {
            let guards: Vec<_> = (0..1000).map(|_| all.guard()).collect();
            guards.into_iter().for_each(|guard| drop(spawn(async move { drop(guard) })));
            yield_now().await;
        }
    });
    until(|| drops.count() == TASKS);
    assert_eq!(executor.counts().polls, (TASKS + TASKS / 1000 + 1) as u64);
}

fn the_end_drops_what_is_left<Q: LocalQueue>() {
    for _ in 0..20 {
        let executor = executor::<Q>(2);
        let drops = Drops::default();
        let gate = Gate::default();
        let mut tasks = Vec::new();
        for n in 0..100 {
            let (guard, gate, drops) = (drops.guard(), gate.clone(), drops.clone());
            tasks.push(executor.spawn(async move {
                let _guard = guard;
                let inner = drops.guard();
                drop(spawn(async move {
                    let _inner = inner;
                    pending::<()>().await
                }));
                match n % 3 {
                    0 => gate.passed().await,
                    1 => pending().await,
                    _ => loop {
                        yield_now().await;
                    },
                }
            }));
        }
        let waker = gate.waker();
        let total = Arc::as_ptr(&drops.0);
        drop(executor);
        assert!(drops.count() >= 100, "{} of {total:?}", drops.count());
        assert_eq!(Arc::strong_count(&drops.0), 1, "a future is left");
        waker.into_iter().for_each(Waker::wake);
        for task in tasks {
            assert!(matches!(block_on(task), Err(JoinError::Cancelled)));
        }
    }
}

/// Threads are named, so that those of other tests do not count.
fn no_thread_is_left<Q: LocalQueue>(name: &str) {
    let executor = Executor::builder().workers(3).name(name).queue::<Q>().start().unwrap();
    executor.run(async {});
    drop(executor.spawn(pending::<()>()));
    drop(executor);
    if let Ok(threads) = std::fs::read_dir("/proc/self/task") {
        let names = threads.filter_map(|thread| std::fs::read_to_string(thread.ok()?.path().join("comm")).ok());
        assert_eq!(names.filter(|of| of.starts_with(name)).count(), 0);
    }
}

fn a_task_drops_its_own_executor<Q: LocalQueue>() {
    let drops = Drops::default();
    let (tx, mut rx) = oneshot::channel();
    let executor = Arc::new(executor::<Q>(2));
    let task = executor.spawn({
        let (executor, guard) = (executor.clone(), drops.guard());
        async move {
            let _guard = guard;
            rx.pop().unwrap();
            drop(executor); // the last handle
            pending::<()>().await;
        }
    });
    drop(executor);
    tx.push(()).unwrap();
    assert!(block_on(task).unwrap_err().is_cancelled());
    assert_eq!(drops.count(), 1);
}

fn a_storm_of_yields<Q: LocalQueue>() {
    let executor = executor::<Q>(4);
    let tasks: Vec<_> = (0..100)
        .map(|_| {
            executor.spawn(async {
                for _ in 0..200 {
                    yield_now().await;
                }
            })
        })
        .collect();
    tasks.into_iter().for_each(|task| block_on(task).unwrap());
    assert_eq!(executor.counts().polls, 100 * 201);
}

/// A thread that blocks for a task, as those do to which blocking calls are handed.
fn threads_block_on_tasks_of_tasks<Q: LocalQueue>() {
    let executor = Arc::new(executor::<Q>(1));
    let inner = executor.clone();
    let seven = executor.run(async move {
        let (tx, mut rx) = oneshot::channel();
        let thread = thread::spawn(move || {
            let nested = block_on(async { block_on(async { inner.spawn(async { 7 }).await.unwrap() }) });
            tx.push(nested).unwrap();
        });
        let seven = rx.pop_async().await.unwrap();
        thread.join().unwrap();
        seven
    });
    assert_eq!(seven, 7);
    let failed = block_on(executor.spawn(async { block_on(async {}) })).unwrap_err();
    assert!(failed.to_string().contains("await the future instead"), "{failed}");
}

/// What a task has spawned before it blocks its worker is run by others, but for the last one, in the next place, and two blocks at most.
fn others_take_what_a_busy_worker_has<Q: LocalQueue>() {
    let executor = executor::<Q>(2);
    let drops = Drops::default();
    let all = drops.clone();
    executor.run(async move {
        (0..1000).for_each(|_| {
            let guard = all.guard();
            drop(spawn(async move { drop(guard) }));
        });
        until(|| all.count() >= 1000 - 1 - 2 * 32);
    });
    assert!(executor.counts().stolen > 0);
}

/// Nobody wakes a worker that has nothing to do.
fn the_idle_sleep<Q: LocalQueue>() {
    let executor = executor::<Q>(3);
    until(|| executor.counts().sleeps >= 3);
    thread::sleep(Duration::from_millis(30));
    assert_eq!(executor.counts().sleeps, 3);
}

macro_rules! with_both {
    ($($test:ident)*; $($large:ident)*) => {
        mod bwos {
            $(#[test] fn $test() { super::$test::<super::Bwos>() })*
            $(#[test] fn $large() { super::$large::<super::Bwos>() })*
            #[test] fn no_thread_is_left() { super::no_thread_is_left::<super::Bwos>("blocks") }
        }
        mod ring {
            $(#[test] fn $test() { super::$test::<super::Ring>() })*
            $(#[test] fn $large() { super::$large::<super::Ring>() })*
            #[test] fn no_thread_is_left() { super::no_thread_is_left::<super::Ring>("rings") }
        }
        /// Queues that are full all the time.
        mod small {
            mod bwos { $(#[test] fn $test() { super::super::$test::<super::super::Bwos<2, 1>>() })* }
            mod ring { $(#[test] fn $test() { super::super::$test::<super::super::Ring<2>>() })* }
        }
    };
}

with_both! {
    spawns_from_outside_and_inside spawns_from_destructors wakes_at_any_time many_threads_wake nobody_starves panics_come_back aborts_at_each_state
    results_go_to_the_handle_or_are_dropped the_end_drops_what_is_left a_task_drops_its_own_executor a_storm_of_yields threads_block_on_tasks_of_tasks
    the_idle_sleep;
    a_million others_take_what_a_busy_worker_has
}

#[test]
fn settings_are_checked() {
    let refused = Executor::builder().workers(0).start().unwrap_err();
    assert_eq!(refused.to_string(), "an executor has 1 to 4096 workers, not 0");
    let outside = catch_unwind(|| drop(spawn(async {})));
    assert!(outside.is_err(), "spawn outside of a task panics");
}
