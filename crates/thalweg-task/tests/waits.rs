//! Channels, selections, futures, calls that block, dumps and the watch.

use std::future::Future;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::Duration;
use thalweg_queue::{PopError, PopTimeoutError, PushTimeoutError, TryPopError, TryPushError};
use thalweg_sync::atomic::AtomicUsize;
use thalweg_sync::atomic::Ordering::Relaxed;
use thalweg_sync::sync::Arc;
use thalweg_sync::thread;
use thalweg_sync::time;
use thalweg_task::{
    JoinHandle, Mutex, Options, Reason, Runtime, Semaphore, State, block_in_place, block_on, channel, scope, select,
    select_timeout, sleep, spawn, yield_now,
};

fn runtime(workers: usize) -> Runtime {
    Runtime::builder().workers(workers).start().unwrap()
}

#[test]
fn everything_sent_is_received_once_and_then_the_end() {
    for workers in [1, 3] {
        let runtime = runtime(workers);
        let (tx, rx) = channel(8).unwrap();
        let receivers: Vec<_> = (0..3)
            .map(|_| {
                let rx = rx.clone();
                runtime.spawn(move || rx.iter().collect::<Vec<u64>>())
            })
            .collect();
        let senders: Vec<_> = (0..3)
            .map(|sender| {
                let tx = tx.clone();
                runtime.spawn(move || (0..1000).try_for_each(|n| tx.send(sender * 1000 + n)))
            })
            .collect();
        drop((tx, rx));
        senders.into_iter().for_each(|sender| sender.join().unwrap().unwrap());
        let mut all: Vec<u64> = Vec::new();
        for receiver in receivers {
            let some = receiver.join().unwrap();
            let from = |sender: u64| some.iter().filter(move |&&n| n / 1000 == sender);
            assert!((0..3).all(|sender| from(sender).is_sorted()), "what one sender sent stays in order");
            all.extend(some);
        }
        all.sort_unstable();
        assert!(all.into_iter().eq(0..3000));
    }
}

#[test]
fn ends_that_wait_are_told_when_the_other_side_leaves() {
    let runtime = runtime(1);
    runtime.run(|| {
        let (tx, rx) = channel::<u32>(1).unwrap();
        while tx.try_send(1).is_ok() {}
        assert!(matches!(tx.try_send(2), Err(TryPushError::Full(2))));
        assert_eq!(tx.send_timeout(3, Duration::from_millis(1)), Err(PushTimeoutError::Timeout(3)));
        let sender = spawn(move || tx.send(4).unwrap_err().0);
        yield_now();
        drop(rx);
        assert_eq!(sender.join().unwrap(), 4, "the value comes back");

        let (tx, rx) = channel::<u32>(1).unwrap();
        assert_eq!(rx.try_recv(), Err(TryPopError::Empty));
        assert_eq!(rx.recv_timeout(Duration::from_millis(1)), Err(PopTimeoutError::Timeout));
        let receiver = spawn(move || rx.recv());
        yield_now();
        drop(tx);
        assert_eq!(receiver.join().unwrap(), Err(PopError));
    });
}

#[test]
fn no_item_is_lost_when_receivers_are_cancelled() {
    let runtime = runtime(3);
    for round in 0..100 {
        let (tx, rx) = channel(2).unwrap();
        let got = Arc::new(AtomicUsize::new(0));
        let receivers: Vec<_> = (0..4)
            .map(|_| {
                let (rx, got) = (rx.clone(), got.clone());
                runtime.spawn(move || {
                    while rx.recv().is_ok() {
                        got.fetch_add(1, Relaxed);
                    }
                })
            })
            .collect();
        let sender = runtime.spawn(move || (0..20).try_for_each(|n| tx.send(n)));
        if round % 2 == 0 {
            yield_now();
        }
        // All but one are cancelled, wherever they are: that one gets the rest.
        let mut receivers = receivers.into_iter();
        let last = receivers.next().unwrap();
        receivers.as_slice().iter().for_each(JoinHandle::cancel);
        let lost = receivers.filter_map(|receiver| receiver.join().err()).all(|error| error.is_cancelled());
        assert!(lost);
        sender.join().unwrap().unwrap();
        last.join().unwrap();
        assert_eq!(got.load(Relaxed), 20);
    }
}

/// A task between two channels takes what comes and gives what it has, whichever is possible: nothing is lost, and it never waits at one while the other could go on.
#[test]
fn a_selection_waits_for_room_too() {
    for workers in [1, 3] {
        runtime(workers).run(|| {
            let (tx, rx) = channel::<u32>(4).unwrap();
            let (out, end) = channel::<u32>(4).unwrap();
            while out.try_send(0).is_ok() {}
            let full = end.len();
            assert_eq!(select_timeout(&[&rx, &out], Duration::from_millis(1)), None, "nothing comes, and nothing fits");
            let between = spawn(move || {
                let mut kept = std::collections::VecDeque::new();
                loop {
                    match (kept.front().copied(), rx.is_closed() && rx.is_empty()) {
                        (None, true) => return,
                        (Some(next), is_over) => match if is_over { select(&[&out]) + 1 } else { select(&[&rx, &out]) }
                        {
                            0 => kept.extend(rx.try_recv()),
                            _ if out.try_send(next).is_ok() => drop(kept.pop_front()),
                            _ => {}
                        },
                        (None, false) => {
                            select(&[&rx]);
                            kept.extend(rx.try_recv());
                        }
                    }
                }
            });
            let sender = spawn(move || (1..=1000).try_for_each(|n| tx.send(n)));
            let got: Vec<_> = end.iter().skip(full).collect();
            assert!(got.into_iter().eq(1..=1000));
            sender.join().unwrap().unwrap();
            between.join().unwrap();
        });
    }
}

#[test]
fn who_waits_for_room_in_a_selection_is_told_that_nobody_receives_any_more() {
    runtime(1).run(|| {
        let (out, end) = channel::<u32>(4).unwrap();
        while out.try_send(0).is_ok() {}
        let waits = spawn(move || (select(&[&out]), out.try_send(1)));
        yield_now();
        drop(end);
        assert_eq!(waits.join().unwrap(), (0, Err(TryPushError::Closed(1))));
    });
}

#[test]
fn a_selection_takes_what_comes_first_and_gives_up_in_time() {
    runtime(1).run(|| {
        let (tx, rx) = channel::<u32>(4).unwrap();
        let (words, word) = channel::<&str>(4).unwrap();
        assert_eq!(select_timeout(&[&rx, &word], Duration::from_millis(1)), None);
        let total = spawn(move || {
            let (mut total, mut open) = (0, 2);
            let (mut numbers_open, mut words_open) = (true, true);
            while open > 0 {
                // A closed end is always ready: it is left out.
                let at = match (numbers_open, words_open) {
                    (true, true) => select(&[&rx, &word]),
                    (true, false) => select(&[&rx]),
                    _ => select(&[&word]) + 1,
                };
                match at {
                    0 => match rx.try_recv() {
                        Ok(n) => total += n as usize,
                        Err(TryPopError::Closed) => (numbers_open, open) = (false, open - 1),
                        Err(_) => {}
                    },
                    _ => match word.try_recv() {
                        Ok(word) => total += word.len(),
                        Err(TryPopError::Closed) => (words_open, open) = (false, open - 1),
                        Err(_) => {}
                    },
                }
            }
            total
        });
        for n in 0..100 {
            tx.send(n).unwrap();
            words.send("four").unwrap();
            if n % 10 == 0 {
                sleep(Duration::from_micros(10));
            }
        }
        drop((tx, words));
        assert_eq!(total.join().unwrap(), 4950 + 400);
    });
}

#[test]
fn futures_run_in_tasks_and_handles_are_futures() {
    /// Pending a few times, and takes a lock that somebody has: a wait within a poll.
    struct Slow<'a>(u32, &'a Mutex<u32>);
    impl Future for Slow<'_> {
        type Output = u32;
        fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<u32> {
            let waker = cx.waker().clone();
            spawn(move || waker.wake());
            let count = {
                let mut count = self.1.lock();
                *count += 1;
                *count
            };
            self.0 -= 1;
            if self.0 == 0 { Poll::Ready(count) } else { Poll::Pending }
        }
    }
    let runtime = runtime(1);
    let polls = runtime.run(|| {
        let count = Mutex::new(0);
        scope(|scope| {
            let guard = count.lock();
            let polls = scope.spawn(|| block_on(Slow(5, &count)));
            yield_now();
            yield_now();
            drop(guard);
            polls.join().unwrap()
        })
    });
    assert_eq!(polls, 5);
    let sum = block_on(async {
        let parts = [1, 2, 3].map(|n| runtime.spawn(move || n));
        let mut sum = 0;
        for part in parts {
            sum += part.await.unwrap();
        }
        sum
    });
    assert_eq!(sum, 6);
    // One that was polled can be joined, and dropped.
    let slow = runtime.spawn(|| sleep(Duration::from_millis(5)));
    let mut slow = pin!(slow);
    assert!(slow.as_mut().poll(&mut Context::from_waker(std::task::Waker::noop())).is_pending());
    block_on(slow).unwrap();
}

#[test]
fn calls_that_block_leave_the_worker_to_others() {
    let runtime = runtime(1);
    runtime.run(|| {
        let (go, wait) = channel(1).unwrap();
        let text = "borrowed".to_owned();
        scope(|scope| {
            let blocked = scope.spawn(|| {
                block_in_place(|| {
                    wait.recv().unwrap(); // as a thread
                    text.len()
                })
            });
            yield_now();
            // One worker: this runs only as the call blocks another thread.
            go.send(()).unwrap();
            assert_eq!(blocked.join().unwrap(), 8);
        });
        let panic = spawn(|| block_in_place(|| panic!("in a helper"))).join();
        assert!(panic.unwrap_err().to_string().ends_with("panicked: in a helper"));
        // More calls than helpers that sleep.
        let calls: Vec<_> = (0..20).map(|n| spawn(move || block_in_place(move || n))).collect();
        assert_eq!(calls.into_iter().map(|call| call.join().unwrap()).sum::<i32>(), 190);
    });
    assert_eq!(block_in_place(|| 7), 7);
}

#[test]
fn a_dump_names_tasks_and_what_they_wait_for() {
    let runtime = runtime(2);
    let (mutex, semaphore) = (Arc::new(Mutex::new(())), Arc::new(Semaphore::new(0)));
    let (locked, permit) = (mutex.clone(), semaphore.clone());
    let guard = mutex.lock();
    let mut tasks = runtime.run(move || {
        vec![
            Options::new().name("locks").spawn(move || drop(locked.lock())),
            Options::new().name("permits").spawn(move || permit.acquire().forget()),
            Options::new().name("sleeps").spawn(|| sleep(Duration::from_secs(3600))),
        ]
    });
    let joined = tasks[2].id();
    let joins = runtime.spawn({
        let sleeps = tasks.pop().unwrap();
        move || drop(sleeps.join())
    });
    let expected = |dump: &thalweg_task::Dump| {
        let state =
            |name: &str| dump.tasks.iter().find(|task| task.name.as_deref() == Some(name)).map(|task| task.state);
        state("locks") == Some(State::Waits(Reason::Lock))
            && state("permits") == Some(State::Waits(Reason::Permit))
            && state("sleeps") == Some(State::Waits(Reason::Sleep))
            && dump.tasks.iter().any(|task| task.id == joins.id() && task.state == State::Waits(Reason::Join(joined)))
    };
    // They may not have begun yet.
    let dump = (0..1000)
        .find_map(|_| {
            let dump = runtime.dump();
            thread::sleep(Duration::from_millis(1));
            expected(&dump).then_some(dump)
        })
        .expect("all are told of in time");
    let text = dump.to_string();
    assert!(text.contains("sleeps") && text.contains("waits for time") && text.contains("waits for a mutex"), "{text}");
    // From within, by a task; the asking one runs.
    let inner = Arc::new(runtime);
    let asker = inner.spawn({
        let inner = Arc::downgrade(&inner);
        move || inner.upgrade().unwrap().dump().tasks.iter().filter(|task| task.state == State::Running).count()
    });
    assert_eq!(asker.join().unwrap(), 1);
    drop(guard);
    semaphore.release(1);
    joins.cancel();
}

#[test]
fn the_watch_tells_once_of_a_task_that_does_not_let_go() {
    let stalls = Arc::new(Mutex::new(Vec::new()));
    let seen = stalls.clone();
    let runtime = Runtime::builder()
        .workers(1)
        .watch(Duration::from_millis(10), move |stall| seen.lock().push(stall))
        .start()
        .unwrap();
    let long = runtime.spawn(|| {
        let start = time::now();
        while start.elapsed() < Duration::from_millis(100) {}
    });
    let id = long.id();
    long.join().unwrap();
    // One that waits is none.
    runtime.run(|| sleep(Duration::from_millis(50)));
    drop(runtime);
    let stalls = stalls.lock();
    assert!(stalls.iter().any(|stall| stall.task == id && stall.time >= Duration::from_millis(10)), "{stalls:?}");
    assert_eq!(stalls.iter().filter(|stall| stall.task == id).count(), 1, "{stalls:?}");
}

#[test]
fn idle_workers_use_no_processor() {
    let runtime =
        Runtime::builder().workers(3).name("idle-test").watch(Duration::from_millis(10), |_| {}).start().unwrap();
    let held = Arc::new(AtomicUsize::new(0));
    let seen = held.clone();
    let sleeper = runtime.spawn(move || {
        seen.fetch_add(1, Relaxed);
        sleep(Duration::from_secs(3600));
    });
    while held.load(Relaxed) == 0 {
        thread::sleep(Duration::from_millis(1));
    }
    thread::sleep(Duration::from_millis(20));
    // Of the threads of this process, those of the test: other tests run beside it, so the process is asked only where it is alone.
    if !std::path::Path::new("/proc/self/task").exists() {
        return eprintln!("left out: there is no /proc that tells what a thread used");
    }
    let ticks = || -> u64 {
        let of = |entry: std::fs::DirEntry| {
            let stat = std::fs::read_to_string(entry.path().join("stat")).ok()?;
            let (name, rest) = stat.split_once(')')?;
            let fields: Vec<_> = rest.split_whitespace().collect();
            name.contains("(idle-test")
                .then(|| fields[11].parse::<u64>().unwrap_or(0) + fields[12].parse::<u64>().unwrap_or(0))
        };
        std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten().filter_map(of).sum()
    };
    let before = ticks();
    thread::sleep(Duration::from_millis(300));
    assert!(ticks() - before <= 1, "workers that sleep use no processor");
    sleeper.cancel();
}
