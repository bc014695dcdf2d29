//! A second program that has been one of crossbeam-channel: `cargo run --example job_server`. Lines that changed have the former words beside them.
//!
//! Three threads ask for jobs, each with a channel for the answers; two workers do them until they are told to quit; a task of an executor asks as
//! well; events are counted until a point in time; and the last select is over a list of receivers.
#![cfg(not(loom))]
#![allow(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "the program stays as it was: with the standard library's threads and clock"
)]

use std::thread;
use std::time::{Duration, Instant};
use thalweg_queue::mpmc::{self, Receiver, Sender};
use thalweg_queue::select::{Select, Tick};
use thalweg_queue::{PopTimeoutError, PushTimeoutError, TryPopError, TryPushError, rendezvous, select, unbounded};

struct Job {
    number: u64,
    reply: Sender<u64>,
}

#[derive(PartialEq)]
enum Event {
    Done,
    Idle,
}

struct Worker {
    jobs: Receiver<Job>,
    quit: rendezvous::Receiver<()>,         //    Receiver<()>
    events: unbounded::mpmc::Sender<Event>, //     Sender<Event>
}

impl Worker {
    fn run(self) -> u64 {
        let mut done = 0;
        loop {
            select! {
                pop(self.jobs) -> job => { //      recv(self.jobs) -> job => {
                    let Ok(Job { number, reply }) = job else { return done };
                    reply.push(number * number).expect("it waits for the answer"); // send
                    self.events.push(Event::Done).expect("main counts"); // send
                    done += 1;
                }
                pop(self.quit) -> _ => return done, // recv
                after(Duration::from_millis(500)) => self.events.push(Event::Idle).expect("main counts"), // default(…)
            }
        }
    }
}

/// Asks for ten squares; gives up when nobody works any more.
fn ask(jobs: &Sender<Job>, from: u64) -> Option<u64> {
    let (reply, answers) = mpmc::channel(4).ok()?; // bounded(4)
    let mut sum = 0;
    for number in from..from + 10 {
        let mut job = Job { number, reply: reply.clone() };
        loop {
            job = match jobs.try_push(job) {
                Ok(()) => break,
                Err(TryPushError::Closed(_)) => return None, // Disconnected
                Err(TryPushError::Full(job) | TryPushError::Busy(job)) => {
                    match jobs.push_timeout(job, Duration::from_millis(10)) {
                        Ok(()) => break,
                        Err(PushTimeoutError::Timeout(job)) => job,
                        Err(PushTimeoutError::Closed(_)) => return None, // Disconnected
                    }
                }
            };
        }
        sum += answers.pop_deadline(Instant::now() + Duration::from_secs(60)).ok()?; // recv_deadline
    }
    drop(reply);
    Some(answers.into_iter().sum::<u64>() + sum) // all are there, so it ends at once
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (jobs, todo) = mpmc::channel::<Job>(8)?; //        bounded(8)
    let (quit, quits) = rendezvous::channel(); //          bounded(0)
    let (events, seen) = unbounded::mpmc::channel(); //    unbounded()
    let workers: Vec<_> = (0..2)
        .map(|_| Worker { jobs: todo.clone(), quit: quits.clone(), events: events.clone() })
        .map(|worker| thread::spawn(move || worker.run()))
        .collect();
    drop((todo, quits, events));
    let asking: Vec<_> =
        (0..3).map(|n| (n, jobs.clone())).map(|(n, jobs)| thread::spawn(move || ask(&jobs, n))).collect();

    // It was a thread that moved on what came to a channel of futures.
    let (reply, answers) = mpmc::channel(1)?;
    let answer = futures_executor::block_on(async {
        jobs.push_async(Job { number: 12, reply }).await.ok()?;
        answers.pop_async().await.ok()
    });
    assert_eq!(answer, Some(144));
    for (n, asking) in asking.into_iter().enumerate() {
        println!("from {n}: {:?}", asking.join().expect("it does not panic"));
    }

    let mut tick = Tick::new(Duration::from_millis(5)); // tick(…)
    let end = Instant::now() + Duration::from_millis(50);
    let (mut count, mut ticks) = (0, 0);
    loop {
        select! {
            pop(seen) -> event => count += u64::from(event? == Event::Done),
            pop(tick) -> _ => ticks += 1,
            at(end) => break, //                           recv(after(…)) -> _ => break
        }
    }
    assert!(ticks > 0 && matches!(seen.try_pop(), Err(TryPopError::Empty)));

    quit.push(())?; // one worker takes it
    drop((quit, jobs)); // and the other one sees the end
    let done: u64 = workers.into_iter().map(|worker| worker.join().expect("it does not panic")).sum();
    assert_eq!(seen.pop_timeout(Duration::ZERO).err(), Some(PopTimeoutError::Closed)); // Disconnected
    println!("{done} jobs are done, {count} events came");

    let channels: Vec<_> =
        (0..3).map(|_| mpmc::channel(1).map_err(Into::into)).collect::<Result<_, Box<dyn std::error::Error>>>()?;
    channels[1].0.push("a letter")?;
    let mut select = Select::new();
    for (n, (_, rx)) in channels.iter().enumerate() {
        select.pop(rx, move |item| (n, item)); //          select.recv(rx), and oper.index() and oper.recv(rx) later
    }
    println!("{:?}", select.wait_timeout(Duration::from_secs(60))?); // select_timeout
    Ok(())
}
