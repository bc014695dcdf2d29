//! Tasks on real threads.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;
use thalweg_sync::atomic::AtomicUsize;
use thalweg_sync::atomic::Ordering::Relaxed;
use thalweg_sync::sync::Arc;
use thalweg_task::{
    Condvar, JoinHandle, Mutex, Options, Reason, Runtime, Semaphore, StartError, channel, current, fork, is_cancelled,
    scope, sleep, spawn, spawn_now, yield_now,
};

fn runtime(workers: usize) -> Runtime {
    Runtime::builder().workers(workers).start().unwrap()
}

#[test]
fn results_and_panics_come_back() {
    let runtime = runtime(2);
    assert_eq!(runtime.spawn(|| "a".to_owned() + "b").join().unwrap(), "ab");
    let number = std::hint::black_box(7);
    let error = runtime.spawn(move || panic!("number {number}")).join().unwrap_err();
    assert!(error.to_string().ends_with("panicked: number 7"), "{error}");
    assert_eq!(*error.into_panic().unwrap().downcast::<String>().unwrap(), "number 7");
    let panic = catch_unwind(AssertUnwindSafe(|| runtime.run(|| panic!("straight through")))).unwrap_err();
    assert_eq!(*panic.downcast::<&str>().unwrap(), "straight through");
    // From a task too.
    let inner = runtime.run(|| spawn(|| panic!("inner")).join());
    assert!(inner.unwrap_err().to_string().ends_with("panicked: inner"));
}

#[test]
fn many_tasks_on_many_workers_all_run_once() {
    let runtime = runtime(4);
    let runs: Arc<Vec<AtomicUsize>> = Arc::new((0..20_000).map(|_| AtomicUsize::new(0)).collect());
    let handles: Vec<_> = runtime.run(|| {
        (0..runs.len())
            .map(|task| {
                let runs = runs.clone();
                spawn(move || {
                    if task % 3 == 0 {
                        yield_now();
                    }
                    runs[task].fetch_add(1, Relaxed)
                })
            })
            .collect()
    });
    assert!(handles.into_iter().all(|handle| handle.join().unwrap() == 0));
    assert!(runs.iter().all(|runs| runs.load(Relaxed) == 1));
    runtime.finish();
}

#[test]
fn finish_waits_for_all_and_drop_cancels() {
    let ran = Arc::new(AtomicUsize::new(0));
    let runtime = runtime(2);
    for _ in 0..100 {
        let ran = ran.clone();
        drop(runtime.spawn(move || {
            let again = ran.clone();
            drop(spawn(move || {
                yield_now();
                again.fetch_add(1, Relaxed)
            }));
            ran.fetch_add(1, Relaxed)
        }));
    }
    runtime.finish();
    assert_eq!(ran.load(Relaxed), 200);

    struct Count(Arc<AtomicUsize>);
    impl Drop for Count {
        fn drop(&mut self) {
            self.0.fetch_add(1, Relaxed);
        }
    }
    let dropped = Arc::new(AtomicUsize::new(0));
    let runtime = Runtime::builder().workers(1).start().unwrap();
    let tasks: Vec<JoinHandle<()>> = (0..10)
        .map(|_| {
            let count = Count(dropped.clone());
            runtime.spawn(move || {
                let _count = count;
                sleep(Duration::from_secs(3600));
            })
        })
        .collect();
    drop(runtime);
    assert_eq!(dropped.load(Relaxed), 10, "each was unwound, or never begun");
    assert!(tasks.into_iter().all(|task| task.join().unwrap_err().is_cancelled()));
}

#[test]
fn a_child_that_is_spawned_now_runs_before_its_parent() {
    runtime(1).run(|| {
        let order = Arc::new(Mutex::new(Vec::new()));
        let note = |what| order.lock().push(what);
        note("before");
        let child = spawn_now({
            let order = order.clone();
            move || {
                order.lock().push("child");
                yield_now();
                order.lock().push("child again");
            }
        });
        note("parent");
        child.join().unwrap();
        assert_eq!(*order.lock(), ["before", "child", "parent", "child again"]);
    });
}

#[test]
fn the_newest_child_runs_when_its_parent_joins_it() {
    runtime(1).run(|| {
        let order = Arc::new(Mutex::new(Vec::new()));
        let children: Vec<_> = (0..3)
            .map(|child| {
                let order = order.clone();
                spawn(move || order.lock().push(child))
            })
            .collect();
        children.into_iter().rev().for_each(|child| child.join().unwrap());
        assert_eq!(*order.lock(), [2, 1, 0]);
    });
}

#[test]
fn scoped_tasks_borrow_and_nest() {
    fn sum(numbers: &[u64]) -> u64 {
        if numbers.len() <= 8 {
            return numbers.iter().sum();
        }
        let (left, right) = numbers.split_at(numbers.len() / 2);
        scope(|scope| {
            let left = scope.spawn(|| sum(left));
            sum(right) + left.join().unwrap()
        })
    }
    let numbers: Vec<u64> = (0..10_000).collect();
    assert_eq!(runtime(3).run(|| sum(&numbers)), 49_995_000);
}

#[test]
fn forks_run_both_halves_and_bring_panics_back() {
    fn sum(numbers: &[u64]) -> u64 {
        match numbers {
            [] => 0,
            [one] => *one,
            _ => {
                let (left, right) = numbers.split_at(numbers.len() / 2);
                let (left, right) = fork(|| sum(left), || sum(right));
                left + right
            }
        }
    }
    let numbers: Vec<u64> = (0..100_000).collect();
    for workers in [1, 4] {
        assert_eq!(runtime(workers).run(|| sum(&numbers)), 4_999_950_000);
    }
    assert_eq!(sum(&numbers[..10]), 45, "outside of tasks too");
    let runtime = runtime(2);
    for (first, second) in [(true, false), (false, true), (true, true)] {
        let ran = AtomicUsize::new(0);
        let half = |panics: bool, what: &'static str| {
            ran.fetch_add(1, Relaxed);
            yield_now();
            if panics {
                std::panic::panic_any(what);
            }
        };
        let panic = catch_unwind(AssertUnwindSafe(|| {
            runtime.run(|| fork(|| half(first, "first"), || half(second, "second")));
        }));
        let said = *panic.unwrap_err().downcast::<&str>().unwrap();
        assert_eq!(said, if first { "first" } else { "second" });
        assert!((1..=2).contains(&ran.load(Relaxed)));
    }
    // The second half begins elsewhere while the first waits; and below what the first has started and left.
    runtime.run(|| {
        let (go, wait) = channel(1).unwrap();
        fork(|| wait.recv().unwrap(), || go.send(()).unwrap());
        let (left, ()) = fork(|| (0..3).map(|n| spawn(move || n)).collect::<Vec<_>>(), || ());
        assert_eq!(left.into_iter().map(|task| task.join().unwrap()).sum::<i32>(), 3);
    });
}

#[test]
fn a_scope_waits_also_when_its_body_panics_and_says_if_a_task_did() {
    let runtime = runtime(2);
    let done = AtomicUsize::new(0);
    let panic = catch_unwind(AssertUnwindSafe(|| {
        runtime.run(|| {
            scope(|scope| {
                scope.spawn(|| {
                    sleep(Duration::from_millis(5));
                    done.fetch_add(1, Relaxed);
                });
                panic!("body");
            })
        })
    }));
    assert_eq!(*panic.unwrap_err().downcast::<&str>().unwrap(), "body");
    assert_eq!(done.load(Relaxed), 1);
    let panic = catch_unwind(AssertUnwindSafe(|| runtime.run(|| scope(|scope| drop(scope.spawn(|| panic!("task")))))));
    assert_eq!(*panic.unwrap_err().downcast::<&str>().unwrap(), "a scoped task panicked");
    // One that was joined has been seen.
    runtime.run(|| scope(|scope| assert!(scope.spawn(|| panic!("task")).join().is_err())));
}

#[test]
fn cancelled_tasks_unwind_where_they_wait() {
    let runtime = runtime(1);
    runtime.run(|| {
        let mutex = Arc::new(Mutex::new(0));
        let semaphore = Arc::new(Semaphore::new(0));
        let condvar = Arc::new(Condvar::new());
        let held = mutex.lock();
        let (m, s, c, o) = (mutex.clone(), semaphore.clone(), condvar.clone(), Arc::new(Mutex::new(())));
        let other = o.clone();
        let never = spawn(move || sleep(Duration::from_secs(3600)));
        let waits = [
            spawn(move || drop(m.lock())),
            spawn(move || drop(s.acquire())),
            spawn(move || drop(c.wait(o.lock()))),
            spawn(|| sleep(Duration::from_secs(3600))),
            spawn(move || never.join().unwrap()),
        ];
        yield_now();
        waits.iter().for_each(JoinHandle::cancel);
        assert!(waits.into_iter().all(|task| task.join().unwrap_err().is_cancelled()));
        drop(held);
        // Nothing was left behind.
        drop(other.lock());
        drop(mutex.lock());
        semaphore.release(1);
        drop(semaphore.acquire());
        assert_eq!(semaphore.permits(), 1);

        let begun = Arc::new(AtomicUsize::new(0));
        let seen = begun.clone();
        let unbegun = spawn(move || seen.fetch_add(1, Relaxed));
        unbegun.cancel();
        assert!(unbegun.join().unwrap_err().is_cancelled());
        assert_eq!(begun.load(Relaxed), 0);

        let busy = spawn(|| {
            while !is_cancelled() {
                yield_now_without_end();
            }
            "saw it"
        });
        yield_now();
        busy.cancel();
        assert_eq!(busy.join().unwrap(), "saw it");
    });
}

/// Lets others run, and is no place to end.
fn yield_now_without_end() {
    thalweg_sync::thread::yield_now();
}

#[test]
fn sleepers_wake_in_the_order_of_their_times() {
    runtime(1).run(|| {
        let order = Mutex::new(Vec::new());
        scope(|scope| {
            for time in [30, 10, 20] {
                let order = &order;
                scope.spawn(move || {
                    sleep(Duration::from_millis(time));
                    order.lock().push(time);
                });
            }
        });
        assert_eq!(order.into_inner(), [10, 20, 30]);
    });
}

#[test]
fn waits_give_up_in_time() {
    runtime(1).run(|| {
        let short = Duration::from_millis(2);
        let (mutex, semaphore, condvar) = (Mutex::new(()), Semaphore::new(0), Condvar::new());
        scope(|scope| {
            let guard = mutex.lock();
            let tries =
                scope.spawn(|| mutex.lock_timeout(short).is_none() && semaphore.acquire_timeout(short).is_none());
            assert!(tries.join().unwrap());
            let (guard, told) = condvar.wait_timeout(guard, short);
            assert!(!told);
            drop(guard);
        });
        assert!(mutex.lock_timeout(short).is_some());
    });
}

#[test]
fn a_signal_hands_the_lock_over_and_back() {
    runtime(1).run(|| {
        let (monitor, changed, order) = (Mutex::new(0), Condvar::new(), Mutex::new(Vec::new()));
        scope(|scope| {
            scope.spawn(|| {
                let guard = changed.wait(monitor.lock());
                order.lock().push(("waiter", *guard));
            });
            yield_now();
            let mut guard = monitor.lock();
            // Somebody who wants the lock comes behind both.
            scope.spawn(|| {
                let guard = monitor.lock();
                order.lock().push(("third", *guard));
            });
            yield_now();
            *guard = 1;
            let mut guard = changed.signal(guard);
            order.lock().push(("signaller", *guard));
            *guard = 2;
        });
        assert_eq!(order.into_inner(), [("waiter", 1), ("signaller", 1), ("third", 2)]);
    });
}

#[test]
fn a_signal_with_another_lock_is_refused() {
    let error = runtime(1)
        .spawn(|| {
            let (first, second, changed) = (Mutex::new(()), Mutex::new(()), Condvar::new());
            scope(|scope| {
                let waits = scope.spawn(|| drop(changed.wait(first.lock())));
                yield_now();
                let refused = catch_unwind(AssertUnwindSafe(|| drop(changed.signal(second.lock())))).is_err();
                changed.notify_one();
                waits.join().unwrap();
                refused
            })
        })
        .join();
    assert!(error.unwrap());
}

#[test]
fn tasks_and_threads_share_locks() {
    let runtime = runtime(2);
    let (turn, changed) = (Arc::new(Mutex::new(0)), Arc::new(Condvar::new()));
    let task = runtime.spawn({
        let (turn, changed) = (turn.clone(), changed.clone());
        move || {
            for round in 0..1000 {
                let mut turn = changed.wait_while(turn.lock(), |turn| *turn != 2 * round);
                *turn += 1;
                changed.notify_all();
            }
        }
    });
    for round in 0..1000 {
        let mut turn = changed.wait_while(turn.lock(), |turn| *turn != 2 * round + 1);
        *turn += 1;
        changed.notify_all();
    }
    task.join().unwrap();
    assert_eq!(*turn.lock(), 2000);
}

#[test]
fn a_task_stays_on_the_worker_that_began_it() {
    let runtime = runtime(4);
    let tasks: Vec<_> = (0..200)
        .map(|_| {
            runtime.spawn(|| {
                let here = current().unwrap().worker();
                (0..20).all(|_| {
                    yield_now();
                    current().unwrap().worker() == here
                })
            })
        })
        .collect();
    assert!(tasks.into_iter().all(|task| task.join().unwrap()));
}

#[test]
fn queues_wait_by_switching_stacks() {
    use thalweg_queue::{Park, spsc::fast_forward};
    // One worker: if an end put the thread to sleep, nobody would ever wake it.
    runtime(1).run(|| {
        let (mut tx, mut rx) = fast_forward::with_wait(4, Park::new()).unwrap();
        let producer = spawn(move || (0..1000_u64).for_each(|n| tx.push(Box::new(n)).unwrap()));
        let consumer = spawn(move || std::iter::from_fn(|| rx.pop().ok()).map(|n| *n).collect::<Vec<_>>());
        producer.join().unwrap();
        assert_eq!(consumer.join().unwrap(), (0..1000).collect::<Vec<_>>());
        // The facade's own calls.
        let other = spawn(|| thalweg_sync::thread::sleep(Duration::from_millis(1)));
        thalweg_sync::thread::sleep(Duration::from_millis(2));
        assert!(other.is_ended());
    });
}

#[test]
fn a_groups_tasks_begin_on_its_workers() {
    let runtime = Runtime::builder().workers(3).group("one", [1]).group("both", [0, 2]).start().unwrap();
    let places = runtime.run(|| {
        let spawn = |group: &str| Options::new().group(group).spawn(|| current().unwrap().worker());
        let tasks: Vec<_> = (0..50).map(|_| (spawn("one"), spawn("both"))).collect();
        tasks.into_iter().map(|(one, both)| (one.join().unwrap(), both.join().unwrap())).collect::<Vec<_>>()
    });
    assert!(places.iter().all(|&(one, both)| one == 1 && both != 1), "{places:?}");
    let error = runtime.run(|| catch_unwind(|| drop(Options::new().group("none").spawn(|| ()))).unwrap_err());
    assert!(error.downcast::<String>().unwrap().contains("there is no group \"none\" but [\"one\", \"both\"]"));
}

#[test]
fn what_does_not_fit_is_refused() {
    let refused = |builder: thalweg_task::Builder| builder.start().unwrap_err().to_string();
    assert_eq!(refused(Runtime::builder().workers(0)), "a runtime has 1 to 4096 workers, not 0");
    assert_eq!(refused(Runtime::builder().stack_bytes(100)), "a stack has at least 16384 bytes, not 100");
    assert_eq!(
        refused(Runtime::builder().workers(2).places([])),
        "there are 0 places for 2 workers: give one for each"
    );
    assert!(matches!(
        Runtime::builder().workers(2).group("io", [2]).start(),
        Err(StartError::GroupWorker { worker: 2, workers: 2, .. })
    ));
    assert!(refused(Runtime::builder().group("io", [])).contains("nobody would run its tasks"));
    assert!(refused(Runtime::builder().group("io", [0]).group("io", [0])).contains("two groups \"io\""));
}

#[test]
fn outside_of_tasks_it_is_said() {
    let message = |panic: Box<dyn std::any::Any + Send>| panic.downcast::<String>().map(|text| *text).unwrap();
    let panic = catch_unwind(|| drop(spawn(|| ()))).unwrap_err();
    assert_eq!(message(panic), "no task runs here: tasks are started by tasks; elsewhere, by `Runtime::spawn`");
    assert!(current().is_none() && !is_cancelled());
    yield_now();
    let _ = Reason::Lock;
}
