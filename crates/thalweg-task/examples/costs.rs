//! What tasks cost on this machine, on one worker: `cargo run --release -p thalweg-task --example costs`.
//!
//! The four rows of BLQ's Table 3. `cargo lab run tasks/table3` measures them beside threads and other runtimes.

use thalweg_sync::time;
use thalweg_task::{Condvar, Mutex, Runtime, scope, spawn, yield_now};

fn main() -> Result<(), thalweg_task::StartError> {
    let rounds = 3_000_000;
    let runtime = Runtime::builder().workers(1).start()?;
    let timed = |what: &str, body: &(dyn Fn(u32) + Sync)| {
        runtime.run(|| body(rounds / 10));
        let start = time::now();
        runtime.run(|| body(rounds));
        println!("{what:<42} {:>6.1} ns", start.elapsed().as_nanos() as f64 / f64::from(rounds));
    };
    timed("a mutex, uncontended: lock and unlock", &|rounds| {
        let mutex = Mutex::new(0);
        (0..rounds).for_each(|_| *mutex.lock() += 1);
        assert_eq!(mutex.into_inner(), rounds);
    });
    timed("two tasks yield in turns: a round", &|rounds| {
        scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| (0..rounds).for_each(|_| yield_now()));
            }
        });
    });
    timed("two tasks notify each other: a round", &|rounds| {
        let (turn, changed) = (Mutex::new(0), Condvar::new());
        scope(|scope| {
            for me in 0..2 {
                let (turn, changed) = (&turn, &changed);
                scope.spawn(move || {
                    let mut turn = turn.lock();
                    for _ in 0..rounds {
                        turn = changed.wait_while(turn, |turn| *turn != me);
                        *turn = 1 - me;
                        changed.notify_one();
                    }
                });
            }
        });
    });
    timed("two tasks signal each other: a round", &|rounds| {
        let (turn, changed) = (Mutex::new(0), Condvar::new());
        scope(|scope| {
            for me in 0..2 {
                let (turn, changed) = (&turn, &changed);
                scope.spawn(move || {
                    let mut turn = turn.lock();
                    for _ in 0..rounds {
                        turn = changed.wait_while(turn, |turn| *turn != me);
                        *turn = 1 - me;
                        turn = changed.signal(turn);
                    }
                });
            }
        });
    });
    timed("a task is started and joined", &|rounds| {
        (0..rounds).for_each(|n| assert_eq!(spawn(move || n).join().unwrap(), n));
    });
    Ok(())
}
