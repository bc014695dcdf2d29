//! `tasks/table3`: BLQ's Table 3 on one core. A mutex that nobody else wants, two tasks that yield in turns, two that wait for each other by a
//! condition variable, a task that is started and joined.
//!
//! The paper, 10^7 iterations, ns: pthreads 56 / 948 / 4184 / 38984, qthreads 334 / 2239 / – / 5075, Go 35 / 240 / 512 / 1098, libut 63 / 127 / 243 / 415.

mod go;

use std::sync::{Condvar, Mutex, PoisonError};

use serde_json::json;
use thalweg_task::{Runtime, scope, spawn, spawn_now, yield_now};

use crate::harness::{BoxError, Contender, Effort, Experiment, Group, Role, Role::*, Sample};
use crate::machine::{Placement, Timing, timed};

/// The entry for the registry.
pub(crate) const EXPERIMENT: Experiment = Experiment { name: "tasks/table3", plan };

/// Fewer rounds where each takes microseconds: of threads.
const FEWER: u64 = 50;

fn plan(effort: &Effort) -> Result<Vec<Group>, BoxError> {
    let rounds = effort.messages(10_000_000);
    let few = (rounds / FEWER).max(1);
    let groups = [
        group(
            "mutex",
            "a mutex, uncontended",
            rounds,
            vec![
                contender(Ours, "thalweg", rounds, ours_mutex),
                contender(Peer, "std", rounds, std_mutex),
                contender(Peer, "tokio", rounds, tokio_mutex),
                contender(Peer, "may", rounds, may_mutex),
            ],
        ),
        group(
            "yield",
            "two that yield in turns, a round",
            rounds,
            vec![
                contender(Ours, "thalweg", rounds, ours_yield),
                contender(Peer, "std", few, std_yield),
                contender(Peer, "tokio", rounds, tokio_yield),
                contender(Peer, "may", rounds, may_yield),
            ],
        ),
        group(
            "condvar",
            "two that wait for each other, a round",
            rounds,
            vec![
                contender(Ours, "thalweg, notify", rounds, |rounds| ours_condvar(rounds, false)),
                contender(Ours, "thalweg, signal", rounds, |rounds| ours_condvar(rounds, true)),
                contender(Peer, "std", few, std_condvar),
                contender(Peer, "tokio, Notify", rounds, tokio_notify),
                contender(Peer, "may", rounds, may_condvar),
            ],
        ),
        group(
            "spawn",
            "started and joined",
            rounds,
            vec![
                contender(Ours, "thalweg, spawn", rounds, |rounds| ours_spawn(rounds, false)),
                contender(Ours, "thalweg, spawn_now", rounds, |rounds| ours_spawn(rounds, true)),
                contender(Peer, "std", few, std_spawn),
                contender(Peer, "tokio", rounds, tokio_spawn),
                contender(Peer, "may", rounds, may_spawn),
            ],
        ),
    ];
    Ok(groups.into())
}

fn group(row: &'static str, workload: &'static str, rounds: u64, contenders: Vec<Contender>) -> Group {
    let mut group = Group::new(workload, &["ns"], contenders);
    match go::absent() {
        Some(why) => group.absent.push(why),
        None => group.contenders.push(Contender::new(Peer, "go", params(rounds), move || {
            Placement::OneCpu.pin(0, 1);
            Ok(Sample { figures: vec![go::run(row, rounds)?], cpus: None })
        })),
    }
    group
}

fn params(rounds: u64) -> serde_json::Value {
    json!({ "rounds": rounds, "threads": Placement::OneCpu.word() })
}

/// Threads that `run` starts are where its own is.
fn contender(role: Role, name: &str, rounds: u64, run: fn(u64) -> Result<Timing, BoxError>) -> Contender {
    Contender::new(role, name, params(rounds), move || {
        Placement::OneCpu.pin(0, 1);
        Ok(Sample::nanos_per(run(rounds)?, rounds))
    })
}

fn checked(is_right: bool, timing: Timing) -> Result<Timing, BoxError> {
    is_right.then_some(timing).ok_or_else(|| "a wrong result".into())
}

/// Runs `body` as a task of a runtime with one worker.
fn in_a_task<R: Send>(body: impl FnOnce() -> R + Send) -> Result<(R, Timing), BoxError> {
    let runtime = Runtime::builder().workers(1).start()?;
    Ok(runtime.run(|| timed(body)))
}

fn ours_mutex(rounds: u64) -> Result<Timing, BoxError> {
    let mutex = thalweg_task::Mutex::new(0);
    let ((), timing) = in_a_task(|| (0..rounds).for_each(|_| *mutex.lock() += 1))?;
    checked(mutex.into_inner() == rounds, timing)
}

fn ours_yield(rounds: u64) -> Result<Timing, BoxError> {
    let both = || {
        scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| (0..rounds).for_each(|_| yield_now()));
            }
        });
    };
    in_a_task(both).map(|((), timing)| timing)
}

fn ours_condvar(rounds: u64, signal: bool) -> Result<Timing, BoxError> {
    let (turn, changed) = (thalweg_task::Mutex::new(0), thalweg_task::Condvar::new());
    let ((), timing) = in_a_task(|| {
        scope(|scope| {
            for me in 0..2 {
                let (turn, changed) = (&turn, &changed);
                scope.spawn(move || {
                    let mut guard = turn.lock();
                    for _ in 0..rounds {
                        guard = changed.wait_while(guard, |turn| *turn != me);
                        *guard = 1 - me;
                        if signal {
                            guard = changed.signal(guard);
                        } else {
                            changed.notify_one();
                        }
                    }
                });
            }
        });
    })?;
    checked(turn.into_inner() == 0, timing)
}

fn ours_spawn(rounds: u64, now: bool) -> Result<Timing, BoxError> {
    let (sum, timing) = in_a_task(|| {
        let child = |n| if now { spawn_now(move || n) } else { spawn(move || n) };
        (0..rounds).map(|n| child(n).join().expect("it does not panic")).sum::<u64>()
    })?;
    checked(sum == (0..rounds).sum::<u64>(), timing)
}

fn std_mutex(rounds: u64) -> Result<Timing, BoxError> {
    let mutex = Mutex::new(0);
    let lock = || *std::hint::black_box(&mutex).lock().unwrap_or_else(PoisonError::into_inner) += 1;
    let ((), timing) = timed(|| (0..rounds).for_each(|_| lock()));
    checked(mutex.into_inner()? == rounds, timing)
}

/// Two threads.
fn two(body: impl Fn(u64) + Sync) -> Timing {
    let both = || {
        std::thread::scope(|scope| {
            for me in 0..2 {
                let body = &body;
                scope.spawn(move || body(me));
            }
        });
    };
    timed(both).1
}

fn std_yield(rounds: u64) -> Result<Timing, BoxError> {
    Ok(two(|_| (0..rounds).for_each(|_| std::thread::yield_now())))
}

fn std_condvar(rounds: u64) -> Result<Timing, BoxError> {
    let (turn, changed) = (Mutex::new(0), Condvar::new());
    let timing = two(|me| {
        let mut guard = turn.lock().expect("nobody panics");
        for _ in 0..rounds {
            guard = changed.wait_while(guard, |turn| *turn != me).expect("nobody panics");
            *guard = 1 - me;
            changed.notify_one();
        }
    });
    checked(turn.into_inner()? == 0, timing)
}

fn std_spawn(rounds: u64) -> Result<Timing, BoxError> {
    let child = |n| std::thread::spawn(move || n).join().expect("it does not panic");
    let (sum, timing) = timed(|| (0..rounds).map(child).sum::<u64>());
    checked(sum == (0..rounds).sum::<u64>(), timing)
}

/// Runs `body` as a task of tokio's runtime on this thread.
fn in_tokio<R: Send + 'static>(body: impl Future<Output = R> + Send + 'static) -> Result<(R, Timing), BoxError> {
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    let (result, timing) = timed(|| runtime.block_on(async { tokio::spawn(body).await }));
    Ok((result?, timing))
}

fn tokio_mutex(rounds: u64) -> Result<Timing, BoxError> {
    let (count, timing) = in_tokio(async move {
        let mutex = tokio::sync::Mutex::new(0);
        for _ in 0..rounds {
            *mutex.lock().await += 1;
        }
        mutex.into_inner()
    })?;
    checked(count == rounds, timing)
}

fn tokio_yield(rounds: u64) -> Result<Timing, BoxError> {
    let yields = move || {
        tokio::spawn(async move {
            for _ in 0..rounds {
                tokio::task::yield_now().await;
            }
        })
    };
    let (ended, timing) = in_tokio(async move {
        let (one, other) = (yields(), yields());
        one.await.is_ok() && other.await.is_ok()
    })?;
    checked(ended, timing)
}

fn tokio_notify(rounds: u64) -> Result<Timing, BoxError> {
    use std::sync::Arc;
    use tokio::sync::Notify;
    let (ended, timing) = in_tokio(async move {
        let (there, back) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let (seen, answers) = (there.clone(), back.clone());
        let other = tokio::spawn(async move {
            for _ in 0..rounds {
                seen.notified().await;
                answers.notify_one();
            }
        });
        for _ in 0..rounds {
            there.notify_one();
            back.notified().await;
        }
        other.await.is_ok()
    })?;
    checked(ended, timing)
}

fn tokio_spawn(rounds: u64) -> Result<Timing, BoxError> {
    let (sum, timing) = in_tokio(async move {
        let mut sum = 0;
        for n in 0..rounds {
            sum += tokio::spawn(async move { n }).await.expect("it does not panic");
        }
        sum
    })?;
    checked(sum == (0..rounds).sum::<u64>(), timing)
}

/// Runs `body` as a coroutine of may, whose one worker is made by the first of these, on its processor.
fn in_may<R: Send + 'static>(body: impl FnOnce() -> R + Send + 'static) -> Result<(R, Timing), BoxError> {
    may::config().set_workers(1);
    // SAFETY: the bodies below use no thread-locals and little of their stacks.
    let coroutine = unsafe { may::coroutine::spawn(move || timed(body)) };
    coroutine.join().map_err(|_| "a coroutine panicked".into())
}

/// Two coroutines.
fn two_of_may(body: impl Fn(u64) + Send + Sync + 'static) -> Result<Timing, BoxError> {
    let body = std::sync::Arc::new(body);
    let both = move || {
        let start = |me| {
            let body = body.clone();
            // SAFETY: as in `in_may`.
            unsafe { may::coroutine::spawn(move || body(me)) }
        };
        let both = [start(0), start(1)];
        both.into_iter().all(|coroutine| coroutine.join().is_ok())
    };
    let (ended, timing) = in_may(both)?;
    checked(ended, timing)
}

fn may_mutex(rounds: u64) -> Result<Timing, BoxError> {
    let body = move || {
        let mutex = may::sync::Mutex::new(0);
        (0..rounds).for_each(|_| *mutex.lock().expect("nobody panics") += 1);
        mutex.into_inner().expect("nobody panics")
    };
    let (count, timing) = in_may(body)?;
    checked(count == rounds, timing)
}

fn may_yield(rounds: u64) -> Result<Timing, BoxError> {
    two_of_may(move |_| (0..rounds).for_each(|_| may::coroutine::yield_now()))
}

fn may_condvar(rounds: u64) -> Result<Timing, BoxError> {
    let (turn, changed) = (may::sync::Mutex::new(0), may::sync::Condvar::new());
    two_of_may(move |me| {
        let mut guard = turn.lock().expect("nobody panics");
        for _ in 0..rounds {
            while *guard != me {
                guard = changed.wait(guard).expect("nobody panics");
            }
            *guard = 1 - me;
            changed.notify_one();
        }
    })
}

fn may_spawn(rounds: u64) -> Result<Timing, BoxError> {
    // SAFETY: as in `in_may`.
    let child = |n| unsafe { may::coroutine::spawn(move || n) }.join().expect("it does not panic");
    let (sum, timing) = in_may(move || (0..rounds).map(child).sum::<u64>())?;
    checked(sum == (0..rounds).sum::<u64>(), timing)
}
