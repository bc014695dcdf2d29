//! A program that has been one of crossbeam-channel, with the words of this crate: `cargo run --example worker_pool`.
//!
//! Four workers take jobs from one queue until they are told to stop, a ticker reports, and the results are collected in async code. What was
//! there before stands beside the lines that changed.
#![cfg(not(loom))]

use std::time::Duration;
use thalweg_queue::select::Tick;
use thalweg_queue::wait::Timed;
use thalweg_queue::{PopTimeoutError, mpmc, select};
use thalweg_sync::thread;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (jobs, todo) = mpmc::channel::<u64>(64)?; //    bounded(64)
    let (results, done) = mpmc::channel(64)?;
    let (stop, stopped) = mpmc::channel::<()>(1)?;

    let workers: Vec<_> = (0..4)
        .map(|_| {
            let (todo, results, stopped) = (todo.clone(), results.clone(), stopped.clone());
            thread::spawn(move || {
                let mut count = 0;
                loop {
                    select! {
                        pop(todo) -> job => { //        recv(todo) -> job =>
                            let Ok(n) = job else { return count };
                            results.push(n * n).expect("main collects"); // send
                            count += 1;
                        }
                        pop(stopped) -> _ => return count,
                        after(Duration::from_secs(60)) => return count, // default(…)
                    }
                }
            })
        })
        .collect();
    drop((todo, results)); // the workers' clones are the only ones now

    let reporter = thread::spawn({
        let jobs = jobs.downgrade(); // a weak handle: the queue ends without it
        let mut tick = Tick::new(Duration::from_millis(5)); // tick(…)
        move || {
            let mut reports = 0;
            while let Some(jobs) = jobs.upgrade() {
                reports += u32::from(jobs.len() <= jobs.capacity());
                drop(jobs);
                select! { pop(tick) -> _ => {} }
            }
            reports
        }
    });

    // recv_timeout
    assert_eq!(done.pop_timeout(Duration::from_millis(1)), Err(PopTimeoutError::Timeout));
    let producer = thread::spawn(move || jobs.push_all(1..=1000));

    // An async end of the same queue, in any executor, each wait of it no longer than a minute.
    let sum = futures_executor::block_on(async {
        let mut sum = 0;
        for _ in 0..1000 {
            sum += done.pop_async().within(Duration::from_secs(60)).await?;
        }
        Ok::<u64, PopTimeoutError>(sum)
    })?;
    assert_eq!(producer.join().expect("it does not panic")?, 1000);
    stop.close();
    let counts: Vec<u64> = workers.into_iter().map(|worker| worker.join().expect("it does not panic")).collect();
    println!("{} jobs by {} workers, sum of squares {sum}", counts.iter().sum::<u64>(), counts.len());
    println!("the reporter is done: {}", reporter.join().expect("it does not panic") > 0);
    Ok(())
}
