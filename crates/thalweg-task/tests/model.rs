//! Small clients under the model checker: every execution that weak memory allows.
//!
//! Locks and conditions are used by threads here, which wait on the same lists as tasks; tasks come in where they matter.

use thalweg_check::Check;
use thalweg_sync::cell::Slot;
use thalweg_sync::park::Parker;
use thalweg_sync::sync::Arc;
use thalweg_sync::thread;
use thalweg_task::{Condvar, Mutex, Runtime, Semaphore, fork};

/// Explores all executions of `client`.
fn check(client: impl Fn() + Send + Sync + 'static) {
    Check::new().check(client);
}

/// Explores so many executions of `client`: of a runtime there are thousands, which take minutes without optimisation.
/// `THALWEG_MODEL_EXECUTIONS` says how many instead, 0 for all.
fn check_some(executions: u64, client: impl Fn() + Send + Sync + 'static) {
    let asked = std::env::var("THALWEG_MODEL_EXECUTIONS").ok().map(|text| text.parse().expect("a number"));
    let executions = Some(asked.unwrap_or(executions)).filter(|&executions| executions != 0);
    Check::new().max_executions(executions).check(client);
}

/// Memory that only a lock protects.
struct Counter(Slot<u32>);

impl Counter {
    fn new() -> Self {
        Self(Slot::new(0))
    }

    /// Adds one, and gives what was there. The caller has the lock.
    fn add(&self) -> u32 {
        // SAFETY: the checker sees who does so without the lock.
        self.0.with_mut(|count| unsafe {
            *count += 1;
            *count - 1
        })
    }
}

/// Two threads take the lock once each. One finds it taken in some executions, and is woken.
#[test]
fn a_mutex_excludes_and_wakes() {
    check(|| {
        let shared = Arc::new((Mutex::new(()), Counter::new()));
        let other = thread::spawn({
            let shared = shared.clone();
            move || {
                let _guard = shared.0.lock();
                shared.1.add();
            }
        });
        {
            let _guard = shared.0.lock();
            shared.1.add();
        }
        other.join().unwrap();
        let _guard = shared.0.lock();
        assert_eq!(shared.1.add(), 2);
    });
}

/// Three threads: one may take the lock that another has opened for a third.
#[test]
fn an_open_lock_goes_to_whoever_comes_first() {
    check_some(500, || {
        let shared = Arc::new((Mutex::new(()), Counter::new()));
        let others = [(); 2].map(|()| {
            let shared = shared.clone();
            thread::spawn(move || {
                let _guard = shared.0.lock();
                shared.1.add();
            })
        });
        {
            let _guard = shared.0.lock();
            shared.1.add();
        }
        others.into_iter().for_each(|other| other.join().unwrap());
    });
}

/// One waits until the other has changed what the lock protects.
#[test]
fn a_notification_is_not_lost() {
    check(|| {
        let shared = Arc::new((Mutex::new(false), Condvar::new()));
        let other = thread::spawn({
            let shared = shared.clone();
            move || {
                *shared.0.lock() = true;
                shared.1.notify_one();
            }
        });
        let guard = shared.1.wait_while(shared.0.lock(), |changed| !*changed);
        assert!(*guard);
        drop(guard);
        other.join().unwrap();
    });
}

/// A signal hands the lock over: what was so at the signal is so behind the wait. The signaller has it back behind that.
#[test]
fn a_signal_hands_over() {
    check(|| {
        let shared = Arc::new((Mutex::new(0), Condvar::new()));
        let other = thread::spawn({
            let shared = shared.clone();
            move || {
                let mut guard = shared.0.lock();
                if *guard == 0 {
                    *guard = 1;
                    guard = shared.1.wait(guard);
                    assert_eq!(*guard, 2);
                    *guard = 3;
                }
            }
        });
        let mut guard = shared.0.lock();
        if *guard == 1 {
            *guard = 2;
            guard = shared.1.signal(guard);
            assert_eq!(*guard, 3);
        } else {
            *guard = 4;
        }
        drop(guard);
        other.join().unwrap();
    });
}

/// One permit for two.
#[test]
fn a_permit_is_held_by_one() {
    check(|| {
        let shared = Arc::new((Semaphore::new(1), Counter::new()));
        let other = thread::spawn({
            let shared = shared.clone();
            move || {
                let _permit = shared.0.acquire();
                shared.1.add();
            }
        });
        {
            let _permit = shared.0.acquire();
            shared.1.add();
        }
        other.join().unwrap();
        assert_eq!(shared.0.permits(), 1);
    });
}

/// A worker that may be asleep is woken for a task, and whoever joins for its end; then the worker stops. Some 9 000 executions in all.
#[test]
fn a_task_is_begun_and_joined() {
    check_some(300, || {
        let runtime = Runtime::builder().workers(1).start().unwrap();
        assert_eq!(runtime.spawn(|| 7).join().unwrap(), 7);
        runtime.finish();
    });
}

/// A task that sleeps by the facade is woken by a thread, from wherever it is: before, on the way to sleep, asleep.
#[test]
fn a_wake_up_is_not_lost() {
    check_some(300, || {
        let runtime = Runtime::builder().workers(1).start().unwrap();
        let (tx, mut rx) = thalweg_queue::oneshot::channel();
        let task = runtime.spawn(move || {
            let parker = Parker::new();
            tx.push(parker.unparker()).unwrap();
            parker.park();
        });
        rx.pop().unwrap().unpark();
        task.join().unwrap();
        runtime.finish();
    });
}

/// Two workers: the second half of a fork is taken back, or stolen and run elsewhere, and its result comes back.
#[test]
fn a_half_runs_once_wherever_it_is() {
    check_some(200, || {
        let runtime = Runtime::builder().workers(2).start().unwrap();
        assert_eq!(runtime.run(|| fork(|| 1, || 2)), (1, 2));
        runtime.finish();
    });
}
