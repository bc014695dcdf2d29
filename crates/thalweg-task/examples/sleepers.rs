//! Five thousand tasks that sleep at the same time, on two workers.
//!
//! `cargo run --example sleepers` prints how long it took: about as long as one of them sleeps, as a task that waits holds no thread. One more task is
//! cancelled in its sleep.

use std::time::Duration;
use thalweg_sync::time;
use thalweg_task::{Runtime, sleep, spawn};

const SLEEPERS: usize = 5000;

fn main() -> Result<(), thalweg_task::StartError> {
    let runtime = Runtime::builder().workers(2).start()?;
    let begin = time::now();
    let (woken, cancelled) = runtime.run(|| {
        let long = spawn(|| sleep(Duration::from_secs(3600)));
        let sleepers: Vec<_> = (0..SLEEPERS).map(|_| spawn(|| sleep(Duration::from_millis(100)))).collect();
        let woken = sleepers.into_iter().filter_map(|sleeper| sleeper.join().ok()).count();
        long.cancel();
        (woken, long.join().is_err_and(|error| error.is_cancelled()))
    });
    println!("{woken} tasks slept 100 ms each");
    println!("all of them took {:.0?}; one was cancelled: {cancelled}", begin.elapsed());
    Ok(())
}
