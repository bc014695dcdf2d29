//! Tasks on a simulated machine: the same code, many cores, and time that the machine gives.

use thalweg_sim::{Machine, Simulation};
use thalweg_sync::{hint, time};
use thalweg_task::{Condvar, Mutex, Runtime, fork, scope, yield_now};

/// Runs `body` as a task on so many simulated cores, a worker on each. Virtual nanoseconds.
fn nanos(workers: usize, body: impl FnOnce() + Send) -> u64 {
    let machine = Machine::named("arm-32").unwrap();
    // A thread more than workers: the one that waits for the task.
    let simulation = Simulation::new(machine).threads(workers + 1).stack_bytes(256 << 10);
    let client = || {
        let runtime = Runtime::builder().workers(workers).stack_bytes(64 << 10).start().unwrap();
        let start = time::now();
        runtime.run(body);
        let nanos = start.elapsed().as_nanos() as u64;
        runtime.finish();
        nanos
    };
    simulation.try_run(client).unwrap_or_else(|failure| panic!("{failure}")).0
}

/// So many leaves of work, divided.
fn leaves(count: u64) {
    if count == 1 {
        return hint::work(50_000);
    }
    fork(|| leaves(count / 2), || leaves(count - count / 2));
}

#[test]
fn more_workers_take_less_time() {
    let [one, two, eight] = [1, 2, 8].map(|workers| nanos(workers, || leaves(256)));
    assert!(two * 3 < one * 2, "two workers take {two} ns where one takes {one}");
    assert!(eight * 4 < one, "eight workers take {eight} ns where one takes {one}");
}

#[test]
fn tasks_that_switch_and_wait_come_to_their_ends() {
    let took = nanos(4, || {
        let (turn, changed) = (Mutex::new(0), Condvar::new());
        scope(|scope| {
            for me in 0..20 {
                let (turn, changed) = (&turn, &changed);
                scope.spawn(move || {
                    yield_now();
                    let mut guard = changed.wait_while(turn.lock(), |turn| *turn != me);
                    *guard += 1;
                    changed.notify_all();
                });
            }
        });
        assert_eq!(turn.into_inner(), 20);
    });
    assert!(took > 0);
}
