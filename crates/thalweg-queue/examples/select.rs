//! One thread that waits for several queues and for time.
//!
//! `cargo run --example select` has a worker with urgent jobs, ordinary jobs, a timer and a word to quit, and prints what it did. `select!` takes
//! whichever can go on first. An arm with an `if` is off while that is false: here ordinary jobs wait while an urgent one is there.

#![allow(clippy::disallowed_methods, reason = "a program of its own has std's threads")]

use std::error::Error;
use std::thread;
use std::time::Duration;
use thalweg_queue::select::Tick;
use thalweg_queue::{mpmc, oneshot, select};

fn main() -> Result<(), Box<dyn Error>> {
    let (urgent_jobs, urgent) = mpmc::channel::<u32>(16)?;
    let (jobs, ordinary) = mpmc::channel::<u32>(16)?;
    let (quit, mut quits) = oneshot::channel::<&str>();

    let worker = thread::spawn(move || {
        let mut ticks = Tick::new(Duration::from_millis(5));
        let (mut urgent_done, mut done, mut beats) = (0, 0, 0);
        loop {
            select! {
                pop(urgent) -> job => urgent_done += u32::from(job.is_ok()),
                pop(ordinary) -> job if urgent.is_empty() => done += u32::from(job.is_ok()),
                pop(ticks) -> _ => beats += 1,
                pop(quits) -> reason => {
                    // What is left is done first.
                    urgent_done += urgent.try_iter().count() as u32;
                    done += ordinary.try_iter().count() as u32;
                    return (urgent_done, done, beats, reason);
                }
            }
        }
    });

    for number in 0..40 {
        jobs.push(number)?;
        if number % 8 == 0 {
            urgent_jobs.push(number)?;
        }
        thread::sleep(Duration::from_millis(1));
    }
    quit.push("the day is over")?;
    let (urgent, ordinary, beats, reason) = worker.join().expect("it does not panic");
    println!("{urgent} urgent jobs and {ordinary} ordinary ones done");
    println!("the timer came in between: {}", beats > 0);
    println!("it quit, since {}", reason?);
    Ok(())
}
