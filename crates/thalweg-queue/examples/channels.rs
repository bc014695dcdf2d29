//! The channels in one program: `cargo run --example channels`.
//!
//! A worker takes jobs from a queue and answers each by a `oneshot`; `watch` tells it how to work; `broadcast` tells everybody what it did; and a
//! `select!` waits for all of them, and for time.
#![cfg(not(loom))]

use std::time::Duration;
use thalweg_queue::{broadcast, mpmc, oneshot, select, watch};
use thalweg_sync::thread;

struct Job {
    number: u64,
    reply: oneshot::Sender<u64>,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (jobs, todo) = mpmc::channel::<Job>(16)?;
    let (settings, mut factor) = watch::channel(2);
    let (log, mut first_reader) = broadcast::channel(64)?;
    let mut second_reader = log.subscribe();

    let worker = thread::spawn(move || {
        let mut done = 0;
        loop {
            select! {
                pop(todo) -> job => {
                    let Ok(Job { number, reply }) = job else { return done };
                    // Whoever does not wait any more gets none.
                    let _ = reply.push(number * *factor.latest());
                    let _ = log.push(number);
                    done += 1;
                }
                after(Duration::from_secs(10)) => return done,
            }
        }
    });

    for number in 1..=4 {
        if number == 3 {
            settings.push(10)?;
        }
        let (reply, mut answer) = oneshot::channel();
        jobs.push(Job { number, reply })?;
        println!("{number} gives {}", answer.pop()?);
    }
    drop(jobs);
    println!("{} jobs done", worker.join().expect("it does not panic"));
    for reader in [&mut first_reader, &mut second_reader] {
        let seen: Vec<u64> = reader.iter().map_while(Result::ok).collect();
        println!("a reader saw {seen:?}");
    }
    Ok(())
}
